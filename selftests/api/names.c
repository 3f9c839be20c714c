// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=60 lanes=uml */
/* getsockname() and getpeername() in every state. */
#include "rds_util.h"

/* What call gives for a buffer of 128 bytes filled with a pattern. */
static int name_is(int fd, int peer, const void *want, socklen_t wlen)
{
	unsigned char b[160];
	socklen_t len = sizeof(struct sockaddr_storage), i;

	memset(b, 0xa5, sizeof(b));
	if (peer ? getpeername(fd, (void *)b, &len) : getsockname(fd, (void *)b, &len))
		return -errno;
	if (len != wlen)
		return 1000 + len;
	for (i = wlen; i < sizeof(b); i++)
		if (b[i] != 0xa5)
			return 2000 + i;
	return memcmp(b, want, wlen) ? 3000 : 0;
}

static int addr_is(int fd, int peer, const char *addr, unsigned int port)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, addr, port);

	return name_is(fd, peer, &ss, len);
}

static int family_only(int fd, int family, socklen_t len)
{
	struct sockaddr_storage ss = { .ss_family = family };

	return name_is(fd, 0, &ss, len);
}

/* Neither bound nor connected: an empty AF_UNSPEC name; no peer. */
TEST(names__fresh_socket)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int fd = rds_socket();

	EXPECT_EQ(0, family_only(fd, AF_UNSPEC, 16));
	EXPECT_ERR(ENOTCONN, getpeername(fd, (void *)&ss, &len));
	EXPECT_EQ(sizeof(ss), len);
}

/* Connected only: the peer decides the family of an all-zero local name. */
TEST(names__connected_unbound)
{
	int fd;

	SETUP_LOCAL();
	fd = rds_socket();
	ASSERT_EQ(0, rds_connect(fd, "10.9.0.2", 4000));
	EXPECT_EQ(0, family_only(fd, AF_INET, 16));
	EXPECT_EQ(0, addr_is(fd, 1, "10.9.0.2", 4000));
	ASSERT_EQ(0, rds_connect(fd, "fd09::2", 4001));
	EXPECT_EQ(0, family_only(fd, AF_INET6, 28));
	EXPECT_EQ(0, addr_is(fd, 1, "fd09::2", 4001));
	ASSERT_EQ(0, rds_connect(fd, "::ffff:10.9.0.2", 4002));
	EXPECT_EQ(0, family_only(fd, AF_INET, 16));
	EXPECT_EQ(0, addr_is(fd, 1, "10.9.0.2", 4002));
}

/* Bound: exactly the bound address, no byte more (B1, B7). */
TEST(names__bound)
{
	static const char * const addr[] = {
		"127.0.0.1", "10.9.0.1", "::1", "fd09::1", "fe80::9%lo",
	};
	int i, fd;

	SETUP_LOCAL();
	for (i = 0; i < ARRAY_SIZE(addr); i++) {
		fd = rds_bound(addr[i], 5000);
		ASSERT_FD(fd);
		EXPECT_EQ(0, addr_is(fd, 0, addr[i], 5000))
			TH_LOG("%s", addr[i]);
		EXPECT_EQ(-ENOTCONN, addr_is(fd, 1, addr[i], 5000));
	}
}

/* Flow label and a needless scope given at bind and connect are not returned. */
TEST(names__flowinfo_and_scope_dropped)
{
	struct sockaddr_storage ss;
	struct sockaddr_in6 *sin6 = (void *)&ss;
	int fd;
	socklen_t len;

	SETUP_LOCAL();
	fd = rds_socket();
	len = mkaddr(&ss, "fd09::1", 5000);
	sin6->sin6_flowinfo = htonl(0x12345);
	sin6->sin6_scope_id = 1;
	ASSERT_EQ(0, bind(fd, (void *)&ss, len));
	EXPECT_EQ(0, addr_is(fd, 0, "fd09::1", 5000));
	len = mkaddr(&ss, "fd09::2", 4000);
	sin6->sin6_flowinfo = htonl(0x12345);
	sin6->sin6_scope_id = 1;
	ASSERT_EQ(0, connect(fd, (void *)&ss, len));
	EXPECT_EQ(0, addr_is(fd, 1, "fd09::2", 4000));
	EXPECT_EQ(0, addr_is(fd, 0, "fd09::1", 5000));
}

/* The scope of a link-local connect shows in both names. */
TEST(names__scope_of_link_local_peer)
{
	int fd;

	SETUP_PAIR();
	fd = rds_socket();
	ASSERT_EQ(0, rds_bind(fd, "fe80::1%eth0", 5000));
	ASSERT_EQ(0, rds_connect(fd, "fe80::2%eth0", 4000));
	EXPECT_EQ(0, addr_is(fd, 0, "fe80::1%eth0", 5000));
	EXPECT_EQ(0, addr_is(fd, 1, "fe80::2%eth0", 4000));
}

/* Short buffers are filled to their end; *len says what was needed (A4). */
TEST(names__every_length)
{
	struct sockaddr_storage want;
	unsigned char *p;
	socklen_t l, len;
	int fd, i;

	SETUP_LOCAL();
	for (i = 0; i < 2; i++) {
		const char *addr = i ? "fd09::1" : "10.9.0.1";
		socklen_t full = mkaddr(&want, addr, 5000);

		fd = rds_bound(addr, 5000);
		ASSERT_FD(fd);
		ASSERT_EQ(0, rds_connect(fd, addr, 5000));
		for (l = 0; l <= full; l++) {
			p = guarded(l + !l);
			len = l;
			EXPECT_EQ(0, getsockname(fd, (void *)p, &len));
			EXPECT_EQ(full, len);
			EXPECT_EQ(0, memcmp(p, &want, l));
			len = l;
			EXPECT_EQ(0, getpeername(fd, (void *)p, &len));
			EXPECT_EQ(full, len);
			EXPECT_EQ(0, memcmp(p, &want, l));
		}
	}
}

/* Bad pointers and lengths. */
TEST(names__bad_arguments)
{
	struct sockaddr_storage ss;
	socklen_t len = -1;
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("10.9.0.1", 0);
	EXPECT_ERR(EINVAL, getsockname(fd, (void *)&ss, &len));
	len = sizeof(ss);
	EXPECT_ERR(EFAULT, getsockname(fd, BAD_PTR, &len));
	EXPECT_ERR(EFAULT, getsockname(fd, (void *)&ss, BAD_PTR));
	EXPECT_ERR(ENOTCONN, getpeername(fd, BAD_PTR, &len));
}

TEST_HARNESS_MAIN
