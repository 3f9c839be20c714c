# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the tests over RoCE between two guests: each has a software RDMA device on its
# network interface (the runner makes it), 10.0.0.1 and fd00::1 are a, 10.0.0.2 and fd00::2 b.

# shellcheck source=../interop/common.sh
. "${SELFTESTS:-$(dirname "$0")/..}/interop/common.sh"

OURS=a			# for what common.sh wants to know of interop tests
PEER=b
RXE=rxe0

rxe_del() {
	on "$1" rdma link del $RXE
}

# roce_ready NODE: its device knows both addresses
roce_ready() {
	[ "$(on "$1" "cat /sys/class/infiniband/$RXE/ports/1/gids/* 2>/dev/null |
		grep -c '^0000:0000:0000:0000:0000:ffff\\|^fd00'")" -ge 2 ]
}

rxe_add() {
	on "$1" rdma link add $RXE type rxe netdev eth0 && busywait 15 roce_ready "$1"
}

# revive NODE...: see GSI_LOST
revive() {
	local node

	for node; do
		on "$node" "$GSI_LOST" || continue
		note "$node: rdma_rxe has lost the CM's queue pair, its device is made anew"
		rxe_del "$node" && rxe_add "$node" || return 1
	done
}

# cable NODE [SECONDS]: it is out for so long
cable() {
	link_down "$1"
	sleep "${2:-6}"
	link_up "$1"
	revive a b
}

# ib_rows NODE KIND KEY...: these values of each record over verbs; KIND is p or I
ib_rows() {
	local node=$1 kind=$2

	shift 2
	on "$node" "$BIN/rds-info" --json "-$kind" | python3 -S -c '
import json, sys
doc = json.load(sys.stdin)
for r in doc.get("paths", doc.get("ib_connections", [])):
    if r.get("transport", "infiniband") == "infiniband":
        print(*(r[k] for k in sys.argv[1:]))' "$@"
}

# Nothing is queued or unacknowledged.
ib_idle() {
	local node rows

	for node in a b; do
		rows=$(ib_rows "$node" p queued unacked) && [ -n "$rows" ] &&
			! grep -qv '^0 0$' <<<"$rows" || return 1
	done
}

acknowledged() {
	busywait 10 ib_idle && return 0
	ib_rows a p local_addr remote_addr state queued unacked
	ib_rows b p local_addr remote_addr state queued unacked
	return 1
}

# ib_counter NODE NAME
ib_counter() {
	on "$1" "$BIN/rds-info" -c | awk -v n="$2" '$1 == n { print $2 }'
}

# What both ends can say of a link that does not come up.
show_contact() {
	local node

	for node in a b; do
		vm_log "$node" | grep -iE 'rds|rxe|eth0' | tail -n 20 | sed "s/^/# $node: /"
		on "$node" "$BIN/rds-info -np; ip neigh; ip -s link show eth0; rdma res show cm_id;
			cd /sys/class/infiniband/$RXE/ports/1;
			grep -v '^0000:0000:0000:0000:0000:0000' gids/*; grep . hw_counters/*" 2>&1 |
			sed "s/^/# $node: /"
	done
}

# Where a link hangs: its state, the last words of each end, and where tasks of the kernel wait.
show_hang() {
	local node

	for node in a b; do
		on "$node" "$BIN/rds-info -n | grep '^ *10\\.'; ip neigh; rdma res show cm_id | cut -c 1-110
			grep -l 'rds\\|rdma\\|ib_\\|cm_' /proc/[0-9]*/stack | while read -r s; do
				cat \${s%stack}comm
				sed 's/^[^ ]* //; s/+.*//' \$s | head -n 6 | tr '\\n' ' '
				echo
			done" 2>&1 | sed "s/^/# $node: /"
		vm_log "$node" | grep -iE 'rds|rxe|eth0' | tail -n 6 | sed "s/^/# $node: /"
	done
}

# serve NODE ADDR [opts]: a server of regions, bound on return; it ends when it is told to
serve() {
	local node=$1 addr=$2

	shift 2
	READY=$((READY + 1))
	on "$node" "$BIN/rdmapeer" serve -b "$addr:7000" -t 7200 -r "$RD/ready.$READY" "$@" \
		>"$T/serve-$node" 2>&1 </dev/null &
	JOBS+=("serve-$node:$!")
	busywait 15 there "$node" "$RD/ready.$READY"
}

# tries NODE FROM TO WHAT [opts]: WHAT against the server; what it says is in $T/WHAT
tries() {
	local node=$1 from=$2 to=$3 what=$4 rc

	shift 4
	PORT=$((PORT + 1))
	on "$node" "$BIN/rdmapeer" "$what" -b "$from:$PORT" -d "$to:7000" -t $((${LIMIT:-60} * ${RDS_SLOW:-1})) "$@" \
		>"$T/$what" 2>"$T/$what.err"
	rc=$?
	show_file "$T/$what"
	show_file "$T/$what.err"
	[ $rc = 0 ] && [ "$(json "$T/$what" bad)" = 0 ]
}

# served NODE: its server has ended, asked to by the client on the other node
served() {
	local rc=0 job

	tries "$2" "$(addr "$2")" "$(addr "$1")" bye >/dev/null || rc=1
	for job in "${JOBS[@]}"; do
		[ "${job%%:*}" != "serve-$1" ] || wait "${job##*:}" || rc=1
	done
	forget "serve-$1"
	[ ! -s "$T/serve-$1" ] || { show_file "$T/serve-$1"; rc=1; }
	return $rc
}

# pinned NODE: pages pinned by anybody
pinned() {
	on "$1" awk 'BEGIN { print 1 >"/proc/sys/vm/stat_refresh"; close("/proc/sys/vm/stat_refresh") }
		/^nr_foll_pin_acquired/ { a = $2 } /^nr_foll_pin_released/ { r = $2 }
		END { print a - r }' /proc/vmstat
}

none_pinned() {
	[ "$(pinned a)" = 0 ] && [ "$(pinned b)" = 0 ]
}

pages_returned() {
	busywait 10 none_pinned && return 0
	note "pinned pages: a $(pinned a), b $(pinned b)"
	return 1
}
