#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_rdma,rds_tcp,rdma_rxe,veth netns=init timeout=120 ref=0 soak=4 lanes=uml
#
# The system-call fuzzer over a software RDMA device: regions, RDMA and atomic operations are
# not refused as over TCP.  With RDS_SOAK=minutes that long.  KFUZZ_SEED chooses another seed
# (soak: the clock does).

. "$(dirname "$0")/../ib/common.sh"

SECS=${RDS_SOAK:-0}
SEED=${KFUZZ_SEED:-1}
if [ "$SECS" = 0 ]; then
	SECS=10
else
	SECS=$((SECS * 60))
	SEED=${KFUZZ_SEED:-$(date +%s)}
fi

# those of kfuzz
addresses() {
	local i

	for i in 1 2; do
		ip addr add "10.1.0.$i/24" dev $DEV &&
			ip addr add "fd00:1::$i/64" dev $DEV nodad &&
			ip addr add "fe80::$i/64" dev $DEV nodad || return
	done
	ib_wait_addr fd00:1::2 && ib_wait_addr 10.1.0.2
}

fuzz() {
	"$BIN/kfuzz/kfuzz" --verbs --seed "$SEED" --corpus "$SELFTESTS/kfuzz/corpus.txt" \
		--log /run/kfuzz-verbs --seconds "$SECS"
}

ktap_header
setup_rxe
addresses || lib_die "no addresses"
check "fuzz $SECS s over verbs" fuzz
ktap_finish
