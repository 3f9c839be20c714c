#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge timeout=90 lanes=debian alone=1
# Many senders to one receiver, one sender to many: nobody starves, nobody waits for a dead one.
. "$(dirname "$0")/common.sh"

FLOOD=2000		# messages of each sender
LEAST=$((FLOOD / 10))	# of the last one, when the first is through: the scheduler has its say, too

# Four nodes flood one, all from the same moment on; every one of them must get on.
fan_in() {
	local i rc=0 last

	start_recv fan n1 10.1.0.1:6000 $FLOOD 4 || return 1
	for i in 2 3 4 5; do
		start_send "fan$i" "n$i" "10.1.0.$i:6001" 10.1.0.1:6000 $FLOOD -S 0-4000 \
			--ready "$T/fan$i" --go "$T/go"
		busywait 15 test -e "$T/fan$i" || rc=1
	done
	touch "$T/go"
	end_flow fan $((4 * FLOOD)) || rc=1
	last=$(json "$T/fan.recv" last_flow)
	note "when the first sender was through, the last one had $last of $FLOOD"
	[ "$last" -ge $LEAST ] || rc=1
	for i in 2 3 4 5; do
		wait_job "fan$i" || rc=1
	done
	return $rc
}

wait_job() {
	local job left=() rc=0

	for job in "${JOBS[@]}"; do
		if [ "${job%%:*}" = "$1" ]; then
			wait "${job##*:}" || rc=1
		else
			left+=("$job")
		fi
	done
	JOBS=("${left[@]}")
	return $rc
}

# One socket to three living peers and one that does not exist.
fan_out() {
	local i rc=0

	for i in 2 3 4; do
		start_recv "out$i" "n$i" "10.1.0.$i:6100" 400 1 || return 1
	done
	n1 timeout 20 "$BIN/rds-traffic" send -b 10.1.0.1:6101 -d 10.1.0.2:6100 \
		-d 10.1.0.77:6100 -d 10.1.0.3:6100 -d 10.1.0.4:6100 -n 400 \
		-S 0-2000 --sndbuf 4000000 -t 15 --ready "$T/out.pid" --json >"$T/out.send" 2>"$T/out.err" </dev/null &
	for i in 2 3 4; do
		end_flow "out$i" 400 || rc=1
	done
	kill -TERM "$(cat "$T/out.pid")"
	wait $! 2>/dev/null
	return $rc
}

# A quiet flow beside a saturating one: no message of it may wait for long.
quiet() {
	local rc

	n2 "$BIN/rds-traffic" echo -b 10.1.0.2:6200 -n 100 -t $((40 * ${RDS_SLOW:-1})) --ready "$T/q" </dev/null &
	busywait 10 test -e "$T/q" || return 1
	n1 "$BIN/rdsmisc" flood 10.1.0.1:6203 10.1.0.2:6299 60 </dev/null >/dev/null &
	sleep 0.3
	n1 "$BIN/rds-traffic" pingpong -b 10.1.0.1:6201 -d 10.1.0.2:6200 \
		-n 100 -S 64 -t $((40 * ${RDS_SLOW:-1})) >"$T/quiet" </dev/null
	rc=$?
	show_file "$T/quiet"
	# all that time
	pkill -f "rdsmisc flood 10.1.0.1:6203" || { note "nothing floods any more"; rc=1; }
	MOVED=$((MOVED + 100))
	return $rc
}

ktap_header
setup_nodes 5
check "four senders, one receiver" fan_in
check "one socket, three peers and a dead address" fan_out
check "a quiet flow beside a flood" quiet
moved
ktap_finish
