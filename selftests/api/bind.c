// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=60 waits=1 lanes=uml */
/* bind(): every row of the table of checks, and which wins. */
#include "rds_util.h"

#include <pthread.h>

static int tcp_refs(void)
{
	return file_number("/sys/module/rds_tcp/refcnt");
}

static int try_bind(const char *addr, unsigned int port)
{
	int fd = rds_bound(addr, port);

	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

static int bind_len(int family, const char *addr, socklen_t len)
{
	struct sockaddr_storage ss;
	int fd = rds_socket(), ret, err;

	mkaddr(&ss, addr, 0);
	if (family >= 0)
		ss.ss_family = family;
	ret = bind(fd, (void *)&ss, len);
	err = errno;
	close(fd);
	errno = err;
	return ret;
}

/* Row 1: what the generic layer refuses (E6, E17). */
TEST(bind__bad_pointer_and_length)
{
	struct sockaddr_storage ss;
	int fd;

	SETUP_LOCAL();
	fd = rds_socket();
	mkaddr(&ss, "127.0.0.1", 0);
	EXPECT_ERR(EINVAL, bind(fd, (void *)&ss, -1));
	EXPECT_ERR(EINVAL, bind(fd, (void *)&ss, sizeof(ss) + 1));
	EXPECT_ERR(EFAULT, bind(fd, BAD_PTR, 16));
	EXPECT_OK(rds_bind(fd, "127.0.0.1", 0));
}

/* Rows 2..4: every length below the minimum fails, every one above works (E6). */
TEST(bind__every_length)
{
	socklen_t l;

	SETUP_LOCAL();
	for (l = 0; l <= sizeof(struct sockaddr_storage); l++) {
		EXPECT_EQ(l < sizeof(struct sockaddr_in) ? EINVAL : 0,
			  ERR_OF(bind_len(-1, "127.0.0.1", l)));
		EXPECT_EQ(l < sizeof(struct sockaddr_in6) ? EINVAL : 0,
			  ERR_OF(bind_len(-1, "::1", l)));
	}
}

/* The kernel never looks behind the address it was given (E6, A4). */
TEST(bind__address_at_page_end)
{
	struct sockaddr_storage ss;
	socklen_t len;
	char *p;
	int fd;

	SETUP_LOCAL();
	fd = rds_socket();
	len = mkaddr(&ss, "127.0.0.1", 0);
	p = guarded(len);
	memcpy(p, &ss, len);
	EXPECT_OK(bind(fd, (void *)p, len));
}

/* Rows 3 and 4: addresses that are never local (v4, mapped, v6). */
TEST(bind__unusable_addresses)
{
	static const char * const bad[] = {
		"0.0.0.0", "255.255.255.255", "224.0.0.1", "239.255.255.255",
		"::", "ff02::1", "ff05::2", "::ffff:0.0.0.0",
		"::ffff:255.255.255.255", "::ffff:224.0.0.1", "fe80::9",
	};
	int i;

	SETUP_LOCAL();
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_ERR(EINVAL, try_bind(bad[i], 0))
			TH_LOG("%s", bad[i]);
	}
}

/* Row 5: other families, whatever the length. */
TEST(bind__other_families)
{
	int f;

	SETUP_LOCAL();
	for (f = 0; f < 50; f++) {
		if (f == AF_INET || f == AF_INET6)
			continue;
		EXPECT_ERR(EINVAL, bind_len(f, "127.0.0.1", 16));
		EXPECT_ERR(EINVAL, bind_len(f, "::1", 128));
	}
}

/* Row 6: a bound socket cannot be bound again, not even to its own address. */
TEST(bind__already_bound)
{
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 0);
	ASSERT_FD(fd);
	EXPECT_ERR(EINVAL, rds_bind(fd, "127.0.0.1", 0));
	EXPECT_ERR(EINVAL, rds_bind(fd, "127.0.0.1", port_of(fd)));
	EXPECT_ERR(EINVAL, rds_bind(fd, "10.9.0.1", 0));
	/* 6 before 9 */
	EXPECT_ERR(EINVAL, rds_bind(fd, "192.0.2.1", 0));
}

