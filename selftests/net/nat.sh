#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,inet_diag,tcp_diag timeout=280 ref=0 lanes=uml
# Middleboxes that translate addresses and ports (natbox.py): source ports that do not tell the path any more,
# hosts that know each other by other addresses than their own, two hosts that appear as one, links
# that are led to another host, or back to the one that dials.
. "$(dirname "$0")/common.sh"
LIMIT=90
RULES=$T/rules

# net_up: n1 and n3 (10.1.0.5, .7), n2 and n4 (10.1.0.20, .21), all joined by the box in nbox.  Nobody has
# 10.1.0.2, .11 to .13: so others may appear.
net_up() {
	local i args=() addr=(10.1.0.5 10.1.0.20 10.1.0.7 10.1.0.21)

	lib_trap
	: >"$RULES"
	lib_netns nbox
	for i in 1 2 3 4; do
		host_up $i "${addr[i - 1]}" || return 1
		args+=("b$i=${addr[i - 1]}=02:00:00:00:00:0$i")
	done
	nbox sysctl -qw net.ipv6.conf.all.disable_ipv6=1
	ip netns exec nbox python3 -u "$SELFTESTS/net/natbox.py" "$RULES" "${args[@]}" \
		>"$T/box" 2>&1 </dev/null &
	BOX=$!
	busywait 20 grep -q ready "$T/box"
}

nbox() { "$BIN/rdsns" nbox "$@"; }

# host_up NUMBER ADDRESS.  No packet larger than the wire's: the box is no adapter.
host_up() {
	local ns=n$1 a

	lib_netns "$ns"
	lib_batch "$ns" <<-BATCH
		link add eth0 address 02:00:00:00:00:0$1 gso_max_segs 1 type veth peer name b$1 netns nbox
		addr add $2/24 dev eth0
		link set eth0 up
	BATCH
	lib_batch nbox <<<"link set b$1 up"
	busywait 10 lib_running "$ns" || return 1
	for a in 2 5 7 11 12 13 20 21; do
		[ 10.1.0.$a = "$2" ] ||
			echo "neigh add 10.1.0.$a lladdr 02:00:00:00:00:ff dev eth0 nud permanent"
	done | lib_batch "$ns"
}

rules() {
	printf '%s\n' "$@" >"$RULES.new" && mv "$RULES.new" "$RULES"
}

# start_flows ID COUNT [opts]: sixteen sockets each way between n1 and n2; n1 knows n2 by the address $FAR,
# n2 knows n1 by $SEEN
start_flows() {
	local id=$1 count=$2

	shift 2
	PORT=$((PORT + 100))
	start_recv "$id-a" n2 "10.1.0.20:$PORT" "$count" 16 || return 1
	start_send "$id-a" n1 "10.1.0.5:$((PORT + 46000))" "$FAR:$PORT" "$count" -k 16 "$@"
	PORT=$((PORT + 100))
	start_recv "$id-b" n1 "10.1.0.5:$PORT" "$count" 16 || return 1
	start_send "$id-b" n2 "10.1.0.20:$((PORT + 46000))" "$SEEN:$PORT" "$count" -k 16 "$@"
}

end_flows() {
	local rc=0

	end_flow "$1-a" $((16 * $2)) || rc=1
	end_flow "$1-b" $((16 * $2)) || rc=1
	[ $rc = 0 ] || show_paths
	return $rc
}

show_paths() {
	{
		n1 "$BIN/rds-info" -p
		n1 ss -Htn
		n2 "$BIN/rds-info" -p
		n1 "$BIN/rds-info" -c | awk '$2 > 0'
		cat "$T/box"
		dmesg | grep 'rds: link' | tail -5
	} 2>&1 | sed 's/^/#   /'
}

# cut NS EVERY_MS SECONDS: its links are destroyed again and again
cut() {
	"$1" "$BIN/rdsmisc" killtcp "$2" "$3" >"$T/cut" 2>&1
}

answers() {
	n1 timeout 5 "$BIN/rds-ping" -c 1 "$FAR" >/dev/null
}

