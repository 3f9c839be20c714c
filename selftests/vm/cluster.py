# SPDX-License-Identifier: GPL-2.0
"""One to four guests on one switch, and the socket over which a test script on
the host drives them (vmctl.py)."""

import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time

import guest as guests
from agentlink import LinkDown
from guest import CACHE, TOP, GuestError

BIN = os.path.join(TOP, "build/bin")
PROBE_TIMEOUT = 12
# A software RDMA device on the network between the guests, until it has learnt its addresses.
ROCE = ["rdma link add rxe0 type rxe netdev eth0",
        "for i in $(seq 200); do [ $(cat /sys/class/infiniband/rxe0/ports/1/gids/* 2>/dev/null | "
        "grep -c '^0000:0000:0000:0000:0000:ffff\\|^fd00') -lt 2 ] || break; sleep 0.1; done"]


def boot_id():
    with open("/proc/sys/kernel/random/boot_id") as f:
        return f.read().strip()


def accelerator():
    """kvm when it really runs a guest, else tcg; tried once per boot of the machine."""
    note = os.path.join(CACHE, "accelerator")
    wanted = os.environ.get("ACCEL")
    if wanted in ("kvm", "tcg"):
        return wanted, "as asked for"
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg", "no /dev/kvm"
    try:
        with open(note) as f:
            saved = json.load(f)
        if saved["boot"] == boot_id():
            return saved["accel"], saved["why"]
    except (OSError, ValueError, KeyError):
        pass
    accel, why = probe_kvm()
    with open(note, "w") as f:
        json.dump({"boot": boot_id(), "accel": accel, "why": why}, f)
    return accel, why


def probe_kvm():
    import initramfs
    kind = guests.kind("intree")
    args = ["timeout", "-s", "KILL", str(PROBE_TIMEOUT), "qemu-system-x86_64", "-accel", "kvm", "-cpu", "host",
            "-m", "512", "-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio",
            "-kernel", os.path.join(kind.base, "vmlinuz"), "-initrd", initramfs.make(kind, CACHE),
            "-append", "console=ttyS0 quiet panic=-1 vm_probe=1"]
    start = time.monotonic()
    out = subprocess.run(args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT).stdout
    took = time.monotonic() - start
    if b"rds-init: alive" in out and took < 8:
        return "kvm", f"a guest came up in {took:.1f} s"
    if took >= PROBE_TIMEOUT - 1:
        return "tcg", f"kvm shows no sign of life in {PROBE_TIMEOUT} s"
    return "tcg", "kvm does not run a guest here"


