# SPDX-License-Identifier: GPL-2.0
"""The guests that run tests, one set after the other, and what runs on this machine."""

import re
import threading

import coverage
import tests as testlib
from agentlink import LinkDown
from board import say_now
from cluster import Cluster
from guest import GuestError

# After these a guest is thrown away: what a test left must not be charged to the next.
SPOILED = (testlib.NO_END, "kernel log", "left behind", "debug_locks")

UNLOAD = """sleep 1; for m in rds_rdma rds_tcp rds; do grep -q "^$m " /proc/modules || continue; rmmod $m || exit 1; done"""
# Memory must have been lost for 5 s to count.
SCAN = """k=/sys/kernel/debug/kmemleak; [ -e $k ] || exit 0
	echo scan >$k && sleep 6 && echo scan >$k && cat $k"""


# What the kernel loses by itself.
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


class HostLane:
    """The tests of this machine; @beside guests, of which they only get what those leave."""

    STARVED = 4     # so much longer they may take then
    IDLE, LITTLE, SOME = ["chrt", "--idle", "0"], ["nice", "-n", "10"], ["nice", "-n", "5"]

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
        with self.check.board.lock:
            self.stopped = True
            if self.proc:
                testlib.kill_session(self.proc)

    def started(self, proc):
        with self.check.board.lock:
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

    def share(self):
        """Of the processors."""
        if self.check.soak:     # it is for the fuzzers, too
            return self.SOME
        # two lanes may leave nothing at all
        return self.LITTLE if self.check.beside else self.IDLE

    def one(self, test):
        lines, prefix = [], []
        say = say_now
        limit = test.timeout
        if self.beside:
            # the lines of one test stay together
            say, prefix = lines.append, self.share()
            test.timeout *= max(self.STARVED, self.check.board.pace.now())
        self.check.begins(test, say)
        self.check.board.say(f"# {self.check.board.number()} {test.name} (on this machine)")
        env = dict(testlib.host_env(), **self.check.environment(test))
        outcome = testlib.run_on_host(test, env, say, prefix=prefix, started=self.started)
        test.timeout = limit
        if not self.stopped:
            self.check.record(outcome, say)
        if lines:
            self.check.board.say("\n".join(lines))


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
            self.check.board.say(lines)

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
                                   cmdline=test.needs.get("cmdline", ""), modules=test.modules,
                                   clock=test.needs.get("clock", "wall"))
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
        self.check.board.say(f"# {self.check.board.number()} {test.name} ({self.check.kernel})")
        self.ran.append(test.name)
        self.check.begins(test, self.say)
        self.check.board.pace.measure(self.cluster.guests["a"])
        self.cluster.env = self.check.environment(test)
        before, limit = self.cluster.processor_seconds(), test.timeout
        test.timeout = self.check.stretched(test)
        outcome = self.attempt(test)
        test.timeout = limit
        outcome.processor = self.cluster.processor_seconds() - before
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
