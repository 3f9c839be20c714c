#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=240 ref=0 waits=1 lanes=uml
# Whatever some have of the table of connections, another user gets some, and the administrator
# all that is kept for him.  Subordinate ids in a user namespace are no other users, of closed
# sockets neither; and the shares of peers and users are not all there is.
. "$(dirname "$0")/common.sh"

PY=$(dirname "$0")/shares.py
MAX=160

between() {
	[ "$1" -le "$2" ] && [ "$2" -le "$3" ]
}

said() {
	grep -q "$2" "$T/$1"
}

# has ID LEAST MOST MODE...: who takes all he gets, has so many
has() {
	local id=$1 least=$2 most=$3
	shift 3

	"${AS[@]}" ip netns exec n1 python3 -ISu "$PY" "$@" >"$T/$id" 2>&1 </dev/null &
	disown
	busywait 30 said "$id" accepted || { show_file "$T/$id"; return 1; }
	show_file "$T/$id"
	between "$least" "$(sed -n 's/^accepted //p' "$T/$id")" "$most"
}

conns() {
	"$1" "$BIN/rds-info" -a --json -n 2>/dev/null | grep -o '"remote_addr"' | wc -l
}

at_most() {
	[ "$(conns "$1")" -le "$2" ]
}

empty() {
	ip netns pids n1 | xargs -r kill -9
	ip netns pids n2 | xargs -r kill -9
	n1 sysctl -qw net.rds.idle_conn_timeout_ms=1000 && busywait 40 at_most n1 0 &&
		n1 sysctl -qw net.rds.idle_conn_timeout_ms=60000
}

user_namespaces() {
	"${AS[@]}" setpriv --reuid=65534 --regid=65534 --clear-groups unshare --user true 2>/dev/null
}

# What two subordinates leave counts as one user's, who has half of seven eighths.
leavers() {
	local rc=0 left

	n1 sysctl -qw net.rds.max_orphans=16 net.rds.close_timeout_ms=600000
	has leavers 40 40 leavers 1005 10.1.0.1 10.1.0.77 20 || rc=1
	left=$(counter n1 orphan_present)
	note "$left are left"
	[ "$left" = 7 ] || rc=1
	drop_orphans n1 10.1.0.1 && return $rc
}

# peers MOST: they come from n2
peers() {
	n2 python3 -ISu "$PY" peers fd00:1:: fd00:1::ffff $MAX >"$T/peers" 2>&1 </dev/null &
	disown
	busywait 60 said peers accepted || { show_file "$T/peers"; return 1; }
	show_file "$T/peers"
	[ "$(sed -n 's/^accepted //p' "$T/peers")" -le $1 ] && ! at_most n1 $(($1 * 9 / 10))
}

ktap_header
setup_pair
ip -n n1 addr add fd00:1::ffff/64 dev eth0 nodad
seq $((0x1000)) $((0x1000 + MAX - 1)) | while read -r i; do
	printf 'addr add fd00:1::%x/64 dev eth0 nodad\n' "$i"
done | lib_batch n2
n1 ip route add 10.0.0.0/8 dev eth0
n1 sysctl -qw net.rds.max_conns=$MAX
AS=()
user_namespaces || AS=(no_chroot)

check "one user has half of what is not kept for the administrator" has one 60 70 user 1001 10.1.0.1 11 100
check "another one half of the rest" has two 28 36 user 1002 10.1.0.1 12 100
if user_namespaces; then
	check "two subordinates of a user have half of that, together" \
		has sub 12 18 subordinates 1003 10.1.0.1 13 100
	check "and their closed sockets are one user's" leavers
else
	ktap_skip "subordinates" "this kernel gives users no user namespaces"
fi
check "there is something left for the next user" has three 5 18 user 1004 10.1.0.1 15 100
refused=$(counter n1 conn_share)
check "and for root an eighth" has root 20 60 user 0 10.1.0.1 16 100
check "who was refused is counted" test "$refused" -gt 200
check "they end, and the table is empty" empty
check "peers have three quarters" peers 120
check "a user has some" has four 7 20 user 1001 10.1.0.1 11 100
check "another one, too" has five 3 15 user 1002 10.1.0.1 12 100
check "and root" has admin 20 35 user 0 10.1.0.1 16 100
check "they end" empty
check "a new flow" duplex after n2 10.1.0.2 n1 10.1.0.1 200
moved
ktap_finish
