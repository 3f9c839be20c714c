#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=60
"""What "make bench" measures when cells are named (CELLS=...), and when "make speed" fails."""

import os
import subprocess
import sys
import tempfile

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(TOP, "selftests/vm"))

sys.path.insert(0, os.path.join(TOP, "selftests/speed"))

import bench
import report as speed_report
import tapcases

REPORT = """BASE=intree:intree PAIRS='ours:ours intree:intree' FIGURES=x:messages:64:1 T=$1 TABLE= ROUNDS=3
SELFTESTS=$2
for f in report median perftest_line finish; do
	eval "$(cat "$SELFTESTS/speed/common.sh" "$SELFTESTS/speed/ib.sh" | sed -n "/^$f()/,/^}/p")"
done; $3"""


def parsed(*words):
    sys.argv = ["bench.py", *words]
    return bench.parse()


def all_cells():
    args = parsed("--save")
    return args.cells is bench.CELLS and args.profiled == bench.PROFILED and not args.no_memory


def named_cells():
    args = parsed("stream/1M", "fanin/64/16")
    return args.cells == args.profiled == ["stream/1M", "fanin/64/16"] and args.no_memory


def quick_cells():
    args = parsed("--quick")
    return args.cells == bench.QUICK_CELLS and len(args.profiled) == 1 and args.no_memory


def over_verbs():
    named = ["stream/64", "fanout/64/1", "fanout/64", "fanout/64/16", "fanin/64/16", "fanout/1K/2"]
    return (bench.verbs_cells(bench.CELLS) == bench.VERBS_CELLS and
            bench.verbs_cells(named) == ["stream/64", "fanout/64/1", "fanout/64", "fanin/64/16"] and
            not bench.verbs_cells(["fanout/64/64"]))


def no_time():
    runs = [{"ok": True, "clock": "icount", "cell": "pingpong/64", "kind": "ours", "transport": "udp",
             "round": n, "median_us": t} for n, t in enumerate((None, 5.0))]
    return bench.report.pick(runs, "icount", "pingpong/64", "ours", "udp") == {1: 5.0}


def speed(ours, theirs, perf=None):
    """Exit status and output of the report of "make speed"; with ib_write_bw's figures, of the end of ib.sh."""
    with tempfile.TemporaryDirectory() as folder:
        for pair, figures in (("ours:ours", ours), ("intree:intree", theirs)):
            if figures:
                with open(os.path.join(folder, pair + ".x"), "w") as f:
                    f.write("".join(f"{v}\n" for v in figures))
        if perf:
            with open(os.path.join(folder, "perf"), "w") as f:
                f.write("".join(f"{v}\n" for v in perf))
        done = subprocess.run(["bash", "-c", REPORT, "report", folder, os.path.join(TOP, "selftests"),
                               "report" if perf is None else "finish"],
                              capture_output=True, text=True)
    return done.returncode, done.stdout


def slower():
    code, said = speed([9, 18, 36], [10, 20, 30])
    return code == 0 and "below 1: x ours:ours 0.90" in said


def faster():
    code, said = speed([11, 22, 29], [10, 20, 30])
    return code == 0 and "below 1: none" in said


def not_measured():
    return speed([], [10, 20, 30])[0] != 0


def perftest():
    figures = [10, 20, 30]
    return (speed(figures, figures, [31.5, 30, 33])[0] == 0 and speed(figures, figures, [31.5, 30])[0] == 1 and
            speed(figures, figures, [])[0] == 1)


def speed_table():
    """Middle, least and most of the rounds."""
    found = [("x", "ours:ours", {0: 9.0, 1: 18.0, 2: 36.0}, {0: 10.0, 1: 20.0, 2: 30.0})]
    about = {"what": "TCP", "table": "tcp", "rounds": 3, "command": "make speed", "commit": "1234567", "kernel": "6.12"}
    text = speed_report.document(found, "intree:intree", about, "")
    return "| x | ours:ours | 20.0/s | 18.0/s | 0.90 (0.90-1.20) |\n" in text and "at 1234567;" in text


CASES = [
    ("without CELLS everything", all_cells), ("CELLS: only these", named_cells),
    ("QUICK: few", quick_cells), ("over verbs what there is", over_verbs),
    ("a round without a time", no_time), ("make speed: a slower one is a figure", slower),
    ("make speed: a faster one", faster), ("make speed: nothing measured", not_measured),
    ("make speed: ib_write_bw did not run", perftest), ("make speed: the table", speed_table),
]


if __name__ == "__main__":
    sys.exit(tapcases.run(CASES))
