# SPDX-License-Identifier: GPL-2.0
"""A peer that reads late at first contact, and who sends to it; driven by fanout.sh.

Usage: fanout.py peer answers|silent ADDRESS, fanout.py sender WHAT-THE-PEER-SAYS ADDRESS,
fanout.py replaced ADDRESS, fanout.py queuer WHAT-THE-PEER-SAYS ADDRESS
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
OLD = struct.pack(">BHBI8x", 5, MORE + 1, 6, 78)


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


def pong(c, seq, announce=ANNOUNCE):
    c.sendall(header(seq, 0, 0, 1)[:32] + announce)


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
    listener = listen(addr)
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


def listen(addr):
    listener = socket.create_server((addr, PORT), backlog=64)
    listener.settimeout(20)
    return listener


def replaced(addr):
    """One who pairs paths by their ports goes, and at his address is one who does not."""
    listener = listen(addr)
    say("listening")
    first = listener.accept()[0]
    first.settimeout(20)
    await_ping(first)
    pong(first, 1)
    conns = [first] + more_paths(listener)
    n = 0
    for seq in 2, 3, 4:         # one of these is the ping behind which the others may send
        await_ping(first)
        pong(first, seq)
        n = arrived(conns[1:], 0.5, 8)
        if n:
            break
    say(len(conns), "paths,", n, "messages came by the others")
    for c in [listener] + conns:
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        c.close()
    say("gone")
    time.sleep(2)               # more messages are queued
    listener = listen(addr)
    first = listener.accept()[0]
    first.settimeout(20)
    seen = [] + await_ping(first)
    pong(first, 1, OLD)
    others = more_paths(listener)
    stray = arrived(others, 2)
    first.settimeout(3)
    flows = {}
    try:
        while True:
            f = frame(first)
            if f and f[1] == DATA_PORT:
                flows.setdefault(f[0], []).append(int(f[2]))
    except TimeoutError:
        pass
    say(len(others), "others brought", stray, "messages, the first", flows, "and", seen)
    whole = all(v == list(range(v[0], QUEUED)) for v in flows.values())
    say("ok" if whole and len(flows) == 8 and not stray else "wrong")


QUEUED = 12                     # messages of each flow


def queuer(said, addr):
    """Eight flows; they go on when the peer is gone."""
    socks = [socket.socket(21, socket.SOCK_SEQPACKET) for _ in range(8)]
    for i, s in enumerate(socks):
        s.bind(("10.1.0.3", 5100 + i))
        s.connect((addr, DATA_PORT))
    gone = 0
    for n in range(QUEUED):
        # Some while the peer knows the paths, the others when it is gone.
        if n == QUEUED // 2:
            while gone < 100 and "gone" not in open(said, encoding="ascii").read():
                time.sleep(0.1)
                gone += 1
        for s in socks:
            s.send(b"%d" % n, socket.MSG_DONTWAIT)
        time.sleep(0.3)
    while not open(said, encoding="ascii").read().endswith(("ok\n", "wrong\n")):
        time.sleep(0.1)


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
