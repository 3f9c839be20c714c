// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 ref=0 lanes=uml */
/* Messages that cost memory but carry nothing: bounded all the same (K1, K2). */
#include "rds_duo.h"

/* What empty messages may cost before the port is congested, and at least cost each. */
#define LIMIT (1 << 20)
#define COST 16

#define BATCH 256
#define PACE 4096

static struct mmsghdr *batch(size_t len)
{
	static struct mmsghdr m[BATCH];
	static struct iovec iov;
	static char c[16];
	int i;

	iov = (struct iovec){ c, len };
	for (i = 0; i < BATCH; i++)
		m[i].msg_hdr = (struct msghdr){ .msg_iov = &iov, .msg_iovlen = 1 };
	return m;
}

/*
 * Sends until congestion, at most @max messages: how many were taken.  The bit has the time to
 * come back, or on a busy machine any number is on its way by then.
 */
static int fill(int fd, size_t len, int max)
{
	__s64 end = now_ms() + 60000;
	int n = 0, got;

	while (n < max && now_ms() < end) {
		got = sendmmsg(fd, batch(len), BATCH, MSG_DONTWAIT);
		if (got < 0 && errno == ENOBUFS)
			break;
		if (got < 0)
			poll_for(fd, POLLOUT, 100);
		else
			n += got;
		if (got > 0 && n / PACE != (n - got) / PACE && !all_acked(fd))
			return -1;
	}
	return n;
}

/* Reads @want messages, and any there are beyond: how many. */
static int drain(int fd, int want)
{
	__s64 end = now_ms() + 30000;
	int n = 0, got;

	for (;;) {
		got = recvmmsg(fd, batch(16), BATCH, MSG_DONTWAIT, NULL);
		n += got > 0 ? got : 0;
		if (got <= 0 && (n >= want || now_ms() > end))
			return n;
		if (got <= 0)
			poll_for(fd, POLLIN, 100);
	}
}

/* Empty messages never fill a buffer of bytes: what they cost is the limit (K2). */
TEST_F_TIMEOUT(duo, many_small__empty_messages, 100)
{
	int n, got;

	/* a sanitizer kernel is slow */
	if (strcmp(variant->aaddr, "10.1.0.1"))
		SKIP(_exit(KSFT_SKIP), "tried on one of five ways");
	n = fill(self->a, 0, 2 * LIMIT / COST);
	TH_LOG("%d empty messages were taken", n);
	EXPECT_LE(1000, n);
	/* what was on its way when the bit was set is still let in */
	EXPECT_GT(LIMIT / COST, n);
	EXPECT_ERR(ENOBUFS, send(self->a, NULL, 0, MSG_DONTWAIT));
	got = drain(self->b, n);
	EXPECT_EQ(n, got);
	/* and there is room again */
	EXPECT_TRUE(WAIT_UNTIL(!send(self->a, NULL, 0, MSG_DONTWAIT)));
}

/* One-byte messages stop at the receive buffer like any others, if it is small enough (K2). */
TEST_F(duo, many_small__one_byte)
{
	int n;

	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, SO_RCVBUF, 2000));
	n = fill(self->a, 1, 200000);
	EXPECT_LE(2000, n);
	EXPECT_GT(200000, n);
	EXPECT_EQ(n, drain(self->b, n));
	EXPECT_TRUE(all_acked(self->a));
}

TEST_HARNESS_MAIN
