#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Installs the built modules below INSTALL_MOD_PATH, or for the running kernel
# when that is the kernel they were built for; or takes them away again.
#
# usage: install.sh install|uninstall FOLDER-IN-BUILD
# environment: KDIR as for the build: the modules must be for that kernel

set -u
PATH=$PATH:/usr/sbin:/sbin
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
what=$1
out=$(cd "$here/../.." && pwd)/build/${2:-debian}
root=${INSTALL_MOD_PATH:-}
names=(rds.ko rds_tcp.ko rds_rdma.ko)
die() { printf '%s: %s\n' "$what" "$*" >&2; exit 1; }

# index VERSION
index() {
	# without the kernel's own list there is nothing to index against
	touch -a "$root/lib/modules/$1"/modules.{order,builtin,builtin.modinfo} 2>/dev/null
	depmod -b "${root:-/}" "$1" || die "depmod failed"
}

modules=("$out/net/rds/rds.ko" "$out/net/rds/tcp/rds_tcp.ko" "$out/net/rds/ib/rds_rdma.ko")

# built: the version that the modules are for; they must be there
built() {
	local m

	for m in "${modules[@]}"; do
		[ -f "$m" ] || die "$m is not built: run 'make modules${KDIR:+ KDIR=$KDIR}' first"
	done
	modinfo -F vermagic "${modules[0]}" | cut -d' ' -f1
}

if [ -n "${KDIR:-}" ]; then
	version=$(make -s -C "$KDIR" kernelrelease 2>/dev/null | tail -n 1)
	[ -n "$version" ] || die "KDIR=$KDIR is no kernel build folder"
	# what was built last need not be for the kernel that is named now
	if [ "$what" = install ]; then
		for_kernel=$(built) || exit
		[ "$for_kernel" = "$version" ] ||
			die "the modules are for $for_kernel, KDIR=$KDIR is $version: run 'make modules KDIR=$KDIR' first"
	fi
else
	version=$(built) || exit
fi
if [ -z "$root" ] && [ "$version" != "$(uname -r)" ]; then
	die "the modules are for $version, this machine runs $(uname -r): name its kernel with KDIR=/lib/modules/$(uname -r)/build, or set INSTALL_MOD_PATH"
fi
dir=$root/lib/modules/$version/updates
case $what in
install)
	mkdir -p "$dir" 2>/dev/null || die "cannot write to $dir (root rights are needed, or set INSTALL_MOD_PATH)"
	install -m 644 "${modules[@]}" "$dir/" || die "cannot write to $dir"
	;;
uninstall)
	(cd "$dir" 2>/dev/null) || die "there is no $dir"
	rm -f "${names[@]/#/$dir/}" || die "cannot write to $dir (root rights are needed)"
	rmdir "$dir" 2>/dev/null
	;;
*)
	die "usage: install.sh install|uninstall FOLDER-IN-BUILD"
	;;
esac
index "$version"
echo "  $what  $dir/{rds.ko,rds_tcp.ko,rds_rdma.ko}"
