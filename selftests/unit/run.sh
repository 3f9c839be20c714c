#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Run the unit tests that were built in directory $1 whose names match the
# pattern $2 (default: all), and the dependency check.  One KTAP stream, each
# program being one test with its own tests nested in it.

dir=${1:-build/selftests/unit}
pattern=${2:-*}
here=$(dirname "$0")
nr=0
bad=0

# One program: nested output is indented by four, as KTAP wants it.
run_one() {
	nr=$((nr + 1))
	out=$("$@" 2>&1)
	status=$?
	printf '%s\n' "$out" | sed 's/^/    /'
	if [ "$status" -eq 0 ]; then
		echo "ok $nr $name"
	else
		echo "not ok $nr $name # exit status $status"
		bad=$((bad + 1))
	fi
}

set --
for src in "$here"/*_test.c; do
	name=$(basename "$src" _test.c)
	# shellcheck disable=SC2254
	case $name in
	$pattern) set -- "$@" "$name" ;;
	esac
done
# shellcheck disable=SC2194,SC2254
case deps in
$pattern) deps=1 ;;
*) deps=0 ;;
esac

echo "TAP version 13"
echo "1..$(($# + deps))"
for name in "$@"; do
	run_one "$dir/${name}_test"
done
if [ "$deps" -eq 1 ]; then
	name=deps
	run_one bash "$here/deps.sh"
fi
[ "$nr" -gt 0 ] && [ "$bad" -eq 0 ]
