# SPDX-License-Identifier: GPL-2.0
"""What the demonstration shows, and how: text, and nothing that knows of guests.

Events scroll; on a terminal the bars below them are redrawn in place. No line is longer
than the terminal is wide, whatever that is just now: what is redrawn is found again by
counting lines, and a line that wraps would be two."""

import json
import os
import sys
import textwrap
import time

WIDE = 100000                   # no terminal: nothing is cut
BAR = 28                        # the longest
EVENT_INDENT = 11               # of the second line of an event


def number(n):
    """With commas, for people."""
    return f"{n:,}" if isinstance(n, int) else str(n)


def cut(text, width):
    """At most so wide; it is seen that something is missing."""
    if len(text) <= width:
        return text
    return text[:max(width - 2, 0)] + ".."[:width]


def short_hash(text, width=16):
    """The beginning of a hash is enough to compare by eye; what is none is left alone."""
    return text[:width] + ".." if len(text) == 64 else text


def table(rows, width=WIDE):
    """Lines of a table with a head; the widest cells are cut until a line fits."""
    rows = [[number(c) for c in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    room = width - 2 - 2 * (len(widths) - 1)
    while sum(widths) > room and max(widths) > 4:
        widths[widths.index(max(widths))] -= 1
    return [cut("  " + "  ".join(cut(c, w).ljust(w) for c, w in zip(row, widths)).rstrip(), width)
            for row in rows]


def bar(name, what, part, acked, rate, path, state, width=WIDE):
    """One peer in one line. What tells least is left out first: the state of the path when it
    is up, the name of the transport, bytes and rate."""
    status = state if path in ("up", "-") else path
    show_path = width >= 104
    left = f"  {name:3} {what:21} " if width >= 70 else f"  {name:3} "
    right = f" {part * 100:3.0f} %"
    if width >= 50:
        right += f" {acked / 1e6:5.1f} MB"
    if width >= 60:
        right += f" {rate:5.1f} MB/s"
    right += f"  {path:13} {state:11}" if show_path else f"  {cut(status, 13):13}"
    full = min(BAR, width - len(left) - len(right) - 2)
    if full < 4:
        return cut((left + right).rstrip(), width)
    done = round(part * full)
    return (left + f"[{'#' * done}{'.' * (full - done)}]" + right).rstrip()


def changed_counters(before, after, names):
    """Rows for the counters that moved, and by how much."""
    rows = [("counter on A", "during the demonstration")]
    rows += [(n, after[n] - before.get(n, 0)) for n in names if after.get(n, 0) != before.get(n, 0)]
    return rows


def drawn_lines(lines, width):
    """How many lines of the terminal they take, which may have become narrower since."""
    return sum(max(1, -(-len(line) // width)) for line in lines)


class Screen:
    def __init__(self, out=sys.stdout, now=time.monotonic):
        self.out, self.now = out, now
        self.tty = out.isatty()
        self.bold, self.dim, self.off = ("\033[1m", "\033[2m", "\033[0m") if self.tty else ("", "", "")
        self.start = now()
        self.drawn = []
        self.last_plain = 0
        self.record = os.environ.get("RDS_DEMO_RECORD")

    def size(self):
        if not self.tty:
            return WIDE, WIDE
        try:
            columns, lines = os.get_terminal_size(self.out.fileno())
        except OSError:
            columns, lines = 80, 24
        # the last column is left free: some terminals wrap when it is written to
        return max(columns, 20) - 1, max(lines, 4)

    def note(self, *call):
        """For a test: what was shown, in a file."""
        if self.record:
            with open(self.record, "a") as f:
                f.write(json.dumps([round(self.now() - self.start, 1), *call]) + "\n")

    def put(self, text):
        self.out.write(text)
        self.out.flush()

    def clear(self):
        if self.drawn:
            columns = self.size()[0] + 1
            self.put(f"\033[{drawn_lines(self.drawn, columns)}F\033[J")
            self.drawn = []

    def forget(self):
        """The bars stay where they are."""
        self.drawn = []

    def say(self, text="", dim=False, bold=False):
        self.clear()
        on = self.bold if bold else self.dim if dim else ""
        for line in self.wrapped(text):
            self.put(f"{on}{line}{self.off if on else ''}\n")

    def wrapped(self, text):
        """At spaces; a second line begins where the first one's text does."""
        width = self.size()[0]
        if len(text) <= width:
            return [text]
        indent = len(text) - len(text.lstrip())
        if text.startswith("["):
            indent = EVENT_INDENT
        return textwrap.wrap(text, width, subsequent_indent=" " * min(indent, width // 2),
                             drop_whitespace=True, break_on_hyphens=False) or [""]

    def listing(self, lines):
        """Lines that are tables already: cut, for wrapped nobody could read them."""
        self.note("listing", lines)
        for line in lines:
            self.say(cut("  " + line, self.size()[0]), dim=True)

    def event(self, text):
        self.note("event", text)
        self.say(f"[{self.now() - self.start:6.1f} s] {text}", bold=True)

    def table(self, rows):
        self.note("table", rows)
        for n, line in enumerate(table(rows, self.size()[0])):
            self.say(line, bold=n == 0)

    def bars(self, peers):
        """@peers: the arguments of bar() for each."""
        self.note("bars", peers)
        columns, rows = self.size()
        lines = [bar(*p, width=columns) for p in peers][:rows - 1]
        if self.tty:
            self.clear()
            self.put("".join(line + "\n" for line in lines))
            self.drawn = lines
        elif self.now() - self.last_plain > 2.5:
            self.last_plain = self.now()
            self.put("".join(line + "\n" for line in lines))
