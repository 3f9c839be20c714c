# SPDX-License-Identifier: GPL-2.0
"""Runs many tests: shares boots between them, keeps several guests busy."""

import copy
import os
import subprocess
import threading

import guest as guests
import tests as testlib
from board import Board, say_now
from guest import GuestError
from lane import HostLane, Lane
from lock import Lock
from soak import Soak


class Check:
    """The tests that run with one kernel."""

    SHARED = 2      # so much longer a test may take where others run at the same time
    BESIDE = 2      # so many user-mode guests, which mostly wait, run beside those of QEMU

    def __init__(self, kernel, kind, jobs=1, variant="", minutes=0, each=0, board=None, lanes=False, build=None, beside=False):
        """
        @minutes: for all that has a long form, or @each so many
        @lanes: only what says that it is worth a lane of .ci/run with this kernel
        @build: a command that makes what it needs
        @beside: others run at the same time
        """
        self.lanes, self.beside = lanes, beside
        self.builder = Builder(build, kernel) if build else None
        self.board = board or Board()
        self.kernel, self.kind, self.jobs, self.variant = kernel, kind, jobs, variant
        self.minutes, self.each = minutes, each
        self.soak = None
        self.tests = []
        self.others_over = threading.Event()
        self.host = None
        self.lanes_up = []

    def select(self, tests):
        """Those that this kernel and this kind of module can run; a soak has one kernel only."""
        tests = [t for t in tests if t.runs_on(self.kernel) or (t.nodes == 0 and self.minutes)]
        if self.lanes:
            tests = [t for t in tests if self.kernel in map(testlib.LANES.get, t.lanes)]
        if self.kind == "ours":
            return tests
        tests = [t for t in tests if t.nodes == 1 and t.needs.get("ref") != "0"]
        for t in tests:
            t.kinds = (self.kind,)
        return tests

    def choose(self, tests):
        """What it will run."""
        # each kernel has time limits and kinds of its own
        tests = self.select([copy.copy(t) for t in tests])
        for t in tests:
            t.scale(self.kernel)
            if self.beside and not t.alone and t.nodes:
                t.timeout *= self.SHARED
            if self.each:
                t.give(self.each)
        if self.minutes:
            tests = Soak.order(t for t in tests if t.reads_soak())
            self.soak = Soak(tests, self.minutes)
            say_now(f"# soak: {len(tests)} tests, {self.minutes} minutes")
        self.board.expect(len(tests))
        self.tests = tests

    def run(self):
        if self.builder:
            with self.board.phase(f"kernel and modules for {self.kernel}"):
                self.builder.run()
        with self.board.phase(f"tests with {self.kernel}"):
            # what is missing is better said before waiting for other runs
            for kind in {k for t in self.tests if t.nodes for k in t.kinds}:
                guests.kind(kind, self.kernel, self.variant)
            guest_tests = sorted((t for t in self.tests if t.nodes and not self.last(t)), key=lambda t: t.nodes)
            on_host = self.admitted(t for t in self.tests if t.nodes == 0)
            self.host = HostLane(self, on_host, beside=bool(guest_tests))
            with self.host:
                self.run_guests(guest_tests)

    def admitted(self, tests):
        """Those that may begin, each when its turn comes."""
        return (t for t in tests if self.board.admit(self.kernel, t))

    def last(self, test):
        """Does it run when all others are over, with the machine for itself?"""
        return test.alone and not self.soak and len(self.tests) > 1

    def run_alone(self):
        tests = sorted(filter(self.last, self.tests), key=lambda t: repr(t.needs_boot()))
        if tests:
            with self.board.phase(f"one at a time with {self.kernel}"), Lock(self.kernel):
                self.lanes_up.append(Lane(self, say_now))
                self.lanes_up[-1].run(self.admitted(tests))

    def stop(self):
        """When the run is interrupted."""
        if self.builder:
            self.builder.stop()
        if self.host:
            self.host.stop()
        for lane in self.lanes_up:
            if lane.cluster:
                lane.cluster.stop()

    def run_guests(self, guest_tests):
        if self.jobs > 1 and len(guest_tests) > 1:
            self.run_parallel([self.order(guest_tests)] * self.jobs, at_once=self.BESIDE if self.beside else self.jobs)
            return
        # What mostly waits, for a cable that is out or a node that boots, goes beside the others.
        waiting = self.order(t for t in guest_tests if t.waits and self.kernel == "debian")
        busy = [t for t in guest_tests if t not in waiting]
        if len(waiting) > 1:
            # No more: guests that take the processors from each other use up to half as much of them again.
            with Lock(self.kernel):
                self.run_parallel([waiting, busy + waiting], locked=True)
            return
        groups = {}
        for t in guest_tests:
            groups.setdefault(t.needs_boot(), []).append(t)
        for group in groups.values():
            with Lock(self.kernel):
                self.lanes_up.append(Lane(self, None if self.beside else say_now))
                self.lanes_up[-1].run(self.admitted(group))

    def order(self, tests):
        return Soak.order(tests) if self.soak else sorted(tests, key=lambda t: -t.timeout)

    def begins(self, test, say):
        """Under make soak a test has its minutes from here on."""
        if self.soak:
            test.give(self.soak.begin(test))
            say(f"# soak: {test.name} has {test.soak} of {self.minutes} minutes")

    def ended(self, test):
        if self.soak:
            self.soak.over(test)

    def run_parallel(self, shares, locked=False, at_once=None):
        """
        A worker with a guest for each of @shares, lists of tests: it takes the first that is left
        of its own, but before that what can use the guest that it has.  @at_once of them begin now,
        the others when other kernels have done what they had.
        """
        tests = set().union(*shares)
        pending = set(tests)
        errors, lanes = [], self.lanes_up

        def take(share, key):
            with self.board.lock:
                left = [t for t in share if t in pending]
                while left and not self.board.admit(self.kernel, left[0]):
                    pending.remove(left.pop(0))
                if not left:
                    return None
                if self.board.pace.slow():      # what it comes to in its time is most with the short ones
                    left.reverse()
                test = next((t for t in left if t.needs_boot() == key), left[0])
                pending.remove(test)
                return test

        def tell(line):
            # all of them wait for the same: the first says so, while none of them has a guest
            if threading.current_thread() is threads[0] and not lanes:
                self.board.say(line)

        def work(share, now):
            held = Lock(self.kernel, say=tell)
            try:
                while not now and pending and not self.others_over.wait(1):
                    pass
                if locked or held.wait(wanted=lambda: bool(pending)):
                    lane = Lane(self, None)
                    lanes.append(lane)
                    lane.run(iter(lambda: take(share, lane.key), None))
            except Exception as e:
                errors.append(e)
            finally:
                held.release()
        threads = [threading.Thread(target=work, args=[s, at_once is None or i < at_once], daemon=True)
                   for i, s in enumerate(shares[:len(tests)])]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if errors:
            raise errors[0]
        ran = sum(o.test in tests for _, o in self.board.entries)
        late = sum(kernel == self.kernel for kernel, _ in self.board.left_over)
        if ran + late + self.board.noted(self.kernel) < len(tests):
            raise GuestError(f"{len(tests)} tests were to run, {ran} did")

    def again(self, outcome):
        """What was late has the machine for itself once."""
        self.board.expect(1)
        self.board.say(f"# {self.kernel} {outcome.test.name} was late: once more, alone")
        if self.beside and not outcome.test.alone and outcome.test.nodes:
            outcome.test.timeout //= self.SHARED
        before = len(self.board.entries)
        if not outcome.test.nodes:
            HostLane(self, [outcome.test], beside=False).run()
        else:
            with Lock(self.kernel):
                Lane(self, say_now).run(iter([outcome.test]))
        for kernel, second in self.board.entries[before:]:
            self.board.again(kernel, outcome, second)

    def stretched(self, test):
        """Its time limit now.  Beside others it has more already."""
        shared = self.SHARED if self.beside and not test.alone else 1
        return test.timeout * max(1, self.board.pace.now() / shared)

    def environment(self, test):
        env = {"RDS_KERNEL": self.kernel}
        if self.kind != "ours":
            env["RDS_REF"] = "1"
        slow = test.slow * self.board.pace.now()
        if slow > 1:
            env["RDS_SLOW"] = str(slow)
        if test.soak:
            env["RDS_SOAK"] = str(test.soak)
        return env

    def record(self, outcome, say):
        self.board.record(self.kernel, outcome, say)

    def fail(self, what, why, say):
        self.board.fail(self.kernel, what, why, say)


