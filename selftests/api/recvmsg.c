// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 */
/* recvmsg(): flags, truncation, waiting, names, faults. */
#include "rds_duo.h"
#include "../fairclock.h"

#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

static char buf[8192];

/* Nothing there: EAGAIN, on a bound and on an unbound socket. */
TEST(recvmsg__empty_queue)
{
	int fd, i;

	SETUP_LOCAL();
	for (i = 0; i < 2; i++) {
		fd = i ? rds_bound("127.0.0.1", 0) : rds_socket();
		ASSERT_FD(fd);
		EXPECT_ERR(EAGAIN, recv(fd, buf, 1, MSG_DONTWAIT));
		EXPECT_ERR(EAGAIN, recv(fd, NULL, 0, MSG_DONTWAIT));
		EXPECT_ERR(EAGAIN, recv(fd, buf, 1, MSG_DONTWAIT | MSG_PEEK));
	}
}

/* MSG_OOB gives 0 and leaves the queue alone. */
TEST_F(duo, recvmsg__oob)
{
	ASSERT_EQ(3, send(self->a, "abc", 3, 0));
	ASSERT_TRUE(wait_data(self->b));
	EXPECT_EQ(0, recv(self->b, buf, sizeof(buf), MSG_OOB));
	EXPECT_EQ(0, recv(self->b, buf, sizeof(buf), MSG_OOB | MSG_DONTWAIT));
	EXPECT_EQ(3, recv_wait(self->b, buf, sizeof(buf)));
	EXPECT_EQ(0, recv(self->b, buf, sizeof(buf), MSG_OOB));
}

/* RDS puts nothing on the error queue. */
TEST_F(duo, recvmsg__errqueue)
{
	struct rx rx;

	ASSERT_EQ(3, send(self->a, "abc", 3, 0));
	ASSERT_EQ(3, recv_wait(self->b, buf, sizeof(buf)));
	EXPECT_EQ(-1, rx_msg(self->b, buf, 8, MSG_ERRQUEUE, &rx));
	EXPECT_EQ(EAGAIN, rx.err);
	EXPECT_EQ(-1, rx_msg(self->a, buf, 8, MSG_ERRQUEUE, &rx));
	EXPECT_EQ(EAGAIN, rx.err);
}

/* MSG_PEEK shows the same message again and again (K3), and its sender. */
TEST_F(duo, recvmsg__peek)
{
	struct rx rx;
	int i;

	ASSERT_EQ(3, send(self->a, "abc", 3, 0));
	ASSERT_EQ(2, send(self->a, "de", 2, 0));
	ASSERT_EQ(0, set_timeo(self->b, SO_RCVTIMEO, WAIT_MS));
	for (i = 0; i < 5; i++) {
		memset(buf, 0, 8);
		ASSERT_EQ(3, rx_msg(self->b, buf, 8, MSG_PEEK, &rx));
		EXPECT_EQ(0, memcmp(buf, "abc", 4));
		EXPECT_TRUE(rx_from(&rx, variant->aaddr, DUO_A));
	}
	EXPECT_EQ(3, recv_wait(self->b, buf, 8));
	EXPECT_EQ(2, recv_wait(self->b, buf, 8));
	EXPECT_ERR(EAGAIN, recv(self->b, buf, 8, MSG_PEEK | MSG_DONTWAIT));
}

/* A short buffer: MSG_TRUNC set, the rest is gone. */
TEST_F(duo, recvmsg__truncation)
{
	struct rx rx;
	int i;

	memset(buf, 'm', sizeof(buf));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(5000, send(self->a, buf, 5000, 0));
	ASSERT_EQ(0, set_timeo(self->b, SO_RCVTIMEO, WAIT_MS));
	memset(buf, 0, sizeof(buf));
	ASSERT_EQ(10, rx_msg(self->b, buf, 10, 0, &rx));
	EXPECT_EQ(MSG_TRUNC, rx.m.msg_flags);
	EXPECT_EQ('m', buf[9]);
	EXPECT_EQ(0, buf[10]);
	/* flag MSG_TRUNC asks for the whole length */
	ASSERT_EQ(5000, rx_msg(self->b, buf, 4999, MSG_TRUNC, &rx));
	EXPECT_EQ(MSG_TRUNC, rx.m.msg_flags);
	EXPECT_EQ(0, buf[4999]);
	/* exact and larger buffers are no truncation */
	ASSERT_EQ(5000, rx_msg(self->b, buf, 5000, MSG_TRUNC, &rx));
	EXPECT_EQ(0, rx.m.msg_flags);
	ASSERT_EQ(5000, rx_msg(self->b, buf, 5001, 0, &rx));
	EXPECT_EQ(0, rx.m.msg_flags);
}

