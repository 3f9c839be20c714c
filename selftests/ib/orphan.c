// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init timeout=60 ref=0 */
/*
 * Over verbs, too, what sendmsg() has accepted arrives although the socket is closed at once or
 * its program ends; operations and the memory of the program do not stay behind.
 */
#include "rxe.h"

#define PORT	6000
#define TO	6001

static char buf[65536];

static bool got(int fd, int nr)
{
	return recv_wait(fd, buf, sizeof(buf)) == 4 + nr % 9000 && !memcmp(buf, &nr, 4);
}

static int put(int fd, const char *addr, int nr)
{
	memcpy(buf, &nr, 4);
	return send_to(fd, addr, TO, buf, 4 + nr % 9000, 0) == 4 + nr % 9000 ? 0 : -1;
}

FIXTURE(orphan)
{
	int b;
};

FIXTURE_VARIANT(orphan)
{
	const char *aaddr, *baddr;
};

FIXTURE_VARIANT_ADD(orphan, ipv4)
{
	.aaddr = A4, .baddr = B4,
};

FIXTURE_VARIANT_ADD(orphan, ipv6)
{
	.aaddr = A6, .baddr = B6,
};

FIXTURE_VARIANT_ADD(orphan, itself)
{
	.aaddr = A4, .baddr = A4,
};

FIXTURE_SETUP(orphan)
{
	self->b = rds_bound(variant->baddr, TO);
	ASSERT_FD(self->b);
}

FIXTURE_TEARDOWN(orphan)
{
	close(self->b);
}

TEST_F(orphan, send_and_close)
{
	int i, fd;

	for (i = 0; i < 30; i++) {
		fd = rds_bound(variant->aaddr, PORT);
		ASSERT_FD(fd);
		ASSERT_EQ(0, put(fd, variant->baddr, i * 997));
		ASSERT_EQ(0, close(fd));
		EXPECT_TRUE(got(self->b, i * 997));
	}
}

TEST_F(orphan, send_and_exit)
{
	int i, round;
	pid_t pid;

	for (round = 0; round < 5; round++) {
		pid = fork();
		if (!pid) {
			int fd = rds_bound(variant->aaddr, PORT);

			for (i = 0; i < 20; i++)
				if (put(fd, variant->baddr, i * 997))
					_exit(1);
			_exit(0);
		}
		ASSERT_EQ(0, reap(pid));
		for (i = 0; i < 20; i++)
			ASSERT_TRUE(got(self->b, i * 997));
	}
	EXPECT_EQ(-1, recv(self->b, buf, 4, MSG_DONTWAIT));
}

TEST_HARNESS_MAIN
