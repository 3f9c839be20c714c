#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=300 lanes=uml
# A sender in a small memory control group writes to 100,000 destinations, none of which
# exists: it is refused or killed, the others are not harmed, and all is freed afterwards.
. "$(dirname "$0")/common.sh"

# The group's limit.  Who is not there is dialled again and again: with KCSAN ten thousand of those
# leave a guest no time for anything else.
[ "$RDS_KERNEL" = kcsan ] && MB=${MB:-12}
MB=${MB:-24}
DESTS=100000
# the flow beside it takes what is left of a processor
LIMIT=200

connections() {
	"$1" "$BIN/rds-info" --json -n 2>/dev/null | grep -o '"remote_addr"' | wc -l
}

mem_kb() {
	sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo
}

charged() {
	cat "$GROUP/memory.current"
}

least() {
	local now

	now=$(mem_kb)
	[ "$now" -lt "$lowest" ] && lowest=$now
}

# In the group, with room in its socket for everything
spray() {
	sh -c "echo \$\$ >$GROUP/cgroup.procs && exec nsenter --net=/run/netns/n1 \
		$BIN/rdsmisc spray 10.1.0.1:5001 10.64.0.1:5000 $DESTS 3" \
		>"$T/spray" 2>&1
} 2>/dev/null

# Refused or killed; beside it a flow of another process, and one of another pair.
attack() {
	local rc=0 pid

	start_flow same n1 10.1.0.1 n2 10.1.0.2 2000 -S 0-2000 -r 200 || rc=1
	before=$(mem_kb)
	lowest=$before
	spray &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		least
		peak=$(charged)
		[ "${peak:-0}" -gt "$most" ] && most=$peak
		sleep 0.2
	done
	wait $pid
	status=$?
	show_file "$T/spray"
	made=$(connections n1)
	note "status $status, connections: $made," \
		"$(sed -n 's/^\(max\|oom_kill\) /\1=/p' "$GROUP/memory.events" | tr '\n' ' ')"
	end_flow same 2000 || rc=1
	return $rc
}

# By its memory, not by the number of connections; and not before there were many.
refused_or_killed() {
	{ [ $status = 137 ] || grep -q 'refused=[1-9]' "$T/spray"; } &&
		grep -q '^max [1-9]' "$GROUP/memory.events" && [ "$most" -ge $((MB << 19)) ] &&
		[ "$made" -ge 1000 ]
}

# What a connection takes of the group is what it is charged with: it is neither free nor dear.
charged_for() {
	note "charged for each connection: $((most / made)) bytes"
	[ $((most / made)) -ge 1000 ] && [ $((most / made)) -le 20000 ]
}

none_left() {
	[ "$(connections n1)" -le 1 ]
}

freed() {
	[ "$(charged)" -lt $((2 << 20)) ]
}

ktap_header
if ! memory_group $MB; then
	ktap_skip "100,000 destinations in a memory cgroup" "no memory cgroups in this kernel"
	ktap_finish
	exit
fi
setup_pair
n1 ip route add 10.64.0.0/10 via 10.1.0.2
n2 sysctl -qw net.ipv4.ip_forward=0
# They are counted after the spray: however slow that is, none may have expired by then.
n1 sysctl -qw net.rds.max_conns=2147483647 net.rds.idle_conn_timeout_ms=3600000
most=0
check "a flow beside 100,000 destinations of a small group" attack
check "the group was refused or killed" refused_or_killed
note "most memory charged: $((most >> 10)) kB, memory of the machine used: $((before - lowest)) kB"
check "its limit held" test "$most" -le $((MB << 20))
check "each connection was charged to it" charged_for
# The TCP socket and what a link needs are made by works, on nobody's account.
check "beyond it, each connection cost less than 20 kB" \
	test $((before - lowest - $(kept_back))) -lt $((MB * 1024 + 20 * made))
n1 sysctl -qw net.rds.idle_conn_timeout_ms=1000
check "the connections expire" busywait 40 none_left
check "the charge is given back" busywait 20 freed
check "new traffic" duplex after n1 10.1.0.1 n2 10.1.0.2 200
rmdir "$GROUP"
umount "$ROOT"
moved
ktap_finish
