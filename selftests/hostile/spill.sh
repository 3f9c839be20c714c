#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge timeout=240 ref=0 lanes=uml
# Sockets that nobody reads, and a peer who sends to them whatever they announce: no link stops for
# that, what they may keep beyond their own limit is bounded and shared, and only they lose what
# is more.  Their readers are told.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"
. "$SELFTESTS/hostile/hogs.sh"

# 10.1.0.3 is the victim, 10.1.0.1 is hostile, 10.1.0.2 is honest.
LIMIT=120
BOUND=25165824		# max_peer_bytes
COUNT=8000		# messages of 4000 bytes: more than the limit and all that it may have above it
SIZE=4000

# flooded ID PORT: the link took it all
flooded() {
	dropped=$(counter n3 recv_drop_full) || return 1
	program flood n1 spill.py flood 10.1.0.1 10.1.0.3 "$2" $COUNT $SIZE 7999
	busywait 120 said flood '^sent' || { show_file "$T/flood"; return 1; }
	end flood
	dropped=$(($(counter n3 recv_drop_full) - dropped))
	eval "dropped_$1=$dropped"
	[ "$dropped" -gt 0 ]
}

# holds ID LOW HIGH: its queue costs between so many KiB
holds() {
	local now

	now=$(rmem "$1") || return 1
	note "$1 holds $((now >> 10)) KiB"
	[ $((now >> 10)) -ge "$2" ] && [ $((now >> 10)) -le "$3" ]
}

# emptied ID ERRORS: what it has is the beginning of what was sent, and the rest is counted
emptied() {
	local got lost=dropped_$1

	ask "$1" read '^read' || return 1
	show_file "$T/$1"
	said "$1" "^read [1-9][0-9]* errors $2 holes \\[\\] left 0" || return 1
	got=$(sed -n 's/^read \([0-9]*\) .*/\1/p' "$T/$1")
	[ $((got + ${!lost})) = $COUNT ]
}

# It learns once that this is not all: before it reads the first.
told() {
	emptied "$1" "\\[(0, 'ENOBUFS')\\]"
}

asked() {
	ask "$1" "$2" "^$2" && said "$1" "$3"
}

others() {
	ask other read '^read' && said other "^read $1 errors \\[\\] holes \\[.*\\] left 0"
}

ktap_header
setup_hostile
n3 sysctl -qw net.rds.max_peer_bytes=$BOUND
start_honest 1500 25
check "two sockets of one user, one of another, that are not read" eval \
	'hog first 7001 1001 && hog second 7002 1001 && hog third 7003 1002 && hog other 7999 1003'
check "a link that brings more for one than that may keep never stops" flooded first 7001
check "and what is behind it for another socket is there" others 1
check "the socket keeps its limit, and a third of the bound" holds first 15700 16400
check "of another one of its user there is a third of what is left" flooded second 7002
check "twice counted" holds second 10400 10930
check "of another user more" flooded third 7003
check "for he has none yet" holds third 12100 12750
check "what is behind them is there, too" others 2
check "poll() says that something is lost" asked second poll 'poll error True'
check "SO_ERROR says what, once" asked second error 'error 105'
check "then poll() does not" asked second poll 'poll error False'
check "a reader who has asked gets the beginning, nothing of it lost" emptied second '\[\]'
check "one who has not is told by recv(), once" told first
end third
check "what they had is free again, read or closed" eval 'flooded first 7001 && holds first 15700 16400'
check "and who was told is told anew" told first
end first
end second
end other
check "honest peers were served all the while, both ways" end_honest
check "a new flow to the victim" duplex after n2 10.1.0.2 n3 10.1.0.3 200
moved
ktap_finish
