#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,inet_diag,tcp_diag timeout=120
# Both ends open the connection in the same instant, 300 times.
. "$(dirname "$0")/common.sh"

crossed() {
	"$BIN/rdsmisc" crossed n1 "$1:5000" n2 "$2:5000" "$3" "$4" >"$T/crossed" 2>&1
	local rc=$?

	show_file "$T/crossed"
	return $rc
}

# First contact: no state of any kind between the two addresses yet.
first_contact() {
	local i end

	for end in 1 2; do
		for i in $(seq 20); do
			echo "addr add 10.1.$i.$end/24 dev eth0"
		done >"$T/batch"
		ip -n n$end -batch "$T/batch" || return 1
	done
	"$BIN/rdsmisc" contacts n1 n2 20 >"$T/contacts" 2>&1 || {
		show_file "$T/contacts"
		return 1
	}
	show_file "$T/contacts"
	MOVED=$((MOVED + 40))
}

ktap_header
setup_pair
if ours; then
	check "reconnected from both ends at once, 300 times" \
		crossed 10.1.0.1 10.1.0.2 300 1
	MOVED=$((MOVED + 600))
	check "the same over IPv6, 50 times" \
		crossed '[fd00:1::1]' '[fd00:1::2]' 50 1
	MOVED=$((MOVED + 100))
	# last, as each pair leaves eight connections that would be killed too
	check "first contact from both ends at once, 20 pairs" first_contact
else
	ktap_skip "crossed connects" "in-tree: messages stick (connection.md 16, 1)"
fi
check "the pair works afterwards" duplex after n1 10.1.0.1 n2 10.1.0.2 200
moved
ktap_finish
