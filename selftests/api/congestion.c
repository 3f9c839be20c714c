// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 waits=1 */
/* Congestion: thresholds, ENOBUFS, waiting senders, who is woken and when. */
#include "rds_duo.h"
#include "../fairclock.h"

#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>

#define RCVBUF 4000

static char buf[65536];

/* In-tree has no back-pressure between two local addresses (weaknesses 23, 24). */
#define SKIP_REF_LOCAL() do { \
	if (!variant->ns) \
		SKIP_REF("no back-pressure on loopback connections"); \
} while (0)

static bool enobufs(int fd)
{
	return send(fd, NULL, 0, MSG_DONTWAIT) == -1 && errno == ENOBUFS;
}

/* Makes b congested with n messages of 1000 bytes, and a aware of it. */
static int congest(int a, int b, int n)
{
	int i;

	if (set_int(b, SOL_SOCKET, SO_RCVBUF, RCVBUF))
		return -1;
	for (i = 0; i < n; i++)
		if (send(a, buf, 1000, MSG_DONTWAIT) != 1000)
			return -2;
	return WAIT_UNTIL(enobufs(a)) ? 0 : -3;
}

static int drain_into(int fd, void *to, size_t len)
{
	int n, sum = 0;

	while ((n = recv(fd, to, len, MSG_DONTWAIT)) >= 0)
		sum += n;
	return sum;
}

/* Takes everything that is queued: the number of bytes. */
static int drain(int fd)
{
	return drain_into(fd, buf, sizeof(buf));
}

/* Is it told of an end of congestion?  A moment after ENOBUFS ends, not at once.  Takes nothing. */
static bool told(int fd)
{
	struct rx rx;

	return !rx_msg(fd, buf, 10, MSG_DONTWAIT | MSG_PEEK, &rx) &&
	       rx_cmsg(&rx, SOL_RDS, RDS_CMSG_CONG_UPDATE);
}

/* Takes n non-empty messages. */
static int take(int fd, int n)
{
	int len;

	while (n) {
		len = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (len < 0)
			return -1;
		n -= len > 0;
	}
	return 0;
}

/* More than the receive buffer queued: ENOBUFS, for this port only. */
TEST_F(duo, congestion__enobufs)
{
	__s64 before = counter(self->a, "cong_send_error");

	SKIP_REF_LOCAL();
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	EXPECT_ERR(ENOBUFS, send(self->a, "x", 1, MSG_DONTWAIT));
	EXPECT_ERR(ENOBUFS, send(self->a, "x", 1, MSG_DONTWAIT));
	EXPECT_LT(before, counter(self->a, "cong_send_error"));
	EXPECT_EQ(1, send_to(self->a, variant->baddr, DUO_B + 1, "x", 1, MSG_DONTWAIT));
	/* the send queue has room: POLLOUT says so and no more */
	ASSERT_TRUE(all_acked(self->a));
	EXPECT_EQ(POLLOUT, poll_for(self->a, POLLOUT, 0));
	EXPECT_EQ(5000, drain(self->b));
}

/* Exactly the receive buffer is not too much; one byte more is. */
TEST_F(duo, congestion__upper_threshold)
{
	SKIP_REF_LOCAL();
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, SO_RCVBUF, RCVBUF));
	ASSERT_EQ(RCVBUF, send(self->a, buf, RCVBUF, MSG_DONTWAIT));
	ASSERT_TRUE(wait_data(self->b));
	usleep(60000);
	EXPECT_EQ(1, send(self->a, "x", 1, MSG_DONTWAIT));
	EXPECT_TRUE(WAIT_UNTIL(enobufs(self->a)));
}

/* Released below half of the buffer, not at half. */
TEST_F(duo, congestion__lower_threshold)
{
	SKIP_REF_LOCAL();
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	ASSERT_EQ(0, take(self->b, 3));
	usleep(60000);
	EXPECT_TRUE(enobufs(self->a));
	ASSERT_EQ(0, take(self->b, 1));
	EXPECT_TRUE(WAIT_UNTIL(!enobufs(self->a)));
	EXPECT_EQ(1000, drain(self->b));
}

/* MSG_PEEK and truncation: the first releases nothing, the second all. */
TEST_F(duo, congestion__peek_and_truncate)
{
	int i;

	SKIP_REF_LOCAL();
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	for (i = 0; i < 10; i++)
		EXPECT_EQ(1000, recv(self->b, buf, 2000, MSG_PEEK | MSG_DONTWAIT));
	usleep(60000);
	EXPECT_TRUE(enobufs(self->a));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(1, recv(self->b, buf, 1, MSG_DONTWAIT));
	EXPECT_TRUE(WAIT_UNTIL(!enobufs(self->a)));
}

