#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=60
#
# tools/version.sh: the commit in a clone, in what "git archive" made, and without either; a tag.
# The modules tell the same version, and who they are from.

. "$(dirname "$0")/../lib.sh"

top=$(cd "$(dirname "$0")/../.." && pwd)
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
unset GIT_DIR GIT_WORK_TREE
quiet_git() { git -c user.name=t -c user.email=t@localhost -c init.defaultBranch=main "$@" >/dev/null; }

# is VERSION FOLDER: what the copy in the folder says, as a pattern
is()
{
	local said

	said=$(sh "$2/tools/version.sh")
	# shellcheck disable=SC2254
	case $said in
	$1) return 0 ;;
	esac
	echo "# says '$said', not '$1'"
	return 1
}

base=$(head -n 1 "$top/VERSION")

clone()
{
	mkdir -p "$T/clone/tools" "$T/archive" "$T/copy" &&
		cp "$top/.gitattributes" "$T/clone/" &&
		printf '%s\n$%s$\n' "$base" Format:%h >"$T/clone/VERSION" &&
		cp "$top/tools/version.sh" "$T/clone/tools/" &&
		cp -r "$T/clone/." "$T/copy/" && cd "$T/clone" &&
		quiet_git init && quiet_git add . && quiet_git commit -m one &&
		is "$base-g$(git rev-parse --short=12 HEAD)" "$T/clone"
}

archive()
{
	git -C "$T/clone" archive HEAD | tar -x -C "$T/archive" &&
		is "$base-g$(git -C "$T/clone" log -1 --format=%h)" "$T/archive"
}

changed() { echo >>"$T/clone/VERSION" && is "$base-g*-dirty" "$T/clone"; }

tagged()
{
	quiet_git -C "$T/clone" checkout VERSION && quiet_git -C "$T/clone" tag -a v6.1 -m tag &&
		is 6.1 "$T/clone"
}

no_git() { rm "$T/copy/VERSION" && is "0-unknown" "$T/copy"; }

modules()
{
	local m said

	for m in rds tcp/rds_tcp ib/rds_rdma; do
		said=$(modinfo -F version "$top/build/debian/net/rds/$m.ko") || return 1
		echo "# $m: $said"
		[ "$said" = "$(modinfo -F version "$top/build/debian/net/rds/rds.ko")" ] &&
			[ -n "$(modinfo -F author "$top/build/debian/net/rds/$m.ko")" ] || return 1
		# shellcheck disable=SC2254
		case $said in
		$base-*|[0-9]*) ;;
		*) return 1 ;;
		esac
	done
}

# README.md and dkms.conf name the folder of the sources.
named()
{
	grep -q "/usr/src/rds-$base " "$top/README.md" && grep -q "dkms install rds/$base\$" "$top/README.md" &&
		grep -qx "PACKAGE_VERSION=$base" "$top/dkms.conf"
}

ktap_header
check "a clone" clone
check "what git archive made" archive
check "a clone with changes" changed
check "a tag" tagged
check "a copy without git" is "$base-unknown" "$T/copy"
check "without the file VERSION" no_git
check "README.md and dkms.conf name it" named
check "the modules tell one version" modules
ktap_finish
