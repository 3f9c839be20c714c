# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the tests against in-tree peers, on the host. Two guests, a at
# 10.0.0.1 and b at 10.0.0.2; OURS and PEER say which is which.

# shellcheck source=../net/common.sh
. "${SELFTESTS:-$(dirname "$0")/..}/net/common.sh"

RD=/tmp
LIMIT=90

there() { on "$1" test -e "$2"; }
a() { on a "$@"; }
b() { on b "$@"; }

addr() {
	case $1 in
	a) echo 10.0.0.1 ;;
	b) echo 10.0.0.2 ;;
	esac
}

addr6() {
	case $1 in
	a) echo fd00::1 ;;
	b) echo fd00::2 ;;
	esac
}

# both ID COUNT opts: duplex between the guests
both() {
	local id=$1 count=$2

	shift 2
	duplex "$id" a 10.0.0.1 b 10.0.0.2 "$count" "$@"
}

ping6() {
	on "$PEER" "$BIN/rds-ping" -c 5 -i 0.1 -w 20 -I "$(addr6 "$PEER")" "$(addr6 "$OURS")" \
		>"$T/ping6" 2>&1
}

# Pings first, as with IPv4: an in-tree sender that learns only in mid-traffic how many
# paths there are reorders its messages (weakness 7 of the specification).
both6() {
	local id=$1 count=$2

	shift 2
	busywait 10 ping6 || { show_file "$T/ping6"; return 1; }
	duplex "$id" a '[fd00::1]' b '[fd00::2]' "$count" "$@"
}

# congested FROM TO [opts]: a receiver of 16 KiB sleeps, its sender must stop.
# At 800 messages a second: without a pace the whole 1.2 MB may be on its way
# before the peer's map update is.
congested() {
	local from=$1 to=$2 id="cong-$1-${3:-plain}" rc=0

	shift 2
	RECV_OPTS="--rcvbuf 16384 --pause-after 50 --pause 1500" \
		start_flow "$id" "$from" "$(addr "$from")" "$to" "$(addr "$to")" \
		800 -S 100-3000 -r 800 --sndbuf 65536 "$@" || return 1
	end_flow "$id" 800 || rc=1
	[ "$(json "$T/$id.send" enobufs)" -gt 0 ] || {
		note "the sender was never stopped"
		rc=1
	}
	if [ "$from" = "$OURS" ] && [ "$(json "$T/$id.send" stalls)" != 0 ]; then
		note "our sender was not woken"
		rc=1
	fi
	return $rc
}

ping() {
	local out rc

	out=$(on "$1" "$BIN/rds-ping" -c 10 -i 0.1 -w 20 -I "$(addr "$1")" "$(addr "$2")" 2>&1)
	rc=$?
	echo "$out" | sed 's/^/# /'
	MOVED=$((MOVED + 10))
	[ $rc = 0 ] && [ "$(echo "$out" | grep -c ': [0-9]* usec$')" -eq 10 ]
}

# sixteen ID COUNT opts: 16 sockets each way
sixteen() {
	local id=$1 count=$2 rc=0

	shift 2
	FLOWS=16 start_flow "$id-a" a 10.0.0.1 b 10.0.0.2 "$count" -k 16 "$@" || rc=1
	FLOWS=16 start_flow "$id-b" b 10.0.0.2 a 10.0.0.1 "$count" -k 16 "$@" || rc=1
	end_flow "$id-a" $((16 * count)) || rc=1
	end_flow "$id-b" $((16 * count)) || rc=1
	return $rc
}

eight_paths() {
	local n

	n=$(on "$OURS" "ss -Htn state established '( sport = 16385 or dport = 16385 )' | wc -l")
	[ "$n" -ge 8 ]
}

# The cable is out for 20 s.
link_cut() {
	local rc=0

	start_flow cut-a a 10.0.0.1 b 10.0.0.2 2000 -S 0-2000 -r 400 || rc=1
	start_flow cut-b b 10.0.0.2 a 10.0.0.1 2000 -S 0-2000 -r 400 || rc=1
	sleep 1
	link_down b
	sleep 20
	link_up b
	end_flow cut-a 2000 || rc=1
	end_flow cut-b 2000 || rc=1
	return $rc
}

# written NODE: net.rds.tcp.* of NODE changes while both ends send
written() {
	local node=$1 rc=0 i

	start_flow "w$node-a" a 10.0.0.1 b 10.0.0.2 1500 -S 0-2000 -r 300 || rc=1
	start_flow "w$node-b" b 10.0.0.2 a 10.0.0.1 1500 -S 0-2000 -r 300 || rc=1
	for i in 1 2 3 4; do
		sleep 0.7
		on "$node" sysctl -qw net.rds.tcp.rds_tcp_sndbuf=$((40000 * i)) || rc=1
		sleep 0.3
		on "$node" sysctl -qw net.rds.tcp.rds_tcp_rcvbuf=$((40000 * i)) || rc=1
	done
	end_flow "w$node-a" 1500 || rc=1
	end_flow "w$node-b" 1500 || rc=1
	return $rc
}

