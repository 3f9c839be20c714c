#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,sch_netem timeout=170
# A network that loses, doubles, swaps, damages and delays: each alone, then all.
. "$(dirname "$0")/common.sh"

COUNT=$((2500 + 2500 * ${RDS_SOAK:-0}))	# each way
LIMIT=$((80 + 60 * ${RDS_SOAK:-0}))

netem() {
	local ns

	for ns in n1 n2; do
		"$ns" tc qdisc replace dev eth0 root netem limit 10000 "$@" || return 1
	done
}

# faulty NAME netem-arguments: the fault must really have been in the way
faulty() {
	local name=$1 rc=0
	shift
	if ! netem "$@"; then
		note "tc refused: $*"
		return 1
	fi
	duplex "$name" n1 10.1.0.1 n2 10.1.0.2 $COUNT -S 0-2500 || rc=1
	n1 tc -s qdisc show dev eth0 | sed -n 's/^ Sent/# n1 sent/p'
	return $rc
}

ktap_header
setup_pair
check "no fault" faulty clean delay 0ms
check "loss 5 %" faulty loss loss 5%
check "duplicate 5 %" faulty dup duplicate 5%
check "reorder 25 %" faulty reorder delay 5ms reorder 75% 50%
check "corrupt 1 %" faulty corrupt corrupt 1%
check "delay 0-50 ms" faulty delay delay 25ms 25ms
check "all together" faulty all delay 10ms 10ms reorder 75% \
	loss 5% duplicate 5% corrupt 1%
moved
ktap_finish
