# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by the tests that look at how rds-bench ended, and at what it said.

# ended WANT STATUS OPTION...: its output is in the files out and err
ended() {
	[ "$2" = "$1" ] && return
	note "rds-bench ${*:3}: exit code $2, wanted $1"
	show_file "$T/out"
	show_file "$T/err"
	return 1
}

# says REGEX: the last one has said so
says() {
	grep -qE "$1" "$T/out" "$T/err" || { show_file "$T/out"; show_file "$T/err"; return 1; }
}
