# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced, after interop/common.sh, by the tests that measure between two guests with rds-bench.

. "$SELFTESTS/bench/said.sh"

MOMENT=0.5

# serve_bench NODE
serve_bench() {
	on "$1" "$BIN/rds-bench" -s >"$T/serve-$1" 2>&1 </dev/null &
	JOBS+=("serve-$1:$!")
	busywait 20 grep -qs '^listening at 0.0.0.0 port 4880$' "$T/serve-$1"
}

# bench STATUS NODE OPTION...: rds-bench on NODE must exit with STATUS
bench() {
	on "$2" timeout 200 "$BIN/rds-bench" -q -t $MOMENT "${@:3}" >"$T/out" 2>"$T/err"
	ended "$1" $? "${@:3}"
}
