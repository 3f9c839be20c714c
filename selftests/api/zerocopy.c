// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 lanes=uml */
/* Zero-copy send on TCP-bound sockets: completions, limits, failures. */
#include "rds_duo.h"

#include <sys/epoll.h>
#include <sys/resource.h>

static unsigned char out[200000];

static unsigned char *pages(size_t n)
{
	unsigned char *p = mmap(NULL, n, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = i * 7 + i / 251;
	return p;
}

static int zc_send(int fd, const void *p, size_t len, __u32 cookie, int flags)
{
	return send_cmsg(fd, NULL, 0, p, len, MSG_ZEROCOPY | flags,
			 RDS_CMSG_ZCOPY_COOKIE, &cookie, 4);
}

/* Takes one completion record: the number of cookies, 0 if none, -1 if bad. */
static int zc_get(int fd, struct rds_zcopy_cookies *z)
{
	struct cmsghdr *c;
	struct rx rx;
	int i;

	if (rx_msg(fd, out, 1, MSG_DONTWAIT, &rx) < 0)
		return rx.err == EAGAIN ? 0 : -1;
	c = rx_cmsg(&rx, SOL_RDS, RDS_CMSG_ZCOPY_COMPLETION);
	if (rx.ret || !c || c->cmsg_len != CMSG_LEN(36) || rx.m.msg_namelen)
		return -1;
	memcpy(z, CMSG_DATA(c), sizeof(*z));
	for (i = z->num; i < 8; i++)
		if (z->cookies[i])
			return -1;
	return z->num;
}

static int zc_wait(int fd, struct rds_zcopy_cookies *z)
{
	int n = 0;

	WAIT_UNTIL((n = zc_get(fd, z)) != 0);
	return n;
}

/* Loopback-bound sockets cannot; this is asked before the cookie. */
TEST(zerocopy__loopback)
{
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 5000);
	ASSERT_EQ(0, rds_connect(fd, "127.0.0.1", 5000));
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	EXPECT_ERR(EOPNOTSUPP, zc_send(fd, out, 100, 1, 0));
	EXPECT_ERR(EOPNOTSUPP, send(fd, out, 100, MSG_ZEROCOPY));
	/* 8 before 9 */
	EXPECT_ERR(EMSGSIZE, zc_send(fd, out, DEF_BUF + 1, 1, 0));
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 0));
	EXPECT_ERR(EINVAL, zc_send(fd, out, 100, 1, 0));
	EXPECT_EQ(100, send(fd, out, 100, 0));
}

/* The duo is used over TCP-bound sockets only. */
#define TCP_ONLY() do { \
	if (!strcmp(variant->aaddr, "127.0.0.1")) \
		SKIP(_exit(KSFT_SKIP), "no zero copy on loopback-bound sockets"); \
	ASSERT_EQ(0, set_int(self->a, SOL_SOCKET, SO_ZEROCOPY, 1)); \
	ASSERT_EQ(0, set_timeo(self->b, SO_RCVTIMEO, WAIT_MS)); \
} while (0)

/* Content, sizes and odd offsets; one completion each, with its cookie. */
TEST_F(duo, zerocopy__send)
{
	static const int size[] = { 1, 100, 4095, 4096, 4097, 65536, 100000 };
	struct rds_zcopy_cookies z;
	unsigned char *p = pages(1 << 17);
	int i, off;

	TCP_ONLY();
	for (i = 0; i < ARRAY_SIZE(size); i++) {
		for (off = 0; off < 4096; off += 1365) {
			__u32 cookie = i ? size[i] * 4096 + off : ~off;

			ASSERT_EQ(size[i], zc_send(self->a, p + off, size[i], cookie, 0));
			ASSERT_EQ(size[i], recv(self->b, out, sizeof(out), 0));
			EXPECT_EQ(0, memcmp(p + off, out, size[i]));
			ASSERT_EQ(1, zc_wait(self->a, &z));
			EXPECT_EQ(cookie, z.cookies[0]);
		}
	}
	EXPECT_EQ(0, zc_get(self->a, &z));
}

