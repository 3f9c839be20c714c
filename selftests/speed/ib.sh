#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Our rds_rdma and the in-tree one over the same RoCE link, with perftest's ib_write_bw beside them.
# Not a test of "make check": it takes minutes and a machine of its own.
#
#	make speed [ROUNDS=5] [PAIRS='ours:ours intree:intree']
#
# Prints for each figure both medians and the ratios, and which are below 1, and writes them into
# Documentation/performance/table-speed-ib.md (with PAIRS or FIGURES it does not).  The exit status is 0
# when all was measured, with ib_write_bw, and every message was right.
MODULE=rds_rdma
ALL_PAIRS="ours:ours intree:intree"
ALL_FIGURES="msg64:messages:64:40000 msg8k:messages:8192:6000 msg1m:messages:1048576:120
	ask64:messages:64:2000:1 write1m:writes:1048576:200"
# shellcheck source=common.sh
. "${SELFTESTS:-$(dirname "$0")/..}/speed/common.sh"

# The device's own, without RDS: MiB/s
perftest() {
	local gid='$(cd /sys/class/infiniband/rxe0/ports/1/gids; grep -l ffff:0a00 * | head -n 1)'
	local opts='-d rxe0 -F -s 1048576 -n 60 -t 16'

	on b "ib_write_bw $opts -x $gid" >"$T/perf-b" 2>&1 &
	sleep 2
	on a "ib_write_bw $opts -x $gid 10.0.0.2" >"$T/perf-a" 2>&1 || { show_file "$T/perf-a"; return; }
	wait $!
	awk '$1 == 1048576 { print $4 }' "$T/perf-a" >>"$T/perf"
	note "ib_write_bw: $(tail -n 1 "$T/perf") MiB/s"
}

median() {
	sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# A line for the end; fails if there is a round without a figure.
perftest_line() {
	[ -s "$T/perf" ] && [ "$(grep -c '^[0-9]' "$T/perf")" = "$ROUNDS" ] || return 1
	[ ! -s "$T/ours:ours.write1m" ] ||
		echo "ib_write_bw: $(median "$T/perf") MiB/s, our RDMA writes of 1 MiB:" \
			"$(median "$T/ours:ours.write1m") MiB/s"
}

finish() {
	local line

	line=$(perftest_line) && { report "$line"; return; }
	TABLE=
	report
	echo "ib_write_bw: did not run in each round"
	return 1
}

rounds perftest
finish