/* Row 7: the scope of a link-local peer binds the local side, too. */
TEST(bind__scope_differs_from_connected)
{
	int fd;

	SETUP_PAIR();
	fd = rds_socket();
	ASSERT_EQ(0, rds_connect(fd, "fe80::2%eth0", 4000));
	EXPECT_ERR(EINVAL, rds_bind(fd, "fe80::9%lo", 4000));
	EXPECT_OK(rds_bind(fd, "fe80::1%eth0", 4000));
}

/* Row 8: the chosen transport does not own the address. */
TEST(bind__chosen_transport_refuses)
{
	int fd;

	SETUP_LOCAL();
	fd = rds_socket();
	ASSERT_EQ(0, set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP));
	EXPECT_ERR(ENOPROTOOPT, rds_bind(fd, "192.0.2.1", 0));
	EXPECT_ERR(ENOPROTOOPT, rds_bind(fd, "2001:db8::1", 0));
	/* 8 before 10 */
	EXPECT_ERR(ENOPROTOOPT, rds_bind(fd, "192.0.2.1", 1));
	/* the choice survives, and TCP owns 127/8 as well */
	EXPECT_EQ(RDS_TRANS_TCP, get_int(fd, SOL_RDS, SO_RDS_TRANSPORT));
	EXPECT_OK(rds_bind(fd, "127.0.0.1", 0));
	EXPECT_EQ(RDS_TRANS_TCP, get_int(fd, SOL_RDS, SO_RDS_TRANSPORT));
}

/* Row 9: nobody owns the address. 9 before 10. */
TEST(bind__no_transport_owns_address)
{
	static const char * const no[] = {
		"192.0.2.1", "10.9.0.3", "::ffff:192.0.2.1", "2001:db8::1",
		"fd09::3", "fe80::77%lo",
	};
	int fd, i;

	SETUP_LOCAL();
	for (i = 0; i < ARRAY_SIZE(no); i++) {
		EXPECT_ERR(EADDRNOTAVAIL, try_bind(no[i], 0))
			TH_LOG("%s", no[i]);
		EXPECT_ERR(EADDRNOTAVAIL, try_bind(no[i], 1));
	}
	/* a failed bind leaves the socket usable */
	fd = rds_socket();
	EXPECT_ERR(EADDRNOTAVAIL, rds_bind(fd, "192.0.2.1", 0));
	EXPECT_EQ(RDS_TRANS_NONE, get_int(fd, SOL_RDS, SO_RDS_TRANSPORT));
	EXPECT_OK(rds_bind(fd, "10.9.0.1", 0));
}

/* Row 10: port 1 belongs to the kernel, on every transport. */
TEST(bind__port_1)
{
	int fd;

	SETUP_LOCAL();
	EXPECT_ERR(EINVAL, try_bind("127.0.0.1", 1));
	EXPECT_ERR(EINVAL, try_bind("10.9.0.1", 1));
	EXPECT_ERR(EINVAL, try_bind("::1", 1));
	EXPECT_ERR(EINVAL, try_bind("fd09::1", 1));
	fd = rds_socket();
	EXPECT_ERR(EINVAL, rds_bind(fd, "127.0.0.1", 1));
	EXPECT_EQ(RDS_TRANS_NONE, get_int(fd, SOL_RDS, SO_RDS_TRANSPORT));
	EXPECT_OK(rds_bind(fd, "10.9.0.1", 2));
}

