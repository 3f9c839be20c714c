#!/usr/bin/python3 -u
# SPDX-License-Identifier: GPL-2.0
"""Measures our module beside the in-tree one and beside other transports.

bench.py [--quick] [--clock icount|wall|verbs|all] [--runs N] [--seconds S] [--no-profile]
         [--no-memory] [--kinds ours,intree] [--transports rds,tcp,...] [--save] [CELL...]

Each round boots a guest with our module and then one with the in-tree module. In
both, rds-bench runs the same cells, the transports of a cell one after the other.
Over verbs there is RDS only, and instructions are the clock.
The last boots run with a plugin of QEMU that counts instructions by function.
"""

import argparse
import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bench_report as report
import guest as guests
from agentlink import LinkDown
from cluster import BIN, Cluster
from guest import TOP, GuestError
from lock import Lock

CELLS = ["stream/64", "stream/1K", "stream/8K", "stream/64K", "stream/1M", "pingpong/64", "pingpong/64K",
         "fanin/64/16", "fanout/64/1", "fanout/64/16", "fanout/64/64", "sockets/64/1",
         "sockets/64/16", "sockets/64/256", "sockets/64/1000", "beside/1M"]
VERBS_CELLS = ["stream/64", "stream/8K", "stream/1M", "pingpong/64"]
QUICK_CELLS = ["stream/64", "stream/64K", "pingpong/64", "fanin/64/4"]
PROFILED = ["stream/64", "pingpong/64", "fanin/64/16", "stream/64K", "fanout/64/64", "sockets/64/16"]
OUT = os.path.join(TOP, "build/bench")
SYMBOLS = "awk 'tolower($2) == \"t\" { print $1, $3, $4 }' /proc/kallsyms"
# More than enough for one cell with one transport, boot and farewell included.
CELL_TIMEOUT = 90


def say(line=""):
    print(line, file=sys.stderr, flush=True)


class Guest:
    """One boot, for as many commands as are wanted."""

    def __init__(self, kind, clock, plugin=None):
        self.verbs = clock == "verbs"
        counted = clock != "wall"
        self.cluster = Cluster([kind], "debian", cpus=1 if counted else 2, say=say,
                               clock="icount" if counted else "wall")
        self.guest = self.cluster.guests["a"]
        self.guest.plugin = plugin

    def __enter__(self):
        try:
            self.cluster.boot()
            self.guest.must("modprobe -a rds_rdma rdma_rxe" if self.verbs else "modprobe rds_tcp", 60)
        except BaseException:
            self.cluster.stop()
            raise
        return self

    def __exit__(self, *_):
        self.cluster.stop()

    def run(self, command, timeout):
        out = []
        cmd = self.guest.agent.start(self.cluster.shell(command), on_out=out.append,
                                     on_err=lambda d: os.write(2, d))
        code = cmd.wait(timeout)
        text = b"".join(out).decode(errors="replace")
        if code is None:
            raise GuestError(f"no end after {timeout} s: {command}")
        bad = guests.bad_lines(self.guest.console.since(0))
        if bad:
            raise GuestError("kernel log: " + bad[0])
        return code, text

    def bench(self, cells, options, transports=None):
        script = "verbs.sh" if self.verbs else "run.sh"
        words = ["bash", os.path.join(TOP, "selftests/bench", script), "--json", *options]
        if transports:
            words += ["-p", transports]
        count = len(cells) * (len(transports.split(",")) if transports else 6)
        code, text = self.run(shlex.join(words + cells), 60 + CELL_TIMEOUT * count)
        try:
            runs = json.loads(text)["runs"]
        except ValueError:
            raise GuestError(f"rds-bench gave no result ({code}): {text[-300:]}")
        for r in runs:
            if not r["ok"]:
                say(f"# FAILED {r['transport']} {r['cell']}: {r['why']}")
        return runs

    def memory(self):
        code, text = self.run(shlex.join(["bash", os.path.join(TOP, "selftests/bench/memory.sh")]), 600)
        if code:
            raise GuestError(f"memory.sh gave no result ({code}): {text[-300:]}")
        return json.loads(text)


def rounds(args, clock, results):
    """All boots under one clock."""
    for number in range(args.runs):
        with Lock("debian", say=say):
            for kind in args.kinds:
                say(f"# {clock}, round {number + 1} of {args.runs}, {kind}")
                one_boot(args, clock, number, kind, results)
                store("results.json", results)
        if number + 1 < args.runs:
            say(f"# so far, after round {number + 1} of {args.runs}:")
            report.table(results, sys.stderr)


def verbs_cells(cells):
    """What of @cells there is over verbs, where the receivers have one address."""
    if cells is CELLS:
        return VERBS_CELLS
    return [c for c in cells if not re.fullmatch(r"fanout/[^/]*/0*([2-9]|[1-9]\d+)", c)]


def one_boot(args, clock, number, kind, results):
    # the others do not depend on our module: framed TCP shows that the boots are alike
    transports = args.transports or (None if kind == "ours" else "rds,tcp")
    if clock == "verbs":
        transports = "rds"
    start = time.monotonic()
    with Guest(kind, clock) as g:
        cells = verbs_cells(args.cells) if g.verbs else args.cells
        for times, some in itertools.groupby(cells, lambda cell: report.longer(clock, cell)):
            for r in g.bench(list(some), ["-t", str(args.seconds * times), "-w"], transports):
                results.append(dict(r, clock=clock, round=number, kind=kind))
    say(f"# took {time.monotonic() - start:.0f} s")