/* A blocking sender waits and is woken when the port is free again. */
TEST_F(duo, congestion__blocking_sender)
{
	__s64 before = counter(self->a, "cong_send_blocked");
	pid_t pid;
	int got;

	SKIP_REF_LOCAL();
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	pid = fork();
	if (!pid)
		_exit(send(self->a, "late", 4, 0) != 4);
	ASSERT_TRUE(WAIT_UNTIL(sleeping(pid)));
	usleep(20000);
	EXPECT_TRUE(sleeping(pid));
	ASSERT_EQ(0, take(self->b, 5));
	EXPECT_EQ(0, reap(pid));
	do {
		got = recv_wait(self->b, buf, 8);
	} while (!got);
	EXPECT_EQ(4, got);
	EXPECT_LT(before, counter(self->a, "cong_send_blocked"));
}

/* SO_SNDTIMEO bounds this wait, too (K8, weakness 9). */
TEST_F(duo, congestion__send_timeout)
{
	__s64 t, fair;

	SKIP_REF("ignores SO_SNDTIMEO here");
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	ASSERT_EQ(0, set_timeo(self->a, SO_SNDTIMEO, 200));
	t = tick_ms();
	fair = fair_ms();
	EXPECT_ERR(ETIMEDOUT, send(self->a, "x", 1, 0));
	EXPECT_LE(190, tick_ms() - t);
	EXPECT_GT(5000, fair_ms() - fair);
}

static void on_alarm(int sig)
{
}

/* A signal ends this wait (K4). */
TEST_F(duo, congestion__signal)
{
	struct itimerval it = { { 0, 100000 }, { 0, 50000 } };
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval off = {};

	SKIP_REF_LOCAL();
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	EXPECT_ERR(EINTR, send(self->a, "x", 1, 0));
	setitimer(ITIMER_REAL, &off, NULL);
}

/* The end of the congested socket frees its port. */
TEST_F(duo, congestion__receiver_closes)
{
	SKIP_REF_LOCAL();
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	close(self->b);
	EXPECT_TRUE(WAIT_UNTIL(!enobufs(self->a)));
	self->b = -1;
}

/* A larger SO_RCVBUF releases the senders, a smaller one stops them (weakness 26). */
TEST_F(duo, congestion__rcvbuf_change)
{
	SKIP_REF("does not look at the new buffer size");
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, SO_RCVBUF, 20000));
	EXPECT_TRUE(WAIT_UNTIL(!enobufs(self->a)));
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, SO_RCVBUF, RCVBUF));
	EXPECT_TRUE(WAIT_UNTIL(enobufs(self->a)));
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, SO_RCVBUFFORCE, 20000));
	EXPECT_TRUE(WAIT_UNTIL(!enobufs(self->a)));
}

/* Monitor: one notification with the bit of the port, then silence. */
TEST_F(duo, congestion__monitor)
{
	struct cmsghdr *c;
	struct rx rx;
	__u64 mask;

	SKIP_REF_LOCAL();
	ASSERT_EQ(0, set_int(self->a, SOL_RDS, RDS_CONG_MONITOR, 1));
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	EXPECT_ERR(EAGAIN, recv(self->a, buf, 1, MSG_DONTWAIT));
	EXPECT_EQ(5000, drain(self->b));
	EXPECT_EQ(POLLIN | POLLRDNORM,
		  poll_for(self->a, POLLIN | POLLRDNORM | POLLWRBAND, WAIT_MS));
	ASSERT_EQ(0, rx_msg(self->a, buf, 10, MSG_DONTWAIT, &rx));
	EXPECT_EQ(0, rx.m.msg_namelen);
	EXPECT_EQ(0, rx.m.msg_flags);
	EXPECT_EQ(CMSG_SPACE(8), rx.m.msg_controllen);
	c = rx_cmsg(&rx, SOL_RDS, RDS_CMSG_CONG_UPDATE);
	ASSERT_NE(NULL, c);
	memcpy(&mask, CMSG_DATA(c), 8);
	EXPECT_EQ(1ULL << (DUO_B % 64), mask);
	EXPECT_ERR(EAGAIN, recv(self->a, buf, 1, MSG_DONTWAIT));
	EXPECT_EQ(0, poll_for(self->a, POLLIN, 0));
	EXPECT_EQ(1, send(self->a, "x", 1, MSG_DONTWAIT));
}

