# SPDX-License-Identifier: GPL-2.0
"""A middlebox that translates addresses and ports of TCP, between namespaces.

Usage: natbox.py RULES HOST..., in a namespace of its own; HOST is DEVICE=ADDRESS=MAC: who is behind which
device.  Hosts find each other by permanent neighbour entries, there is no ARP.

RULES is a file, read anew for each new connection; a line is a rule, the first that fits counts for each
of source, destination and port:
    snat FROM TO        connections from FROM come from TO
    dnat FROM TO NEW    those from FROM to TO go to NEW
    ports FROM HOW      source ports of FROM: any = at random; one = all leave the same remainder to eight
What is not TCP over IPv4 is dropped.  What was translated stays so, as long as the connection lasts.
"""
import random
import select
import socket
import struct
import sys

SYN, ACK = 0x02, 0x10
OUTGOING = 4                    # pkttype of what we send ourselves


def checksum(data):
    if len(data) & 1:
        data += b"\0"
    s = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return ~s & 0xffff


def rules_of(path):
    with open(path, encoding="ascii") as f:
        return [line.split() for line in f if line.strip()]


def port_for(how, taken):
    while True:
        port = random.randrange(20000, 60000)
        if how == "one":
            port = port & ~7 | 5
        if port not in taken:
            return port


class Box:
    def __init__(self, path, hosts):
        self.path = path
        self.hosts, self.out = {}, {}
        for h in hosts:
            dev, addr, mac = h.split("=")
            self.hosts[socket.inet_aton(addr)] = (dev, bytes.fromhex(mac.replace(":", "")))
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
            s.bind((dev, 0x0800))
            self.out[dev] = s
        self.flows = {}
        self.taken = set()

    def begin(self, key):
        """A new connection: what becomes of its addresses and ports, there and back."""
        src, sport, dst, dport = key
        new = {"snat": None, "dnat": None, "ports": None}
        for what, who, *rest in rules_of(self.path):
            if socket.inet_aton(who) != src or new[what]:
                continue
            if what == "dnat" and socket.inet_aton(rest[0]) != dst:
                continue
            new[what] = rest[-1]
        to = (socket.inet_aton(new["snat"]) if new["snat"] else src,
              port_for(new["ports"], self.taken) if new["ports"] else sport,
              socket.inet_aton(new["dnat"]) if new["dnat"] else dst, dport)
        back = (to[2], to[3], to[0], to[1])
        if back in self.flows and back in self.taken:
            # two hosts by one address and one port: as a NAT does, another port
            to = (to[0], port_for("any", self.taken), to[2], to[3])
            back = (to[2], to[3], to[0], to[1])
        self.taken.add(to[1])
        self.taken.add(back)
        self.flows[key] = to
        self.flows[back] = (dst, dport, src, sport)

    def translate(self, frame):
        ip = frame[14:]
        ihl = (ip[0] & 15) * 4
        if ip[0] >> 4 != 4 or ip[9] != socket.IPPROTO_TCP:
            return
        ip = ip[:struct.unpack_from("!H", ip, 2)[0]]
        tcp = bytearray(ip[ihl:])
        sport, dport = struct.unpack_from("!HH", tcp)
        key = (ip[12:16], sport, ip[16:20], dport)
        if tcp[13] & (SYN | ACK) == SYN and key not in self.flows:
            self.begin(key)
        if key not in self.flows:
            return
        src, sport, dst, dport = self.flows[key]
        if dst not in self.hosts:
            return
        struct.pack_into("!HH", tcp, 0, sport, dport)
        tcp[16:18] = b"\0\0"
        pseudo = src + dst + struct.pack("!HH", socket.IPPROTO_TCP, len(tcp))
        struct.pack_into("!H", tcp, 16, checksum(pseudo + tcp))
        head = bytearray(ip[:ihl])
        head[12:20] = src + dst
        head[10:12] = b"\0\0"
        struct.pack_into("!H", head, 10, checksum(bytes(head)))
        dev, mac = self.hosts[dst]
        try:
            self.out[dev].send(mac + frame[6:14] + bytes(head) + bytes(tcp))
        except OSError as e:    # the interface is gone, or its queue full: lost, as on a wire
            print("lost:", e)

    def run(self):
        while True:
            for s in select.select(list(self.out.values()), [], [])[0]:
                try:
                    frame, where = s.recvfrom(65536)
                except OSError as e:
                    print("lost:", e)
                    continue
                if where[2] != OUTGOING and len(frame) > 34:
                    self.translate(frame)


box = Box(sys.argv[1], sys.argv[2:])
print("ready", flush=True)
box.run()
