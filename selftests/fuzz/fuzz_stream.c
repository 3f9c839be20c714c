// SPDX-License-Identifier: GPL-2.0
/*
 * Framing: the first bytes say where the stream is cut, the rest is the stream.
 * However it is cut, the answer is that of the model, which sees it at once.
 */
#include "fuzz.h"
#include "model_stream.h"

#define CUTS	16

/* Headers of random bytes announce too much; most get a length that is in reach. */
static void tame(u8 *p, size_t n)
{
	while (n >= RDS_HDR_LEN) {
		u32 len;

		if (p[18] & 0xf0) {
			p[16] = 0;
			p[17] = 0;
			p[18] &= 0x03;
		}
		len = (u32)p[16] << 24 | p[17] << 16 | p[18] << 8 | p[19];
		if (len > n - RDS_HDR_LEN)
			return;
		p += RDS_HDR_LEN + len;
		n -= RDS_HDR_LEN + len;
	}
}

int fuzz_one(const u8 *data, size_t size)
{
	struct stream_log log = { 0 }, want;
	struct rds_stream s;
	size_t at = 0, n, turn = 0;
	u8 *buf;

	if (size < CUTS)
		return 0;
	n = size - CUTS;
	buf = malloc(n ? n : 1);
	memcpy(buf, data + CUTS, n);
	tame(buf, n);
	want = stream_model(buf, n);

	rds_stream_reset(&s);
	while (at < n && !log.bad) {
		size_t cut = 1 + data[turn++ % CUTS];

		if (cut > n - at)
			cut = n - at;
		stream_feed(&s, &log, buf + at, cut);
		at += cut;
	}
	CHECK(stream_same(&log, &want));
	if (!log.bad)
		stream_check(&s);

	/* calls out of turn may end the stream, never more */
	if (data[0] & 1)
		rds_stream_started(&s);
	rds_stream_took(&s, (size_t)data[1] << (data[2] % 64));
	CHECK(s.need == RDS_STREAM_BAD || s.data_left <= s.hdr.len);
	free(buf);
	return 0;
}
