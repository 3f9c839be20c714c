#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=60 lanes=uml
# rds-ping both ways, and what the kernel counts of it.
. "$(dirname "$0")/common.sh"

# ping NS TO FROM: ten pings, ten answers
ping() {
	local out rc

	out=$("$1" "$BIN/rds-ping" -c 10 -i 0.1 -w 20 -I "$3" "$2" 2>&1)
	rc=$?
	echo "$out" | sed 's/^/# /'
	MOVED=$((MOVED + 10))
	[ $rc = 0 ] || return 1
	[ "$(echo "$out" | grep -c ': [0-9]* usec$')" -eq 10 ]
}

unanswered() {
	local out

	out=$("$1" timeout 10 "$BIN/rds-ping" -c 2 -i 0.2 -I "$3" "$2" 2>&1)
	echo "$out" | sed 's/^/# /'
	[ "$(echo "$out" | grep -c ' usec')" = 0 ]
}

ktap_header
setup_pair
check "smaller address pings larger" ping n1 10.1.0.2 10.1.0.1
check "larger address pings smaller" ping n2 10.1.0.1 10.1.0.2
check "over IPv6" ping n1 fd00:1::2 fd00:1::1
check "its own address" ping n1 10.1.0.1 10.1.0.1
check "the loopback address" ping n1 127.0.0.1 127.0.0.1
if ours; then
	n2 sysctl -qw net.rds.ping_enable=0
	check "ping_enable=0 is silent" unanswered n1 10.1.0.2 10.1.0.1
	n2 sysctl -qw net.rds.ping_enable=1
	check "ping_enable=1 answers again" ping n1 10.1.0.2 10.1.0.1
fi
moved
ktap_finish
