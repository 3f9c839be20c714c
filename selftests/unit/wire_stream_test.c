// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 */
/* Framing of a byte stream: the answer may not depend on how the bytes are cut. */
#include "unit.h"
#include "model_stream.h"
#include "wire.h"

static size_t put_message(u8 *p, u32 len, u8 flags, u8 fill)
{
	struct rds_hdr h = { .seq = fill, .len = len, .flags = flags, .sport = 7, .dport = 9 };

	rds_hdr_build(p, &h);
	memset(p + RDS_HDR_LEN, fill, len);
	return RDS_HDR_LEN + len;
}

static void announce(struct rds_stream *s, u32 len)
{
	struct rds_hdr h = { .len = len };
	u8 raw[RDS_HDR_LEN];

	rds_hdr_build(raw, &h);
	rds_stream_reset(s);
	EXPECT_EQ(rds_stream_hdr(s, raw, sizeof(raw)), sizeof(raw));
}

static void reset__from_any_memory(void)
{
	struct rds_stream s;

	memset(&s, 0xff, sizeof(s));
	rds_stream_reset(&s);
	EXPECT_EQ(s.need, RDS_STREAM_HDR);
	EXPECT_EQ(s.hdr_have, 0);
	EXPECT_EQ(s.data_left, 0);
}

/* Three messages, one of them empty: every pair of cuts. */
static void feed__every_two_cuts(void)
{
	u8 buf[256];
	size_t n = 0, a, b;
	struct stream_log want;

	n += put_message(buf + n, 5, 0, 0xa1);
	n += put_message(buf + n, 0, RDS_FLAG_RETRANSMITTED, 0xa2);
	n += put_message(buf + n, 31, 0, 0xa3);
	want = stream_model(buf, n);
	EXPECT_EQ(want.messages, 3);
	EXPECT_EQ(want.bytes, 36);

	for (a = 0; a <= n; a++) {
		for (b = a; b <= n; b++) {
			struct stream_log log = { 0 };
			struct rds_stream s;

			rds_stream_reset(&s);
			stream_feed(&s, &log, buf, a);
			stream_feed(&s, &log, buf + a, b - a);
			stream_feed(&s, &log, buf + b, n - b);
			EXPECT(stream_same(&log, &want));
		}
	}
}

static void random_stream(struct choices *c, u8 *buf, size_t size)
{
	static const u32 lens[] = { 0, 1, 8, 8191, 8192, 8193, 65536 };
	struct stream_log log = { 0 }, want;
	struct rds_stream s;
	size_t n = 0, at = 0;

	while (n < size / 2) {
		u32 len = pick(c, 3) ? pick(c, 300) : lens[pick(c, ARRAY_SIZE(lens))];

		if (n + RDS_HDR_LEN + len > size)
			break;
		n += put_message(buf + n, len, pick(c, 4) ? 0 : 1, pick_byte(c));
	}
	want = stream_model(buf, n);

	rds_stream_reset(&s);
	while (at < n) {
		size_t cut = pick(c, 2) ? 1 + pick(c, 4) : 1 + pick(c, 3000);

		if (cut > n - at)
			cut = n - at;
		stream_feed(&s, &log, buf + at, cut);
		at += cut;
	}
	EXPECT(!want.bad);
	EXPECT(stream_same(&log, &want));
}

static void feed__random_streams_and_cuts(void)
{
	struct choices c = { .state = 6 };
	size_t size = 1 << 18;
	u8 *buf = malloc(size);
	int i;

	for (i = 0; i < 300; i++)
		random_stream(&c, buf, size);
	free(buf);
}

/* C13, D15, D18 */
static void hdr__length_limit(void)
{
	static const u32 ok[] = { 0, 1, 8192, (1U << 20) - 1, 1U << 20 };
	static const u32 bad[] = {
		(1U << 20) + 1, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffff0, 0xffffffff
	};
	struct rds_stream s;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ok); i++) {
		announce(&s, ok[i]);
		EXPECT_EQ(s.need, RDS_STREAM_START);
		rds_stream_started(&s);
		EXPECT_EQ(s.need, ok[i] ? RDS_STREAM_DATA : RDS_STREAM_DONE);
		EXPECT_EQ(s.data_left, ok[i]);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		announce(&s, bad[i]);
		EXPECT_EQ(s.need, RDS_STREAM_BAD);
		EXPECT_EQ(s.data_left, 0);
	}
}

/* A congestion frame of a strange size keeps the framing and is not a map. */
static void hdr__congestion_frame_of_any_size(void)
{
	static const u32 lens[] = { 0, 1, 8191, 8192, 8193, 1U << 20 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct rds_hdr h = { .len = lens[i], .flags = RDS_FLAG_CONG_BITMAP };
		struct rds_stream s;
		u8 raw[RDS_HDR_LEN];

		rds_hdr_build(raw, &h);
		rds_stream_reset(&s);
		rds_stream_hdr(&s, raw, sizeof(raw));
		EXPECT_EQ(s.need, RDS_STREAM_START);
		EXPECT_EQ(rds_map_valid(&s.hdr), lens[i] == 8192);
	}
}

