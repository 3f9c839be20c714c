// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 timeout=20 */
/*
 * Does rds-traffic see what it is there to see?  Flows are given to its
 * receiving half with one fault each; a proof which cannot fail proves nothing.
 */
#include "../slow.h"

#include "../traffic_flow.h"

#define TOTAL 40

static unsigned char pool[TF_POOL];
static unsigned char msg[TF_MAX_MSG];

FIXTURE(flow) {
	struct tf_sched s;
	struct tf_rx rx;
};

FIXTURE_VARIANT(flow) {
	__u32 range, nsizes, sizes[TF_MAX_SIZES];
};

FIXTURE_VARIANT_ADD(flow, empty) { .nsizes = 1, .sizes = { 0 } };

FIXTURE_VARIANT_ADD(flow, one_byte) { .nsizes = 1, .sizes = { 1 } };

FIXTURE_VARIANT_ADD(flow, no_hash) { .nsizes = 1, .sizes = { 40 } };

FIXTURE_VARIANT_ADD(flow, bare_header) { .nsizes = 1, .sizes = { 88 } };

FIXTURE_VARIANT_ADD(flow, kilobyte) { .nsizes = 1, .sizes = { 1024 } };

FIXTURE_VARIANT_ADD(flow, mixed) {
	.nsizes = 5, .sizes = { 0, 1, 30, 4097, 65536 }
};

FIXTURE_VARIANT_ADD(flow, random) {
	.range = 1, .nsizes = 2, .sizes = { 0, 3000 }
};

FIXTURE_SETUP(flow)
{
	size_t i;

	for (i = 0; i < sizeof(pool); i++)
		pool[i] = tf_mix(i);
	self->s = (struct tf_sched){
		.flow = 77, .seed = 5, .total = TOTAL, .range = variant->range,
		.nsizes = variant->nsizes,
	};
	memcpy(self->s.sizes, variant->sizes, sizeof(self->s.sizes));
	ASSERT_TRUE(tf_rx_init(&self->rx, &self->s, 0));
}

FIXTURE_TEARDOWN(flow)
{
	free(self->rx.seen);
}

static __u32 build(const struct tf_sched *s, __u64 seq)
{
	struct tf_hdr h;
	__u32 len = tf_header(&h, s, seq, pool);

	memcpy(msg, &h, len < TF_HDR ? len : TF_HDR);
	if (len > TF_HDR)
		memcpy(msg + TF_HDR, pool + tf_payload_off(s, seq), len - TF_HDR);
	return len;
}

static void give(struct tf_rx *rx, const struct tf_sched *s, __u64 seq)
{
	tf_rx_message(rx, msg, build(s, seq));
}

static bool clean(const struct tf_rx *rx)
{
	return tf_rx_complete(rx) && !rx->n.dup && !rx->n.corrupt &&
	       !rx->n.reordered && rx->n.received == TOTAL;
}

TEST_F(flow, faultless)
{
	__u64 i;

	for (i = 0; i <= TOTAL + 1; i++)
		give(&self->rx, &self->s, i);
	EXPECT_TRUE(clean(&self->rx));
}

TEST_F(flow, one_is_lost)
{
	__u64 i;

	for (i = 0; i <= TOTAL + 1; i++)
		if (i != 11)
			give(&self->rx, &self->s, i);
	EXPECT_FALSE(clean(&self->rx));
	EXPECT_FALSE(tf_rx_complete(&self->rx));
}

TEST_F(flow, the_last_is_lost)
{
	__u64 i;

	for (i = 0; i <= TOTAL; i++)
		give(&self->rx, &self->s, i);
	EXPECT_FALSE(tf_rx_complete(&self->rx));
}

TEST_F(flow, one_comes_twice)
{
	__u64 i;

	for (i = 0; i <= TOTAL + 1; i++) {
		give(&self->rx, &self->s, i);
		if (i == 12)
			give(&self->rx, &self->s, i);
	}
	EXPECT_FALSE(clean(&self->rx));
}

TEST_F(flow, one_comes_late)
{
	__u64 i;

	for (i = 0; i <= TOTAL + 1; i++) {
		if (i != 13)
			give(&self->rx, &self->s, i);
		if (i == 15)
			give(&self->rx, &self->s, 13);
	}
	/* equal ones without a number cannot be told apart, nor does it matter */
	EXPECT_EQ(variant->nsizes == 1 && variant->sizes[0] <= 1,
		  clean(&self->rx));
}

TEST_F(flow, one_bit_flips)
{
	__u64 i;
	__u32 len, flip = 0;

	for (i = 0; i <= TOTAL + 1; i++) {
		len = build(&self->s, i);
		if (i > 2 && len && !flip) {
			flip = 1 + i % len;
			msg[flip - 1] ^= 0x10;
		}
		tf_rx_message(&self->rx, msg, len);
	}
	ASSERT_NE(0, flip);
	EXPECT_FALSE(clean(&self->rx));
}

TEST_F(flow, one_is_cut_short)
{
	__u64 i;
	__u32 len;
	bool cut = false;

	for (i = 0; i <= TOTAL + 1; i++) {
		len = build(&self->s, i);
		if (i > 2 && len && !cut) {
			len--;
			cut = true;
		}
		tf_rx_message(&self->rx, msg, len);
	}
	EXPECT_FALSE(clean(&self->rx));
}

TEST_F(flow, a_strange_flow_is_mixed_in)
{
	struct tf_sched other = self->s;
	__u64 i;

	other.flow++;
	for (i = 0; i <= TOTAL + 1; i++) {
		give(&self->rx, &self->s, i);
		if (i == 20)
			give(&self->rx, &other, 0);
	}
	EXPECT_FALSE(clean(&self->rx));
}

TEST_HARNESS_MAIN
