#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=2 modules=rds_tcp,rds_rdma,rdma_rxe host=1 timeout=300
#
# rds-bench between two hosts over RoCE: RDMA reads and writes, messages, damage that the other end sees,
# and an address that belongs to TCP at one end.  No figure is judged.
. "$(dirname "$0")/pair.sh"
. "$(dirname "$0")/../bench/pair.sh"

# good COUNT: so many runs, all well and over verbs; prints the bytes that were read and written, at least
good() {
	python3 -S - "$T/out" "$1" <<-'PYTHON'
	import json, sys
	doc = json.load(open(sys.argv[1]))
	runs = doc["runs"]
	for r in runs:
	    print("# %s: %s/s, %s us" % (r["cell"], r["rate"], r["median_us"]))
	ok = len(runs) == int(sys.argv[2])
	ok = ok and all(r["ok"] and r["messages"] > 0 and r["via"] == "infiniband" for r in runs)
	ok = ok and all(r["median_us"] > 0 for r in runs if r["cell"].startswith(("read", "write")))
	ok = ok and all(doc[end]["modules"]["rds_rdma"] for end in ("client", "server"))
	print(*(sum(r["messages"] << 16 for r in runs if r["cell"].startswith(w)) for w in ("read", "write")))
	sys.exit(not ok)
	PYTHON
}

# rdma_bytes NODE
rdma_bytes() { echo "$(ib_counter "$1" recv_rdma_bytes) $(ib_counter "$1" send_rdma_bytes)"; }

# rdma FROM TO: by RDMA, which FROM's kernel must have counted, too
rdma() {
	local before now least

	read -ra before <<<"$(rdma_bytes "$1")"
	bench 0 "$1" -c "$(addr "$2")" -p rds --json read/64K write/64K read/64K/8 write/64K/8 stream/64 pingpong/64 &&
		good 6 >"$T/good" || { show_file "$T/good"; return 1; }
	show_file "$T/good"
	read -ra least <<<"$(tail -n 1 "$T/good")"
	read -ra now <<<"$(rdma_bytes "$1")"
	note "read $((now[0] - before[0])) bytes, written $((now[1] - before[1]))"
	[ $((now[0] - before[0])) -ge "${least[0]}" ] && [ $((now[1] - before[1])) -ge "${least[1]}" ] &&
		[ "${least[0]}" -gt 0 ] && [ "${least[1]}" -gt 0 ]
}

other_way() { serve_bench a && rdma b a; }

damage() {
	bench 1 a -c 10.0.0.2 -p rds --spoil flip write/64K && says 'server: .*RDMA write 3: its content is damaged' &&
		bench 1 a -c 10.0.0.2 -p rds --spoil drop write/64K && says 'server: .*RDMA write 3: its memory holds another one' &&
		bench 1 a -c 10.0.0.2 -p rds --spoil flip read/64K && says 'RDMA read 3: its content is damaged'
}

# Without its device the address of a belongs to TCP, and that of b does not.
other_transport() {
	local rc=0

	rxe_del a
	bench 1 a -c 10.0.0.2 -p rds stream/64 &&
		says "senders' address 10.0.0.1 belongs to tcp, the receivers' 10.0.0.2 to infiniband" || rc=1
	rxe_add a || rc=1
	return $rc
}

ktap_header
check "b serves" serve_bench b
check "RDMA from a to b" rdma a b
check "RDMA from b to a" other_way
check "damage is seen" damage
check "addresses of two transports" other_transport
check "RDMA after that" rdma a b
check "no page is pinned any more" pages_returned
ktap_finish