/* It comes, too, to a sender who waited, and gave up when his time was over. */
TEST_F(duo, congestion__monitor_after_timeout)
{
	struct rx rx;
	__u64 mask;

	SKIP_REF("ignores SO_SNDTIMEO here");
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	/* only now: what was refused before does not count */
	ASSERT_EQ(0, set_int(self->a, SOL_RDS, RDS_CONG_MONITOR, 1));
	ASSERT_EQ(0, set_timeo(self->a, SO_SNDTIMEO, 100));
	EXPECT_ERR(ETIMEDOUT, send(self->a, "x", 1, 0));
	EXPECT_EQ(0, poll_for(self->a, POLLIN, 0));
	EXPECT_EQ(5000, drain(self->b));
	EXPECT_EQ(POLLIN, poll_for(self->a, POLLIN, WAIT_MS));
	ASSERT_EQ(0, rx_msg(self->a, buf, 10, MSG_DONTWAIT, &rx));
	ASSERT_NE(NULL, rx_cmsg(&rx, SOL_RDS, RDS_CMSG_CONG_UPDATE));
	memcpy(&mask, CMSG_DATA(rx_cmsg(&rx, SOL_RDS, RDS_CMSG_CONG_UPDATE)), 8);
	EXPECT_EQ(1ULL << (DUO_B % 64), mask);
}

/* The notification goes before data. */
TEST_F(duo, congestion__monitor_before_data)
{
	struct rx rx;

	SKIP_REF("any map update notifies, also that of a set bit");
	ASSERT_EQ(0, set_int(self->a, SOL_RDS, RDS_CONG_MONITOR, 1));
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	ASSERT_EQ(4, send(self->b, "data", 4, 0));
	ASSERT_TRUE(wait_data(self->a));
	EXPECT_EQ(5000, drain(self->b));
	ASSERT_TRUE(WAIT_UNTIL(told(self->a)));
	ASSERT_EQ(0, rx_msg(self->a, buf, 10, MSG_DONTWAIT, &rx));
	EXPECT_NE(NULL, rx_cmsg(&rx, SOL_RDS, RDS_CMSG_CONG_UPDATE));
	ASSERT_EQ(4, rx_msg(self->a, buf, 10, MSG_DONTWAIT, &rx));
	EXPECT_EQ(NULL, rx_cmsg(&rx, SOL_RDS, RDS_CMSG_CONG_UPDATE));
}

/* A sleeping reader is woken by the notification. */
TEST_F(duo, congestion__monitor_wakes_reader)
{
	struct rx rx;
	pid_t pid;

	SKIP_REF("any map update notifies, also that of a set bit");
	ASSERT_EQ(0, set_int(self->a, SOL_RDS, RDS_CONG_MONITOR, 1));
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	pid = fork();
	if (!pid) {
		_exit(rx_msg(self->a, buf, 10, 0, &rx) ||
		      !rx_cmsg(&rx, SOL_RDS, RDS_CMSG_CONG_UPDATE));
	}
	ASSERT_TRUE(WAIT_UNTIL(sleeping(pid)));
	EXPECT_EQ(5000, drain(self->b));
	EXPECT_EQ(0, reap(pid));
}

/* No room for it: the notification waits for a better call (weakness 11). */
TEST_F(duo, congestion__monitor_small_buffer)
{
	struct iovec iov = { buf, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = BAD_PTR, .msg_controllen = 100,
	};
	struct rx rx;
	size_t l;

	SKIP_REF("loses the notification");
	ASSERT_EQ(0, set_int(self->a, SOL_RDS, RDS_CONG_MONITOR, 1));
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	EXPECT_EQ(5000, drain(self->b));
	ASSERT_TRUE(WAIT_UNTIL(told(self->a)));
	recv(self->a, buf, 1, MSG_DONTWAIT);
	if (read(self->a, buf, 0))
		TH_LOG("read %s", strerror(errno));
	for (l = 0; l < CMSG_LEN(8); l += 4) {
		rx_msg_ctl(self->a, buf, 1, MSG_DONTWAIT, &rx, l);
		EXPECT_EQ(NULL, rx_cmsg(&rx, SOL_RDS, RDS_CMSG_CONG_UPDATE));
	}
	rx_msg(self->a, buf, 1, MSG_DONTWAIT | MSG_PEEK, &rx);
	EXPECT_ERR(EFAULT, recvmsg(self->a, &m, MSG_DONTWAIT));
	EXPECT_EQ(0, poll_for(self->a, POLLIN, 0));
	EXPECT_EQ(0, rx_msg(self->a, buf, 10, MSG_DONTWAIT, &rx));
	EXPECT_NE(NULL, rx_cmsg(&rx, SOL_RDS, RDS_CMSG_CONG_UPDATE));
}

