// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=60 cmdline="ipv6.disable=1" lanes=uml */
/* A machine booted with IPv6 off: IPv4 works, IPv6 is refused, nothing falls over (E15). */
#include "rds_util.h"

static bool off(void)
{
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	if (fd < 0)
		return errno == EAFNOSUPPORT;
	close(fd);
	return false;
}

/* Two namespaces joined by IPv4 only; ns_pair() wants both. */
static int pair4(void)
{
	int ret;

	rds_ns[1] = ns_fresh();
	rds_ns[0] = rds_ns[1] < 0 ? -1 : ns_fresh();
	if (rds_ns[0] < 0)
		return -1;
	ret = nl_veth(rds_ns[1]);
	if (!ret)
		ret = nl_link_flags("eth0", 1);
	if (!ret)
		ret = nl_addr("eth0", "10.1.0.1", 24, 1);
	if (!ret)
		ret = ns_enter(rds_ns[1]);
	if (!ret)
		ret = nl_link_flags("eth0", 1);
	if (!ret)
		ret = nl_addr("eth0", "10.1.0.2", 24, 1);
	return ret ?: ns_enter(rds_ns[0]);
}

/* IPv6 addresses can be parsed, but nobody owns one. */
TEST(ipv6_off__bind)
{
	static const char * const addr[] = { "fd00:1::1", "2001:db8::1", "fe80::1%lo" };
	int i, fd;

	if (!off())
		SKIP(_exit(KSFT_SKIP), "IPv6 is on");
	ASSERT_LE(0, ns_fresh());
	for (i = 0; i < ARRAY_SIZE(addr); i++) {
		fd = rds_bound(addr[i], 0);
		EXPECT_EQ(-1, fd);
		EXPECT_EQ(EADDRNOTAVAIL, errno)
			TH_LOG("%s", addr[i]);
		fd = rds_socket();
		ASSERT_EQ(0, set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP));
		EXPECT_ERR(ENOPROTOOPT, rds_bind(fd, addr[i], 0));
		close(fd);
	}
	/* the loopback transport needs no interface */
	fd = rds_bound("::1", 5000);
	if (fd >= 0) {
		char c;

		EXPECT_EQ(1, send_to(fd, "::1", 5000, "x", 1, 0));
		EXPECT_EQ(1, recv_wait(fd, &c, 1));
	}
}

/* Destinations in IPv6: refused or never reached, and no harm done. */
TEST(ipv6_off__send)
{
	int fd;

	if (!off())
		SKIP(_exit(KSFT_SKIP), "IPv6 is on");
	ASSERT_EQ(0, pair4());
	fd = rds_bound("10.1.0.1", 5000);
	ASSERT_FD(fd);
	EXPECT_ERR(EOPNOTSUPP, send_to(fd, "fd00:1::2", 9, "x", 1, MSG_DONTWAIT));
	EXPECT_ERR(EOPNOTSUPP, send_to(fd, "::1", 9, "x", 1, MSG_DONTWAIT));
	fd = rds_bound("::1", 5000);
	if (fd >= 0) {
		send_to(fd, "fd00:1::2", 9, "x", 1, MSG_DONTWAIT);
		send_to(fd, "fe80::2%eth0", 9, "x", 1, MSG_DONTWAIT);
	}
}

/* IPv4 over the wire, both ways, and mapped addresses. */
TEST(ipv6_off__ipv4_works)
{
	int a, b, i;
	char c[8];

	if (!off())
		SKIP(_exit(KSFT_SKIP), "IPv6 is on");
	ASSERT_EQ(0, pair4());
	a = rds_bound("10.1.0.1", 5000);
	b = rds_bound_in(1, "::ffff:10.1.0.2", 5000);
	ASSERT_FD(a);
	ASSERT_FD(b);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(5, send_to(a, "10.1.0.2", 5000, "hello", 5, 0));
		ASSERT_EQ(5, recv_wait(b, c, 8));
		ASSERT_EQ(2, send_to(b, "::ffff:10.1.0.1", 5000, "ok", 2, 0));
		ASSERT_EQ(2, recv_wait(a, c, 8));
	}
	EXPECT_TRUE(all_acked(a));
	EXPECT_TRUE(all_acked(b));
}

TEST_HARNESS_MAIN
