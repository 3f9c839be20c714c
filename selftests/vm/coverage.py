# SPDX-License-Identifier: GPL-2.0
"""Lines of the modules that the tests ran: collected from each guest, added up, as a table.

coverage.py clean | report
"""

import collections
import glob
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(TOP, "build/coverage")
OBJECTS = os.path.join(TOP, "build/uml-kasan-gcov")
GCOV = "gcov-12"

# Their size is 0, so only reading them tells what they hold.
PACK = f"""cd /sys/kernel/debug/gcov{OBJECTS} 2>/dev/null || exit 3
mkdir -p /tmp/gcov; find . -name '*.gcda' | while read f; do
	mkdir -p /tmp/gcov/${{f%/*}}; cat $f >/tmp/gcov/$f; done
tar -C /tmp/gcov -c ."""

counter = threading.Lock()


def collect(cluster, say):
    """What the guests of @cluster have counted; the kernel keeps it when the modules go."""
    for g in cluster.guests.values():
        if not g.alive():
            say(f"# coverage: guest {g.name} died, its counts are lost")
            continue
        cmd = g.agent.start(PACK)
        code = cmd.wait(120)
        if code != 0:
            say(f"# coverage: no counts from guest {g.name} ({code}): {cmd.err_text().strip()}")
            continue
        with counter:
            folder = os.path.join(OUT, "data", str(len(glob.glob(os.path.join(OUT, "data", "*")))))
            os.makedirs(folder)
        with tarfile.open(fileobj=io.BytesIO(b"".join(cmd.out))) as tar:
            tar.extractall(folder)


def gcov(folder):
    """(file, line, count) of each line with code, from one guest."""
    files = [os.path.join(d, f) for d, _, names in os.walk(folder) for f in names if f.endswith(".gcda")]
    for path in files:
        notes = os.path.splitext(path)[0] + ".gcno"
        shutil.copy(os.path.join(OBJECTS, os.path.relpath(notes, folder)), notes)
    out = subprocess.run([GCOV, "--json-format", "--stdout", *files], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, cwd=folder, check=True).stdout
    for text in out.splitlines():
        for source in json.loads(text)["files"]:
            _, found, name = source["file"].partition("/net/rds/")
            if found:
                for line in source["lines"]:
                    yield name, line["line_number"], line["count"]


def ranges(numbers):
    """[1, 2, 3, 7] as 1-3, 7."""
    start = last = None
    for n in sorted(numbers):
        if last is not None and n == last + 1:
            last = n
            continue
        if start is not None:
            yield start, last
        start = last = n
    if start is not None:
        yield start, last


def uncovered(lines, target):
    with open(target, "w") as f:
        for name in sorted(lines):
            with open(os.path.join(TOP, "net/rds", name)) as source:
                text = source.read().splitlines()
            # lines without code between two that did not run belong to the same gap
            none = sorted(n for n, count in lines[name].items() if not count)
            ran = sorted(n for n, count in lines[name].items() if count)
            filled = {m for a, b in zip(none, none[1:]) if not any(a < r < b for r in ran)
                      for m in range(a, b)} | set(none)
            for a, b in ranges(filled):
                f.write(f"net/rds/{name}:{a}-{b}\n")
                f.writelines(f"\t{text[n - 1]}\n" for n in range(a, min(b, len(text)) + 1))


def report():
    lines = collections.defaultdict(collections.Counter)
    folders = glob.glob(os.path.join(OUT, "data", "*"))
    if not folders:
        sys.exit("coverage: no guest has left any counts")
    for folder in folders:
        for name, number, count in gcov(folder):
            lines[name][number] += count
    total = [0, 0]
    table = []
    for name in sorted(lines, key=lambda n: (n.count("/"), n)):
        ran, have = sum(c > 0 for c in lines[name].values()), len(lines[name])
        total[0] += ran
        total[1] += have
        table.append(f"{100 * ran / have:6.1f} %  {ran:5} of {have:5}  net/rds/{name}")
    table.append(f"{100 * total[0] / total[1]:6.1f} %  {total[0]:5} of {total[1]:5}  all lines")
    uncovered(lines, os.path.join(OUT, "uncovered.txt"))
    with open(os.path.join(OUT, "table.txt"), "w") as f:
        f.write("\n".join(table) + "\n")
    print("\n".join(table))
    print(f"lines that no test ran: {os.path.relpath(os.path.join(OUT, 'uncovered.txt'), TOP)}")


if __name__ == "__main__":
    if sys.argv[1:] == ["clean"]:
        shutil.rmtree(OUT, ignore_errors=True)
    else:
        report()
