#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init ref=0 timeout=360 waits=1 lanes=uml
# The device goes and comes, its interface too, in mid-traffic; both ends dial at once; the module
# goes with connections.  Nothing is lost, doubled or out of order, and all is given back.
. "$(dirname "$0")/common.sh"

# with_flows FUNCTION: while it runs messages go both ways, over IPv6, and to the own address
with_flows() {
	local rc=0

	start_flow w1 here $A4 here $B4 1500 -S 0-9000 -r 400 || return 1
	start_flow w2 here $B4 here $A4 1500 -S 0-9000 -r 400 || return 1
	start_flow w3 here "[$A6]" here "[$B6]" 1500 -S 0-9000 -r 400 || return 1
	start_flow w4 here $A4 here $A4 1500 -S 0-9000 -r 400 || return 1
	sleep 0.7
	"$@" || { note "$1 failed"; rc=1; }
	end_flow w1 1500 || rc=1
	end_flow w2 1500 || rc=1
	end_flow w3 1500 || rc=1
	end_flow w4 1500 || rc=1
	return $rc
}

device_cycle() {
	local i

	for i in 1 2 3; do
		ib_device_del || return 1
		sleep 0.2
		ib_device_add || return 1
		sleep 0.7
	done
}

interface_cycle() {
	local i

	for i in 1 2 3; do
		ip link set $DEV down || return 1
		sleep 0.2
		ip link set $DEV up || return 1
		ib_addresses 2	# those of IPv6 went with it
		ib_revive || return 1
		sleep 0.7
	done
}

# The device goes while its port is down: with links that have not noticed, with links that are
# being taken down, and with ids of the CM that wait for the port (leave.c).
device_goes_in_the_dark() {
	local dark

	for dark in 0 0.3 2 4; do
		ip link set $DEV down || return 1
		sleep $dark
		ib_device_del || return 1
		ip link set $DEV up || return 1
		ib_addresses 2
		ib_device_add || return 1
		sleep 0.7
	done
}

cm_ids() {
	rdma res show cm_id | wc -l
}

# events_since COUNT: the CM has told of so many more
events_since() {
	[ "$(counter - ib_evt_handler_call)" -ge "$1" ]
}

# No carrier, but the way to a peer is known: nothing is sent, and nothing is kept that waits for an
# answer.
no_carrier() {
	local rc=0 before

	ip neigh replace 10.5.0.99 lladdr 02:00:00:00:00:99 dev $DEV nud permanent || return 1
	ip link set rdst1 down || return 1
	before=$(cm_ids)
	start_send nowhere here "$A4:3990" 10.5.0.99:3991 1
	# three attempts
	busywait 60 events_since $(($(counter - ib_evt_handler_call) + 6)) || rc=1
	note "$before ids of the CM before, $(cm_ids) after"
	[ "$(cm_ids)" -le $((before + 1)) ] || rc=1
	kill_job TERM "${JOBS[-1]}"
	wait "${JOBS[-1]##*:}" 2>/dev/null
	unset 'JOBS[-1]'
	ip link set rdst1 up
	ip neigh del 10.5.0.99 dev $DEV
	ib_revive && duplex carrier here $A4 here $B4 100 || rc=1
	return $rc
}

no_device() {
	ib_device_del || return 1
	sleep 2
	ib_device_add
}

# Who waited for the device does not wait any longer when it is there, whatever the back-off.
at_once() {
	local rc=0 start min max

	min=$(sysctl -n net.rds.reconnect_min_delay_ms)
	max=$(sysctl -n net.rds.reconnect_max_delay_ms)
	sysctl -qw net.rds.reconnect_max_delay_ms=200000 net.rds.reconnect_min_delay_ms=200000
	start_flow r1 here $A4 here $B4 800 -r 400 || rc=1
	start_flow r2 here "[$A6]" here "[$B6]" 800 -r 400 || rc=1
	sleep 0.7
	fair_now
	ib_device_del || rc=1
	sleep 2
	sysctl -qw "net.rds.reconnect_min_delay_ms=$min" "net.rds.reconnect_max_delay_ms=$max" || rc=1
	ib_device_add || rc=1
	fair_now
	start=$FAIR_NOW
	end_flow r1 800 || rc=1
	end_flow r2 800 || rc=1
	fair_now
	note "$((FAIR_NOW - start)) ms until all was there"
	[ $((FAIR_NOW - start)) -le 10000 ] || rc=1
	return $rc
}

links_were_lost() {
	[ "$(ib_paths links | sort -n | tail -n 1)" -gt 3 ]
}

# Of an address and itself only one end dials: the other has a link for each that was made.  One
# more for each device that was made anew for rxe's sake.
one_end_dials() {
	local ends most

	touch "$T/revived"
	most=$((12 + $(wc -l <"$T/revived")))
	ends=$(ib_paths local_addr remote_addr links | awk -v a=$A4 '$1 == a && $2 == a { print $3 }' |
		sort -n | xargs)
	note "links of the two ends: $ends"
	# shellcheck disable=SC2086
	set -- $ends
	[ $# -eq 2 ] && [ "$1" -le $most ] && [ "$1" -lt "$2" ]
}

removed() {
	[ "$(counter - ib_device_removed)" -gt 0 ]
}

# Both ends dial at about the same time; ib/bounds makes sure that they meet.
duels() {
	local i rc=0 before

	before=$(counter - ib_connect_raced)
	for i in $(seq 10); do
		ib_device_del && ib_device_add || return 1
		ib_wait_addr $B6 || return 1
		start_flow d1 here $A4 here $B4 50 --go "$T/go.$i" || rc=1
		start_flow d2 here $B4 here $A4 50 --go "$T/go.$i" || rc=1
		sleep 0.3
		touch "$T/go.$i"
		end_flow d1 50 || rc=1
		end_flow d2 50 || rc=1
	done
	note "$(($(counter - ib_connect_raced) - before)) met in $i rounds"
	return $rc
}

loaded() {
	grep -q "^rds_rdma " /proc/modules
}

# A socket holds the transport.
held() {
	start_recv held here $A4:3999 1 1 || return 1
	rmmod rds_rdma 2>/dev/null && return 1
	loaded || return 1
	drop_recv held here
}

unload_and_load() {
	local i

	for i in 1 2 3; do
		duplex unload here $A4 here $B4 100 || return 1
		busywait 10 rmmod rds_rdma 2>/dev/null || return 1
		! loaded || return 1
		modprobe rds_rdma || return 1
	done
}

device_without_module() {
	rmmod rds_rdma && ib_device_del && ib_device_add && modprobe rds_rdma &&
		ib_wait_addr $B6 && duplex again here $A4 here $B4 100
}

ktap_header
setup_rxe
check "the device goes and comes in mid-traffic" with_flows device_cycle
check "the interface goes down and up in mid-traffic" with_flows interface_cycle
check "the device goes while its port is down" with_flows device_goes_in_the_dark
check "nothing is dialled while the port is down" no_carrier
check "no device for two seconds" with_flows no_device
check "paths that wait for a device are dialled when it comes" at_once
check "links were lost and made again" links_were_lost
check "one end dials if both are here" one_end_dials
check "removals were counted" removed
check "both ends dial at once" duels
check "a socket holds the module" held
check "the module goes with connections" unload_and_load
check "the device changes while the module is away" device_without_module
moved
ktap_finish
