#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=90 lanes=uml
# Every size that is a boundary somewhere, both ways, over IPv4, IPv6, link-local.
. "$(dirname "$0")/common.sh"

LIST=0,1,4095,4096,4097,65536
ktap_header
setup_pair
ll1=$(n1 ip -6 -o addr show dev eth0 scope link | sed -n 's/.*inet6 \([^/]*\).*/\1/p')
ll2=$(n2 ip -6 -o addr show dev eth0 scope link | sed -n 's/.*inet6 \([^/]*\).*/\1/p')

check "IPv4: 0 to 65536 bytes both ways" \
	duplex v4 n1 10.1.0.1 n2 10.1.0.2 120 -S $LIST
check "IPv4: 1 MiB both ways" \
	duplex v4-1m n1 10.1.0.1 n2 10.1.0.2 4 -S 1048576
check "IPv4: only empty messages" \
	duplex v4-0 n1 10.1.0.1 n2 10.1.0.2 500 -S 0
check "IPv6: 0 to 65536 bytes both ways" \
	duplex v6 n1 '[fd00:1::1]' n2 '[fd00:1::2]' 120 -S $LIST
check "IPv6: 1 MiB both ways" \
	duplex v6-1m n1 '[fd00:1::1]' n2 '[fd00:1::2]' 4 -S 1048576
check "IPv6 link-local: 0 to 65536 bytes both ways" \
	duplex ll n1 "[$ll1%eth0]" n2 "[$ll2%eth0]" 120 -S $LIST
check "IPv4: random sizes, 16 KiB send buffer" \
	duplex v4-small n1 10.1.0.1 n2 10.1.0.2 600 -S 0-16000 --sndbuf 16384

# request and response, the other traffic pattern
n2 "$BIN/rds-traffic" echo -b 10.1.0.2:7000 -n 300 -t $((30 * ${RDS_SLOW:-1})) --ready "$T/e" </dev/null &
echo_pid=$!
busywait 10 test -e "$T/e"
check "request and response, 300 times" \
	n1 "$BIN/rds-traffic" pingpong -b 10.1.0.1:7001 -d 10.1.0.2:7000 \
	-n 300 -S 0-5000 -q 4 -t $((30 * ${RDS_SLOW:-1}))
check "the echo server saw them all" wait $echo_pid
moved
ktap_finish
