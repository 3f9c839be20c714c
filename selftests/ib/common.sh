# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the tests over one software RDMA device (rxe) with several addresses, in the initial
# namespace of one guest.  Transfers are those of net/common.sh.

SELFTESTS=${SELFTESTS:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
# shellcheck source=../net/common.sh
. "$SELFTESTS/net/common.sh"

DEV=rdst0
RXE=rxe_t
A4=10.5.0.1
B4=10.5.0.2
A6=fd05::1
B6=fd05::2

# The place where a command of a transfer runs.
here() {
	"$@"
}

# kill_job SIGNAL JOB: the program, and the shell that has run here() for it
kill_job() {
	pkill "-$1" -P "${2##*:}"
	kill "-$1" "${2##*:}" 2>/dev/null
}

ib_cleanup() {
	local job

	for job in "${JOBS[@]}"; do
		kill_job KILL "$job"
	done
	ib_restore
	rdma link del $RXE 2>/dev/null
	ip link del $DEV 2>/dev/null
	rm -rf "$T"
}

# What a test changed elsewhere.
ib_restore() {
	:
}

ib_device_add() {
	rdma link add $RXE type rxe netdev $DEV
}

ib_device_del() {
	rdma link del $RXE
}

# ib_revive: see GSI_LOST
ib_revive() {
	sh -c "$GSI_LOST" || return 0
	note "rdma_rxe has lost the CM's queue pair, its device is made anew"
	echo >>"$T/revived"
	ib_device_del && ib_device_add
}

# ib_wait_addr ADDRESS: it belongs to the transport as soon as the device has a GID for it.
ib_wait_addr() {
	busywait 10 ib_has_gid "$(ib_gid "$1")"
}

ib_has_gid() {
	grep -qs "$1" /sys/class/infiniband/$RXE/ports/1/gids/*
}

# ib_gid ADDRESS: as in sysfs
ib_gid() {
	python3 -S -c '
import socket, sys
a = sys.argv[1]
raw = socket.inet_pton(socket.AF_INET6, a if ":" in a else "::ffff:" + a)
print(":".join(raw[i:i + 2].hex() for i in range(0, 16, 2)))' "$1"
}

# ib_addresses LAST: 10.5.0.1 .. LAST and fd05::1 .. LAST
ib_addresses() {
	local i

	for i in $(seq "$1"); do
		echo "addr add 10.5.0.$i/24 dev $DEV"
		echo "addr add fd05::$i/64 dev $DEV nodad"
	done | ip -force -batch - 2>/dev/null
}

# setup_rxe [ADDRESSES]
setup_rxe() {
	trap ib_cleanup EXIT
	# without the connections of tests before this one
	rmmod rds_rdma && modprobe rds_rdma || lib_die "cannot load rds_rdma anew"
	ip link add $DEV mtu 5000 type veth peer name rdst1 mtu 5000 || lib_die "no veth device"
	ib_addresses "${1:-2}"
	ip link set $DEV up && ip link set rdst1 up || lib_die "cannot set $DEV up"
	ib_device_add || lib_die "no software RDMA device"
	ib_wait_addr "fd05::${1:-2}" || lib_die "$RXE does not learn its addresses"
}

# ib_paths KEY...: these values of each path over verbs, one line for each
ib_paths() {
	"$BIN/rds-info" --json -p | python3 -S -c '
import json, sys
for r in json.load(sys.stdin)["paths"]:
    if r["transport"] == "infiniband":
        print(*(r[k] for k in sys.argv[1:]))' "$@"
}

# ib_all_up COUNT: so many paths, all up
ib_all_up() {
	[ "$(ib_paths state | sort | uniq -c | xargs)" = "$1 up" ]
}

# ib_idle: nothing is queued or unacknowledged
ib_idle() {
	local rows

	rows=$(ib_paths queued unacked) && [ -n "$rows" ] && ! grep -qv '^0 0$' <<<"$rows"
}
