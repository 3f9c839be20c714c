# SPDX-License-Identifier: GPL-2.0
"""Turns what bench.py measured into tables: ratios with their spread, costs, and
instructions by function."""

import bisect
import io
import re
import statistics

PEERS = ["tcp", "tcpn", "sctp", "tipc", "udp"]
# From issue 5: ratio to the in-tree module under the instruction clock. Ping-pong is
# a time: there at most so much, elsewhere at least. Other goals: goals().
GOALS = {"stream/64": 4, "stream/1K": 2.8, "stream/8K": 3.6, "stream/64K": 6, "stream/1M": 7,
         "pingpong/64": 0.52, "pingpong/64K": 0.2, "fanin/64/16": 2}
CLOCKS = {"icount": "instructions, 1 CPU", "wall": "wall clock, 2 CPUs",
          "verbs": "instructions, 1 CPU, verbs"}


def longer(clock, cell):
    """
    So much longer is measured.  Over verbs 0.4 s have 56 messages of 1 MiB, and the first and last ones
    show.  And 16 senders who share two processors have seven turns of the scheduler each in it; whether
    anybody starves is seen when they had some hundred.
    """
    if clock == "wall" and cell.startswith("fanin"):
        return 20
    return 3 if clock == "verbs" else 1


def is_time(cell):
    return cell.startswith(("pingpong", "beside"))


def value(r):
    """Beside a stream it is the late round trips that matter."""
    if r["cell"].startswith("beside"):
        return r["p99_us"]
    return r["median_us"] if is_time(r["cell"]) else r["rate"]


def pick(results, clock, cell, kind, transport):
    """Round number: value, where there is one."""
    return {r["round"]: value(r) for r in results if r["ok"] and r["clock"] == clock and r["cell"] == cell
            and r["kind"] == kind and r["transport"] == transport and value(r) is not None}


def ratio(ours, theirs):
    """Middle and extremes of the rounds' ratios, as text; and the middle."""
    each = [ours[n] / theirs[n] for n in ours if theirs.get(n)]
    if not each:
        return "-", None
    middle = statistics.median(each)
    if len(each) == 1:
        return f"{middle:.2f}", middle
    return f"{middle:.2f} ({min(each):.2f}-{max(each):.2f})", middle


def absolute(values, cell):
    if not values:
        return "-"
    middle = statistics.median(values.values())
    if is_time(cell):
        return f"{middle:.1f} us"
    return f"{middle:,.0f}/s" if middle >= 1000 else f"{middle:.1f}/s"


def cells_of(results, clock):
    return list(dict.fromkeys(r["cell"] for r in results if r["clock"] == clock))


def goal(cell, clock, middle):
    wanted = {"icount": GOALS.get(cell), "verbs": 1}.get(clock)
    if wanted is None or middle is None:
        return "-"
    met = middle <= wanted if is_time(cell) else middle >= wanted
    return f"{'≤' if is_time(cell) else '≥'} {wanted:g} {'met' if met else '**missed**'}"


def fair(results, clock, cell, kind):
    each = [r["least_most"] for r in results if r["ok"] and r["clock"] == clock and r["cell"] == cell and
            r["kind"] == kind and r["transport"] == "rds" and r["least_most"] is not None]
    return f"{min(each):.2f}" if each else "-"


def row(results, clock, cell):
    ours = pick(results, clock, cell, "ours", "rds")
    intree = pick(results, clock, cell, "intree", "rds")
    text, middle = ratio(ours, intree)
    words = [CLOCKS[clock], cell, absolute(intree, cell), absolute(ours, cell), text, goal(cell, clock, middle)]
    words += [ratio(ours, pick(results, clock, cell, "ours", p))[0] for p in PEERS]
    words.append(f"{fair(results, clock, cell, 'ours')}, {fair(results, clock, cell, 'intree')}"
                 if not cell.startswith("stream") and not is_time(cell) else "-")
    return words


def markdown(head, rows, out):
    print("| " + " | ".join(head) + " |", file=out)
    print("|" + " --- |" * len(head), file=out)
    for r in rows:
        print("| " + " | ".join(r) + " |", file=out)


def table(results, out):
    head = ["clock", "cell", "in-tree", "ours", "ours : in-tree", "goal"]
    head += [f"ours : {p}" for p in PEERS] + ["least/most: ours, in-tree"]
    rows = [row(results, clock, cell) for clock in CLOCKS for cell in cells_of(results, clock)]
    print(file=out)
    markdown(head, rows, out)
    print(file=out)


