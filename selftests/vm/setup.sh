#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Fetches what the build and the guests need into $RDS_CACHE. Idempotent:
# every stage leaves a stamp and is skipped when its inputs have not changed.
# Nothing is installed as the machine's own kernel.
#
# usage: setup.sh [tools|debs|headers|images|source|dkms|cpython|agent|all]... [uml-kasan|kasan|kcsan]
#        (all = everything but the three debug kernels, which are compiled)
# environment: KERNEL_JOBS (processors for a kernel; default: all)

set -u -o pipefail
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
PATH=$PATH:/usr/sbin:/sbin

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
RDS_CACHE=${RDS_CACHE:-$HOME/.cache/rds}
series=6.12
needed_mb=3000
# shellcheck source=selftests/vm/kernels.sh
. "$here/kernels.sh"

packages=(qemu-system-x86 busybox-static gcc gcc-12 gcc-12-multilib make libc6-dev python3 rsync
	  kmod xz-utils iproute2 sparse perl clang llvm libclang-rt-14-dev
	  procps util-linux libibverbs-dev librdmacm-dev ibverbs-providers
	  perftest nftables spin groff-base man-db
	  gcc-powerpc64-linux-gnu libc6-dev-ppc64-cross qemu-user)
kernel_packages=(bc bison flex libelf-dev)

say() { printf '  %-8s %s\n' "$stage" "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# Runs a long command with a line every 5 s, so that nobody stares at nothing.
progress()
{
	local what=$1 log pid rc start=$SECONDS shown=0
	shift
	log=$RDS_CACHE/log/${stage}.log
	mkdir -p "$RDS_CACHE/log"
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.2
		if (( SECONDS - start >= 3 && SECONDS - start >= shown + 5 )); then
			shown=$(( SECONDS - start ))
			say "$what ... ${shown} s  $(tail -c 300 "$log" | tr '\r' '\n' | tail -n 1 | cut -c 1-60)"
		fi
	done
	wait "$pid"
	rc=$?
	if (( rc )); then
		tail -n 8 "$log" >&2
	fi
	return $rc
}

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif ! command -v sudo >/dev/null; then
		die "root rights are needed for '$*', and sudo is not installed"
	elif [ -t 0 ] && [ -z "${CI:-}" ]; then
		sudo "$@"
	else
		sudo -n "$@"
	fi
}

apt_get()
{
	timeout 1500 apt-get -q -o Acquire::Retries=3 \
		-o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 \
		-o DPkg::Lock::Timeout=120 "$@"
}

apt_update()
{
	local age
	age=$(find "$RDS_CACHE/stamp/apt-update" -mmin -180 2>/dev/null)
	[ -n "$age" ] && return 0
	# A third-party list that fails must not stop us: what counts is
	# whether the packages are found afterwards.
	export -f apt_get
	progress "apt-get update" as_root bash -c 'apt_get update' ||
		say "apt-get update reported errors; going on with the lists there are"
	touch "$RDS_CACHE/stamp/apt-update"
}

missing_packages()
{
	local p
	for p in "$@"; do
		dpkg-query -W -f '${Status}\n' "$p" 2>/dev/null |
			grep -q '^install ok installed' || printf '%s ' "$p"
	done
}

install_packages()
{
	local todo
	todo=$(missing_packages "$@")
	[ -z "$todo" ] && return 0
	command -v apt-get >/dev/null ||
		die "these packages are missing and there is no apt-get here: $todo"
	if [ "$(id -u)" != 0 ] && { [ ! -t 0 ] || [ -n "${CI:-}" ]; }; then
		sudo -n true 2>/dev/null ||
			die "root rights are needed to install: $todo (run once: sudo apt-get install $todo)"
	elif [ "$(id -u)" != 0 ]; then
		sudo -v || die "root rights are needed to install: $todo"
	fi
	say "installing $todo"
	apt_update
	export -f apt_get
	# shellcheck disable=SC2086
	progress "apt-get install" as_root bash -c \
		"DEBIAN_FRONTEND=noninteractive apt_get install -y --no-install-recommends $todo" ||
		die "apt-get could not install: $todo (log: $RDS_CACHE/log/$stage.log)"
	todo=$(missing_packages "$@")
	[ -z "$todo" ] || die "still missing after apt-get install: $todo"
}

need_disk()
{
	local free
	free=$(df -Pm "$RDS_CACHE" | awk 'NR==2 { print $4 }')
	[ "${free:-0}" -ge "$1" ] ||
		die "$RDS_CACHE has ${free:-0} MB free, $1 MB are needed; free some or set RDS_CACHE"
}

newest() { ls -1 "$RDS_CACHE/debs" 2>/dev/null | grep -E "$1" | sort -V | tail -n 1; }