class Builder:
    """
    A command that runs beside the guests of other lanes.  It gets a quarter of a processor that
    they want, too: a lane waits for it.
    """

    NICE = ["nice", "-n", "5"]

    def __init__(self, command, kernel):
        self.command = command
        self.log = os.path.join(guests.TOP, "build", f"make-{kernel}.log")
        self.proc = None

    def run(self):
        with open(self.log, "w") as log:
            self.proc = subprocess.Popen([*self.NICE, "sh", "-c", self.command], stdout=log,
                                         stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True)
            code = self.proc.wait()
        if code:
            with open(self.log, errors="replace") as log:
                raise GuestError(f"'{self.command}' failed ({code}):\n" + "".join(log.readlines()[-20:]))

    def stop(self):
        if self.proc and self.proc.poll() is None:
            testlib.kill_session(self.proc)


def run_all(checks):
    """All of @checks at the same time, each from when it has what it needs; then what must be alone."""
    errors = []

    def attempt(check, work):
        try:
            work()
        except Exception as e:
            errors.append((check, e))

    def run(check):
        attempt(check, check.run)
        for other in checks:
            other.others_over.set()
    threads = [threading.Thread(target=run, args=[c], daemon=True) for c in checks]
    try:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for check in checks:
            if check not in (c for c, _ in errors):
                attempt(check, check.run_alone)
    finally:
        for check in checks:
            check.stop()
    for check, error in errors:
        # what the others came to is told all the same
        if len(checks) == 1 or not isinstance(error, GuestError):
            raise error
        check.fail("the lane ended", str(error), check.board.say)
