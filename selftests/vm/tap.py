# SPDX-License-Identifier: GPL-2.0
"""Reads TAP as it comes and counts."""

import re

RESULT = re.compile(r"^(ok|not ok)\b\s*(\d+)?\s*-?\s*(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*SKIP\s*(.*))?", re.I)

# What kselftest's harness says when a case begins, when it ends it because its time is over, and
# when it has failed.  Anything else that a case says may be a complaint.
RUN = re.compile(r"^#\s+RUN\s")
LATE = re.compile(r"^# \S+: Test terminated by timeout$")
FAIL = re.compile(r"^#\s+FAIL\s")

NOTE = re.compile(r"\s*#\s*(?:SKIP|XFAIL)\b.*", re.I)

ALL = "all of it"         # instead of the names of cases
WHY_LINES = 25      # kept of what a case that failed has said, without counters
COUNTER = re.compile(r"#?\s*\w+\s+-?\d+$")


class Tap:
    def __init__(self, echo, worked=lambda: True):
        """@worked: has the guest computed since it was asked before?"""
        self.echo, self.worked = echo, worked
        self.passed = self.failed = self.skipped = 0
        self.late = 0           # of those that failed: only because their time was over
        self.none = False       # a plan of no cases says why, and counts as one that is skipped
        self.plan = None
        self.ran, self.left_out = [], []    # names of cases
        self.failures = []
        self.why = []           # for each of these, its last lines
        self.said = []
        self.terminated = self.complains = False    # the case that runs
        self.rest = b""

    def feed(self, data):
        self.rest += data
        *lines, self.rest = self.rest.split(b"\n")
        for raw in lines:
            self.line(raw.decode(errors="replace").rstrip("\r"))

    def end(self):
        if self.rest:
            self.line(self.rest.decode(errors="replace"))
            self.rest = b""

    def line(self, line):
        self.echo(line)
        plan = PLAN.match(line)
        if plan:
            self.plan = int(plan.group(1))
            if self.plan == 0 and plan.group(2) and not self.none:
                self.none = True
                self.skipped += 1
                self.left_out.append(ALL)
            return
        result = RESULT.match(line)
        if not result:
            self.remark(line)
            return
        name, said, self.said = result.group(3), self.said, []
        late = self.worked() and self.terminated and not self.complains
        self.terminated = self.complains = False
        bare = NOTE.sub("", name) or result.group(2) or "?"
        if re.search(r"#\s*SKIP\b", name, re.I):
            self.skipped += 1
            self.left_out.append(bare)
            return
        self.ran.append(bare)
        if result.group(1) == "ok" or re.search(r"#\s*XFAIL\b", name, re.I):
            self.passed += 1
        else:
            self.failed += 1
            self.late += late
            self.failures.append(name or bare)
            self.why.append(said)

    def remark(self, line):
        if not COUNTER.match(line):
            self.said = self.said[1 - WHY_LINES:] + [line]
        if RUN.match(line):
            self.terminated = self.complains = False
        elif LATE.match(line):
            self.terminated = True
        elif not FAIL.match(line):
            self.complains = True

    def seen(self):
        """Cases, each with a line of its own."""
        return self.passed + self.failed + self.skipped - self.none

