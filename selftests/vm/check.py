# SPDX-License-Identifier: GPL-2.0
"""Runs many tests: shares boots between them, keeps several guests busy, counts."""

import os
import threading

import guest as guests
from guest import GuestError
from lane import HostLane, Lane, say_now
from lock import Lock
from soak import Soak


class Check:
    def __init__(self, kernel, kind, jobs=1, variant="", minutes=0, each=0):
        """@minutes for all that has a long form, or @each so many."""
        self.kernel, self.kind, self.jobs, self.variant = kernel, kind, jobs, variant
        self.minutes, self.each = minutes, each
        self.soak = None
        self.outcomes = []
        self.extra_failed = 0
        self.notes = []
        self.lock = threading.Lock()

    def select(self, tests):
        if self.kind == "ours" and self.kernel == "debian":
            return tests
        # Other kernels have no in-tree module.  The programs of this machine ran with debian, but a
        # soak has one kernel only.
        tests = [t for t in tests if t.nodes == 1 or (t.nodes == 0 and self.minutes) or
                 (t.nodes > 1 and self.kernel != "uml-kasan" and self.kind == "ours" and
                  set(t.kinds) == {"ours"})]
        if self.kernel == "uml-kasan":
            tests = [t for t in tests if t.needs.get("uml") != "0"]
        if self.kind != "ours":
            tests = [t for t in tests if t.needs.get("ref") != "0"]
            for t in tests:
                t.kinds = (self.kind,)
        return tests

    def run(self, tests):
        tests = self.select(tests)
        for t in tests:
            t.scale(self.kernel)
            if self.each:
                t.give(self.each)
        if self.minutes:
            tests = Soak.order(t for t in tests if t.reads_soak())
            self.soak = Soak(tests, self.minutes)
            say_now(f"# soak: {len(tests)} tests, {self.minutes} minutes")
        # what is missing is better said before waiting for other runs
        for kind in {k for t in tests if t.nodes for k in t.kinds}:
            guests.kind(kind, self.kernel, self.variant)
        guest_tests = sorted((t for t in tests if t.nodes), key=lambda t: t.nodes)
        with HostLane(self, [t for t in tests if t.nodes == 0], beside=bool(guest_tests)):
            self.run_guests(guest_tests)

    def run_guests(self, guest_tests):
        if self.jobs > 1 and len(guest_tests) > 1:
            self.run_parallel([self.order(guest_tests)] * self.jobs)
            return
        # What mostly waits, for a cable that is out or a node that boots, goes beside the others.
        waiting = self.order(t for t in guest_tests if t.waits and self.kernel == "debian")
        busy = [t for t in guest_tests if t not in waiting]
        if len(waiting) > 1:
            with Lock(self.kernel):
                self.run_parallel([waiting, busy + waiting], locked=True)
            return
        groups = {}
        for t in guest_tests:
            groups.setdefault(t.needs_boot(), []).append(t)
        for group in groups.values():
            with Lock(self.kernel):
                Lane(self, say_now).run(iter(group))

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

    def run_parallel(self, shares, locked=False):
        """
        A worker with a guest for each of @shares, lists of tests: it takes the first that is left
        of its own, but before that what can use the guest that it has.
        """
        tests = set().union(*shares)
        pending = set(tests)
        errors, lanes = [], []

        def take(share, key):
            with self.lock:
                left = [t for t in share if t in pending]
                if not left:
                    return None
                test = next((t for t in left if t.needs_boot() == key), left[0])
                pending.remove(test)
                return test

        def work(share):
            held = Lock(self.kernel, say=lambda _: None)
            try:
                if locked or held.wait(wanted=lambda: bool(pending)):
                    lane = Lane(self, None)
                    lanes.append(lane)
                    lane.run(iter(lambda: take(share, lane.key), None))
            except Exception as e:
                errors.append(e)
            finally:
                held.release()
        threads = [threading.Thread(target=work, args=[s], daemon=True) for s in shares[:len(tests)]]
        try:
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        finally:
            for lane in lanes:      # when interrupted
                if lane.cluster:
                    lane.cluster.stop()
        if errors:
            raise errors[0]
        ran = sum(o.test in tests for o in self.outcomes)
        if ran + self.extra_failed < len(tests):
            raise GuestError(f"{len(tests)} tests were to run, {ran} did")

    def environment(self, test):
        env = {"RDS_KERNEL": self.kernel}
        if self.kind != "ours":
            env["RDS_REF"] = "1"
        if test.slow > 1:
            env["RDS_SLOW"] = str(test.slow)
        if test.soak:
            env["RDS_SOAK"] = str(test.soak)
        return env

    def record(self, outcome, say):
        name = f"{self.kernel} {outcome.test.name}"
        words = f"{outcome.passed} passed, {outcome.failed} failed"
        if outcome.skipped:
            words += f", {outcome.skipped} skipped"
        say(f"# {'ok    ' if outcome.ok() else 'FAILED'} {name}: {words}, {outcome.seconds:.1f} s")
        for reason in outcome.reasons:
            say(f"#        {name}: {reason}")
        say("")
        with self.lock:
            self.outcomes.append(outcome)

    def fail(self, what, why, say):
        say(f"# FAILED {self.kernel} {what}: {why}")
        with self.lock:
            self.extra_failed += 1
            self.notes.append(f"{what}: {why}")

    def passed(self):
        return sum(o.passed for o in self.outcomes)

    def failed(self):
        return sum(o.failed for o in self.outcomes) + self.extra_failed

    def summary(self):
        skipped = sum(o.skipped for o in self.outcomes)
        say_now(f"# {self.kernel}: {len(self.outcomes)} test files, {skipped} cases skipped")
        lines = self.failures()
        for line in lines:
            say_now(line)
        kept = os.environ.get("RDS_LANE_FAILURES")
        if kept:
            with open(kept, "a") as f:
                f.writelines(line + "\n" for line in lines)

    def failures(self):
        """All that failed, with what each case said of it: who reads only the end has both."""
        lines = []
        for o in (o for o in self.outcomes if not o.ok()):
            name = f"{self.kernel} {o.test.name}"
            for text, why in zip(o.failures, o.why):
                lines.append(f"#   FAILED {name}: {text}")
                lines += ["#     | " + line for line in why]
            lines += [f"#   FAILED {name}: {text}" for text in o.reasons]
        return lines + [f"#   FAILED {self.kernel} {note}" for note in self.notes]
