# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Sourced by the shell of a guest (make shell).
# pages SOURCES FOLDER: man(1) finds the manual pages of our tools.  It wants a folder for each
# section; a link is enough.  Says how to read them.
pages()
{
	names=
	for page in "$1"/*.[1-9]; do
		mkdir -p "$2/man${page##*.}" && ln -sf "$page" "$2/man${page##*.}/" || return 1
		names="$names ${page##*/}"
	done
	# a colon at the end: the machine's own, too
	export MANPATH=$2:
	if command -v man >/dev/null; then
		echo "manual pages for 'man':$names"
	else
		echo "no 'man' here (Debian: man-db); the manual pages are in $1:$names"
	fi
}