def store(name, data):
    os.makedirs(OUT, exist_ok=True)
    with open(os.path.join(OUT, name), "w") as f:
        json.dump(data, f, indent=1)


def profile(args):
    """Counts by function, for RDS of each kind and for framed TCP."""
    found = []
    for kind in args.kinds:
        base = os.path.join(OUT, f"profile-{kind}")
        for name in os.listdir(OUT):
            if name.startswith(f"profile-{kind}."):
                os.unlink(os.path.join(OUT, name))
        say(f"# profile, {kind}")
        plugin = f"{BIN}/profile.so,out={base}"
        transports = "rds,tcp" if kind == args.kinds[0] else "rds"
        with Lock("debian", say=say), Guest(kind, "icount", plugin) as g:
            runs = g.bench(args.profiled, ["-t", str(args.seconds / 2), "--mark"], transports)
            symbols = g.run(SYMBOLS, 120)[1]
        for number, r in enumerate(runs, 1):
            if not r["ok"]:
                continue
            with open(f"{base}.{number}") as f:
                counts = report.by_function(f, symbols)
            found.append(dict(kind=kind, transport=r["transport"], cell=r["cell"],
                              messages=r["messages"], functions=counts))
    store("profile.json", found)
    return found


def memory(kinds):
    """Bytes of an idle socket and of an idle connection, by kind."""
    found = {}
    for kind in kinds:
        say(f"# memory, {kind}")
        with Lock("debian", say=say), Guest(kind, "icount") as g:
            found[kind] = g.memory()
    store("memory.json", found)
    return found


def command_line():
    words = [w for w in sys.argv[1:] if w != "--save"]
    made = os.environ.get("RDS_BENCH_COMMAND")
    return made or "selftests/vm/bench.py " + shlex.join(words)


def save(results, found, used, about):
    """A file for each clock: what was measured by another one is still true."""
    folder = os.path.join(TOP, "Documentation/performance")
    os.makedirs(folder, exist_ok=True)
    for clock in dict.fromkeys(r["clock"] for r in results):
        path = os.path.join(folder, f"table-{clock}.md")
        with open(path, "w") as f:
            f.write(report.document(clock, results, found, used, about))
        say(f"# written: {path}")


def describe(args):
    def git(*words):
        return subprocess.run(["git", "-C", TOP, *words], capture_output=True, text=True).stdout.strip()
    dirty = " with changes" if git("status", "--porcelain", "net", "include") else ""
    with open("/proc/cpuinfo") as f:
        cpu = next((l.split(":", 1)[1].strip() for l in f if l.startswith("model name")), "?")
    return {"command": command_line(), "commit": git("describe", "--always", "--abbrev=12") + dirty,
            "kernel": guests.kind("intree").version, "cpu": cpu, "runs": args.runs,
            "seconds": args.seconds}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few cells, one round, instructions only")
    parser.add_argument("--clock", default="all", choices=("icount", "wall", "verbs", "all"))
    parser.add_argument("--runs", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--no-profile", action="store_true")
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--kinds", default="ours,intree")
    parser.add_argument("--transports")
    parser.add_argument("--save", action="store_true", help="write Documentation/performance/table-*.md")
    parser.add_argument("--again", action="store_true", help="make the table from what the last run left")
    parser.add_argument("cells", nargs="*")
    args = parser.parse_args()
    args.kinds = args.kinds.split(",")
    args.profiled = args.cells or (PROFILED[:1] if args.quick else PROFILED)
    # who names cells wants these, not what an idle socket takes
    args.no_memory = args.no_memory or args.quick or bool(args.cells)
    args.cells = args.cells or (QUICK_CELLS if args.quick else CELLS)
    args.runs = args.runs or (1 if args.quick else 3)
    args.seconds = args.seconds or (0.05 if args.quick else 0.4)
    if args.quick:
        args.clock = "icount"
    return args


def load(name):
    try:
        with open(os.path.join(OUT, name)) as f:
            return json.load(f)
    except (OSError, ValueError):
        return []


def measure(args):
    clocks = ["icount", "wall", "verbs"] if args.clock == "all" else [args.clock]
    os.makedirs(OUT, exist_ok=True)
    results, found = [], []
    used = {} if args.no_memory or args.clock == "verbs" else memory(args.kinds)
    for clock in clocks:
        if clock == "verbs" and not verbs_cells(args.cells):
            say("# verbs: none of these cells, a fan-out wants an address for each peer")
            continue
        rounds(args, clock, results)
        if clock == "icount" and not args.no_profile:
            found = profile(args)
    report.table(results, sys.stdout)
    return results, found, used


def main():
    args = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    about = describe(args)
    if args.again:
        results, found, about = load("results.json"), load("profile.json"), load("about.json")
        used = load("memory.json")
        report.table(results, sys.stdout)
    else:
        store("about.json", about)
        results, found, used = measure(args)
    report.memory(used, sys.stdout)
    for clock in ("icount", "wall"):
        if args.cells is CELLS and any(r["clock"] == clock for r in results):
            report.goals_table(results, used, clock, sys.stdout)
    report.profile(found, sys.stdout)
    if args.save:
        save(results, found, used, about)
    failed = [r for r in results if not r["ok"]]
    for r in failed:
        say(f"# FAILED {r['kind']} {r['transport']} {r['cell']}: {r['why']}")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (GuestError, LinkDown) as e:
        print(f"bench: {e}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
