# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced, after interop/common.sh, by the tests that measure between two guests with rds-bench.

MOMENT=0.5

# serve_bench NODE
serve_bench() {
	on "$1" "$BIN/rds-bench" -s >"$T/serve-$1" 2>&1 </dev/null &
	JOBS+=("serve-$1:$!")
	busywait 20 grep -qs '^listening at 0.0.0.0 port 4880$' "$T/serve-$1"
}

# bench STATUS NODE OPTION...: rds-bench on NODE must exit with STATUS
bench() {
	local want=$1 rc

	shift
	on "$1" timeout 200 "$BIN/rds-bench" -q -t $MOMENT "${@:2}" >"$T/out" 2>"$T/err"
	rc=$?
	[ $rc = "$want" ] && return
	note "rds-bench ${*:2}: exit code $rc, wanted $want"
	show_file "$T/out"
	show_file "$T/err"
	return 1
}

# says REGEX: the last one has said so
says() {
	grep -qE "$1" "$T/out" "$T/err" || { show_file "$T/out"; show_file "$T/err"; return 1; }
}
