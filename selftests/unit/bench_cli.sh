#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=120
#
# rds-bench at the command line, with TCP and UDP of this machine: what is wrong is said in two lines and
# before anything is measured, rounds are numbered, and output that cannot be written is an error.

. "$(dirname "$0")/../lib.sh"

# beside others on this machine no message may come in a shorter time
MOMENT=0.3
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT

# run STATUS OPTION...: rds-bench must exit with STATUS
run()
{
	local want=$1 rc

	shift
	timeout 60 "$BIN/rds-bench" "$@" >"$T/out" 2>"$T/err"
	rc=$?
	[ $rc = "$want" ] && return
	echo "# rds-bench $*: exit code $rc, wanted $want"
	sed 's/^/# /' "$T/out" "$T/err"
	return 1
}

# refused REGEX OPTION...: wrong usage, in two lines
refused()
{
	local regex=$1

	shift
	run 2 "$@" && grep -qE "^rds-bench: .*$regex" "$T/err" && [ "$(wc -l <"$T/err")" = 2 ] &&
		grep -qx "Try 'rds-bench -h'." "$T/err" && [ ! -s "$T/out" ] && return
	echo "# rds-bench $*:"
	sed 's/^/# /' "$T/err"
	return 1
}

wrong()
{
	refused "unrecognized option '--nonsense'" --nonsense &&
		refused "bad number of rounds 'x'" -r x && refused "bad number of rounds '61'" -r 61 &&
		refused "bad time '0'" -t 0 && refused "no transport 'ipx'" -p ipx &&
		refused "'stream' is not a cell" stream && refused "sizes go from 32" stream/31 &&
		refused "not an IPv4 address" --tx nowhere && refused "no kind of damage" --spoil all
}

# Nothing is measured without what somebody asked for, least of all without RDS.
no_rds()
{
	for words in "" "-p rds" "-p tcp,rds"; do
		# shellcheck disable=SC2086
		run 1 $words -t $MOMENT stream/64 && grep -q 'no RDS sockets in this kernel' "$T/err" &&
			[ "$(wc -l <"$T/err")" = 1 ] && [ ! -s "$T/out" ] || return 1
	done
}

no_wakeups()
{
	local counts=/proc/sys/kernel/sched_schedstats

	if [ -w $counts ] && [ -e /proc/schedstat ]; then
		echo "# they can be counted"
		run 0 -q -p tcp -w -t $MOMENT stream/64
	else
		run 1 -p tcp -w -t $MOMENT stream/64 && grep -q 'cannot count wake-ups' "$T/err" && [ ! -s "$T/out" ]
	fi
}

# not_written OPTION...: to a full disk
not_written()
{
	timeout 60 "$BIN/rds-bench" "$@" >/dev/full 2>"$T/err"
	[ $? = 1 ] && grep -q 'cannot write: No space left' "$T/err" && return
	sed 's/^/# /' "$T/err"
	return 1
}

full()
{
	not_written -h && not_written -V && not_written -q -p tcp -t $MOMENT stream/64 &&
		not_written -q -p tcp -t $MOMENT --json stream/64
}

# The picture's file is opened before anything is measured, and nothing is lost if it cannot be.
picture()
{
	run 1 -p tcp -t $MOMENT --plot "$T/no/such.svg" stream/64 && [ ! -s "$T/out" ] &&
		grep -q 'No such file' "$T/err" || return 1
	run 1 -q -p tcp -t $MOMENT --plot /dev/full stream/64 && grep -q '^tcp ' "$T/out" || return 1
	echo "old and longer than nothing" >"$T/a.svg"
	run 0 -q -p tcp -r 2 -t $MOMENT --plot "$T/a.svg" stream/64 pingpong/64 &&
		python3 - "$T/a.svg" <<-'PYTHON'
	import sys
	import xml.etree.ElementTree as xml
	root = xml.parse(sys.argv[1]).getroot()
	sys.exit(not (len(root.findall("{*}rect")) == 3 and len(root.findall("{*}path")) == 2))
	PYTHON
}

numbered()
{
	run 0 -p tcp,udp -r 3 -t $MOMENT stream/64 pingpong/64 || return 1
	grep -qE '^\[ 1/12\] round 1 tcp +stream/64 +[0-9]+ /s$' "$T/err" &&
		grep -qE '^\[12/12\] round 3 udp +pingpong/64 +[0-9.]+ us \(median\)$' "$T/err" &&
		[ "$(grep -cE '^    [123] (tcp|udp) ' "$T/out")" = 12 ] &&
		grep -qE '^tcp +pingpong/64 +[0-9.]+ \([0-9.]+ - [0-9.]+\) /s +.* us +1.00 \(1.00 - 1.00\) x tcp$' "$T/out" ||
		{ sed 's/^/# /' "$T/out" "$T/err"; return 1; }
}

# The time of round trips beside a stream is that of the late ones, and it says so.
beside()
{
	run 0 -p tcp -t $MOMENT beside/1K && grep -qE '^\[ 1/1\] tcp +beside/1K +[0-9.]+ us \(p99\)$' "$T/err"
}

# every ratio is that of its own round
ratios()
{
	run 0 -q -p udp,tcp -r 3 -t $MOMENT --json stream/64 && python3 - "$T/out" <<-'PYTHON'
	import json, statistics, sys
	doc = json.load(open(sys.argv[1]))
	tcp = {r["round"]: r["rate"] for r in doc["runs"] if r["transport"] == "tcp"}
	near = lambda a, b: abs(a - b) <= 0.001 * b + 0.0001
	good = sorted(tcp) == [1, 2, 3] and doc["rounds"] == 3
	for r in doc["runs"]:
	    good = good and near(r["x_tcp"], r["rate"] / tcp[r["round"]])
	for s in doc["summary"]:
	    rates = [r["rate"] for r in doc["runs"] if r["transport"] == s["transport"]]
	    spread = [s["rate"][k] for k in ("least", "median", "most")]
	    good = good and all(map(near, spread, (min(rates), statistics.median(rates), max(rates))))
	    good = good and s["rounds"] == 3 and s["failed"] == 0
	sys.exit(not (good and len(doc["summary"]) == 2))
	PYTHON
}

ktap_header
check "what is wrong is said in two lines" wrong
if "$BIN/rds-info" -c >/dev/null 2>&1; then
	ktap_skip "without RDS nothing is measured" "this machine has RDS"
else
	check "without RDS nothing is measured" no_rds
fi
check "wake-ups are counted, or there is an error" no_wakeups
check "output to a full disk is an error" full
check "a picture" picture
check "rounds are numbered and summed up" numbered
check "progress says which time it shows" beside
check "ratios are of one round" ratios
check "sizes that no transport has" eval "run 1 -q -p udp stream/1M && grep -q 'nothing to measure' \$T/err"
ktap_finish
