# SPDX-License-Identifier: GPL-2.0
"""How the minutes of a soak are divided."""

import threading
import time



class Soak:
    """
    Gives each test its minutes when it begins: its part, by weight, of what is left.  So the
    whole takes its time, however long single tests take that do not keep to their minutes.
    What runs on this machine runs beside the guests, and has all the minutes for itself.
    """

    def __init__(self, tests, minutes, clock=time.monotonic):
        self.clock = clock
        self.minutes = minutes
        self.end = clock() + minutes * 60
        self.here = {t for t in tests if not t.nodes}
        self.guests = {t for t in tests if t.nodes}
        self.lanes = 0
        self.until = {}         # test that runs: when its minutes are over
        self.given = {}
        self.lock = threading.Lock()

    @staticmethod
    def order(tests):
        """What can fill any time comes last; before that what needs a boot of its own, and is long."""
        return sorted(tests, key=lambda t: (t.weight, t.needs.get("fresh") != "1", -t.timeout))

    def lane(self, more):
        """@more lanes, or less, take tests from now on."""
        with self.lock:
            self.lanes += more

    def begin(self, test):
        """The whole minutes of @test, which begins."""
        with self.lock:
            now = self.clock()
            left = max(0, self.end - now)
            if test.nodes:
                pool = self.guests
                share = max(1, self.lanes) * left - sum(max(0, u - now) for u in self.until.values())
            else:
                pool, share = self.here, left
            share = share * test.weight / max(test.weight, sum(t.weight for t in pool))
            pool.discard(test)
            minutes = max(1, int(min(share, left) / 60 + 0.1))
            if test.nodes:
                self.until[test] = now + minutes * 60
            self.given[test.name] = minutes
            return minutes

    def over(self, test):
        with self.lock:
            self.until.pop(test, None)
