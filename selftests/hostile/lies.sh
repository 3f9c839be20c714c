#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge,inet_diag,tcp_diag timeout=200 ref=0 waits=1 lanes=uml
# A peer that keeps the framing and lies about the rest.  The victim believes what the
# protocol says it must, and counts each thing that it does not under its own reason.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

FIRST=0
LIMIT=150
need_tracing

# start_trace, stop_trace: what was dropped between, and why, in $T/trace
start_trace() {
	mkdir -p $TR/instances/hostile
	echo >$TR/instances/hostile/trace
	echo 1 >$TR/instances/hostile/events/rds/rds_drop/enable
}

stop_trace() {
	echo 0 >$TR/instances/hostile/events/rds/rds_drop/enable
	cat $TR/instances/hostile/trace >"$T/trace"
}

# has KIND COUNTER N: did the counter grow as the liar says?
has() {
	local was now

	was=$(awk -v c="$2" '$1 == c { print $2 }' "$T/before")
	now=$(awk -v c="$2" '$1 == c { print $2 }' "$T/after")
	[ -n "$now" ] || { note "no counter is named $2"; return 1; }
	[ "$1" = expect ] && [ $((now - was)) = "$3" ] && return 0
	[ "$1" = least ] && [ $((now - was)) -ge "$3" ] && return 0
	note "$2: $was -> $now, $1 $3"
	return 1
}

settled() {
	local kind cname n

	n3 "$BIN/rds-info" -c >"$T/after"
	while read -r kind cname n; do
		case $kind in
		expect | least) has "$kind" "$cname" "$n" >"$T/has" || return 1 ;;
		esac
	done <"$T/peer"
}

# lie SCENARIO [COUNT] [REASON N]: run it; all numbers it sent must arrive, all counters
# must have moved as it says, and the tracepoint must have named REASON N times
lie() {
	local rc n

	n3 "$BIN/rds-info" -c >"$T/before"
	start_trace
	n1 timeout 60 "$BIN/rdslies" "$1" "${LIAR:-10.1.0.1:0}" 10.1.0.3:0 7000 $FIRST \
		"${2:-100}" >"$T/peer" 2>&1 </dev/null
	rc=$?
	n=$(awk '$1 == "proofs" { print $2 }' "$T/peer")
	FIRST=$((FIRST + ${n:-${PROOFS:-1}}))
	busywait 15 grep -q "^got $((FIRST - 1))\$" "$T/numbers" || {
		note "a valid message did not arrive"
		tail -n 3 "$T/numbers" | sed 's/^/# /'
		rc=1
	}
	MOVED=$((MOVED + ${n:-1}))
	busywait 5 settled || { show_file "$T/has"; rc=1; }
	stop_trace
	if [ -n "$3" ] && [ "$(grep -c "reason=$3\$" "$T/trace")" != "$4" ]; then
		note "the trace has $(grep -c "reason=$3\$" "$T/trace") drops for $3, not $4"
		rc=1
	fi
	[ $rc = 0 ] || { note "status $rc of the liar"; show_file "$T/peer"; show_state; }
	return $rc
}

pings_off() {
	local rc

	n3 sysctl -qw net.rds.ping_enable=0
	lie pings-off 1 PING_DISABLED 50
	rc=$?
	n3 sysctl -qw net.rds.ping_enable=1
	return $rc
}

# From the wrong side nothing can be proven by a message.
wrong_side() {
	LIAR=$2 PROOFS=0 lie "$1"
}

self() {
	local rc

	n3 "$BIN/rds-info" -c >"$T/before"
	n3 timeout 60 "$BIN/rdslies" self 10.1.0.3:0 10.1.0.3:0 7000 0 >"$T/peer" 2>&1
	rc=$?
	busywait 5 settled || { show_file "$T/has"; rc=1; }
	return $rc
}

all_numbers() {
	wait "$NUMBERS"
	rc=$?
	grep -v '^got\|^ready' "$T/numbers" | sed 's/^/# /'
	return $rc
}

ktap_header
setup_hostile
TOTAL=136	# 6 of a peer that is replaced, 100 generations, 16 sequences, 2 indices, one for each other lie
n3 "$BIN/rdsmisc" numbers 10.1.0.3:7000 $TOTAL 180 >"$T/numbers" 2>&1 </dev/null &
NUMBERS=$!
busywait 10 grep -q ready "$T/numbers"
start_honest 2000 100

check "a peer that begins to tell its generation" lie reborn 1 OLD_SEQ 1
check "path counts 0, 1, 9, 65535, and shrinking" lie npaths
check "contradicting and unknown extensions" lie extensions
check "one source port index for all links" lie indices 20
check "100 generations on one link" lie generations 100 OLD_SEQ 100
check "sequence numbers that leap and fall" lie sequences 1 OLD_SEQ 4
check "200 maps: all congested, none congested" lie maps 200
check "maps of wrong sizes" lie bad-maps 1 BAD_CONG 10
check "both ports zero" lie no-ports 1 PORTS_ZERO 50
check "ports that nobody has" lie no-socket 1 NO_SOCK 50
check "pings while pings are off" pings_off
check "pings from congested ports" lie pings-congested 1 PONG_CONGESTED 50
check "3,000 pings, no answer read at first" lie pings-unread 3000
check "messages above 1 MiB" lie too-long
check "urgent data" lie urgent
check "a peer that said once which path a link is" lie told-once
check "from the larger address" wrong_side wrong-way 10.1.0.9:0
check "from the victim's own address" self
check "every number came once, in order" all_numbers
check "honest peers were served all the while, both ways" end_honest
check "a new flow to the victim" duplex after n2 10.1.0.2 n3 10.1.0.3 200
rmdir $TR/instances/hostile
moved
ktap_finish
