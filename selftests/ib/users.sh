#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init ref=0 timeout=200 lanes=debian
# A user who overdoes it does not take other users' part of what goes between two addresses, over
# verbs.
. "$(dirname "$0")/common.sh"
. "$SELFTESTS/net/users_run.sh"

ktap_header
setup_rxe 4
over IPv4 here here 10.5.0.1 10.5.0.2 10.5.0.3 10.5.0.4
ktap_finish
