// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 */
/* poll, select and epoll: each bit, level and edge triggered. */
#include "rds_duo.h"

#include <sys/epoll.h>
#include <sys/select.h>

#define ALL (POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLWRBAND | \
	     POLLPRI | POLLRDBAND | POLLRDHUP)
#define IN (POLLIN | POLLRDNORM)
#define OUT (POLLOUT | POLLWRNORM)

static char buf[65536];

/* Consumes the phantom event of a new in-tree socket (weakness 19). */
static void first_poll(int fd)
{
	if (is_ref())
		poll_for(fd, ALL, 0);
}

/* Queues the whole send buffer of a towards a peer that cannot acknowledge. */
static int fill_sndbuf(int fd)
{
	if (set_int(fd, SOL_SOCKET, SO_SNDBUF, 6000) ||
	    send(fd, "x", 1, 0) != 1 || !all_acked(fd) ||
	    ns_enter(rds_ns[1]) || nl_link_flags("eth0", 0) ||
	    ns_enter(rds_ns[0]) || send(fd, buf, 6000, MSG_DONTWAIT) != 6000)
		return -1;
	return 0;
}

static int cancel(int fd, const char *addr)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, addr, DUO_B);

	return setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len);
}

/* A new socket is writable and nothing else, bound or not (weakness 19). */
TEST(poll__new_socket)
{
	int fd;

	SETUP_LOCAL();
	/* make sure that map updates have been seen by somebody */
	fd = rds_bound("127.0.0.1", 5000);
	EXPECT_EQ(0, send_to(fd, "127.0.0.1", 0, NULL, 0, 0));
	EXPECT_EQ(0, recv_wait(fd, buf, 1));
	fd = rds_socket();
	first_poll(fd);
	EXPECT_EQ(OUT, poll_for(fd, ALL, 0));
	EXPECT_EQ(0, poll_for(fd, IN, 0));
	ASSERT_EQ(0, rds_bind(fd, "127.0.0.1", 0));
	EXPECT_EQ(OUT, poll_for(fd, ALL, 0));
	close(fd);
	fd = rds_bound("10.9.0.1", 0);
	first_poll(fd);
	EXPECT_EQ(OUT, poll_for(fd, ALL, 0));
}

/* IN stays while messages are queued, and goes with the last one. */
TEST_F(duo, poll__in)
{
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_EQ(0, send(self->a, NULL, 0, 0));
	ASSERT_TRUE(wait_data(self->b));
	EXPECT_EQ(1, recv(self->b, buf, 1, MSG_PEEK));
	first_poll(self->b);
	EXPECT_EQ(IN | OUT, poll_for(self->b, ALL, 0));
	EXPECT_EQ(POLLIN, poll_for(self->b, POLLIN, 0));
	EXPECT_EQ(POLLRDNORM, poll_for(self->b, POLLRDNORM, 0));
	EXPECT_EQ(1, recv_wait(self->b, buf, 1));
	ASSERT_TRUE(wait_data(self->b));
	first_poll(self->b);
	/* an empty message counts */
	EXPECT_EQ(IN | OUT, poll_for(self->b, ALL, 0));
	EXPECT_EQ(0, recv_wait(self->b, buf, 1));
	first_poll(self->b);
	EXPECT_EQ(OUT, poll_for(self->b, ALL, 0));
}

/* A sleeper in poll is woken by a message. */
TEST_F(duo, poll__woken_by_data)
{
	pid_t pid;

	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_EQ(1, recv_wait(self->b, buf, 1));
	first_poll(self->b);
	pid = fork();
	if (!pid)
		_exit(poll_for(self->b, POLLIN, WAIT_MS) != POLLIN);
	ASSERT_TRUE(WAIT_UNTIL(sleeping(pid)));
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	EXPECT_EQ(0, reap(pid));
}

/* OUT goes with a full send queue, comes back with room, and wakes. */
TEST(poll__out)
{
	int fd;
	pid_t pid;

	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", DUO_A);
	ASSERT_EQ(0, rds_connect(fd, "10.1.0.2", DUO_B));
	ASSERT_EQ(0, fill_sndbuf(fd));
	first_poll(fd);
	EXPECT_EQ(0, poll_for(fd, OUT, 0));
	EXPECT_EQ(0, poll_for(fd, OUT, 50));
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUF, 7000));
	EXPECT_EQ(OUT, poll_for(fd, OUT, 0));
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUF, 6000));
	EXPECT_EQ(0, poll_for(fd, OUT, 0));
	pid = fork();
	if (!pid)
		_exit(poll_for(fd, OUT, WAIT_MS) != OUT);
	ASSERT_TRUE(WAIT_UNTIL(sleeping(pid)));
	ASSERT_EQ(0, cancel(fd, "10.1.0.2"));
	EXPECT_EQ(0, reap(pid));
}

