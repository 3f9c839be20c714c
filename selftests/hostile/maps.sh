#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge,inet_diag,tcp_diag timeout=180 ref=0 lanes=uml
# A peer sends maps by all paths while the namespace goes: each may start the timer that looks at
# the connection's copy again, of a path that may be gone already (a use after free, once).
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

ROUNDS=12
LAST=$((60 * ${RDS_SOAK:-0}))	# seconds; not before all rounds

# round N: the victim's namespace goes in the middle
round() {
	local rc

	make_pair liar victim || { echo "no namespaces" >"$T/liar"; return 1; }
	ip netns exec liar ss -HKt state listening 'sport = 16385' >/dev/null
	: >"$T/liar"	# not what the last one said
	ip netns exec liar "$BIN/rdslies" maps-on-all 10.9.0.1:0 10.9.0.2:0 7000 0 \
		>"$T/liar" 2>&1 </dev/null &
	busywait 20 grep -q going "$T/liar" || { kill $!; wait $!; return 1; }
	sleep "0.0$((RANDOM % 90 + 10))"
	ip netns del victim
	wait $!
	rc=$?
	ip netns del liar
	MAPS=$((MAPS + $(sed -n 's/ maps$//p' "$T/liar")))
	return $rc
}
MAPS=0

rounds() {
	local i

	for ((i = 1; i <= ROUNDS || SECONDS < LAST; i++)); do
		round || { note "round $i"; show_file "$T/liar"; return 1; }
	done
	note "$((i - 1)) namespaces, $MAPS maps by eight paths"
}

ktap_header
netns_start
check "namespaces deleted under maps by all paths" rounds
check "every one of them is gone within 30 s" busywait 30 netns_back
setup_pair
check "RDS works in a new pair" duplex after n1 10.1.0.1 n2 10.1.0.2 300
moved
ktap_finish
