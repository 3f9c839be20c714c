// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp timeout=180 ref=0 lanes=uml */
/*
 * Root of a user namespace has all the addresses he wants: he must not find such as the tables of
 * sockets and connections put into one chain, whatever their seed.
 */
#include "rds_util.h"
#include "rds_netns.h"

#include <sys/resource.h>

#define COUNT	3000
#define PORT	7000
#define ROUNDS	12
/* Timed together: short enough not to be interrupted each time. */
#define CHUNK	100
#define CHUNKS	(COUNT / CHUNK)

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

enum { BIND, SEND, OPS };

/*
 * How much slower those of one sum may be: in one chain a send takes 6 times as
 * long, a bind 64 times.  The kernel's own table of addresses, which bind asks,
 * does put them into one chain: 1.7 times.
 */
static const struct {
	const char *name;
	int percent;
} ops[OPS] = { { "bind", 400 }, { "send", 150 } };

/* Microseconds of each chunk. */
typedef __s64 times[OPS][CHUNKS];

/* To bind a socket to each, all to one port, and to send from each to @to. */
static bool bind_and_send(bool same, const char *to, times us)
{
	static int fds[COUNT];
	char addr[64];
	int i;

	memset(us, 0, sizeof(times));
	for (i = 0; i < COUNT; i++) {
		address(addr, i, same);
		fds[i] = rds_socket();
		us[BIND][i / CHUNK] -= now_us();
		if (rds_bind(fds[i], addr, PORT))
			return false;
		us[BIND][i / CHUNK] += now_us();
	}
	for (i = 0; i < COUNT; i++) {
		us[SEND][i / CHUNK] -= now_us();
		if (send_to(fds[i], to, PORT, "x", 1, 0) != 1)
			return false;
		us[SEND][i / CHUNK] += now_us();
	}
	for (i = 0; i < COUNT; i++)
		close(fds[i]);
	return true;
}

/* The quickest of each chunk: what else the machine does only adds. */
static void keep_best(times best, times us, bool first)
{
	int op, i;

	for (op = 0; op < OPS; op++)
		for (i = 0; i < CHUNKS; i++)
			if (first || us[op][i] < best[op][i])
				best[op][i] = us[op][i];
}

static __s64 sum(const __s64 us[CHUNKS])
{
	__s64 all = 0;
	int i;

	for (i = 0; i < CHUNKS; i++)
		all += us[i];
	return all;
}

static bool alike(times best[2], int op)
{
	return ops[op].percent * sum(best[0][op]) > 100 * sum(best[1][op]);
}

FIXTURE(many) {};

FIXTURE_SETUP(many)
{
	SETUP_LOCAL();
}

FIXTURE_TEARDOWN(many)
{
}

TEST_F_TIMEOUT(many, addresses__of_one_sum, 150)
{
	struct rlimit rl = { COUNT + 100, COUNT + 100 };
	static times us, best[2];
	int fd, i, n, op, round;
	char to[64], buf[8];

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &rl));
	ASSERT_TRUE(add_addresses(false));
	ASSERT_TRUE(add_addresses(true));
	address(to, COUNT, false);
	ASSERT_EQ(0, nl_addr("lo", to, 128, 1));
	fd = rds_bound(to, PORT);
	ASSERT_FD(fd);
	/*
	 * The first round makes the connections, which goes on beside the second
	 * half.  Of the others, in turns, the quickest of each chunk counts.  On a
	 * busy machine a quick one may be long in coming.
	 */
	for (round = 0; round < ROUNDS; round++) {
		if (round > 2 && alike(best, BIND) && alike(best, SEND))
			break;
		for (i = 0; i < 2; i++) {
			ASSERT_TRUE(bind_and_send(i, to, us));
			keep_best(best[i], us, round < 2);
			for (n = 0; n < COUNT; n++)
				ASSERT_EQ(1, recv(fd, buf, sizeof(buf), 0));
		}
	}
	for (op = 0; op < OPS; op++) {
		TH_LOG("%s, %d sockets, %d rounds: %lld us, of one sum %lld us", ops[op].name,
		       COUNT, round, sum(best[0][op]), sum(best[1][op]));
		EXPECT_TRUE(alike(best, op));
	}
}

TEST_HARNESS_MAIN
