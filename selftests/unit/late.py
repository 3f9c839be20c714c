#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=120
"""What failed only because its time was over runs once more, alone; nothing else does."""

import os
import sys
import time

sys.path.insert(0, os.path.realpath(os.path.join(os.path.dirname(__file__), "../vm")))

import board as boards
import check as checks
import tests as testlib
from agentlink import LinkDown
from meter import Meter
import tapcases

Meter.PAUSE, Meter.ENOUGH = 0.02, 3
LATE = "#  RUN           duo.a ...\n# a: Test terminated by timeout\n#          FAIL  duo.a\nnot ok 1 duo.a\n"
WRONG = "#  RUN           duo.a ...\n# a.c:7:a:Expected 1 (1) == n (2)\n" + LATE.partition("\n")[2]
REMARK = "#  RUN           duo.a ...\n# message 7 came twice\n" + LATE.partition("\n")[2]


class FakeCommand:
    def __init__(self, guest, on_out):
        self.guest, self.on_out = guest, on_out
        self.killed = False

    def wait(self, timeout):
        if self.killed:
            return None if self.guest.immortal else -9
        self.on_out(self.guest.says.encode())
        if self.guest.code is None:
            time.sleep(timeout)
        if self.guest.dies:
            raise LinkDown()
        return self.guest.code

    def kill(self, _):
        self.killed = True


class FakeGuest:
    """Runs a test that says @says and ends with @code, or never."""

    name = "a"

    class kind:
        slow = 1

    def __init__(self, says="", code=None, log=(), leaves=0, immortal=False, dies=False):
        self.says, self.code, self.log, self.leaves = says, code, list(log), leaves
        self.immortal, self.dies = immortal, dies
        self.agent = self.console = self

    def start(self, _, on_out):
        return FakeCommand(self, on_out)

    def run(self, shell, _=0):
        return 0, f"pinned {self.leaves if 'kill -9' in shell or 'unshare' in shell else 0}\n", ""

    def mark(self, _):
        return 0

    def since(self, _):
        return self.log

    def blocked_tasks(self):
        return []

    stacks = blocked_tasks


class FakeCluster:
    def __init__(self, guest):
        self.guests = {"a": guest}

    def sessions(self):
        return set()

    def shell(self, command):
        return command


def a_test(name="x/y", **needs):
    test = testlib.Test(name, name + ".sh", {"nodes": "1", **needs})
    test.timeout = 1.5
    return test


def outcome(works=True, busy_until=None, **guest):
    """Of a test in a guest that @works all the time, as the guest says."""
    looked = []

    def look(_):
        looked.append(1)
        return works and (busy_until is None or len(looked) < busy_until)
    Meter.__init__.__defaults__ = (look,)
    return testlib.GuestRun(a_test(), FakeCluster(FakeGuest(**guest)), lambda _: None).run()


def late(**guest):
    return outcome(**guest).late()


def case(text, works=True):
    """Is a test late whose cases say @text, all of them in good time for Meter?"""
    tap = testlib.Tap(lambda _: None, lambda: works)
    tap.feed(text.encode())
    tap.end()
    return testlib.Outcome(a_test(), tap, 1, [], 1.0).late()


def on_host(script):
    path = os.path.join("/tmp", f"late-{os.getpid()}.sh")
    with open(path, "w") as f:
        f.write(script)
    Meter.__init__.__defaults__ = (METER_LOOK,)
    test = testlib.Test("x/host", path, {"nodes": "0"})
    test.timeout = 1.5
    try:
        return testlib.run_on_host(test, dict(os.environ), lambda _: None).late()
    finally:
        os.unlink(path)


METER_LOOK = Meter.__init__.__defaults__[0]


class Rehearsal:
    """A run of @first outcomes, of which those that are repeated come to @second."""

    def __init__(self, first, second):
        self.check = checks.Check("debian", "ours")
        self.board = self.check.board
        self.repeated, self.said = [], []
        self.board.say = self.said.append
        say_now, lane = boards.say_now, checks.Lane
        boards.say_now = self.said.append
        checks.Lane = lambda *_: self
        checks.Lock = NoLock
        self.second = list(second)
        try:
            for o in first:
                self.check.record(o, lambda _: None)
            for _, o in self.board.late():
                self.check.again(o)
            self.board.summary()
        finally:
            boards.say_now, checks.Lane = say_now, lane

    def run(self, tests):
        for test in tests:
            self.repeated.append(test.name)
            o = self.second.pop(0)
            o.test = test
            self.check.record(o, lambda _: None)

    def slow(self):
        return [line for line in self.said if line.startswith("# slow: ")]


class NoLock:
    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def made(text, code, reasons=(), worked=True, name="x/y"):
    tap = testlib.Tap(lambda _: None)
    tap.feed(text.encode())
    tap.end()
    return testlib.Outcome(a_test(name), tap, code, list(reasons), 1.0, worked)


def passes(name="x/y"):
    return made("1..1\nok 1 a\n", 0, name=name)


