#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge,sch_netem,inet_diag,tcp_diag timeout=120 ref=0
# Four nodes, everybody to everybody, while connections die, buffers change,
# sockets come and go, and everything there is to read is read.
. "${SELFTESTS:-$(dirname "$0")/..}/net/common.sh"

COUNT=${COUNT:-$((450 + 1200 * ${RDS_SOAK:-0}))}
SOCKS=4
LIMIT=$((90 + 80 * ${RDS_SOAK:-0}))
NODES="1 2 3 4"

# One process a node: SOCKS sockets, each sends to every other node.
start_node() {
	local i=$1 j dests=()

	for j in $NODES; do
		[ "$j" = "$i" ] || dests+=(-d "10.1.0.$j:4000")
	done
	"n$i" "$BIN/rds-traffic" both -b "10.1.0.$i:4000" -k $SOCKS --spread \
		"${dests[@]}" -n "$COUNT" -s $((SOCKS * 3)) -S 0-4000 -r 800 \
		-t $((LIMIT * ${RDS_SLOW:-1})) --json --ready "$T/up.$i" --go "$T/go" \
		>"$T/node$i" 2>"$T/node$i.err" </dev/null &
	PIDS+=($!)
}

# Until the file $T/stop is there: one of these each.
disturb() {
	local i=0

	while [ ! -e "$T/stop" ]; do
		i=$((i + 1))
		"n$((i % 4 + 1))" "$BIN/rdsmisc" killtcp 10 0.01 >/dev/null
		sleep 0.5
		"n$((i % 4 + 1))" sysctl -qw net.rds.tcp.rds_tcp_sndbuf=$((20000 + i * 1000))
		sleep 0.5
	done
}

read_all() {
	while [ ! -e "$T/stop" ]; do
		n1 "$BIN/rds-info" >/dev/null
		n2 "$BIN/rds-info" --json >/dev/null
	done
}

come_and_go() {
	while [ ! -e "$T/stop" ]; do
		n3 "$BIN/rdsmisc" flood 10.1.0.3:9000 10.1.0.1:9999 0.2 >/dev/null
		n1 "$BIN/rdsmisc" spray 10.1.0.1:9001 10.1.0.200:9999 8 >/dev/null
	done
}

mesh() {
	local i rc=0 want=$((COUNT * SOCKS * 3))

	PIDS=()
	for i in $NODES; do
		start_node "$i"
	done
	for i in $NODES; do
		busywait 10 test -e "$T/up.$i" || rc=1
	done
	disturb &
	read_all &
	come_and_go &
	touch "$T/go"
	wait "${PIDS[@]}"
	touch "$T/stop"
	wait
	for i in $NODES; do
		note "n$i: $(cat "$T/node$i")"
		[ ! -s "$T/node$i.err" ] || show_file "$T/node$i.err"
		[ "$(json "$T/node$i" result)" = ok ] || rc=1
		[ "$(json "$T/node$i" received)" = "$want" ] || rc=1
		MOVED=$((MOVED + $(json "$T/node$i" received)))
	done
	return $rc
}

ktap_header
setup_nodes 4
for i in $NODES; do
	"n$i" tc qdisc replace dev eth0 root netem limit 10000 loss 0.5% delay 1ms 1ms
done
check "$((COUNT * SOCKS * 12)) messages through a troubled mesh" mesh
check "peace afterwards" duplex after n1 10.1.0.1 n2 10.1.0.2 300
moved
ktap_finish
