#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=60 ref=0 lanes=uml
# Users take turns on a path, and a socket may change hands between two messages: they stay in order.
. "$(dirname "$0")/common.sh"

MESSAGES=120

# More than waits in front of everybody's turn; the second half is another user's.
sender() {
	n1 python3 -ISc 'import os, socket, sys
count = int(sys.argv[1])
s = socket.socket(21, socket.SOCK_SEQPACKET)
s.bind(("10.1.0.1", 4001))
s.setsockopt(socket.SOL_SOCKET, 32, 2 << 20)    # SO_SNDBUFFORCE
for i in range(count):
    if i == count // 2:
        os.fchown(s.fileno(), 1001, -1)
    s.sendto((b"%d" % i).ljust(8192), socket.MSG_DONTWAIT, ("10.1.0.2", 4000))
print("all are under way", flush=True)' $MESSAGES
}

receiver() {
	n2 timeout $((30 * ${RDS_SLOW:-1})) python3 -ISc 'import socket, sys
s = socket.socket(21, socket.SOCK_SEQPACKET)
s.bind(("10.1.0.2", 4000))
print("ready", flush=True)
got = [int(s.recv(8192)) for _ in range(int(sys.argv[1]))]
print([(a, b) for a, b in zip([-1] + got, got) if b != a + 1], flush=True)' $MESSAGES
}

in_order() {
	local rc=0 pid

	receiver >"$T/recv" 2>&1 &
	pid=$!
	busywait 10 grep -q ready "$T/recv" || rc=1
	n2 ip link set eth0 down
	# what a closed socket has accepted is delivered
	sender >"$T/send" 2>&1 || rc=1
	n2 ip link set eth0 up
	wait $pid || rc=1
	grep -qx '\[\]' "$T/recv" || rc=1
	show_file "$T/send"
	show_file "$T/recv"
	return $rc
}

ktap_header
setup_pair
n1 sysctl -qw net.rds.close_timeout_ms=60000
check "a socket whose owner changes keeps its order" in_order
ktap_finish