def costs(results, out):
    """Per message (per round trip): nanoseconds are instructions under the instruction clock."""
    def middle(cell, kind, transport, name, digits):
        each = [r[name] for r in results if r["ok"] and r["clock"] == "icount" and r["cell"] == cell and
                r["kind"] == kind and r["transport"] == transport and r[name] is not None]
        return f"{statistics.median(each):,.{digits}f}" if each else "-"
    columns = [("intree", "rds"), ("ours", "rds")] + [("ours", p) for p in PEERS]
    names = ["in-tree", "ours"] + PEERS
    rows = []
    for cell in cells_of(results, "icount"):
        for name, what, digits in (("ns", "instructions", 0), ("switches", "context switches", 2),
                                   ("wakeups", "wake-ups", 2)):
            rows.append([cell, what] + [middle(cell, k, t, name, digits) for k, t in columns])
    if rows:
        markdown(["cell", "per message"] + names, rows, out)
        print(file=out)


def judged(name, what, middle, good):
    """A row of goals: what was not measured is neither met nor missed."""
    return [name, what, "-" if middle is None else "met" if good(middle) else "**missed**"]


def beside_peer(results, name, cell, peer, good):
    """Ours to another transport, in the boots with our module."""
    text, middle = ratio(pick(results, "icount", cell, "ours", "rds"), pick(results, "icount", cell, "ours", peer))
    return judged(name, text, middle, good)


def starved(results, cell, clock="icount"):
    each = fair([r for r in results if r["cell"] == cell], clock, cell, "ours")
    return judged(f"{cell}, no sender starved: least/most of each round > 0.5", each,
                  None if each == "-" else float(each), lambda v: v > 0.5)


def flat(results, one, many):
    """Cost per message of many to that of one: rates the other way round."""
    text, middle = ratio(pick(results, "icount", one, "ours", "rds"), pick(results, "icount", many, "ours", "rds"))
    return judged(f"cost per message, {many} : {one} ≤ 1.1", text, middle, lambda v: v <= 1.1)


def isolated(results, clock, cell):
    """The late ones of the small messages, and how long one of the large ones takes."""
    late = pick(results, clock, cell, "ours", "rds")
    each = [late[r["round"]] * 1000 / r["ns"] for r in results if r["ok"] and r["clock"] == clock and
            r["cell"] == cell and r["kind"] == "ours" and r["transport"] == "rds" and r["round"] in late]
    middle = statistics.median(each) if each else None
    text = "-" if middle is None else f"{middle:.2f} ({absolute(late, cell)})"
    return judged(f"{cell}, p99 of a small message : time of a message of the stream ≤ 1", text, middle,
                  lambda v: v <= 1)


def less_memory(used, what, words):
    if not {"ours", "intree"} <= set(used or ()):
        return judged(f"{words}: less than in-tree", "-", None, None)
    ours, intree = used["ours"][what], used["intree"][what]
    return judged(f"{words}: less than in-tree", f"{ours:,.0f} : {intree:,.0f}", ours / intree, lambda v: v < 1)


# What issue 5 asks for beside the ratios to the in-tree module: cell, peer, and at least (at most) what
TO_PEERS = [("stream/64", "tcp", "≥", 1.8), ("stream/64", "tipc", ">", 1), ("stream/64", "sctp", ">", 1),
            ("stream/64K", "tcp", "≥", 0.9), ("pingpong/64", "tcp", "≤", 1.2), ("fanin/64/16", "tipc", ">", 1)]
COMPARE = {"≥": lambda v, limit: v >= limit, ">": lambda v, limit: v > limit, "≤": lambda v, limit: v <= limit}


def goals(results, used, clock):
    """Rows of goal, measured, met or missed. Under the wall clock there are only two."""
    if clock == "wall":
        return [starved(results, "fanin/64/16", clock), isolated(results, clock, "beside/1M")]
    rows = [beside_peer(results, f"{cell}, ours : {peer} {sign} {limit:g}", cell, peer,
                        lambda v, sign=sign, limit=limit: COMPARE[sign](v, limit))
            for cell, peer, sign, limit in TO_PEERS]
    rows.append(starved(results, "fanin/64/16"))
    # rds-bench leaves out the number of one socket, and not that of one peer
    rows += [flat(results, "fanout/64/1", "fanout/64/64"), flat(results, "sockets/64", "sockets/64/1000")]
    rows += [less_memory(used, "socket", "bytes of a bound socket"),
             less_memory(used, "connection", "bytes of an idle connection"), isolated(results, clock, "beside/1M")]
    return rows


def goals_table(results, used, clock, out):
    markdown(["goal", "measured", ""], goals(results, used, clock), out)
    print(file=out)


