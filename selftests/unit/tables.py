#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=60
"""The tables in Documentation/ name tests: each must exist, file and case, and each
hazard of the catalogue must have a row, so that the tables cannot rot unseen. The tables of
figures must be there, of a commit that git knows. Lines of loop.c that a page explains are
those of the file, the map of files has each of them, and pages name pages that there are.

In a table a test is area/name; a case is two__parts or "some words", and belongs to the
test before it. One that ends in "..." is the beginning of a name. Cases are looked for in
code: what only a comment names is not there.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
DOC = os.path.join(TOP, "Documentation")
FIGURES = os.path.join(DOC, "performance")
SELFTESTS = os.path.join(TOP, "selftests")
AREAS = sorted(d for d in os.listdir(SELFTESTS) if os.path.isdir(os.path.join(SELFTESTS, d)))

# The catalogue: so many of each letter.
CATALOGUE = {"A": 7, "B": 9, "C": 13, "D": 20, "E": 18, "F": 23, "G": 15, "H": 16, "I": 13,
             "J": 8, "K": 10}
CLOCKS = ("icount", "wall", "verbs")
COMMITS_CASE = "git knows the commits of the tables of figures"
VERDICTS = ("test", "cannot occur", "open")

PATH = re.compile(r"(?<![\w/.-])((?:%s)/[\w.*\\-]+)" % "|".join(AREAS))
CODE = re.compile(r"``[^`]+``")
CASE = re.compile(r'"([^"]+)"|\b([a-z]\w*__\w+)')


def rows(name):
    """The rows of every list-table of a file, as lists of cells of plain text."""
    with open(os.path.join(DOC, name)) as f:
        text = f.read()
    found = []
    for block in re.split(r"^\.\. list-table::", text, flags=re.M)[1:]:
        for row in re.split(r"^   \* - ", block, flags=re.M)[1:]:
            row = re.split(r"\n(?=\S)", row)[0]
            cells = re.split(r"^     - ", row, flags=re.M)
            found.append([" ".join(c.split()) for c in cells])
    return found


def sources(path):
    """Files of a test, which may be a pattern or lack its suffix."""
    path = path.replace("\\", "").rstrip(".")
    found = [p for suffix in ("", ".c", ".sh", ".py")
             for p in glob.glob(os.path.join(SELFTESTS, path + suffix)) if os.path.isfile(p)]
    # what interop/*_low and the like run is in their common part
    for p in list(found):
        common = os.path.join(os.path.dirname(p), "common.sh")
        if p.endswith(".sh") and os.path.isfile(common):
            found.append(common)
    return found


# Strings are matched first, so that what looks like a comment in them stays
C_COMMENT = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|/\*.*?\*/|//[^\n]*""", re.S)
COMMENT = re.compile(r"^\s*#.*$|\s#\s[^\"'\n]*$", re.M)
DOCSTRING = re.compile(r'^\s*""".*?"""', re.M | re.S)


def code_of(path):
    """A file without its comments."""
    with open(path, errors="replace") as f:
        text = f.read()
    if path.endswith((".c", ".h")):
        return C_COMMENT.sub(lambda m: m.group(1) or " ", text)
    if path.endswith(".py"):
        text = DOCSTRING.sub("", text)
    return COMMENT.sub("", text)


def has_case(files, case):
    case = case.removesuffix("...").strip().rstrip(",")
    # shell cases may be written with a variable in them
    pattern = re.escape(case).replace(re.escape("$"), r"\$")
    for path in files:
        text = code_of(path)
        if re.search(pattern, text):
            return True
        # "eight paths, killed every 100 ms": numbers may come from variables
        loose = re.sub(r"\\? \d+(?:\\,\d+)*|^\d+", ".{1,40}", pattern)
        if loose != pattern and re.search(loose, text):
            return True
    return False


def references(cell):
    """(path, [cases]) in the order of the text."""
    cell = CODE.sub("", cell)
    marks = [(m.start(), "path", m.group(1)) for m in PATH.finditer(cell)]
    marks += [(m.start(), "case", next(g for g in m.groups() if g)) for m in CASE.finditer(cell)]
    refs = []
    for _, kind, value in sorted(marks):
        if kind == "path":
            refs.append((value, []))
        elif refs and not PATH.fullmatch(value):
            refs[-1][1].append(value)
    return refs


