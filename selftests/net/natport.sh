#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth,inet_diag,tcp_diag,nf_tables,nft_chain_nat,nft_masq,nf_nat timeout=180 uml=0 waits=1
# The kernel's own NAT (net/nat.sh has one that does as it is told): both ends masquerade what leaves
# them, which keeps the address and changes the source port, as container networks have it.
. "$(dirname "$0")/common.sh"
LIMIT=60

sixteen() {
	local rc=0 id=$1 count=$2

	shift 2
	FLOWS=16 start_flow "$id-a" n1 10.1.0.1 n2 10.1.0.2 "$count" -k 16 "$@" || rc=1
	FLOWS=16 start_flow "$id-b" n2 10.1.0.2 n1 10.1.0.1 "$count" -k 16 "$@" || rc=1
	end_flow "$id-a" $((16 * count)) || rc=1
	end_flow "$id-b" $((16 * count)) || rc=1
	return $rc
}

masquerade() {
	"$1" nft -f - <<-RULES
		table ip t {
			chain post {
				type nat hook postrouting priority 100;
				oifname "eth0" masquerade fully-random
			}
		}
	RULES
}

# n2 sees other ports than those from which n1 dials
changed() {
	n1 ss -Htn state established dport = 16385 | awk '{ print $3 }' | sort >"$T/n1"
	n2 ss -Htn state established sport = 16385 | awk '{ print $4 }' | sed 's/^\[::ffff:\(.*\)\]/\1/' |
		sort >"$T/n2"
	! cmp -s "$T/n1" "$T/n2"
}

broken() {
	local rc=0 killer

	n1 "$BIN/rdsmisc" killtcp 300 6 >"$T/kill" 2>&1 </dev/null &
	killer=$!
	sixteen broken 100 -S 0-2000 -r 200 || rc=1
	wait $killer
	show_file "$T/kill"
	return $rc
}

ktap_header
setup_pair
check "the rule is there, at n1" masquerade n1
check "and at n2" masquerade n2
check "16 sockets each way" sixteen first 100 -S 0-2000
check "eight TCP connections carry them" busywait 10 has_links n1 8
check "their ports are changed" changed
check "16 sockets each way while links are killed" broken
check "one message of 64 KiB after the other" sixteen large 6 -S 65536
moved
ktap_finish
