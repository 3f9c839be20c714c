#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=60
"""Guests that boot at once, in threads of one run, may each have to make their initramfs."""

import os
import sys
import tempfile
import threading
import time
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../vm"))

import initramfs

THREADS = 8


def make_at_once(cache):
    """What each of the threads got: a path, or why not."""
    got = []
    kind = types.SimpleNamespace(version="any")

    def make():
        try:
            got.append(initramfs.make(kind, cache))
        except OSError as e:
            got.append(str(e))

    threads = [threading.Thread(target=make) for _ in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return got


def contents(_kind, _cache):
    time.sleep(0.2)         # all threads have seen that there is none
    yield "large", 0o100644, b"x" * 5000000


def main():
    initramfs.contents = contents
    with tempfile.TemporaryDirectory() as cache:
        os.makedirs(os.path.join(cache, "img"))
        os.makedirs(os.path.join(cache, "bin"))
        with open(os.path.join(cache, "bin/rds-agent"), "wb") as f:
            f.write(b"agent")
        got = make_at_once(cache)
        left = os.listdir(os.path.join(cache, "img"))
    ok = len(got) == THREADS and {os.path.basename(g) for g in got} == set(left) and len(left) == 1
    print("TAP version 13")
    print("1..1")
    if not ok:
        print(f"# {set(got)}, left: {left}")
    print(f"{'ok' if ok else 'not ok'} 1 {THREADS} threads make the same initramfs")
    return not ok


sys.exit(main())
