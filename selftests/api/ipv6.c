// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=60 lanes=uml */
/* IPv6: scopes of link-local addresses, implicit and explicit. */
#include "rds_duo.h"

static char buf[64];

/* A link-local name with scope 0 is no name. */
TEST(ipv6__scope_needed)
{
	int fd;

	SETUP_PAIR();
	fd = rds_socket();
	EXPECT_ERR(EINVAL, rds_bind(fd, "fe80::1", 0));
	EXPECT_ERR(EINVAL, rds_connect(fd, "fe80::2", 0));
	ASSERT_EQ(0, rds_bind(fd, "fe80::1%eth0", 0));
	EXPECT_ERR(EINVAL, send_to(fd, "fe80::2", 9, "x", 1, MSG_DONTWAIT));
	EXPECT_EQ(1, send_to(fd, "fe80::2%eth0", 9, "x", 1, MSG_DONTWAIT));
}

/* The socket's scope goes with a name that has none (a global address). */
TEST(ipv6__global_peer_of_link_local_socket)
{
	struct rx rx;
	int a, b;

	SETUP_PAIR();
	a = rds_bound("fe80::1%eth0", 5001);
	b = rds_bound_in(1, "fd00:1::2", 5002);
	ASSERT_FD(b);
	ASSERT_EQ(1, send_to(a, "fd00:1::2", 5002, "x", 1, MSG_DONTWAIT));
	ASSERT_TRUE(wait_data(b));
	ASSERT_EQ(1, rx_msg(b, buf, 1, 0, &rx));
	EXPECT_EQ(5001, sa_port(&rx.from));
}

/* The sender's scope is told, so that one can answer to the name received. */
TEST(ipv6__answer_to_name)
{
	struct rx rx;
	int a, b;

	SETUP_PAIR();
	a = rds_bound("fe80::1%eth0", 5001);
	b = rds_bound_in(1, "fe80::2%eth0", 5002);
	ASSERT_FD(b);
	ASSERT_EQ(1, send_to(a, "fe80::2%eth0", 5002, "x", 1, MSG_DONTWAIT));
	ASSERT_TRUE(wait_data(b));
	ASSERT_EQ(1, rx_msg(b, buf, 1, 0, &rx));
	EXPECT_EQ(28, rx.m.msg_namelen);
	EXPECT_NE(0, ((struct sockaddr_in6 *)&rx.from)->sin6_scope_id);
	EXPECT_EQ(0, ((struct sockaddr_in6 *)&rx.from)->sin6_flowinfo);
	ASSERT_EQ(2, sendto(b, "yz", 2, MSG_DONTWAIT, (void *)&rx.from,
			    rx.m.msg_namelen));
	EXPECT_EQ(2, recv_wait(a, buf, 8));
}

/* A connect to a global address leaves no stale scope behind (weakness 29). */
TEST(ipv6__stale_scope)
{
	struct sockaddr_in6 sin6;
	socklen_t len = sizeof(sin6);
	int fd;

	SKIP_REF("keeps the scope of an earlier peer");
	SETUP_PAIR();
	fd = rds_bound("fd00:1::1", 5001);
	ASSERT_EQ(0, rds_connect(fd, "fe80::2%eth0", 9));
	ASSERT_EQ(0, rds_connect(fd, "fd00:1::2", 9));
	ASSERT_EQ(0, getsockname(fd, (void *)&sin6, &len));
	EXPECT_EQ(0, sin6.sin6_scope_id);
	len = sizeof(sin6);
	ASSERT_EQ(0, getpeername(fd, (void *)&sin6, &len));
	EXPECT_EQ(0, sin6.sin6_scope_id);
}

/* Loopback ::1 is a unicast address with a life of its own. */
TEST(ipv6__loopback)
{
	struct rx rx;
	int a, b;

	SETUP_LOCAL();
	a = rds_bound("::1", 5001);
	b = rds_bound("::1", 5002);
	ASSERT_EQ(3, send_to(a, "::1", 5002, "abc", 3, 0));
	ASSERT_TRUE(wait_data(b));
	ASSERT_EQ(3, rx_msg(b, buf, 8, 0, &rx));
	EXPECT_TRUE(rx_from(&rx, "::1", 5001));
	/* and it is reached from other local addresses */
	a = rds_bound("fd09::1", 5003);
	ASSERT_EQ(3, send_to(a, "::1", 5002, "abc", 3, 0));
	ASSERT_TRUE(wait_data(b));
	ASSERT_EQ(3, rx_msg(b, buf, 8, 0, &rx));
	EXPECT_TRUE(rx_from(&rx, "fd09::1", 5003));
}

/* A mapped destination goes with a v4 socket, and is shown as v4. */
TEST(ipv6__mapped_destination)
{
	struct rx rx;
	int a, b;

	SETUP_LOCAL();
	a = rds_bound("::ffff:10.9.0.1", 5001);
	b = rds_bound("10.9.0.2", 5002);
	ASSERT_EQ(3, send_to(a, "::ffff:10.9.0.2", 5002, "abc", 3, 0));
	ASSERT_TRUE(wait_data(b));
	ASSERT_EQ(3, rx_msg(b, buf, 8, 0, &rx));
	EXPECT_TRUE(rx_from(&rx, "10.9.0.1", 5001));
	ASSERT_EQ(0, rds_connect(a, "::ffff:10.9.0.2", 5002));
	ASSERT_EQ(3, send(a, "def", 3, 0));
	EXPECT_EQ(3, recv_wait(b, buf, 8));
}

/* v4 and v6 sockets of one port on one machine do not mix. */
TEST(ipv6__same_port_both_families)
{
	int a4, a6, b4, b6;

	SETUP_LOCAL();
	a4 = rds_bound("10.9.0.1", 5001);
	a6 = rds_bound("fd09::1", 5001);
	b4 = rds_bound("10.9.0.2", 5002);
	b6 = rds_bound("fd09::2", 5002);
	ASSERT_EQ(1, send_to(a4, "10.9.0.2", 5002, "4", 1, 0));
	ASSERT_EQ(1, send_to(a6, "fd09::2", 5002, "6", 1, 0));
	ASSERT_EQ(1, recv_wait(b4, buf, 8));
	EXPECT_EQ('4', buf[0]);
	ASSERT_EQ(1, recv_wait(b6, buf, 8));
	EXPECT_EQ('6', buf[0]);
	EXPECT_EQ(-1, recv(b4, buf, 8, MSG_DONTWAIT));
	EXPECT_EQ(-1, recv(b6, buf, 8, MSG_DONTWAIT));
}

TEST_HARNESS_MAIN
