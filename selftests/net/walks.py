# SPDX-License-Identifier: GPL-2.0
"""How many calls does a bystander get done beside many objects of others?  Driven by walks.sh.

Usage: walks.py sockets|monitors ADDRESS COUNT
       walks.py toggles ADDRESS CONNECTIONS SECONDS
"""
import ctypes
import os
import resource
import signal
import socket
import struct
import sys
import time

RDS, SOL_RDS, CONG_MONITOR, INFO_SOCKETS = 21, 276, 6, 10006
WINDOWS, WINDOW = 10, 0.4
# Who lists them has the lock for 32 at a time, and somebody else waits for that: he gets a tenth done
# in QEMU.  With all in one hold, tens of milliseconds each, it is two hundredths.
RATIO = 40


def rds():
    return socket.socket(RDS, socket.SOCK_SEQPACKET)


def bound(addr, rcvbuf=0):
    s = rds()
    if rcvbuf:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    s.bind((addr, 0))
    return s


def window():
    n, end = 0, time.perf_counter() + WINDOW
    while time.perf_counter() < end:
        rds().close()
        n += 1
    return n


def bystander(load):
    """The best window's number of calls: what else happens on the machine is not in all of them."""
    pid = os.fork()
    if not pid:
        while True:
            load()
    time.sleep(0.2)
    most = max(window() for _ in range(WINDOWS))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return most


def judge(what, few, many):
    print("# %s: a bystander opens and closes %d sockets beside a few, %d beside many"
          % (what, few, many))
    sys.exit(few > RATIO * many)


def full(sender, receiver):
    try:
        while True:
            sender.sendto(bytes(900), socket.MSG_DONTWAIT, receiver.getsockname())
    except OSError:
        pass


def drain(s):
    try:
        while True:
            s.recv(1000, socket.MSG_DONTWAIT)
    except OSError:
        pass


def sockets(addr, count):
    libc, buf = ctypes.CDLL(None), ctypes.create_string_buffer(8)
    keep = [rds()]

    def ask():
        n = ctypes.c_int(0)
        libc.getsockopt(keep[0].fileno(), SOL_RDS, INFO_SOCKETS, buf, ctypes.byref(n))

    few = bystander(ask)
    keep += [rds() for _ in range(int(count))]
    judge("list of sockets", few, bystander(ask))


def monitors(addr, count):
    held, sender = bound(addr, 1), bound(addr)
    full(sender, held)
    port = bound(addr, 1)
    while port.getsockname()[1] % 64 == held.getsockname()[1] % 64:
        port = bound(addr, 1)

    def toggle():
        full(sender, port)
        drain(port)

    def monitor():
        m = rds()
        m.bind((addr, 0))
        m.setsockopt(SOL_RDS, CONG_MONITOR, struct.pack("i", 1))
        try:
            m.sendto(b"x", socket.MSG_DONTWAIT, held.getsockname())
            sys.exit("the port is not congested")
        except OSError:
            return m

    few = bystander(toggle)
    keep = [monitor() for _ in range(int(count))]
    judge("monitors", few, bystander(toggle))
    del keep


def toggles(addr, count, seconds):
    """One port of ADDR is full and free again, as fast as it goes, while so many are connected."""
    sender, port = bound(addr), bound(addr, 1)
    dead = [bound(addr) for _ in range(4)]
    for i in range(int(count)):
        dead[i % 4].sendto(b"", socket.MSG_DONTWAIT, ("10.2.%d.%d" % (i // 250, 1 + i % 250), 5))
    print("connected", flush=True)
    sys.stdin.readline()
    n, end = 0, time.monotonic() + float(seconds)
    while time.monotonic() < end:
        full(sender, port)
        drain(port)
        n += 1
    print("toggled %d times on port %d" % (n, port.getsockname()[1]), flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (200000, 200000))
    globals()[sys.argv[1]](*sys.argv[2:])
