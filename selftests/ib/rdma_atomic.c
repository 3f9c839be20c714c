// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init timeout=300 ref=0 lanes=uml */
/*
 * Atomic operations: values, addresses, masks that a device has not, contention, and at most once
 * across reconnects.
 */
#define ALL_VARIANTS
#include "rdma.h"

static ssize_t atomic(int fd, int type, struct rds_atomic_args a, const void *msg, size_t len)
{
	return send_cmsg(fd, NULL, 0, msg, len, 0, type, &a, sizeof(a));
}

static struct rds_atomic_args fadd(__u64 cookie, __u64 raddr, __u64 *old, __u64 add, __u64 flags)
{
	return (struct rds_atomic_args){
		.cookie = cookie, .remote_addr = raddr, .local_addr = (long)old,
		.fadd.add = add, .flags = flags, .user_token = add,
	};
}

static struct rds_atomic_args cswp(__u64 cookie, __u64 raddr, __u64 *old, __u64 cmp, __u64 swp)
{
	return (struct rds_atomic_args){
		.cookie = cookie, .remote_addr = raddr, .local_addr = (long)old,
		.cswp = { cmp, swp }, .flags = N, .user_token = swp,
	};
}

TEST_F(rdma, fadd__values)
{
	__u64 *word = (__u64 *)(self->dst + 4088), *old = (__u64 *)(self->src + 8), c, t, i;
	static const __u64 adds[] = { 1, 0, 0xffffffff, 1ULL << 63, -1ULL, 5 };
	__s64 n = counter(self->a, "ib_atomic_fadd");
	__u64 want = 7;
	char m[4];

	ASSERT_EQ(0, get_mr(self->b, word, 8, 0, &c));
	*word = want;
	for (i = 0; i < ARRAY_SIZE(adds); i++) {
		*old = -1;
		ASSERT_EQ(1, atomic(self->a, RDS_CMSG_ATOMIC_FADD, fadd(c, 0, old, adds[i], N),
				    "a", 1));
		ASSERT_EQ(0, next_note(self->a, &t));
		EXPECT_EQ(adds[i], t);
		EXPECT_EQ(want, *old);
		want += adds[i];
		EXPECT_EQ(want, *word);
		ASSERT_EQ(1, recv_wait(self->b, m, 4));
	}
	EXPECT_EQ(n + i, counter(self->a, "ib_atomic_fadd"));
	/* silent */
	ASSERT_EQ(0, atomic(self->a, RDS_CMSG_ATOMIC_FADD, fadd(c, 0, old, 3, N | RDS_RDMA_SILENT),
			    NULL, 0));
	ASSERT_EQ(0, next_note(self->a, &t));
	EXPECT_EQ(want + 3, *word);
	EXPECT_TRUE(all_acked(self->a));
	EXPECT_TRUE(quiet(self->b));
}

TEST_F(rdma, cswp__values)
{
	__u64 *word = (__u64 *)(self->dst + 16), *old = (__u64 *)self->src, c, t;
	char m[4];

	ASSERT_EQ(0, get_mr(self->b, self->dst, 4096, 0, &c));
	*word = 100;
	ASSERT_EQ(1, atomic(self->a, RDS_CMSG_ATOMIC_CSWP, cswp(c, 16, old, 99, 5), "a", 1));
	ASSERT_EQ(0, next_note(self->a, &t));
	EXPECT_EQ(5, t);
	EXPECT_EQ(100, *old);
	EXPECT_EQ(100, *word);
	ASSERT_EQ(1, atomic(self->a, RDS_CMSG_ATOMIC_CSWP, cswp(c, 16, old, 100, -5), "a", 1));
	ASSERT_EQ(0, next_note(self->a, &t));
	EXPECT_EQ(100, *old);
	EXPECT_EQ(-5, *word);
	ASSERT_EQ(1, recv_wait(self->b, m, 4));
	ASSERT_EQ(1, recv_wait(self->b, m, 4));
	EXPECT_EQ(0, self->dst[8]);
	EXPECT_EQ(0, self->dst[24]);
}

