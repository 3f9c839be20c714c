// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 */
/* The 48-byte header: layout, encode and decode, checksum, what is a congestion map. */
#include <errno.h>

#include "unit.h"
#include "wire.h"

#define ROUNDS	20000

/* Written out by hand from the table in the wire specification. */
static const u8 golden[RDS_HDR_LEN] = {
	0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,	/* sequence */
	0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,	/* ack */
	0x00, 0x0f, 0x42, 0x40,				/* len 1000000 */
	0x12, 0x34,					/* sport */
	0xab, 0xcd,					/* dport */
	0x24,						/* flags */
	0x7f,						/* credit */
	0x00, 0x00, 0x00, 0x00,				/* padding */
	0xbe, 0xef,					/* checksum */
	0x05, 0x00, 0x08, 0x06, 0xde, 0xad, 0xbe, 0xef,	/* extensions */
	0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x99,
};

static const struct rds_hdr golden_hdr = {
	.seq = 0x0102030405060708ULL,
	.ack = 0x1112131415161718ULL,
	.len = 1000000,
	.sport = 0x1234,
	.dport = 0xabcd,
	.flags = RDS_FLAG_EXTHDR | RDS_FLAG_RETRANSMITTED,
	.credit = 0x7f,
	.csum = 0xbeef,
	.ext = { 5, 0, 8, 6, 0xde, 0xad, 0xbe, 0xef, 8, 0, 0, 0, 0, 0, 0, 0x99 },
};

static void random_bytes(struct choices *c, u8 *p, size_t n)
{
	while (n--)
		*p++ = pick_byte(c);
}

static bool same_hdr(const struct rds_hdr *a, const struct rds_hdr *b)
{
	return a->seq == b->seq && a->ack == b->ack && a->len == b->len &&
	       a->sport == b->sport && a->dport == b->dport &&
	       a->flags == b->flags && a->credit == b->credit && a->csum == b->csum &&
	       !memcmp(a->ext, b->ext, RDS_EXT_LEN);
}

static void set_csum(u8 *hdr, u16 csum)
{
	hdr[30] = csum >> 8;
	hdr[31] = csum;
}

static void parse__golden(void)
{
	struct rds_hdr h;

	EXPECT_EQ(rds_hdr_parse(golden, sizeof(golden), &h), 0);
	EXPECT(same_hdr(&h, &golden_hdr));
}

static void build__golden_over_dirty_buffer(void)
{
	u8 out[RDS_HDR_LEN];

	memset(out, 0xa5, sizeof(out));
	rds_hdr_build(out, &golden_hdr);
	EXPECT_EQ(memcmp(out, golden, sizeof(out)), 0);
}

/* D3, D10: every truncation; the buffer is exactly as long as it claims, for ASan. */
static void parse__truncated(void)
{
	struct rds_hdr h, before;
	size_t n;

	memset(&before, 0x5a, sizeof(before));
	for (n = 0; n < RDS_HDR_LEN; n++) {
		u8 *p = malloc(n ? n : 1);

		memcpy(p, golden, n);
		h = before;
		EXPECT_EQ(rds_hdr_parse(p, n, &h), -EINVAL);
		EXPECT_EQ(memcmp(&h, &before, sizeof(h)), 0);
		free(p);
	}
}

static void parse__longer_buffer_and_unaligned(void)
{
	u8 buf[RDS_HDR_LEN + 16];
	struct rds_hdr h;
	int at;

	for (at = 0; at < 8; at++) {
		memset(buf, 0xee, sizeof(buf));
		memcpy(buf + at, golden, sizeof(golden));
		EXPECT_EQ(rds_hdr_parse(buf + at, sizeof(buf) - at, &h), 0);
		EXPECT(same_hdr(&h, &golden_hdr));
	}
}

static void parse_build__random(void)
{
	struct choices c = { .state = 1 };
	u8 in[RDS_HDR_LEN], out[RDS_HDR_LEN];
	struct rds_hdr h, again;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		random_bytes(&c, in, sizeof(in));
		EXPECT_EQ(rds_hdr_parse(in, sizeof(in), &h), 0);
		rds_hdr_build(out, &h);
		memset(in + 26, 0, 4);
		EXPECT_EQ(memcmp(in, out, sizeof(in)), 0);
		EXPECT_EQ(rds_hdr_parse(out, sizeof(out), &again), 0);
		EXPECT(same_hdr(&h, &again));
	}
}

