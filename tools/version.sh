#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Prints the version that the modules and tools tell: that of the file VERSION
# with the commit, or the newest tag v* with what came after it.  Without git
# the commit is the one that "git archive" has written into VERSION.

top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
base=$(sed -n 1p "$top/VERSION" 2>/dev/null)
commit=

if [ -e "$top/.git" ]; then
	commit=$(git --no-optional-locks -C "$top" describe --tags --match 'v[0-9]*' \
		--always --dirty --abbrev=12 2>/dev/null)
else
	commit=$(sed -n 2p "$top/VERSION" 2>/dev/null)
fi
case $commit in
v*)	echo "${commit#v}" ;;
''|\$*)	echo "${base:-0}-unknown" ;;
*)	echo "${base:-0}-g$commit" ;;
esac
