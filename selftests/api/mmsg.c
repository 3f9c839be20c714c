// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 lanes=uml */
/* sendmmsg() and recvmmsg(). */
#include "rds_duo.h"

#define N 32

static char data[N][64];
static struct iovec iov[N];
static struct mmsghdr vec[N];

static void prepare(int len)
{
	int i;

	memset(vec, 0, sizeof(vec));
	for (i = 0; i < N; i++) {
		iov[i] = (struct iovec){ data[i], len < 0 ? i : len };
		vec[i].msg_hdr.msg_iov = &iov[i];
		vec[i].msg_hdr.msg_iovlen = 1;
	}
}

/* A vector of one works everywhere, also in-tree. */
TEST_F(duo, sendmmsg__one)
{
	prepare(5);
	EXPECT_EQ(1, sendmmsg(self->a, vec, 1, 0));
	EXPECT_EQ(5, vec[0].msg_len);
	EXPECT_EQ(5, recv_wait(self->b, data[1], 64));
}

/* Every message of a vector arrives, in order and whole. */
TEST_F(duo, sendmmsg__vector)
{
	int i;

	if (is_ref()) {
		prepare(5);
		EXPECT_ERR(EOPNOTSUPP, sendmmsg(self->a, vec, 2, 0));
		return;
	}
	prepare(-1);
	for (i = 0; i < N; i++)
		memset(data[i], i, 64);
	ASSERT_EQ(N, sendmmsg(self->a, vec, N, 0));
	for (i = 0; i < N; i++) {
		char b[64];

		EXPECT_EQ(i, vec[i].msg_len);
		ASSERT_EQ(i, recv_wait(self->b, b, sizeof(b)));
		EXPECT_EQ(0, memcmp(b, data[i], i));
	}
}

/* A failure in the middle: what went before counts. */
TEST_F(duo, sendmmsg__partial)
{
	SKIP_REF("refuses vectors");
	prepare(5);
	iov[3].iov_base = BAD_PTR;
	EXPECT_EQ(3, sendmmsg(self->a, vec, N, 0));
	EXPECT_ERR(EFAULT, sendmmsg(self->a, vec + 3, 1, 0));
	EXPECT_EQ(1, sendmmsg(self->a, vec + 4, 1, 0));
}

/* A batch is taken in one call, each message with its sender and length. */
TEST_F(duo, recvmmsg__batch)
{
	struct sockaddr_storage from[N];
	int i, n, got = 0;

	for (i = 0; i < N; i++) {
		memset(data[i], i + 1, 64);
		ASSERT_EQ(i, send(self->a, data[i], i, 0));
	}
	memset(data, 0, sizeof(data));
	prepare(64);
	for (i = 0; i < N; i++) {
		vec[i].msg_hdr.msg_name = &from[i];
		vec[i].msg_hdr.msg_namelen = sizeof(from[i]);
	}
	while (got < N) {
		ASSERT_TRUE(wait_data(self->b));
		n = recvmmsg(self->b, vec + got, N - got, MSG_DONTWAIT, NULL);
		ASSERT_LT(0, n);
		got += n;
	}
	for (i = 0; i < N; i++) {
		EXPECT_EQ(i, vec[i].msg_len);
		EXPECT_EQ(i ? i + 1 : 0, data[i][0]);
		EXPECT_EQ(DUO_A, sa_port(&from[i]));
	}
}

/* MSG_WAITFORONE blocks for the first message only. */
TEST_F(duo, recvmmsg__wait_for_one)
{
	ASSERT_EQ(0, set_timeo(self->b, SO_RCVTIMEO, WAIT_MS));
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	prepare(64);
	EXPECT_EQ(1, recvmmsg(self->b, vec, N, MSG_WAITFORONE, NULL));
	EXPECT_ERR(EAGAIN, recvmmsg(self->b, vec, N, MSG_DONTWAIT, NULL));
}

/* The timeout of the call is looked at after each message. */
TEST_F(duo, recvmmsg__timeout)
{
	struct timespec ts = { 0, 1 };

	ASSERT_EQ(0, set_timeo(self->b, SO_RCVTIMEO, WAIT_MS));
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_EQ(1, send(self->a, "y", 1, 0));
	prepare(64);
	EXPECT_EQ(1, recvmmsg(self->b, vec, N, 0, &ts));
	EXPECT_EQ(1, recv_wait(self->b, data[0], 64));
}

TEST_HARNESS_MAIN
