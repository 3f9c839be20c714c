#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=90
# Sixteen sockets share eight paths; each keeps its order, at first contact too.
. "$(dirname "$0")/common.sh"

sixteen() {
	local rc=0 id=$1 count=$2

	shift 2
	FLOWS=16 start_flow "$id-a" n1 "$A1" n2 "$A2" "$count" -k 16 "$@" || rc=1
	FLOWS=16 start_flow "$id-b" n2 "$A2" n1 "$A1" "$count" -k 16 "$@" || rc=1
	end_flow "$id-a" $((16 * count)) || rc=1
	end_flow "$id-b" $((16 * count)) || rc=1
	return $rc
}

ktap_header
setup_pair
A1=10.1.0.1 A2=10.1.0.2
if ours; then
	check "16 sockets each way from the first message on" sixteen first 150 -S 0-2000
else
	# 6.12 overtakes itself while the number of paths is unknown (16.1, 7)
	n1 "$BIN/rds-ping" -c 2 -w 20 10.1.0.2 >/dev/null
	sixteen warmup 20 >/dev/null
	ktap_skip "order at first contact" "in-tree overtakes itself (16, 7)"
fi
check "eight TCP connections carry them" busywait 10 has_links n1 8
check "16 sockets each way, small messages" sixteen small 200 -S 0-600
check "16 sockets each way, 64 KiB messages" sixteen large 6 -S 65536
if ours; then
	export BIN
	n1 ip addr add 10.1.0.77/32 dev lo
	n1 ip addr add 10.1.0.78/32 dev lo
	n2 ip route add 10.1.0.77 via 10.1.0.1
	n2 ip route add 10.1.0.78 via 10.1.0.1
	check "one socket keeps to one path, whatever it sends to" \
		python3 "$SELFTESTS/net/ways.py" many 10.1.0.77 10.1.0.2
	check "an answer takes the path of the question" \
		python3 "$SELFTESTS/net/ways.py" answer 10.1.0.78 10.1.0.2
	A1='[fd00:1::1]' A2='[fd00:1::2]'
	check "16 sockets each way over IPv6" sixteen v6 60 -S 0-2000
fi
moved
ktap_finish
