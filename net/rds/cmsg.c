// SPDX-License-Identifier: GPL-2.0
/*
 * Control messages of sendmsg(): from a control buffer to a struct rds_request.
 *
 * Pure code, called by send.c before anything is allocated.  One table says
 * which types exist, how long they are and what they exclude; the length of a
 * payload is tested before a byte of it is read, and what is read is copied.
 * Nothing is executed here: keys, addresses and cookies are only carried on.
 */
#include <linux/types.h>
#include <linux/array_size.h>
#include <linux/errno.h>
#include <linux/nospec.h>
#include <linux/string.h>
#include <linux/socket.h>
#include <linux/stddef.h>
#include <linux/limits.h>
#include <linux/rds.h>

#include "cmsg.h"

/* Groups; one message carries control messages of one group only. */
#define GROUP_A		0x1	/* operations on the peer's memory */
#define GROUP_B		0x2	/* what goes along with the message */

/**
 * struct cmsg_rule - a type of control message that may be sent
 * @group: GROUP_*, 0 for a type that may not be sent
 * @have: bit in rds_request.have
 * @excludes: bits of @have that may not be there yet
 * @size: bytes of payload, more is accepted and ignored
 * @dest: where the payload goes in struct rds_request
 */
struct cmsg_rule {
	u8 group;
	u8 have;
	u8 excludes;
	u8 size;
	u16 dest;
};

#define AT(member)	offsetof(struct rds_request, member)
#define COOKIE		(RDS_REQ_DEST | RDS_REQ_MAP)

static const struct cmsg_rule rules[] = {
	[RDS_CMSG_RDMA_ARGS] = {
		GROUP_A, RDS_REQ_RDMA_ARGS, RDS_REQ_RDMA_ARGS,
		sizeof(struct rds_rdma_args), AT(rdma),
	},
	[RDS_CMSG_RDMA_DEST] = {
		GROUP_B, RDS_REQ_DEST, COOKIE, sizeof(u64), AT(dest_cookie),
	},
	[RDS_CMSG_RDMA_MAP] = {
		GROUP_B, RDS_REQ_MAP, COOKIE, sizeof(struct rds_get_mr_args), AT(map),
	},
	[RDS_CMSG_ATOMIC_FADD ... RDS_CMSG_MASKED_ATOMIC_CSWP] = {
		GROUP_A, RDS_REQ_ATOMIC, RDS_REQ_ATOMIC,
		sizeof(struct rds_atomic_args), AT(atomic),
	},
	[RDS_CMSG_ZCOPY_COOKIE] = {
		/* of several the last one counts, as ever */
		GROUP_B, RDS_REQ_ZCOOKIE, 0, sizeof(u32), AT(zcookie),
	},
};

/**
 * struct cmsg_cursor - a walk over a control buffer
 * @next: next header
 * @left: bytes from there to the end
 * @data: payload of the current control message
 * @size: bytes of it
 * @level: its level
 * @type: its type
 */
struct cmsg_cursor {
	const u8 *next;
	size_t left;
	const u8 *data;
	size_t size;
	int level;
	int type;
};

/*
 * Step to the next control message.  A tail too short for a header is padding.
 * Return: 1, 0 at the end, -EINVAL for a length that is shorter than its own
 * header or longer than the buffer.
 */
static int cmsg_step(struct cmsg_cursor *c)
{
	struct cmsghdr hdr;
	size_t step;

	if (c->left < CMSG_LEN(0))
		return 0;
	memcpy(&hdr, c->next, sizeof(hdr));
	if (hdr.cmsg_len < CMSG_LEN(0) || hdr.cmsg_len > c->left)
		return -EINVAL;

	c->data = c->next + CMSG_LEN(0);
	c->size = hdr.cmsg_len - CMSG_LEN(0);
	c->level = hdr.cmsg_level;
	c->type = hdr.cmsg_type;

	/* cmsg_len is at most left here, so the alignment cannot wrap; the last may lack it */
	step = CMSG_ALIGN(hdr.cmsg_len);
	if (step > c->left)
		step = c->left;
	c->next += step;
	c->left -= step;
	return 1;
}

