#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=2 modules=rds_rdma,rdma_rxe,sch_netem host=1 timeout=420
# RDMA and atomics over RoCE between two guests: content, wrong keys, one word that both nodes add
# to, operations while the link goes and comes, a peer killed in the middle.
. "$(dirname "$0")/pair.sh"

LIMIT=100

# from NODE OTHER WHAT [opts]: tries something with the server on the other node
from() {
	local node=$1 other=$2

	shift 2
	tries "$node" "$(addr "$node")" "$(addr "$other")" "$@"
}

lossy() {
	local node rc=0

	for node in a b; do
		on $node tc qdisc replace dev eth0 root netem loss 1% || rc=1
	done
	# rdma_rxe ends a link when a read that was asked for twice comes after its region has gone.
	from a b content -g -l || rc=1
	for node in a b; do
		on $node tc qdisc del dev eth0 root || rc=1
	done
	return $rc
}

over_ipv6() {
	local rc=0

	READY=$((READY + 1))
	on b "$BIN/rdmapeer" serve -b '[fd00::2]:7000' -t $((100 * ${RDS_SLOW:-1})) -r $RD/ready.$READY >"$T/six" 2>&1 \
		</dev/null &
	busywait 15 there b $RD/ready.$READY || return 1
	tries a '[fd00::1]' '[fd00::2]' content || rc=1
	tries a '[fd00::1]' '[fd00::2]' bye >/dev/null || rc=1
	wait $! || rc=1
	return $rc
}

# Both nodes add to one word on b: every sum between is seen by one of them once.
contention() {
	local cookie n=600 pids=() rc=0 node p

	from a b share -g || return 1
	cookie=$(json "$T/share" cookie)
	for node in a b; do
		for p in 1 2; do
			on $node "$BIN/rdmapeer" fadd -c "$cookie" -n $n -b "$(addr $node):711$p" \
				-d 10.0.0.2:7000 -t $((80 * ${RDS_SLOW:-1})) >"$T/fadd-$node$p" 2>&1 &
			pids+=($!)
		done
	done
	for p in "${pids[@]}"; do
		wait "$p" || rc=1
	done
	sed 's/^/# /' "$T"/fadd-*
	p=$(sed 's/.*"last":\([0-9]*\).*/\1/' "$T"/fadd-* | sort -n | tail -n 1)
	[ "$p" = $((4 * n - 1)) ] || { note "the last sum is $p, not $((4 * n - 1))"; rc=1; }
	return $rc
}

# once_with NODE OTHER COMMAND...: operations of NODE while the command runs
once_with() {
	local node=$1 other=$2 pid rc=0

	shift 2
	on "$node" "$BIN/rdmapeer" once -g -n 4000 -q 16 -b "$(addr "$node"):7200" \
		-d "$(addr "$other"):7000" -t $((90 * ${RDS_SLOW:-1})) >"$T/once" 2>"$T/once.err" &
	pid=$!
	sleep 0.8
	kill -0 $pid || { note "it was over too early"; rc=1; }
	"$@" || rc=1
	wait $pid || rc=1
	show_file "$T/once"
	show_file "$T/once.err"
	[ "$(json "$T/once" success)" -gt 0 ] && [ "$(json "$T/once" bad)" = 0 ] || rc=1
	[ $rc = 0 ] || show_hang
	return $rc
}

cycle() {
	local i

	for i in 1 2 3; do
		rxe_del "$1" || return 1
		sleep 0.1
		rxe_add "$1" || return 1
		sleep 0.7
	done
}

two_cables() {
	local i

	for i in 1 2; do
		cable "$1" 4 || return 1
		sleep 2
	done
}

flooding() {
	[ "$(ib_counter a send_rdma)" -gt $(($1 + 100)) ]
}

# b dies in the middle: every operation is told of.
killed() {
	local pid rc=0 before

	on a "$BIN/rdmapeer" flood -g -n 1000000 -q 32 -S 100000 -b 10.0.0.1:7300 -d 10.0.0.2:7000 \
		-t $((150 * ${RDS_SLOW:-1})) >"$T/flood" 2>"$T/flood.err" &
	pid=$!
	before=$(ib_counter a send_rdma)
	busywait 30 flooding "$before" || rc=1
	vm_kill b
	forget serve-b
	sleep 1
	vm_boot b || return 1
	wait $pid || rc=1
	show_file "$T/flood"
	show_file "$T/flood.err"
	# with the old keys no later one can have worked
	[ "$(json "$T/flood" posted)" -gt "$(json "$T/flood" success)" ] || rc=1
	[ "$(json "$T/flood" success)" -gt 0 ] || rc=1
	serve b 10.0.0.2 && from a b content || rc=1
	return $rc
}

ktap_header
note "a: $(on a uname -r), b: $(on b uname -r)"
check "servers on both nodes" eval "serve a 10.0.0.1 && serve b 10.0.0.2"
check "content, a to b, keys by message" from a b content
check "content, b to a, keys by message" from b a content
check "content, a to b, keys by number" from a b content -g
check "content, b to a, keys by number" from b a content -g
check "content over IPv6" over_ipv6
check "wrong keys, bounds, access after free, a to b" from a b errors -g
check "wrong keys, bounds, b to a" from b a errors
check "content after that" from a b content
check "two nodes add to one word" contention
check "content with loss" lossy
check "never twice: the own device goes and comes" once_with a b cycle a
check "never twice: the cable is out" once_with b a two_cables b
check "messages are acknowledged" acknowledged
check "the server of a ends" served a b
check "b is killed in mid-operation" killed
check "the server of b ends" served b a
check "no page is pinned any more" pages_returned
ktap_finish
