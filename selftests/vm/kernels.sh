# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The debug kernels, compiled from the distribution's source. Each lies in a
# folder of its own in the cache, named after what went into it, so checkouts
# with different fragments do not disturb each other:
#	$RDS_CACHE/kernel/<name>-<key>/{build,lib/modules,version,linux|vmlinuz}
# Sourced by setup.sh and build.sh.

debug_kernels=(uml-kasan kasan kcsan)

# kernel_fragments NAME: the last that names a symbol wins
kernel_fragments()
{
	case $1 in
	uml-kasan) set -- kernel-base debug-kernel-common uml uml-debug tests ;;
	kasan)	   set -- kernel-base debug-kernel-common debug-kernel qemu tests ;;
	kcsan)	   set -- kernel-base debug-kernel-common debug-kernel-kcsan qemu tests ;;
	*)	   return 1 ;;
	esac
	(cd "$here" && cat "${@/%/.config}")
}

# What a kernel of this name must have, whatever else was refused.
kernel_must()
{
	local common="PROVE_LOCKING PROVE_RCU DEBUG_ATOMIC_SLEEP DEBUG_OBJECTS UBSAN
		NET_NS_REFCNT_TRACKER NET_DEV_REFCNT_TRACKER FAULT_INJECTION FAILSLAB
		FAIL_PAGE_ALLOC FAULT_INJECTION_USERCOPY FAULT_INJECTION_DEBUG_FS
		VETH NET_SCH_NETEM MEMCG RDMA_RXE TLS"
	local kasan="KASAN DEBUG_KMEMLEAK KCOV KCOV_ENABLE_COMPARISONS GCOV_KERNEL"
	local qemu="SMP IA32_EMULATION EXT4_FS"
	case $1 in
	uml-kasan) echo "$common $kasan" ;;
	kasan)	echo "$common $kasan $qemu" ;;
	kcsan)	echo "$common KCSAN $qemu" ;;
	esac
}

kernel_make()
{
	local how=(ARCH=x86_64)
	[ "$1" != uml-kasan ] || how=(ARCH=um KASAN_SANITIZE_stacktrace.o=n
		"CFLAGS_stacktrace.o=-include $here/uml-stacktrace.h")
	make "${how[@]}" "${@:2}"
}

kernel_dir()
{
	local deb
	deb=$(ls -1 "$RDS_CACHE/debs" 2>/dev/null | grep '^linux-source-6\.12_' | sort -V | tail -n 1)
	[ -n "$deb" ] || return 1
	printf '%s/kernel/%s-%s\n' "$RDS_CACHE" "$1" \
		"$({ echo "$deb"; kernel_fragments "$1"; [ "$1" != uml-kasan ] || cat "$here/uml-stacktrace.h"; } |
			sha256sum | cut -c 1-12)"
}

# --- for setup.sh, whose say, die, progress and need_disk these use

kernel_source()
{
	local deb=$1 src=$2
	exec 8>"$RDS_CACHE/src.lock"
	flock -w 1800 8 || die "another set-up holds $RDS_CACHE/src.lock"
	if ! done_already uml-src "$deb"; then
		say "unpacking $deb"
		rm -rf "$src"
		mkdir -p "$RDS_CACHE/src"
		export RDS_CACHE deb
		# net/rds is left out: nobody who works here may read it
		progress "unpacking" bash -c '
			set -o pipefail
			dpkg-deb --fsys-tarfile "$RDS_CACHE/debs/$deb" |
				tar -xO ./usr/src/linux-source-6.12.tar.xz |
				tar -xJ -C "$RDS_CACHE/src" --exclude="*/net/rds" \
					--exclude="*/Documentation/*/*"' ||
			die "cannot unpack $deb"
		mkdir -p "$src/net/rds"
		: >"$src/net/rds/Kconfig"
		: >"$src/net/rds/Makefile"
		mark_done uml-src "$deb"
	fi
	flock -u 8
}

kernel_configure()
{
	local name=$1 src=$2 out=$3 o missing=
	kernel_fragments "$name" >"$out/merged"
	progress "configuring" kernel_make "$name" -C "$src" O="$out" KCONFIG_ALLCONFIG=merged allnoconfig ||
		die "the configuration of $name was refused"
	for o in $(kernel_must "$name"); do
		grep -q "^CONFIG_$o=" "$out/.config" || missing+=" $o"
	done
	[ -z "$missing" ] || die "the kernel $name would be without$missing ($out/.config)"
}

# Objects are of no use once the kernel is linked; what modules are built with stays.
kernel_trim()
{
	find "$1" -type f ! -path "$1/scripts/*" ! -path "$1/tools/*" \
		\( -name '*.o' -o -name '*.a' -o -name '*.ko' -o -name '.tmp_*' -o -name 'vmlinux.bin*' \) \
		-delete
}

# kernel_build NAME: compiled, unless it is there
kernel_build()
{
	local name=$1 dir src=$RDS_CACHE/src/linux-source-6.12 deb image=vmlinuz target=bzImage v start=$SECONDS
	dir=$(kernel_dir "$name") || die "the kernel source is not in $RDS_CACHE/debs"
	[ -f "$dir/complete" ] && return 0
	exec 7>"$RDS_CACHE/$name.lock"
	flock -n 7 || { say "waiting for another build of $name"; flock -w 7200 7 || die "another build holds $RDS_CACHE/$name.lock"; }
	[ -f "$dir/complete" ] && return 0
	need_disk 4000
	deb=$(newest '^linux-source-6\.12_')
	kernel_source "$deb" "$src"
	mkdir -p "$dir/build"
	kernel_configure "$name" "$src" "$dir/build"
	[ "$name" != uml-kasan ] || { image=linux; target=linux; }
	say "compiling the kernel $name, once: 5 to 30 minutes, depending on the machine"
	progress "building" kernel_make "$name" -C "$dir/build" "-j${KERNEL_JOBS:-$(nproc)}" "$target" modules ||
		die "the kernel $name does not build (log: $RDS_CACHE/log/$name.log)"
	progress "modules_install" kernel_make "$name" -C "$dir/build" modules_install INSTALL_MOD_PATH="$dir" ||
		die "modules_install failed for $name"
	v=$(kernel_make "$name" -s -C "$dir/build" kernelrelease) || die "the kernel $name does not tell its release"
	if [ $target = linux ]; then
		cp "$dir/build/linux" "$dir/$image"
	else
		cp "$dir/build/arch/x86/boot/bzImage" "$dir/$image"
	fi || die "the image of $name is missing"
	kernel_trim "$dir/build"
	echo "$v" >"$dir/version"
	touch "$dir/complete"
	say "$name is compiled, $((SECONDS - start)) s"
}