# fetch PATTERN-OF-FILE PATTERN-OF-PACKAGE: newest such package into debs/,
# unless one is there.
fetch()
{
	local name have
	have=$(newest "$1")
	[ -n "$have" ] && return 0
	name=$(apt-cache search --names-only "$2" | awk '{ print $1 }' | sort -V | tail -n 1)
	if [ -z "$name" ]; then
		apt_update
		name=$(apt-cache search --names-only "$2" | awk '{ print $1 }' | sort -V | tail -n 1)
	fi
	[ -n "$name" ] || die "no package matches $2: is Debian 12 with its security updates among apt's sources, and the network up?"
	download "$name"
}

download()
{
	local name=$1 try
	say "downloading $name"
	rm -rf "$RDS_CACHE/debs/partial"
	mkdir -p "$RDS_CACHE/debs/partial"
	export -f apt_get
	for try in 1 2 3; do
		# apt's own sandbox user may not write here; that is only a warning
		if (cd "$RDS_CACHE/debs/partial" &&
		    progress "$name" bash -c "apt_get download $name") &&
		   [ -n "$(ls "$RDS_CACHE/debs/partial")" ]; then
			mv "$RDS_CACHE"/debs/partial/*.deb "$RDS_CACHE/debs/" &&
				rmdir "$RDS_CACHE/debs/partial" && return 0
		fi
		say "download of $name failed (try $try of 3)"
		[ $try = 1 ] && rm -f "$RDS_CACHE/stamp/apt-update" && apt_update
		sleep 2
	done
	die "download failed: $name"
}

kver612()
{
	newest '^linux-image-6\.12\..*\+deb12-amd64_' | sed 's/^linux-image-//; s/_.*//'
}

# done_already STAMP INPUTS...: true when the stamp holds the same inputs.
done_already()
{
	[ "$(cat "$RDS_CACHE/stamp/$1" 2>/dev/null)" = "${*:2}" ]
}

mark_done() { printf '%s\n' "${*:2}" >"$RDS_CACHE/stamp/$1"; }

stage_tools()
{
	[ "$(uname -m)" = x86_64 ] || die "only x86_64 machines are supported, this is $(uname -m)"
	install_packages "${packages[@]}"
}

