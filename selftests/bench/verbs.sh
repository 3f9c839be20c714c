#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In a guest: the options and cells of rds-bench, between two addresses of one software RDMA device
# (rxe).  "make bench CLOCK=verbs" calls this.

. "$(dirname "$0")/../lib.sh"

DEV=rdst0

# An address belongs to the transport as soon as the device has a GID for it.
has_addresses() {
	[ "$(cat /sys/class/infiniband/rxe_t/ports/1/gids/* 2>/dev/null | grep -c ffff:0a05)" = 2 ]
}

answers() { timeout 5 "$BIN/rds-ping" -c 1 -I 10.5.0.1 10.5.0.2 >/dev/null 2>&1; }

ip link add $DEV mtu 9000 type dummy && ip link set $DEV up &&
	ip addr add 10.5.0.1/24 dev $DEV && ip addr add 10.5.0.2/24 dev $DEV &&
	rdma link add rxe_t type rxe netdev $DEV || exit 1
busywait 10 has_addresses && busywait 20 answers || exit 1
exec "$BIN/rds-bench" --tx 10.5.0.1 --rx 10.5.0.2 "$@"
