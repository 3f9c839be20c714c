#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=120
#
# The Makefile for those who only want to install, who have no /sbin in PATH, and who use -j.

. "$(dirname "$0")/../lib.sh"

top=$(cd "$(dirname "$0")/../.." && pwd)
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
unset KDIR INSTALL_MOD_PATH MAKEFLAGS MAKELEVEL MFLAGS

plain() { env -u RDS_BENCH_COMMAND PATH=/usr/local/bin:/usr/bin:/bin "$@"; }

# said COMMAND...: its output, also in $T/said
said() {
	"$@" >"$T/said" 2>&1
	rc=$?
	sed 's/^/# /' "$T/said"
	return $rc
}

# A set-up would fail, its cache being no folder.
kdir_alone() {
	: >"$T/file"
	! said plain env RDS_CACHE="$T/file/cache" make -s -C "$top" modules KDIR="$T/none" &&
		grep -q "build: no kernel build folder at $T/none" "$T/said" && ! grep -q setup "$T/said"
}

kdir_not_for_guests() {
	! said plain make -s -n -C "$top" check KDIR="$T/none" && grep -q 'KDIR is for "make modules"' "$T/said"
}

# with_rule RULES TARGET...: the Makefile with these
with_rule() {
	local rules=$1
	shift
	printf '%b' "$rules" >"$T/rules"
	said plain make -s -C "$top" -f Makefile -f "$T/rules" "$@"
}

finds_tools() { with_rule 'which:\n\t@command -v depmod && command -v modinfo\n' which; }

runner_finds_tools() {
	said plain python3 -c 'import shutil, sys; sys.path.insert(0, sys.argv[1]); import guest
print(shutil.which("modinfo"))' "$top/selftests/vm" && grep -q /modinfo "$T/said"
}

one_by_one() {
	with_rule 'a:\n\t@sleep 0.5; echo a\nb:\n\t@echo b\n' -j2 a b && [ "$(tr -d '\n' <"$T/said")" = ab ]
}

# a tree of its own, with modules of a kernel that nobody has
fake_tree() {
	local m

	mkdir -p "$T/tree/selftests/vm" "$T/tree/build/kdir/net/rds/"{tcp,ib} "$T/root"
	cp "$top/selftests/vm/install.sh" "$T/tree/selftests/vm/"
	for m in rds tcp/rds_tcp ib/rds_rdma; do
		printf '%s' 'static const char m[] __attribute__((section(".modinfo"), used)) =' \
			' "vermagic=6.12.999-test SMP";' |
			"${CC:-cc}" -x c -c -o "$T/tree/build/kdir/net/rds/$m.ko" - || return 1
	done
}

installer() { said plain env INSTALL_MOD_PATH="$T/root" bash "$T/tree/selftests/vm/install.sh" "$1" kdir; }
updates() { ls "$T/root/lib/modules/6.12.999-test/updates" 2>/dev/null | tr '\n' ' '; }
indexed() { grep -c '^updates/rds' "$T/root/lib/modules/6.12.999-test/modules.dep"; }

installed() {
	installer install && [ "$(updates)" = "rds.ko rds_rdma.ko rds_tcp.ko " ] && [ "$(indexed)" = 3 ]
}

uninstalled() { installer uninstall && [ -z "$(updates)" ] && [ "$(indexed)" = 0 ]; }

not_for_this_kernel() {
	! said plain bash "$T/tree/selftests/vm/install.sh" install kdir &&
		grep -q 'the modules are for 6.12.999-test, this machine runs' "$T/said"
}

# kernel VERSION: a folder like one to build for it
kernel() {
	mkdir -p "$T/kernel-$1"
	printf 'kernelrelease:\n\t@echo %s\n' "$1" >"$T/kernel-$1/Makefile"
}

# for_kdir WHAT VERSION: as "make modules_WHAT KDIR=..." calls it
for_kdir() {
	kernel "$2" && said plain env KDIR="$T/kernel-$2" INSTALL_MOD_PATH="$T/root" \
		bash "$T/tree/selftests/vm/install.sh" "$1" kdir
}

other_kdir() {
	! for_kdir install 6.12.998-other &&
		grep -q "the modules are for 6.12.999-test, KDIR=$T/kernel-6.12.998-other is 6.12.998-other: run 'make modules KDIR=" "$T/said"
}

same_kdir() { for_kdir install 6.12.999-test && [ "$(indexed)" = 3 ] && ! grep -q WARNING "$T/said"; }
other_uninstall() { ! for_kdir uninstall 6.12.998-other && [ "$(indexed)" = 3 ]; }
same_uninstall() { for_kdir uninstall 6.12.999-test && [ "$(indexed)" = 0 ]; }

no_kdir() {
	! said plain env KDIR="$T/none" INSTALL_MOD_PATH="$T/root" bash "$T/tree/selftests/vm/install.sh" install kdir &&
		grep -q 'is no kernel build folder' "$T/said"
}

# The command is named that is missing.
not_built() {
	rm "$T/tree/build/kdir/net/rds/tcp/rds_tcp.ko" &&
		! for_kdir install 6.12.999-test &&
		grep -q "rds_tcp.ko is not built: run 'make modules KDIR=$T/kernel-6.12.999-test' first" "$T/said"
}

ktap_header
check "KDIR needs no set-up" kdir_alone
check "KDIR is not for guests" kdir_not_for_guests
check "depmod and modinfo are found" finds_tools
check "by the runner too" runner_finds_tools
check "with -j one target after the other" one_by_one
check "modules of a kernel" fake_tree
check "are installed" installed
check "are taken away" uninstalled
check "are not for this kernel" not_for_this_kernel
check "are not for another KDIR" other_kdir
check "are for this KDIR" same_kdir
check "are not taken away from another" other_uninstall
check "are taken away" same_uninstall
check "KDIR must be there" no_kdir
check "they must be built" not_built
ktap_finish
