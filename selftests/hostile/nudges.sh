#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge,inet_diag,tcp_diag timeout=200 ref=0 waits=1 lanes=uml
# One handshake buys a few dials: a peer with the larger address that asks for a connection, and
# does not take it, is dialled ever more rarely.  Who sends to it does not wait for that, and
# neither does a peer that asks again.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

ASKING=40
TIME=20			# seconds; each was dialled twice a second
DIALS=24		# of each in that time
SENT_TO=8
STRANGERS=$((100 + ASKING))	# have never asked

# dials NS: its attempts to connect so far
dials() {
	"$1" awk '$1 == "Tcp:" && !at { for (at = 2; $at != "ActiveOpens"; at++); next }
		$1 == "Tcp:" { print $at }' /proc/net/snmp
}

# asking FIRST COUNT: addresses above the victim's
asking() {
	seq -f 10.1.0.%.0f "$1" $(($1 + $2 - 1))
}

asked() {
	local before

	before=$(dials n3)
	program knock n1 doors.py knock 10.1.0.3 $(asking 100 $ASKING)
	busywait 30 said knock knocked || { end knock; return 1; }
	sleep $TIME
	end knock
	note "$(($(dials n3) - before)) dials of $ASKING addresses in $TIME s"
	# each is, or nothing has been tried
	[ $(($(dials n3) - before)) -ge $ASKING ] &&
		[ $(($(dials n3) - before)) -le $((ASKING * DIALS)) ]
}

# message_to FIRST: one to each of SENT_TO addresses; all are queued on return
message_to() {
	n3 python3 -ISc 'import socket, sys
s = socket.socket(21, socket.SOCK_SEQPACKET)
s.bind(("10.1.0.3", 0))
for to in sys.argv[1:]:
    s.sendto(b"hello", socket.MSG_DONTWAIT, (to, 5000))' $(asking "$1" $SENT_TO)
}

# all_called FIRST: are those of SENT_TO addresses?
all_called() {
	local a

	for a in $(asking "$1" $SENT_TO); do
		said called "^called $a$" || return 1
	done
}

# The yardstick: as many who have never asked get a message when all those have theirs.
sent_to() {
	local rc=0

	program called n1 doors.py called $(asking 100 $SENT_TO) $(asking $STRANGERS $SENT_TO)
	busywait 15 said called listening && message_to 100 && message_to $STRANGERS &&
		busywait 30 all_called $STRANGERS && all_called 100 || rc=1
	end called
	return $rc
}

# The peer cannot be reached for so long that n2, which has nothing to say, hardly dials.
waits() {
	n2 "$BIN/rds-info" --json -p >"$T/paths"
	python3 -ISc 'import json, sys
paths = [p for p in json.load(open(sys.argv[1]))["paths"]
         if p["remote_addr"] == "10.1.0.3" and not p["path"]]
sys.exit(paths[0]["backoff_ms"] < 8000)' "$T/paths" 2>"$T/paths.err"
}

cut() {
	duplex before n2 10.1.0.2 n3 10.1.0.3 200 || return 1
	ip -n n2 route add unreachable 10.1.0.3 && n2 ss -HKt dst 10.1.0.3 >/dev/null
	busywait 60 waits || { show_file "$T/paths.err"; return 1; }
}

# Left alone n2 may wait eight seconds, or more.
asks() {
	local took

	ip -n n2 route del unreachable 10.1.0.3
	start_flow asks n3 10.1.0.3 n2 10.1.0.2 50 --fair && end_flow asks 50 || return 1
	took=$(json "$T/asks.send" took_ms)
	note "$took ms"
	[ "$took" -le $((5000 * ${RDS_SLOW:-1})) ]
}

ktap_header
setup_hostile
asking 100 $((ASKING + SENT_TO)) | sed 's,.*,addr add &/24 dev eth0,' | lib_batch n1
check "$ASKING peers that ask once are dialled $DIALS times in $TIME s at most" asked
check "a message does not wait: $SENT_TO of them are dialled at once" sent_to
check "a peer with several paths is away, and dialled ever more rarely" cut
check "when it asks it is dialled at once" asks
check "a new flow" duplex after n2 10.1.0.2 n3 10.1.0.3 200
moved
ktap_finish