/* Step to the next control message that is ours. */
static int cmsg_step_rds(struct cmsg_cursor *c)
{
	int ret;

	do {
		ret = cmsg_step(c);
	} while (ret > 0 && c->level != SOL_RDS);
	return ret;
}

static const struct cmsg_rule *cmsg_rule(int type)
{
	unsigned int i = type;

	if (i >= ARRAY_SIZE(rules))
		return NULL;
	i = array_index_nospec(i, ARRAY_SIZE(rules));
	return rules[i].group ? &rules[i] : NULL;
}

/* RDS_MAX_IOV also bounds every product and sum of pages made from it later. */
static int check_nr_local(u64 nr)
{
	if (!nr)
		return -EINVAL;
	return nr > RDS_MAX_IOV ? -EMSGSIZE : 0;
}

int rds_cmsg_early(const void *control, size_t len, struct rds_request *out)
{
	struct cmsg_cursor c = { .next = control, .left = len };
	int ret;

	memset(out, 0, sizeof(*out));
	while ((ret = cmsg_step_rds(&c)) > 0) {
		struct rds_rdma_args args;

		if (c.type != RDS_CMSG_RDMA_ARGS)
			continue;
		if (c.size < sizeof(args))
			return -EINVAL;
		memcpy(&args, c.data, sizeof(args));
		if (!(out->have & RDS_REQ_RDMA_ARGS))
			out->rdma = args;
		out->have |= RDS_REQ_RDMA_ARGS;
		if (args.remote_vec.bytes > U64_MAX - out->rdma_bytes)
			out->rdma_bytes = U64_MAX;
		else
			out->rdma_bytes += args.remote_vec.bytes;
	}
	return ret;
}

/*
 * Take one control message into the request.  What fails only when the message
 * is executed is noted; nothing of its group that follows would be executed.
 */
static int take(struct rds_request *out, const struct cmsg_cursor *c,
		const struct cmsg_rule *rule)
{
	bool *bad = rule->group == GROUP_A ? &out->dup_a : &out->dup_b;
	struct rds_rdma_args args;

	if (c->type == RDS_CMSG_RDMA_ARGS) {
		int err;

		if (c->size < sizeof(args))
			return -EINVAL;
		memcpy(&args, c->data, sizeof(args));
		err = check_nr_local(args.nr_local);
		if (err)
			return err;
	}

	if (c->size < rule->size || (out->have & rule->excludes))
		*bad = true;
	if (*bad)
		return 0;

	memcpy((u8 *)out + rule->dest, c->data, rule->size);
	if (rule->have == RDS_REQ_ATOMIC) {
		out->atomic_type = c->type;
		out->atomic_first = !(out->have & RDS_REQ_RDMA_ARGS);
	}
	out->have |= rule->have;
	return 0;
}

int rds_cmsg_scan(const void *control, size_t len, bool zerocopy, struct rds_request *out)
{
	struct cmsg_cursor c = { .next = control, .left = len };
	u64 rdma_bytes = out->rdma_bytes;
	bool cookie = false;
	u8 groups = 0;
	int ret;

	memset(out, 0, sizeof(*out));
	out->rdma_bytes = rdma_bytes;
	while ((ret = cmsg_step_rds(&c)) > 0) {
		const struct cmsg_rule *rule = cmsg_rule(c.type);

		if (!rule)
			return -EINVAL;
		ret = take(out, &c, rule);
		if (ret)
			return ret;
		groups |= rule->group;
		cookie |= rule->have == RDS_REQ_ZCOOKIE;
	}
	if (ret)
		return ret;
	if (groups == (GROUP_A | GROUP_B) || (zerocopy && !cookie))
		return -EINVAL;
	return 0;
}

int rds_iov_check(const struct rds_iovec *iov, size_t n, u64 *bytes)
{
	u64 sum = 0;
	size_t i;

	if (n > RDS_MAX_IOV)	/* so the sum stays below 2^42 */
		return -EINVAL;
	for (i = 0; i < n; i++) {
		u64 size = iov[i].bytes;

		if (!size || size > U32_MAX)
			return -EINVAL;
		/* the end must survive being rounded up to a page of any size */
		if (iov[i].addr > U64_MAX - RDS_IOV_ROUND - size)
			return -EINVAL;
		sum += size;
	}
	*bytes = sum;
	return 0;
}
