#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth netns=init timeout=120 ref=0 lanes=uml
#
# send_batch_count: values that once stopped all transmission do not any more
# (weakness 15), the number of messages is not bounded by a pass, and a path that has more than
# that many goes behind the others in the queue of works (hazard K5).

. "${SELFTESTS:-$(dirname "$0")/..}/lib.sh"

need_tracing
out=$(mktemp -d)
trap 'cleanup; echo 0 >$TR/events/workqueue/enable; reload >/dev/null 2>&1; rm -rf "$out"' EXIT

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

link() { ip -n n2 link set eth0 "$1"; }

# 300 messages are queued while the peer cannot be reached, then all must leave.
transfer()
{
	local rc

	link down
	: >"$out/sent"
	n1 python3 -u - >"$out/sent" <<-'PYTHON' &
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
	busywait 20 grep -q loopback "$out/sent"
	rc=$?
	link up
	wait $! || rc=1
	busywait 20 received && return $rc
}

receive()
{
	: >"$out/received"	# not what the last one said
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

turns_start()
{
	echo 4096 >$TR/buffer_size_kb
	echo >$TR/trace
	echo 1 >$TR/events/workqueue/workqueue_execute_start/enable
	echo 1 >$TR/tracing_on
}

# turns_end BATCH: the worker took the 300 messages in turns of that many, not in one; a third
# may have gone from elsewhere
turns_end()
{
	local turns

	echo 0 >$TR/events/workqueue/workqueue_execute_start/enable
	turns=$(grep -c 'function rds_path_pump_work' $TR/trace)
	echo >$TR/trace
	echo 1 >$TR/buffer_size_kb
	echo "# $turns turns of $1 messages"
	[ "$turns" -ge $((200 / $1)) ]
}

# with COUNT WANT: load with this parameter, move messages both ways
with()
{
	local rc=0

	reload send_batch_count="$1" || return
	setup_pair
	[ "$(parameter)" -eq "$2" ] || rc=1
	turns_start
	receive && transfer || rc=1
	turns_end "$2" || rc=1
	cleanup
	return $rc
}

ktap_header
check "send_batch_count=0" with 0 2
check "send_batch_count=1" with 1 2
check "send_batch_count=-5" with -5 2
check "send_batch_count=3" with 3 3
ktap_finish
