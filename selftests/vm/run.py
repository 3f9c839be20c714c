#!/usr/bin/python3 -u
# SPDX-License-Identifier: GPL-2.0
"""Runs the tests, or gives a shell in a guest.

run.py check [-k debian|uml-kasan] [-m ours|intree] [NAME-OR-GLOB...]
run.py list  [NAME-OR-GLOB...]
run.py shell [-k KERNEL] [-n NODES] [KIND...]
run.py exec  [-k KERNEL] [-t SECONDS] COMMAND      in one guest, modules loaded
run.py drive [-t SECONDS] KIND... -- COMMAND       a host command that drives guests
"""

import argparse
import fcntl
import os
import select
import shutil
import signal
import sys
import termios
import time
import tty

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import guest as guests
import tests as testlib
from agentlink import LinkDown
from cluster import Cluster
from guest import CACHE, GuestError

LOCK_WAIT = 3600


def say(line=""):
    print(line, flush=True)


class Lock:
    """One set of QEMU guests at a time, and one user-mode guest more than there are processors."""

    def __init__(self, kernel):
        slots = 1 if kernel == "debian" else (os.cpu_count() or 1) + 1
        self.paths = [os.path.join(CACHE, f"run-{kernel}-{i}.lock") for i in range(slots)]
        self.file = None

    def attempt(self):
        for path in self.paths:
            f = open(path, "a+")
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                f.close()
                continue
            f.truncate(0)
            f.write(f"process {os.getpid()}: {' '.join(sys.argv[1:])}")
            f.flush()
            self.file = f
            return True
        return False

    def holder(self):
        try:
            with open(self.paths[0]) as f:
                return f.read(200)
        except OSError:
            return "?"

    def __enter__(self):
        end = time.monotonic() + LOCK_WAIT
        told = 0
        while not self.attempt():
            if time.monotonic() > end:
                raise GuestError(f"another run has had guests up for an hour ({self.holder()})")
            if time.monotonic() - told > 30:
                say(f"# waiting: another run has guests up ({self.holder()})")
                told = time.monotonic()
            time.sleep(0.5)
        return self

    def __exit__(self, *_):
        self.file.close()


# QEMU before 8.2 may keep a translation of code that the kernel patched meanwhile (static
# keys): a breakpoint that is long gone is hit again, on a busy machine now and then. No C
# code of a module can raise it, so such a test gets a fresh guest and a second try.
EMULATOR_FAULT = "Oops: int3"


