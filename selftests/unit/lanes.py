#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=60
"""Which tests the two lanes of .ci/run have: every one at least one, that it can run in."""

import os
import re
import sys

sys.path.insert(0, os.path.realpath(os.path.join(os.path.dirname(__file__), "../vm")))

import tests as testlib
from check import Check
from guest import GuestError
import tapcases

ALL = testlib.find([])


def chosen(kernel, lanes=True):
    return {t.name for t in Check(kernel, "ours", lanes=lanes).select(ALL)}


def everyone():
    lost = {t.name for t in ALL} - chosen("debian") - chosen("uml-kasan")
    print("".join(f"# in no lane: {name}\n" for name in sorted(lost)), end="")
    return ALL and not lost


# Things end or change here while others use them: that wants two processors, and sanitizers.
RACES = re.compile(r"race/|stress/|api/races$|net/(unload|netns_delete|tcpkill|crossed|multipath|many)$|"
                   r"hostile/(gone|fanout)$|ib/(restart|rdma_ops|rdma_stress|orphan)$")


def races_in_both():
    races = {t.name for t in ALL if RACES.match(t.name)}
    one = races - (chosen("debian") & chosen("uml-kasan"))
    print("".join(f"# in one lane: {name}\n" for name in sorted(one)), end="")
    return len(races) > 10 and not one


def whole():
    """Without lanes each kernel has all that it can run."""
    return chosen("debian", False) == {t.name for t in ALL} and \
        chosen("uml-kasan", False) == {t.name for t in ALL if t.nodes == 1 and t.needs.get("uml") != "0"}


def test(**needs):
    return testlib.Test("x/y", "x/y.sh", needs)


def refused(word, **needs):
    try:
        test(**needs)
    except GuestError as e:
        return word in str(e)
    return False



def injected():
    """Debian's kernel injects no faults: tests that do nothing else have the other lane alone."""
    return {t.name for t in ALL if t.name.startswith("faults/")}.isdisjoint(chosen("debian"))


CASES = [
    ("each test has a lane", everyone),
    ("what races has both", races_in_both),
    ("without lanes each kernel has what it can run", whole),
    ("both, if nothing is said", lambda: test().lanes == ["debian", "uml"]),
    ("one, if there is only one", lambda: test(uml="0").lanes == test(nodes="2").lanes == test(nodes="0").lanes == ["debian"]),
    ("what is said", lambda: test(lanes="uml").lanes == ["uml"]),
    ("a lane that there is not", lambda: refused("runs in debian and uml", lanes="kasan")),
    ("a lane that it cannot run in", lambda: refused("runs in debian", lanes="uml", nodes="2")),
    ("no lane", lambda: refused("lanes=,", lanes="")),
    ("an unknown key", lambda: refused("unknown key 'lane'", lane="uml")),
    ("faults are injected where that is possible", injected),
]


if __name__ == "__main__":
    sys.exit(tapcases.run(CASES))