# restarted NODE OTHER: NODE dies in mid-traffic and comes back empty. OTHER's
# flow goes on to the new receiver, a new flow comes from NODE. What comes before
# there is a receiver is lost: half of it comes afterwards.  Until "booted" has returned only OTHER
# has something to send.
restarted() {
	local node=$1 other=$2 rc=0 n=2000 go

	go=/tmp/half.$((HALVES += 1))
	start_recv before "$node" "$(addr "$node"):9000" $n 1 || return 1
	start_recv back "$other" "$(addr "$other"):9001" 1000 1 --partial || return 1
	start_send again "$other" "$(addr "$other"):9100" "$(addr "$node"):9000" \
		$n -S 0-1500 -r 250 --half $go
	start_send first "$node" "$(addr "$node"):9101" "$(addr "$other"):9001" \
		3000 -S 0-1500 -r 250
	sleep 3
	vm_kill "$node"
	forget before
	forget first
	vm_boot "$node" || return 1
	booted "$node" "$other" || rc=1
	start_recv again "$node" "$(addr "$node"):9000" $n 1 --from-seq any || rc=1
	on "$other" touch $go
	start_send back "$node" "$(addr "$node"):9101" "$(addr "$other"):9001" \
		1000 -S 0-1500
	end_flow_any again $((n / 2 - 20)) || rc=1	# the first may be too short to tell their flow
	end_flow_any back 1000 || rc=1
	return $rc
}
HALVES=0

# booted NODE OTHER: for tests that want to look at the first link of NODE
booted() {
	:
}

# forget ID: its guest is dead, nothing is to be learnt from it
forget() {
	local job left=()

	for job in "${JOBS[@]}"; do
		if [ "${job%%:*}" = "$1" ]; then
			kill "${job##*:}" 2>/dev/null
			wait "${job##*:}" 2>/dev/null
		else
			left+=("$job")
		fi
	done
	JOBS=("${left[@]}")
}

# end_flow_any ID LEAST: no more is known than that LEAST messages or more come, of a flow whose
# receiver began in its middle, or of one whose sender died and of another after it; in order.
end_flow_any() {
	local n

	wait_jobs "$1"
	n=$(json "$T/$1.recv" received)
	end_flow "$1" "${n:-none}" || return 1
	[ "$n" -ge "$2" ] || {
		note "$1: $2 at least were to come"
		return 1
	}
}

wait_jobs() {
	local job

	for job in "${JOBS[@]}"; do
		[ "${job%%:*}" = "$1" ] && while kill -0 "${job##*:}" 2>/dev/null; do
			sleep 0.1
		done
	done
}

# All links die while we answer no pings: the other paths are made again all the same.
unasked() {
	local rc=0

	on $OURS sysctl -qw net.rds.ping_enable=0
	on $OURS ss -K '( sport = 16385 or dport = 16385 )' >/dev/null
	sixteen unasked 60 -S 0-2000 || rc=1
	on $OURS sysctl -qw net.rds.ping_enable=1
	return $rc
}

run_all() {
	ktap_header
	note "ours: $OURS ($(addr $OURS)), peer: $PEER ($(addr $PEER))," \
		"$(on $PEER uname -r)"
	check "ping, ours to peer" ping $OURS $PEER
	check "ping, peer to ours" ping $PEER $OURS
	check "0 to 65536 bytes both ways" both sizes 120 -S 0,1,4095,4096,4097,65536
	check "1 MiB both ways" both large 5 -S 1048576
	check "IPv6: 0 to 65536 bytes both ways" both6 v6 60 -S 0,1,4095,4096,4097,65536
	check "50,000 messages with hashes" both fifty 25000 -S 88-600
	check "congestion on and off, ours sends" congested $OURS $PEER
	check "congestion on and off, peer sends" congested $PEER $OURS
	check "congestion with monitor, ours sends" congested $OURS $PEER --monitor
	check "16 sockets each way over eight paths" sixteen many 150 -S 0-2000
	check "there are eight paths" busywait 10 eight_paths
	check "all links die while we answer no pings" unasked
	check "link down 20 s" link_cut
	check "sysctl written on our side in mid-traffic" written $OURS
	check "sysctl written on the peer in mid-traffic" written $PEER
	check "peer killed and restarted" restarted $PEER $OURS
	check "messages both ways after that" both after 300 -S 0-5000
	moved
	ktap_finish
}
