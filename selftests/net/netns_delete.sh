#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=180
# Namespaces go while their sockets are in full traffic, their sysctls are written and
# their lists are read; what arrived until then came once and in order.
. "$(dirname "$0")/common.sh"

ROUNDS=${ROUNDS:-$((40 + 80 * ${RDS_SOAK:-0}))}

# Connects that never get past their SYN, when the listener's namespace goes.
half_open() {
	local seen

	make_pair half1 half2 || return 1
	ip netns exec half2 "$BIN/rdspeer" syn-flood 10.9.0.100:0 10.9.0.1:0 0 0 60 \
		>"$T/syn" 2>&1 || return 1
	show_file "$T/syn"
	seen=$(ip netns exec half1 ss -Htan state syn-recv | wc -l)
	note "in SYN-RECV at 10.9.0.1: $seen"
	ip netns del half1
	ip netns del half2
	[ "$seen" -gt 0 ]
}

# Floods both ways, info readers and sysctl writers, all killed in the middle.
storm() {
	local rc

	"$BIN/rdsstorm" "$ROUNDS" 3 >"$T/storm" 2>&1
	rc=$?
	show_file "$T/storm"
	MOVED=$((MOVED + $(sed -n 's/.* moved=\([0-9]*\).*/\1/p' "$T/storm")))
	return $rc
}

ktap_header
netns_start
check "$ROUNDS pairs of namespaces deleted in mid-traffic" storm
check "every one of them is gone within 30 s" busywait 30 netns_back
check "a namespace deleted with half-open connections" half_open
check "it is gone too" busywait 30 netns_back
note "namespaces now: $(netns_alive)"
setup_pair
check "RDS works in a new pair" duplex after n1 10.1.0.1 n2 10.1.0.2 300
moved
ktap_finish
