#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp netns=init timeout=60 ref=0 lanes=uml
#
# What the kernel says when an address is nobody's: that it is not of this host if there is a
# transport, that one has to be loaded if there is none; IPv4 as IPv4.  And what the tools say: how
# to load RDS, or where it is forbidden to.

. "${SELFTESTS:-$(dirname "$0")/..}/lib.sh"

forbidden=/etc/modprobe.d/rds-test.conf
trap 'rm -f $forbidden; modprobe rds_tcp' EXIT

bind_fails()
{
	python3 -ISc 'import errno, socket, sys
try:
    socket.socket(21, socket.SOCK_SEQPACKET).bind((sys.argv[1], 4000))
except OSError as e:
    sys.exit(e.errno != errno.EADDRNOTAVAIL)
sys.exit(1)' "$1"
}

# said TEXT: by the kernel, as a whole line
said()
{
	dmesg | tail -n 20 | sed 's/^\[[^]]*\] //' | grep -qxF "$1" && return 0
	dmesg | tail -n 5 | sed 's/^/# /'
	return 1
}

unload()
{
	busywait 10 modprobe -r rds_tcp 2>/dev/null && modprobe rds
}

unload_rds() { busywait 10 modprobe -r rds 2>/dev/null; }

# complains TEXT COMMAND...: fails, and says nothing but this
complains()
{
	local text=$1 said

	shift
	said=$("$@" 2>&1) && return 1
	[ "$said" = "$text" ] || { echo "# says: $said"; return 1; }
}

forbid() { echo "install rds /bin/false" >$forbidden; }

ktap_header
check "a foreign address cannot be bound" bind_fails 10.99.0.1
check "it is not of this host" said "rds: no local address 10.99.0.1"
check "the transport is unloaded" unload
check "no address can be bound" bind_fails 10.99.0.2
check "a transport has to be loaded" said \
	"rds: no transport for address 10.99.0.2: load rds_tcp or rds_rdma"
check "rds-ping has an address that no transport has" complains \
	"rds-ping: no RDS transport for address 10.99.0.2; try 'modprobe rds_tcp'" \
	"$BIN/rds-ping" -c 1 -I 10.99.0.2 10.99.0.1
check "RDS is unloaded" unload_rds
for tool in "rds-ping 127.0.0.1" rds-info; do
	# shellcheck disable=SC2086
	check "${tool%% *} tells how to load it" complains \
		"${tool%% *}: no RDS sockets in this kernel; try 'modprobe rds_tcp'" "$BIN/"$tool
done
check "a file that forbids it" forbid
check "rds-ping tells where it is forbidden" complains \
	"rds-ping: no RDS sockets in this kernel; '$forbidden' forbids to load them ('install rds ...')" \
	"$BIN/rds-ping" 127.0.0.1
ktap_finish
