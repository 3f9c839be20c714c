#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge,inet_diag,tcp_diag timeout=200 ref=0 waits=1 lanes=uml
# Peers that come, are let in or let us in, and go: none of them keeps a connection, makes us
# dial without pause, or has us hold much more than it sent.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

PY=${SELFTESTS:-$(dirname "$0")/..}/hostile
PINS=1500		# of 64 KiB each

none_to() {
	local rows

	rows=$(n3 "$BIN/rds-info" -n) && ! grep -q "$1" <<<"$rows"
}

# pestered HOW: by 10.1.0.1
pestered() {
	program pester n1 doors.py pester 10.1.0.1 10.1.0.3 1000 "$1"
	busywait 15 said pester gone || return 1
	end pester
	! none_to '10\.1\.0\.1 '
}

expired() {
	pestered modern && busywait 45 none_to '10\.1\.0\.1 '
}

# How many links there were to 10.1.0.1.
links_to() {
	n3 "$BIN/rds-info" -p | awk '$1 == "LocalAddr" { for (i = 1; i <= NF; i++) if ($i == "Links") at = i }
		$2 == "10.1.0.1" { n += $at } END { print n + 0 }'
}

not_dialled() {
	local n

	pestered old || return 1
	sleep 1
	n=$(links_to)
	sleep 5
	note "$n links, then $(links_to)"
	[ "$n" -ge 1 ] && [ "$(links_to)" -eq "$n" ]
}

slammed() {
	program slam n1 doors.py slam 10.1.0.9 5
	busywait 10 said slam listening || return 1
	n3 "$BIN/rds-traffic" send -b 10.1.0.3:5000 -d 10.1.0.9:5000 -n 1 -t 12 \
		>/dev/null 2>&1 </dev/null &
	busywait 20 said slam calls || return 1
	wait $!
	end slam
	[ "$(sed -n 's/calls //p' "$T/slam")" -le 60 ]
}

# A segment is what is pinned: let them be large.
jumbo() {
	local i

	for i in 1 3; do
		ip -n nbr link set p$i mtu 65535 && ip -n n$i link set eth0 mtu 65535 || return 1
	done
	ip -n nbr link set br0 mtu 65535
}

pinned() {
	jumbo || return 1
	program read n3 doors.py reads 10.1.0.3 7200 7100
	busywait 15 said read bound || return 1
	watch_memory
	program pins n1 doors.py pins 10.1.0.1 10.1.0.3 7100 7200 $PINS
	busywait 60 said pins sent || return 1
	sleep 1
	end pins
	memory_bounded 60000 50000
}

ktap_header
setup_hostile
n3 sysctl -qw net.rds.idle_conn_timeout_ms=1000
check "what is pinned is not much more than what is unread" pinned
end read
check "pings whose answers nobody takes make us dial nobody" not_dialled
check "and keep no connection" expired
check "who lets us in and out is not dialled without pause" slammed
check "a new flow" duplex after n2 10.1.0.2 n3 10.1.0.3 200
moved
ktap_finish
