#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge,inet_diag,tcp_diag timeout=180 ref=0 waits=1
# First contact: the first messages of a socket go by path 0, later ones, once the peer has told
# that it knows more paths, by another.  A peer whose TCP has acknowledged the first ones, and whose
# RDS has not read them, must not get the later ones before.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

PY=${SELFTESTS:-$(dirname "$0")/..}/hostile/fanout.py

# contact HOW ADDR: the peer there answers the second ping, or none but the first
contact() {
	between sender "$2" peer "$1"
}

# between SENDER ADDR PEER...: modes of fanout.py
between() {
	local peer sender how=$1 addr=$2

	shift 2
	: >"$T/peer"
	n1 python3 "$PY" "$@" "$addr" >"$T/peer" 2>&1 </dev/null &
	peer=$!
	busywait 10 grep -q listening "$T/peer"
	n3 python3 "$PY" "$how" "$T/peer" "$addr" >"$T/send" 2>&1 </dev/null &
	sender=$!
	wait $peer || echo wrong >>"$T/peer"
	wait $sender
	show_file "$T/peer"
	show_file "$T/send"
	grep -q '^ok' "$T/peer"
}

ktap_header
setup_hostile
ip -n n1 addr add 10.1.0.10/24 dev eth0
ip -n n1 addr add 10.1.0.11/24 dev eth0
ip -n n1 addr add 10.1.0.12/24 dev eth0
check "later messages wait until the earlier ones are read" contact answers 10.1.0.9
check "but not for ever, if the peer answers no more" contact silent 10.1.0.10
check "a peer that pairs paths is replaced by one that does not: all goes by one" \
	between queuer 10.1.0.11 replaced
check "so when it dials us, by any port, and only listens" between queuer 10.1.0.1 downgraded
check "so when messages from before the fan-out wait behind much else" between bulk 10.1.0.12 smothered
ktap_finish
