#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=2 a=ours b=intree61 modules=rds_rdma,rdma_rxe host=1 timeout=400
# Our rds_rdma at the smaller address, the in-tree one of Linux 6.1 as its peer.
. "$(dirname "$0")/ib_common.sh"

OURS=a
PEER=b
FIRST=$OURS
run_all