class Check:
    def __init__(self, kernel, kind):
        self.kernel, self.kind = kernel, kind
        self.outcomes = []
        self.extra_failed = 0
        self.notes = []
        self.repeated = []

    def record(self, outcome):
        self.outcomes.append(outcome)
        words = f"{outcome.passed} passed, {outcome.failed} failed"
        if outcome.skipped:
            words += f", {outcome.skipped} skipped"
        say(f"# {'ok    ' if outcome.ok() else 'FAILED'} {outcome.test.name}: {words}, {outcome.seconds:.1f} s")
        for reason in outcome.reasons:
            say(f"#        {outcome.test.name}: {reason}")
        say()

    def run(self, tests):
        single = [t for t in tests if t.nodes == 1 and not (self.kernel != "debian" and t.needs.get("uml") == "0")]
        if self.kind != "ours" or self.kernel != "debian":
            tests = single
            if self.kind != "ours":
                tests = [t for t in tests if t.needs.get("ref") != "0"]
                for t in tests:
                    t.kinds = (self.kind,)
        for t in (t for t in tests if t.nodes == 0):
            say(f"# {t.name} (on this machine)")
            self.record(testlib.run_on_host(t, testlib.host_env(), say))
        groups = {}
        for t in sorted((t for t in tests if t.nodes), key=lambda t: t.nodes):
            groups.setdefault(t.needs_boot(), []).append(t)
        for group in groups.values():
            with Lock(self.kernel):
                self.run_group(group)

    def cluster(self, test):
        c = Cluster(test.kinds, self.kernel, say=say, cpus=test.needs.get("cpus"),
                    memory=test.needs.get("memory"), mtu=int(test.needs.get("mtu", 1500)))
        c.env["RDS_KERNEL"] = self.kernel
        if self.kind != "ours":
            c.env["RDS_REF"] = "1"
        return c

    @staticmethod
    def attempt(test, cluster):
        say(f"# {test.name}")
        if test.nodes == 1:
            return testlib.GuestRun(test, cluster, say).run()
        return testlib.run_cluster_test(test, cluster, say)

    def run_group(self, group):
        cluster = None
        try:
            for test in group:
                if cluster and not cluster.alive():
                    cluster.stop()
                    cluster = None
                try:
                    if not cluster:
                        cluster = self.cluster(test)
                        cluster.boot()
                except GuestError as e:
                    self.fail(f"{test.name} and its group", str(e))
                    return
                outcome = self.attempt(test, cluster)
                if not cluster.uml() and any(EMULATOR_FAULT in r for r in outcome.reasons):
                    note = f"{test.name} ran twice: a fault of the emulator ({EMULATOR_FAULT})"
                    say(f"# {note}")
                    self.repeated.append(note)
                    cluster.stop()
                    cluster = self.cluster(test)
                    cluster.boot()
                    outcome = self.attempt(test, cluster)
                self.record(outcome)
                if any("no end after" in r or "kernel log" in r or "left behind" in r or "debug_locks" in r
                       for r in outcome.reasons):
                    # what it left behind must not be charged to the next
                    cluster.stop()
                    cluster = None
            if cluster and cluster.alive() and "ours" in group[0].kinds:
                self.unload(cluster, group)
        finally:
            if cluster:
                cluster.stop()

    def unload(self, cluster, group):
        """At the end of a boot the modules must go, and leave nothing."""
        for g in (g for g in cluster.guests.values() if g.kind.ours):
            begin = g.mark("begin unload")
            reasons = []
            try:
                code, out, err = g.run("sleep 1; for m in rds_tcp rds; do grep -q \"^$m \" /proc/modules || continue; "
                                       "rmmod $m || exit 1; done", 60)
                if code != 0:
                    reasons.append("the modules cannot be unloaded: " +
                                   ("no end after 60 s" if code is None else (out + err).strip()))
                    if code is None:
                        testlib.report_hang(g, say)
                if g.kind.uml and code == 0:
                    g.run("echo scan >/sys/kernel/debug/kmemleak; sleep 6; echo scan >/sys/kernel/debug/kmemleak", 90)
                    leaks = g.run("cat /sys/kernel/debug/kmemleak", 30)[1]
                    if "rds" in leaks:
                        reasons.append("kmemleak after unload")
                        for line in leaks.splitlines()[:60]:
                            say("#   " + line)
            except LinkDown:
                reasons.append("the guest died while the modules were unloaded")
            g.mark("end unload")
            reasons += testlib.log_reasons(g, begin, None, say)
            for r in reasons:
                self.fail(f"unload after {group[0].name} .. {group[-1].name}, guest {g.name}", r)
            if not reasons:
                say(f"# modules unloaded cleanly in guest {g.name}")
        say()

    def fail(self, what, why):
        self.extra_failed += 1
        self.notes.append(f"{what}: {why}")
        say(f"# FAILED {what}: {why}")

    def summary(self):
        failed = [o for o in self.outcomes if not o.ok()]
        skipped = sum(o.skipped for o in self.outcomes)
        say(f"# {len(self.outcomes)} test files, {skipped} cases skipped")
        for note in self.repeated:
            say(f"#   {note}")
        for o in failed:
            for name in o.failures:
                say(f"#   FAILED {o.test.name}: {name}")
            for reason in o.reasons:
                say(f"#   FAILED {o.test.name}: {reason}")
        for note in self.notes:
            say(f"#   FAILED {note}")
        bad = sum(o.failed for o in self.outcomes) + self.extra_failed
        say(f"{sum(o.passed for o in self.outcomes)} passed, {bad} failed")
        return 1 if bad else 0


def check(args):
    tests = testlib.find(args.names)
    if not tests:
        raise GuestError("no test is named " + " ".join(args.names) if args.names else "there are no tests")
    run = Check(args.kernel, args.kind)
    run.run(tests)
    if not run.outcomes and not run.extra_failed:
        raise GuestError("none of these tests runs with this kernel and this kind of module")
    return run.summary()


def list_tests(args):
    for t in testlib.find(args.names):
        say(f"{t.name:32} {' '.join(f'{k}={v}' for k, v in t.needs.items())}")
    return 0


