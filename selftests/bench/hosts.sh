#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=2 modules=rds_tcp,nf_tables host=1 timeout=300
#
# rds-bench between two hosts: b serves, a measures, and the other way round.  Every kind of work with RDS,
# TCP and UDP; both hosts are named; damage is seen at the other end; a server whose port for RDS is shut, one
# that dies, and none at all.  No figure is judged.
. "${SELFTESTS:-$(dirname "$0")/..}/interop/common.sh"
. "$(dirname "$0")/pair.sh"

CELLS=(stream/64 stream/64K pingpong/64 fanout/64/1 fanin/64/4 sockets/1K/16 beside/32K)

# good COUNT CLIENT SERVER KERNEL: all well, RDS over TCP, and it says who measured what, with which module
good() {
	python3 -S - "$T/out" "$@" <<-'PYTHON'
	import json, sys
	doc = json.load(open(sys.argv[1]))
	runs = doc["runs"]
	for r in runs:
	    print("# %s %s: %s/s, %s us" % (r["transport"], r["cell"], r.get("rate"), r.get("median_us")))
	ok = len(runs) == int(sys.argv[2]) and all(r["ok"] and r["messages"] > 0 for r in runs)
	ok = ok and all(r["via"] == "tcp" for r in runs if r["transport"] == "rds")
	ok = ok and all(r["median_us"] <= r["p99_us"] for r in runs if r["median_us"])
	ok = ok and (doc["tx"], doc["rx"]) == (sys.argv[3], sys.argv[4])
	for end in ("client", "server"):
	    print("#", end, doc[end])
	    ok = ok and doc[end]["kernel"] == sys.argv[5] and doc[end]["modules"]["rds_tcp"][:2] == "5."
	    ok = ok and doc[end]["host"] and doc[end]["rds_bench"] == doc["client"]["rds_bench"]
	sys.exit(not ok)
	PYTHON
}

everything() {
	bench 0 a -c 10.0.0.2 -p rds,tcp,udp --json "${CELLS[@]}" && good 20 10.0.0.1 10.0.0.2 "$(on b uname -r)"
}

other_way() {
	serve_bench a && bench 0 b -c 10.0.0.1 -p rds,tcp -r 2 --json stream/1K pingpong/64 &&
		good 8 10.0.0.2 10.0.0.1 "$(on a uname -r)" &&
		bench 0 b -c 10.0.0.1 -p rds,tcp -r 2 stream/1K && says '^2 rounds: median' && says '^rds +stream/1K .* x tcp$'
}

# damaged TRANSPORT WHAT CELL REGEX
damaged() {
	bench 1 a -c 10.0.0.2 -p "$1" --spoil "$2" "$3" && says "FAILED: .*server: .*($4)"
}

all_damage() {
	damaged rds flip stream/64K 'content is damaged' && damaged rds head pingpong/64 'head is damaged' &&
		damaged rds drop fanin/64/2 'missing' && damaged rds dup stream/1K 'come before' &&
		damaged tcp flip stream/64 'content is damaged'
}

rdma() {
	bench 1 a -c 10.0.0.2 -p rds read/64K && says 'server: no RDMA by tcp'
}

# RDS finds no way, though the server can be talked to: from an address that has no link yet.
shut() {
	on b "nft add table ip t &&
		nft 'add chain ip t in { type filter hook input priority 0; }' &&
		nft 'add chain ip t out { type filter hook output priority 0; }' &&
		nft add rule ip t in tcp dport 16385 drop && nft add rule ip t out tcp dport 16385 drop"
}

port_shut() {
	local rc=0

	on a ip addr add 10.0.0.11/24 dev eth0 && shut || return 1
	bench 1 a -c 10.0.0.2 -p rds --tx 10.0.0.11 pingpong/64 &&
		says 'no message arrived; is TCP port 16385 open at both hosts\?' || rc=1
	on b nft delete table ip t || rc=1
	return $rc
}

nobody() {
	bench 1 b -c 10.0.0.1 -p tcp stream/64 && says 'no server at 10.0.0.1 port 4880: Connection refused' &&
		says "is 'rds-bench -s' running there"
}

no_host() { bench 1 a -c 10.0.0.77 -p tcp stream/64 && says 'no server at 10.0.0.77'; }

# b is gone without a word in the middle.
killed() {
	local pid

	on a timeout 100 "$BIN/rds-bench" -q -c 10.0.0.2 -p rds -t 10 stream/64 >"$T/killed" 2>&1 &
	pid=$!
	busywait 20 grep -q 'rds stream/64$' "$T/serve-b" && sleep 2
	vm_kill b
	forget serve-b
	wait $pid
	[ $? = 1 ] && grep -qE 'FAILED: .*gone' "$T/killed" || { show_file "$T/killed"; return 1; }
	vm_boot b
}

ktap_header
check "no server" nobody
check "no host" no_host
check "b serves" serve_bench b
check "every kind of work" everything
check "damage is seen at the other end" all_damage
check "RDMA wants another transport" rdma
check "a serves" other_way
check "the port of RDS is shut" port_shut
check "b dies" killed
ktap_finish
