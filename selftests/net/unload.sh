#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,inet_diag,tcp_diag timeout=200 waits=1
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

nothing_left() {
	after=$(slab_objects "kmalloc*")
	[ "$after" -le $((slab + 1000)) ]
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

# A socket that no program has: it lies in the queue of a unix socket.
in_flight() {
	python3 -IS - "$T/flying" <<-'PYTHON' &
	import array, os, socket, sys, time
	r = socket.socket(21, socket.SOCK_SEQPACKET)
	r.bind(("127.0.0.1", 4001))
	a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
	a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [r.fileno()]))])
	r.close()
	open(sys.argv[1], "w").close()
	while os.path.exists(sys.argv[1]):
	    time.sleep(0.05)
	PYTHON
	flier=$!
	busywait 20 test -e "$T/flying" || return 1
	refused rds || return 1
	rm "$T/flying"
	wait $flier
}

used() { [ "$(cat "/sys/module/$1/refcnt")" -gt 0 ]; }

# Sockets come and go in two namespaces, others namespaces too, while the modules are
# unloaded and loaded again as often as it goes.
opening_meanwhile() {
	local i rc=0 pids=() out=0 no=0 begin=$SECONDS

	for i in 1 2; do
		"$BIN/rdsmisc" openers n1 10.1.0.1:500$i n2 10.1.0.2:500$i "$T/stop" \
			>"$T/open.$i" 2>&1 </dev/null &
		pids+=($!)
	done
	while [ $((SECONDS - begin)) -lt $((5 + 60 * ${RDS_SOAK:-0})) ] ||
	      { [ $((SECONDS - begin)) -lt 60 ] && { [ $out -lt 3 ] || [ $no -lt 3 ]; }; }; do
		if rmmod rds_tcp 2>/dev/null; then
			out=$((out + 1))
			rmmod rds 2>/dev/null
			unshare --net true
			modprobe rds_tcp || rc=1
			# Every other time not before somebody uses it.
			[ $((out % 2)) = 0 ] || busywait 5 used rds_tcp
		else
			no=$((no + 1))
		fi
	done
	touch "$T/stop"
	wait "${pids[@]}"
	sed 's/^/# /' "$T/open.1" "$T/open.2"
	note "rds_tcp unloaded $out times, refused $no times"
	for i in 1 2; do
		grep -q 'messages=[1-9]' "$T/open.$i" || rc=1
		MOVED=$((MOVED + $(sed -n 's/messages=\([0-9]*\).*/\1/p' "$T/open.$i")))
	done
	[ $out -ge 3 ] && [ $no -ge 3 ] && return $rc
	return 1
}

# Somebody else has TCP's port, in the initial namespace.
port_taken() {
	local rc=0 holder

	nsenter -t 1 -n python3 -ISuc 'import socket, time
s = socket.socket(socket.AF_INET6)
s.bind(("::", 16385))
print("bound")
time.sleep(600)' >"$T/taken" 2>&1 </dev/null &
	holder=$!
	busywait 10 grep -q bound "$T/taken" || rc=1
	modprobe rds_tcp 2>"$T/refused" && rc=1
	show_file "$T/refused"
	grep -q 'Address already in use' "$T/refused" || rc=1
	kill $holder
	wait $holder 2>/dev/null
	loaded rds_tcp && rc=1
	return $rc
}

bindv6only() {
	local rc=0

	sysctl -qw net.ipv6.bindv6only=1
	modprobe rds_tcp || rc=1
	# RDS does not talk to itself that way, and may have reset it before connect() returns.
	(exec 3<>/dev/tcp/127.0.0.1/16385) 2>"$T/refused" ||
		grep -q "reset by peer" "$T/refused" || rc=1
	show_file "$T/refused"
	sysctl -qw net.ipv6.bindv6only=0
	gone && return $rc
}

# 200 connects under way to hosts that are not there, and nobody waits for rmmod.
unload_connecting() {
	local t0 t1

	modprobe rds_tcp || return 1
	n1 "$BIN/rdsmisc" spray 10.1.0.1:5001 10.1.0.20:5000 200 >/dev/null
	t0=$(date +%s%N)
	rmmod rds_tcp &
	kill -9 $! 2>/dev/null
	wait $! 2>/dev/null
	busywait 20 gone_or_not || return 1
	t1=$((($(date +%s%N) - t0) / 1000000))
	note "unloaded after $t1 ms"
	[ $t1 -lt 15000 ]
}

# A peer that stays while the transport goes and comes back takes what has low numbers for
# repeats; n1 is a program that looks at them.
numbered_on() {
	local rc=0

	modprobe rds_tcp || return 1
	mkfifo "$T/fifo"
	no_rds n1
	n1 python3 -u "$SELFTESTS/hostile/room.py" twice 10.1.0.1 10.1.0.2 7000 \
		>"$T/twice" 2>&1 <"$T/fifo" &
	exec 9>"$T/fifo"
	busywait 20 grep -q gone "$T/twice" || rc=1
	rmmod rds_tcp && modprobe rds_tcp || rc=1
	no_rds n1
	echo >&9
	exec 9>&-
	wait $!
	show_file "$T/twice"
	grep -q '^done' "$T/twice" && return $rc
}

no_rds() {
	"$1" ss -HKt state listening 'sport = 16385' >/dev/null
}

# rmmod may have been killed before it began
gone_or_not() {
	loaded rds_tcp && ! rmmod rds_tcp && return 1
	loaded rds && ! rmmod rds && return 1
	return 0
}

ktap_header
# The kernel frees the last dead namespace with the next one only: have one before we count.
unshare --net true
sleep 1
netns=$(netns_alive)
# without rds_tcp, which would hold rds all by itself
rmmod rds_tcp
"$BIN/rds-traffic" recv -b 127.0.0.1:4000 -n 1 -t $((60 * ${RDS_SLOW:-1})) --ready "$T/r" >/dev/null </dev/null &
holder=$!
busywait 10 test -e "$T/r"
check "rds is refused to go while a socket is bound" refused rds
kill -TERM "$(cat "$T/r")"
wait $holder 2>/dev/null
if ours; then
	check "rds is refused to go while a unix socket holds one of its own" in_flight
fi
modprobe rds_tcp
check "rds is refused to go while rds_tcp uses it" refused rds

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
# the caches of our own must be empty to be destroyed, the kernel says so
check "no memory is left behind" busywait 10 nothing_left
note "kmalloc objects: $slab before, $after after three cycles of 3,000 messages"
check "no namespace is left behind" busywait 10 netns_back
check "traffic while the namespaces live, unload with idle connections" \
	unload_with_idle_connections
if ours; then
	check "rds_tcp is not loaded if its port is taken" port_taken
	check "peers with IPv4 may come, whatever net.ipv6.bindv6only says" bindv6only
	check "200 connects under way do not hold up the unloading" unload_connecting
	check "numbers go on when the transport comes back" numbered_on
	modprobe rds_tcp
	check "sockets open and close meanwhile" opening_meanwhile
	check "traffic after that" duplex after n1 10.1.0.1 n2 10.1.0.2 300
fi
modprobe rds_tcp
moved
ktap_finish
