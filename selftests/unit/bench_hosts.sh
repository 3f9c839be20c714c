#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=180
#
# rds-bench as server and client, both on this machine, with TCP and UDP: every kind of work, damage that
# is seen at the other end, and what is said when the other end is not there, is another program, speaks
# another version, is busy, or dies.  No figure is judged.

. "$(dirname "$0")/../lib.sh"

MOMENT=0.3
T=$(mktemp -d)
# neither one of those that are measured, which begin at 5000, nor one that TCP chooses
PORT=$((4000 + $$ % 900))
SERVER=
trap 'kill $SERVER $OTHER 2>/dev/null; rm -rf "$T"' EXIT

show() { sed 's/^/# /' "$@"; }

serve()
{
	: >"$T/server"
	"$BIN/rds-bench" -s -P $PORT --rx 127.0.0.1 >"$T/server" 2>&1 &
	SERVER=$!
	busywait 10 grep -q "^listening at 127.0.0.1 port $PORT$" "$T/server"
}

# client STATUS OPTION...: rds-bench must exit with STATUS
client()
{
	local want=$1 rc

	shift
	timeout 100 "$BIN/rds-bench" -c 127.0.0.1 -P $PORT "$@" >"$T/out" 2>"$T/err"
	rc=$?
	[ $rc = "$want" ] && return
	echo "# rds-bench $*: exit code $rc, wanted $want"
	show "$T/out" "$T/err"
	return 1
}

# says FILE REGEX
says() { grep -qE "$2" "$T/$1" || { show "$T/$1"; return 1; }; }

works()
{
	local cells="stream/64 stream/64K pingpong/64 pingpong/1K/3 fanout/64/1 fanout/64/4 fanin/64/4
		sockets/64/100 beside/32K"

	# shellcheck disable=SC2086
	client 0 -q -p tcp,tcpn,udp -t $MOMENT --json $cells && python3 - "$T/out" <<-'PYTHON'
	import json, sys
	doc = json.load(open(sys.argv[1]))
	runs = doc["runs"]
	for r in runs:
	    print("# %s %s: %s/s" % (r["transport"], r["cell"], r.get("rate")))
	# 64 KiB are more than a datagram of UDP holds
	good = len(runs) == 26 and all(r["ok"] and r["rate"] > 0 for r in runs)
	good = good and sum(bool(r["median_us"]) for r in runs) == 9
	good = good and all(r["median_us"] <= r["p99_us"] for r in runs if r["median_us"])
	ends = doc["client"], doc["server"]
	good = good and ends[0] == ends[1] and all(ends[0][k] for k in ("host", "kernel", "rds_bench"))
	good = good and doc["tx"] == doc["rx"] == "127.0.0.1" and doc["date"].endswith("Z")
	sys.exit(not good)
	PYTHON
}

# damaged KIND CELL REGEX: the server sees it, the client says it
damaged()
{
	client 1 -q -p tcp -t $MOMENT --spoil "$1" "$2" && says out "FAILED: .*server: .*($3)"
}

all_damage()
{
	damaged flip stream/64 'content is damaged' && damaged head stream/1K 'head is damaged' &&
		damaged cut stream/1K 'damaged|not as long' && damaged run sockets/64/2 'not of this run' &&
		damaged drop fanin/64/2 'missing' && damaged dup stream/1K 'come before' &&
		damaged swap stream/1K 'missing'
}

# The server goes on after a run that came to nothing.
still_there() { client 0 -q -p tcp -t $MOMENT pingpong/64; }

no_address()
{
	client 1 -q -p tcp --rx 192.0.2.1 stream/64 && says out 'server: .*socket 0 at 192.0.2.1: Cannot assign' &&
		client 2 -q -p tcp -w stream/64 && client 2 -q -p tcp --rx-ns n1 stream/64 && still_there
}

# What the server's kernel has not; ours must seem to have it.
no_transport()
{
	printf 'rds-bench %s le t h k - - -\nrun ipx stream/64 127.0.0.1 1\nrun udp stream/64K 127.0.0.1 1\n%s\n' \
		"$1" 'run tcp stream/1 127.0.0.1 1' | talk >"$T/out"
	says out '^failed its kernel has no ipx$' && says out '^failed there is no stream/64K with udp$' &&
		says out '^failed stream/1: sizes go from 32'
}

