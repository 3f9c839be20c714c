# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Helpers for the shell tests. Sourced, by bash:
#	. "$(dirname "$0")/../lib.sh"
#
# KTAP:       ktap_header, ktap_pass|ktap_fail|ktap_skip NAME,
#             check NAME COMMAND..., ktap_finish
# In a guest: setup_pair, setup_nodes N, n1 COMMAND..., busywait SECONDS COMMAND..., fair_now,
#             counter NS NAME, slabcount, need_tracing, cleanup
# On the host, for tests with several guests: on NODE COMMAND..., vm_kill NODE,
#             vm_boot NODE, link_down NODE..., link_up NODE..., vm_log NODE

SELFTESTS=${RDS_SELFTESTS:-$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)}
BIN=${BIN:-$(cd "$SELFTESTS/.." && pwd)/build/bin}
export SELFTESTS BIN

# rdma_rxe does not get over a message of the CM that it cannot send, because the interface is
# down just then.  The CM's queue pair (GSI) stays in state ERR, and nothing can be connected any
# more until the device is made anew.  A command that tells.
# shellcheck disable=SC2034
GSI_LOST="rdma res show qp | grep -q 'type GSI state ERR'"

KTAP_NR=0
KTAP_FAILED=0
KTAP_OPEN=
LIB_NETNS=()
LIB_TRAP=
LIB_NEVER=

# --- KTAP

ktap_header()
{
	echo "TAP version 13"
}

ktap_result()
{
	KTAP_NR=$((KTAP_NR + 1))
	echo "$1 $KTAP_NR $2"
}

ktap_pass() { ktap_result ok "$*"; }
ktap_fail() { KTAP_FAILED=$((KTAP_FAILED + 1)); ktap_result "not ok" "$*"; }
# ktap_skip NAME [REASON]
ktap_skip() { ktap_result ok "$1 # SKIP ${*:2}"; }

# An error in an expansion, $((1 + )), has bash forget all that it was doing: the check too.
ktap_lost()
{
	local name=$KTAP_OPEN

	KTAP_OPEN=
	[ -z "$name" ] || ktap_fail "$name: ended by an error of the shell"
}

# check NAME COMMAND...: passes when the command succeeds.  Not inside of one another.
check()
{
	local name=$1 rc
	shift
	ktap_lost
	KTAP_OPEN=$name
	"$@"
	rc=$?
	KTAP_OPEN=
	if [ $rc -eq 0 ]; then
		ktap_pass "$name"
	else
		echo "# status $rc of: $*"
		ktap_fail "$name"
	fi
	return $rc
}

ktap_finish()
{
	ktap_lost
	echo "1..$KTAP_NR"
	if [ $KTAP_NR -eq 0 ]; then
		exit 4
	fi
	[ $KTAP_FAILED -eq 0 ]
	exit
}

# --- in a guest

