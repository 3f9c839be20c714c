# SPDX-License-Identifier: GPL-2.0
"""One guest: a QEMU or a user-mode Linux process, its console, its agent."""

import concurrent.futures
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import initramfs
from agentlink import AgentLink, LinkDown

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CACHE = os.environ.get("RDS_CACHE") or os.path.expanduser("~/.cache/rds")
# modinfo is there, and not in the PATH of ordinary users
os.environ["PATH"] = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


# Guests die with the runner, however it ends: the kernel tells them when the
# thread that started them is gone, so one thread that never ends starts all.
SPAWNER = concurrent.futures.ThreadPoolExecutor(1)


def spawn(args, **options):
    def start():
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *args], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                start_new_session=True, **options)
    try:
        return SPAWNER.submit(start).result()
    except OSError as e:
        raise GuestError(f"cannot start {args[0]}: {e.strerror}")


class GuestError(Exception):
    """A sentence for the person at the terminal."""


def processor_seconds(session):
    """What the processes of @session, and those that they have waited for, have had of the processors."""
    ticks = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


# Name of a kernel: how much slower than the Debian guest it runs the tests, for
# their time limits, and how much memory a lone guest gets.
KERNELS = {"debian": (1, 1536), "uml-kasan": (1, 768), "kasan": (10, 3072), "kcsan": (8, 2048)}


class Kind:
    """A kernel and the modules that a guest sees."""

    def __init__(self, name, kernel, base, modules):
        self.name, self.kernel, self.base = name, kernel, base
        self.uml = kernel == "uml-kasan"
        self.slow, self.memory = KERNELS[kernel]
        try:
            with open(os.path.join(base, "version")) as f:
                self.version = f.read().strip()
        except OSError:
            raise GuestError(f"no kernel at {base}: run 'make setup' or 'make modules K={kernel}' first")
        self.modules = os.path.join(modules or base, "lib/modules", self.version)
        self.ours = modules is not None
        # for an emulator: the module in int3/, where it was built for this kernel
        self.int3 = os.path.join(TOP, "build", kernel, "int3/stale_int3.ko")
        if self.uml or self.vermagic(self.int3) != self.version:
            self.int3 = None
        if self.ours and not os.path.exists(os.path.join(self.modules, "updates/rds.ko")):
            raise GuestError(f"our modules are not built ({self.modules}/updates): run 'make modules' first")

    @staticmethod
    def vermagic(module):
        out = subprocess.run(["modinfo", "-F", "vermagic", module], capture_output=True, text=True).stdout
        return out.split(" ")[0]


def kind(name, kernel="debian", variant=""):
    """ours, intree, intree61; "none" is Debian's 6.12 with nothing loaded."""
    image = os.path.join(CACHE, "img")
    if name == "ours":
        out = os.path.join(TOP, "build", kernel + (f"-{variant}" if variant else ""))
        # build.sh leaves a link to what it built for
        base = os.path.realpath(os.path.join(out, "kernel"))
        return Kind(name, kernel, base, os.path.join(out, "root"))
    if name in ("intree", "none"):
        return Kind(name, "debian", os.path.join(image, "6.12"), None)
    if name == "intree61":
        return Kind(name, "debian", os.path.join(image, "6.1"), None)
    raise GuestError(f"unknown kind of node '{name}' (ours, intree, intree61)")


class Console:
    """Collects a guest's kernel log; readers take windows of it."""

    def __init__(self, stream, log_path):
        self.lines = []
        self.cond = threading.Condition()
        self.eof = False
        self.log = open(log_path, "ab", buffering=0)
        threading.Thread(target=self._reader, args=(stream,), daemon=True).start()

    def _reader(self, stream):
        for raw in iter(stream.readline, b""):
            self.log.write(raw)
            line = raw.decode(errors="replace").rstrip("\r\n")
            with self.cond:
                self.lines.append(line)
                self.cond.notify_all()
        with self.cond:
            self.eof = True
            self.cond.notify_all()

    def position(self):
        with self.cond:
            return len(self.lines)

    def since(self, position):
        with self.cond:
            return self.lines[position:]

    def wait_for(self, text, position, timeout):
        """Index after the first line holding @text, or None."""
        end = time.monotonic() + timeout
        with self.cond:
            while True:
                for i in range(position, len(self.lines)):
                    if text in self.lines[i]:
                        return i + 1
                position = len(self.lines)
                left = end - time.monotonic()
                if left <= 0 or self.eof:
                    return None
                self.cond.wait(left)


