#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge,inet_diag,tcp_diag,sch_netem timeout=150 ref=0 waits=1 lanes=uml
# Links of a peer that come before it has told that its source ports say which path they are.  A
# wrong guess must neither lose a repeat nor let a message come twice.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

PY=${SELFTESTS:-$(dirname "$0")/..}/hostile/places.py
ADDR=0

drops() {
	n3 "$BIN/rds-info" -c | awk '$1 == "recv_drop_old_seq" { print $2 }'
}

# links HOW: what a peer does that the victim has never heard of
links() {
	local reader before now

	: >"$T/peer"
	before=$(drops)
	n3 python3 "$PY" reader "$T/peer" >"$T/reader" 2>&1 </dev/null &
	reader=$!
	busywait 10 grep -q bound "$T/reader"
	ADDR=$((ADDR + 1))
	n1 python3 "$PY" "$1" 10.0.0.$ADDR >"$T/peer" 2>&1 </dev/null ||
		echo "expected []" >>"$T/peer"
	wait $reader
	now=$(drops)
	grep -q '^ok' "$T/reader" &&
		[ "$(awk '$1 == "drops" { print $2 }' "$T/peer")" = $((now - before)) ] && return
	show_file "$T/peer"
	show_file "$T/reader"
	note "$((now - before)) were dropped as repeats"
	show_state
	return 1
}

restarted() {
	local i rc=0

	# What is delayed arrives at once.
	n1 tc qdisc add dev eth0 root netem delay 50ms || return 1
	for i in 1 2 3 4; do
		links together || rc=1
	done
	n1 tc qdisc del dev eth0 root
	return $rc
}

# in_time HOW: once more if the peer, or the victim, was too slow for the second that an old link has
in_time() {
	local i

	for i in 1 2 3 4; do
		replaced=$(counter n3 tcp_parked_replaced)
		links "$1" && return
		grep -q "too slow" "$T/peer" || return 1
	done
	return 1
}

crowded() {
	in_time crowd || return 1
	show_file "$T/peer"
	counted tcp_parked_replaced "$replaced" "$(awk '$1 == "replaced" { print $2 }' "$T/peer")"
}

ktap_header
setup_hostile
# Each connection is new: from another address, below the victim's.
ip -n n1 route add local 10.0.0.0/24 dev lo
ip -n n3 route add 10.0.0.0/24 via 10.1.0.1
check "all links at once, to a node that knows none of them" restarted
check "a link that was parked on a wrong path goes to the right one" links late
check "also before the one that the peer makes when it has left it" links left
check "a new link waits for what the old one on a wrong path brings" in_time beside
check "more than can wait: those go that have said nothing, then the newest, and are counted" crowded
ktap_finish
