#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=60
"""How the runner judges what a test says: passed, failed, skipped."""

import os
import sys

sys.path.insert(0, os.path.realpath(os.path.join(os.path.dirname(__file__), "../vm")))

from tap import Tap
from tests import Outcome, Test

# What a test says, its exit status: passed, failed, skipped.
EXPECTED = [
    ("nothing", "", 0, (1, 0, 0)),
    ("nothing, and fails", "", 1, (0, 1, 0)),
    ("two cases", "1..2\nok 1 a\nok 2 b\n", 0, (2, 0, 0)),
    ("one fails", "1..2\nok 1 a\nnot ok 2 b\n", 1, (1, 1, 0)),
    ("one is skipped", "1..2\nok 1 a\nok 2 b # SKIP no b here\n", 0, (1, 0, 1)),
    ("one is missing", "1..2\nok 1 a\n", 0, (1, 1, 0)),
    ("no plan", "ok 1 a\n", 0, (1, 1, 0)),
    ("passes, and fails at the end", "1..1\nok 1 a\n", 1, (1, 1, 0)),
    ("all skipped", "TAP version 13\n1..0 # SKIP no clang\n", 4, (0, 0, 1)),
    ("all skipped, status 0", "TAP version 13\n1..0 # SKIP no clang\n", 0, (0, 0, 1)),
    ("all skipped, small letters", "1..0 # skip no clang\n", 4, (0, 0, 1)),
    ("skipped without a word, by status", "", 4, (0, 0, 1)),
    ("all skipped, and fails", "1..0 # SKIP no clang\n", 1, (0, 1, 1)),
    ("all skipped, but a case", "1..0 # SKIP no clang\nok 1 a\n", 0, (1, 1, 1)),
    ("no cases and no reason", "1..0\n", 0, (0, 1, 0)),
    ("no cases and no reason, status 4", "1..0\n", 4, (0, 1, 0)),
    ("no cases and an empty reason", "1..0 # SKIP\n", 4, (0, 1, 0)),
    ("the plan of a nested test", "1..1\n    1..0 # SKIP no b\nok 1 a\n", 0, (1, 0, 0)),
]


def judge(text, code):
    lines = []
    tap = Tap(lines.append)
    tap.feed(text.encode())
    tap.end()
    outcome = Outcome(Test("x/y", "x/y.sh", {"nodes": "0"}), tap, code, [], 0.1)
    return outcome.passed, outcome.failed, outcome.skipped


def main():
    print("TAP version 13")
    print(f"1..{len(EXPECTED)}")
    bad = 0
    for nr, (name, text, code, want) in enumerate(EXPECTED, 1):
        got = judge(text, code)
        if got != want:
            print(f"# passed, failed, skipped: {got}, not {want}")
            bad += 1
        print(f"{'ok' if got == want else 'not ok'} {nr} {name}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
