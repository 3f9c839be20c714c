#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth netns=init timeout=400 waits=1 lanes=uml
#
# rds-info and rds-ping: format of the output, JSON, exit codes, options.

. "${SELFTESTS:-$(dirname "$0")/..}/lib.sh"

out=$(mktemp -d)
trap 'rm -rf "$out"; cleanup' EXIT

# run STATUS COMMAND...: the command must exit with STATUS; keeps its output
run()
{
	local want=$1 rc
	shift
	"$@" >"$out/stdout" 2>"$out/stderr"
	rc=$?
	[ $rc -eq "$want" ] && return 0
	printf '# %s: exit code %s, wanted %s\n' "$*" $rc "$want"
	sed 's/^/#   /' "$out/stdout" "$out/stderr" | head -n 20
	return 1
}

# has REGEX [N]: the output has lines that match as a whole, exactly N if given
has()
{
	local n
	n=$(grep -cxE "$1" "$out/stdout")
	[ "$n" -gt 0 ] && [ "$n" -eq "${2:-$n}" ] && return 0
	printf '# %s of %s lines match %s in:\n' "$n" "${2:-any}" "$1"
	head -n 20 "$out/stdout" | sed 's/^/#   /'
	return 1
}

complains() { grep -qE "$1" "$out/stderr"; }

# One Python for all expressions, since a slow guest takes a second to start it: evaluates
# what comes, with the document that was printed as d.
judge='
import json, sys
rest = b""
while more := sys.stdin.buffer.read1(65536):
    *whole, rest = (rest + more).split(b"\0")
    for expression in whole:
        try:
            with open(sys.argv[1]) as f:
                d = json.load(f)
            print(bool(eval("(" + expression.decode() + ")", {"d": d})), flush=True)
        except Exception as e:
            print(repr(e), flush=True)
'

# json EXPRESSION: holds for the document d that was printed
json()
{
	local verdict

	printf '%s\0' "$1" >&"${JUDGE[1]}"
	read -r -t 60 -u "${JUDGE[0]}" verdict
	[ "$verdict" = True ] && return 0
	printf '# not true (%s): %s in:\n' "$verdict" "$1"
	head -c 1500 "$out/stdout" | sed 's/^/#   /'
	return 1
}

# Sockets in known states. n2 holds a socket that reads nothing; n1 has sent
# it three messages, and one more to a host that does not exist.
hold_receiver()
{
	n2 python3 - >"$out/receiver" <<-'PYTHON' &
	import socket, time
	s = socket.socket(21, socket.SOCK_SEQPACKET)
	s.bind(("10.1.0.2", 4000))
	s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 50000)
	print("ready", flush=True)
	time.sleep(1000)
	PYTHON
	busywait 10 grep -q ready "$out/receiver"
}

hold_sender()
{
	n1 python3 - >"$out/sender" <<-'PYTHON' &
	import socket, time
	s = socket.socket(21, socket.SOCK_SEQPACKET)
	s.bind(("10.1.0.1", 4001))
	s.connect(("10.1.0.2", 4000))
	for i in range(3):
	    s.send(bytes(100 + i))
	s.sendto(bytes(77), socket.MSG_DONTWAIT, ("10.1.0.99", 4009))
	print("ready", flush=True)
	time.sleep(1000)
	PYTHON
	busywait 10 grep -q ready "$out/sender"
}

# Pings to nobody: eight sockets bound to an IPv6 address, and their messages
hold_sender6()
{
	n1 "$BIN/rds-ping" -i 100 -w 100 fd00:1::99 >/dev/null &
	busywait 10 queued6
}

queued6() { n1 "$BIN/rds-info" -6s | grep -q fd00:1::99; }
arrived() { [ "$(n2 "$BIN/rds-info" -r | grep -c ' 4000 ')" -eq 3 ]; }
acked()   { ! n1 "$BIN/rds-info" -t | grep -q '10\.1\.0\.2'; }

num='[0-9]+'

# The reference has no addresses in the IPv4 lists of messages to be sent.
if [ -n "$RDS_REF" ]; then
	local='0\.0\.0\.0' peer='0\.0\.0\.0' nobody='0\.0\.0\.0'
