#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge,inet_diag,tcp_diag timeout=120 ref=0
# First contact: the first messages of a socket go by path 0, later ones, once the peer has told
# that it knows more paths, by another.  A peer whose TCP has acknowledged the first ones, and whose
# RDS has not read them, must not get the later ones before.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

# The peer: answers the first ping, reads no further for a while, and looks what comes elsewhere.
cat >"$T/peer.py" <<'E2'
import select, socket, struct, sys, time

answers = sys.argv[1] == "answers"
ls = socket.socket()
ls.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
ls.bind((sys.argv[2], 16385))
ls.listen(64)
ls.settimeout(20)
print("listening", flush=True)

def exact(c, n):
    data = b""
    while len(data) < n:
        part = c.recv(n - len(data))
        if not part:
            raise EOFError
        data += part
    return data

def frame(c):
    h = exact(c, 48)
    length, sport, dport, flags = struct.unpack_from(">IHHB", h, 16)
    body = exact(c, length)
    return None if flags & 1 else (sport, dport, body)

def await_ping(c):
    """The numbers of the messages in front of it."""
    seen = []
    while True:
        f = frame(c)
        if f and f[:2] == (1, 0):
            return seen
        if f and f[1] == 4000:
            seen.append(int(f[2]))

def pong(c, seq):
    ext = bytes([5, 0, 8, 6, 0, 0, 0, 77, 8, 0]) + bytes(6)
    c.sendall(struct.pack(">QQIHHBB4x2s16s", seq, 0, 0, 0, 1, 0, 0, b"", ext))

def arrived(conns, seconds, enough=1 << 30):
    """Data messages by these links, until there are enough."""
    n, end = 0, time.monotonic() + seconds
    while n < enough and time.monotonic() < end:
        for c in select.select(conns, [], [], 0.1)[0]:
            try:
                f = frame(c)
                n += bool(f and f[1] == 4000)
            except EOFError:
                conns.remove(c)
    return n

first = ls.accept()[0]
first.settimeout(20)
before = await_ping(first)
print("pinged", flush=True)
time.sleep(0.7)             # messages 1 are queued behind the ping
pong(first, 1)
paths = []
ls.settimeout(0.1)
end = time.monotonic() + 2
while len(paths) < 7 and time.monotonic() < end:
    try:
        paths.append(ls.accept()[0])
    except TimeoutError:
        pass
more = len(paths)
early = arrived(paths, 1.5)
print(f"{more} more paths, {early} messages came by them before path 0 was read", flush=True)
behind = []
if answers:
    for seq in 2, 3, 4:     # a ping may have been repeated meanwhile
        behind += await_ping(first)
        pong(first, seq)
        if arrived(paths, 0.5, 8) >= 8:
            break
late = arrived(paths, 25, 8)
print(f"in front of the ping {before}, behind it {behind}; by the others {late} later")
ok = more == 7 and not early and late >= 8 and (not answers or 1 in behind)
print("ok" if ok else "wrong", flush=True)
E2

# Message 0 before the link, 1 behind the ping, the others when more paths are known.
cat >"$T/send.py" <<'E2'
import os, socket, sys, time

socks = []
for i in range(8):
    s = socket.socket(21, socket.SOCK_SEQPACKET)
    s.bind(("10.1.0.3", 5000 + i))
    s.connect((sys.argv[2], 4000))
    socks.append(s)

def all_send(n):
    for s in socks:
        s.send(b"%d" % n, socket.MSG_DONTWAIT)

all_send(0)
while "pinged" not in open(sys.argv[1]).read():
    time.sleep(0.05)
time.sleep(0.3)
all_send(1)
for n in range(2, 12):
    time.sleep(0.3)
    all_send(n)
while not open(sys.argv[1]).read().endswith(("ok\n", "wrong\n")):
    time.sleep(0.1)
E2

# contact HOW ADDR: the peer there answers the second ping, or none but the first
contact() {
	local peer sender

	: >"$T/peer"
	n1 python3 "$T/peer.py" "$1" "$2" >"$T/peer" 2>&1 </dev/null &
	peer=$!
	busywait 10 grep -q listening "$T/peer"
	n3 python3 "$T/send.py" "$T/peer" "$2" >"$T/send" 2>&1 </dev/null &
	sender=$!
	wait $peer || echo wrong >>"$T/peer"
	wait $sender
	show_file "$T/peer"
	show_file "$T/send"
	grep -q '^ok' "$T/peer"
}

ktap_header
setup_hostile
ip -n n1 addr add 10.1.0.10/24 dev eth0
check "later messages wait until the earlier ones are read" contact answers 10.1.0.9
check "but not for ever, if the peer answers no more" contact silent 10.1.0.10
ktap_finish
