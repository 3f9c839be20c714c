// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 */
/* The congestion bitmap: bit order, and which monitor bits an update clears. */
#include "unit.h"
#include "wire.h"

static u8 map_old[RDS_CONG_MAP_BYTES + 8], map_new[RDS_CONG_MAP_BYTES + 8];

static u64 model_cleared(const u8 *old, const u8 *new)
{
	u64 mask = 0;
	u32 port;

	for (port = 0; port < RDS_CONG_MAP_BITS; port++) {
		bool was = old[port / 8] >> (port % 8) & 1;
		bool is = new[port / 8] >> (port % 8) & 1;

		if (was && !is)
			mask |= 1ULL << (port % 64);
	}
	return mask;
}

static void map_test__every_port(void)
{
	u32 port;

	for (port = 0; port < RDS_CONG_MAP_BITS; port++) {
		memset(map_old, 0, sizeof(map_old));
		EXPECT(!rds_map_test(map_old, port));
		map_old[port / 8] = 1 << port % 8;
		EXPECT(rds_map_test(map_old, port));
		memset(map_old, 0xff, sizeof(map_old));
		map_old[port / 8] &= ~(1 << port % 8);
		EXPECT(!rds_map_test(map_old, port));
	}
}

static void map_cleared__one_port(void)
{
	u32 port;

	for (port = 0; port < RDS_CONG_MAP_BITS; port += port < 256 ? 1 : 37) {
		memset(map_old, 0, sizeof(map_old));
		memset(map_new, 0, sizeof(map_new));
		map_old[port / 8] = 1 << port % 8;
		EXPECT_EQ(rds_map_cleared(map_old, map_new), 1ULL << port % 64);
		EXPECT_EQ(rds_map_cleared(map_new, map_old), 0);
		EXPECT_EQ(rds_map_cleared(map_old, map_old), 0);
	}
}

static void map_cleared__ends_of_the_map(void)
{
	memset(map_old, 0, sizeof(map_old));
	memset(map_new, 0, sizeof(map_new));
	/* bytes behind the map do not count */
	memset(map_old + RDS_CONG_MAP_BYTES, 0xff, 8);
	EXPECT_EQ(rds_map_cleared(map_old, map_new), 0);
	map_old[0] = 1;
	map_old[RDS_CONG_MAP_BYTES - 1] = 0x80;
	EXPECT_EQ(rds_map_cleared(map_old, map_new), 1ULL | 1ULL << 63);
}

static void map_cleared__random_against_model(void)
{
	struct choices c = { .state = 5 };
	int i, k, at;

	for (i = 0; i < 200; i++) {
		at = i % 8;
		/* few changed bits, or the fold is all ones every time */
		memset(map_old, pick(&c, 2) ? 0xff : 0, sizeof(map_old));
		memcpy(map_new, map_old, sizeof(map_old));
		for (k = pick(&c, 40); k > 0; k--)
			map_old[pick(&c, sizeof(map_old))] = pick_byte(&c);
		for (k = pick(&c, 40); k > 0; k--)
			map_new[pick(&c, sizeof(map_new))] = pick_byte(&c);
		EXPECT_EQ(rds_map_cleared(map_old + at, map_new + at),
			  model_cleared(map_old + at, map_new + at));
	}
}

static const struct unit_test tests[] = {
	CASE(map_test__every_port),
	CASE(map_cleared__one_port),
	CASE(map_cleared__ends_of_the_map),
	CASE(map_cleared__random_against_model),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
