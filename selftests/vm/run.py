#!/usr/bin/python3 -u
# SPDX-License-Identifier: GPL-2.0
"""Runs the tests, or gives a shell in a guest.

run.py check [-k debian|uml-kasan|kasan|kcsan] [-m ours|intree] [-j GUESTS] [--soak MINUTES] [NAME-OR-GLOB...]
run.py check --both|--lanes [-j GUESTS] [--build COMMAND] [NAME-OR-GLOB...]
run.py list  [NAME-OR-GLOB...]
run.py shell [-k KERNEL] [-n NODES] [KIND...]
run.py exec  [-k KERNEL] [-t SECONDS] COMMAND      in one guest, modules loaded
run.py drive [-t SECONDS] KIND... -- COMMAND       a host command that drives guests
"""

import argparse
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
from board import Board
from check import Check, run_all
from cluster import Cluster
from guest import KERNELS, GuestError
from lock import UML_GUESTS, Lock


def say(line=""):
    print(line, flush=True)


def lanes(args, board):
    """The checks of a run: one kernel, or both at the same time."""
    def jobs(kernel, default):
        return (args.jobs or default) if kernel == "uml-kasan" else 1
    if not (args.lanes or args.both):
        return [Check(args.kernel, args.kind, jobs(args.kernel, os.cpu_count() or 1), args.variant, args.soak,
                      0 if args.soak else int(os.environ.get("RDS_SOAK") or 0), board)]
    # guests of UML, which mostly wait, when the others are over
    return [Check(kernel, "ours", jobs(kernel, UML_GUESTS), board=board, lanes=args.lanes, beside=True,
                  build=args.build if kernel == "uml-kasan" else None)
            for kernel in testlib.LANES.values()]


def check(args):
    tests = testlib.find(args.names)
    if not tests:
        raise GuestError("no test is named " + " ".join(args.names) if args.names else "there are no tests")
    if args.soak and not any(t.reads_soak() for t in tests):
        raise GuestError("none of these tests reads RDS_SOAK")
    board = Board(float(os.environ.get("RDS_BEGAN") or 0), float(os.environ.get("RDS_WITHIN") or 0))
    checks = {c.kernel: c for c in lanes(args, board)}
    for c in checks.values():
        c.choose(tests)
    run_all([c for c in checks.values() if c.tests])
    if not board.entries and not board.notes:
        raise GuestError("none of these tests runs with this kernel and this kind of module")
    for kernel, outcome in board.late() if not args.soak else ():
        checks[kernel].again(outcome)
    board.summary()
    kept = os.environ.get("RDS_TOTALS")
    if kept:        # .ci/run has the last word, after make
        with open(kept, "w") as f:
            f.write(board.totals() + "\n")
    else:
        say(board.totals())
    return 1 if board.failed() or (len(checks) > 1 and not board.passed()) else 0


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
    cmd = g.agent.start(cluster.shell(f"echo; echo '{banner}'; . vm/pages.sh; "
                                      f"pages {guests.TOP}/tools /run/rds-man; export TERM=${{TERM:-linux}}; "
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
        cluster = Cluster(args.kinds, "debian", say=say, mtu=args.mtu, memory=args.memory, cpus=args.cpus,
                          modules=args.modules.split(","))
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
        p.add_argument("-k", "--kernel", default="debian", choices=tuple(KERNELS))
        return p
    p = command("check", check)
    p.add_argument("-m", "--kind", default="ours", choices=("ours", "intree", "intree61"))
    p.add_argument("-j", "--jobs", type=int, help="user-mode guests at a time (default: one for each processor)")
    p.add_argument("--variant", default="", choices=("", "gcov"))
    p.add_argument("--soak", type=int, default=0, help="only what reads RDS_SOAK, this many minutes in all")
    p.add_argument("--both", action="store_true", help="with Debian's kernel and uml-kasan at the same time")
    p.add_argument("--lanes", action="store_true", help="the same, each test in the lanes that it names")
    p.add_argument("--build", help="command that makes uml-kasan and its modules, run meanwhile")
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
    p.add_argument("--modules", default="rds_tcp", help="loaded in each guest, in this order")
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
