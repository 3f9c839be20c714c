# SPDX-License-Identifier: GPL-2.0
"""The host's end of the line to a guest's agent (agent.c): many commands at
once, output as it comes, exit status."""

import os
import socket
import struct
import threading

HEADER = struct.Struct("<BBHI")


class LinkDown(Exception):
    """The guest went away."""


class Command:
    """One command running in a guest."""

    def __init__(self, link, ident, on_out, on_err):
        self.link, self.ident = link, ident
        self.on_out, self.on_err = on_out, on_err
        self.out, self.err = [], []
        self.status = None
        self.lost = False
        self.done = threading.Event()

    def feed(self, kind, data):
        if kind == "o":
            if self.on_out:
                self.on_out(data)
            else:
                self.out.append(data)
        elif self.on_err:
            self.on_err(data)
        else:
            self.err.append(data)

    def finish(self, status):
        self.status = status
        self.done.set()

    def wait(self, timeout=None):
        """Exit code, or None when the time is up; LinkDown if the guest died."""
        if not self.done.wait(timeout):
            return None
        if self.lost:
            raise LinkDown()
        return self.status

    def kill(self, sig):
        self.link.send("k", self.ident, bytes([sig]))

    def text(self):
        return b"".join(self.out).decode(errors="replace")

    def err_text(self):
        return b"".join(self.err).decode(errors="replace")


class AgentLink:
    def __init__(self, sock):
        self.sock = sock
        self.lock = threading.Lock()
        self.commands = {}
        self.next_id = 1
        self.hello = threading.Event()
        self.gone = threading.Event()
        threading.Thread(target=self._reader, daemon=True).start()

    def send(self, kind, ident, data=b""):
        try:
            with self.lock:
                self.sock.sendall(HEADER.pack(ord("R"), ord(kind), ident, len(data)) + data)
        except OSError:
            self._lost()

    def start(self, shell, on_out=None, on_err=None, stdin=b"", pty=None):
        """Starts a command. @pty: (rows, columns) to run it on a terminal."""
        with self.lock:
            while self.next_id in self.commands:
                self.next_id = self.next_id % 65000 + 1
            ident = self.next_id
            self.next_id = self.next_id % 65000 + 1
            cmd = Command(self, ident, on_out, on_err)
            self.commands[ident] = cmd
        if self.gone.is_set():
            cmd.lost = True
            cmd.finish(None)
            return cmd
        data = shell.encode(errors="surrogateescape")
        if pty:
            self.send("p", ident, bytes([min(pty[0], 255), min(pty[1], 255)]) + data)
            return cmd
        self.send("x", ident, data)
        if stdin is not None:
            if stdin:
                self.send("i", ident, stdin)
            self.send("e", ident)
        return cmd

    def run(self, shell, timeout=60, stdin=b""):
        """Runs to the end: (exit code or None, output, error output)."""
        cmd = self.start(shell, stdin=stdin)
        code = cmd.wait(timeout)
        if code is None:
            cmd.kill(9)
        return code, cmd.text(), cmd.err_text()

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._lost()

    def _lost(self):
        self.gone.set()
        for cmd in list(self.commands.values()):
            if not cmd.done.is_set():
                cmd.lost = True
                cmd.finish(None)

    def _reader(self):
        buf = bytearray()
        while True:
            try:
                data = self.sock.recv(65536)
            except OSError:
                data = b""
            if not data:
                break
            buf += data
            self._frames(buf)
        self._lost()
        try:
            self.sock.close()
        except OSError:
            pass

    def _frames(self, buf):
        while len(buf) >= HEADER.size:
            magic, kind, ident, length = HEADER.unpack_from(buf)
            if magic != ord("R") or length > 1 << 20:
                del buf[0]      # the line's noise before the agent made it raw
                continue
            if len(buf) < HEADER.size + length:
                return
            data = bytes(buf[HEADER.size:HEADER.size + length])
            del buf[:HEADER.size + length]
            self._handle(chr(kind), ident, data)

    def _handle(self, kind, ident, data):
        if kind == "h":
            self.hello.set()
            return
        cmd = self.commands.get(ident)
        if not cmd:
            return
        if kind in "of":
            cmd.feed(kind, data)
        elif kind == "d":
            status = struct.unpack("<i", data)[0]
            del self.commands[ident]
            cmd.finish(os.waitstatus_to_exitcode(status))
