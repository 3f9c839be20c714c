# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by net/users and ib/users: one user overdoes it, and what others get is measured.
#
# 400 sockets of one user send as much as they can for 20 s, to a port that nobody has and to a
# socket that is not read.  Meanwhile 16 sockets of another user ask and are answered, between the
# same two addresses; and, in turns with them, 16 more between two other addresses of the same two
# hosts.  Those are the yardstick: same wire, same processor, but a connection that has nothing to
# do with it.  The others must get at least 80 % of their answers, the one with the fewest half of what
# the one with the fewest gets there, and p99 at most three times as late, or three times as late as their
# own before, or three times the time after which the probe looks again.
# So it must be when the sender of all that is dead, with much of it still on its way: on a link in front
# of the others' first messages, and not of those elsewhere, whose p99 counts that they had meanwhile.

# go ID NS ARG...: rdsusers in the background
go() {
	local id=$1 ns=$2

	shift 2
	"$ns" "$BIN/rdsusers" "$@" >"$T/$id" 2>&1 </dev/null &
	eval "pid_$id=$!"
}

says() {
	grep -q "$2" "$T/$1"
}

is_up() {
	busywait $((30 * ${RDS_SLOW:-1})) says "$1" ready
}

ended() {
	local pid=pid_$1

	kill -9 "$(said "$1" ready)"
	wait "${!pid}" 2>/dev/null
}

# said ID KEY: a number it printed
said() {
	sed -n "s/.*$2 \([0-9]*\).*/\1/p" "$T/$1" | tail -1
}

# compare SECONDS: with what is elsewhere, or with BEFORE if that was later
compare() {
	local rc=0 least

	"$NS1" "$BIN/rdsusers" probe 1002 "$A1" "$A2" "${ECHO:-7000}" "$B1" "$B2" "$1" >"$T/probe" 2>&1 || rc=1
	show_file "$T/probe"
	[ "$(figure elsewhere least)" -gt 0 ] || return 1
	[ $((100 * $(said probe beside))) -ge $((80 * $(said probe elsewhere))) ] || rc=1
	# one path of eight that is dead is two sockets, and has next to none
	[ $((2 * $(figure beside least))) -ge "$(figure elsewhere least)" ] || rc=1
	least=$(figure elsewhere p99)
	[ "$least" -ge "$BEFORE" ] || least=$BEFORE
	[ "$least" -ge "$(said probe grain)" ] || least=$(said probe grain)
	[ "$(figure beside p99)" -le $((3 * least)) ] || rc=1
	return $rc
}

# figure WHERE KEY: what the probe says of those beside, or elsewhere
figure() {
	sed -n "s/^$1 .* $2 \([0-9]*\).*/\1/p" "$T/probe"
}

begin() {
	local id

	go hog "$NS2" hog 1001 "$A2" 5000
	go e1 "$NS2" echo 1002 "$A2" 7000
	go e2 "$NS2" echo 1003 "$B2" 7000
	for id in hog e1 e2; do
		is_up $id || return 1
	done
	BEFORE=0
	compare 3 || return 1
	BEFORE=$(figure beside p99)
}

during() {
	go attack "$NS1" attack 1001 "$A1" "$A2" 9999 5000
	is_up attack || return 1
	compare 20
	local rc=$?
	[ "$BEFORE" -ge "$(figure elsewhere p99)" ] || BEFORE=$(figure elsewhere p99)
	note "$(tail -1 "$T/attack")"
	# who waits where he does not gets his turn
	"$NS1" "$BIN/rdsusers" patient 1003 "$A1" "$A2" 9999 3 >"$T/patient" 2>&1 || rc=1
	show_file "$T/patient"
	[ "$(said patient sent)" -gt 5 ] || rc=1
	kill -0 "$(said attack ready)" || rc=1
	return $rc
}

after() {
	ended attack
	compare 5
}

# Each time a port is full, and each time it is free again, the peer is sent a map of 8 KiB, in front of
# everybody's messages.
sipped() {
	local rc=0 maps ns=$NS2

	[ "$ns" != here ] || ns=-
	maps=$(counter "$ns" cong_update_sent)
	go sip "$NS2" sip 1001 "$A2" 6000
	is_up sip || return 1
	go feed "$NS1" feed 1001 "$A1" "$A2" 6000
	is_up feed || return 1
	compare 10 || rc=1
	maps=$(($(counter "$ns" cong_update_sent) - maps))
	note "$maps maps, $(tail -1 "$T/sip"), $(tail -1 "$T/feed")"
	ended feed
	ended sip
	[ $maps -gt 20 ] && return $rc
}

finish() {
	ended hog
	ended e1
	ended e2
}

# over NAME NS1 NS2 A1 A2 B1 B2
over() {
	NS1=$2 NS2=$3 A1=$4 A2=$5 B1=$6 B2=$7
	check "$1: nobody overdoes it" begin
	[ "$1" != IPv4 ] || check "$1: somebody's ports are full and free all the time" sipped
	check "$1: somebody overdoes it, for 20 s" during
	check "$1: he is dead" after
	finish
}
