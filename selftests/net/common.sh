# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the tests which move messages: everything is counted and proven by
# rds-traffic, a test only says between whom and what goes wrong meanwhile.

# shellcheck source=../lib.sh
. "${SELFTESTS:-$(dirname "$0")/..}/lib.sh"

T=$(mktemp -d)
RD=$T			# where the ends live: files that say they are ready
READY=0
PORT=4000		# each transfer takes a port range of its own
MOVED=0			# messages proven so far, in this file
JOBS=()

# json FILE KEY: one value of a flat JSON object; no process is started for it
json() {
	local s

	[ -s "$1" ] || return 0
	s=$(<"$1")
	case $s in
	*"\"$2\":"*) ;;
	*) return 0 ;;
	esac
	s=${s##*"\"$2\":"}
	s=${s%%[,\}]*}
	echo "${s//\"/}"
}

# Is a file there, as seen by NS?  Guests share nothing, namespaces do.
there() {
	test -e "$2"
}

note() {
	echo "# $*"
}

show_file() {
	sed 's/^/# /' "$1"
}

# start_recv ID NS ADDR COUNT FLOWS [opts]: a receiver, bound on return
start_recv() {
	local id=$1 ns=$2 addr=$3 count=$4 flows=$5
	shift 5
	READY=$((READY + 1))
	"$ns" "$BIN/rds-traffic" recv -b "$addr" -n "$count" -s "$flows" \
		-t $((${LIMIT:-60} * ${RDS_SLOW:-1})) --json --ready "$RD/ready.$READY" "$@" \
		>"$T/$id.recv" 2>"$T/$id.recv.err" </dev/null &
	JOBS+=("$id:$!")
	busywait 15 there "$ns" "$RD/ready.$READY"
}

# start_send ID NS FROM TO COUNT [opts]
start_send() {
	local id=$1 ns=$2 from=$3 to=$4 count=$5
	shift 5
	"$ns" "$BIN/rds-traffic" send -b "$from" -d "$to" -n "$count" \
		-t $((${LIMIT:-60} * ${RDS_SLOW:-1})) --json "$@" \
		>"$T/$id.send" 2>"$T/$id.send.err" </dev/null &
	JOBS+=("$id:$!")
}

# start_flow ID NS1 ADDR1 NS2 ADDR2 COUNT [send opts]: from 1 to 2
start_flow() {
	local id=$1 ns1=$2 a1=$3 ns2=$4 a2=$5 count=$6
	shift 6
	PORT=$((PORT + 100))
	start_recv "$id" "$ns2" "$a2:$PORT" "$count" "${FLOWS:-1}" \
		${RECV_OPTS:-} || return 1
	start_send "$id" "$ns1" "$a1:$((PORT + 50000 - 4000))" "$a2:$PORT" \
		"$count" "$@"
}

# drop_recv ID NS: kill a receiver started last, with nothing left of it
drop_recv() {
	"$2" kill -9 "$("$2" cat "$RD/ready.$READY")"
	wait "${JOBS[-1]##*:}" 2>/dev/null
	unset 'JOBS[-1]'
}

# end_flow ID WANT: wait for both ends; all WANT messages must be proven
end_flow() {
	local id=$1 want=$2 job rc=0 left=()

	for job in "${JOBS[@]}"; do
		if [ "${job%%:*}" = "$id" ]; then
			wait "${job##*:}" || rc=1
		else
			left+=("$job")
		fi
	done
	JOBS=("${left[@]}")
	[ "$(json "$T/$id.recv" received)" = "$want" ] || rc=1
	[ "$(json "$T/$id.recv" result)" = ok ] || rc=1
	if [ $rc -ne 0 ]; then
		note "$id: FAILED"
		for f in recv recv.err send send.err; do
			[ ! -s "$T/$id.$f" ] || show_file "$T/$id.$f"
		done
		return 1
	fi
	MOVED=$((MOVED + want))
	note "$id: $want messages exactly once in order," \
		"$(json "$T/$id.recv" seconds) s, stalls: $(json "$T/$id.send" stalls)"
}

# duplex NAME NS1 ADDR1 NS2 ADDR2 COUNT [send opts]: both ways at once
duplex() {
	local name=$1 ns1=$2 a1=$3 ns2=$4 a2=$5 count=$6 rc=0
	shift 6
	start_flow "$name-a" "$ns1" "$a1" "$ns2" "$a2" "$count" "$@" || rc=1
	start_flow "$name-b" "$ns2" "$a2" "$ns1" "$a1" "$count" "$@" || rc=1
	end_flow "$name-a" "$count" || rc=1
	end_flow "$name-b" "$count" || rc=1
	return $rc
}

# no_stalls ID...: nobody had to find out by itself that it could go on
no_stalls() {
	local id

	for id; do
		[ "$(json "$T/$id.send" stalls)" = 0 ] || return 1
	done
}

