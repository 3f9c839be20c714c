#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,inet_diag,tcp_diag timeout=120 lanes=uml
# net.rds.* and net.rds.tcp.*: per namespace, ranges, written in mid-traffic.
. "$(dirname "$0")/common.sh"

get() {
	"$1" sysctl -n "$2"
}

refused() {
	local before

	before=$(get "$1" "$2") || return 1
	"$1" sysctl -qw "$2=$3" 2>/dev/null && return 1
	[ "$(get "$1" "$2")" = "$before" ]
}

taken() {
	"$1" sysctl -qw "$2=$3" && [ "$(get "$1" "$2")" = "$3" ]
}

is() {
	[ "$(get "$1" "$2")" = "$3" ] || { note "$2 is $(get "$1" "$2")"; return 1; }
}

# Both ends change their buffers every half second; each write drops all paths.
written() {
	local i rc=0 size

	start_flow w-a n1 10.1.0.1 n2 10.1.0.2 2000 -S 0-3000 -r 300 || rc=1
	start_flow w-b n2 10.1.0.2 n1 10.1.0.1 2000 -S 0-3000 -r 300 || rc=1
	for i in $(seq 10); do
		sleep 0.5
		size=$((20000 * i))
		n$((i % 2 + 1)) sysctl -qw net.rds.tcp.rds_tcp_sndbuf=$size || rc=1
		n$(((i / 2) % 2 + 1)) sysctl -qw net.rds.tcp.rds_tcp_rcvbuf=$size || rc=1
	done
	end_flow w-a 2000 || rc=1
	end_flow w-b 2000 || rc=1
	return $rc
}

core_written() {
	local i rc=0

	start_flow c-a n1 10.1.0.1 n2 10.1.0.2 1500 -S 0-3000 -r 500 || rc=1
	for i in $(seq 6); do
		sleep 0.4
		n1 sysctl -qw net.rds.reconnect_max_delay_ms=$((1000 * i)) || rc=1
		n1 sysctl -qw net.rds.max_unacked_packets=$((2 * i)) || rc=1
		n2 sysctl -qw net.rds.ping_enable=$((i % 2)) || rc=1
	done
	n2 sysctl -qw net.rds.ping_enable=1
	end_flow c-a 1500 || rc=1
	return $rc
}

# unpinged NS: no handshake by new links, but both ends are who they were
unpinged() {
	local rc=0 id=u-$1

	PORT=$((PORT + 100))
	start_recv "$id" n2 "10.1.0.2:$PORT" 40 16 || return 1
	start_send "$id" n1 10.1.0.1:9500 "10.1.0.2:$PORT" 40 -S 0-1500 -r 100 -k 16
	busywait 20 has_links n1 8 || rc=1
	"$1" sysctl -qw net.rds.ping_enable=0
	sleep 0.5
	n1 sysctl -qw "net.rds.tcp.rds_tcp_sndbuf=$((100000 + PORT))" || rc=1
	busywait 30 has_links n1 8 || rc=1
	end_flow "$id" 640 || rc=1
	"$1" sysctl -qw net.rds.ping_enable=1
	return $rc
}

# A delay that was drawn stays, but the next one keeps to the smaller maximum.  Our dials are
# refused at once, the second time because the larger address knocks.
smaller_maximum() {
	local rc=0 start

	n1 ip addr add 10.1.1.1/24 dev eth0 && n2 ip addr add 10.1.1.2/24 dev eth0 &&
		n1 ip rule add pref 10 ipproto tcp dport 16385 prohibit || return 1
	n1 sysctl -qw net.rds.reconnect_max_delay_ms=300000 &&
		n1 sysctl -qw net.rds.reconnect_min_delay_ms=300000 || return 1
	start_recv max n2 10.1.1.2:4900 1 1 || return 1
	start_send max n1 10.1.1.1:4901 10.1.1.2:4900 1
	sleep 1
	fair_now
	n1 sysctl -qw net.rds.reconnect_min_delay_ms=10 &&
		n1 sysctl -qw net.rds.reconnect_max_delay_ms=1000 || return 1
	# its answer is a reset, perhaps before connect() returns
	n2 bash -c 'exec 3<>/dev/tcp/10.1.1.1/16385' 2>/dev/null
	sleep 0.3
	n1 ip rule del pref 10
	fair_now
	start=$FAIR_NOW
	end_flow max 1 || rc=1
	fair_now
	note "$((FAIR_NOW - start)) ms"
	[ $((FAIR_NOW - start)) -lt $((5000 * ${RDS_SLOW:-1})) ] || rc=1
	return $rc
}

ktap_header
setup_pair
check "sndbuf default 0" is n1 net.rds.tcp.rds_tcp_sndbuf 0
check "rcvbuf default 0" is n1 net.rds.tcp.rds_tcp_rcvbuf 0
check "sndbuf below the minimum is refused" refused n1 net.rds.tcp.rds_tcp_sndbuf 100
check "rcvbuf below the minimum is refused" refused n1 net.rds.tcp.rds_tcp_rcvbuf 100
check "negative sndbuf is refused" refused n1 net.rds.tcp.rds_tcp_sndbuf -1
check "sndbuf 65536 is taken" taken n1 net.rds.tcp.rds_tcp_sndbuf 65536
check "the other namespace keeps its own" is n2 net.rds.tcp.rds_tcp_sndbuf 0
if ours; then
	check "net.rds.tcp.* written in mid-traffic on either side" written
	check "all links come again though we send no ping" unpinged n1
	check "all links come again though the peer answers none" unpinged n2
	for s in reconnect_min_delay_ms reconnect_max_delay_ms max_unacked_packets \
		 max_unacked_bytes ping_enable max_conns idle_conn_timeout_ms; do
		check "net.rds.$s is there in every namespace" get n1 net.rds.$s
	done
	check "reconnect_max_delay_ms default" is n1 net.rds.reconnect_max_delay_ms 1000
	check "max_unacked_packets default" is n1 net.rds.max_unacked_packets 8
	check "max_unacked_bytes default" is n1 net.rds.max_unacked_bytes 16777216
	check "ping_enable default" is n1 net.rds.ping_enable 1
	check "reconnect_max_delay_ms 2000" taken n1 net.rds.reconnect_max_delay_ms 2000
	check "max below min is refused" refused n1 net.rds.reconnect_max_delay_ms 0
	check "min above max is refused" refused n1 net.rds.reconnect_min_delay_ms 5000
	check "nonsense is refused" refused n1 net.rds.reconnect_min_delay_ms abc
	check "the other namespace is not touched" is n2 net.rds.reconnect_max_delay_ms 1000
	check "net.rds.* written in mid-traffic" core_written
	check "a smaller reconnect_max_delay_ms counts for who has waited longer" smaller_maximum
fi
moved
ktap_finish
