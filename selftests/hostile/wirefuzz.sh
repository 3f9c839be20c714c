#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge,inet_diag,tcp_diag timeout=200 ref=0 soak=10 lanes=uml
# The wire fuzzer, once as the side that dials and once as the side that is dialled, beside
# honest traffic.  RDS_FUZZ_SEED repeats a run.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"

case ${RDS_KERNEL:-debian} in
debian) SECS=20 ;;
*) SECS=60 ;;
esac
[ "${RDS_SOAK:-0}" = 0 ] || SECS=$((RDS_SOAK * 60))
SEED=${RDS_FUZZ_SEED:-$(date +%s)}
SECS=${RDS_FUZZ_SECS:-$SECS}

# fuzz NAME ROLE FROM TO PORT SEED: in the background
fuzz() {
	n1 "$BIN/wirefuzz" "$2" "$3:0" "$4:0" "$5" --seed "$6" --seconds "$SECS" \
		--bystander "$HONEST_PORT" \
		>"$T/$1" 2>&1 </dev/null &
	eval "PID_$1=$!"
}

# fuzzed NAME: it ended well
fuzzed() {
	local pid=PID_$1 rc

	wait "${!pid}"
	rc=$?
	show_file "$T/$1"
	[ $rc = 0 ] || show_state
	return $rc
}

echo_server() {
	n3 "$BIN/wirefuzz" echo "$1" >"$T/echo.$2" 2>&1 </dev/null &
	disown $!
	busywait 10 grep -q ready "$T/echo.$2"
}

ktap_header
setup_hostile
echo_server 10.1.0.3:7001 a
echo_server 10.1.0.3:7002 b
start_honest $((SECS * 100)) 100
watch_memory
fuzz dial dial 10.1.0.1 10.1.0.3 7001 "$SEED"
fuzz listen listen 10.1.0.9 10.1.0.3 7002 $((SEED + 1))
check "a fuzzer that dials" fuzzed dial
check "a fuzzer that is dialled" fuzzed listen
check "honest peers were served all the while, both ways" end_honest
check "strangers wrote to them meanwhile" [ "$(json "$T/honest-in.recv" strange)" -gt 0 ]
check "memory is bounded" memory_bounded 200000 60000
check "a new flow to the victim" duplex after n2 10.1.0.2 n3 10.1.0.3 200
moved
ktap_finish
