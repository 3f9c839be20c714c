#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init ref=0 timeout=300 lanes=debian alone=1
# A user who overdoes it does not take other users' part of what goes between two addresses, over
# verbs.
. "$(dirname "$0")/common.sh"
. "$SELFTESTS/net/users_run.sh"

refused() {
	[ "$(counter - send_op_refused)" -gt 0 ]
}

# operations KIND USER COMMAND: when the command is true
operations() {
	local rc ECHO=7001 BEFORE=0 kind=$1 user=$2

	shift 2
	go echo1 here echo 1002 10.5.0.2 7001
	go echo2 here echo 1003 10.5.0.4 7001
	go ops here "$kind" "$user" 10.5.0.1 10.5.0.2 5001
	is_up echo1 && is_up echo2 && is_up ops || return 1
	busywait 60 "$@" || return 1
	NS1=here A1=10.5.0.1 A2=10.5.0.2 B1=10.5.0.3 B2=10.5.0.4
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

# His sockets are new, and he is not.  (Both ends are here, and count.)
again() {
	local resets

	resets=$(counter - conn_reset)
	go ops here faults 1004 10.5.0.1 10.5.0.2 5001
	is_up ops || return 1
	sleep 3
	resets=$(($(counter - conn_reset) - resets))
	ended ops
	note "$resets ends of links were reset in 3 s"
	[ $resets -le 4 ]
}

written() {
	[ "$(counter - send_rdma_bytes)" -gt "$1" ]
}

# It may be the peer there who made him do it.
elsewhere() {
	local refused bytes rc=0

	bytes=$(counter - send_rdma_bytes)
	refused=$(counter - send_op_refused)
	go ops here writes 1004 10.5.0.3 10.5.0.4 5002
	is_up ops && busywait 30 written $((bytes + (1 << 20))) || rc=1
	[ "$(counter - send_op_refused)" = "$refused" ] || rc=1
	ended ops
	return $rc
}

# He is at it, and it is known how long three of 256 KiB take, which is what may be in front.
timed() {
	local bytes

	bytes=$(counter - send_rdma_bytes)
	sleep 3
	bytes=$(($(counter - send_rdma_bytes) - bytes))
	[ $bytes -gt 0 ] || return 1
	BEFORE=$((3 * 3000000 / (bytes >> 18)))
	note "three operations take $BEFORE us"
}

# Each counts with what it moves, and little of that is in front of others' messages.
writing() {
	operations writes 1001 timed
}

ktap_header
setup_rxe 4
check "operations of somebody that fail" failing
check "they are not forgotten with his sockets" again
check "elsewhere his are executed" elsewhere
# With one processor it is not the link that they wait for.
if [ "$(nproc)" -gt 1 ]; then
	check "large operations of somebody" writing
else
	ktap_skip "large operations of somebody" "the device is software, and has no processor of its own"
fi
over IPv4 here here 10.5.0.1 10.5.0.2 10.5.0.3 10.5.0.4
ktap_finish