/* Row 11: one owner per (address, port); nothing can make it two. */
TEST(bind__address_in_use)
{
	static const char * const addr[] = {
		"127.0.0.1", "10.9.0.1", "::1", "fd09::1", "fe80::9%lo",
	};
	int a, b, i;

	SETUP_LOCAL();
	for (i = 0; i < ARRAY_SIZE(addr); i++) {
		a = rds_bound(addr[i], 5000);
		ASSERT_FD(a);
		b = rds_socket();
		set_int(a, SOL_SOCKET, SO_REUSEADDR, 1);
		set_int(a, SOL_SOCKET, SO_REUSEPORT, 1);
		set_int(b, SOL_SOCKET, SO_REUSEADDR, 1);
		set_int(b, SOL_SOCKET, SO_REUSEPORT, 1);
		EXPECT_ERR(EADDRINUSE, rds_bind(b, addr[i], 5000));
		/* free at once, and the loser may have it */
		close(a);
		EXPECT_OK(rds_bind(b, addr[i], 5000));
		close(b);
	}
}

/* The same port on another address, also of the other family, is another key. */
TEST(bind__same_port_other_address)
{
	SETUP_LOCAL();
	ASSERT_FD(rds_bound("127.0.0.1", 5000));
	ASSERT_FD(rds_bound("127.0.0.2", 5000));
	ASSERT_FD(rds_bound("10.9.0.1", 5000));
	ASSERT_FD(rds_bound("10.9.0.2", 5000));
	ASSERT_FD(rds_bound("::1", 5000));
	ASSERT_FD(rds_bound("fd09::1", 5000));
	EXPECT_ERR(EADDRINUSE, rds_bound("10.9.0.2", 5000));
}

/* A v4-mapped address is the v4 address. */
TEST(bind__v4_mapped)
{
	struct sockaddr_storage ss = {};
	socklen_t len = sizeof(ss);
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("::ffff:10.9.0.1", 5000);
	ASSERT_FD(fd);
	ASSERT_EQ(0, getsockname(fd, (void *)&ss, &len));
	EXPECT_EQ(AF_INET, ss.ss_family);
	EXPECT_EQ(16, len);
	EXPECT_ERR(EADDRINUSE, rds_bound("10.9.0.1", 5000));
	close(fd);
	fd = rds_bound("10.9.0.1", 5000);
	ASSERT_FD(fd);
	EXPECT_ERR(EADDRINUSE, rds_bound("::ffff:10.9.0.1", 5000));
	EXPECT_OK(try_bind("::ffff:127.0.0.1", 0));
}

/* The scope is part of a link-local key, and ignored for other addresses. */
TEST(bind__scope_in_key)
{
	struct sockaddr_storage ss;
	socklen_t len;
	int a, b;

	SETUP_PAIR();
	ASSERT_EQ(0, nl_addr("eth0", "fe80::9", 64, 1));
	a = rds_bound("fe80::9%lo", 5000);
	ASSERT_FD(a);
	b = rds_bound("fe80::9%eth0", 5000);
	ASSERT_FD(b);
	EXPECT_ERR(EADDRINUSE, rds_bound("fe80::9%eth0", 5000));

	len = mkaddr(&ss, "fd09::1%eth0", 5000);
	a = rds_socket();
	EXPECT_OK(bind(a, (void *)&ss, len));
	ASSERT_EQ(0, getsockname(a, (void *)&ss, &len));
	EXPECT_EQ(0, ((struct sockaddr_in6 *)&ss)->sin6_scope_id);
	EXPECT_ERR(EADDRINUSE, rds_bound("fd09::1", 5000));
}

/* A link-local address of another interface, or of none, is not ours. */
TEST(bind__scope_of_wrong_interface)
{
	struct sockaddr_storage ss;
	socklen_t len;
	int fd;

	SETUP_PAIR();
	EXPECT_ERR(EADDRNOTAVAIL, try_bind("fe80::9%eth0", 0));
	EXPECT_ERR(EADDRNOTAVAIL, try_bind("fe80::1%lo", 0));
	len = mkaddr(&ss, "fe80::9%lo", 0);
	((struct sockaddr_in6 *)&ss)->sin6_scope_id = 9999;
	fd = rds_socket();
	EXPECT_ERR(EADDRNOTAVAIL, bind(fd, (void *)&ss, len));
}

