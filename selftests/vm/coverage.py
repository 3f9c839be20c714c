# SPDX-License-Identifier: GPL-2.0
"""Lines of the modules that the tests ran: collected from each guest, added up, as a table.

coverage.py clean
coverage.py report [--least PERCENT]
	fails when the core or the TCP transport has less; tells which functions have lines that
	no test ran and no row in Documentation/ledger/coverage.rst that says why
coverage.py save
	writes the figures that the last run left into Documentation/ledger/coverage.rst
"""

import collections
import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(TOP, "build/coverage")
PAGE = os.path.join(TOP, "Documentation/ledger/coverage.rst")
OBJECTS = os.path.join(TOP, "build/uml-kasan-gcov")
GCOV = "gcov-12"

# Their size is 0, so only reading them tells what they hold.
PACK = f"""cd /sys/kernel/debug/gcov{OBJECTS} 2>/dev/null || exit 3
mkdir -p /tmp/gcov; find . -name '*.gcda' | while read f; do
	mkdir -p /tmp/gcov/${{f%/*}}; cat $f >/tmp/gcov/$f; done
tar -C /tmp/gcov -c ."""

# Between two looks at the counters of a running guest: it may die before it is taken down.
OFTEN = 60

counter = threading.Lock()


def folder_of(cluster, name):
    """One for each guest: what it counts later comes on top."""
    folders = cluster.__dict__.setdefault("coverage_folders", {})
    if name not in folders:
        with counter:
            folders[name] = os.path.join(OUT, "data", str(len(glob.glob(os.path.join(OUT, "data", "*")))))
            os.makedirs(folders[name])
    return folders[name]


def collect_sometimes(cluster, say):
    now = time.monotonic()
    if now - cluster.__dict__.setdefault("coverage_time", now) > OFTEN and cluster.alive():
        collect(cluster, say)
        cluster.coverage_time = time.monotonic()


def collect(cluster, say):
    """What the guests of @cluster have counted; the kernel keeps it when the modules go."""
    for g in cluster.guests.values():
        if not g.alive():
            say(f"# coverage: guest {g.name} died, its last counts are lost")
            continue
        cmd = g.agent.start(PACK)
        code = cmd.wait(120)
        if code != 0:
            say(f"# coverage: no counts from guest {g.name} ({code}): {cmd.err_text().strip()}")
            continue
        with tarfile.open(fileobj=io.BytesIO(b"".join(cmd.out))) as tar:
            tar.extractall(folder_of(cluster, g.name))


def gcov(folder):
    """(file, line, count, function) of each line with code, from one guest."""
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
                    yield name, line["line_number"], line["count"], line.get("function_name", "")


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


def uncovered(lines, functions, target):
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
                where = dict.fromkeys(functions[name, n] for n in range(a, b + 1) if (name, n) in functions)
                f.write(f"net/rds/{name}:{a}-{b} {' '.join(where)}\n")
                f.writelines(f"\t{text[n - 1]}\n" for n in range(a, min(b, len(text)) + 1))


# A table of the page, between the comments that say where it begins and ends.
def table_of(page, name):
    begin, end = f".. begin {name}\n", f".. end {name}\n"
    head, found, rest = page.partition(begin)
    body, closed, tail = rest.partition(end)
    if not found or not closed:
        sys.exit(f"coverage: Documentation/ledger/coverage.rst has no lines '.. begin {name}', '.. end {name}'")
    return head + begin, body, end + tail


def explained(page):
    """(file, function) of each row of the reasons; a function is the first words of its row."""
    found = set()
    for row in re.split(r"^   \* - ", table_of(page, "reasons")[1], flags=re.M)[1:]:
        cells = re.split(r"^     - ", row, flags=re.M)
        found |= {(name, function) for name in re.findall(r"[\w/]+\.[ch]", cells[0])
                  for function in re.findall(r"(\w+)\(\)", cells[1])}
    return found


def unexplained(lines, functions, page):
    gaps = {(name, functions[name, n]) for name in lines for n, count in lines[name].items()
            if not count and (name, n) in functions and not name.startswith("ib/")}
    return sorted(gaps - explained(page))


def parts(lines):
    """Lines that ran, and all, of each part."""
    sums = {"core": [0, 0], "tcp": [0, 0], "ib": [0, 0]}
    for name, counts in lines.items():
        # an inline function belongs to no part: it is in the files that use it
        if not name.endswith(".c"):
            continue
        part = sums[name.rpartition("/")[0] or "core"]
        part[0] += sum(c > 0 for c in counts.values())
        part[1] += len(counts)
    return sums


def too_low(sums, least):
    return [f"coverage: {100 * ran / have:.1f} % of {part}, there must be {least:g} %"
            for part, (ran, have) in sums.items() if part != "ib" and have and 100 * ran < least * have]


def rows(lines):
    """Words of each line of the table: percent, ran, all, what."""
    sums = parts(lines)
    every = [sum(c > 0 for counts in lines.values() for c in counts.values()),
             sum(map(len, lines.values()))]
    named = [(f"net/rds/{name}", sum(c > 0 for c in lines[name].values()), len(lines[name]))
             for name in sorted(lines, key=lambda n: (n.count("/"), n))]
    named += [(f"all of net/rds/{'' if part == 'core' else part + '/'}*.c", *sums[part]) for part in sums]
    named.append(("all lines", *every))
    return [(f"{100 * ran / have:.1f}", str(ran), str(have), what) for what, ran, have in named if have]


def collected():
    lines, functions = collections.defaultdict(collections.Counter), {}
    folders = glob.glob(os.path.join(OUT, "data", "*"))
    if not folders:
        sys.exit("coverage: no guest has left any counts")
    for folder in folders:
        for name, number, count, function in gcov(folder):
            lines[name][number] += count
            if function:
                functions[name, number] = function
    return lines, functions


def report(least):
    lines, functions = collected()
    table = [f"{percent:>6} %  {ran:>5} of {have:>5}  {what}" for percent, ran, have, what in rows(lines)]
    uncovered(lines, functions, os.path.join(OUT, "uncovered.txt"))
    with open(os.path.join(OUT, "table.txt"), "w") as f:
        f.write("\n".join(table) + "\n")
    print("\n".join(table))
    print(f"lines that no test ran: {os.path.relpath(os.path.join(OUT, 'uncovered.txt'), TOP)}")
    if least is None:
        return 0
    with open(PAGE) as f:
        for name, function in unexplained(lines, functions, f.read()):
            print(f"# no reason in Documentation/ledger/coverage.rst: net/rds/{name} {function}()")
    bad = too_low(parts(lines), least)
    print("\n".join(bad), end="\n" if bad else "")
    return 1 if bad else 0


def save():
    lines, _ = collected()
    with open(PAGE) as f:
        head, _, tail = table_of(f.read(), "figures")
    body = ".. list-table::\n   :header-rows: 1\n\n   * - file\n     - lines run\n     - lines\n     - %\n"
    body += "".join(f"   * - {what}\n     - {ran}\n     - {have}\n     - {percent}\n"
                    for percent, ran, have, what in rows(lines))
    with open(PAGE, "w") as f:
        f.write(head + "\n" + body.replace("*.c", r"\*.c") + "\n" + tail)


def main(words):
    if words == ["clean"]:
        shutil.rmtree(OUT, ignore_errors=True)
    elif words == ["save"]:
        save()
    elif words[:1] == ["report"]:
        return report(float(words[2]) if words[1:2] == ["--least"] else None)
    else:
        sys.exit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
