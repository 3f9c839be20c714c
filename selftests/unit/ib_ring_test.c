// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 */
/* The ring of work requests: sizes, then random use against a model, across the wrap. */
#include "unit.h"
#include "model_ring.h"

static void init__sizes(void)
{
	static const u32 size[][3] = {
		{ 0, 1, 1 }, { 1, 1, 1 }, { 2, 2, 2 }, { 3, 3, 4 }, { 256, 256, 256 },
		{ 257, 257, 512 }, { 1U << 20, 1U << 20, 1U << 20 },
		{ ~0U, 1U << 20, 1U << 20 },
	};
	struct rds_ib_ring r;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		EXPECT_EQ(rds_ib_ring_init(&r, size[i][0]), size[i][2]);
		EXPECT_EQ(r.nr, size[i][1]);
		EXPECT_EQ(rds_ib_ring_room(&r), size[i][1]);
		EXPECT_EQ(rds_ib_ring_used(&r), 0);
	}
}

static void take__all_or_nothing(void)
{
	struct rds_ib_ring r;
	u32 pos = 77;

	rds_ib_ring_init(&r, 5);
	EXPECT(rds_ib_ring_take(&r, 3, &pos));
	EXPECT_EQ(pos, 0);
	pos = 77;
	EXPECT(!rds_ib_ring_take(&r, 3, &pos));
	EXPECT_EQ(pos, 77);
	EXPECT(rds_ib_ring_take(&r, 2, &pos));
	EXPECT_EQ(pos, 3);
	EXPECT_EQ(rds_ib_ring_room(&r), 0);
}

/* What is not in use cannot complete, whatever a device says. */
static void upto__slots_that_are_not_in_use(void)
{
	struct rds_ib_ring r;
	u32 pos, i;

	rds_ib_ring_init(&r, 8);
	for (i = 0; i < 20; i++)
		EXPECT_EQ(rds_ib_ring_upto(&r, i), 0);
	rds_ib_ring_take(&r, 6, &pos);
	rds_ib_ring_free(&r, 4);
	EXPECT_EQ(rds_ib_ring_upto(&r, 4), 1);
	EXPECT_EQ(rds_ib_ring_upto(&r, 5), 2);
	EXPECT_EQ(rds_ib_ring_upto(&r, 6), 0);
	EXPECT_EQ(rds_ib_ring_upto(&r, 3), 0);
	EXPECT_EQ(rds_ib_ring_upto(&r, 12), 0);
	EXPECT_EQ(rds_ib_ring_upto(&r, ~0U), 0);
}

static void model__random(void)
{
	struct choices c = { .state = 0x9e3779b97f4a7c15ULL };
	u32 run, i;

	for (run = 0; run < 2000; run++) {
		struct ring_model m;

		ring_model_init(&m, 1 + pick(&c, 300), run & 1);
		for (i = 0; i < 300; i++)
			ring_step(&m, &c);
	}
}

static const struct unit_test tests[] = {
	CASE(init__sizes),
	CASE(take__all_or_nothing),
	CASE(upto__slots_that_are_not_in_use),
	CASE(model__random),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
