// SPDX-License-Identifier: GPL-2.0
/*
 * KCOV: the addresses that the two threads reached in the modules (nothing else
 * of the kernel is instrumented), as a set of addresses and one of their pairs.
 */
#include "kfuzz.h"

#include <fcntl.h>
#include <linux/kcov.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define TRACE		(1 << 18)
#define PAIRS		(1 << 20)

static u64 *trace[2];
static int kcov_fd[2] = { -1, -1 };
static u64 pcs[COVER_BITS];
static u64 edges[PAIRS];
static u32 nr_pcs, nr_edges;

bool cover_open(int nr)
{
	kcov_fd[nr] = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	if (kcov_fd[nr] < 0 || ioctl(kcov_fd[nr], KCOV_INIT_TRACE, TRACE))
		return false;
	trace[nr] = mmap(NULL, TRACE * sizeof(u64), PROT_READ | PROT_WRITE, MAP_SHARED,
			 kcov_fd[nr], 0);
	return trace[nr] != MAP_FAILED;
}

/* By the thread itself. */
void cover_enable(int nr)
{
	if (ioctl(kcov_fd[nr], KCOV_ENABLE, KCOV_TRACE_PC))
		complain("KCOV_ENABLE: errno %d", errno);
}

void cover_reset(int nr)
{
	__atomic_store_n(&trace[nr][0], 0, __ATOMIC_RELAXED);
}

/* Puts a number other than 0 into a set: its place, with *fresh if it is new. */
static u32 put(u64 *set, u32 size, u32 *nr, u64 x, bool *fresh)
{
	u32 i = mix(x) & (size - 1);

	*fresh = false;
	while (set[i] && set[i] != x)
		i = (i + 1) & (size - 1);
	if (!set[i] && *nr < size / 2) {
		set[i] = x;
		++*nr;
		*fresh = true;
	}
	return i;
}

/* Takes the traces of the program that ended: has it reached anything new? */
bool cover_collect(unsigned int threads)
{
	bool found = false, fresh;
	u64 i, n, prev;
	int nr;

	for (nr = 0; nr < 2; nr++) {
		if (!(threads & 1 << nr))
			continue;
		n = __atomic_load_n(&trace[nr][0], __ATOMIC_RELAXED);
		prev = 0;
		for (i = 1; i <= n && i < TRACE; i++) {
			u64 pc = trace[nr][i];

			put(pcs, COVER_BITS, &nr_pcs, pc, &fresh);
			found |= fresh;
			put(edges, PAIRS, &nr_edges, pc ^ prev << 20, &fresh);
			found |= fresh;
			prev = pc;
		}
	}
	return found;
}

/* Adds the addresses of the last program to a set of COVER_BITS bits. */
void cover_last(u64 *bits)
{
	bool fresh;
	u64 i, n;
	u32 at;
	int nr;

	for (nr = 0; nr < 2; nr++) {
		n = __atomic_load_n(&trace[nr][0], __ATOMIC_RELAXED);
		for (i = 1; i <= n && i < TRACE; i++) {
			at = put(pcs, COVER_BITS, &nr_pcs, trace[nr][i], &fresh);
			bits[at / 64] |= 1ULL << at % 64;
		}
	}
}

u32 cover_pcs(void)
{
	return nr_pcs;
}

u32 cover_edges(void)
{
	return nr_edges;
}
