#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=280 ref=0 uml=0
# However many sockets and connections a user has, nobody else waits while the kernel walks over
# them: lists of sockets, of those that wait for a congested port, of peers that have to learn of
# it.  And one port that is full and free again and again does not send a map to each of a
# thousand peers each time.  (On UML there is one processor, and who waits waits for that.)
. "$(dirname "$0")/common.sh"

PY=$(dirname "$0")/walks.py
PEERS=1000
TIME=4
MAPS=300		# a second to each peer, the tool's own pauses included

walk() {
	n1 python3 -ISu "$PY" "$1" 10.1.0.1 "$2"
}

said() {
	grep -q "$2" "$T/$1"
}

toggled() {
	local before n

	mkfifo "$T/fifo"
	n1 python3 -ISu "$PY" toggles 10.1.0.1 $PEERS $TIME >"$T/toggles" 2>&1 <"$T/fifo" &
	exec 9>"$T/fifo"
	busywait 60 said toggles connected || { show_file "$T/toggles"; return 1; }
	before=$(counter n1 cong_update_queued)
	echo >&9
	busywait 30 said toggles toggled || { show_file "$T/toggles"; return 1; }
	show_file "$T/toggles"
	n=$(($(counter n1 cong_update_queued) - before))
	note "$n times a connection was told to send its map"
	[ $n -ge $((PEERS * 2)) ] && [ $n -le $((PEERS * TIME * MAPS)) ]
}

# What the peer believes in the end is that the port is free.
free() {
	local port

	port=$(sed -n 's/.*on port //p' "$T/toggles")
	busywait 5 n2 python3 -ISc 'import socket, sys
s = socket.socket(21, socket.SOCK_SEQPACKET)
s.bind(("10.1.0.2", 0))
s.sendto(b"x", socket.MSG_DONTWAIT, ("10.1.0.1", int(sys.argv[1])))' "$port" 2>"$T/free" ||
		{ show_file "$T/free"; return 1; }
}

ktap_header
setup_pair
check "30000 sockets are listed" walk sockets 30000
check "10000 monitors wait while another port is full and free again" walk monitors 10000
check "a peer is connected" duplex before n1 10.1.0.1 n2 10.1.0.2 100
n1 ip route add 10.2.0.0/16 dev eth0
check "many peers are not told of each time a port is free" toggled
check "but of the last" free
echo >&9
exec 9>&-
check "a new flow" duplex after n2 10.1.0.2 n1 10.1.0.1 200
moved
ktap_finish
