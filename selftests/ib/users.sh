#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init ref=0 timeout=200 lanes=debian
# A user who overdoes it does not take other users' part of what goes between two addresses, over
# verbs.
. "$(dirname "$0")/common.sh"
. "$SELFTESTS/net/users_run.sh"

refused() {
	[ "$(counter - send_op_refused)" -gt 0 ]
}

# operations KIND USER [COMMAND]: when the command is true
operations() {
	local rc ECHO=7001 kind=$1 user=$2

	shift 2
	go echo1 here echo 1002 10.5.0.2 7001
	go echo2 here echo 1003 10.5.0.4 7001
	go ops here "$kind" "$user" 10.5.0.1 10.5.0.2 5001
	is_up echo1 && is_up echo2 && is_up ops || return 1
	[ $# = 0 ] || busywait 60 "$@" || return 1
	NS1=here A1=10.5.0.1 A2=10.5.0.2 B1=10.5.0.3 B2=10.5.0.4 BEFORE=0
	compare 20
	rc=$?
	note "$(tail -1 "$T/ops")"
	ended ops
	ended echo1
	ended echo2
	return $rc
}

# Keys of no region, each of which costs the link: some are borne, then one in 16 s.
failing() {
	operations faults 1004 refused
}

# Each counts with what it moves, and little of that is in front of others' messages.
writing() {
	operations writes 1001
}

ktap_header
setup_rxe 4
check "operations of somebody that fail" failing
check "large operations of somebody" writing
over IPv4 here here 10.5.0.1 10.5.0.2 10.5.0.3 10.5.0.4
ktap_finish
