#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=60
"""A soak takes the time that it was given, and the fuzzers get a good part of it."""

import os
import sys

sys.path.insert(0, os.path.realpath(os.path.join(os.path.dirname(__file__), "../vm")))

import tests as testlib
from check import Check
from soak import Soak
import tapcases

HOUR = 60
# Who needs more than the others: the fuzzers, of which those of this machine run beside the guests,
# and share their hour with the model, and who tries every fault point of whole meetings
FUZZERS = {"fuzz/run": HOUR * 5 // 6, "kfuzz/syscalls": 12, "hostile/wirefuzz": 12, "kfuzz/verbs": 4,
           "faults/connect": 6}
# Tests with an end of their own, which care little for their minutes
STUBBORN = ("faults/module", "faults/netns", "faults/softirq", "hostile/sources", "net/many")


def chosen(kernel):
    check = Check(kernel, "ours", minutes=HOUR)
    return [t for t in check.select(testlib.find([])) if t.reads_soak()]


def takes(test, minutes, more):
    """Minutes that a test takes: not only what it was given."""
    return 8 if test.name in STUBBORN else minutes + more if test.weight == 1 else minutes


def rehearse(kernel, lanes, more, total=HOUR):
    """A soak of which nothing is run: (minutes it took, minutes of each)."""
    now = [0.0]
    soak = Soak(chosen(kernel), total, clock=lambda: now[0] * 60)
    left = Soak.order(soak.guests)
    for test in list(soak.here):
        soak.begin(test)
    free = [0.0] * lanes
    runs = [None] * lanes
    soak.lane(lanes)
    while left:
        k = free.index(min(free))
        now[0] = free[k]
        if runs[k]:
            soak.over(runs[k])
        runs[k] = left.pop(0)
        free[k] += takes(runs[k], soak.begin(runs[k]), more)
    return max(free), soak.given


def an_hour(kernel, lanes, more):
    took, given = rehearse(kernel, lanes, more)
    print(f"# {kernel}, {lanes} guests, {more} more: {took:.1f} minutes; " +
          ", ".join(f"{n} {given.get(n)}" for n in FUZZERS))
    return 0.95 * HOUR < took < 1.1 * HOUR


def fuzzers(kernel, lanes, more):
    given = rehearse(kernel, lanes, more)[1]
    return all(given.get(name, 0) >= least for name, least in FUZZERS.items())


def none_without():
    """What has no long form is left out; the programs of this machine otherwise run with debian."""
    return "fuzz/run" not in [t.name for t in Check("uml-kasan", "ours").select(testlib.find(["fuzz/*"]))]


def short():
    """Each has a minute even if there are not so many."""
    return min(rehearse("uml-kasan", 2, 0, total=5)[1].values()) == 1


CASES = [
    ("an hour on two guests takes an hour", lambda: an_hour("uml-kasan", 2, 1)),
    ("however slow the tests are", lambda: an_hour("uml-kasan", 2, 2)),
    ("and however fast", lambda: an_hour("uml-kasan", 2, -1)),
    ("on one guest, too", lambda: an_hour("uml-kasan", 1, 0.5)),
    ("the fuzzers have a good part of it", lambda: fuzzers("uml-kasan", 2, 1)),
    ("on Debian's kernel, too", lambda: fuzzers("debian", 2, 1)),
    ("without a soak the fuzzers of this machine run with debian only", none_without),
    ("each has a minute at least", short),
]


if __name__ == "__main__":
    sys.exit(tapcases.run(CASES))
