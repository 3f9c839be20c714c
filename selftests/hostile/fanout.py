# SPDX-License-Identifier: GPL-2.0
"""A peer that reads late at first contact, and who sends to it; driven by fanout.sh.

Usage: fanout.py peer answers|silent ADDRESS, fanout.py sender WHAT-THE-PEER-SAYS ADDRESS,
fanout.py replaced|downgraded ADDRESS, fanout.py queuer WHAT-THE-PEER-SAYS ADDRESS,
fanout.py smothered ADDRESS, fanout.py bulk WHAT-THE-PEER-SAYS ADDRESS
"""
import select
import socket
import struct
import sys
import time

from room import PORT, dial, header, say

DATA_PORT = 4000
VICTIM = "10.1.0.3"
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


def record(flows, f):
    """The number of a message, under its source port; None if it is none."""
    if not f or f[1] != DATA_PORT:
        return None
    flows.setdefault(f[0], []).append(int(f[2]))
    return flows[f[0]][-1]


def await_ping(c, flows=None):
    """The numbers of the messages in front of it."""
    seen, flows = [], {} if flows is None else flows
    while True:
        f = frame(c)
        if f and f[:2] == (1, 0):
            return seen
        number = record(flows, f)
        if number is not None:
            seen.append(number)


def pong(c, seq, announce=ANNOUNCE):
    c.sendall(header(seq, 0, 0, 1)[:32] + announce)


def accepted(listener):
    first = listener.accept()[0]
    first.settimeout(20)
    return first


def accepted_again(listener):
    """The link of path 0, and those that were dialled before it: the others are known from before."""
    conns, end = [], time.monotonic() + 20
    while time.monotonic() < end:
        ready = select.select([listener] + conns, [], [], 0.1)[0]
        if listener in ready:
            conns.append(accepted(listener))
            ready.remove(listener)
        for c in ready:
            # each begins with two frames without a body; messages are behind them
            if len(c.recv(97, socket.MSG_PEEK)) > 96:
                conns.remove(c)
                return c, conns
        time.sleep(0.02)
    raise TimeoutError


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
    first = accepted(listener)
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


def listen(addr, rcvbuf=0):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if rcvbuf:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    listener.bind((addr, PORT))
    listener.listen(64)
    listener.settimeout(20)
    return listener


def fan_out(conns):
    """Answers pings until messages come by other links than the first; one opens the way."""
    n, seq, end = 0, 2, time.monotonic() + 15
    while n < 8 and time.monotonic() < end:
        for c in select.select(conns, [], [], 0.1)[0]:
            f = frame(c)
            if f and f[:2] == (1, 0):
                pong(c, seq)
                seq += 1
            n += bool(f and f[1] == DATA_PORT and c != conns[0])
    say(len(conns), "paths,", n, "messages came by the others")


def go(socks):
    for s in socks:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    say("gone")


def link(addr, port):
    s = dial(addr, VICTIM, port)
    s.settimeout(20)
    return s


def record_rest(flows, c, quiet=3):
    """What comes by this link, until nothing does for so many seconds."""
    c.settimeout(quiet)
    try:
        while True:
            record(flows, frame(c))
    except TimeoutError:
        pass


def downgraded(addr):
    """As replaced(), but it is us who dial; the new one begins by any port, and only listens."""
    say("listening")
    conns = [link(addr, 50000)]
    await_ping(conns[0])
    pong(conns[0], 1)
    conns += [link(addr, 50000 + i) for i in range(1, MORE + 1)]
    fan_out(conns)
    go(conns)
    time.sleep(2)               # more messages are queued
    conns = [link(addr, 50107)]
    await_ping(conns[0])
    say("pinged")
    pong(conns[0], 1, OLD)
    time.sleep(1)               # a link that is faster than the pong would be taken for its port's
    conns += [link(addr, 50107 + i) for i in range(1, MORE + 1)]
    flows, bearers, end = {}, set(), time.monotonic() + 25
    while time.monotonic() < end and sum(v[-1] == QUEUED - 1 for v in flows.values()) < 8:
        for c in select.select(conns, [], [], 0.1)[0]:
            f = frame(c)
            if record(flows, f) is not None:
                bearers.add(conns.index(c))
    say("links with messages", bearers, "flows", flows)
    whole = all(v == list(range(v[0], QUEUED)) for v in flows.values())
    say("ok" if whole and len(flows) == 8 and len(bearers) == 1 else "wrong")


