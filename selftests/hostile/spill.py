# SPDX-License-Identifier: GPL-2.0
"""Receivers that do not read, and who floods them; driven by spill.sh, counted.sh and queues.sh.

Usage: spill.py MODE ARGUMENTS...
"""
import errno
import os
import select
import socket
import struct
import subprocess
import sys
import time

from room import dial, header, say, swallow

SO_RCVBUFFORCE, SO_MEMINFO = 33, 55


def rmem(s):
    """What the socket is charged for its receive queue."""
    return struct.unpack("=I", s.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, 4))[0]


def bound(addr, port, uid, rcvbuf):
    """The owner of a socket is who makes it; only root may have a large one."""
    os.setresuid(int(uid), int(uid), 0)
    s = socket.socket(21, socket.SOCK_SEQPACKET)
    os.setresuid(0, 0, 0)
    s.bind((addr, int(port)))
    if int(rcvbuf):
        s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, int(rcvbuf))
    return s


def drain(s):
    """All there is: (messages, errors, where the numbers do not go on by one)."""
    got, errors, holes = 0, [], []
    room = bytearray(1 << 20)
    while True:
        try:
            n = s.recv_into(room, 0, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return got, errors, holes
        except OSError as e:
            errors.append((got, errno.errorcode[e.errno]))
            continue
        if n >= 4 and struct.unpack("=I", room[:4])[0] != got:
            holes.append(got)
        got += 1


def hog(addr, port, uid, rcvbuf=0):
    """A socket that is read when it is told to, by the lines "rmem", "poll", "error", "read"."""
    s = bound(addr, port, uid, rcvbuf)
    say("bound")
    for line in sys.stdin:
        word = line.strip()
        if word == "rmem":
            say("rmem", rmem(s))
        elif word == "poll":
            p = select.poll()
            p.register(s)
            say("poll error", bool(dict(p.poll(0)).get(s.fileno(), 0) & select.POLLERR))
        elif word == "error":
            say("error", s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
        elif word == "read":
            say("read %d errors %s holes %s" % drain(s), "left", rmem(s))


def flood(source, victim, port, count, size, other=0, pad=0):
    """COUNT numbered messages of SIZE bytes, each followed by PAD of 2000 bytes to nobody.

    Whatever the victim's map says; and by the same link then one message to port OTHER.
    """
    s = dial(source, victim, 40000 + 8 * (int(port) % 1000))
    count, size, pad = int(count), int(size), int(pad)
    rest = bytes(max(size - 4, 0))
    nobody = header(0, 2000, 9, 9) + bytes(2000)
    step = 1 if pad else 8
    seq = 1
    for i in range(0, count, step):
        out = []
        for k in range(i, min(i + step, count)):
            out.append(header(seq, size, 9, int(port)) + struct.pack("=I", k)[:size] + rest)
            seq += 1
            for _ in range(pad):
                out.append(struct.pack(">Q", seq) + nobody[8:])
                seq += 1
        send(s, b"".join(out))
    if int(other):
        send(s, header(seq, 4, 9, int(other)) + struct.pack("=I", 0))
    # all was received, not only sent
    while outstanding(s) and swallow(s):
        select.select([], [], [], 0.05)
    say("sent" if swallow(s) else "closed")
    while swallow(s):
        select.select([s], [], [], 0.2)


def hogs(addr, port, count, rcvbuf):
    """COUNT sockets that are not read, of ports from PORT on."""
    socks = [bound(addr, int(port) + i, 0, rcvbuf) for i in range(int(count))]
    say("bound", len(socks))
    select.select([], [], [], 600)


def hush(socks, seconds):
    """Reads until nothing has come for so long; those that are not closed then."""
    live = set(socks)
    while ready := select.select(live, [], [], seconds)[0]:
        live -= {s for s in ready if not swallow(s)}
    return live


def deluge(prefix, victim, port, first, last, count, size, until=""):
    """Addresses from FIRST to LAST send COUNT messages each, to a port each from PORT on.

    One after the other, whatever the victim's map says; or until its counter UNTIL moves.
    """
    stay, before = [], until and count_of(until)
    for i in range(int(first), int(last)):
        s = dial(prefix + str(i), victim)
        for k in range(1, int(count) + 1):
            send(s, header(k, int(size), 9, int(port) + i) + bytes(int(size)))
        while outstanding(s) and swallow(s):
            select.select([], [], [], 0.02)
        stay.append(s)
        if until and count_of(until) > before:
            break
    # each port that got full was told to all, and what is unread here pins pages
    live = hush(stay, 1)
    say("sent", int(first) + len(stay), "closed", len(stay) - len(live))
    hush(live, 600)


def crowd(prefix, victim, count):
    """COUNT addresses connect, say that a port of theirs is congested, and stay."""
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (int(count) + 100,) * 2)
    bits = b"\1" + bytes(8191)
    stay = []
    for i in range(int(count)):
        s = dial("%s%x" % (prefix, 0x1000 + i), victim)
        s.sendall(header(0, len(bits), 0, 0, 1) + bits + header(1, 0, 0, 0))
        stay.append(s)
    # the victim's map, all of it: what is unread here pins the victim's pages
    for s in stay:
        s.settimeout(30)
        left = 48 + len(bits)
        while left > 0:
            left -= len(s.recv(65536)) or sys.exit("the victim closed")
    say("here", len(stay))
    # and what it asks later
    links = {s.fileno(): s for s in stay}
    p = select.epoll()
    for fd in links:
        p.register(fd, select.EPOLLIN)
    while True:
        for fd, _ in p.poll(600):
            links[fd].recv(65536) or sys.exit("the victim closed")


def histories(prefix, victim, count):
    """COUNT addresses (0: PREFIX itself) send from 1,000 ports, none of which is near another.

    They announce nothing.
    """
    stay = []
    for source in ["%s%x" % (prefix, 0x1000 + i) for i in range(int(count))] or [prefix]:
        s = dial(source, victim)
        send(s, b"".join(header(k, 0, 64 * k, 7100) for k in range(1, 1001)))
        stay.append(s)
    while any(outstanding(s) and swallow(s) for s in stay):
        select.select([], [], [], 0.05)
    say("sent")
    select.select([], [], [], 600)


def visits(source, victim):
    """Says one thing, and is answered or refused."""
    try:
        with dial(source, victim) as s:
            s.sendall(header(1, 0, 0, 0))
            return bool(s.recv(1))
    except ConnectionError:
        return False


def visitors(prefix, victim, count):
    """COUNT addresses come one after the other and go.  Who finds no place asks again, as a node does."""
    refused = 0
    for i in range(int(count)):
        while not visits("%s%x" % (prefix, 0x1000 + i), victim):
            refused += 1
            refused < int(count) or sys.exit("the victim refuses")
            time.sleep(0.05)
    say("went", count, "refused", refused)


def count_of(name):
    out = subprocess.run([os.environ["BIN"] + "/rds-info", "-c"], capture_output=True, text=True)
    return int(out.stdout.split(name)[1].split()[0])


def closers(addr, dead, size):
    """Sockets are closed that have for a dead address all that they may, until one gives way."""
    full, n = count_of("orphan_limit"), 0
    while count_of("orphan_limit") == full and n < 300:
        s = socket.socket(21, socket.SOCK_SEQPACKET)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
        s.bind((addr, 0))
        try:
            while True:
                # each to a port of its own, to which 4 MiB may be under way
                s.sendto(bytes(int(size)), socket.MSG_DONTWAIT, (dead, 9 + n))
        except BlockingIOError:
            pass
        s.close()
        n += 1
    say("closed", n)


def crowded(addr, dead, size, go):
    """100 sockets send to one port of a dead address, when the file GO is there, until all are refused in a row."""
    socks = [socket.socket(21, socket.SOCK_SEQPACKET) for _ in range(100)]
    for s in socks:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
        s.bind((addr, 0))
    say("ready")
    while not os.path.exists(go):
        select.select([], [], [], 0.05)
    sent = refused = 0
    while refused < len(socks):
        s = socks[(sent + refused) % len(socks)]
        try:
            s.sendto(bytes(int(size)), socket.MSG_DONTWAIT, (dead, 9))
            sent, refused = sent + 1, 0
        except OSError as e:
            if e.errno not in (errno.EAGAIN, errno.ENOBUFS):
                raise
            refused += 1
    say("accepted", sent)
    select.select([], [], [], 600)


def outstanding(s):
    """Bytes that the victim's TCP has not acknowledged."""
    import fcntl

    return struct.unpack("=i", fcntl.ioctl(s, 0x5411, b"\0" * 4))[0]


def send(s, m):
    while m:
        r, w, _ = select.select([s], [s], [], 100)
        if r and not swallow(s):
            sys.exit("the victim closed")
        if w:
            m = m[s.send(m, socket.MSG_DONTWAIT):]


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
