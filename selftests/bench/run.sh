#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In a guest: the options and cells of rds-bench. "make bench" calls this.

. "$(dirname "$0")/common.sh"

setup_bench
case " $* " in
*" -p "*) ;;
*) set -- -p "$TRANSPORTS" "$@" ;;
esac
[ "$TRANSPORTS" = "${TRANSPORTS/tipc/}" ] || before=$(tipc_packets)
bench "$@"
rc=$?
[ -z "$before" ] || echo "# tipc: $(($(tipc_packets) - before)) packets on its link" >&2
exit $rc
