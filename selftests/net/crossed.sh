#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,sch_netem,inet_diag,tcp_diag timeout=120 waits=1
# Both ends open the connection in the same instant: 100 times on a quick network,
# 1,000 times on one that takes 0 to 50 ms for each packet.
. "$(dirname "$0")/common.sh"

PAIRS=20
ROUNDS=$((50 + 60 * ${RDS_SOAK:-0}))	# half a minute for each of its own

# crossed ADDR1 ADDR2 ROUNDS PAIRS LEAST: so many times the larger address dialled too, while the
# smaller one, who had a message to send in the same instant, did.
crossed() {
	local rc knocks

	knocks=$(counter - tcp_accept_nudge) || return 1
	"$BIN/rdsmisc" crossed n1 "$1:5000" n2 "$2:5000" "$3" "$4" >"$T/crossed" 2>&1
	rc=$?
	show_file "$T/crossed"
	both_dialled "$knocks" "$5" && return $rc
}

# both_dialled BEFORE LEAST
both_dialled() {
	local now

	now=$(counter - tcp_accept_nudge) || return 1
	note "both ends dialled $((now - $1)) times, $2 at least are wanted"
	[ $((now - $1)) -ge "$2" ]
}

# Pairs of addresses side by side, each with a life of its own.
delayed() {
	local rc=0 i end

	for end in 1 2; do
		for i in $(seq 0 $((PAIRS - 1))); do
			echo "addr add 10.2.$i.$end/24 dev eth0"
		done >"$T/batch"
		ip -n n$end -batch "$T/batch" || return 1
		n$end tc qdisc replace dev eth0 root netem limit 10000 delay 25ms 25ms || return 1
	done
	crossed 10.2.0.1 10.2.0.2 "$ROUNDS" "$PAIRS" $((PAIRS * ROUNDS / 33)) || rc=1
	n1 tc qdisc del dev eth0 root
	n2 tc qdisc del dev eth0 root
	MOVED=$((MOVED + PAIRS * ROUNDS * 2))
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
	check "reconnected from both ends at once, 100 times" \
		crossed 10.1.0.1 10.1.0.2 100 1 7
	MOVED=$((MOVED + 200))
	check "the same over IPv6, 50 times" \
		crossed '[fd00:1::1]' '[fd00:1::2]' 50 1 5
	MOVED=$((MOVED + 100))
	check "$PAIRS pairs reconnected $ROUNDS times each, packets take 0 to 50 ms" delayed
	check "first contact from both ends at once, 20 pairs" first_contact
else
	ktap_skip "crossed connects" "in-tree: messages stick (connection.md 16, 1)"
fi
check "the pair works afterwards" duplex after n1 10.1.0.1 n2 10.1.0.2 200
moved
ktap_finish
