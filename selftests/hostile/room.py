# SPDX-License-Identifier: GPL-2.0
"""Bounds of what a peer can make the victim hold; driven by room.sh.

A plain TCP program that speaks RDS.  Usage: room.py MODE ARGUMENTS...
"""
import os
import select
import socket
import struct
import subprocess
import sys
import time

PORT = 16385


def header(seq, length, sport, dport, flags=0):
    return struct.pack(">QQIHHBB4xH16s", seq, 0, length, sport, dport, flags, 0, 0, b"")


def dial(source, victim, sport=0, rcvbuf=0):
    family = socket.AF_INET6 if ":" in victim else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # The end is a reset: no orphan keeps the namespace.
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if rcvbuf:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    s.settimeout(15)
    s.bind((source, sport))
    s.connect((victim, PORT))
    s.setblocking(True)
    return s


class Clock:
    """Milliseconds that stand while this guest gets no processor, see fairclock.h."""

    def __init__(self):
        self.proc = subprocess.Popen([os.environ["BIN"] + "/rdsmisc", "clock"], text=True, bufsize=1,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ms(self):
        self.proc.stdin.write("\n")
        return int(self.proc.stdout.readline())


def say(*words):
    print(*words, flush=True)


def swallow(s):
    """What the victim sends is not of interest; False if it closed."""
    try:
        while True:
            if not s.recv(65536, socket.MSG_DONTWAIT):
                return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def hoard(prefix, victim, port, count):
    """COUNT addresses begin a message of 1 MiB and never end it."""
    left = {}
    block = bytes(65536)
    for i in range(int(count)):
        s = dial("%s%x" % (prefix, 0x1000 + i), victim)
        s.send(header(1, 1 << 20, 9, int(port)))
        s.setblocking(False)
        left[s] = (1 << 20) - 1
    quiet = time.time() + 2
    said = False
    while left:
        for s in list(left):
            if not swallow(s):
                del left[s]
                continue
            try:
                n = left[s] and s.send(block[:left[s]])
            except BlockingIOError:
                continue
            except OSError:
                del left[s]
                continue
            left[s] -= n
            if n:
                quiet = time.time() + 2
        if time.time() > quiet and not said:
            say("hoarding")
            said = True
        time.sleep(0.05)
    say("all dropped")


def ports(source, victim, port):
    """An empty message from every source port; no announcement of any kind."""
    s = dial(source, victim, 40008)
    for i in range(2, 65536, 512):
        s.sendall(b"".join(header(k, 0, k, int(port)) for k in range(i, min(i + 512, 65536))))
        swallow(s)
    say("sent")
    while swallow(s):
        time.sleep(0.05)


def odd(source, victim, port):
    """Frames that are dropped, one for each reason a peer can cause; then silence."""
    s = dial(source, victim, 40016, 4096)
    bits = bytearray(8192)
    bits[5 // 8] = 1 << 5 % 8
    s.sendall(header(10, 0, 9, int(port)) + header(5, 0, 9, int(port), 4) +
              header(11, 0, 9, int(port) + 1) + header(12, 0, 0, 0) +
              header(0, 100, 0, 0, 1) + bytes(100) +
              header(0, 8192, 0, 0, 1) + bytes(bits) + header(13, 0, 5, 0))
    say("odd ones sent")
    seq = 14
    for _ in range(100):
        s.sendall(b"".join(header(seq + i, 0, 6, 0) for i in range(100)))
        seq += 100
    say("sent", seq)
    time.sleep(600)


def given_up(addr, dead, port, live):
    """Messages that are cancelled, closed upon, and left unread."""
    sol_rds, cancel = 276, 1
    s = socket.socket(21, socket.SOCK_SEQPACKET)
    s.bind((addr, int(port)))
    to = struct.pack("=HHI8x", socket.AF_INET, socket.htons(5),
                     struct.unpack("=I", socket.inet_aton(dead))[0])
    for _ in range(3):
        s.sendto(b"x", socket.MSG_DONTWAIT, (dead, 5))
    s.setsockopt(sol_rds, cancel, to)
    for _ in range(3):
        s.sendto(b"x", socket.MSG_DONTWAIT, (dead, 5))
    r = socket.socket(21, socket.SOCK_SEQPACKET)
    r.bind((live, int(port) + 1))
    s.sendto(b"x", (live, int(port) + 1))
    select.select([r], [], [], 10)
    r.close()
    s.close()


def read_frames(s, seconds):
    """Sequence numbers of what the victim sends, control frames left out."""
    data, seqs, end = b"", [], time.time() + seconds
    while time.time() < end:
        if not select.select([s], [], [], 0.1)[0]:
            continue
        got = s.recv(65536)
        if not got:
            break
        data += got
        while len(data) >= 48:
            seq, _, length = struct.unpack(">QQI", data[:20])
            if len(data) < 48 + length:
                break
            if seq:
                seqs.append(seq)
            data = data[48 + length:]
    return seqs


def modern(seq, paths=1, pong=False):
    """A handshake ping, or pong: so many paths, and the source port tells which."""
    ports = (0, 1) if pong else (1, 0)
    return header(seq, 0, *ports)[:32] + struct.pack(">BHBB11x", 5, paths, 8, 0)


def twice(source, victim, port):
    """Speak, go away; after a line on standard input come again and repeat oneself."""
    s = dial(source, victim, 40024)
    s.sendall(modern(20) + header(21, 4, 9, int(port)) + struct.pack("=I", 0))
    before = read_frames(s, 2)
    s.close()
    say("gone")
    sys.stdin.readline()
    s = dial(source, victim, 40032)
    s.sendall(header(21, 4, 9, int(port), 4) + struct.pack("=I", 0) +
              modern(22) + header(23, 4, 9, int(port)) + struct.pack("=I", 1))
    after = read_frames(s, 2)
    say("sequences", before, after)
    if not before or not after or min(after) <= max(before):
        sys.exit("the victim began anew")
    say("done")


def visit(prefix, victim, count):
    """COUNT addresses come, say one valid thing and go."""
    welcome = 0
    for i in range(int(count)):
        try:
            s = dial("%s%x" % (prefix, 0x1000 + i), victim)
            s.settimeout(5)
            s.send(header(1, 0, 0, 0))
            welcome += bool(s.recv(1))
            time.sleep(0.02)
            s.close()
        except OSError:
            pass
        time.sleep(0.1)
    say("welcome", welcome)


def spray(uid, addr, port, count):
    """As user UID one message to each of COUNT addresses that nobody has."""
    import os

    s = socket.socket(21, socket.SOCK_SEQPACKET)
    s.bind((addr, int(port)))
    os.setuid(int(uid))
    n = 0
    for i in range(int(count)):
        try:
            s.sendto(b"", socket.MSG_DONTWAIT, ("10.1.0.%d" % (100 + i), 5))
            n += 1
        except OSError:
            pass
    say("accepted", n)
    time.sleep(600)


def misplaced(source, victim, port):
    """The link of path 3 comes first, and only then we tell that ports encode the path."""
    number = [struct.pack("=I", i) for i in range(3)]
    s = dial(source, victim, 40003)
    s.sendall(header(50, 4, 9, int(port)) + number[0] + modern(51, 8, pong=True))
    s.settimeout(10)
    try:
        while s.recv(65536):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        sys.exit("the victim keeps the link where it is")
    s.close()
    say("dropped")
    zero = dial(source, victim, 40048)
    zero.sendall(header(1, 4, 9, int(port), 4) + number[1])
    read_frames(zero, 1)
    three = dial(source, victim, 40051)
    three.sendall(header(50, 4, 9, int(port), 4) + number[0] + header(52, 4, 9, int(port)) +
                  number[2])
    read_frames(three, 1)
    say("kept" if swallow(zero) and swallow(three) else "dropped again")
    time.sleep(600)


def rewritten(source, victim, port):
    """Ports tell the path, it says, but its path 0 comes from another path's: somebody has changed them."""
    number = [struct.pack("=I", i) for i in range(4)]
    port = int(port)
    zero = dial(source, victim, 40003)
    zero.sendall(modern(1, 8))
    read_frames(zero, 1)
    zero.sendall(header(2, 4, 9, port) + number[0])
    one = dial(source, victim, 40011)
    one.sendall(header(1, 4, 10, port) + number[1])
    read_frames(one, 1)
    say("kept" if swallow(zero) and swallow(one) else "dropped")
    zero.close()
    one.close()
    # they come again, the other one first, with what they have not seen acknowledged
    one = dial(source, victim, 40019)
    one.sendall(header(1, 4, 10, port, 4) + number[1] + header(2, 4, 10, port) + number[2])
    read_frames(one, 1)
    zero = dial(source, victim, 40027)
    zero.sendall(header(2, 4, 9, port, 4) + number[0] + header(3, 4, 9, port) + number[3])
    say("came again")
    time.sleep(600)


def revenants(source, victim, port, count):
    """COUNT links for one path, each says one thing and stays.  Eight can wait."""
    links = []
    for i in range(int(count)):
        if i >= 8:
            time.sleep(1)
        s = dial(source, victim, 40056 + 8 * i)
        s.sendall(header(i + 1, 4, 9, int(port)) + struct.pack("=I", i))
        links.append(s)
    say("sent")
    time.sleep(600)


def stubborn(prefix, victim, count):
    """COUNT addresses say something and never end their side."""
    links = []
    for i in range(int(count)):
        links.append(dial("%s%x" % (prefix, 0x1000 + i), victim))
        links[-1].send(header(1, 0, 0, 0))
    for s in links:
        s.settimeout(10)
        s.recv(1)
    say("up")
    time.sleep(600)


def receiver(addr, port, count, seconds):
    """Bound and silent until a line comes on standard input; then read COUNT numbers."""
    s = socket.socket(21, socket.SOCK_SEQPACKET)
    s.bind((addr, int(port)))
    say("bound")
    sys.stdin.readline()
    s.settimeout(float(seconds))
    room = bytearray(1 << 20)       # a new one for each message would be mapped each time
    for i in range(int(count)):
        s.recv_into(room)
        got = struct.unpack("=I", room[:4])[0]
        if got != i:
            sys.exit("message %d instead of %d" % (got, i))
    say("got", count)
    sys.stdin.readline()


def empties(addr, port, most):
    """A queue of empty messages is congested before MOST of them."""
    r = socket.socket(21, socket.SOCK_SEQPACKET)
    r.bind((addr, int(port)))
    s = socket.socket(21, socket.SOCK_SEQPACKET)
    s.bind((addr, int(port) + 1))
    n = 0
    try:
        while n < int(most):
            s.sendto(b"", socket.MSG_DONTWAIT, (addr, int(port)))
            n += 1
    except OSError as e:
        say("errno", e.errno, "after", n)
    if n >= int(most):
        sys.exit("%d empty messages were taken" % n)
    for _ in range(n):
        r.recv(1)
    s.sendto(b"", (addr, int(port)))


def held():
    """Bytes of partial messages, from rds-info's TCP records on standard input."""
    import json

    def walk(o):
        if isinstance(o, dict):
            if "data_rem" in o:
                yield o["data_rem"]
            for v in o.values():
                yield from walk(v)
        elif isinstance(o, list):
            for v in o:
                yield from walk(v)

    say(sum((1 << 20) - n for n in walk(json.load(sys.stdin)) if n))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
