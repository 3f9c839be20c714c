#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp timeout=200 ref=0 uml=0
# However many ports of an address one user has bound, another one gets some, and root.  (Not on
# UML: so many sockets are too much for it.)
. "$(dirname "$0")/common.sh"

PY=$(dirname "$0")/shares.py

# has ID LEAST MOST UID COUNT: the user binds as many as he gets, up to COUNT
has() {
	local n

	python3 -ISu "$PY" ports "$4" 127.0.0.1 "$5" >"$T/$1" 2>&1 </dev/null &
	PIDS+=($!)
	busywait 90 grep -q accepted "$T/$1"
	show_file "$T/$1"
	n=$(sed -n 's/^accepted //p' "$T/$1")
	[ "${n:-0}" -ge "$2" ] && [ "$n" -le "$3" ]
}

ended() {
	kill -9 "${PIDS[@]}"
	wait "${PIDS[@]}" 2>/dev/null
	PIDS=()
	has again 1000 1000 1002 1000
}

ktap_header
PIDS=()
check "one user has half of the ports that are not kept for the administrator" has one 28672 28672 1001 70000
check "another one has some" has two 1000 1000 1002 1000
check "and root" has root 1000 1000 0 1000
check "what ended with its program is counted no more" ended
kill -9 "${PIDS[@]}"
ktap_finish