/* A program that never has room is told once for each, and sleeps then. */
TEST_F(duo, congestion__monitor_told_once)
{
	struct rx rx;
	int i;

	SKIP_REF("loses the notification");
	ASSERT_EQ(0, set_int(self->a, SOL_RDS, RDS_CONG_MONITOR, 1));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, congest(self->a, self->b, 5));
		EXPECT_EQ(5000, drain(self->b));
		ASSERT_TRUE(WAIT_UNTIL(poll_for(self->a, POLLIN, 0) == POLLIN));
		EXPECT_EQ(0, rx_msg_ctl(self->a, buf, 10, MSG_DONTWAIT | MSG_PEEK, &rx, 0));
		EXPECT_EQ(MSG_CTRUNC, rx.m.msg_flags);
		EXPECT_EQ(0, recv(self->a, buf, 10, 0));
		EXPECT_EQ(0, poll_for(self->a, POLLIN, 100));
		EXPECT_ERR(EAGAIN, recv(self->a, buf, 10, MSG_DONTWAIT));
	}
	EXPECT_EQ(0, rx_msg(self->a, buf, 10, MSG_DONTWAIT, &rx));
	EXPECT_NE(NULL, rx_cmsg(&rx, SOL_RDS, RDS_CMSG_CONG_UPDATE));
	EXPECT_ERR(EAGAIN, recv(self->a, buf, 10, MSG_DONTWAIT));
}

/* Turning the monitor off drops what is pending. */
TEST_F(duo, congestion__monitor_off)
{
	SKIP_REF_LOCAL();
	ASSERT_EQ(0, set_int(self->a, SOL_RDS, RDS_CONG_MONITOR, 1));
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	EXPECT_EQ(5000, drain(self->b));
	ASSERT_TRUE(WAIT_UNTIL(told(self->a)));
	ASSERT_EQ(0, set_int(self->a, SOL_RDS, RDS_CONG_MONITOR, 0));
	EXPECT_ERR(EAGAIN, recv(self->a, buf, 1, MSG_DONTWAIT));
}

/* It says nothing about the socket's own port (weakness 25). */
TEST_F(duo, congestion__monitor_off_keeps_own_bit)
{
	SKIP_REF("clears the bit of the own port");
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	ASSERT_EQ(0, set_int(self->b, SOL_RDS, RDS_CONG_MONITOR, 1));
	ASSERT_EQ(0, set_int(self->b, SOL_RDS, RDS_CONG_MONITOR, 0));
	usleep(60000);
	EXPECT_TRUE(enobufs(self->a));
}

/* Without monitor: poll reports a map update once, to who saw ENOBUFS. */
TEST_F(duo, congestion__poll_without_monitor)
{
	const int bits = POLLIN | POLLRDNORM | POLLWRBAND;

	SKIP_REF_LOCAL();
	poll_for(self->a, bits, 0);
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	EXPECT_EQ(bits, poll_for(self->a, bits, WAIT_MS));
	EXPECT_EQ(0, poll_for(self->a, bits, 0));
	EXPECT_TRUE(enobufs(self->a));
	EXPECT_EQ(5000, drain(self->b));
	EXPECT_EQ(bits, poll_for(self->a, bits, WAIT_MS));
	EXPECT_TRUE(WAIT_UNTIL(!enobufs(self->a)));
	/* nothing to read for it */
	EXPECT_ERR(EAGAIN, recv(self->a, buf, 1, MSG_DONTWAIT));
}

/* epoll, armed before the congestion, reports the end of it (weakness 18). */
TEST_F(duo, congestion__epoll)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	SKIP_REF("epoll misses the wake-up");
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->a, &ev));
	ASSERT_EQ(0, congest(self->a, self->b, 5));
	while (epoll_wait(ep, &ev, 1, 50) > 0)
		;
	EXPECT_TRUE(enobufs(self->a));
	EXPECT_EQ(5000, drain(self->b));
	EXPECT_EQ(1, epoll_wait(ep, &ev, 1, WAIT_MS));
	EXPECT_TRUE(WAIT_UNTIL(!enobufs(self->a)));
}

