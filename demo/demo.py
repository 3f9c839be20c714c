#!/usr/bin/python3 -u
# SPDX-License-Identifier: GPL-2.0
"""One process on node A sends a tree of files to four peers at once: over TCP to node
B (this module) and node C (the in-tree module), to a second socket on A itself
(loopback), and over RoCE to node D (this module). In mid-stream B's link is cut
for 10 s; later B is killed and rebooted, and its fresh receiver gets what it
lacks. Then A writes to D's memory and reads it by RDMA. Every copy must come out
identical to the source, or the exit status is not 0."""

import hashlib
import json
import os
import shutil
import signal
import sys
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "selftests/vm"))

from agentlink import LinkDown            # noqa: E402
from cluster import Cluster               # noqa: E402
from guest import GuestError, bad_lines   # noqa: E402
from run import Lock                      # noqa: E402
from screen import Screen, changed_counters, short_hash   # noqa: E402

SOURCES = ("/usr/lib/x86_64-linux-gnu", "/usr/share", "/usr/lib", "/usr/bin")
WANT_BYTES = 66 << 20
CUT_SECONDS = 10
CUT_AT, KILL_AT = 0.20, 0.35
LIMIT = 240                     # the whole transfer; TCG on a busy machine is slow
COUNTERS = ("conn_reset", "send_queued", "recv_delivered", "send_retransmitted", "recv_drop_old_seq",
            "copy_from_user", "copy_to_user", "cong_update_sent", "cong_update_received",
            "ib_rx_total_incs", "ib_ack_sent", "ib_rdma_mr_1m_alloc")
# Beside the network that TCP uses, with an interface of its own: RDS takes an address that an
# RDMA device has for the RDMA transport. ARP answers must not come from the other interface.
ROCE = """sysctl -qw net.ipv4.conf.all.arp_ignore=1 net.ipv4.conf.all.arp_announce=2 &&
    for m in macvlan rdma_rxe rds_rdma; do modprobe $m || exit 1; done
    ip link add roce0 link eth0 type macvlan mode bridge && ip addr add 10.1.0.{0}/24 dev roce0 &&
    ip link set roce0 up && rdma link add rxe0 type rxe netdev roce0 || exit 1
    for i in $(seq 100); do
        grep -qs ffff:0a01:000{0} /sys/class/infiniband/rxe0/ports/1/gids/* && exit; sleep 0.1
    done; exit 1"""


SCREEN = Screen()


def choose_tree():
    """Root, relative names: a mix of files of the machine, at least 64 MB."""
    names, total = [], 0
    SCREEN.event("choosing files to send")
    for source in SOURCES:
        found = []
        for folder, dirs, files in os.walk(source):
            dirs.sort()
            for name in files:
                path = os.path.join(folder, name)
                if os.path.islink(path) or not os.path.isfile(path) or "\n" in path or not path.isascii():
                    continue
                size = os.path.getsize(path)
                if 0 < size <= 6 << 20 and os.access(path, os.R_OK):
                    found.append((hashlib.sha1(path.encode()).digest(), path, size))
        for _, path, size in sorted(found):
            if total >= WANT_BYTES:
                return names, total
            names.append(os.path.relpath(path, "/"))
            total += size
    raise GuestError(f"only {total >> 20} MB of files were found in {', '.join(SOURCES)}")


