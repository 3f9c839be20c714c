#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,sch_netem timeout=400 memory=4096 cpus=1 clock=icount
# vm: ref=0 uml=0 soak=1
# However much there is of it, no walk of the module holds a spinlock, or keeps bottom halves off,
# for a millisecond: with 500,000 messages, 60,000 sockets and 16,384 connections in make soak, and
# with a quarter of that in a quarter of a millisecond.
. "$(dirname "$0")/common.sh"
. "$SELFTESTS/net/holds_run.sh"

PART=4
[ "${RDS_SOAK:-0}" = 0 ] || PART=1

ktap_header
setup_pair
sysctl -qw fs.nr_open=200000
check "many messages wait" holds n1 messages 500000
check "many were received and are not read" holds n1 received 500000
check "many are under way" holds n1 window 100000
check "many sockets" holds n1 sockets 60000
check "many connections" holds n1 connections 16384
ktap_finish
