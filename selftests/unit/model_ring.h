/* SPDX-License-Identifier: GPL-2.0 */
/* A ring of work requests against a plain queue of slots. */
#ifndef _RDS_MODEL_RING_H
#define _RDS_MODEL_RING_H

#include <string.h>

#include "check.h"
#include "ib/ring.h"

#define RING_MODEL_MAX	512

struct ring_model {
	struct rds_ib_ring r;
	u32 size;
	u32 slot[RING_MODEL_MAX];	/* in use, the oldest first */
	u32 used;
};

/* Start just before positions wrap around, now and then. */
static void ring_model_init(struct ring_model *m, u32 nr, bool wrap)
{
	m->size = rds_ib_ring_init(&m->r, nr);
	m->used = 0;
	if (wrap) {
		m->r.head = 0 - 5U;
		m->r.tail = 0 - 5U;
	}
	CHECK(m->size >= m->r.nr && m->size < 2 * m->r.nr);
}

static void ring_step(struct ring_model *m, struct choices *c)
{
	u32 n = pick(c, 20), pos = 0, i;
	bool ok;

	switch (pick(c, 4)) {
	case 0:
	case 1:
		ok = rds_ib_ring_take(&m->r, n, &pos);
		CHECK(ok == (m->used + n <= m->r.nr));
		for (i = 0; ok && i < n; i++)
			m->slot[m->used++] = rds_ib_ring_slot(&m->r, pos + i);
		break;
	case 2:
		if (n > m->used)
			n = m->used;
		rds_ib_ring_untake(&m->r, n);
		m->used -= n;
		break;
	default:
		/* one of those in use completes, or one that is not in use */
		pos = pick(c, m->size + 2);
		for (i = 0; i < m->used && m->slot[i] != pos; i++)
			;
		n = rds_ib_ring_upto(&m->r, pos);
		CHECK(n == (i < m->used ? i + 1 : 0));
		rds_ib_ring_free(&m->r, n);
		memmove(m->slot, m->slot + n, (m->used - n) * sizeof(*m->slot));
		m->used -= n;
	}
	CHECK(rds_ib_ring_used(&m->r) == m->used);
	CHECK(rds_ib_ring_room(&m->r) == m->r.nr - m->used);
	/* no two share a slot */
	for (i = 1; i < m->used; i++)
		CHECK(m->slot[i] == ((m->slot[i - 1] + 1) & (m->size - 1)));
	CHECK(m->used <= m->size);
}

#endif /* _RDS_MODEL_RING_H */