def digest_here(names):
    """What "sha256sum of everything, then of that list" says of the source."""
    lines = []
    for name in sorted(names, key=os.fsencode):
        with open("/" + name, "rb") as f:
            lines.append(f"{hashlib.sha256(f.read()).hexdigest()}  ./{name}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


DIGEST = "cd {} && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum"


class Peer:
    def __init__(self, name, node, addr, what, folder, sender="10.0.0.1:7000"):
        self.name, self.node, self.addr, self.what, self.folder = name, node, addr, what, folder
        self.sender = sender
        self.acked = self.want = self.messages = self.stream = 0
        self.state = "waiting"
        self.history = []
        self.command = None
        self.down = False       # its node is being rebooted
        self.fresh = False      # and has not been heard of since

    def update(self, words):
        acked, self.want, self.messages, stream = (int(w) for w in words[:4])
        if stream != self.stream:
            self.history = []
        self.acked, self.stream, self.state = acked, stream, words[4]
        now = time.monotonic()
        self.history = [(t, a) for t, a in self.history if now - t < 2.5] + [(now, acked)]

    def rate(self):
        if len(self.history) < 2 or self.state == "complete":
            return 0.0
        (t0, a0), (t1, a1) = self.history[0], self.history[-1]
        return (a1 - a0) / (t1 - t0) / 1e6 if t1 > t0 else 0.0

    def part(self):
        return self.acked / self.want if self.want else 0.0

    def shown(self, path):
        """What screen.bar() wants to know."""
        state = "rebooting" if self.down else "asking" if self.fresh else self.state
        part = 0.0 if self.fresh else self.part()
        return (self.name, self.what, part, 0 if self.fresh else self.acked, self.rate(),
                "-" if self.down or self.fresh else path, state)


class Demo:
    def __init__(self, cluster, names, total):
        self.cluster, self.names, self.total = cluster, names, total
        self.g = cluster.guests
        self.peers = {
            "B": Peer("B", "b", "10.0.0.2:7001", "this module over TCP", "/tmp/copy"),
            "C": Peer("C", "c", "10.0.0.3:7001", "in-tree over TCP", "/tmp/copy"),
            "A2": Peer("A2", "a", "10.0.0.1:7001", "this module, loopback", "/tmp/copy"),
            "D": Peer("D", "d", "10.1.0.4:7001", "this module over RoCE", "/tmp/copy", "10.1.0.1:7000"),
        }
        self.paths = {}
        self.rest = b""
        self.sender = None
        self.errors = []
        self.troubles = []
        self.stop_watching = threading.Event()

    # The nodes

    def show_nodes(self):
        rows = [("node", "kernel", "module", "from", "address", "processors")]
        for g in self.g.values():
            out = g.must("modinfo -n rds; ip -4 -br addr show eth0; nproc").splitlines()
            kind = "this project's" if g.kind.ours else "in-tree, Debian's"
            rows.append((g.name.upper(), g.kind.version, kind, out[0].split(g.kind.version)[-1],
                         out[1].split()[2], out[2]))
        SCREEN.say()
        SCREEN.table(rows)

    def counters(self, node):
        code, out, _ = self.g[node].run(self.cluster.shell("rds-info --json -c"), 20)
        try:
            return flat_counters(json.loads(out)) if code == 0 else {}
        except ValueError:
            return {}

    def show_counters(self, before, after):
        SCREEN.say()
        SCREEN.table(changed_counters(before, after, COUNTERS))

    def show_info(self):
        code, out, _ = self.g["a"].run(self.cluster.shell("rds-info -n -p -T -I"), 20)
        SCREEN.say()
        SCREEN.listing(out.splitlines())

    # The transfer

    def start_receiver(self, peer):
        peer.command = self.g[peer.node].agent.start(self.cluster.shell(
            f"exec rds-recvtree {peer.addr} {peer.sender} {peer.folder}"))

    def start_sender(self, listing):
        peers = " ".join(f"{p.name}={p.addr}" + (f"@{p.sender}" if p.sender != "10.0.0.1:7000" else "")
                         for p in self.peers.values())
        self.sender = self.g["a"].agent.start(self.cluster.shell(
            f"exec rds-sendtree 10.0.0.1:7000 / {listing} {peers}"),
            on_out=self.sender_output, on_err=self.errors.append)

    def sender_output(self, data):
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            words = line.decode().split()
            if len(words) == 7 and words[0] == "P":
                self.peers[words[1]].update(words[2:])

    def watch_paths(self):
        """State of the paths, as the kernel of A tells it."""
        while not self.stop_watching.wait(0.7):
            try:
                code, out, _ = self.g["a"].run(self.cluster.shell("rds-info -p"), 20)
            except LinkDown:
                return
            if code == 0:
                self.paths = parse_paths(out)

    def draw(self):
        SCREEN.bars([p.shown(self.paths.get(p.addr.split(":")[0], "-")) for p in self.peers.values()])

    def wait(self, reached, limit):
        """Draws until @reached() or the time is up; watches that all live on."""
        end = time.monotonic() + limit
        while not reached():
            self.draw()
            # B alone gets what it lacks in a second: the kill must not come after that
            if self.sender.done.wait(0.05) and not reached():
                text = b"".join(self.errors).decode(errors="replace")
                raise GuestError(f"the sender ended early: {text.strip()[-300:]}")
            for p in self.peers.values():
                if p.command.done.is_set() and not p.command.lost and p.command.status:
                    raise GuestError(f"the receiver of {p.name} failed: {p.command.err_text().strip()[-300:]}")
            if time.monotonic() > end:
                return False
        self.draw()
        return True

    def must_wait(self, reached, what):
        if not self.wait(reached, LIMIT):
            raise GuestError(f"{what}: not within {LIMIT} s")

    def cut_link(self):
        b, others = self.peers["B"], [p for p in self.peers.values() if p.name != "B"]
        SCREEN.event(f"cutting the link of B for {CUT_SECONDS} s")
        at, before = b.acked, {p.name: (p.acked, p.state) for p in others}
        self.g["b"].set_link(False)
        self.wait(lambda: False, CUT_SECONDS)
        moved = [f"{p.name} complete" if before[p.name][1] == "complete" else
                 f"{p.name} +{(p.acked - before[p.name][0]) / 1e6:.1f} MB" for p in others]
        SCREEN.event(f"link of B is back; meanwhile: B +{(b.acked - at) / 1e6:.1f} MB, {', '.join(moved)}")
        if any(p.acked == before[p.name][0] and before[p.name][1] != "complete" for p in others):
            self.troubles.append("a peer with a good link stood still while B's was cut")
        self.g["b"].set_link(True)
        seq = b.acked
        self.must_wait(lambda: b.acked > seq, "B goes on after its link is back")
        SCREEN.event("B goes on")

    def kill_and_reboot(self):
        b = self.peers["B"]
        SCREEN.event(f"killing node B at {b.part() * 100:.0f} %")
        self.g["b"].stop()
        done = threading.Event()
        failure = []

        def boot():
            try:
                self.cluster.boot_one(self.g["b"])
            except (GuestError, LinkDown) as e:
                failure.append(e)
            done.set()
        threading.Thread(target=boot, daemon=True).start()
        SCREEN.event("booting it again")
        b.down = True
        self.wait(done.is_set, LIMIT)
        if failure:
            raise failure[0]
        b.down, b.fresh = False, True
        stream = b.stream
        SCREEN.event("B is up again, its memory empty; a fresh receiver asks for what it lacks")
        self.start_receiver(b)
        self.must_wait(lambda: b.stream > stream, "the fresh receiver is heard")
        b.fresh = False
        SCREEN.event(f"A sends B {b.want / 1e6:.1f} MB")

    def transfer(self, listing):
        for p in self.peers.values():
            self.start_receiver(p)
        self.start_sender(listing)
        SCREEN.event(f"one process on A sends {len(self.names)} files, {self.total / 1e6:.1f} MB, to four peers at once")
        threading.Thread(target=self.watch_paths, daemon=True).start()
        b = self.peers["B"]
        self.must_wait(lambda: b.part() >= CUT_AT, "the first part of the tree reaches B")
        self.show_info()
        self.cut_link()
        self.must_wait(lambda: b.part() >= KILL_AT, "more of the tree reaches B")
        self.kill_and_reboot()
        self.must_wait(lambda: all(p.state == "complete" for p in self.peers.values()), "all copies are complete")
        self.stop_watching.set()
        SCREEN.event("all four say that they have everything")
        if self.sender.wait(20) != 0:
            self.troubles.append("the sender did not end well")

    def rdma(self):
        """One write and one read, with what the sockets are told of them."""
        server = self.g["d"].agent.start(self.cluster.shell(
            "exec rdmapeer serve -b 10.1.0.4:7002 -r /tmp/rdma-ready"))
        self.g["d"].run("until [ -e /tmp/rdma-ready ]; do sleep 0.05; done", 20)
        ask = "rdmapeer {} -g -S 1048576 -b 10.1.0.1:7002 -d 10.1.0.4:7002"
        SCREEN.event("1 MiB by RDMA, from A's memory to D's and back, each with its notification")
        code, out, err = self.g["a"].run(self.cluster.shell(ask.format("show")), 60)
        for line in (out + err).splitlines():
            SCREEN.say("  " + line)
        self.g["a"].run(self.cluster.shell(ask.format("bye")), 60)
        if code != 0 or server.wait(20) != 0:
            self.troubles.append("RDMA did not work")

    def verdict(self, want):
        SCREEN.event("hashing the copies inside the guests")
        results = {}

        def one(peer):
            results[peer.name] = self.g[peer.node].run(DIGEST.format(peer.folder), 120)[1].split()
        self.cluster.parallel(one, self.peers.values())
        rows = [("copy", "by way of", "files", "messages", "sha256 of the tree", "")]
        rows.append(("source", "this machine", len(self.names), "", short_hash(want), ""))
        for p in self.peers.values():
            code = p.command.wait(20)
            said = p.command.text().split()
            got = (results.get(p.name) or ["-"])[0]
            same = got == want and code == 0
            if not same:
                self.troubles.append(f"the copy of {p.name} is not identical: {p.command.err_text().strip()[-200:]}")
            files, messages = (int(said[i]) if len(said) > i and said[i].isdigit() else "-" for i in (1, 5))
            rows.append((p.name, p.what, files, messages,
                         short_hash(got), "identical" if same else "DIFFERENT"))
        SCREEN.say()
        SCREEN.table(rows)
        for g in self.g.values():
            for line in bad_lines(g.console.since(0))[:5]:
                self.troubles.append(f"kernel log of {g.name.upper()}: {line.strip()}")


def flat_counters(doc):
    """Names and values, however the document nests them."""
    found = {}
    if isinstance(doc, dict):
        if isinstance(doc.get("name"), str) and isinstance(doc.get("value"), int):
            found[doc["name"]] = doc["value"]
        for key, value in doc.items():
            if isinstance(value, int) and not isinstance(value, bool):
                found.setdefault(key, value)
            else:
                found.update(flat_counters(value))
    elif isinstance(doc, list):
        for item in doc:
            found.update(flat_counters(item))
    return found


def parse_paths(text):
    """Foreign address: state, of the first path of each connection."""
    paths, columns = {}, None
    for line in text.splitlines():
        words = line.split()
        if "RemoteAddr" in words and "State" in words:
            columns = words
        elif columns and len(words) == len(columns):
            row = dict(zip(columns, words))
            if row.get("Path", "0").split("/")[0] == "0":
                paths.setdefault(row["RemoteAddr"], row["State"])
    return paths


def demo():
    names, total = choose_tree()
    listing = os.path.join(TOP, "build/demo/files")
    os.makedirs(os.path.dirname(listing), exist_ok=True)
    with open(listing, "w") as f:
        f.write("".join(n + "\n" for n in names))
    hashing = threading.Thread(target=lambda: hashed.append(digest_here(names)))
    hashed = []
    hashing.start()
    with Lock("debian"):
        cluster = Cluster(["ours", "ours", "intree", "ours"], memory=1024, mtu=9000,
                          say=lambda l: SCREEN.event(l.lstrip("# ")))
        try:
            cluster.boot()
            cluster.parallel(lambda n: cluster.guests[n[0]].must(ROCE.format(n[1]), 90), ["a1", "d4"])
            d = Demo(cluster, names, total)
            d.show_nodes()
            SCREEN.say()
            before = d.counters("a")
            d.transfer(listing)
            d.rdma()
            d.show_counters(before, d.counters("a"))
            hashing.join()
            d.verdict(hashed[0])
        finally:
            SCREEN.forget()
            cluster.stop()
    SCREEN.say()
    for t in d.troubles:
        SCREEN.say(f"FAILED: {t}", bold=True)
    took = time.monotonic() - SCREEN.start
    if not d.troubles:
        SCREEN.say("What next: 'make shell' opens a guest with the modules loaded, rds-ping and rds-info at hand; "
                   "README.md has a small program, and how to install.")
    SCREEN.say(f"demo: {'FAILED' if d.troubles else 'every copy is identical'}, {took:.0f} s")
    return 1 if d.troubles else 0


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(demo())
    except (GuestError, OSError) as e:
        SCREEN.forget()
        print(f"demo: {e}", file=sys.stderr)
        sys.exit(1)
    except LinkDown:
        print("demo: a guest died; its console is in build/logs", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    if not shutil.which("qemu-system-x86_64"):
        sys.exit("demo: qemu-system-x86_64 is not installed: run 'make setup'")
    main()
