#!/usr/bin/python3 -ISu
# SPDX-License-Identifier: GPL-2.0
"""Drives a guest from a test script on the host; used through lib.sh.

vmctl.py on NODE COMMAND... | kill NODE | boot NODE | link NODE up|down | log NODE
"""

import json
import os
import signal
import socket
import struct
import sys


def exactly(sock, n):
    data = b""
    while len(data) < n:
        part = sock.recv(n - len(data))
        if not part:
            sys.exit("vmctl: the runner went away")
        data += part
    return data


def main():
    if len(sys.argv) < 3 or "RDS_VM_SOCKET" not in os.environ:
        sys.exit(__doc__)
    op, node, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    request = {"op": op, "node": node}
    if op == "on":
        # one word is a shell command, several are an argument vector
        request["command"] = rest[0] if len(rest) == 1 else \
            " ".join("'" + w.replace("'", "'\\''") + "'" for w in rest)
    elif op == "link":
        request["up"] = rest[0] == "up"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.connect(os.environ["RDS_VM_SOCKET"])
    sock.sendall(json.dumps(request).encode() + b"\n")
    while True:
        kind, length = struct.unpack(">cI", exactly(sock, 5))
        data = exactly(sock, length)
        if kind == b"x":
            sys.exit(struct.unpack(">i", data)[0])
        os.write(1 if kind == b"o" else 2, data)


try:
    main()
except KeyboardInterrupt:
    sys.exit(130)
except OSError as e:
    sys.exit(f"vmctl: {e}")