class Guest:
    """Common part; start() in the two classes below."""

    BOOT_TIMEOUT = 300

    def __init__(self, name, kind_, rundir, nodes=1, cpus=2, memory=1024, extra_args=""):
        self.name, self.kind, self.rundir, self.nodes = name, kind_, rundir, nodes
        self.cpus, self.memory, self.extra_args = cpus, memory, extra_args
        self.proc = self.console = self.agent = None
        self.boots = 0
        self.spent = 0          # processor seconds of the boots before this one
        self.marker = 0

    def binds(self):
        return ",".join(p for p in {TOP, CACHE} if p.startswith(("/tmp/", "/run/", "/dev/")))

    def cmdline(self, root, port):
        # where a program lies elsewhere each time, QEMU translates all of it each time
        words = ["panic=-1", "norandmaps", "slab_nomerge", "mitigations=off", "rcupdate.rcu_cpu_stall_timeout=60",
                 f"vm_root={root}", f"vm_port={port}", f"vm_name={self.name}",
                 f"vm_mods={self.kind.modules}"]
        if self.kind.int3:
            words.append("vm_insmod=" + self.kind.int3)
        if self.binds():
            words.append("vm_bind=" + self.binds())
        return words + self.extra_args.split()

    def boot(self):
        """Starts and waits until the agent answers."""
        self.boots += 1
        self.start()
        limit = self.BOOT_TIMEOUT * (2 if self.kind.slow > 1 else 1)
        end = time.monotonic() + limit
        while not self.agent.hello.wait(0.2):
            if self.proc.poll() is not None:
                raise GuestError(f"guest {self.name} ended while booting:\n{self.tail()}")
            if time.monotonic() > end:
                raise GuestError(f"guest {self.name} gave no sign of life in {limit} s:\n{self.tail()}")

    def tail(self, lines=25):
        """The console's last lines, and behind them what it first complained of."""
        said = self.console.since(0)
        return "\n".join("    " + l for l in said[-lines:] + bad_lines(said)[:1])

    def alive(self):
        return self.proc is not None and self.proc.poll() is None and not self.agent.gone.is_set()

    def processor_seconds(self):
        """In all its boots."""
        return self.spent + (processor_seconds(self.proc.pid) if self.proc else 0)

    def run(self, shell, timeout=60):
        return self.agent.run(shell, timeout)

    def must(self, shell, timeout=60):
        code, out, err = self.run(shell, timeout)
        if code != 0:
            raise GuestError(f"guest {self.name}: '{shell}' "
                             f"{'took too long' if code is None else f'failed ({code})'}: {(out + err).strip()[-400:]}")
        return out

    def mark(self, text):
        """Writes a line to the kernel log and waits for it on the console."""
        self.marker += 1
        tag = f"rds-vm-mark {self.boots}.{self.marker} {text}"
        position = self.console.position()
        try:
            self.run(f"echo '<5>{tag}' >/dev/kmsg", 20)
        except LinkDown:
            return self.console.position()
        return self.console.wait_for(tag, position, 20) or self.console.position()

    def blocked_tasks(self):
        """What hangs, by sysrq, as lines."""
        position = self.console.position()
        try:
            self.run("[ -e /proc/sysrq-trigger ] && echo w >/proc/sysrq-trigger", 10)
        except LinkDown:
            return []
        self.console.wait_for("rds-never", position, 3)
        lines = self.console.since(position)
        if not lines:
            self.sysrq("w")
            self.console.wait_for("rds-never", position, 3)
            lines = self.console.since(position)
        return lines

    def stacks(self):
        """Kernel stacks of every user process, for what sleeps and is not 'blocked'."""
        try:
            return self.run(r"""for p in /proc/[0-9]*; do
                c=$(tr '\0' ' ' <$p/cmdline 2>/dev/null | tail -c 120)
                [ -n "$c" ] && [ $p != /proc/1 ] && [ $p != /proc/$$ ] || continue
                echo "== ${p#/proc/} $c"
                cat $p/task/*/stack 2>/dev/null; done""", 10)[1].splitlines()[:200]
        except LinkDown:
            return []

    def sysrq(self, key):
        pass

    def stop(self):
        """Pulls the plug."""
        self.spent = self.processor_seconds()
        if self.agent:
            self.agent.close()
        if self.proc and self.proc.poll() is None:
            try:
                os.killpg(self.proc.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.proc:
            self.proc.wait()
        self.proc = None

    def path(self, name):
        return os.path.join(self.rundir, f"{self.name}-{name}")


class QemuGuest(Guest):
    accel = "tcg"
    clock = "wall"          # "icount": guest time is instructions executed, one processor
    plugin = None

    def accelerate(self):
        if self.clock == "icount":
            # without erms and fsrm a copy costs an instruction for 8 bytes, not one for all
            return ["-accel", "tcg,thread=single,tb-size=256", "-cpu", "max,-erms,-fsrm",
                    "-icount", "shift=0,sleep=off"]
        if self.accel == "kvm":
            return ["-accel", "kvm", "-cpu", "host"]
        return ["-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max,-cx16"]

    def processors(self):
        # A machine that could never have a second processor is translated without memory barriers,
        # yet its devices run in another thread: a kick of a queue got lost, and the queue with it.
        return f"{self.cpus},maxcpus={max(self.cpus, 2)}" if self.clock != "icount" else str(self.cpus)

    def cmdline(self, root, port):
        # The other processors come when the module in int3/ is there: a kernel patches itself
        # while it boots, too, and then one of 36 guests met a stale breakpoint on a busy machine.
        return super().cmdline(root, port) + ["maxcpus=1", "noreplace-smp"]

    def start(self):
        qemu = shutil.which("qemu-system-x86_64")
        if not qemu:
            raise GuestError("qemu-system-x86_64 is not installed: run 'make setup'")
        for name in ("agent", "qmp"):
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))
        initrd = initramfs.make(self.kind, CACHE)
        number = ord(self.name) - ord("a") + 1 if len(self.name) == 1 else 1
        # on the default machine ACPI keeps a kernel with KASAN busy for a minute
        machine = ["-machine", "q35"] if self.kind.kernel != "debian" else []
        args = [qemu, *machine, *self.accelerate(), "-smp", self.processors(), "-m", str(self.memory),
                "-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio",
                "-kernel", os.path.join(self.kind.base, "vmlinuz"), "-initrd", initrd,
                "-append", " ".join(["console=ttyS0", "quiet"] + self.cmdline("9p", "/dev/vport2p1")),
                "-device", "virtio-rng-pci",
                "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
                "-device", "virtio-serial-pci,id=vs0",
                "-chardev", f"socket,id=agent,path={self.path('agent')},server=on,wait=off",
                "-device", "virtserialport,bus=vs0.0,nr=1,chardev=agent,name=rds.agent",
                "-qmp", f"unix:{self.path('qmp')},server=on,wait=off"]
        if self.nodes > 1:
            args += ["-netdev", f"stream,id=n0,server=off,addr.type=unix,addr.path={self.rundir}/switch",
                     "-device", f"virtio-net-pci,netdev=n0,id=nic0,mac=52:54:00:00:00:{number:02x}"]
        if self.plugin:
            args += ["-plugin", self.plugin]
        self.proc = spawn(args)
        self.console = Console(self.proc.stdout, self.path("console.log"))
        self.agent = AgentLink(self._connect("agent"))

    def _connect(self, name):
        end = time.monotonic() + 30
        while True:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                sock.connect(self.path(name))
                return sock
            except OSError:
                sock.close()
                if self.proc.poll() is not None:
                    time.sleep(0.2)
                    raise GuestError(f"QEMU did not start guest {self.name}:\n{self.tail()}")
                if time.monotonic() > end:
                    raise GuestError(f"QEMU does not answer for guest {self.name}")
                time.sleep(0.05)

    def qmp(self, command, **arguments):
        sock = self._connect("qmp")
        sock.settimeout(10)
        with sock, sock.makefile("rw") as f:
            f.readline()
            for request in ({"execute": "qmp_capabilities"}, {"execute": command, "arguments": arguments}):
                f.write(json.dumps(request) + "\n")
                f.flush()
                reply = json.loads(f.readline())
                while "event" in reply:
                    reply = json.loads(f.readline())
        if "error" in reply:
            raise GuestError(f"QEMU refuses {command}: {reply['error'].get('desc')}")
        return reply.get("return")

    def set_link(self, up):
        self.qmp("set_link", name="nic0", up=up)

    def sysrq(self, key):
        try:
            self.qmp("send-key", keys=[{"type": "qcode", "data": k} for k in ("alt", "sysrq", key)])
        except (GuestError, OSError, ValueError):
            pass


