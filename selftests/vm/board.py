# SPDX-License-Identifier: GPL-2.0
"""What a run has come to: its numbers while it runs, its failures and its longest tests at the end."""

import contextlib
import threading
import time

from pace import Pace
from tap import ALL

# So many tests may have needed a second run; with more the machine, or the suite, is ill.
MOST_SLOW = 3
LONGEST = 10
# Characters: of one line of what a failed case said, and of all of them, when it is said again in brief
SHORT, BRIEF = 160, 2500


def say_now(line=""):
    print(line, flush=True)


class Board:
    """Of all lanes of a run, whichever kernel they have."""

    def __init__(self, began=None, within=None):
        """
        @began: time.time() when what comes before the tests did
        @within: so many seconds after that no test begins any more
        """
        self.began, self.within = began or time.time(), within
        self.pace = Pace()
        self.left_over = []     # (kernel, name) of tests for which there was no time
        self.lock = threading.Lock()
        self.total = self.begun = 0
        self.entries = []       # (kernel, outcome)
        self.slow = []          # (kernel, outcome that was late, outcome that was not)
        self.notes = []         # failures that no test is to blame for
        self.phases = [("what is needed", 0, time.time() - self.began)]     # (what, begin, end)

    def expect(self, count):
        with self.lock:
            self.total += count

    def number(self):
        """Of the test that begins now."""
        with self.lock:
            self.begun += 1
            return f"[{self.begun}/{self.total}]"

    def say(self, line):
        with self.lock:
            say_now(line)

    def admit(self, kernel, test):
        """Lets it begin; or the time is over, and it is told at the end."""
        if not self.within or time.time() - self.began < self.within:
            return True
        self.left_over.append((kernel, test.name))
        return False

    def record(self, kernel, outcome, say):
        name = f"{kernel} {outcome.test.name}"
        words = f"{outcome.passed} passed, {outcome.failed} failed"
        if outcome.skipped:
            words += f", {outcome.skipped} skipped"
        say(f"# {'ok    ' if outcome.ok() else 'FAILED'} {name}: {words}, {outcome.seconds:.1f} s "
            f"({outcome.processor:.1f} s of a processor{self.pace.last()})")
        for reason in outcome.reasons:
            say(f"#        {name}: {reason}")
        say("")
        with self.lock:
            self.entries.append((kernel, outcome))

    def fail(self, kernel, what, why, say):
        say(f"# FAILED {kernel} {what}: {why}")
        with self.lock:
            self.notes.append(f"{kernel} {what}: {why}")

    def noted(self, kernel):
        return sum(note.startswith(kernel + " ") for note in self.notes)

    @contextlib.contextmanager
    def phase(self, what):
        """A part of the run, whose time is told."""
        begin = time.time() - self.began
        try:
            yield
        finally:
            with self.lock:
                self.phases.append((what, begin, time.time() - self.began))

    # Tests that were late

    def late(self):
        """Those that failed only because their time was over, unless there are too many to be chance."""
        found = [(kernel, o) for kernel, o in self.entries if o.late()]
        if len(found) > MOST_SLOW:
            say_now(f"# {len(found)} tests failed for their time: too many to repeat them")
            return []
        return found

    def again(self, kernel, first, second):
        """@first was late, and @second is what a run alone came to: that counts."""
        with self.lock:
            self.entries.remove((kernel, second))
            if second.ok():
                self.entries[self.entries.index((kernel, first))] = (kernel, second)
                self.slow.append((kernel, first, second))

    # The end

    def passed(self):
        return sum(o.passed for _, o in self.entries)

    def failed(self):
        return sum(o.failed for _, o in self.entries) + len(self.notes) + (len(self.slow) > MOST_SLOW) + \
            bool(self.too_many_left())

    def totals(self):
        return f"{self.passed()} passed, {self.failed()} failed"

    def summary(self):
        skipped = sum(o.skipped for _, o in self.entries)
        kernels = ", ".join(dict.fromkeys(kernel for kernel, _ in self.entries))
        say_now(f"# {kernels}: {len(self.entries)} test files, {skipped} cases skipped")
        for line in self.longest() + self.times() + self.pace.lines() + self.nowhere() + self.no_time() + self.slow_ones() + self.failures():
            say_now(line)

    def longest(self):
        if len(self.entries) < 4:
            return []
        most = sorted(self.entries, key=lambda e: -e[1].seconds)[:LONGEST]
        return ["# the longest:"] + [f"#   {o.seconds:6.1f} s, {o.processor:6.1f} s of a processor: {kernel} {o.test.name}"
                                     for kernel, o in most]

    def times(self):
        if len(self.phases) < 3:
            return []
        return ["# the phases:"] + [f"#   {begin:5.0f} to {end:5.0f} s: {what}" for what, begin, end in self.phases]

    def nowhere(self):
        """Cases that ran with none of several kernels."""
        if len({kernel for kernel, _ in self.entries}) < 2:
            return []
        ran = {(o.test.name, case) for _, o in self.entries for case in o.ran + ([ALL] if o.ran else [])}
        skipped = {(o.test.name, case) for _, o in self.entries for case in o.left_out}
        return [f"# ran nowhere: {name}: {case}" for name, case in sorted(skipped - ran)]

    def too_many_left(self):
        """Why what there was no time for is a failure: a machine of the usual pace has time for all."""
        if self.left_over and not self.pace.slow():
            return "FAILED: this machine is not slow"
        return "FAILED: more than half" if len(self.left_over) > self.total / 2 else ""

    def no_time(self):
        if not self.left_over:
            return []
        why = self.too_many_left() or "this machine is slow"
        return [f"# not run, since {self.within:.0f} s were over ({why}): {len(self.left_over)} of {self.total} test files"] + \
            [f"# not run: {kernel} {name}" for kernel, name in self.left_over]

    def slow_ones(self):
        return [f"# slow: {kernel} {first.test.name}: {'; '.join(first.failures + first.reasons)}; alone it took {second.seconds:.1f} s"
                for kernel, first, second in self.slow]

    def failures(self):
        """All that failed, with what each case said of it: who reads only the end has both."""
        lines = []
        for kernel, o in self.entries:
            if o.ok():
                continue
            name = f"{kernel} {o.test.name}"
            for text, why in zip(o.failures, o.why):
                lines.append(f"#   FAILED {name}: {text}")
                lines += ["#     | " + line for line in dict.fromkeys(why)]
            lines += [f"#   FAILED {name}: {text}" for text in o.reasons]
        return lines + [f"#   FAILED {note}" for note in self.notes] + self.failed_names()

    def failed_names(self):
        """Once more, and briefly: that outlives any cut at the end of a log."""
        bad = [(f"{kernel} {o.test.name}", o) for kernel, o in self.entries if not o.ok()]
        cases = sum(len(o.failures) for _, o in bad)
        lines = []
        for name, o in bad:
            for text, why in zip(o.failures, o.why):
                lines += [f"# failed: {name}: {text}"] + brief(why, BRIEF // cases)
            lines += [f"# failed: {name}: {text[:SHORT]}" for text in o.reasons[:6]]
        return lines


def brief(why, room):
    """The first two and the last lines of @why that fit into @room characters."""
    lines = [line[:SHORT] for line in dict.fromkeys(why)]
    while len(lines) > 2 and sum(map(len, lines)) > room:
        lines.pop(2 if len(lines) > 3 else -1)
    return ["#     : " + line.lstrip("# ") for line in lines]
