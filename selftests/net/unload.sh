#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=120
# Modules cannot go while they are used, and leave nothing behind when they go.
. "$(dirname "$0")/common.sh"

loaded() {
	grep -q "^$1 " /proc/modules
}

refused() {
	local out

	out=$(rmmod "$1" 2>&1) && { note "rmmod $1 succeeded"; return 1; }
	note "$out"
	loaded "$1"
}

gone() {
	rmmod rds_tcp && rmmod rds && ! loaded rds
}

# Kernel threads and slab caches of our making, by name.
traces() {
	# a kworker keeps the name of what it worked for last
	cat /proc/[0-9]*/comm 2>/dev/null | grep '^k\?rds' | grep -v '^rds-agent'
	ls -d /sys/kernel/slab/rds_* 2>/dev/null
	ls -d /proc/sys/net/rds 2>/dev/null
	ss -Hltn 'sport = 16385' 2>/dev/null
}

no_traces() {
	local found

	found=$(traces)
	[ -z "$found" ] || { note "left behind: $found"; return 1; }
}

# Load, move messages, unload, and count what the kernel holds afterwards.
cycle() {
	modprobe rds_tcp || return 1
	setup_pair
	duplex "cycle$1" n1 10.1.0.1 n2 10.1.0.2 1500 -S 0-2048 || return 1
	ip netns del n1
	ip netns del n2
	busywait 30 netns_back || return 1
	busywait 20 gone || return 1
}

netns_back() {
	[ "$(netns_alive)" -le "$netns" ]
}

# The namespaces stay, with connections that are up but have no socket any more.
unload_with_idle_connections() {
	modprobe rds_tcp || return 1
	setup_pair
	duplex idle n1 10.1.0.1 n2 10.1.0.2 200 || return 1
	busywait 20 gone
}

ktap_header
netns=$(netns_alive)
# without rds_tcp, which would hold rds all by itself
rmmod rds_tcp
"$BIN/rds-traffic" recv -b 127.0.0.1:4000 -n 1 -t 60 --ready "$T/r" >/dev/null </dev/null &
holder=$!
busywait 10 test -e "$T/r"
check "rds is refused to go while a socket is bound" refused rds
kill -TERM "$(cat "$T/r")"
wait $holder 2>/dev/null
modprobe rds_tcp

setup_pair
start_recv hold n2 10.1.0.2:4000 1 1
check "rds_tcp is refused to go while a TCP-bound socket lives" refused rds_tcp
drop_recv hold n2
ip netns del n1
ip netns del n2

check "both go when nothing uses them" busywait 20 gone
check "no thread, cache, sysctl or listener is left" busywait 10 no_traces
check "warm-up cycle" cycle 0
sleep 1
slab=$(slab_objects "kmalloc*")
check "load, traffic, unload" cycle 1
check "load, traffic, unload again" cycle 2
check "and again" cycle 3
sleep 1
after=$(slab_objects "kmalloc*")
note "kmalloc objects: $slab before, $after after three cycles of 3,000 messages"
# the caches of our own must be empty to be destroyed, the kernel says so
check "no memory is left behind" test "$after" -le $((slab + 1000))
check "no namespace is left behind" test "$(netns_alive)" -le "$netns"
check "traffic while the namespaces live, unload with idle connections" \
	unload_with_idle_connections
modprobe rds_tcp
moved
ktap_finish
