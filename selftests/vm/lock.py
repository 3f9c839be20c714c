# SPDX-License-Identifier: GPL-2.0
"""How many sets of guests are up for one RDS_CACHE, and whose turn it is."""

import contextlib
import fcntl
import os
import sys
import time

from guest import CACHE, GuestError

LOCK_WAIT = 3600
TELL_EVERY = 60


class Queue:
    """Who waits, in the order they came: a file for each in @folder, locked while its owner lives."""

    def __init__(self, folder):
        self.folder = folder
        self.ticket = self.file = None

    def join(self):
        os.makedirs(self.folder, exist_ok=True)
        name = f"{time.time_ns():020}-{os.getpid()}-{id(self)}"
        # a name with a dot is not in the queue yet: nobody takes it for one that was left behind
        self.ticket = os.path.join(self.folder, name)
        self.file = open(self.ticket + ".new", "w")
        fcntl.flock(self.file, fcntl.LOCK_EX)
        os.rename(self.ticket + ".new", self.ticket)

    def ahead(self):
        """How many came before and still wait."""
        mine = os.path.basename(self.ticket)
        return sum(self.waits(os.path.join(self.folder, name)) for name in os.listdir(self.folder)
                   if "." not in name and name < mine)

    @staticmethod
    def waits(ticket):
        try:
            with open(ticket) as f:
                fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
                os.unlink(ticket)       # its owner has died
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def leave(self):
        if self.file:
            with contextlib.suppress(OSError):
                os.unlink(self.ticket)
            self.file.close()
        self.file = None


UML_GUESTS = 2 * (os.cpu_count() or 1)     # at a time: most tests wait most of the time


class Lock:
    """One set of QEMU guests at a time, and UML_GUESTS user-mode ones, of all runs with one @cache."""

    def __init__(self, kernel, say=print, cache=CACHE):
        self.say = say
        name, slots = ("uml-kasan", UML_GUESTS) if kernel == "uml-kasan" else ("debian", 1)
        self.paths = [os.path.join(cache, f"run-{name}-{i}.lock") for i in range(slots)]
        self.queue = Queue(os.path.join(cache, f"run-{name}.queue"))
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
            f.write(f"process {os.getpid()}, since {time.strftime('%H:%M')}: {' '.join(sys.argv[1:])[:150]}")
            f.flush()
            self.file = f
            return True
        return False

    def holders(self):
        """Who has guests up, in words."""
        said = []
        for path in self.paths:
            with contextlib.suppress(OSError), open(path) as f:
                said.append(f.read(200))
        return "; ".join(dict.fromkeys(filter(None, said))) or "?"

    def wait(self, wanted=lambda: True, pause=0.5):
        """True when held; False when it is no longer wanted.  Who comes first is served first."""
        self.queue.join()
        try:
            return self._wait(wanted, pause)
        finally:
            self.queue.leave()

    def _wait(self, wanted, pause):
        start, told = time.monotonic(), None
        while True:
            ahead = self.queue.ahead()
            if not ahead and self.attempt():
                return True
            if not wanted():
                return False
            now = time.monotonic()
            if now - start > LOCK_WAIT:
                raise GuestError(f"no turn for guests in an hour ({self.holders()})")
            if told is None or now - told >= TELL_EVERY:
                told = now
                self.say(f"# waiting for a turn, guests are up: {self.holders()}"
                         + (f"; {ahead} came before" if ahead else ""))
            time.sleep(pause)

    def release(self):
        if self.file:
            self.file.close()
        self.file = None

    def __enter__(self):
        self.wait()
        return self

    def __exit__(self, *_):
        self.release()
