#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge,inet_diag,tcp_diag timeout=60 ref=0 waits=1 lanes=uml
# A peer that pairs paths by order of arrival (all before Linux 7.0) lets links go and makes new
# ones, which get other paths than the old ones had.  What the old ones have brought is delivered
# before what the new ones bring: else messages overtake others, and come twice, because only the
# later ones are marked as repeats.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

PY=${SELFTESTS:-$(dirname "$0")/..}/hostile/turns.py

# comes_back HOW ADDR [WAKE]: what the peer there does; who listens there is woken
comes_back() {
	local reader

	: >"$T/peer"
	n3 python3 "$PY" reader "$T/peer" ${3:+"$3"} >"$T/reader" 2>&1 </dev/null &
	reader=$!
	busywait 10 grep -q bound "$T/reader"
	n1 python3 "$PY" "$1" "$2" >"$T/peer" 2>&1 </dev/null || echo end >>"$T/peer"
	wait $reader
	show_file "$T/peer"
	show_file "$T/reader"
	grep -q '^ok' "$T/reader"
}

ktap_header
setup_hostile
check "links of a peer that mixes up paths are read in the order in which they came" \
	comes_back dialler 10.1.0.1
check "also if the last one is left at once" comes_back hasty 10.1.0.1
check "also if it is us who dial" comes_back listener 10.1.0.9 10.1.0.9
ktap_finish