/* Of several cookies in one call the last one comes back. */
TEST_F(duo, zerocopy__last_cookie)
{
	struct rds_zcopy_cookies z;
	unsigned char *p = pages(4096);
	struct ctl c = {};
	__u32 i;

	TCP_ONLY();
	for (i = 1; i <= 3; i++) {
		ctl_add(&c, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &i, sizeof(i));
		ASSERT_EQ(100, send_ctl(self->a, NULL, 0, p, 100, MSG_ZEROCOPY, c.buf, c.len));
		ASSERT_EQ(100, recv(self->b, out, sizeof(out), 0));
		ASSERT_EQ(1, zc_wait(self->a, &z));
		EXPECT_EQ(i, z.cookies[0]);
	}
	EXPECT_EQ(0, zc_get(self->a, &z));
}

/* Many cookies: up to 8 a record, each exactly once (J1, J2). */
TEST_F(duo, zerocopy__many_cookies)
{
	struct rds_zcopy_cookies z;
	unsigned char *p = pages(4096), seen[50] = {};
	int i, n, got = 0;

	TCP_ONLY();
	for (i = 0; i < 50; i++)
		ASSERT_EQ(1000, zc_send(self->a, p, 1000, i, 0));
	for (i = 0; i < 50; i++)
		ASSERT_EQ(1000, recv(self->b, out, sizeof(out), 0));
	while (got < 50) {
		n = zc_wait(self->a, &z);
		ASSERT_LT(0, n);
		ASSERT_GE(8, n);
		for (i = 0; i < n; i++) {
			ASSERT_GT(50, z.cookies[i]);
			EXPECT_EQ(0, seen[z.cookies[i]]++);
		}
		got += n;
	}
	EXPECT_EQ(0, zc_get(self->a, &z));
}

/* POLLIN reports a completion; less than 56 bytes of control leave it there. */
TEST_F(duo, zerocopy__control_space)
{
	struct rds_zcopy_cookies z;
	unsigned char *p = pages(4096);
	struct rx rx;
	int l;

	TCP_ONLY();
	ASSERT_EQ(10, zc_send(self->a, p, 10, 5, 0));
	ASSERT_EQ(10, recv(self->b, out, sizeof(out), 0));
	EXPECT_EQ(POLLIN, poll_for(self->a, POLLIN, WAIT_MS));
	for (l = 0; l < 56; l += 8) {
		EXPECT_EQ(-1, rx_msg_ctl(self->a, out, 1, MSG_DONTWAIT, &rx, l));
		EXPECT_EQ(EAGAIN, rx.err);
	}
	EXPECT_ERR(EAGAIN, recv(self->a, out, 1, MSG_DONTWAIT));
	EXPECT_EQ(1, zc_wait(self->a, &z));
	EXPECT_EQ(5, z.cookies[0]);
}

/* MSG_PEEK and a control buffer that faults leave the completion (weakness 11). */
TEST_F(duo, zerocopy__peek_and_fault)
{
	struct iovec iov = { out, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = BAD_PTR, .msg_controllen = 100,
	};
	struct rds_zcopy_cookies z;
	unsigned char *p = pages(4096);
	struct rx rx;

	SKIP_REF("loses the completion");
	TCP_ONLY();
	ASSERT_EQ(10, zc_send(self->a, p, 10, 5, 0));
	ASSERT_EQ(10, recv(self->b, out, sizeof(out), 0));
	ASSERT_TRUE(WAIT_UNTIL(!rx_msg(self->a, out, 1, MSG_DONTWAIT | MSG_PEEK, &rx)));
	EXPECT_NE(NULL, rx_cmsg(&rx, SOL_RDS, RDS_CMSG_ZCOPY_COMPLETION));
	EXPECT_ERR(EFAULT, recvmsg(self->a, &m, MSG_DONTWAIT));
	EXPECT_EQ(1, zc_get(self->a, &z));
	EXPECT_EQ(5, z.cookies[0]);
	EXPECT_EQ(0, zc_get(self->a, &z));
}

