// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init timeout=120 ref=0 lanes=uml */
/*
 * Memory regions by socket option, without a connection: sizes, limits, errnos, what is pinned
 * and charged and when it no longer is, devices that go and come.
 */
#include "rxe.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#define NOBODY	65534

FIXTURE(mr)
{
	int fd;
	char *mem;	/* 4 MiB */
	long pinned;
};

FIXTURE_SETUP(mr)
{
	self->fd = rds_bound(A4, 5000);
	ASSERT_FD(self->fd);
	ASSERT_EQ(RDS_TRANS_IB, get_int(self->fd, SOL_RDS, SO_RDS_TRANSPORT));
	self->mem = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	memset(self->mem, 1, 4 * MIB);
	self->pinned = pinned();
}

FIXTURE_TEARDOWN(mr)
{
	close(self->fd);
	EXPECT_EQ(self->pinned, pinned());
}

/* A program may ask for RDMA before it binds: nothing to flush is no error, an unknown key is. */
TEST_F(mr, free_mr__unbound)
{
	int fd = rds_socket();

	EXPECT_ERR(EINVAL, free_mr(fd, 0, 0));
	ASSERT_EQ(0, set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_IB));
	EXPECT_EQ(0, free_mr(fd, 0, 0));
	EXPECT_ERR(EINVAL, free_mr(fd, 1, 0));
	close(fd);
}

/* Every size class at every kind of alignment: the cookie has the offset, the pages are pinned. */
TEST_F(mr, get_mr__sizes_and_offsets)
{
	static const unsigned long sizes[] = {
		1, 8, 2048, 4095, 4096, 4097, 8191, 8192, 8193, 65536, MIB - 1, MIB,
	};
	static const unsigned long offs[] = { 0, 1, 7, 8, 2048, 4095 };
	unsigned long i, j, pages;
	__u64 c;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (j = 0; j < ARRAY_SIZE(offs); j++) {
			c = 0;
			pages = (offs[j] + sizes[i] + PG - 1) / PG;
			ASSERT_EQ(0, get_mr(self->fd, self->mem + offs[j], sizes[i], 0, &c));
			EXPECT_EQ(offs[j], c >> 32);
			EXPECT_NE(0, (__u32)c);
			EXPECT_EQ(self->pinned + pages, pinned());
			EXPECT_EQ(0, free_mr(self->fd, c, RDS_RDMA_INVALIDATE));
			/* it waits for the device, so everything is given back */
			EXPECT_EQ(self->pinned, pinned());
			EXPECT_ERR(EINVAL, free_mr(self->fd, c, 0));
		}
	}
}

/* Many at a time, all keys different; an invalidating free of the last waits for it only. */
TEST_F(mr, get_mr__many)
{
	__u64 c[512];
	int i, j;

	for (i = 0; i < 512; i++) {
		ASSERT_EQ(0, get_mr(self->fd, self->mem + i * PG, 1 + i * 7, 0, &c[i]));
		for (j = 0; j < i; j++)
			ASSERT_NE((__u32)c[i], (__u32)c[j]);
	}
	for (i = 0; i < 511; i++)
		ASSERT_EQ(0, free_mr(self->fd, c[i], 0));
	ASSERT_EQ(0, free_mr(self->fd, c[i], RDS_RDMA_INVALIDATE));
	EXPECT_EQ(self->pinned, pinned());
}

