# SPDX-License-Identifier: GPL-2.0
"""Finds tests, knows what each needs, runs one."""

import fnmatch
import os
import shlex
import signal
import subprocess
import threading
import time

import guest as guests
from agentlink import LinkDown
from cluster import BIN, Cluster
from guest import CACHE, TOP, GuestError
from meter import Meter
from tap import Tap

SELFTESTS = os.path.join(TOP, "selftests")
SUFFIXES = (".c", ".sh", ".py")

# What must be as before once a test is over: "name number" lines. Shrinking gives
# back what the processors keep, and KASAN's quarantine; so does refreshing the counts.
COUNTS = """for c in /sys/kernel/slab/rds_* /sys/kernel/slab/RDS /sys/kernel/slab/net_namespace \
	/sys/kernel/slab/sock_inode_cache /sys/kernel/slab/TCP /sys/kernel/slab/TCPv6; do
	[ -d "$c" ] || continue; echo 1 >$c/shrink; read n rest <$c/objects; echo "${c##*/} $n"; done
	for p in /sys/module/rds*/parameters/*; do
		[ -w "$p" ] && read n <"$p" && echo "parameter:${p#/sys/module/} $n"; done
	[ ! -e /sys/class/infiniband/rxe0 ] || echo "regions $(rdma res show mr | wc -l)"
	echo 1 2>/dev/null >/proc/sys/vm/stat_refresh
	awk '/^rds/ { print "references:" $1, $3 }
		/^nr_foll_pin_acquired/ { a = $2 } /^nr_foll_pin_released/ { r = $2 }
		/debug_locks:/ { print "debug_locks", $2 }
		END { print "pinned", a - r }' /proc/modules /proc/vmstat \
		$([ ! -e /proc/lockdep_stats ] || echo /proc/lockdep_stats)"""
# Between guests the links stay when a test is over.
OF_LINKS = ("TCP", "TCPv6", "sock_inode_cache")
MODPROBE_FAILED = 99
NO_END = "no end after"
SOAK_TESTS = "RDS_SOAK"
# Of .ci/run: what a lane is called in a test's metadata, and its kernel.
LANES = {"debian": "debian", "uml": "uml-kasan"}


class Test:
    def __init__(self, name, path, needs):
        self.name, self.path, self.needs = name, path, needs
        self.nodes = int(needs.get("nodes", 1))
        self.timeout = int(needs.get("timeout", 60))
        self.modules = [m for m in needs.get("modules", "rds_tcp" if self.nodes else "").split(",")
                        if m and m != "none"]
        self.optional = [m for m in needs.get("optional", "").split(",") if m]
        self.expect = needs.get("expect")
        self.waits = self.nodes > 1 or needs.get("waits") == "1"
        self.alone = needs.get("alone") == "1"
        self.own_netns = needs.get("netns", "own") == "own"
        self.kinds = tuple(needs.get(n, "ours") for n in "abcd"[:self.nodes])
        self.weight = int(needs.get("soak", 1))
        self.slow = 1
        self.soak = 0
        for key in needs:
            if key not in ("nodes", "timeout", "modules", "expect", "netns", "host", "fresh", "cpus",
                           "memory", "mtu", "optional", "a", "b", "c", "d", "ref", "uml", "cmdline", "waits",
                           "soak", "lanes", "alone", "clock"):
                raise GuestError(f"{path}: 'vm:' line has an unknown key '{key}'")
        if not 0 <= self.nodes <= 4:
            raise GuestError(f"{path}: nodes={self.nodes}, but 0 to 4 are possible")
        able = [lane for lane, kernel in LANES.items() if self.runs_on(kernel)]
        self.lanes = needs["lanes"].split(",") if "lanes" in needs else able
        for lane in self.lanes:
            if lane not in able:
                raise GuestError(f"{path}: lanes={needs['lanes']}, but it runs in {' and '.join(able)}")

    def runs_on(self, kernel):
        """Does this kernel have what it needs, given modules of our own?"""
        if kernel == "debian":
            return True
        if kernel == "uml-kasan":
            return self.nodes == 1 and self.needs.get("uml") != "0"
        # other kernels have no in-tree module, and the programs of this machine run with debian
        return self.nodes == 1 or (self.nodes > 1 and set(self.kinds) == {"ours"})

    def reads_soak(self):
        with open(self.path, errors="replace") as f:
            return SOAK_TESTS in f.read()

    def scale(self, kernel):
        """The time limit on @kernel."""
        if self.nodes:
            self.slow = guests.KERNELS[kernel][0]
        self.timeout *= self.slow

    def give(self, minutes):
        """For its long form."""
        self.soak = minutes
        if self.reads_soak():
            self.timeout += minutes * 120

    def needs_boot(self):
        """Tests with equal keys share a boot."""
        extra = self.name if self.needs.get("fresh") == "1" else ""
        modules = tuple(self.modules) if self.nodes > 1 else ()
        return (self.nodes, self.kinds, modules, self.needs.get("cpus"), self.needs.get("memory"),
                self.needs.get("mtu"), self.needs.get("cmdline"), self.needs.get("clock"), extra)

    def command(self):
        if self.path.endswith(".c"):
            return [os.path.join(BIN, self.name)]
        return ["bash" if self.path.endswith(".sh") else "python3", self.path]