class UmlGuest(Guest):
    BOOT_TIMEOUT = 180

    def start(self):
        binary = os.path.join(self.kind.base, "linux")
        if not os.access(binary, os.X_OK):
            raise GuestError("there is no user-mode kernel: run 'make kernel K=uml-kasan'")
        ours, theirs = socket.socketpair()
        fd = theirs.fileno()
        initrd = initramfs.make(self.kind, CACHE)
        args = [binary, f"mem={self.memory}M", f"initrd={initrd}", "con=null", "con0=null,fd:1",
                f"ssl0=fd:{fd}", "ssl=null", f"umid=rds-{os.getpid()}-{self.name}",
                "loglevel=4", *self.cmdline("hostfs", "/dev/ttyS0")]
        env = dict(os.environ, TMPDIR="/dev/shm")
        self.proc = spawn(args, pass_fds=[fd], env=env)
        theirs.close()
        self.console = Console(self.proc.stdout, self.path("console.log"))
        self.agent = AgentLink(ours)


def make(name, kind_, rundir, **options):
    cls = UmlGuest if kind_.uml else QemuGuest
    return cls(name, kind_, rundir, **options)


# What no guest may say. Each is a reason to fail the test in whose time it came.
BAD = re.compile(r"""\bBUG:|\bBUG\ |WARNING:|\bOops\b|KASAN|UBSAN|KCSAN|
    possible\ (?:circular|recursive|irq|deadlock)|lock\ order\ inversion|inconsistent\ lock\ state|
    suspicious\ RCU|held\ lock\ freed|lock\ held\ when\ returning|
    refcount_t|general\ protection|unable\ to\ handle|Kernel\ panic|
    blocked\ for\ more\ than|unregister_netdevice:\ waiting|soft\ lockup|hard\ LOCKUP|
    rcu.*(?:detected\ stalls|self-detected)|Objects\ remaining|has\ objects\ remaining|
    ref_tracker:.*leaked|kmemleak:\ .*suspected|scheduling\ while\ atomic|sleeping\ function\ called|
    list_(?:add|del)\ corruption|stack\ end\ detected|ODEBUG|memory\ leak|double\ free|
    page\ allocation\ failure|nobody\ cared|Bad\ page|\bWATCHDOG\b|workqueue\ lockup""", re.X)
