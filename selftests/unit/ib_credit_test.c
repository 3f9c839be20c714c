// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 */
/* Flow control by credits: single steps, then two ends that send to one another. */
#include "unit.h"
#include "model_credit.h"

static void off__everything_may_be_sent(void)
{
	struct rds_ib_credit c;
	u8 grant = 9;

	rds_ib_credit_init(&c, 64);
	rds_ib_credit_posted(&c, 64);
	EXPECT_EQ(rds_ib_credit_take(&c, 300, &grant), 300);
	EXPECT_EQ(grant, 0);
	EXPECT(!rds_ib_credit_update_due(&c));
	rds_ib_credit_got(&c, 10);
	EXPECT_EQ(c.send, 0);
	rds_ib_credit_give_back(&c, 5, 0);
	EXPECT_EQ(c.send, 0);
	EXPECT_EQ(c.posted, 64);
}

/* The answer to our offer had none: we are not limited, but the peer may be. */
static void offered__credits_are_granted_in_any_case(void)
{
	struct rds_ib_credit c;
	u8 grant;

	rds_ib_credit_init(&c, 64);
	c.tell = true;
	rds_ib_credit_posted(&c, 300);
	EXPECT(rds_ib_credit_update_due(&c));
	EXPECT_EQ(rds_ib_credit_take(&c, 1000, &grant), 1000);
	EXPECT_EQ(grant, 255);
	EXPECT_EQ(c.posted, 45);
	rds_ib_credit_give_back(&c, 1000, grant);
	EXPECT_EQ(c.posted, 300);
	EXPECT_EQ(c.send, 0);
	EXPECT(rds_ib_credit_left(&c));
}

static void take__the_last_credit_needs_one_to_return(void)
{
	struct rds_ib_credit c = { .on = true, .send = 1 };
	u8 grant;

	EXPECT_EQ(rds_ib_credit_take(&c, 1, &grant), 0);
	EXPECT_EQ(grant, 0);
	EXPECT_EQ(c.send, 1);
	c.posted = 1;
	EXPECT_EQ(rds_ib_credit_take(&c, 5, &grant), 1);
	EXPECT_EQ(grant, 1);
	EXPECT_EQ(c.send, 0);
	EXPECT_EQ(c.posted, 0);
	c.posted = 7;
	EXPECT_EQ(rds_ib_credit_take(&c, 1, &grant), 0);
	EXPECT_EQ(grant, 0);
	EXPECT_EQ(c.posted, 7);
}

static void left__says_what_take_does(void)
{
	u32 send, posted;
	u8 grant;

	for (send = 0; send < 4; send++) {
		for (posted = 0; posted < 3; posted++) {
			struct rds_ib_credit c = { .on = true, .send = send, .posted = posted };
			bool left = rds_ib_credit_left(&c);

			EXPECT_EQ(!!rds_ib_credit_take(&c, 1, &grant), left);
			c.on = false;
			EXPECT(rds_ib_credit_left(&c));
		}
	}
}

static void take__a_header_holds_255(void)
{
	struct rds_ib_credit c = { .on = true, .send = 10, .posted = 600 };
	u8 grant;

	EXPECT_EQ(rds_ib_credit_take(&c, 3, &grant), 3);
	EXPECT_EQ(grant, 255);
	EXPECT_EQ(c.posted, 345);
	EXPECT_EQ(rds_ib_credit_take(&c, 100, &grant), 7);
	EXPECT_EQ(grant, 255);
	EXPECT_EQ(c.posted, 90);
}

static void give_back__as_before(void)
{
	struct rds_ib_credit c = { .on = true, .send = 10, .posted = 20 };
	u8 grant;

	EXPECT_EQ(rds_ib_credit_take(&c, 4, &grant), 4);
	rds_ib_credit_give_back(&c, 4, grant);
	EXPECT_EQ(c.send, 10);
	EXPECT_EQ(c.posted, 20);
}

static void got__a_liar_cannot_overflow(void)
{
	struct rds_ib_credit c = { .on = true };
	int i;

	for (i = 0; i < 100; i++)
		rds_ib_credit_got(&c, ~0U);
	EXPECT_EQ(c.send, RDS_IB_CREDIT_TOTAL);
	rds_ib_credit_got(&c, 1);
	EXPECT_EQ(c.send, RDS_IB_CREDIT_TOTAL);
}

static void init__when_a_frame_is_due(void)
{
	static const u32 due[][2] = { { 1, 2 }, { 4, 2 }, { 5, 2 }, { 10, 5 }, { 31, 15 },
				      { 32, 16 }, { 64, 16 }, { 1024, 16 } };
	struct rds_ib_credit c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(due); i++) {
		rds_ib_credit_init(&c, due[i][0]);
		c.on = true;
		rds_ib_credit_posted(&c, due[i][1] - 1);
		EXPECT(!rds_ib_credit_update_due(&c));
		rds_ib_credit_posted(&c, 1);
		EXPECT(rds_ib_credit_update_due(&c));
	}
}

static void first__what_fits_the_private_data(void)
{
	struct rds_ib_credit c;

	rds_ib_credit_init(&c, 100000);
	rds_ib_credit_posted(&c, 100000);
	EXPECT_EQ(rds_ib_credit_first(&c), 32767);
	EXPECT_EQ(c.posted, 100000 - 32767);
}

/* One way, with nothing to carry credits back but frames of their own. */
static void model__one_way(void)
{
	u32 nr;

	for (nr = RDS_IB_CREDIT_LEAST; nr < 80; nr++) {
		struct credit_model m;

		credit_model_init(&m, nr, nr);
		m.end[0].todo = 5000;
		credit_finish(&m);
		EXPECT_EQ(m.end[1].got, 5000);
		/* frames for credits are few, and none is for a frame only */
		EXPECT(m.end[1].frames <= 5000);
		EXPECT(m.end[0].frames <= m.end[1].frames);
	}
}

static void model__random(void)
{
	struct choices ch = { .state = 88172645463325252ULL };
	u32 run, i;

	for (run = 0; run < 3000; run++) {
		struct credit_model m;

		credit_model_init(&m, RDS_IB_CREDIT_LEAST + pick(&ch, 60),
				  RDS_IB_CREDIT_LEAST + pick(&ch, 60));
		for (i = 0; i < 300; i++)
			credit_step(&m, &ch);
		credit_finish(&m);
	}
}

static const struct unit_test tests[] = {
	CASE(off__everything_may_be_sent),
	CASE(offered__credits_are_granted_in_any_case),
	CASE(take__the_last_credit_needs_one_to_return),
	CASE(left__says_what_take_does),
	CASE(take__a_header_holds_255),
	CASE(give_back__as_before),
	CASE(got__a_liar_cannot_overflow),
	CASE(init__when_a_frame_is_due),
	CASE(first__what_fits_the_private_data),
	CASE(model__one_way),
	CASE(model__random),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
