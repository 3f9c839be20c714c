// SPDX-License-Identifier: GPL-2.0
/* Two ends with credits, driven by the input; then a ring of work requests. */
#include "fuzz.h"
#include "model_credit.h"
#include "model_ring.h"

int fuzz_one(const u8 *data, size_t size)
{
	struct choices ch = { .data = data, .left = size };
	static struct credit_model m;
	static struct ring_model r;

	if (!size)
		return 0;
	credit_model_init(&m, RDS_IB_CREDIT_LEAST + pick(&ch, 60),
			  RDS_IB_CREDIT_LEAST + pick(&ch, 60));
	while (!choices_over(&ch))
		credit_step(&m, &ch);
	credit_finish(&m);

	ch = (struct choices){ .data = data, .left = size };
	ring_model_init(&r, 1 + pick(&ch, 300), pick(&ch, 2));
	while (!choices_over(&ch))
		ring_step(&r, &ch);
	return 0;
}
