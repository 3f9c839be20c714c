# SPDX-License-Identifier: GPL-2.0
"""A peer that pairs paths by order of arrival comes back by links that get other paths.

Usage: turns.py dialler|hasty|listener ADDRESS, turns.py reader WHAT-THE-PEER-SAYS; driven by turns.sh
"""
import socket
import sys
import time

from fanout import MORE, OLD, await_ping, listen, more_paths, pong
from room import dial, header, say

VICTIM = "10.1.0.3"
SLEEPER, READER, SENDER = 4001, 4000, 5000
BIG = 1 << 20
REPEATED = 4                    # RETRANSMITTED
LAST = 35


def link(addr):
    s = dial(addr, VICTIM)
    s.settimeout(20)
    return s


def messages(s, first, last, flags=0):
    for n in range(first, last + 1):
        body = b"%d" % n
        s.sendall(header(n, len(body), SENDER, READER, flags) + body)


def leave(s):
    s.shutdown(socket.SHUT_WR)
    time.sleep(0.2)


def stall(s):
    """What this link brings last waits for a reader who sleeps."""
    for n in range(1, 9):
        s.sendall(header(n, BIG, SENDER + 1, SLEEPER) + bytes(BIG))
    for n in range(9, 14):
        s.sendall(header(n, 5, SENDER + 1, SLEEPER) + b"small")
    time.sleep(0.2)


def finish(s):
    """We have heard that up to 24 all is there."""
    messages(s, 25, 29, REPEATED)
    messages(s, 30, LAST)
    say("sent")


def end():
    time.sleep(4)
    say("end")


def dialler(addr, hasty=False):
    links = [link(addr)]
    await_ping(links[0])
    pong(links[0], 1, OLD)
    time.sleep(0.2)
    links += [link(addr) for _ in range(MORE)]
    time.sleep(0.2)
    messages(links[3], 1, 20)
    stall(links[1])
    leave(links[3])
    leave(links[1])
    # Gets the path of the one that still is read; acknowledged by TCP, and not adopted yet.
    waits = link(addr)
    if hasty:
        waits.sendall(header(20, 5, SENDER + 1, SLEEPER) + b"small")
    messages(waits, 21, 29)
    leave(waits)
    # Gets a path that is vacant.
    free = link(addr)
    finish(free)
    if hasty:
        leave(free)
    end()


def hasty(addr):
    dialler(addr, True)


def listener(addr):
    """They dial; which of our paths a link belongs to is our affair."""
    server = listen(addr)
    say("listening")
    links = [server.accept()[0]]
    links[0].settimeout(20)
    await_ping(links[0])
    pong(links[0], 1, OLD)
    links += more_paths(server)
    server.settimeout(20)
    messages(links[3], 1, 20)
    stall(links[3])
    messages(links[3], 21, 29)
    # They make it anew, and hear nothing by it yet.
    links[1].shutdown(socket.SHUT_WR)
    again = server.accept()[0]
    time.sleep(0.5)
    links[3].shutdown(socket.SHUT_WR)
    finish(again)
    end()


def reader(said, *wake):
    socks = [socket.socket(21, socket.SOCK_SEQPACKET) for _ in range(2)]
    for s, port in zip(socks, (READER, SLEEPER)):
        s.bind((VICTIM, port))
    say("bound")
    s, got = socks[0], []
    s.settimeout(0.3)
    for addr in wake:           # the first message makes the connection
        while "listening" not in open(said, encoding="ascii").read():
            time.sleep(0.1)
        s.sendto(b"0", (addr, READER))
    while True:
        try:
            got.append(int(s.recv(64)))
        except TimeoutError:
            with open(said, encoding="ascii") as f:
                if "end" in f.read():
                    break
    say("received", got)
    say("ok" if got == list(range(1, LAST + 1)) else "wrong")


globals()[sys.argv[1]](*sys.argv[2:])
