#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=2 modules=rds_rdma,rdma_rxe,rdma_ucm,ib_uverbs,sch_netem host=1 timeout=240
# Messages over RoCE between two guests: every edge of a size, both families, types of service,
# congestion, sixty-four connections; each exactly once, in order and intact.
. "$(dirname "$0")/pair.sh"

SMALL=0,1,207,208,209,2047,2048,2049
LARGE=4095,4096,4097,8192,8193,65536,1048575,1048576

sizes() {
	both "$1-small" 200 -S $SMALL && both "$1-large" 18 -S $LARGE
}

sizes6() {
	both6 v6-small 200 -S $SMALL && both6 v6-large 18 -S $LARGE
}

# Each has a connection of its own, in both directions.
services() {
	local t rc=0

	for t in 1 5 200; do
		start_flow "tos$t-a" a 10.0.0.1 b 10.0.0.2 300 -S 0-5000 --tos $t || rc=1
		start_flow "tos$t-b" b 10.0.0.2 a 10.0.0.1 300 -S 0-5000 --tos $t || rc=1
	done
	for t in 1 5 200; do
		end_flow "tos$t-a" 300 || rc=1
		end_flow "tos$t-b" 300 || rc=1
	done
	return $rc
}

# services_listed NODE OTHER: tos and service level of each
services_listed() {
	local want="0 0 1 1 200 8 5 5"

	[ "$(ib_rows "$1" I remote_addr tos sl | grep "^$(addr "$2") " | cut -d' ' -f2- | sort |
		xargs)" = "$want" ] && return 0
	ib_rows "$1" I remote_addr tos sl
	return 1
}

pingpong() {
	start_recv none b 10.0.0.2:4999 1 1 || return 1
	drop_recv none b
	on b "$BIN/rds-traffic" echo -b 10.0.0.2:4998 -n 300 -s 1 -t $((30 * ${RDS_SLOW:-1})) --json --ready $RD/echo \
		>"$T/echo" 2>&1 </dev/null &
	busywait 10 there b $RD/echo || return 1
	on a "$BIN/rds-traffic" pingpong -b 10.0.0.1:4998 -d 10.0.0.2:4998 -n 300 -S 64 -t 30 \
		--json >"$T/pp" || { show_file "$T/pp"; return 1; }
	show_file "$T/pp"
	wait $!
}

# Eight addresses on each side, each to each.
sixty_four() {
	local i j dests rc=0 n=8 count=20

	for i in $(seq $n); do
		on a ip addr add "10.0.0.$((10 + i))/24" dev eth0 || return 1
		on b ip addr add "10.0.0.$((20 + i))/24" dev eth0 || return 1
	done
	for i in $(seq $n); do
		busywait 10 gid_of a "0a00:00$(printf %02x $((10 + i)))" || return 1
		busywait 10 gid_of b "0a00:00$(printf %02x $((20 + i)))" || return 1
		start_recv "m$i" b "10.0.0.$((20 + i)):4200" $count $n || return 1
	done
	for i in $(seq $n); do
		dests=
		for j in $(seq $n); do
			dests="$dests -d 10.0.0.$((20 + j)):4200"
		done
		# shellcheck disable=SC2086
		on a "$BIN/rds-traffic" send -b "10.0.0.$((10 + i)):4201" $dests -n $count \
			-S 0-10000 -t $((60 * ${RDS_SLOW:-1})) --json >"$T/m$i.send" 2>"$T/m$i.send.err" </dev/null &
		JOBS+=("m$i:$!")
	done
	for i in $(seq $n); do
		end_flow "m$i" $((count * n)) || rc=1
	done
	return $rc
}

gid_of() {
	on "$1" "cat /sys/class/infiniband/$RXE/ports/1/gids/* 2>/dev/null" | grep -q "$2"
}

# all_up NODE
all_up() {
	local n

	n=$(ib_rows "$1" p state local_addr remote_addr | grep -c "^up .*10\.0\.0\.1[1-8]")
	[ "$n" = 64 ] || { note "$1: $n are up"; return 1; }
}

broken() {
	local a b

	a=$(ib_counter a ib_drop_wc_error) && b=$(ib_counter b ib_drop_wc_error) && echo $((a + b))
}

no_link_lost() {
	[ -n "$BROKEN" ] && [ "$(broken)" = "$BROKEN" ] || { note "$(($(broken) - BROKEN)) links failed"; return 1; }
}

# An acceptor in user space in place of b's rds_rdma: see acceptor4.c
dialled_over_ipv4() {
	local rc=0 hello

	on b rmmod rds_rdma || return 1
	on a "python3 -S -c '
import socket, time
s = socket.socket(21, socket.SOCK_SEQPACKET)
s.bind((\"10.0.0.1\", 4000))
while True:
    s.sendto(b\"hello\", (\"10.0.0.2\", 9))
    time.sleep(0.05)'" >"$T/hello" 2>&1 </dev/null &
	hello=$!
	on b "$BIN/acceptor4" >"$T/acceptor4" 2>&1 || rc=1
	[ $rc = 0 ] || { show_file "$T/hello"; show_file "$T/acceptor4"; }
	kill $hello
	wait $hello 2>/dev/null
	on b modprobe rds_rdma || rc=1
	return $rc
}

ktap_header
note "a: $(on a uname -r), b: $(on b uname -r)"
check "a request over IPv4, byte by byte, and answers to it" dialled_over_ipv4
BROKEN=$(broken)
check "ping, a to b" ping a b
check "ping, b to a" ping b a
check "IPv4, sizes, both ways" sizes v4
check "IPv6, sizes, both ways" sizes6
check "20,000 messages with hashes" both many 10000 -S 88-600
check "sixteen sockets each way" sixteen crowd 60 -S 0-5000
check "request and response" pingpong
check "congestion on and off" congested a b
check "congestion with monitor" congested b a --monitor
check "types of service" services
check "each has its connection on a" services_listed a b
check "each has its connection on b" services_listed b a
check "sixty-four connections" sixty_four
check "all of them are up on a" all_up a
check "all of them are up on b" all_up b
check "everything is acknowledged" acknowledged
check "no link was lost" no_link_lost
moved
ktap_finish
