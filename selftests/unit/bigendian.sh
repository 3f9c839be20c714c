#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=300
#
# The unit tests of the pure code on a big-endian machine of another page size (hazard
# D17): compiled for 64-bit PowerPC and run by QEMU's user emulation. Skipped where
# these are missing (make setup installs them: gcc-powerpc64-linux-gnu libc6-dev-ppc64-cross qemu-user).

here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
cc=${BE_CC:-powerpc64-linux-gnu-gcc}
run=${BE_RUN:-qemu-ppc64}
flags='-std=gnu11 -O1 -Wall -Wno-unused-parameter -static -D_GNU_SOURCE= -DRDS_VERSION="test"'
nr=0
bad=0

if ! command -v "$cc" >/dev/null || ! command -v "$run" >/dev/null; then
	echo "TAP version 13"
	echo "1..1"
	echo "ok 1 big-endian # SKIP $cc or $run is missing"
	exit 0
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$here" || exit 1
set -- *_test.c
pure=$(sed -n 's/^PURE[[:space:]]*:= *//p' Makefile)
bench=$top/tools/bench
sources=$bench/check.c
for p in $pure; do
	sources="$sources $top/net/rds/$p.c"
done

echo "TAP version 13"
echo "1..$#"
for t; do
	name=${t%_test.c}
	nr=$((nr + 1))
	case $name in	# as in the Makefile
	bench_check) more= ;;	# among all tests' sources
	bench_report) more="$bench/report.c $bench/json.c $bench/summary.c $bench/cells.c $top/tools/common.c" ;;
	bench_control) more="$bench/control.c $bench/cells.c" ;;
	bench_*) more=$bench/${name#bench_}.c ;;
	*) more= ;;
	esac
	# shellcheck disable=SC2086
	if "$cc" $flags -Iinclude -I. -I"$top/include/uapi" -I"$top/net/rds" \
		-o "$out/$name" "$t" $sources $more >"$out/log" 2>&1 &&
	   "$run" "$out/$name" >"$out/log" 2>&1; then
		echo "ok $nr $name"
	else
		sed 's/^/# /' "$out/log" | tail -n 20
		echo "not ok $nr $name"
		bad=1
	fi
done
exit $bad
