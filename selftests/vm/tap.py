# SPDX-License-Identifier: GPL-2.0
"""Reads TAP as it comes and counts."""

import re

RESULT = re.compile(r"^(ok|not ok)\b\s*(\d+)?\s*-?\s*(.*)$")
PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*SKIP\s*(.*))?", re.I)


WHY_LINES = 25      # kept of what a case that failed has said


class Tap:
    def __init__(self, echo):
        self.echo = echo
        self.passed = self.failed = self.skipped = 0
        self.none = False       # a plan of no cases says why, and counts as one that is skipped
        self.plan = None
        self.failures = []
        self.why = []           # for each of these, its last lines
        self.said = []
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
            return
        result = RESULT.match(line)
        if not result:
            self.said = self.said[1 - WHY_LINES:] + [line]
            return
        name, said, self.said = result.group(3), self.said, []
        if re.search(r"#\s*SKIP\b", name, re.I):
            self.skipped += 1
        elif result.group(1) == "ok" or re.search(r"#\s*XFAIL\b", name, re.I):
            self.passed += 1
        else:
            self.failed += 1
            self.failures.append(name or result.group(2) or "?")
            self.why.append(said)

    def seen(self):
        """Cases, each with a line of its own."""
        return self.passed + self.failed + self.skipped - self.none