else
	local='10\.1\.0\.1' peer='10\.1\.0\.2' nobody='10\.1\.0\.99'
fi

# What matters first: sockets, connections, and counters last; what is empty takes a line.
info_text()
{
	run 0 n1 "$BIN/rds-info" && has 'RDS Sockets:' 1 &&
	has 'RDS Connections:' 1 && has 'TCP Connections:' 1 &&
	has 'Receive Message Queue: none' 1 && has 'Send Message Queue:' 1 &&
	has 'Retransmit Message Queue: none' 1 && in_order &&
	has " *send_queued +$num" 1 && ! has '[a-z0-9_]+ +0' >/dev/null &&
	has "\($num counters are 0; 'rds-info -c' shows all\)" 1 && fits 80
}

in_order()
{
	local want='RDS Sockets|RDS Connections|RDS Paths|Send Message Queue|Receive Message Queue'

	want="$want|Retransmit Message Queue|TCP Connections|Counters"
	[ -n "$RDS_REF" ] && want=${want/RDS Paths|/}
	[ "$(grep -oE "^($want):" "$out/stdout" | tr -d ':\n')" = "${want//|/}" ]
}

# fits COLUMNS [ROWS]: no line of the output is longer, what is below a title is in line with it, and
# there are so many rows
fits()
{
	awk -v most="$1" -v least="${2:-0}" -f "$SELFTESTS/columns.awk" "$out/stdout"
}

# Who is asked, for what, how many rows there are at least.  Two are elsewhere: -I in ib/readme, and
# rows of -t in info_retransmit_queue().
LISTINGS='
n1 knsrtTc 80 20
n2 k 80 1
n1 n 80 2
n1 nv 80 2
n1 p 80 9
n1 s 80 1
n2 r 80 3
n1 t 80 0
n1 T 80 8
n1 c 80 50
n1 N 80 20
n1 kv 80 1
n1 pv 999 9
n1 a 999 20
n1 6k 999 8
n1 6n 999 1
n1 6p 999 1
n1 6s 999 1
n1 6T 999 0'

# As wide as a terminal; addresses of IPv6, and -v, may need more.
info_columns()
{
	local ns flags most rows rc=0

	while read -r ns flags most rows; do
		[ -n "$ns" ] && [[ $RDS_REF$flags != 1*p* ]] || continue
		run 0 "$ns" "$BIN/rds-info" "-$flags" && fits "$most" "$rows" ||
			{ echo "# $ns: rds-info -$flags"; rc=1; }
	done <<<"$LISTINGS"
	return $rc
}

