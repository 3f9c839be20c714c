# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the speed tests between two guests, a at 10.0.0.1 and b at 10.0.0.2.  All modules are
# loaded in turn in the same guests, so that what the machine does meanwhile meets all of them.
#
# A pair is the module of a and that of b, "ours:intree" say; a sends and asks, b receives and
# answers.  A figure is NAME:WHAT:SIZE:COUNT[:DEPTH], the work of rdmapeer, or of rds-traffic if WHAT is
# pingpong, of SIZE both ways, or fanin, of DEPTH sockets with COUNT messages each.  The sourcing script
# sets MODULE (rds_tcp or rds_rdma), ALL_PAIRS and ALL_FIGURES, and calls rounds and report.

. "${SELFTESTS:-$(dirname "$0")/..}/ib/pair.sh"

ROUNDS=${ROUNDS:-5}
LIMIT=200
BASE=intree:intree	# what all others are compared with
TABLE=${MODULE#rds_}	# table-speed-$TABLE.md is written: not if only a part is measured
TABLE=${TABLE/rdma/ib}
[ -z "${PAIRS:-}${FIGURES:-}" ] || TABLE=
PAIRS=${PAIRS:-$ALL_PAIRS}
FIGURES=${FIGURES:-$ALL_FIGURES}

# What is measured: the tree as it is now, just built, whatever is written to it meanwhile.
commit() {
	local git="git -C ${SELFTESTS:-$(dirname "$0")/..}/.."

	echo "$($git describe --always --abbrev=12)$([ -z "$($git status --porcelain net include)" ] || echo " with changes")"
}
RDS_SPEED_COMMIT=$(commit)
export RDS_SPEED_COMMIT

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

# figure WHAT SIZE COUNT DEPTH: what came of it is in $T/WHAT
figure() {
	local what=$1 size=$2 count=$3 depth=$4

	case $what in
	pingpong)
		PORT=$((PORT + 100))
		READY=$((READY + 1))
		on b "$BIN/rds-traffic" echo -b "10.0.0.2:$PORT" -n "$count" -s 1 -t $LIMIT --json \
			--ready "$RD/ready.$READY" >"$T/echo" 2>&1 </dev/null &
		busywait 10 there b "$RD/ready.$READY" || return 1
		on a "$BIN/rds-traffic" pingpong -b "10.0.0.1:$PORT" -d "10.0.0.2:$PORT" -n "$count" \
			-S "$size" -t $LIMIT --json >"$T/$what" 2>&1 || { show_file "$T/$what"; return 1; }
		wait $!
		;;
	fanin)
		FLOWS=$depth start_flow $what a 10.0.0.1 b 10.0.0.2 "$count" -k "$depth" -S "$size" &&
			end_flow $what $((depth * count)) >"$T/said" || { cat "$T/said"; return 1; }
		echo "{\"per_second\":$(awk "BEGIN { print $depth * $count / $(json "$T/$what.recv" seconds) }")}" \
			>"$T/$what"
		;;
	*)
		tries a 10.0.0.1 10.0.0.2 "$what" -n "$count" -S "$size" -q "$depth" >"$T/said" ||
			{ cat "$T/said"; return 1; }
		;;
	esac
}

# one PAIR: each figure once; a line in $T/PAIR.NAME
one() {
	local pair=$1 f name what size count depth mib

	load a "${pair%:*}" && load b "${pair#*:}" || return 1
	serve b 10.0.0.2 || return 1
	# all paths are up, and both ends know how many there are
	tries a 10.0.0.1 10.0.0.2 messages -n 50 -S 1000 -q 1 >/dev/null || return 1
	for f in $FIGURES; do
		IFS=: read -r name what size count depth <<<"$f"
		figure "$what" "$size" "$count" "${depth:-16}" || return 1
		json "$T/$what" per_second >>"$T/$pair.$name"
		mib=$(json "$T/$what" mib_per_second)
		note "$pair $name: $(json "$T/$what" per_second)/s${mib:+, $mib MiB/s}"
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
# report [LINE]: and the table, with LINE behind it, unless only a part was measured
report() {
	local names f

	names=$(for f in $FIGURES; do echo "${f%%:*}"; done)
	# shellcheck disable=SC2086
	python3 -S "${SELFTESTS:-$(dirname "$0")/..}/speed/report.py" "$T" "$BASE" "$PAIRS" "$TABLE" "${1:-}" $names
}
