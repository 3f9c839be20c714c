#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge timeout=300 ref=0 memory=640 lanes=debian
# All receive queues together may cost 3/32 of memory.  Many peers fill many sockets that nobody
# reads, until the kernel refuses to charge more; what it has charged by then is what the machine
# has lost.  Above that each other socket has its receive buffer, or twice as much memory, and that is
# all it gets: the loss is compared with that.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

# 10.1.0.3 is the victim.  In small memory, of which little has to be filled; and each sends less
# than a queue may cost by itself, which is sixteen times its buffer.
BUFFER=1048576
PEERS=88
OTHERS=40		# of these find memory used up
SMALL=16		# of those get empty messages
COUNT=70
SIZE=60000

# What the sockets of the protocol are charged, all of them.
charged_kb() {
	awk '$1 == "RDS" { print $4 * 4 }' /proc/net/protocols
}

# deluge ID FIRST LAST [UNTIL]: sets sent to the number of the first that has not
deluge() {
	program "$1" n1 spill.py deluge 10.0.0. 10.1.0.3 7000 "$2" "$3" $COUNT $SIZE "${@:4}"
	busywait 120 said "$1" '^sent' || { show_file "$T/$1"; return 1; }
	sent=$(sed -n 's/^sent \([0-9]*\) closed 0$/\1/p' "$T/$1")
	[ -n "$sent" ] || { show_file "$T/$1"; return 1; }
}

fill() {
	deluge many 0 $((PEERS - OTHERS)) recv_uncharged || return 1
	note "$sent queues"
	[ "$(counter n3 recv_uncharged)" -gt "$uncharged" ]
}

# The limit, the charge and the loss: each against the others.
filled() {
	local charged lost

	lost=$((before - $(free_kb)))
	charged=$(charged_kb)
	near "$charged" "$lost" && near $(($(mem_kb MemTotal) * 3 / 32)) "$charged"
}

# others ID NUMBER EACH: what is above the limit is charged to nobody, so what is compared is what
# each of so many may have
others() {
	local before charged dropped

	dropped=$(counter n3 recv_drop_full)
	before=$(free_kb)
	charged=$(charged_kb)
	deluge "$1" "$sent" $((sent + $2)) || return 1
	note "charged $charged kB before, $(charged_kb) kB now"
	[ "$(counter n3 recv_drop_full)" -gt "$dropped" ] || return 1
	near $(($2 * $3 >> 10)) $((before - $(free_kb)))
}

small() {
	local COUNT=12000 SIZE=0

	others small $SMALL $((2 * BUFFER))
}

# What each socket and processor keeps to itself is less.
given_back() {
	[ "$(charged_kb)" -lt 8192 ]
}

ktap_header
keep_pages 100000
setup_hostile
ip -n n3 route add 10.0.0.0/24 dev eth0
printf 'addr add 10.0.0.%d/32 dev eth0\n' $(seq 0 $((PEERS - 1))) | ip -n n1 -batch -
# What one queue has above its own limit is another bound's.
n3 sysctl -qw net.rds.max_peer_bytes=2097152
program hogs n3 spill.py hogs 10.1.0.3 7000 $PEERS $((BUFFER / 2))
busywait 30 said hogs '^bound' || { show_file "$T/hogs"; lib_die "no sockets"; }
uncharged=$(counter n3 recv_uncharged)
before=$(free_kb)
check "many queues are filled until no more can be charged" fill
check "what is charged is 3/32 of memory, and what the machine has lost" filled
check "other sockets have their receive buffers, and no more" others others $((OTHERS - SMALL)) $BUFFER
check "others have twice that for empty messages" small
end hogs
check "all of it is given back" busywait 30 given_back
end many
end others
end small
keep_pages 0
ktap_finish
