# SPDX-License-Identifier: GPL-2.0
"""How many sets of guests this machine carries."""

import fcntl
import os
import sys
import time

from guest import CACHE, GuestError

LOCK_WAIT = 3600


class Lock:
    """One set of QEMU guests at a time, and one user-mode guest more than there are processors."""

    def __init__(self, kernel, say=print):
        self.say = say
        name, slots = ("uml-kasan", (os.cpu_count() or 1) + 1) if kernel == "uml-kasan" else ("debian", 1)
        self.paths = [os.path.join(CACHE, f"run-{name}-{i}.lock") for i in range(slots)]
        self.file = None

    def attempt(self):
        for path in self.paths:
            f = open(path, "a+")
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                f.close()
                continue
            f.truncate(0)
            f.write(f"process {os.getpid()}: {' '.join(sys.argv[1:])}")
            f.flush()
            self.file = f
            return True
        return False

    def holder(self):
        try:
            with open(self.paths[0]) as f:
                return f.read(200)
        except OSError:
            return "?"

    def wait(self, wanted=lambda: True):
        """True when held; False when it is no longer wanted."""
        end = time.monotonic() + LOCK_WAIT
        told = 0
        while not self.attempt():
            if not wanted():
                return False
            if time.monotonic() > end:
                raise GuestError(f"another run has had guests up for an hour ({self.holder()})")
            if time.monotonic() - told > 30:
                self.say(f"# waiting: another run has guests up ({self.holder()})")
                told = time.monotonic()
            time.sleep(0.5)
        return True

    def release(self):
        if self.file:
            self.file.close()
        self.file = None

    def __enter__(self):
        self.wait()
        return self

    def __exit__(self, *_):
        self.release()
