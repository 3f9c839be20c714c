#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=600
#
# What a kernel update does on a machine with DKMS: "dkms autoinstall" builds the modules that were
# only added, for a kernel 6.12 and for no other, and installs them beside those of the kernel tree.
# Debian's dkms works in folders of its own here.

. "$(dirname "$0")/../lib.sh"

top=$(cd "$(dirname "$0")/../.." && pwd)
cache=${RDS_CACHE:-$HOME/.cache/rds}
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
unset KDIR INSTALL_MOD_PATH MAKEFLAGS MAKELEVEL MFLAGS GIT_DIR GIT_WORK_TREE
# debugging information only takes time
export KCFLAGS=-g0

version=$(cat "$cache/img/6.12/version")
base=$(head -n 1 "$top/VERSION")
intree=kernel/net/rds

# As root, or as who looks like it; keys for signing that dkms makes are not left on the machine.
dkms()
{
	local who=()

	[ "$(id -u)" = 0 ] || who=(-r)
	# shellcheck disable=SC2016
	unshare "${who[@]}" -m bash -c '
		[ ! -d /var/lib/dkms ] || mount -t tmpfs none /var/lib/dkms || exit 1
		exec "$@"' - bash "$cache/dkms/usr/sbin/dkms" "$@" \
		--dkmstree "$T/dkms" --sourcetree "$T/src" --installtree "$T/lib/modules" \
		--kernelsourcedir "$cache/hdr/usr/src/current" --no-depmod >"$T/said" 2>&1
}

said() { sed 's/^/# /' "$T/said"; }

put_there()
{
	mkdir -p "$T/dkms" "$T/src/rds-$base" "$T/lib/modules/$version/$intree" &&
		cp "$cache/img/6.12/lib/modules/$version/$intree"/rds*.ko* "$T/lib/modules/$version/$intree" &&
		cp -r "$T/lib/modules/$version" "$T/lib/modules/6.1.0-99-amd64" || return 1
	tar -C "$top" --exclude=./.git --exclude=./build -c . | tar -x -C "$T/src/rds-$base"
}

added()
{
	dkms add "rds/$base" -k "$version" || { said; return 1; }
	dkms status -k "$version" && grep -q "rds/$base.*: added" "$T/said"
}

not_for_others()
{
	dkms autoinstall -k 6.1.0-99-amd64
	said
	[ ! -e "$T/lib/modules/6.1.0-99-amd64/updates" ]
}

autoinstalled() { dkms autoinstall -k "$version" || { said; tail -n 20 "$T"/dkms/rds/*/build/make.log; return 1; }; }

complete()
{
	local m file

	for m in rds rds_tcp rds_rdma; do
		file=$(echo "$T/lib/modules/$version"/updates/{,dkms/}"$m".ko*)
		file=$(ls $file 2>/dev/null)
		[ -f "$file" ] || { said; return 1; }
		[ "$(modinfo -F vermagic "$file" | cut -d' ' -f1)" = "$version" ] || return 1
		echo "# $m: $(modinfo -F version "$file")"
		[[ "$(modinfo -F version "$file")" = "$base"-* ]] || return 1
	done
	dkms status -k "$version" && grep -q "rds/$base, $version.*: installed" "$T/said"
}

nothing_to_do() { dkms autoinstall -k "$version" && ! grep -qi building "$T/said"; }

ktap_header
if ! unshare $([ "$(id -u)" = 0 ] || echo -r) -m true 2>/dev/null; then
	ktap_skip "dkms autoinstall" "a mount namespace cannot be made here"
	ktap_finish
fi
check "the sources, and modules of the kernel tree" put_there
check "dkms add" added
check "dkms autoinstall builds nothing for another kernel" not_for_others
check "dkms autoinstall" autoinstalled
check "the three modules are there, with their version" complete
check "dkms autoinstall finds nothing to do" nothing_to_do
ktap_finish
