#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=2 a=intree b=ours modules=rds_rdma,rdma_rxe host=1 timeout=400
# Our rds_rdma at the larger address, the in-tree one of Linux 6.12 as its peer.
. "$(dirname "$0")/ib_common.sh"

OURS=b
PEER=a
FIRST=$PEER
run_all
