// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp timeout=120 ref=0 */
/*
 * Root of a user namespace has all the addresses he wants: he must not find such as the tables of
 * sockets and connections put into one chain, whatever their seed.
 */
#include "rds_util.h"
#include "rds_netns.h"

#include <sys/resource.h>

#define COUNT	1500
#define PORT	7000

/* Words whose exclusive or is the same, or that just count up. */
static void address(char *s, int i, bool same)
{
	unsigned int k = (i + 1) * 0x10003u, l = same ? k ^ 0x5a5a1234u : 0;

	sprintf(s, "2001:db8:%x:0:%x:%x:%x:%x", same, k >> 16, k & 0xffff, l >> 16, l & 0xffff);
}

static bool add_addresses(bool same)
{
	char addr[64];
	int i;

	for (i = 0; i < COUNT; i++) {
		address(addr, i, same);
		if (nl_addr("lo", addr, 128, 1))
			return false;
	}
	return true;
}

/* Microseconds to bind all of them to one port, to send from each to @to, and to close them. */
static __s64 bind_all(bool same, const char *to)
{
	static int fds[COUNT];
	char addr[64];
	__s64 start;
	int i;

	start = now_us();
	for (i = 0; i < COUNT; i++) {
		address(addr, i, same);
		fds[i] = rds_socket();
		if (fds[i] < 0 || rds_bind(fds[i], addr, PORT) ||
		    send_to(fds[i], to, PORT, "x", 1, 0) != 1) {
			printf("# socket %d: %s\n", i, strerror(errno));
			return -1;
		}
	}
	for (i = 0; i < COUNT; i++)
		close(fds[i]);
	return now_us() - start;
}

TEST(addresses__of_one_sum)
{
	struct rlimit rl = { COUNT + 100, COUNT + 100 };
	__s64 plain, same, again;
	char to[64], buf[8];
	int fd, i;

	SETUP_LOCAL();
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &rl));
	ASSERT_TRUE(add_addresses(false));
	ASSERT_TRUE(add_addresses(true));
	address(to, COUNT, false);
	ASSERT_EQ(0, nl_addr("lo", to, 128, 1));
	fd = rds_bound(to, PORT);
	ASSERT_FD(fd);
	plain = bind_all(false, to);
	ASSERT_LT(0, plain);
	same = bind_all(true, to);
	ASSERT_LT(0, same);
	/* the connections are there by now */
	again = bind_all(true, to);
	ASSERT_LT(0, again);
	TH_LOG("%d sockets: %lld us, of one sum %lld us, once more %lld us", COUNT, plain, same,
	       again);
	EXPECT_GT(3 * plain, same);
	EXPECT_GT(3 * plain, again);
	for (i = 0; i < 3 * COUNT; i++)
		ASSERT_EQ(1, recv(fd, buf, sizeof(buf), 0));
}

TEST_HARNESS_MAIN
