#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=0 timeout=120
#
# rds-bench where one of its processes cannot be started: it says so, ends soon, and signals
# processes of its own only.  No process is hurt here: fork() and kill() are ours.

. "$(dirname "$0")/../lib.sh"

T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT

cat >"$T/ours.c" <<'EOF'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

pid_t fork(void)
{
	static int count;
	pid_t (*real)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");

	if (++count != atoi(getenv("FORK_FAILS")))
		return real();
	errno = EAGAIN;
	return -1;
}

int kill(pid_t pid, int sig)
{
	int (*real)(pid_t, int) = (int (*)(pid_t, int))dlsym(RTLD_NEXT, "kill");
	FILE *f = fopen(getenv("KILL_LOG"), "a");

	fprintf(f, "%d\n", pid);
	fclose(f);
	return pid > 0 ? real(pid, sig) : 0;
}
EOF

# says_so NUMBER: this start fails, the later ones do not
says_so() {
	: >"$T/kills"
	timeout 60 env FORK_FAILS="$1" KILL_LOG="$T/kills" LD_PRELOAD="$T/ours.so" \
		"$BIN/rds-bench" -q -t 0.05 -p udp fanin/64/4 >"$T/out" 2>&1
	[ $? = 1 ] && grep -q 'FAILED: cannot start a process' "$T/out" && ! grep -q - "$T/kills" && return
	sed 's/^/# /' "$T/out"
	sed 's/^/# kill /' "$T/kills"
	return 1
}

ktap_header
check "fork() and kill() can be replaced" "${CC:-cc}" -shared -fPIC -o "$T/ours.so" "$T/ours.c" -ldl
fair_now
before=$FAIR_NOW
check "no receiver" says_so 1
check "no first sender" says_so 2
check "no third sender" says_so 4
fair_now
check "soon" test $((FAIR_NOW - before)) -lt 20000
ktap_finish