HARMLESS = re.compile(r"rds-vm-mark|Command line|mitigations|Spectre|RETBleed|kmemleak: Kernel memory leak detector initialized|"
                      r"module verification failed|KASAN init|KernelAddressSanitizer initialized")


ACCESS = re.compile(r"(?:read|write|read-write|assert no \w+).* (?:to|from) 0x|race at unknown origin")


def foreign_race(report):
    """Is this report of KCSAN about code that is not ours? Each access is followed by its
    stack, innermost first; below a function of the kernel's we are to blame for two more."""
    for i, line in enumerate(report):
        if ACCESS.search(line) and any("[rds" in frame for frame in report[i + 1:i + 4]):
            return False
    return True


def management_of_a_dying_rxe(report):
    """While a rdma_rxe device is deleted the kernel's ib_mad may still take a datagram from it,
    and then posts a buffer to its destroyed queue pair; nothing of ours is in that."""
    trace = itertools.takewhile(lambda t: "end trace" not in t, report)
    return "rxe_post_recv" in report[0] and any("ib_mad_post_receive_mads" in t for t in trace)


def bad_lines(lines, allowed=None):
    allow = re.compile(allowed) if allowed else None
    bad = []
    for i, l in enumerate(lines):
        if not BAD.search(l) or HARMLESS.search(l) or (allow and allow.search(l)):
            continue
        if "BUG: KCSAN: data-race" in l and foreign_race(list(itertools.takewhile(lambda t: "=====" not in t, lines[i:]))):
            continue
        if "WARNING:" in l and management_of_a_dying_rxe(lines[i:]):
            continue
        bad.append(l)
    return bad
