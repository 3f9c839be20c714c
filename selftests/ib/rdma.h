/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDMA and atomic requests, notifications, and two connected sockets over rxe.
 */
#ifndef RDS_TEST_RDMA_H
#define RDS_TEST_RDMA_H

#include "rxe.h"

#include <stddef.h>

#define PORT_A	5001
#define PORT_B	5002

#define W	RDS_RDMA_READWRITE
#define N	RDS_RDMA_NOTIFY_ME

/* A message with an RDMA request; returns what sendmsg() does. */
static inline ssize_t send_rdma_v(int fd, __u64 cookie, __u64 raddr, __u64 rbytes,
				  const struct rds_iovec *v, unsigned int n, __u64 flags,
				  __u64 token, const void *msg, size_t len)
{
	struct rds_rdma_args a = {
		.cookie = cookie, .remote_vec = { raddr, rbytes }, .local_vec_addr = (long)v,
		.nr_local = n, .flags = flags, .user_token = token,
	};

	return send_cmsg(fd, NULL, 0, msg, len, 0, RDS_CMSG_RDMA_ARGS, &a, sizeof(a));
}

static inline ssize_t send_rdma(int fd, __u64 cookie, __u64 raddr, const void *mem, __u64 bytes,
				__u64 flags, __u64 token, const void *msg, size_t len)
{
	struct rds_iovec v = { (long)mem, bytes };

	return send_rdma_v(fd, cookie, raddr, bytes, &v, 1, flags, token, msg, len);
}

#define NOTE_END	(offsetof(struct rds_rdma_notify, status) + sizeof(__s32))

#define NOTE_SPACE	CMSG_SPACE(sizeof(struct rds_rdma_notify))

/* The status of the notification that was received, or -1.  Data would be a failure, too. */
static inline int note_of(struct rx *rx, __u64 *token)
{
	struct rds_rdma_notify n;
	struct cmsghdr *h;

	if (rx->ret)
		return -1;
	h = CMSG_FIRSTHDR(&rx->m);
	if (!h || h->cmsg_level != SOL_RDS || h->cmsg_type != RDS_CMSG_RDMA_STATUS ||
	    h->cmsg_len != CMSG_LEN(sizeof(n)))
		return -1;
	memcpy(&n, CMSG_DATA(h), sizeof(n));
	/* nothing of the kernel's stack behind the status (B5) */
	if (memcmp((char *)CMSG_DATA(h) + NOTE_END, "\0\0\0", sizeof(n) - NOTE_END))
		return -1;
	if (token)
		*token = n.user_token;
	return n.status;
}

/* The next notification, within the deadline: its status, or -1. */
static inline int next_note(int fd, __u64 *token)
{
	__s64 end = now_ms() + WAIT_MS;
	struct rx rx;
	char b[64];

	/* POLLIN may have another reason */
	while (rx_msg_ctl(fd, b, sizeof(b), MSG_DONTWAIT, &rx, NOTE_SPACE) < 0) {
		if (errno != EAGAIN || now_ms() > end)
			return -1;
		poll_for(fd, POLLIN, 100);
	}
	return note_of(&rx, token);
}

/* Nothing to be read, now. */
static inline bool quiet(int fd)
{
	char b[8];

	return recv(fd, b, sizeof(b), MSG_DONTWAIT) == -1 && errno == EAGAIN;
}

static inline void fill(void *p, size_t n, unsigned int seed)
{
	unsigned char *c = p;

	while (n--) {
		seed = seed * 1103515245 + 12345;
		*c++ = seed >> 16;
	}
}

static inline bool all(const char *p, size_t n, char c)
{
	while (n--)
		if (*p++ != c)
			return false;
	return true;
}

static inline char *pages(size_t n)
{
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

/* What a message carries as a cookie (RDMA_DEST), 0 = none. */
static inline __u64 rx_cookie(struct rx *rx)
{
	struct cmsghdr *h;
	__u64 c = 0;

	for (h = CMSG_FIRSTHDR(&rx->m); h; h = CMSG_NXTHDR(&rx->m, h))
		if (h->cmsg_level == SOL_RDS && h->cmsg_type == RDS_CMSG_RDMA_DEST)
			memcpy(&c, CMSG_DATA(h), sizeof(c));
	return c;
}

FIXTURE(rdma)
{
	int a, b;
	char *src, *dst;	/* 2 MiB each */
	long pinned;
	__s64 regions;
};

FIXTURE_VARIANT(rdma)
{
	const char *aaddr, *baddr;
};

FIXTURE_VARIANT_ADD(rdma, v4)
{
	.aaddr = A4, .baddr = B4,
};

#ifdef ALL_VARIANTS
FIXTURE_VARIANT_ADD(rdma, v6)
{
	.aaddr = A6, .baddr = B6,
};

FIXTURE_VARIANT_ADD(rdma, self)
{
	.aaddr = A4, .baddr = A4,
};
#endif

FIXTURE_SETUP(rdma)
{
	self->a = rds_bound(variant->aaddr, PORT_A);
	ASSERT_FD(self->a);
	self->b = rds_bound(variant->baddr, PORT_B);
	ASSERT_FD(self->b);
	ASSERT_EQ(RDS_TRANS_IB, get_int(self->b, SOL_RDS, SO_RDS_TRANSPORT));
	ASSERT_EQ(0, rds_connect(self->a, variant->baddr, PORT_B));
	ASSERT_EQ(0, rds_connect(self->b, variant->aaddr, PORT_A));
	self->pinned = pinned();
	self->regions = regions();
	self->src = pages(2 * MIB);
	self->dst = pages(2 * MIB);
}

FIXTURE_TEARDOWN(rdma)
{
	if (self->a >= 0)
		close(self->a);
	if (self->b >= 0)
		close(self->b);
	/* operations let go of their pages a moment later */
	EXPECT_TRUE(WAIT_UNTIL(pinned() == self->pinned));
	EXPECT_TRUE(WAIT_UNTIL(regions() <= self->regions));
}

#endif
