#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,sch_netem timeout=120 lanes=debian alone=1
# Quiet flows beside one that sends as fast as it goes, between the same two hosts and
# over a link that is slower than they: how much longer do their messages take than alone?
. "$(dirname "$0")/common.sh"

N=60			# questions and answers of a quiet flow
BIG=15000
BIG=$((BIG + 50000 * ${RDS_SOAK:-0}))
PORTS="7000 7001 7002 7003"	# some share their path with the big flow

for i in $(seq $((8 * ${RDS_SOAK:-0}))); do
	PORTS+=" $((7003 + i))"
done

# In front of a quiet message there may be what the other socket has in its send buffer,
# 104 KiB: 17 ms of this link.  Four times that is the limit, and for the worst of all fifteen
# times as much, by a clock that stands while this guest gets no processor.
RATE=50mbit
BACKLOG=68000
WORST=$((15 * BACKLOG / 1000))

# whole NAME KEY: a latency, in whole units
whole() {
	sed -n "s/.*\"$2\":\([0-9]*\).*/\1/p" "$T/$1"
}

# pingpong NAME PORT
pingpong() {
	local rc=0 pid

	rm -f "$T/up"
	n2 "$BIN/rds-traffic" echo -b "10.1.0.2:$2" -n $N -t $((60 * ${RDS_SLOW:-1})) --ready "$T/up" </dev/null &
	pid=$!
	busywait 10 test -e "$T/up" || return 1
	n1 "$BIN/rds-traffic" pingpong -b "10.1.0.1:$2" -d "10.1.0.2:$2" -n $N -S 64 \
		-t $((60 * ${RDS_SLOW:-1})) --fair >"$T/$1" </dev/null || rc=1
	wait $pid || rc=1
	note "$1, port $2: median $(whole "$1" p50) us, 99 % below $(whole "$1" p99) us," \
		"worst $(whole "$1" max) us, by the fair clock $(whole "$1" gap_ms) ms"
	MOVED=$((MOVED + 2 * N))
	return $rc
}

# The best of the medians, since any other work of the machine only adds to it.
alone() {
	local p rc=0

	best=1000000
	for p in $PORTS; do
		pingpong alone "$p" || rc=1
		[ "$(whole alone p50)" -lt $best ] && best=$(whole alone p50)
	done
	return $rc
}

beside() {
	local p rc=0 big seen=0

	start_flow big n1 10.1.0.1 n2 10.1.0.2 $BIG -S 0-8000 --sndbuf 0 || return 1
	big=${JOBS[-1]##*:}
	worst=0
	longest=0
	for p in $PORTS; do
		pingpong beside "$p" || rc=1
		# without the big one to its end it does not count
		kill -0 "$big" 2>/dev/null || break
		seen=$((seen + 1))
		[ "$(whole beside p50)" -gt $worst ] && worst=$(whole beside p50)
		[ "$(whole beside gap_ms)" -gt $longest ] && longest=$(whole beside gap_ms)
	done
	end_flow big $BIG || rc=1
	note "$seen quiet flows had it beside them to their end"
	[ $seen -ge 2 ] || rc=1
	return $rc
}

ktap_header
setup_pair
LIMIT=$((90 + 100 * ${RDS_SOAK:-0}))
duplex warm-up n1 10.1.0.1 n2 10.1.0.2 200
n1 tc qdisc replace dev eth0 root netem limit 10000 rate $RATE
check "quiet flows alone" alone
check "quiet flows beside a saturating one" beside
note "worst median $worst us beside, best $best us alone: $((worst / best)) times," \
	"longest single wait $longest ms"
check "the median is that of a quiet link and $BACKLOG us for the backlog at most" \
	test "$worst" -le $((best + BACKLOG))
check "no message waited longer than $WORST ms" test "$longest" -le $WORST
moved
ktap_finish