def control(results, out):
    """How alike the boots are: framed TCP with the one module and with the other."""
    for clock in CLOCKS:
        each = []
        for cell in cells_of(results, clock):
            middle = ratio(pick(results, clock, cell, "ours", "tcp"), pick(results, clock, cell, "intree", "tcp"))[1]
            if middle:
                each.append(middle)
        if each:
            print(f"Framed TCP in the boots with our module to those with the in-tree module ({CLOCKS[clock]}): "
                  f"{min(each):.2f} to {max(each):.2f}.\n", file=out)


def memory(used, out):
    """Bytes; a connection with both ends and all links, since both are in one guest."""
    if not used:
        return
    kinds = list(used)
    rows = []
    for what, words in (("socket", "bound socket"), ("connection", "idle connection, both ends")):
        each = [used[k][what] for k in kinds]
        rows.append([words] + [f"{e:,.0f}" for e in each] + [f"{each[0] / each[-1]:.2f}"])
    markdown(["bytes"] + kinds + [f"{kinds[0]} : {kinds[-1]}"], rows, out)
    print(file=out)


# --- profile

def by_function(lines, symbols):
    """[name, module, instructions, calls] from a file of profile.so; the most first."""
    table_ = sorted((int(w[0], 16), w[1], w[2].strip("[]") if len(w) > 2 else "")
                    for w in (l.split() for l in symbols.splitlines()) if len(w) > 1)
    addresses = [t[0] for t in table_]
    found = {}
    for line in lines:
        words = line.split()
        if words[0] == "user":
            found[("user space", "user")] = [int(words[1]), 0]
            continue
        addr, insns, times = int(words[0], 16), int(words[1]), int(words[2])
        at = bisect.bisect_right(addresses, addr) - 1
        start, name, module = table_[at] if at >= 0 else (0, "?", "?")
        entry = found.setdefault((name, module), [0, 0])
        entry[0] += insns * times
        if addr == start:
            entry[1] += times
    return sorted(([n, m, i, c] for (n, m), (i, c) in found.items()), key=lambda e: -e[2])


# Which part of the system a function belongs to, by its name; the first that fits.
GROUPS = [(name, re.compile(pattern)) for name, pattern in (
    ("copies", r"copy_(user|to_|from_|page)|_copy_|memcpy|copy_user|rep_movs|copyin|copyout|iov_iter|_iter$|memset|memmove|clear_page"),
    ("locks", r"spin_|_lock(_|$)|_unlock|lock_sock|release_sock|mutex|rcu_read|local_bh|down_|up_(read|write)"),
    ("alloc, free", r"kmem_|kmalloc|kfree|slab|slub|page_(frag|pool|alloc|ref)|alloc_(page|skb|frozen)|free_(page|unref|frozen)|get_page|put_page|folio|mem_cgroup|charge|rmqueue|memcg|__free|kvfree|kvmalloc|___slab"),
    ("scheduler, wake-ups, work", r"sched|wake|wait|task|_rq|enqueue_|dequeue_|update_(curr|load|se|cfs)|pick_|switch|queue_work|worker|process_one_work|kthread|entity|cfs|eevdf|ttwu|prepare_to|finish_|cpuacct|psi_|fpregs|load_balance|idle|vruntime"),
    ("TCP/IP", r"tcp|^ip_|^__ip|inet|ipv4|nf_|fib_|dst_|rt_|neigh|^udp|^sctp|^tipc|icmp|route"),
    ("skb, device", r"skb|^net(if|dev)|dev_|veth|napi|gro_|gso|softirq|xmit|eth_|qdisc|rx_action|backlog|flow_dissect|pskb"),
    ("timers, clock", r"timer|hrtimer|clock|ktime|timekeep|tick|jiff|lapic|apic|time_"),
    ("socket layer, system calls", r"sock|syscall|^do_sys|__sys_|__x64|entry_|fdget|fput|fget|epoll|ep_|poll|import_|msghdr|security|apparmor|audit|exit_to_user|move_addr|sendmsg|recvmsg|vfs"),
)]

CALLS = ["__tcp_transmit_skb", "tcp_sendmsg_locked", "tcp_recvmsg_locked", "tcp_read_sock", "lock_sock_nested",
         "_raw_spin_lock", "_raw_spin_lock_bh", "_raw_spin_lock_irqsave", "try_to_wake_up", "__schedule",
         "process_one_work", "__alloc_skb", "skb_clone", "kmem_cache_alloc_noprof", "kmem_cache_free",
         "__alloc_pages_noprof", "mod_timer", "_copy_to_iter", "_copy_from_iter", "do_syscall_64"]


def group(name, module):
    if module == "user":
        return "user space"
    if module.startswith("rds"):
        return "the protocol module itself"
    for title, pattern in GROUPS:
        if pattern.search(name):
            return title
    return "other"


