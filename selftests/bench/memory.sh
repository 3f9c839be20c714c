#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In a guest: bytes that an idle socket and an idle connection cost, a line of JSON. "make bench"
# calls this.

. "$(dirname "$0")/common.sh"

SOCKETS=${SOCKETS:-2000}
CONNECTIONS=${CONNECTIONS:-200}
memory() { ip netns exec "$1" python3 -S "$SELFTESTS/bench/memory.py" "${@:2}"; }

T=$(mktemp -d)
ulimit -n 8192
modprobe -q veth
setup_pair
printf 'addr add 10.1.0.%d/24 dev eth0\n' $(seq 3 $((CONNECTIONS + 1))) | ip -n n2 -batch - || exit 1
mkfifo "$T/end"
memory n2 serve 10.1.0.2 "$CONNECTIONS" <"$T/end" >"$T/served" 2>&1 &
exec 9>"$T/end"
# guest time may pass while the host reads python for it
busywait 300 grep -q bound "$T/served" || { cat "$T/served" >&2; exit 1; }
memory n1 measure 10.1.0.1 "$SOCKETS" 10.1.0.2 "$CONNECTIONS"
rc=$?
busywait 10 grep -q "received $CONNECTIONS" "$T/served"
exec 9>&-
wait
if ! grep -q "received $CONNECTIONS" "$T/served"; then
	sed 's/^/# /' "$T/served" >&2
	# the in-tree module may lose the first message to a new peer; its connection is there
	[ ! -e /proc/sys/net/rds/max_conns ] || rc=1
fi
rm -rf "$T"
exit $rc
