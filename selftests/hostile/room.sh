#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge timeout=240 ref=0 waits=1 lanes=uml
# What a peer can make the node hold is bounded: messages that never end, empty messages, source
# ports.  Nobody else notices, and nothing is lost.  (Receivers that do not read: hostile/spill.)
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

# 10.1.0.3 is the victim, 10.1.0.1 is hostile, 10.1.0.2 is honest.
LIMIT=90
PY=${SELFTESTS:-$(dirname "$0")/..}/hostile/room.py
HOARDERS=24

delta() {
	local now

	now=$(counter n3 "$1") || return 1
	echo "$1: $2 -> $now" >"$T/delta"
	[ $((now - $2)) "$3" "$4" ]
}

# receiver ID PORT COUNT: bound; reads when a line comes by descriptor 9
receiver() {
	rm -f "$T/fifo"
	mkfifo "$T/fifo"
	ip netns exec n3 python3 -ISu "$PY" receiver 10.1.0.3 "$2" "$3" 60 >"$T/$1" 2>&1 <"$T/fifo" &
	eval "pid_$1=$!"
	exec 9>"$T/fifo"
	busywait 15 said "$1" bound
}

held() {
	local n

	n=$(n3 "$BIN/rds-info" --json -T | python3 -IS "$PY" held) || return 1
	note "partial messages hold $n bytes"
	[ "$n" -le "$1" ] && [ "$n" -ge "$2" ]
}

hoarded() {
	program hoard n1 room.py hoard fd00:1:: fd00:1::ffff 7100 $HOARDERS
	busywait 60 said hoard hoarding || { show_file "$T/hoard"; return 1; }
}

# ---- links

misplaced() {
	local rc=0 was

	was=$(counter n3 link_misplaced)
	receiver placed 7700 3 || return 1
	echo >&9
	program misplaced n1 room.py misplaced 10.1.0.1 10.1.0.3 7700
	busywait 30 said misplaced dropped || rc=1
	busywait 30 said misplaced kept || rc=1
	busywait 30 said placed "got 3" || rc=1
	will_count 5 link_misplaced "$was" 1 || rc=1
	end misplaced
	end placed
	return $rc
}

# A peer since 7.0 behind a middlebox that changes ports.
rewritten() {
	local rc=0 was

	was=$(counter n3 recv_handshake_disbelieved)
	ip -n n1 addr add 10.0.255.9/32 dev eth0
	ip -n n3 route add 10.0.255.9/32 dev eth0
	receiver changed 7750 4 || return 1
	echo >&9
	program rewritten n1 room.py rewritten 10.0.255.9 10.1.0.3 7750
	busywait 30 said rewritten kept || rc=1
	busywait 30 said changed "got 4" || rc=1
	will_count 5 recv_handshake_disbelieved "$was" 1 || rc=1
	[ $rc = 0 ] || show_file "$T/changed"
	end rewritten
	end changed
	return $rc
}

revenants() {
	local rc=0

	receiver revived 7800 12 || return 1
	echo >&9
	program revenants n1 room.py revenants 10.1.0.1 10.1.0.3 7800 12
	busywait 60 said revived "got 12" || rc=1
	end revenants
	end revived
	return $rc
}

workers() {
	cat /proc/[0-9]*/comm 2>/dev/null | grep -c '^kworker/u'
}

# Links whose peers ignore our FIN are being taken down: that costs timers, no threads.  It lasts for
# seconds only, so the flow that is to pass meanwhile has its processes by then.
stubborn() {
	local before now rc=0

	program stubborn n1 room.py stubborn fd00:1:: fd00:1::ffff $HOARDERS
	busywait 30 said stubborn up || return 1
	start_flow patient-a n2 10.1.0.2 n3 10.1.0.3 50 --go "$T/go" || rc=1
	start_flow patient-b n3 10.1.0.3 n2 10.1.0.2 50 --go "$T/go" || rc=1
	sleep 0.5
	before=$(workers)
	n3 sysctl -qw net.rds.tcp.rds_tcp_rcvbuf=50000
	touch "$T/go"
	end_flow patient-a 50 || rc=1
	end_flow patient-b 50 || rc=1
	now=$(n3 "$BIN/rds-info" -a -p | grep -ci disconnecting)
	note "$now links wait for their peer, kworkers: $before, now $(workers)"
	[ $rc = 0 ] && [ "$now" -ge $((HOARDERS / 2)) ] && [ "$(workers)" -lt $((before + HOARDERS / 2)) ]
}

ktap_header
setup_nodes 3
ip -n n3 addr add fd00:1::ffff/64 dev eth0 nodad
for i in $(seq 0 $((HOARDERS - 1))); do
	printf 'addr add fd00:1::%x/64 dev eth0 nodad\n' $((0x1000 + i))
done >"$T/batch"
ip -n n1 -batch "$T/batch"
# The kernel at 10.1.0.1 keeps out of it, see peer.sh.
n1 sysctl -qw net.rds.max_conns=1
n1 "$BIN/rds-traffic" send -b 10.1.0.1:3999 -d 10.1.0.250:4000 -n 1 -t $((300 * ${RDS_SLOW:-1})) >/dev/null 2>&1 </dev/null &
busywait 10 sh -c "[ \$(ip netns exec n1 '$BIN/rds-info' -n | grep -c 10.1.0.250) = 1 ]"

check "the bound can be set" n3 sysctl -qw net.rds.max_peer_bytes=4194304
part=$(counter n3 recv_partial_limit)
evicted=$(counter n3 tcp_partial_evicted)
check "$HOARDERS addresses begin a message each" hoarded
check "what they hold is bounded" held 5300000 2000000
check "refusals are counted" test "$(counter n3 recv_partial_limit)" -gt "$part"
check "honest large messages pass" duplex large n2 10.1.0.2 n3 10.1.0.3 100 -S 60000-100000
check "at the cost of those who never end" test "$(counter n3 tcp_partial_evicted)" -gt "$evicted"
end hoard
check "empty messages count" n3 python3 -IS "$PY" empties 10.1.0.3 7500 40000
flows=$(counter n3 recv_flow_limit)
n3 sysctl -qw net.rds.max_peer_bytes=2097152
program ports n1 room.py ports 10.1.0.1 10.1.0.3 7600
busywait 60 said ports sent
check "and their history is bounded" busywait 20 delta recv_flow_limit "$flows" -ge 1
end ports
timeouts=$(counter n3 tcp_drain_timeout)
check "slow tear-downs keep nobody waiting" stubborn
check "a link on the wrong path is taken down" misplaced
check "ports that somebody changes are not believed" rewritten
check "a peer that comes again and again: nothing it said is lost" revenants
check "who does not end his side is given up, and counted" \
	will_count 10 tcp_drain_timeout "$timeouts" $((HOARDERS / 2))
end stubborn
check "a new flow to the victim" duplex after n2 10.1.0.2 n3 10.1.0.3 200
moved
ktap_finish
