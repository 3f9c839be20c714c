#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=60
"""When "make coverage" fails, and Documentation/ledger/coverage.rst: its figures are high enough, and the
functions that it gives reasons for exist."""

import collections
import glob
import os
import re
import subprocess
import sys

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(TOP, "selftests/vm"))

import coverage
import tapcases

LEAST = 90
PAGE = """
.. begin reasons

   * - path.c
     - rds_path_a(), b(), beside c
     - no memory; c() does not count
   * - tcp/recv.c, tcp/send.c
     - both()
     - a race

.. end reasons
"""


def lines_of(**counted):
    """Files of so many lines that ran, and that did not."""
    lines = collections.defaultdict(collections.Counter)
    for name, (ran, idle) in counted.items():
        name = name.replace("__", "/") + ".c"
        lines[name] = collections.Counter({n: 1 if n < ran else 0 for n in range(ran + idle)})
    return lines


def failing(**counted):
    return [line.split()[4].rstrip(",") for line in coverage.too_low(coverage.parts(lines_of(**counted)), LEAST)]


def enough():
    return not failing(a=(80, 20), b=(100, 0), tcp__c=(90, 10), ib__d=(10, 90))


def core_too_low():
    return failing(a=(80, 20), b=(99, 1), tcp__c=(90, 10)) == ["core"]


def tcp_too_low():
    return failing(a=(90, 10), tcp__c=(89, 11)) == ["tcp"]


def rounded():
    """89.99 % is printed as 90.0 and is not enough."""
    return failing(a=(8999, 1001), tcp__c=(90, 10)) == ["core"]


def header():
    lines = lines_of(a=(90, 10), tcp__c=(90, 10))
    lines["a.h"] = collections.Counter({1: 0, 2: 0})
    return not coverage.too_low(coverage.parts(lines), LEAST)


def reasons():
    """One line belongs to no function, which gcov does with some that are in several."""
    lines = lines_of(path=(0, 4), tcp__recv=(0, 2), tcp__send=(1, 1), ib__recv=(0, 1))
    functions = {("path.c", 0): "rds_path_a", ("path.c", 1): "b", ("path.c", 2): "c", ("tcp/recv.c", 0): "both",
                 ("tcp/recv.c", 1): "b", ("ib/recv.c", 0): "b", ("tcp/send.c", 0): "ran", ("tcp/send.c", 1): "both"}
    return coverage.unexplained(lines, functions, PAGE) == [("path.c", "c"), ("tcp/recv.c", "b")]


def page():
    with open(coverage.PAGE) as f:
        return f.read()


def figures_high_enough():
    body = coverage.table_of(page(), "figures")[1]
    found = dict(re.findall(r"^   \* - all of net/rds/(tcp/|ib/|)\\\*\.c\n     - \d+\n     - \d+\n     - ([\d.]+)$",
                            body, re.M))
    return {"", "tcp/", "ib/"} == set(found) and all(float(found[part]) >= LEAST for part in ("", "tcp/"))


def is_newer(name):
    """Was the file not there when the lines were counted?  Without the history nobody can tell."""
    commit = re.search(r"``net/rds`` of ([0-9a-f]{7,40}),", page())[1]
    git = ["git", "-C", TOP, "cat-file", "-e"]
    if subprocess.run(git + [commit], stderr=subprocess.DEVNULL).returncode:
        return True
    return subprocess.run(git + [f"{commit}:net/rds/{name}"], stderr=subprocess.DEVNULL).returncode != 0


def figures_of_each_file():
    """Or it is named as one that came after the lines were counted, and did."""
    folder = os.path.join(TOP, "net/rds")
    have = set(re.findall(r"^   \* - net/rds/([\w/]+\.c)$", coverage.table_of(page(), "figures")[1], re.M))
    want = {os.path.relpath(p, folder) for p in glob.glob(os.path.join(folder, "**/*.c"), recursive=True)}
    later = re.search(r"Not counted yet, since they came later: ([^:]*)\.\n", page())
    later = set(re.split(r",\s+", later[1])) if later else set()
    # without a line of code of their own
    return (not have - want and want - have - {"trace.c", "exports.c", "ib/stats.c"} == later and
            all(is_newer(name) for name in later))


def functions_exist():
    missing = []
    for name, function in sorted(coverage.explained(page())):
        path = os.path.join(TOP, "net/rds", name)
        text = ""
        if os.path.exists(path):
            with open(path) as f:
                text = f.read()
        # one that a macro makes has only its end there
        if not re.search(rf"\b{function.removeprefix('trace_raw_output_')}\b", text):
            missing.append(f"{name} {function}()")
    for m in missing:
        print(f"# coverage.rst: there is no {m}")
    return not missing


CASES = [
    ("enough is enough", enough), ("too little of the core", core_too_low), ("too little of TCP", tcp_too_low),
    ("a little less than enough", rounded), ("headers belong to no part", header),
    ("functions without a reason", reasons), ("coverage.rst: the figures are high enough", figures_high_enough),
    ("coverage.rst: each file has a figure", figures_of_each_file),
    ("coverage.rst: the functions with a reason exist", functions_exist),
]


if __name__ == "__main__":
    sys.exit(tapcases.run(CASES))
