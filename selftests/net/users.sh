#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,sch_netem timeout=240 ref=0 lanes=debian
# A user who overdoes it does not take other users' part of what goes between two hosts, over TCP and
# loopback.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/users_run.sh"

ktap_header
setup_pair
ip -n n1 address add 10.1.0.11/24 dev eth0
ip -n n2 address add 10.1.0.12/24 dev eth0
ip -n n1 -6 address add fd00::11/64 dev eth0 nodad
ip -n n2 -6 address add fd00::12/64 dev eth0 nodad
ip -n n1 -6 address add fd00::21/64 dev eth0 nodad
ip -n n2 -6 address add fd00::22/64 dev eth0 nodad
for ns in n1 n2; do
	tc -n "$ns" qdisc add dev eth0 root netem limit 100000 rate 200mbit delay 1ms
done
over IPv4 n1 n2 10.1.0.1 10.1.0.2 10.1.0.11 10.1.0.12
over IPv6 n1 n2 fd00::11 fd00::12 fd00::21 fd00::22
over loopback n1 n1 127.0.0.1 127.0.0.1 127.0.0.2 127.0.0.3
ktap_finish
