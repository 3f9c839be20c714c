# SPDX-License-Identifier: GPL-2.0
"""Programs that send and end at once, and one who wants it all; see orphans.sh.

Usage: orphans.py send FROM TO PORT SECONDS MESSAGES
       orphans.py recv ADDRESS PORT FILE
       orphans.py one FROM TO PORT TEXT
"""
import os
import socket
import struct
import sys
import time

HEAD = struct.Struct("!IIH")


def bound(addr, port=0):
    s = socket.socket(21, socket.SOCK_SEQPACKET)
    s.bind((addr, port))
    return s


def body(who, nr):
    n = (who * 7919 + nr * 104729) % 3000
    return HEAD.pack(who, nr, n) + bytes((who + nr + i) & 255 for i in range(n))


def program(source, to, who, messages):
    s = bound(source)
    for nr in range(messages):
        s.sendto(body(who, nr), to)
    os._exit(0)


def send(source, addr, port, seconds, messages):
    """One program after the other."""
    end = time.monotonic() + float(seconds)
    who = 0
    while time.monotonic() < end:
        pid = os.fork()
        if not pid:
            program(source, (addr, int(port)), who, int(messages))
        if os.waitpid(pid, 0)[1]:
            sys.exit("a program failed")
        who += 1
    print("sent", who, "times", messages, flush=True)


def recv(addr, port, expected):
    """Until the file says how many programs there were, and all that they sent is here."""
    s = bound(addr, int(port))
    s.settimeout(0.2)
    print("ready", flush=True)
    following, got, quiet = {}, 0, None
    while True:
        try:
            m = s.recv(65536)
        except TimeoutError:
            words = open(expected).read().split() if os.path.exists(expected) else []
            if len(words) != 4:
                continue
            want = int(words[1]) * int(words[3])
            quiet = quiet or time.monotonic()
            if got == want or time.monotonic() > quiet + 60:
                print("got", got, "of", want, flush=True)
                sys.exit(got != want)
            continue
        quiet = None
        who, nr, n = HEAD.unpack_from(m)
        if nr != following.get(who, 0):
            sys.exit(f"message {nr} of program {who}, not {following.get(who, 0)}")
        if m != body(who, nr):
            sys.exit(f"message {nr} of program {who} is damaged")
        following[who] = nr + 1
        got += 1


def one(source, addr, port, text):
    """A message, and the end."""
    bound(source).sendto(text.encode(), (addr, int(port)))
    os._exit(0)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
