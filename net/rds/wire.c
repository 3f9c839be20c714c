// SPDX-License-Identifier: GPL-2.0
/*
 * The RDS wire format: header, extension headers, stream framing, the
 * sequence rule and the congestion bitmap.
 *
 * Pure code: called by the core and by every transport, in any context and
 * under any lock.  It owns nothing and keeps nothing; what came from a peer is
 * copied out of the buffer in host order before anybody believes it.
 */
#include <linux/types.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "wire.h"

/* Offsets of the header fields; RDS_EXT_OFFSET is in wire.h. */
#define OFF_SEQ		0
#define OFF_ACK		8
#define OFF_LEN		16
#define OFF_SPORT	20
#define OFF_DPORT	22
#define OFF_FLAGS	24
#define OFF_CREDIT	25
#define OFF_CSUM	30

/* Types from here on are not extension headers at all. */
#define EXT_NR_TYPES	16

/*
 * Bytes of body per type.  Those left at 0 have no size known to us and end
 * the parse: to guess would be to read a body as a list of types.
 */
static const u8 ext_body[EXT_NR_TYPES] = {
	[RDS_EXT_VERSION]	= 4,
	[RDS_EXT_RDMA]		= 4,
	[RDS_EXT_RDMA_DEST]	= 8,
	[RDS_EXT_RDMA_BYTES]	= 8,
	[RDS_EXT_NPATHS]	= 2,
	[RDS_EXT_GEN_NUM]	= 4,
	[RDS_EXT_SPORT_IDX]	= 1,
	[RDS_EXT_LINK]		= 10,
};

/* RDS_EXT_LINK: a zero, where parsers stop that do not know it; index and verdict; the rest. */
#define LINK_INDEX	0x07
#define LINK_VERDICT	3		/* shift */

/**
 * rds_hdr_parse() - decode a header
 * @p: bytes from the wire
 * @n: how many of them there are
 * @out: the header in host order; not touched on error
 *
 * Every value of every field is accepted: what a length or a port means is
 * decided by the caller, see rds_stream_hdr() for the limit on @len.
 *
 * Return: 0, or -EINVAL if @n is less than RDS_HDR_LEN.
 */
int rds_hdr_parse(const u8 *p, size_t n, struct rds_hdr *out)
{
	if (n < RDS_HDR_LEN)
		return -EINVAL;

	out->seq = get_unaligned_be64(p + OFF_SEQ);
	out->ack = get_unaligned_be64(p + OFF_ACK);
	out->len = get_unaligned_be32(p + OFF_LEN);
	out->sport = get_unaligned_be16(p + OFF_SPORT);
	out->dport = get_unaligned_be16(p + OFF_DPORT);
	out->flags = p[OFF_FLAGS];
	out->credit = p[OFF_CREDIT];
	out->csum = get_unaligned_be16(p + OFF_CSUM);
	memcpy(out->ext, p + RDS_EXT_OFFSET, RDS_EXT_LEN);
	return 0;
}

/**
 * rds_hdr_build() - encode a header
 * @out: RDS_HDR_LEN bytes, all of them written (the padding with zeros)
 * @h: the header; @h->csum is written as it is
 */
void rds_hdr_build(u8 out[RDS_HDR_LEN], const struct rds_hdr *h)
{
	memset(out, 0, RDS_HDR_LEN);
	put_unaligned_be64(h->seq, out + OFF_SEQ);
	put_unaligned_be64(h->ack, out + OFF_ACK);
	put_unaligned_be32(h->len, out + OFF_LEN);
	put_unaligned_be16(h->sport, out + OFF_SPORT);
	put_unaligned_be16(h->dport, out + OFF_DPORT);
	out[OFF_FLAGS] = h->flags;
	out[OFF_CREDIT] = h->credit;
	put_unaligned_be16(h->csum, out + OFF_CSUM);
	memcpy(out + RDS_EXT_OFFSET, h->ext, RDS_EXT_LEN);
}

/**
 * rds_hdr_seal() - give an encoded header its checksum
 * @hdr: the header
 */
void rds_hdr_seal(u8 hdr[RDS_HDR_LEN])
{
	put_unaligned_be16(rds_hdr_csum(hdr), hdr + OFF_CSUM);
}

