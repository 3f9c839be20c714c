#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=2 modules=rds_rdma,rdma_rxe host=1 timeout=240 waits=1
# RoCE between two guests, when nobody has anything to say: the link stays, until a node dies without
# a word.  The other one notices although it sends nothing.
. "$(dirname "$0")/pair.sh"

up() {
	[ "$(ib_rows a p state | sort -u)" = up ]
}

down() {
	! ib_rows a p state | grep -q up
}

# A few looks at it.
stays() {
	local links

	links=$(ib_rows a p links)
	sleep 35
	up && [ "$(ib_rows a p links)" = "$links" ]
}

noticed() {
	local start=$SECONDS

	vm_kill b
	busywait 60 down || return 1
	note "after $((SECONDS - start)) s"
}

back() {
	vm_boot b && booted b a && both back 100 -S 0-5000
}

ktap_header
check "messages both ways" both start 100 -S 0-3000
check "everything is acknowledged" acknowledged
check "a link that is idle stays" stays
check "a node that died is noticed by who sends nothing" noticed
check "it comes back" back
moved
ktap_finish
