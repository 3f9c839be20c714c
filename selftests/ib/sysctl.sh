#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init ref=0 timeout=150 waits=1 lanes=uml
# net.rds.ib.*, the parameters of the module, counters and information records.
. "$(dirname "$0")/common.sh"

S=/proc/sys/net/rds/ib
P=/sys/module/rds_rdma/parameters

ib_restore() {
	echo 256 >$S/max_send_wr
	echo 1024 >$S/max_recv_wr
	echo 16 >$S/max_unsignaled_wr
	echo 0 >$S/flow_control
	[ -z "$ALLOCATION" ] || echo "$ALLOCATION" >$S/max_recv_allocation
}

is() {
	[ "$(cat "$1")" = "$2" ] || { note "$1 is $(cat "$1")"; return 1; }
}

defaults() {
	is $S/max_send_wr 256 && is $S/max_recv_wr 1024 && is $S/max_unsignaled_wr 16 &&
		is $S/flow_control 0 && is $P/rds_ib_retry_count 1 &&
		is $P/rds_ib_mr_1m_pool_size 4096 && is $P/rds_ib_mr_8k_pool_size 348160
}

# A third of the memory in units of 4 KiB.
allocation_default() {
	local total

	total=$(awk '/^MemTotal/ { print int($2 / 4 / 3) }' /proc/meminfo)
	[ "$ALLOCATION" -gt $((total * 9 / 10)) ] && [ "$ALLOCATION" -lt $((total * 11 / 10)) ] ||
		{ note "$ALLOCATION, a third of the memory is $total"; return 1; }
}

refuses() {
	local before

	before=$(cat "$S/$1")
	{ echo "$2" >"$S/$1"; } 2>/dev/null && return 1
	[ "$(cat "$S/$1")" = "$before" ]
}

ranges() {
	refuses max_send_wr 0 && refuses max_recv_wr 0 && refuses max_send_wr 4294967296 &&
		refuses max_recv_wr 4294967296 && refuses max_unsignaled_wr 0 &&
		refuses max_unsignaled_wr 65
}

elsewhere() {
	! unshare -n test -e $S
}

fresh_links() {
	ib_device_del && ib_device_add && ib_wait_addr $B6
}

# rings: what the information records say
rings() {
	"$BIN/rds-info" --json -I | python3 -S -c '
import json, sys
rows = json.load(sys.stdin)["ib_connections"]
print(*sorted({"%d/%d/%d" % (r["max_send_wr"], r["max_recv_wr"], r["max_send_sge"]) for r in rows}))'
}

