#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge timeout=400 ref=0 uml=0
# What is remembered of connections that were given up is 256 bytes each, and not more than
# max_conns of them: that is what the machine loses.  (Not on UML: its kernel has KASAN, and more
# behind each object.)
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

PEERS=10000
RECORD=256

# Incoming connections that the victim says it has refused
turned_away() {
	echo $(($(counter n3 tcp_accept_refused) + $(counter n3 link_refused)))
}

# They come faster than others are given up, perhaps: the victim may refuse, but not without saying so.
went() {
	local refused before

	before=$(turned_away)
	program visitors n1 spill.py visitors fd00:: fd00:1::ffff $PEERS
	busywait 300 said visitors '^went' || {
		show_file "$T/visitors"
		n3 "$BIN/rds-info" -c | grep -E 'accept|conn_|refused|nomem|link_' | sed 's/^/# /'
		return 1
	}
	end visitors
	refused=$(sed -n 's/^went .* refused //p' "$T/visitors")
	[ "$refused" -le $(($(turned_away) - before)) ]
}

forgotten() {
	n3 sysctl -qw net.rds.idle_conn_timeout_ms=1000
	busywait 60 eval '! n3 "$BIN/rds-info" --json -n | grep -q remote_addr'
}

remembered() {
	local counted=$(($(counter n3 conn_expired) - expired)) lost=$((before - $(free_kb)))

	note "$counted records, the machine has $lost kB less"
	[ "$counted" -ge $PEERS ] || return 1
	counted=$((PEERS * RECORD >> 10))
	alike $counted $lost
}

ktap_header
keep_pages 100000
setup_hostile
ip -n n3 addr add fd00:1::ffff/64 dev eth0 nodad
many_addresses n1 fd00:1::1 n3
n1 sysctl -qw net.ipv4.tcp_no_metrics_save=1
n3 sysctl -qw net.ipv4.tcp_no_metrics_save=1 net.rds.max_conns=$PEERS
# What TCP and the slabs need once.
program warm n1 spill.py visitors fd00::1: fd00:1::ffff 500
check "a few come and go" busywait 60 said warm '^went'
end warm
check "they are forgotten" forgotten
n3 sysctl -qw net.rds.idle_conn_timeout_ms=60000
before=$(free_kb)
expired=$(counter n3 conn_expired)
check "$PEERS addresses come and go" went
check "their connections are given up" forgotten
check "a record of each is left, and costs what is said" remembered
keep_pages 0
ktap_finish