stage_debs()
{
	local v base
	mkdir -p "$RDS_CACHE/debs"
	[ -n "$(kver612)" ] || need_disk $needed_mb
	fetch '^linux-image-6\.12\..*\+deb12-amd64_' '^linux-image-6\.12\.[0-9]+\+deb12-amd64$'
	v=$(kver612)
	fetch "^linux-headers-${v//+/\\+}_" "^linux-headers-${v//+/\\+}\$"
	base=${v%-amd64}
	base=${base//+/\\+}
	fetch "^linux-headers-${base}-common_" "^linux-headers-${base}-common\$"
	fetch "^linux-kbuild-${base}_" "^linux-kbuild-${base}\$"
	fetch '^linux-image-6\.1\.0-[0-9]+-amd64_' '^linux-image-6\.1\.0-[0-9]+-amd64$'
	fetch '^linux-source-6\.12_' '^linux-source-6\.12$'
	fetch '^dkms_' '^dkms$'
	fetch '^libpython3\.11-testsuite_' '^libpython3\.11-testsuite$'
}

unpack()
{
	dpkg-deb -x "$RDS_CACHE/debs/$1" "$2" || die "cannot unpack $1: the file may be damaged, remove it and run again"
}

stage_headers()
{
	local v d=$RDS_CACHE/hdr f list=()
	v=$(kver612)
	for f in "linux-headers-$v" "linux-headers-${v%-amd64}-common" "linux-kbuild-${v%-amd64}"; do
		f=$(newest "^${f//+/\\+}_")
		[ -n "$f" ] || die "the headers of $v are not complete in $RDS_CACHE/debs"
		list+=("$f")
	done
	done_already headers "${list[@]}" "$d" && return 0
	need_disk 500
	say "unpacking the headers of $v"
	mkdir -p "$d"
	for f in "${list[@]}"; do
		unpack "$f" "$d"
	done
	# Debian's Makefiles name each other by absolute path
	sed -i "s|^include /usr/src/|include $d/usr/src/|" "$d/usr/src/linux-headers-$v/Makefile"
	ln -sfn "linux-headers-$v" "$d/usr/src/current"
	grep -q "^include $d/" "$d/usr/src/linux-headers-$v/Makefile" ||
		die "the headers' Makefile is not as expected: $d/usr/src/linux-headers-$v/Makefile"
	mark_done headers "${list[@]}" "$d"
}

# Kernel image and its modules, indexed.
image()
{
	local name=$1 deb=$2 d=$RDS_CACHE/img/$1 v
	done_already "img-$name" "$deb" && return 0
	need_disk 900
	say "unpacking $deb"
	rm -rf "$d"
	mkdir -p "$d"
	progress "unpacking" dpkg-deb -x "$RDS_CACHE/debs/$deb" "$d" ||
		die "cannot unpack $deb: the file may be damaged, remove it and run again"
	v=$(ls "$d/lib/modules")
	# What no guest loads only makes depmod slow
	(cd "$d/lib/modules/$v/kernel" && rm -rf sound drivers/gpu drivers/media \
		drivers/staging drivers/usb drivers/iio drivers/hid drivers/input \
		drivers/hwmon drivers/scsi drivers/mtd drivers/net/wireless \
		drivers/net/ethernet drivers/platform drivers/comedi drivers/edac \
		drivers/mfd drivers/power drivers/thermal drivers/isdn drivers/ata \
		net/mac80211 net/bluetooth)
	progress "depmod" depmod -b "$d" "$v" || die "depmod failed for $v"
	ln -sfn "boot/vmlinuz-$v" "$d/vmlinuz"
	printf '%s\n' "$v" >"$d/version"
	mark_done "img-$name" "$deb"
}

stage_images()
{
	image 6.12 "$(newest '^linux-image-6\.12\..*\+deb12-amd64_')"
	image 6.1 "$(newest '^linux-image-6\.1\.0-[0-9]+-amd64_')"
}

# The few files of the kernel source that tests and style checks use.
stage_source()
{
	local deb top=linux-source-6.12 d=$RDS_CACHE/lx f
	deb=$(newest '^linux-source-6\.12_')
	done_already source "$deb" && return 0
	need_disk 600
	say "taking the kselftest harness and the style checkers out of $deb"
	rm -rf "$d"
	mkdir -p "$d"
	export d deb top RDS_CACHE
	progress "unpacking" bash -c '
		set -o pipefail
		dpkg-deb --fsys-tarfile "$RDS_CACHE/debs/$deb" |
			tar -xO ./usr/src/linux-source-6.12.tar.xz |
			tar -xJ -C "$d" --strip-components=1 \
				$top/tools/testing/selftests/kselftest_harness.h \
				$top/tools/testing/selftests/kselftest.h \
				$top/tools/testing/selftests/kselftest \
				$top/scripts/checkpatch.pl $top/scripts/spelling.txt \
				$top/scripts/const_structs.checkpatch \
				$top/scripts/kernel-doc' ||
		die "cannot unpack $deb: the file may be damaged, remove it and run again"
	mkdir -p "$RDS_CACHE/kselftest"
	for f in kselftest_harness.h kselftest.h; do
		cp "$d/tools/testing/selftests/$f" "$RDS_CACHE/kselftest/" || die "$f is not in $deb"
	done
	mark_done source "$deb"
}

# For a test that dkms builds the modules; the machine's own is not touched.
stage_dkms()
{
	local deb

	deb=$(newest '^dkms_')
	done_already dkms "$deb" && return 0
	rm -rf "$RDS_CACHE/dkms"
	mkdir -p "$RDS_CACHE/dkms"
	unpack "$deb" "$RDS_CACHE/dkms"
	mark_done dkms "$deb"
}

# CPython's own tests of sockets, for Debian's interpreter
stage_cpython()
{
	local deb d=$RDS_CACHE/cpython

	deb=$(newest '^libpython3\.11-testsuite_')
	done_already cpython "$deb" && return 0
	rm -rf "$d"
	mkdir -p "$d"
	dpkg-deb --fsys-tarfile "$RDS_CACHE/debs/$deb" |
		tar -x -C "$d" --strip-components=5 ./usr/lib/python3.11/test/test_socket.py ||
		die "cannot unpack $deb: the file may be damaged, remove it and run again"
	mark_done cpython "$deb"
}

stage_agent()
{
	local f key
	key=$(cat "$here/agent.c" "$here/switch.c" | sha256sum | cut -c 1-16)
	done_already agent "$key" && return 0
	mkdir -p "$RDS_CACHE/bin"
	for f in agent switch; do
		gcc-12 -O2 -Wall -Wextra -static -o "$RDS_CACHE/bin/rds-$f.new" "$here/$f.c" ||
			die "cannot compile $f.c"
		mv "$RDS_CACHE/bin/rds-$f.new" "$RDS_CACHE/bin/rds-$f"
	done
	mark_done agent "$key"
}

# A debug kernel. Its build takes long: others may set up meanwhile.
stage_kernel()
{
	install_packages "${kernel_packages[@]}"
	[ -n "$(newest '^linux-source-6\.12_')" ] || stage_debs
	flock -u 9
	kernel_build "$1"
}

mkdir -p "$RDS_CACHE/stamp" 2>/dev/null || die "cannot write to $RDS_CACHE (set RDS_CACHE to a folder that can be written)"
exec 9>"$RDS_CACHE/setup.lock"
stage=setup
flock -n 9 || { say "waiting for another set-up"; flock -w 3600 9 || die "another set-up holds $RDS_CACHE/setup.lock"; }

[ $# -gt 0 ] || set -- all
stages=()
for arg in "$@"; do
	case $arg in
	all)	stages+=(tools debs headers images source dkms cpython agent) ;;
	*)	stages+=("$arg") ;;
	esac
done
for stage in "${stages[@]}"; do
	case $stage in
	tools|debs|headers|images|source|dkms|cpython|agent) "stage_$stage" ;;
	uml-kasan|kasan|kcsan) stage_kernel "$stage" ;;
	*)	die "unknown stage '$stage'" ;;
	esac
done
