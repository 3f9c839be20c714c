#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,inet_diag,tcp_diag timeout=60 ref=0 lanes=uml
# The tracepoints tell the life of a path and of a message, and name the reason of a drop and
# of the end of a link; with addresses, IPv4 as IPv4, and the namespace.  Documentation/tracing.rst
# describes each event, with the members that it has.
. "$(dirname "$0")/common.sh"

need_tracing

# seen REGEX: the trace contains such a line
seen() {
	grep -Eq "$1" "$T/trace" && return 0
	grep -v '^#' "$T/trace" | head -n 20 | sed 's/^/# /'
	return 1
}

# To a port that nobody has bound: dropped at the receiver, with its reason.
nowhere() {
	local rc

	start_send lost n1 10.1.0.1:4444 10.1.0.2:4445 3
	wait "${JOBS[-1]##*:}"
	rc=$?
	unset 'JOBS[-1]'
	return $rc
}

# A link between the two ends, in words that tell which.
link_dropped() {
	n1 "$BIN/rdsmisc" killtcp 1 0 >"$T/kill" 2>&1 </dev/null
	grep -q 'rds_link_drop:' $TR/trace
}

# documented: the page has every event, and of each every member of ours
documented() {
	local page=${SELFTESTS:-$(dirname "$0")/..}/../Documentation/tracing.rst rc=0 event field

	for event in $TR/events/rds/rds_*; do
		grep -q "\`\`${event##*/}\`\`" "$page" || { note "no ${event##*/}"; rc=1; }
		for field in $(sed -n 's/^\tfield:.* \([a-z_]*\)\(\[[0-9]*\]\)\?;\toffset.*/\1/p' "$event/format" |
				grep -v ^common); do
			grep -q "\`\`$field\`\`" "$page" || { note "${event##*/}: no $field"; rc=1; }
		done
	done
	return $rc
}

ktap_header
setup_pair
netns=$(stat -L -c %i /run/netns/n1)
check "the events exist" test -d $TR/events/rds/rds_state_change
echo 0 >$TR/tracing_on
# Another test may have left it small.
echo 4096 >$TR/buffer_size_kb
echo >$TR/trace
echo 1 >$TR/events/rds/enable
echo 1 >$TR/tracing_on
check "messages move while tracing" duplex traced n1 10.1.0.1 n2 10.1.0.2 100
check "messages move over IPv6" duplex traced6 n1 '[fd00:1::1]' n2 '[fd00:1::2]' 20
check "messages to an unbound port are acknowledged" nowhere
check "a link is lost" busywait 20 link_dropped
echo 0 >$TR/tracing_on
echo 0 >$TR/events/rds/enable
cat $TR/trace >"$T/trace"
echo >$TR/trace
echo 1 >$TR/buffer_size_kb
echo 1 >$TR/tracing_on
path="netns=$netns conn=[0-9]+ path=[0-7] transport=tcp tos=0"
ends='laddr=10[.]1[.]0[.]1 faddr=10[.]1[.]0[.]2'
check "state change" seen \
	"rds_state_change: $path epoch=[0-9]+ $ends CONNECTING -> UP by LINK_UP"
check "enqueue" seen \
	"rds_enqueue: $path seq=[0-9]+ len=[0-9]+ flags=0x[0-9a-f]+ from=10[.]1[.]0[.]1:[0-9]+ to=10[.]1[.]0[.]2:[0-9]+"
check "enqueue, IPv6" seen \
	"rds_enqueue: $path .* from=\\[fd00:1::1\\]:[0-9]+ to=\\[fd00:1::2\\]:[0-9]+"
check "transmit" seen "rds_transmit: $path seq=[0-9]+"
check "acknowledgement" seen "rds_ack: $path $ends pos=[0-9]+ messages=[0-9]+"
check "delivery" seen \
	"rds_deliver: netns=$netns tos=0 seq=[0-9]+ len=[0-9]+ from=10[.]1[.]0[.]2:[0-9]+ to=10[.]1[.]0[.]1:[0-9]+"
check "drop with its reason and both ends" seen \
	'rds_drop: .*laddr=10[.]1[.]0[.]2 faddr=10[.]1[.]0[.]1 .*ports=4444>4445 .*NO_SOCK'
check "end of a link with both ends, and why" seen \
	"rds_link_drop: $path epoch=[0-9]+ $ends state=UP why=E[A-Z]+"
check "the page describes all of it" documented
moved
ktap_finish
