# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the tests against the in-tree rds_rdma, over RoCE between two guests. OURS and PEER
# say which is which, FIRST who dials first.  Who is restarted later is dialled by the other one, so that
# with the smaller and with the larger address at our side each side has dialled.

# shellcheck source=../ib/pair.sh
. "${SELFTESTS:-$(dirname "$0")/..}/ib/pair.sh"

LIMIT=100

# Who was first is the active side; a link is listed as up by ours.  Now and then nothing arrives at
# our end in the first 20 s after the boot, of requests from either side, if the in-tree one was
# first; why is not known, so it has a minute, and what can be seen is shown.
first_contact() {
	local other=$PEER

	[ "$FIRST" = "$OURS" ] || other=$OURS
	if ! ping "$FIRST" "$other"; then
		show_contact
		busywait 50 ping "$FIRST" "$other" || return 1
	fi
	dialled "$FIRST"
}

# our_links: "actively" or "passively" for each link that our end has had since it was booted
our_links() {
	vm_log "$OURS" |
		sed -n "s/.*rds: connected \([a-z]*\) <.*$(addr "$OURS"),.*$(addr "$PEER"),0>.*/\1/p"
}

# dialled NODE: the first link after those that are counted in LINKS was
dialled() {
	local word=actively

	[ "$1" = "$OURS" ] || word=passively
	[ "$(our_links | sed -n "$((LINKS + 1))p")" = $word ] ||
		{ note "not connected $word"; vm_log "$OURS" | grep 'rds: conn' | sed 's/^/# /'; return 1; }
}
LINKS=0

another_link() {
	[ "$(our_links | wc -l)" -gt $LINKS ]
}

# booted NODE OTHER: OTHER has been dialling all the while, NODE has not begun.
booted() {
	busywait 50 another_link || show_contact
	dialled "$2"
}

# dials OTHER NODE: NODE dies and comes back empty; OTHER makes the link
dials() {
	LINKS=0
	[ "$2" = "$OURS" ] || LINKS=$(our_links | wc -l)
	restarted "$2" "$1"
}

# The same, and the link that we make offers credits.  The peer has none to give: it takes ours and is
# not limited by them, nor are we.
dials_with_credits() {
	local rc=0 sent got

	on "$OURS" sysctl -qw net.rds.ib.flow_control=1 || return 1
	sent=$(ib_counter "$OURS" ib_tx_credit_updates)
	got=$(ib_counter "$OURS" ib_rx_credit_updates)
	dials "$OURS" "$PEER" || rc=1
	both credits 300 -S 0,1,4096,4097,65536 || rc=1
	on "$OURS" sysctl -qw net.rds.ib.flow_control=0
	sent=$(($(ib_counter "$OURS" ib_tx_credit_updates) - sent))
	got=$(($(ib_counter "$OURS" ib_rx_credit_updates) - got))
	note "credits granted in $sent frames, got in $got"
	[ $rc = 0 ] && [ $sent -gt 0 ] && [ $got = 0 ]
}

link_is_up() {
	[ "$(ib_rows "$OURS" p state remote_addr | grep " $(addr "$PEER")$")" = "up $(addr "$PEER")" ]
}

# The in-tree side ends a link when every request has come back, however long that takes: its
# worker waits there for ever if one does not.  Seconds are enough otherwise.
peer_waits() {
	local try

	for try in 1 2 3; do
		on "$PEER" "grep -qs rds_ib_conn_path_shutdown /proc/[0-9]*/stack" || return 1
		sleep 3
	done
}

servers() {
	serve a 10.0.0.1 && serve b 10.0.0.2
}

# Of the last flows messages are missing, and no more than that.
none_wrong() {
	local way what

	for way in a b; do
		for what in dup reordered corrupt unplaced foreign strange; do
			[ "$(json "$T/w$FLOWN-$way.recv" $what)" = 0 ] || return 1
		done
	done
}

# survives COMMAND...: with_flows; once more, with a new peer, if it was the old one that hung
survives() {
	with_flows "$@" && return 0
	show_hang
	none_wrong && peer_waits || return 1
	note "the in-tree side waits in its shutdown for ever: again with a new one"
	forget "serve-$PEER"
	vm_kill "$PEER"
	vm_boot "$PEER" && serve "$PEER" "$(addr "$PEER")" && with_flows "$@"
}

