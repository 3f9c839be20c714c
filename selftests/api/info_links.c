// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=60 ref=0 lanes=uml */
/*
 * Info records read all the while links are made, reset and given up: what has no socket
 * is left out, what has one is whole (F10, F21). And how the last link of a path ended.
 */
#include "rds_duo.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_int stop, bad, seen, without;

struct reader {
	int fd, opt, size;
};

static void look(const struct reader *r, const void *buf, socklen_t len)
{
	const struct rds6_info_tcp_socket *t = buf;
	const struct rds_info_path *p = buf;
	socklen_t i;

	for (i = 0; i < len / r->size; i++) {
		if (r->opt == RDS6_INFO_TCP_SOCKETS)
			bad += !t[i].local_addr.s6_addr[0] && !t[i].local_addr.s6_addr[10];
		if (r->opt == RDS_INFO_PATHS)
			bad += !p[i].state[0] || p[i].state[15];
	}
	if (r->opt == RDS6_INFO_TCP_SOCKETS) {
		seen += len > 0;
		without += !len;
	}
}

static void *read_info(void *arg)
{
	struct reader *r = arg;
	socklen_t len;
	void *p;

	while (!atomic_load(&stop)) {
		if (info_get(r->fd, r->opt, &p, &len) == r->size)
			look(r, p, len);
		else
			bad++;
		free(p);
	}
	return NULL;
}

static int write_sysctl(const char *text)
{
	int fd = open("/proc/sys/net/rds/tcp/rds_tcp_sndbuf", O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -1;
	ret = write(fd, text, strlen(text));
	close(fd);
	return ret > 0 ? 0 : -1;
}

/* Links reset from both ends 40 times, others dialled in vain, under three readers. */
TEST(info_links__read_while_they_come_and_go)
{
	struct reader r[] = {
		{ -1, RDS6_INFO_TCP_SOCKETS, 64 },
		{ -1, RDS_INFO_PATHS, 112 },
		{ -1, RDS6_INFO_CONNECTIONS, 65 },
	};
	pthread_t t[ARRAY_SIZE(r)];
	int a, b, i;
	char c[8];

	SETUP_PAIR();
	a = rds_bound("10.1.0.1", 5000);
	b = rds_bound_in(1, "10.1.0.2", 5000);
	ASSERT_FD(a);
	ASSERT_FD(b);
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		r[i].fd = a;
		ASSERT_EQ(0, pthread_create(&t[i], NULL, read_info, &r[i]));
	}
	for (i = 0; i < 40; i++) {
		ASSERT_EQ(1, send_to(a, "10.1.0.2", 5000, "x", 1, 0));
		/* refused and unreachable: links that never get a peer */
		send_to(a, i & 1 ? "10.1.0.77" : "10.1.0.78", 5000, "x", 1, MSG_DONTWAIT);
		ASSERT_EQ(1, recv_wait(b, c, 8));
		ASSERT_EQ(0, ns_enter(rds_ns[i & 1]));
		EXPECT_EQ(0, write_sysctl(i & 2 ? "70000" : "80000"));
		ASSERT_EQ(0, ns_enter(rds_ns[0]));
	}
	atomic_store(&stop, 1);
	for (i = 0; i < ARRAY_SIZE(r); i++)
		pthread_join(t[i], NULL);
	EXPECT_EQ(0, atomic_load(&bad));
	EXPECT_LT(0, atomic_load(&seen));
	TH_LOG("%d snapshots with TCP sockets, %d without", atomic_load(&seen),
	       atomic_load(&without));
}

/* Path 0 to this address, of the namespace in which @fd was made; false: there is none. */
static bool path_to(int fd, const char *faddr, struct rds_info_path *path)
{
	struct rds_info_path *p;
	struct in6_addr want;
	bool found = false;
	socklen_t len, i;
	char text[64];
	void *buf;

	snprintf(text, sizeof(text), "::ffff:%s", faddr);
	inet_pton(AF_INET6, text, &want);
	if (info_get(fd, RDS_INFO_PATHS, &buf, &len) != sizeof(*p))
		len = 0;
	for (p = buf, i = 0; i < len / sizeof(*p); i++) {
		if (p[i].index || memcmp(&p[i].faddr, &want, sizeof(want)))
			continue;
		*path = p[i];
		found = true;
	}
	free(buf);
	return found;
}

static bool has_ended(int fd, const char *faddr, struct rds_info_path *path)
{
	return path_to(fd, faddr, path) && path->ended_why;
}

/* Nothing has ended; a setting is applied, which each end sees in its way; a peer is not there. */
TEST(info_links__how_the_last_one_ended)
{
	struct rds_info_path p;
	int a, b;
	char c[8];

	SETUP_PAIR();
	a = rds_bound("10.1.0.1", 5000);
	b = rds_bound_in(1, "10.1.0.2", 5000);
	ASSERT_FD(a);
	ASSERT_FD(b);
	ASSERT_EQ(1, send_to(a, "10.1.0.2", 5000, "x", 1, 0));
	ASSERT_EQ(1, recv_wait(b, c, 8));
	ASSERT_TRUE(path_to(a, "10.1.0.2", &p));
	EXPECT_EQ(0, p.ended_why);
	EXPECT_EQ(0, p.ended_s);

	EXPECT_EQ(0, write_sysctl("90000"));
	ASSERT_TRUE(WAIT_UNTIL(has_ended(a, "10.1.0.2", &p)));
	EXPECT_EQ(ECONNABORTED, p.ended_why);
	ASSERT_TRUE(WAIT_UNTIL(has_ended(b, "10.1.0.1", &p)));
	EXPECT_EQ(ECONNRESET, p.ended_why);
	/* with a new link it is still told, and the time goes on */
	ASSERT_EQ(1, send_to(a, "10.1.0.2", 5000, "x", 1, 0));
	ASSERT_EQ(1, recv_wait(b, c, 8));
	ASSERT_TRUE(WAIT_UNTIL(has_ended(a, "10.1.0.2", &p) && p.ended_s >= 1));
	EXPECT_EQ(ECONNABORTED, p.ended_why);
	EXPECT_GT(100, p.ended_s);
	EXPECT_STREQ("up", (char *)p.state);

	send_to(a, "10.1.0.77", 5000, "x", 1, MSG_DONTWAIT);
	ASSERT_TRUE(WAIT_UNTIL(has_ended(a, "10.1.0.77", &p)));
	EXPECT_TRUE(p.ended_why == EHOSTUNREACH || p.ended_why == ETIMEDOUT)
		TH_LOG("errno %d", p.ended_why);
}

TEST_HARNESS_MAIN