static void csum__vectors(void)
{
	/* the example of RFC 1071, section 3: sum ddf2 */
	static const u8 rfc[8] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };
	u8 hdr[RDS_HDR_LEN] = { 0 };

	EXPECT_EQ(rds_hdr_csum(hdr), 0xffff);
	hdr[47] = 1;
	EXPECT_EQ(rds_hdr_csum(hdr), 0xfffe);
	hdr[46] = 0x80;
	EXPECT_EQ(rds_hdr_csum(hdr), 0x7ffe);

	memset(hdr, 0, sizeof(hdr));
	memcpy(hdr, rfc, sizeof(rfc));
	EXPECT_EQ(rds_hdr_csum(hdr), 0x220d);
	memset(hdr, 0, 8);
	memcpy(hdr + 40, rfc, sizeof(rfc));
	EXPECT_EQ(rds_hdr_csum(hdr), 0x220d);

	memset(hdr, 0xff, sizeof(hdr));
	EXPECT_EQ(rds_hdr_csum(hdr), 0);

	/* a fold that carries a second time: ffff + ffff + 0001 */
	memset(hdr, 0, sizeof(hdr));
	memset(hdr, 0xff, 4);
	hdr[5] = 1;
	EXPECT_EQ(rds_hdr_csum(hdr), 0xfffe);
}

/* The sum modulo 65535 as 384-bit arithmetic would give it: byte weights 256 and 1. */
static void csum__against_model(void)
{
	struct choices c = { .state = 2 };
	u8 hdr[RDS_HDR_LEN];
	int i, k;

	for (i = 0; i < ROUNDS; i++) {
		u64 sum = 0;

		random_bytes(&c, hdr, sizeof(hdr));
		for (k = 0; k < RDS_HDR_LEN; k++)
			if (k != 30 && k != 31)
				sum += hdr[k] * (k & 1 ? 1u : 256u);
		EXPECT_EQ((u16)~rds_hdr_csum(hdr) % 0xffff, sum % 0xffff);
	}
}

static void csum__own_field_does_not_count(void)
{
	u8 hdr[RDS_HDR_LEN];
	u16 want;
	u32 v;

	memcpy(hdr, golden, sizeof(hdr));
	want = rds_hdr_csum(hdr);
	for (v = 0; v <= 0xffff; v++) {
		set_csum(hdr, v);
		EXPECT_EQ(rds_hdr_csum(hdr), want);
	}
}

/* Of the 65536 values of the field, "none" and the right one are accepted. */
static void csum_ok__every_value(void)
{
	u8 hdr[RDS_HDR_LEN];
	u16 want;
	u32 v;

	memcpy(hdr, golden, sizeof(hdr));
	want = rds_hdr_csum(hdr);
	EXPECT(want != 0 && want != 0xffff);
	for (v = 0; v <= 0xffff; v++) {
		set_csum(hdr, v);
		EXPECT_EQ(rds_hdr_csum_ok(hdr), v == 0 || v == want);
	}

	/* an all-zero header is the other zero of ones-complement */
	memset(hdr, 0, sizeof(hdr));
	for (v = 0; v <= 0xffff; v++) {
		set_csum(hdr, v);
		EXPECT_EQ(rds_hdr_csum_ok(hdr), v == 0 || v == 0xffff);
	}
}

static void csum_ok__every_bit_flip(void)
{
	u8 hdr[RDS_HDR_LEN];
	int bit;

	memcpy(hdr, golden, sizeof(hdr));
	set_csum(hdr, rds_hdr_csum(hdr));
	EXPECT(rds_hdr_csum_ok(hdr));
	for (bit = 0; bit < RDS_HDR_LEN * 8; bit++) {
		hdr[bit / 8] ^= 1 << (bit % 8);
		EXPECT(!rds_hdr_csum_ok(hdr));
		hdr[bit / 8] ^= 1 << (bit % 8);
	}
}

static void is_cong__every_flags_value(void)
{
	struct rds_hdr h = { .len = RDS_CONG_MAP_BYTES };
	int flags;

	for (flags = 0; flags < 256; flags++) {
		h.flags = flags;
		EXPECT_EQ(rds_hdr_is_cong(&h), flags == 0x01);
		EXPECT_EQ(rds_map_valid(&h), flags == 0x01);
	}
}

static void map_valid__only_one_length(void)
{
	static const u32 len[] = {
		0, 1, 8191, 8192, 8193, 16384, 65536, 1U << 20, 0x80002000, 0xffffffff
	};
	struct rds_hdr h = { .flags = RDS_FLAG_CONG_BITMAP };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(len); i++) {
		h.len = len[i];
		EXPECT_EQ(rds_map_valid(&h), len[i] == 8192);
		EXPECT(rds_hdr_is_cong(&h));
	}
}

static const struct unit_test tests[] = {
	CASE(parse__golden),
	CASE(build__golden_over_dirty_buffer),
	CASE(parse__truncated),
	CASE(parse__longer_buffer_and_unaligned),
	CASE(parse_build__random),
	CASE(csum__vectors),
	CASE(csum__against_model),
	CASE(csum__own_field_does_not_count),
	CASE(csum_ok__every_value),
	CASE(csum_ok__every_bit_flip),
	CASE(is_cong__every_flags_value),
	CASE(map_valid__only_one_length),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
