#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=60
"""The demonstration at terminals of several sizes: events as they come are played to a pseudo
terminal, and what it would show is looked at. No line wraps, of the bars there is one copy, and
all that was said can be read, also when the terminal gets narrower in between.

    demo_screen.py           the test
    demo_screen.py play      plays the events to where standard output goes
"""

import fcntl
import os
import pty
import re
import struct
import sys
import termios

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(TOP, "demo"))

import screen                             # noqa: E402

HASH = "0123456789abcdef" * 4
NAMES = (("B", "this module over TCP"), ("C", "in-tree over TCP"), ("A2", "this module, loopback"),
         ("D", "this module over RoCE"))
INFO = ["", "RDS Connections:", "LocalAddr RemoteAddr Tos NextTX NextRX Flgs",
        "10.0.0.1  10.0.0.2     0   2761    118 --C", "", "RDS Paths:",
        "LocalAddr RemoteAddr Tos Path Of State         NextTX NextRX Queued Unacked Links Backoff Transport"]


def bars(done, state="sending", path="up"):
    return [(name, what, min(1.0, done * (i + 1)), int(66e6 * min(1.0, done * (i + 1))), 12.3 * i,
             path if name == "B" else "up", state if name == "B" else "window-full")
            for i, (name, what) in enumerate(NAMES)]


def events():
    """What a run shows, in its order, with the longest texts that there are."""
    yield "event", "choosing files to send"
    yield "event", "four guests boot: 6.12.117+deb12-amd64, this project's, this project's, in-tree, this project's"
    yield "table", [("node", "kernel", "module", "from", "address", "processors")] + [
        (n, "6.12.117+deb12-amd64", "in-tree, Debian's", "/kernel/net/rds/rds.ko.xz", "10.0.0.1/24", 2) for n in "ABCD"]
    yield "event", "one process on A sends 1187 files, 69.3 MB, to four peers at once"
    for n in range(20):
        yield "bars", bars(n / 100)
    yield "listing", INFO
    yield "event", "cutting the link of B for 10 s"
    for n in range(20):
        yield "bars", bars(0.2, "window-full", "disconnecting" if n % 2 else "connecting")
    yield "event", "link of B is back; meanwhile: B +0.0 MB, C +12.5 MB, A2 complete, D +17.3 MB"
    yield "half", None
    for n in range(20):
        yield "bars", bars(0.37, "rebooting", "-")
    yield "event", "B is up again, its memory empty; a fresh receiver asks for what it lacks"
    for n in range(20):
        yield "bars", bars(0.25 + n / 20)
    yield "event", "all four say that they have everything"
    yield "say", "  RDMA write of 1024 KiB, notified: success; the peer has checked them (12 ms)"
    yield "table", screen.changed_counters({}, {"send_queued": 306174993, "recv_drop_old_seq": 0},
                                           ("send_queued", "recv_drop_old_seq"))
    yield "table", [("copy", "by way of", "files", "messages", "sha256 of the tree", "")] + [
        (name, what, 1187, 12345, screen.short_hash(HASH), "identical") for name, what in NAMES]
    yield "say", "demo: every copy is identical, 123 s"


def play():
    s = screen.Screen()
    for what, arg in events():
        if what == "half":
            sys.stdin.readline()
        else:
            getattr(s, what)(arg)


