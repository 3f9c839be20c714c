#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge,inet_diag,tcp_diag timeout=120 ref=0 waits=1
# A peer that keeps the window shut has pages of a program that has ended, or copies in the midst of
# which TCP has stopped: they do not keep its namespace longer than close_timeout_ms.  And what a link brings while it is adopted
# is read without anything more to come.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

ROUNDS=300

# What a closed socket has not sent keeps its namespace for so long, and no longer.
CLOSE_TIMEOUT=2000

# A namespace on the bridge, which ends with a link whose peer is at 10.1.0.9.
made() {
	LIB_NETNS+=(n9)
	lib_batch <<<"netns add n9"
	lib_node n9 8 p9 netns nbr
	ip -n nbr link set p9 master br0 up
	"$BIN/rdsns" n9 sysctl -qw net.rds.close_timeout_ms=$CLOSE_TIMEOUT
	busywait 10 lib_running n9
}

listening() {
	program shut n1 gone.py shut 10.1.0.9
	busywait 15 said shut listening
}

queued() {
	made || return 1
	program sender n9 gone.py sends "$1" 10.1.0.8 10.1.0.9 "${@:2}"
	busywait 30 said sender queued || { show_file "$T/sender"; return 1; }
	end sender
	said sender 'queued [1-9]'
}

its_peer_is_there() {
	ip -n nbr link show p9 >/dev/null 2>&1
}

vanished() {
	its_peer_is_there || return 1
	ip netns del n9 || return 1
	busywait 10 eval '! its_peer_is_there'
}

answered() {
	program early n1 gone.py early 10.1.0.1 10.1.0.3 $ROUNDS
	busywait 60 said early late || { show_file "$T/early"; return 1; }
	end early
	said early 'late 0'
}

ktap_header
setup_hostile
check "somebody lets others in and does not read" listening
check "a program of another namespace sends him pages, and ends" queued zcopy
check "the namespace goes" vanished
check "another one cancels that before" queued zcopy cancel
check "the namespace goes, too" vanished
check "one sends what is copied" queued copy
check "its namespace goes" vanished
check "or cancels that before" queued copy cancel
check "and its namespace goes" vanished
end shut
check "$ROUNDS links bring a ping while they are adopted: all are answered" answered
ktap_finish
