# SPDX-License-Identifier: GPL-2.0
"""How long does the module hold a spinlock, or keep bottom halves off, while it walks?

Usage: holds.py messages|window|sockets|connections COUNT LIMIT-US; driven by holds.sh, as root in
the sender's namespace.  The function tracer sees each spin_lock_bh() and spin_unlock_bh(); from the
first to the last of a task or of a softirq is one hold.  It counts if a function of ours began it.
"""
import os
import re
import resource
import socket
import struct
import subprocess
import sys
import time

RDS, SOL_RDS, CANCEL_SENT_TO = 21, 276, 1
SNDBUFFORCE = 32
TRACING = "/sys/kernel/tracing/"
LOCKS = "_raw_spin_lock_bh _raw_spin_unlock_bh _raw_write_lock_bh _raw_write_unlock_bh"
LINE = re.compile(r"^.{16}-(\d+) +\[\d+\] (\S+) +([\d.]+): _raw_(?:spin|write)_(un)?lock_bh <-(\S+)")
HERE, SILENT, PEER = "10.1.0.1", "10.1.0.77", "10.1.0.2"


def run(*args):
    return subprocess.run(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def put(name, text):
    with open(TRACING + name, "w") as f:
        f.write(text)


def ours():
    with open("/proc/kallsyms") as f:
        return {words[2] for words in map(str.split, f) if words[-1] in ("[rds]", "[rds_tcp]")}


class Holds:
    """The longest hold of each function that begins one, of all that was done."""

    def __init__(self):
        self.names = ours()
        self.longest, self.count = {}, 0
        if not os.path.exists(TRACING + "trace"):
            subprocess.run(["mount", "-t", "tracefs", "none", TRACING], check=True)
        put("tracing_on", "0")
        put("buffer_size_kb", "131072")
        put("set_ftrace_filter", LOCKS)
        put("current_tracer", "function")

    def during(self, what, fn, settle=0.5):
        put("trace", "")
        put("tracing_on", "1")
        begin = time.monotonic()
        fn()
        time.sleep(settle)
        took = time.monotonic() - begin
        put("tracing_on", "0")
        before = self.count
        with open(TRACING + "trace") as f:
            worst = self.read(f)
        with open(TRACING + "per_cpu/cpu0/stats") as f:
            lost = int(re.search(r"overrun: (\d+)", f.read()).group(1))
        print("# %-24s %8d holds, the longest %5.0f us by %s; %.1f s%s" % (
            what, self.count - before, *worst, took, ", %d lines lost" % lost if lost else ""), flush=True)
        if lost:
            sys.exit("the trace was too long")

    def read(self, lines):
        held, worst = {}, (0, "nobody")
        for line in lines:
            m = LINE.match(line)
            if not m:
                continue
            pid, flags, at, un, caller = m.groups()
            at = float(at) * 1e6
            if flags[2] == "s" and (pid, ".") in held:
                # A softirq in its way: what the task has called has not taken the lock yet.
                held[pid, "."] = held[pid, "."][0], at, held[pid, "."][2]
            key = pid, flags[2]
            depth, since, who = held.get(key, (0, 0, None))
            if not un:
                held[key] = (depth + 1, since, who) if depth else (1, at, caller)
                continue
            if depth == 1 and who in self.names:
                self.count += 1
                self.longest[who] = max(self.longest.get(who, 0), at - since)
                worst = max(worst, (at - since, who))
            held[key] = max(depth - 1, 0), since, who
        return worst

    def judge(self, limit):
        bad = {who: us for who, us in self.longest.items() if us > limit}
        for who, us in sorted(bad.items(), key=lambda item: -item[1]):
            print("# %s() held a lock for %.0f us" % (who, us))
        if not self.count:
            sys.exit("nothing was seen")
        sys.exit(bool(bad))


def rds(addr=None, sndbuf=0):
    s = socket.socket(RDS, socket.SOCK_SEQPACKET)
    if sndbuf:
        s.setsockopt(socket.SOL_SOCKET, SNDBUFFORCE, sndbuf)
    if addr:
        s.bind((addr, 0))
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


def full_and_free(sender, port, most, size):
    """The receiver of @port is congested, and then it has read all."""
    fill(sender, HERE, [port.getsockname()[1]], most, size)
    try:
        while True:
            port.recv(1000, socket.MSG_DONTWAIT)
    except OSError:
        pass


def there_are():
    out = subprocess.run([os.environ["BIN"] + "/rds-info", "-n"], stdout=subprocess.PIPE).stdout
    return out.count(b" 10.2.")


def expire():
    """All connections, though nothing but time goes by."""
    sysctl(idle_conn_timeout_ms=1000)
    end = time.monotonic() + 120
    while there_are():
        if time.monotonic() > end:
            sys.exit("the connections stay")
        time.sleep(1)


def info(*flags):
    for flag in flags:
        run(os.environ["BIN"] + "/rds-info", flag)


def sysctl(**values):
    for key, value in values.items():
        if run("sysctl", "-qw", "net.rds.%s=%s" % (key.replace("__", "."), value)):
            sys.exit("cannot set " + key)


def messages(h, count):
    """As many wait for a host that does not answer."""
    pile = subprocess.Popen([os.environ["BIN"] + "/rdsusers", "pile", "0", HERE, SILENT, str(count // 3328), "3328"],
                            stdout=subprocess.PIPE, text=True)
    queued = int(pile.stdout.readline().split()[1])
    pile.stdout.readline()
    print("# %d messages" % queued)
    if queued < count * 9 // 10:
        sys.exit("too few")
    s = rds(HERE, 1 << 28)
    mine = fill(s, SILENT, range(20000, 20010), count // 6)
    print("# %d of one socket" % mine)
    h.during("info", lambda: info("-s", "-t", "-p", "-k"))
    to = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(20000), socket.inet_aton(SILENT))
    h.during("cancel to a port", lambda: s.setsockopt(SOL_RDS, CANCEL_SENT_TO, to))
    sysctl(close_timeout_ms=0)
    h.during("close of a socket", s.close, 2)
    sysctl(close_timeout_ms=1000)

    def leave():
        pile.kill()
        pile.wait()
    h.during("the end of a process", leave, 0.1)
    h.during("the end of orphans", lambda: None, 8)
    sysctl(close_timeout_ms=10000)


def window(h, most):
    """As many as a link takes are not acknowledged; then they are, at once; or the link goes."""
    for what in "acknowledged", "sent again":
        s = rds(HERE, 1 << 28)
        run("tc", "qdisc", "replace", "dev", "eth0", "root", "netem", "delay", "2s", "limit", "1000000")
        n = fill(s, PEER, range(30000, 30064), most)
        time.sleep(0.5)
        print("# %d under way" % n)
        if what == "acknowledged":
            h.during(what, lambda: run("tc", "qdisc", "del", "dev", "eth0", "root"), 6)
        else:
            h.during("the link goes", lambda: run("ss", "-K", "dport", "=", "16385", "or", "sport", "=", "16385"), 0.2)
            h.during(what, lambda: run("tc", "qdisc", "del", "dev", "eth0", "root"), 6)
        sysctl(close_timeout_ms=0)
        h.during("close", s.close, 1)
        sysctl(close_timeout_ms=10000)


def sockets(h, count):
    keep = [rds(HERE) for _ in range(count)]
    h.during("info", lambda: info("-k", "-s", "-r"))
    port = rds(HERE)
    h.during("a port full and free", lambda: full_and_free(keep[0], port, 10000, 60000))

    def leave():
        for s in keep:
            s.close()
    h.during("all are closed", leave, 1)


def connections(h, count):
    sysctl(max_conns=count + 100)
    run("ip", "route", "add", "10.2.0.0/16", "dev", "eth0")
    run("tc", "qdisc", "replace", "dev", "eth0", "root", "pfifo", "limit", "1")
    s = rds(HERE, 1 << 28)

    def connect():
        for i in range(count):
            s.sendto(b"", socket.MSG_DONTWAIT, ("10.2.%d.%d" % (i // 250, 1 + i % 250), 5))
    h.during("%d connections" % count, connect)
    h.during("info", lambda: info("-n", "-p", "-T", "-s"))
    h.during("links with new buffers", lambda: sysctl(tcp__rds_tcp_sndbuf=200000), 2)
    port = rds(HERE)
    port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 10000)

    def toggle():
        for _ in range(3):
            full_and_free(s, port, 1000, 900)
            time.sleep(0.2)
    h.during("a port full and free", toggle, 2)
    sysctl(close_timeout_ms=0)
    h.during("close", s.close, 2)
    print("# %d are left" % there_are())
    h.during("all expire", expire)
    sysctl(idle_conn_timeout_ms=60000, close_timeout_ms=10000)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (200000, 200000))
    holds = Holds()
    globals()[sys.argv[1]](holds, int(sys.argv[2]))
    holds.judge(int(sys.argv[3]))
