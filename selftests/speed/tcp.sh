#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Our rds_tcp with an in-tree peer at either end, and with itself, to the in-tree one with itself.
# Not a test of "make check": it takes minutes and a machine of its own.
#
#	make speed TRANSPORT=tcp [ROUNDS=5]
#
# Prints for each figure both medians and the ratios, and which are below 1, and writes them into
# Documentation/performance/table-speed-tcp.md (with PAIRS or FIGURES it does not).  The exit status is 0
# when all was measured and every message was right.
MODULE=rds_tcp
ALL_PAIRS="ours:ours ours:intree intree:ours intree:intree"
ALL_FIGURES="msg64:messages:64:40000 msg1k:messages:1024:40000 msg8k:messages:8192:12000
	msg64k:messages:65536:3000 msg1m:messages:1048576:200 ask64:messages:64:3000:1
	ask64k:pingpong:65536:300 fanin64:fanin:64:2500:16"
# shellcheck source=common.sh
. "${SELFTESTS:-$(dirname "$0")/..}/speed/common.sh"

rounds
report
