#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=2 a=intree61 b=ours host=1 timeout=240
# Our module at the larger address, the in-tree module of Linux 6.1 as its peer.
. "$(dirname "$0")/common.sh"

OURS=b
PEER=a
run_all
