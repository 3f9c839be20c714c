// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=60 ref=0 lanes=uml */
/*
 * A local program connects to the transport's own TCP port, as no RDS does: refused,
 * nothing of it stays, and local messages go on by loopback (F14, I1, K9).
 */
#include "rds_util.h"

#include <netinet/tcp.h>

static const struct {
	const char *from, *to;
} way[] = {
	{ "10.9.0.1", "10.9.0.2" },
	{ "10.9.0.2", "10.9.0.1" },
	{ "10.9.0.1", "10.9.0.1" },
	{ "fd09::1", "fd09::2" },
	{ "fd09::2", "fd09::1" },
	{ "127.0.0.1", "127.0.0.1" },
	{ "::1", "::1" },
};

/* A TCP connection from address to address, made or under way; -1 if that fails. */
static int knock(const char *from, const char *to)
{
	struct sockaddr_storage a, b;
	socklen_t alen = mkaddr(&a, from, 0), blen = mkaddr(&b, to, 16385);
	int fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* not awaited: the reset may come before connect() could say that it worked */
	if (!bind(fd, (void *)&a, alen) &&
	    (!connect(fd, (void *)&b, blen) || errno == EINPROGRESS))
		return fd;
	close(fd);
	return -1;
}

static int conns(int fd)
{
	socklen_t len;
	void *p;
	int n = info_get(fd, RDS6_INFO_CONNECTIONS, &p, &len);

	free(p);
	return n == 65 ? len / 65 : -1;
}

/* The peer has reset or closed it, with at most one frame before, which says that it is us. */
static bool gone(int fd)
{
	char frame[128];
	ssize_t n, said = 0;

	do {
		if (poll_for(fd, POLLIN, WAIT_MS) <= 0)
			return false;
		n = recv(fd, frame, sizeof(frame), MSG_DONTWAIT);
		said += n > 0 ? n : 0;
	} while (n > 0 && said < (ssize_t)sizeof(frame));
	return n <= 0 && said < (ssize_t)sizeof(frame);
}

/* Each knock is answered with a reset and counted; no connection is left. */
TEST(self_connect__refused_and_forgotten)
{
	int rds = rds_socket(), i, round, fd;
	__s64 before;

	SETUP_LOCAL();
	close(rds);
	rds = rds_socket();
	before = counter(rds, "tcp_accept_self");
	ASSERT_LE(0, before);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < ARRAY_SIZE(way); i++) {
			fd = knock(way[i].from, way[i].to);
			ASSERT_FD(fd)
				TH_LOG("%s to %s", way[i].from, way[i].to);
			send(fd, "garbage", 7, MSG_NOSIGNAL);
			EXPECT_TRUE(gone(fd));
			close(fd);
		}
	}
	EXPECT_EQ(0, conns(rds));
	EXPECT_LE(before + 20 * (int)ARRAY_SIZE(way), counter(rds, "tcp_accept_self"));
}

/* Messages between local addresses after a knock, and while one hangs about. */
TEST(self_connect__local_messages_flow)
{
	int i, fd, a, b;
	char c[8];

	SETUP_LOCAL();
	for (i = 0; i < ARRAY_SIZE(way); i++) {
		fd = knock(way[i].from, way[i].to);
		ASSERT_FD(fd);
		a = rds_bound(way[i].from, 5000);
		b = rds_bound(way[i].to, 5001);
		ASSERT_FD(a);
		ASSERT_FD(b);
		ASSERT_EQ(5, send_to(a, way[i].to, 5001, "hello", 5, 0));
		EXPECT_EQ(5, recv_wait(b, c, 8));
		EXPECT_TRUE(gone(fd));
		ASSERT_EQ(2, send_to(b, way[i].from, 5000, "ok", 2, 0));
		EXPECT_EQ(2, recv_wait(a, c, 8));
		EXPECT_TRUE(all_acked(a));
		EXPECT_TRUE(all_acked(b));
		close(a);
		close(b);
		close(fd);
	}
}

/* The other order: what local messages set up is not disturbed by a knock. */
TEST(self_connect__knock_at_a_working_connection)
{
	int i, fd, a, n;
	char c[8];

	SETUP_LOCAL();
	a = rds_bound("10.9.0.1", 5000);
	ASSERT_FD(a);
	ASSERT_EQ(1, send_to(a, "10.9.0.1", 5000, "x", 1, 0));
	ASSERT_EQ(1, recv_wait(a, c, 8));
	n = conns(a);
	for (i = 0; i < 50; i++) {
		fd = knock("10.9.0.1", "10.9.0.1");
		ASSERT_FD(fd);
		ASSERT_EQ(1, send_to(a, "10.9.0.1", 5000, "y", 1, 0));
		close(fd);
		ASSERT_EQ(1, recv_wait(a, c, 8));
	}
	EXPECT_EQ(n, conns(a));
}

TEST_HARNESS_MAIN