def metadata(path):
    """The keys of the 'vm:' comments among the first lines, or None."""
    try:
        with open(path, errors="replace") as f:
            head = [next(f, "") for _ in range(30)]
    except OSError:
        return None
    needs = {}
    for line in head:
        text = line.strip().removesuffix("*/").strip().lstrip("/*#").strip()
        if not text.startswith("vm: "):
            continue
        try:
            words = shlex.split(text[4:])
            needs.update(w.split("=", 1) for w in words)
        except ValueError:
            raise GuestError(f"{path}: cannot read the line '{text}'")
    return needs or None


def find(patterns):
    tests = []
    for folder, dirs, files in os.walk(SELFTESTS):
        dirs[:] = sorted(d for d in dirs if d not in ("vm", "build") and not d.startswith("."))
        for file in sorted(files):
            if not file.endswith(SUFFIXES):
                continue
            path = os.path.join(folder, file)
            name = os.path.relpath(path, SELFTESTS).rsplit(".", 1)[0]
            if patterns and not any(fnmatch.fnmatch(name, p) for p in patterns):
                continue
            needs = metadata(path)
            if needs is not None:
                tests.append(Test(name, path, needs))
    return tests


class Outcome:
    """Counts of one test, and why it failed."""

    def __init__(self, test, tap, code, reasons, seconds, worked=False):
        """@worked: it still did when its time was over"""
        self.test, self.seconds, self.worked = test, seconds, worked
        self.processor = 0      # seconds
        self.passed, self.failed, self.skipped = tap.passed, tap.failed, tap.skipped
        self.reasons = reasons
        self.failures, self.why = tap.failures, tap.why
        self.ran, self.left_out = tap.ran, tap.left_out
        self.wrong = tap.failed - tap.late
        if code == 4 and tap.plan is None and not tap.seen():   # a skipped kselftest file
            self.skipped += 1
        elif code == 4 and tap.none:            # the same with a reason
            pass
        elif code != 0 and not tap.failed and code is not None:
            self.reasons.append(f"exit status {code}")
        elif tap.plan is None and not tap.seen() and code == 0 and not reasons:
            self.passed += 1                    # no TAP: the file is the case
        if tap.seen() and tap.plan is None and code == 0:
            self.reasons.append("it came to no end: no number of cases was announced")
        if tap.plan == 0 and not tap.none:
            self.reasons.append("no cases were announced, and no reason")
        if tap.plan is not None and tap.plan != tap.seen() and code is not None:
            self.reasons.append(f"{tap.plan} cases were announced, {tap.seen()} reported")
        # each reason is a failure of its own, but one is enough for a file
        if self.reasons:
            self.failed += 1

    def ok(self):
        return not self.failed

    def late(self):
        """Did it fail only because its time was over, while it, and each case that had no time, still worked?"""
        if self.ok() or self.wrong:
            return False
        return not self.reasons or (self.worked and all(r.startswith(NO_END) for r in self.reasons))


