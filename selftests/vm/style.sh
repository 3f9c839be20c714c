#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# sparse and W=1 on the modules, checkpatch --strict on all C files and
# headers, kernel-doc on what it documents, bash -n on the scripts.
# Prints what it dislikes; exit status 0 means clean.
# Exceptions are in style.exceptions, nowhere else.

set -u -o pipefail
export LC_ALL=C
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
RDS_CACHE=${RDS_CACHE:-$HOME/.cache/rds}
lx=$RDS_CACHE/lx/scripts
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
bad=0
cd "$top" || exit 2

verdict()
{
	if [ "$1" = 0 ]; then
		printf '  style    %-12s clean\n' "$2"
	else
		printf '  style    %-12s %s complaints\n' "$2" "$1"
		bad=1
	fi
}

for tool in sparse perl; do
	command -v $tool >/dev/null || { echo "style: $tool is not installed: run 'make setup'" >&2; exit 2; }
done
[ -f "$lx/checkpatch.pl" ] || { echo "style: no checkpatch in $lx: run 'make setup'" >&2; exit 2; }

mapfile -t kernel < <(find net include -name '*.[ch]' | sort)
mapfile -t user < <(find selftests tools demo -name '*.[ch]' -not -path '*/build/*' | sort)
mapfile -t scripts < <(find selftests demo tools .ci -name '*.sh' -o -path .ci/run | sort)

# sparse and W=1 see every file only in a build of its own
build_log=$log/build
touch "$log/stamp"
if ! OUT_SUFFIX=style "$here/build.sh" debian C=2 W=1 CF='-fdiagnostic-prefix -D__CHECK_ENDIAN__' >"$build_log" 2>&1; then
	tail -n 20 "$build_log"
	echo "style: the modules do not compile" >&2
	exit 1
fi
grep -E 'warning:|error:' "$build_log" | grep -v -F "$RDS_CACHE" | sort -u >"$log/sparse"
cat "$log/sparse"
verdict "$(wc -l <"$log/sparse")" "sparse, W=1"

# the types that are not applied to programs, with commas
user_exceptions()
{
	sed -n 's/#.*//; s/[[:space:]]*$//; s/^user //p' "$here/style.exceptions" | paste -sd,
}

# "net/rds/trace.h TYPE TYPE" as a pattern of complaints
local_exceptions()
{
	sed 's/#.*//; s/[[:space:]]*$//' "$here/style.exceptions" | grep -E '^[^ ]*[.]' |
		while read -r file types; do
			printf '^%s:[0-9]+: [A-Z]+:(%s):|' "$file" "${types// /|}"
		done
	echo '^$'
}

check_files()
{
	local ignore=$1
	shift
	perl "$lx/checkpatch.pl" --no-tree --strict --no-summary --terse --show-types \
		--max-line-length=100 --ignore "$ignore" -f "$@" 2>&1 |
		grep -E '(ERROR|WARNING|CHECK):'
}
cd "$log" || exit 2
{
	check_files '' "${kernel[@]/#/$top/}"
	check_files "$(user_exceptions)" "${user[@]/#/$top/}"
} | sed "s|$top/||" | grep -v -E "$(local_exceptions)" >"$log/checkpatch"
cd "$top" || exit 2
cat "$log/checkpatch"
verdict "$(wc -l <"$log/checkpatch")" checkpatch

for f in "${kernel[@]}"; do
	perl "$lx/kernel-doc" -none "$f" 2>&1
done | grep -E 'warning|error' | sed "s|$top/||" >"$log/doc"
cat "$log/doc"
verdict "$(wc -l <"$log/doc")" kernel-doc

for f in "${scripts[@]}"; do
	bash -n "$f" 2>&1
done >"$log/scripts"
for f in selftests/vm/*.py; do
	python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$f" 2>&1 | tail -n 1
done >>"$log/scripts"
mapfile -t spdx < <(git ls-files -co --exclude-standard 2>/dev/null |
	grep -E '\.([chS]|sh|py|config)$|Makefile|Kbuild|Kconfig|\.ci/run')
for f in "${spdx[@]}"; do
	[ ! -f "$f" ] || head -n 3 "$f" | grep -q SPDX-License-Identifier || echo "$f: no SPDX line"
done >>"$log/scripts"
for f in "${kernel[@]}"; do
	n=$(wc -l <"$f")
	[ "$n" -lt 700 ] || echo "$f: $n lines, 700 are too many"
done >>"$log/scripts"
# hazard H8: the plain test wants a barrier, wq_has_sleeper() and its kin have it
grep -n -E '\bwaitqueue_active\(|\bsk_has_sleeper' "${kernel[@]}" |
	sed 's/$/  -- use a helper with the barrier (wq_has_sleeper)/' >>"$log/scripts"
cat "$log/scripts"
verdict "$(wc -l <"$log/scripts")" "files"
exit $bad
