#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=60 ref=0 lanes=uml
# A zero-copy message that was cancelled while it is on the wire: its completion comes when
# nobody reads the buffer any more, not before, and the peer gets what was sent.
. "$(dirname "$0")/common.sh"

cat >"$T/zcopy.py" <<'PYTHON'
import mmap
import socket
import struct
import sys
import time

SOL_RDS, CANCEL, COOKIE, COMPLETION = 276, 1, 12, 13
SO_ZEROCOPY, MSG_ZEROCOPY = 60, 0x4000000
LEN = 60000
DEST = ("10.1.0.2", 5000)


def say(what):
    print(what, flush=True)
    sys.stdin.readline()


def completions(s, seconds):
    end, got = time.time() + seconds, []
    while time.time() < end and not got:
        try:
            _, cmsgs, _, _ = s.recvmsg(1, socket.CMSG_SPACE(36), socket.MSG_DONTWAIT)
            got += [c for c in cmsgs if c[:2] == (SOL_RDS, COMPLETION)]
        except BlockingIOError:
            time.sleep(0.02)
    return len(got)


s = socket.socket(21, socket.SOCK_SEQPACKET)
s.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
s.bind(("10.1.0.1", 5001))
buf = mmap.mmap(-1, LEN)


def send(cookie):
    s.sendmsg([buf], [(SOL_RDS, COOKIE, struct.pack("=I", cookie))], MSG_ZEROCOPY, DEST)


buf[:] = b"1" * LEN
send(1)
if not completions(s, 20):
    sys.exit("no completion of an ordinary message")
say("link up")
buf[:] = b"2" * LEN
send(2)
time.sleep(0.3)		# to TCP it goes at once; the wire is cut
ip, port = socket.inet_aton(DEST[0]), socket.htons(DEST[1])
s.setsockopt(SOL_RDS, CANCEL, struct.pack("=HH4s8x", socket.AF_INET, port, ip))
early = completions(s, 1)
if early:
    buf[:] = b"x" * LEN
say("cancelled, completed %d" % early)
late = early or completions(s, 30)
say("completed %d" % late)
PYTHON

said() {
	grep -q "$1" "$T/sender"
}

# All of the second message's bytes as they were when it was sent
intact() {
	n2 python3 - <<-'PYTHON'
	import socket
	s = socket.socket(21, socket.SOCK_SEQPACKET)
	s.bind(("10.1.0.2", 5000))
	s.settimeout(25)
	print("bound", flush=True)
	for want in b"1", b"2":
	    got = s.recv(1 << 20)
	    assert got == want * 60000, (len(got), got[:10], got.count(want))
	print("intact", flush=True)
	PYTHON
}

ktap_header
setup_pair
intact >"$T/receiver" 2>&1 &
busywait 15 grep -q bound "$T/receiver"
mkfifo "$T/fifo"
n1 python3 -u "$T/zcopy.py" >"$T/sender" 2>&1 <"$T/fifo" &
exec 9>"$T/fifo"
check "an ordinary zero-copy message" busywait 30 said "link up"
ip -n n2 link set eth0 down
echo >&9
check "cancelled without a link" busywait 20 said "cancelled"
check "its buffer is still in use" said "completed 0"
ip -n n2 link set eth0 up
echo >&9
check "the completion comes with the acknowledgement" busywait 40 said "^completed 1"
echo >&9
exec 9>&-
check "the peer got what was sent" busywait 30 grep -q intact "$T/receiver"
show_file "$T/sender"
show_file "$T/receiver"
ktap_finish
