#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge,inet_diag,tcp_diag timeout=200 ref=0 uml=0
# A BPF program at connect() (BPF_CGROUP_INET4_CONNECT) leads what we dial to another host, or back,
# as the middlebox of net/nat does, but without a translation: the connection has the addresses that it
# really has.  The kernel runs it for connections of its own (kernel_connect()), too, by the control
# group of who made the socket; we dial in workers, and these are in the root one.
. "$(dirname "$0")/common.sh"
LIMIT=90

# start_flows ID COUNT [opts]: sixteen sockets each way between n1 and n2
start_flows() {
	local id=$1 count=$2

	shift 2
	FLOWS=16 start_flow "$id-a" n1 10.1.0.1 n2 10.1.0.2 "$count" -k 16 "$@" || return 1
	FLOWS=16 start_flow "$id-b" n2 10.1.0.2 n1 10.1.0.1 "$count" -k 16 "$@"
}

end_flows() {
	local rc=0

	end_flow "$1-a" $((16 * $2)) || rc=1
	end_flow "$1-b" $((16 * $2)) || rc=1
	return $rc
}

# mislead ADDRESS NEW, until let_go
mislead() {
	"$BIN/rdsmisc" mislead "$1" "$2" >"$T/bpf" 2>&1 </dev/null &
	PROGRAM=$!
	busywait 10 grep -q ready "$T/bpf" || { show_file "$T/bpf"; return 1; }
}

let_go() {
	kill $PROGRAM
	wait $PROGRAM 2>/dev/null
}

cut() {
	n1 "$BIN/rdsmisc" killtcp "$1" "$2" >"$T/cut" 2>&1
	show_file "$T/cut"
}

answers() {
	n1 timeout 5 "$BIN/rds-ping" -c 1 10.1.0.2 >/dev/null
}

# An attempt that began under another rule takes up to seven seconds.
all_up() {
	busywait 30 answers && busywait 20 has_links n1 8
}

said() {
	log_since | grep -q "rds: link.*$1"
}

# misled ID WHAT-IS-SAID TO: in mid-traffic n1's links are led away, and then as they should be
misled() {
	local before rc=0 id=$1 words=$2

	all_up && start_flows "$id" 20 -S 0-1500 -r 20 || return 1
	log_from_here
	before=$(counter - link_wrong_peer)
	mislead 10.1.0.2 "$3" || return 1
	cut 10 0.01
	will_count 20 link_wrong_peer "$before" 2 || rc=1
	said "$words" || rc=1
	let_go
	end_flows "$id" 20 || rc=1
	return $rc
}

# Nobody has 10.1.0.9: as the address of a service it is n4, for who connects.
service() {
	local rc=0

	mislead 10.1.0.9 10.1.0.4 || return 1
	PORT=$((PORT + 100))
	start_recv service n4 "10.1.0.4:$PORT" 60 16 || return 1
	start_send service n1 "10.1.0.1:$((PORT + 46000))" "10.1.0.9:$PORT" 60 -k 16 -S 0-1500 -r 60
	sleep 0.3
	cut 300 1
	end_flow service $((16 * 60)) || rc=1
	let_go
	return $rc
}

ktap_header
setup_nodes 4
check "links led to another host: it gets nothing" misled away "another host answers" 10.1.0.3
check "links led back: nobody gets anything" misled back "leads back" 10.1.0.1
check "an address that others have only by such a program, and links break" service
moved
ktap_finish
