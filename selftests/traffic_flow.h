/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flows of self-describing messages, shared by the modes of rds-traffic.
 *
 * A flow is one sending socket and one destination.  It begins with a full
 * header (message 0), carries `total` messages whose sizes follow from the
 * schedule in that header, and ends with another full header (total + 1).  So
 * the receiver knows what must come next even when a message is too short to
 * say so itself, down to the empty one which can be told by its place alone.
 */
#ifndef RDS_TRAFFIC_FLOW_H
#define RDS_TRAFFIC_FLOW_H

#include <endian.h>
#include <stdbool.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#define TF_MAGIC	0x52445346U	/* "RDSF" */
#define TF_MAX_SIZES	8
#define TF_MAX_MSG	(1024U * 1024)
#define TF_POOL		(TF_MAX_MSG + 65536)

/* First bytes of every message, as many as fit; all integers big endian. */
struct tf_hdr {
	__u32 magic;
	__u32 len;
	__u64 flow;
	__u64 seq;
	__u64 seed;
	__u64 total;
	__u32 range;			/* 0: sizes in turn, 1: sizes[0]..[1] */
	__u32 nsizes;
	__u32 sizes[TF_MAX_SIZES];
	__u64 hash;			/* of all before it and the payload */
};

#define TF_HDR		((__u32)sizeof(struct tf_hdr))
#define TF_SEQ_END	24U		/* a message this long tells its number */

struct tf_sched {
	__u64 flow;
	__u64 seed;
	__u64 total;
	__u32 range;
	__u32 nsizes;
	__u32 sizes[TF_MAX_SIZES];
};

static inline __u64 tf_mix(__u64 x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* FNV-1a over 64-bit words: quick also where every instruction is emulated. */
static inline __u64 tf_hash(__u64 h, const void *data, size_t len)
{
	const unsigned char *p = data;
	__u64 w;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0x100000001b3ULL;
		h ^= h >> 29;
	}
	for (w = len; len; len--)
		w = (w << 8) | *p++;
	h = (h ^ w) * 0x100000001b3ULL;
	return h ^ (h >> 32);
}

static inline __u32 tf_size(const struct tf_sched *s, __u64 seq)
{
	__u64 r;

	if (!seq || seq == s->total + 1)
		return TF_HDR;
	if (!s->range)
		return s->sizes[(seq - 1) % s->nsizes];
	r = tf_mix(s->seed + seq * 0x9e3779b97f4a7c15ULL);
	return s->sizes[0] + r % (s->sizes[1] - s->sizes[0] + 1ULL);
}

/* Where in the pool the payload of a message begins. */
static inline size_t tf_payload_off(const struct tf_sched *s, __u64 seq)
{
	return (tf_mix(s->flow ^ seq) % (65536 / 8)) * 8;
}

/**
 * tf_header() - make the header of message @seq of flow @s
 * @h: where to put it
 * @s: the flow
 * @seq: number of the message, 0 .. total + 1
 * @pool: TF_POOL bytes the payload is taken from, NULL to leave out the hash
 *
 * Return: length of the message, which may be less than the header
 */
static inline __u32 tf_header(struct tf_hdr *h, const struct tf_sched *s,
			      __u64 seq, const unsigned char *pool)
{
	__u32 len = tf_size(s, seq), i;
	__u64 v;

	memset(h, 0, sizeof(*h));
	h->magic = htobe32(TF_MAGIC);
	h->len = htobe32(len);
	h->flow = htobe64(s->flow);
	h->seq = htobe64(seq);
	h->seed = htobe64(s->seed);
	h->total = htobe64(s->total);
	h->range = htobe32(s->range);
	h->nsizes = htobe32(s->nsizes);
	for (i = 0; i < TF_MAX_SIZES; i++)
		h->sizes[i] = htobe32(s->sizes[i]);
	if (len >= TF_HDR && pool) {
		v = tf_hash(TF_MAGIC, h, TF_HDR - 8);
		v = tf_hash(v, pool + tf_payload_off(s, seq), len - TF_HDR);
		h->hash = htobe64(v);
	}
	return len;
}

