// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=90 lanes=uml */
/*
 * The namespace that counts is the object's, never the caller's: sockets and open
 * sysctl files used from elsewhere (G3, G6, G9), sysctls and what lies beside them (C6,
 * C10), and namespaces that go while somebody writes (G7).
 */
#include "rds_duo.h"

#include <sys/mount.h>

static const char * const core_sysctl[] = {
	"reconnect_min_delay_ms", "reconnect_max_delay_ms", "max_unacked_packets",
	"max_unacked_bytes", "ping_enable", "max_conns", "idle_conn_timeout_ms",
	"tcp/rds_tcp_sndbuf", "tcp/rds_tcp_rcvbuf",
};

#define NR_SYSCTLS ARRAY_SIZE(core_sysctl)

static int sysctl_open(const char *name, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/net/rds/%s", name);
	return open(path, flags | O_CLOEXEC);
}

static long sysctl_read_fd(int fd)
{
	char s[64];
	ssize_t n = pread(fd, s, sizeof(s) - 1, 0);

	if (n <= 0)
		return -1;
	s[n] = 0;
	return atol(s);
}

static long sysctl_read(const char *name)
{
	int fd = sysctl_open(name, O_RDONLY);
	long v = sysctl_read_fd(fd);

	close(fd);
	return v;
}

static int sysctl_write_fd(int fd, const char *text)
{
	return pwrite(fd, text, strlen(text), 0) == strlen(text) ? 0 : -1;
}

static int sysctl_write(const char *name, const char *text)
{
	int fd = sysctl_open(name, O_WRONLY), ret, err;

	if (fd < 0)
		return -1;
	ret = sysctl_write_fd(fd, text);
	err = errno;
	close(fd);
	errno = err;
	return ret;
}

/* A write to one sysctl, as large as can be, changes no other (C6). */
TEST(sysctl__neighbours)
{
	static const char * const text[] = {
		"2147483647", "0", "-1", "-2147483648", "2147483648", "4294967296",
		"9223372036854775807", "18446744073709551615", "5 7", "1000 77 78 79",
		"65536\t13",
	};
	long before[NR_SYSCTLS];
	int i, j, k;

	SKIP_REF("has other sysctls");
	SETUP_LOCAL();
	for (i = 0; i < NR_SYSCTLS; i++) {
		for (j = 0; j < ARRAY_SIZE(text); j++) {
			for (k = 0; k < NR_SYSCTLS; k++)
				before[k] = sysctl_read(core_sysctl[k]);
			sysctl_write(core_sysctl[i], text[j]);
			for (k = 0; k < NR_SYSCTLS; k++) {
				if (k == i)
					continue;
				EXPECT_EQ(before[k], sysctl_read(core_sysctl[k]))
					TH_LOG("'%s' to %s changed %s", text[j],
					       core_sysctl[i], core_sysctl[k]);
			}
		}
	}
	/* whatever was taken: messages still flow */
	ASSERT_EQ(0, sysctl_write("max_conns", "1000"));
	i = rds_bound("10.9.0.1", 5000);
	ASSERT_FD(i);
	EXPECT_EQ(1, send_to(i, "10.9.0.1", 5000, "x", 1, 0));
	EXPECT_TRUE(wait_data(i));
}

/* Of a pair with an order the second write is measured against the first (C10). */
TEST(sysctl__pair)
{
	SKIP_REF("has other sysctls");
	SETUP_LOCAL();
	ASSERT_EQ(0, sysctl_write("reconnect_max_delay_ms", "2000"));
	ASSERT_EQ(0, sysctl_write("reconnect_min_delay_ms", "1000"));
	EXPECT_ERR(EINVAL, sysctl_write("reconnect_max_delay_ms", "500"));
	EXPECT_ERR(EINVAL, sysctl_write("reconnect_min_delay_ms", "3000"));
	EXPECT_EQ(2000, sysctl_read("reconnect_max_delay_ms"));
	EXPECT_EQ(1000, sysctl_read("reconnect_min_delay_ms"));
}

/* An open sysctl file belongs to the namespace where it was opened (G6). */
TEST(sysctl__written_from_another_namespace)
{
	static const char * const value[] = { "5", "6000", "9", "9999", "0", "77", "7000",
					      "70000", "80000" };
	int fd[NR_SYSCTLS], i;

	SKIP_REF("has other sysctls");
	SETUP_PAIR();
	for (i = NR_SYSCTLS - 1; i >= 0; i--) {
		fd[i] = sysctl_open(core_sysctl[i], O_RDWR);
		ASSERT_FD(fd[i]);
	}
	ASSERT_EQ(0, ns_enter(rds_ns[1]));
	for (i = 1; i < NR_SYSCTLS; i++) {
		long mine = sysctl_read(core_sysctl[i]);

		EXPECT_EQ(0, sysctl_write_fd(fd[i], value[i]))
			TH_LOG("%s", core_sysctl[i]);
		EXPECT_EQ(atol(value[i]), sysctl_read_fd(fd[i]));
		EXPECT_EQ(mine, sysctl_read(core_sysctl[i]))
			TH_LOG("%s of the writer changed", core_sysctl[i]);
	}
}

