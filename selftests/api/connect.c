// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=60 lanes=uml */
/* connect(): sets a default destination, nothing else. */
#include "rds_util.h"

static int conn_len(int fd, int family, const char *addr, socklen_t len)
{
	struct sockaddr_storage ss;

	mkaddr(&ss, addr, 4000);
	if (family >= 0)
		ss.ss_family = family;
	return connect(fd, (void *)&ss, len);
}

/* Lengths: 0 and 1 too short for a family, then the minimum of each (E6). */
TEST(connect__every_length)
{
	int fd;
	socklen_t l;

	SETUP_LOCAL();
	fd = rds_socket();
	for (l = 0; l <= sizeof(struct sockaddr_storage); l++) {
		EXPECT_EQ(l < sizeof(struct sockaddr_in) ? EINVAL : 0,
			  ERR_OF(conn_len(fd, -1, "127.0.0.1", l)));
		EXPECT_EQ(l < sizeof(struct sockaddr_in6) ? EINVAL : 0,
			  ERR_OF(conn_len(fd, -1, "::1", l)));
	}
	EXPECT_ERR(EINVAL, conn_len(fd, -1, "::1", -1));
	EXPECT_ERR(EFAULT, connect(fd, BAD_PTR, 16));
}

/* v4 addresses that cannot be a destination; 0.0.0.0 has its own errno. */
TEST(connect__v4_addresses)
{
	int fd;

	SETUP_LOCAL();
	fd = rds_socket();
	EXPECT_ERR(EDESTADDRREQ, rds_connect(fd, "0.0.0.0", 4000));
	EXPECT_ERR(EINVAL, rds_connect(fd, "224.0.0.1", 4000));
	EXPECT_ERR(EINVAL, rds_connect(fd, "239.1.2.3", 4000));
	EXPECT_ERR(EINVAL, rds_connect(fd, "255.255.255.255", 4000));
	EXPECT_OK(rds_connect(fd, "192.0.2.1", 4000));
}

/* v6 addresses that cannot be a destination, mapped ones too. */
TEST(connect__v6_addresses)
{
	static const char * const bad[] = {
		"::", "ff02::1", "ff05::2", "::ffff:0.0.0.0",
		"::ffff:224.0.0.1", "::ffff:255.255.255.255",
	};
	int fd, i;

	SETUP_LOCAL();
	fd = rds_socket();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_ERR(EPROTOTYPE, rds_connect(fd, bad[i], 4000))
			TH_LOG("%s", bad[i]);
	}
	EXPECT_OK(rds_connect(fd, "2001:db8::1", 4000));
	EXPECT_OK(rds_connect(fd, "::ffff:192.0.2.1", 4000));
}

/* A link-local peer needs a scope, which must fit the bound one. */
TEST(connect__link_local_scope)
{
	int fd;

	SETUP_PAIR();
	fd = rds_socket();
	EXPECT_ERR(EINVAL, rds_connect(fd, "fe80::2", 4000));
	EXPECT_OK(rds_connect(fd, "fe80::2%eth0", 4000));
	close(fd);
	fd = rds_bound("fe80::1%eth0", 0);
	ASSERT_FD(fd);
	EXPECT_ERR(EINVAL, rds_connect(fd, "fe80::9%lo", 4000));
	EXPECT_OK(rds_connect(fd, "fe80::2%eth0", 4000));
}

/* Other families are refused; AF_UNSPEC does not disconnect. */
TEST(connect__other_families)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int fd, f;

	SETUP_LOCAL();
	fd = rds_socket();
	ASSERT_EQ(0, rds_connect(fd, "192.0.2.1", 4000));
	for (f = 0; f < 50; f++) {
		if (f == AF_INET || f == AF_INET6)
			continue;
		EXPECT_ERR(EAFNOSUPPORT, conn_len(fd, f, "127.0.0.1", 16));
		EXPECT_ERR(EAFNOSUPPORT, conn_len(fd, f, "::1", 128));
	}
	ASSERT_EQ(0, getpeername(fd, (void *)&ss, &len));
	EXPECT_EQ(4000, sa_port(&ss));
}

/* Again and again, bound or not; ports 0 and 1 are fine as destination. */
TEST(connect__repeat)
{
	static const unsigned int port[] = { 0, 1, 2, 4000, 65535 };
	struct sockaddr_storage ss;
	socklen_t len;
	int fd, i, bound;

	SETUP_LOCAL();
	fd = rds_socket();
	for (bound = 0; bound < 2; bound++) {
		for (i = 0; i < ARRAY_SIZE(port); i++) {
			EXPECT_OK(rds_connect(fd, "10.9.0.2", port[i]));
			len = sizeof(ss);
			ASSERT_EQ(0, getpeername(fd, (void *)&ss, &len));
			EXPECT_EQ(port[i], sa_port(&ss));
		}
		if (!bound)
			ASSERT_EQ(0, rds_bind(fd, "10.9.0.1", 0));
	}
}

