# SPDX-License-Identifier: GPL-2.0
"""Whether a guest, or a test on this machine, computes or only waits."""

import glob
import os
import threading
import time


def wanting(sessions):
    """Does any thread of @sessions run, or want to?"""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(name)) in sessions and any(map(runs, glob.iglob(f"/proc/{name}/task/*/stat"))):
                return True
        except OSError:
            continue
    return False


def runs(stat):
    try:
        with open(stat) as f:
            return f.read().rpartition(")")[2].split()[0] == "R"
    except OSError:
        return False


class Meter:
    """
    Looks twice a second.  A test that hangs in a system call leaves its guest idle; one that is
    only slow has it compute, or wait for a processor of this machine, for most of the time.
    """

    PAUSE = 0.5
    LEAST = 0.25        # an idle guest is met awake in a few of 100 looks
    ENOUGH = 4          # looks to tell by

    def __init__(self, sessions, look=wanting):
        """@sessions: gives those of now"""
        self.sessions, self.look = sessions, look
        self.looks = []         # (time, awake)
        self.asked = time.monotonic()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def _watch(self):
        while not self.over.wait(self.PAUSE):
            self.looks.append((time.monotonic(), self.look(self.sessions())))

    def worked(self, seconds):
        """In the last @seconds?"""
        begin = time.monotonic() - seconds
        looks = [awake for when, awake in self.looks if when >= begin]
        return len(looks) >= self.ENOUGH and sum(looks) >= self.LEAST * len(looks)

    def worked_since(self):
        """Since this was asked before?"""
        before, self.asked = self.asked, time.monotonic()
        return self.worked(self.asked - before)
