/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDS wire format: pure functions over bytes.
 *
 * Nothing here allocates, sleeps, logs or knows a socket; the file also compiles
 * in user space (selftests/unit, selftests/fuzz).  No other file of the module
 * reads or writes a field of the wire.
 */
#ifndef _RDS_WIRE_H
#define _RDS_WIRE_H

#include <linux/types.h>

#define RDS_HDR_LEN		48
#define RDS_EXT_LEN		16
#define RDS_EXT_OFFSET		32
#define RDS_MAX_MSG_SIZE	(1024U * 1024)
#define RDS_CONG_MAP_BYTES	8192
#define RDS_CONG_MAP_BITS	65536
#define RDS_MAX_PATHS		8
#define RDS_PORT_KERNEL		0	/* ping as destination, pong as source */
#define RDS_PORT_PROBE		1	/* multipath handshake */

/* h_flags */
#define RDS_FLAG_CONG_BITMAP	0x01
#define RDS_FLAG_ACK_REQUIRED	0x02
#define RDS_FLAG_RETRANSMITTED	0x04
#define RDS_FLAG_EXTHDR		0x20

/* Extension header types. */
#define RDS_EXT_NONE		0
#define RDS_EXT_VERSION		1
#define RDS_EXT_RDMA		2
#define RDS_EXT_RDMA_DEST	3
#define RDS_EXT_RDMA_BYTES	4
#define RDS_EXT_NPATHS		5
#define RDS_EXT_GEN_NUM		6
#define RDS_EXT_SPORT_IDX	8
#define RDS_EXT_LINK		15	/* ours: what a link's first frame says of it */

/**
 * struct rds_hdr - an RDS header in host order
 * @seq: sequence number on the path; 0 on congestion maps
 * @ack: highest sequence received (verbs only; else 0)
 * @len: payload bytes that follow
 * @sport: source port, host order
 * @dport: destination port, host order
 * @flags: RDS_FLAG_*
 * @credit: new send credits (verbs only; else 0)
 * @csum: checksum as found on the wire, network order bytes as u16 big endian value
 * @ext: raw extension area
 */
struct rds_hdr {
	u64 seq;
	u64 ack;
	u32 len;
	u16 sport;
	u16 dport;
	u8 flags;
	u8 credit;
	u16 csum;
	u8 ext[RDS_EXT_LEN];
};

/**
 * enum rds_link_verdict - what the end that accepts a link says about it (RDS_EXT_LINK)
 * @RDS_LINK_WELCOME: messages may follow
 * @RDS_LINK_WAIT: not yet: it is being looked whether another host still answers
 * @RDS_LINK_STALE: refused: the caller expected another instance than this one
 * @RDS_LINK_TAKEN: refused: this end has links to another host by the caller's address
 * @RDS_LINK_SELF: refused: the caller is this host itself
 * @RDS_LINK_NR_VERDICTS: their number
 */
enum rds_link_verdict {
	RDS_LINK_WELCOME,
	RDS_LINK_WAIT,
	RDS_LINK_STALE,
	RDS_LINK_TAKEN,
	RDS_LINK_SELF,
	RDS_LINK_NR_VERDICTS
};

/**
 * struct rds_ext_link - body of RDS_EXT_LINK
 * @index: path of the link, below RDS_MAX_PATHS
 * @verdict: enum rds_link_verdict, or what a later version adds to it; always WELCOME from the
 *	end that dials
 * @to: generation that the sender believes the receiver to have, 0 = it does not know
 * @name: rds_conn_name() of the connection at the sender
 */
struct rds_ext_link {
	u8 index;
	u8 verdict;
	u32 to;
	u32 name;
};

/* Bits of rds_ext.present: 1 << RDS_EXT_xxx */
#define RDS_EXT_HAS(e, t)	(!!((e)->present & (1U << (t))))

/**
 * struct rds_ext - decoded extension headers
 * @present: bit RDS_EXT_xxx set for each type found (first occurrence wins)
 * @version: VERSION
 * @rdma_rkey: RDMA
 * @dest_rkey: RDMA_DEST key
 * @dest_off: RDMA_DEST offset
 * @rdma_bytes: RDMA_BYTES count
 * @gen: GEN_NUM
 * @npaths: NPATHS
 * @rdma_dir: RDMA_BYTES direction
 * @link: LINK
 * @unknown: first type met that this version does not know (parsing stopped there), else 0
 */
struct rds_ext {
	u32 present;
	u32 version;
	u32 rdma_rkey;
	u32 dest_rkey;
	u32 dest_off;
	u32 rdma_bytes;
	u32 gen;
	u16 npaths;
	u8 rdma_dir;
	u8 unknown;
	struct rds_ext_link link;
};