class Cluster:
    def __init__(self, kinds, kernel="debian", cpus=None, memory=None, mtu=1500, say=print, variant="",
                 cmdline="", modules=("rds_tcp",), clock="wall"):
        """
        @kinds: kind of node a, b, ...
        @modules: for guests that are joined by a network
        @clock: "icount" for guests with one processor, in QEMU, whose time is instructions executed
        """
        self.say, self.mtu = say, mtu
        self.rundir = tempfile.mkdtemp(prefix="rds-vm-", dir="/tmp")
        self.switch = None
        self.server = None
        self.goes = None            # called with a guest before its boot ends at a test's wish
        self.guests = {}
        self.module_names = list(modules)
        self.env = {}
        count = len(kinds)
        for name, kind in zip("abcd", kinds):
            k = guests.kind(kind, kernel, variant)
            self.guests[name] = guests.make(name, k, self.rundir, nodes=count,
                                            cpus=int(cpus or (2 if count == 1 else 1)),
                                            memory=memory or (k.memory if count == 1 else k.memory * 2 // 3),
                                            extra_args=cmdline)
            if clock == "icount":
                # what goes wrong with breakpoints of several processors does not concern one
                self.guests[name].clock, k.int3 = clock, None

    def describe(self):
        return ", ".join(f"{g.name}={g.kind.name} ({g.kind.version})" for g in self.guests.values())

    def uml(self):
        return any(g.kind.uml for g in self.guests.values())

    def boot(self):
        if not self.uml():
            guests.QemuGuest.accel, why = accelerator()
            how = f"QEMU, {guests.QemuGuest.accel} ({why})"
        else:
            how = "user-mode Linux"
        self.say(f"# booting {self.describe()} with {how}")
        start = time.monotonic()
        if len(self.guests) > 1:
            self.start_switch()
        self.parallel(self.boot_one, self.guests.values())
        self.say(f"# up after {time.monotonic() - start:.1f} s")

    def start_switch(self):
        path = os.path.join(self.rundir, "switch")
        self.switch = guests.spawn([os.path.join(CACHE, "bin/rds-switch"), path])
        end = time.monotonic() + 10
        while not os.path.exists(path):
            if self.switch.poll() is not None or time.monotonic() > end:
                raise GuestError("the switch between the guests does not start")
            time.sleep(0.02)

    def boot_one(self, g):
        g.boot()
        if len(self.guests) > 1:
            self.configure(g)

    def configure(self, g):
        number = ord(g.name) - ord("a") + 1
        words = [f"ip link set eth0 mtu {self.mtu} up", f"ip addr add 10.0.0.{number}/24 dev eth0",
                 f"ip -6 addr add fd00::{number}/64 dev eth0 nodad"]
        words += [f"echo '10.0.0.{i} {n}' >>/etc/hosts" for i, n in enumerate("abcd", 1)]
        words += [f"modprobe {m}" for m in self.module_names]
        if "rdma_rxe" in self.module_names:
            words += ROCE
        g.must(" && ".join(words), 300)

    @staticmethod
    def parallel(work, items):
        errors = []

        def one(item):
            try:
                work(item)
            except (GuestError, LinkDown, OSError) as e:
                errors.append(e)
        threads = [threading.Thread(target=one, args=(i,)) for i in items]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if errors:
            if isinstance(errors[0], LinkDown):
                raise GuestError("a guest died while it was being set up")
            raise errors[0]

    def sessions(self):
        return {g.proc.pid for g in list(self.guests.values()) if g.proc}

    def processor_seconds(self):
        return sum(g.processor_seconds() for g in self.guests.values())

    def alive(self):
        return all(g.alive() for g in self.guests.values())

    def shell(self, command):
        """@command with the environment that tests expect, in selftests/."""
        env = {"BIN": BIN, "RDS_CACHE": CACHE, "RDS_TOP": TOP, **self.env}
        exports = "".join(f"export {k}='{v}'; " for k, v in env.items())
        return f"{exports}PATH=$BIN:$PATH; cd {TOP}/selftests; {command}"

    def stop(self):
        for g in self.guests.values():
            g.stop()
        if self.switch:
            self.switch.kill()
            self.switch.wait()
        if self.server:
            self.server.close()
        if not os.path.isdir(self.rundir):      # stopped before
            return
        logs = os.path.join(TOP, "build/logs")
        os.makedirs(logs, exist_ok=True)
        for name in os.listdir(self.rundir):
            if name.endswith(".log"):
                shutil.copy(os.path.join(self.rundir, name), logs)
        shutil.rmtree(self.rundir, ignore_errors=True)

    # Control by a script on the host

    def serve(self):
        """Starts the control socket; its path goes into the script's environment."""
        path = os.path.join(self.rundir, "control")
        if self.server:
            return path
        self.server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.server.bind(path)
        self.server.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()
        return path

    def _accept(self):
        while True:
            try:
                conn, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self._client, args=(conn,), daemon=True).start()

    def _client(self, conn):
        def reply(kind, data):
            try:
                conn.sendall(struct.pack(">cI", kind, len(data)) + data)
            except OSError:
                pass
        with conn, conn.makefile("r") as f:
            try:
                request = json.loads(f.readline())
                code = self._request(request, conn, reply)
            except (GuestError, KeyError, ValueError) as e:
                reply(b"e", f"{e}\n".encode())
                code = 125
            except LinkDown:
                code = 124
            reply(b"x", struct.pack(">i", code))

    def _request(self, request, conn, reply):
        op = request["op"]
        g = self.guests.get(request["node"])
        if not g:
            raise GuestError(f"there is no node '{request['node']}'")
        if op == "on":
            return self._on(g, request["command"], conn, reply)
        if op == "kill":
            self._stop(g)
        elif op == "boot":
            if g.proc:
                self._stop(g)
            self.boot_one(g)
        elif op == "link":
            g.set_link(request["up"])
        elif op == "log":
            for line in g.console.since(0):
                reply(b"o", line.encode() + b"\n")
        else:
            raise GuestError(f"unknown request '{op}'")
        return 0

    def _stop(self, g):
        if self.goes:
            self.goes(g)
        g.stop()

    def _on(self, g, command, conn, reply):
        if not g.alive():
            raise GuestError(f"node {g.name} is not running")
        cmd = g.agent.start(self.shell(command), on_out=lambda d: reply(b"o", d),
                            on_err=lambda d: reply(b"e", d))

        def watch():        # the script's end of the line closes: stop the command
            try:
                while conn.recv(1):
                    pass
            except OSError:
                pass
            if not cmd.done.is_set():
                cmd.kill(9)
        threading.Thread(target=watch, daemon=True).start()
        code = cmd.wait()
        return code if code >= 0 else 128 - code
