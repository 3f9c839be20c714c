// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 */
/* io_uring: send, recv, sendmsg, recvmsg, poll and cancel on RDS sockets. */
#include "rds_duo.h"

#include "uring.h"

static char in[64], out[64];

/* Receive: at once when there is something, later when there is not. */
TEST_F(duo, io_uring__recv)
{
	RING_OR_SKIP();
	ASSERT_EQ(5, send(self->a, "hello", 5, 0));
	ASSERT_TRUE(wait_data(self->b));
	ASSERT_EQ(1, submit(IORING_OP_RECV, self->b, in, 64, 0, 1));
	EXPECT_EQ(5, result(1));
	EXPECT_EQ(0, memcmp(in, "hello", 5));
	ASSERT_EQ(1, submit(IORING_OP_RECV, self->b, in, 64, 0, 2));
	usleep(20000);
	EXPECT_FALSE(have_cqe());
	ASSERT_EQ(5, send(self->a, "world", 5, 0));
	EXPECT_EQ(5, result(2));
	EXPECT_EQ(0, memcmp(in, "world", 5));
}

/* Send; io_uring adds MSG_NOSIGNAL, which in-tree refuses. */
TEST_F(duo, io_uring__send)
{
	RING_OR_SKIP();
	ASSERT_EQ(1, submit(IORING_OP_SEND, self->a, "hello", 5, 0, 1));
	if (is_ref()) {
		EXPECT_EQ(-EOPNOTSUPP, result(1));
		return;
	}
	EXPECT_EQ(5, result(1));
	EXPECT_EQ(5, recv_wait(self->b, in, 64));
	EXPECT_EQ(0, memcmp(in, "hello", 5));
}

/* sendmsg and recvmsg, with the sender's name. */
TEST_F(duo, io_uring__msg)
{
	struct sockaddr_storage from = {}, want;
	struct iovec siov = { "hello", 5 }, riov = { in, 64 };
	struct msghdr s = { .msg_iov = &siov, .msg_iovlen = 1 };
	struct msghdr r = {
		.msg_iov = &riov, .msg_iovlen = 1,
		.msg_name = &from, .msg_namelen = sizeof(from),
	};
	socklen_t len = mkaddr(&want, variant->aaddr, DUO_A);

	SKIP_REF("refuses MSG_NOSIGNAL");
	RING_OR_SKIP();
	ASSERT_EQ(1, submit(IORING_OP_RECVMSG, self->b, &r, 1, 0, 1));
	ASSERT_EQ(1, submit(IORING_OP_SENDMSG, self->a, &s, 1, 0, 2));
	EXPECT_EQ(5, result(2));
	EXPECT_EQ(5, result(1));
	EXPECT_EQ(len, r.msg_namelen);
	EXPECT_EQ(0, memcmp(&from, &want, len));
	EXPECT_EQ(0, memcmp(in, "hello", 5));
}

/* Errors come back as results. */
TEST(io_uring__errors)
{
	int fd;

	SETUP_LOCAL();
	RING_OR_SKIP();
	fd = rds_bound("127.0.0.1", 5000);
	ASSERT_EQ(1, submit(IORING_OP_RECV, fd, in, 64, MSG_DONTWAIT, 1));
	EXPECT_EQ(-EAGAIN, result(1));
	ASSERT_EQ(1, submit(IORING_OP_SEND, fd, "x", 1, 0, 2));
	EXPECT_EQ(is_ref() ? -EOPNOTSUPP : -ENOTCONN, result(2));
	ASSERT_EQ(1, submit(IORING_OP_SEND, fd, "x", 1, MSG_OOB, 3));
	EXPECT_EQ(-EOPNOTSUPP, result(3));
}

/* A send that finds the queue full waits for room. */
TEST(io_uring__send_waits)
{
	struct sockaddr_storage ss;
	socklen_t len;
	int fd;

	SKIP_REF("refuses MSG_NOSIGNAL");
	SETUP_PAIR();
	RING_OR_SKIP();
	fd = rds_bound("10.1.0.1", 5000);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUF, 5000));
	ASSERT_EQ(0, rds_connect(fd, "10.1.0.77", 9));
	static char big[5000];

	ASSERT_EQ(5000, send(fd, big, 5000, 0));
	ASSERT_EQ(1, submit(IORING_OP_SEND, fd, "x", 1, 0, 1));
	usleep(20000);
	EXPECT_FALSE(have_cqe());
	len = mkaddr(&ss, "10.1.0.77", 9);
	ASSERT_EQ(0, setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
	EXPECT_EQ(1, result(1));
}

/* A poll request fires with the first message. */
TEST_F(duo, io_uring__poll)
{
	RING_OR_SKIP();
	poll_for(self->b, POLLIN | POLLWRBAND, 0);
	ASSERT_EQ(1, submit(IORING_OP_POLL_ADD, self->b, NULL, 0, POLLIN, 1));
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	EXPECT_EQ(POLLIN, result(1) & POLLIN);
}

/* A waiting receive can be cancelled, or the ring closed over it. */
TEST_F(duo, io_uring__cancel)
{
	int r1, r2;

	RING_OR_SKIP();
	ASSERT_EQ(1, submit(IORING_OP_RECV, self->b, in, 64, 0, 7));
	usleep(10000);
	/* addr names the user_data of the request */
	ASSERT_EQ(1, submit(IORING_OP_ASYNC_CANCEL, -1, (void *)7, 0, 0, 7));
	r1 = result(7);
	r2 = result(7);
	EXPECT_TRUE((r1 == -ECANCELED && !r2) || (!r1 && r2 == -ECANCELED))
		TH_LOG("%d %d", r1, r2);
	ASSERT_EQ(1, submit(IORING_OP_RECV, self->b, in, 64, 0, 8));
	close(ring.fd);
	ASSERT_EQ(1, send(self->a, "y", 1, 0));
	out[0] = 0;
}

/*
 * A child whose ring has @fd as a fixed file, and nobody else, is gone.  It waits until we have
 * closed ours, or that could be the last.
 */
static int left_to_the_ring(int fd)
{
	int go[2];
	pid_t pid;
	char c;

	if (pipe(go))
		return -1;
	pid = fork();
	if (!pid) {
		close(go[1]);
		_exit(read(go[0], &c, 1) || ring_open() ||
		      syscall(__NR_io_uring_register, ring.fd, IORING_REGISTER_FILES, &fd, 1));
	}
	close(fd);
	close(go[0]);
	close(go[1]);
	return reap(pid);
}

/*
 * What the kernel's own thread closes does not linger there: it closes the files of everybody,
 * and a pipe behind the socket would never end.
 */
TEST(io_uring__fixed_file_does_not_linger)
{
	struct linger l = { .l_onoff = 1, .l_linger = 30 };
	struct pollfd pfd;
	int fd, p[2];

	SKIP_REF("does not linger at all");
	SETUP_PAIR();
	RING_OR_SKIP();
	fd = rds_bound("10.1.0.1", 0);
	ASSERT_FD(fd);
	ASSERT_EQ(0, setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	ASSERT_EQ(1, send_to(fd, "10.1.0.77", 9, "x", 1, MSG_DONTWAIT));
	ASSERT_EQ(0, left_to_the_ring(fd));
	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, left_to_the_ring(p[1]));
	pfd = (struct pollfd){ .fd = p[0] };
	EXPECT_EQ(1, poll(&pfd, 1, WAIT_MS));
	EXPECT_EQ(POLLHUP, pfd.revents);
}

TEST_HARNESS_MAIN