/* PEEK + TRUNC without a buffer tells the size of the next message. */
TEST_F(duo, recvmsg__size_probe)
{
	struct rx rx;

	ASSERT_EQ(5000, send(self->a, buf, 5000, 0));
	ASSERT_EQ(0, set_timeo(self->b, SO_RCVTIMEO, WAIT_MS));
	EXPECT_EQ(5000, rx_msg(self->b, NULL, 0, MSG_PEEK | MSG_TRUNC, &rx));
	EXPECT_EQ(MSG_TRUNC, rx.m.msg_flags);
	EXPECT_EQ(5000, recv(self->b, NULL, 0, MSG_PEEK | MSG_TRUNC));
	EXPECT_EQ(5000, recv_wait(self->b, buf, sizeof(buf)));
}

/* MSG_WAITALL and other receive flags change nothing: one message a call. */
TEST_F(duo, recvmsg__ignored_flags)
{
	static const int flag[] = { MSG_WAITALL, MSG_CMSG_CLOEXEC, MSG_NOSIGNAL };
	struct rx rx;
	int i;

	ASSERT_EQ(0, set_timeo(self->b, SO_RCVTIMEO, WAIT_MS));
	for (i = 0; i < ARRAY_SIZE(flag); i++) {
		ASSERT_EQ(3, send(self->a, "abc", 3, 0));
		ASSERT_EQ(2, send(self->a, "de", 2, 0));
		EXPECT_EQ(3, rx_msg(self->b, buf, 100, flag[i], &rx));
		EXPECT_EQ(0, rx.m.msg_flags & ~MSG_CMSG_CLOEXEC);
		EXPECT_EQ(2, rx_msg(self->b, buf, 100, flag[i], &rx));
	}
}

/* The sender's name: whole, zero-padded, cut to the given length (B1, B2). */
TEST_F(duo, recvmsg__name)
{
	struct sockaddr_storage want;
	unsigned char name[200];
	socklen_t full = mkaddr(&want, variant->aaddr, DUO_A), len, l, i;

	ASSERT_EQ(0, set_timeo(self->b, SO_RCVTIMEO, WAIT_MS));
	for (l = 0; l <= sizeof(want); l = l == full ? sizeof(want) : l + 4) {
		ASSERT_EQ(1, send(self->a, "x", 1, 0));
		memset(name, 0xa5, sizeof(name));
		len = l;
		ASSERT_EQ(1, recvfrom(self->b, buf, 1, 0, (void *)name, &len));
		EXPECT_EQ(full, len);
		EXPECT_EQ(0, memcmp(name, &want, l < full ? l : full));
		for (i = l < full ? l : full; i < sizeof(name); i++)
			ASSERT_EQ(0xa5, name[i]);
		if (l == sizeof(want))
			break;
	}
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	EXPECT_EQ(1, recvfrom(self->b, buf, 1, 0, NULL, NULL));
}

/* An unwritable payload buffer leaves the message where it was (A1). */
TEST_F(duo, recvmsg__payload_fault)
{
	char *p = guarded(10);
	struct iovec iov[2] = { { buf, 3 }, { BAD_PTR, 10 } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };

	ASSERT_EQ(11, send(self->a, "hello world", 11, 0));
	ASSERT_EQ(2, send(self->a, "de", 2, 0));
	ASSERT_TRUE(wait_data(self->b));
	EXPECT_ERR(EFAULT, recv(self->b, BAD_PTR, 100, MSG_DONTWAIT));
	EXPECT_ERR(EFAULT, recv(self->b, p, 11, MSG_DONTWAIT));
	EXPECT_ERR(EFAULT, recvmsg(self->b, &m, MSG_DONTWAIT));
	EXPECT_ERR(EFAULT, recv(self->b, (void *)0xffff888000000000UL, 100,
				MSG_DONTWAIT));
	EXPECT_EQ(11, recv_wait(self->b, buf, 100));
	EXPECT_EQ(0, memcmp(buf, "hello world", 11));
	EXPECT_EQ(2, recv_wait(self->b, buf, 100));
}

