#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,inet_diag,tcp_diag timeout=120 waits=1 lanes=uml
# The link is down for 20 s while messages are sent, and until a connection that is idle knows, which
# keepalive tells it after 30 s; nothing is lost or repeated.
. "$(dirname "$0")/common.sh"

LIMIT=90

idle_links() {
	n1 ss -Htn state established "dst 10.1.0.3" | wc -l
}

no_idle_link() {
	[ "$(idle_links)" = 0 ]
}

ktap_header
setup_pair
ip -n n2 addr add 10.1.0.3/24 dev eth0
check "messages, and then none" duplex idle n1 10.1.0.1 n2 10.1.0.3 100
start_flow a n1 10.1.0.1 n2 10.1.0.2 3000 -S 0-2000 -r 600
start_flow b n2 10.1.0.2 n1 10.1.0.1 3000 -S 0-2000 -r 600
sleep 1
n2 ip link set eth0 down
note "link down"
sleep 20
check "nobody has told the idle one after 20 s" [ "$(idle_links)" -gt 0 ]
check "keepalive ends it" busywait 20 no_idle_link
n2 ip link set eth0 up
# taking the link down removed the IPv6 address, not the IPv4 one
note "link up"
check "from the smaller address, through the time without a link" end_flow a 3000
check "from the larger address, through the time without a link" end_flow b 3000
check "new messages flow" duplex after n1 10.1.0.1 n2 10.1.0.2 200
check "on the connection that was idle, too" duplex again n1 10.1.0.1 n2 10.1.0.3 100
moved
ktap_finish
