#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,inet_diag,tcp_diag timeout=90 ref=0 waits=1 lanes=uml
# The source ports of links are from net.ipv4.ip_local_port_range, but for those in
# ip_local_reserved_ports, and their last three bits tell the path.  When none is left the messages
# wait for one, and it is counted.  Links to many peers share ports, with each other and with
# other programs.
. "$(dirname "$0")/common.sh"

LIMIT=40
ADDR=10

range() {
	n1 sysctl -qw net.ipv4.ip_local_port_range="$1 $2"
}

reserve() {
	n1 sysctl -qw net.ipv4.ip_local_reserved_ports="$1"
}

# Another program takes a group of eight ports of 10.1.0.1, without SO_REUSEADDR.
occupy() {
	n1 python3 -ISuc 'import socket, sys, time
all = [socket.socket() for i in range(8)]
for i in range(8):
    all[i].bind(("10.1.0.1", int(sys.argv[1]) + i))
print("occupied")
time.sleep(600)' "$1" >"$T/occupied" 2>&1 </dev/null &
	OCCUPIED=$!
	busywait 10 grep -q occupied "$T/occupied"
}

release() {
	[ -z "$OCCUPIED" ] || kill "$OCCUPIED"
	OCCUPIED=
	range 32768 60999
	reserve ""
}

# An address that there has been no link to, ADDR
new_peer() {
	ADDR=$((ADDR + 1))
	ip -n n2 addr add 10.1.0.$ADDR/24 dev eth0
}

# none_left COMMAND...: it takes the ports; a flow to a new peer waits until they are released
none_left() {
	local before rc=0

	new_peer && "$@" || return 1
	before=$(counter n1 tcp_no_source_port)
	start_flow flow n1 10.1.0.1 n2 10.1.0.$ADDR 100 || rc=1
	will_count 10 tcp_no_source_port "$before" 2 || rc=1
	[ "$(n1 ss -Htn "dst 10.1.0.$ADDR" | wc -l)" = 0 ] || rc=1
	release
	end_flow flow 100 || rc=1
	return $rc
}

too_few() {
	range 50001 50014
}

all_taken() {
	range 50000 50007 && occupy 50000
}

all_reserved() {
	range 50000 50015 && reserve 50000-50015
}

# One group of three is left: these are the ports.
the_last() {
	local rc=0

	new_peer || return 1
	range 50000 50023 && reserve 50000-50007 && occupy 50016 || return 1
	start_flow flow n1 10.1.0.1 n2 10.1.0.$ADDR 100 || rc=1
	end_flow flow 100 || rc=1
	busywait 10 links_to 8 || rc=1
	n1 ss -Htn "dst 10.1.0.$ADDR" | awk '{ print $4 }' | sort >"$T/ports"
	show_file "$T/ports"
	seq -f 10.1.0.1:%.0f 50008 50015 | cmp - "$T/ports" || rc=1
	release
	return $rc
}

# One group of 256 is left: a dial looks at 64 of them, and the next one goes on where it stopped.
one_of_many() {
	local before rc=0

	new_peer || return 1
	range 50000 52047 && reserve 50000-52039 || return 1
	before=$(counter n1 tcp_no_source_port)
	start_flow flow n1 10.1.0.1 n2 10.1.0.$ADDR 100 || rc=1
	end_flow flow 100 || rc=1
	note "$(($(counter n1 tcp_no_source_port) - before)) dials found none"
	[ "$(counter n1 tcp_no_source_port)" -gt "$before" ] || rc=1
	release
	return $rc
}

# More links than there are ports: each of these serves for several peers, and for a program.
many_peers() {
	local rc=0 i

	for i in $(seq 101 130); do
		echo "addr add 10.1.0.$i/24 dev eth0"
	done >"$T/batch"
	ip -n n2 -batch "$T/batch" && range 50000 50031 || return 1
	n1 "$BIN/rdsmisc" spray 10.1.0.1:6000 10.1.0.101:6000 30 >"$T/spray" 2>&1
	busywait 20 has_links n1 240 || rc=1
	note "$(tcp_links n1) links from $(used_ports) ports"
	n1 python3 -ISuc 'import errno, socket
seen = socket.socket().connect_ex(("10.1.0.2", 9))
print(errno.errorcode[seen])
raise SystemExit(seen != errno.ECONNREFUSED)' >"$T/connect" 2>&1 || rc=1
	show_file "$T/connect"
	range 32768 60999
	duplex shared n1 10.1.0.1 n2 10.1.0.101 100 -S 0-3000 || rc=1
	return $rc
}

used_ports() {
	n1 ss -Htn state established '( dport = 16385 )' | awk '{ print $3 }' | sort -u | wc -l
}

links_to() {
	[ "$(n1 ss -Htn state established "dst 10.1.0.$ADDR" | wc -l)" = "$1" ]
}

ktap_header
setup_pair
OCCUPIED=
check "a range without eight in a row: messages wait, and it is counted" none_left too_few
check "another program has them" none_left all_taken
check "all are reserved" none_left all_reserved
check "the last eight are found" the_last
check "a dial looks at a bounded number, and the next one at others" one_of_many
check "links to 30 peers leave ports to other programs" many_peers
moved
ktap_finish
