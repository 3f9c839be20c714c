#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=600 soak=5
#
# Run each fuzz target for FUZZ_SECONDS (default 20; with RDS_SOAK=minutes its
# share of them, at least a minute), two at a time, starting
# from the committed corpus and from what earlier runs found ($O/corpus).  A
# target fails if it crashes, hangs, leaks, or did not run at all.  What made
# it fail is kept as $O/<target>-*; feed it to $O/<target> to see it again.
# O is where the targets are built: the runner's $BIN/fuzz, else build/.

here=$(cd "$(dirname "$0")" && pwd)
O=${O:-${BIN:+$BIN/fuzz}}
O=${O:-$(cd "$here/../.." && pwd)/build/selftests/fuzz}
clang=${FUZZ_CC:-clang}

echo "TAP version 13"
mkdir -p "$O" || exit 1
if ! printf 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return 0; }' |
	"$clang" -x c -fsanitize=fuzzer,address -o "$O/probe" - 2>/dev/null; then
	echo "1..0 # SKIP no clang with libFuzzer (install clang and libclang-rt-14-dev)"
	exit 4
fi

make -s -C "$here" O="$O" FUZZ_CC="$clang" >"$O/build.log" 2>&1 || {
	sed 's/^/# /' "$O/build.log"
	printf '1..1\nnot ok 1 fuzz targets build\n'
	exit 1
}

# One target; the verdict is written last, so that no verdict means failure.
fuzz() {
	log=$O/$1.log
	mkdir -p "$O/corpus/$1"
	rm -f "$O/$1.verdict" "$O/$1"-crash-* "$O/$1"-leak-* "$O/$1"-timeout-* "$O/$1"-oom-*
	# a program that only gets what guests leave may not run for seconds: no hang yet
	"$O/$1" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=1024 -max_len=4096 \
		-print_final_stats=1 -artifact_prefix="$O/$1-" \
		"$O/corpus/$1" "$here/corpus/$1" >"$log" 2>&1
	status=$?
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	if [ "$status" -eq 0 ] && [ "${runs:-0}" -gt 1000 ]; then
		echo "ok - $1 # $runs inputs in $seconds s" >"$O/$1.verdict"
	else
		echo "not ok - $1 # exit status $status after ${runs:-no} inputs" >"$O/$1.verdict"
	fi
}

list=$(cd "$here" && ls fuzz_*.c | sed 's/\.c$//')
# shellcheck disable=SC2086
set -- $list
seconds=20
if [ "${RDS_SOAK:-0}" -gt 0 ]; then
	seconds=$((RDS_SOAK * 60 / (($# + 1) / 2)))
	[ "$seconds" -ge 60 ] || seconds=60
fi
seconds=${FUZZ_SECONDS:-$seconds}
echo "1..$#"
while [ $# -gt 0 ]; do
	fuzz "$1" &
	one=$!
	two=
	if [ $# -gt 1 ]; then
		fuzz "$2" &
		two=$!
	fi
	wait "$one"
	[ -n "$two" ] && wait "$two"
	shift
	[ -n "$two" ] && shift
done

bad=0
for t in $list; do
	if ! grep -q '^ok' "$O/$t.verdict"; then
		bad=1
		grep -vE '^#[0-9]' "$O/$t.log" | head -n 40 | sed 's/^/# /'
	fi
	cat "$O/$t.verdict"
done
exit $bad
