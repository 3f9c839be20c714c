#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=200 fresh=1 waits=1 lanes=debian
# What a bound socket and an idle connection (eight paths, both ends) cost.  That it is less than with
# the in-tree module is judged in one run with that (table-icount.md: 80 of 83 kB).  Here a path is seen
# that keeps what it needs to send (it was 265 kB a connection), and one that with its private data has
# grown above 1 KiB (96 kB).
# What the kernel has free is compared before and after, see bench/memory.py: half a megabyte more or
# less at times, which 60 connections share: 8 kB more in one of three rounds, of which the median counts.
. "${SELFTESTS:-$(dirname "$0")/..}/net/common.sh"

# between LOW FIGURE HIGH: the figure has decimals
between() {
	[ "${2%.*}" -gt "$1" ] && [ "${2%.*}" -lt "$3" ]
}

ktap_header
if [ "${RDS_KERNEL:-debian}" != debian ]; then
	ktap_skip "an idle connection is cheap" "debug kernels need memory of their own"
	ktap_finish
fi
SOCKETS=3000 CONNECTIONS=240 bash "$SELFTESTS/bench/memory.sh" >"$T/memory" 2>"$T/err" || show_file "$T/err"
show_file "$T/memory"
SOCKET=$(json "$T/memory" socket)
CONNECTION=$(json "$T/memory" connection)
check "a bound socket costs 2 kB to 2,560 bytes" \
	between 2000 "$SOCKET" 2560
check "an idle connection costs 50 to 90 kB" \
	between 50000 "$CONNECTION" 90000
ktap_finish
