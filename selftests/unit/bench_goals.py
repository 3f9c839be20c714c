#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=60
"""The goals of issue 5 in the report of "make bench": met, missed, and not measured."""

import os
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(TOP, "selftests/vm"))

import bench_report as report
import tapcases

ABOUT = {"command": "make bench", "commit": "c", "kernel": "k", "cpu": "p", "runs": 3, "seconds": 0.4}
USED = {"ours": {"socket": 99, "connection": 199}, "intree": {"socket": 100, "connection": 200}}
# Each figure just good enough: (cell, transport): rate; of pingpong and beside, the time.
FIGURES = {("stream/64", "rds"): 180, ("stream/64", "tcp"): 100, ("stream/64", "tipc"): 179,
           ("stream/64", "sctp"): 179, ("stream/64K", "rds"): 90, ("stream/64K", "tcp"): 100,
           ("pingpong/64", "rds"): 120, ("pingpong/64", "tcp"): 100, ("fanin/64/16", "rds"): 101,
           ("fanin/64/16", "tipc"): 100, ("fanout/64/1", "rds"): 110, ("fanout/64/64", "rds"): 100,
           ("sockets/64", "rds"): 110, ("sockets/64/1000", "rds"): 100, ("beside/1M", "rds"): 50}
LEAST_MOST = 0.51
BESIDE_NS = 50000
# What is one less, or more, and which goal then is missed: the beginning of its row.
WORSE = [("stream/64", "rds", 179, ("stream/64, ours : tcp", "stream/64, ours : tipc", "stream/64, ours : sctp")),
         ("stream/64", "tcp", 101, ("stream/64, ours : tcp",)),
         ("stream/64", "tipc", 180, ("stream/64, ours : tipc",)),
         ("stream/64", "sctp", 180, ("stream/64, ours : sctp",)),
         ("stream/64K", "rds", 89, ("stream/64K, ours : tcp",)),
         ("pingpong/64", "rds", 121, ("pingpong/64, ours : tcp",)),
         ("fanin/64/16", "rds", 100, ("fanin/64/16, ours : tipc",)),
         ("fanout/64/64", "rds", 99, ("cost per message, fanout/64/64",)),
         ("sockets/64/1000", "rds", 99, ("cost per message, sockets/64/1000",)),
         ("beside/1M", "rds", 51, ("beside/1M, p99",))]


def results(figures, least_most=LEAST_MOST, clock="icount", kind="ours"):
    """Three rounds, of which the others are half and twice as fast throughout."""
    return [{"clock": clock, "round": n, "kind": kind, "cell": cell, "transport": transport, "ok": True,
             "rate": v * factor, "median_us": v / factor, "p99_us": v / factor,
             "ns": BESIDE_NS / factor, "switches": None, "wakeups": None,
             "least_most": least_most if cell.startswith("fanin") and n == 1 else 0.9}
            for n, factor in enumerate((0.5, 1, 2)) for (cell, transport), v in figures.items()]


def verdicts(measured, used, clock="icount"):
    """The rows of the goals, out of the whole document."""
    text = report.document(clock, measured, [], used, ABOUT)
    lines = text.partition("## Goals")[2].partition("\n## ")[0].splitlines()
    rows = [[w.strip() for w in l.strip("|").split("|")] for l in lines if l.startswith("|")][2:]
    return {name: verdict for name, _, verdict in rows}


def missed(measured, used=USED, clock="icount"):
    return sorted(n for n, v in verdicts(measured, used, clock).items() if v == "**missed**")


def all_met():
    found = verdicts(results(FIGURES), USED)
    return len(found) == 12 and set(found.values()) == {"met"}


def begins(found, wanted):
    return len(found) == len(wanted) and all(any(f.startswith(w + " ") for f in found) for w in wanted)


def each_missed():
    good = True
    for cell, transport, value, wanted in WORSE:
        found = missed(results({**FIGURES, (cell, transport): value}))
        if not begins(found, wanted):
            print(f"# {cell} {transport} {value}: missed {found}")
            good = False
    return good


def one_sender_starved():
    return begins(missed(results(FIGURES, least_most=0.5)), ("fanin/64/16, no sender starved:",))


def too_much_memory():
    for what, words in (("socket", "bytes of a bound socket:"), ("connection", "bytes of an idle connection:")):
        used = {"ours": dict(USED["ours"], **{what: USED["intree"][what]}), "intree": USED["intree"]}
        if not begins(missed(results(FIGURES), used), (words,)):
            return False
    return True


def not_measured():
    """Nothing at all, failed runs, and the same of another kind and clock: no goal is met by those."""
    others = results(FIGURES, kind="intree") + results(FIGURES, clock="wall")
    others += [dict(r, ok=False) for r in results(FIGURES)]
    return all(set(verdicts(m, u).values()) == {"-"} for m, u in (([], None), (others, [])))


def wall_clock():
    measured = results(FIGURES, clock="wall")
    late = results({**FIGURES, ("beside/1M", "rds"): 51}, clock="wall")
    found = verdicts(measured, USED, "wall")
    starved = results(FIGURES, clock="wall", least_most=0.5)
    return list(found.values()) == ["met", "met"] and begins(missed(late, USED, "wall"), ("beside/1M, p99",)) and \
        begins(missed(starved, USED, "wall"), ("fanin/64/16, no sender starved:",))


CASES = [
    ("each goal is met by a figure that is just good enough", all_met),
    ("each goal is missed by one that is not, and no other is", each_missed),
    ("a sender that starves in one round", one_sender_starved),
    ("as much memory as the in-tree module is not less", too_much_memory),
    ("what was not measured is neither met nor missed", not_measured),
    ("under the wall clock: no sender starved, the delay beside a stream", wall_clock),
]


if __name__ == "__main__":
    sys.exit(tapcases.run(CASES))
