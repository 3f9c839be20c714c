#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,sch_netem,inet_diag,tcp_diag timeout=170 lanes=uml
# A network that loses, doubles, swaps, damages and delays: each alone, then all.  Every fault
# has a link and a pair of addresses of its own, and they run side by side: most of the time
# is spent waiting for packets that come late or never.
. "$(dirname "$0")/common.sh"

COUNT=$((2500 + 2500 * ${RDS_SOAK:-0}))	# each way
LIMIT=$((130 + 60 * ${RDS_SOAK:-0}))
LINKS=7
NAMES=()

ALONE=$((LINKS - 1))	# the last one has namespaces of its own: their counters are of all links

# ends K: END, the namespaces that the K-th link joins
ends() {
	[ "$1" -lt $ALONE ] && END=(n1 n2) || END=(n3 n4)
}

# link_ends NS NUMBER FIRST LAST [PEER]: these links in NS, made by the end that has a PEER
link_ends() {
	local k

	for ((k = $3; k <= $4; k++)); do
		[ -z "$5" ] || echo "link add f$k type veth peer name f$k netns $5"
		echo "addr add 10.2.$k.$2/24 dev f$k"
		echo "link set f$k up"
	done >"$T/batch"
	ip -n "$1" -batch "$T/batch" || lib_die "cannot make the links"
}

setup_links() {
	lib_netns n3 n4
	link_ends n1 1 0 $((ALONE - 1)) n2
	link_ends n2 2 0 $((ALONE - 1))
	link_ends n3 1 $ALONE $ALONE n4
	link_ends n4 2 $ALONE $ALONE
}

# begin NAME netem-arguments: the next link gets this fault, and a flow each way
begin() {
	local name=$1 ns k=${#NAMES[@]}

	shift
	NAMES+=("$name")
	ends "$k"
	for ns in "${END[@]}"; do
		tc -n "$ns" qdisc replace dev "f$k" root netem limit 10000 "$@" || return 1
	done
	start_flow "$name-a" "${END[0]}" "10.2.$k.1" "${END[1]}" "10.2.$k.2" $COUNT -S 0-2500 &&
		start_flow "$name-b" "${END[1]}" "10.2.$k.2" "${END[0]}" "10.2.$k.1" $COUNT -S 0-2500
}

# of_links NAME: what TCP says of each connection of this link under NAME, at either end
of_links() {
	grep -o "[[:space:]]$1:[^ ]*" "$T/ss" | sed 's/.*[:]//'
}

sum() {
	of_links "$1" | awk '{ n += $1 } END { print n + 0 }'
}

dropped() {
	local stats

	stats=$(tc -n "${END[0]}" -s qdisc show dev "f$1"; tc -n "${END[1]}" -s qdisc show dev "f$1")
	grep -o '(dropped [0-9]*' <<<"$stats" | awk '{ n += $2 } END { print n + 0 }'
}

# A segment that comes twice is told to the sender (DSACK), and so is one that comes too early.
doubled() { sum dsack_dups; }
swapped() { sum reord_seen; }

# In milliseconds, of the slowest connection
delayed() {
	of_links rtt | awk -F/ '$1 > n { n = $1 } END { print int(n) }'
}

damaged() {
	local ns

	for ns in "${END[@]}"; do
		"$ns" cat /proc/net/snmp /proc/net/netstat
	done | awk '$1 == was { for (i = 2; i <= NF; i++) if (name[i] == "InCsumErrors") n += $i; was = ""; next }
		{ split($0, name); was = $1 }
		END { print n + 0 }'
}

# survived NAME [FAULT LEAST]...: all came, though the faults really were in the way
survived() {
	local rc=0 k n name=$1

	shift
	for k in "${!NAMES[@]}"; do
		[ "${NAMES[k]}" != "$name" ] || break
	done
	ends "$k"
	end_flow "$name-a" $COUNT || rc=1
	end_flow "$name-b" $COUNT || rc=1
	{
		"${END[0]}" ss -Htin dst "10.2.$k.2"
		"${END[1]}" ss -Htin dst "10.2.$k.1"
	} >"$T/ss"
	note "$name: dropped $(dropped "$k"), doubled $(doubled), swapped $(swapped)," \
		"round trip $(delayed) ms; damaged on all links of these namespaces: $(damaged)"
	while [ $# -gt 0 ]; do
		n=$("$1" "$k")
		[ "$n" -ge "$2" ] || { note "$1 $n times, not $2"; rc=1; }
		shift 2
	done
	return $rc
}

ktap_header
setup_pair
setup_links
begin clean delay 0ms
begin loss loss 5%
begin dup duplicate 5%
begin reorder delay 5ms reorder 75% 50%
begin corrupt corrupt 1%
begin delay delay 25ms 25ms
begin all delay 25ms 25ms reorder 75% loss 5% duplicate 5% corrupt 1%
check "no fault" survived clean
check "loss 5 %" survived loss dropped 30
check "duplicate 5 %" survived dup doubled 40
check "reorder 25 %" survived reorder swapped 10
check "corrupt 1 %" survived corrupt damaged 5
check "delay 0-50 ms" survived delay delayed 25 swapped 50
check "all together" survived all dropped 30 doubled 30 swapped 20 damaged 5
moved
ktap_finish
