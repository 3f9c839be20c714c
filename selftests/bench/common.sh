# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced: two namespaces for rds-bench, for all transports that this kernel has.

# shellcheck source=../lib.sh
. "${SELFTESTS:-$(dirname "${BASH_SOURCE[0]}")/..}/lib.sh"

PEERS=${PEERS:-64}	# addresses of n2: 10.1.0.2 and on

# TIPC recognises a peer in another namespace of the same kernel by a number in
# its announcements, and then bypasses the link. The number is overwritten here,
# on a link that carries nothing else, so that nobody pays for the filter.
tipc_announce()
{
	tc -n "$1" qdisc add dev tipc0 clsact &&
		tc -n "$1" filter add dev tipc0 egress protocol 0x88ca u32 \
			match u32 0x1a000000 0x1e000000 at 0 \
			action pedit munge offset 52 u32 set "$2"
}

tipc_up() { ip netns exec n1 tipc link list 2>/dev/null | grep -q ': up'; }

setup_tipc()
{
	local ns

	modprobe -q tipc && command -v tipc >/dev/null || return 1
	modprobe -q -a sch_ingress cls_u32 act_pedit
	ip -n n1 link add tipc0 type veth peer name tipc0 netns n2 || return 1
	tipc_announce n1 0x11111111 && tipc_announce n2 0x22222222 || return 1
	for ns in n1 n2; do
		ip -n $ns link set tipc0 up || return 1
	done
	for ns in n1 n2; do
		ip netns exec $ns tipc node set identity bench-$ns &&
			ip netns exec $ns tipc bearer enable media eth device tipc0 || return 1
	done
	busywait 20 tipc_up
}

# packets that TIPC's link has carried
tipc_packets() { ip netns exec n1 cat /sys/class/net/tipc0/statistics/tx_packets; }

# The in-tree module can deliver the first messages to a new peer out of order, while
# it learns how many paths there are. It is asked to connect before.
connect_rds()
{
	local i

	for i in $(seq $PEERS); do
		n1 timeout 20 "$BIN/rds-ping" -c 2 -i 0.05 -I 10.1.0.1 "10.1.0.$((i + 1))" \
			>/dev/null 2>&1 &
	done
	wait
}

# setup_bench: n1 and n2, what there is of SCTP and TIPC; TRANSPORTS says what
setup_bench()
{
	modprobe -q veth
	setup_pair
	[ $PEERS -lt 2 ] || printf 'addr add 10.1.0.%d/24 dev eth0\n' $(seq 3 $((PEERS + 1))) | ip -n n2 -batch -
	connect_rds
	TRANSPORTS=rds,tcp,tcpn,udp
	modprobe -q sctp && TRANSPORTS+=,sctp
	setup_tipc && TRANSPORTS+=,tipc
}

bench()
{
	"$BIN/rds-bench" --tx 10.1.0.1 --tx-ns n1 --rx 10.1.0.2 --rx-ns n2 "$@"
}
