#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# vm: nodes=1 modules=rds_tcp,veth timeout=240 ref=0 soak=10 lanes=uml
#
# The system-call fuzzer: a minute on a kernel with KCOV, where it is guided, and
# 20 s elsewhere. With RDS_SOAK=minutes that long, half of it with faults.
# KFUZZ_SEED chooses another seed (soak: the clock does).
#
# On user-mode Linux the last 64 programs are on the host while they run, in
# build/bin/kfuzz/last-programs, for the case that the guest dies.

. "$(dirname "$0")/../lib.sh"

corpus=$SELFTESTS/kfuzz/corpus.txt
minutes=${RDS_SOAK:-0}
seed=${KFUZZ_SEED:-1}
log=/run/kfuzz-programs
share=/run/kfuzz-host

if [ "$minutes" -gt 0 ] && [ -z "${KFUZZ_SEED:-}" ]; then
	seed=$(date +%s)
fi
mkdir -p $share
# only user-mode Linux has this file system, and can write to the host
if mount -t hostfs -o "$BIN/kfuzz" none $share 2>/dev/null; then
	log=$share/last-programs-$seed
	trap 'rm -f "$log"; umount $share; cleanup' EXIT
fi

has_faults()
{
	[ -e /proc/self/fail-nth ]
}

fuzz()
{
	"$BIN/kfuzz/kfuzz" --seed "$seed" --corpus "$corpus" --log "$log" "$@"
}

ktap_header
if [ "$minutes" -gt 0 ]; then
	check "fuzz $((minutes * 30)) s" fuzz --seconds $((minutes * 30))
	if has_faults; then
		check "fuzz $((minutes * 30)) s with faults" fuzz --seconds $((minutes * 30)) --faults
	else
		ktap_skip "fuzz with faults" "this kernel injects none"
	fi
elif [ -e /sys/kernel/debug/kcov ]; then
	check "fuzz 50 s" fuzz --seconds 50
	check "fuzz 10 s with faults" fuzz --seconds 10 --faults
else
	check "fuzz 20 s, not guided" fuzz --seconds 20
fi
ktap_finish