int rds_hdr_parse(const u8 *p, size_t n, struct rds_hdr *out);
void rds_hdr_build(u8 out[RDS_HDR_LEN], const struct rds_hdr *h);
void rds_hdr_seal(u8 hdr[RDS_HDR_LEN]);
u16 rds_hdr_csum(const u8 hdr[RDS_HDR_LEN]);
bool rds_hdr_csum_ok(const u8 hdr[RDS_HDR_LEN]);
bool rds_hdr_is_cong(const struct rds_hdr *h);

void rds_ext_parse(const u8 area[RDS_EXT_LEN], struct rds_ext *out);
bool rds_ext_put_u8(u8 area[RDS_EXT_LEN], u8 type, u8 v);
bool rds_ext_put_u16(u8 area[RDS_EXT_LEN], u8 type, u16 v);
bool rds_ext_put_u32(u8 area[RDS_EXT_LEN], u8 type, u32 v);
bool rds_ext_put_rdma_dest(u8 area[RDS_EXT_LEN], u32 rkey, u32 off);
bool rds_ext_put_link(u8 area[RDS_EXT_LEN], const struct rds_ext_link *link);
u32 rds_conn_name(const u8 laddr[16], const u8 faddr[16]);

/**
 * enum rds_stream_need - what a stream receiver has to do next
 * @RDS_STREAM_HDR: feed header bytes
 * @RDS_STREAM_START: the header is complete: allocate for @hdr.len bytes, then rds_stream_started()
 * @RDS_STREAM_DATA: take up to @data_left payload bytes, then rds_stream_took()
 * @RDS_STREAM_DONE: the message is complete: deliver, then rds_stream_reset()
 * @RDS_STREAM_BAD: the peer broke the protocol: drop the link
 */
enum rds_stream_need {
	RDS_STREAM_HDR,
	RDS_STREAM_START,
	RDS_STREAM_DATA,
	RDS_STREAM_DONE,
	RDS_STREAM_BAD,
};

/**
 * struct rds_stream - framing of a byte stream into RDS messages
 * @need: what comes next
 * @hdr_have: header bytes collected so far
 * @data_left: payload bytes still missing
 * @hdr: the parsed header; valid from RDS_STREAM_START on
 * @raw: header bytes
 */
struct rds_stream {
	enum rds_stream_need need;
	u32 hdr_have;
	u32 data_left;
	struct rds_hdr hdr;
	u8 raw[RDS_HDR_LEN];
};

void rds_stream_reset(struct rds_stream *s);
size_t rds_stream_hdr(struct rds_stream *s, const u8 *p, size_t n);
void rds_stream_started(struct rds_stream *s);
void rds_stream_took(struct rds_stream *s, size_t n);

/**
 * enum rds_seq_verdict - what the sequence rule says about a message
 * @RDS_SEQ_NEW: deliver
 * @RDS_SEQ_DUP: retransmission of something already received: drop
 * @RDS_SEQ_REWIND: lower than expected but not a retransmission (restarted peer): deliver
 */
enum rds_seq_verdict {
	RDS_SEQ_NEW,
	RDS_SEQ_DUP,
	RDS_SEQ_REWIND,
};

enum rds_seq_verdict rds_seq_accept(u64 *next, u64 seq, u8 flags);

/**
 * struct rds_flow_seq - what is known of one source port of a legacy multipath peer
 * @last: sequence of the last message accepted from it
 * @known: there was one
 * @fanned: it came after the path count was known
 */
struct rds_flow_seq {
	u64 last;
	bool known;
	bool fanned;
};

enum rds_seq_verdict rds_seq_accept_flow(u64 *next, struct rds_flow_seq *flow, bool fanned,
					 bool path0, u64 seq, u8 flags);

u64 rds_seq_widen(u64 near, u64 low, unsigned int bits);

/* Little-endian bitmap of ports, independent of host byte order and word size. */
static inline bool rds_map_test(const u8 *map, u16 port)
{
	return map[port >> 3] & (1U << (port & 7));
}

bool rds_map_valid(const struct rds_hdr *h);
u64 rds_map_cleared(const u8 *old, const u8 *new);
bool rds_map_doubt(u8 *doubt, const u8 *old, const u8 *new, bool raced);
void rds_map_undoubted(u8 *out, const u8 *map, const u8 *doubt);

unsigned int rds_npaths_clamp(const struct rds_ext *e, unsigned int known);

#endif /* _RDS_WIRE_H */
