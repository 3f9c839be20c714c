// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp timeout=60 lanes=uml */
/* What needs an RDMA-capable transport, on TCP and loopback: the exact errnos. */
#include "rds_util.h"

#include <sys/resource.h>

FIXTURE(rdma)
{
	int fd;
};

FIXTURE_VARIANT(rdma)
{
	const char *addr;	/* NULL: not bound */
	int trans;		/* chosen with SO_RDS_TRANSPORT before */
};

FIXTURE_VARIANT_ADD(rdma, loop)
{
	.addr = "127.0.0.1",
};

FIXTURE_VARIANT_ADD(rdma, loop6)
{
	.addr = "::1",
};

FIXTURE_VARIANT_ADD(rdma, tcp)
{
	.addr = "10.9.0.1",
};

FIXTURE_VARIANT_ADD(rdma, tcp6)
{
	.addr = "fd09::1",
};

FIXTURE_VARIANT_ADD(rdma, tcp_chosen_on_loop)
{
	.addr = "127.0.0.1", .trans = RDS_TRANS_TCP,
};

FIXTURE_SETUP(rdma)
{
	ASSERT_EQ(0, ns_local());
	self->fd = rds_socket();
	ASSERT_FD(self->fd);
	if (variant->trans) {
		ASSERT_EQ(0, set_int(self->fd, SOL_RDS, SO_RDS_TRANSPORT,
				     variant->trans));
	}
	ASSERT_EQ(0, rds_bind(self->fd, variant->addr, 5000));
	ASSERT_EQ(0, rds_connect(self->fd, variant->addr, 5000));
}

FIXTURE_TEARDOWN(rdma)
{
	close(self->fd);
}

static __u64 page[1024];
static __u64 cookie;

static struct rds_get_mr_args mr_args(void)
{
	return (struct rds_get_mr_args){
		.vec = { (long)page, sizeof(page) },
		.cookie_addr = (long)&cookie,
	};
}

static struct rds_get_mr_for_dest_args mr_dest_args(void)
{
	struct rds_get_mr_args a = mr_args();

	return (struct rds_get_mr_for_dest_args){
		.vec = a.vec, .cookie_addr = a.cookie_addr,
	};
}

static int tx(int fd, int type, const void *data, size_t len)
{
	return send_cmsg(fd, NULL, 0, "x", 1, MSG_DONTWAIT, type, data, len);
}

/* GET_MR and GET_MR_FOR_DEST: EOPNOTSUPP, and no cookie (E3, E5). */
TEST_F(rdma, get_mr__unsupported)
{
	struct rds_get_mr_args a = mr_args();
	struct rds_get_mr_for_dest_args d = mr_dest_args();
	char big[200] = {};

	EXPECT_ERR(EOPNOTSUPP, setsockopt(self->fd, SOL_RDS, RDS_GET_MR, &a, 32));
	EXPECT_ERR(EOPNOTSUPP, setsockopt(self->fd, SOL_RDS, RDS_GET_MR_FOR_DEST,
					  &d, 160));
	/* the transport is asked before the arguments are judged */
	EXPECT_ERR(EOPNOTSUPP, setsockopt(self->fd, SOL_RDS, RDS_GET_MR, big, 32));
	a.vec.bytes = -1;
	EXPECT_ERR(EOPNOTSUPP, setsockopt(self->fd, SOL_RDS, RDS_GET_MR, &a, 32));
	EXPECT_ERR(EINVAL, setsockopt(self->fd, SOL_RDS, RDS_GET_MR, big, 33));
	EXPECT_ERR(EFAULT, setsockopt(self->fd, SOL_RDS, RDS_GET_MR, BAD_PTR, 32));
	EXPECT_EQ(0, cookie);
}

/* FREE_MR: no key can exist, nothing can be flushed. */
TEST_F(rdma, free_mr__unsupported)
{
	static const __u64 c[] = { 0, 1, 0xffffffff, 1ULL << 32, -1ULL };
	struct rds_free_mr_args a = {};
	int i, f;

	for (i = 0; i < ARRAY_SIZE(c); i++) {
		for (f = 0; f < 2; f++) {
			a.cookie = c[i];
			a.flags = f ? RDS_RDMA_INVALIDATE : 0;
			EXPECT_ERR(EINVAL, setsockopt(self->fd, SOL_RDS,
						      RDS_FREE_MR, &a, 16));
		}
	}
}

