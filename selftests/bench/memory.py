#!/usr/bin/python3 -S
# SPDX-License-Identifier: GPL-2.0
"""In a guest: what bound RDS sockets and idle connections cost.

memory.py serve ADDRESS COUNT
	binds a socket at each of COUNT addresses from ADDRESS on, receives one message at each,
	and keeps them until standard input ends; says how many have received one
memory.py measure ADDRESS SOCKETS FIRST COUNT
	bytes, as JSON, of each of SOCKETS sockets bound to ADDRESS, and of each connection from
	there to the COUNT addresses that "serve" has (both ends of it, and its links)

What the kernel has free is compared before and after, so that TCP's sockets, inodes, pages half
used and per-processor memory count as well; what this program itself takes does not."""

import functools
import glob
import ipaddress
import json
import os
import select
import socket
import statistics
import sys
import time

AF_RDS, PORT = 21, 7000
ENOUGH_ALIKE = 64 << 10
ROUNDS = 3
IDLE = 5               # seconds until all paths are up and at rest, on a machine that is not busy


def own():
    """Bytes of this program: the heap of 3,000 Python sockets grows by 90 bytes for each."""
    with open("/proc/self/smaps_rollup") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("Anonymous")) << 10


def free_now():
    """What each processor keeps for itself, which may be much, does not count as MemFree."""
    with open("/proc/meminfo") as f:
        free_kb = next(int(line.split()[1]) for line in f if line.startswith("MemFree"))
    with open("/proc/zoneinfo") as f:
        kept = sum(int(line.split()[1]) for line in f if line.split()[0] == "count:")
    return (free_kb << 10) + kept * os.sysconf("SC_PAGESIZE") + own()


@functools.cache
def slabs():
    return glob.glob("/sys/kernel/slab/*/shrink")


def free(pause=0.3):
    """Bytes, when what can be freed is: caches, slabs, and what waits for a grace period."""
    last, alike = 0, 0
    for _ in range(15):
        with open("/proc/sys/vm/drop_caches", "w") as f:
            f.write("3")
        for shrink in slabs():
            with open(shrink, "w") as f:
                f.write("1")
        time.sleep(pause)
        now = free_now()
        alike = alike + 1 if abs(now - last) < ENOUGH_ALIKE else 0
        if alike == 2:
            break
        last = now
    return now


def plus(address, n):
    return str(ipaddress.ip_address(address) + n)


def bound(address, port=0):
    s = socket.socket(AF_RDS, socket.SOCK_SEQPACKET)
    s.bind((address, port))
    return s


def said_hello(s):
    try:
        return s.recv(64, socket.MSG_DONTWAIT) == b"hello"
    except BlockingIOError:
        time.sleep(0.1)         # in-tree sockets can be readable with nothing to read
        return False


def serve(first, count):
    socks = [bound(plus(first, i), PORT) for i in range(count)]
    print("bound", flush=True)
    silent = set(socks)
    end = False
    while not end:
        ready = select.select([sys.stdin, *silent], [], [])[0]
        end = sys.stdin in ready
        some = {s for s in ready if s is not sys.stdin and said_hello(s)}
        silent -= some
        if end or (some and not silent):
            print("received", count - len(silent), flush=True)


def of_socket(address, count):
    """ROUNDS times, after one that makes what is made once."""
    used = []
    for _ in range(ROUNDS + 1):
        before = free()
        socks = [bound(address, PORT + i) for i in range(count)]
        used.append(before - free())
        for s in socks:
            s.close()
    return [u / count for u in used[1:]]


def at_rest():
    """As free(), when links have given back what they keep for a moment after they have sent."""
    time.sleep(IDLE)
    return free(2)


def of_connection(address, first, count):
    """Of ROUNDS parts of them, after one that makes what is made once."""
    s = bound(address, PORT)
    part = count // (ROUNDS + 1)
    used, before = [], 0
    for done in range(0, part * (ROUNDS + 1), part):
        for i in range(done, done + part):
            s.sendto(b"hello", (plus(first, i), PORT))
        now = at_rest()
        used.append(before - now)
        before = now
    return [u / part for u in used[1:]]


def main(what, *words):
    if what == "serve":
        serve(words[0], int(words[1]))
    else:
        address, sockets, first, count = words
        rounds = of_socket(address, int(sockets))
        conns = of_connection(address, first, int(count))
        print(json.dumps({"socket": statistics.median(rounds), "socket_rounds": [round(r) for r in rounds],
                          "connection": statistics.median(conns), "connection_rounds": [round(c) for c in conns]}))


main(*sys.argv[1:])
