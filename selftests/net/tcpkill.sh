#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,inet_diag,tcp_diag timeout=120 waits=1
# TCP connections destroyed every 100 ms for 30 s, in either namespace in turn.
. "$(dirname "$0")/common.sh"

SECONDS_OF_IT=${SECONDS_OF_IT:-$((30 + 60 * ${RDS_SOAK:-0}))}
LIMIT=$((SECONDS_OF_IT + 60))

killer() {
	"$1" "$BIN/rdsmisc" killtcp "$2" "$SECONDS_OF_IT" >"$T/kill.$1" 2>&1 </dev/null &
}

# both_ways NAME NET K COUNT RATE: K sockets each way, so the multipath case is K > 1
both_ways() {
	FLOWS=$3 start_flow "$1-a" n1 "10.$2.0.1" n2 "10.$2.0.2" "$4" -k "$3" -S 0-3000 -r "$5" &&
		FLOWS=$3 start_flow "$1-b" n2 "10.$2.0.2" n1 "10.$2.0.1" "$4" -k "$3" -S 0-3000 -r "$5"
}

# under_fire NAME WANT
under_fire() {
	local rc=0

	end_flow "$1-a" "$2" || rc=1
	end_flow "$1-b" "$2" || rc=1
	return $rc
}

# Both connections, 9 links or more, die in each round if they are up.  In half of the rounds
# there must be something to kill, or it is not each 100 ms that a link is lost; a round may take a
# second and more on a slow machine.
killed() {
	wait "$1" && wait "$2" || return 1
	show_file "$T/kill.n1"
	show_file "$T/kill.n2"
	hit n1 && hit n2
}

# hit NS: the sentence of rdsmisc, "KILLED connections killed in HITS of ROUNDS rounds"
hit() {
	local n hits rounds

	read -r n _ _ _ hits _ rounds _ <"$T/kill.$1"
	[ "$n" -gt 0 ] && [ $((3 * rounds)) -ge "$SECONDS_OF_IT" ] && [ $((2 * hits)) -ge "$rounds" ]
}

ktap_header
setup_pair
if ours; then
	ip -n n1 addr add 10.2.0.1/24 dev eth0
	ip -n n2 addr add 10.2.0.2/24 dev eth0
	both_ways one 1 1 $((200 * SECONDS_OF_IT)) 200
	both_ways many 2 12 $((25 * SECONDS_OF_IT)) 300
	killer n1 200
	p1=$!
	sleep 0.1
	killer n2 200
	p2=$!
	check "both are killed" killed $p1 $p2
	check "one path, killed every 100 ms for $SECONDS_OF_IT s" under_fire one $((200 * SECONDS_OF_IT))
	check "eight paths, killed every 100 ms for $SECONDS_OF_IT s" under_fire many $((12 * 25 * SECONDS_OF_IT))
else
	# 6.12 loses what it had not read and pairs path indexes by chance
	ktap_skip "killed connections" "in-tree: loses what it had not read (tcp 5.2, 10)"
fi
moved
ktap_finish
