#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=120
#
# The tools beside their work: manual pages that are well-formed, and name each option and each
# constant; a header, pages, completion and files for /etc that are installed and taken away again; a
# build without -Werror for users; a version.

. "$(dirname "$0")/../lib.sh"

top=$(cd "$(dirname "$0")/../.." && pwd)
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
unset MAKEFLAGS MAKELEVEL MFLAGS CFLAGS DESTDIR PREFIX WERROR
page() { sed 's/\\-/-/g; s/\\[a-z]*\[\{0,1\}//g' "$top/tools/$1"; }

well_formed()
{
	make -s -C "$top/tools" check-man
}

# options PROGRAM: those of its help
options()
{
	"$BIN/$1" -h | sed -n 's/^ *\(-[^ ].*\)/\1/p' | sed 's/  .*//' | grep -oE -- '(^|[ ,])--?[A-Za-z0-9-]+' |
		tr -d ' ,' | sort -u
}

documented()
{
	local program o n=0 bad=0

	for program in rds-info rds-ping rds-bench; do
		page "$program.1" >"$T/page"
		for o in $(options $program); do
			n=$((n + 1))
			grep -qE -- "(^|[^A-Za-z0-9-])$o([^A-Za-z0-9-]|$)" "$T/page" ||
				{ echo "# $program.1 lacks $o"; bad=1; }
		done
	done
	echo "# $n options"
	[ $n -gt 30 ] && [ $bad = 0 ]
}

# As in the shell of a guest (make shell): found, or said where they are
found_in_shell()
{
	local page

	# shellcheck disable=SC2030
	( . "$SELFTESTS/vm/pages.sh" && pages "$top/tools" "$T/pages" || exit 1
	  for page in rds-info rds-ping rds-bench rds rds-rdma; do
		[[ $(man -w $page) = */tools/$page.[17] ]] || { echo "# no $page"; exit 1; }
	  done
	  [ "$(man rds-info | grep -c '^SYNOPSIS')" = 1 ] && man -w ls >/dev/null ) >"$T/said" || {
		sed 's/^/# /' "$T/said"
		return 1
	}
	grep -q "for 'man'.*rds-info.1.*rds.7" "$T/said" || grep -q "^# no man" "$T/said" || return 1
	mkdir -p "$T/no-man" && ln -sf "$(command -v mkdir)" "$(command -v ln)" "$T/no-man"
	PATH=$T/no-man /bin/sh -c '. "$1"; pages "$2" "$3"' - "$SELFTESTS/vm/pages.sh" "$top/tools" "$T/pages2" |
		grep -q "no 'man' here .*manual pages are in $top/tools: .*rds-info.1"
}

# Options, control messages and ioctls that sockets.rst describes
constants()
{
	local c n=0 bad=0

	cat "$top"/tools/rds.7 "$top"/tools/rds-rdma.7 >"$T/page"
	for c in $(grep -oE '\b(RDS_(CMSG|GET_MR|FREE_MR|CANCEL|RECVERR|CONG_MONITOR)[A-Z0-9_]*|SO_RDS_[A-Z_]+|SIOC[A-Z]+)\b' \
			"$top/Documentation/sockets.rst" | grep -vE '_MASK|_$' | sort -u); do
		n=$((n + 1))
		grep -qw -- "$c" "$T/page" || { echo "# neither page has $c"; bad=1; }
	done
	echo "# $n constants"
	[ $n -gt 20 ] && [ $bad = 0 ]
}

# Who is named at the end of a page is there; the pages name each other.
see_also()
{
	local page other bad=0

	for page in "$top"/tools/*.[17]; do
		for other in $(sed -n '/^\.SH SEE ALSO/,$s/^\.BR \(rds[a-z-]*\) (\([17]\)).*/\1.\2/p' "$page"); do
			[ -f "$top/tools/$other" ] || { echo "# ${page##*/}: no $other"; bad=1; }
		done
		grep -q '^\.BR rds-info (1)\|^\.BR rds-ping (1)' "$page" || { echo "# ${page##*/}: no tool"; bad=1; }
	done
	[ $bad = 0 ]
}

files() { (cd "$T/root" && find . -type f | sort); }

installed()
{
	make -s -C "$top/tools" install O="$BIN" DESTDIR="$T/root" PREFIX=/usr >"$T/said" 2>&1 ||
		{ sed 's/^/# /' "$T/said"; return 1; }
	files >"$T/files"
	[ "$(wc -l <"$T/files")" = 12 ] &&
		echo '#include <linux/rds.h>
		      int main(void) { return RDS_INFO_PATHS - 10100; }' |
		"${CC:-cc}" -x c -I "$T/root/usr/include" -o "$T/a" - && "$T/a"
}

