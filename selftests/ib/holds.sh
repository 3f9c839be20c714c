#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_rdma,rdma_rxe,rdma_ucm,veth netns=init timeout=400 memory=4096 cpus=1
# vm: clock=icount ref=0 uml=0 soak=1
# However much there is of it, no walk of the module holds a spinlock, or keeps bottom halves off,
# for a millisecond, over verbs: with 500,000 messages that wait, 100,000 that a peer has and does
# not acknowledge, 60,000 regions, and the links between 40 addresses in make soak; and with a
# quarter of that, or 16 addresses, in a quarter of a millisecond.
. "$(dirname "$0")/common.sh"
. "$SELFTESTS/net/holds_run.sh"

PART=4
ADDRESSES=16
# both ends of 780 links may cost about as much as is allowed
[ "${RDS_SOAK:-0}" = 0 ] || { PART=1; ADDRESSES=40; }

ib_restore() {
	sysctl -qw net.rds.close_timeout_ms=10000
}

ktap_header
setup_rxe $ADDRESSES
sysctl -qw fs.nr_open=200000
check "many messages wait" holds here messages 500000
check "many are under way" holds here window 100000
check "many regions" holds here regions 60000
check "many links" holds here links $((ADDRESSES * PART))
ktap_finish
