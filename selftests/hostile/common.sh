# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the tests with a hostile peer: a TCP program in a namespace whose own RDS
# does not interfere, an honest peer, and a watch over the memory.

# shellcheck source=../net/common.sh
. "${SELFTESTS:-$(dirname "$0")/..}/net/common.sh"

# steady() judges the module, and not this machine
RECV_OPTS=--fair

# no_rds NS: its address is the program's alone; the kernel neither listens nor dials
no_rds() {
	"$1" ss -HKt state listening 'sport = 16385' >/dev/null
	! "$1" ss -Hlt 'sport = 16385' | grep -q .
}

# setup_hostile: n1 hostile (10.1.0.1, and 10.1.0.9 above the victim's), n2 honest, n3 the victim
setup_hostile() {
	setup_nodes 3
	ip -n n1 addr add 10.1.0.9/24 dev eth0
	ip -n n1 addr add fd00:1::9/64 dev eth0 nodad
	no_rds n1 || lib_die "n1 still listens"
}

# many_addresses NS ADDR VICTIM: all of fd00::/64 (below fd00:1::) is NS, whose address in the
# victim's subnet is ADDR.  No neighbour entries, of which a machine has only a thousand.
many_addresses() {
	ip -n "$1" -6 route add local fd00::/64 dev lo &&
		"$1" sysctl -qw net.ipv6.ip_nonlocal_bind=1 &&
		ip -n "$3" -6 route add fd00::/64 via "$2"
}

# program ID NS SCRIPT MODE...: a program of this folder, in the background
program() {
	local id=$1 ns=$2 script=$3

	shift 3
	# Not isolated: they import room.py, which lies beside them.
	ip netns exec "$ns" python3 -u "$SELFTESTS/hostile/$script" "$@" >"$T/$id" 2>&1 </dev/null &
	eval "pid_$id=$!"
}

# said ID PATTERN: has it printed that?
said() {
	grep -q "$2" "$T/$1"
}

# end ID: kill it and show what it said
end() {
	local p=pid_$1

	kill -9 "${!p}" 2>/dev/null
	wait "${!p}" 2>/dev/null
	show_file "$T/$1"
}

mem_kb() {
	sed -n "s/^$1: *\([0-9]*\) .*/\1/p" /proc/meminfo
}

# keep_pages FRACTION: each processor keeps at most a part of the memory back when it is freed.  By
# itself (0) it may be tens of MB, which are not free and not in use.
keep_pages() {
	sysctl -qw vm.percpu_pagelist_high_fraction="$1"
}

# alike A B: neither is more than one and a half of the other
alike() {
	[ $(($1 * 2)) -le $(($2 * 3)) ] && [ $(($2 * 2)) -le $(($1 * 3)) ]
}

# near COUNTED_KB LOST_KB: what counts is what the machine has lost
near() {
	note "counted $1 kB, the machine has $2 kB less"
	alike "$1" "$2"
}

# What is free, kB, when no more of it comes; what waits for RCU, for a worker, or for the debugger, is.
free_kb() {
	local best=0 now calm=0 i

	for i in {1..60}; do
		slab_objects 'rds_*' >/dev/null
		now=$(mem_kb MemAvailable)
		calm=$((now > best + 64 ? 0 : calm + 1))
		[ "$now" -le "$best" ] || best=$now
		[ $calm -lt 4 ] || break
		sleep 0.3
	done
	echo "$best"
}

# watch_memory: note the worst of it from now on, in the background
watch_memory() {
	MEM_BEFORE=$(mem_kb MemAvailable)
	SLAB_BEFORE=$(mem_kb SUnreclaim)
	"$BIN/memwatch" >"$T/mem" 2>&1 </dev/null &
	MEM_WATCH=$!
}

# memory_bounded PEAK_KB LEFT_KB: never more than PEAK more than before, LEFT at the end
memory_bounded() {
	local low slab tcp now i

	kill "$MEM_WATCH" && wait "$MEM_WATCH" 2>/dev/null
	read -r low slab tcp <"$T/mem"
	# What was freed may wait for RCU, and for KASAN's quarantine.
	for i in 1 2 3 4 5 6 7 8 9 10; do
		slab_objects 'rds_*' >/dev/null
		now=$(mem_kb MemAvailable)
		[ $((MEM_BEFORE - now)) -gt "$2" ] || break
		sleep 0.5
	done
	note "memory: $((MEM_BEFORE - low)) kB at the peak ($((slab - SLAB_BEFORE)) kB of it slab;" \
		"TCP had $tcp kB), $((MEM_BEFORE - now)) kB now"
	[ $((MEM_BEFORE - low)) -le "$1" ] && [ $((MEM_BEFORE - now)) -le "$2" ]
}

# start_honest COUNT RATE: a flow each way between n2 and the victim.  Anybody may send to the
# victim's HONEST_PORT; what counts there is what its honest peer sends.
start_honest() {
	HONEST=$1
	LIMIT=${LIMIT:-$(($1 / $2 + 60))}
	HONEST_PORT=$((PORT + 100))
	RECV_OPTS="$RECV_OPTS --peer 10.1.0.2:$((HONEST_PORT + 46000))" \
		start_flow honest-in n2 10.1.0.2 n3 10.1.0.3 "$1" -S 0-1000 -r "$2" &&
		start_flow honest-out n3 10.1.0.3 n2 10.1.0.2 "$1" -S 0-1000 -r "$2"
}

# steady ID COUNT: the paced flow is complete, and never stood still
steady() {
	local gap

	end_flow "$1" "$2" || return 1
	gap=$(json "$T/$1.recv" gap_ms)
	note "$1: $gap ms at most between two messages"
	[ "$gap" -le $((3000 * ${RDS_SLOW:-1})) ]
}

end_honest() {
	local rc=0

	steady honest-in "$HONEST" || rc=1
	steady honest-out "$HONEST" || rc=1
	return $rc
}

# What the victim knows, for somebody who has to find out what went wrong.
show_state() {
	{
		n3 "$BIN/rds-info" -p
		n3 ss -Htan 'sport = 16385 or dport = 16385'
		n3 "$BIN/rds-info" -c | awk '$2 > 0'
	} 2>&1 | sed 's/^/#   /'
}
