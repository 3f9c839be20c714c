#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=2 a=ours b=ours host=1 timeout=300
# Our module on both sides, in two guests: a link that is down for 20 s, a node that dies
# and comes back, and one whose module is loaded anew several times in quick succession;
# each at the smaller and at the larger address.
. "$(dirname "$0")/common.sh"

OURS=a			# for what common.sh wants to know of interop tests

json_of() {
	json "$T/$1" "$2"
}

read_all() { ! on "$1" "$BIN/rds-info -r" | grep -q ' 9000 '; }

# Nothing may be lost when NODE dies but what had reached its application: the new
# instance must go on where the old one's receiver had come to, or before.  The link
# is down meanwhile, so that both ends are at rest when they are compared, and up
# again when there is a receiver.
crashed() {
	local node=$1 other=$2 count=4000 rc=0 old new short pid

	start_recv old "$node" "$(addr "$node"):9000" $count 1 || return 1
	pid=$(on "$node" cat "$RD/ready.$READY")
	start_recv back "$other" "$(addr "$other"):9001" 1000 1 --partial || return 1
	start_send again "$other" "$(addr "$other"):9100" "$(addr "$node"):9000" \
		$count -S 0-1500 -r 250
	start_send first "$node" "$(addr "$node"):9101" "$(addr "$other"):9001" \
		3000 -S 0-1500 -r 250
	sleep $((3 + ${RDS_SLOW:-1} / 2))
	link_down "$other"
	sleep 1
	busywait 10 read_all "$node"
	on "$node" kill -TERM "$pid"
	wait_jobs old
	old=$(json_of old.recv received)
	forget old
	vm_kill "$node"
	forget first
	vm_boot "$node" || return 1
	start_recv again "$node" "$(addr "$node"):9000" $count 1 --from-seq any || rc=1
	link_up "$other"
	start_send back "$node" "$(addr "$node"):9101" "$(addr "$other"):9001" 1000 -S 0-1500
	end_flow_any again 1 || rc=1
	end_flow_any back 1000 || rc=1
	new=$(json_of again.recv received)
	# those in front of the first that is long enough to tell its flow
	short=$(json_of again.recv unplaced)
	note "the old instance got ${old:-none}, the new one ${new:-none} (and $short short ones) of $count"
	[ "${old:-0}" -gt 0 ] && [ "${new:-0}" -lt $count ] &&
		[ $((old + new + short)) -ge $count ] || rc=1
	[ "$(json_of old.recv dup)" = 0 ] && [ "$(json_of old.recv reordered)" = 0 ] || rc=1
	return $rc
}

# What each instance runs; in the guest.  Its receiver may begin anywhere, since what
# comes before it is bound is lost, but then takes all, in order; its own messages
# must arrive all.
instances='
for i in $(seq $N); do
	$BIN/rds-traffic recv -b $ME:9000 -n $COUNT -t $((90 * ${RDS_SLOW:-1})) --json --from-seq any \
		--ready /tmp/inst.$i >/tmp/inst.$i.json 2>/tmp/inst.$i.err &
	until [ -e /tmp/inst.$i ]; do sleep 0.05; done
	$BIN/rds-traffic send -b $ME:9200 -d $PEER:$((9210 + i)) -n 150 -S 0-1500 -t $((60 * ${RDS_SLOW:-1})) || exit 1
	# The stream may need a moment to find the new instance.
	for j in $(seq 200); do
		$BIN/rds-info -c | grep -q "recv_queued  *[1-9]" && break
		sleep 0.1
	done
	kill -TERM $(cat /tmp/inst.$i)
	wait
	for m in rds_tcp rds; do
		until rmmod $m; do sleep 0.1; done
	done
	modprobe rds_tcp || exit 1
	cat /tmp/inst.$i.json /tmp/inst.$i.err
done 2>&1
'

# NODE gets a new generation again and again, while OTHER goes on sending.
reloaded() {
	local node=$1 other=$2 n=4 i rc=0 bad
	local count=$((20000 * ${RDS_SLOW:-1}))		# not done before the last instance is

	start_send stream "$other" "$(addr "$other"):9300" "$(addr "$node"):9000" $count -S 0-1500 -r 200
	for i in $(seq $n); do
		start_recv "inst$i" "$other" "$(addr "$other"):$((9210 + i))" 150 1 || rc=1
	done
	on "$node" "N=$n COUNT=$count ME=$(addr "$node") PEER=$(addr "$other"); $instances" >"$T/instances" || rc=1
	for i in $(seq $n); do
		end_flow "inst$i" 150 || rc=1
	done
	# its socket would keep the module of OTHER, which may be loaded anew next
	on "$other" "pkill -f '[r]ds-traffic send -b $(addr "$other"):9300'" || {
		note "the stream was over before the last instance"
		rc=1
	}
	forget stream
	bad=$(grep -c '"received":0,\|"dup":[1-9]\|"reordered":[1-9]\|"corrupt":[1-9]\| [1-9][0-9]* missing' \
		"$T/instances")
	sed -n 's/.*"received":\([0-9]*\).*/# an instance received \1/p' "$T/instances"
	if [ $rc != 0 ] || [ "$bad" != 0 ] || [ "$(grep -c '"received"' "$T/instances")" != $n ]; then
		show_file "$T/instances"
		rc=1
	fi
	return $rc
}

links() {
	[ "$(on "$1" "ss -Htn state established '( sport = 16385 or dport = 16385 )' | wc -l")" -ge "$2" ]
}

handed_over() {
	[ "$(on "$1" "$BIN/rds-info -t | grep -c '10.0.0'")" -ge "$2" ]
}

# sixteen_to NODE OTHER ID COUNT: 16 sockets of NODE send, so that every path is used
sixteen_to() {
	start_recv "$3" "$2" "$(addr "$2"):9400" "$4" 16 || return 1
	start_send "$3" "$1" "$(addr "$1"):9500" "$(addr "$2"):9400" "$4" -S 0-1500 -k 16
}

# The first messages of a new instance arrive as repetitions, because their first link
# broke with the cable out: only the generation tells that they are none of the old one.
repeated() {
	local node=$1 other=$2 rc=0

	sixteen_to "$node" "$other" "was-$node" 100 || return 1
	end_flow "was-$node" 1600 || return 1
	on "$node" "for m in rds_tcp rds; do
		for i in \$(seq 100); do rmmod \$m && break; sleep 0.1; done
	done 2>/dev/null; ! grep -q '^rds ' /proc/modules && modprobe rds_tcp" || return 1
	on "$node" "$BIN/rds-ping -c 1 -w 20 $(addr "$other")" >/dev/null || return 1
	busywait 30 links "$node" 8 || return 1
	link_down "$other"
	sixteen_to "$node" "$other" "is-$node" 20 || rc=1
	busywait 20 handed_over "$node" 200 || rc=1
	on "$node" "$BIN/rdsmisc killtcp 10 0.01" >"$T/killed"
	show_file "$T/killed"
	link_up "$other"
	end_flow "is-$node" 320 || rc=1
	return $rc
}

ktap_header
note "a: $(on a uname -r), b: $(on b uname -r)"
check "messages both ways" both start 2000 -S 0-3000
check "link down 20 s" link_cut
check "the smaller address dies and comes back" crashed a b
check "the larger address dies and comes back" crashed b a
check "the smaller address loads its module anew, 4 times" reloaded a b
check "the larger address loads its module anew, 4 times" reloaded b a
check "the first messages of a new instance are repetitions, from the smaller" repeated a b
check "the first messages of a new instance are repetitions, from the larger" repeated b a
check "messages both ways after that" both after 300 -S 0-5000
moved
ktap_finish
