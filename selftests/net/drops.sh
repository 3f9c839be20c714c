#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=150 ref=0 waits=1 lanes=uml
# Whatever is thrown away is traced and counted, once, under its reason.
. "$(dirname "$0")/common.sh"

PY=${SELFTESTS:-$(dirname "$0")/..}/hostile/room.py
need_tracing

NODE='\(10[.]1[.]0[.]\|fd00:1::\)[0-9]*'	# both ends are told

counts() {
	n2 "$BIN/rds-info" -c
}

# traced REASON [COUNT]
traced() {
	cat $TR/trace >"$T/trace"
	[ "$(grep -c "rds_drop: .*reason=$1\$" "$T/trace")" -ge "${2:-1}" ]
}

# dropped REASON COUNTER: traced, and counted as often
dropped() {
	local was

	was=$(awk -v n="$2" '$1 == n { print $2 }' "$T/before")
	busywait 20 same "$1" "$2" "$was" && return 0
	note "$(<"$T/same")"
	return 1
}

same() {
	local nr now

	now=$(counter - "$2") || return 1
	nr=$(grep -c "rds_drop: .* laddr=$NODE faddr=$NODE .*reason=$1\$" $TR/trace)
	echo "$1: traced $nr times, counted $3 -> $now" >"$T/same"
	[ "$nr" -ge 1 ] && [ "$nr" -eq $((now - $3)) ]
}

ktap_header
setup_pair
n2 sysctl -qw net.rds.tcp.rds_tcp_sndbuf=8192 net.rds.close_timeout_ms=1000
counts >"$T/before"
echo 0 >$TR/tracing_on
echo 16384 >$TR/buffer_size_kb
echo >$TR/trace
echo 1 >$TR/events/rds/rds_drop/enable
echo 1 >$TR/tracing_on
# The kernel at 10.1.0.1 keeps out of it, see peer.sh.
n1 sysctl -qw net.rds.max_conns=1
n1 "$BIN/rds-traffic" send -b 10.1.0.1:3999 -d 10.1.0.250:4000 -n 1 -t $((300 * ${RDS_SLOW:-1})) >/dev/null 2>&1 </dev/null &
busywait 10 sh -c "[ \$(ip netns exec n1 '$BIN/rds-info' -n | grep -c 10.1.0.250) = 1 ]"
n2 "$BIN/rds-traffic" recv -b 10.1.0.2:7000 -n 10 -t $((60 * ${RDS_SLOW:-1})) >/dev/null 2>&1 </dev/null &
busywait 10 sh -c "ip netns exec n2 '$BIN/rds-info' -s | grep -q 7000"
n1 python3 -ISu "$PY" odd 10.1.0.1 10.1.0.2 7000 >"$T/odd" 2>&1 </dev/null &
check "frames that are dropped were sent" busywait 15 grep -q '^sent' "$T/odd"
check "a repetition" dropped OLD_SEQ recv_drop_old_seq
check "nobody has bound the port" dropped NO_SOCK recv_drop_no_sock
check "both ports zero" dropped PORTS_ZERO recv_drop_ports_zero
check "a map of the wrong size" dropped BAD_CONG recv_drop_bad_cong
check "a ping from a congested port" dropped PONG_CONGESTED pong_congested
check "more pings than answers may wait" dropped PONG_LIMIT pong_limit
check "messages are given up" n2 python3 -IS "$PY" given_up 10.1.0.2 10.1.0.77 5100 10.1.0.2
check "cancelled" dropped CANCELLED send_cancelled
check "the sender was closed" dropped CLOSED send_closed_unacked
check "the receiver was closed and had not read it" dropped UNREAD recv_drop_unread
n2 sysctl -qw net.rds.ping_enable=0
n2 "$BIN/rds-ping" -c 1 10.1.0.2 >/dev/null 2>&1
check "pings are off" dropped PING_DISABLED recv_drop_ping_disabled
# or the kernel at 10.1.0.1 takes them when its impostor is dead
ip -n n2 link set eth0 down
cleanup
check "answers that waited when the namespace went" busywait 60 traced EXPIRED 100
check "are counted" dropped EXPIRED send_expired
setup_pair
n2 sysctl -qw net.rds.max_peer_bytes=2097152
n2 "$BIN/rds-traffic" recv -b "[fd00:1::2]:7002" -n 10 -t $((90 * ${RDS_SLOW:-1})) --rcvbuf 65536 --pause-after 1 --pause 90000 \
	>/dev/null 2>&1 </dev/null &
busywait 10 sh -c "ip netns exec n2 '$BIN/rds-info' -6k | grep -q 7002"
"$BIN/rdsns" n1 python3 -u "${PY%/*}/spill.py" flood fd00:1::1 fd00:1::2 7002 300 60000 \
	>"$T/flood" 2>&1 </dev/null &
flood=$!
check "more than may be kept for a socket that does not read" busywait 60 grep -q '^sent' "$T/flood"
kill $flood
wait $flood 2>/dev/null
show_file "$T/flood"
check "what there is no room for" dropped FULL recv_drop_full
cleanup
echo 0 >$TR/tracing_on
echo 0 >$TR/events/rds/rds_drop/enable
echo >$TR/trace
echo 1 >$TR/buffer_size_kb
echo 1 >$TR/tracing_on
ktap_finish
