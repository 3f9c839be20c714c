#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=150 ref=0 uml=0
# However many processes wait for a congested port, no more than 32 are woken at once, for that is
# done with interrupts off.  Nobody is forgotten.
. "$(dirname "$0")/common.sh"

COUNT=600
TRACE=/sys/kernel/tracing

says() {
	grep -q "$2" "$T/$1"
}

READS='import socket, sys
s = socket.socket(21, socket.SOCK_SEQPACKET)
s.bind((sys.argv[1], int(sys.argv[2])))
got = 0
print("bound")
for line in sys.stdin:
    word, n = line.split()
    while got < int(n):
        s.recv(1000)
        got += 1
    print(word, got)'

# tell WORD NUMBER: the reader reads until it has so many
tell() {
	echo "$1 $2" >&"$READER"
	busywait 60 says reader "^$1"
}

blocked() {
	[ "$(counter "$1" cong_send_blocked)" -ge "$2" ]
}

trace() {
	echo 0 >$TRACE/tracing_on
	echo 4096 >$TRACE/buffer_size_kb
	echo >$TRACE/trace
	echo __wake_up >$TRACE/set_ftrace_filter
	echo function >$TRACE/current_tracer
	echo 'comm == "waits"' >$TRACE/events/sched/sched_waking/filter
	echo 1 >$TRACE/events/sched/sched_waking/enable
	echo 1 >$TRACE/tracing_on
}

half_woken() {
	[ "$(grep -o 'sched_waking: .* pid=[0-9]*' $TRACE/trace | sort -u | wc -l)" -gt $((COUNT / 2)) ]
}

# How many were woken by one call at most, how many were woken at all, who called.
wakings() {
	echo 0 >$TRACE/tracing_on
	echo 0 >$TRACE/events/sched/sched_waking/enable
	sed -n 's/^ *\(.*-[0-9]*\) *\[.*: __wake_up <-.*/\1 call/p
		s/^ *\(.*-[0-9]*\) *\[.*sched_waking: .* pid=\([0-9]*\) .*/\1 \2/p' $TRACE/trace >"$T/wakings"
	echo nop >$TRACE/current_tracer
	awk '$2 == "call" { n[$1] = 0; next }
	     !seen[$2]++ { all++ }
	     ++n[$1] > most { most = n[$1]; who = $1 }
	     END { print most + 0, all + 0, who }' "$T/wakings"
}

# crowd NS1 ADDRESS NS2 TO PORT
crowd() {
	local before full most all who rc=0

	mkfifo "$T/fifo"
	"$3" python3 -ISuc "$READS" "$4" "$5" >"$T/reader" 2>&1 <"$T/fifo" &
	exec {READER}>"$T/fifo"
	rm "$T/fifo"
	busywait 20 says reader bound || return 1
	before=$(counter "$1" cong_send_blocked)
	"$1" "$BIN/rdsusers" crowd 0 "$2" "$4" "$5" $COUNT >"$T/senders" 2>&1 </dev/null &
	busywait 60 says senders full && busywait 60 blocked "$1" $((before + COUNT)) || rc=1
	full=$(sed -n 's/^full //p' "$T/senders")
	trace
	# not half of them: over TCP some were accepted before the map came, and are still under way.
	# What is left then is less than half of the queue, which takes 107.
	tell some $((full - 40)) || rc=1
	busywait 20 half_woken || rc=1
	sleep 1			# more may follow
	wakings >"$T/most"
	read -r most all who <"$T/most"
	note "$full messages were there; $all of $COUNT were woken, $most at once by $who"
	[ "$all" -gt $((COUNT / 2)) ] && [ "$most" -gt 0 ] && [ "$most" -le 32 ] || rc=1
	tell all $((full + COUNT)) && busywait 60 says senders "^sent $COUNT" || {
		show_file "$T/reader"
		show_file "$T/senders"
		note "$(pgrep -xc waits) still wait; $("$1" "$BIN/rds-info" -k | grep -c .) sockets"
		rc=1
	}
	exec {READER}>&-
	kill %% %- 2>/dev/null
	wait 2>/dev/null
	return $rc
}

ktap_header
setup_pair
check "TCP: who frees a port that 600 wait for does not wake all at once" crowd n1 10.1.0.1 n2 10.1.0.2 4000
check "loopback: likewise" crowd n1 127.0.0.1 n1 127.0.0.1 4001
ktap_finish