/* A peek takes nothing away, so there is nothing to tell those who wait. */
TEST_F(duo, zerocopy__peek_wakes_nobody)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int ep = epoll_create1(0), i;
	struct rds_zcopy_cookies z;
	unsigned char *p = pages(4096);
	struct rx rx;

	SKIP_REF("wakes everybody");
	TCP_ONLY();
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->a, &ev));
	ASSERT_EQ(10, zc_send(self->a, p, 10, 5, 0));
	ASSERT_EQ(10, recv(self->b, out, sizeof(out), 0));
	ASSERT_TRUE(WAIT_UNTIL(!rx_msg(self->a, out, 1, MSG_DONTWAIT | MSG_PEEK, &rx)));
	/* what has been acknowledged wakes writers, too: it has happened when nothing is left */
	ASSERT_TRUE(all_acked(self->a));
	while (epoll_wait(ep, &ev, 1, 50) == 1)
		;
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, rx_msg(self->a, out, 1, MSG_DONTWAIT | MSG_PEEK, &rx));
		EXPECT_EQ(0, epoll_wait(ep, &ev, 1, 0));
	}
	EXPECT_EQ(1, zc_get(self->a, &z));
	EXPECT_EQ(5, z.cookies[0]);
	close(ep);
}

/* A completion can come along with data, as the last cmsg. */
TEST_F(duo, zerocopy__with_data)
{
	unsigned char *p = pages(4096);
	struct cmsghdr *c;
	struct rx rx;

	TCP_ONLY();
	ASSERT_EQ(0, set_int(self->a, SOL_SOCKET, SO_TIMESTAMP, 1));
	ASSERT_EQ(10, zc_send(self->a, p, 10, 5, 0));
	ASSERT_EQ(10, recv(self->b, out, sizeof(out), 0));
	/* the completion alone must be there before the data comes */
	ASSERT_EQ(POLLIN, poll_for(self->a, POLLIN, WAIT_MS));
	ASSERT_TRUE(all_acked(self->a));
	usleep(20000);
	ASSERT_EQ(4, send(self->b, "data", 4, 0));
	ASSERT_TRUE(WAIT_UNTIL(recv(self->a, out, 8, MSG_PEEK | MSG_DONTWAIT) == 4));
	ASSERT_EQ(4, rx_msg(self->a, out, 10, 0, &rx));
	c = CMSG_FIRSTHDR(&rx.m);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(SO_TIMESTAMP, c->cmsg_type);
	c = CMSG_NXTHDR(&rx.m, c);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(RDS_CMSG_ZCOPY_COMPLETION, c->cmsg_type);
}

/* A blocking reader is woken by a completion (weakness 10). */
TEST_F(duo, zerocopy__wakes_blocking_reader)
{
	unsigned char *p = pages(4096);
	struct rx rx;
	pid_t pid;

	SKIP_REF("sleeps on");
	TCP_ONLY();
	ASSERT_EQ(0, set_timeo(self->a, SO_RCVTIMEO, WAIT_MS));
	pid = fork();
	if (!pid) {
		_exit(rx_msg(self->a, out, 1, 0, &rx) ||
		      !rx_cmsg(&rx, SOL_RDS, RDS_CMSG_ZCOPY_COMPLETION));
	}
	ASSERT_TRUE(WAIT_UNTIL(sleeping(pid)));
	ASSERT_EQ(10, zc_send(self->a, p, 10, 5, 0));
	ASSERT_EQ(10, recv(self->b, out, sizeof(out), 0));
	EXPECT_EQ(0, reap(pid));
}

