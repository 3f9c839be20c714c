#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init ref=0 timeout=200 lanes=uml
# Sixty-four connections: eight addresses, each with each and with itself.
. "$(dirname "$0")/common.sh"

N=8
COUNT=20

# One receiver for each address, one sender for each pair.
mesh() {
	local i j rc=0 dests base=$1

	for i in $(seq $N); do
		start_recv "m$i" here "10.5.0.$i:$base" $COUNT $N || return 1
	done
	for i in $(seq $N); do
		dests=
		for j in $(seq $N); do
			dests="$dests -d 10.5.0.$j:$base"
		done
		# shellcheck disable=SC2086
		here "$BIN/rds-traffic" send -b "10.5.0.$i:$((base + 1))" $dests -n $COUNT -S 0-10000 \
			-t $((60 * ${RDS_SLOW:-1})) --json >"$T/m$i.send" 2>"$T/m$i.send.err" </dev/null &
		JOBS+=("m$i:$!")
	done
	for i in $(seq $N); do
		end_flow "m$i" $((COUNT * N)) || rc=1
	done
	return $rc
}

# Each pair has two ends here, and an address and itself too.
all_up() {
	ib_all_up $((N * N + N)) || { ib_paths state | sort | uniq -c; return 1; }
}

listed() {
	local n

	n=$("$BIN/rds-info" --json -I | python3 -S -c '
import json, sys
rows = json.load(sys.stdin)["ib_connections"]
print(len(rows), len({(r["local_addr"], r["remote_addr"], r["tos"]) for r in rows}))')
	# the passive end of an address and itself is not
	[ "$n" = "$((N * N)) $((N * N))" ] || { note "listed: $n"; return 1; }
}

device_cycle() {
	ib_device_del && ib_device_add && ib_wait_addr "fd05::$N" && mesh 4300
}

ktap_header
setup_rxe $N
check "every pair moves messages" mesh 4200
check "all connections are up" all_up
check "each is listed once" listed
check "again after the device was away" device_cycle
check "all are up again" busywait 20 all_up
moved
ktap_finish
