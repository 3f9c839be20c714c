#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init ref=0 timeout=60 lanes=debian
# An iWARP device is refused, with a message; a RoCE device beside it is not.
. "$(dirname "$0")/common.sh"

ib_restore() {
	rdma link del siw_t 2>/dev/null
	ip link del siw0 2>/dev/null
}

told() {
	dmesg | grep -q 'siw_t: rds: not an InfiniBand or RoCE device, not used'
}

# bind_to ADDRESS: choosing the transport first; what it says
bind_to() {
	python3 -S -c '
import ctypes, socket, struct, sys
s = socket.socket(21, socket.SOCK_SEQPACKET, 0)
s.setsockopt(276, 8, struct.pack("=i", 0))
a = struct.pack("=HH4s8x", 2, 0x1234, socket.inet_aton(sys.argv[1]))
rc = ctypes.CDLL(None, use_errno=True)
rc = rc.bind(s.fileno(), a, len(a)) and ctypes.get_errno()
print(rc or "bound")' "$1"
}

refused() {
	local said

	said=$(bind_to 10.6.0.1)
	[ "$said" = 92 ] || { note "bind said $said"; return 1; }	# ENOPROTOOPT
}

accepted() {
	[ "$(bind_to "$A4")" = bound ]
}

no_address() {
	local said

	said=$(bind_to 192.0.2.1)
	[ "$said" = 92 ] || { note "bind said $said"; return 1; }
}

gone() {
	rdma link del siw_t && duplex beside here "$A4" here "$B4" 50
}

ktap_header
if ! modprobe siw 2>/dev/null; then
	ktap_skip "an iWARP device is refused" "this kernel has no siw"
	ktap_finish
fi
setup_rxe
ip link add siw0 type veth peer name siw1 && ip addr add 10.6.0.1/24 dev siw0 &&
	ip link set siw0 up && ip link set siw1 up && rdma link add siw_t type siw netdev siw0 ||
	lib_die "no iWARP device"
check "the kernel log says so" busywait 5 told
check "its address cannot be bound" refused
check "an address of no interface cannot be bound" no_address
check "that of the RoCE device can" accepted
check "the device goes, messages beside it" gone
moved
ktap_finish
