/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A ring of work requests: positions only, the entries are the caller's.  Pure code.
 *
 * Positions run freely; the entry of a position is rds_ib_ring_slot().  One party allocates,
 * another one frees, without a lock: each writes its own counter.
 */
#ifndef _RDS_IB_RING_H
#define _RDS_IB_RING_H

#include <linux/types.h>

/**
 * struct rds_ib_ring - a ring
 * @nr: entries that may be in use at a time
 * @mask: entries that exist, a power of two, minus one
 * @head: position of the next allocation; written by who allocates
 * @tail: position of the oldest entry in use; written by who frees
 */
struct rds_ib_ring {
	u32 nr;
	u32 mask;
	u32 head;
	u32 tail;
};

/* Largest ring; positions must not wrap within twice the size. */
#define RDS_IB_RING_MAX		0x100000

u32 rds_ib_ring_init(struct rds_ib_ring *r, u32 nr);
u32 rds_ib_ring_used(const struct rds_ib_ring *r);
u32 rds_ib_ring_room(const struct rds_ib_ring *r);
bool rds_ib_ring_take(struct rds_ib_ring *r, u32 n, u32 *pos);
void rds_ib_ring_untake(struct rds_ib_ring *r, u32 n);
u32 rds_ib_ring_upto(const struct rds_ib_ring *r, u32 slot);
void rds_ib_ring_free(struct rds_ib_ring *r, u32 n);

static inline u32 rds_ib_ring_slot(const struct rds_ib_ring *r, u32 pos)
{
	return pos & r->mask;
}

#endif /* _RDS_IB_RING_H */
