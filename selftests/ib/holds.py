# SPDX-License-Identifier: GPL-2.0
"""Walks over many messages, regions and links, over verbs: see net/holdtrace.py.

Usage: holds.py messages|window|regions|links COUNT LIMIT-US; driven by holds.sh, as root.
"""
import ctypes
import json
import mmap
import os
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SELFTESTS"], "net"))

import holdtrace
from holdtrace import SOL_RDS, end, fill, info, rds, run, sysctl, until

GET_MR, PORT = 2, 4000
HERE, SILENT = "10.5.0.1", "10.5.0.77"
DEV, RXE = "rdst0", "rxe_t"


def messages(h, count):
    holdtrace.messages(h, count, HERE, SILENT)


def device_goes():
    run("rdma", "link", "del", RXE)


def has_address():
    try:
        rds(HERE).close()
        return True
    except OSError:
        return False


def device_comes():
    run("rdma", "link", "add", RXE, "type", "rxe", "netdev", DEV)
    until(has_address, 20, "the device has no address")


def interface(state):
    run("ip", "link", "set", DEV, state)


def paths(state):
    out = subprocess.run([os.environ["BIN"] + "/rds-info", "--json", "-p"],
                         stdout=subprocess.PIPE).stdout
    return sum(p["state"] == state for p in json.loads(out)["paths"])


class Mute:
    """A peer who takes what comes, and says so when he is asked to; at an address of his own."""

    last = 100

    def __init__(self):
        Mute.last += 1
        self.program = subprocess.Popen([os.environ["BIN"] + "/rdsmute", HERE, str(Mute.last)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.address = self.answer()

    def answer(self):
        line = self.program.stdout.readline().split()
        if not line or line[0] != "ok":
            sys.exit("the peer says %s" % line)
        return line[1]

    def ask(self, what):
        self.program.stdin.write(what + "\n")
        self.program.stdin.flush()
        return int(self.answer())


def under_way(most):
    """A peer, and a socket from which he has as much as goes."""
    peer = Mute()
    s = rds(HERE, 1 << 28)
    n = fill(s, peer.address, range(30000, 30064), most)
    until(lambda: peer.ask("count") >= n, 300, "the peer takes not all")
    print("# %d under way" % n, flush=True)
    if n < most * 9 // 10:
        sys.exit("too few")
    return peer, s


def acknowledged(h, most):
    peer, s = under_way(most)
    h.during("acknowledged", lambda: peer.ask("ack"), 3)
    h.during("close", s.close, 1)
    end(peer.program)


def sent_again(h, most):
    peer, s = under_way(most)
    h.during("the peer goes", lambda: end(peer.program), 5)
    h.during("close", s.close, 2)


def device_leaves(peer, s):
    device_goes()


def interface_leaves(peer, s):
    """The link notices when something is to be sent."""
    interface("down")
    fill(s, peer.address, [PORT], 1)
    until(lambda: not paths("up"), 60, "the link stays up")


def goes(h, most, what, leave, come):
    peer, s = under_way(most)
    h.during("%s goes" % what, lambda: leave(peer, s), 2)
    h.during("close", s.close, 2)
    end(peer.program)
    come()


def window(h, most):
    """As many as a peer takes are not acknowledged; then they are, at once; or the link goes."""
    acknowledged(h, most)
    sent_again(h, most)
    sysctl(close_timeout_ms=0)
    goes(h, most, "the device", device_leaves, device_comes)
    goes(h, most, "the interface", interface_leaves, lambda: interface("up"))
    sysctl(close_timeout_ms=10000)


def register(count):
    """So many regions of one page, of a process that is told and stays."""
    s = rds(HERE)
    page = mmap.mmap(-1, mmap.PAGESIZE)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    cookie = ctypes.c_uint64()
    arg = struct.pack("=QQQQ", at, mmap.PAGESIZE, ctypes.addressof(cookie), 0)
    n = 0
    try:
        while n < count:
            s.setsockopt(SOL_RDS, GET_MR, arg)
            n += 1
    except OSError as e:
        print("# no more regions: %s" % e)
    print("# %d regions" % n, flush=True)
    print("ready", flush=True)
    time.sleep(1000)


def owner(count):
    p = subprocess.Popen([sys.executable, "-Su", __file__, "register", str(count)],
                         stdout=subprocess.PIPE, text=True)
    for line in p.stdout:
        if line.startswith("ready"):
            return p
        print(line, end="", flush=True)
    sys.exit("no regions")


def regions(h, count):
    p = owner(count)
    h.during("the end of a process", lambda: end(p), 1)
    p = owner(count)
    h.during("the device goes", device_goes, 1)
    h.during("the end of a process", lambda: end(p), 1)
    device_comes()


def dial(socks):
    for i, s in enumerate(socks):
        for to in socks[i:]:
            s.sendto(b"", socket.MSG_DONTWAIT, to.getsockname())


def all_up(count):
    """So many messages were sent, and arrive."""
    until(lambda: paths("up") >= count, 120, "not all links come up")


def links(h, count):
    """Each of so many addresses has a link to each."""
    both = count * count
    socks = [rds("10.5.0.%d" % (i + 1), port=PORT) for i in range(count)]
    h.during("%d links" % both, lambda: (dial(socks), all_up(both)))
    h.during("info", lambda: info("-n", "-p", "-I", "-s"))
    h.during("the interface goes", lambda: (interface("down"), dial(socks)), 5)
    print("# %d are up" % paths("up"))
    interface("up")
    dial(socks)
    all_up(both)
    h.during("the device goes", device_goes, 3)
    print("# %d are up" % paths("up"))
    device_comes()
    all_up(both)
    h.during("they are closed", lambda: [s.close() for s in socks], 1)


if __name__ == "__main__":
    if sys.argv[1] == "register":
        register(int(sys.argv[2]))
    holdtrace.main(globals())
