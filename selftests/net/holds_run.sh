# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by net/holds and ib/holds, which set PART: sizes and limit of what holdtrace.py measures.

# holds NS CASE COUNT: a part of so many, in that part of a millisecond
holds() {
	"$1" python3 -Su "$(dirname "$0")/holds.py" "$2" $(($3 / PART)) $((1000 / PART))
}