/* With SO_ZEROCOPY off completions stay where they are. */
TEST_F(duo, zerocopy__switched_off)
{
	struct rds_zcopy_cookies z;
	unsigned char *p = pages(4096);

	TCP_ONLY();
	ASSERT_EQ(10, zc_send(self->a, p, 10, 5, 0));
	ASSERT_EQ(10, recv(self->b, out, sizeof(out), 0));
	ASSERT_EQ(POLLIN, poll_for(self->a, POLLIN, WAIT_MS));
	ASSERT_EQ(0, set_int(self->a, SOL_SOCKET, SO_ZEROCOPY, 0));
	EXPECT_EQ(0, zc_get(self->a, &z));
	ASSERT_EQ(0, set_int(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	EXPECT_EQ(1, zc_wait(self->a, &z));
}

/* Cancelled messages complete, too. */
TEST(zerocopy__cancel)
{
	struct rds_zcopy_cookies z;
	unsigned char *p = pages(8192);
	struct sockaddr_storage ss;
	socklen_t len;
	int fd;

	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", 5000);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(0, rds_connect(fd, "10.1.0.77", 9));
	ASSERT_EQ(8192, zc_send(fd, p, 8192, 99, MSG_DONTWAIT));
	EXPECT_EQ(0, zc_get(fd, &z));
	len = mkaddr(&ss, "10.1.0.77", 9);
	ASSERT_EQ(0, setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
	EXPECT_EQ(1, zc_wait(fd, &z));
	EXPECT_EQ(99, z.cookies[0]);
}

/* A call that fails after or while pinning completes nothing (J3, J4). */
TEST(zerocopy__failing_send)
{
	struct rds_zcopy_cookies z;
	unsigned char *p = pages(5 * 4096);
	int fd, i;

	SETUP_PAIR();
	munmap(p + 3 * 4096, 4096);
	fd = rds_bound("10.1.0.1", 5000);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUF, 40000));
	ASSERT_EQ(0, rds_connect(fd, "10.1.0.77", 9));
	for (i = 0; i < 50; i++) {
		EXPECT_ERR(EFAULT, zc_send(fd, p, 4 * 4096, i, MSG_DONTWAIT));
		EXPECT_ERR(EFAULT, zc_send(fd, p + 3 * 4096, 10, i, MSG_DONTWAIT));
	}
	/* and on a full queue */
	ASSERT_EQ(40000, send(fd, out, 40000, MSG_DONTWAIT));
	for (i = 0; i < 50; i++)
		EXPECT_ERR(EAGAIN, zc_send(fd, p, 8192, i, MSG_DONTWAIT));
	EXPECT_EQ(0, zc_get(fd, &z));
	EXPECT_EQ(0, poll_for(fd, POLLIN, 0) && !is_ref());
	p[0] = 1;
}

static int limited_sender(void *arg)
{
	struct rlimit rl = { 16 * 4096, 16 * 4096 };
	struct rds_zcopy_cookies z;
	unsigned char *p = pages(16 * 4096);
	struct sockaddr_storage ss;
	int fd = *(int *)arg, i, n = 0;
	socklen_t len = mkaddr(&ss, "10.1.0.77", 9);

	if (setrlimit(RLIMIT_MEMLOCK, &rl) || setuid(4711))
		return 1;
	/* twice: what completed or failed is given back */
	for (i = 0; i < 2; i++) {
		for (n = 0; n < 100; n++)
			if (zc_send(fd, p, 2 * 4096, n, MSG_DONTWAIT) != 2 * 4096)
				break;
		if (errno != ENOMEM || n < 1 || n > 8)
			return 2;
		if (setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len))
			return 3;
		while (n > 0) {
			int got = zc_wait(fd, &z);

			if (got <= 0)
				return 4;
			n -= got;
		}
	}
	return n ? 5 : 0;
}