/* Many senders together cannot queue without limit either (K1, weakness 24). */
TEST_F(duo, congestion__many_senders)
{
	int fd[8], i, sent = 0, refused = 0;

	SKIP_REF_LOCAL();
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, SO_RCVBUF, RCVBUF));
	for (i = 0; i < 8; i++) {
		fd[i] = rds_bound(variant->aaddr, 6000 + i);
		ASSERT_FD(fd[i]);
		ASSERT_EQ(0, rds_connect(fd[i], variant->baddr, DUO_B));
	}
	for (i = 0; refused < 80 && i < 4000; i++) {
		if (send(fd[i % 8], buf, 1000, MSG_DONTWAIT) == 1000) {
			sent += 1000;
			continue;
		}
		ASSERT_TRUE(errno == ENOBUFS || errno == EAGAIN);
		refused++;
		usleep(2000);
	}
	EXPECT_EQ(80, refused);
	/* what was accepted arrives, all of it */
	while (sent > 0) {
		int n = recv_wait(self->b, buf, 2000);

		ASSERT_EQ(1000, n);
		sent -= n;
	}
	EXPECT_EQ(0, drain(self->b));
}

/* Receiver and sender stop and go; nothing is lost on the way. */
TEST_F(duo, congestion__on_and_off)
{
	int round, i, seq = 0, want = 0, v[250];

	SKIP_REF_LOCAL();
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, SO_RCVBUF, RCVBUF));
	for (round = 0; round < 10; round++) {
		for (i = 0; i < 5; i++) {
			v[0] = seq;
			ASSERT_EQ(1000, send(self->a, v, 1000, 0));
			seq++;
		}
		ASSERT_TRUE(WAIT_UNTIL(enobufs(self->a)));
		while (want < seq) {
			i = recv_wait(self->b, v, 1000);
			ASSERT_LE(0, i);
			if (!i)
				continue;
			ASSERT_EQ(want, v[0]);
			want++;
		}
		ASSERT_TRUE(WAIT_UNTIL(!enobufs(self->a)));
		drain(self->b);
	}
}

/* Maps belong to a namespace: the same address elsewhere is not congested (G3). */
TEST(congestion__per_namespace)
{
	int a, b, c;

	SKIP_REF("maps are global");
	SETUP_PAIR();
	a = rds_bound("10.9.0.1", 5001);
	b = rds_bound("10.9.0.1", DUO_B);
	ASSERT_FD(b);
	ASSERT_EQ(0, rds_connect(a, "10.9.0.1", DUO_B));
	ASSERT_EQ(0, congest(a, b, 5));
	ASSERT_EQ(0, ns_enter(rds_ns[1]));
	ASSERT_EQ(0, nl_addr("lo", "10.9.0.1", 32, 1));
	c = rds_bound("10.9.0.1", 5001);
	ASSERT_FD(c);
	EXPECT_EQ(1, send_to(c, "10.9.0.1", DUO_B, "x", 1, MSG_DONTWAIT));
	EXPECT_TRUE(enobufs(a));
}

/* The bit is set for the receiver's address only (weakness 23). */
TEST(congestion__right_address)
{
	int a, b;

	SKIP_REF("marks the sender's address");
	SETUP_LOCAL();
	a = rds_bound("10.9.0.1", 5001);
	b = rds_bound("10.9.0.2", DUO_B);
	ASSERT_FD(b);
	ASSERT_EQ(0, rds_connect(a, "10.9.0.2", DUO_B));
	ASSERT_EQ(0, congest(a, b, 5));
	EXPECT_EQ(1, send_to(a, "10.9.0.1", DUO_B, "x", 1, MSG_DONTWAIT));
	EXPECT_EQ(1, send_to(a, "127.0.0.1", DUO_B, "x", 1, MSG_DONTWAIT));
}

