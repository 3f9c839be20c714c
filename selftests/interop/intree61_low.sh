#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=2 a=ours b=intree61 host=1 timeout=240
# Our module at the smaller address, the in-tree module of Linux 6.1 as its peer.
. "$(dirname "$0")/common.sh"

OURS=a
PEER=b
run_all
