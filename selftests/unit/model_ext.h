/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two readers of the extension area, written from the table in the wire
 * specification without a look at wire.c: one as ours has to be, one as a peer
 * before 7.0 behaves.
 */
#ifndef _RDS_UNIT_MODEL_EXT_H
#define _RDS_UNIT_MODEL_EXT_H

#include <string.h>

#include "check.h"
#include "wire.h"

static inline int model_ext_body(int type)
{
	switch (type) {
	case 1: case 2: case 6:
		return 4;
	case 3: case 4:
		return 8;
	case 5:
		return 2;
	case 8:
		return 1;
	case 15:	/* ours */
		return 10;
	default:
		return -1;
	}
}

static inline u32 model_be(const u8 *p, int n)
{
	u32 v = 0;

	for (; n > 0; n--)
		v = v * 256 + *p++;
	return v;
}

static inline void model_ext_field(struct rds_ext *e, int type, const u8 *body)
{
	if (e->present & 1U << type)
		return;
	e->present |= 1U << type;
	if (type == 1)
		e->version = model_be(body, 4);
	else if (type == 2)
		e->rdma_rkey = model_be(body, 4);
	else if (type == 3)
		e->dest_rkey = model_be(body, 4), e->dest_off = model_be(body + 4, 4);
	else if (type == 4)
		e->rdma_bytes = model_be(body, 4), e->rdma_dir = body[4];
	else if (type == 5)
		e->npaths = model_be(body, 2);
	else if (type == 6)
		e->gen = model_be(body, 4);
	else if (type == 15)
		e->link = (struct rds_ext_link){
			.index = body[1] % 8,
			.verdict = body[1] / 8,
			.to = model_be(body + 2, 4),
			.name = model_be(body + 6, 4),
		};
}

/* Consumes the area from the front; returns bytes used by complete extensions. */
static inline size_t model_ext_parse(const u8 *p, size_t left, struct rds_ext *e)
{
	size_t used = 0;

	memset(e, 0, sizeof(*e));
	while (left) {
		int type = *p, body = model_ext_body(type);

		if (type == 0 || type > 15)
			break;
		if (body < 0) {
			e->unknown = type;
			break;
		}
		if ((size_t)body + 1 > left)
			break;
		model_ext_field(e, type, p + 1);
		p += body + 1;
		left -= body + 1;
		used += body + 1;
	}
	return used;
}

/* A peer before 7.0: does not know 4, 8 and 15, and reads on behind an unknown type. */
static inline void model_ext_parse_old(const u8 *p, size_t left, struct rds_ext *e)
{
	memset(e, 0, sizeof(*e));
	while (left) {
		int type = *p, body = model_ext_body(type);

		if (type == 0 || type > 15)
			break;
		if (body < 0 || type == 4 || type == 8 || type == 15) {
			p++;
			left--;
			continue;
		}
		if ((size_t)body + 1 > left)
			break;
		model_ext_field(e, type, p + 1);
		p += body + 1;
		left -= body + 1;
	}
}

static inline bool model_ext_same(const struct rds_ext *a, const struct rds_ext *b)
{
	return a->present == b->present && a->version == b->version &&
	       a->rdma_rkey == b->rdma_rkey && a->dest_rkey == b->dest_rkey &&
	       a->dest_off == b->dest_off && a->rdma_bytes == b->rdma_bytes &&
	       a->gen == b->gen && a->npaths == b->npaths &&
	       a->rdma_dir == b->rdma_dir && a->unknown == b->unknown &&
	       a->link.index == b->link.index && a->link.verdict == b->link.verdict &&
	       a->link.to == b->link.to && a->link.name == b->link.name;
}

/* Put one extension of a random type, width and value; check the area afterwards. */
static inline void model_ext_put(struct choices *c, u8 *area)
{
	u8 type = pick(c, 20), before[RDS_EXT_LEN], want[RDS_EXT_LEN] = { 0 };
	u32 v = pick_u64(c), off = pick_u64(c);
	int width = pick(c, 4), size = 1 << width, i;
	struct rds_ext dummy;
	size_t used;
	bool ok, done;

	memcpy(before, area, RDS_EXT_LEN);
	used = model_ext_parse(area, RDS_EXT_LEN, &dummy);
	if (width == 0 && pick(c, 4))
		v = 0;
	if (width == 3)
		type = 3;
	ok = model_ext_body(type) == size && used + 1 + size <= RDS_EXT_LEN &&
	     before[used] == 0 && !(width == 0 && (u8)v);

	if (width == 0)
		done = rds_ext_put_u8(area, type, v);
	else if (width == 1)
		done = rds_ext_put_u16(area, type, v);
	else if (width == 2)
		done = rds_ext_put_u32(area, type, v);
	else
		done = rds_ext_put_rdma_dest(area, v, off);
	CHECK(done == ok);
	if (!ok) {
		CHECK(!memcmp(area, before, RDS_EXT_LEN));
		return;
	}

	memcpy(want, before, RDS_EXT_LEN);
	want[used] = type;
	for (i = 0; i < size && i < 4; i++)
		want[used + 1 + i] = v >> 8 * ((size > 4 ? 4 : size) - 1 - i);
	for (i = 4; i < size; i++)
		want[used + 1 + i] = off >> 8 * (7 - i);
	if (used + 1 + size < RDS_EXT_LEN)
		want[used + 1 + size] = 0;
	CHECK(!memcmp(area, want, RDS_EXT_LEN));
}

#endif /* _RDS_UNIT_MODEL_EXT_H */
