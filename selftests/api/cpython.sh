#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds ref=0 timeout=180 lanes=uml
#
# CPython's own tests of RDS sockets, ten times each: a client sends its first message over 127.0.0.1
# and closes, its server reads it.  They hang where that message is lost.

. "${SELFTESTS:-$(dirname "$0")/..}/lib.sh"

TIMES=10

out=$(mktemp)
trap 'rm -f "$out"; cleanup' EXIT

# run CASE...: all in one process, which takes seconds to begin
run()
{
	local name i names=()

	for name; do
		for ((i = 0; i < TIMES; i++)); do
			names+=("test_socket.RDSTest.$name")
		done
	done
	PYTHONPATH=$RDS_CACHE/cpython timeout $((100 * ${RDS_SLOW:-1})) \
		/usr/bin/python3 -B -m unittest -v "${names[@]}" >"$out" 2>&1 || sed 's/^/# /' "$out"
}

passed()
{
	[ "$(grep -c "^$1 .*ok$" "$out")" = $TIMES ]
}

ktap_header
ip link set lo up
# test_socket tries every family, and some modules keep a socket for as long as they are loaded
modprobe=$(cat /proc/sys/kernel/modprobe)
echo /bin/false >/proc/sys/kernel/modprobe
run testPeek testSelect testSendAndRecv testSendAndRecvMsg testSendAndRecvMulti
echo "$modprobe" >/proc/sys/kernel/modprobe
for name in testPeek testSelect testSendAndRecv testSendAndRecvMsg testSendAndRecvMulti; do
	check "$name" passed "$name"
done
ktap_finish
