#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge timeout=120 lanes=uml
#
# The example program of README.md: taken from there, compiled, run.

. "${SELFTESTS:-$(dirname "$0")/..}/lib.sh"

readme=${SELFTESTS:-$(dirname "$0")/..}/../README.md
out=$(mktemp -d)
trap 'kill $servers 2>/dev/null; rm -rf "$out"; cleanup' EXIT
servers=

extract() { sed -n '/^```c$/,/^```$/p' "$readme" | sed '/^```/d' >"$out/hello.c"; }
lines()   { [ "$(wc -l <"$out/hello.c")" -eq 26 ]; }
build()   { gcc -Wall -Wextra -Werror -O2 -o "$out/hello" "$out/hello.c"; }

serve()
{
	local i

	for i in 2 3; do
		"n$i" stdbuf -oL "$out/hello" "10.1.0.$i" >"$out/server$i" 2>&1 &
		servers="$servers $!"
		busywait 10 bound "n$i" "10.1.0.$i" || return
	done
}

# Without an address, or with none that is one, it says how it is used.
usage()
{
	local args

	for args in "" 10.1.0; do
		# shellcheck disable=SC2086
		"$out/hello" $args 2>"$out/said"
		[ $? -eq 2 ] && grep -q '^usage: hello ' "$out/said" || { sed 's/^/# /' "$out/said"; return 1; }
	done
	! "$out/hello" 10.99.0.1 2>"$out/said" &&
		grep -qx 'hello: Cannot assign requested address' "$out/said"
}

bound() { "$1" "$BIN/rds-info" -k | grep -qE "^ *$2 +4000 "; }

# One socket on the first node, two peers: each is greeted and answers.
greet()
{
	n1 timeout 20 "$out/hello" 10.1.0.1 10.1.0.2 10.1.0.3 >"$out/client" || return
	sed 's/^/# /' "$out/client"
	[ "$(sort "$out/client")" = "welcome from 10.1.0.2
welcome from 10.1.0.3" ] &&
	[ "$(cat "$out/server2")" = "hello from 10.1.0.1" ] &&
	[ "$(cat "$out/server3")" = "hello from 10.1.0.1" ]
}

ktap_header
setup_nodes 3
check "README.md has an example program" extract
check "the example has 26 lines" lines
check "the example compiles without a warning" build
check "it says how it is used" usage
check "the example serves" serve
check "the example reaches two peers over one socket" greet
ktap_finish