/* cmsg RDMA_MAP: EOPNOTSUPP; short: EINVAL (E5, E8). */
TEST_F(rdma, cmsg_map__unsupported)
{
	struct rds_get_mr_args a = mr_args();
	struct ctl c = {};

	EXPECT_ERR(EOPNOTSUPP, tx(self->fd, RDS_CMSG_RDMA_MAP, &a, 32));
	EXPECT_ERR(EINVAL, tx(self->fd, RDS_CMSG_RDMA_MAP, &a, 31));
	EXPECT_ERR(EINVAL, tx(self->fd, RDS_CMSG_RDMA_MAP, &a, 0));
	ctl_add(&c, SOL_RDS, RDS_CMSG_RDMA_MAP, &a, 32);
	ctl_add(&c, SOL_RDS, RDS_CMSG_RDMA_MAP, &a, 32);
	EXPECT_ERR(EOPNOTSUPP, send_ctl(self->fd, NULL, 0, "x", 1, 0, c.buf, c.len));
	EXPECT_EQ(0, cookie);
}

/* cmsg RDMA_DEST: no key is known, so always EINVAL. */
TEST_F(rdma, cmsg_dest__unsupported)
{
	__u64 v = 0;
	int l;

	for (l = 0; l <= 8; l++)
		EXPECT_ERR(EINVAL, tx(self->fd, RDS_CMSG_RDMA_DEST, &v, l));
	v = 0x100000001;
	EXPECT_ERR(EINVAL, tx(self->fd, RDS_CMSG_RDMA_DEST, &v, 8));
}

static struct rds_iovec lvec;

static struct rds_rdma_args rdma_args(__u64 nr, __u64 bytes)
{
	lvec.addr = (long)page;
	lvec.bytes = bytes;
	return (struct rds_rdma_args){
		.cookie = 1, .remote_vec = { 0, bytes },
		.local_vec_addr = (long)&lvec, .nr_local = nr,
		.flags = RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME,
	};
}

/* cmsg RDMA_ARGS: EOPNOTSUPP once the arguments are good. */
TEST_F(rdma, cmsg_args__unsupported)
{
	struct rds_rdma_args a = rdma_args(1, 4096);

	EXPECT_ERR(EOPNOTSUPP, tx(self->fd, RDS_CMSG_RDMA_ARGS, &a, 56));
	a.flags = 0;
	EXPECT_ERR(EOPNOTSUPP, tx(self->fd, RDS_CMSG_RDMA_ARGS, &a, 56));
	a.flags = RDS_RDMA_SILENT | RDS_RDMA_FENCE;
	EXPECT_ERR(EOPNOTSUPP, tx(self->fd, RDS_CMSG_RDMA_ARGS, &a, 56));
}

/* cmsg RDMA_ARGS: bad counts and lengths (C1..C4, E8). */
TEST_F(rdma, cmsg_args__bad_arguments)
{
	static const __u64 many[] = {
		1025, 1000000, 1 << 28, (1 << 28) + 1, UINT32_MAX, 1ULL << 32,
		1ULL << 60, UINT64_MAX,
	};
	struct rds_rdma_args a = rdma_args(0, 4096);
	int i;

	EXPECT_ERR(EINVAL, tx(self->fd, RDS_CMSG_RDMA_ARGS, &a, 56));
	for (i = 0; i < ARRAY_SIZE(many); i++) {
		a.nr_local = many[i];
		EXPECT_ERR(EMSGSIZE, tx(self->fd, RDS_CMSG_RDMA_ARGS, &a, 56));
	}
	a = rdma_args(1, 4096);
	for (i = 0; i < 56; i++)
		EXPECT_ERR(EINVAL, tx(self->fd, RDS_CMSG_RDMA_ARGS, &a, i));
	a.local_vec_addr = 8;
	EXPECT_ERR(EFAULT, tx(self->fd, RDS_CMSG_RDMA_ARGS, &a, 56));
	a = rdma_args(1, 0);
	EXPECT_ERR(EINVAL, tx(self->fd, RDS_CMSG_RDMA_ARGS, &a, 56));
	a = rdma_args(1, (1 << 20) + 1);
	EXPECT_ERR(EMSGSIZE, tx(self->fd, RDS_CMSG_RDMA_ARGS, &a, 56));
	/* the vector wraps, or is longer than 4 GiB - 1 */
	a = rdma_args(1, 4096);
	lvec.addr = -100;
	EXPECT_ERR(EINVAL, tx(self->fd, RDS_CMSG_RDMA_ARGS, &a, 56));
	lvec.addr = (long)page;
	lvec.bytes = 1ULL << 32;
	EXPECT_ERR(EINVAL, tx(self->fd, RDS_CMSG_RDMA_ARGS, &a, 56));
	lvec.bytes = UINT64_MAX;
	EXPECT_ERR(EINVAL, tx(self->fd, RDS_CMSG_RDMA_ARGS, &a, 56));
	/* memory that is not there */
	lvec.addr = 4096;
	lvec.bytes = 4096;
	EXPECT_ERR(EFAULT, tx(self->fd, RDS_CMSG_RDMA_ARGS, &a, 56));
}

