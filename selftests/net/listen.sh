#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,inet_diag,tcp_diag timeout=90 ref=0 waits=1 lanes=uml
# Another program has TCP's port.  In the initial namespace the module is not loaded, and the
# kernel's log says why; in any other namespace it is, that one only has no listener: it
# connects, and has its listener when the port is free.
. "$(dirname "$0")/common.sh"

loaded() {
	grep -q "^$1 " /proc/modules
}

# hold ID COMMAND...: a program has the port, in the namespace that the command enters
hold() {
	local id=$1
	shift
	"$@" python3 -ISuc 'import socket, time
s = socket.socket(socket.AF_INET6)
s.bind(("::", 16385))
s.listen()
print("bound")
time.sleep(600)' >"$T/$id" 2>&1 </dev/null &
	eval "pid_$id=$!"
	busywait 10 grep -q bound "$T/$id"
}

release() {
	local p=pid_$1

	kill "${!p}"
	wait "${!p}" 2>/dev/null
}

logged() {
	log_since | grep 'rds_tcp: ' >"$T/log"
	show_file "$T/log"
	grep -q "$1" "$T/log"
}

# A namespace lists its listeners; that of the kernel is no program's.
listens() {
	"$1" ss -Hltnp 'sport = 16385' >"$T/listeners"
	grep -q . "$T/listeners" && ! grep -q users: "$T/listeners"
}

refused() {
	local rc=0

	hold first nsenter -t 1 -n || return 1
	log_from_here
	modprobe rds_tcp 2>"$T/refused" && rc=1
	show_file "$T/refused"
	loaded rds_tcp && rc=1
	release first
	logged 'cannot listen on TCP port 16385' && return $rc
}

loads() {
	hold second ip netns exec n1 || return 1
	log_from_here
	modprobe rds_tcp && loaded rds_tcp && ! listens n1 && listens n2
}

named() {
	logged "TCP port 16385 in network namespace $(n1 stat -Lc %i /proc/self/ns/net),"
}

# Where the port is another program's, and goes with it.
deleted() {
	ip netns add n3 && LIB_NETNS+=(n3) || return 1
	rmmod rds_tcp && hold third ip netns exec n3 && modprobe rds_tcp || return 1
	release third
	ip netns delete n3
	# while it still tries
	rmmod rds_tcp && modprobe rds_tcp
}

ktap_header
setup_pair
rmmod rds_tcp
check "the initial namespace's port is taken: not loaded, and the log names it" refused
check "that of another namespace is: loaded, without a listener there" loads
check "the log names the port and the namespace" named
check "it connects, and is answered" duplex dials n1 10.1.0.1 n2 10.1.0.2 200
release second
check "when the port is free it listens" busywait 20 listens n1
check "and says so" busywait 5 logged "has TCP port 16385 now"
check "such a namespace is deleted, the module unloaded and loaded" deleted
check "a new flow" duplex after n2 10.1.0.2 n1 10.1.0.1 200
moved
ktap_finish