/* The errnos, in the order of the checks. */
TEST_F(mr, get_mr__limits)
{
	char *ro = mmap(NULL, PG, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u64 c = 0;

	ASSERT_NE(MAP_FAILED, ro);
	EXPECT_ERR(EINVAL, get_mr(self->fd, self->mem, 0, 0, &c));
	EXPECT_ERR(EINVAL, get_mr(self->fd, self->mem, 1ULL << 32, 0, &c));
	EXPECT_ERR(EMSGSIZE, get_mr(self->fd, self->mem, 0xffffffff, 0, &c));
	EXPECT_ERR(EINVAL, get_mr(self->fd, self->mem, -1, 0, &c));
	EXPECT_ERR(EINVAL, get_mr(self->fd, (void *)-1000, 1001, 0, &c));
	EXPECT_ERR(EINVAL, get_mr(self->fd, (void *)-1000, 900, 0, &c));
	/* 257 pages, not more */
	EXPECT_ERR(EMSGSIZE, get_mr(self->fd, self->mem, MIB + PG + 1, 0, &c));
	EXPECT_ERR(EMSGSIZE, get_mr(self->fd, self->mem + 1, MIB + PG, 0, &c));
	EXPECT_EQ(0, get_mr(self->fd, self->mem, MIB + PG, 0, &c));
	EXPECT_EQ(self->pinned + 257, pinned());
	EXPECT_EQ(0, free_mr(self->fd, c, RDS_RDMA_INVALIDATE));
	c = 0;
	EXPECT_ERR(EFAULT, get_mr(self->fd, (void *)PG, 100, 0, &c));
	EXPECT_ERR(EFAULT, get_mr(self->fd, ro, 100, 0, &c));
	/* the second page is not there */
	EXPECT_ERR(EFAULT, get_mr(self->fd, guarded(100), 101, 0, &c));
	EXPECT_EQ(0, c);
	/* pinned and registered, but the cookie cannot be stored */
	EXPECT_ERR(EFAULT, get_mr(self->fd, self->mem, 100, 0, BAD_PTR));
	EXPECT_EQ(0, free_mr(self->fd, 0, 0));
	EXPECT_EQ(self->pinned, pinned());
	munmap(ro, PG);
}

TEST_F(mr, get_mr_for_dest__works)
{
	struct rds_get_mr_for_dest_args d = {
		.vec = { (long)self->mem + 5, 1000 }, .flags = RDS_RDMA_USE_ONCE,
	};
	__u64 c = 0;

	d.cookie_addr = (long)&c;
	mkaddr((void *)&d.dest_addr, B4, 5001);
	EXPECT_EQ(0, setsockopt(self->fd, SOL_RDS, RDS_GET_MR_FOR_DEST, &d, sizeof(d)));
	EXPECT_EQ(5, c >> 32);
	EXPECT_EQ(0, free_mr(self->fd, c, 0));
	/* without an address to store it the cookie is lost, and the region the socket's */
	d.cookie_addr = 0;
	EXPECT_EQ(0, setsockopt(self->fd, SOL_RDS, RDS_GET_MR_FOR_DEST, &d, sizeof(d)));
}

/* A key is its socket's; only the low half of the cookie is looked at. */
TEST_F(mr, free_mr__whose_key)
{
	int other = rds_bound(A4, 5001), unbound = rds_socket();
	__u64 c = 0;

	ASSERT_FD(other);
	ASSERT_EQ(0, get_mr(self->fd, self->mem, 100, 0, &c));
	EXPECT_ERR(EINVAL, free_mr(other, c, 0));
	EXPECT_ERR(EINVAL, free_mr(unbound, c, 0));
	EXPECT_ERR(EINVAL, free_mr(unbound, 0, 0));
	EXPECT_ERR(EINVAL, free_mr(self->fd, c ^ 1, 0));
	EXPECT_ERR(EINVAL, free_mr(self->fd, c << 32, 0));
	EXPECT_EQ(0, free_mr(self->fd, c | 0xfULL << 60, 0));
	EXPECT_EQ(0, free_mr(self->fd, 0, 0));
	EXPECT_EQ(0, free_mr(self->fd, 0, RDS_RDMA_INVALIDATE));
	EXPECT_ERR(ENOTCONN, get_mr(unbound, self->mem, 100, 0, &c));
	close(other);
	close(unbound);
}

/* Without the privilege the pages count against RLIMIT_MEMLOCK, until they are freed. */
static int as_nobody(void *arg)
{
	struct rlimit rl = { 16 * PG, 16 * PG };
	__u64 c[20], d;
	char *mem = arg;
	int fd, i;

	if (setrlimit(RLIMIT_MEMLOCK, &rl) || setgid(NOBODY) || setuid(NOBODY))
		return 1;
	fd = rds_bound(A4, 5002);
	if (fd < 0)
		return 2;
	if (ERR_OF(get_mr(fd, mem, MIB, 0, &d)) != ENOMEM)
		return 3;
	for (i = 0; i < 4; i++)
		if (get_mr(fd, mem, 4 * PG, 0, &c[i]))
			return 10 + i;
	if (ERR_OF(get_mr(fd, mem, 1, 0, &d)) != ENOMEM)
		return 4;
	if (free_mr(fd, c[2], RDS_RDMA_INVALIDATE) || get_mr(fd, mem, 4 * PG, 0, &c[2]))
		return 5;
	/* closing gives it all back before it returns */
	close(fd);
	fd = rds_bound(A4, 5002);
	if (fd < 0 || get_mr(fd, mem + 1, 15 * PG, 0, &c[0]))
		return 6;
	rl.rlim_cur = 0;
	rl.rlim_max = 0;
	if (setrlimit(RLIMIT_MEMLOCK, &rl))
		return 7;
	if (ERR_OF(get_mr(fd, mem, 100, 0, &d)) != EPERM)
		return 8;
	/* what wraps is refused before that */
	if (ERR_OF(get_mr(fd, mem, -1, 0, &d)) != EINVAL)
		return 9;
	return 0;
}

TEST_F(mr, get_mr__locked_memory)
{
	EXPECT_EQ(0, reap(spawn(as_nobody, self->mem)));
}

/* Exactly the pages that are pinned count, wherever in them a region begins and ends. */
static int count_exactly(void *arg)
{
	static const struct {
		unsigned long off, len, pages;
	} v[] = {
		{ 0, 1, 1 }, { 4095, 1, 1 }, { 100, 200, 1 }, { 0, PG, 1 }, { 4095, 2, 2 },
		{ 0, PG + 1, 2 }, { 1, PG, 2 }, { 0, 2 * PG, 2 }, { 4095, PG + 1, 2 },
		{ 4095, PG + 2, 3 }, { 1, 2 * PG, 3 }, { 0, 3 * PG, 3 }, { 4095, 3 * PG + 1, 4 },
	};
	struct rlimit rl = { 12 * PG, 12 * PG };
	unsigned long i, n;
	__u64 c[13];
	char *mem = arg;
	int fd;

	if (setrlimit(RLIMIT_MEMLOCK, &rl) || setgid(NOBODY) || setuid(NOBODY))
		return 1;
	fd = rds_bound(A4, 5002);
	if (fd < 0)
		return 2;
	for (i = 0; i < ARRAY_SIZE(v); i++) {
		for (n = 0; n < 13 && !get_mr(fd, mem + v[i].off, v[i].len, 0, &c[n]); n++)
			;
		if (n != 12 / v[i].pages || errno != ENOMEM)
			return 10 + i;
		while (n--)
			if (free_mr(fd, c[n], RDS_RDMA_INVALIDATE))
				return 3;
	}
	return 0;
}

TEST_F(mr, get_mr__locked_memory_exactly)
{
	EXPECT_EQ(0, reap(spawn(count_exactly, self->mem)));
}

/* Closing the socket, or the end of the program, frees what it had. */
static int just_exit(void *arg)
{
	int fd = rds_bound(A4, 5003), i;
	char *mem = arg;
	__u64 c;

	for (i = 0; i < 50; i++)
		if (get_mr(fd, mem + i * 5000, i * 1000 + 1, 0, &c))
			return 1;
	return 0;
}

TEST_F(mr, close__frees_all)
{
	__u64 c;
	int i;

	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, get_mr(self->fd, self->mem + i * 333, i * 20000 + 1, 0, &c));
	EXPECT_LT(self->pinned + 5000, pinned());
	close(self->fd);
	EXPECT_EQ(self->pinned, pinned());
	self->fd = -1;
	EXPECT_EQ(0, reap(spawn(just_exit, self->mem)));
	EXPECT_EQ(self->pinned, pinned());
}

