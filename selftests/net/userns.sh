#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=60 lanes=uml
# Users without privileges, in a user and network namespace of their own.
. "$(dirname "$0")/common.sh"

# as_nobody CMD: run it unprivileged, in new user and net namespaces
as_nobody() {
	$UNROOT /usr/bin/setpriv --reuid=65534 --regid=65534 --clear-groups \
		unshare --user --map-root-user --net \
		sh -c "ip link set lo up; $1" </dev/null
}

# The checkout may lie where nobody else may look.
PUBLIC=$(mktemp -d /tmp/rds-public.XXXXXX)
chmod 755 "$PUBLIC"
cp "$BIN/rds-traffic" "$BIN/rds-info" "$PUBLIC/"
install -d -o 65534 "$PUBLIC/nobody"

# Plain unprivileged, in the namespace of n1.
in_n1() {
	n1 setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "$1" </dev/null
}

own_traffic() {
	local out

	out=$(as_nobody "
		$PUBLIC/rds-traffic recv -b 127.0.0.1:4000 -n 300 -t $((20 * ${RDS_SLOW:-1})) --json --sndbuf 0 --rcvbuf 0 \
			--ready $PUBLIC/nobody/ready &
		for i in \$(seq 200); do [ -e $PUBLIC/nobody/ready ] && break; sleep 0.1; done
		$PUBLIC/rds-traffic send -b 127.0.0.1:4001 -d 127.0.0.1:4000 \
			-n 300 -S 0-8000 -t $((20 * ${RDS_SLOW:-1})) --sndbuf 0 --rcvbuf 0 >/dev/null
		wait" 2>&1)
	note "$out"
	echo "$out" | grep -q '"received":300,.*"result":"ok"' || return 1
	MOVED=$((MOVED + 300))
}

# Write every sysctl of ours; success of one is the failure of the test.
no_sysctl() {
	local out

	out=$("$1" '
		for f in /proc/sys/net/rds/* /proc/sys/net/rds/tcp/*; do
			[ -f $f ] || continue
			if (echo 70000 >$f) 2>/dev/null; then echo written $f; else echo tried; fi
		done')
	[ "$(grep -c tried <<<"$out")" -gt 5 ] && ! grep written <<<"$out" || { note "$out"; return 1; }
}

init_sysctl_untouched() {
	[ "$(sysctl -n net.rds.tcp.rds_tcp_sndbuf)" = "$sndbuf" ]
}

# The flow of n1 must not show in anybody else's list of sockets and messages.
sees_nothing() {
	local out

	start_recv secret n1 10.1.0.1:4444 1 1 || return 1
	n1 "$PUBLIC/rds-info" -k | grep -q 4444 || { note "not even at home"; return 1; }
	out=$(as_nobody "$PUBLIC/rds-info -k; $PUBLIC/rds-info -n; $PUBLIC/rds-info -r" 2>&1)
	drop_recv x n1
	echo "$out" | grep -qi 'sockets' || { note "nothing listed: $out"; return 1; }
	! echo "$out" | grep -q 4444 || { note "$out"; return 1; }
}

# The same address and port in two namespaces is nobody's business.
same_port() {
	local out rc=0

	start_recv p1 n1 127.0.0.1:5555 1 1 || return 1
	out=$(as_nobody "$PUBLIC/rds-traffic recv -b 127.0.0.1:5555 -n 1 -t 1 --sndbuf 0 --rcvbuf 0" 2>&1)
	note "$out"
	# it was bound and waited for its second in vain
	echo "$out" | grep -q '^recv: .*FAIL' || rc=1
	drop_recv x n1
	return $rc
}

ktap_header
UNROOT=
as_nobody true 2>/dev/null || UNROOT=no_chroot
if ! as_nobody true; then
	ktap_skip "unprivileged users" "this kernel gives them no user namespaces"
	ktap_finish
	exit
fi
setup_pair
sndbuf=$(sysctl -n net.rds.tcp.rds_tcp_sndbuf)
check "an unprivileged user moves messages in its own namespace" own_traffic
check "unprivileged in a foreign namespace: no sysctl can be written" no_sysctl in_n1
check "the initial namespace's sysctls are untouched" init_sysctl_untouched
if ours; then
	check "another namespace's sockets and messages are not shown" sees_nothing
	check "equal address and port in two namespaces" same_port
fi
rm -r "$PUBLIC"
moved
ktap_finish
