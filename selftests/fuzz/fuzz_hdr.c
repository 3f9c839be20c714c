// SPDX-License-Identifier: GPL-2.0
/* The header: decode and encode are inverse, the checksum finds what it can find. */
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "check.h"
#include "wire.h"

static void check_csum(const u8 *p)
{
	u8 copy[RDS_HDR_LEN];
	u16 sum = rds_hdr_csum(p);

	memcpy(copy, p, sizeof(copy));
	copy[30] = sum >> 8;
	copy[31] = sum;
	CHECK(rds_hdr_csum_ok(copy));
	CHECK(rds_hdr_csum(copy) == sum);
	/* one bit elsewhere is always noticed, unless there is no checksum */
	copy[p[0] % 26] ^= 1 << (p[1] & 7);
	CHECK(!sum || !rds_hdr_csum_ok(copy));
}

int fuzz_one(const u8 *data, size_t size)
{
	struct rds_hdr h, again;
	u8 out[RDS_HDR_LEN];
	int i;

	memset(&h, 0xa5, sizeof(h));
	again = h;
	if (rds_hdr_parse(data, size, &h)) {
		CHECK(size < RDS_HDR_LEN);
		CHECK(!memcmp(&h, &again, sizeof(h)));
		return 0;
	}
	CHECK(size >= RDS_HDR_LEN);
	memset(out, 0xff, sizeof(out));
	rds_hdr_build(out, &h);
	for (i = 0; i < RDS_HDR_LEN; i++)
		CHECK(out[i] == (i >= 26 && i < 30 ? 0 : data[i]));
	CHECK(!rds_hdr_parse(out, sizeof(out), &again));
	CHECK(h.seq == again.seq && h.len == again.len && h.csum == again.csum);
	CHECK(!rds_map_valid(&h) || (rds_hdr_is_cong(&h) && h.len == 8192));
	check_csum(data);
	return 0;
}
