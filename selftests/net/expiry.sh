#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge timeout=180 ref=0 waits=1 lanes=uml
# Connections that nobody uses go, those of peers that did answer too, and nobody can take
# the whole table.  What was received stays received.
. "$(dirname "$0")/common.sh"

PY=${SELFTESTS:-$(dirname "$0")/..}/hostile/room.py
VISITORS=60

conns() {
	"$1" "$BIN/rds-info" --json -n 2>/dev/null | grep -o '"remote_addr"' | wc -l
}

at_most() {
	[ "$(conns "$1")" -le "$2" ]
}

said() {
	grep -q "$2" "$T/$1"
}

number() {
	sed -n "s/^$2 //p" "$T/$1"
}

# The peer is gone, and so is after a while what we knew of it.
gone() {
	[ "$(conns n3)" -ge 1 ] || return 1
	ip netns pids n2 | xargs -r kill -9
	ip netns delete n2
	n3 sysctl -qw net.rds.idle_conn_timeout_ms=1000 && busywait 40 at_most n3 0
}

# repeated PORT COMMAND...: a peer sends, its connection goes, the command, and it sends it again
repeated() {
	local old port=$1
	shift

	rm -f "$T/fifo"
	mkfifo "$T/fifo"
	n3 python3 -ISu "$PY" receiver 10.1.0.3 "$port" 2 60 >"$T/reader" 2>&1 <<<"" &
	busywait 15 said reader bound || return 1
	n1 python3 -ISu "$PY" twice 10.1.0.1 10.1.0.3 "$port" >"$T/twice" 2>&1 <"$T/fifo" &
	exec 9>"$T/fifo"
	busywait 20 said twice gone || return 1
	n3 sysctl -qw net.rds.idle_conn_timeout_ms=1000 && busywait 40 at_most n3 0 || return 1
	"$@" || return 1
	old=$(counter n3 recv_drop_old_seq)
	echo >&9
	exec 9>&-
	busywait 20 said twice '^done' || { show_file "$T/twice"; return 1; }
	busywait 20 said reader "got 2" || { show_file "$T/reader"; return 1; }
	[ "$(counter n3 recv_drop_old_seq)" -eq $((old + 1)) ]
}

visited() {
	n3 sysctl -qw net.rds.idle_conn_timeout_ms=60000 || return 1
	n1 python3 -ISu "$PY" visit fd00:1:: fd00:1::ffff $VISITORS >"$T/visit" 2>&1
	show_file "$T/visit"
	[ "$(number visit welcome)" -ge $((VISITORS * 9 / 10)) ] && at_most n3 20
}

# sprayed ID UID PORT LEAST MOST
sprayed() {
	n3 python3 -ISu "$PY" spray "$2" 10.1.0.3 "$3" 60 >"$T/$1" 2>&1 </dev/null &
	busywait 20 said "$1" accepted || return 1
	show_file "$T/$1"
	[ "$(number "$1" accepted)" -ge "$4" ] && [ "$(number "$1" accepted)" -le "$5" ]
}

ktap_header
setup_nodes 4
ip -n n3 addr add fd00:1::ffff/64 dev eth0 nodad
for i in $(seq 0 $((VISITORS - 1))); do
	printf 'addr add fd00:1::%x/64 dev eth0 nodad\n' $((0x1000 + i))
done >"$T/batch"
ip -n n1 -batch "$T/batch"
# The kernel at 10.1.0.1 keeps out of it, see peer.sh.
n1 sysctl -qw net.rds.max_conns=1
n1 "$BIN/rds-traffic" send -b 10.1.0.1:3999 -d 10.1.0.250:4000 -n 1 -t $((300 * ${RDS_SLOW:-1})) >/dev/null 2>&1 </dev/null &
busywait 10 sh -c "[ \$(ip netns exec n1 '$BIN/rds-info' -n | grep -c 10.1.0.250) = 1 ]"

check "a peer answers" duplex before n2 10.1.0.2 n3 10.1.0.3 50
check "it goes, and the connection expires" gone
check "what was received before that is recognised" repeated 7000 true
n3 sysctl -qw net.rds.max_conns=20
check "$VISITORS peers pass through a table of 20" visited
check "they have pushed out no record but their own" repeated 7001 visited
n3 sysctl -qw net.rds.idle_conn_timeout_ms=60000
# what a killed program has sent keeps the connections as long as it may go on in the background
n3 sysctl -qw net.rds.close_timeout_ms=0
limited=$(counter n3 conn_share)
check "one user gets half of it" sprayed one 1000 5100 5 10
check "root is not held up by him" sprayed root 0 5200 1 20
check "and it is counted" test "$(counter n3 conn_share)" -gt "$limited"
ip netns pids n3 | xargs -r kill -9
check "a new flow" duplex after n3 10.1.0.3 n4 10.1.0.4 200
moved
ktap_finish
