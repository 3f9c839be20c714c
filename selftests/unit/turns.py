#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=60
"""Runs that wait for each other's guests: in turn, and without saying it again and again."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.realpath(os.path.join(os.path.dirname(__file__), "../vm")))

import lock as locks
from lock import UML_GUESTS, Lock, Queue
import tapcases

CACHE = tempfile.mkdtemp(prefix="rds-turns-")
HERE = os.path.realpath(os.path.dirname(__file__))


def lock(say=lambda _: None):
    return Lock("debian", say, CACHE)


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def waiting():
    """How many there are in the queue."""
    queue = lock().queue
    queue.join()
    try:
        return queue.ahead()
    finally:
        queue.leave()


def in_turn():
    """Each of five that come while there are guests up, in the order in which they came."""
    first, served, threads = lock(), [], []
    first.wait()

    def come(i):
        mine = lock()
        mine.wait(pause=0.01)
        served.append(i)
        mine.release()
    for i in range(5):
        threads.append(threading.Thread(target=come, args=[i]))
        threads[-1].start()
        if not until(lambda: waiting() == i + 1):
            return False
    first.release()
    for t in threads:
        t.join()
    return served == list(range(5))


def late_comer_waits():
    """Who comes when the guests have just gone does not pass those who wait."""
    first, second = lock(), Queue(os.path.join(CACHE, "run-debian.queue"))
    second.join()
    got = first.wait(wanted=lambda: False)
    second.leave()
    return not got and first.wait(wanted=lambda: False) and first.release() is None


def the_dead():
    """Who dies while he waits is in nobody's way."""
    script = f"import sys, time; sys.path.insert(0, {os.path.join(HERE, '../vm')!r})\n" \
             f"from lock import Queue\nqueue = Queue({os.path.join(CACHE, 'run-debian.queue')!r})\n" \
             "queue.join(); print('here', flush=True); time.sleep(100)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as proc:
        proc.stdout.readline()
        before = waiting()
        proc.kill()
    return before == 1 and waiting() == 0


def told():
    """At once and then once a minute, with who has guests and how many come before."""
    first, said = lock(), []
    first.wait()
    locks.TELL_EVERY = 0.3
    start = time.monotonic()
    try:
        lock(said.append).wait(wanted=lambda: len(said) < 4, pause=0.01)
    finally:
        locks.TELL_EVERY = 60
        first.release()
    took = time.monotonic() - start
    return len(said) <= took / 0.3 + 1 and f"process {os.getpid()}" in said[0]


def not_alone():
    """With how many come before."""
    first, said, before = lock(), [], Queue(os.path.join(CACHE, "run-debian.queue"))
    first.wait()
    before.join()
    lock(said.append).wait(wanted=lambda: not said, pause=0.01)
    before.leave()
    first.release()
    return "1 came before" in said[0]


def other_slots():
    """User-mode guests do not wait for QEMU's, and there are as many as are to run beside each other."""
    held = [Lock("uml-kasan", cache=CACHE) for _ in range(UML_GUESTS + 1)]
    first = lock()
    first.wait()
    got = [h.wait(wanted=lambda: False) for h in held]
    for h in [first, *held]:
        h.release()
    return got == [True] * (len(held) - 1) + [False]


def other_caches():
    """Another RDS_CACHE is another user's: its guests are up beside ours, and its queue is its own."""
    first, asked = lock(), Queue(os.path.join(CACHE, "run-debian.queue"))
    theirs = Lock("debian", lambda _: None, os.path.join(CACHE, "other"))
    os.makedirs(os.path.join(CACHE, "other"), exist_ok=True)
    first.wait()
    asked.join()
    got = theirs.wait(wanted=lambda: False), lock().wait(wanted=lambda: False)
    asked.leave()
    for held in first, theirs:
        held.release()
    return got == (True, False)


CASES = [
    ("each in turn", in_turn),
    ("who comes late does not pass", late_comer_waits),
    ("who has died is in nobody's way", the_dead),
    ("it is told at once, and then now and then", told),
    ("and who comes before", not_alone),
    ("user-mode guests have slots of their own", other_slots),
    ("users with other caches wait for nobody here", other_caches),
]


if __name__ == "__main__":
    try:
        sys.exit(tapcases.run(CASES))
    finally:
        shutil.rmtree(CACHE)