def interact(cluster, name):
    """Joins the terminal to a shell in a guest."""
    g = cluster.guests[name]
    size = shutil.get_terminal_size()
    banner = f"guest {g.name}: {g.kind.name} {g.kind.version}; leave with 'exit' or Ctrl-D"
    others = [n for n in cluster.guests if n != name]
    if others:
        banner += f"; other nodes answer at 10.0.0.2 ... ({', '.join(others)})"
    cmd = g.agent.start(cluster.shell(f"echo; echo '{banner}'; export TERM=${{TERM:-linux}}; "
                                      f"PS1='[{name}] \\w # ' exec bash --norc -i"),
                        on_out=lambda d: os.write(1, d), pty=(size.lines, size.columns))
    terminal = os.isatty(0)
    saved = termios.tcgetattr(0) if terminal else None
    try:
        if terminal:
            tty.setraw(0)
        while not cmd.done.is_set():
            ready, _, _ = select.select([0], [], [], 0.2)
            if ready:
                data = os.read(0, 4096)
                if not data:
                    cmd.link.send("i", cmd.ident, b"\x04")
                    cmd.wait(600)
                    break
                cmd.link.send("i", cmd.ident, data)
    finally:
        if saved:
            termios.tcsetattr(0, termios.TCSADRAIN, saved)


def shell(args):
    kinds = args.kinds or ["ours"] * args.nodes
    with Lock(args.kernel):
        cluster = Cluster(kinds, args.kernel, say=say)
        try:
            cluster.boot()
            if len(kinds) == 1:
                cluster.guests["a"].must("modprobe rds_tcp")
            interact(cluster, "a")
        finally:
            cluster.stop()
    return 0


def execute(args):
    with Lock(args.kernel):
        cluster = Cluster([args.kind], args.kernel, say=lambda l: print(l, file=sys.stderr))
        try:
            cluster.boot()
            g = cluster.guests["a"]
            if args.kind != "none":
                g.must("modprobe rds_tcp")
            cmd = g.agent.start(cluster.shell(args.command), on_out=lambda d: os.write(1, d),
                                on_err=lambda d: os.write(2, d))
            code = cmd.wait(args.timeout)
            if code is None:
                testlib.report_hang(g, lambda l: print(l, file=sys.stderr))
                raise GuestError(f"no end after {args.timeout} s")
            bad = guests.bad_lines(g.console.since(0))
            if bad or args.log:
                print("\n".join(g.console.since(0)[-150:]), file=sys.stderr)
            return code if code > 0 or not bad else 1
        except LinkDown:
            print(g.tail(60), file=sys.stderr)
            raise GuestError("the guest died")
        finally:
            cluster.stop()


def drive(args):
    """Boots guests and runs a host command with the control socket in its environment."""
    import subprocess
    with Lock("debian"):
        cluster = Cluster(args.kinds, "debian", say=say, mtu=args.mtu, memory=args.memory, cpus=args.cpus)
        try:
            cluster.boot()
            code = subprocess.call(args.command, env=testlib.host_env(cluster), timeout=args.timeout)
            reasons = [r for g in cluster.guests.values() for r in testlib.log_reasons(g, 0, None, say)]
            return code or (1 if reasons else 0)
        except subprocess.TimeoutExpired:
            raise GuestError(f"no end after {args.timeout} s")
        finally:
            cluster.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = parser.add_subparsers(dest="what", required=True)

    def command(name, work):
        p = sub.add_parser(name)
        p.set_defaults(work=work)
        p.add_argument("-k", "--kernel", default="debian", choices=("debian", "uml-kasan"))
        return p
    p = command("check", check)
    p.add_argument("-m", "--kind", default="ours", choices=("ours", "intree", "intree61"))
    p.add_argument("names", nargs="*")
    command("list", list_tests).add_argument("names", nargs="*")
    p = command("shell", shell)
    p.add_argument("-n", "--nodes", type=int, default=1, choices=(1, 2, 3, 4))
    p.add_argument("kinds", nargs="*")
    p = command("exec", execute)
    p.add_argument("-m", "--kind", default="ours", choices=("ours", "intree", "intree61", "none"))
    p.add_argument("-t", "--timeout", type=int, default=120)
    p.add_argument("-l", "--log", action="store_true", help="show the kernel log afterwards")
    p.add_argument("command")
    p = command("drive", drive)
    p.add_argument("-t", "--timeout", type=int, default=600)
    p.add_argument("--mtu", type=int, default=1500)
    p.add_argument("--memory", type=int)
    p.add_argument("--cpus", type=int)
    p.add_argument("kinds", nargs="+")
    argv, after = sys.argv[1:], []
    if "--" in argv:
        at = argv.index("--")
        argv, after = argv[:at], argv[at + 1:]
    args = parser.parse_args(argv)
    if args.what == "drive":
        args.command = after
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(args.work(args))
    except GuestError as e:
        print(f"vm: {e}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("vm: interrupted", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)


if __name__ == "__main__":
    main()
