#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=60
#
# The direction of dependencies in net/rds, checked on the sources:
#
#	wire cmsg sockaddr state_table, ib/{ring,private,credit}
#					know nothing of the kernel
#	quota message port pin mr op payload drop notify trace
#					know those
#	path sendq settle underway blame state conn mprds fold generation peer legacy hold expire cong congwait transport
#					know those, and transports by their table
#	send cancel recv sockopt info stats sysctl socket
#					sit on top
#	transports			see <net/rds.h> and wire.h only
#
# A file may include the headers of its own level and below, and may only use
# functions that are defined there.  Some files are left out: deliver.c, loop.c and room.c call
# recv.c with each message that arrives, main.c lends everybody the namespace, and exports.c
# names what transports may use.

LC_ALL=C
export LC_ALL
top=$(cd "$(dirname "$0")/../.." && pwd)
rds=$top/net/rds
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
nr=0
bad=0

pure="wire cmsg sockaddr state_table ib/ring ib/private ib/credit"
pure_headers="wire.h cmsg.h sockaddr.h state.h ib/ring.h ib/private.h ib/credit.h"
basics="array_size atomic compiler errno in in6 limits nospec rds socket stddef string types unaligned"
level1="quota message orphan port pin mr op payload drop notify trace wait"
level2="path sendq settle underway blame state conn mprds fold generation peer legacy hold expire cong congwait transport"
level3="send cancel recv linger sockopt info stats sysctl socket"
free="deliver loop room main exports"

# result NAME FILE: passes if FILE, a list of findings, is empty
result() {
	nr=$((nr + 1))
	if [ -s "$2" ]; then
		sed 's/^/# /' "$2"
		echo "not ok $nr $1"
		bad=$((bad + 1))
	else
		echo "ok $nr $1"
	fi
}

# The code of files, without comments and string literals.
code() {
	cat "$@" | sed -e 's,//.*,,' -e 's/"[^"]*"/""/g' |
		awk '{
			out = ""; s = $0
			while (s != "") {
				if (inside) {
					i = index(s, "*/")
					if (!i) break
					s = substr(s, i + 2); inside = 0
				} else {
					i = index(s, "/*")
					if (!i) { out = out s; break }
					out = out substr(s, 1, i - 1)
					s = substr(s, i + 2); inside = 1
				}
			}
			print out
		}'
}

# Included files of a source, one per line, as written.
includes() {
	sed -n 's/^[ \t]*#[ \t]*include[ \t]*\([<"][^>"]*[>"]\).*/\1/p' "$1"
}

# Functions called (or otherwise followed by a parenthesis) in files.
called() {
	code "$@" | grep -oE '\brds_[a-z0-9_]+ *\(' | tr -d ' (' | sort -u
}

# Functions that files define for others: not static, body follows.
defined() {
	code "$@" | awk '
		/^[a-z]/ && /\(/ && !/^static/ && !/;[ \t]*$/ {
			if (match($0, /rds_[a-z0-9_]+\(/))
				print substr($0, RSTART, RLENGTH - 1)
		}' | sort -u
}

# Those of the named files (without .c) that exist already.
sources() {
	for f in "$@"; do
		[ -f "$rds/$f.c" ] && echo "$rds/$f.c"
	done
}

# Everything a transport may use: declared in the contract, in wire.h or by itself.
declared() {
	code "$@" | grep -oE '\brds_[a-z0-9_]+ *\(|# *define +rds_[a-z0-9_]+' |
		sed -E 's/.*(rds_[a-z0-9_]+).*/\1/' | sort -u
}

check_pure_includes() {
	for f in $pure; do
		[ -f "$rds/$f.c" ] || echo "$f.c is missing"
	done
	for f in $(printf '%s.c ' $pure) $pure_headers; do
		includes "$rds/$f" | while read -r inc; do
			name=${inc#?}
			name=${name%?}
			case $inc in
			'<linux/'*)
				b=${name#linux/}
				case " $basics " in
				*" ${b%.h} "*) continue ;;
				esac ;;
			'"'*)
				case " $pure_headers " in
				*" $name "*|*" ${f%/*}/$name "*) continue ;;
				esac ;;
			esac
			echo "$f includes $inc"
		done
	done
}

