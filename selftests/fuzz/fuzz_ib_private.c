// SPDX-License-Identifier: GPL-2.0
/* Private data of every length and content: what is taken in is what goes out. */
#include <string.h>

#include "fuzz.h"
#include "check.h"
#include "ib/private.h"

int fuzz_one(const u8 *data, size_t size)
{
	struct rds_ib_private p, again;
	u8 out[RDS_IB_PRIVATE_MAX];
	size_t len;
	u16 v;
	int v6;

	for (v6 = 0; v6 < 2; v6++) {
		memset(&p, 0xa5, sizeof(p));
		len = v6 ? 56 : 32;
		if (!rds_ib_private_parse(size ? data : NULL, size, v6, &p)) {
			CHECK(size < len);
			continue;
		}
		CHECK(size >= len);
		CHECK(rds_ib_private_build(out, &p, v6) == len);
		/* all but the reserved bytes */
		CHECK(!memcmp(out, data, len - 19) && !memcmp(out + len - 16, data + len - 16, 16));
		CHECK(rds_ib_private_parse(out, len, v6, &again));
		CHECK(!memcmp(&p, &again, sizeof(p)));
		v = rds_ib_version_accept(&p);
		CHECK(!v || rds_ib_version_ok(v));
	}
	return 0;
}
