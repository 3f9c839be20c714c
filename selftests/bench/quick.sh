#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,sch_netem optional=sctp timeout=240 lanes=debian
#
# rds-bench works with every transport that the kernel has, and notices damage.
# No figure is judged.

PEERS=4
. "$(dirname "$0")/common.sh"

# with sanitizers no message may come in so short a time, nor so many connections
MOMENT=0.02
MOST=0.2
MANY=1000
if [ "${RDS_SLOW:-1}" -gt 1 ]; then
	MOMENT=0.5
	MANY=600
	MOST=0.5
fi

T=$(mktemp -d)
# TIPC holds sockets as long as it is loaded. SCTP, too, and can't be unloaded.
others_gone() { ! grep -q '^tipc ' /proc/modules || modprobe -qr tipc; }
trap 'rm -rf "$T"; cleanup; busywait 10 others_gone' EXIT

CELLS=(stream/64 stream/64K pingpong/64 fanout/64/4 fanin/64/4 sockets/1K/4 sockets/64/100
	beside/32K)

# run_all TRANSPORT SECONDS: its cells, into a file; a short time is longer where no message came in it
run_all()
{
	local t wakes=-w

	# UML cannot count wake-ups
	[ -e /proc/sys/kernel/sched_schedstats ] || wakes=
	for t in "$2" 3 20; do
		bench -q -t "$t" $wakes -p "$1" --json --plot "$T/$1.svg" "${CELLS[@]}" >"$T/$1.json" && return
		# what else is wrong is not a matter of time
		grep -o '"why": .*' "$T/$1.json" | sed 's/^/# /' | tee "$T/why"
		[ -s "$T/why" ] && ! grep -qv 'no message arrived' "$T/why" || break
	done
	sed 's/^/# /' "$T/$1.json"
	return 1
}

# clean TRANSPORT: all messages of all cells come, and each cell has a rate
clean()
{
	local seconds=$MOST

	# when its receiver has had no room, SCTP can be silent for longer than that
	[ "$1" != sctp ] || seconds=1.5
	run_all "$1" $seconds || return 1
	python3 - "$T/$1.json" "$T/$1.svg" "$1" <<-'PYTHON'
	import json, sys
	import xml.etree.ElementTree as xml
	runs = json.load(open(sys.argv[1]))["runs"]
	# 64 KiB are more than a datagram of UDP holds
	want = 8 - (sys.argv[3] == "udp")
	bars = xml.parse(sys.argv[2]).getroot().findall("{*}rect")
	for r in runs:
	    print("# %s %s: %s/s" % (r["transport"], r["cell"], r.get("rate")))
	sys.exit(not (len(runs) == want and len(bars) == want + 1 and
	              all(r["ok"] and r["rate"] > 0 and r["messages"] > 0 for r in runs) and
	              all(r["median_us"] <= r["p99_us"] for r in runs if r.get("median_us"))
	              and sum(bool(r["median_us"]) for r in runs) == 2))
	PYTHON
}

# damaged TRANSPORT KIND CELL REGEX: is seen and said
damaged()
{
	local t

	# beside others no message may come in a moment: that tells nothing
	for t in $MOMENT 0.3 3; do
		if bench -q -t "$t" -p "$1" --spoil "$2" "$3" >"$T/out" 2>&1; then
			echo "# $1 with $2 passes"
			return 1
		fi
		grep -q 'FAILED: no message arrived' "$T/out" || break
	done
	grep -qE "FAILED: .*($4)" "$T/out" || { sed 's/^/# /' "$T/out"; return 1; }
}

all_damage()
{
	local p=$1 lost='missing' again='come before'

	damaged "$p" flip stream/64 'content is damaged' &&
		damaged "$p" flip fanout/64K/2 'content is damaged' &&
		damaged "$p" head pingpong/64 'head is damaged' &&
		damaged "$p" cut stream/1K 'damaged|not as long' &&
		damaged "$p" run sockets/64/2 'not of this run' &&
		damaged "$p" drop fanin/64/2 "$lost" &&
		damaged "$p" dup stream/1K "$again" &&
		damaged "$p" swap stream/1K "$lost"
}

# What was lost has no time.  Most are, and noticed after 100 ms: if that were taken for a round trip,
# half of them would be as long.
lost_has_no_time()
{
	local rc

	n1 tc qdisc add dev eth0 root netem loss 75% || return 1
	bench -q -t 4 -p udp --json pingpong/64 >"$T/lossy"
	rc=$?
	n1 tc qdisc del dev eth0 root
	sed 's/^/# /' "$T/lossy"
	[ $rc = 0 ] && python3 - "$T/lossy" <<-'PYTHON'
	import json, sys
	r = json.load(open(sys.argv[1]))["runs"][0]
	sys.exit(not (r["lost"] > r["messages"] and 0 < r["median_us"] <= r["p99_us"] and r["median_us"] < 90000))
	PYTHON
}

ktap_header
setup_bench
for p in rds tcp tcpn sctp tipc udp; do
	case ,$TRANSPORTS, in
	*,$p,*) ;;
	*)	ktap_skip "$p: every kind of work" "this kernel has no $p"
		continue ;;
	esac
	check "$p: every kind of work" clean $p
	[ $p = udp ] || check "$p: damage is seen" all_damage $p
done
# two descriptors for each connection, above what a process may have without asking
check "tcp: many sockets" bench -q -t 0.2 -p tcp sockets/64/$MANY
check "udp: what was lost has no time" lost_has_no_time
# what UDP loses is a figure, what it damages is not
check "udp: damage is seen" damaged udp flip stream/1K 'content is damaged'
[ "${TRANSPORTS/tipc/}" = "$TRANSPORTS" ] ||
	check "TIPC uses its link" test "$(tipc_packets)" -gt 1000
ktap_finish