/* The loopback connection of a sender expires while that waits: he is told all the same. */
TEST(congestion__expired_loopback)
{
	int a, b, timeout;
	__s64 before;

	SKIP_REF("no back-pressure on loopback connections, which do not expire");
	SETUP_LOCAL();
	timeout = open("/proc/sys/net/rds/idle_conn_timeout_ms", O_WRONLY | O_CLOEXEC);
	ASSERT_FD(timeout);
	ASSERT_EQ(4, write(timeout, "1000", 4));
	a = rds_bound("10.9.0.1", 5001);
	b = rds_bound("10.9.0.2", DUO_B);
	ASSERT_FD(b);
	before = counter(a, "conn_expired");
	ASSERT_EQ(0, rds_connect(a, "10.9.0.2", DUO_B));
	ASSERT_EQ(0, congest(a, b, 5));
	poll_for(a, POLLIN, 0);
	ASSERT_EQ(0, poll_for(a, POLLIN, 0));
	EXPECT_TRUE(WAIT_UNTIL(before < counter(a, "conn_expired")));
	EXPECT_EQ(5000, drain(b));
	EXPECT_EQ(POLLIN, poll_for(a, POLLIN, WAIT_MS));
	EXPECT_TRUE(WAIT_UNTIL(!enobufs(a)));
}

/* Pongs on loopback stop when the queue of the one who pings is full. */
TEST(congestion__pongs)
{
	const int pings = 20000;
	__s64 before;
	int a, i, n, full;

	SKIP_REF("no back-pressure on loopback connections");
	SETUP_LOCAL();
	a = rds_bound("10.9.0.1", 5001);
	ASSERT_FD(a);
	ASSERT_EQ(0, set_int(a, SOL_SOCKET, SO_RCVBUF, RCVBUF));
	before = counter(a, "cong_send_error");
	/* On slow kernels many are not answered because too many pongs wait. */
	for (i = 0; i < 10 * pings && (i % 500 || counter(a, "cong_send_error") == before); i++)
		ASSERT_EQ(0, send_to(a, "10.9.0.2", 0, NULL, 0, 0)) TH_LOG("ping %d", i);
	for (full = i; i < full + pings; i++)
		ASSERT_EQ(0, send_to(a, "10.9.0.2", 0, NULL, 0, 0)) TH_LOG("ping %d", i);
	EXPECT_TRUE(WAIT_UNTIL(before < counter(a, "cong_send_error")));
	for (n = 0; recv(a, buf, 1, MSG_DONTWAIT) == 0;)
		n++;
	TH_LOG("%d pongs, %d of the first %d pings and none of the other %d", n, n, full, pings);
	EXPECT_GE(full, n);
	EXPECT_GT(pings / 2, n);
	EXPECT_LT(100, n);
	ASSERT_EQ(0, send_to(a, "10.9.0.2", 0, NULL, 0, 0));
	EXPECT_EQ(0, recv_wait(a, buf, 1));
}

/* One of two receivers whose bits are in one byte, and its sender, pinned to a processor. */
struct neighbour {
	unsigned int cpu;
	int from, to;
	bool stuck;
};

/* An empty queue is not congested, at the latest when what is on its way is there. */
static bool goes_out(struct neighbour *n)
{
	static __thread char msg[3000];
	__s64 end = fair_ms() + 2000;

	do {
		if (send(n->from, msg, sizeof(msg), MSG_DONTWAIT) == sizeof(msg))
			return true;
		drain_into(n->to, msg, sizeof(msg));
	} while (fair_ms() < end);
	return false;
}

static void *flip_congestion(void *arg)
{
	struct neighbour *n = arg;
	cpu_set_t set;
	int i;

	CPU_ZERO(&set);
	CPU_SET(n->cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	/* one message fits, with the second it is too much */
	for (i = 0; i < 40000 && !n->stuck; i++)
		n->stuck = !goes_out(n);
	return NULL;
}

/* Two processors set and clear neighbouring bits all the time: none is lost (H10). */
TEST(congestion__neighbouring_ports)
{
	struct neighbour n[2] = { { .cpu = 0 }, { .cpu = 1 } };
	pthread_t t[2];
	int i;

	if (is_ref())
		SKIP(return, "no back-pressure on loopback connections");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one processor");
	ASSERT_EQ(0, ns_local());
	for (i = 0; i < 2; i++) {
		n[i].from = rds_bound("10.9.0.1", 6000 + i);
		n[i].to = rds_bound("10.9.0.2", 6000 + i);
		ASSERT_FD(n[i].from);
		ASSERT_FD(n[i].to);
		ASSERT_EQ(0, rds_connect(n[i].from, "10.9.0.2", 6000 + i));
		ASSERT_EQ(0, set_int(n[i].to, SOL_SOCKET, SO_RCVBUF, RCVBUF));
	}
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, flip_congestion, &n[i]));
	for (i = 0; i < 2; i++) {
		pthread_join(t[i], NULL);
		EXPECT_FALSE(n[i].stuck);
		close(n[i].from);
		close(n[i].to);
	}
}

TEST_HARNESS_MAIN