# with_flows COMMAND...: while it runs, messages go both ways
with_flows() {
	local rc=0 n=1200 id

	FLOWN=$((FLOWN + 1))
	id=w$FLOWN
	start_flow "$id-a" a 10.0.0.1 b 10.0.0.2 $n -S 0-9000 -r 300 || return 1
	start_flow "$id-b" b 10.0.0.2 a 10.0.0.1 $n -S 0-9000 -r 300 || return 1
	sleep 1
	"$@" || { note "$1 failed"; rc=1; }
	end_flow "$id-a" $n || rc=1
	end_flow "$id-b" $n || rc=1
	return $rc
}
FLOWN=0

device_cycle() {
	rxe_del "$1" || return 1
	sleep 0.3
	rxe_add "$1"
}

interface_cycle() {
	on "$1" sysctl -qw net.ipv6.conf.eth0.keep_addr_on_down=1
	on "$1" ip link set eth0 down || return 1
	sleep 0.3
	on "$1" ip link set eth0 up && revive "$1"
}

services() {
	local t rc=0

	for t in 3 7; do
		start_flow "tos$t-a" a 10.0.0.1 b 10.0.0.2 200 -S 0-5000 --tos $t || rc=1
		start_flow "tos$t-b" b 10.0.0.2 a 10.0.0.1 200 -S 0-5000 --tos $t || rc=1
	done
	for t in 3 7; do
		end_flow "tos$t-a" 200 || rc=1
		end_flow "tos$t-b" 200 || rc=1
	done
	return $rc
}

# from NODE OTHER WHAT [opts]: RDMA with the server on the other node.  The in-tree side says that a
# read is done when its message is acknowledged, which without a fence may be before the data are there.
from() {
	local node=$1 other=$2
	local fence=()

	shift 2
	[ "$node" = "$OURS" ] || fence=(-f)
	tries "$node" "$(addr "$node")" "$(addr "$other")" "$@" "${fence[@]}"
}

# The in-tree side acknowledges what it is asked to.  The last message cannot know that nothing comes
# behind it but operations; one of eight asks anyway.
asked() {
	local n

	for n in 25 26 27; do
		from "$OURS" "$PEER" writes -n $n -q $n -S 65536 -s || return 1
	done
}

# Not here, since the in-tree side does not stand it, also not with an in-tree peer; only a restart helps:
# - a request that it must refuse (wrong key): it waits in its shutdown for ever;
# - its interface goes down and up: its rdma_rxe keeps what is to be sent (6.1 always, 6.12 at times),
#   and its connection stays up for ever.
run_all() {
	ktap_header
	note "ours: $OURS ($(addr "$OURS")), peer: $PEER ($(addr "$PEER"))," \
		"$(on "$PEER" uname -r), $FIRST dials first"
	check "the first contact" first_contact
	check "ping, ours to peer" ping "$OURS" "$PEER"
	check "ping, peer to ours" ping "$PEER" "$OURS"
	check "the link is up" busywait 5 link_is_up
	check "0 to 65536 bytes both ways" both sizes 120 -S 0,1,4095,4096,4097,8192,65536
	check "1 MiB both ways" both large 8 -S 1048575,1048576
	check "IPv6: 0 to 65536 bytes both ways" both6 v6 60 -S 0,1,4095,4096,4097,65536
	check "10,000 messages with hashes" both ten 5000 -S 88-600
	check "sixteen sockets each way" sixteen many 60 -S 0-2000
	check "types of service" services
	check "congestion on and off, ours sends" congested "$OURS" "$PEER"
	check "congestion on and off, peer sends" congested "$PEER" "$OURS"
	check "congestion with monitor, ours sends" congested "$OURS" "$PEER" --monitor
	check "servers on both nodes" servers
	check "RDMA content, ours to peer" from "$OURS" "$PEER" content
	check "RDMA content, peer to ours" from "$PEER" "$OURS" content
	check "the cable is out for 6 s" survives cable b
	check "our interface goes down and up" survives interface_cycle "$OURS"
	check "our device goes and comes" survives device_cycle "$OURS"
	check "RDMA content after that, ours to peer" from "$OURS" "$PEER" content
	check "RDMA content after that, peer to ours" from "$PEER" "$OURS" content
	# Only now: an in-tree side that was written to so cannot shut its link down any more.
	check "all is acknowledged that is followed by operations only" asked
	check "the server of the peer ends" served "$PEER" "$OURS"
	check "our server ends" served "$OURS" "$PEER"
	if [ "$FIRST" = "$OURS" ]; then
		# we have dialled without credits
		check "peer killed and restarted, ours dials and offers credits" dials_with_credits
	else
		check "peer killed and restarted, ours dials" dials "$OURS" "$PEER"
	fi
	check "ours killed and restarted, peer dials" dials "$PEER" "$OURS"
	check "messages both ways after that" both after 300 -S 0-5000
	moved
	ktap_finish
}
