/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Control messages of sendmsg(): a pure parser from a control buffer to a request.
 * Everything is read once and copied out; no pointer into the buffer survives.
 */
#ifndef _RDS_CMSG_H
#define _RDS_CMSG_H

#include <linux/types.h>
#include <linux/rds.h>

#define RDS_MAX_IOV		1024
#define RDS_IOV_ROUND		0xffff	/* slack for rounding up to the largest page size, 64 KiB */

/* rds_request.have */
#define RDS_REQ_RDMA_ARGS	0x01
#define RDS_REQ_ATOMIC		0x02
#define RDS_REQ_DEST		0x04
#define RDS_REQ_MAP		0x08
#define RDS_REQ_ZCOOKIE		0x10

/**
 * struct rds_request - what the control messages of one sendmsg() ask for
 * @have: RDS_REQ_* bits
 * @atomic_type: RDS_CMSG_* type of the atomic operation
 * @zcookie: zero-copy cookie (the last one)
 * @rdma_bytes: sum of remote_vec.bytes of all RDMA_ARGS, saturating
 * @dup_a: a second RDMA_ARGS, or a second or too short atomic
 * @dup_b: a second or too short DEST/MAP, or a too short ZCOPY_COOKIE
 * @atomic_first: the atomic came before RDMA_ARGS
 * @dest_cookie: RDMA_DEST
 * @rdma: RDMA_ARGS (the first one)
 * @atomic: ATOMIC_* (the first one)
 * @map: RDMA_MAP
 *
 * Atomic and RDMA arguments share no storage: one of each may occur together.
 * @dup_a and @dup_b are EINVAL, but the caller says so only after executing what
 * @have lists, which is what came before the bad one in its group: errors of that go first.
 * ZCOPY_COOKIE without MSG_ZEROCOPY, SO_ZEROCOPY or payload is the caller's
 * to refuse, before it executes anything.
 */
struct rds_request {
	u32 have;
	u32 atomic_type;
	u32 zcookie;
	u64 rdma_bytes;
	bool dup_a;
	bool dup_b;
	bool atomic_first;
	u64 dest_cookie;
	struct rds_rdma_args rdma;
	struct rds_atomic_args atomic;
	struct rds_get_mr_args map;
};

/**
 * rds_cmsg_early() - the checks that come before the size of the message is looked at
 * @control: control buffer (kernel copy, native cmsghdr layout)
 * @len: its length
 * @out: the request so far (zeroed by this function): RDMA_ARGS and their byte sum
 *
 * Malformed headers, and RDMA_ARGS shorter than CMSG_LEN(56): without those the bytes of all
 * transfers, which count as size of the message, cannot be summed up.
 * Return: 0 or -EINVAL.
 */
int rds_cmsg_early(const void *control, size_t len, struct rds_request *out);

/**
 * rds_cmsg_scan() - the checks of the pre-scan
 * @control: control buffer
 * @len: its length
 * @zerocopy: MSG_ZEROCOPY was given
 * @out: the request, as left by rds_cmsg_early(); filled in completely (again)
 *
 * Groups, unknown types, nr_local limits.  Short payloads and second ones of a
 * kind are not an error yet, see @dup_a.  Calling it twice gives the same answer.
 * Return: 0, -EINVAL or -EMSGSIZE.
 */
int rds_cmsg_scan(const void *control, size_t len, bool zerocopy, struct rds_request *out);

/**
 * rds_iov_check() - validate the local vectors of an RDMA operation
 * @iov: vectors, already copied from user space
 * @n: their number, at most RDS_MAX_IOV
 * @bytes: sum of their lengths; not touched on error
 *
 * Return: 0, or -EINVAL for too many, or an empty, wrapping (also after rounding to
 * pages) or too long (over 4 GiB - 1) entry.
 */
int rds_iov_check(const struct rds_iovec *iov, size_t n, u64 *bytes);

#endif /* _RDS_CMSG_H */
