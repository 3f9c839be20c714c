/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A receiver around struct rds_stream as a transport has one, and a framing
 * model that sees the whole stream at once.
 */
#ifndef _RDS_UNIT_MODEL_STREAM_H
#define _RDS_UNIT_MODEL_STREAM_H

#include <string.h>

#include "check.h"
#include "wire.h"

/**
 * struct stream_log - what was received, as a running hash
 * @messages: complete messages
 * @bytes: payload bytes, incomplete messages included
 * @hash: over the raw headers and the payload of complete and partial messages
 * @bad: the stream was ended for a broken header
 */
struct stream_log {
	u32 messages;
	u64 bytes;
	u64 hash;
	bool bad;
};

static inline void stream_hash(struct stream_log *log, const u8 *p, size_t n)
{
	while (n--)
		log->hash = (log->hash ^ *p++) * 0x100000001b3ULL;
}

/* Whatever happens, the counts stay within what the header promised. */
static inline void stream_check(const struct rds_stream *s)
{
	CHECK(s->need <= RDS_STREAM_BAD);
	CHECK(s->hdr_have <= RDS_HDR_LEN);
	if (s->need == RDS_STREAM_BAD)
		return;
	CHECK((s->need == RDS_STREAM_HDR) == (s->hdr_have < RDS_HDR_LEN));
	if (s->need != RDS_STREAM_HDR)
		CHECK(s->hdr.len <= RDS_MAX_MSG_SIZE);
	CHECK(s->data_left <= s->hdr.len);
	CHECK((s->need == RDS_STREAM_DATA) == (s->data_left > 0));
}

/* Feed @n bytes; ends early only when the stream is bad. */
static inline void stream_feed(struct rds_stream *s, struct stream_log *log,
			       const u8 *p, size_t n)
{
	size_t took;

	for (;;) {
		stream_check(s);
		switch (s->need) {
		case RDS_STREAM_HDR:
			if (!n)
				return;
			took = rds_stream_hdr(s, p, n);
			CHECK(took && took <= n);
			p += took;
			n -= took;
			break;
		case RDS_STREAM_START:
			stream_hash(log, s->raw, RDS_HDR_LEN);
			rds_stream_started(s);
			break;
		case RDS_STREAM_DATA:
			if (!n)
				return;
			took = n < s->data_left ? n : s->data_left;
			stream_hash(log, p, took);
			log->bytes += took;
			rds_stream_took(s, took);
			p += took;
			n -= took;
			break;
		case RDS_STREAM_DONE:
			log->messages++;
			rds_stream_reset(s);
			break;
		case RDS_STREAM_BAD:
			log->bad = true;
			return;
		}
	}
}

/* The same from the whole stream, knowing nothing but the offset of the length. */
static inline struct stream_log stream_model(const u8 *p, size_t n)
{
	struct stream_log log = { 0 };

	while (n >= RDS_HDR_LEN) {
		u64 len = (u64)p[16] << 24 | p[17] << 16 | p[18] << 8 | p[19];
		size_t have = n - RDS_HDR_LEN;

		if (len > 1048576) {
			log.bad = true;
			break;
		}
		if (have > len)
			have = len;
		stream_hash(&log, p, RDS_HDR_LEN + have);
		log.bytes += have;
		if (have < len)
			break;
		log.messages++;
		p += RDS_HDR_LEN + len;
		n -= RDS_HDR_LEN + len;
	}
	return log;
}

static inline bool stream_same(const struct stream_log *a, const struct stream_log *b)
{
	return a->messages == b->messages && a->bytes == b->bytes &&
	       a->hash == b->hash && a->bad == b->bad;
}

#endif /* _RDS_UNIT_MODEL_STREAM_H */
