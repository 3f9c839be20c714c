#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=60 ref=0 lanes=uml
# While a kernel TCP socket is locked nobody allocates in a way that may wait for memory to be
# written out: that may need a socket itself (hazard H3).  lockdep keeps the orders it has seen,
# so one pass over the ways of a link is enough, and reclaim need not really run.
. "$(dirname "$0")/common.sh"

SOCKET='k-sk_lock-AF_INET6?'

# after CLASS: the lock classes that were taken while one of CLASS was held, one per line
after() {
	awk -v class="$1" '
		/ FD: / { at = ($NF ~ "^" class "$"); next }
		at && / -> / { print $NF }' /proc/lockdep
}

# The check would be empty if lockdep had not looked, or had another name for the lock.
knows_socket() {
	after "$SOCKET" | grep -q '^k-slock-AF_INET'
}

no_reclaim() {
	after "$SOCKET" | sed 's/^/# then: /' | sort -u >"$T/after"
	! grep -E 'fs_reclaim|mmu_notifier' "$T/after"
}

# Small messages, large ones by reference, and both ends begin at once.
ways() {
	local rc=0

	duplex small n1 10.1.0.1 n2 10.1.0.2 300 -S 0-4000 || rc=1
	duplex large n1 10.1.0.1 n2 10.1.0.2 60 -S 60000-300000 || rc=1
	n1 ip addr add 10.1.0.11/24 dev eth0
	duplex second n1 10.1.0.11 n2 10.1.0.2 50 || rc=1
	return $rc
}

ktap_header
if [ ! -r /proc/lockdep ]; then
	ktap_skip "no lockdep in this kernel"
	ktap_finish
	exit
fi
setup_pair
check "messages move" ways
check "lockdep knows the lock of a TCP socket of the kernel" knows_socket
check "under it nothing waits for reclaim" no_reclaim
moved
ktap_finish
