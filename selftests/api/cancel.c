// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=60 lanes=uml */
/* RDS_CANCEL_SENT_TO: which messages go, and what that releases. */
#include "rds_util.h"

static char buf[65536];

static int cancel_len(int fd, const char *addr, unsigned int port, socklen_t len)
{
	struct sockaddr_storage ss;

	mkaddr(&ss, addr, port);
	return setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len);
}

static int cancel(int fd, const char *addr, unsigned int port)
{
	return cancel_len(fd, addr, port, strchr(addr, ':') ? 28 : 16);
}

static int queued(int fd)
{
	unsigned int port = port_of(fd);

	return msgs_of_port(fd, RDS6_INFO_SEND_MESSAGES, port) +
	       msgs_of_port(fd, RDS6_INFO_RETRANS_MESSAGES, port);
}

static int put(int fd, const char *addr, unsigned int port, int n)
{
	while (n--)
		if (send_to(fd, addr, port, buf, 100, MSG_DONTWAIT) != 100)
			return -1;
	return 0;
}

/* The checks, in order. */
TEST(cancel__errors)
{
	struct sockaddr_storage ss;
	int fd, l;

	SETUP_LOCAL();
	fd = rds_socket();
	mkaddr(&ss, "127.0.0.1", 9);
	EXPECT_ERR(ENOTCONN, setsockopt(fd, SOL_RDS, 1, &ss, 16));
	EXPECT_ERR(ENOTCONN, setsockopt(fd, SOL_RDS, 1, NULL, 0));
	EXPECT_ERR(ENOTCONN, setsockopt(fd, SOL_RDS, 1, BAD_PTR, 16));
	ASSERT_EQ(0, rds_bind(fd, "127.0.0.1", 0));
	for (l = 0; l < 16; l++)
		EXPECT_ERR(EINVAL, setsockopt(fd, SOL_RDS, 1, &ss, l));
	EXPECT_ERR(EINVAL, setsockopt(fd, SOL_RDS, 1, NULL, 0));
	EXPECT_ERR(EFAULT, setsockopt(fd, SOL_RDS, 1, BAD_PTR, 16));
	EXPECT_ERR(EFAULT, setsockopt(fd, SOL_RDS, 1, BAD_PTR, 28));
	/* nothing to cancel is fine */
	EXPECT_OK(cancel(fd, "127.0.0.1", 9));
	EXPECT_OK(cancel(fd, "192.0.2.1", 9));
	EXPECT_OK(cancel(fd, "2001:db8::1", 9));
	EXPECT_ERR(ENOPROTOOPT, get_int(fd, SOL_RDS, RDS_CANCEL_SENT_TO));
}

/* Address and port must both match, and the sender be this socket. */
TEST(cancel__matches_exactly)
{
	int fd, other;

	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", 0);
	other = rds_bound("10.1.0.1", 0);
	ASSERT_EQ(0, put(fd, "10.1.0.77", 9, 2));
	ASSERT_EQ(0, put(fd, "10.1.0.77", 10, 3));
	ASSERT_EQ(0, put(fd, "10.1.0.78", 9, 4));
	ASSERT_EQ(0, put(other, "10.1.0.77", 9, 5));
	EXPECT_EQ(9, queued(fd));
	EXPECT_OK(cancel(fd, "10.1.0.77", 11));
	EXPECT_OK(cancel(fd, "10.1.0.79", 9));
	EXPECT_EQ(9, queued(fd));
	EXPECT_OK(cancel(fd, "10.1.0.77", 9));
	EXPECT_EQ(7, queued(fd));
	EXPECT_EQ(5, queued(other));
	EXPECT_OK(cancel(fd, "10.1.0.78", 9));
	EXPECT_EQ(3, queued(fd));
	EXPECT_OK(cancel(fd, "10.1.0.77", 10));
	EXPECT_EQ(0, queued(fd));
	EXPECT_EQ(5, queued(other));
}

