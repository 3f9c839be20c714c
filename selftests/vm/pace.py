# SPDX-License-Identifier: GPL-2.0
"""How much slower than an idle one this machine is: time limits stretch with it."""

import contextlib
import statistics
import time

from agentlink import LinkDown
from guest import GuestError

# What a guest's shell counts to before each test.  Most of a guest's time under an emulator is such code.
LOOP = "i=0; while [ $i -lt 10000 ]; do i=$((i + 1)); done"
# Seconds that it takes on an idle machine of two cores
ALONE = {"debian": 0.5, "uml-kasan": 0.1}
# So many times longer it may take on a machine that has time for all of .ci/run, while that keeps it busy.
# A judgement: where it was 3.5, 161 of 259 files took 56 minutes.
BUSY = 2.5
# So much longer at most is waited
MOST = 8


class Pace:
    """Of all lanes of a run."""

    LAST = 5            # of the measurements: one alone may have met anything

    def __init__(self):
        self.ratios = []
        self.of = {}        # kernel -> those of its guests

    def measure(self, guest):
        """Has @guest count; the kernels that are slow by themselves have limits of their own."""
        alone = ALONE.get(guest.kind.kernel)
        if alone:
            begin = time.monotonic()
            with contextlib.suppress(GuestError, LinkDown):     # the test will tell that it is dead
                guest.must(LOOP, 60 * MOST)
                ratio = (time.monotonic() - begin) / alone
                self.ratios.append(ratio)
                self.of.setdefault(guest.kind.kernel, []).append(ratio)

    def now(self):
        """So many times longer a limit has to be, 1 or more."""
        return max(1, min(MOST, round(statistics.median(self.ratios[-self.LAST:])))) if self.ratios else 1

    def slow(self):
        """Was the machine slower than a busy one, over all that was measured?"""
        return bool(self.ratios) and statistics.mean(self.ratios) > BUSY

    def last(self):
        """In words: the last measurement, not the median by which limits stretch."""
        return f", pace {self.ratios[-1]:.1f}" if self.ratios else ""

    def lines(self):
        return [f"# {kernel} counted in {statistics.median(r):.1f} times what an idle machine needs ({min(r):.1f} to {max(r):.1f})"
                for kernel, r in self.of.items()]
