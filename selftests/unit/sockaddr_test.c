// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 */
/* Socket addresses: values with known verdicts, all lengths, long random runs against the model. */
#include <arpa/inet.h>

#include "unit.h"
#include "model_sockaddr.h"

struct golden {
	const char *text;
	unsigned int scope;
	enum rds_sa_verdict verdict;
};

static const struct golden golden[] = {
	{ "0.0.0.0", 0, RDS_SA_V4_ANY },
	{ "0.0.0.1", 0, RDS_SA_OK },
	{ "10.1.2.3", 0, RDS_SA_OK },
	{ "223.255.255.255", 0, RDS_SA_OK },
	{ "224.0.0.0", 0, RDS_SA_V4_BAD },
	{ "239.255.255.255", 0, RDS_SA_V4_BAD },
	{ "240.0.0.0", 0, RDS_SA_OK },
	{ "255.255.255.254", 0, RDS_SA_OK },
	{ "255.255.255.255", 0, RDS_SA_V4_BAD },
	{ "::", 0, RDS_SA_V6_BAD },
	{ "::1", 0, RDS_SA_OK },
	{ "::2", 5, RDS_SA_OK },
	{ "::1.2.3.4", 0, RDS_SA_OK },
	{ "::ffff:10.1.2.3", 0, RDS_SA_OK },
	{ "::ffff:0.0.0.0", 0, RDS_SA_V6_BAD },
	{ "::ffff:224.0.0.1", 0, RDS_SA_V6_BAD },
	{ "::ffff:255.255.255.255", 0, RDS_SA_V6_BAD },
	{ "fd00::1", 9, RDS_SA_OK },
	{ "fe7f::1", 0, RDS_SA_OK },
	{ "fe80::1", 0, RDS_SA_V6_SCOPE },
	{ "fe80::1", 3, RDS_SA_OK },
	{ "febf::1", 0, RDS_SA_V6_SCOPE },
	{ "fec0::1", 0, RDS_SA_OK },
	{ "ff02::1", 3, RDS_SA_V6_BAD },
	{ "feff::", 0, RDS_SA_OK },
};

static int build(u8 *p, const struct golden *g)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_port = htons(4711),
				     .sin6_flowinfo = 0x11223344, .sin6_scope_id = g->scope };
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(4711) };

	if (inet_pton(AF_INET, g->text, &sin.sin_addr) == 1) {
		memcpy(p, &sin, sizeof(sin));
		return sizeof(sin);
	}
	CHECK(inet_pton(AF_INET6, g->text, &sin6.sin6_addr) == 1);
	memcpy(p, &sin6, sizeof(sin6));
	return sizeof(sin6);
}

static void known_addresses(void)
{
	struct rds_addr a;
	unsigned int i;
	u8 p[40];
	int len;

	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		const struct golden *g = &golden[i];

		/* one byte into the buffer: unaligned */
		len = build(p + 1, g);
		EXPECT_EQ(rds_sockaddr_classify(p + 1, len, &a), g->verdict);
		if (g->verdict != RDS_SA_OK)
			continue;
		EXPECT_EQ(a.port, 4711);
		EXPECT_EQ(a.scope, a.ip.s6_addr[0] == 0xfe && a.ip.s6_addr[1] < 0xc0 &&
			  a.ip.s6_addr[1] >= 0x80 ? g->scope : 0);
	}
}

static void lengths(void)
{
	struct rds_addr a;
	u8 p[128] = {};
	u16 family;
	int len;

	EXPECT_EQ(rds_sockaddr_classify(p, -1, &a), RDS_SA_SHORT);
	for (len = 0; len <= 128; len++) {
		p[4] = 10;
		family = AF_INET;
		memcpy(p, &family, 2);
		EXPECT_EQ(rds_sockaddr_classify(p, len, &a),
			  len < 16 ? RDS_SA_SHORT : RDS_SA_OK);
		p[8] = 0xfd;
		family = AF_INET6;
		memcpy(p, &family, 2);
		EXPECT_EQ(rds_sockaddr_classify(p, len, &a),
			  len < 28 ? RDS_SA_SHORT : RDS_SA_OK);
		EXPECT_EQ(rds_sockaddr_parse(p, len, &a), len < 28 ? -EINVAL : 0);
		family = AF_UNIX;
		memcpy(p, &family, 2);
		EXPECT_EQ(rds_sockaddr_classify(p, len, &a),
			  len < 2 ? RDS_SA_SHORT : RDS_SA_FAMILY);
		p[8] = 0;
	}
}

/* Bytes that are mostly 0, ff, or what a prefix is made of. */
static void random_addresses(void)
{
	static const u8 some[] = { 0, 0, 0, 0xff, 0xff, 0xfe, 0x80, 0xe0, 2, 10, 127, 1 };
	unsigned int seed = 12345;
	int i, j, n;
	u8 p[64];

	for (i = 0; i < 1000000; i++) {
		for (j = 0; j < 64; j++) {
			seed = seed * 1103515245 + 12345;
			p[j] = some[(seed >> 16) % ARRAY_SIZE(some)];
		}
		n = (seed >> 8) % 64;
		p[0] = seed >> 15 & 1 ? 2 : 10;
		p[1] = seed >> 28 ? 0 : 1;
		if (seed >> 20 & 1)
			memset(p + 8, 0, 10);
		model_sa_check(p, n, seed >> 16 & 1);
	}
}

static const struct unit_test tests[] = {
	CASE(known_addresses),
	CASE(lengths),
	CASE(random_addresses),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
