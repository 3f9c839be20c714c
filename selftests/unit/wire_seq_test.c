// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 */
/* The sequence rule: its truth table, then senders and receivers with bad links. */
#include "unit.h"
#include "model_seq.h"
#include "wire.h"

/* Every flags value, sequences below, at and above what is expected. */
static void accept__truth_table(void)
{
	static const u64 value[] = { 0, 1, 2, 3, 99, 100, 101, 1ULL << 32, 1ULL << 63, ~0ULL };
	size_t n, s;
	int flags;

	for (n = 0; n < ARRAY_SIZE(value); n++) {
		for (s = 0; s < ARRAY_SIZE(value); s++) {
			for (flags = 0; flags < 256; flags++) {
				u64 next = value[n], seq = value[s];
				int want = seq >= next ? RDS_SEQ_NEW :
					   flags & 0x04 ? RDS_SEQ_DUP : RDS_SEQ_REWIND;

				EXPECT_EQ(rds_seq_accept(&next, seq, flags), want);
				EXPECT_EQ(next, want == RDS_SEQ_DUP ? value[n] : seq + 1);
			}
		}
	}
}

static void accept__first_message_and_gaps(void)
{
	u64 next = 0;

	EXPECT_EQ(rds_seq_accept(&next, 1, 0), RDS_SEQ_NEW);
	EXPECT_EQ(next, 2);
	EXPECT_EQ(rds_seq_accept(&next, 2, RDS_FLAG_RETRANSMITTED), RDS_SEQ_NEW);
	EXPECT_EQ(rds_seq_accept(&next, 9, 0), RDS_SEQ_NEW);
	EXPECT_EQ(rds_seq_accept(&next, 9, RDS_FLAG_RETRANSMITTED), RDS_SEQ_DUP);
	EXPECT_EQ(rds_seq_accept(&next, 5, RDS_FLAG_RETRANSMITTED), RDS_SEQ_DUP);
	EXPECT_EQ(next, 10);
}

/* A legacy peer's links swap indices: ports decide, not the expectation of our path. */
static void flow__ports_decide_after_the_fan_out(void)
{
	struct rds_flow_seq a = {}, b = {};
	u64 next0 = 0, next1 = 0;
	int i;

	/* Port a on the peer's path 0, port b on its path 1, paired with ours. */
	for (i = 1; i <= 100; i++)
		EXPECT_EQ(rds_seq_accept_flow(&next0, &a, true, true, i, 0), RDS_SEQ_NEW);
	for (i = 1; i <= 5; i++)
		EXPECT_EQ(rds_seq_accept_flow(&next1, &b, true, false, i, 0), RDS_SEQ_NEW);
	/* Swapped: a repeats 99, 100 and goes on by our path 1; b repeats 5 by our path 0. */
	for (i = 99; i <= 100; i++)
		EXPECT_EQ(rds_seq_accept_flow(&next1, &a, true, false, i, RDS_FLAG_RETRANSMITTED),
			  RDS_SEQ_DUP);
	EXPECT_EQ(rds_seq_accept_flow(&next1, &a, true, false, 101, RDS_FLAG_RETRANSMITTED),
		  RDS_SEQ_NEW);
	EXPECT_EQ(next1, 102);
	EXPECT_EQ(rds_seq_accept_flow(&next0, &b, true, true, 5, RDS_FLAG_RETRANSMITTED),
		  RDS_SEQ_DUP);
	EXPECT_EQ(rds_seq_accept_flow(&next0, &b, true, true, 6, RDS_FLAG_RETRANSMITTED),
		  RDS_SEQ_NEW);
	EXPECT_EQ(rds_seq_accept_flow(&next0, &b, true, true, 7, 0), RDS_SEQ_NEW);
}

/* Every combination of what may be known, against the rule written another way. */
static void flow__truth_table(void)
{
	u64 s, last;
	int bits;

	for (bits = 0; bits < 32; bits++) {
		for (s = 9; s <= 11; s++) {
			for (last = 9; last <= 11; last++) {
				bool known = bits & 1, era = bits & 2, fanned = bits & 4;
				bool path0 = bits & 8, repeat = bits & 16;
				struct rds_flow_seq f = { last, known, era };
				u64 next = 10;
				int want = s < 10 ? RDS_SEQ_REWIND : RDS_SEQ_NEW;

				if (repeat) {
					want = RDS_SEQ_NEW;
					if (!fanned && s < 10)
						want = RDS_SEQ_DUP;
					if (fanned && known && (era || path0) && s <= last)
						want = RDS_SEQ_DUP;
				}
				EXPECT_EQ(rds_seq_accept_flow(&next, &f, fanned, path0, s,
							      repeat ? RDS_FLAG_RETRANSMITTED : 0),
					  want);
				EXPECT_EQ(next, want == RDS_SEQ_DUP ? 10 : s + 1);
				EXPECT_EQ(f.last, want == RDS_SEQ_DUP ? last : s);
				EXPECT_EQ(f.known, want == RDS_SEQ_DUP ? known : true);
			}
		}
	}
}

