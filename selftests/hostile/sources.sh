#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge timeout=240 lanes=uml
# Connections from thousands of addresses, and from the wrong side: state stays
# bounded, what must be refused is refused, honest peers go on.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

conns() {
	"$1" "$BIN/rds-info" --json -n 2>/dev/null | grep -o '"remote_addr"' | wc -l
}

at_most() {
	[ "$(conns "$1")" -le "$2" ]
}

SOURCES=$((2000 + 2000 * ${RDS_SOAK:-0}))
[ $SOURCES -le 16000 ] || SOURCES=16000

flood() {
	n4 timeout 300 "$BIN/rdspeer" many-sources '[fd00::4]:0' '[fd00:1::ffff]:0' \
		7000 0 $SOURCES >"$T/peer" 2>&1 </dev/null
	local rc=$?
	show_file "$T/peer"
	note "connections of the victim: $(conns n3)"
	return $rc
}

# Connections that the victim made, refused for the table or for the share of those who dial,
# or whose last ACK met a full accept queue: each reason has its counter.
counters() {
	echo $(($(counter n3 conn_created) + $(refusals) + $(n3 awk '
		$1 == "TcpExt:" && !at { for (at = 2; $at != "ListenDrops"; at++); next }
		$1 == "TcpExt:" { print $at }' /proc/net/netstat)))
}

refusals() {
	echo $(($(counter n3 conn_limit) + $(counter n3 conn_share)))
}

all_counted() {
	local n open

	open=$(awk '/addresses connected/ { print $1 }' "$T/peer")
	n=$(($(counters) - was))
	note "$open connected, $n counted"
	[ "$open" -gt $((SOURCES / 2)) ] && [ $n -ge "$open" ]
}

room_made() {
	[ $(($(refusals) + $(counter n3 conn_expired))) -ge $((made + SOURCES / 20)) ]
}

# The victim calls nobody here by itself: who is refused has called.
all_reset() {
	note "$(($(refusals) - refused)) refused, $(($(counter n3 tcp_accept_refused) - resets)) reset"
	[ $(($(refusals) - refused)) -eq $(($(counter n3 tcp_accept_refused) - resets)) ]
}

wrong_way() {
	n4 timeout 60 "$BIN/rdspeer" non-canonical 10.1.0.4:0 10.1.0.3:0 7000 0 \
		>"$T/peer" 2>&1 </dev/null
	local rc=$?
	show_file "$T/peer"
	return $rc
}

nothing_came() {
	kill "$(cat "$T/wrong.pid")"
	wait "$listener" 2>/dev/null
	show_file "$T/wrong"
	grep -q 'received 0,.* unplaced 0, foreign 0,' "$T/wrong"
}

ktap_header
setup_nodes 4
ip -n n3 addr add fd00:1::ffff/64 dev eth0 nodad
many_addresses n4 fd00:1::4 n3
start_flow honest n2 10.1.0.2 n3 10.1.0.3 2000 -S 0-1000 -r 150
n3 "$BIN/rds-traffic" recv -b 10.1.0.3:7000 -n 1 -t $((60 * ${RDS_SLOW:-1})) --ready "$T/wrong.pid" >"$T/wrong" 2>&1 </dev/null &
listener=$!
busywait 15 test -s "$T/wrong.pid"
check "connections from the larger address are reset" wrong_way
check "and what they carry is not believed" nothing_came
if ours; then
	n3 sysctl -qw net.rds.max_conns=100
	n3 sysctl -qw net.rds.idle_conn_timeout_ms=2000
	was=$(counters)
	made=$(($(refusals) + $(counter n3 conn_expired)))
	refused=$(refusals)
	resets=$(counter n3 tcp_accept_refused)
	check "$SOURCES source addresses" flood
	check "the number of connections is bounded" at_most n3 100
	check "each is counted, as made or as refused" all_counted
	check "many were refused or had to go" room_made
	check "who is refused is reset, and counted" all_reset
	check "they expire" busywait 20 at_most n3 4
fi
check "the honest peer was served all the while" steady honest 2000
check "a new flow to the victim" duplex after n2 10.1.0.2 n3 10.1.0.3 200
moved
ktap_finish
