#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,bridge timeout=300 ref=0 lanes=uml
# Sockets that nobody reads, one of each of some users, and a peer who sends to them: whatever the
# others have, the next user may keep something beyond his socket's limit, and the administrator
# has an eighth of all that for himself.
. "${SELFTESTS:-$(dirname "$0")/..}/hostile/common.sh"
. "$SELFTESTS/hostile/hogs.sh"

# 10.1.0.3 is the victim, 10.1.0.1 is hostile.
LIMIT_KB=8192		# of a queue
BOUND=12582912		# max_peer_bytes
COUNT=3500		# messages of 4000 bytes: more than the limit and all that one may have above it
SIZE=4000

# beyond ID: what it has above its limit, KiB
beyond() {
	local now

	now=$(rmem "$1") || return 1
	echo $((now / 1024 - LIMIT_KB))
}

# has ID PORT UID LOW HIGH: is flooded until there is no more, and keeps between so many KiB more
has() {
	local dropped now

	hog "$1" "$2" "$3" || return 1
	dropped=$(counter n3 recv_drop_full) || return 1
	program flood n1 spill.py flood 10.1.0.1 10.1.0.3 "$2" $COUNT $SIZE
	busywait 120 said flood '^sent' || { show_file "$T/flood"; return 1; }
	end flood
	busywait 30 counted recv_drop_full "$dropped" 1 || { note "nothing is dropped"; return 1; }
	now=$(beyond "$1") || return 1
	note "$1 has $now KiB"
	[ "$now" -ge "$4" ] && [ "$now" -le "$5" ]
}

# Of those that came before nothing is taken.
keeps() {
	local now

	now=$(beyond "$1") || return 1
	[ "$now" -ge "$2" ]
}

ktap_header
setup_hostile
n3 sysctl -qw net.rds.max_peer_bytes=$BOUND
# Their numbers leave the same remainder to 64.
check "a user has a third" has one 7001 1001 3900 4110
check "the next one a third of what is left" has two 7002 1065 2550 2740
check "the next one of that" has three 7003 1129 1640 1830
check "and so on" has four 7004 1193 1040 1230
check "the fifth" has five 7005 1257 640 830
# Where there is memory for a sixth queue: the kernel charges only so much of it.
if [ "$(mem_kb MemTotal)" -gt 800000 ]; then
	check "the last eighth is nobody's" has six 7006 1321 0 150
	check "but the administrator's" has root 7007 0 1440 1600
	end six
else
	check "the last eighth is the administrator's" has root 7007 0 1440 1700
fi
check "the first one has what he had" keeps one 3900
for id in one two three four five root; do
	end $id
done
check "all of it is free again" has again 7001 1001 3900 4110
end again
ktap_finish
