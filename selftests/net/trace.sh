#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=60 ref=0
# The tracepoints tell the life of a path and of a message, and name the reason of a drop.
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

ktap_header
setup_pair
check "the events exist" test -d $TR/events/rds/rds_state_change
echo 0 >$TR/tracing_on
# Another test may have left it small.
echo 4096 >$TR/buffer_size_kb
echo >$TR/trace
echo 1 >$TR/events/rds/enable
echo 1 >$TR/tracing_on
check "messages move while tracing" duplex traced n1 10.1.0.1 n2 10.1.0.2 100
check "messages to an unbound port are acknowledged" nowhere
echo 0 >$TR/tracing_on
echo 0 >$TR/events/rds/enable
cat $TR/trace >"$T/trace"
echo >$TR/trace
echo 1 >$TR/buffer_size_kb
echo 1 >$TR/tracing_on
check "state change" seen 'rds_state_change: .*CONNECTING -> UP by LINK_UP'
check "enqueue" seen 'rds_enqueue: .*seq=[0-9]+'
check "transmit" seen 'rds_transmit: .*seq=[0-9]+'
check "acknowledgement" seen 'rds_ack: '
check "delivery" seen 'rds_deliver: '
check "drop with its reason and both ends" seen \
	'rds_drop: .*laddr=::ffff:10[.]1[.]0[.]2 faddr=::ffff:10[.]1[.]0[.]1 .*ports=4444>4445 .*NO_SOCK'
moved
ktap_finish
