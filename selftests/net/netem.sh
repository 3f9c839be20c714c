#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,sch_netem timeout=170
# A network that loses, doubles, swaps, damages and delays: each alone, then all.  Every fault
# has a link and a pair of addresses of its own, and they run side by side: most of the time
# is spent waiting for packets that come late or never.
. "$(dirname "$0")/common.sh"

COUNT=$((2500 + 2500 * ${RDS_SOAK:-0}))	# each way
LIMIT=$((130 + 60 * ${RDS_SOAK:-0}))
LINKS=7
NAMES=()

setup_links() {
	local k end

	for end in 1 2; do
		for ((k = 0; k < LINKS; k++)); do
			[ $end = 2 ] || echo "link add f$k type veth peer name f$k netns n2"
			echo "addr add 10.2.$k.$end/24 dev f$k"
			echo "link set f$k up"
		done >"$T/batch"
		ip -n n$end -batch "$T/batch" || lib_die "cannot make the links"
	done
}

# begin NAME netem-arguments: the next link gets this fault, and a flow each way
begin() {
	local name=$1 ns k=${#NAMES[@]}

	shift
	NAMES+=("$name")
	for ns in n1 n2; do
		tc -n $ns qdisc replace dev "f$k" root netem limit 10000 "$@" || return 1
	done
	start_flow "$name-a" n1 "10.2.$k.1" n2 "10.2.$k.2" $COUNT -S 0-2500 &&
		start_flow "$name-b" n2 "10.2.$k.2" n1 "10.2.$k.1" $COUNT -S 0-2500
}

# survived NAME [COUNTER]: all came; where the fault is one that tc counts, it really was in the way
survived() {
	local rc=0 k stats

	for k in "${!NAMES[@]}"; do
		[ "${NAMES[k]}" != "$1" ] || break
	done
	end_flow "$1-a" $COUNT || rc=1
	end_flow "$1-b" $COUNT || rc=1
	stats=$(tc -n n1 -s qdisc show dev "f$k")
	note "n1: ${stats//$'\n'/ }"
	[[ $stats =~ \(dropped\ ([0-9]+) ]] || rc=1
	[ -z "$2" ] || [ "${BASH_REMATCH[1]}" -gt 0 ] || { note "nothing was lost"; rc=1; }
	return $rc
}

ktap_header
setup_pair
setup_links
begin clean delay 0ms
begin loss loss 5%
begin dup duplicate 5%
begin reorder delay 5ms reorder 75% 50%
begin corrupt corrupt 1%
begin delay delay 25ms 25ms
begin all delay 10ms 10ms reorder 75% loss 5% duplicate 5% corrupt 1%
check "no fault" survived clean
check "loss 5 %" survived loss dropped
check "duplicate 5 %" survived dup
check "reorder 25 %" survived reorder
check "corrupt 1 %" survived corrupt
check "delay 0-50 ms" survived delay
check "all together" survived all dropped
moved
ktap_finish
