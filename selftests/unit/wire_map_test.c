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

static u8 doubt[RDS_CONG_MAP_BYTES + 8];

static void fill(struct choices *c, u8 *p, size_t n)
{
	while (n--)
		*p++ = pick_byte(c);
}

static bool bit(const u8 *map, u32 port)
{
	return map[port / 8] >> (port % 8) & 1;
}

/* set, cleared and set again by three paths: the last is believed, in doubt */
static void map_doubt__toggled(void)
{
	memset(doubt, 0, sizeof(doubt));
	memset(map_old, 0, sizeof(map_old));
	memset(map_new, 0, sizeof(map_new));
	map_new[100] = 4;
	EXPECT(!rds_map_doubt(doubt, map_old, map_new, false));
	EXPECT(!rds_map_doubt(doubt, map_new, map_old, true));
	EXPECT(rds_map_doubt(doubt, map_old, map_new, true));
	EXPECT_EQ(doubt[100], 4);
	/* said once more by another path: still in doubt */
	EXPECT(rds_map_doubt(doubt, map_new, map_new, true));
	rds_map_undoubted(map_old, map_new, doubt);
	EXPECT_EQ(map_old[100], 0);
	/* said once more later: no doubt */
	EXPECT(!rds_map_doubt(doubt, map_new, map_new, false));
	rds_map_undoubted(map_old, map_new, doubt);
	EXPECT_EQ(map_old[100], 4);
}

static void map_doubt__random_against_model(void)
{
	struct choices c = { .state = 9 };
	bool raced, any, was[3];
	u32 port;
	int i;

	for (i = 0; i < 60; i++) {
		u8 before[sizeof(doubt)];

		fill(&c, doubt, sizeof(doubt));
		fill(&c, map_old, sizeof(map_old));
		fill(&c, map_new, sizeof(map_new));
		memcpy(before, doubt, sizeof(doubt));
		raced = pick(&c, 3);
		any = rds_map_doubt(doubt, map_old, map_new, raced);
		EXPECT_EQ(any, raced);
		for (port = 0; port < RDS_CONG_MAP_BITS; port++) {
			was[0] = bit(before, port);
			was[1] = bit(map_old, port);
			was[2] = bit(map_new, port);
			EXPECT_EQ(bit(doubt, port), raced && was[2] && (was[0] || !was[1]));
		}
		EXPECT(!memcmp(before + RDS_CONG_MAP_BYTES, doubt + RDS_CONG_MAP_BYTES, 8));
		rds_map_undoubted(before, map_new, doubt);
		for (port = 0; port < RDS_CONG_MAP_BITS; port++)
			EXPECT_EQ(bit(before, port), bit(map_new, port) && !bit(doubt, port));
	}
}

static const struct unit_test tests[] = {
	CASE(map_test__every_port),
	CASE(map_cleared__one_port),
	CASE(map_cleared__ends_of_the_map),
	CASE(map_cleared__random_against_model),
	CASE(map_doubt__toggled),
	CASE(map_doubt__random_against_model),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