/* Masks that mask nothing are no masks; others rxe has not, which is said at once. */
TEST_F(rdma, masked__as_the_device_can)
{
	__u64 *word = (__u64 *)self->dst, *old = (__u64 *)self->src, c;
	struct rds_atomic_args a;
	int i;

	ASSERT_EQ(0, get_mr(self->b, self->dst, 4096, 0, &c));
	*word = 10;
	a = fadd(c, 0, old, 5, N);
	ASSERT_EQ(1, atomic(self->a, RDS_CMSG_MASKED_ATOMIC_FADD, a, "a", 1));
	ASSERT_EQ(0, next_note(self->a, NULL));
	EXPECT_EQ(15, *word);
	a.m_fadd.nocarry_mask = 1;
	for (i = 0; i < 100; i++)
		ASSERT_EQ(EOPNOTSUPP,
			  ERR_OF(atomic(self->a, RDS_CMSG_MASKED_ATOMIC_FADD, a, "a", 1)));
	a = cswp(c, 0, old, 15, 16);
	a.m_cswp.compare_mask = -1;
	a.m_cswp.swap_mask = -1;
	ASSERT_EQ(1, atomic(self->a, RDS_CMSG_MASKED_ATOMIC_CSWP, a, "a", 1));
	ASSERT_EQ(0, next_note(self->a, NULL));
	EXPECT_EQ(16, *word);
	a.m_cswp.swap_mask = -2;
	EXPECT_ERR(EOPNOTSUPP, atomic(self->a, RDS_CMSG_MASKED_ATOMIC_CSWP, a, "a", 1));
	a.m_cswp.swap_mask = -1;
	a.m_cswp.compare_mask = 0;
	EXPECT_ERR(EOPNOTSUPP, atomic(self->a, RDS_CMSG_MASKED_ATOMIC_CSWP, a, "a", 1));
	/* the connection goes on */
	ASSERT_EQ(1, atomic(self->a, RDS_CMSG_ATOMIC_FADD, fadd(c, 0, old, 1, N), "a", 1));
	ASSERT_EQ(0, next_note(self->a, NULL));
	EXPECT_EQ(17, *word);
}

TEST_F(rdma, atomic__bad_addresses)
{
	__u64 *old = (__u64 *)self->src, c;
	int type;

	ASSERT_EQ(0, get_mr(self->b, self->dst, 4096, 0, &c));
	for (type = RDS_CMSG_ATOMIC_FADD; type <= RDS_CMSG_MASKED_ATOMIC_CSWP; type++) {
		struct rds_atomic_args a = fadd(c, 0, (__u64 *)(self->src + 4), 1, N);

		EXPECT_ERR(EFAULT, atomic(self->a, type, a, "a", 1));
		a.local_addr = 8;
		EXPECT_ERR(EFAULT, atomic(self->a, type, a, "a", 1));
		a.local_addr = -8;
		EXPECT_ERR(EFAULT, atomic(self->a, type, a, "a", 1));
	}
	/* the peer's: not aligned, outside, no such key */
	EXPECT_EQ(1, atomic(self->a, RDS_CMSG_ATOMIC_FADD, fadd(c, 4, old, 1, N), "a", 1));
	EXPECT_EQ(RDS_RDMA_OTHER_ERROR, next_note(self->a, NULL));
	EXPECT_EQ(1, atomic(self->a, RDS_CMSG_ATOMIC_FADD, fadd(c, 4096, old, 1, N), "a", 1));
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, next_note(self->a, NULL));
	EXPECT_EQ(1, atomic(self->a, RDS_CMSG_ATOMIC_CSWP, cswp(c ^ 1, 0, old, 0, 1), "a", 1));
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, next_note(self->a, NULL));
	EXPECT_TRUE(all_acked(self->a));
	EXPECT_TRUE(quiet(self->b));
	EXPECT_TRUE(all(self->dst, 4096, 0));
}