# A pure object asks the linker for nothing but memory functions.
check_pure_symbols() {
	mkdir -p "$tmp/ib"
	for f in $pure; do
		${CC:-cc} -std=gnu11 -O1 -c -I"$top/selftests/unit/include" \
			-I"$top/selftests/unit" -I"$top/include/uapi" \
			-o "$tmp/$f.o" "$rds/$f.c" || echo "$f.c does not compile"
		nm -u "$tmp/$f.o" | awk '{ print $2 }' |
			grep -vxE 'mem(cpy|set|move|cmp)|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_' |
			sed "s|^|$f.c needs |"
	done
}

check_transport_includes() {
	for f in "$rds"/tcp/*.[ch] "$rds"/ib/*.[ch]; do
		[ -f "$f" ] || continue
		includes "$f" | while read -r inc; do
			name=${inc#?}
			name=${name%?}
			case $inc in
			'"../wire.h"'|'<'*) continue ;;
			'"'*/*) ;;
			'"'*) [ -f "$(dirname "$f")/$name" ] && continue ;;
			esac
			echo "${f#"$top"/} includes $inc"
		done
	done
	includes "$top/include/net/rds.h" | grep '^"' | sed 's/^/include\/net\/rds.h includes /'
}

check_transport_symbols() {
	for dir in tcp ib; do
		set -- "$rds/$dir"/*.[ch]
		[ -f "$1" ] || continue
		called "$@" >"$tmp/called"
		{
			declared "$top"/include/net/rds*.h "$rds/wire.h"
			# its own: static, or defined in one of its files
			code "$@" | grep -E '^[a-z]' | sed 's/{.*//' | grep -oE '\brds_[a-z0-9_]+ *\(' | tr -d ' ('
			code "$@" | sed -nE 's/^#define +(rds_[a-z0-9_]+).*/\1/p'
		} | sort -u >"$tmp/known"
		# what is generated from tracepoints, or a member called through a pointer, has
		# no declaration here; neither starts with rds_ in this tree
		comm -23 "$tmp/called" "$tmp/known" | sed "s/^/net\/rds\/$dir uses /"
	done
}

# Nobody but wire.c, and private.c for what comes with connections, takes numbers out of foreign bytes or puts them there.
check_wire_access() {
	for f in "$rds"/*.[ch] "$rds"/*/*.[ch]; do
		[ -f "$f" ] && [ "$f" != "$rds/wire.c" ] && [ "$f" != "$rds/ib/private.c" ] || continue
		code "$f" | grep -nE '(get|put)_unaligned_be|be64_to_cpu|cpu_to_be64|be64_to_cpup' |
			sed "s|^|${f#"$top"/}: line |"
	done
}

# upward LOWER UPPER: functions that files of LOWER use and files of UPPER define
check_upward() {
	lower=$(sources $1)
	upper=$(sources $2)
	[ -n "$lower" ] && [ -n "$upper" ] || return 0
	defined $upper >"$tmp/upper"
	for f in $lower; do
		called "$f" >"$tmp/called"
		comm -12 "$tmp/called" "$tmp/upper" | sed "s/^/$(basename "$f") uses /"
	done
}

run() {
	name=$1
	shift
	"$@" >"$tmp/found" 2>&1
	result "$name" "$tmp/found"
}

# Every file has a level, and every level its files.
check_levels() {
	for f in $pure $level1 $level2 $level3 $free; do
		[ -f "$rds/$f.c" ] || echo "$f.c is missing"
	done
	for f in "$rds"/*.c; do
		f=$(basename "$f" .c)
		case " $pure $level1 $level2 $level3 $free " in
		*" $f "*) ;;
		*) echo "$f.c is in no level" ;;
		esac
	done
}

# The checks must be able to find something.
check_self() {
	[ "$(defined "$rds/wire.c" | grep -c .)" -ge 15 ] || echo "defined() finds too little"
	[ "$(called "$rds/wire.c" | grep -c .)" -ge 10 ] || echo "called() finds too little"
	[ "$(includes "$rds/cmsg.c" | grep -c .)" -ge 5 ] || echo "includes() finds too little"
	called "$rds/state_table.c" | grep -q '^rds_state_next$' || echo "called() is blind"
}

echo "TAP version 13"
echo "1..9"
run "the checks see functions and includes" check_self
run "each file has a level" check_levels
run "pure files include only basics" check_pure_includes
run "pure files need no symbol of the kernel" check_pure_symbols
run "transports include only their contract" check_transport_includes
run "transports use only what the contract declares" check_transport_symbols
run "only wire.c reads and writes wire fields" check_wire_access
run "messages, ports and pinned pages do not look up" check_upward "$level1" "$level2 $level3"
run "paths and connections do not look up" check_upward "$level2" "$level3"
[ "$bad" -eq 0 ]
