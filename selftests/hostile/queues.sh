#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge timeout=300 ref=0 memory=640 lanes=debian
# All receive queues together may cost 3/32 of memory.  Many peers fill many sockets that nobody
# reads, until the kernel refuses to charge more; what it has charged by then is what the machine
# has lost.  Above that all other sockets of a user have twice a receive buffer together, and his part of
# max_peer_bytes; a user who has nothing yet still gets the same.  The loss is compared with that.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"
. "$SELFTESTS/hostile/hogs.sh"

# 10.1.0.3 is the victim.  In small memory, of which little has to be filled; and each sends less
# than a queue may cost by itself, which is sixteen times its buffer.
BUFFER=1048576
PEERS=72
OTHERS=24		# of these find memory used up
BOUND=25165824		# max_peer_bytes
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

# What links cost by which all this comes, kB: to ports that nobody has.
links_cost() {
	local before

	before=$(free_kb)
	deluge nobody $PEERS $((PEERS + OTHERS)) || return 1
	cost=$((before - $(free_kb)))
	note "$cost kB for $OTHERS links"
}

# beyond FLOOD LINKS SHARE: what is above the limit is charged to nobody, so what is lost by FLOOD, but for so
# many links, is compared with SHARE bytes of the bound, and what a user may have besides
beyond() {
	local before charged dropped

	dropped=$(counter n3 recv_drop_full)
	before=$(free_kb)
	charged=$(charged_kb)
	"$1" || return 1
	note "charged $charged kB before, $(charged_kb) kB now"
	busywait 30 counted recv_drop_full "$dropped" 1 || { note "nothing is dropped"; return 1; }
	near $((($3 + BUFFER) >> 10)) $((before - $(free_kb) - cost * $2 / OTHERS))
}

others() {
	deluge others "$sent" $((sent + OTHERS))
}

# Empty messages: they cost memory, too.
another() {
	program flood n1 spill.py flood 10.1.0.1 10.1.0.3 7900 80000 0
	busywait 120 said flood '^sent' || { show_file "$T/flood"; return 1; }
	end flood
}

# What each socket and processor keeps to itself is less.
given_back() {
	[ "$(charged_kb)" -lt 8192 ]
}

ktap_header
keep_pages 100000
setup_hostile
ip -n n3 route add 10.0.0.0/24 dev eth0
printf 'addr add 10.0.0.%d/32 dev eth0\n' $(seq 0 $((PEERS + OTHERS - 1))) | ip -n n1 -batch -
# What one queue has above its own limit is another bound's.
n3 sysctl -qw net.rds.max_peer_bytes=$BOUND
program hogs n3 spill.py hogs 10.1.0.3 7000 $PEERS $((BUFFER / 2))
busywait 30 said hogs '^bound' || { show_file "$T/hogs"; lib_die "no sockets"; }
hog another 7900 1001 $((BUFFER / 2)) || lib_die "no socket of another user"
uncharged=$(counter n3 recv_uncharged)
before=$(free_kb)
check "what links cost by themselves" links_cost
check "many queues are filled until no more can be charged" fill
check "what is charged is 3/32 of memory, and what the machine has lost" filled
# Of the bound one user has never more than half, and the next one a third of what is left.
check "all others of that user have twice a buffer and half of the bound" beyond others $OTHERS $((BOUND / 2))
what="another user has as much, and a third of what is left"
# KASAN keeps back more than that.
if [[ $RDS_KERNEL == *kasan ]]; then
	ktap_skip "$what" "KASAN"
else
	check "$what" beyond another 1 $((BOUND / 6))
fi
end_hog another
end hogs
check "all of it is given back" busywait 30 given_back
end many
end nobody
end others
keep_pages 0
ktap_finish