def check_cell(where, cell, complaints):
    """The number of tests and cases that a cell names."""
    count = 0
    for path, cases in references(cell):
        files = sources(path)
        count += 1
        if not files:
            complaints.append(f"{where}: there is no test {path}")
            continue
        for case in cases:
            count += 1
            if not has_case(files, case):
                complaints.append(f"{where}: {path} has no case '{case}'")
    return count


def check_table(name, column, least):
    complaints = []
    table = [r for r in rows(name) if len(r) > column and re.fullmatch(r"[A-K]?\d+", r[0])]
    count = sum(check_cell(f"{name}, {r[0]}", r[column], complaints) for r in table)
    if len(table) < least:
        complaints.append(f"{name}: {len(table)} rows, there must be {least}")
    print(f"# {name}: {len(table)} rows name {count} tests and cases")
    return table, complaints


def check_catalogue(table):
    complaints = []
    want = [f"{letter}{n}" for letter, count in CATALOGUE.items() for n in range(1, count + 1)]
    have = [r[0] for r in table]
    complaints += [f"hazards.rst: no row for {i}" for i in want if i not in have]
    complaints += [f"hazards.rst: {i} is not in the catalogue" for i in have if i not in want]
    complaints += [f"hazards.rst: {i} comes twice" for i in set(have) if have.count(i) > 1]
    for r in table:
        verdict = next((v for v in VERDICTS if r[2].startswith(v)), None)
        if not verdict:
            complaints.append(f"hazards.rst, {r[0]}: '{r[2]}' is no verdict")
        if verdict == "test" and not references(r[3]):
            complaints.append(f"hazards.rst, {r[0]}: names no test")
        # a verdict is not a part of it only; the names of cases may say "open"
        if verdict != "open" and re.search(r"\bopen\b", re.sub(r'"[^"]*"', "", CODE.sub("", r[3]))):
            complaints.append(f"hazards.rst, {r[0]}: '{verdict}', and something is open")
    return complaints


def check_figures():
    """Files that are named, and that each clock has."""
    complaints = []
    for path in glob.glob(os.path.join(DOC, "**/*.rst"), recursive=True):
        with open(path) as f:
            named = re.findall(r"\btable-[a-z-]+\.md\b", f.read())
        complaints += [f"{os.path.relpath(path, DOC)}: there is no {name}" for name in sorted(set(named))
                       if not os.path.exists(os.path.join(FIGURES, name))]
    complaints += [f"performance: there is no table-{clock}.md; \"make bench\" writes it"
                   for clock in CLOCKS if not os.path.exists(table_of(clock))]
    return complaints


def table_of(clock):
    return os.path.join(FIGURES, f"table-{clock}.md")


def git(*words):
    """The answer, or None."""
    try:
        done = subprocess.run(["git", "-C", TOP, *words], capture_output=True, text=True)
    except OSError:
        return None
    return None if done.returncode else done.stdout.strip()


def no_history():
    """Why nobody can tell which commits there are, or None."""
    if git("rev-parse", "--show-toplevel") != TOP:
        return "not a git checkout"
    return "a shallow clone" if git("rev-parse", "--is-shallow-repository") != "false" else None


def check_commits():
    """Figures belong to a commit."""
    complaints = []
    for path in sorted(glob.glob(os.path.join(FIGURES, "table-*.md"))):
        name = os.path.basename(path)
        with open(path) as f:
            found = re.search(r"^Written by `[^`]*` at (\S+?)( with changes)?;", f.read(), re.M)
        if not found:
            complaints.append(f"{name} does not say at which commit it was written")
            continue
        if git("cat-file", "-e", found.group(1) + "^{commit}") is None:
            complaints.append(f"{name}: git does not know its commit {found.group(1)}")
        if found.group(2):
            complaints.append(f"{name} was measured with changes that nobody has")
    return complaints


