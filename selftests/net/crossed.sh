#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,sch_netem,inet_diag,tcp_diag timeout=120 waits=1
# Both ends open the connection in the same instant: 100 times on a quick network,
# 1,000 times on one that takes 0 to 50 ms for each packet.
. "$(dirname "$0")/common.sh"

PAIRS=20
ROUNDS=$((50 + 60 * ${RDS_SOAK:-0}))	# half a minute for each of its own

# crossed ADDR1 ADDR2 ROUNDS PAIRS: both send in the same instant, ROUNDS times.
crossed() {
	"$BIN/rdsmisc" crossed n1 "$1:5000" n2 "$2:5000" "$3" "$4" >"$T/crossed" 2>&1 || {
		show_file "$T/crossed"
		return 1
	}
	show_file "$T/crossed"
	MOVED=$((MOVED + 2 * $3 * $4))
}

# crossed_until ADDR1 ADDR2 ROUNDS LEAST: again until both ends have dialled LEAST times.  How many
# rounds that takes is chance: on one processor the first dial is mostly over when the other end
# sends, and 1 round in 10 has two.
crossed_until() {
	local knocks try

	knocks=$(counter - tcp_accept_nudge) || return 1
	for try in $(seq 10); do
		crossed "$1" "$2" "$3" 1 || return 1
		both_dialled "$knocks" "$4" && return 0
	done
	return 1
}

# both_dialled BEFORE LEAST: so many times the larger address dialled too, while the smaller one,
# who had a message to send in the same instant, did.
both_dialled() {
	will_count 0 tcp_accept_nudge "$1" "$2"
}

# Pairs of addresses side by side, each with a life of its own.
delayed() {
	local rc=0 i end knocks

	for end in 1 2; do
		for i in $(seq 0 $((PAIRS - 1))); do
			echo "addr add 10.2.$i.$end/24 dev eth0"
		done >"$T/batch"
		ip -n n$end -batch "$T/batch" || return 1
		n$end tc qdisc replace dev eth0 root netem limit 10000 delay 25ms 25ms || return 1
	done
	knocks=$(counter - tcp_accept_nudge) || return 1
	crossed 10.2.0.1 10.2.0.2 "$ROUNDS" "$PAIRS" || rc=1
	both_dialled "$knocks" $((PAIRS * ROUNDS / 33)) || rc=1
	n1 tc qdisc del dev eth0 root
	n2 tc qdisc del dev eth0 root
	return $rc
}

# First contact: no state of any kind between the two addresses yet.
first_contact() {
	local i end knocks

	for end in 1 2; do
		for i in $(seq 20); do
			echo "addr add 10.1.$i.$end/24 dev eth0"
		done >"$T/batch"
		ip -n n$end -batch "$T/batch" || return 1
	done
	knocks=$(counter - tcp_accept_nudge) || return 1
	"$BIN/rdsmisc" contacts n1 n2 20 >"$T/contacts" 2>&1 || {
		show_file "$T/contacts"
		return 1
	}
	show_file "$T/contacts"
	MOVED=$((MOVED + 40))
	both_dialled "$knocks" 2
}

ktap_header
setup_pair
if ours; then
	check "reconnected from both ends at once, 100 times at least" \
		crossed_until 10.1.0.1 10.1.0.2 100 7
	check "the same over IPv6, 50 times at least" \
		crossed_until '[fd00:1::1]' '[fd00:1::2]' 50 5
	check "$PAIRS pairs reconnected $ROUNDS times each, packets take 0 to 50 ms" delayed
	check "first contact from both ends at once, 20 pairs" first_contact
else
	ktap_skip "crossed connects" "in-tree: messages stick (connection.md 16, 1)"
fi
check "the pair works afterwards" duplex after n1 10.1.0.1 n2 10.1.0.2 200
moved
ktap_finish