def overdue(name="x/y"):
    return made("ok 1 a\n", None, ["no end after 60 s"], name=name)


def fails():
    return made("1..1\nnot ok 1 a\n", 1)


def passes_alone():
    r = Rehearsal([overdue(), passes("x/z")], [passes()])
    return (r.board.failed(), r.board.passed(), r.repeated) == (0, 2, ["x/y"]) and len(r.slow()) == 1 and \
        "x/y" in r.slow()[0] and "no end after 60 s" in r.slow()[0]


def fails_alone():
    r = Rehearsal([overdue()], [fails()])
    return r.board.failed() == 1 and r.repeated == ["x/y"] and not r.slow()


def said_in_brief():
    """The end of a log is short, and has for each case its name, how its words began and how they ended."""
    words = "".join(f"# word {i} {'x' * 300}\n# counter {i}\n" for i in range(20))
    r = Rehearsal([made(f"1..2\n# seed\n{words}# the end\nnot ok 1 a\n{words}not ok 2 b\n", 1, name=f"x/{i}")
                   for i in range(6)], [])
    end = r.said[next(i for i, line in enumerate(r.said) if line.startswith("# failed: ")):]
    return len("\n".join(end)) < 4000 and "# failed: debian x/5: b" in end and end.count("#     : the end") == 6 and \
        end.count("#     : seed") == 6


def late_alone():
    r = Rehearsal([overdue()], [overdue()])
    return r.board.failed() == 1 and r.repeated == ["x/y"] and not r.slow()


def wrong_is_not_repeated():
    r = Rehearsal([fails(), made("", None, ["no end after 60 s", "left behind: pinned 0 -> 1"])], [])
    return r.board.failed() == 2 and not r.repeated


def only_so_many(count):
    names = [f"x/{i}" for i in range(count)]
    return Rehearsal([overdue(n) for n in names], [passes(n) for n in names])


def three():
    r = only_so_many(3)
    return r.board.failed() == 0 and len(r.slow()) == 3


def four():
    r = only_so_many(4)
    return r.board.failed() == 4 and not r.repeated


def longest():
    """Ten, the longest first."""
    outcomes = [passes(f"x/{i}") for i in range(12)]
    for i, o in enumerate(outcomes):
        o.seconds = i
    lines = Rehearsal(outcomes, []).board.longest()
    return len(lines) == 11 and "x/11" in lines[1] and "x/2" in lines[10]


def numbers():
    board = boards.Board()
    board.expect(2)
    return [board.number(), board.number()] == ["[1/2]", "[2/2]"]


CASES = [
    ("no end while it works: late", lambda: late()),
    ("no end and idle: it hangs", lambda: not late(works=False)),
    ("no end, and idle in the last quarter of its time", lambda: not late(busy_until=30)),
    ("a case without time", lambda: late(says="1..1\n" + LATE, code=1) is False and case("1..1\n" + LATE)),
    ("a case without time that was idle", lambda: not case("1..1\n" + LATE, works=False)),
    ("a case without time, and something else was wrong in it", lambda: not case("1..1\n" + WRONG)),
    ("a case without time that said something", lambda: not case("1..1\n" + REMARK)),
    ("a case without time, and another that failed", lambda: not case("1..2\n" + LATE + "not ok 2 b\n")),
    ("a case without time after one that spoke and passed", lambda: case("1..2\n# hello\nok 1 b\n" + LATE)),
    ("a case without time, and one that is missing", lambda: not case("1..2\n" + LATE)),
    ("no end after a case that failed", lambda: not late(says="not ok 1 a\n")),
    ("no end, and a line in the kernel log", lambda: not late(log=["BUG: of ours"])),
    ("no end, and something is left behind", lambda: not leaves_something()),
    ("no end, and it cannot be killed", lambda: not late(immortal=True)),
    ("the guest died", lambda: not late(dies=True)),
    ("it failed in time", lambda: not late(says="1..1\nnot ok 1 a\n", code=1)),
    ("it passed", lambda: not late(says="1..1\nok 1 a\n", code=0)),
    ("on this machine: no end while it works", lambda: on_host("while :; do :; done")),
    ("on this machine: no end and idle", lambda: not on_host("sleep 100")),
    ("passes alone: the run passes and names it", passes_alone),
    ("fails alone: it has failed, once", fails_alone),
    ("late alone: it has failed", late_alone),
    ("what was wrong is not repeated", wrong_is_not_repeated),
    ("three may be slow", three),
    ("four are too many: none is repeated", four),
    ("the ten longest", longest),
    ("what failed is said in brief at the end", said_in_brief),
    ("numbers while it runs", numbers),
]


def leaves_something():
    """The counts have 20 s to go down; here nobody waits for them."""
    patience, FakeGuest.kind.slow = FakeGuest.kind.slow, 0.01
    try:
        return late(leaves=1)
    finally:
        FakeGuest.kind.slow = patience


if __name__ == "__main__":
    sys.exit(tapcases.run(CASES))
