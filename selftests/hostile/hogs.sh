# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced, after hostile/common.sh, by tests with sockets of 10.1.0.3 that are read when they are told to.

# hog ID PORT UID [RCVBUF]: a socket that does what is written into its fifo
hog() {
	rm -f "$T/fifo.$1"
	mkfifo "$T/fifo.$1"
	ip netns exec n3 python3 -u "$SELFTESTS/hostile/spill.py" hog 10.1.0.3 "${@:2}" \
		>>"$T/$1" 2>&1 <"$T/fifo.$1" &
	eval "pid_$1=$!"
	exec {fd}>"$T/fifo.$1"
	eval "fd_$1=$fd"
	busywait 15 said "$1" bound
}

# ask ID WORD PATTERN: tell it, and wait for its answer
ask() {
	local fd=fd_$1

	: >"$T/$1"
	echo "$2" >&"${!fd}"
	busywait 60 said "$1" "$3" || { show_file "$T/$1"; return 1; }
}

# rmem ID: what it is charged
rmem() {
	ask "$1" rmem '^rmem' >&2 && sed -n 's/^rmem //p' "$T/$1"
}

# end_hog ID: it is told nothing more
end_hog() {
	local fd=fd_$1

	fd=${!fd}
	exec {fd}>&-
	end "$1"
}