/* An unwritable control buffer does not cost the message (I3, weakness 12). */
TEST(recvmsg__control_fault)
{
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = BAD_PTR, .msg_controllen = 100,
	};
	int fd;

	SKIP_REF("loses the message");
	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 5000);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_TIMESTAMP, 1));
	ASSERT_EQ(3, send_to(fd, "127.0.0.1", 5000, "abc", 3, 0));
	ASSERT_TRUE(wait_data(fd));
	if (recvmsg(fd, &m, MSG_DONTWAIT) == 3)
		return;		/* delivered without its control data */
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(3, recv_wait(fd, buf, 100));
}

/* Pieces that are as long as they can be, together longer than an int (C8). */
TEST_F(duo, recvmsg__huge_lengths)
{
	static const size_t lens[] = { 0x7ffff000, 0x7fffffff, 0xffffffff, 1UL << 32 };
	size_t room = 1UL << 33;
	char in[64], *far = mmap(NULL, room, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct iovec iov[3] = { { in, 3 } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 3 };
	unsigned int i, peek;

	ASSERT_NE(MAP_FAILED, far);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		iov[1] = (struct iovec){ far, lens[i] };
		iov[2] = (struct iovec){ far + room / 2, lens[i] };
		ASSERT_EQ(11, send(self->a, "hello world", 11, 0));
		ASSERT_TRUE(wait_data(self->b));
		for (peek = 0; peek < 2; peek++) {
			memset(far, 0, 16);
			EXPECT_EQ(11, recvmsg(self->b, &m, peek ? 0 : MSG_PEEK));
			EXPECT_EQ(0, m.msg_flags & MSG_TRUNC);
			EXPECT_EQ(0, memcmp(in, "hel", 3));
			EXPECT_EQ(0, memcmp(far, "lo world\0", 9));
			EXPECT_EQ(0, far[room / 2]);
		}
		EXPECT_ERR(EAGAIN, recv(self->b, in, 3, MSG_DONTWAIT));
	}
	munmap(far, room);
}

/* A control buffer that is too small: data delivered, MSG_CTRUNC set. */
TEST(recvmsg__small_control)
{
	struct rx rx;
	size_t l;
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 5000);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_TIMESTAMP, 1));
	for (l = 0; l <= CMSG_SPACE(16); l += 4) {
		ASSERT_EQ(3, send_to(fd, "127.0.0.1", 5000, "abc", 3, 0));
		ASSERT_TRUE(wait_data(fd));
		EXPECT_EQ(3, rx_msg_ctl(fd, buf, 8, 0, &rx, l));
		EXPECT_EQ(l < CMSG_LEN(16) ? MSG_CTRUNC : 0, rx.m.msg_flags)
			TH_LOG("control length %zu", l);
	}
}

/* SO_RCVTIMEO ends the wait with ETIMEDOUT. */
TEST(recvmsg__timeout)
{
	__s64 t, fair;
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 5000);
	ASSERT_EQ(0, set_timeo(fd, SO_RCVTIMEO, 200));
	t = tick_ms();
	fair = fair_ms();
	EXPECT_ERR(ETIMEDOUT, recv(fd, buf, 1, 0));
	EXPECT_LE(190, tick_ms() - t);
	EXPECT_GT(5000, fair_ms() - fair);
	/* MSG_DONTWAIT is stronger */
	fair = fair_ms();
	EXPECT_ERR(EAGAIN, recv(fd, buf, 1, MSG_DONTWAIT));
	EXPECT_GT(150, fair_ms() - fair);
}

static int signals;

static void on_alarm(int sig)
{
	signals++;
}

static void alarms(int sa_flags)
{
	struct itimerval it = { { 0, 50000 }, { 0, 50000 } };
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = sa_flags };

	signals = 0;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

/* A signal ends the wait with EINTR; with SA_RESTART it goes on. */
TEST(recvmsg__signal)
{
	struct itimerval off = {};
	pid_t pid;
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 5000);
	alarms(0);
	EXPECT_ERR(EINTR, recv(fd, buf, 1, 0));
	alarms(SA_RESTART);
	pid = fork();
	if (!pid) {
		usleep(300000);
		_exit(send_to(fd, "127.0.0.1", 5000, "x", 1, 0) != 1);
	}
	EXPECT_EQ(1, recv(fd, buf, 1, 0));
	EXPECT_LE(2, signals);
	setitimer(ITIMER_REAL, &off, NULL);
	EXPECT_EQ(0, reap(pid));
}

/* A fatal signal ends a wait without timeout (K4). */
TEST(recvmsg__killed)
{
	int fd, st;
	pid_t pid;

	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 5000);
	pid = fork();
	if (!pid)
		_exit(recv(fd, buf, 1, 0));
	ASSERT_TRUE(WAIT_UNTIL(sleeping(pid)));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &st, 0));
	EXPECT_TRUE(WIFSIGNALED(st));
}

