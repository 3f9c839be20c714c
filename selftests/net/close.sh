#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=90 lanes=uml
# Cancel, close with queued messages, SO_LINGER.
. "$(dirname "$0")/common.sh"

# Messages to 10.1.0.77 are cancelled, those to 10.1.0.2 arrive after link-up.
cancel() {
	local p1 p2 rc=0

	n2 ip link set eth0 down
	n2 "$BIN/rdsmisc" numbers 10.1.0.2:5000 40 30 >"$T/numbers" 2>&1 </dev/null &
	p1=$!
	busywait 10 grep -q ready "$T/numbers" || rc=1
	n1 timeout 40 "$BIN/rdsmisc" cancel 10.1.0.1:5001 10.1.0.77:5000 \
		10.1.0.2:5000 40 >"$T/cancel" 2>&1 </dev/null &
	p2=$!
	busywait 10 grep -q before= "$T/cancel" || rc=1
	n2 ip link set eth0 up
	wait $p1 || rc=1
	wait $p2 || rc=1
	grep -v '^got' "$T/numbers" | sed 's/^/# /'
	show_file "$T/cancel"
	MOVED=$((MOVED + 40))
	return $rc
}

# close(2) with SO_LINGER returns when the peer has everything.
linger() {
	RECV_OPTS="" start_flow linger n1 10.1.0.1 n2 10.1.0.2 300 \
		-S 0-4000 --no-drain --so-linger 20 || return 1
	end_flow linger 300
}

# ... and gives up after its time when the peer is not there.
linger_gives_up() {
	local t0 t1

	t0=$(date +%s%N)
	n1 "$BIN/rds-traffic" send -b 10.1.0.1:5100 -d 10.1.0.88:5000 -n 20 \
		--no-drain --so-linger 2 -t 10 </dev/null
	t1=$((($(date +%s%N) - t0) / 1000000))
	note "close took $t1 ms"
	[ $t1 -ge 1500 ] && [ $t1 -le 6000 ]
}

listed() {
	n1 "$BIN/rds-info" -s -t | grep -qF "$1"
}

# close(2) without: what was queued goes when its time is over, the connection and others live on.
queued() {
	ours && n1 sysctl -qw net.rds.close_timeout_ms=1000
	n1 "$BIN/rds-traffic" send -b 10.1.0.1:5200 -d 10.1.0.99:5000 -n 50 \
		--no-drain -t 10 </dev/null || return 1
	busywait 10 eval '! listed 10.1.0.99' || { note "messages of a closed socket"; return 1; }
	duplex after-close n1 10.1.0.1 n2 10.1.0.2 100
}

ktap_header
setup_pair
check "cancel takes what it names and nothing else" cancel
if ours; then
	check "close with SO_LINGER loses nothing" linger
	check "SO_LINGER ends after its time" linger_gives_up
fi
check "close with queued messages frees them" queued
moved
ktap_finish