gids() {
	local n

	n=$("$BIN/rds-info" --json -I | python3 -S -c '
import json, sys
rows = json.load(sys.stdin)["ib_connections"]
bad = [r for r in rows if r["local_gid"] != "::ffff:" + r["local_addr"] or
       r["remote_gid"] != "::ffff:" + r["remote_addr"] or r["sl"] != r["tos"] & 15 or
       r["rdma_mr_size"] != 257 or r["rdma_mr_max"] < 1]
print(len(rows), len(bad))')
	[ "$n" = "2 0" ] || { note "records, bad ones: $n"; return 1; }
}

# with_rings SEND RECV UNSIGNALED: large and small messages both ways
with_rings() {
	echo "$1" >$S/max_send_wr && echo "$2" >$S/max_recv_wr &&
		echo "$3" >$S/max_unsignaled_wr || return 1
	fresh_links || return 1
	duplex "ring$1-$2" here $A4 here $B4 60 -S 0,1,64,4096,4097,100000,1048576 || return 1
	[ "$(rings)" = "$1/$2/8" ] || { note "$(rings)"; return 1; }
}

# An asked-for ring that no device has is as large as the device can.
huge() {
	echo 4294967295 >$S/max_send_wr && echo 4294967295 >$S/max_recv_wr || return 1
	fresh_links || return 1
	duplex huge here $A4 here $B4 20 || return 1
	note "$(rings)"
	[ "$(rings | cut -d/ -f1)" -gt 256 ] && [ "$(rings | cut -d/ -f1)" -le 1048576 ]
}

# Both ends offer credits.
credits() {
	local sent got

	sent=$(counter - ib_tx_credit_updates)
	got=$(counter - ib_rx_credit_updates)
	echo 1 >$S/flow_control && echo "$1" >$S/max_send_wr && echo "$2" >$S/max_recv_wr || return 1
	fresh_links || return 1
	duplex "credit$1-$2" here $A4 here $B4 40 -S 0,1,64,4096,4097,100000,1048576 || return 1
	start_flow "one-$1-$2" here $A4 here $B4 500 -S 64 || return 1
	end_flow "one-$1-$2" 500 || return 1
	[ "$(counter - ib_rx_credit_updates)" -gt "$got" ] || { note "no credits came"; return 1; }
	[ "$(counter - ib_tx_credit_updates)" -gt "$sent" ] ||
		{ note "no frame of its own for credits"; return 1; }
}

# With so few no credit could ever be used.
credits_few() {
	local got

	echo 3 >$S/max_recv_wr || return 1
	fresh_links || return 1
	got=$(counter - ib_rx_credit_updates)
	duplex fewcredit here $A4 here $B4 40 -S 0,5000 || return 1
	[ "$(counter - ib_rx_credit_updates)" = "$got" ]
}

# One end stops offering them: they are off, for this link.
credits_off() {
	local got

	echo 0 >$S/flow_control
	ib_restore
	fresh_links || return 1
	got=$(counter - ib_rx_credit_updates)
	duplex nocredit here $A4 here $B4 100 || return 1
	[ "$(counter - ib_rx_credit_updates)" = "$got" ]
}

# So little memory that not even one ring can be filled: slow, but all arrives.
little_memory() {
	local before

	before=$(counter - ib_rx_alloc_limit)
	echo 200 >$S/max_recv_allocation || return 1
	fresh_links || return 1
	start_flow little here $A4 here $B4 200 -S 0,4096,100000,500000 || return 1
	sleep 1
	end_flow little 200 || return 1
	echo "$ALLOCATION" >$S/max_recv_allocation
	[ "$(counter - ib_rx_alloc_limit)" -gt "$before" ]
}

names() {
	cat <<-END
	ib_connect_raced ib_listen_closed_stale ib_evt_handler_call ib_tasklet_call ib_tx_cq_event
	ib_tx_ring_full ib_tx_throttle ib_tx_sg_mapping_failure ib_tx_stalled ib_tx_credit_updates
	ib_rx_cq_event ib_rx_ring_empty ib_rx_refill_from_cq ib_rx_refill_from_thread
	ib_rx_alloc_limit ib_rx_total_frags ib_rx_total_incs ib_rx_credit_updates ib_ack_sent
	ib_ack_send_failure ib_ack_send_delayed ib_ack_send_piggybacked ib_ack_received
	ib_rdma_mr_8k_alloc ib_rdma_mr_8k_free ib_rdma_mr_8k_used ib_rdma_mr_8k_pool_flush
	ib_rdma_mr_8k_pool_wait ib_rdma_mr_8k_pool_depleted ib_rdma_mr_1m_alloc ib_rdma_mr_1m_free
	ib_rdma_mr_1m_used ib_rdma_mr_1m_pool_flush ib_rdma_mr_1m_pool_wait
	ib_rdma_mr_1m_pool_depleted ib_rdma_mr_8k_reused ib_rdma_mr_1m_reused ib_atomic_cswp
	ib_atomic_fadd
	END
}

# The reference's counters come in its order, before those of ours.
order() {
	local have want

	want=$(names | xargs)
	have=$("$BIN/rds-info" -c -v 2>/dev/null | awk '$1 ~ /^ib_/ { print $1 }' | head -n 39 | xargs)
	[ "$have" = "$want" ] || { note "$have"; return 1; }
}

one_way() {
	start_flow way here $A4 here $B4 100 -S 5000 || return 1
	end_flow way 100
}

work_is_counted() {
	local name

	for name in ib_evt_handler_call ib_tasklet_call ib_tx_cq_event ib_rx_cq_event \
			ib_rx_total_frags ib_rx_total_incs ib_ack_sent ib_ack_received; do
		[ "$(counter - $name)" -gt 0 ] || { note "$name is 0"; return 1; }
	done
}

# 100 messages of two fragments
fragments() {
	local frags incs

	frags=$(counter - ib_rx_total_frags)
	incs=$(counter - ib_rx_total_incs)
	one_way || return 1
	frags=$(($(counter - ib_rx_total_frags) - frags))
	incs=$(($(counter - ib_rx_total_incs) - incs))
	# and the greeting of the flow and a map now and then
	[ $incs -ge 100 ] && [ $incs -lt 130 ] && [ $frags -ge $((incs + 98)) ] &&
		[ $frags -le $((2 * incs)) ] || { note "$frags fragments, $incs messages"; return 1; }
}

ALLOCATION=$(cat $S/max_recv_allocation)
ktap_header
setup_rxe
check "defaults" defaults
check "default of max_recv_allocation" allocation_default
check "ranges" ranges
check "only in the initial namespace" elsewhere
check "rings as asked for" with_rings 64 200 16
check "records of connections" gids
check "rings of one entry" with_rings 1 1 1
check "rings smaller than a message" with_rings 7 9 64
check "a ring that no device has" huge
check "credits" credits 256 1024
check "credits, small rings" credits 16 40
check "credits, rings smaller than a message" credits 3 5
check "credits of four buffers" credits 1 4
check "too few buffers for credits" credits_few
check "without credits" credits_off
check "little memory to receive" little_memory
check "order of the counters" order
check "what happens is counted" work_is_counted
check "fragments are counted" fragments
moved
ktap_finish
