# SPDX-License-Identifier: GPL-2.0
"""Walks over many messages, sockets and connections, over TCP and loopback: see holdtrace.py.

Usage: holds.py messages|received|window|sockets|connections COUNT LIMIT-US; driven by holds.sh, as
root in the sender's namespace.
"""
import os
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import holdtrace
from holdtrace import SOL_RDS, end, fill, info, pile, rds, run, sysctl

CONG_MONITOR, INFO_SOCKETS = 6, 10006
HERE, SILENT, PEER = "10.1.0.1", "10.1.0.77", "10.1.0.2"


def messages(h, count):
    holdtrace.messages(h, count, HERE, SILENT)


def list_unread(count):
    """Each of so many messages is listed, below a head."""
    out = subprocess.run([os.environ["BIN"] + "/rds-info", "-r"], stdout=subprocess.PIPE).stdout
    if not count <= out.count(b"\n") <= count + 5:
        sys.exit("%d lines of %d messages" % (out.count(b"\n"), count))


def received(h, count):
    """As many lie on one queue, then on many, and nobody reads them."""
    for what, socks in ("one", 1), ("each of many", 150):
        ports = [rds(HERE, port=1000 + i, rcvbuf=1 << 30) for i in range(socks)]
        sender = pile(HERE, HERE, socks, count // socks)
        h.during("info of %s" % what, lambda: list_unread(count // socks * socks))
        h.during("close of %s" % what, lambda: [s.close() for s in ports])
        end(sender)


def drain(port):
    try:
        while True:
            port.recv(1000, socket.MSG_DONTWAIT)
    except OSError:
        pass


def full_and_free(sender, port, most, size):
    """The receiver of @port is congested, and then it has read all."""
    fill(sender, HERE, [port.getsockname()[1]], most, size)
    drain(port)


def monitors(s, port):
    """It does from now on, for it was refused."""
    s.setsockopt(SOL_RDS, CONG_MONITOR, struct.pack("=i", 1))
    return not fill(s, port[0], [port[1]], 1)


def there_are():
    out = subprocess.run([os.environ["BIN"] + "/rds-info", "-n"], stdout=subprocess.PIPE).stdout
    return out.count(b" 10.2.")


def expire():
    """All connections, though nothing but time goes by."""
    sysctl(idle_conn_timeout_ms=1000)
    end = time.monotonic() + 120
    while there_are():
        if time.monotonic() > end:
            sys.exit("the connections stay")
        time.sleep(1)


def kill_links():
    run("ss", "-K", "dport", "=", "16385", "or", "sport", "=", "16385")


def window(h, most):
    """As many as a link takes are not acknowledged; then they are, at once; or the link goes."""
    for what in "acknowledged", "sent again":
        s = rds(HERE, 1 << 28)
        run("tc", "qdisc", "replace", "dev", "eth0", "root",
            "netem", "delay", "2s", "limit", "1000000")
        n = fill(s, PEER, range(30000, 30064), most)
        time.sleep(0.5)
        print("# %d under way" % n)
        if what == "acknowledged":
            h.during(what, lambda: run("tc", "qdisc", "del", "dev", "eth0", "root"), 6)
        else:
            h.during("the link goes", kill_links, 0.2)
            h.during(what, lambda: run("tc", "qdisc", "del", "dev", "eth0", "root"), 6)
        sysctl(close_timeout_ms=0)
        h.during("close", s.close, 1)
        sysctl(close_timeout_ms=10000)


def list_sockets(s):
    try:
        s.getsockopt(SOL_RDS, INFO_SOCKETS, 8)
    except OSError:
        pass            # there are more


def ends_beside_info(h, count):
    """Sockets that are closed but not freed yet are many when a process ends."""
    ready, tell = os.pipe()
    pid = os.fork()
    if not pid:
        keep = [rds() for _ in range(count)]
        os.write(tell, b"%d" % len(keep))
        signal.pause()
    os.read(ready, 8)

    def ends():
        os.kill(pid, signal.SIGKILL)
        while not os.waitpid(pid, os.WNOHANG)[0]:
            list_sockets(asker)
            os.sched_yield()
        list_sockets(asker)
    with rds() as asker:
        h.during("a process ends", ends, 1)


def sockets(h, count):
    keep = [rds(HERE) for _ in range(count)]
    h.during("info", lambda: info("-k", "-s", "-r"))
    port = rds(HERE)
    h.during("a port full and free", lambda: full_and_free(keep[0], port, 10000, 60000))
    port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 10000)
    fill(keep[0], HERE, [port.getsockname()[1]], 1000, 900)
    refused = sum(monitors(s, port.getsockname()) for s in keep)
    print("# %d monitors were refused" % refused)
    if refused < count:
        sys.exit("too few")
    h.during("monitors are told", lambda: drain(port), 1)

    def leave():
        for s in keep:
            s.close()
    h.during("all are closed", leave, 1)
    ends_beside_info(h, count)


def connections(h, count):
    sysctl(max_conns=count + 100)
    run("ip", "route", "add", "10.2.0.0/16", "dev", "eth0")
    run("tc", "qdisc", "replace", "dev", "eth0", "root", "pfifo", "limit", "1")
    s = rds(HERE, 1 << 28)

    def connect():
        for i in range(count):
            s.sendto(b"", socket.MSG_DONTWAIT, ("10.2.%d.%d" % (i // 250, 1 + i % 250), 5))
    h.during("%d connections" % count, connect)
    h.during("info", lambda: info("-n", "-p", "-T", "-s"))
    h.during("links with new buffers", lambda: sysctl(tcp__rds_tcp_sndbuf=200000), 2)
    port = rds(HERE)
    port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 10000)

    def toggle():
        for _ in range(3):
            full_and_free(s, port, 1000, 900)
            time.sleep(0.2)
    h.during("a port full and free", toggle, 2)
    sysctl(close_timeout_ms=0)
    h.during("close", s.close, 2)
    print("# %d are left" % there_are())
    h.during("all expire", expire)
    sysctl(idle_conn_timeout_ms=60000, close_timeout_ms=10000)


if __name__ == "__main__":
    holdtrace.main(globals())