uninstalled()
{
	make -s -C "$top/tools" uninstall O="$BIN" DESTDIR="$T/root" PREFIX=/usr && [ -z "$(files)" ]
}

# whole TARGET [VARIABLE=VALUE]: of everything but the modules
whole() {
	make -s -C "$top" "$1" O="$BIN" DESTDIR="$T/root" PREFIX=/usr "${@:2}" >"$T/said" 2>&1 ||
		{ sed 's/^/# /' "$T/said"; return 1; }
}

# What somebody has changed below /etc is not touched.
whole_installed()
{
	local own=etc/sysctl.d/rds.conf

	whole install && [ "$(files | wc -l)" = 14 ] &&
		cmp "$top/packaging/sysctl.d/rds.conf" "$T/root/$own" &&
		cmp "$top/packaging/modules-load.d/rds.conf" "$T/root/etc/modules-load.d/rds.conf" &&
		echo mine >>"$T/root/$own" && whole install && grep -q "/$own is there and stays" "$T/said" &&
		whole uninstall && grep -q "/$own was changed and stays" "$T/said" &&
		[ "$(files)" = "./$own" ] && grep -qx mine "$T/root/$own" && rm "$T/root/$own"
}

elsewhere()
{
	local at=(bindir=/b mandir=/m datadir=/d includedir=/i sysconfdir=/e)

	whole install "${at[@]}" && [ "$(files | cut -d/ -f2 | uniq -c | tr -s ' ' | tr '\n' ';')" = \
		" 3 b; 3 d; 2 e; 1 i; 5 m;" ] && whole uninstall "${at[@]}" && [ -z "$(files)" ]
}

# What the file for sysctl.d names is documented.
settings()
{
	local key n=0 bad=0

	for key in $(sed -n 's/^#net\.rds\.\([a-z_]*\) =.*/\1/p' "$top/packaging/sysctl.d/rds.conf"); do
		n=$((n + 1))
		grep -q "^\`\`$key\`\`" "$top/Documentation/sysctls.rst" || { echo "# no $key"; bad=1; }
	done
	[ $n -gt 0 ] && [ $bad = 0 ] && grep -qx rds_tcp "$top/packaging/modules-load.d/rds.conf"
}

# completes WORDS... -> the completions of the last word
completes()
{
	# shellcheck disable=SC2016
	PATH=$BIN:$PATH bash --norc -c '
		. "$1"; shift
		compopt() { :; }
		_rds "$1" "${@: -1}" "${@: -2:1}"
		printf "%s\n" "${COMPREPLY[@]}"' - "$top/packaging/bash-completion/rds" "$@"
}

completion()
{
	[ "$(completes rds-info --n)" = "--nonzero" ] &&
		[ "$(completes rds-ping --v)" = "--version" ] &&
		completes rds-bench pi | grep -qx 'pingpong/' && completes rds-bench wr | grep -qx 'write/' &&
		completes rds-bench -p sc | grep -qx sctp && completes rds-bench --se | grep -qx -- --serve &&
		completes rds-ping -I 127 | grep -qx 127.0.0.1
}

# A user's compiler may know warnings that ours does not.
no_werror()
{
	make -n -C "$top/tools" O="$T/other" >"$T/said" && ! grep -q Werror "$T/said" &&
		make -n -C "$top/tools" O="$T/other" WERROR=-Werror | grep -q Werror
}

versions()
{
	local p v

	v=$(sh "$top/tools/version.sh")
	for p in rds-info rds-ping rds-bench; do
		"$BIN/$p" --version | head -n 1 | tee "$T/said" | sed 's/^/# /'
		[[ "$(cat "$T/said")" = "$p ${v%-dirty}"* ]] || return 1
	done
}

ktap_header
check "the manual pages are well-formed" well_formed
check "they have all options" documented
check "rds(7) and rds-rdma(7) have all constants" constants
check "they refer to each other" see_also
check "they are found in the shell of a guest" found_in_shell
check "installed: programs, pages, completion, header" installed
check "taken away" uninstalled
check "with the files for /etc" whole_installed
check "into other folders" elsewhere
check "completion" completion
check "settings" settings
check "users are spared -Werror" no_werror
check "the version is that of the sources" versions
ktap_finish
