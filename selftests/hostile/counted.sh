#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge timeout=600 ref=0 lanes=debian
# What counts against a bound is what the machine loses: each bound is filled, and what is counted is
# compared with the memory that is free.  Within half of it, both ways.  A kernel with KASAN has more
# behind each object of a slab; there only what is in pages is compared.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"
. "$SELFTESTS/hostile/hogs.sh"

# 10.1.0.3 is the victim, 10.1.0.1 is hostile.
BUFFER=4194304		# sixteen times that is what a queue may cost
PEERS=48		# with a message each that never ends
PART=33554432		# max_peer_bytes
ORPHANS=48

# flood PORT COUNT SIZE [PAD]: and gone again
flood() {
	program flood n1 spill.py flood 10.1.0.1 10.1.0.3 "$1" "$2" "$3" 0 "${4:-0}"
	busywait 120 said flood '^sent' || { show_file "$T/flood"; return 1; }
	end flood
}

# queue PORT COUNT SIZE [PAD]: a receive queue, against what its socket is charged
queue() {
	local before counted rc

	hog unread "$1" 0 $BUFFER || return 1
	before=$(free_kb)
	flood "$@" && counted=$(rmem unread) || return 1
	near $((counted >> 10)) $((before - $(free_kb)))
	rc=$?
	end_hog unread
	return $rc
}

# What is above the limit of a queue, by itself: as much as one socket may have.
spilled() {
	local before counted dropped rc

	n3 sysctl -qw net.rds.max_peer_bytes=$((3 * PART))
	hog unread 7005 0 || return 1
	flood 7005 150 60000 && counted=$(rmem unread) || return 1
	before=$(free_kb)
	dropped=$(counter n3 recv_drop_full) || return 1
	flood 7005 800 60000 && [ "$(counter n3 recv_drop_full)" -gt "$dropped" ] || return 1
	counted=$(($(rmem unread) - counted))
	[ $counted -gt $((PART / 4 * 3)) ] && near $((counted >> 10)) $((before - $(free_kb)))
	rc=$?
	end_hog unread
	return $rc
}

# closed SIZE: sockets that are closed with messages of that size, as many as there may be
closed() {
	local before rc

	n3 sysctl -qw net.rds.max_orphans=$ORPHANS net.rds.close_timeout_ms=600000
	before=$(free_kb)
	program closers n3 spill.py closers 10.1.0.3 10.1.0.77 "$1"
	busywait 200 said closers '^closed' || { show_file "$T/closers"; return 1; }
	near $((ORPHANS * 256)) $((before - $(free_kb)))
	rc=$?
	end closers
	drop_orphans n3 10.1.0.3 && return $rc
}

# under_way SIZE LEAST MOST: what many sockets may have on its way to one port, against its 4 MiB; so
# many messages.  Small ones may lie in slabs that others have left, and are compared as closed sockets'.
under_way() {
	local before rc n

	rm -f "$T/go"
	program crowd n3 spill.py crowded 10.1.0.3 10.1.0.77 "$1" "$T/go"
	busywait 60 said crowd '^ready' || { show_file "$T/crowd"; return 1; }
	before=$(free_kb)
	touch "$T/go"
	busywait 100 said crowd '^accepted' || { show_file "$T/crowd"; return 1; }
	n=$(sed -n 's/^accepted //p' "$T/crowd")
	note "accepted $n"
	{ [ "$1" -lt 1000 ] || near 4096 $((before - $(free_kb))); } && [ "$n" -ge "$2" ] && [ "$n" -le "$3" ]
	rc=$?
	end crowd
	drop_orphans n3 10.1.0.3 && return $rc
}

# Messages that never end, against the bound.  They are on TCP's account, too, beside what TCP has not given us.
partial() {
	local before tcp part=$((PART >> 10))

	n3 sysctl -qw net.rds.max_peer_bytes=$PART
	before=$(free_kb)
	tcp=$(tcp_kb)
	program hoard n1 room.py hoard fd00:1:: fd00:1::ffff 7100 $PEERS
	busywait 60 said hoard hoarding || { show_file "$T/hoard"; return 1; }
	near $part $((before - $(free_kb) - ($(tcp_kb) - tcp - part)))
}

# What is remembered of the source ports of old peers may be a quarter of it, and three quarters of
# that if their addresses begin alike.
histories() {
	local before limited rc

	n3 sysctl -qw net.rds.max_peer_bytes=$((3 * PART))
	before=$(free_kb)
	limited=$(counter n3 recv_flow_limit) || return 1
	program histories n1 spill.py histories fd00:1:: fd00:1::ffff $PEERS
	busywait 60 said histories '^sent' || { show_file "$T/histories"; return 1; }
	busywait 30 counted recv_flow_limit "$limited" 1
	near $((3 * PART / 4 * 3 / 4 >> 10)) $((before - $(free_kb)))
}

# remembered ADDRESS: those of somebody else
remembered() {
	local limited rc

	limited=$(counter n3 recv_flow_limit) || return 1
	program stranger n1 spill.py histories "$1" 10.1.0.3 0
	busywait 60 said stranger '^sent' || { show_file "$T/stranger"; return 1; }
	[ "$(counter n3 recv_flow_limit)" = "$limited" ]
	rc=$?
	end stranger
	return $rc
}

# What the hoarders' links hold is the machine's again.
hoarders_gone() {
	[ "$(n3 ss -Htn '( sport = 16385 or dport = 16385 )' | grep -c fd00:1)" -eq 0 ]
}

# Beginnings of addresses are told by a hash, so that one of two may be taken for the same.
strangers() {
	remembered 10.1.0.1 || remembered 10.0.0.1
}

tcp_kb() {
	awk '$1 == "TCP:" { for (i = 2; i < NF; i++) if ($i == "mem") print $(i + 1) * 4 }' /proc/net/sockstat
}

ktap_header
keep_pages 100000
setup_hostile
ip -n n3 addr add fd00:1::ffff/64 dev eth0 nodad
ip -n n1 addr add 10.0.0.1/32 dev eth0
ip -n n3 route add 10.0.0.1 dev eth0
for i in $(seq 0 $((PEERS - 1))); do
	printf 'addr add fd00:1::%x/64 dev eth0 nodad\n' $((0x1000 + i))
done >"$T/batch"
ip -n n1 -batch "$T/batch"
# KASAN keeps what is freed, as much as it ever will.
[[ $RDS_KERNEL != *kasan ]] || queue 7000 12000 2000 >/dev/null
check "a queue of messages in packets full of others" queue 7001 700 3600 28
check "a queue of large messages" queue 7004 700 60000
check "messages above the limit of a queue" spilled
check "closed sockets with large messages" closed 60000
check "what is under way to one port, of large messages" under_way 60000 65 75
check "messages that were received in part" partial
end hoard
busywait 60 hoarders_gone || note "links of the hoarders are left"
if [[ $RDS_KERNEL != *kasan ]]; then
	check "a queue of small messages" queue 7002 100000 100
	check "a queue of messages that a slab has no size for" queue 7003 12000 2000
	check "what is remembered of source ports" histories
	check "and that of a peer elsewhere is" strangers
	end histories
	check "closed sockets with many small messages" closed 25
	check "what is under way to one port, of small messages" under_way 25 7000 8500
fi
keep_pages 0
ktap_finish
