// SPDX-License-Identifier: GPL-2.0
/*
 * Extension headers: the parse equals the model's, what follows are appends
 * chosen by the input, each compared with the model as well.
 */
#include "fuzz.h"
#include "model_ext.h"

int fuzz_one(const u8 *data, size_t size)
{
	struct choices c;
	struct rds_ext got, want;
	u8 area[RDS_EXT_LEN];
	unsigned int n;
	int turns;

	if (size < RDS_EXT_LEN)
		return 0;
	memcpy(area, data, RDS_EXT_LEN);
	c = (struct choices){ .data = data + RDS_EXT_LEN, .left = size - RDS_EXT_LEN };
	for (turns = 0; turns < 8; turns++) {
		memset(&got, 0xff, sizeof(got));
		rds_ext_parse(area, &got);
		model_ext_parse(area, RDS_EXT_LEN, &want);
		CHECK(model_ext_same(&got, &want));
		n = rds_npaths_clamp(&got, turns);
		CHECK(n >= 1 && n <= RDS_MAX_PATHS);
		if (choices_over(&c))
			break;
		model_ext_put(&c, area);
	}
	return 0;
}
