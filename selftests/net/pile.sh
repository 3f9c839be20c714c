#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=300 memory=1024 ref=0 lanes=debian
# What others have queued costs nobody time: half a million messages of one user (or as many as he
# can send in 40 s) wait for a host that does not answer, and another user's socket sends one message
# there and is closed.  The medians of both calls may be three times as long as with a thousand
# messages, also while the first user closes his sockets and fills new ones.
. "$(dirname "$0")/common.sh"

says() {
	grep -q "$2" "$T/$1"
}

# with SOCKS EACH: what somebody else's calls take
with() {
	n1 "$BIN/rdsusers" pile 1001 10.1.0.1 10.1.0.77 "$1" "$2" >"$T/pile" 2>&1 </dev/null &
	local pile=$! pid

	busywait $((90 * ${RDS_SLOW:-1})) says pile ready || { show_file "$T/pile"; return 1; }
	pid=$(sed -n 's/ready //p' "$T/pile")
	n1 "$BIN/rdsusers" pass 1002 10.1.0.1 10.1.0.77 500 >"$T/$1.still" || return 1
	kill -USR1 "$pid"
	n1 "$BIN/rdsusers" pass 1002 10.1.0.1 10.1.0.77 500 >"$T/$1.busy" || return 1
	# what is still there goes with it, and not when the next test looks for what is left
	n1 sysctl -qw net.rds.close_timeout_ms=0
	kill -9 "$pid"
	wait $pile 2>/dev/null
	n1 sysctl -qw net.rds.close_timeout_ms=10000
	sed "s/^/# of $1 sockets /" "$T/pile"
	sed "s/^/# $1 sockets still: /" "$T/$1.still"
	sed "s/^/# $1 sockets busy: /" "$T/$1.busy"
	MOST=$(sed -n 's/queued //p' "$T/pile")
}

# value FILE CALL: the median
value() {
	sed -n "s/^$2 \([0-9]*\) p99 .*/\1/p" "$T/$1"
}

# no_longer STATE CALL
no_longer() {
	[ "$(value "150.$1" "$2")" -le $((3 * $(value "10.$1" "$2") + 20)) ]
}

very_many() {
	with 10 100 && with 150 3328 && [ "$MOST" -ge 50000 ]
}

ktap_header
setup_pair
check "very many messages wait" very_many
check "a bystander's sendmsg()" no_longer still send
check "his close()" no_longer still close
check "sendmsg() while all is closed and filled again" no_longer busy send
check "close() then" no_longer busy close
ktap_finish
