#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge,inet_diag,tcp_diag timeout=240 ref=0 lanes=uml
# A peer that wants the victim's memory: messages that never end, messages that nobody
# reads, answers that it does not take.  Whatever it does costs a bounded amount, and only who
# does not read loses anything.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

# Of those who must be there to the end.
LIMIT=$((220 + 120 * ${RDS_SOAK:-0}))
PATIENCE=$((LIMIT * ${RDS_SLOW:-1}))
# Given time, more of everything.
MUCH=$((1 + ${RDS_SOAK:-0}))
[ $MUCH -le 5 ] || MUCH=5
PARTIAL=$((150 * MUCH))	# links with 1 MiB but one byte each, half as much again as may be held
# A queue is full at 8 MiB, which is 65,536 of the smallest; it may have 1.3 MiB above that.
EMPTY=$((110000 * MUCH))
TINY=$((110000 * MUCH))
LARGE=$((600 * MUCH))	# of 60,000 bytes

# hog SCENARIO FROM TO COUNT NUMBER: run it and await its proof, the NUMBER-th of that address
hog() {
	local rc got=$T/numbers

	case $3 in \[*) got=$T/numbers6 ;; esac
	n1 timeout $((PATIENCE - 30)) "$BIN/rdshog" "$1" "$2" "$3" 7000 "$5" "$4" >"$T/$1" 2>&1 </dev/null
	rc=$?
	show_file "$T/$1"
	busywait 15 grep -q "^got $5\$" "$got" || {
		note "the valid message after it did not arrive"
		rc=1
	}
	[ $rc = 0 ] || show_state
	return $rc
}

partial() {
	local rc

	watch_memory
	hog partial '[fd00::1]:0' '[fd00:1::ffff]:0' "$PARTIAL" 0
	rc=$?
	memory_bounded 100000 40000 && return $rc
}

# unread SCENARIO COUNT NUMBER PEAK_KB: to a socket that nobody reads; at last somebody does
unread() {
	local rc=0 reader dropped got

	: >"$T/unread"	# not what the last one said
	dropped=$(counter n3 recv_drop_full) || return 1
	n3 "$BIN/rdshog" unread 10.1.0.3:7001 "$2" >"$T/unread" 2>&1 </dev/null &
	reader=$!
	busywait 10 grep -q ready "$T/unread"
	watch_memory
	hog "$1" 10.1.0.1:0 10.1.0.3:0 "$2" "$3" || rc=1
	# with KASAN what was dropped is not free at once
	memory_bounded $(($4 + $(kept_back))) $(($4 + $(kept_back))) || rc=1
	pkill -USR1 -P $reader rdshog || kill -USR1 $reader
	wait $reader || rc=1
	show_file "$T/unread"
	# what is not there was counted
	dropped=$(($(counter n3 recv_drop_full) - dropped))
	got=$(sed -n 's/^\([0-9]*\) messages.*/\1/p' "$T/unread")
	[ $((dropped + ${got:-0})) -eq "$2" ] || { note "$dropped dropped"; rc=1; }
	[ $rc != 0 ] || MOVED=$((MOVED + got))
	return $rc
}

# The victim has 1,000 messages for a peer that does not read for a while.
deaf() {
	local rc sender

	watch_memory
	hog deaf 10.1.0.1:0 10.1.0.3:0 1000 0 &
	sender=$!
	busywait 15 grep -q deaf "$T/deaf"
	n3 timeout 120 "$BIN/rds-traffic" send -b 10.1.0.3:7200 -d 10.1.0.1:7100 -n 1000 \
		-S 10000 -t $((100 * ${RDS_SLOW:-1})) --json >"$T/deaf.send" 2>&1 </dev/null
	rc=$?
	wait $sender || rc=1
	memory_bounded 30000 20000 || rc=1
	[ $rc = 0 ] && MOVED=$((MOVED + 1000)) || show_file "$T/deaf.send"
	return $rc
}

# Tear-downs that wait must not keep an honest peer from coming up.
drains() {
	local rc=0 job

	watch_memory
	hog drains '[fd00::1]:0' '[fd00:1::ffff]:0' 400 1 &
	job=$!
	busywait 60 grep -q draining "$T/drains"
	LIMIT=20 duplex late n2 10.1.0.20 n3 10.1.0.3 100 || rc=1
	kill -0 $job || { note "it was over too soon"; rc=1; }
	wait $job || rc=1
	memory_bounded 150000 40000 || rc=1
	return $rc
}

# While they are there a peer who was not yet connected is let in.
syn_flood() {
	local rc seen watch

	watch_memory
	# Nobody answers for their addresses, so the first are gone when the last come.
	n3 sh -c "while [ ! -e '$T/flooded' ]; do ss -Htan state syn-recv | wc -l; sleep 0.1; done" \
		>"$T/syn-recv" &
	watch=$!
	n1 timeout 60 "$BIN/rdspeer" syn-flood 10.1.0.100:0 10.1.0.3:0 7000 0 5000 >"$T/peer" 2>&1
	rc=$?
	show_file "$T/peer"
	sleep 0.5
	: >"$T/flooded"
	wait $watch
	seen=$(sort -n "$T/syn-recv" | tail -n 1)
	note "in SYN-RECV at 10.1.0.3 at most: $seen"
	[ "$seen" -ge 50 ] || rc=1
	duplex syn n2 10.1.0.21 n3 10.1.0.3 200 || rc=1
	memory_bounded 30000 20000 || rc=1
	return $rc
}

ktap_header
setup_hostile
ip -n n3 addr add fd00:1::ffff/64 dev eth0 nodad
ip -n n2 addr add 10.1.0.20/24 dev eth0
ip -n n2 addr add 10.1.0.21/24 dev eth0
# What TCP can hold is not what is tested.
n3 sysctl -qw net.ipv4.tcp_rmem="4096 131072 1048576"
many_addresses n1 fd00:1::1 n3
n3 "$BIN/rdsmisc" numbers 10.1.0.3:7000 4 $PATIENCE >"$T/numbers" 2>&1 </dev/null &
n3 "$BIN/rdsmisc" numbers '[fd00:1::ffff]:7000' 2 $PATIENCE >"$T/numbers6" 2>&1 </dev/null &
start_flow honest6 n2 '[fd00:1::2]' n3 '[fd00:1::ffff]' 3000 -S 0-1000 -r 50
start_honest 3000 50
PEER_BYTES=$(n3 sysctl -n net.rds.max_peer_bytes)
n3 sysctl -qw net.rds.max_peer_bytes=4194304
check "a peer that does not read" deaf
check "5,000 half-open connections" syn_flood
check "$EMPTY empty messages to an unread socket" unread empties "$EMPTY" 1 40000
check "$TINY messages of 4 bytes to an unread socket" unread tinies "$TINY" 2 40000
check "$LARGE messages of 60,000 bytes to an unread socket" unread larges "$LARGE" 3 40000
n3 sysctl -qw net.rds.max_peer_bytes="$PEER_BYTES"
check "$PARTIAL MiB in messages that never end" partial
check "400 peers that hold up the end of their links" drains
check "honest peers were served all the while, both ways" end_honest
check "over IPv6 too" steady honest6 3000
check "a new flow to the victim" duplex after n2 10.1.0.2 n3 10.1.0.3 200
moved
ktap_finish
