// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 */
/* Private data of connection requests, byte by byte, and version negotiation. */
#include "unit.h"
#include "ib/private.h"

static const struct rds_ib_private sample = {
	.saddr = { 10, 0, 0, 1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
	.daddr = { 10, 0, 0, 2, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36 },
	.ack_seq = 0x0102030405060708ULL,
	.credit = 0x11121314,
	.instance = 0x21222324,
	.minors = 0x0003,
	.major = 3,
	.minor = 1,
	.tos = 0x77,
};

/* What follows the addresses. */
static const u8 tail[] = {
	3, 1, 0, 3, 0x77, 0, 0, 0,
	1, 2, 3, 4, 5, 6, 7, 8,
	0x11, 0x12, 0x13, 0x14,
	0x21, 0x22, 0x23, 0x24,
};

static void build__v4(void)
{
	u8 out[RDS_IB_PRIVATE_MAX];

	memset(out, 0xee, sizeof(out));
	EXPECT_EQ(rds_ib_private_build(out, &sample, false), 32);
	EXPECT(!memcmp(out, sample.saddr, 4));
	EXPECT(!memcmp(out + 4, sample.daddr, 4));
	EXPECT(!memcmp(out + 8, tail, sizeof(tail)));
	EXPECT_EQ(out[32], 0xee);
}

static void build__v6(void)
{
	u8 out[RDS_IB_PRIVATE_MAX];

	EXPECT_EQ(rds_ib_private_build(out, &sample, true), 56);
	EXPECT(!memcmp(out, sample.saddr, 16));
	EXPECT(!memcmp(out + 16, sample.daddr, 16));
	EXPECT(!memcmp(out + 32, tail, sizeof(tail)));
}

static bool same(const struct rds_ib_private *a, const struct rds_ib_private *b, size_t alen)
{
	return !memcmp(a->saddr, b->saddr, alen) && !memcmp(a->daddr, b->daddr, alen) &&
	       a->ack_seq == b->ack_seq && a->credit == b->credit &&
	       a->instance == b->instance && a->minors == b->minors &&
	       a->major == b->major && a->minor == b->minor && a->tos == b->tos;
}

static void parse__what_was_built(void)
{
	static const u8 zero[12];
	struct rds_ib_private p;
	u8 out[RDS_IB_PRIVATE_MAX];

	rds_ib_private_build(out, &sample, false);
	EXPECT(rds_ib_private_parse(out, 32, false, &p));
	EXPECT(same(&p, &sample, 4));
	EXPECT(!memcmp(p.saddr + 4, zero, 12));
	rds_ib_private_build(out, &sample, true);
	EXPECT(rds_ib_private_parse(out, 56, true, &p));
	EXPECT(same(&p, &sample, 16));
}

static void parse__every_length(void)
{
	struct rds_ib_private p;
	u8 *buf;
	size_t n;

	for (n = 0; n < 256; n++) {
		buf = malloc(n);	/* ASan sees a byte too many */
		memset(buf, 0x5a, n);
		EXPECT_EQ(rds_ib_private_parse(buf, n, false, &p), n >= 32);
		EXPECT_EQ(rds_ib_private_parse(buf, n, true, &p), n >= 56);
		free(buf);
	}
	EXPECT(!rds_ib_private_parse(NULL, 0, false, &p));
	EXPECT(!rds_ib_private_parse(NULL, 100, true, &p));
}

/* Every proposal against the table of the specification. */
static void version__every_proposal(void)
{
	u32 major, minor, minors;

	for (major = 0; major < 256; major++) {
		for (minor = 0; minor < 8; minor++) {
			for (minors = 0; minors < 16; minors++) {
				struct rds_ib_private p = { .major = major, .minor = minor,
							    .minors = minors };
				u16 want = 0;

				if (!major)
					want = 0x400;
				else if (major == 3 && minor == 1)
					want = 0x301;
				else if (major == 4 && minors & 2)
					want = 0x401;
				else if (major == 4 && minors & 1)
					want = 0x400;
				EXPECT_EQ(rds_ib_version_accept(&p), want);
			}
		}
	}
}

static void version__what_a_link_may_speak(void)
{
	u32 v;

	for (v = 0; v < 0x10000; v++)
		EXPECT_EQ(rds_ib_version_ok(v), v == 0x301 || v == 0x400 || v == 0x401);
}

static const struct unit_test tests[] = {
	CASE(build__v4),
	CASE(build__v6),
	CASE(parse__what_was_built),
	CASE(parse__every_length),
	CASE(version__every_proposal),
	CASE(version__what_a_link_may_speak),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
