// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 */
/* Extension headers: sizes, ends of the list, appending, what old peers make of ours. */
#include "unit.h"
#include "model_ext.h"
#include "wire.h"

#define ROUNDS	200000

static void parse_and_compare(const u8 *area)
{
	struct rds_ext got, want;

	memset(&got, 0xff, sizeof(got));
	rds_ext_parse(area, &got);
	model_ext_parse(area, RDS_EXT_LEN, &want);
	EXPECT(model_ext_same(&got, &want));
}

static void parse__handshake_golden(void)
{
	static const u8 area[RDS_EXT_LEN] = { 5, 0, 8, 6, 0x12, 0x34, 0x56, 0x78, 8, 0 };
	struct rds_ext e;

	rds_ext_parse(area, &e);
	EXPECT_EQ(e.present, 1U << 5 | 1U << 6 | 1U << 8);
	EXPECT_EQ(e.npaths, 8);
	EXPECT_EQ(e.gen, 0x12345678);
	EXPECT_EQ(e.unknown, 0);
}

static void parse__rdma_golden(void)
{
	static const u8 area[RDS_EXT_LEN] = {
		2, 0xaa, 0xbb, 0xcc, 0xdd, 4, 0, 0x10, 0, 0, 2, 0, 0, 0,
	};
	static const u8 dest[RDS_EXT_LEN] = { 3, 1, 2, 3, 4, 5, 6, 7, 8, 1, 0, 0, 3, 1 };
	struct rds_ext e;

	rds_ext_parse(area, &e);
	EXPECT_EQ(e.present, 1U << 2 | 1U << 4);
	EXPECT_EQ(e.rdma_rkey, 0xaabbccdd);
	EXPECT_EQ(e.rdma_bytes, 0x100000);
	EXPECT_EQ(e.rdma_dir, 2);

	rds_ext_parse(dest, &e);
	EXPECT_EQ(e.present, 1U << 3 | 1U << 1);
	EXPECT_EQ(e.dest_rkey, 0x01020304);
	EXPECT_EQ(e.dest_off, 0x05060708);
	EXPECT_EQ(e.version, 0x301);
}

/* Each type at each offset behind NPATHS/SPORT_IDX filler: complete, cut off, full. */
static void parse__every_type_at_every_offset(void)
{
	int type, at;

	for (type = 0; type < 256; type++) {
		for (at = 0; at < RDS_EXT_LEN; at++) {
			u8 area[RDS_EXT_LEN];
			int i = 0;

			memset(area, 0x5a, sizeof(area));
			/* 2 a + 3 b reaches every offset but 1 */
			if (at & 1) {
				if (at < 3)
					continue;
				memcpy(area, "\5\1\2", 3);
				i = 3;
			}
			for (; i < at; i += 2)
				memcpy(area + i, "\10", 2);
			area[at] = type;
			parse_and_compare(area);
		}
	}
}

static void parse__all_pairs_of_first_bytes(void)
{
	u8 area[RDS_EXT_LEN];
	int a, b;

	for (a = 0; a < 256; a++) {
		for (b = 0; b < 256; b++) {
			memset(area, b, sizeof(area));
			area[0] = a;
			parse_and_compare(area);
		}
	}
}

static void parse__random_biased_to_small_types(void)
{
	struct choices c = { .state = 3 };
	u8 area[RDS_EXT_LEN];
	int i, k;

	for (i = 0; i < ROUNDS; i++) {
		for (k = 0; k < RDS_EXT_LEN; k++)
			area[k] = pick(&c, 2) ? pick(&c, 18) : pick_byte(&c);
		parse_and_compare(area);
	}
}

