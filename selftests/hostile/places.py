# SPDX-License-Identifier: GPL-2.0
"""A peer whose links come before anybody has said which paths they are.

Usage: places.py together|late|left|beside|crowd ADDRESS, places.py reader WHAT-THE-PEER-SAYS; driven by
places.sh
"""
import ast
import errno
import select
import socket
import struct
import sys
import time

from fanout import ANNOUNCE
from room import PORT, dial, header, say, swallow

VICTIM = "10.1.0.3"
READER, SENDER = 4000, 5000
REPEATED = 4                    # RETRANSMITTED
BASE = 50000                    # a multiple of eight: path 0
IN_TIME = 0.8                   # well within the second that an old link has


def message(s, seq, number, sport, flags=0):
    body = b"%d" % number
    s.sendall(header(seq, len(body), sport, READER, flags) + body)


def messages(s, first, last, sport, flags=0):
    for n in range(first, last + 1):
        message(s, n, n, sport, flags)


def tell(s, seq):
    """A ping that says how many paths we have, and that our ports tell them."""
    s.sendall(header(seq, 0, 1, 0)[:32] + ANNOUNCE)


def await_end(s):
    """Until the victim has closed its half."""
    end = time.monotonic() + 20
    while swallow(s) and time.monotonic() < end:
        time.sleep(0.02)


def finish(expected, drops):
    time.sleep(1.5)
    say("drops", drops)
    say("expected", expected)


def together(addr):
    """We redial all paths at once; the victim, which was started anew, knows none."""
    links = []
    for i in range(8):
        s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.bind((addr, BASE + i))
        s.setblocking(False)
        s.connect_ex((VICTIM, PORT))
        links.append(s)
    for i, s in enumerate(links):
        select.select([], [s], [], 10)
        message(s, 900 - 100 * i, i, SENDER + i, REPEATED)
    finish(list(range(8)), 0)


def first_link(addr):
    """One on path 0 that says nothing of paths until it is no longer young."""
    zero = dial(addr, VICTIM, BASE)
    messages(zero, 1, 10, SENDER)
    time.sleep(5.5)
    return zero


def late(addr):
    """A link of path 3 is taken for a new one of path 0; then the old one tells of paths."""
    zero = first_link(addr)
    three = dial(addr, VICTIM, BASE + 3)
    message(three, 5, 35, SENDER + 1, REPEATED)
    await_end(zero)
    tell(zero, 11)
    zero.shutdown(socket.SHUT_WR)
    time.sleep(1)
    again = dial(addr, VICTIM, BASE + 8)
    message(again, 9, 9, SENDER, REPEATED)
    finish(list(range(1, 11)) + [35], 1)


def left(addr):
    """The same, but it is left, and its messages are repeated, while it waits."""
    zero = first_link(addr)
    three = dial(addr, VICTIM, BASE + 3)
    messages(three, 21, 23, SENDER + 1)
    three.shutdown(socket.SHUT_WR)
    await_end(zero)
    tell(zero, 11)
    time.sleep(0.2)
    again = dial(addr, VICTIM, BASE + 11)
    messages(again, 21, 23, SENDER + 1, REPEATED)
    finish(list(range(1, 11)) + [21, 22, 23], 3)


def misplaced(addr):
    """A link of path 3 that came first, so that it was taken for path 0, and is to be left."""
    old = dial(addr, VICTIM, BASE + 3)
    messages(old, 1, 5, SENDER)
    time.sleep(0.5)
    # pings are path 0's: by another one they would tell of a middlebox that changes ports
    zero = dial(addr, VICTIM, BASE)
    tell(zero, 1)
    zero.shutdown(socket.SHUT_WR)
    await_end(old)
    return old


def beside(addr):
    """What the link on the wrong path still brings comes again by the one on the right path."""
    old = misplaced(addr)
    start = time.monotonic()
    new = dial(addr, VICTIM, BASE + 11)
    messages(new, 6, 8, SENDER, REPEATED)
    time.sleep(0.2)
    messages(old, 6, 8, SENDER)
    time.sleep(0.1)
    old.shutdown(socket.SHUT_WR)
    # the victim takes its time to read it all, too
    if time.monotonic() - start > IN_TIME * 3 / 4:
        sys.exit("too slow: the old link's second may have been over")
    finish(list(range(1, 9)), 3)


WAIT = 8                        # so many links of a path can wait until the one before has ended
CROWD = 24


def thrown_out(s):
    """Reset before it was a link: nobody has greeted."""
    try:
        s.recv(1, socket.MSG_DONTWAIT)
    except ConnectionResetError:
        return True
    except BlockingIOError:
        pass
    return False


def leave(s):
    """It may be reset already: the old link's time is a second, and then the others have their turn."""
    try:
        s.shutdown(socket.SHUT_WR)
    except OSError as e:
        if e.errno != errno.ENOTCONN:
            raise


def crowd(addr):
    """The first link waits as in beside(), the others for it; more come than can wait."""
    old = misplaced(addr)
    start = time.monotonic()
    links, last = [], 0
    for i in range(CROWD):
        s = None
        try:
            s = dial(addr, VICTIM, BASE + 11 + 8 * i)
            if i == 0 or i > WAIT:
                message(s, 6 + i, 6 + i, SENDER)
        except (ConnectionResetError, BrokenPipeError):
            s = None
        links.append(s)
        if time.monotonic() - start < IN_TIME:
            last = i
    time.sleep(0.2)
    gone = [i for i, s in enumerate(links) if not s or thrown_out(s)]
    say("replaced", len(gone), gone)
    # not here, or not there: what the victim accepted after that second found room
    slow = last < CROWD - 1 or len(gone) < WAIT
    # On a slow machine some have had their turn meanwhile, and who comes when the old link's
    # second is over finds room: the last one before that does not.
    if len(gone) < WAIT or gone[0] > 1 + WAIT // 2 or (last > 2 * WAIT and last not in gone):
        sys.exit("too slow: they came when the old link's second was over" if slow else
                 "those are the wrong ones")
    stay = [i for i in range(CROWD) if i not in gone]
    for s in [old] + [links[i] for i in stay]:
        leave(s)
    time.sleep(3)
    finish([1, 2, 3, 4, 5] + [6 + i for i in stay if i == 0 or i > WAIT], 0)


def reader(said):
    s = socket.socket(21, socket.SOCK_SEQPACKET)
    s.bind((VICTIM, READER))
    say("bound")
    s.settimeout(0.3)
    got, expected = [], None
    while expected is None:
        try:
            got.append(int(s.recv(64)))
        except TimeoutError:
            with open(said, encoding="ascii") as f:
                for line in f:
                    if line.startswith("expected "):
                        expected = ast.literal_eval(line[9:])
    say("received", got)
    say("ok" if sorted(got) == expected else "wrong")


globals()[sys.argv[1]](*sys.argv[2:])
