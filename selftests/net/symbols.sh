#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds netns=init timeout=60 ref=0 lanes=debian
# Our core and a transport of somebody else: the in-tree rds_tcp.ko must not link with it.
. "$(dirname "$0")/common.sh"

foreign=$(find "${RDS_CACHE:-/root/.cache/rds}/img" -path "*$(uname -r)/kernel/net/rds/rds_tcp.ko*" \
	2>/dev/null | head -n 1)

unpack() {
	case $1 in
	*.xz) xz -dc "$1" ;;
	*.zst) zstd -dc "$1" ;;
	*) cat "$1" ;;
	esac >"$T/foreign.ko"
}

refused() {
	local out

	out=$(insmod "$T/foreign.ko" 2>&1) && return 1
	note "$out"
	echo "$out" | grep -Eqi 'unknown symbol|invalid module format|required key'
}

in_namespace() {
	modinfo -F import_ns "$1" | grep -q '^RDS_TRANSPORT$'
}

ktap_header
tcp=$(modinfo -n rds_tcp)
check "our transport asks for our namespace" in_namespace "$tcp"
check "no alias loads the family by itself" test -z "$(modinfo -F alias rds | grep net-pf)"
if [ -n "$foreign" ]; then
	unpack "$foreign"
	modprobe -r rds_tcp 2>/dev/null
	check "the in-tree transport does not link" refused
	check "and nothing of it stays" test ! -d /sys/module/rds_tcp
	check "ours still loads" modprobe rds_tcp
else
	ktap_skip "no in-tree rds_tcp.ko of this kernel here"
fi
ktap_finish