# Each section of the usage is in the list.
info_columns_all()
{
	local sections i

	sections=$("$BIN/rds-info" -h | sed -n 's/^Usage: rds-info \[-\([A-Za-z]*\)\].*/\1/p')
	[ ${#sections} -ge 9 ] || return 1
	for ((i = 0; i < ${#sections}; i++)); do
		[ "${sections:i:1}" = I ] || grep -q "^n[12] ${sections:i:1} 80 " <<<"$LISTINGS" ||
			{ echo "# no -${sections:i:1}"; return 1; }
	done
}

info_counters()
{
	run 0 "$BIN/rds-info" -c &&
	has ' *CounterName +Value' 1 && has " *conn_reset +$num" 1 &&
	has " *recv_bytes_freed_fromsock +$num" 1 &&
	has " *tcp_data_ready_calls +$num" 1
}

info_nonzero()
{
	run 0 "$BIN/rds-info" -c && has "[a-z0-9_]+ +0" &&
	run 0 "$BIN/rds-info" -c --nonzero && has " *send_queued +$num" 1 &&
	! has '[a-z0-9_]+ +0' >/dev/null &&
	run 0 "$BIN/rds-info" -c --nonzero --json && json "0 not in d['counters'].values()" &&
	run 0 "$BIN/rds-info" --json && json "0 in d['counters'].values()"
}

info_counters_count()
{
	local before after
	run 0 "$BIN/rds-info" -c --json || return
	before=$(printed_counter send_queued)
	n1 "$BIN/rds-ping" -c 1 -w 20 10.1.0.2 >/dev/null || return
	run 0 "$BIN/rds-info" -c --json || return
	after=$(printed_counter send_queued)
	[ "$after" -gt "$before" ]
}

printed_counter()
{
	sed 's/.*"'"$1"'": *\([0-9]*\).*/\1/;t;d' "$out/stdout"
}

info_sockets()
{
	run 0 n2 "$BIN/rds-info" -k &&
	has 'BoundAddr +BPort +ConnAddr +CPort +SndBuf +RcvBuf +Inode +Process' 1 &&
	has "10\.1\.0\.2 +4000 +0\.0\.0\.0 +0 +$num +50000 +$num +python3/$(holder)" 1 &&
	run 0 n1 "$BIN/rds-info" -k &&
	has "10\.1\.0\.1 +4001 +10\.1\.0\.2 +4000 +$num +$num +$num +python3/$num" 1 &&
	fits 80
}

info_inode()
{
	run 0 n2 "$BIN/rds-info" -k --json &&
	json "any(s['inode'] == $(stat -L -c %i "/proc/$(holder)/fd/3") and
		  s['bound_port'] == 4000 and
		  s['processes'] == [{'pid': $(holder), 'comm': 'python3'}] for s in d['sockets'])"
}

# A socket that two processes have; what others have open only root learns.
info_processes()
{
	local pid child

	run 0 n2 python3 -c '
import os, socket, subprocess, sys
s = socket.socket(21, socket.SOCK_SEQPACKET)
s.bind(("10.1.0.2", 4010))
os.set_inheritable(s.fileno(), True)
child = os.fork() or os.execlp("sleep", "sleep", "100")
print(os.getpid(), child, flush=True)
subprocess.call([sys.argv[1], "-k"])
subprocess.call([sys.argv[1], "-k", "--json"], stdout=open(sys.argv[2], "w"))
os.kill(child, 9)' "$BIN/rds-info" "$out/json" || return
	read -r pid child <"$out/stdout"
	has "10\.1\.0\.2 +4010 .* python3/$pid\+1" 1 && cp "$out/json" "$out/stdout" &&
	json "[p['pid'] for s in d['sockets'] if s['bound_port'] == 4010
	       for p in s['processes']] == sorted([$pid, $child])"
}

# All namespaces from another one; the counters, which are the machine's, once and last.
info_netns()
{
	cp "$BIN/rds-info" "$out/" && chmod 755 "$out" "$out/rds-info" || return
	run 0 "$BIN/rds-info" -N &&
	has "=== network namespace $(stat -L -c %i /run/netns/n1), n1, of .*/$num" 1 &&
	has "=== network namespace $(stat -L -c %i /run/netns/n2), n2, of .*/$num" 1 &&
	has "10\.1\.0\.1 +4001 .*" && has "10\.1\.0\.2 +4000 .*" &&
	has 'Counters:' 1 && [ "$(grep -n '^Counters:' "$out/stdout" | cut -d: -f1)" -gt \
		"$(grep -n '^===' "$out/stdout" | tail -n 1 | cut -d: -f1)" ] &&
	run 0 "$BIN/rds-info" -N --json &&
	json "'counters' in d and 'counters' not in d['namespaces'][0]" &&
	json "[s['bound_addr'] for n in d['namespaces'] if n['name'] == 'n2'
	       for s in n['sockets'] if s['bound_port'] == 4000] == ['10.1.0.2']" &&
	json "d['namespaces'][0]['netns'] == $(stat -L -c %i /proc/self/ns/net)" &&
	run 1 setpriv --reuid=65534 --clear-groups "$out/rds-info" -N --json &&
	complains '^rds-info: cannot enter the network namespace' && json "d['namespaces'] == []"
}

# The wrappers may leave a shell or ip(8) above the process itself.
holder()
{
	local fd
	for fd in /proc/[0-9]*/fd/1; do
		[ "$(readlink "$fd")" = "$out/receiver" ] || continue
		fd=${fd#/proc/}
		fd=${fd%%/*}
		[ "$(readlink "/proc/$fd/fd/3" | cut -d: -f1)" = socket ] && echo "$fd"
	done | head -n 1
}

info_connections()
{
	run 0 n1 "$BIN/rds-info" -n &&
	has ' *LocalAddr +RemoteAddr +Tos +NextTX +NextRX +Flgs' 1 &&
	has " *10\.1\.0\.1 +10\.1\.0\.2 +0 +$num +$num +[s-][c-]C" 1 &&
	has " *10\.1\.0\.1 +10\.1\.0\.99 +0 +$num +$num +[s-][c-]-" 1 &&
	run 0 n1 "$BIN/rds-info" -nv &&
	has ' *LocalAddr .* Flgs +Transport' 1 && has '.* [s-][c-]C +tcp' 1
}

info_paths()
{
	run 0 n1 "$BIN/rds-info" -p &&
	has ' *LocalAddr +RemoteAddr +Tos +Path +State +Queued +Unacked +Links +Ended +Why' 1 &&
	has " *10\.1\.0\.1 +10\.1\.0\.2 +0 +0/8 +up +0 +0 +$num .*" 1 &&
	has " *10\.1\.0\.1 +10\.1\.0\.99 +0 .* $num +E(HOSTUNREACH|TIMEDOUT)" &&
	has " *10\.1\.0\.1 +10\.1\.0\.2 +0 +[0-7]/8 +up .*" 8 &&
	run 0 n1 "$BIN/rds-info" -pv && has ' *LocalAddr .* State +NextTX +NextRX .* Backoff .*' 1 &&
	run 0 n1 "$BIN/rds-info" -p &&
	! grep -q fd00 "$out/stdout" &&
	run 0 n1 "$BIN/rds-info" --json -p &&
	json "sorted(p['path'] for p in d['paths'] if p['remote_addr'] == '10.1.0.2') ==
	      list(range(8))" &&
	json "all(p['transport'] == 'tcp' for p in d['paths'])" &&
	json "all((p['ended_s'] is None) == (p['ended_why'] == '') for p in d['paths'])" &&
	json "[p['ended_why'] for p in d['paths'] if p['remote_addr'] == '10.1.0.99'][0][0] == 'E'" &&
	json "any(p['local_addr'] == 'fd00:1::1' for p in d['paths'])" &&
	run 0 n1 "$BIN/rds-info" -6p && ! grep -q '10\.1\.0' "$out/stdout"
}

no_paths() { run 1 n1 "$BIN/rds-info" -p && complains 'no module offers it'; }

info_receive_queue()
{
	run 0 n2 "$BIN/rds-info" -r &&
	has ' *LocalAddr +LPort +RemoteAddr +RPort +Tos +Seq +Bytes' 1 &&
	has " *10\.1\.0\.2 +4000 +10\.1\.0\.1 +4001 +0 +$num +100" 1 &&
	has " *10\.1\.0\.2 +4000 +10\.1\.0\.1 +4001 +0 +$num +101" 1 &&
	has " *10\.1\.0\.2 +4000 +10\.1\.0\.1 +4001 +0 +$num +102" 1
}

info_send_queue()
{
	run 0 n1 "$BIN/rds-info" -s &&
	has " *$local +4001 +$nobody +4009 +0 +$num +77" 1
}

# What is sent while the link is cut stays unacknowledged.
info_retransmit_queue()
{
	local rc
	n2 ip link set eth0 down
	n1 python3 - <<-'PYTHON' &
	import socket, time
	s = socket.socket(21, socket.SOCK_SEQPACKET)
	s.bind(("10.1.0.1", 4002))
	s.sendto(bytes(55), socket.MSG_DONTWAIT, ("10.1.0.2", 4000))
	time.sleep(30)
	PYTHON
	busywait 20 in_retransmit_queue
	rc=$?
	kill $!
	wait $! 2>/dev/null
	n2 ip link set eth0 up
	n2 ip addr replace fd00:1::2/64 dev eth0 nodad
	return $rc
}

in_retransmit_queue()
{
	run 0 n1 "$BIN/rds-info" -t &&
	has " *$local +4002 +$peer +4000 +0 +$num +55" 1 >/dev/null && fits 80 1
}

info_tcp()
{
	run 0 n1 "$BIN/rds-info" -T &&
	has ' *LocalAddr +LPort +RemoteAddr +RPort +Hdr +Data +SentNxt +ExpectUna +SeenUna' 1 &&
	has " *10\.1\.0\.1 +$num +10\.1\.0\.2 +16385 +48 +0 +$num +$num +$num"
}

info_json()
{
	run 0 n1 "$BIN/rds-info" --json &&
	json "set(d) == {'paths', 'ib_connections', 'tcp_sockets', 'counters', 'sockets',
		'connections', 'receive_queue', 'send_queue', 'retransmit_queue'}" &&
	json "d['ib_connections'] is None" &&
	json "list(d['counters'])[0] == 'conn_reset'" &&
	json "{'bound_addr': '10.1.0.1', 'bound_port': 4001,
	       'connected_addr': '10.1.0.2', 'connected_port': 4000}.items() <=
	      next(s for s in d['sockets'] if s['bound_port'] == 4001).items()" &&
	json "any(s['bound_addr'] == '::' and s['bound_port'] == 0
		  for s in d['sockets'])" &&
	json "any(c['remote_addr'] == '10.1.0.2' and c['connected'] and
		  c['transport'] == 'tcp' and c['tos'] == 0
		  for c in d['connections'])" &&
	json "any(m['local_port'] == 4001 and m['remote_port'] == 4009 and
		  m['bytes'] == 77 for m in d['send_queue'])" &&
	json "any(t['remote_port'] == 16385 and t['hdr_rem'] == 48
		  for t in d['tcp_sockets'])"
}

info_json_one()
{
	run 0 n2 "$BIN/rds-info" --json -r && json "list(d) == ['receive_queue']" &&
	json "[m['bytes'] for m in d['receive_queue']
	       if m['remote_port'] == 4001] == [100, 101, 102]"
}

info_v6_queue()
{
	run 0 n1 "$BIN/rds-info" -6s &&
	has " *fd00:1::1 +$num +fd00:1::99 +0 +0 +$num +0" &&
	! grep -q '10\.1\.0' "$out/stdout"
}

info_v6_sockets()
{
	run 0 n1 "$BIN/rds-info" -6k && has " *fd00:1::1 +$num +:: +0 .*" 8 &&
	has ' *:: +0 +:: +0 .*' && ! grep -q '10\.1\.0' "$out/stdout"
}

info_v6_connections()
{
	run 0 n1 "$BIN/rds-info" -6n &&
	has " *fd00:1::1 +fd00:1::99 +- +$num +$num +[s-][c-]-" 1
}

info_all()
{
	run 0 n1 "$BIN/rds-info" -ak && has ' *fd00:1::1 .*' 8 &&
	has ' *10\.1\.0\.1 +4001 .*' 1
}

info_v4_only()
{
	run 0 n1 "$BIN/rds-info" -k && ! grep -q fd00 "$out/stdout" &&
	run 0 n1 "$BIN/rds-info" -4 --json -k && json "all(
		':' not in s['bound_addr'] for s in d['sockets'])"
}

info_ib_missing()
{
	run 1 "$BIN/rds-info" -I && complains 'no module offers it' &&
	run 1 "$BIN/rds-info" -I --json && json "d == {'ib_connections': None}"
}

info_options()
{
	run 0 "$BIN/rds-info" -h && has 'Usage: rds-info .*' 1 &&
	run 0 "$BIN/rds-info" --help &&
	run 2 "$BIN/rds-info" -x && complains "^rds-info: invalid option -- 'x'" &&
	complains "^Try 'rds-info -h'" && [ "$(wc -l <"$out/stderr")" = 2 ] &&
	run 2 "$BIN/rds-info" --nonsense && run 2 "$BIN/rds-info" argument
}

# The version, of the program and of the modules, as they tell it
info_version()
{
	run 0 "$BIN/rds-info" -V && has 'rds-info [0-9].*' 1 &&
	has 'module rds_rdma: not loaded' 1 && run 0 "$BIN/rds-info" --version &&
	if [ -n "$RDS_REF" ]; then
		has 'module rds: .*' 1
	else
		has "module rds: $(modinfo -F version rds)" 1 &&
		has "module rds_tcp: $(modinfo -F version rds)" 1
	fi
}

ping_version()
{
	run 0 "$BIN/rds-ping" -V && has "rds-ping [0-9].*" 1 && run 0 "$BIN/rds-ping" --version &&
	run 0 "$BIN/rds-bench" -V && has "rds-bench [0-9].*" 1
}

info_disk_full() { run 1 bash -c "exec '$BIN/rds-info' >/dev/full"; }

# Thousands of records: more than a page, and the buffer has to grow.
info_many_records()
{
	run 0 n2 python3 -c '
import resource, socket, subprocess, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
held = []
for port in range(10000, 12000):
    s = socket.socket(21, socket.SOCK_SEQPACKET)
    s.bind(("10.1.0.2", port))
    held.append(s)
sys.exit(subprocess.call([sys.argv[1], "-k", "--json"]))' "$BIN/rds-info" &&
	json "sorted(s['bound_port'] for s in d['sockets'] if
	      10000 <= s['bound_port'] < 12000) == list(range(10000, 12000))"
}

answers() { has " *$1: $num usec" 1; }

# answered OPTION...: all pings are, however slow the machine is
answered() { run 0 n1 "$BIN/rds-ping" -w 20 "$@"; }

# A line before and two behind the answers
ping_summary()
{
	answered -c 3 -i 0.1 10.1.0.2 &&
	has 'RDS ping 10\.1\.0\.2 from 10\.1\.0\.1' 1 &&
	[ "$(head -n 1 "$out/stdout" | cut -c 1-8)" = "RDS ping" ] &&
	has '3 sent, 3 answered, 0 % lost' 1 &&
	has "round trip min/avg/max/mdev = $num/$num/$num/$num usec" 1 && sane &&
	run 1 n1 "$BIN/rds-ping" -c 3 -i 0.1 -w 0.3 10.1.0.98 &&
	has '3 sent, 0 answered, 100 % lost' 1 && ! has 'round trip.*' >/dev/null
}

# The summary is that of the answers above it.
sane()
{
	awk '/^ *[0-9]+: [0-9]+ usec$/ { n++; s += $2; if (n == 1 || $2 < min) min = $2; if ($2 > max) max = $2 }
	     /^round trip/ { split($5, v, "/") }
	     END { avg = s / n; exit !(v[1] - min <= 1 && v[3] - max <= 1 && v[2] - avg <= 1 && avg - v[2] <= 1) }' \
		"$out/stdout"
}

# One socket: the next ping waits for the answer, or until that is given up.
ping_sockets()
{
	answered -c 5 -i 0.01 -n 1 10.1.0.2 && answers 5 &&
	run 1 n1 "$BIN/rds-ping" -c 2 -i 0.01 -n 1 -w 0.3 --json 10.1.0.98 &&
	json "(d['sent'], d['lost']) == (2, 2)" &&
	answered -c 64 -i 0.0001 -n 64 10.1.0.2 &&
	run 2 "$BIN/rds-ping" -n 0 10.1.0.2 && run 2 "$BIN/rds-ping" -n 65 10.1.0.2
}

ping_disk_full() { run 1 bash -c "exec '$BIN/rdsns' n1 '$BIN/rds-ping' -c 1 10.1.0.2 >/dev/full"; }

ping_plain()
{
	answered -c 3 -i 0.1 "$@" && has " *$num: $num usec" 3 &&
	answers 1 && answers 2 && answers 3
}

ping_format() { answered -c 1 10.1.0.2 && has "   1: $num usec" 1; }

# More pings than sockets, faster than a round trip may be
ping_fast()
{
	answered -c 500 -i 0.0001 10.1.0.2 &&
	has " *$num: $num usec" 500
}

ping_json()
{
	answered -c 3 -i 0.1 --json 10.1.0.2 &&
	json "d['host'] == '10.1.0.2' and d['local'] == '10.1.0.1'" &&
	json "[p['seq'] for p in d['pings']] == [1, 2, 3]" &&
	json "all(p['usec'] > 0 for p in d['pings'])" &&
	json "(d['sent'], d['answered'], d['lost']) == (3, 3, 0)" &&
	json "0 < d['usec']['min'] <= d['usec']['avg'] <= d['usec']['max']" &&
	json "0 <= d['usec']['mdev'] <= d['usec']['max']"
}

ping_nobody()
{
	run 1 n1 "$BIN/rds-ping" -c 2 -i 0.1 -w 0.5 10.1.0.98 &&
	has ' *1: no answer' 1 && has ' *2: no answer' 1
}

ping_nobody_json()
{
	run 1 n1 "$BIN/rds-ping" -c 2 -i 0.1 -w 0.5 --json 10.1.0.98 &&
	json "(d['sent'], d['answered'], d['lost']) == (2, 0, 2)" &&
	json "[p['usec'] for p in d['pings']] == [None, None]" &&
	json "'usec' not in d"
}

# A ping that was given up does not stay in the queue for ever; what the
# kernel itself sends from port 1 does.
ping_withdrawn()
{
	n1 timeout 6 "$BIN/rds-ping" -i 0.1 -w 60 fd00:1::97 >/dev/null &
	busywait 10 pings_queued || return
	wait $!
	run 1 n1 "$BIN/rds-ping" -c 2 -i 0.1 -w 0.5 fd00:1::97 &&
	run 0 n1 "$BIN/rds-info" -6s && ! pings_queued
}

pings_queued()
{
	n1 "$BIN/rds-info" -6s |
		grep -qE ' ([2-9]|[1-9][0-9]+) +fd00:1::97 +0 '
}

# Per namespace here, one for the whole machine in the reference
ping_enable()
{
	n2 sysctl -q -w net.rds.ping_enable="$1" 2>/dev/null ||
		sysctl -q -w net.rds.ping_enable="$1"
}

# Pings that get no answer must not hold up those that come later.
ping_lost_answer()
{
	local rc
	ping_enable 0 || return
	(sleep 0.7; ping_enable 1) &
	run 1 n1 "$BIN/rds-ping" -c 8 -i 0.5 -w 6 10.1.0.2
	rc=$?
	wait $!
	[ $rc -eq 0 ] && has ' *1: no answer' 1 && answers 8 &&
	[ "$(grep -n ' 8: ' "$out/stdout" | cut -d: -f1)" -lt \
	  "$(grep -n ' 1: ' "$out/stdout" | cut -d: -f1)" ]
}

ping_interrupted()
{
	run 0 n1 timeout --preserve-status -s INT 2 "$BIN/rds-ping" -i 0.2 --json 10.1.0.2 &&
	[ -s "$out/stdout" ] && json "d['answered'] >= 1"
}

ping_source()
{
	answered -c 1 -I 10.1.0.1 --json 10.1.0.2 &&
	json "d['local'] == '10.1.0.1'" &&
	run 1 n1 "$BIN/rds-ping" -c 1 -I 10.1.0.77 10.1.0.2 &&
	complains '^rds-ping: no local address 10\.1\.0\.77$' &&
	run 2 n1 "$BIN/rds-ping" -c 1 -I fd00:1::1 10.1.0.2
}

ping_tos()
{
	answered -c 1 -Q 7 10.1.0.2 &&
	run 1 n1 "$BIN/rds-ping" -c 1 -Q 7 127.0.0.1 &&
	complains 'no type of service' &&
	run 2 "$BIN/rds-ping" -Q 256 10.1.0.2 && run 2 "$BIN/rds-ping" -Q x 10.1.0.2
}

ping_link_local()
{
	local addr
	addr=$(n2 ip -6 -o addr show dev eth0 scope link |
	       sed -n 's,.*inet6 \([^/]*\)/.*,\1,p' | head -n 1)
	[ -n "$addr" ] && ping_plain "$addr%eth0"
}

ping_unknown_host()
{
	run 2 n1 "$BIN/rds-ping" -c 1 no.such.host.invalid &&
	complains 'no\.such\.host\.invalid' &&
	run 2 n1 "$BIN/rds-ping" -6 -c 1 10.1.0.2
}

ping_no_route()
{
	run 1 n1 "$BIN/rds-ping" -c 1 192.0.2.1 && complains 'no way to the host'
}

ping_options()
{
	run 0 "$BIN/rds-ping" -h && has 'Usage: rds-ping .*' 1 &&
	run 2 "$BIN/rds-ping" && complains '^rds-ping: no host$' &&
	complains "^Try 'rds-ping -h'" && [ "$(wc -l <"$out/stderr")" = 2 ] &&
	run 2 "$BIN/rds-ping" a b && run 2 "$BIN/rds-ping" -x 10.1.0.2 &&
	run 2 "$BIN/rds-ping" -c 0 10.1.0.2 && run 2 "$BIN/rds-ping" -c -1 10.1.0.2 &&
	run 2 "$BIN/rds-ping" -c 5x 10.1.0.2 && run 2 "$BIN/rds-ping" -i 0 10.1.0.2 &&
	run 2 "$BIN/rds-ping" -i nan 10.1.0.2 && run 2 "$BIN/rds-ping" -i -1 10.1.0.2 &&
	run 2 "$BIN/rds-ping" -w '' 10.1.0.2
}

ktap_header
coproc JUDGE { exec python3 -ISc "$judge" "$out/stdout"; }
setup_pair
hold_receiver
hold_sender
hold_sender6
busywait 10 arrived
busywait 10 acked

# nobody answers for 10.1.0.99
gave_up() { n1 "$BIN/rds-info" --json -p | grep -q '"10.1.0.99".*"ended_why": "E'; }
[ -n "$RDS_REF" ] || busywait 20 gave_up

check "rds-info prints all sections" info_text
check "rds-info: each section fits 80 columns, and is in line with its titles" info_columns
check "rds-info: each section is looked at" info_columns_all
check "rds-info -c" info_counters
check "rds-info -c counts" info_counters_count
check "rds-info --nonzero" info_nonzero
check "rds-info -k" info_sockets
check "rds-info -k: inode" info_inode
check "rds-info -k: processes" info_processes
check "rds-info -N" info_netns
check "rds-info -V" info_version
check "rds-info -n" info_connections
if [ -n "$RDS_REF" ]; then
	check "rds-info -p" no_paths
else
	check "rds-info -p" info_paths
fi
check "rds-info -r" info_receive_queue
check "rds-info -s" info_send_queue
check "rds-info -t" info_retransmit_queue
check "rds-info -T" info_tcp
check "rds-info --json" info_json
check "rds-info --json with one section" info_json_one
check "rds-info -6s" info_v6_queue
check "rds-info -6k" info_v6_sockets
check "rds-info -6n" info_v6_connections
check "rds-info -a" info_all
check "rds-info -4" info_v4_only
check "rds-info -I without InfiniBand" info_ib_missing
check "rds-info with wrong options" info_options
check "rds-info to a full disk" info_disk_full
check "rds-info with 2000 records" info_many_records
check "rds-ping IPv4" ping_plain 10.1.0.2
check "rds-ping IPv6" ping_plain fd00:1::2
check "rds-ping v4-mapped address" ping_plain ::ffff:10.1.0.2
check "rds-ping link-local address" ping_link_local
check "rds-ping 127.0.0.1" ping_plain 127.0.0.1
check "rds-ping ::1" ping_plain ::1
check "rds-ping own address" ping_plain 10.1.0.1
check "rds-ping format" ping_format
check "rds-ping faster than sockets allow" ping_fast
check "rds-ping: header and summary" ping_summary
check "rds-ping -n" ping_sockets
check "rds-ping -V" ping_version
check "rds-ping to a full disk" ping_disk_full
check "rds-ping --json" ping_json
check "rds-ping to nobody" ping_nobody
check "rds-ping --json to nobody" ping_nobody_json
check "rds-ping withdraws what it gave up" ping_withdrawn
check "rds-ping goes on after a lost answer" ping_lost_answer
check "rds-ping interrupted" ping_interrupted
check "rds-ping -I" ping_source
check "rds-ping -Q" ping_tos
check "rds-ping unknown host" ping_unknown_host
check "rds-ping without a route" ping_no_route
check "rds-ping with wrong options" ping_options

ktap_finish