/* A sleeping reader is woken by a message. */
TEST_F(duo, recvmsg__woken_by_data)
{
	pid_t pid = fork();

	if (!pid)
		_exit(recv(self->b, buf, 8, 0) != 3);
	ASSERT_TRUE(WAIT_UNTIL(sleeping(pid)));
	ASSERT_EQ(3, send(self->a, "abc", 3, 0));
	EXPECT_EQ(0, reap(pid));
}

struct reader {
	int fd, n, bad;
	unsigned char *seen;
};

static void *read_all(void *arg)
{
	struct reader *r = arg;
	int v;

	while (recv(r->fd, &v, sizeof(v), 0) == sizeof(v) && v >= 0) {
		r->bad += __atomic_fetch_add(&r->seen[v], 1, __ATOMIC_RELAXED);
		r->n++;
	}
	return NULL;
}

/* Several readers of one socket: each message goes to exactly one. */
TEST_F(duo, recvmsg__several_readers)
{
	static unsigned char seen[600];
	struct reader r[3];
	pthread_t t[3];
	int i, v, n = 0;

	for (i = 0; i < 3; i++) {
		r[i] = (struct reader){ .fd = self->b, .seen = seen };
		ASSERT_EQ(0, pthread_create(&t[i], NULL, read_all, &r[i]));
	}
	for (v = 0; v < 600; v++)
		ASSERT_EQ(4, send(self->a, &v, 4, 0));
	v = -1;
	for (i = 0; i < 3; i++)
		ASSERT_EQ(4, send(self->a, &v, 4, 0));
	for (i = 0; i < 3; i++) {
		pthread_join(t[i], NULL);
		EXPECT_EQ(0, r[i].bad);
		n += r[i].n;
	}
	EXPECT_EQ(600, n);
}

#ifdef __NR_userfaultfd
struct late_fault {
	int fd, err;
	void *page;
};

static void *read_into(void *arg)
{
	struct late_fault *l = arg;

	l->err = recv(l->fd, l->page, 100, 0) < 0 ? errno : 0;
	return NULL;
}

/*
 * A reader whose buffer turns out to be unwritable after a while gives the message back; another
 * one who found the queue empty meanwhile must hear of it.
 */
TEST_F(duo, recvmsg__given_back)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct late_fault l = { .fd = self->b };
	struct uffd_msg fault;
	pthread_t t;
	pid_t pid;
	int uffd;

	if (access("/proc/sys/vm/unprivileged_userfaultfd", F_OK))
		SKIP(return, "no userfaultfd");
	uffd = syscall(__NR_userfaultfd, O_CLOEXEC);
	ASSERT_FD(uffd);
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_API, &api));
	l.page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, l.page);
	reg.range.start = (unsigned long)l.page;
	reg.range.len = 4096;
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_REGISTER, &reg));

	ASSERT_EQ(3, send(self->a, "abc", 3, 0));
	ASSERT_EQ(0, pthread_create(&t, NULL, read_into, &l));
	ASSERT_EQ(sizeof(fault), read(uffd, &fault, sizeof(fault)));
	pid = fork();
	if (!pid)
		_exit(recv(self->b, buf, 8, 0) != 3);
	ASSERT_TRUE(WAIT_UNTIL(sleeping(pid)));
	ASSERT_EQ(0, munmap(l.page, 4096));
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_WAKE, &reg.range));
	close(uffd);
	pthread_join(t, NULL);
	EXPECT_EQ(EFAULT, l.err);
	EXPECT_EQ(0, reap(pid));
}
#endif

/* Message header arrays of wrong shape. */
TEST(recvmsg__bad_header)
{
	struct iovec iov = { buf, -1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 5000);
	EXPECT_ERR(EFAULT, recvmsg(fd, BAD_PTR, MSG_DONTWAIT));
	m.msg_iovlen = 1025;
	EXPECT_ERR(EMSGSIZE, recvmsg(fd, &m, MSG_DONTWAIT));
	m.msg_iov = BAD_PTR;
	m.msg_iovlen = 1;
	EXPECT_ERR(EFAULT, recvmsg(fd, &m, MSG_DONTWAIT));
	m.msg_iov = &iov;
	m.msg_name = buf;
	m.msg_namelen = -1;
	EXPECT_ERR(EINVAL, recvmsg(fd, &m, MSG_DONTWAIT));
}

TEST_HARNESS_MAIN