/* Payload counts against RLIMIT_MEMLOCK until it completes. */
TEST(zerocopy__memlock_limit)
{
	int fd;

	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", 5000);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, 1 << 20));
	ASSERT_EQ(0, rds_connect(fd, "10.1.0.77", 9));
	EXPECT_EQ(0, reap(spawn(limited_sender, &fd)));
}

/* Who sleeps for more than a completion goes on sleeping when the option is switched off. */
TEST(zerocopy__switched_off_under_a_reader)
{
	unsigned char *p = pages(4096);
	struct rds_zcopy_cookies z;
	struct sockaddr_storage ss;
	struct rx rx;
	socklen_t len = mkaddr(&ss, "10.1.0.77", 9);
	pid_t pid;
	int fd;

	SKIP_REF("sleeps without time-out");
	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", 5000);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(0, set_timeo(fd, SO_RCVTIMEO, 1500 * slow()));
	ASSERT_EQ(0, rds_connect(fd, "10.1.0.77", 9));
	ASSERT_EQ(10, zc_send(fd, p, 10, 5, MSG_DONTWAIT));
	pid = fork();
	if (!pid)
		_exit(rx_msg(fd, out, 1, 0, &rx) != -1 || rx.err != ETIMEDOUT);
	ASSERT_TRUE(WAIT_UNTIL(sleeping(pid)));
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 0));
	ASSERT_EQ(0, setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
	EXPECT_EQ(0, reap(pid));
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	EXPECT_EQ(1, zc_wait(fd, &z));
	EXPECT_EQ(5, z.cookies[0]);
}

static int refused_sender(void *arg)
{
	struct rlimit rl = { 16 * 4096, 16 * 4096 };
	unsigned char *p = pages(2 * 4096);
	int fd = *(int *)arg, i;

	if (setrlimit(RLIMIT_MEMLOCK, &rl) || setuid(4711))
		return 1;
	for (i = 0; i < 200; i++) {
		if (zc_send(fd, p, 2 * 4096, i, MSG_DONTWAIT) != -1)
			return 2;
		if (errno != EAGAIN) {
			printf("# attempt %d: %s\n", i, strerror(errno));
			return 3;
		}
	}
	return 0;
}

/* What is not sent for lack of room counts no longer when the call has returned. */
TEST(zerocopy__refused_counts_not)
{
	int fd;

	SKIP_REF("a work gives it back, later");
	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", 5000);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(0, rds_connect(fd, "10.1.0.77", 9));
	while (send(fd, out, 8192, MSG_DONTWAIT) > 0)
		;
	ASSERT_EQ(EAGAIN, errno);
	EXPECT_EQ(0, reap(spawn(refused_sender, &fd)));
}

/* A program that sends and never reads a completion is stopped before they are many. */
TEST(zerocopy__unread_completions_are_bounded)
{
	unsigned char *p = pages(4096);
	struct rds_zcopy_cookies z;
	int fd, n = 0, got, left;

	SKIP_REF("no bound");
	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", 5000);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	/* nobody is there to take it: it is over at once */
	ASSERT_EQ(0, rds_connect(fd, "10.1.0.1", 9));
	while (n < 100000) {
		if (zc_send(fd, p, 1, n, MSG_DONTWAIT) == 1) {
			if (!(++n % 64))
				usleep(100);
			continue;
		}
		if (errno != EAGAIN)
			break;
		usleep(100);
	}
	EXPECT_EQ(ENOBUFS, errno);
	TH_LOG("%d messages", n);
	EXPECT_LT(8000, n);
	EXPECT_GT(20000, n);
	/* other messages are not concerned, and who reads can go on */
	EXPECT_EQ(4, send(fd, "more", 4, 0));
	for (left = n; left > 0; left -= got) {
		got = zc_wait(fd, &z);
		ASSERT_LT(0, got);
	}
	EXPECT_EQ(0, left);
	EXPECT_EQ(1, zc_send(fd, p, 1, 5, 0));
	EXPECT_EQ(1, zc_wait(fd, &z));
}

