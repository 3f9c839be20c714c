#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=60
"""Who runs what beside what, with lanes that only note it."""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.realpath(os.path.join(os.path.dirname(__file__), "../vm")))

import board as boards
import check as checks
import tests as testlib
from check import Builder, Check
import tapcases

noted = threading.Lock()


class NoLock:
    def __init__(self, *_, **__):
        pass

    def wait(self, **_):
        return True

    def release(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class NoLane:
    """Instead of guests: notes when each test ran."""

    ran = []            # (kernel, name, begin, end)
    key = cluster = None

    def __init__(self, check, _):
        self.check = check

    def run(self, tests):
        for test in tests:
            begin = time.monotonic()
            time.sleep(0.03)
            with noted:
                self.ran.append((self.check.kernel, test.name, begin, time.monotonic()))
                tap = testlib.Tap(lambda _: None)
                tap.feed(b"1..1\nok 1 a\n")
                self.check.record(testlib.Outcome(test, tap, 0, [], 1.0), lambda _: None)


class NoHost:
    def __init__(self, check, tests, beside):
        NoLane(check, None).run(tests)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def stop(self):
        pass


def rehearse(lanes, build="true", names=(), within=None, pace=()):
    """A run with both kernels on a machine of that @pace: (the board, what ran)."""
    checks.Lane, checks.HostLane, checks.Lock = NoLane, NoHost, NoLock
    checks.guests.kind = lambda *_: None
    boards.say_now = lambda _="": None
    NoLane.ran = []
    board = boards.Board(within=within)
    board.pace.ratios += pace
    both = [Check("debian", "ours", board=board, lanes=lanes, beside=True),
            Check("uml-kasan", "ours", 3, board=board, lanes=lanes, beside=True, build=build)]
    tests = testlib.find(list(names))
    for check in both:
        check.choose(tests)
    checks.run_all(both)
    return board, NoLane.ran


def of(ran, kernel):
    return [r for r in ran if r[0] == kernel]


def most_at_once(ran):
    """So many tests ran at the same time."""
    return max(sum(b[2] <= a[2] < b[3] for b in ran) for a in ran)


def each_once():
    """Each where it is to, and nothing else."""
    ran = rehearse(True)[1]
    wanted = [(c.kernel, t.name) for c in (Check("debian", "ours", lanes=True), Check("uml-kasan", "ours", lanes=True))
              for t in c.select(testlib.find([]))]
    return sorted(r[:2] for r in ran) == sorted(wanted)


def all_of_them():
    ran = rehearse(False)[1]
    everything = testlib.find([])
    return len(of(ran, "debian")) == len(everything) and \
        len(of(ran, "uml-kasan")) == sum(t.runs_on("uml-kasan") for t in everything)


def alone_at_the_end():
    ran = rehearse(True)[1]
    names = {t.name for t in testlib.find([]) if t.alone}
    alone = [r for r in ran if r[1] in names]
    others = [r for r in ran if r[1] not in names]
    return names and most_at_once(alone) == 1 and min(r[2] for r in alone) >= max(r[3] for r in others)


def two_then_three():
    """Two user-mode guests beside Debian's two, then three."""
    here = {t.name for t in testlib.find([]) if not t.nodes}
    ran = [r for r in rehearse(True)[1] if r[1] not in here]
    debian, uml = of(ran, "debian"), of(ran, "uml-kasan")
    alone = {t.name for t in testlib.find([]) if t.alone}
    over = max(r[3] for r in debian if r[1] not in alone)
    beside = [r for r in uml if r[3] < over]
    after = [r for r in uml if r[2] > over]
    return most_at_once(debian) == 2 and most_at_once(beside) == 2 and (len(after) < 8 or most_at_once(after) == 3)


def limits():
    """Twice the time beside others, not for those that are alone, nor when repeated alone."""
    board = boards.Board()
    shared, single = (Check("debian", "ours", board=board, beside=b) for b in (True, False))
    for check in shared, single:
        check.choose(testlib.find(["net/pair", "net/quiet"]))
    (pair, quiet), (pair1, quiet1) = shared.tests, single.tests
    if pair.timeout != 2 * pair1.timeout or quiet.timeout != quiet1.timeout:
        return False
    board.say = lambda _: None
    late = testlib.Outcome(pair, testlib.Tap(lambda _: None), None, ["no end after 1 s"], 1.0)
    shared.record(late, board.say)
    shared.again(late)
    return pair.timeout == pair1.timeout


def stretched():
    """By what guests need for the same, of which one alone may have met anything."""
    board = boards.Board()
    check = Check("debian", "ours", board=board)
    check.choose(testlib.find(["net/pair"]))
    found = []
    for ratio in 0.4, 1.2, 9.0, 3.2, 3.1, 2.9, 3.3, 50, 60, 70:
        board.pace.ratios.append(ratio)
        found.append(check.environment(check.tests[0]).get("RDS_SLOW"))
    limit, check.beside = check.tests[0].timeout, True
    return found == [None, None, None, "2", "3", "3", "3", "3", "3", "8"] and check.stretched(check.tests[0]) == 4 * limit


def time_is_over():
    """What has not begun by then is told, and nothing else is left out."""
    board, ran = rehearse(True, within=0.6, pace=[9.0])
    begins = [r[2] for r in ran]
    everything = [(c.kernel, t.name) for c in (Check("debian", "ours", lanes=True), Check("uml-kasan", "ours", lanes=True))
                  for t in c.select(testlib.find([]))]
    told = [line.partition(": ")[2] for line in board.no_time()[1:]]
    print(f"# {len(ran)} tests ran, {len(told)} did not")
    return told and max(begins) < min(begins) + 0.7 and \
        sorted([r[:2] for r in ran] + [tuple(t.split(" ")) for t in told]) == sorted(everything)


def time_is_enough():
    """On a slow machine most of them run, on any other all."""
    board = rehearse(True, within=None, pace=[9.0])[0]
    found = [board.failed()]
    for pace, left in (9.0, 1), (1.0, 1), (9.0, board.total // 2 + 1):
        board.pace.ratios, board.left_over, board.within = [pace], [("debian", "x/y")] * left, 1
        found.append((board.failed(), "FAILED" in board.no_time()[0]))
    return found == [0, (0, False), (1, True), (1, True)]


def short_ones_first():
    """On a slow machine: more of them are run."""
    def first(pace):
        ran = of(rehearse(True, pace=[pace])[1], "uml-kasan")
        limits = {t.name: t.timeout for t in testlib.find([])}
        half = [limits[r[1]] for r in ran[:len(ran) // 2]]
        return sum(half) / len(half)
    return first(9.0) < first(1.0)


def build_fails():
    """The other lane runs, and the run fails."""
    board, ran = rehearse(True, build="echo no compiler; false")
    return board.failed() == 1 and "no compiler" in board.notes[0] and of(ran, "debian") and not of(ran, "uml-kasan")


def build_comes_first():
    flag = f"/tmp/schedule-{os.getpid()}"
    begin = time.monotonic()
    ran = rehearse(True, f"sleep 1; touch {flag}", ["net/p*"])[1]
    there = os.path.exists(flag)
    os.unlink(flag)
    first = min(r[2] for r in of(ran, "uml-kasan"))
    return there and first - begin >= 1 and min(r[2] for r in of(ran, "debian")) < first


CASES = [
    ("each test once in each of its lanes", each_once),
    ("all of them on both", all_of_them),
    ("those that want to be alone at the end, one at a time", alone_at_the_end),
    ("two user-mode guests beside two of Debian's, then three", two_then_three),
    ("time limits", limits),
    ("they stretch on a slow machine", stretched),
    ("no test begins when the time is over", time_is_over),
    ("that is a failure unless the machine is slow and most did run", time_is_enough),
    ("a slow one has the short ones first", short_ones_first),
    ("the second kernel cannot be made", build_fails),
    ("the second kernel is made first, meanwhile the other runs", build_comes_first),
]


if __name__ == "__main__":
    Builder.NICE = []
    os.makedirs(os.path.join(checks.guests.TOP, "build"), exist_ok=True)
    sys.exit(tapcases.run(CASES))
