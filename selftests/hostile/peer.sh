#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge,inet_diag,tcp_diag timeout=240 waits=1 lanes=uml
# A plain TCP program poses as an RDS peer and misbehaves in every way it knows.
# The node stays up, keeps its memory, and serves its honest peers all the while.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

# Ours at 10.1.0.3 is the victim, 10.1.0.1 is hostile, 10.1.0.2 is honest.
FIRST=0
# A congestion map is cut at every STEPth byte; given time, at each.
SOAK=${RDS_SOAK:-0}
STEP=$((97 / (1 + 4 * SOAK)))
[ $STEP -gt 0 ] || STEP=1
PATIENCE=$(((60 + 60 * SOAK) * ${RDS_SLOW:-1}))
LIMIT=$((150 + 120 * SOAK))

# hostile SCENARIO PROOFS [COUNT]: run it, then await the messages that were valid
hostile() {
	local rc start=$SECONDS

	n1 timeout $PATIENCE "$BIN/rdspeer" "$1" 10.1.0.1:0 10.1.0.3:0 7000 $FIRST \
		${3:+"$3"} >"$T/peer" 2>&1 </dev/null
	rc=$?
	show_file "$T/peer"
	note "$1: status $rc after $((SECONDS - start)) s"
	FIRST=$((FIRST + $2))
	if [ "$2" -gt 0 ]; then
		busywait 10 grep -q "^got $((FIRST - 1))\$" "$T/numbers" || {
			note "the valid message after it did not arrive"
			rc=1
		}
		grep -v '^got\|^ready' "$T/numbers" && rc=1
		MOVED=$((MOVED + $2))
	fi
	[ $rc = 0 ] || show_state
	return $rc
}

grew() {
	local before=$1 now

	now=$(counter n3 "$2") || return 1
	note "$2: $before -> $now"
	[ "$now" -gt "$before" ]
}

honest() {
	steady honest-in 3500 && steady honest-out 3500
}

total_proofs=15
ktap_header
setup_nodes 3
# The peer is the program alone: the kernel at its address would answer the victim's
# knocking and fight for the paths.
if ours; then
	no_rds n1 || lib_die "n1 still listens"
fi
n3 "$BIN/rdsmisc" numbers 10.1.0.3:7000 $total_proofs $((LIMIT * ${RDS_SLOW:-1} + 50)) >"$T/numbers" 2>&1 </dev/null &
busywait 10 grep -q ready "$T/numbers"
start_flow honest-in n2 10.1.0.2 n3 10.1.0.3 3500 -S 0-1000 -r 100
start_flow honest-out n3 10.1.0.3 n2 10.1.0.2 3500 -S 0-1000 -r 100
busywait 10 test "$(n3 ss -Htn state established 'sport = 16385' | wc -l)" -ge 1
mem=$(mem_kb MemAvailable)
old_seq=$(counter n3 recv_drop_old_seq)

check "a valid message, one byte a segment" hostile bytewise 1
check "1,500 random headers" hostile senseless 1 1500
check "congestion maps of wrong sizes" hostile map-sizes 1
check "repeated messages are dropped" hostile replay 2
check "and counted" grew "$old_seq" recv_drop_old_seq
check "every type of extension header, overrunning" hostile extensions 1
check "no port, both ports zero" hostile nowhere 1 1000
check "FIN at every offset" hostile cut-fin 1 "$STEP"
check "RST at every offset" hostile cut-rst 1 "$STEP"
check "half a message and silence" hostile stalled 1 3
if ours; then
	check "lengths above 1 MiB are refused" hostile giant 1
	check "handshakes that contradict each other" hostile lies 1 400
	check "20,000 pings, no answer read" hostile pings 1 20000
	check "connections in plenty" hostile idle-flood 1 300
fi
now=$(mem_kb MemAvailable)
note "memory available: $mem kB before, $now kB after"
check "memory is bounded" test $((mem - now)) -lt 100000
check "honest peers were served all the while, both ways" honest
check "a new flow to the victim" duplex after n2 10.1.0.2 n3 10.1.0.3 200
moved
ktap_finish