/*
 * The completion says that the pages may be written to: what the receiver has not read by then is
 * still what was sent.
 */
TEST_F(duo, zerocopy__not_read_yet)
{
	static const int size[] = { 3000, 60000, 100000 };
	struct rds_zcopy_cookies z;
	unsigned char *p = pages(1 << 18);
	int i, at;

	SKIP_REF("gives the pages back while packets refer to them");
	if (!variant->ns)
		SKIP(return, "the completion comes when it is read");
	TCP_ONLY();
	for (i = 0; i < ARRAY_SIZE(size); i++) {
		memset(p, 'A' + i, size[i]);
		ASSERT_EQ(size[i], zc_send(self->a, p, size[i], i, 0));
		ASSERT_EQ(1, zc_wait(self->a, &z));
		memset(p, 'x', size[i]);
		ASSERT_EQ(size[i], recv(self->b, out, sizeof(out), 0));
		for (at = 0; at < size[i] && out[at] == 'A' + i; at++)
			;
		EXPECT_EQ(size[i], at);
	}
}

/* The reader's end is enough for a completion, also while it lingers. */
TEST(zerocopy__reader_lingers)
{
	struct linger l = { .l_onoff = 1, .l_linger = 3 };
	struct rds_zcopy_cookies z;
	unsigned char *p = pages(8192);
	int a, b, go[2];
	pid_t pid;

	SKIP_REF("does not linger");
	SETUP_PAIR();
	a = rds_bound("10.1.0.1", 5000);
	b = rds_bound("10.1.0.1", 6000);
	ASSERT_EQ(0, set_int(a, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(0, setsockopt(b, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	ASSERT_EQ(1, send_to(b, "10.1.0.77", 9, "x", 1, MSG_DONTWAIT));
	ASSERT_EQ(0, rds_connect(a, "10.1.0.1", 6000));
	ASSERT_EQ(8192, zc_send(a, p, 8192, 7, 0));
	ASSERT_EQ(1, poll_for(b, POLLIN, WAIT_MS));
	EXPECT_EQ(0, zc_get(a, &z));
	/* the child has it last, and lingers */
	ASSERT_EQ(0, pipe(go));
	pid = fork();
	if (!pid) {
		read(go[0], out, 1);
		_exit(!!close(b));
	}
	close(b);
	ASSERT_EQ(1, write(go[1], "x", 1));
	EXPECT_EQ(1, zc_wait(a, &z));
	/* it lingers still */
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	EXPECT_EQ(0, reap(pid));
}

/* A sender here, connected to a receiver in the other namespace: fd[0] and fd[1]. */
static bool zc_pair(int fd[2])
{
	fd[0] = rds_bound("10.1.0.1", 5000);
	if (fd[0] < 0 || ns_enter(rds_ns[1]))
		return false;
	fd[1] = rds_bound("10.1.0.2", 5000);
	return fd[1] >= 0 && !ns_enter(rds_ns[0]) &&
	       !set_int(fd[0], SOL_SOCKET, SO_ZEROCOPY, 1) &&
	       !set_timeo(fd[1], SO_RCVTIMEO, WAIT_MS) && !rds_connect(fd[0], "10.1.0.2", 5000);
}

/*
 * TCP's probes for a larger MTU are packets of many, without the reference that those had: it must
 * not make any of a program's pages.
 */
TEST(zerocopy__mtu_probes)
{
	struct rds_zcopy_cookies z;
	const int size = 1000000;
	unsigned char *p = pages(size), *got = malloc(size);
	int zc[2], i, at, fd;

	SKIP_REF("gives the pages back while packets refer to them");
	SETUP_PAIR();
	fd = open("/proc/sys/net/ipv4/tcp_mtu_probing", O_WRONLY);
	ASSERT_EQ(1, write(fd, "2", 1));
	close(fd);
	ASSERT_TRUE(zc_pair(zc));
	ASSERT_EQ(0, set_int(zc[0], SOL_SOCKET, SO_SNDBUFFORCE, 2 * size));
	for (i = 0; i < 12; i++) {
		memset(p, 'A' + i, size);
		ASSERT_EQ(size, zc_send(zc[0], p, size, i, 0));
		ASSERT_EQ(1, zc_wait(zc[0], &z));
		memset(p, 'x', size);
		ASSERT_EQ(size, recv(zc[1], got, size, 0));
		for (at = 0; at < size && got[at] == 'A' + i; at++)
			;
		EXPECT_EQ(size, at)
			TH_LOG("message %d", i);
	}
	free(got);
}

/* Pages that TCP says its queues have. */
static long tcp_mem(void)
{
	FILE *f = fopen("/proc/net/sockstat", "r");
	long mem = -1;
	char line[200];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "TCP: %*s %*d %*s %*d %*s %*d %*s %*d mem %ld", &mem) == 1)
			break;
	if (f)
		fclose(f);
	return mem;
}

/* Two ends of a TCP connection from here to the other namespace, with much that nobody reads. */
static bool tcp_hoard(int ns, const char *to, int fd[2])
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, to, 9999);
	int l, size = 16 << 20;

	if (ns_enter(ns))
		return false;
	l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(l, (void *)&ss, len) || listen(l, 1) || ns_enter(rds_ns[0]))
		return false;
	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	setsockopt(fd[0], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	connect(fd[0], (void *)&ss, len);
	fd[1] = accept(l, NULL, NULL);
	close(l);
	while (poll_for(fd[0], POLLOUT, 1000) > 0 && write(fd[0], out, sizeof(out)) > 0)
		;
	return fd[1] >= 0;
}

