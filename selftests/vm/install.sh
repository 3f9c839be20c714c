#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Installs the built modules below INSTALL_MOD_PATH, or for the running kernel
# when that is the kernel they were built for; or takes them away again.
#
# usage: install.sh install|uninstall FOLDER-IN-BUILD

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
	touch -a "$root/lib/modules/$1/modules.order" "$root/lib/modules/$1/modules.builtin" 2>/dev/null
	depmod -b "${root:-/}" "$1" || die "depmod failed"
}

modules=("$out/net/rds/rds.ko" "$out/net/rds/tcp/rds_tcp.ko" "$out/net/rds/ib/rds_rdma.ko")
for m in "${modules[@]}"; do
	[ -f "$m" ] || die "$m is not built"
done
version=$(modinfo -F vermagic "${modules[0]}" | cut -d' ' -f1)
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
