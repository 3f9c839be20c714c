// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: positions in a ring of work requests.
 *
 * Pure code, also compiled in user space.  The one who allocates and the one who frees may run
 * at the same time: the head is published after the entries are filled by whoever rings the
 * device's doorbell, and a completion cannot come before that.
 */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/types.h>

#include "ring.h"

/**
 * rds_ib_ring_init() - an empty ring
 * @r: the ring
 * @nr: entries that may be in use; at least 1, at most RDS_IB_RING_MAX
 *
 * Return: entries to provide, a power of two.
 */
u32 rds_ib_ring_init(struct rds_ib_ring *r, u32 nr)
{
	u32 size = 1;

	if (nr < 1)
		nr = 1;
	if (nr > RDS_IB_RING_MAX)
		nr = RDS_IB_RING_MAX;
	while (size < nr)
		size <<= 1;
	r->nr = nr;
	r->mask = size - 1;
	r->head = 0;
	r->tail = 0;
	return size;
}

/**
 * rds_ib_ring_used() - entries in use
 * @r: the ring
 */
u32 rds_ib_ring_used(const struct rds_ib_ring *r)
{
	return READ_ONCE(r->head) - READ_ONCE(r->tail);
}

/**
 * rds_ib_ring_room() - entries that can be allocated
 * @r: the ring
 */
u32 rds_ib_ring_room(const struct rds_ib_ring *r)
{
	return r->nr - rds_ib_ring_used(r);
}

/**
 * rds_ib_ring_take() - allocate entries
 * @r: the ring
 * @n: so many
 * @pos: position of the first one; the others follow
 *
 * Return: false if there are not so many; then none is allocated.
 */
bool rds_ib_ring_take(struct rds_ib_ring *r, u32 n, u32 *pos)
{
	if (n > rds_ib_ring_room(r))
		return false;
	*pos = r->head;
	WRITE_ONCE(r->head, r->head + n);
	return true;
}

/**
 * rds_ib_ring_untake() - the entries allocated last are not used after all
 * @r: the ring
 * @n: so many
 */
void rds_ib_ring_untake(struct rds_ib_ring *r, u32 n)
{
	WRITE_ONCE(r->head, r->head - n);
}

/**
 * rds_ib_ring_upto() - how many entries are retired when one completes
 * @r: the ring
 * @slot: slot of the entry that completed
 *
 * Completions come in order, but not every entry asks for one.
 *
 * Return: entries from the oldest one to this one; 0 if the entry is not in use.
 */
u32 rds_ib_ring_upto(const struct rds_ib_ring *r, u32 slot)
{
	u32 n = ((slot - r->tail) & r->mask) + 1;

	return slot <= r->mask && n <= rds_ib_ring_used(r) ? n : 0;
}

/**
 * rds_ib_ring_free() - free the oldest entries
 * @r: the ring
 * @n: so many, which are in use
 */
void rds_ib_ring_free(struct rds_ib_ring *r, u32 n)
{
	/* The caller has read what is in the entries. */
	smp_store_release(&r->tail, r->tail + n);
}
