#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Which paths the messages of some ports take: two namespaces, a socket in each for each port.

ways.py many ADDRESS PEER     one socket sends to many ports of the peer
ways.py answer ADDRESS PEER   questions and answers, of pairs of sockets

Ports share a way if they leave the same remainder to 256, so each call has addresses of its own.
"""
import ctypes
import json
import os
import socket
import subprocess
import sys
import time

BIN = os.environ["BIN"]
A, B = sys.argv[2:]
COUNT = 32


def rds(ns, addr, port):
    """A bound socket of namespace @ns."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/run/netns/{ns}") as f:
        if libc.setns(f.fileno(), 0x40000000):
            raise OSError(ctypes.get_errno(), "setns")
    s = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET)
    s.bind((addr, port))
    s.settimeout(10)
    return s


def sent(ns):
    """Next sequence of each path, control messages included."""
    out = subprocess.run(["ip", "netns", "exec", ns, BIN + "/rds-info", "--json", "-p"],
                         check=True, stdout=subprocess.PIPE).stdout
    rows = next(iter(v for v in json.loads(out).values() if isinstance(v, list)))
    return {r["path"]: r["next_tx"] for r in rows if A in (r["local_addr"], r["remote_addr"])}


def used(ns, send):
    """The paths by which @send() sent COUNT messages, each with how many."""
    before = sent(ns)
    send()
    return {p: n - before[p] for p, n in sent(ns).items() if n - before[p] > 3}


def contact():
    """Until the peers know how many paths there are, all goes by the first."""
    s = rds("n1", A, 6000)
    s.sendto(b"hello", (B, 6000))
    end = time.time() + 20
    while len(sent("n1")) < 8 or len(sent("n2")) < 8:
        if time.time() > end:
            sys.exit("# no eight paths")
        time.sleep(0.1)
    # the others wait for what went by the first
    time.sleep(1)


def many():
    s = rds("n1", A, 7777)
    ways = used("n1", lambda: [s.sendto(b"x", (B, 8000 + i)) for i in range(COUNT)])
    print("# one socket, many destinations:", ways)
    return len(ways) == 1 and next(iter(ways.values())) >= COUNT


def answer():
    ways = set()
    for port in range(7000, 7016):
        ask, tell = rds("n1", A, port), rds("n2", B, 100 + port * 3)

        def question():
            for _ in range(COUNT):
                ask.sendto(b"?", (B, 100 + port * 3))
                tell.recv(10)

        def reply():
            for _ in range(COUNT):
                tell.sendto(b"!", (A, port))
                ask.recv(10)

        there, back = used("n1", question), used("n2", reply)
        if len(there) != 1 or list(there) != list(back):
            print(f"# port {port}: questions by {there}, answers by {back}")
            return False
        ways |= set(there)
    print("# paths of 16 pairs:", sorted(ways))
    return len(ways) >= 3


contact()
sys.exit(not {"many": many, "answer": answer}[sys.argv[1]]())
