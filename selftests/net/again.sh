#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,sch_netem,inet_diag,tcp_diag timeout=120 ref=0 lanes=uml
# A namespace goes and comes again with the same address, as containers do.  Its first messages
# arrive as repetitions, because their first link broke with the cable out: only the generation
# tells that they are none of its predecessor's.
. "$(dirname "$0")/common.sh"

# sixteen ID COUNT: 16 sockets of n1 send, so that every path is used
sixteen() {
	start_recv "$1" n2 10.1.0.2:9400 "$2" 16 || return 1
	start_send "$1" n1 10.1.0.1:9500 10.1.0.2:9400 "$2" -S 0-1500 -k 16
}

handed_over() {
	[ "$(n1 "$BIN/rds-info" -t | grep -c '10\.1\.0')" -ge "$1" ]
}

predecessor() {
	sixteen was 100 && end_flow was 1600
}

no_eth0() {
	! ip -n n2 link show eth0 >/dev/null 2>&1
}

successor() {
	ip netns del n1 && busywait 20 no_eth0 || return 1
	lib_batch <<<"netns add n1"
	lib_join
	n1 "$BIN/rds-ping" -c 1 -w 20 10.1.0.2 >/dev/null && busywait 30 has_links n1 8
}

repeated() {
	local rc=0

	# not the interface: what waits for a neighbour arrives when it is up again
	n1 tc qdisc add dev eth0 root netem loss 100% || return 1
	sixteen is 20 || rc=1
	busywait 20 handed_over 200 || rc=1
	n1 "$BIN/rdsmisc" killtcp 10 0.01 >"$T/killed"
	show_file "$T/killed"
	n1 tc qdisc del dev eth0 root || rc=1
	end_flow is 320 || rc=1
	return $rc
}

ktap_header
setup_pair
check "messages of 16 sockets" predecessor
check "another namespace with that address has its links" successor
check "its first messages arrive as repetitions, and all of them do" repeated
check "messages both ways after that" duplex after n1 10.1.0.1 n2 10.1.0.2 300 -S 0-3000
moved
ktap_finish
