# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the speed tests between two guests, a at 10.0.0.1 and b at 10.0.0.2.  All modules are
# loaded in turn in the same guests, so that what the machine does meanwhile meets all of them.
#
# A pair is the module of a and that of b, "ours:intree" say; a sends and asks, b receives and
# answers.  A figure is NAME:WHAT:SIZE:COUNT[:DEPTH], the work of rdmapeer.  The sourcing script sets
# MODULE (rds_tcp or rds_rdma), PAIRS and FIGURES, and calls rounds and report.

. "${SELFTESTS:-$(dirname "$0")/..}/ib/pair.sh"

ROUNDS=${ROUNDS:-5}
LIMIT=200
BASE=intree:intree	# what all others are compared with

# load NODE KIND: this module, and nothing of the other one's
load() {
	on "$1" 'for m in rds_tcp rds_rdma rds; do
			grep -q "^$m " /proc/modules || continue
			for i in $(seq 100); do rmmod $m 2>/dev/null && break; sleep 0.1; done
		done; ! grep -q "^rds " /proc/modules' || return 1
	if [ "$2" = ours ]; then
		on "$1" modprobe "$MODULE"
	else
		on "$1" "cd \$RDS_CACHE/img/6.12/lib/modules/\$(uname -r)/kernel/net/rds &&
			insmod rds.ko.xz && insmod $MODULE.ko.xz"
	fi
}

# one PAIR: each figure once; a line in $T/PAIR.NAME
one() {
	local pair=$1 f name what size count depth

	load a "${pair%:*}" && load b "${pair#*:}" || return 1
	serve b 10.0.0.2 || return 1
	# all paths are up, and both ends know how many there are
	tries a 10.0.0.1 10.0.0.2 messages -n 50 -S 1000 -q 1 >/dev/null || return 1
	for f in $FIGURES; do
		IFS=: read -r name what size count depth <<<"$f"
		tries a 10.0.0.1 10.0.0.2 "$what" -n "$count" -S "$size" -q "${depth:-16}" >"$T/said" ||
			{ cat "$T/said"; return 1; }
		json "$T/$what" per_second >>"$T/$pair.$name"
		note "$pair $name: $(json "$T/$what" per_second)/s," \
			"$(json "$T/$what" mib_per_second) MiB/s"
	done
	served b a
}

# rounds [COMMAND...]: all pairs, each round from another one on; then COMMAND
rounds() {
	local r order pair

	order=$PAIRS
	for r in $(seq "$ROUNDS"); do
		for pair in $order; do
			one "$pair" || { note "round $r, $pair: failed"; exit 2; }
		done
		order="${order#* } ${order%% *}"
		[ $# = 0 ] || "$@"
	done
}

# A ratio below 1 is a figure, not a failure: they scatter with what else the machine does.
report() {
	local names f

	names=$(for f in $FIGURES; do echo "${f%%:*}"; done)
	# shellcheck disable=SC2086
	python3 -S - "$T" "$BASE" "$PAIRS" $names <<-'PYTHON'
		import statistics, sys
		t, base, pairs, names = sys.argv[1], sys.argv[2], sys.argv[3].split(), sys.argv[4:]
		low = []
		def read(pair, name):
		    with open(f"{t}/{pair}.{name}") as f:
		        return [float(l) for l in f]
		print(f"{'figure':8} {'pair':14} {'per second':>11} {base:>14}  middle of ratios (each round)")
		for name in names:
		    theirs = read(base, name)
		    for pair in pairs:
		        if pair == base:
		            continue
		        ours = read(pair, name)
		        each = [x / y for x, y in zip(ours, theirs)]
		        middle = statistics.median(each)
		        if middle < 1:
		            low.append(f"{name} {pair} {middle:.2f}")
		        print(f"{name:8} {pair:14} {statistics.median(ours):11.0f} {statistics.median(theirs):14.0f}  "
		              f"{middle:.2f} ({' '.join('%.2f' % r for r in each)})")
		print("below 1: " + (", ".join(low) or "none"))
	PYTHON
}