def run_on_host(test, env, say, cancelled=None, prefix=(), started=None, sessions=None):
    """A test that runs here (nodes=0, or driving guests, which have @sessions)."""
    start = time.monotonic()
    reasons = []
    proc = subprocess.Popen([*prefix, *test.command()], cwd=SELFTESTS, env=env, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    if started:
        started(proc)
    late = []                   # has it worked to the end of its time?

    def expire():
        late.append(meter.worked(test.timeout / 4))
        if cancelled:
            cancelled()
        kill_session(proc)
    timer = threading.Timer(test.timeout, expire)
    with Meter(sessions or (lambda: {proc.pid})) as meter:
        tap = Tap(say, meter.worked_since)
        timer.start()
        try:
            while True:
                data = os.read(proc.stdout.fileno(), 65536)
                if not data:
                    break
                tap.feed(data)
            code, processor = wait(proc)
        finally:
            timer.cancel()
            kill_session(proc)
    tap.end()
    if late:
        reasons.append(f"{NO_END} {test.timeout} s")
        code = None
    outcome = Outcome(test, tap, code, reasons, time.monotonic() - start, any(late))
    outcome.processor = processor
    return outcome


def wait(proc):
    """The exit status of @proc, and the processor seconds that it and its children had."""
    _, status, usage = os.wait4(proc.pid, 0)
    proc.returncode = os.waitstatus_to_exitcode(status)
    return proc.returncode, usage.ru_utime + usage.ru_stime


def kill_session(proc):
    try:
        os.killpg(proc.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def host_env(cluster=None):
    env = dict(os.environ, BIN=BIN, RDS_CACHE=CACHE, RDS_TOP=TOP, RDS_SELFTESTS=SELFTESTS)
    env["PATH"] = BIN + ":" + env.get("PATH", "")
    if cluster:
        env["RDS_VM_SOCKET"] = cluster.serve()
        env["RDS_NODES"] = " ".join(cluster.guests)
        for g in cluster.guests.values():
            env[f"RDS_KIND_{g.name}"] = g.kind.name
        env.update(cluster.env)
    return env


class GuestRun:
    """One test inside the only guest of a cluster."""

    def __init__(self, test, cluster, say):
        self.test, self.cluster, self.say = test, cluster, say
        self.guest = cluster.guests["a"]
        self.reasons = []

    def command(self):
        inner = shlex.join(self.test.command())
        if self.test.own_netns:
            inner = f"exec unshare -n sh -c 'ip link set lo up; exec {inner}'"
        return self.cluster.shell(inner + " 2>&1")

    def load(self):
        """Shell code that loads what the test asks for, and what of the optional modules this kernel has."""
        cmd = ""
        if "rds_rdma" not in self.test.modules:     # of a test before this one; it adds records and a user
            cmd = f"[ ! -d /sys/module/rds_rdma ] || rmmod rds_rdma || exit {MODPROBE_FAILED}; "
        cmd += "".join(f"modprobe -q {m}; " for m in self.test.optional)
        if self.test.modules:
            cmd += f"modprobe -a {' '.join(self.test.modules)} || exit {MODPROBE_FAILED}"
        return cmd

    def run(self):
        with Meter(self.cluster.sessions) as meter:
            return self.metered(meter)

    def metered(self, meter):
        g, tap, code, worked = self.guest, Tap(self.say, meter.worked_since), None, False
        begin = g.mark(f"begin {self.test.name}")
        start = time.monotonic()
        try:
            before = counts(self.guest, self.load())
            cmd = g.agent.start(self.command(), on_out=tap.feed)
            code = cmd.wait(self.test.timeout)
            tap.end()
            if code is None:
                worked = meter.worked(self.test.timeout / 4)
                self.hang(cmd)
            self.after(before)
        except LinkDown:
            tap.end()
            self.reasons.append("the guest died")
            time.sleep(1)
        except GuestError as e:
            self.reasons.append(str(e))
        seconds = time.monotonic() - start
        g.mark(f"end {self.test.name}")
        self.reasons += log_reasons(g, begin, self.test.expect, self.say)
        return Outcome(self.test, tap, code, self.reasons, seconds, worked)

    def hang(self, cmd):
        self.reasons.append(f"{NO_END} {self.test.timeout} s")
        report_hang(self.guest, self.say)
        cmd.kill(9)
        if cmd.wait(10) is None:
            self.reasons.append("its processes cannot be killed")

    def after(self, before):
        """Everything the test made must be gone again."""
        # The in-tree module keeps namespaces alive; only ours must do better.
        reference = self.test.kinds[0] != "ours"
        behind, off = left(self.guest, before, 2 if reference else 20 * self.guest.kind.slow)
        if behind and reference:
            self.say(f"# note: {behind}")
            behind = None
        self.reasons.extend(filter(None, (behind, off)))


def counts(g, first=""):
    """COUNTS, with @first before it in the same shell: each start of one takes its time."""
    code, out, err = g.run(first + "\n" + COUNTS, 60 * g.kind.slow)
    if code == MODPROBE_FAILED:
        raise GuestError((out + err).strip())
    found = dict((w[0], int(w[1])) for w in (l.split() for l in out.splitlines()) if len(w) == 2)
    if code != 0 or "pinned" not in found:
        raise GuestError(f"what there is cannot be counted ({code}): {err.strip()}")
    return found


def left(g, before, seconds, without=()):
    """What is there now and was not @before, which has @seconds to go, and if lockdep is off: sentences or None."""
    end = time.monotonic() + seconds
    # "kill -1" reaches all but process 1 and the shell itself
    now = counts(g, "kill -9 -1; ip -all netns delete 2>/dev/null")
    off = "lockdep turned itself off (debug_locks: 0)" if now.get("debug_locks", 1) != 1 else None
    while True:
        more = {k: (before.get(k, 0), n) for k, n in now.items()
                if k not in without and differs(k, before.get(k), n)}
        if not more:
            return None, off
        if time.monotonic() > end:
            return "left behind: " + ", ".join(f"{k} {b} -> {n}" for k, (b, n) in sorted(more.items())), off
        # The kernel frees the last dead namespace when the next one is cleaned up
        # (net_passive_dec()): one may stay, and an empty one flushes the others.
        now = counts(g, "unshare -n true; sleep 0.3")


def differs(name, before, now):
    if name.startswith(("references:", "parameter:")):      # modules may have been unloaded and loaded
        return before is not None and now != before
    return now > max(before or 0, int(name == "net_namespace"))


def report_hang(g, say):
    say(f"# guest {g.name}: blocked tasks (sysrq w)")
    for line in g.blocked_tasks():
        say("#   " + line)
    say(f"# guest {g.name}: kernel stacks of its processes")
    for line in g.stacks():
        say("#   " + line)


def log_reasons(g, begin, expect, say):
    lines = g.console.since(begin)
    bad = guests.bad_lines(lines, expect)
    if not bad:
        return []
    say(f"# kernel log of guest {g.name}:")
    first = max(0, lines.index(bad[0]) - 3)
    for line in lines[first:first + 60]:
        say("#   " + line)
    return [f"kernel log of guest {g.name}: {bad[0].strip()}"]


def run_cluster_test(test, cluster, say):
    """A script on the host that drives several guests."""
    begins = {g: g.mark(f"begin {test.name}") for g in cluster.guests.values()}
    boots = {g: g.boots for g in cluster.guests.values()}
    reasons = []

    def judge(g):
        reasons.extend(log_reasons(g, begins[g] if g.boots == boots[g] else 0, test.expect, say))

    def goes(g):
        """The test kills or restarts @g, whose log is lost then."""
        if g.kind.ours and g.proc and g.boots not in judged[g]:
            judged[g].add(g.boots)
            judge(g)
    judged = {g: set() for g in cluster.guests.values()}
    before = {}

    def each(work, which):
        try:
            Cluster.parallel(work, which)
        except GuestError as e:
            reasons.append(str(e))

    def after(g):
        try:
            found = left(g, before[g], 20 * g.kind.slow, OF_LINKS)
            reasons.extend(f"guest {g.name}: {r}" for r in found if r)
        except LinkDown:
            reasons.append(f"guest {g.name} died")
    each(lambda g: before.update({g: counts(g)}), [g for g in cluster.guests.values() if g.kind.ours])
    cluster.goes = goes
    outcome = run_on_host(test, host_env(cluster), say, sessions=cluster.sessions,
                          cancelled=lambda: [report_hang(g, say) for g in cluster.guests.values() if g.alive()])
    cluster.goes = None
    # what was booted anew meanwhile has begun anew
    each(after, [g for g in before if g.alive() and g.boots == boots[g]])
    for g in cluster.guests.values():
        if g.alive():
            g.mark(f"end {test.name}")
        if g.boots not in judged[g]:
            judge(g)
    if reasons:
        outcome.reasons += reasons
        outcome.failed += 1
    return outcome