/* An acknowledgment makes room, too. */
TEST_F(duo, poll__out_after_ack)
{
	ASSERT_EQ(0, set_int(self->a, SOL_SOCKET, SO_SNDBUF, 6000));
	ASSERT_EQ(6000, send(self->a, buf, 6000, 0));
	EXPECT_EQ(POLLOUT, poll_for(self->a, POLLOUT, WAIT_MS));
}

/* Errors and hang-ups never show, whatever the peer does. */
TEST_F(duo, poll__no_error_bits)
{
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	close(self->b);
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	EXPECT_TRUE(all_acked(self->a));
	EXPECT_EQ(0, poll_for(self->a, POLLPRI | POLLRDHUP | POLLRDBAND, 20));
	self->b = -1;
}

/* select() sees the same. */
TEST_F(duo, select__bits)
{
	struct timeval zero = {};
	fd_set r, w, x;

	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_TRUE(wait_data(self->b));
	FD_ZERO(&r);
	FD_SET(self->b, &r);
	w = r;
	x = r;
	EXPECT_EQ(2, select(self->b + 1, &r, &w, &x, &zero));
	EXPECT_TRUE(FD_ISSET(self->b, &r));
	EXPECT_TRUE(FD_ISSET(self->b, &w));
	EXPECT_FALSE(FD_ISSET(self->b, &x));
	ASSERT_EQ(1, recv_wait(self->b, buf, 1));
	first_poll(self->b);
	FD_ZERO(&r);
	FD_SET(self->b, &r);
	EXPECT_EQ(0, select(self->b + 1, &r, NULL, NULL, &zero));
}

static int ep_add(int fd, unsigned int events)
{
	struct epoll_event ev = { .events = events };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev))
		return -1;
	return ep;
}

static unsigned int ep_wait(int ep, int ms)
{
	struct epoll_event ev;

	return epoll_wait(ep, &ev, 1, ms) == 1 ? ev.events : 0;
}

/* Level triggered: reported as long as it holds. */
TEST_F(duo, epoll__level)
{
	int ep;

	first_poll(self->b);
	ep = ep_add(self->b, EPOLLIN | EPOLLRDHUP);
	ASSERT_FD(ep);
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	EXPECT_EQ(EPOLLIN, ep_wait(ep, WAIT_MS));
	ASSERT_TRUE(wait_data(self->b));
	EXPECT_EQ(EPOLLIN, ep_wait(ep, 0));
	EXPECT_EQ(EPOLLIN, ep_wait(ep, 0));
	ASSERT_EQ(1, recv_wait(self->b, buf, 1));
	first_poll(self->b);
	EXPECT_EQ(0, ep_wait(ep, 0));
}

/* Edge triggered: each message is an edge, silence is none. */
TEST_F(duo, epoll__edge)
{
	int ep, i;

	first_poll(self->b);
	ep = ep_add(self->b, EPOLLIN | EPOLLET);
	ASSERT_FD(ep);
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(1, send(self->a, "x", 1, 0));
		EXPECT_EQ(EPOLLIN, ep_wait(ep, WAIT_MS));
		ASSERT_TRUE(all_acked(self->a));
		ep_wait(ep, 20);
		EXPECT_EQ(0, ep_wait(ep, 0));
	}
	for (i = 0; i < 5; i++)
		EXPECT_EQ(1, recv_wait(self->b, buf, 1));
	EXPECT_EQ(-1, recv(self->b, buf, 1, MSG_DONTWAIT));
}

/* One shot: reported once until armed again. */
TEST_F(duo, epoll__oneshot)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLONESHOT };
	int ep;

	first_poll(self->b);
	ep = ep_add(self->b, EPOLLIN | EPOLLONESHOT);
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	EXPECT_EQ(EPOLLIN, ep_wait(ep, WAIT_MS));
	ASSERT_TRUE(wait_data(self->b));
	EXPECT_EQ(0, ep_wait(ep, 20));
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_MOD, self->b, &ev));
	EXPECT_EQ(EPOLLIN, ep_wait(ep, WAIT_MS));
}

/* After EAGAIN the edge of OUT comes when bytes are released. */
TEST(epoll__edge_out)
{
	int fd, ep;

	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", DUO_A);
	ASSERT_EQ(0, rds_connect(fd, "10.1.0.2", DUO_B));
	ASSERT_EQ(0, fill_sndbuf(fd));
	ep = ep_add(fd, EPOLLOUT | EPOLLET);
	ASSERT_FD(ep);
	EXPECT_EQ(0, ep_wait(ep, 0));
	EXPECT_ERR(EAGAIN, send(fd, "x", 1, MSG_DONTWAIT));
	ASSERT_EQ(0, cancel(fd, "10.1.0.2"));
	EXPECT_EQ(EPOLLOUT, ep_wait(ep, WAIT_MS));
}

TEST_HARNESS_MAIN