static void hdr__takes_only_the_header(void)
{
	u8 buf[RDS_HDR_LEN + 40];
	struct rds_stream s;
	size_t have;

	put_message(buf, 40, 0, 0xb0);
	for (have = 0; have < RDS_HDR_LEN; have++) {
		rds_stream_reset(&s);
		EXPECT_EQ(rds_stream_hdr(&s, buf, have), have);
		EXPECT_EQ(s.need, RDS_STREAM_HDR);
		EXPECT_EQ(rds_stream_hdr(&s, buf + have, sizeof(buf) - have), RDS_HDR_LEN - have);
		EXPECT_EQ(s.need, RDS_STREAM_START);
		EXPECT_EQ(s.hdr.len, 40);
		EXPECT_EQ(s.hdr.seq, 0xb0);
		EXPECT_EQ(memcmp(s.raw, buf, RDS_HDR_LEN), 0);
		/* and nothing while payload is due */
		EXPECT_EQ(rds_stream_hdr(&s, buf, 48), 0);
		EXPECT_EQ(s.need, RDS_STREAM_START);
		rds_stream_started(&s);
		EXPECT_EQ(rds_stream_hdr(&s, buf, 48), 0);
		EXPECT_EQ(s.need, RDS_STREAM_DATA);
	}
}

static void hdr__no_bytes(void)
{
	struct rds_stream s;

	rds_stream_reset(&s);
	EXPECT_EQ(rds_stream_hdr(&s, NULL, 0), 0);
	EXPECT_EQ(s.need, RDS_STREAM_HDR);
	EXPECT_EQ(s.hdr_have, 0);
}

/* D7: received, promised and remaining are compared at each step. */
static void took__more_than_promised(void)
{
	struct rds_stream s;

	announce(&s, 100);
	rds_stream_started(&s);
	rds_stream_took(&s, 0);
	EXPECT_EQ(s.need, RDS_STREAM_DATA);
	rds_stream_took(&s, 60);
	EXPECT_EQ(s.data_left, 40);
	rds_stream_took(&s, 41);
	EXPECT_EQ(s.need, RDS_STREAM_BAD);

	announce(&s, 100);
	rds_stream_started(&s);
	rds_stream_took(&s, (size_t)1 << 32);	/* not 0 when narrowed */
	EXPECT_EQ(s.need, RDS_STREAM_BAD);

	announce(&s, 100);
	rds_stream_started(&s);
	rds_stream_took(&s, 100);
	EXPECT_EQ(s.need, RDS_STREAM_DONE);
	rds_stream_took(&s, 1);
	EXPECT_EQ(s.need, RDS_STREAM_BAD);
}

static void started__out_of_turn(void)
{
	struct rds_stream s;

	rds_stream_reset(&s);
	rds_stream_started(&s);
	EXPECT_EQ(s.need, RDS_STREAM_BAD);

	announce(&s, 10);
	rds_stream_started(&s);
	rds_stream_took(&s, 4);
	rds_stream_started(&s);		/* must not refill data_left */
	EXPECT_EQ(s.need, RDS_STREAM_BAD);

	announce(&s, 10);
	rds_stream_took(&s, 4);		/* before started */
	EXPECT_EQ(s.need, RDS_STREAM_BAD);
}

static void bad__stays_bad_until_reset(void)
{
	u8 buf[RDS_HDR_LEN] = { 0 };
	struct rds_stream s;

	announce(&s, 0xffffffff);
	EXPECT_EQ(rds_stream_hdr(&s, buf, sizeof(buf)), 0);
	EXPECT_EQ(s.need, RDS_STREAM_BAD);
	rds_stream_started(&s);
	EXPECT_EQ(s.need, RDS_STREAM_BAD);
	rds_stream_took(&s, 0);
	EXPECT_EQ(s.need, RDS_STREAM_BAD);
	rds_stream_reset(&s);
	EXPECT_EQ(rds_stream_hdr(&s, buf, sizeof(buf)), sizeof(buf));
	EXPECT_EQ(s.need, RDS_STREAM_START);
}

static const struct unit_test tests[] = {
	CASE(reset__from_any_memory),
	CASE(feed__every_two_cuts),
	CASE(feed__random_streams_and_cuts),
	CASE(hdr__length_limit),
	CASE(hdr__congestion_frame_of_any_size),
	CASE(hdr__takes_only_the_header),
	CASE(hdr__no_bytes),
	CASE(took__more_than_promised),
	CASE(started__out_of_turn),
	CASE(bad__stays_bad_until_reset),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
