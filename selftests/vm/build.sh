#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds the modules out of tree: the sources are mirrored to build/<kernel>/
# (times kept, so rebuilds are incremental) and compiled there.
#
# usage: build.sh [debian|uml-kasan|kasan|kcsan|kdir] [make arguments...]
#        (kdir = for the kernel that KDIR names, which no guest runs)
# environment: KDIR (kernel build folder), RDS_CACHE, OUT_SUFFIX (build beside,
# in build/<kernel>-<suffix>, without a module tree for guests), VARIANT=gcov
# (beside, with counters of the lines run, and with a module tree)

set -u -o pipefail
export LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
RDS_CACHE=${RDS_CACHE:-$HOME/.cache/rds}
kernel=${1:-debian}
[ $# -gt 0 ] && shift
out=$top/build/$kernel${OUT_SUFFIX:+-$OUT_SUFFIX}${VARIANT:+-$VARIANT}
# shellcheck source=selftests/vm/kernels.sh
. "$here/kernels.sh"
# BTF would need pahole; the struct layouts come from the headers in any case
args=(CONFIG_RDS=m CONFIG_RDS_TCP=m CONFIG_RDS_RDMA=m CONFIG_IPV6=y CONFIG_DEBUG_INFO_BTF_MODULES=
      RDS_VERSION="$("$top/tools/version.sh")")

die() { printf 'build: %s\n' "$*" >&2; exit 1; }

base=$RDS_CACHE/img/6.12
case $kernel in
debian)
	KDIR=${KDIR:-$RDS_CACHE/hdr/usr/src/current}
	;;
kdir)
	[ -n "${KDIR:-}" ] || die "KDIR does not name a kernel build folder"
	command -v rsync >/dev/null || die "rsync is not installed"
	;;
uml-kasan|kasan|kcsan)
	base=$(kernel_dir "$kernel") && [ -f "$base/complete" ] ||
		die "there is no kernel $kernel yet: make kernel K=$kernel (compiles one, 5 to 30 minutes)"
	KDIR=${KDIR:-$base/build}
	[ "$kernel" != uml-kasan ] || args+=(ARCH=um)
	# a fuzzer's task asks for traces; without one the calls cost a branch
	[ "$kernel" = kcsan ] || args+=(KCOV_INSTRUMENT=y)
	;;
*)
	die "unknown kernel '$kernel' (debian, ${debug_kernels[*]}, kdir)"
	;;
esac
case ${VARIANT:-} in
'')	;;
gcov)	args+=(GCOV_PROFILE=y) ;;
*)	die "unknown variant '$VARIANT' (gcov)" ;;
esac
[ -f "$KDIR/Makefile" ] || die "no kernel build folder at $KDIR"
[ -f "$top/net/rds/Makefile" ] || die "net/rds/Makefile is missing"
version=$(make -s -C "$KDIR" "${args[@]}" kernelversion 2>/dev/null | tail -n 1)
case $version in
6.12|6.12.*) ;;
'')	die "$KDIR does not look like a kernel build folder" ;;
*)	die "unsupported kernel $version in $KDIR: this module is for 6.12" ;;
esac

mkdir -p "$out" || die "cannot create $out"
exec 9>"$out/.lock"
flock -w 600 9 || die "another build holds $out/.lock"
rsync -rlpt --delete \
	--exclude='*.o' --exclude='*.ko' --exclude='.*' --exclude='*.mod' \
	--exclude='*.mod.c' --exclude='modules.order' --exclude='Module.symvers' \
	--exclude='*.a' --exclude='*.gcno' --exclude='/root/' --exclude='/int3/' --exclude='/odd/' --exclude='/log' \
	--include='/Kbuild' --include='/net/***' --include='/include/***' --exclude='*' \
	"$top/" "$out/" || die "cannot mirror the sources to $out"

# guest_module FOLDER: a module that only guests need
guest_module() {
	mkdir -p "$out/$1"
	rsync -rlpt "$here/$1/" "$out/$1/" &&
		make -s -C "$KDIR" M="$out/$1" "${args[@]}" KCOV_INSTRUMENT= GCOV_PROFILE= modules ||
		die "the module in $1 for guests does not compile (kernel: $kernel)"
}

# Emulated processors need help with code that is patched while it runs
[ "$kernel" = uml-kasan ] || [ "$kernel" = kdir ] || guest_module int3
# A device that is not as rdma_rxe is
[ "$kernel" = kdir ] || guest_module odd

start=$SECONDS
make -C "$KDIR" M="$out" RDS_TOP="$out" "${args[@]}" "-j$(nproc)" "$@" modules \
	2>&1 | grep -v -E '^make(\[[0-9]+\])?: (Entering|Leaving)' | sed "s|$out/||g"
[ "${PIPESTATUS[0]}" = 0 ] || die "the modules do not compile (kernel: $kernel)"

ours=(net/rds/rds.ko net/rds/tcp/rds_tcp.ko net/rds/ib/rds_rdma.ko)
for m in "${ours[@]}"; do
	[ -f "$out/$m" ] || die "$m was not built"
done
for_guests=("${ours[@]}" odd/odd_rxe.ko)
# The tree that guests see at /lib/modules: the kernel's own without its rds,
# and ours.
root=$out/root
[ "$kernel" = kdir ] || ln -sfn "$base" "$out/kernel"
built_for=$(modinfo -F vermagic "$out/net/rds/rds.ko" | cut -d' ' -f1)
if [ -z "${OUT_SUFFIX:-}" ] && [ "$kernel" != kdir ] && [ "$(cat "$base/version" 2>/dev/null)" = "$built_for" ]; then
	v=$built_for
	tree=$root/lib/modules/$v
	if [ "$(cat "$tree/.complete" 2>/dev/null)" != "$base" ] || [ "$base/version" -nt "$tree/.complete" ]; then
		rm -rf "$root"
		mkdir -p "$root/lib/modules"
		cp -al "$base/lib/modules/$v" "$tree" 2>/dev/null ||
			{ rm -rf "$tree"; cp -a "$base/lib/modules/$v" "$tree"; } ||
			die "cannot make the module tree in $root"
		rm -rf "$tree/kernel/net/rds" "$tree"/modules.*.bin "$tree/modules.dep"
		echo "$base" >"$tree/.complete"
	fi
	mkdir -p "$tree/updates"
	stale=
	for m in "${for_guests[@]}"; do
		[ "$tree/updates/${m##*/}" -nt "$out/$m" ] || stale=1
	done
	if [ -n "$stale" ] || [ ! -f "$tree/modules.dep.bin" ]; then
		# debugging information only makes loading slow
		for m in "${for_guests[@]}"; do
			objcopy --strip-debug "$out/$m" "$tree/updates/${m##*/}" ||
				die "cannot copy $m to $tree"
		done
		# depmod rewrites in place what may be a hard link into the cache
		rm -f "$tree"/modules.{alias,alias.bin,builtin.bin,builtin.alias.bin,dep,dep.bin,devname,softdep,symbols,symbols.bin}
		depmod -b "$root" "$v" || die "depmod failed for $root"
	fi
fi
printf '  modules  build/%s/net/rds/{rds.ko,tcp/rds_tcp.ko,ib/rds_rdma.ko} for %s, %s s\n' "${out##*/}" "$built_for" $((SECONDS - start))