def groups_table(found, out):
    columns = []
    for p in found:
        sums = {}
        for name, module, insns, _ in p["functions"]:
            sums[group(name, module)] = sums.get(group(name, module), 0) + insns
        sums["all"] = sum(sums.values())
        columns.append({k: v / p["messages"] for k, v in sums.items()})
    order = ["all", "user space", "the protocol module itself"] + [t for t, _ in GROUPS] + ["other"]
    markdown(["instructions per message"] + titles(found),
             [[t] + [f"{c.get(t, 0):,.0f}" for c in columns] for t in order], out)
    print(file=out)


def calls_table(found, out):
    rows = []
    for name in CALLS:
        each = [next((e[3] for e in p["functions"] if e[0] == name), 0) / p["messages"] for p in found]
        if any(each):
            rows.append([name] + [f"{e:.2f}" for e in each])
    markdown(["calls per message"] + titles(found), rows, out)
    print(file=out)


def titles(found):
    return [f"{p['kind'] if p['transport'] == 'rds' else p['transport']} {p['cell']}" for p in found]


def functions_table(found, cell, out, lines=45):
    """The functions in which our module's message spends most, and the in-tree module's beside it."""
    mine = [p for p in found if p["cell"] == cell]
    if not mine:
        return
    first = mine[0]
    lookup = [{(e[0], e[1]): e for e in p["functions"]} for p in mine]
    rows = []
    for name, module, _, _ in first["functions"][:lines]:
        words = [name + (f" [{module}]" if module not in ("", "user") else "")]
        for p, known in zip(mine, lookup):
            e = known.get((name, module))
            words.append(f"{e[2] / p['messages']:,.0f} ({e[3] / p['messages']:.2f})" if e else "-")
        rows.append(words)
    markdown([f"function: instructions (calls) per message"] + titles(mine), rows, out)
    print(file=out)


def profile(found, out):
    found = [p for p in found if p["messages"]]
    if not found:
        return
    for cell in dict.fromkeys(p["cell"] for p in found):
        these = [p for p in found if p["cell"] == cell]
        groups_table(these, out)
        calls_table(these, out)
    functions_table(found, found[0]["cell"], out)


DOCUMENT = """<!-- SPDX-License-Identifier: GPL-2.0 -->
# Measured: {clock}

Written by `{command}` at {commit}; do not edit.

Kernel {kernel}, {runs} rounds of alternating boots, {seconds} s for each figure, buffers of 1 MiB
(4 MiB for messages of 1 MiB), each message verified.

{about}

A ratio is the middle of the rounds, in brackets the least and the most. `pingpong` is a time, the
median of round trips, and `beside` that of the slowest hundredth: small ratios are good.

`tcp` is framed TCP with TCP_NODELAY and epoll, `tcpn` the same with Nagle's algorithm, `sctp`
one-to-many, `tipc` SOCK_RDM over its link with credits of its user, `udp` whatever arrives.
`Documentation/performance/index.rst` says more.
"""

VETH = "Two network namespaces joined by veth in one guest. "
INSTRUCTIONS = """Instruction clock (`-icount shift=0,sleep=off`, one processor, QEMU's CPU without
`erms` and `fsrm`): a nanosecond is an instruction; idle time is skipped."""
ABOUT = {
    "icount": VETH + INSTRUCTIONS,
    "wall": VETH + """Wall clock, two emulated processors ({cpu}): only ratios mean something, and
neighbours disturb them.  Fan-in was measured 20 times as long, for all senders to have had many turns.""",
    "verbs": "Two addresses of one software RDMA device (rxe) in one guest. " + INSTRUCTIONS,
}

GOALS_HEAD = """## Goals

What issue 5 asks for beside the ratios to the in-tree module, from the same rounds; "-" was not measured.

"""
COST = """## Cost

Instructions; for `pingpong`, per round trip; for `beside`, per message of the stream.

"""
MEMORY = """## Memory

What the kernel has free, before and after 2,000 sockets and 200 connections.

"""
PROFILE = """## Where the instructions go

Counted by a plugin of QEMU. Groups are by function name, so their borders are rough; calls are exact.

"""


def document(clock, results, found, used, about):
    """The file of one clock."""
    results = [r for r in results if r["clock"] == clock]
    about = dict(about, seconds=round(about["seconds"] * longer(clock, ""), 3))
    out = io.StringIO()
    out.write(DOCUMENT.format(**about, clock=CLOCKS[clock], about=ABOUT[clock].format(**about)))
    table(results, out)
    control(results, out)
    if clock != "verbs":
        out.write(GOALS_HEAD)
        goals_table(results, used, clock, out)
    if clock == "icount":
        out.write(COST)
        costs(results, out)
        if used:
            out.write(MEMORY)
            memory(used, out)
        if found:
            out.write(PROFILE)
            profile(found, out)
    return out.getvalue().rstrip("\n") + "\n"