/* Messages of connections, all numbers of tries, of a namespace's paths. */
static long links_made(int fd)
{
	struct rds_info_path *p;
	socklen_t len, i;
	long sum = 0;
	void *buf;

	if (info_get(fd, RDS_INFO_PATHS, &buf, &len) != sizeof(*p)) {
		free(buf);
		return -1;
	}
	p = buf;
	for (i = 0; i < len / sizeof(*p); i++)
		sum += p[i].epoch;
	free(buf);
	return sum;
}

/* The same number for a while, so that nothing is being made any more. */
static long links_settled(int fd)
{
	__s64 end = now_ms() + WAIT_MS;
	long last = -1, now;
	int same = 0;

	while (same < 5 && now_ms() < end) {
		now = links_made(fd);
		same = now == last ? same + 1 : 0;
		last = now;
		usleep(100000);
	}
	return last;
}

/* And resets the links of that namespace, not the writer's (G6). */
TEST_F(duo, sysctl__resets_the_links_of_its_namespace)
{
	long near, far;
	int fd, third;
	char c;

	SKIP_REF("has no list of paths");
	if (!variant->ns)
		SKIP(_exit(KSFT_SKIP), "no link");
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_EQ(1, recv_wait(self->b, &c, 1));
	ASSERT_TRUE(all_acked(self->a));
	fd = sysctl_open("tcp/rds_tcp_sndbuf", O_RDWR);
	ASSERT_FD(fd);
	/* from a namespace that has nothing */
	third = ns_fresh();
	ASSERT_FD(third);
	near = links_settled(self->a);
	ASSERT_LT(0, near);
	ASSERT_EQ(0, sysctl_write_fd(fd, "70000"));
	EXPECT_TRUE(WAIT_UNTIL(links_made(self->a) > near));
	EXPECT_EQ(0, sysctl_read("tcp/rds_tcp_sndbuf"));
	/* its own sysctl leaves the links alone */
	ASSERT_TRUE(send(self->a, "y", 1, 0) == 1 && recv_wait(self->b, &c, 1) == 1);
	ASSERT_TRUE(all_acked(self->a));
	far = links_settled(self->b);
	ASSERT_EQ(0, sysctl_write("tcp/rds_tcp_sndbuf", "70000"));
	usleep(300000);
	EXPECT_EQ(far, links_made(self->b));
}

/* A socket passed to a process in another namespace stays in its own (G9, G3). */
TEST_F(duo, socket__used_from_another_namespace)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	char b[8];
	int fd;

	fd = rds_socket();
	ASSERT_LE(0, ns_fresh());
	/* none of these addresses exists here */
	ASSERT_EQ(0, rds_bind(fd, strchr(variant->aaddr, '%') ? "127.0.0.1" : variant->aaddr,
			      6000));
	EXPECT_EQ(0, getsockname(fd, (void *)&ss, &len));
	EXPECT_EQ(5, send(self->a, "hello", 5, 0));
	EXPECT_EQ(5, recv_wait(self->b, b, 8));
	EXPECT_EQ(2, send(self->b, "ok", 2, 0));
	EXPECT_EQ(2, recv_wait(self->a, b, 8));
	EXPECT_TRUE(all_acked(self->a));
	/* and its port is taken there, not here */
	EXPECT_ERR(EADDRNOTAVAIL, rds_bind(rds_socket(), "10.9.0.1", 6000));
	EXPECT_LE(0, rds_bound("127.0.0.1", DUO_A));
	if (!strcmp(variant->aaddr, "127.0.0.1"))
		EXPECT_EQ(0, poll_for(self->a, POLLIN, 0) & POLLIN);
}

/* Writes until the namespace has gone. Return: 0 when it went while this wrote. */
static int write_on(int w, int i)
{
	int n;

	for (n = 0; n < 1000000; n++)
		if (sysctl_write_fd(w, n & 1 ? "70000" : "80000") ||
		    sysctl_write_fd(i, n & 1 ? "7000" : "8000"))
			return 0;
	return 5;
}

/* The open files do not hold the namespace; all that does is left while a child writes. */
static int one_round(void *arg)
{
	int own = *(int *)arg, ns = ns_local(), w, i, fd, begun[2];
	pid_t writer;
	char c;

	if (ns || pipe(begun))
		return 1;
	fd = rds_bound("10.9.0.1", 5000);
	if (fd < 0 || send_to(fd, "10.9.0.1", 5000, "x", 1, 0) != 1)
		return 2;
	w = sysctl_open("tcp/rds_tcp_sndbuf", O_RDWR);
	i = sysctl_open("idle_conn_timeout_ms", O_RDWR);
	if (w < 0 || i < 0)
		return 4;
	writer = fork();
	if (!writer) {
		close(fd);
		close(rds_ns[0]);
		if (setns(own, CLONE_NEWNET) || sysctl_write_fd(w, "80000") ||
		    write(begun[1], "", 1) != 1)
			_exit(3);
		_exit(write_on(w, i));
	}
	close(begun[1]);
	if (writer < 0 || read(begun[0], &c, 1) != 1)
		return 3;
	close(fd);
	close(rds_ns[0]);
	if (setns(own, CLONE_NEWNET))
		return 3;
	return reap(writer);
}

/* Sysctls written by open files while their namespace is torn down (G7). */
TEST(sysctl__written_while_the_namespace_goes)
{
	int own = open("/proc/thread-self/ns/net", O_RDONLY), i;

	ASSERT_FD(own);
	for (i = 0; i < 12; i++)
		ASSERT_EQ(0, reap(spawn(one_round, &own)));
}

TEST_HARNESS_MAIN