/* Sum of the header's 32-bit words, checksum field included; 64 bits are loaded at a time. */
static u64 hdr_sum(const u8 *hdr)
{
	u64 sum = 0, two;
	size_t i;

	for (i = 0; i < RDS_HDR_LEN; i += sizeof(two)) {
		two = get_unaligned_be64(hdr + i);
		sum += (two & U32_MAX) + (two >> 32);
	}
	return sum;
}

/* The ones-complement sum of 16-bit words that is in a sum of at most 2^16 32-bit words. */
static u16 csum_fold64(u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/**
 * rds_hdr_csum() - the checksum a header should carry
 * @hdr: encoded header; its checksum field counts as zero
 *
 * Return: RFC 1071 checksum, to be stored big endian.  0 is a possible result
 * and means "no checksum" to the receiver, which then accepts the header.
 */
u16 rds_hdr_csum(const u8 hdr[RDS_HDR_LEN])
{
	u64 own = get_unaligned_be16(hdr + OFF_CSUM);

	return ~csum_fold64(hdr_sum(hdr) - (OFF_CSUM % 4 ? own : own << 16));
}

/**
 * rds_hdr_csum_ok() - is the checksum of a received header right?
 * @hdr: encoded header
 *
 * Return: true if the header carries no checksum or a matching one.
 */
bool rds_hdr_csum_ok(const u8 hdr[RDS_HDR_LEN])
{
	return !get_unaligned_be16(hdr + OFF_CSUM) || csum_fold64(hdr_sum(hdr)) == 0xffff;
}

/**
 * rds_hdr_is_cong() - does this header announce a congestion map?
 * @h: parsed header
 *
 * Return: true only if the flags are exactly CONG_BITMAP; with any other bit
 * set the frame is an ordinary message.
 */
bool rds_hdr_is_cong(const struct rds_hdr *h)
{
	return h->flags == RDS_FLAG_CONG_BITMAP;
}

/*
 * Length of the extension at @at: its type byte and its body; 0 at the end of
 * the list, at anything that cannot be sized and at a body that is cut off.
 */
static size_t ext_len(const u8 *area, size_t at)
{
	size_t body;

	if (at >= RDS_EXT_LEN || area[at] >= EXT_NR_TYPES)
		return 0;
	body = ext_body[area[at]];
	if (!body || body > RDS_EXT_LEN - at - 1)
		return 0;
	return 1 + body;
}

/* @body is as long as ext_body[@type] says. */
static void ext_store(struct rds_ext *e, u8 type, const u8 *body)
{
	switch (type) {
	case RDS_EXT_VERSION:
		e->version = get_unaligned_be32(body);
		break;
	case RDS_EXT_RDMA:
		e->rdma_rkey = get_unaligned_be32(body);
		break;
	case RDS_EXT_RDMA_DEST:
		e->dest_rkey = get_unaligned_be32(body);
		e->dest_off = get_unaligned_be32(body + 4);
		break;
	case RDS_EXT_RDMA_BYTES:
		e->rdma_bytes = get_unaligned_be32(body);
		e->rdma_dir = body[4];
		break;
	case RDS_EXT_NPATHS:
		e->npaths = get_unaligned_be16(body);
		break;
	case RDS_EXT_GEN_NUM:
		e->gen = get_unaligned_be32(body);
		break;
	case RDS_EXT_LINK:
		e->link.index = body[1] & LINK_INDEX;
		e->link.verdict = body[1] >> LINK_VERDICT;
		e->link.to = get_unaligned_be32(body + 2);
		e->link.name = get_unaligned_be32(body + 6);
		break;
	}
}

/**
 * rds_ext_parse() - decode the extension area of a header
 * @area: the 16 bytes
 * @out: what was found; everything else is zero
 *
 * Known types have their exact size, the first one of a type counts.  The
 * parse ends at the terminator, at a type it cannot size (reported in
 * @out->unknown if it is below 16) and at a body that does not fit.
 */
void rds_ext_parse(const u8 area[RDS_EXT_LEN], struct rds_ext *out)
{
	size_t at = 0, len;

	memset(out, 0, sizeof(*out));
	while ((len = ext_len(area, at))) {
		u8 type = area[at];

		if (!RDS_EXT_HAS(out, type)) {
			out->present |= 1U << type;
			ext_store(out, type, area + at + 1);
		}
		at += len;
	}

	if (at < RDS_EXT_LEN && area[at] < EXT_NR_TYPES && !ext_body[area[at]])
		out->unknown = area[at];	/* the terminator is 0, that is none */
}

/*
 * Append an extension and return where its body goes; NULL if @type does not
 * have a body of @size, if it does not fit, or if what is there already does
 * not end properly (a receiver would never get as far as the new one).
 */
static u8 *ext_append(u8 *area, u8 type, size_t size)
{
	size_t at = 0, len;

	if (type >= EXT_NR_TYPES || ext_body[type] != size)
		return NULL;
	while ((len = ext_len(area, at)))
		at += len;
	if (at >= RDS_EXT_LEN || area[at] != RDS_EXT_NONE || size > RDS_EXT_LEN - at - 1)
		return NULL;

	area[at] = type;
	if (at + 1 + size < RDS_EXT_LEN)
		area[at + 1 + size] = RDS_EXT_NONE;
	return area + at + 1;
}

/**
 * rds_ext_put_u8() - append an extension with a body of one byte
 * @area: extension area, zeroed before the first one is put
 * @type: RDS_EXT_SPORT_IDX
 * @v: body; must be 0, parsers that do not know the type stop only there
 *
 * Return: false, and nothing is written, if it does not fit or is not allowed.
 */
bool rds_ext_put_u8(u8 area[RDS_EXT_LEN], u8 type, u8 v)
{
	u8 *body = v ? NULL : ext_append(area, type, 1);

	if (!body)
		return false;
	*body = v;
	return true;
}

/**
 * rds_ext_put_u16() - append an extension with a 16-bit body
 * @area: extension area
 * @type: RDS_EXT_NPATHS
 * @v: body in host order
 *
 * Return: false, and nothing is written, if it does not fit or @type has another size.
 */
bool rds_ext_put_u16(u8 area[RDS_EXT_LEN], u8 type, u16 v)
{
	u8 *body = ext_append(area, type, 2);

	if (!body)
		return false;
	put_unaligned_be16(v, body);
	return true;
}

/**
 * rds_ext_put_u32() - append an extension with a 32-bit body
 * @area: extension area
 * @type: RDS_EXT_VERSION, RDS_EXT_RDMA or RDS_EXT_GEN_NUM
 * @v: body in host order
 *
 * Return: false, and nothing is written, if it does not fit or @type has another size.
 */
bool rds_ext_put_u32(u8 area[RDS_EXT_LEN], u8 type, u32 v)
{
	u8 *body = ext_append(area, type, 4);

	if (!body)
		return false;
	put_unaligned_be32(v, body);
	return true;
}

/**
 * rds_ext_put_rdma_dest() - append RDMA_DEST
 * @area: extension area
 * @rkey: key of the memory region
 * @off: offset of the buffer in its first page
 *
 * Return: false, and nothing is written, if it does not fit.
 */
bool rds_ext_put_rdma_dest(u8 area[RDS_EXT_LEN], u32 rkey, u32 off)
{
	u8 *body = ext_append(area, RDS_EXT_RDMA_DEST, 8);

	if (!body)
		return false;
	put_unaligned_be32(rkey, body);
	put_unaligned_be32(off, body + 4);
	return true;
}

/**
 * rds_ext_put_link() - append LINK
 * @area: extension area
 * @link: what it says; its index is below RDS_MAX_PATHS, its verdict below 32
 *
 * Return: false, and nothing is written, if it does not fit.
 */
bool rds_ext_put_link(u8 area[RDS_EXT_LEN], const struct rds_ext_link *link)
{
	u8 *body = ext_append(area, RDS_EXT_LINK, 10);

	if (!body)
		return false;
	body[0] = 0;
	body[1] = (link->index & LINK_INDEX) | link->verdict << LINK_VERDICT;
	put_unaligned_be32(link->to, body + 2);
	put_unaligned_be32(link->name, body + 6);
	return true;
}

static u32 fnv1a(u32 h, const u8 *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		h = (h ^ p[i]) * 16777619U;
	return h;
}

/**
 * rds_conn_name() - a short name of a connection
 * @laddr: address of the host that calls it so
 * @faddr: that of its peer, as it sees it
 *
 * 32-bit FNV-1a: to tell those apart that are taken for each other by accident.
 */
u32 rds_conn_name(const u8 laddr[16], const u8 faddr[16])
{
	return fnv1a(fnv1a(2166136261U, laddr, 16), faddr, 16);
}

/**
 * rds_stream_reset() - wait for the header of the next message
 * @s: any state, also uninitialised memory
 */
void rds_stream_reset(struct rds_stream *s)
{
	/* header and raw bytes are written before they are read again */
	s->need = RDS_STREAM_HDR;
	s->hdr_have = 0;
	s->data_left = 0;
}

/**
 * rds_stream_hdr() - feed header bytes
 * @s: the framing state
 * @p: bytes from the link
 * @n: how many; more than the header needs is fine
 *
 * When the header is complete the state becomes START, or BAD if it announces
 * more than RDS_MAX_MSG_SIZE bytes.  A congestion frame of the wrong size is
 * legal framing: its payload is taken like any other and then ignored, see
 * rds_map_valid().
 *
 * Return: bytes taken; 0 if no header bytes are wanted now (look at @s->need).
 */
size_t rds_stream_hdr(struct rds_stream *s, const u8 *p, size_t n)
{
	size_t want = RDS_HDR_LEN - s->hdr_have;

	if (s->need != RDS_STREAM_HDR || !n)
		return 0;
	if (n > want)
		n = want;
	memcpy(s->raw + s->hdr_have, p, n);
	s->hdr_have += n;
	if (s->hdr_have < RDS_HDR_LEN)
		return n;

	rds_hdr_parse(s->raw, RDS_HDR_LEN, &s->hdr);
	s->need = s->hdr.len > RDS_MAX_MSG_SIZE ? RDS_STREAM_BAD : RDS_STREAM_START;
	return n;
}

/**
 * rds_stream_started() - the receiver is ready for the payload
 * @s: the framing state, at START
 *
 * The state becomes DATA, or DONE for an empty message.
 */
void rds_stream_started(struct rds_stream *s)
{
	if (s->need != RDS_STREAM_START) {
		s->need = RDS_STREAM_BAD;
		return;
	}
	s->data_left = s->hdr.len;
	s->need = s->data_left ? RDS_STREAM_DATA : RDS_STREAM_DONE;
}

/**
 * rds_stream_took() - payload bytes were stored
 * @s: the framing state, at DATA
 * @n: bytes stored, at most @s->data_left
 *
 * The state becomes DONE with the last byte.  More bytes than were promised
 * end the stream as BAD.
 */
void rds_stream_took(struct rds_stream *s, size_t n)
{
	if (s->need != RDS_STREAM_DATA || n > s->data_left) {
		s->need = RDS_STREAM_BAD;
		return;
	}
	s->data_left -= n;
	if (!s->data_left)
		s->need = RDS_STREAM_DONE;
}

/**
 * rds_seq_accept() - apply the sequence rule to a message
 * @next: next expected sequence of the path, 0 before the first; moved on acceptance
 * @seq: sequence of the message
 * @flags: its h_flags
 *
 * Gaps are normal (cancelled messages).  Only a retransmission can be a
 * duplicate: a lower sequence without the flag is a peer that started again.
 *
 * Return: what to do with the message.
 */
enum rds_seq_verdict rds_seq_accept(u64 *next, u64 seq, u8 flags)
{
	bool old = seq < *next;

	if (old && (flags & RDS_FLAG_RETRANSMITTED))
		return RDS_SEQ_DUP;
	*next = seq + 1;
	return old ? RDS_SEQ_REWIND : RDS_SEQ_NEW;
}

/**
 * rds_seq_widen() - a whole sequence number from its low bits
 * @near: a number less than half the range of the low bits away from it
 * @low: the low bits
 * @bits: how many, 1 to 62
 *
 * Return: the number closest to @near that ends in @low.
 */
u64 rds_seq_widen(u64 near, u64 low, unsigned int bits)
{
	u64 range = 1ULL << bits, half = range / 2;
	u64 seq = (near & ~(range - 1)) | (low & (range - 1));

	if (seq > near && seq - near > half)
		return seq >= range ? seq - range : seq;
	if (near > seq && near - seq > half)
		return seq + range > seq ? seq + range : seq;
	return seq;
}

static bool flow_repeat_is_new(u64 next, const struct rds_flow_seq *flow, bool fanned,
			       bool path0, u64 seq)
{
	if (!fanned)
		return seq >= next;
	if (!flow->known)
		return true;		/* had it come before, its port would be known */
	/* Known from before the fan-out only: then repeats come by path 0. */
	if (!flow->fanned && !path0)
		return true;
	return seq > flow->last;
}

/**
 * rds_seq_accept_flow() - the sequence rule for a peer that may mix up path indices
 * @next: as for rds_seq_accept()
 * @flow: what is known of the message's source port; updated on acceptance
 * @fanned: the path count is known and above one
 * @path0: the message came by path 0
 * @seq: sequence of the message
 * @flags: its h_flags
 *
 * Such a peer keeps each socket on one path, so the sequences of one source port only
 * rise, whatever link they come by; the expectation of our path says nothing.
 *
 * Return: what to do with the message.
 */
enum rds_seq_verdict rds_seq_accept_flow(u64 *next, struct rds_flow_seq *flow, bool fanned,
					 bool path0, u64 seq, u8 flags)
{
	bool repeat = flags & RDS_FLAG_RETRANSMITTED;
	bool rewind = !repeat && seq < *next;

	if (repeat && !flow_repeat_is_new(*next, flow, fanned, path0, seq))
		return RDS_SEQ_DUP;
	*next = seq + 1;
	flow->last = seq;
	flow->known = true;
	flow->fanned = fanned;
	return rewind ? RDS_SEQ_REWIND : RDS_SEQ_NEW;
}

/**
 * rds_map_valid() - may the payload of this frame replace a congestion map?
 * @h: parsed header
 *
 * Return: true for a congestion frame of exactly one map.
 */
bool rds_map_valid(const struct rds_hdr *h)
{
	return rds_hdr_is_cong(h) && h->len == RDS_CONG_MAP_BYTES;
}

/**
 * rds_map_cleared() - which ports of a map became sendable
 * @old: map before, RDS_CONG_MAP_BYTES bytes
 * @new: map after
 *
 * Return: bit n is set if the bit of a port with port % 64 == n went from 1 to 0.
 */
u64 rds_map_cleared(const u8 *old, const u8 *new)
{
	u64 mask = 0;
	size_t i;

	for (i = 0; i < RDS_CONG_MAP_BYTES; i += sizeof(u64))
		mask |= get_unaligned_le64(old + i) & ~get_unaligned_le64(new + i);
	return mask;
}

/**
 * rds_map_doubt() - note ports that may be set only because a map was overtaken
 * @doubt: the doubts so far; updated
 * @old: map before
 * @new: map after
 * @raced: the two came by different paths at about the same time
 *
 * Return: true if there is a doubt.
 */
bool rds_map_doubt(u8 *doubt, const u8 *old, const u8 *new, bool raced)
{
	u64 any = 0, d;
	size_t i;

	for (i = 0; i < RDS_CONG_MAP_BYTES; i += sizeof(u64)) {
		d = get_unaligned_le64(doubt + i) | ~get_unaligned_le64(old + i);
		d = raced ? d & get_unaligned_le64(new + i) : 0;
		put_unaligned_le64(d, doubt + i);
		any |= d;
	}
	return any;
}

/**
 * rds_map_undoubted() - a map without the ports in doubt
 * @out: result
 * @map: map
 * @doubt: ports to leave out
 */
void rds_map_undoubted(u8 *out, const u8 *map, const u8 *doubt)
{
	size_t i;

	for (i = 0; i < RDS_CONG_MAP_BYTES; i++)
		out[i] = map[i] & ~doubt[i];
}

/**
 * rds_npaths_clamp() - number of paths to use with a peer
 * @e: extensions of its handshake message
 * @known: number in use, 0 if not known yet
 *
 * Return: the announced number, or @known without an announcement; within 1..RDS_MAX_PATHS.
 */
unsigned int rds_npaths_clamp(const struct rds_ext *e, unsigned int known)
{
	unsigned int n = RDS_EXT_HAS(e, RDS_EXT_NPATHS) ? e->npaths : known;

	if (n > RDS_MAX_PATHS)
		return RDS_MAX_PATHS;
	return n ? n : 1;
}