def check_reader():
    """Comments are no cases, and what stands in strings is none the less."""
    complaints = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("a.c", '/* one__case */\nx("two /* words */"); // "three words"\n'),
                           ("a.sh", '# one__case\ncheck "two # words" f\t# three words\n'),
                           ("a.py", '"""one__case"""\nx = "two # words"   # three words\n')):
            path = os.path.join(folder, name)
            with open(path, "w") as f:
                f.write(text)
            two = "two /* words */" if name == "a.c" else "two # words"
            complaints += [f"{name}: '{c}' is {'not ' * want}seen" for c, want in
                           (("one__case", False), (two, True), ("three words", False))
                           if has_case([path], c) != want]
    return complaints


def check_map():
    """The map of files has each of the module once, and no other."""
    with open(os.path.join(DOC, "overview.rst")) as f:
        body = f.read().partition(".. begin files\n")[2].partition(".. end files\n")[0]
    have = []
    for first, *others in (cell.split() for cell in re.findall(r"^``([^`]+)``", body, re.M)):
        have += [first] + [os.path.join(os.path.dirname(first), name) for name in others]
    folder = os.path.join(TOP, "net/rds")
    want = {os.path.relpath(p, folder) for p in glob.glob(os.path.join(folder, "**/*.c"), recursive=True)}
    return ([f"overview.rst: no row for {name}" for name in sorted(want.difference(have))] +
            [f"overview.rst: there is no {name}" for name in sorted(set(have) - want)] +
            [f"overview.rst: {name} comes twice" for name in sorted(set(have)) if have.count(name) > 1])


def check_links():
    """Pages name pages, and sections of them."""
    complaints = []
    for path in glob.glob(os.path.join(DOC, "**/*.rst"), recursive=True):
        with open(path) as f:
            links = re.findall(r':doc:`([\w/-]+)`(?:,\s+"([^"]+)")?', f.read())
        for page, title in links:
            target = os.path.join(os.path.dirname(path), page + ".rst")
            name = os.path.relpath(path, DOC)
            if not os.path.exists(target):
                complaints.append(f"{name}: there is no page {page}")
                continue
            with open(target) as f:
                if title and not re.search(rf"^{re.escape(' '.join(title.split()))}\n[=-]+$", f.read(), re.M):
                    complaints.append(f"{name}: {page} has no section '{title}'")
    return complaints


def check_quotes():
    """Lines of a source that a page shows."""
    with open(os.path.join(DOC, "transports.rst")) as f:
        blocks = re.findall(r"^\.\. code-block:: c\n\n((?:[ \t].*\n|\n)+)", f.read(), re.M)
    with open(os.path.join(TOP, "net/rds/loop.c")) as f:
        have = {line.strip() for line in f}
    complaints = [] if blocks else ["transports.rst shows nothing"]
    return complaints + [f"transports.rst: loop.c has no line '{line.strip()}'"
                         for block in blocks for line in block.split("\n") if line.strip() not in have | {""}]


def main():
    cases = [("cases are looked for in code only", check_reader())]
    hazards, bad = check_table("ledger/hazards.rst", 3, sum(CATALOGUE.values()))
    cases.append(("the tests that hazards.rst names exist", bad))
    cases.append(("hazards.rst has each hazard of the catalogue once", check_catalogue(hazards)))
    _, bad = check_table("ledger/weaknesses.rst", 4, 56)
    cases.append(("the tests that weaknesses.rst names exist", bad))
    cases.append(("the tables of figures exist", check_figures()))
    cases.append(("overview.rst has each file of net/rds once", check_map()))
    cases.append(("the pages and sections that pages name exist", check_links()))
    cases.append(("loop.c has the lines that transports.rst shows", check_quotes()))
    skipped = no_history()
    cases.append((COMMITS_CASE, [] if skipped else check_commits()))
    print("TAP version 13")
    print(f"1..{len(cases)}")
    for nr, (name, bad) in enumerate(cases, 1):
        for line in bad:
            print(f"# {line}")
        skip = f" # SKIP {skipped}" if skipped and name == COMMITS_CASE else ""
        print(f"{'not ok' if bad else 'ok'} {nr} {name}{skip}")
    return 1 if any(bad for _, bad in cases) else 0


if __name__ == "__main__":
    sys.exit(main())
