#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Installs the built modules below INSTALL_MOD_PATH, or for the running kernel
# when that is the kernel they were built for.

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$(cd "$here/../.." && pwd)/build/${1:-debian}
die() { printf 'install: %s\n' "$*" >&2; exit 1; }

modules=("$out/net/rds/rds.ko" "$out/net/rds/tcp/rds_tcp.ko" "$out/net/rds/ib/rds_rdma.ko")
for m in "${modules[@]}"; do
	[ -f "$m" ] || die "$m is not built"
done
version=$(modinfo -F vermagic "${modules[0]}" | cut -d' ' -f1)
root=${INSTALL_MOD_PATH:-}
if [ -z "$root" ] && [ "$version" != "$(uname -r)" ]; then
	die "the modules are for $version, this machine runs $(uname -r): build with KDIR=/lib/modules/$(uname -r)/build or set INSTALL_MOD_PATH"
fi
dir=$root/lib/modules/$version/updates
mkdir -p "$dir" 2>/dev/null || die "cannot write to $dir (root rights are needed, or set INSTALL_MOD_PATH)"
install -m 644 "${modules[@]}" "$dir/" || die "cannot write to $dir"
# without the kernel's own list there is nothing to index against
touch -a "$root/lib/modules/$version/modules.order" "$root/lib/modules/$version/modules.builtin" 2>/dev/null
depmod -b "${root:-/}" "$version" || die "depmod failed"
echo "  install  $dir/{rds.ko,rds_tcp.ko,rds_rdma.ko}"
