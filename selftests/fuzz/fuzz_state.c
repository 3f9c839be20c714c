// SPDX-License-Identifier: GPL-2.0
/* The state table: each byte is something that happens to a path, see model_state.h. */
#include "fuzz.h"
#include "model_state.h"

int fuzz_one(const u8 *data, size_t size)
{
	struct path_model p = { .state = RDS_DOWN };
	size_t i;

	for (i = 0; i < size; i++)
		path_step(&p, data[i]);
	if (!p.destroyed)
		path_finish(&p);
	while (p.stops)
		path_stopped(&p);
	CHECK(p.state == RDS_GONE && p.released == 1);

	/* values that are no state and no event */
	if (size >= 8) {
		int s, e;
		struct rds_transition t;

		memcpy(&s, data, 4);
		memcpy(&e, data + 4, 4);
		t = rds_state_next(s, e);
		CHECK(t.action < RDS_NR_ACTIONS);
		if ((u32)s < RDS_NR_STATES)
			CHECK(t.next < RDS_NR_STATES);
		else
			CHECK(t.next == (u8)s && t.action == RDS_ACT_STALE);
		CHECK(rds_state_name(s) && rds_event_name(e));
	}
	return 0;
}
