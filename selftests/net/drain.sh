#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,sch_netem timeout=120
# A link that is taken down in an orderly way is drained first: nothing that TCP has
# acknowledged is lost, and nothing that arrived has to be sent once more.
. "$(dirname "$0")/common.sh"

LIMIT=60
DEBUG=/sys/kernel/debug

# A counter, without starting an interpreter
stat() {
	"$BIN/rds-info" -c | awk -v n="$1" '$1 == n { print $2 }'
}

grown() {
	[ "$(stat "$1")" -gt "$2" ]
}

# Write a sysctl in NS, which takes all links down, and see them gone.  A program that is started
# while there is no memory may fail by itself.
drop_links() {
	local before=

	until [ "$before" ]; do
		before=$(stat conn_reset)
	done
	busywait 10 "$1" sysctl -qw net.rds.tcp.rds_tcp_sndbuf="$2" ||
		{ note "the sysctl cannot be written"; return 1; }
	busywait 10 grown conn_reset "$before" ||
		{ note "no link went: $(stat conn_reset), $before before"; return 1; }
}

# both_up: the path is up at both ends, so that there is a link to take down
both_up() {
	n1 "$BIN/rds-info" -n >"$T/up" && n2 "$BIN/rds-info" -n >>"$T/up" &&
		[ "$(grep -c '^ *10\.1\.0\.[12] .*C' "$T/up")" = 2 ]
}

await_up() {
	busywait 10 both_up || { note "not up again"; show_file "$T/up"; return 1; }
}

# going: is the sender started last still at work?
going() {
	kill -0 "${JOBS[-1]##*:}" 2>/dev/null
}

# The flows have to last for several links: so many messages, by what it takes to have one gone and up
# again here and now.
last_for_links() {
	local begin took least

	duplex before n1 10.1.0.1 n2 10.1.0.2 20 && await_up || return 1
	lib_now
	begin=$LIB_NOW
	drop_links n1 90000 && duplex again n1 10.1.0.1 n2 10.1.0.2 20 && await_up || return 1
	lib_now
	took=$((LIB_NOW - begin))
	least=$((COUNT / 2 + RATE * 4 * took / 1000))
	[ $COUNT -ge $least ] || COUNT=$least
	note "a link is gone and up again in $took ms: $COUNT messages"
}

# With 60 ms of round trip there is always something on its way, and a message
# whose acknowledgement is: what comes twice was cut off in that state.
no_repeats() {
	local i rc=0 before after

	for i in n1 n2; do
		$i tc qdisc replace dev eth0 root netem limit 10000 delay 30ms
	done
	before=$(stat recv_drop_old_seq)
	start_flow fl-a n1 10.1.0.1 n2 10.1.0.2 "$COUNT" -S 0-6000 -r "$RATE" || return 1
	start_flow fl-b n2 10.1.0.2 n1 10.1.0.1 "$COUNT" -S 0-6000 -r "$RATE" || return 1
	for ((i = 0; i < 6; i++)); do
		sleep 0.5
		await_up || rc=1
		drop_links n$((i % 2 + 1)) $((100000 + i)) || rc=1
		going || break
	done
	end_flow fl-a "$COUNT" || rc=1
	end_flow fl-b "$COUNT" || rc=1
	after=$(stat recv_drop_old_seq)
	note "links taken down $i times, $((after - before)) messages came twice"
	n1 tc qdisc del dev eth0 root
	n2 tc qdisc del dev eth0 root
	[ "$i" -ge 2 ] && [ "$after" = "$before" ] && return $rc
	return 1
}

# starve 0|1: no memory for messages of 500 to 800 bytes
starve() {
	local c

	for c in /sys/kernel/slab/kmalloc*-1k; do
		echo "$1" >"$c/failslab"
	done
	if [ "$1" = 0 ]; then
		echo 0 >$DEBUG/failslab/probability
		echo N >$DEBUG/failslab/cache-filter
		return
	fi
	echo Y >$DEBUG/failslab/cache-filter
	echo Y >$DEBUG/failslab/ignore-gfp-wait
	echo 0 >$DEBUG/failslab/verbose
	echo 0 >$DEBUG/failslab/interval
	echo -1 >$DEBUG/failslab/times
	echo 100 >$DEBUG/failslab/probability
}

can_starve() {
	mount -t debugfs none $DEBUG 2>/dev/null
	[ -e $DEBUG/failslab/probability ] && [ -e /sys/kernel/slab/kmalloc-1k/failslab ]
}

# The receiver has no memory while the link goes: TCP has acknowledged what it
# cannot read yet, and only the drain gives it the time.
starved() {
	local i rc=0 nomem

	start_flow st n1 10.1.0.1 n2 10.1.0.2 "$COUNT" -S 500-780 -r "$RATE" || return 1
	for ((i = 0; i < 4; i++)); do
		sleep 0.3
		await_up || rc=1
		nomem=$(stat tcp_rx_nomem)
		starve 1
		busywait 5 grown tcp_rx_nomem "$nomem" || break
		drop_links n$((i % 2 + 1)) $((110000 + i)) || rc=1
		# longer than a link waits for anything else
		[ $i != 1 ] || sleep 6
		starve 0
		going || break
	done
	starve 0
	note "links taken down $i times while the receiver had no memory"
	[ "$i" -ge 1 ] || rc=1
	end_flow st "$COUNT" || rc=1
	return $rc
}

ktap_header
setup_pair
COUNT=3000 RATE=500
grep -q uml /proc/version && COUNT=3500 RATE=250
if ! ours; then
	ktap_skip "drain" "in-tree: resets its links (tcp 5.2)"
	ktap_finish
	exit
fi
check "links go and come" last_for_links
check "an orderly end of the links makes no message travel twice" no_repeats
if can_starve; then
	check "messages that TCP acknowledged are read before the link goes" starved
else
	ktap_skip "messages that TCP acknowledged are read before the link goes" "no fault injection here"
fi
check "the pair works afterwards" duplex after n1 10.1.0.1 n2 10.1.0.2 200
moved
ktap_finish