# memory_group MB: a memory control group with that limit, at GROUP below ROOT
memory_group() {
	ROOT=$T/cg
	GROUP=$ROOT/rds-fire
	mkdir -p "$ROOT" && mount -t cgroup2 none "$ROOT" 2>/dev/null || return 1
	grep -qw memory "$ROOT/cgroup.controllers" || return 1
	echo +memory >"$ROOT/cgroup.subtree_control" && mkdir "$GROUP" &&
		echo $(($1 << 20)) >"$GROUP/memory.max" &&
		{ [ ! -e "$GROUP/memory.swap.max" ] || echo 0 >"$GROUP/memory.swap.max"; }
}

# kept_back: kB of freed memory that KASAN keeps back: a 32nd of the machine's
kept_back() {
	case $RDS_KERNEL in
	*kasan) awk '$1 == "MemTotal:" { print int($2 / 32) }' /proc/meminfo ;;
	*) echo 0 ;;
	esac
}

# counted NAME BEFORE LEAST: has the counter grown by so many since it was BEFORE?
counted() {
	local now

	now=$(counter - "$1") || return 1
	echo "$1: $2 -> $now, at least $3 more are wanted" >"$T/counted"
	[ $((now - $2)) -ge "$3" ]
}

# will_count SECONDS NAME BEFORE LEAST: it will have within so many seconds
will_count() {
	local rc

	busywait "$1" counted "${@:2}"
	rc=$?
	show_file "$T/counted"
	return $rc
}

# slab_objects GLOB: objects alive in these slab caches
slab_objects() {
	local c n sum=0

	for c in /sys/kernel/slab/$1; do
		[ -e "$c/objects" ] || continue
		echo 1 >"$c/shrink"
		read -r n _ <"$c/objects"
		sum=$((sum + n))
	done
	echo $sum
}

# Network namespaces the kernel has, whatever still holds them.
netns_alive() {
	slab_objects net_namespace
}

# The kernel frees dead namespaces when the next one dies: let there be one.
netns_settled() {
	unshare --net true
	sleep 0.5
	netns_alive
}

# netns_start: count the namespaces; netns_back: are there no more than then?
netns_start() {
	netns_settled >/dev/null
	NETNS_START=$(netns_settled)
	note "namespaces at the start: $NETNS_START"
}

netns_back() {
	[ "$(netns_settled)" -le "$NETNS_START" ]
}

# make_pair A B: two namespaces, 10.9.0.1 and .2
make_pair() {
	ip netns add "$1" && ip netns add "$2" &&
		ip -n "$1" link add veth0 type veth peer name veth0 netns "$2" &&
		ip -n "$1" addr add 10.9.0.1/24 dev veth0 &&
		ip -n "$2" addr add 10.9.0.2/24 dev veth0 &&
		ip -n "$1" link set lo up && ip -n "$2" link set lo up &&
		ip -n "$1" link set veth0 up && ip -n "$2" link set veth0 up
}

# The guest's root is a chroot, and in a chroot no user namespace can be made:
# put the tree over the root of a mount namespace of our own.
no_chroot() {
	unshare --mount --propagation private nsenter --mount=/proc/self/ns/mnt \
		/bin/busybox sh -c 'mount --rbind /new / && exec chroot /new "$@"' sh \
		/usr/bin/nsenter --mount=/proc/self/ns/mnt "$@"
}

moved() {
	note "$(basename "$0" .sh): $MOVED messages moved and proven"
}

# tcp_links NS: TCP connections of RDS, of either direction; has_links NS COUNT: so many, or more?
tcp_links() {
	"$1" ss -Htn state established '( sport = 16385 or dport = 16385 )' | wc -l
}

has_links() {
	[ "$(tcp_links "$1")" -ge "$2" ]
}

# drop_orphans NS ADDRESS: nothing is left there of closed sockets
drop_orphans() {
	"$1" sysctl -qw net.rds.max_orphans=0
	# the next one to be closed makes room
	"$1" python3 -ISc 'import socket, sys
s = socket.socket(21, socket.SOCK_SEQPACKET)
s.bind((sys.argv[1], 0))
s.sendto(b"", ("10.1.0.77", 9))' "$2"
	[ "$(counter "$1" orphan_present)" = 0 ]
}

# log_from_here: what the kernel says from now on counts; log_since: that.  Lines cannot be counted: the
# log of a guest that has run for a while is full, and the oldest go.
log_from_here() {
	LOG_MARK="from here: $$ $RANDOM$RANDOM"
	echo "$LOG_MARK" >/dev/kmsg
}

log_since() {
	dmesg | sed "1,/$LOG_MARK/d"
}

# ours: are we testing our own module (and not validating against in-tree)?
ours() {
	[ -z "${RDS_REF:-}" ] || [ "${RDS_REF:-0}" = 0 ]
}