/* A failing connect leaves the old destination. */
TEST(connect__failure_keeps_destination)
{
	struct sockaddr_storage ss, want;
	socklen_t len = sizeof(ss);
	int fd;

	SETUP_LOCAL();
	fd = rds_socket();
	mkaddr(&want, "192.0.2.1", 4000);
	ASSERT_EQ(0, rds_connect(fd, "192.0.2.1", 4000));
	EXPECT_ERR(EDESTADDRREQ, rds_connect(fd, "0.0.0.0", 7));
	EXPECT_ERR(EINVAL, rds_connect(fd, "224.0.0.1", 7));
	EXPECT_ERR(EPROTOTYPE, rds_connect(fd, "::", 7));
	EXPECT_ERR(EINVAL, rds_connect(fd, "fe80::9", 7));
	EXPECT_ERR(EAFNOSUPPORT, conn_len(fd, AF_UNIX, "127.0.0.1", 16));
	ASSERT_EQ(0, getpeername(fd, (void *)&ss, &len));
	EXPECT_EQ(0, memcmp(&ss, &want, 16));
}

/* No packet leaves and no connection object is made. */
TEST(connect__makes_no_connection)
{
	int fd;
	socklen_t len;
	void *buf;

	SETUP_LOCAL();
	fd = rds_socket();
	close(fd);
	fd = rds_bound("10.9.0.1", 0);
	ASSERT_FD(fd);
	ASSERT_EQ(0, rds_connect(fd, "192.0.2.1", 4000));
	EXPECT_EQ(sizeof(struct rds_info_connection),
		  info_get(fd, RDS_INFO_CONNECTIONS, &buf, &len));
	EXPECT_EQ(0, len);
	free(buf);
}

/* The default destination is used, and a name overrides it for one call. */
TEST(connect__default_destination_is_used)
{
	char b[8];
	int a, x, y;

	SETUP_LOCAL();
	a = rds_bound("127.0.0.1", 0);
	x = rds_bound("127.0.0.1", 0);
	y = rds_bound("127.0.0.1", 0);
	ASSERT_FD(y);
	ASSERT_EQ(0, rds_connect(a, "127.0.0.1", port_of(x)));
	EXPECT_EQ(2, send(a, "x1", 2, 0));
	EXPECT_EQ(2, send_to(a, "127.0.0.1", port_of(y), "y1", 2, 0));
	EXPECT_EQ(2, send(a, "x2", 2, 0));
	EXPECT_EQ(2, recv_wait(x, b, 8));
	EXPECT_EQ(0, memcmp(b, "x1", 2));
	EXPECT_EQ(2, recv_wait(x, b, 8));
	EXPECT_EQ(0, memcmp(b, "x2", 2));
	EXPECT_EQ(2, recv_wait(y, b, 8));
	EXPECT_EQ(0, memcmp(b, "y1", 2));
	/* the next connect takes over */
	ASSERT_EQ(0, rds_connect(a, "127.0.0.1", port_of(y)));
	EXPECT_EQ(2, send(a, "y2", 2, 0));
	EXPECT_EQ(2, recv_wait(y, b, 8));
	EXPECT_EQ(-1, recv(x, b, 8, MSG_DONTWAIT));
}

/* A connected socket still hears everybody. */
TEST(connect__no_peer_filter)
{
	char b[8];
	int a, x, y;

	SETUP_LOCAL();
	a = rds_bound("127.0.0.1", 0);
	x = rds_bound("127.0.0.1", 0);
	y = rds_bound("127.0.0.2", 0);
	ASSERT_FD(y);
	ASSERT_EQ(0, rds_connect(a, "127.0.0.1", port_of(x)));
	EXPECT_EQ(1, send_to(y, "127.0.0.1", port_of(a), "y", 1, 0));
	EXPECT_EQ(1, recv_wait(a, b, 8));
	EXPECT_EQ('y', b[0]);
}

/* The other family may be connected; sending is another matter. */
TEST(connect__family_mismatch_accepted)
{
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("10.9.0.1", 0);
	ASSERT_FD(fd);
	EXPECT_OK(rds_connect(fd, "fd09::2", 4000));
	close(fd);
	fd = rds_bound("fd09::1", 0);
	EXPECT_OK(rds_connect(fd, "10.9.0.2", 4000));
}

/* Sending without a name to the wrong family is refused (weakness 30). */
TEST(connect__family_mismatch_send)
{
	int fd;

	SKIP_REF("a connected send skips the family check");
	SETUP_LOCAL();
	fd = rds_bound("10.9.0.1", 0);
	ASSERT_FD(fd);
	ASSERT_EQ(0, rds_connect(fd, "fd09::2", 4000));
	EXPECT_ERR(EOPNOTSUPP, send(fd, "x", 1, MSG_DONTWAIT));
}

TEST_HARNESS_MAIN
