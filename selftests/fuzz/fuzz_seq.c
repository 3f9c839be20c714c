// SPDX-License-Identifier: GPL-2.0
/*
 * The sequence rule: the input drives sender, link and receiver of model_seq.h;
 * each message arrives once and in order.  Then raw calls with any numbers.
 */
#include "fuzz.h"
#include "model_seq.h"

int fuzz_one(const u8 *data, size_t size)
{
	static struct seq_model m;
	struct choices c = { .data = data, .left = size };
	u64 next = 0;

	seq_init(&m);
	while (!choices_over(&c) && size)
		seq_step(&m, &c, true);
	seq_finish(&m);

	c = (struct choices){ .data = data, .left = size };
	while (!choices_over(&c) && size) {
		u64 seq = pick_u64(&c) >> pick(&c, 64), was = next;
		u8 flags = pick_byte(&c);
		enum rds_seq_verdict v = rds_seq_accept(&next, seq, flags);

		CHECK((v == RDS_SEQ_NEW) == (seq >= was));
		CHECK((v == RDS_SEQ_DUP) == (seq < was && flags & 4));
		CHECK(next == (v == RDS_SEQ_DUP ? was : seq + 1));
	}
	return 0;
}
