#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,sch_netem,inet_diag,tcp_diag timeout=120 ref=0 lanes=uml
# Zero-copy messages on a wire that loses packets and loses the links, too: what is repeated comes
# from the program's own pages, so each message is as it was when it was sent, and the pages are the
# program's again only when nobody reads them any more: it writes to them at once.
. "$(dirname "$0")/common.sh"

COUNT=150
cat >"$T/zcopy.py" <<'PYTHON'
import mmap
import socket
import struct
import sys
import time

SOL_RDS, COOKIE, COMPLETION = 276, 12, 13
SO_ZEROCOPY, MSG_ZEROCOPY = 60, 0x4000000
ROLE, COUNT, PATIENCE = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
BUFFERS, SIZE = 6, 100000


def length(i):
    return 1 + i * 7919 % SIZE


def content(i):
    """No two neighbouring bytes alike, and another text for each message"""
    return b"".join(struct.pack("=HH", i, n & 0xffff) for n in range(length(i) // 4 + 1))[:length(i)]


def receive(s):
    s.settimeout(PATIENCE)
    print("bound", flush=True)
    for i in range(COUNT):
        got = s.recv(SIZE)
        if got != content(i):
            want = content(i)
            at = next((k for k in range(len(got)) if got[k:k + 1] != want[k:k + 1]), len(got))
            sys.exit("message %d: %d bytes of %d, another from byte %d on: %r"
                     % (i, len(got), len(want), at, got[at:at + 8]))
    print("intact", COUNT, flush=True)


def completed(s, buffers, free):
    """Buffers whose messages are through: what they are written over with must reach nobody."""
    try:
        cmsgs = s.recvmsg(1, socket.CMSG_SPACE(36), socket.MSG_DONTWAIT)[1]
    except BlockingIOError:
        time.sleep(0.002)
        return
    for level, kind, data in cmsgs:
        if (level, kind) == (SOL_RDS, COMPLETION):
            nr = struct.unpack_from("=I", data)[0]
            for b in struct.unpack_from("=8I", data, 4)[:nr]:
                buffers[b][:] = b"x" * SIZE
                free.append(b)


def send(s):
    s.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFERS * SIZE)
    buffers = [mmap.mmap(-1, SIZE) for _ in range(BUFFERS)]
    free = list(range(BUFFERS))
    end = time.time() + PATIENCE
    for i in range(COUNT):
        while not free and time.time() < end:
            completed(s, buffers, free)
        b = free.pop()
        buffers[b][:length(i)] = content(i)
        s.sendmsg([memoryview(buffers[b])[:length(i)]], [(SOL_RDS, COOKIE, struct.pack("=I", b))],
                  MSG_ZEROCOPY, ("10.1.0.2", 5000))
    while len(free) < BUFFERS and time.time() < end:
        completed(s, buffers, free)
    print("completed", len(free), flush=True)


s = socket.socket(21, socket.SOCK_SEQPACKET)
s.bind(("10.1.0.2" if ROLE == "receive" else "10.1.0.1", 5000))
receive(s) if ROLE == "receive" else send(s)
PYTHON

# All messages, with the faults that are set
zcopy() {
	local patience=$((40 * ${RDS_SLOW:-1})) rc=0

	n2 python3 "$T/zcopy.py" receive $COUNT $patience >"$T/receiver" 2>&1 </dev/null &
	local receiver=$!
	busywait 15 grep -q bound "$T/receiver" || rc=1
	n1 python3 "$T/zcopy.py" send $COUNT $patience >"$T/sender" 2>&1 </dev/null || rc=1
	wait $receiver || rc=1
	show_file "$T/sender"
	show_file "$T/receiver"
	grep -q "^completed 6" "$T/sender" && grep -q "^intact $COUNT" "$T/receiver" && [ $rc = 0 ]
}

retransmitted() {
	n1 nstat -az TcpRetransSegs | awk '/TcpRetransSegs/ { print int($2) }'
}

lossy() {
	n1 tc qdisc replace dev eth0 root netem limit 10000 delay 1ms 1ms loss 5% &&
		n2 tc qdisc replace dev eth0 root netem limit 10000 loss 5% || return 1
	zcopy || return 1
	note "$(retransmitted) segments retransmitted"
	[ "$(retransmitted)" -ge 10 ]
}

killed() {
	local before rc again

	before=$(counter - send_retransmitted)
	n1 "$BIN/rdsmisc" killtcp 100 20 >"$T/kill" 2>&1 </dev/null &
	local killer=$!
	zcopy
	rc=$?
	kill $killer
	wait $killer 2>/dev/null
	again=$(($(counter - send_retransmitted) - before))
	note "$again messages repeated"
	[ $rc = 0 ] && [ $again -ge 3 ]
}

ktap_header
setup_pair
check "$COUNT zero-copy messages, one packet in 20 lost" lossy
check "$COUNT more, links killed every 100 ms for 20 s" killed
ktap_finish