/* Hand a cookie on, to nobody in particular: what sendmsg() says. */
static ssize_t hand_on(int fd, __u64 c)
{
	return send_cmsg(fd, B4, 9, "d", 1, 0, RDS_CMSG_RDMA_DEST, &c, sizeof(c));
}

/* The address is of no device any more, then it is again. */
TEST_F(mr, device__goes_and_comes)
{
	__u64 c, d;

	ASSERT_EQ(0, get_mr(self->fd, self->mem, 5000, 0, &c));
	EXPECT_EQ(1, hand_on(self->fd, c));
	ASSERT_EQ(0, rxe_link_del());
	EXPECT_ERR(ENODEV, get_mr(self->fd, self->mem, 5000, 0, &d));
	/* no peer can use it, and the owner is told */
	EXPECT_ERR(EINVAL, hand_on(self->fd, c));
	ASSERT_EQ(0, rxe_link_add());
	EXPECT_EQ(0, get_mr(self->fd, self->mem, 5000, 0, &d));
	EXPECT_NE(c, d);
	EXPECT_ERR(EINVAL, hand_on(self->fd, c));
	EXPECT_EQ(1, hand_on(self->fd, d));
	/* a dead key is still the socket's to free */
	EXPECT_EQ(0, free_mr(self->fd, c, RDS_RDMA_INVALIDATE));
	EXPECT_EQ(0, free_mr(self->fd, d, RDS_RDMA_INVALIDATE));
	EXPECT_EQ(self->pinned, pinned());
	ASSERT_EQ(0, get_mr(self->fd, self->mem, 5000, 0, &c));
	ASSERT_EQ(0, rxe_link_del());
	/* closed while there is no device */
	close(self->fd);
	EXPECT_EQ(self->pinned, pinned());
	ASSERT_EQ(0, rxe_link_add());
	self->fd = -1;
}

