#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init ref=0 timeout=150 waits=1 lanes=uml
# Messages over verbs: every edge of a size, both families, an address and itself, types of
# service, many flows at once; each exactly once, in order and intact.
. "$(dirname "$0")/common.sh"

# around the entry's own buffer, the copied size, one and two fragments, the largest
SMALL=0,1,207,208,209,2047,2048,2049
LARGE=4095,4096,4097,8192,8193,65536,1048575,1048576

flow() {
	local id=$1 from=$2 to=$3 count=$4
	shift 4
	start_flow "$id" here "$from" here "$to" "$count" "$@" || return 1
	end_flow "$id" "$count"
}

sizes() {
	flow "$1-small" "$2" "$3" 200 -S $SMALL && flow "$1-large" "$2" "$3" 24 -S $LARGE
}

both_ways() {
	duplex both here $A4 here $B4 1500 -S 0-3000
}

crowd() {
	FLOWS=8 start_flow crowd here $A4 here $B4 200 -k 8 -S 0-20000 || return 1
	end_flow crowd 1600
}

# Answers acknowledge the requests: frames for that are not asked for.
pingpong() {
	local acks

	acks=$(counter - ib_ack_sent)
	PORT=$((PORT + 100))
	"$BIN/rds-traffic" echo -b $B4:$PORT -n 300 -s 1 -t $((30 * ${RDS_SLOW:-1})) --json --ready "$T/echo" \
		>"$T/echo.out" &
	busywait 10 test -e "$T/echo" || return 1
	"$BIN/rds-traffic" pingpong -b $A4:$((PORT + 50000)) -d $B4:$PORT -n 300 -S 64 \
		-t $((30 * ${RDS_SLOW:-1})) --json >"$T/pp.out" || { show_file "$T/pp.out"; return 1; }
	wait $! || return 1
	acks=$(($(counter - ib_ack_sent) - acks))
	note "$acks acknowledgments by themselves"
	[ $acks -lt $((40 * ${RDS_SLOW:-1})) ]
}

ping() {
	local to

	for to in $B4 $A4; do
		"$BIN/rds-ping" -c 3 -w 20 -I $A4 $to >"$T/ping.out" 2>&1 ||
			{ show_file "$T/ping.out"; return 1; }
	done
}

acknowledged() {
	busywait 5 ib_idle || { ib_paths local_addr remote_addr queued unacked; return 1; }
}

# A reader that is slow and has little room: the sender waits.
slow_reader() {
	RECV_OPTS="--rcvbuf 20000 --slow 3" start_flow slow here $A4 here $B4 300 -S 0-9000 ||
		return 1
	end_flow slow 300 || return 1
	[ "$(counter - cong_update_received)" -gt "$1" ] || { note "no map came"; return 1; }
}

# Each type of service has a connection of its own, with its service level.
types_of_service() {
	local tos have

	for tos in 1 17 255; do
		"$BIN/rds-ping" -c 2 -w 20 -Q $tos -I $A4 $B4 >"$T/tos.out" 2>&1 ||
			{ show_file "$T/tos.out"; return 1; }
	done
	have=$("$BIN/rds-info" --json -I | python3 -S -c '
import json, sys
rows = json.load(sys.stdin)["ib_connections"]
print(*sorted("%d/%d" % (r["tos"], r["sl"]) for r in rows
              if r["local_addr"] == sys.argv[1] and r["remote_addr"] == sys.argv[2]))' $A4 $B4)
	[ "$have" = "0/0 1/1 17/1 255/15" ] || { note "$have"; return 1; }
}

link_local() {
	ip addr add fe80::a1/64 dev $DEV nodad && ip addr add fe80::a2/64 dev $DEV nodad || return 1
	ib_wait_addr fe80::a2 || return 1
	flow local "[fe80::a1%$DEV]" "[fe80::a2%$DEV]" 50 -S $LARGE || return 1
	"$BIN/rds-info" --json -I | grep -q fe80::a1
}

# Who looks for what is wrong looks in this list.
silent_peer() {
	"$BIN/rds-ping" -c 1 -w 1 -I $A4 "${A4%.*}.77" >/dev/null
	"$BIN/rds-info" --json -I | grep -q "\"${A4%.*}\.77\""
}

no_loss_of_links() {
	local rows

	rows=$(ib_paths links) && [ -n "$rows" ] || return 1
	! grep -qv '^1$' <<<"$rows" || { ib_paths local_addr remote_addr links; return 1; }
	[ "$(counter - ib_drop_wc_error)" = 0 ]
}

ktap_header
setup_rxe
check "IPv4, sizes" sizes v4 $A4 $B4
check "IPv4, the other way" sizes v4r $B4 $A4
check "IPv6, sizes" sizes v6 "[$A6]" "[$B6]"
check "an address and itself" sizes self $A4 $A4
check "an IPv6 address and itself" sizes self6 "[$A6]" "[$A6]"
check "both ways at once" both_ways
check "eight sockets to one" crowd
check "request and response" pingpong
check "ping, to itself as well" ping
check "a slow reader" slow_reader "$(counter - cong_update_received)"
check "types of service" types_of_service
check "link-local addresses" link_local
check "everything is acknowledged" acknowledged
check "no link was lost" no_loss_of_links
check "a peer that does not answer is in the list, too" silent_peer
moved
ktap_finish