# talk: to the server, what comes on standard input; prints its answers
talk() { timeout 10 python3 -S -c '
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(sys.stdin.buffer.read())
s.shutdown(socket.SHUT_WR)
while data := s.recv(65536):
    sys.stdout.buffer.write(data)' $PORT; }

# Whatever somebody sends, the server is there for the next one.
nonsense()
{
	local i

	for i in '' '\n' 'GET / HTTP/1.1\r\n\r\n' 'rds-bench\n' 'rds-bench 1\n' 'rds-bench 1 le t h k - - -\nstop\n' \
		'rds-bench 1 le t h k - - -\nrun tcp stream/64 127.0.0.1 1\nrun tcp stream/64 127.0.0.1 1\nbye\n'; do
		# shellcheck disable=SC2059
		printf "$i" | talk >"$T/out" || return 1
		says out '^rds-bench 1 le ' || return 1
	done
	head -c 300000 /dev/zero | tr '\0' a | talk >"$T/out" 2>&1
	still_there
}

# other WHAT...: somebody else is at the port
other()
{
	PORT=$((PORT + 1))
	: >"$T/other"
	python3 -S -c '
import socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen(1)
print("there", flush=True)
c = s.accept()[0]
c.sendall(sys.argv[2].encode())
time.sleep(20)' $PORT "$1" >"$T/other" &
	OTHER=$!
	busywait 10 grep -q there "$T/other"
}

# stranger TEXT REGEX: who says TEXT is told from a server
stranger()
{
	local rc=0

	other "$1" && client 1 -q -p tcp stream/64 && says err "^rds-bench: .*$2" && [ "$(wc -l <"$T/err")" = 1 ] || rc=1
	kill $OTHER
	return $rc
}

strangers()
{
	local rc=0 port=$PORT

	stranger $'SSH-2.0-x\n' 'is no rds-bench' &&
		stranger $'rds-bench 99 le x\n' "server's version differs: it speaks protocol 99, we speak 1" &&
		stranger $'rds-bench 1 be t h k - - -\n' "server's byte order differs: it is be" &&
		stranger '' 'the server does not answer' || rc=1
	PORT=$port
	return $rc
}

nobody()
{
	local rc=0

	PORT=$((PORT - 1))
	client 1 -q -p tcp stream/64 && says err 'no server at 127.0.0.1 port .*: Connection refused' &&
		says err "is 'rds-bench -s' running there" || rc=1
	PORT=$((PORT + 1))
	return $rc
}

at_work() { [ "$(grep -c ' tcp stream/1032$' "$T/server")" = 1 ]; }

# Two clients would measure each other.
busy()
{
	local pid rc=0

	timeout 100 "$BIN/rds-bench" -q -c 127.0.0.1 -P $PORT -p tcp -t 8 stream/1032 >"$T/first" 2>&1 &
	pid=$!
	busywait 10 at_work || rc=1
	client 1 -q -p tcp stream/64 && says err 'the server is at work for 127.0.0.1' || rc=1
	kill $pid 2>/dev/null
	wait $pid
	still_there || rc=1
	return $rc
}

# Its processes end with the client: nothing listens any more where they did.
left() { pgrep -P "$(pgrep -P "$SERVER" | head -n 1)" 2>/dev/null; }

client_dies()
{
	local pid

	timeout 100 "$BIN/rds-bench" -q -c 127.0.0.1 -P $PORT -p tcp -t 20 stream/1040 >"$T/first" 2>&1 &
	pid=$!
	busywait 10 grep -q ' tcp stream/1040$' "$T/server" && sleep 1 && [ -n "$(left)" ] || return 1
	kill -9 "$(pgrep -P $pid)"
	kill $pid 2>/dev/null
	wait $pid
	busywait 5 eval '[ -z "$(left)" ]' && still_there
}

server_dies()
{
	local pid

	timeout 100 "$BIN/rds-bench" -q -c 127.0.0.1 -P $PORT -p tcp -t 3 stream/1048 pingpong/64 >"$T/first" 2>&1 &
	pid=$!
	busywait 10 grep -q ' tcp stream/1048$' "$T/server" && sleep 1
	kill -9 $SERVER
	wait $pid
	[ $? = 1 ] && says first 'stream/1048 +FAILED: .*gone' && says first 'pingpong/64 +FAILED: the server is gone$' &&
		! grep -q 'FAILED: .*FAILED' "$T/first"
}

taken()
{
	timeout 10 "$BIN/rds-bench" -s -P $PORT --rx 127.0.0.1 >"$T/out" 2>"$T/err"
	[ $? = 1 ] && says err "cannot listen at 127.0.0.1 port $PORT: Address already in use"
}

# A server has no cells or transports of its own.
server_usage()
{
	local words

	for words in "-s stream/64" "-s -p tcp" "-s -c 127.0.0.1" "-s -P 0" "-s -P 65536" "-c nowhere -p tcp"; do
		# shellcheck disable=SC2086
		timeout 10 "$BIN/rds-bench" $words >"$T/out" 2>"$T/err" && return 1
		says err '^rds-bench: ' || return 1
	done
}

ktap_header
check "no server" nobody
check "who is no server, or another one" strangers
check "options that do not go together" server_usage
check "a server" serve
check "every kind of work" works
check "damage is seen at the other end" all_damage
check "the server goes on" still_there
check "an address that the server has not" no_address
check "transports and cells that the server has not" no_transport 1
check "nonsense" nonsense
check "one client at a time" busy
check "a client dies" client_dies
check "the port is taken" taken
check "the server dies" server_dies
ktap_finish
