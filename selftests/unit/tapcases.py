# SPDX-License-Identifier: GPL-2.0
"""The end of each test in Python whose cases are functions that say whether all is well."""


def run(cases):
    """Runs (name, function) pairs: the exit status."""
    print("TAP version 13")
    print(f"1..{len(cases)}")
    bad = 0
    for nr, (name, case) in enumerate(cases, 1):
        good = case()
        bad += not good
        print(f"{'ok' if good else 'not ok'} {nr} {name}")
    return 1 if bad else 0