#define MOVING	"10.5.0.7"

static int second_device(void)
{
	return run_cmd("ip link add rdst2 mtu 5000 type veth peer name rdst3 mtu 5000") ||
	       run_cmd("ip link set rdst2 up; ip link set rdst3 up") ||
	       run_cmd("rdma link add rxe_u type rxe netdev rdst2");
}

/*
 * The address goes from one device to another, as in a fail-over: links follow it, regions do not.
 * There the key would be nobody's, or that of somebody else's memory.
 */
TEST_F(mr, address__goes_to_another_device)
{
	__u64 c, kept, d = 0;
	int fd = -1;

	RUN("ip addr add " MOVING "/24 dev rdst0");
	ASSERT_EQ(0, second_device());
	ASSERT_TRUE(WAIT_UNTIL((fd = rds_bound(MOVING, 5001)) >= 0));
	ASSERT_EQ(RDS_TRANS_IB, get_int(fd, SOL_RDS, SO_RDS_TRANSPORT));
	ASSERT_EQ(0, get_mr(fd, self->mem, 5000, 0, &c));
	ASSERT_EQ(0, get_mr(self->fd, self->mem, 5000, 0, &kept));
	/* nowhere for a while is no reason */
	RUN("ip addr del " MOVING "/24 dev rdst0");
	ASSERT_TRUE(WAIT_UNTIL(get_mr(fd, self->mem, 5000, 0, &d) && errno == ENODEV));
	EXPECT_EQ(1, hand_on(fd, c));
	RUN("ip addr add " MOVING "/24 dev rdst2");
	EXPECT_TRUE(WAIT_UNTIL(hand_on(fd, c) < 0 && errno == EINVAL));
	ASSERT_TRUE(WAIT_UNTIL(!get_mr(fd, self->mem, 5000, 0, &d)));
	EXPECT_EQ(1, hand_on(fd, d));
	EXPECT_EQ(1, hand_on(self->fd, kept));
	EXPECT_EQ(0, free_mr(fd, c, RDS_RDMA_INVALIDATE));
	EXPECT_EQ(0, free_mr(fd, d, RDS_RDMA_INVALIDATE));
	EXPECT_EQ(0, free_mr(self->fd, kept, RDS_RDMA_INVALIDATE));
	close(fd);
	RUN("rdma link del rxe_u && ip link del rdst2");
}

