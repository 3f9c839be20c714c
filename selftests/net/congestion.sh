#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,inet_diag,tcp_diag timeout=90 waits=1 lanes=uml
# A full receiver stops its senders, and they are told when they may go on.
. "$(dirname "$0")/common.sh"

# congested ID NS1 A1 NS2 A2 opts: the receiver sleeps 1.5 s after 50 messages
congested() {
	local id=$1 rc=0 job

	RECV_OPTS="--rcvbuf 16384 --pause-after 50 --pause 1500" \
		start_flow "$@" -S 100-3000 -r 800 --sndbuf 65536 || return 1
	end_flow "$id" "$6" || rc=1
	[ "$(json "$T/$id.send" enobufs)" -gt 0 ] || {
		note "the sender was never stopped"
		rc=1
	}
	return $rc
}

# One receiver is full, the other on the same host must not suffer.
other_port() {
	local rc=0 before pid

	before=$(counter - cong_send_error)
	RECV_OPTS="--rcvbuf 16384" start_flow full n1 10.1.0.1 n2 10.1.0.2 2000 -S 1000 -r 1000 || return 1
	pid=$(n2 cat "$RD/ready.$READY")
	kill -STOP "$pid"
	busywait 20 counted cong_send_error "$before" 1 || { show_file "$T/counted"; rc=1; }
	start_flow free n1 10.1.0.1 n2 10.1.0.2 400 -S 1000 && end_flow free 400 || rc=1
	[ -s "$T/full.recv" ] && { note "full was not stopped"; rc=1; }
	kill -CONT "$pid"
	end_flow full 2000 || rc=1
	return $rc
}

# Closing the full socket frees its port for those who wait.
freed_by_close() {
	local rc=0

	start_recv gone n2 10.1.0.2:3999 100000 1 --rcvbuf 8192 \
		--pause-after 1 --pause 60000 || return 1
	n1 "$BIN/rdsmisc" flood 10.1.0.1:3998 10.1.0.2:3999 1 >/dev/null
	drop_recv gone n2
	start_recv again n2 10.1.0.2:3999 200 1 || return 1
	start_send again n1 10.1.0.1:3997 10.1.0.2:3999 200 -S 500
	end_flow again 200
}

nothing_waits() {
	local rows

	rows=$(n2 "$BIN/rds-info" --json -s -t) && ! grep -qw 3996 <<<"$rows"
}

# The receiver's host dies while its port is full and nothing is under way, and comes back.
# Its address is the smaller one: only it dials, and it has no reason to. What the sender
# knows of the port is out of date.
died_while_full() {
	start_recv dead n1 10.1.0.1:3996 100000 1 --rcvbuf 8192 \
		--pause-after 1 --pause 60000 || return 1
	n2 "$BIN/rdsmisc" flood 10.1.0.2:3995 10.1.0.1:3996 1 >/dev/null
	busywait 10 nothing_waits || return 1
	n2 ip link set eth0 down
	drop_recv dead n1
	ip netns del n1
	n2 "$BIN/rdsmisc" killtcp 100 1 >/dev/null 2>&1 </dev/null
	lib_netns n1
	ip -n n2 link del eth0 2>/dev/null
	lib_join
	start_recv alive n1 10.1.0.1:3996 200 1 || return 1
	start_send alive n2 10.1.0.2:3994 10.1.0.1:3996 200 -S 500
	end_flow alive 200
}

ktap_header
setup_pair
check "to the larger address" congested up n1 10.1.0.1 n2 10.1.0.2 1000
check "to the smaller address" congested down n2 10.1.0.2 n1 10.1.0.1 1000
check "with the congestion monitor, to the larger" \
	congested upm n1 10.1.0.1 n2 10.1.0.2 1000 --monitor
check "with the congestion monitor, to the smaller" \
	congested downm n2 10.1.0.2 n1 10.1.0.1 1000 --monitor
if ours; then
	check "no wake-up was missed" no_stalls up down upm downm
fi
check "another port of the same host is not held up" other_port
check "closing the full socket lets the senders go on" freed_by_close
check "a host that died with a full port and came back" died_while_full
moved
ktap_finish