/* IPv6 destinations, and v4 written as v4-mapped. */
TEST(cancel__ipv6)
{
	int fd, fd4;

	SETUP_PAIR();
	fd = rds_bound("fd00:1::1", 0);
	ASSERT_EQ(0, put(fd, "fd00:1::77", 9, 3));
	EXPECT_EQ(3, queued(fd));
	EXPECT_OK(cancel(fd, "fd00:1::78", 9));
	EXPECT_EQ(3, queued(fd));
	EXPECT_OK(cancel(fd, "fd00:1::77", 9));
	EXPECT_EQ(0, queued(fd));
	fd4 = rds_bound("10.1.0.1", 0);
	ASSERT_EQ(0, put(fd4, "10.1.0.77", 9, 3));
	EXPECT_OK(cancel(fd4, "::ffff:10.1.0.77", 9));
	EXPECT_EQ(0, queued(fd4));
}

/* The family says what the address is, not the length (weakness 27). */
TEST(cancel__family_is_read)
{
	int fd;

	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", 0);
	ASSERT_EQ(0, put(fd, "10.1.0.77", 9, 3));
	EXPECT_EQ(0, cancel_len(fd, "10.1.0.77", 9, 128));
	EXPECT_EQ(is_ref() ? 3 : 0, queued(fd));
	ASSERT_EQ(0, put(fd, "10.1.0.77", 9, 3));
	EXPECT_EQ(0, cancel_len(fd, "10.1.0.77", 9, 20));
	EXPECT_EQ(0, queued(fd));
	if (!is_ref()) {
		/* too short for the family it names */
		EXPECT_ERR(EINVAL, cancel_len(fd, "fd00:1::77", 9, 16));
		EXPECT_ERR(EINVAL, cancel_len(fd, "fd00:1::77", 9, 27));
	}
}

/* Bytes are released at once: a full socket may send again. */
TEST(cancel__releases_bytes)
{
	int fd;

	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", 0);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUF, 6000));
	ASSERT_EQ(6000, send_to(fd, "10.1.0.77", 9, buf, 6000, MSG_DONTWAIT));
	EXPECT_ERR(EAGAIN, send_to(fd, "10.1.0.77", 9, buf, 1, MSG_DONTWAIT));
	EXPECT_EQ(0, poll_for(fd, POLLOUT, 0));
	EXPECT_OK(cancel(fd, "10.1.0.77", 9));
	EXPECT_EQ(POLLOUT, poll_for(fd, POLLOUT, 0));
	EXPECT_EQ(6000, send_to(fd, "10.1.0.77", 9, buf, 6000, MSG_DONTWAIT));
}

/* Messages already sent but not acknowledged go, too; later ones arrive. */
TEST(cancel__unacknowledged)
{
	int a, b, i;

	SETUP_PAIR();
	a = rds_bound("10.1.0.1", 5001);
	b = rds_bound_in(1, "10.1.0.2", 5002);
	ASSERT_EQ(1, send_to(a, "10.1.0.2", 5002, "x", 1, 0));
	ASSERT_EQ(1, recv_wait(b, buf, 8));
	ASSERT_TRUE(all_acked(a));
	ASSERT_EQ(0, ns_enter(rds_ns[1]));
	ASSERT_EQ(0, nl_link_flags("eth0", 0));
	ASSERT_EQ(0, ns_enter(rds_ns[0]));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(8, send_to(a, "10.1.0.2", 5002, "canceled", 8, MSG_DONTWAIT));
	EXPECT_EQ(10, queued(a));
	EXPECT_OK(cancel(a, "10.1.0.2", 5002));
	EXPECT_EQ(0, queued(a));
	ASSERT_EQ(0, ns_enter(rds_ns[1]));
	ASSERT_EQ(0, nl_link_flags("eth0", 1));
	ASSERT_EQ(0, ns_enter(rds_ns[0]));
	ASSERT_EQ(4, send_to(a, "10.1.0.2", 5002, "late", 4, MSG_DONTWAIT));
	/* a cancelled one that was on the wire may still come: never twice */
	for (i = 0; recv_wait(b, buf, sizeof(buf)) == 8; i++)
		;
	EXPECT_GE(10, i);
	EXPECT_EQ(0, memcmp(buf, "late", 4));
}

/* What has been delivered is no longer ours to take back. */
TEST(cancel__delivered)
{
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 5000);
	ASSERT_EQ(3, send_to(fd, "127.0.0.1", 5000, "abc", 3, 0));
	ASSERT_TRUE(wait_data(fd));
	EXPECT_OK(cancel(fd, "127.0.0.1", 5000));
	EXPECT_EQ(3, recv_wait(fd, buf, 8));
}

TEST_HARNESS_MAIN
