/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The private data of connection requests and replies, and version negotiation.  Pure code.
 */
#ifndef _RDS_IB_PRIVATE_H
#define _RDS_IB_PRIVATE_H

#include <linux/types.h>

#define RDS_IB_PRIVATE_LEN4	32
#define RDS_IB_PRIVATE_LEN6	56
#define RDS_IB_PRIVATE_MAX	RDS_IB_PRIVATE_LEN6

#define RDS_IB_VERSION(major, minor)	((major) << 8 | (minor))
#define RDS_IB_VERSION_3_1	RDS_IB_VERSION(3, 1)
#define RDS_IB_VERSION_4_0	RDS_IB_VERSION(4, 0)
#define RDS_IB_VERSION_4_1	RDS_IB_VERSION(4, 1)
/* Bit n: we speak 4.n. */
#define RDS_IB_MINORS		0x0003

/**
 * struct rds_ib_private - private data in host order
 * @saddr: sender's own address, 4 or 16 bytes as on the wire
 * @daddr: what the sender thinks is the other's
 * @ack_seq: newest sequence received from the other, 0 = none
 * @credit: send credits granted, non-zero offers flow control
 * @instance: differs from one start of the sender to the next, 0 = does not say; in what the
 *	reference has as padding and sends as 0
 * @minors: bit n: speaks 4.n
 * @major: protocol
 * @minor: protocol
 * @tos: type of service
 */
struct rds_ib_private {
	u8 saddr[16];
	u8 daddr[16];
	u64 ack_seq;
	u32 credit;
	u32 instance;
	u16 minors;
	u8 major;
	u8 minor;
	u8 tos;
};

size_t rds_ib_private_build(u8 *out, const struct rds_ib_private *p, bool v6);
bool rds_ib_private_parse(const void *data, size_t len, bool v6, struct rds_ib_private *p);
u16 rds_ib_version_accept(const struct rds_ib_private *p);
bool rds_ib_version_ok(u16 version);

#endif /* _RDS_IB_PRIVATE_H */
