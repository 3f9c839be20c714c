#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What "make speed" measured: printed, and the table in Documentation/performance.

report.py FOLDER BASE "PAIR..." TABLE LINE NAME...: FOLDER/PAIR.NAME has a line for each round.  With an
empty TABLE nothing is written.
"""

import io
import os
import statistics
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(TOP, "selftests/vm"))

import bench_report

DOCUMENT = """<!-- SPDX-License-Identifier: GPL-2.0 -->
# Measured: two guests, {what}

Written by `{command}` at {commit}; do not edit.

Kernel {kernel}, {rounds} rounds (ROUNDS), the pairs in turn in the same two guests, one processor each, wall
clock: only ratios mean something, and neighbours disturb them.

`ours:intree` is our module where messages are sent or asked for, and the in-tree one at the other end.
A ratio is the middle of the rounds, in brackets the least and the most, of messages, requests or
writes a second: large ones are good. `msg` is a stream from one socket, `ask` a request and its answer at a time
(`ask64k`: 64 KiB both ways), `fanin` sixteen sockets that send to one, `write` RDMA writes. `selftests/speed/{table}.sh`
says how many.

"""
WHAT = {"ib": "RoCE (rxe)", "tcp": "TCP"}


def read(folder, pair, name):
    """Round number: figure."""
    with open(os.path.join(folder, f"{pair}.{name}")) as f:
        return dict(enumerate(float(l) for l in f))


def measured(folder, base, pairs, names):
    """(name, pair, figures, those of the base), the base not with itself."""
    return [(name, pair, read(folder, pair, name), read(folder, base, name))
            for name in names for pair in pairs if pair != base]


def show(found, base, out):
    low = []
    print(f"{'figure':8} {'pair':14} {'per second':>11} {base:>14}  middle of ratios (each round)", file=out)
    for name, pair, ours, theirs in found:
        each = [ours[n] / theirs[n] for n in ours]
        middle = statistics.median(each)
        if middle < 1:
            low.append(f"{name} {pair} {middle:.2f}")
        print(f"{name:8} {pair:14} {statistics.median(ours.values()):11.0f} "
              f"{statistics.median(theirs.values()):14.0f}  "
              f"{middle:.2f} ({' '.join('%.2f' % r for r in each)})", file=out)
    print("below 1: " + (", ".join(low) or "none"), file=out)


def document(found, base, about, line):
    out = io.StringIO()
    out.write(DOCUMENT.format(**about))
    rows = []
    for name, pair, ours, theirs in found:
        rows.append([name, pair] + [bench_report.absolute(each, name) for each in (theirs, ours)] +
                    [bench_report.ratio(ours, theirs)[0]])
    bench_report.markdown(["figure", "pair", base, "pair's", f"pair : {base}"], rows, out)
    if line:
        print("\n" + line, file=out)
    return out.getvalue()


def describe(table, found):
    import guest
    return {"what": WHAT[table], "table": table, "rounds": len(found[0][2]),
            "command": os.environ.get("RDS_SPEED_COMMAND", f"selftests/speed/{table}.sh"),
            "commit": os.environ["RDS_SPEED_COMMIT"],
            "kernel": guest.kind("intree").version}


def main():
    folder, base, pairs, table, line = sys.argv[1:6]
    found = measured(folder, base, pairs.split(), sys.argv[6:])
    show(found, base, sys.stdout)
    if line:
        print(line)
    if not table:
        return
    text = document(found, base, describe(table, found), line)
    path = os.path.join(TOP, f"Documentation/performance/table-speed-{table}.md")
    with open(path, "w") as f:
        f.write(text)
    print(f"written: {path}")


if __name__ == "__main__":
    main()
