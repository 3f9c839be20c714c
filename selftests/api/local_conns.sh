#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=60 ref=0 lanes=uml
#
# Alternating local destinations find their connections again instead of making
# new ones (weakness 50), and one host pair has one connection.

. "${SELFTESTS:-$(dirname "$0")/..}/lib.sh"

alternate()
{
	n1 python3 - <<-'PYTHON'
	import socket
	def bound(addr, port):
	    s = socket.socket(21, socket.SOCK_SEQPACKET)
	    s.bind((addr, port))
	    s.settimeout(20)
	    return s
	s = bound("10.1.0.1", 4001)
	peers = [bound(a, 4000) for a in ("10.1.0.1", "10.1.0.11", "10.1.0.12")]
	for i in range(100):
	    for r in peers:
	        s.sendto(b"%d" % i, r.getsockname())
	for r in peers:
	    assert [int(r.recv(16)) for i in range(100)] == list(range(100))
	PYTHON
}

connections() { n1 "$BIN/rds-info" -n -v | grep -c loopback; }

# Three destinations of one address: three connections, whatever the number of sends
few_created()
{
	local before after

	before=$(counter n1 conn_created)
	alternate || return
	after=$(counter n1 conn_created)
	echo "# $((after - before)) connections made for 300 messages"
	[ $((after - before)) -eq 3 ] && [ "$(connections)" -eq 3 ]
}

none_created()
{
	local before

	before=$(counter n1 conn_created)
	alternate && [ "$(counter n1 conn_created)" -eq "$before" ] &&
	[ "$(connections)" -eq 3 ]
}

ktap_header
setup_pair
n1 ip addr add 10.1.0.11/24 dev eth0
n1 ip addr add 10.1.0.12/24 dev eth0
check "alternating destinations, first time" few_created
check "alternating destinations, again" none_created
ktap_finish