/* A transfer and an atomic in one message: in this order, told one after the other. */
TEST_F(rdma, both__one_message)
{
	struct rds_iovec v = { (long)self->src, 5000 };
	__u64 *old = (__u64 *)(self->src + MIB), c, t;
	struct rds_rdma_args r = {
		.remote_vec = { 0, 5000 }, .local_vec_addr = (long)&v, .nr_local = 1,
		.flags = W | N, .user_token = 1,
	};
	struct rds_atomic_args a;
	struct ctl ctl;
	char m[4];
	int i;

	ASSERT_EQ(0, get_mr(self->b, self->dst, 8192, 0, &c));
	r.cookie = c;
	for (i = 0; i < 40; i++) {
		memset(self->src, i + 1, 5000);
		/* it adds to what the transfer has just written */
		a = fadd(c, 8, old, 2, N);
		ctl.len = 0;
		if (i % 2) {
			ctl_add(&ctl, SOL_RDS, RDS_CMSG_RDMA_ARGS, &r, sizeof(r));
			ctl_add(&ctl, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &a, sizeof(a));
		} else {
			ctl_add(&ctl, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &a, sizeof(a));
			ctl_add(&ctl, SOL_RDS, RDS_CMSG_RDMA_ARGS, &r, sizeof(r));
		}
		ASSERT_EQ(1, send_ctl(self->a, NULL, 0, "b", 1, 0, ctl.buf, ctl.len));
		ASSERT_EQ(0, next_note(self->a, &t));
		EXPECT_EQ(1, t);
		ASSERT_EQ(0, next_note(self->a, &t));
		EXPECT_EQ(2, t);
		ASSERT_EQ(1, recv_wait(self->b, m, 4));
		EXPECT_EQ(*(__u64 *)self->src, *old);
		EXPECT_EQ(*old + 2, *(__u64 *)(self->dst + 8));
	}
	/* the transfer is done, the atomic is refused: one is told of each, the message is lost */
	a = fadd(c, 8192, old, 2, N);
	ctl.len = 0;
	ctl_add(&ctl, SOL_RDS, RDS_CMSG_RDMA_ARGS, &r, sizeof(r));
	ctl_add(&ctl, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &a, sizeof(a));
	ASSERT_EQ(1, send_ctl(self->a, NULL, 0, "b", 1, 0, ctl.buf, ctl.len));
	ASSERT_EQ(RDS_RDMA_SUCCESS, next_note(self->a, &t));
	ASSERT_EQ(RDS_RDMA_REMOTE_ERROR, next_note(self->a, &t));
	EXPECT_EQ(2, t);
	EXPECT_TRUE(all_acked(self->a));
	EXPECT_TRUE(quiet(self->b));
}

/* The peer is not told only if all that is in the message is silent. */
TEST_F(rdma, both__silent)
{
	struct rds_iovec v = { (long)self->src, 100 };
	struct rds_rdma_args r = {
		.remote_vec = { 0, 100 }, .local_vec_addr = (long)&v, .nr_local = 1,
	};
	struct rds_atomic_args a;
	struct ctl ctl;
	char m[4];
	__u64 c;
	int i;

	ASSERT_EQ(0, get_mr(self->b, self->dst, 8192, 0, &c));
	r.cookie = c;
	for (i = 0; i < 8; i++) {
		r.flags = W | N | (i & 1 ? RDS_RDMA_SILENT : 0);
		a = fadd(c, 800, (__u64 *)(self->src + PG), 1, i & 2 ? RDS_RDMA_SILENT : 0);
		ctl.len = 0;
		if (i & 4)
			ctl_add(&ctl, SOL_RDS, RDS_CMSG_RDMA_ARGS, &r, sizeof(r));
		ctl_add(&ctl, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &a, sizeof(a));
		if (!(i & 4))
			ctl_add(&ctl, SOL_RDS, RDS_CMSG_RDMA_ARGS, &r, sizeof(r));
		ASSERT_EQ(0, send_ctl(self->a, NULL, 0, NULL, 0, 0, ctl.buf, ctl.len));
		ASSERT_EQ(0, next_note(self->a, NULL));
		EXPECT_TRUE(all_acked(self->a));
		EXPECT_EQ((i & 3) == 3 ? -1 : 0, recv(self->b, m, 4, MSG_DONTWAIT));
	}
	EXPECT_EQ(8, *(__u64 *)(self->dst + 800));
}

