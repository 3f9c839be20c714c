// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: private data of connection requests and replies.
 *
 * Pure code, also compiled in user space.  The layout for IPv6 is that for IPv4 with longer
 * addresses; which one it is follows from the port that was called, never from the data.
 */
#include <linux/types.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "private.h"

/* Offsets behind the two addresses. */
#define OFF_MAJOR	0
#define OFF_MINOR	1
#define OFF_MINORS	2
#define OFF_TOS		4
#define OFF_ACK_SEQ	8
#define OFF_CREDIT	16
#define OFF_INSTANCE	20
#define TAIL_LEN	24

static size_t addr_len(bool v6)
{
	return v6 ? 16 : 4;
}

/**
 * rds_ib_private_build() - encode private data
 * @out: RDS_IB_PRIVATE_MAX bytes
 * @p: what to say; of the addresses the first 4 bytes count unless @v6
 * @v6: layout
 *
 * Return: bytes written.
 */
size_t rds_ib_private_build(u8 *out, const struct rds_ib_private *p, bool v6)
{
	size_t alen = addr_len(v6);
	u8 *tail = out + 2 * alen;

	memcpy(out, p->saddr, alen);
	memcpy(out + alen, p->daddr, alen);
	memset(tail, 0, TAIL_LEN);
	tail[OFF_MAJOR] = p->major;
	tail[OFF_MINOR] = p->minor;
	put_unaligned_be16(p->minors, tail + OFF_MINORS);
	tail[OFF_TOS] = p->tos;
	put_unaligned_be64(p->ack_seq, tail + OFF_ACK_SEQ);
	put_unaligned_be32(p->credit, tail + OFF_CREDIT);
	put_unaligned_be32(p->instance, tail + OFF_INSTANCE);
	return 2 * alen + TAIL_LEN;
}

/**
 * rds_ib_private_parse() - decode private data
 * @data: from the peer
 * @len: its length; the CM pads with zeros
 * @v6: layout
 * @p: all written on success
 *
 * Return: false if it is too short to be ours.
 */
bool rds_ib_private_parse(const void *data, size_t len, bool v6, struct rds_ib_private *p)
{
	size_t alen = addr_len(v6);
	const u8 *in = data, *tail;

	if (!data || len < 2 * alen + TAIL_LEN)
		return false;
	tail = in + 2 * alen;
	memset(p, 0, sizeof(*p));
	memcpy(p->saddr, in, alen);
	memcpy(p->daddr, in + alen, alen);
	p->major = tail[OFF_MAJOR];
	p->minor = tail[OFF_MINOR];
	p->minors = get_unaligned_be16(tail + OFF_MINORS);
	p->tos = tail[OFF_TOS];
	p->ack_seq = get_unaligned_be64(tail + OFF_ACK_SEQ);
	p->credit = get_unaligned_be32(tail + OFF_CREDIT);
	p->instance = get_unaligned_be32(tail + OFF_INSTANCE);
	return true;
}

/**
 * rds_ib_version_accept() - the version to speak with who proposes this
 * @p: the request
 *
 * Major 0 is a version that cannot be told: taken for 4.0.
 *
 * Return: the version, 0 to refuse.
 */
u16 rds_ib_version_accept(const struct rds_ib_private *p)
{
	if (!p->major)
		return RDS_IB_VERSION_4_0;
	if (p->major == 3 && p->minor == 1)
		return RDS_IB_VERSION_3_1;
	if (p->major != 4 || !(p->minors & RDS_IB_MINORS))
		return 0;
	return p->minors & 2 ? RDS_IB_VERSION_4_1 : RDS_IB_VERSION_4_0;
}

/**
 * rds_ib_version_ok() - may a link speak this version?
 * @version: what the peer answered
 */
bool rds_ib_version_ok(u16 version)
{
	return version == RDS_IB_VERSION_3_1 || version == RDS_IB_VERSION_4_0 ||
	       version == RDS_IB_VERSION_4_1;
}