/* Objects of the adapter are used again, under another key each time, but not for ever. */
TEST_F(mr, reuse__objects)
{
	__s64 alloc, reused;
	__u64 c, last = 0;
	int i;

	RUN("echo 2 >/sys/module/rds_rdma/parameters/reuse");
	alloc = counter(self->fd, "ib_rdma_mr_8k_alloc");
	reused = counter(self->fd, "ib_rdma_mr_8k_reused");
	for (i = 0; i < 600; i++) {
		ASSERT_EQ(0, get_mr(self->fd, self->mem, 100, 0, &c));
		EXPECT_NE((__u32)last, (__u32)c);
		last = c;
		ASSERT_EQ(0, free_mr(self->fd, c, RDS_RDMA_INVALIDATE));
	}
	alloc = counter(self->fd, "ib_rdma_mr_8k_alloc") - alloc;
	reused = counter(self->fd, "ib_rdma_mr_8k_reused") - reused;
	EXPECT_EQ(600, alloc + reused);
	/* 128 uses each */
	EXPECT_LE(5, alloc);
	EXPECT_GE(6, alloc);
	RUN("echo 1 >/sys/module/rds_rdma/parameters/reuse");
}

#define NEIGHBOURS	64

static bool is_key(const __u64 *c, __u32 key)
{
	int i;

	for (i = 0; i < NEIGHBOURS; i++)
		if ((__u32)c[i] == key)
			return true;
	return false;
}

static bool same_object(__u64 a, __u64 b)
{
	return !((a ^ b) & 0xffffff00);
}

/* The key of the same object, or 0. */
static __u64 key_of_object(const __u64 *c, __u64 key)
{
	int i;

	for (i = 0; i < NEIGHBOURS; i++)
		if (same_object(c[i], key))
			return c[i];
	return 0;
}

/*
 * Who was given keys of regions that are gone cannot tell that of the one which their object
 * serves next: some distance, the same for all, would be it, or that of the two before.
 */
TEST_F(mr, reuse__keys_cannot_be_told)
{
	__u64 older[NEIGHBOURS], old[NEIGHBOURS], new[NEIGHBOURS], *keys[] = { older, old, new };
	int i, d, hits, pairs, most = 0;
	__u64 before;

	RUN("echo 2 >/sys/module/rds_rdma/parameters/reuse");
	for (d = 0; d < 3; d++) {
		for (i = 0; d && i < NEIGHBOURS; i++)
			ASSERT_EQ(0, free_mr(self->fd, keys[d - 1][i], RDS_RDMA_INVALIDATE));
		for (i = 0; i < NEIGHBOURS; i++)
			ASSERT_EQ(0, get_mr(self->fd, self->mem, 100, 0, &keys[d][i]));
	}
	for (d = 1; d < 256; d++) {
		for (i = 0, hits = 0; i < NEIGHBOURS; i++)
			hits += is_key(new, (old[i] & 0xffffff00) | ((old[i] + d) & 0xff));
		if (hits > most)
			most = hits;
	}
	TH_LOG("the best guess is right for %d of %d", most, NEIGHBOURS);
	for (i = 0, hits = 0, pairs = 0; i < NEIGHBOURS; i++) {
		before = key_of_object(older, old[i]);
		if (!before || !key_of_object(new, old[i]))
			continue;
		pairs++;
		hits += is_key(new, (old[i] & 0xffffff00) | ((2 * old[i] - before) & 0xff));
	}
	TH_LOG("of two keys: %d of %d", hits, pairs);
	EXPECT_LT(NEIGHBOURS / 2, pairs);
	EXPECT_GE(8, hits);
	/* by chance 1 in 128; more than 8 of 64 for any of the 128 is one run in 4 million */
	EXPECT_GE(8, most);
	for (i = 0; i < NEIGHBOURS; i++)
		EXPECT_EQ(0, free_mr(self->fd, new[i], 0));
	RUN("echo 1 >/sys/module/rds_rdma/parameters/reuse");
	EXPECT_EQ(0, free_mr(self->fd, 0, 0));
}

TEST_HARNESS_MAIN
