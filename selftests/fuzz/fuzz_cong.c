// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion maps: the input is a list of ports to set and clear in two maps;
 * the maps and the mask of cleared monitor bits are compared with arrays.
 */
#include <string.h>

#include "fuzz.h"
#include "check.h"
#include "wire.h"

#define MAX_TOUCHED	1024

static u8 map[2][RDS_CONG_MAP_BYTES];
static bool model[2][RDS_CONG_MAP_BITS];

/* Ports that may differ between the two; all others are alike. */
static u16 touched[MAX_TOUCHED];

/* A frame whose header is the input: only exactly one map may replace a map. */
static void check_frame(const u8 *data, size_t size)
{
	struct rds_hdr h;

	if (rds_hdr_parse(data, size, &h))
		return;
	CHECK(rds_map_valid(&h) ==
	      (data[24] == 1 && !data[16] && !data[17] && data[18] == 0x20 && !data[19]));
}

int fuzz_one(const u8 *data, size_t size)
{
	struct choices c = { .data = data, .left = size };
	u64 cleared = 0, set = 0;
	int nr = 0, i;
	u32 port;

	memset(map, size && data[0] & 1 ? 0xff : 0, sizeof(map));
	memset(model, size && data[0] & 1, sizeof(model));
	while (size && !choices_over(&c) && nr < MAX_TOUCHED) {
		u8 what = pick_byte(&c);
		int which = what >> 1 & 1;

		port = pick(&c, RDS_CONG_MAP_BITS);
		touched[nr++] = port;
		model[which][port] = what & 1;
		if (what & 1)
			map[which][port / 8] |= 1 << port % 8;
		else
			map[which][port / 8] &= ~(1 << port % 8);
		CHECK(rds_map_test(map[which], port) == (what & 1));
	}
	for (i = 0; i < nr; i++) {
		port = touched[i];
		if (model[0][port] && !model[1][port])
			cleared |= 1ULL << port % 64;
		if (model[1][port] && !model[0][port])
			set |= 1ULL << port % 64;
	}
	CHECK(rds_map_cleared(map[0], map[1]) == cleared);
	CHECK(rds_map_cleared(map[1], map[0]) == set);
	CHECK(!rds_map_cleared(map[0], map[0]));
	check_frame(data, size);
	return 0;
}