#define ADDERS	4
#define ADDS	400

struct adder {
	const char *from, *to;
	__u64 cookie;
	int nr;
};

static int add_many(void *arg)
{
	struct adder *x = arg;
	__u64 *old = (__u64 *)pages(PG), seen = 0, t;
	int fd = rds_bound(x->from, 5100 + x->nr), i, status;

	if (fd < 0 || rds_connect(fd, x->to, PORT_B))
		return 1;
	for (i = 0; i < ADDS; i++) {
		if (atomic(fd, RDS_CMSG_ATOMIC_FADD,
			   fadd(x->cookie, 0, old, 1, N | RDS_RDMA_SILENT), NULL, 0))
			return 2;
		status = next_note(fd, &t);
		if (status) {
			printf("# program %d, addition %d: status %d, errno %d\n", x->nr, i, status,
			       errno);
			return 3;
		}
		/* each sees a later value than before */
		if (i && *old <= seen)
			return 4;
		seen = *old;
	}
	return 0;
}

/* Several programs add to one word: nothing is lost. */
TEST_F_TIMEOUT(rdma, fadd__contention, 100)
{
	pid_t pid[ADDERS];
	struct adder x = { variant->aaddr, variant->baddr };
	int i;

	self->dst = mmap(NULL, PG, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*(__u64 *)self->dst = 0;
	ASSERT_EQ(0, get_mr(self->b, self->dst, 8, 0, &x.cookie));
	for (i = 0; i < ADDERS; i++) {
		x.nr = i;
		pid[i] = spawn(add_many, &x);
	}
	for (i = 0; i < ADDERS; i++)
		EXPECT_EQ(0, reap(pid[i]));
	EXPECT_EQ(ADDERS * ADDS, *(__u64 *)self->dst);
}

/*
 * The link breaks again and again: an addition that was told done was done once, and its message
 * came; none was done twice.
 */
TEST_F_TIMEOUT(rdma, fadd__at_most_once, 250)
{
	int round, i, s, status[5] = {}, got = 0;
	__u64 *old = (__u64 *)self->src, c, t;
	__u64 *word = (__u64 *)self->dst;
	char m[8];

	for (round = 0; round < 6; round++) {
		ASSERT_EQ(0, get_mr(self->b, word, 8, 0, &c));
		for (i = 0; i < 60; i++) {
			ASSERT_EQ(1, atomic(self->a, RDS_CMSG_ATOMIC_FADD,
					    fadd(c, 0, old + i, 1, N), "m", 1));
			/* a key that is not there breaks the link in the midst of others */
			if (i == 30 + round * 2)
				ASSERT_EQ(1, atomic(self->a, RDS_CMSG_ATOMIC_FADD,
						    fadd(c ^ 1, 0, old + i, 1, 0), "m", 1));
		}
		for (i = 0; i < 60; i++) {
			s = next_note(self->a, &t);
			ASSERT_LE(0, s);
			ASSERT_GE(4, s);
			status[s]++;
		}
		EXPECT_TRUE(all_acked(self->a));
		while (recv(self->b, m, 8, MSG_DONTWAIT) == 1)
			got++;
		ASSERT_EQ(0, free_mr(self->b, c, RDS_RDMA_INVALIDATE));
	}
	TH_LOG("%d done, %d dropped, %d other, sum %llu", status[0], status[3], status[4], *word);
	EXPECT_EQ(360, status[0] + status[3] + status[4]);
	EXPECT_LE(status[0], *word);
	EXPECT_GE(status[0] + status[3] + status[4], *word);
	/* dropped is: nobody knows.  But what arrived was done, each once */
	EXPECT_LE(status[0], got);
	EXPECT_GE(*word, got);
	EXPECT_LT(0, status[3]);
}

TEST_HARNESS_MAIN
