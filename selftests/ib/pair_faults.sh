#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=2 modules=rds_rdma,rdma_rxe,sch_netem host=1 timeout=420
# RoCE between two guests, in mid-traffic: devices and interfaces go and come, the cable is out,
# the network loses and damages, both ends dial at once, a module is loaded anew, a node dies.
# Nothing is lost, doubled or out of order.
. "$(dirname "$0")/pair.sh"

# with_flows FUNCTION ARGUMENTS: while it runs, messages go both ways and over IPv6
with_flows() {
	local rc=0 n=1500 id

	FLOWN=$((FLOWN + 1))
	id=w$FLOWN
	start_flow "$id-a" a 10.0.0.1 b 10.0.0.2 $n -S 0-9000 -r 300 || return 1
	start_flow "$id-b" b 10.0.0.2 a 10.0.0.1 $n -S 0-3000 -r 300 || return 1
	start_flow "$id-6" a '[fd00::1]' b '[fd00::2]' $n -S 0-3000 -r 300 || return 1
	sleep 0.7
	"$@" || { note "$1 failed"; rc=1; }
	end_flow "$id-a" $n || rc=1
	end_flow "$id-b" $n || rc=1
	end_flow "$id-6" $n || rc=1
	[ $rc = 0 ] || show_hang
	return $rc
}
FLOWN=0

device_cycle() {
	local i

	for i in 1 2 3; do
		rxe_del "$1" || return 1
		sleep 0.2
		rxe_add "$1" || return 1
		sleep 0.8
	done
}

interface_cycle() {
	local i

	on "$1" sysctl -qw net.ipv6.conf.eth0.keep_addr_on_down=1
	for i in 1 2 3; do
		on "$1" ip link set eth0 down || return 1
		sleep 0.3
		on "$1" ip link set eth0 up || return 1
		revive "$1" || return 1
		sleep 1
	done
}

links_were_lost() {
	[ "$(ib_rows a p links | sort -n | tail -n 1)" -gt 3 ]
}

netem() {
	local node rc=0

	for node in a b; do
		on "$node" tc qdisc replace dev eth0 root netem limit 10000 "$@" || rc=1
	done
	return $rc
}

faulty() {
	local name=$1 rc=0

	shift
	netem "$@" || return 1
	both "$name" 400 -S 0,1,64,4096,20000 || rc=1
	on a tc -s qdisc show dev eth0 | sed -n 's/^ Sent/# a sent/p'
	for node in a b; do
		on $node tc qdisc del dev eth0 root
	done
	return $rc
}

duels() {
	local i rc=0 before

	before=$(($(ib_counter a ib_connect_raced) + $(ib_counter b ib_connect_raced)))
	for i in 1 2 3 4 5; do
		rxe_del a && rxe_del b && rxe_add a && rxe_add b || return 1
		start_recv "d$i-b" b 10.0.0.2:$((5000 + i)) 50 1 || rc=1
		start_recv "d$i-a" a 10.0.0.1:$((5000 + i)) 50 1 || rc=1
		start_send "d$i-b" a 10.0.0.1:$((5100 + i)) 10.0.0.2:$((5000 + i)) 50
		start_send "d$i-a" b 10.0.0.2:$((5100 + i)) 10.0.0.1:$((5000 + i)) 50
		end_flow "d$i-a" 50 || rc=1
		end_flow "d$i-b" 50 || rc=1
	done
	note "raced: $(($(ib_counter a ib_connect_raced) + $(ib_counter b ib_connect_raced) - before))"
	return $rc
}

# The module of NODE goes while the other's messages are on their way; all of them wait.
module_anew() {
	local node=$1 other=$2 rc=0 i

	for i in 1 2 3; do
		on "$node" rmmod rds_rdma || return 1
		start_send "wait$i-$node" "$other" "$(addr "$other"):$((5300 + i))" \
			"$(addr "$node"):5200" 200 -S 0-5000
		sleep 0.5
		# the receiver is there before the first link can be
		link_down "$node"
		on "$node" modprobe rds_rdma || rc=1
		start_recv "wait$i-$node" "$node" "$(addr "$node"):5200" 200 1 || rc=1
		link_up "$node"
		revive a b || rc=1
		end_flow "wait$i-$node" 200 && continue
		show_contact
		return 1
	done
	return $rc
}

ktap_header
note "a: $(on a uname -r), b: $(on b uname -r)"
check "messages both ways" both start 500 -S 0-3000
check "the device of a goes and comes in mid-traffic" with_flows device_cycle a
check "the device of b goes and comes in mid-traffic" with_flows device_cycle b
check "the interface of a goes down and up in mid-traffic" with_flows interface_cycle a
check "the interface of b goes down and up in mid-traffic" with_flows interface_cycle b
check "the cable is out for 6 s" with_flows cable b
check "links were lost and made again" links_were_lost
check "loss 1 %" faulty loss loss 1%
check "duplicate 5 %" faulty dup duplicate 5%
check "reorder 10 %" faulty reorder delay 2ms reorder 90% 50%
check "corrupt 1 %" faulty corrupt corrupt 1%
check "loss of bursts" faulty burst loss gemodel 1% 20%
check "both ends dial at once" duels
check "the module of b is loaded anew" module_anew b a
check "the module of a is loaded anew" module_anew a b
check "everything is acknowledged" acknowledged
check "b is killed and restarted" restarted b a
check "a is killed and restarted" restarted a b
check "messages both ways after that" both after 300 -S 0-5000
moved
ktap_finish
