# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Helpers for the shell tests. Sourced, by bash:
#	. "$(dirname "$0")/../lib.sh"
#
# KTAP:       ktap_header, ktap_pass|ktap_fail|ktap_skip NAME,
#             check NAME COMMAND..., ktap_finish
# In a guest: setup_pair, setup_nodes N, n1 COMMAND..., busywait SECONDS COMMAND...,
#             counter NS NAME, slabcount, cleanup
# On the host, for tests with several guests: on NODE COMMAND..., vm_kill NODE,
#             vm_boot NODE, link_down NODE..., link_up NODE..., vm_log NODE

SELFTESTS=${RDS_SELFTESTS:-$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)}
BIN=${BIN:-$(cd "$SELFTESTS/.." && pwd)/build/bin}
export SELFTESTS BIN

KTAP_NR=0
KTAP_FAILED=0
LIB_NETNS=()
LIB_TRAP=

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

# check NAME COMMAND...: passes when the command succeeds
check()
{
	local name=$1 rc
	shift
	"$@"
	rc=$?
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
	local ns

	for ns in "${LIB_NETNS[@]}"; do
		ip netns pids "$ns" 2>/dev/null | xargs -r kill -9 2>/dev/null
		ip netns delete "$ns" 2>/dev/null
	done
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
	eval "n$_i() { ip netns exec n$_i \"\$@\"; }"
done

lib_netns()
{
	ip netns add "$1" || lib_die "cannot add network namespace $1"
	LIB_NETNS+=("$1")
	ip -n "$1" link set lo up
}

# lib_address NS NUMBER
lib_address()
{
	ip -n "$1" addr add "10.1.0.$2/24" dev eth0 &&
		ip -n "$1" addr add "fd00:1::$2/64" dev eth0 nodad &&
		ip -n "$1" link set eth0 up ||
		lib_die "cannot configure eth0 in $1"
}

# n1 and n2, joined: 10.1.0.1 and .2, fd00:1::1 and ::2 on eth0 of each
setup_pair()
{
	lib_trap
	lib_netns n1
	lib_netns n2
	ip -n n1 link add eth0 type veth peer name eth0 netns n2 ||
		lib_die "cannot add a veth pair"
	lib_address n1 1
	lib_address n2 2
	busywait 10 lib_reachable n1 10.1.0.2 || lib_die "n2 cannot be reached from n1"
}

lib_reachable()
{
	ip -n "$1" -o link show dev eth0 | grep -q 'LOWER_UP'
}

# setup_nodes N: n1 .. nN on one bridge, 10.1.0.1 .. N
setup_nodes()
{
	local i

	lib_trap
	lib_netns nbr
	ip -n nbr link add br0 type bridge || lib_die "cannot add a bridge"
	ip -n nbr link set br0 up
	for i in $(seq "$1"); do
		[ "$i" -le 8 ] || eval "n$i() { ip netns exec n$i \"\$@\"; }"
		lib_netns "n$i"
		ip -n "n$i" link add eth0 type veth peer name "p$i" netns nbr ||
			lib_die "cannot add a veth pair"
		ip -n nbr link set "p$i" master br0 up
		lib_address "n$i" "$i"
	done
	for i in $(seq "$1"); do
		busywait 10 lib_reachable "n$i" || lib_die "n$i does not come up"
	done
}

# busywait SECONDS COMMAND...: true as soon as the command succeeds; on a slow
# kernel it waits longer
busywait()
{
	local end=$(($(date +%s%N) / 1000000 + $1 * 1000 * ${RDS_SLOW:-1}))
	shift
	while ! "$@"; do
		if [ $(($(date +%s%N) / 1000000)) -ge $end ]; then
			return 1
		fi
		sleep 0.05
	done
}

# counter NS NAME: value of an RDS counter; NS is a namespace or "-" for here
counter()
{
	local run=()

	[ "$1" = - ] || run=(ip netns exec "$1")
	"${run[@]}" "$BIN/rds-info" --json -c | python3 -S -c '
import json, sys
def find(o, name):
    if isinstance(o, dict):
        if o.get("name") == name and "value" in o:
            return o["value"]
        if isinstance(o.get(name), int):
            return o[name]
        o = list(o.values())
    if isinstance(o, list):
        for e in o:
            v = find(e, name)
            if v is not None:
                return v
v = find(json.load(sys.stdin), sys.argv[1])
if v is None:
    sys.exit("no counter is named " + sys.argv[1])
print(v)' "$2"
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

# --- on the host, driving guests

lib_vmctl() { python3 -IS "$SELFTESTS/vm/vmctl.py" "$@"; }

on()        { lib_vmctl on "$@"; }
vm_kill()   { lib_vmctl kill "$1"; }
vm_boot()   { lib_vmctl boot "$1"; }
vm_log()    { lib_vmctl log "$1"; }
link_down() { local n; for n; do lib_vmctl link "$n" down || return; done; }
link_up()   { local n; for n; do lib_vmctl link "$n" up || return; done; }
