# SPDX-License-Identifier: GPL-2.0
"""Builds a guest's initramfs: busybox, the agent, and the modules that it takes
to reach the machine's root file system. Kept in the cache, by content."""

import hashlib
import lzma
import os
import shutil
import stat
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
WANTED = ("virtio_pci", "virtio_net", "virtio_console", "virtio_rng", "9pnet_virtio", "9p", "overlay")


def module_files(tree):
    """Paths of WANTED and what they depend on, in loading order."""
    deps, by_name = {}, {}
    with open(os.path.join(tree, "modules.dep")) as f:
        for line in f:
            path, _, rest = line.partition(":")
            deps[path] = rest.split()
            by_name[os.path.basename(path).split(".")[0].replace("-", "_")] = path
    order = []
    for name in WANTED:
        path = by_name.get(name)
        if not path:
            continue        # built in
        for p in list(reversed(deps[path])) + [path]:
            if p not in order:
                order.append(p)
    return order


def entry(name, mode, data=b""):
    def pad(blob):
        return blob + b"\0" * (-len(blob) % 4)
    fields = [0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0]
    head = b"070701" + b"".join(b"%08X" % f for f in fields)
    return pad(head + name.encode() + b"\0") + pad(data)


def contents(kind, cache):
    tree = os.path.join(kind.base, "lib/modules", kind.version)
    order = module_files(tree) if os.path.exists(os.path.join(tree, "modules.dep")) else []
    busybox = shutil.which("busybox")
    if not busybox:
        raise OSError("busybox is not installed: run 'make setup'")
    yield "init", stat.S_IFREG | 0o755, open(os.path.join(HERE, "init"), "rb").read()
    yield "bin/busybox", stat.S_IFREG | 0o755, open(busybox, "rb").read()
    yield "rds-agent", stat.S_IFREG | 0o755, open(os.path.join(cache, "bin/rds-agent"), "rb").read()
    names = []
    for path in order:
        data = open(os.path.join(tree, path), "rb").read()
        name = os.path.basename(path)
        if name.endswith(".xz"):
            data, name = lzma.decompress(data), name[:-3]
        names.append(name)
        yield "modules/" + name, stat.S_IFREG | 0o644, data
    yield "modules.order", stat.S_IFREG | 0o644, "\n".join(names).encode() + b"\n"


def make(kind, cache):
    """Path of the initramfs for a kind of node."""
    key = hashlib.sha256()
    for path in (os.path.join(HERE, "init"), os.path.join(HERE, "initramfs.py"),
                 os.path.join(cache, "bin/rds-agent")):
        key.update(open(path, "rb").read())
    key.update(kind.version.encode())
    target = os.path.join(cache, "img", f"initrd-{kind.version}-{key.hexdigest()[:12]}")
    if os.path.exists(target):
        return target
    blob = b"".join(entry(d, stat.S_IFDIR | 0o755) for d in
                    ("bin", "dev", "proc", "sys", "modules"))
    for name, mode, data in contents(kind, cache):
        blob += entry(name, mode, data)
    blob += entry("TRAILER!!!", 0)
    # guests boot at the same time, in threads and in processes
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(target), delete=False) as f:
        f.write(blob)
    os.chmod(f.name, 0o644)
    os.rename(f.name, target)
    return target