# Whatever ends the test, its namespaces go.
cleanup()
{
	[ ${#LIB_NETNS[@]} -gt 0 ] || return
	printf 'netns pids %s\n' "${LIB_NETNS[@]}" | ip -force -batch - 2>/dev/null |
		xargs -r kill -9 2>/dev/null
	printf 'netns delete %s\n' "${LIB_NETNS[@]}" | ip -force -batch - 2>/dev/null
	LIB_NETNS=()
}

lib_trap()
{
	# a test with a trap of its own calls cleanup itself
	[ -n "$LIB_TRAP" ] || [ -n "$(trap -p EXIT)" ] || trap cleanup EXIT
	LIB_TRAP=1
}

lib_die()
{
	echo "# lib.sh: $*"
	echo "Bail out! $*"
	exit 1
}

for _i in 1 2 3 4 5 6 7 8; do
	eval "n$_i() { \"\$BIN/rdsns\" n$_i \"\$@\"; }"
done

# One ip(8) for many commands: to start it takes longer than what it does.
# lib_batch [NS]: commands on standard input
lib_batch()
{
	ip ${1:+-n "$1"} -batch - || lib_die "cannot configure ${1:-the namespaces}"
}

lib_netns()
{
	local ns

	LIB_NETNS+=("$@")
	lib_batch <<<"$(printf 'netns add %s\n' "$@")"
	for ns; do
		ip -n "$ns" link set lo up
	done
}

# lib_node NS NUMBER PEER...: lo and eth0 of NS, the latter joined to PEER
lib_node()
{
	lib_batch "$1" <<-BATCH
		link set lo up
		link add eth0 type veth peer name ${*:3}
		addr add 10.1.0.$2/24 dev eth0
		addr add fd00:1::$2/64 dev eth0 nodad
		link set eth0 up
	BATCH
}

# n1 and n2, joined: 10.1.0.1 and .2, fd00:1::1 and ::2 on eth0 of each
setup_pair()
{
	lib_trap
	LIB_NETNS+=(n1 n2)
	lib_batch <<<$'netns add n1\nnetns add n2'
	lib_join
}

lib_join()
{
	lib_node n1 1 eth0 netns n2
	lib_batch n2 <<-BATCH
		link set lo up
		addr add 10.1.0.2/24 dev eth0
		addr add fd00:1::2/64 dev eth0 nodad
		link set eth0 up
	BATCH
	busywait 10 lib_running n1 && busywait 10 lib_running n2 ||
		lib_die "n2 cannot be reached from n1"
}

# The link has a carrier and, up to a second later, a queue: before, what is sent is dropped.
lib_running()
{
	[[ $(ip -n "$1" -o link show dev eth0) == *"state UP"* ]]
}

# setup_nodes N: n1 .. nN on one bridge, 10.1.0.1 .. N
setup_nodes()
{
	local i add="netns add nbr" bridge=$'link set lo up\nlink add br0 type bridge\nlink set br0 up'

	lib_trap
	LIB_NETNS+=(nbr)
	for ((i = 1; i <= $1; i++)); do
		[ $i -le 8 ] || eval "n$i() { \"\$BIN/rdsns\" n$i \"\$@\"; }"
		LIB_NETNS+=("n$i")
		add+=$'\n'"netns add n$i"
		bridge+=$'\n'"link set p$i master br0 up"
	done
	lib_batch <<<"$add"
	for ((i = 1; i <= $1; i++)); do
		lib_node "n$i" "$i" "p$i" netns nbr
	done
	lib_batch nbr <<<"$bridge"
	for ((i = 1; i <= $1; i++)); do
		busywait 10 lib_running "n$i" || lib_die "n$i does not come up"
	done
}

# The clock and a nap, without a process
lib_now() { LIB_NOW=$((${EPOCHREALTIME/[.,]/} / 1000)); }

lib_nap()
{
	local fifo=/tmp/.lib-$$-$RANDOM

	if [ -z "$LIB_NEVER" ]; then
		mkfifo "$fifo" || { sleep "$1"; return; }
		exec {LIB_NEVER}<>"$fifo"
		rm -f "$fifo"
	fi
	read -r -t "$1" -u "$LIB_NEVER"
}

# busywait SECONDS COMMAND...: true as soon as the command succeeds; on a slow kernel it waits
# longer, and where the machine lets nobody run until it has asked once for each second.  Between two
# looks it naps twice as long as a look takes: who waits leaves the machine to others.
busywait()
{
	local begin end nap asked=0 least=$1

	lib_now
	end=$((LIB_NOW + $1 * 1000 * ${RDS_SLOW:-1}))
	shift
	while begin=$LIB_NOW; ! "$@"; do
		asked=$((asked + 1))
		lib_now
		[ $LIB_NOW -lt $end ] || [ $asked -lt "$least" ] || return 1
		nap=$(((LIB_NOW - begin) * 2))
		nap=$((nap < 50 ? 50 : nap > 1000 ? 1000 : nap))
		printf -v nap %d.%03d $((nap / 1000)) $((nap % 1000))
		lib_nap "$nap"
		lib_now
	done
	return 0
}

# fair_now: FAIR_NOW is milliseconds of a clock that stands while this guest gets no processor, see
# fairclock.h.  What lies before the first call is not known.
fair_now()
{
	if [ -z "$LIB_CLOCK_PID" ]; then
		coproc LIB_CLOCK { exec "$BIN/rdsmisc" clock; }
		disown "$LIB_CLOCK_PID"		# nobody waits for it
	fi
	echo >&"${LIB_CLOCK[1]}" && read -r -t 60 -u "${LIB_CLOCK[0]}" FAIR_NOW ||
		lib_die "the clock stands"
}

# counter NS NAME: value of an RDS counter; NS is a namespace or "-" for here
counter()
{
	local run=() all

	[ "$1" = - ] || run=("$BIN/rdsns" "$1")
	all=$("${run[@]}" "$BIN/rds-info" -c) || return 1
	if [[ ! $all =~ [[:space:]]$2[[:space:]]+([0-9]+) ]]; then
		echo "no counter is named $2" >&2
		return 1
	fi
	echo "${BASH_REMATCH[1]}"
}

# slabcount: objects in all slab caches of rds, exactly
slabcount()
{
	local c n rest sum=0

	for c in /sys/kernel/slab/rds_*; do
		[ -d "$c" ] || continue
		# gives back what the CPUs keep, and KASAN's quarantine
		echo 1 >"$c/shrink"
		read -r n rest <"$c/objects"
		sum=$((sum + n))
	done
	echo $sum
}

# need_tracing: the tracing file system is at $TR
need_tracing()
{
	TR=/sys/kernel/tracing
	[ -d $TR/events ] || mount -t tracefs tracefs $TR 2>/dev/null
}

# --- on the host, driving guests

lib_vmctl() { python3 -IS "$SELFTESTS/vm/vmctl.py" "$@"; }

on()        { lib_vmctl on "$@"; }
vm_kill()   { lib_vmctl kill "$1"; }
vm_boot()   { lib_vmctl boot "$1"; }
vm_log()    { lib_vmctl log "$1"; }
link_down() { local n; for n; do lib_vmctl link "$n" down || return; done; }
link_up()   { local n; for n; do lib_vmctl link "$n" up || return; done; }
