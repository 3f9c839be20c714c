# SPDX-License-Identifier: GPL-2.0
"""Runs many tests: shares boots between them, keeps several guests busy, counts."""

import os
import re
import threading
import time

import coverage
import guest as guests
import tests as testlib
from agentlink import LinkDown
from cluster import Cluster
from guest import GuestError
from lock import Lock
from soak import Soak

# After these a guest is thrown away: what a test left must not be charged to the next.
SPOILED = ("no end after", "kernel log", "left behind", "debug_locks")

UNLOAD = """sleep 1; for m in rds_rdma rds_tcp rds; do grep -q "^$m " /proc/modules || continue; rmmod $m || exit 1; done"""
# Memory must have been lost for 5 s to count.
SCAN = """k=/sys/kernel/debug/kmemleak; [ -e $k ] || exit 0
	echo scan >$k && sleep 6 && echo scan >$k && cat $k"""


# What the kernel loses by itself; user-mode Linux has no backtraces to tell by.
KERNELS_OWN = re.compile("|".join((
    r'comm "swapper',                               # while it booted
    r'comm "mount".*\n.*\n *2f 2f ',                # the path that UML's hostfs was told to mount
    r'comm "module".*\n.*\n *52 44 53 00 ',         # faults/module: a name, see sysfs_slab_add()
)))


def leaks(listing):
    """What kmemleak reports, without what is not ours."""
    found = []
    for report in re.split(r"(?m)^(?=unreferenced object)", listing)[1:]:
        if not KERNELS_OWN.search(report):
            found += report.splitlines()
    return found


def say_now(line=""):
    print(line, flush=True)


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


class HostLane:
    """The tests of this machine; @beside guests, of which they only get what those leave."""

    STARVED = 4     # so much longer they may take then
    IDLE, SOME = ["chrt", "--idle", "0"], ["nice", "-n", "5"]

    def __init__(self, check, tests, beside):
        self.check, self.tests, self.beside = check, tests, beside
        self.proc = None
        self.stopped = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.error = None

    def __enter__(self):
        if self.beside:
            self.thread.start()
        else:
            self.run()

    def __exit__(self, kind, *_):
        if kind:
            self.stop()
        if self.beside:
            self.thread.join()
        if self.error and not kind:
            raise self.error

    def stop(self):
        with self.check.lock:
            self.stopped = True
            if self.proc:
                testlib.kill_session(self.proc)

    def started(self, proc):
        with self.check.lock:
            self.proc = proc
            if self.stopped:
                testlib.kill_session(proc)

    def run(self):
        try:
            for test in self.tests:
                if self.stopped:
                    return
                self.one(test)
        except Exception as e:
            if not self.beside:
                raise
            self.error = e

    def one(self, test):
        lines, prefix = [], []
        say = say_now
        if self.beside:
            # the lines of one test stay together; a soak is for the fuzzers, too
            say, prefix = lines.append, self.SOME if self.check.soak else self.IDLE
            test.timeout *= self.STARVED
        self.check.begins(test, say)
        say(f"# {test.name} (on this machine)")
        env = dict(testlib.host_env(), **self.check.environment(test))
        outcome = testlib.run_on_host(test, env, say, prefix=prefix, started=self.started)
        if not self.stopped:
            self.check.record(outcome, say)
        if lines:
            with self.check.lock:
                print("\n".join(lines), flush=True)


class Lane:
    """One set of guests after the other, each for as many tests as it stands."""

    def __init__(self, check, say):
        self.check = check
        self.live = say
        self.buffer = []
        self.say = say or self.buffer.append
        self.cluster = None
        self.key = None
        self.ran = []

    def flush(self):
        """With several lanes the lines of one test stay together."""
        if not self.live and self.buffer:
            lines, self.buffer[:] = "\n".join(self.buffer), []
            with self.check.lock:
                print(lines, flush=True)

    def run(self, tests):
        if self.check.soak:
            self.check.soak.lane(1)
        try:
            for test in tests:
                if self.cluster and (not self.cluster.alive() or test.needs_boot() != self.key):
                    self.close()
                if not self.ready(test):
                    continue
                self.one(test)
                self.flush()
            self.close()
        finally:
            if self.check.soak:
                self.check.soak.lane(-1)
            if self.cluster:
                self.cluster.stop()
            self.flush()

    def ready(self, test):
        self.key = test.needs_boot()
        if self.cluster:
            return True
        try:
            self.cluster = Cluster(test.kinds, self.check.kernel, variant=self.check.variant, say=self.say,
                                   cpus=test.needs.get("cpus"), memory=test.needs.get("memory"),
                                   mtu=int(test.needs.get("mtu", 1500)),
                                   cmdline=test.needs.get("cmdline", ""), modules=test.modules)
            self.ran = []
            self.cluster.boot()
            return True
        except GuestError as e:
            self.check.fail(test.name, str(e), self.say)
            if self.cluster:
                self.cluster.stop()
            self.cluster = None
            return False

    def one(self, test):
        self.say(f"# {test.name} ({self.check.kernel})")
        self.ran.append(test.name)
        self.check.begins(test, self.say)
        self.cluster.env = self.check.environment(test)
        outcome = self.attempt(test)
        self.check.ended(test)
        self.check.record(outcome, self.say)
        if any(word in r for r in outcome.reasons for word in SPOILED):
            self.drop()
        elif self.check.variant == "gcov":
            coverage.collect_sometimes(self.cluster, self.say)

    def attempt(self, test):
        if test.nodes == 1:
            return testlib.GuestRun(test, self.cluster, self.say).run()
        return testlib.run_cluster_test(test, self.cluster, self.say)

    def drop(self):
        if self.check.variant == "gcov":
            coverage.collect(self.cluster, self.say)
        self.cluster.stop()
        self.cluster = None

    def close(self):
        if not self.cluster:
            return
        if self.cluster.alive():
            for g in self.cluster.guests.values():
                if g.kind.ours:
                    self.unload(g)
            self.say("")
        self.drop()

    def unload(self, g):
        """At the end of a boot the modules must go, and leave nothing."""
        begin = g.mark("begin unload")
        reasons = []
        try:
            code, out, err = g.run(UNLOAD, 60 * g.kind.slow)
            if code is None:
                reasons.append("the modules cannot be unloaded: no end")
                testlib.report_hang(g, self.say)
            elif code != 0:
                reasons.append("the modules cannot be unloaded: " + (out + err).strip())
            else:
                code, listing, err = g.run(SCAN, 120 * g.kind.slow)
                if code != 0:
                    reasons.append(f"kmemleak does not tell ({code}): {err.strip()}")
                lost = leaks(listing)
                if lost:
                    reasons.append("kmemleak after unload: " + lost[1].strip())
                    for line in lost[:60]:
                        self.say("#   " + line)
        except LinkDown:
            reasons.append("the guest died while the modules were unloaded")
        g.mark("end unload")
        # kmemleak only says how many; what they are is judged above
        reasons += testlib.log_reasons(g, begin, r"kmemleak: \d+ new suspected", self.say)
        for r in reasons:
            self.check.fail(f"unload after {self.ran[0]} .. {self.ran[-1]}, guest {g.name}", r, self.say)
        if not reasons:
            self.say(f"# modules unloaded cleanly in guest {g.name} ({self.check.kernel})")
