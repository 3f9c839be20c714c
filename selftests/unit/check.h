/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the models that unit tests and fuzz targets share: CHECK() and a source
 * of choices, which is a random generator there and the fuzzer's input here.
 */
#ifndef _RDS_UNIT_CHECK_H
#define _RDS_UNIT_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include "shim.h"

#define CHECK(cond) do {						\
	if (!(cond)) {							\
		fprintf(stderr, "%s:%d: CHECK failed: %s\n",		\
			__FILE__, __LINE__, #cond);			\
		abort();						\
	}								\
} while (0)

/**
 * struct choices - where a model takes its decisions from
 * @state: random state, used when @data is NULL
 * @data: recorded choices
 * @left: bytes of @data not yet used; at 0 every choice is 0
 */
struct choices {
	u64 state;
	const u8 *data;
	size_t left;
};

static inline u8 pick_byte(struct choices *c)
{
	if (c->data) {
		if (!c->left)
			return 0;
		c->left--;
		return *c->data++;
	}
	c->state ^= c->state << 13;
	c->state ^= c->state >> 7;
	c->state ^= c->state << 17;
	return c->state >> 24;
}

/* A choice in 0..n-1; n is small and at least 1. */
static inline u32 pick(struct choices *c, u32 n)
{
	u32 v = pick_byte(c);

	if (n > 256)
		v |= pick_byte(c) << 8;
	return v % n;
}

static inline u64 pick_u64(struct choices *c)
{
	u64 v = 0;
	int i;

	for (i = 0; i < 8; i++)
		v = v << 8 | pick_byte(c);
	return v;
}

static inline bool choices_over(const struct choices *c)
{
	return c->data && !c->left;
}

#endif /* _RDS_UNIT_CHECK_H */
