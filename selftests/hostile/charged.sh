#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge timeout=240 ref=0 lanes=debian
# What peers make a namespace hold is charged to the memory control group that made it, whoever
# allocates: thousands of addresses connect, and each costs a connection, a path, a congestion map
# and a TCP socket, all made by the kernel's threads.  So is what they send of messages that they do not end.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

MB=600
PEERS=2000
HOARDERS=40		# of 1 MiB each

# In the group: the namespaces, and who connects.
join() {
	echo $$ >"$GROUP/cgroup.procs"
}

leave() {
	echo $$ >"$ROOT/cgroup.procs"
}

charged_kb() {
	echo $(($(cat "$GROUP/memory.current") >> 10))
}

connected() {
	program crowd n1 spill.py crowd fd00:: fd00:1::ffff $PEERS
	busywait 200 said crowd '^here' || { show_file "$T/crowd"; return 1; }
	show_file "$T/crowd"
}

known() {
	local n

	n=$(n3 "$BIN/rds-info" --json -n | grep -o '"remote_addr": *"fd00::[1-9]' | wc -l)
	note "$n connections"
	[ "$n" -ge $PEERS ]
}

all_charged() {
	counted=$(($(charged_kb) - charged)) lost=$((before - $(free_kb)))
	alike $counted $lost
}

# Of a socket that has sent just now TCP keeps a page of 32 kB to copy to, which nobody is charged;
# the module gives it back seconds later (rds_tcp_idle()).
near_at_rest() {
	local counted lost rc

	busywait 20 all_charged
	rc=$?
	note "charged $counted kB, the machine has $lost kB less: $((counted * 1024 / PEERS)) bytes a peer"
	return $rc
}

# grown BEFORE KB: by so much
grown() {
	[ $(($(charged_kb) - $1)) -ge "$2" ]
}

# RDS has all of it: nothing is left with TCP.  By itself the program costs a quarter of that.
in_part() {
	local was rc

	n3 sysctl -qw net.rds.max_peer_bytes=$((3 * HOARDERS << 19))
	was=$(charged_kb)
	program hoard n1 room.py hoard fd00::1: fd00:1::ffff 7100 $HOARDERS
	busywait 60 said hoard hoarding || { show_file "$T/hoard"; return 1; }
	busywait 30 grown "$was" $((HOARDERS * 768))
	rc=$?
	note "$(($(charged_kb) - was)) kB more are charged"
	end hoard
	return $rc
}

freed() {
	[ $(($(charged_kb) - charged)) -lt $((most / 4)) ]
}

ktap_header
if ! memory_group $MB; then
	ktap_skip "peers of a memory control group" "no memory cgroups in this kernel"
	ktap_finish
	exit
fi
keep_pages 100000
join
setup_hostile
ip -n n3 addr add fd00:1::ffff/64 dev eth0 nodad
many_addresses n1 fd00:1::1 n3
# A port that is congested: the maps.
before=$(free_kb)
charged=$(charged_kb)
check "$PEERS addresses connect" connected
check "they are known" known
check "what they cost is charged to the group that made the namespace" near_at_rest
most=$(($(charged_kb) - charged))
check "so are $HOARDERS messages that were received in part" in_part
end crowd
n3 sysctl -qw net.rds.idle_conn_timeout_ms=1000 net.rds.max_conns=1
cleanup
leave
check "all of it is given back with the namespace" busywait 30 freed
rmdir "$GROUP"
umount "$ROOT"
keep_pages 0
ktap_finish