/*
 * TCP accounts for packets of nothing but a program's pages otherwise than for those that it has
 * copied.  What it gives back must be what it took: else its account, which all sockets share,
 * shrinks by all that is sent.
 */
TEST(zerocopy__tcp_accounts)
{
	struct rds_zcopy_cookies z;
	unsigned char *p = pages(100000);
	int zc[2], i, n, hoard[2];
	long before, after;

	SKIP_REF("a matter of how it sends");
	SETUP_PAIR();
	ASSERT_TRUE(tcp_hoard(rds_ns[1], "10.1.0.2", hoard));
	ASSERT_TRUE(zc_pair(zc));
	before = tcp_mem();
	ASSERT_LT(2000, before);
	for (i = 0; i < 200; i++) {
		/* copied ones beside, in one packet with the other's */
		ASSERT_EQ(100000, zc_send(zc[0], p, 100000, i, 0));
		ASSERT_EQ(i * 20, send(zc[0], p, i * 20, 0));
		for (n = 0; n < 2; n++)
			ASSERT_EQ(n ? i * 20 : 100000, recv(zc[1], out, sizeof(out), 0));
		ASSERT_EQ(1, zc_wait(zc[0], &z));
	}
	after = tcp_mem();
	TH_LOG("TCP had %ld pages, after 20 MB of ours %ld", before, after);
	/* each processor may have 256 for itself */
	EXPECT_LE(before - 600, after);
	EXPECT_GE(before + 600, after);
}

/* Sockets closed, and processes gone, with pages still under way (J). */
TEST_F(duo, zerocopy__close_in_flight)
{
	int i;

	TCP_ONLY();
	for (i = 0; i < 30; i++) {
		pid_t pid = fork();

		if (!pid) {
			unsigned char *p = pages(8 * 4096);
			int fd = rds_bound(variant->aaddr, 6000);

			set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1);
			rds_connect(fd, variant->baddr, DUO_B);
			_exit(zc_send(fd, p, 8 * 4096, i, MSG_DONTWAIT) < 0 &&
			      errno != ENOBUFS);
		}
		ASSERT_EQ(0, reap(pid));
		recv(self->b, out, 1, MSG_DONTWAIT);
	}
}

TEST_HARNESS_MAIN
