#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=120 waits=1
# The link is down for 20 s while messages are sent; nothing is lost or repeated.
. "$(dirname "$0")/common.sh"

LIMIT=90

ktap_header
setup_pair
start_flow a n1 10.1.0.1 n2 10.1.0.2 3000 -S 0-2000 -r 600
start_flow b n2 10.1.0.2 n1 10.1.0.1 3000 -S 0-2000 -r 600
sleep 1
n2 ip link set eth0 down
note "link down"
down=20
sleep $down
n2 ip link set eth0 up
# taking the link down removed the IPv6 address, not the IPv4 one
note "link up after $down s"
check "from the smaller address, through $down s without a link" end_flow a 3000
check "from the larger address, through $down s without a link" end_flow b 3000
check "new messages flow" duplex after n1 10.1.0.1 n2 10.1.0.2 200
moved
ktap_finish