/* Which transport a bind attaches. */
TEST(bind__transport_pick)
{
	static const struct {
		const char *addr;
		int trans;
	} row[] = {
		{ "127.0.0.1", RDS_TRANS_LOOP_ID },
		{ "127.255.3.4", RDS_TRANS_LOOP_ID },
		{ "::1", RDS_TRANS_LOOP_ID },
		{ "::ffff:127.0.0.1", RDS_TRANS_LOOP_ID },
		{ "10.9.0.1", RDS_TRANS_TCP },
		{ "::ffff:10.9.0.1", RDS_TRANS_TCP },
		{ "fd09::1", RDS_TRANS_TCP },
		{ "fe80::9%lo", RDS_TRANS_TCP },
	};
	int i, fd;

	SETUP_LOCAL();
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		fd = rds_bound(row[i].addr, 0);
		ASSERT_FD(fd);
		EXPECT_EQ(row[i].trans, get_int(fd, SOL_RDS, SO_RDS_TRANSPORT))
			TH_LOG("%s", row[i].addr);
		close(fd);
	}
}

/* Port 0: a free port above 1 is picked, each time another. */
TEST(bind__port_0)
{
	static unsigned char seen[65536];
	int i, fd;
	unsigned int p;

	SETUP_LOCAL();
	for (i = 0; i < 300; i++) {
		fd = rds_bound(i & 1 ? "127.0.0.1" : "::1", 0);
		ASSERT_FD(fd);
		p = port_of(fd);
		EXPECT_LT(1, p);
		EXPECT_EQ(0, seen[p] & (1 << (i & 1)));
		seen[p] |= 1 << (i & 1);
	}
}

static void *bind_many(void *arg)
{
	int *fd = arg, i;

	for (i = 0; i < 150; i++)
		fd[i] = rds_bound("127.0.0.1", 0);
	return NULL;
}

/* Two threads that ask for any port at once both get all they want (E18). */
TEST(bind__port_0_race)
{
	static unsigned char seen[65536];
	static int fd[4][150];
	pthread_t t[4];
	int i, j;

	SETUP_LOCAL();
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&t[i], NULL, bind_many, fd[i]));
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < 4; i++)
		for (j = 0; j < 150; j++) {
			ASSERT_FD(fd[i][j]);
			EXPECT_EQ(0, seen[port_of(fd[i][j])]++);
		}
}

static void *bind_same(void *arg)
{
	int *a = arg;

	errno = 0;
	a[1] = rds_bind(a[0], "127.0.0.1", 0) ? errno : 0;
	return NULL;
}

/* Two binds of one socket at once: exactly one wins (E2, E11). */
TEST(bind__same_socket_race)
{
	int i, a[2], b[2];
	pthread_t t;

	SETUP_LOCAL();
	for (i = 0; i < 100; i++) {
		a[0] = rds_socket();
		b[0] = a[0];
		ASSERT_EQ(0, pthread_create(&t, NULL, bind_same, a));
		bind_same(b);
		pthread_join(t, NULL);
		EXPECT_EQ(EINVAL, a[1] + b[1]);
		close(a[0]);
	}
}

/* Equal addresses in two namespaces do not collide (G15, G3; weakness 21). */
TEST(bind__port_table_per_namespace)
{
	int a, b;

	SETUP_PAIR();
	a = rds_bound("127.0.0.1", 5000);
	ASSERT_FD(a);
	b = rds_bound_in(1, "127.0.0.1", 5000);
	if (is_ref()) {
		EXPECT_EQ(-1, b);
		EXPECT_EQ(EADDRINUSE, errno);
	} else {
		ASSERT_FD(b);
		/* each gets its own mail only */
		EXPECT_EQ(1, send_to(a, "127.0.0.1", 5000, "a", 1, 0));
		EXPECT_TRUE(wait_data(a));
		EXPECT_EQ(0, poll_for(b, POLLIN, 0));
	}
}

