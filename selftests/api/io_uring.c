// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 */
/* io_uring: send, recv, sendmsg, recvmsg, poll and cancel on RDS sockets. */
#include "rds_duo.h"

#include <linux/io_uring.h>
#include <sys/syscall.h>

#define ENTRIES 16

static struct ring {
	int fd;
	unsigned int *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
} ring;

static void *ring_map(size_t len, off_t off)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		    ring.fd, off);
}

/* 0, or a negative errno; 1 for a kernel without io_uring. */
static int ring_open(void)
{
	struct io_uring_params p = {};
	char *sq, *cq;
	FILE *f = fopen("/proc/sys/kernel/io_uring_disabled", "w");

	if (!f)
		return 1;
	fputs("0", f);
	fclose(f);
	ring.fd = syscall(__NR_io_uring_setup, ENTRIES, &p);
	if (ring.fd < 0)
		return -errno;
	sq = ring_map(p.sq_off.array + p.sq_entries * 4, IORING_OFF_SQ_RING);
	cq = ring_map(p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		      IORING_OFF_CQ_RING);
	ring.sqe = ring_map(p.sq_entries * sizeof(struct io_uring_sqe),
			    IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || ring.sqe == MAP_FAILED)
		return -ENOMEM;
	ring.sq_tail = (void *)(sq + p.sq_off.tail);
	ring.sq_mask = (void *)(sq + p.sq_off.ring_mask);
	ring.sq_array = (void *)(sq + p.sq_off.array);
	ring.cq_head = (void *)(cq + p.cq_off.head);
	ring.cq_tail = (void *)(cq + p.cq_off.tail);
	ring.cq_mask = (void *)(cq + p.cq_off.ring_mask);
	ring.cqe = (void *)(cq + p.cq_off.cqes);
	return 0;
}

#define RING_OR_SKIP() do { \
	int __err = ring_open(); \
	if (__err == 1) \
		SKIP(_exit(KSFT_SKIP), "kernel without io_uring"); \
	ASSERT_EQ(0, __err); \
} while (0)

/* Queues one operation and hands it to the kernel. */
static int submit(int op, int fd, void *addr, unsigned int len, int flags,
		  __u64 id)
{
	unsigned int tail = *ring.sq_tail, i = tail & *ring.sq_mask;
	struct io_uring_sqe *s = &ring.sqe[i];

	memset(s, 0, sizeof(*s));
	s->opcode = op;
	s->fd = fd;
	s->addr = (unsigned long)addr;
	s->len = len;
	s->msg_flags = flags;
	s->user_data = id;
	ring.sq_array[i] = i;
	__atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
	return syscall(__NR_io_uring_enter, ring.fd, 1, 0, 0, NULL, 0);
}

static bool have_cqe(void)
{
	return __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE) != *ring.cq_head;
}

/* The result of the next completion, whose id must fit; -9999 when none comes. */
static int result(__u64 id)
{
	struct io_uring_cqe *c;
	unsigned int head = *ring.cq_head;
	int res;

	while (!have_cqe()) {
		if (poll_for(ring.fd, POLLIN, WAIT_MS) <= 0)
			return -9999;
	}
	c = &ring.cqe[head & *ring.cq_mask];
	res = c->user_data == id ? c->res : -9998;
	__atomic_store_n(ring.cq_head, head + 1, __ATOMIC_RELEASE);
	return res;
}

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

TEST_HARNESS_MAIN
