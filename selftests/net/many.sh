#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=150
# 1,000 sockets to 64 peers, with answers: every message once and in order, no more
# connections than peers and paths, and no more memory than the messages need.
. "$(dirname "$0")/common.sh"

SHARE=8			# each socket talks to one in SHARE of the peers
grep -q uml /proc/version && SHARE=16
ROUNDS=2
[ "${RDS_SOAK:-0}" = 0 ] || { SHARE=1; ROUNDS=$RDS_SOAK; }	# more than a minute each

many() {
	local rc

	"$BIN/rdsmany" n1 n2 1000 64 $SHARE $ROUNDS >"$T/many" 2>&1
	rc=$?
	show_file "$T/many"
	MOVED=$((MOVED + $(sed -n 's/.* moved=\([0-9]*\).*/\1/p' "$T/many")))
	return $rc
}

peak() {
	sed -n 's/.*peak_kb=\([0-9]*\).*/\1/p' "$T/many"
}

connections() {
	n1 "$BIN/rds-info" --json -n | grep -o '"remote_addr"' | wc -l
}

nothing_left() {
	local n

	n=$("$1" "$BIN/rds-info" -s -r -t) || return 1
	n=$(grep -c '10\.[13]\.0\.' <<<"$n")
	[ "$n" = 0 ] || { note "$n messages left in $1"; return 1; }
}

ktap_header
setup_pair
for i in $(seq 64); do
	echo "addr add 10.3.0.$i/24 dev eth0"
done >"$T/batch"
n2 ip -batch "$T/batch"
n1 ip route add 10.3.0.0/24 dev eth0
check "1,000 sockets, 64 peers, questions and answers" many
note "connections: $(connections), TCP links: $(tcp_links n1)"
check "one connection a peer, whatever the number of sockets" test "$(connections)" = 64
check "eight links a connection at most" test "$(tcp_links n1)" -le 512
check "memory stayed below 300 MB" test "$(peak)" -lt 300000
check "no message is left at the one end" nothing_left n1
check "nor at the other" nothing_left n2
moved
ktap_finish
