// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init timeout=120 ref=0 lanes=uml */
/*
 * Pools of regions, made small by module parameters: what is full says so, is counted, and has
 * room again when something was freed, also if nobody waited for that.  However many one user has
 * there are some for another one, and for the administrator.
 */
#include "rxe.h"

FIXTURE(pool)
{
	int fd;
	char *mem;
};

static int reload(const char *params)
{
	return run_cmd("rdma link del rxe_t; rmmod rds_rdma && modprobe rds_rdma %s", params) ||
	       rxe_link_add();
}

FIXTURE_SETUP(pool)
{
	ASSERT_EQ(0, reload("rds_ib_mr_1m_pool_size=2 rds_ib_mr_8k_pool_size=3"));
	self->fd = rds_bound(A4, 5000);
	ASSERT_FD(self->fd);
	self->mem = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
}

FIXTURE_TEARDOWN(pool)
{
	close(self->fd);
	EXPECT_EQ(0, reload(""));
}

static void until_full(struct __test_metadata *_metadata, int fd, char *mem, unsigned long size,
		       int max, const char *depleted)
{
	__u64 c[4], more;
	int i, round;
	__s64 before;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < max; i++)
			ASSERT_EQ(0, get_mr(fd, mem, size, 0, &c[i]));
		before = counter(fd, depleted);
		EXPECT_ERR(EAGAIN, get_mr(fd, mem, size, 0, &more));
		EXPECT_ERR(EAGAIN, get_mr(fd, mem, size, 0, &more));
		EXPECT_EQ(before + 2, counter(fd, depleted));
		/* freed, but nobody has waited: the next one does */
		ASSERT_EQ(0, free_mr(fd, c[0], 0));
		ASSERT_EQ(0, get_mr(fd, mem, size, 0, &c[0]));
		EXPECT_ERR(EAGAIN, get_mr(fd, mem, size, 0, &more));
		for (i = 0; i < max; i++)
			ASSERT_EQ(0, free_mr(fd, c[i], 0));
	}
}

TEST_F(pool, large__full)
{
	until_full(_metadata, self->fd, self->mem, 3 * PG, 2, "ib_rdma_mr_1m_pool_depleted");
}

TEST_F(pool, small__full)
{
	until_full(_metadata, self->fd, self->mem, 100, 3, "ib_rdma_mr_8k_pool_depleted");
}

/* The two sizes do not compete. */
TEST_F(pool, both__apart)
{
	__u64 c;
	int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, get_mr(self->fd, self->mem, MIB, 0, &c));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, get_mr(self->fd, self->mem, 2 * PG, 0, &c));
	EXPECT_ERR(EAGAIN, get_mr(self->fd, self->mem, MIB, 0, &c));
	EXPECT_ERR(EAGAIN, get_mr(self->fd, self->mem, 1, 0, &c));
}

/* ---- shares ------------------------------------------------------------------------ */

#define SHARED	16

FIXTURE(shares)
{
	char *mem;
};

FIXTURE_SETUP(shares)
{
	ASSERT_EQ(0, reload("rds_ib_mr_1m_pool_size=16 rds_ib_mr_8k_pool_size=16"));
	self->mem = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->mem);
}

FIXTURE_TEARDOWN(shares)
{
	EXPECT_EQ(0, reload(""));
}

/*
 * A process that takes as many regions as it gets, and one that it gives back and takes again;
 * then it sleeps.  Their number, or -1.
 */
static int taker(int uid, char *mem, unsigned long size, pid_t *pid)
{
	int fd, n = -1, told[2];
	__u64 c, last = 0;

	if (pipe(told))
		return -1;
	*pid = fork();
	if (!*pid) {
		if (uid && (setgid(uid) || setuid(uid)))
			_exit(1);
		fd = rds_bound(A4, 0);
		for (n = 0; !get_mr(fd, mem, size, 0, &c); n++)
			last = c;
		if (errno != EAGAIN)
			n = -2;
		if (n > 0 && (free_mr(fd, last, 0) || get_mr(fd, mem, size, 0, &c)))
			n = -3;
		if (write(told[1], &n, sizeof(n)) != sizeof(n))
			_exit(2);
		pause();
		_exit(0);
	}
	close(told[1]);
	if (read(told[0], &n, sizeof(n)) != sizeof(n))
		n = -1;
	close(told[0]);
	return n;
}

static void shared(struct __test_metadata *_metadata, char *mem, unsigned long size)
{
	static const struct { int uid, has; } who[] = {
		{ 1001, 7 }, { 1002, 4 }, { 1003, 2 }, { 0, 3 },
	};
	pid_t pid[4];
	int i;

	for (i = 0; i < 4; i++)
		EXPECT_EQ(who[i].has, taker(who[i].uid, mem, size, &pid[i]));
	/* what the first one had is free with its program */
	kill(pid[0], SIGKILL);
	waitpid(pid[0], NULL, 0);
	EXPECT_LT(0, taker(1004, mem, size, &pid[0]));
	for (i = 0; i < 4; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	/* and all of it is the administrator's if nobody else wants any */
	EXPECT_EQ(SHARED, taker(0, mem, size, &pid[0]));
	kill(pid[0], SIGKILL);
	waitpid(pid[0], NULL, 0);
}

TEST_F(shares, large__of_users)
{
	shared(_metadata, self->mem, 3 * PG);
}

TEST_F(shares, small__of_users)
{
	shared(_metadata, self->mem, 100);
}

TEST_HARNESS_MAIN
