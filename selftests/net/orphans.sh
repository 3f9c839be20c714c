#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,inet_diag,tcp_diag timeout=180 ref=0 waits=1 lanes=uml
# Programs that send and end at once, while TCP connections are destroyed every 100 ms: everything
# arrives, once and in order.  Namespaces that are deleted, and modules that are unloaded, while
# messages of closed sockets wait.
. "$(dirname "$0")/common.sh"

SECONDS_OF_IT=8
MESSAGES=20

# orphans NS MODE ARGUMENTS...
orphans() {
	"$1" python3 -u "$SELFTESTS/net/orphans.py" "${@:2}"
}

killer() {
	"$1" "$BIN/rdsmisc" killtcp 200 "$SECONDS_OF_IT" >"$T/kill.$1" 2>&1 </dev/null &
	KILLERS+=($!)
}

under_fire() {
	local rc=0 receiver

	n1 sysctl -qw net.rds.max_orphans=4096
	orphans n2 recv 10.1.0.2 4000 "$T/sent" >"$T/got" 2>&1 </dev/null &
	receiver=$!
	busywait 20 grep -q ready "$T/got" || return 1
	KILLERS=()
	killer n1
	sleep 0.1
	killer n2
	orphans n1 send 10.1.0.1 10.1.0.2 4000 "$SECONDS_OF_IT" $MESSAGES \
		>"$T/sent.new" 2>&1 </dev/null || rc=1
	wait "${KILLERS[@]}"
	mv "$T/sent.new" "$T/sent"
	wait $receiver || rc=1
	show_file "$T/sent"
	show_file "$T/kill.n1"
	show_file "$T/got"
	grep -q '^got [1-9]' "$T/got" || rc=1
	MOVED=$((MOVED + $(sed -n 's/^got \([0-9]*\) .*/\1/p' "$T/got")))
	grep -q '^[1-9][0-9]* connections' "$T/kill.n1" || rc=1
	return $rc
}

# There were some, and none was given up.
none_dropped() {
	[ "$(counter n1 orphan_created)" -gt "$created" ] &&
		[ "$(counter n1 orphan_expired)" = "$expired" ] &&
		[ "$(counter n1 orphan_limit)" = "$limit" ]
}

peer_of_n1() {
	n2 ip link show eth0 >/dev/null 2>&1
}

# The namespace of a program that has sent to nobody, and ended, lives for close_timeout_ms.
deleted_with_orphans() {
	local t0 t1

	n1 sysctl -qw net.rds.close_timeout_ms=3000
	orphans n1 one 10.1.0.1 10.1.0.77 9 lost
	lib_now
	t0=$LIB_NOW
	ip netns del n1
	busywait 10 eval '! peer_of_n1' || return 1
	lib_now
	t1=$((LIB_NOW - t0))
	note "gone after $t1 ms"
	[ $t1 -ge 2000 ]
}

# What somebody who is there was to get he gets, though the sender's namespace has no name any more.
delivered_after_deletion() {
	local rc=0 receiver

	n2 timeout 30 python3 -uIS -c 'import socket
s = socket.socket(21, socket.SOCK_SEQPACKET)
s.bind(("10.1.0.2", 4001))
print("ready")
print(s.recv(100).decode())' >"$T/heir" 2>&1 </dev/null &
	receiver=$!
	busywait 20 grep -q ready "$T/heir" || return 1
	ip -n n2 link set eth0 down
	orphans n1 one 10.1.0.1 10.1.0.2 4001 heritage
	ip netns del n1
	ip -n n2 link set eth0 up
	wait $receiver || rc=1
	show_file "$T/heir"
	grep -q heritage "$T/heir" && return $rc
}

unloaded_with_orphans() {
	n1 sysctl -qw net.rds.close_timeout_ms=60000
	orphans n1 one 10.1.0.1 10.1.0.77 9 lost
	[ "$(counter n1 orphan_present)" -gt 0 ] || return 1
	rmmod rds_tcp || return 1
	[ "$(counter n1 orphan_present)" = 0 ] || return 1
	rmmod rds
}

pair_again() {
	ip netns del n2
	busywait 15 test ! -e /var/run/netns/n2
	setup_pair
}

ktap_header
setup_pair
created=$(counter n1 orphan_created)
expired=$(counter n1 orphan_expired)
limit=$(counter n1 orphan_limit)
check "programs end at once, links are killed each 100 ms for $SECONDS_OF_IT s" under_fire
check "none was dropped" none_dropped
check "a namespace is deleted, and goes when its orphans do" deleted_with_orphans
pair_again
check "its messages arrive all the same" delivered_after_deletion
pair_again
check "rds_tcp and rds go at once, and orphans with them" unloaded_with_orphans
modprobe rds_tcp
moved
ktap_finish
