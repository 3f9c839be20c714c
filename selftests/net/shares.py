# SPDX-License-Identifier: GPL-2.0
"""Users, and peers, who take as many connections as they get; driven by shares.sh.

Usage: shares.py user UID ADDRESS NET COUNT
       shares.py ports UID ADDRESS MOST
       shares.py subordinates OWNER ADDRESS NET COUNT
       shares.py leavers OWNER ADDRESS DEAD COUNT
       shares.py peers PREFIX VICTIM COUNT
"""
import ctypes
import os
import resource
import socket
import struct
import sys
import time

PORT, CLONE_NEWUSER = 16385, 0x10000000


def say(*words):
    print(*words, flush=True)


def take(addr, net, count):
    """A message to each of COUNT addresses that nobody has; how many were accepted."""
    s = socket.socket(21, socket.SOCK_SEQPACKET)
    s.bind((addr, 0))
    n = 0
    for i in range(int(count)):
        try:
            s.sendto(b"", socket.MSG_DONTWAIT, ("10.%d.0.%d" % (int(net), 1 + i), 5))
            n += 1
        except OSError:
            pass
    return s, n


def user(uid, addr, net, count):
    os.setuid(int(uid))
    s, n = take(addr, net, count)
    say("accepted", n)
    time.sleep(600)
    del s


def ports(uid, addr, most):
    """As many ports of an address as there are to be had."""
    keep, most = [], int(most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (70000, 70000))
    os.setuid(int(uid))
    try:
        while len(keep) < most:
            keep.append(socket.socket(21, socket.SOCK_SEQPACKET))
            keep[-1].bind((addr, 0))
        say("accepted", most)
    except OSError as e:
        say(e)
        say("accepted", len(keep) - 1)
    time.sleep(600)


def mapped(owner, ready, go):
    """In a user namespace of OWNER's, as one of his subordinates after the other."""
    os.setuid(int(owner))
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER):
        sys.exit("unshare: errno %d" % ctypes.get_errno())
    os.write(ready, b"x")
    os.read(go, 1)


def subordinates(owner, addr, net, count):
    in_turn(owner, lambda k: take(addr, int(net) + k - 1, count))


def leave(addr, dead, count):
    """COUNT sockets are closed with a message to an address that nobody has."""
    for _ in range(int(count)):
        s = socket.socket(21, socket.SOCK_SEQPACKET)
        s.bind((addr, 0))
        s.sendto(b"", socket.MSG_DONTWAIT, (dead, 5))
        s.close()
    return None, int(count)


def leavers(owner, addr, dead, count):
    in_turn(owner, lambda _: leave(addr, dead, count))


def in_turn(owner, doing):
    """Two subordinates of OWNER do something, one after the other; what they got in all."""
    ready, go, told = os.pipe(), os.pipe(), os.pipe()
    pid = os.fork()
    if not pid:
        mapped(owner, ready[1], go[0])
        for k in 1, 2:
            if not os.fork():
                os.setresuid(k, k, k)
                s, n = doing(k)
                os.write(told[1], struct.pack("i", n))
                time.sleep(600)
            say("subordinate", k, "had", n := struct.unpack("i", os.read(told[0], 4))[0])
            total = n if k == 1 else total + n
        say("accepted", total)
        time.sleep(600)
    os.close(ready[1])
    if not os.read(ready[0], 1):
        sys.exit("no user namespace")
    with open("/proc/%d/uid_map" % pid, "w") as f:
        f.write("0 %s 1\n1 100000 9\n" % owner)
    os.write(go[1], b"x")
    time.sleep(600)


def peers(prefix, victim, count):
    """COUNT peers connect, say one valid thing and stay."""
    stay = []
    for i in range(int(count)):
        s = socket.socket(socket.AF_INET6)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.settimeout(5)
        try:
            s.bind(("%s%x" % (prefix, 0x1000 + i), 0))
            s.connect((victim, PORT))
            s.send(struct.pack(">QQIHHBB4xH16s", 1, 0, 0, 0, 0, 0, 0, 0, b""))
            if s.recv(1):
                stay.append(s)
        except OSError:
            pass
    say("accepted", len(stay))
    time.sleep(600)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
