#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth netns=init timeout=120 ref=0
#
# send_batch_count: values that once stopped all transmission do not any more
# (weakness 15), and the number of messages is not bounded by a pass.

. "${SELFTESTS:-$(dirname "$0")/..}/lib.sh"

out=$(mktemp -d)
trap 'cleanup; reload >/dev/null 2>&1; rm -rf "$out"' EXIT

reload()
{
	local i

	# The last connections of a namespace go with it, in the background.
	for i in $(seq 100); do
		modprobe -r rds_tcp rds 2>/dev/null && break
		sleep 0.1
	done
	modprobe rds "$@" && modprobe rds_tcp
}

parameter() { cat /sys/module/rds/parameters/send_batch_count; }

# 300 messages are queued while the peer has no address, then all must leave.
transfer()
{
	n1 python3 - >"$out/sent" <<-'PYTHON' || return
	import socket
	s = socket.socket(21, socket.SOCK_SEQPACKET)
	s.bind(("10.1.0.1", 4001))
	s.connect(("10.1.0.2", 4000))
	r = socket.socket(21, socket.SOCK_SEQPACKET)
	r.bind(("10.1.0.1", 4000))
	for i in range(300):
	    s.send(b"%d" % i, socket.MSG_DONTWAIT)
	    s.sendto(b"%d" % i, socket.MSG_DONTWAIT, ("10.1.0.1", 4000))
	r.settimeout(20)
	assert [int(r.recv(16)) for i in range(300)] == list(range(300))
	print("loopback")
	import struct
	s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 20))
	s.close()
	PYTHON
	grep -q loopback "$out/sent" || return
	busywait 20 received
}

receive()
{
	n2 python3 - >"$out/received" <<-'PYTHON' &
	import socket
	s = socket.socket(21, socket.SOCK_SEQPACKET)
	s.bind(("10.1.0.2", 4000))
	print("ready", flush=True)
	s.settimeout(60)
	print([int(s.recv(16)) for i in range(300)] == list(range(300)), flush=True)
	PYTHON
	busywait 10 grep -q ready "$out/received"
}

received() { grep -q True "$out/received"; }

# with COUNT WANT: load with this parameter, move messages both ways
with()
{
	local rc=0

	reload send_batch_count="$1" || return
	setup_pair
	[ "$(parameter)" -eq "$2" ] || rc=1
	receive && transfer || rc=1
	cleanup
	return $rc
}

ktap_header
check "send_batch_count=0" with 0 2
check "send_batch_count=1" with 1 2
check "send_batch_count=-5" with -5 2
check "send_batch_count=3" with 3 3
ktap_finish
