#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=200 fresh=1 waits=1 lanes=debian
# What a bound socket and an idle connection (eight paths, both ends) cost: less than with the
# in-tree module, where a socket took 2,591 bytes and a connection 82,125 (table-icount.md).  A path
# that keeps what it needs to send is seen here (it was 265 kB a connection), and one that with its
# private data has grown above 1 KiB (96 kB).
# What the kernel has free is compared before and after, see bench/memory.py: 50 kB more or less at
# times, which 3,000 sockets share.  The heap of the measuring Python does not count: it grew by 87
# bytes a socket in a second round once.
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
SOCKETS=3000 CONNECTIONS=200 bash "$SELFTESTS/bench/memory.sh" >"$T/memory" 2>"$T/err" || show_file "$T/err"
show_file "$T/memory"
SOCKET=$(json "$T/memory" socket)
CONNECTION=$(json "$T/memory" connection)
check "a bound socket costs 2 kB to 2,560 bytes" \
	between 2000 "$SOCKET" 2560
check "an idle connection costs 50 to 82 kB" \
	between 50000 "$CONNECTION" 82000
ktap_finish