class Terminal:
    """The little of a terminal that the demonstration uses. Lines that left at the top stay in
    self.gone, as they were."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines, self.gone = [""], []
        self.y = self.x = 0
        self.wraps = 0

    def newline(self):
        self.y += 1
        if self.y == len(self.lines):
            self.lines.append("")
        if len(self.lines) > self.rows:
            self.gone.append(self.lines.pop(0))
            self.y -= 1

    def resize(self, columns, rows):
        """As most do: lines that do not fit any more are broken. The cursor is below all."""
        folded = [line[i:i + columns] for line in self.lines for i in range(0, max(len(line), 1), columns)]
        self.columns, self.rows = columns, rows
        self.gone += folded[:-rows] if len(folded) > rows else []
        self.lines = folded[-rows:]
        self.y = len(self.lines) - 1

    def char(self, c):
        if self.x == self.columns:
            self.wraps += 1
            self.newline()
            self.x = 0
        line = self.lines[self.y]
        self.lines[self.y] = line[:self.x].ljust(self.x) + c + line[self.x + 1:]
        self.x += 1

    def feed(self, text):
        for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|[^\x1b]", text):
            if part == "\n":
                self.newline()
            elif part == "\r":
                self.x = 0
            elif part.endswith("F") and part[0] == "\x1b":
                self.y, self.x = max(0, self.y - int(part[2:-1] or 1)), 0
            elif part.endswith("J") and part[0] == "\x1b":
                self.lines = self.lines[:self.y] + [self.lines[self.y][:self.x]]
            elif part[0] != "\x1b":
                self.char(part)

    def all(self):
        return self.gone + self.lines


def set_size(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def read_some(fd):
    try:
        return os.read(fd, 65536)
    except OSError:             # the other side is closed
        return b""


def show(first, second):
    """The terminal after the events, which got another size half-way."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, os.path.abspath(__file__), "play", "wait"])
    attrs = termios.tcgetattr(fd)
    attrs[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSANOW, attrs)
    set_size(fd, *first)
    os.write(fd, b"go\n")
    t = Terminal(*first)
    text = b""
    # the second half waits until it is told
    while b"D +17.3 MB" not in b" ".join(re.sub(rb"\x1b\[[0-9;]*[A-Za-z]", b"", text).split()) and (data := read_some(fd)):
        text += data
    while not text.endswith(b"\n") and (data := read_some(fd)):
        text += data
    t.feed(text.decode())
    set_size(fd, *second)
    if first != second:
        t.resize(*second)
    os.write(fd, b"go\n")
    text = b""
    while data := read_some(fd):
        text += data
    t.feed(text.decode())
    return t, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def judge(t, status):
    """What is wrong with it."""
    wrong = []
    if status:
        wrong.append(f"it ended with {status}")
    if t.wraps:
        wrong.append(f"{t.wraps} lines wrap")
    lines = t.all()
    for name, _ in NAMES:
        n = sum(bool(re.match(rf"  {name} .* %( |$)", line)) for line in lines)
        if n != 0:
            wrong.append(f"{n} stale bars of {name}")
    # wherever a line was broken
    said = "".join("".join(lines).split())
    for what, arg in events():
        if what in ("event", "say") and "".join(arg.split()) not in said:
            wrong.append(f"not to be read: {arg}")
    if lines[-2:] != ["demo: every copy is identical, 123 s", ""]:
        wrong.append(f"the end is {lines[-2:]}")
    return wrong


def bar_is_complete():
    """At 80 columns a bar has all that tells something."""
    line = screen.bar("B", "this module over TCP", 0.37, 24500000, 3.9, "up", "window-full", 79)
    down = screen.bar("B", "this module over TCP", 0.37, 24500000, 0.0, "connecting", "window-full", 79)
    return [] if (re.fullmatch(r"  B   this module over TCP  \[#+\.+\]  37 %  24\.5 MB   3\.9 MB/s  window-full", line) and
                  down.endswith("connecting")) else [line, down]


def figures():
    """Commas, and no rows that show nothing."""
    rows = screen.changed_counters({"a": 5}, {"a": 306174998, "b": 0, "c": 7, "d": 7}, ("a", "b", "c", "missing"))
    lines = screen.table(rows)
    return [] if [line.split() for line in lines[1:]] == [["a", "306,174,993"], ["c", "7"]] else lines


def main():
    if sys.argv[1:2] == ["play"]:
        if sys.argv[2:]:
            sys.stdin.readline()        # until the terminal has its size
        play()
        return 0
    cases = [(f"{c}x{r}", lambda c=c, r=r: judge(*show((c, r), (c, r))))
             for c, r in ((80, 24), (60, 20), (40, 10), (200, 50))]
    cases += [("100x30, then 60x20", lambda: judge(*show((100, 30), (60, 20)))),
              ("60x20, then 200x50", lambda: judge(*show((60, 20), (200, 50)))),
              ("a bar at 80 columns", bar_is_complete), ("figures", figures)]
    print(f"TAP version 13\n1..{len(cases)}")
    failed = 0
    for n, (name, case) in enumerate(cases, 1):
        wrong = case()
        for line in wrong:
            print("#", line)
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {n} {name}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
