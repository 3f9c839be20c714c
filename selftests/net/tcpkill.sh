#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,inet_diag,tcp_diag timeout=120
# TCP connections destroyed every 100 ms for 30 s, in either namespace in turn.
. "$(dirname "$0")/common.sh"

SECONDS_OF_IT=${SECONDS_OF_IT:-$((30 + 60 * ${RDS_SOAK:-0}))}
LIMIT=$((SECONDS_OF_IT + 60))

killer() {
	"$1" "$BIN/rdsmisc" killtcp "$2" "$SECONDS_OF_IT" >"$T/kill.$1" 2>&1 </dev/null &
}

# under_fire NAME K COUNT: K sockets each way, so the multipath case is K > 1
under_fire() {
	local rc=0 p1 p2

	FLOWS=$2 start_flow "$1-a" n1 10.1.0.1 n2 10.1.0.2 "$3" -k "$2" \
		-S 0-3000 -r "$4" || rc=1
	FLOWS=$2 start_flow "$1-b" n2 10.1.0.2 n1 10.1.0.1 "$3" -k "$2" \
		-S 0-3000 -r "$4" || rc=1
	killer n1 200
	p1=$!
	sleep 0.1
	killer n2 200
	p2=$!
	wait $p1 $p2
	show_file "$T/kill.n1"
	show_file "$T/kill.n2"
	end_flow "$1-a" $(($2 * $3)) || rc=1
	end_flow "$1-b" $(($2 * $3)) || rc=1
	grep -q '^[1-9][0-9]* connections killed' "$T/kill.n1" || rc=1
	grep -q '^[1-9][0-9]* connections killed' "$T/kill.n2" || rc=1
	return $rc
}

ktap_header
setup_pair
if ours; then
	check "one path, killed every 100 ms for $SECONDS_OF_IT s" under_fire one 1 $((200 * SECONDS_OF_IT)) 200
	SECONDS_OF_IT=10
	check "eight paths, killed every 100 ms for 10 s" under_fire many 12 400 500
else
	# 6.12 loses what it had not read and pairs path indexes by chance
	ktap_skip "killed connections" "in-tree: loses what it had not read (tcp 5.2, 10)"
fi
moved
ktap_finish
