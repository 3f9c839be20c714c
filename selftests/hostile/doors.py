# SPDX-License-Identifier: GPL-2.0
"""Peers that come, let others in and go; driven by doors.sh.

Usage: doors.py MODE ARGUMENTS...
"""
import select
import socket
import struct
import sys
import time

from room import PORT, dial, header, modern, say, swallow


def pester(source, victim, count, how):
    """COUNT pings, none of whose answers is taken, and a reset.  A modern peer says so before."""
    s = dial(source, victim, 40000, 4096)
    seq = 4000                  # above those of pins()
    if how == "modern":
        seq = 6000
        s.sendall(modern(seq - 1))
    s.sendall(b"".join(header(seq + k, 0, 5 + k, 0) for k in range(int(count))))
    time.sleep(2)
    s.close()
    say("gone")


def slam(addr, seconds):
    """Whoever dials us is let in, and out again."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((addr, PORT))
    s.listen(100)
    say("listening")
    n, end = 0, None
    while end is None or time.monotonic() < end:
        if not select.select([s], [], [], 0.1)[0]:
            continue
        c = s.accept()[0]
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        c.close()
        n += 1
        end = end or time.monotonic() + float(seconds)
    say("calls", n)


def knock(victim, *sources):
    """Each address connects once, and is gone."""
    for a in sources:
        try:
            dial(a, victim).close()
        except ConnectionResetError:
            pass                # the victim was faster, and dials
    say("knocked", len(sources))


def called(*addrs):
    """Who is dialled, each once."""
    left = {}
    for a in addrs:
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((a, PORT))
        s.listen()
        left[s] = a
    say("listening")
    while left:
        for s in select.select(list(left), [], [])[0]:
            say("called", left.pop(s))
    say("all called")
    time.sleep(600)


def pins(source, victim, unread, read, count):
    """COUNT bursts of 64 KiB, each with a small message for one port and a large one for another."""
    s = dial(source, victim, 40008)
    small, large = bytes(3000), bytes(65536 - 2 * 48 - 3000)
    for k in range(int(count)):
        s.sendall(header(2 * k + 1, len(small), 9, int(unread)) + small +
                  header(2 * k + 2, len(large), 9, int(read)) + large)
        swallow(s)
    say("sent")
    while swallow(s):
        time.sleep(0.05)


def reads(addr, port, silent):
    """Reads what comes on one port, and nothing on another, for ever."""
    other = socket.socket(21, socket.SOCK_SEQPACKET)
    other.bind((addr, int(silent)))
    s = socket.socket(21, socket.SOCK_SEQPACKET)
    s.bind((addr, int(port)))
    say("bound")
    room = bytearray(1 << 20)
    while True:
        s.recv_into(room)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