static void parse__unknown_is_reported_and_ends_it(void)
{
	int type;

	for (type = 0; type < 256; type++) {
		u8 area[RDS_EXT_LEN] = { 5, 0, 4, type, 6, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
		bool known = (type >= 1 && type <= 8 && type != 7) || type == 15;
		struct rds_ext e;

		rds_ext_parse(area, &e);
		EXPECT_EQ(e.npaths, 4);
		EXPECT_EQ(e.unknown, type && type < 16 && !known ? type : 0);
		if (!known)
			EXPECT_EQ(e.present, 1U << 5);
	}
}

static void parse__first_of_a_type_wins(void)
{
	static const u8 area[RDS_EXT_LEN] = { 5, 0, 2, 5, 0, 7, 6, 0, 0, 0, 1, 6, 0, 0, 0, 2 };
	struct rds_ext e;

	rds_ext_parse(area, &e);
	EXPECT_EQ(e.npaths, 2);
	EXPECT_EQ(e.gen, 1);
}

static void put__handshake(void)
{
	static const u8 want[RDS_EXT_LEN] = { 5, 0, 8, 6, 0xca, 0xfe, 0xba, 0xbe, 8, 0 };
	u8 area[RDS_EXT_LEN] = { 0 };
	struct rds_ext e;

	EXPECT(rds_ext_put_u16(area, RDS_EXT_NPATHS, 8));
	EXPECT(rds_ext_put_u32(area, RDS_EXT_GEN_NUM, 0xcafebabe));
	EXPECT(rds_ext_put_u8(area, RDS_EXT_SPORT_IDX, 0));
	EXPECT_EQ(memcmp(area, want, sizeof(area)), 0);

	model_ext_parse_old(area, RDS_EXT_LEN, &e);
	EXPECT_EQ(e.npaths, 8);
	EXPECT_EQ(e.gen, 0xcafebabe);
	EXPECT_EQ(e.present, 1U << 5 | 1U << 6);
}

/* The first frame of a link: to parsers of all ages it is the generation, or that and the link. */
static void put__link_golden(void)
{
	static const u8 want[RDS_EXT_LEN] = {
		6, 0xca, 0xfe, 0xba, 0xbe,
		15, 0, 5 | 3 << 3, 0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0,
	};
	const struct rds_ext_link link = {
		.index = 5, .verdict = RDS_LINK_TAKEN, .to = 0x12345678, .name = 0x9abcdef0,
	};
	u8 area[RDS_EXT_LEN] = { 0 };
	struct rds_ext e;

	EXPECT(rds_ext_put_u32(area, RDS_EXT_GEN_NUM, 0xcafebabe));
	EXPECT(rds_ext_put_link(area, &link));
	EXPECT_EQ(memcmp(area, want, sizeof(area)), 0);
	EXPECT(!rds_ext_put_u8(area, RDS_EXT_SPORT_IDX, 0));

	rds_ext_parse(area, &e);
	EXPECT_EQ(e.present, 1U << 6 | 1U << 15);
	EXPECT_EQ(e.gen, 0xcafebabe);
	EXPECT_EQ(e.link.index, 5);
	EXPECT_EQ(e.link.verdict, RDS_LINK_TAKEN);
	EXPECT_EQ(e.link.to, 0x12345678);
	EXPECT_EQ(e.link.name, 0x9abcdef0);

	model_ext_parse_old(area, RDS_EXT_LEN, &e);
	EXPECT_EQ(e.present, 1U << 6);
	EXPECT_EQ(e.gen, 0xcafebabe);
}

static void put__link_every_index_and_verdict(void)
{
	int index, verdict;

	for (index = 0; index < RDS_MAX_PATHS; index++) {
		for (verdict = 0; verdict < 32; verdict++) {
			struct rds_ext_link link = { .index = index, .verdict = verdict };
			u8 area[RDS_EXT_LEN] = { 0 };
			struct rds_ext e;

			EXPECT(rds_ext_put_link(area, &link));
			EXPECT_EQ(area[1], 0);
			rds_ext_parse(area, &e);
			EXPECT_EQ(e.link.index, index);
			EXPECT_EQ(e.link.verdict, verdict);
		}
	}
}

/* It fits behind a generation, and not behind more. */
static void put__link_that_does_not_fit(void)
{
	const struct rds_ext_link link = { .index = 1 };
	u8 area[RDS_EXT_LEN] = { 0 }, before[RDS_EXT_LEN];

	EXPECT(rds_ext_put_u32(area, RDS_EXT_GEN_NUM, 1));
	EXPECT(rds_ext_put_u16(area, RDS_EXT_NPATHS, 8));
	memcpy(before, area, sizeof(area));
	EXPECT(!rds_ext_put_link(area, &link));
	EXPECT_EQ(memcmp(area, before, sizeof(area)), 0);
}

/* FNV-1a, as its authors give it, of both addresses; each bit of them counts, and their order. */
static void conn_name__golden(void)
{
	u8 a[32] = { [10] = 0xff, 0xff, 10, 1, 0, 2, [26] = 0xff, 0xff, 10, 1, 0, 9 };
	u32 h = 0x811c9dc5, name = rds_conn_name(a, a + 16);
	int i;

	for (i = 0; i < 32; i++)
		h = (u32)((u64)(h ^ a[i]) * 0x01000193);
	EXPECT_EQ(name, h);
	EXPECT(rds_conn_name(a + 16, a) != name);
	for (i = 0; i < 256; i++) {
		a[i / 8] ^= 1 << i % 8;
		EXPECT(rds_conn_name(a, a + 16) != name);
		a[i / 8] ^= 1 << i % 8;
	}
}

static void put__until_full_without_terminator(void)
{
	u8 area[RDS_EXT_LEN] = { 0 }, before[RDS_EXT_LEN];
	struct rds_ext e;

	EXPECT(rds_ext_put_rdma_dest(area, 0x11223344, 0x55667788));
	EXPECT(!rds_ext_put_rdma_dest(area, 1, 2));
	EXPECT(rds_ext_put_u32(area, RDS_EXT_RDMA, 0x99aabbcc));
	EXPECT(!rds_ext_put_u16(area, RDS_EXT_NPATHS, 1));
	EXPECT(rds_ext_put_u8(area, RDS_EXT_SPORT_IDX, 0));	/* 9 + 5 + 2 = 16 */

	rds_ext_parse(area, &e);
	EXPECT_EQ(e.present, 1U << 3 | 1U << 2 | 1U << 8);
	EXPECT_EQ(e.dest_rkey, 0x11223344);
	EXPECT_EQ(e.dest_off, 0x55667788);
	EXPECT_EQ(e.rdma_rkey, 0x99aabbcc);

	memcpy(before, area, sizeof(area));
	EXPECT(!rds_ext_put_u8(area, RDS_EXT_SPORT_IDX, 0));
	EXPECT_EQ(memcmp(area, before, sizeof(area)), 0);
}

static void put__body_of_sport_idx_is_zero(void)
{
	u8 area[RDS_EXT_LEN] = { 0 };
	int v;

	for (v = 1; v < 256; v++)
		EXPECT(!rds_ext_put_u8(area, RDS_EXT_SPORT_IDX, v));
	EXPECT_EQ(area[0], 0);
}

static void put__type_of_another_width(void)
{
	u8 area[RDS_EXT_LEN] = { 0 };
	int type, i;

	for (type = 0; type < 256; type++) {
		if (type != RDS_EXT_SPORT_IDX)
			EXPECT(!rds_ext_put_u8(area, type, 0));
		if (type != RDS_EXT_NPATHS)
			EXPECT(!rds_ext_put_u16(area, type, 0));
		if (type != RDS_EXT_VERSION && type != RDS_EXT_RDMA && type != RDS_EXT_GEN_NUM)
			EXPECT(!rds_ext_put_u32(area, type, 0));
	}
	for (i = 0; i < RDS_EXT_LEN; i++)
		EXPECT_EQ(area[i], 0);
}

static void put__behind_what_no_parser_passes(void)
{
	static const u8 bad[][RDS_EXT_LEN] = {
		{ 7 }, { 9 }, { 14 }, { 16 }, { 255 },
		{ 5, 0, 8, 10 },
		{ 3, 1, 1, 1, 1, 1, 1, 1, 1, 3 },		/* second one cut off */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		u8 area[RDS_EXT_LEN];

		memcpy(area, bad[i], sizeof(area));
		EXPECT(!rds_ext_put_u16(area, RDS_EXT_NPATHS, 8));
		EXPECT(!rds_ext_put_u8(area, RDS_EXT_SPORT_IDX, 0));
		EXPECT_EQ(memcmp(area, bad[i], sizeof(area)), 0);
	}
}

/* Random appends, also into areas with a dirty tail behind the terminator. */
static void put__against_model(void)
{
	struct choices c = { .state = 4 };
	u8 area[RDS_EXT_LEN];
	int i, k;

	for (i = 0; i < ROUNDS / 4; i++) {
		memset(area, pick(&c, 2) ? 0 : 0x77, sizeof(area));
		area[0] = 0;
		for (k = pick(&c, 6); k >= 0; k--)
			model_ext_put(&c, area);
	}
}

static void npaths_clamp__every_announcement(void)
{
	struct rds_ext e = { .present = 1U << RDS_EXT_NPATHS };
	unsigned int known, n;

	for (known = 0; known < 20; known++) {
		for (n = 0; n <= 0xffff; n++) {
			e.npaths = n;
			EXPECT_EQ(rds_npaths_clamp(&e, known), n < 1 ? 1 : n > 8 ? 8 : n);
		}
	}
}

static void npaths_clamp__no_announcement(void)
{
	/* the value must not count when the bit does not say it is there */
	struct rds_ext e = { .present = ~(1U << RDS_EXT_NPATHS), .npaths = 5 };

	EXPECT_EQ(rds_npaths_clamp(&e, 0), 1);
	EXPECT_EQ(rds_npaths_clamp(&e, 1), 1);
	EXPECT_EQ(rds_npaths_clamp(&e, 3), 3);
	EXPECT_EQ(rds_npaths_clamp(&e, 8), 8);
	EXPECT_EQ(rds_npaths_clamp(&e, 9), 8);
	EXPECT_EQ(rds_npaths_clamp(&e, ~0U), 8);
}

static const struct unit_test tests[] = {
	CASE(parse__handshake_golden),
	CASE(parse__rdma_golden),
	CASE(parse__every_type_at_every_offset),
	CASE(parse__all_pairs_of_first_bytes),
	CASE(parse__random_biased_to_small_types),
	CASE(parse__unknown_is_reported_and_ends_it),
	CASE(parse__first_of_a_type_wins),
	CASE(put__handshake),
	CASE(put__link_golden),
	CASE(put__link_every_index_and_verdict),
	CASE(put__link_that_does_not_fit),
	CASE(conn_name__golden),
	CASE(put__until_full_without_terminator),
	CASE(put__body_of_sport_idx_is_zero),
	CASE(put__type_of_another_width),
	CASE(put__behind_what_no_parser_passes),
	CASE(put__against_model),
	CASE(npaths_clamp__every_announcement),
	CASE(npaths_clamp__no_announcement),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
