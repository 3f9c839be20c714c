# SPDX-License-Identifier: GPL-2.0
"""A peer that reads late at first contact, and who sends to it; driven by fanout.sh.

Usage: fanout.py peer answers|silent ADDRESS, fanout.py sender WHAT-THE-PEER-SAYS ADDRESS
"""
import select
import socket
import struct
import sys
import time

from room import PORT, header, say

DATA_PORT = 4000
MORE = 7                        # paths that the peer announces beyond the first
ANNOUNCE = struct.pack(">BHBIBB6x", 5, MORE + 1, 6, 77, 8, 0)


def exact(c, n):
    data = b""
    while len(data) < n:
        part = c.recv(n - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def frame(c):
    length, sport, dport, flags = struct.unpack_from(">IHHB", exact(c, 48), 16)
    body = exact(c, length)
    return None if flags & 1 else (sport, dport, body)


def await_ping(c):
    """The numbers of the messages in front of it."""
    seen = []
    while True:
        f = frame(c)
        if f and f[:2] == (1, 0):
            return seen
        if f and f[1] == DATA_PORT:
            seen.append(int(f[2]))


def pong(c, seq):
    c.sendall(header(seq, 0, 0, 1)[:32] + ANNOUNCE)


def arrived(conns, seconds, enough=1 << 30):
    """Data messages by these links, until there are enough."""
    n, end = 0, time.monotonic() + seconds
    while n < enough and time.monotonic() < end:
        for c in select.select(conns, [], [], 0.1)[0]:
            try:
                f = frame(c)
                n += bool(f and f[1] == DATA_PORT)
            except EOFError:
                conns.remove(c)
    return n


def more_paths(listener):
    paths, end = [], time.monotonic() + 2
    listener.settimeout(0.1)
    while len(paths) < MORE and time.monotonic() < end:
        try:
            paths.append(listener.accept()[0])
        except TimeoutError:
            pass
    return paths


def peer(how, addr):
    """Answers the first ping, reads no further for a while, and looks what comes elsewhere."""
    listener = socket.create_server((addr, PORT), backlog=64)
    listener.settimeout(20)
    say("listening")
    first = listener.accept()[0]
    first.settimeout(20)
    before = await_ping(first)
    say("pinged")
    time.sleep(0.7)             # messages 1 are queued behind the ping
    pong(first, 1)
    paths = more_paths(listener)
    more = len(paths)
    early = arrived(paths, 1.5)
    say(more, "more paths,", early, "messages came by them before path 0 was read")
    behind = []
    if how == "answers":
        for seq in 2, 3, 4:     # a ping may have been repeated meanwhile
            behind += await_ping(first)
            pong(first, seq)
            if arrived(paths, 0.5, 8) >= 8:
                break
    late = arrived(paths, 25, 8)
    say("in front of the ping", before, "behind it", behind, "by the others", late, "later")
    ok = more == MORE and not early and late >= 8 and (how == "silent" or 1 in behind)
    say("ok" if ok else "wrong")


def sender(said, addr):
    """Message 0 before the link, 1 behind the ping, the others when more paths are known."""
    socks = [socket.socket(21, socket.SOCK_SEQPACKET) for _ in range(8)]
    for i, s in enumerate(socks):
        s.bind(("10.1.0.3", 5000 + i))
        s.connect((addr, DATA_PORT))

    def all_send(n):
        for s in socks:
            s.send(b"%d" % n, socket.MSG_DONTWAIT)

    def heard():
        with open(said) as f:
            return f.read()

    all_send(0)
    while "pinged" not in heard():
        time.sleep(0.05)
    time.sleep(0.3)
    all_send(1)
    for n in range(2, 12):
        time.sleep(0.3)
        all_send(n)
    while not heard().endswith(("ok\n", "wrong\n")):
        time.sleep(0.1)


globals()[sys.argv[1]](*sys.argv[2:])