/* Take the schedule from a full header; false when it makes no sense. */
static inline bool tf_sched_parse(struct tf_sched *s, const struct tf_hdr *h)
{
	__u32 i;

	s->flow = be64toh(h->flow);
	s->seed = be64toh(h->seed);
	s->total = be64toh(h->total);
	s->range = be32toh(h->range);
	s->nsizes = be32toh(h->nsizes);
	for (i = 0; i < TF_MAX_SIZES; i++)
		s->sizes[i] = be32toh(h->sizes[i]);
	return be32toh(h->magic) == TF_MAGIC && s->nsizes >= 1 &&
	       s->nsizes <= TF_MAX_SIZES && s->range <= 1 &&
	       s->total < (1ULL << 32);
}

static inline bool tf_intact(const unsigned char *msg, __u32 len)
{
	const struct tf_hdr *h = (const void *)msg;
	__u64 v;

	if (len < TF_HDR || be32toh(h->magic) != TF_MAGIC ||
	    be32toh(h->len) != len)
		return false;
	v = tf_hash(TF_MAGIC, msg, TF_HDR - 8);
	return be64toh(h->hash) == tf_hash(v, msg + TF_HDR, len - TF_HDR);
}

/* What a receiver has seen; `total` of a flow never counts 0 and total + 1. */
struct tf_count {
	__u64 received;
	__u64 dup;
	__u64 reordered;
	__u64 corrupt;
	__u64 bytes;
};

struct tf_rx {
	struct tf_sched sched;
	__u64 next;			/* number that must come now */
	__u64 first;			/* number the flow was joined at */
	__u64 missing;		/* skipped and not (yet) seen */
	unsigned char *seen;		/* one bit a number */
	struct tf_count n;
};

static inline bool tf_rx_init(struct tf_rx *rx, const struct tf_sched *s,
			      __u64 first)
{
	memset(rx, 0, sizeof(*rx));
	rx->sched = *s;
	rx->next = first;
	rx->first = first;
	rx->seen = calloc(1, (s->total + 2) / 8 + 1);
	return rx->seen;
}

static inline bool tf_rx_complete(const struct tf_rx *rx)
{
	return rx->next == rx->sched.total + 2 && !rx->missing;
}

/* Message @seq has come intact: put it in its place. */
static inline void tf_rx_place(struct tf_rx *rx, __u64 seq, __u32 len)
{
	unsigned char bit = 1 << (seq % 8);

	if (seq < rx->first || rx->seen[seq / 8] & bit) {
		rx->n.dup++;
		return;
	}
	rx->seen[seq / 8] |= bit;
	if (seq && seq <= rx->sched.total) {
		rx->n.received++;
		rx->n.bytes += len;
	}
	if (seq < rx->next) {
		rx->n.reordered++;
		rx->missing--;
		return;
	}
	rx->missing += seq - rx->next;
	rx->next = seq + 1;
}

/* The bytes which a message too short for a hash must consist of. */
static inline bool tf_short_is(const struct tf_rx *rx, __u64 seq,
			       const unsigned char *msg, __u32 len)
{
	struct tf_hdr h;

	return seq <= rx->sched.total &&
	       tf_header(&h, &rx->sched, seq, NULL) == len &&
	       !memcmp(&h, msg, len);
}

/**
 * tf_rx_message() - account for one message of a known flow
 * @rx: the flow
 * @msg: the message
 * @len: its length
 */
static inline void tf_rx_message(struct tf_rx *rx, const unsigned char *msg,
				 __u32 len)
{
	const struct tf_hdr *h = (const void *)msg;
	__u64 seq = rx->next;

	if (len >= TF_SEQ_END)
		seq = be64toh(h->seq);
	if (seq <= rx->sched.total + 1 && tf_size(&rx->sched, seq) == len &&
	    (len >= TF_HDR ? tf_intact(msg, len) :
			     tf_short_is(rx, seq, msg, len))) {
		tf_rx_place(rx, seq, len);
		return;
	}
	/* An old short message once more, or nothing this flow ever sent. */
	if (len < TF_SEQ_END && seq && tf_short_is(rx, seq - 1, msg, len))
		rx->n.dup++;
	else
		rx->n.corrupt++;
}

#endif