/* What is kept of a number is enough to tell which one near another it was. */
static void flow__low_bits(void)
{
	static const unsigned int widths[] = { 1, 2, 8, 30, 62 };
	static const u64 bases[] = { 1000, 1ULL << 30, 5ULL << 30, (1ULL << 62) + 7, 3ULL << 62 };
	unsigned int w, b;
	long long d;

	for (w = 0; w < sizeof(widths) / sizeof(*widths); w++) {
		for (b = 0; b < sizeof(bases) / sizeof(*bases); b++) {
			long long half = 1LL << (widths[w] - 1);

			for (d = -300; d <= 300; d++) {
				u64 last = bases[b] + d;
				u64 low = last & ((1ULL << widths[w]) - 1);

				if (d <= -half || d >= half)
					continue;
				EXPECT_EQ(rds_seq_widen(bases[b], low, widths[w]), last);
			}
		}
	}
	/* Near zero there is nothing below. */
	EXPECT_EQ(rds_seq_widen(1, 255, 8), 255);
	EXPECT_EQ(rds_seq_widen(0, 0, 30), 0);
}

/* A peer that started again: its first message has no flag, the next repeat is judged anew. */
static void flow__restarted_peer(void)
{
	struct rds_flow_seq f = { 500, true, true };
	u64 next = 501;

	EXPECT_EQ(rds_seq_accept_flow(&next, &f, true, false, 1, 0), RDS_SEQ_REWIND);
	EXPECT_EQ(rds_seq_accept_flow(&next, &f, true, false, 1, RDS_FLAG_RETRANSMITTED),
		  RDS_SEQ_DUP);
	EXPECT_EQ(rds_seq_accept_flow(&next, &f, true, false, 2, RDS_FLAG_RETRANSMITTED),
		  RDS_SEQ_NEW);
}

/* Hand-made: the ack of 2 and 3 is lost with the link, 4 never arrived. */
static void model__link_breaks_before_the_ack(void)
{
	struct seq_model m;
	int i;

	seq_init(&m);
	for (i = 0; i < 4; i++) {
		seq_queue(&m);
		seq_transmit(&m);
	}
	for (i = 0; i < 3; i++)
		seq_receive(&m);
	seq_ack(&m);
	seq_break(&m);
	seq_finish(&m);
	EXPECT_EQ(m.dups, 2);
	EXPECT_EQ(m.last_id, 4);
}

static void model__sender_restarts(void)
{
	struct seq_model m;
	int i;

	seq_init(&m);
	for (i = 0; i < 20; i++)
		seq_queue(&m);
	seq_finish(&m);
	seq_restart(&m, false);
	for (i = 0; i < 20; i++)
		seq_queue(&m);
	seq_finish(&m);
	EXPECT_EQ(m.rewinds, 1);
	EXPECT_EQ(m.dups, 0);
	for (i = 1; i <= 40; i++)
		EXPECT(m.delivered[i]);
}

/* What the generation number is for: the first message is lost and repeated. */
static void model__restart_with_a_lost_first_message(void)
{
	struct seq_model m;
	int generation;

	for (generation = 0; generation < 2; generation++) {
		seq_init(&m);
		seq_queue(&m);
		seq_queue(&m);
		seq_finish(&m);
		seq_restart(&m, generation);
		seq_queue(&m);
		seq_transmit(&m);
		seq_break(&m);
		seq_finish(&m);
		EXPECT_EQ(m.delivered[3], generation);
		EXPECT_EQ(m.dups, !generation);
	}
}

static void random_runs(u64 seed, bool restarts)
{
	static struct seq_model m;
	struct choices c = { .state = seed };
	u64 dups = 0;
	int run, i;

	for (run = 0; run < 400; run++) {
		seq_init(&m);
		for (i = 0; i < 2000; i++)
			seq_step(&m, &c, restarts);
		seq_finish(&m);
		dups += m.dups;
		EXPECT(m.ids > 100);
	}
	EXPECT(dups > 1000);	/* or the runs tested nothing */
}

static void model__random_breaks_and_cancels(void)
{
	random_runs(7, false);
}

static void model__random_breaks_cancels_and_restarts(void)
{
	random_runs(8, true);
}

static const struct unit_test tests[] = {
	CASE(accept__truth_table),
	CASE(accept__first_message_and_gaps),
	CASE(flow__ports_decide_after_the_fan_out),
	CASE(flow__truth_table),
	CASE(flow__low_bits),
	CASE(flow__restarted_peer),
	CASE(model__link_breaks_before_the_ack),
	CASE(model__sender_restarts),
	CASE(model__restart_with_a_lost_first_message),
	CASE(model__random_breaks_and_cancels),
	CASE(model__random_breaks_cancels_and_restarts),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
