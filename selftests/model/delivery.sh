#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=600
#
# The delivery protocol (delivery.pml) has no state in which something was lost, doubled or
# overtaken, or nothing moves any more: within small bounds each state is visited; with RDS_SOAK
# (minutes) larger ones, as many as fit into the time and the memory.  And the model can tell: without
# the mending of a fault that the module had, the verifier finds it.
#
# "delivery.sh NAME '-DENDS=1 -DNO_FENCE'" verifies one variant and prints the way to the error.

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
nr=0
bad=0

# How long a verifier runs, and so how well it is worth compiling: less than a second, seconds, minutes
BRIEF=-O0
USUAL=-O1
LONG=-O2

# verify NAME DEFINES [CFLAGS [PANFLAGS]]: 0 no error, 1 an error was found, 2 the verifier failed
verify() {
	local dir=$tmp/$1

	mkdir -p "$dir" && cd "$dir" || return 2
	# shellcheck disable=SC2086
	spin $2 -a "$here/delivery.pml" >spin.log 2>&1 || return 2
	# shellcheck disable=SC2086
	${CC:-cc} -w -DSAFETY -DVECTORSZ=1024 -DMEMLIM="${MEMORY:-4096}" $3 \
		-I"$top/selftests/unit/include" -I"$top/selftests/unit" -I"$top/include/uapi" -o pan pan.c \
		"$here/glue.c" "$top/net/rds/state_table.c" "$top/net/rds/wire.c" >spin.log 2>&1 || return 2
	# shellcheck disable=SC2086
	timeout "${LIMIT:-500}" ./pan -m400000 $4 >out 2>&1
	grep -q '^pan:1:' out && return 1
	grep -q 'errors: 0$' out || return 2
	! grep -q 'max search depth too small' out || return 2
}

story() {
	./pan -r delivery.pml.trail 2>&1 | grep -E '^ *(end|message|path|link|the|socket) ' | grep -v 'proc '
}

states() {
	sed -n 's/^ *\([0-9e+.]*\) states, stored.*/\1 states/p' out
}

# result NAME GOOD
result() {
	nr=$((nr + 1))
	if [ "$2" = true ]; then
		echo "ok $nr $1: $(states)"
	else
		tail -n 20 spin.log out | sed 's/^/# /'
		[ ! -e delivery.pml.trail ] || story | tail -n 40 | sed 's/^/# /'
		echo "not ok $nr $1"
		bad=1
	fi
}

holds() {
	local good=false

	verify "h$nr" "$2" "$USUAL -DHC4" "-w24" && good=true
	result "$1" $good
}

finds() {
	local good=false

	verify "f$nr" "$2" "$BRIEF -DHC4" "-w22"
	[ $? = 1 ] && good=true
	result "finds: $1" $good
}

# What the memory does not hold is left out, by chance.
deep() {
	local good=false

	LIMIT=$((RDS_SOAK * 60 / 8)) verify "d$nr" "$2" "$LONG -DBITSTATE" "-w33 -k3"
	# Time over is no error.
	[ $? != 1 ] && grep -q 'states\|^Depth' out && good=true
	nr=$((nr + 1))
	if $good; then
		echo "ok $nr deep: $1: $(tail -n 30 out | grep -E 'states, stored|^Depth' | tail -n 1 | tr -s ' ')"
	else
		tail -n 20 out | sed 's/^/# /'
		[ ! -e delivery.pml.trail ] || story | sed 's/^/# /'
		echo "not ok $nr deep: $1"
		bad=1
	fi
}

if [ $# -gt 0 ]; then
	verify "$1" "$2" "$LONG -DHC4" "-w24"
	cat spin.log out
	[ ! -e delivery.pml.trail ] || story
	exit
fi

echo "TAP version 13"
if ! command -v spin >/dev/null; then
	echo "1..0 # SKIP no spin (make setup installs it)"
	exit 4
fi
soak=${RDS_SOAK:-0}
echo "1..$((17 + (soak > 0 ? 8 : 0)))"

finds "an index that a middlebox has changed" "-DNAT -DNO_INDEX"
finds "a link that is taken behind a younger one of its path" "-DNO_ANSWER"
finds "overtaking when messages are first spread" "-DENDS=0 -DNO_FENCE"
finds "a link that is not read to its end" "-DNO_DRAIN"
finds "a peer that is not recognised as a new one" "-DP=1 -DRESTART_SND=1 -DNO_GEN"
finds "numbers that begin anew" "-DP=1 -DENDS=2 -DEXPIRE=1 -DNO_FLOOR"
finds "what was expected next, forgotten" "-DP=1 -DEXPIRE=1 -DNO_GRAVE"
finds "an older peer's links in any order" "-DOLD -DNO_TURN"
holds "two paths, no link ends" "-DENDS=0 -DM=4"
holds "two paths, a link ends; the sender dials" "-DENDS=1"
holds "the same; the receiver dials" "-DENDS=1 -DSND=1"
holds "one path, a middlebox, a link ends; the receiver dials" "-DP=1 -DENDS=1 -DSND=1 -DNAT"
holds "a socket takes back what it sent" "-DP=1 -DENDS=1 -DCLOSES=1"
holds "a sender that starts anew" "-DP=1 -DENDS=1 -DRESTART_SND=1"
holds "a receiver that starts anew" "-DP=1 -DENDS=1 -DRESTART_RCV=1"
holds "a connection that is forgotten" "-DP=1 -DENDS=1 -DEXPIRE=1"
holds "an older peer" "-DENDS=0 -DOLD"
if [ "$soak" -gt 0 ]; then
	deep "two paths, two links end" "-DNL=4 -DENDS=2 -DM=4"
	deep "the same, the receiver dials" "-DNL=4 -DENDS=2 -DSND=1"
	deep "behind a middlebox" "-DENDS=2 -DNAT"
	deep "one path, a middlebox, two links end; the receiver dials" "-DP=1 -DENDS=2 -DSND=1 -DNAT"
	deep "a connection that is forgotten, two links end" "-DP=1 -DENDS=2 -DEXPIRE=1"
	deep "an older peer" "-DENDS=2 -DOLD"
	deep "both start anew" "-DENDS=2 -DRESTART_SND=1 -DRESTART_RCV=1"
	deep "connections are forgotten, sockets closed" "-DENDS=2 -DEXPIRE=2 -DCLOSES=1"
fi
exit $bad
