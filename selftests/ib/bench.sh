#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,rds_rdma,rdma_rxe,veth netns=init ref=0 timeout=300 lanes=uml
#
# rds-bench over verbs: RDMA reads and writes of several sizes, one and several at a time, each byte
# compared, in one go and with a server; damage is seen; where there is no RDMA it says so.  No figure
# is judged.
. "${SELFTESTS:-$(dirname "$0")/..}/ib/common.sh"
. "$SELFTESTS/bench/said.sh"

MOMENT=0.2
[ "${RDS_SLOW:-1}" = 1 ] || MOMENT=1
CELLS=(read/64K write/64K read/64K/4 write/64K/4 read/32 write/32 read/1000 write/4104/64 read/1M write/1M)
TCP_ADDRESS=10.6.0.1
SERVER=

ib_restore() {
	kill $SERVER 2>/dev/null
	ip addr del $TCP_ADDRESS/32 dev lo 2>/dev/null
}

# bench STATUS OPTION...: rds-bench must exit with STATUS
bench() {
	timeout $((100 * ${RDS_SLOW:-1})) "$BIN/rds-bench" -q -t $MOMENT --tx $A4 "${@:2}" \
		>"$T/out" 2>"$T/err"
	ended "$1" $? "${@:2}"
}

# good COUNT [SERVER]: so many runs, all well and over verbs; prints the bytes that were read and written, at least
good() {
	python3 -S - "$T/out" "$@" <<-'PYTHON'
	import json, sys
	doc = json.load(open(sys.argv[1]))
	runs = doc["runs"]
	sizes = {"32": 32, "1000": 1000, "4104": 4104, "64": 64, "64K": 65536, "1M": 1 << 20}
	moved = {"read": 0, "write": 0}
	for r in runs:
	    print("# %s: %s/s, %s us" % (r["cell"], r["rate"], r["median_us"]))
	    if r["cell"].startswith(("read", "write")):
	        moved[r["cell"].split("/")[0]] += r["messages"] * sizes[r["cell"].split("/")[1]]
	ok = len(runs) == int(sys.argv[2])
	ok = ok and all(r["ok"] and r["messages"] > 0 and r["via"] == "infiniband" for r in runs)
	ok = ok and all(0 < r["median_us"] <= r["p99_us"] for r in runs if r["median_us"] is not None)
	ok = ok and all(r["median_us"] for r in runs if r["cell"].startswith(("read", "write")))
	ok = ok and all(r["least_most"] is None for r in runs)
	ok = ok and doc["client"]["modules"]["rds_rdma"] is not None
	ok = ok and (doc["server"] is not None) == (len(sys.argv) > 3)
	print(moved["read"], moved["write"])
	sys.exit(not ok)
	PYTHON
}

rdma_bytes() { echo "$(counter - recv_rdma_bytes) $(counter - send_rdma_bytes)"; }

# moved BEFORE COUNT [SERVER]: the kernel has moved what was measured; more, since it does so all the time
moved() {
	local before now least

	read -ra before <<<"$1"
	read -ra now <<<"$(rdma_bytes)"
	good "${@:2}" >"$T/good" || { show_file "$T/good"; return 1; }
	show_file "$T/good"
	read -ra least <<<"$(tail -n 1 "$T/good")"
	note "read $((now[0] - before[0])) bytes, written $((now[1] - before[1]))"
	[ $((now[0] - before[0])) -ge "${least[0]}" ] && [ $((now[1] - before[1])) -ge "${least[1]}" ] &&
		[ "${least[0]}" -gt 0 ] && [ "${least[1]}" -gt 0 ]
}

one_host() {
	local before

	before=$(rdma_bytes)
	bench 0 --rx $B4 -p rds --json "${CELLS[@]}" && moved "$before" 10
}

# Messages go the same way as before.
messages() { bench 0 --rx $B4 -p rds --json stream/64 pingpong/64 && good 2 >"$T/good"; }

serve() {
	"$BIN/rds-bench" -s --rx $B4 >"$T/server" 2>&1 &
	SERVER=$!
	busywait 10 grep -qs '^listening' "$T/server"
}

by_server() {
	local before

	before=$(rdma_bytes)
	bench 0 -c $B4 -p rds --json read/64K write/64K read/64K/8 write/64K/8 stream/64 && moved "$before" 5 server
}

# damaged WHAT CELL REGEX
damaged() { bench 1 --rx $B4 -p rds --spoil "$1" "$2" && says "FAILED: .*RDMA $3"; }

all_damage() {
	damaged flip write/64K 'write 3: its content is damaged' &&
		damaged flip write/64K/4 'write 3: its content is damaged' &&
		damaged head write/64K 'write 3: its head is damaged' &&
		damaged drop write/64K 'write 3: its memory holds another one' &&
		damaged flip read/64K 'read 3: its content is damaged' &&
		damaged flip read/1K/4 'read 3: its content is damaged'
}

damage_there() {
	bench 1 -c $B4 -p rds --spoil flip write/64K && says 'server: .*RDMA write 3: its content is damaged'
}

# Only some damage can be done to memory.
spoil_usage() { bench 2 --spoil dup read/64K && bench 2 --spoil swap write/64K && says 'can be spoilt by flip'; }

no_rdma() {
	ip addr add $TCP_ADDRESS/32 dev lo || return 1
	bench 1 --tx 127.0.0.1 -p rds read/64K && says 'no RDMA by loopback: reads and writes want an address' &&
		bench 1 --tx $TCP_ADDRESS --rx $TCP_ADDRESS -p rds write/64K && says 'no RDMA by tcp' &&
		bench 1 -p tcp read/64K && says 'nothing to measure'
}

other_transport() {
	bench 1 --tx $TCP_ADDRESS --rx $B4 -p rds stream/64 &&
		says "senders' address $TCP_ADDRESS belongs to tcp, the receivers' $B4 to infiniband" &&
		bench 1 --tx $TCP_ADDRESS -c $B4 -p rds stream/64 && says "the receivers' $B4 to infiniband"
}

# Who names no cells gets those of RDMA, too, where there is RDMA, and no fan-out to addresses that there are not.
# Where the machine does other things, a stream of 1 MiB has no message in a moment.
# On one processor with sanitizers the sixteen senders of fanin/64/16 may leave their receiver no time to measure.
by_default() {
	timeout 200 "$BIN/rds-bench" -q -t 1 --tx $A4 --rx $B4 -p rds --json >"$T/out" 2>"$T/err"
	python3 -S - "$T/out" <<-'PYTHON' || { show_file "$T/out"; show_file "$T/err"; return 1; }
	import json, sys
	runs = json.load(open(sys.argv[1]))["runs"]
	bad = [r for r in runs if not r["ok"]]
	for r in bad:
	    print("# %s: %s" % (r["cell"], r["why"]))
	good = len(runs) == 13 and [r["cell"] for r in runs[-2:]] == ["read/64K", "write/64K"]
	good = good and not any(r["cell"].startswith("fanout") and r["cell"] != "fanout/64/1" for r in runs)
	good = good and all(r["cell"] == "fanin/64/16" and r["why"] == "no message arrived" for r in bad)
	sys.exit(not good)
	PYTHON
}

ktap_header
setup_rxe
check "reads and writes" one_host
check "messages" messages
check "damage is seen" all_damage
check "what can be spoilt" spoil_usage
check "a server" serve
check "reads and writes, with a server" by_server
check "damage is seen by the server" damage_there
check "where there is no RDMA" no_rdma
check "addresses of two transports" other_transport
check "cells by default" by_default
ktap_finish