/* Two RDMA_ARGS: their bytes are summed, then the second is one too many. */
TEST_F(rdma, cmsg_args__twice)
{
	struct rds_rdma_args a = rdma_args(1, 4096);
	struct ctl c = {};

	ctl_add(&c, SOL_RDS, RDS_CMSG_RDMA_ARGS, &a, 56);
	ctl_add(&c, SOL_RDS, RDS_CMSG_RDMA_ARGS, &a, 56);
	EXPECT_ERR(EINVAL, send_ctl(self->fd, NULL, 0, "x", 1, 0, c.buf, c.len));
	a.remote_vec.bytes = 600000;
	c.len = 0;
	ctl_add(&c, SOL_RDS, RDS_CMSG_RDMA_ARGS, &a, 56);
	ctl_add(&c, SOL_RDS, RDS_CMSG_RDMA_ARGS, &a, 56);
	EXPECT_ERR(EMSGSIZE, send_ctl(self->fd, NULL, 0, "x", 1, 0, c.buf, c.len));
}

/* Atomics: EOPNOTSUPP; short EINVAL; bad local address EFAULT (E9). */
TEST_F(rdma, cmsg_atomic__unsupported)
{
	struct rds_atomic_args a = { .cookie = 1, .local_addr = (long)page };
	int type, l;

	for (type = RDS_CMSG_ATOMIC_FADD; type <= RDS_CMSG_MASKED_ATOMIC_CSWP; type++) {
		a.local_addr = (long)page;
		EXPECT_ERR(EOPNOTSUPP, tx(self->fd, type, &a, 72));
		for (l = 0; l < 72; l += 8)
			EXPECT_ERR(EINVAL, tx(self->fd, type, &a, l));
		EXPECT_ERR(EINVAL, tx(self->fd, type, &a, 71));
		a.local_addr = (long)page + 4;
		EXPECT_ERR(EFAULT, tx(self->fd, type, &a, 72));
		a.local_addr = 8;
		EXPECT_ERR(EFAULT, tx(self->fd, type, &a, 72));
	}
}

/* None of the refused messages was sent, and the socket still works. */
TEST_F(rdma, refused_messages__leave_nothing)
{
	struct rds_rdma_args a = rdma_args(1, 4096);
	struct rds_atomic_args at = { .cookie = 1, .local_addr = (long)page };
	struct rlimit rl = { 65536, 65536 };
	char b[8];
	int i;

	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &rl));
	for (i = 0; i < 200; i++) {
		EXPECT_ERR(EOPNOTSUPP, tx(self->fd, RDS_CMSG_RDMA_ARGS, &a, 56));
		EXPECT_ERR(EOPNOTSUPP, tx(self->fd, RDS_CMSG_ATOMIC_FADD, &at, 72));
	}
	EXPECT_EQ(POLLOUT, poll_for(self->fd, POLLOUT, 0));
	EXPECT_EQ(2, send(self->fd, "ok", 2, 0));
	EXPECT_EQ(2, recv_wait(self->fd, b, sizeof(b)));
	EXPECT_EQ(0, memcmp(b, "ok", 2));
	EXPECT_EQ(-1, recv(self->fd, b, 8, MSG_DONTWAIT));
}

/* Before bind: options say ENOTCONN, FREE_MR EINVAL, messages ENOTCONN (E3). */
TEST(rdma__unbound)
{
	struct rds_get_mr_args a = mr_args();
	struct rds_get_mr_for_dest_args d = mr_dest_args();
	struct rds_free_mr_args f = {};
	int fd, i;

	SETUP_LOCAL();
	for (i = 0; i < 2; i++) {
		fd = rds_socket();
		if (i)
			ASSERT_EQ(0, set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, 2));
		EXPECT_ERR(ENOTCONN, setsockopt(fd, SOL_RDS, RDS_GET_MR, &a, 32));
		EXPECT_ERR(ENOTCONN, setsockopt(fd, SOL_RDS, RDS_GET_MR_FOR_DEST,
						&d, 160));
		EXPECT_ERR(EINVAL, setsockopt(fd, SOL_RDS, RDS_FREE_MR, &f, 16));
		ASSERT_EQ(0, rds_connect(fd, "10.9.0.1", 9));
		EXPECT_ERR(ENOTCONN, tx(fd, RDS_CMSG_RDMA_MAP, &a, 32));
	}
}

TEST_HARNESS_MAIN
