#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init ref=0 timeout=100 waits=1 lanes=uml
# A user who has links made to as many addresses as there may be links does not keep those of
# others from being made.
. "$(dirname "$0")/common.sh"

N=10
LINKS=8
REFUSED=8

ib_restore() {
	[ -z "$TIMEOUT_WAS" ] || sysctl -qw net.rds.close_timeout_ms="$TIMEOUT_WAS"
	[ -z "$LIMIT_WAS" ] || echo "$LIMIT_WAS" >/proc/sys/net/rds/ib/max_link_allocation
}

# from UID SOURCE DESTINATION...: to each host number a message
from() {
	python3 -ISc 'import os, socket, sys
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))
s = socket.socket(21, socket.SOCK_SEQPACKET)
s.bind(("10.5.0." + sys.argv[2], 0))
for to in sys.argv[3:]:
    s.sendto(sys.argv[1].encode(), socket.MSG_DONTWAIT, ("10.5.0." + to, 4000))' "$@"
}

# What comes to any of the addresses: a line with who has sent it.
receiver() {
	exec python3 -ISc 'import select, socket, sys
socks = [socket.socket(21, socket.SOCK_SEQPACKET) for _ in range(int(sys.argv[1]))]
for i, s in enumerate(socks):
    s.bind(("10.5.0.%d" % (i + 1), 4000))
print("ready", flush=True)
while True:
    for s in select.select(socks, [], [])[0]:
        print(s.recv(100).decode(), flush=True)' $N
}

came() {
	grep -cx "$1" "$T/came"
}

at_least() {
	[ "$(came "$1")" -ge "$2" ]
}

refused() {
	[ "$(counter - ib_link_limit)" -ge "$1" ]
}

greedy() {
	# shellcheck disable=SC2046
	from 1001 1 $(seq 2 $((N - 1))) || return 1
	busywait 10 at_least 1001 2 || return 1
	# and not only the first time that it is tried
	busywait 20 refused $REFUSED || return 1
	note "$(came 1001) of $((N - 2)) messages of one user came, $(counter - ib_link_limit) links were refused"
	[ "$(came 1001)" -lt $((N - 2)) ]
}

another() {
	from 1002 $N 1 && busywait 10 at_least 1002 1
}

rest() {
	note "$(came 1001) messages came"
	[ "$(came 1001)" = $((N - 2)) ]
}

ktap_header
setup_rxe $N
LIMIT_WAS=$(cat /proc/sys/net/rds/ib/max_link_allocation)
receiver >"$T/came" 2>&1 </dev/null &
JOBS+=("receiver:$!")
busywait 10 grep -q ready "$T/came"
# about 306 units each
echo $((LINKS * 316)) >/proc/sys/net/rds/ib/max_link_allocation
TIMEOUT_WAS=$(sysctl -n net.rds.close_timeout_ms)
sysctl -qw net.rds.close_timeout_ms=60000
check "a user dials more than there may be links" greedy
check "another one's link is made at once" another
echo "$LIMIT_WAS" >/proc/sys/net/rds/ib/max_link_allocation
check "what had to wait comes when there is room" busywait 40 rest
ktap_finish