def replaced(addr):
    """One who pairs paths by their ports goes, and at his address is one who does not."""
    listener = listen(addr)
    say("listening")
    first = accepted(listener)
    await_ping(first)
    pong(first, 1)
    conns = [first] + more_paths(listener)
    fan_out(conns)
    go([listener] + conns)
    time.sleep(2)               # more messages are queued
    listener = listen(addr)
    first, others = accepted_again(listener)
    flows = {}
    early = await_ping(first, flows)    # of flows that have been on path 0 all the time
    pong(first, 1, OLD)
    others += more_paths(listener)
    stray = arrived(others, 2)
    record_rest(flows, first)
    say(len(others), "others brought", stray, "messages, the first", flows, "before the ping", early)
    whole = all(v == list(range(v[0], QUEUED)) for v in flows.values())
    say("ok" if whole and len(flows) == 8 and not stray else "wrong")


def smothered(addr):
    """As replaced(), but what was queued before the fan-out is not on its way yet when he is there."""
    listener = listen(addr, 4096)
    say("listening")
    first = accepted(listener)
    time.sleep(1.5)             # all of that is queued
    await_ping(first)
    pong(first, 1)
    say("pinged")
    time.sleep(2)               # more messages are queued, for other paths
    go([listener, first])
    listener = listen(addr, 4096)
    first, others = accepted_again(listener)
    flows = {}
    early = await_ping(first, flows)
    pong(first, 1, OLD)
    time.sleep(1)
    record_rest(flows, first, 10)       # his TCP has little room, and is probed now and then
    flows = {k: v for k, v in flows.items() if k < BULK_PORT}
    say(len(others), "other links before; before the ping", len(early), "messages; flows", flows)
    whole = all(v == list(range(SMOTHERED)) for v in flows.values())
    say("ok" if whole and len(flows) == 8 else "wrong")


SMOTHERED = 6                   # messages of each flow
BULK_PORT = 5300


def bulk(said, addr):
    """Much is in front of the first messages of eight flows; the others follow when there are paths."""
    def connected(port):
        s = socket.socket(21, socket.SOCK_SEQPACKET)
        s.bind((VICTIM, port))
        s.connect((addr, DATA_PORT))
        return s

    many = [connected(BULK_PORT + i) for i in range(16)]
    socks = [connected(5200 + i) for i in range(8)]
    for s in many:
        s.send(b"0".ljust(100000), socket.MSG_DONTWAIT)
    for s in socks:
        s.send(b"0", socket.MSG_DONTWAIT)
    end = time.monotonic() + 60
    while "pinged" not in open(said, encoding="ascii").read() and time.monotonic() < end:
        time.sleep(0.05)
    for n in range(1, SMOTHERED):
        time.sleep(0.2)
        for s in socks:
            s.send(b"%d" % n, socket.MSG_DONTWAIT)
    while not open(said, encoding="ascii").read().endswith(("ok\n", "wrong\n")):
        time.sleep(0.1)


QUEUED = 12                     # messages of each flow


def queuer(said, addr):
    """Eight flows; they go on when the peer is gone."""
    socks = [socket.socket(21, socket.SOCK_SEQPACKET) for _ in range(8)]
    for i, s in enumerate(socks):
        s.bind((VICTIM, 5100 + i))
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
        s.bind((VICTIM, 5000 + i))
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


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