/* The interface a socket is bound to has no effect on its address. */
TEST(bind__device_binding_ignored)
{
	int fd;

	SETUP_PAIR();
	fd = rds_socket();
	ASSERT_EQ(0, setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3));
	EXPECT_OK(rds_bind(fd, "10.1.0.1", 0));
	EXPECT_ERR(EADDRNOTAVAIL, try_bind("10.1.0.2", 0));
}

/* A bind that fails late keeps the transport the program chose (weakness 28). */
TEST(bind__failure_keeps_chosen_transport)
{
	int a, fd;

	SETUP_LOCAL();
	a = rds_bound("10.9.0.1", 5000);
	ASSERT_FD(a);
	fd = rds_socket();
	ASSERT_EQ(0, set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP));
	EXPECT_ERR(EADDRINUSE, rds_bind(fd, "10.9.0.1", 5000));
	EXPECT_EQ(is_ref() ? RDS_TRANS_NONE : RDS_TRANS_TCP,
		  get_int(fd, SOL_RDS, SO_RDS_TRANSPORT));
	EXPECT_ERR(EINVAL, rds_bind(fd, "10.9.0.1", 1));
	EXPECT_OK(rds_bind(fd, "10.9.0.1", 5001));
	EXPECT_EQ(RDS_TRANS_TCP, get_int(fd, SOL_RDS, SO_RDS_TRANSPORT));
}

/* No module reference is lost by failing binds (E18, weakness 28). */
TEST(bind__failure_leaks_no_module_reference)
{
	int a, fd, i, before;

	SETUP_LOCAL();
	before = tcp_refs();
	if (before < 0)
		SKIP(_exit(KSFT_SKIP), "rds_tcp is not a module");
	a = rds_bound("10.9.0.1", 5000);
	ASSERT_FD(a);
	EXPECT_EQ(before + 1, tcp_refs());
	for (i = 0; i < 20; i++) {
		fd = rds_socket();
		if (i & 1)
			ASSERT_EQ(0, set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, 2));
		EXPECT_ERR(EADDRINUSE, rds_bind(fd, "10.9.0.1", 5000));
		EXPECT_ERR(EINVAL, rds_bind(fd, "10.9.0.1", 1));
		rds_bind(fd, "192.0.2.1", 0);
		close(fd);
	}
	close(a);
	EXPECT_EQ(!is_ref(), before == tcp_refs());
}

/* The module is pinned for as long as a socket uses its transport. */
TEST(bind__holds_module_reference)
{
	int a, b, before;

	SETUP_LOCAL();
	before = tcp_refs();
	if (before < 0)
		SKIP(_exit(KSFT_SKIP), "rds_tcp is not a module");
	a = rds_socket();
	ASSERT_EQ(0, set_int(a, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP));
	b = rds_bound("fd09::1", 0);
	ASSERT_FD(b);
	EXPECT_EQ(before + 2, tcp_refs());
	close(rds_bound("127.0.0.1", 0));
	close(a);
	close(b);
	EXPECT_EQ(before, tcp_refs());
}

/* An address that goes away blocks no new bind of others; and comes back. */
TEST(bind__address_removed)
{
	SETUP_LOCAL();
	ASSERT_EQ(0, nl_addr("lo", "10.9.0.2", 32, 0));
	ASSERT_EQ(0, nl_addr("lo", "fd09::2", 128, 0));
	EXPECT_ERR(EADDRNOTAVAIL, try_bind("10.9.0.2", 0));
	EXPECT_ERR(EADDRNOTAVAIL, try_bind("fd09::2", 0));
	ASSERT_EQ(0, nl_addr("lo", "10.9.0.2", 32, 1));
	ASSERT_EQ(0, nl_addr("lo", "fd09::2", 128, 1));
	EXPECT_OK(try_bind("10.9.0.2", 0));
	EXPECT_OK(try_bind("fd09::2", 0));
}

TEST_HARNESS_MAIN
