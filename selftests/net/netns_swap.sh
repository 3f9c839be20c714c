#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=240 lanes=uml
# Namespaces that lose their interfaces to each other, or go while their connections are
# being made: nothing of the one keeps the other (hazards G2, G10, G11, G12, G13).
. "$(dirname "$0")/common.sh"

# alive [WANTED]: the kernel frees a dead namespace when the next one dies, so one of ours must
# die before each count, the first included; it may itself be the one that is left.
alive() {
	local i n least quiet=0

	unshare -n true
	least=$(netns_alive)
	for i in $(seq 15); do
		[ "$least" -gt "${1:-0}" ] && [ $quiet -lt 5 ] || break
		lib_nap 0.2
		quiet=$((quiet + 1))
		n=$(netns_alive)
		[ "$n" -ge "$least" ] || { least=$n; quiet=0; }
	done
	echo "$least"
}

back_to() {
	[ "$(alive $(($1 + 1)))" -le $(($1 + 1)) ]
}

make_pair() {
	lib_trap
	lib_netns "$1" "$2"
	lib_batch "$1" <<-BATCH
		link add eth0 type veth peer name eth1 netns $2
		addr add 10.7.0.1/24 dev eth0
		addr add fd00:7::1/64 dev eth0 nodad
		link set eth0 up
	BATCH
	lib_batch "$2" <<-BATCH
		addr add 10.7.0.2/24 dev eth1
		addr add fd00:7::2/64 dev eth1 nodad
		link set eth1 up
	BATCH
}

bound() {
	ip netns exec "$1" "$BIN/rds-info" -k | grep -qw "$2"
}

sw1() { ip netns exec sw1 "$@"; }
sw2() { ip netns exec sw2 "$@"; }

# The pair talks, each end of the cable moves into the other namespace, both go.
swapped() {
	make_pair sw1 sw2 || return 1
	duplex swap4 sw1 10.7.0.1 sw2 10.7.0.2 50 || return 1
	start_flow swap6 sw1 '[fd00:7::1]' sw2 '[fd00:7::2]' 50 && end_flow swap6 50 || return 1
	# Not by way of a function: it is the program that has to be killed.
	ip netns exec sw1 "$BIN/rds-traffic" send -b 10.7.0.1:4000 -d 10.7.0.2:4000 -n 100000 \
		-r 200 -t $((90 * ${RDS_SLOW:-1})) >"$T/steady" 2>&1 </dev/null &
	steady=$!
	busywait 10 bound sw1 4000 || return 1
	ip -n sw1 link set eth0 netns sw2 || return 1
	ip -n sw2 link set eth1 netns sw1 || return 1
	lib_batch sw1 <<<$'addr add 10.7.0.1/24 dev eth1\nlink set eth1 up'
	lib_batch sw2 <<<$'addr add 10.7.0.2/24 dev eth0\nlink set eth0 up'
	duplex again sw1 10.7.0.1 sw2 10.7.0.2 50 || return 1
	ip netns del sw1
	ip netns del sw2
	kill -9 $steady
	{ wait $steady; } 2>/dev/null
	return 0
}

# Connects without an answer, in a namespace that goes.
connecting() {
	local i

	for i in 1 2 3 4 5; do
		make_pair "con$i" "den$i" || return 1
		ip netns exec "den$i" ip link set eth1 down
		# eight destinations that never answer
		ip netns exec "con$i" "$BIN/rds-traffic" send -b 10.7.0.1:4000 \
			-d 10.7.0.2:4000 -d 10.7.0.3:4000 -d 10.7.0.4:4000 -n 2 -t $((25 * ${RDS_SLOW:-1})) \
			>/dev/null 2>&1 </dev/null &
		senders+=($!)
		busywait 5 dialling "con$i" || { note "nothing was dialled"; return 1; }
		ip netns del "con$i"
		ip netns del "den$i"
	done
	kill -9 "${senders[@]}" 2>/dev/null
	{ wait "${senders[@]}"; } 2>/dev/null
	return 0
}

dialling() {
	ip netns exec "$1" ss -Htan state syn-sent | grep -q 16385
}

# Many of them at once, on however few processors there are.
many() {
	local i n=${1:-20} all

	all=$(seq -f 'many%g' "$n")
	lib_batch <<<"$(printf 'netns add %s\n' $all)"
	for i in $all; do
		lib_batch "$i" <<<$'link set lo up\naddr add 10.7.1.1/32 dev lo'
		ip netns exec "$i" "$BIN/rds-traffic" send -b 10.7.1.1:4000 \
			-d 10.7.1.1:4001 -n 5 -t $((20 * ${RDS_SLOW:-1})) >/dev/null 2>&1 </dev/null || return 1
	done
	lib_batch <<<"$(printf 'netns del %s\n' $all)"
}

ktap_header
start=$(alive)
start=$(alive)
note "namespaces at the start: $start"
check "the ends of a cable change places" swapped
check "and once more" swapped
check "all four namespaces are gone" busywait 30 back_to "$start"
senders=()
check "five namespaces go while they connect" connecting
check "they are gone" busywait 30 back_to "$start"
check "twenty namespaces with connections, deleted at once" many 20
check "all twenty are gone" busywait 40 back_to "$start"
note "namespaces now: $(alive)"
moved
ktap_finish