# An attempt that began under other rules takes up to seven seconds.
all_up() {
	busywait 30 answers && busywait 20 has_links n1 8
}

ports() {
	rules "ports 10.1.0.5 $1"
	all_up && start_flows "$1" 100 -S 0-1500 -r 100 || return 1
	cut n1 300 6
	show_file "$T/cut"
	end_flows "$1" 100
}

# Each knows the other by an address that it has not.
translated() {
	FAR=10.1.0.13 SEEN=10.1.0.11
	# 10.1.0.99: nobody; by its own address n2 is another connection of n1, which would come from .11, too
	rules "snat 10.1.0.5 10.1.0.11" "dnat 10.1.0.5 10.1.0.13 10.1.0.20" "ports 10.1.0.5 any" \
		"dnat 10.1.0.5 10.1.0.20 10.1.0.99" \
		"snat 10.1.0.20 10.1.0.13" "dnat 10.1.0.20 10.1.0.11 10.1.0.5"
	all_up && start_flows both 60 -S 0-1500 -r 60 || return 1
	cut n1 500 3
	show_file "$T/cut"
	end_flows both 60
}

# waiting NS COUNT: so many messages were accepted and are not acknowledged
waiting() {
	[ "$({ "$1" "$BIN/rds-info" -s; "$1" "$BIN/rds-info" -t; } | grep -c '10\.1\.0\.20')" -ge "$2" ]
}

said() {
	log_since | grep -q "rds: link.*$1"
}

# n1 and n3 come by one address.
merged() {
	local before rc=0

	FAR=10.1.0.20 SEEN=10.1.0.12
	before=$(counter - link_wrong_peer)
	log_from_here
	rules "snat 10.1.0.5 10.1.0.12" "snat 10.1.0.7 10.1.0.12" "dnat 10.1.0.20 10.1.0.12 10.1.0.5"
	all_up && start_flows first 60 -S 0-1500 -r 60 || return 1
	PORT=$((PORT + 100))
	start_recv second n2 "10.1.0.20:$PORT" 20 1 || return 1
	start_send second n3 "10.1.0.7:$((PORT + 46000))" "10.1.0.20:$PORT" 20
	will_count 20 link_wrong_peer "$before" 2 || rc=1
	cut n1 300 2
	end_flows first 60 || rc=1
	said "another host comes by that address" || rc=1
	waiting n3 20 || rc=1
	return $rc
}

# n1 cannot be reached any more, and its links end.
served() {
	rules "snat 10.1.0.5 10.1.0.12" "snat 10.1.0.7 10.1.0.12" "dnat 10.1.0.5 10.1.0.20 10.1.0.99"
	cut n1 10 0.01
	end_flow second 20
}

# misled ID WHAT-IS-SAID RULE...: in mid-traffic n1's links are led away, and then as they should be
misled() {
	local before rc=0 id=$1 words=$2

	shift 2
	FAR=10.1.0.20 SEEN=10.1.0.5
	rules
	all_up && start_flows "$id" 20 -S 0-1500 -r 20 || return 1
	log_from_here
	before=$(counter - link_wrong_peer)
	rules "$@"
	cut n1 10 0.01
	will_count 20 link_wrong_peer "$before" 2 || rc=1
	said "$words" || rc=1
	rules
	end_flows "$id" 20 || rc=1
	return $rc
}

ktap_header
net_up || lib_die "the box does not work"
FAR=10.1.0.20 SEEN=10.1.0.5
check "source ports are changed at random, and links break: nothing lost or doubled" ports any
check "all ports leave the same remainder" ports one
check "addresses are translated, too" translated
check "two hosts by one address: the first one loses nothing, the second one is told why it waits" merged
check "when the first one is gone the second one is served" served
check "links led to another host: it gets nothing" \
	misled away "another host answers" "dnat 10.1.0.5 10.1.0.20 10.1.0.21"
check "links led back: nobody gets anything" \
	misled back "leads back" "dnat 10.1.0.5 10.1.0.20 10.1.0.5" "snat 10.1.0.5 10.1.0.2"
moved
ktap_finish
