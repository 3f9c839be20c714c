/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two ends of a link with flow control, frames in flight between them.  No frame may arrive
 * without a buffer; when both ends act long enough, everything is sent and nothing goes round for
 * ever.
 */
#ifndef _RDS_MODEL_CREDIT_H
#define _RDS_MODEL_CREDIT_H

#include <string.h>

#include "check.h"
#include "ib/credit.h"

#define CREDIT_FLIGHT	1024

/* One end, and what is on its way from it. */
struct credit_end {
	struct rds_ib_credit c;
	u32 nr;			/* buffers */
	u32 used;		/* those that are posted */
	u32 todo;		/* SENDs to be made */
	bool ack;		/* wants to send a frame of its own */
	u8 grant[CREDIT_FLIGHT];
	bool data[CREDIT_FLIGHT];
	u32 head, tail;
	u64 sent, got, frames;
};

struct credit_model {
	struct credit_end end[2];
};

static void credit_refill(struct credit_end *e)
{
	if (e->used > e->nr / 2)
		return;
	rds_ib_credit_posted(&e->c, e->nr - e->used);
	e->used = e->nr;
	if (rds_ib_credit_update_due(&e->c))
		e->ack = true;
}

static void credit_model_init(struct credit_model *m, u32 nr0, u32 nr1)
{
	u32 nr[2] = { nr0, nr1 }, first[2];
	int i;

	memset(m, 0, sizeof(*m));
	for (i = 0; i < 2; i++) {
		struct credit_end *e = &m->end[i];

		rds_ib_credit_init(&e->c, nr[i]);
		e->nr = nr[i];
		e->used = nr[i];
		rds_ib_credit_posted(&e->c, nr[i]);
		first[i] = rds_ib_credit_first(&e->c);
		CHECK(first[i] == nr[i]);
	}
	for (i = 0; i < 2; i++) {
		m->end[i].c.on = true;
		rds_ib_credit_got(&m->end[i].c, first[!i]);
	}
}

static void credit_put(struct credit_end *e, u8 grant, bool data)
{
	CHECK(e->head - e->tail < CREDIT_FLIGHT);
	e->grant[e->head % CREDIT_FLIGHT] = grant;
	e->data[e->head % CREDIT_FLIGHT] = data;
	e->head++;
}

/* Send up to @want; of those taken, @unused are given back. */
static void credit_send(struct credit_end *e, u32 want, u32 unused)
{
	u32 n, i;
	u8 grant;

	if (!e->todo)
		return;
	if (want > e->todo)
		want = e->todo;
	n = rds_ib_credit_take(&e->c, want, &grant);
	CHECK(n <= want);
	CHECK(n || !grant);
	if (unused > n)
		unused = n;
	if (unused)
		rds_ib_credit_give_back(&e->c, unused, unused == n ? grant : 0);
	n -= unused;
	for (i = 0; i < n; i++)
		credit_put(e, i ? 0 : grant, true);
	e->todo -= n;
	e->sent += n;
	/* What goes by data needs no frame. */
	if (n && !rds_ib_credit_update_due(&e->c))
		e->ack = false;
}

static void credit_ack(struct credit_end *e)
{
	u8 grant;

	if (!e->ack || !rds_ib_credit_take(&e->c, 1, &grant))
		return;
	e->ack = false;
	e->frames++;
	credit_put(e, grant, false);
}

/* The oldest frame from @from arrives at @to. */
static void credit_arrive(struct credit_end *from, struct credit_end *to)
{
	u32 i = from->tail % CREDIT_FLIGHT;

	if (from->tail == from->head)
		return;
	from->tail++;
	CHECK(to->used);	/* or the device would have to wait */
	to->used--;
	to->got += from->data[i];
	rds_ib_credit_got(&to->c, from->grant[i]);
	credit_refill(to);
}

static void credit_step(struct credit_model *m, struct choices *ch)
{
	u32 i = pick(ch, 2);
	struct credit_end *e = &m->end[i], *o = &m->end[!i];

	switch (pick(ch, 5)) {
	case 0:
		e->todo += pick(ch, 40);
		break;
	case 1:
		credit_send(e, pick(ch, 32) + 1, pick(ch, 4) ? 0 : pick(ch, 32));
		break;
	case 2:
		credit_ack(e);
		break;
	default:
		credit_arrive(o, e);
	}
	CHECK(e->c.send <= o->nr);
	CHECK(e->c.posted <= e->nr);
}

static bool credit_quiet(const struct credit_model *m)
{
	int i;

	for (i = 0; i < 2; i++)
		if (m->end[i].todo || m->end[i].head != m->end[i].tail)
			return false;
	return true;
}

/* Everything goes its way: no deadlock, and an end. */
static void credit_finish(struct credit_model *m)
{
	u32 turns = 0, i;

	do {
		CHECK(turns++ < 100000);
		for (i = 0; i < 2; i++) {
			credit_send(&m->end[i], 32, 0);
			credit_ack(&m->end[i]);
			credit_arrive(&m->end[!i], &m->end[i]);
		}
	} while (!credit_quiet(m));
	for (i = 0; i < 2; i++)
		CHECK(m->end[i].sent == m->end[!i].got);
}

#endif /* _RDS_MODEL_CREDIT_H */
