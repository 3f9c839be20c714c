#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_rdma,rdma_rxe,dummy netns=init ref=0 timeout=60 lanes=uml
# The five lines of README.md that make a RoCE device in software: taken from there, run.
. "${SELFTESTS:-$(dirname "$0")/..}/lib.sh"

readme=${SELFTESTS:-$(dirname "$0")/..}/../README.md
out=$(mktemp -d)
PATH=$BIN:$PATH
trap 'rdma link del rxe0; ip link del rds0; rm -rf "$out"; cleanup' EXIT

extract() {
	sed -n '/^## InfiniBand and RoCE$/,/^## /s/^    //p' "$readme" >"$out/lines"
	[ "$(wc -l <"$out/lines")" = 5 ] && grep -q '^rds-ping' "$out/lines"
}

# each line by itself, as somebody types them
typed() {
	local line

	while read -r line; do
		echo "# $line"
		bash -c "$line" </dev/null >"$out/said" 2>&1 || { sed 's/^/# /' "$out/said"; return 1; }
	done <"$out/lines"
	sed 's/^/# /' "$out/said"
	[ "$(grep -c ': [0-9]* usec$' "$out/said")" = 3 ]
}

listed() {
	rds-info -I >"$out/listed" && [ "$(grep -c '10\.5\.0\.[12] ' "$out/listed")" -ge 2 ] &&
		awk -v most=80 -v least=2 -f "$SELFTESTS/columns.awk" "$out/listed" &&
		rds-info -Iv >"$out/listed" && awk -v most=999 -v least=2 -f "$SELFTESTS/columns.awk" "$out/listed"
}

ktap_header
check "README.md has five lines for a RoCE device in software" extract
check "they work as they stand, and three pings come back" typed
check "rds-info -I lists the connection from both ends, in 80 columns" listed
ktap_finish
