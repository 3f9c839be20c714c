#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=90 lanes=uml
# Connections to peers that never answered are bounded and expire.
. "$(dirname "$0")/common.sh"

# RDS connections of a namespace
conns() {
	"$1" "$BIN/rds-info" --json -n 2>/dev/null | grep -o '"remote_addr"' | wc -l
}

at_most() {
	[ "$(conns "$1")" -le "$2" ]
}

# spray NS FROM TO COUNT: fills $T/spray with accepted= refused= errno=
spray() {
	"$1" "$BIN/rdsmisc" spray "$2" "$3" "$4" >"$T/spray" 2>&1
	show_file "$T/spray"
}

value() {
	sed -n "s/.*$1=\([0-9]*\).*/\1/p" "$T/spray"
}

bounded() {
	n1 sysctl -qw net.rds.max_conns=20 || return 1
	spray n1 10.1.0.1:5001 10.1.0.100:5000 60
	[ "$(value accepted)" -le 20 ] && [ "$(value refused)" -ge 40 ] &&
		at_most n1 20
}

expired() {
	n1 sysctl -qw net.rds.idle_conn_timeout_ms=1000 || return 1
	busywait 15 at_most n1 0
}

# A peer that did answer is kept, and its connection still works.
kept() {
	local before

	duplex kept1 n1 10.1.0.1 n2 10.1.0.2 100 || return 1
	before=$(n1 ss -Htn state established '( sport = 16385 or dport = 16385 )')
	[ -n "$before" ] || return 1
	spray n1 10.1.0.1:5002 10.1.0.100:5000 10
	busywait 15 at_most n1 1 || return 1
	at_most n1 0 && { note "the living connection expired too"; return 1; }
	duplex kept2 n1 10.1.0.1 n2 10.1.0.2 100
}

own_limit() {
	spray n2 10.1.0.2:5003 10.1.0.100:5000 40
	[ "$(value accepted)" = 40 ]
}

# The largest value: no sum of it may wrap.
no_limit() {
	n2 sysctl -qw net.rds.max_conns=2147483647 || return 1
	spray n2 10.1.0.2:5004 10.1.0.100:5000 140
	[ "$(value accepted)" = 140 ]
}

ktap_header
if ! ours; then
	ktap_skip "limits" "in-tree has none (connection.md 16, 35)"
	ktap_finish
	exit
fi
setup_pair
# what a killed program has sent would keep its connections for a while
n1 sysctl -qw net.rds.close_timeout_ms=0
n2 sysctl -qw net.rds.close_timeout_ms=0
limit=$(counter n1 conn_limit)
expiries=$(counter n1 conn_expired)
check "max_conns bounds what one socket can create" bounded
check "and counts the refusals" test "$(counter n1 conn_limit)" -ge $((limit + 40))
check "another namespace has a limit of its own" own_limit
check "the largest limit limits nothing" no_limit
check "peers that never answered expire" expired
check "there is room again" bounded
check "expiry is counted" test "$(counter n1 conn_expired)" -ge $((expiries + 20))
check "a connection that works is kept" kept
moved
ktap_finish
