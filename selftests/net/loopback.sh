#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=60 lanes=uml
# Both loopbacks under stress: 127.0.0.1, and a host's own addresses.
. "$(dirname "$0")/common.sh"

# many ID NS A1 A2 SOCKETS COUNT opts: SOCKETS senders to one receiver
many() {
	local id=$1 ns=$2 a1=$3 a2=$4 k=$5 count=$6

	shift 6
	FLOWS=$k start_flow "$id" "$ns" "$a1" "$ns" "$a2" "$count" -k "$k" "$@" || return 1
	end_flow "$id" $((k * count))
}

# The receiver sleeps: memory must stay bounded, that is senders must be stopped.
back_pressure() {
	local rc=0

	RECV_OPTS="--rcvbuf 32768 --pause-after 20 --pause 2000" \
		start_flow bp n1 "$1" n1 "$2" 2000 -S 2000 || return 1
	end_flow bp 2000 || rc=1
	if [ "$(($(json "$T/bp.send" enobufs) + $(json "$T/bp.send" eagain)))" = 0 ]; then
		note "nothing stopped the sender"
		rc=1
	fi
	return $rc
}

# A peer's address comes to us, and a message may be on its way already.
moved_here() {
	n2 ip addr add 10.1.0.12/24 dev eth0
	start_flow there n1 10.1.0.1 n2 10.1.0.12 100 || return 1
	end_flow there 100 || return 1
	n2 ip addr del 10.1.0.12/24 dev eth0
	n1 ip addr add 10.1.0.12/24 dev eth0
	start_flow here n1 10.1.0.1 n1 10.1.0.12 300 -S 0-4000 || return 1
	end_flow here 300
}

ktap_header
setup_pair
n1 ip addr add 10.1.0.11/24 dev eth0
check "127.0.0.1, 16 senders" many lo n1 127.0.0.1 127.0.0.1 16 300 -S 0-4000
check "::1, 8 senders" many lo6 n1 '[::1]' '[::1]' 8 200 -S 0-4000
check "127.0.0.1, 1 MiB messages" many lo1m n1 127.0.0.1 127.0.0.1 2 10 -S 1048576
check "the host's own address, 16 senders" many own n1 10.1.0.1 10.1.0.1 16 300 -S 0-4000
check "two addresses of the host" many two n1 10.1.0.1 10.1.0.11 8 200 -S 0-4000
check "both ways at once" duplex loboth n1 127.0.0.1 n1 127.0.0.2 800 -S 0-9000
check "back-pressure, own address" back_pressure 10.1.0.1 10.1.0.1
if ours; then
	check "back-pressure, two addresses" back_pressure 10.1.0.1 10.1.0.11
	check "back-pressure, 127.0.0.1" back_pressure 127.0.0.1 127.0.0.1
fi
if ours; then
	check "an address that moves here" moved_here
fi
moved
ktap_finish
