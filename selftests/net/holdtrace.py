# SPDX-License-Identifier: GPL-2.0
"""How long does the module hold a spinlock, or keep bottom halves off, while it walks?

For net/holds.py and ib/holds.py, which are root.  The function tracer sees each spin_lock_bh() and
spin_unlock_bh(), holdsum sums up; a hold counts if a function of ours began it.
"""
import os
import re
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import time

RDS, SOL_RDS, CANCEL_SENT_TO = 21, 276, 1
SNDBUFFORCE, RCVBUFFORCE = 32, 33
TRACING = "/sys/kernel/tracing/"
LOCKS = "_raw_spin_lock_bh _raw_spin_unlock_bh _raw_write_lock_bh _raw_write_unlock_bh"
INTERRUPTS = "irq_enter_rcu irq_exit_rcu"
MODULES = "[rds]", "[rds_tcp]", "[rds_rdma]"


def run(*args):
    return subprocess.run(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def put(name, text):
    with open(TRACING + name, "w") as f:
        f.write(text)


def write_table(table):
    """For holdsum: where functions of modules begin, whose names are told if they are ours, and the traced ones."""
    kinds = dict(zip(LOCKS.split() + INTERRUPTS.split(), "LULUIO"))
    with open("/proc/kallsyms") as f:
        print("0 - -", file=table)
        for addr, kind, name, *module in map(str.split, f):
            if name in kinds and not module:
                print(addr, kinds[name], "-", file=table)
            elif module and kind in "tT":
                print(addr, *("f", name) if module[0] in MODULES else "--", file=table)
    table.flush()


class Holds:
    """The longest hold of each function that begins one, of all that was done."""

    def __init__(self):
        self.table = tempfile.NamedTemporaryFile("w")
        write_table(self.table)
        self.longest, self.count = {}, 0
        if not os.path.exists(TRACING + "trace"):
            subprocess.run(["mount", "-t", "tracefs", "none", TRACING], check=True)
        put("tracing_on", "0")
        put("buffer_size_kb", "131072")
        put("set_ftrace_filter", LOCKS + " " + INTERRUPTS)
        put("current_tracer", "function")

    @staticmethod
    def end():
        put("current_tracer", "nop")
        put("set_ftrace_filter", "")
        put("buffer_size_kb", "1408")

    def during(self, what, fn, settle=0.5):
        put("trace", "")
        put("tracing_on", "1")
        begin = time.monotonic()
        fn()
        time.sleep(settle)
        took = time.monotonic() - begin
        put("tracing_on", "0")
        before = self.count
        worst = self.read()
        with open(TRACING + "per_cpu/cpu0/stats") as f:
            lost = int(re.search(r"overrun: (\d+)", f.read()).group(1))
        print("# %-24s %8d holds, the longest %5.0f us by %s; %.1f s" % (
            what, self.count - before, *worst, took), flush=True)
        if lost:
            sys.exit("the trace was too long: %d lines are lost" % lost)

    def read(self):
        """Return: the longest hold in microseconds, and which function of ours began it."""
        worst = 0, "nobody"
        out = subprocess.run([os.environ["BIN"] + "/holdsum", self.table.name], stdout=subprocess.PIPE, check=True, text=True).stdout
        for count, longest, who in map(str.split, out.splitlines()):
            if who != "-":
                self.count += int(count)
                self.longest[who] = max(self.longest.get(who, 0), int(longest))
                worst = max(worst, (int(longest), who))
        return worst

    def judge(self, limit):
        bad = {who: us for who, us in self.longest.items() if us > limit}
        for who, us in sorted(bad.items(), key=lambda item: -item[1]):
            print("# %s() held a lock for %.0f us" % (who, us))
        if not self.count:
            sys.exit("nothing was seen")
        sys.exit(bool(bad))


def rds(addr=None, sndbuf=0, port=0, rcvbuf=0):
    s = socket.socket(RDS, socket.SOCK_SEQPACKET)
    if sndbuf:
        s.setsockopt(socket.SOL_SOCKET, SNDBUFFORCE, sndbuf)
    if rcvbuf:
        s.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, rcvbuf)
    if addr:
        s.bind((addr, port))
    return s


def fill(s, to, ports, most, size=0):
    """Messages of @size to @ports of @to, as many as go and no more than @most."""
    n, data = 0, bytes(size)
    for port in ports:
        try:
            while n < most:
                s.sendto(data, socket.MSG_DONTWAIT, (to, port))
                n += 1
        except OSError:
            pass
    return n


def info(*flags):
    for flag in flags:
        run(os.environ["BIN"] + "/rds-info", flag)


def sysctl(**values):
    for key, value in values.items():
        if run("sysctl", "-qw", "net.rds.%s=%s" % (key.replace("__", "."), value)):
            sys.exit("cannot set " + key)


def until(fn, seconds, what):
    end = time.monotonic() + seconds
    while not fn():
        if time.monotonic() > end:
            sys.exit("in vain: " + what)
        time.sleep(0.5)


def pile(here, to, socks, each):
    """@socks sockets of a process have sent each @each empty messages, to ports from 1000 on."""
    args = ["pile", "0", here, to, str(socks), str(each)]
    p = subprocess.Popen([os.environ["BIN"] + "/rdsusers", *args], stdout=subprocess.PIPE,
                         text=True)
    queued = int(p.stdout.readline().split()[1])
    p.stdout.readline()
    print("# %d messages of %d sockets" % (queued, socks), flush=True)
    if queued < socks * each * 9 // 10:
        sys.exit("too few")
    return p


def end(process):
    process.kill()
    process.wait()


def messages(h, count, here, silent):
    """As many wait for a host that does not answer."""
    others = pile(here, silent, count // 3328, 3328)
    s = rds(here, 1 << 28)
    mine = fill(s, silent, range(20000, 20010), count // 6)
    print("# %d of one socket" % mine)
    h.during("info", lambda: info("-s", "-t", "-p", "-k"))
    to = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(20000), socket.inet_aton(silent))
    h.during("cancel to a port", lambda: s.setsockopt(SOL_RDS, CANCEL_SENT_TO, to))
    sysctl(close_timeout_ms=0)
    h.during("close of a socket", s.close, 2)
    sysctl(close_timeout_ms=1000)
    h.during("a process and orphans end", lambda: end(others), 8)
    sysctl(close_timeout_ms=10000)


def main(cases):
    """@cases: functions of Holds and COUNT.  argv: one of their names, COUNT, LIMIT-US"""
    resource.setrlimit(resource.RLIMIT_NOFILE, (200000, 200000))
    holds = Holds()
    try:
        cases[sys.argv[1]](holds, int(sys.argv[2]))
    finally:
        holds.end()
    holds.judge(int(sys.argv[3]))
