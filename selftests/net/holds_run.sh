# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by net/holds and ib/holds, which set PART: sizes and limit of what holdtrace.py measures.

# measure NS CASE COUNT: a part of so many, in that part of a millisecond
measure() {
	"$1" python3 -Su "$(dirname "$0")/holds.py" "$2" $(($3 / PART)) $((1000 / PART)) >"$T/holds" 2>&1
	local rc=$?

	cat "$T/holds"
	return $rc
}

too_long() {
	sed -n 's/^# \(.*\)() held a lock for .*/\1/p' "$T/holds" | sort
}

# holds NS CASE COUNT
# Something else of the guest can fall into any hold, one of tens of thousands (it was seen in ones of a
# few instructions).  A walk is as long the second time, too.
holds() {
	measure "$@" && return
	too_long >"$T/once"
	[ -s "$T/once" ] || return 1
	measure "$@" && return
	too_long >"$T/twice"
	[ -s "$T/twice" ] && [ -z "$(comm -12 "$T/once" "$T/twice")" ]
}
