# SPDX-License-Identifier: GPL-2.0
"""A peer who lets others in and reads nothing, and one who sends to it with zero copy; see gone.sh.

Usage: gone.py MODE ARGUMENTS...
"""
import errno
import mmap
import socket
import struct
import sys
import time

from room import PORT, Clock, dial, header, say

SOL_RDS, CANCEL_SENT_TO, ZCOPY_COOKIE = 276, 1, 12
SO_ZEROCOPY, MSG_ZEROCOPY = 60, 0x4000000


def shut(addr):
    """Whoever dials us is let in, and nothing is read; TCP's window closes."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.bind((addr, PORT))
    s.listen(100)
    say("listening")
    kept = []
    while True:
        kept.append(s.accept()[0])
        say("call")


def sends(how, source, victim, cancel=""):
    """Messages, zcopy in pages of ours, until no more are taken; perhaps cancelled; then we end."""
    zcopy = how == "zcopy"
    s = socket.socket(21, socket.SOCK_SEQPACKET)
    s.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, zcopy)
    s.bind((source, 4000))
    pages = mmap.mmap(-1, 65536)
    pages.write(b"z" * 65536)
    n, full = 0, None
    while full is None or time.monotonic() < full + 1:
        try:
            s.sendmsg([memoryview(pages)[:65000]],
                      [(SOL_RDS, ZCOPY_COOKIE, struct.pack("=I", n))] * zcopy,
                      MSG_ZEROCOPY * zcopy | socket.MSG_DONTWAIT, (victim, 4000))
            n += 1
            full = None
        except OSError as e:
            if e.errno not in (errno.EAGAIN, errno.ENOBUFS):
                raise
            full = full or time.monotonic()
            time.sleep(0.05)
    if cancel:
        to = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(4000), socket.inet_aton(victim))
        s.setsockopt(SOL_RDS, CANCEL_SENT_TO, to)
    say("queued", n)


def early(source, victim, rounds):
    """Links that bring a ping at once, or when they are just being adopted; each is answered."""
    late, clock = 0, Clock()
    for i in range(int(rounds)):
        s = dial(source, victim)
        s.settimeout(20)
        end = time.perf_counter() + i % 40 * 25e-6
        while time.perf_counter() < end:
            pass
        s.sendall(header(i + 1, 0, 5, 0))
        begun = clock.ms()
        try:
            if not s.recv(4096):
                say("closed in round", i)
        except TimeoutError:
            say("no answer in round", i)
        if clock.ms() > begun + 1000:
            late += 1
        s.close()
    say("late", late)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
