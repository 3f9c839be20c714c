// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=100 lanes=uml */
/* Queued messages are charged to the memory cgroup of their owner (R14, K1). */
#include "rds_util.h"

#include <sys/mount.h>
#include <sys/stat.h>

#define ROOT "/tmp/rds-cgroup"
#define GROUP ROOT "/rds-test"
#define TOTAL (8 << 20)

static char buf[65536];

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

static long charged(void)
{
	return file_number(GROUP "/memory.current");
}

/* An empty group with the memory controller; 0 or a negative errno. */
static int group(void)
{
	int ret;

	mkdir(ROOT, 0755);
	if (mount("none", ROOT, "cgroup2", 0, NULL) && errno != EBUSY)
		return -errno;
	ret = put(ROOT "/cgroup.subtree_control", "+memory");
	if (ret)
		return ret;
	rmdir(GROUP);
	return mkdir(GROUP, 0755) ? -errno : 0;
}

static void no_group(void)
{
	rmdir(GROUP);
	umount2(ROOT, MNT_DETACH);
}

/* To one port after the other, since what is under way to one is bounded. */
#define PORTS	4
#define PART	(TOTAL / PORTS)

/* Queues TOTAL bytes where they stay; reports and waits to be killed. */
static int hold(int fd, const char *dst, bool recv_side, int pipe_fd)
{
	long v[2];
	int sent = 0, n;

	v[0] = charged();
	while (sent < TOTAL) {
		n = send_to(fd, dst, recv_side ? 5000 : 9 + sent / PART, buf, sizeof(buf),
			    MSG_DONTWAIT);
		if (n != sizeof(buf))
			break;
		sent += n;
	}
	v[1] = sent == TOTAL ? charged() : -errno;
	if (write(pipe_fd, v, sizeof(v)) != sizeof(v))
		return 1;
	pause();
	return 0;
}

/* A socket that was made outside of the group, and is used in it. */
static int inherited = -1;

/* How much the group's charge grows when its only process queues TOTAL bytes. */
static long growth(const char *src, const char *dst, int recv_side)
{
	long v[2] = { 0, -1 };
	int p[2];
	pid_t pid;

	if (pipe(p))
		return -errno;
	pid = fork();
	if (!pid) {
		int fd;

		if (put(GROUP "/cgroup.procs", "0"))
			_exit(1);
		fd = inherited < 0 ? rds_bound(src, 5000) : inherited;
		if (set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, 2 * TOTAL) ||
		    set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, 2 * TOTAL))
			_exit(2);
		_exit(hold(fd, dst, recv_side, p[1]));
	}
	close(p[1]);
	if (read(p[0], v, sizeof(v)) != sizeof(v))
		v[1] = -1;
	close(p[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return v[1] < 0 ? v[1] : v[1] - v[0];
}

#define GROUP_OR_SKIP() do { \
	int __ret = group(); \
	if (__ret == -ENODEV || __ret == -ENOENT || __ret == -EINVAL) \
		SKIP(_exit(KSFT_SKIP), "no memory cgroups: %s", strerror(-__ret)); \
	ASSERT_EQ(0, __ret); \
} while (0)

/* Messages that wait for an unreachable peer. */
TEST(cgroup__send_queue)
{
	long grown;

	SKIP_REF("charges nothing");
	SETUP_PAIR();
	GROUP_OR_SKIP();
	grown = growth("10.1.0.1", "10.1.0.77", 0);
	no_group();
	EXPECT_LE(TOTAL * 8L / 10, grown);
	EXPECT_GE(TOTAL * 2L, grown);
}

/* Messages in a receive queue, here the sender's own. */
TEST(cgroup__receive_queue)
{
	long grown;

	SKIP_REF("charges nothing");
	SETUP_LOCAL();
	GROUP_OR_SKIP();
	grown = growth("127.0.0.1", "127.0.0.1", 1);
	no_group();
	EXPECT_LE(TOTAL * 8L / 10, grown);
	EXPECT_GE(TOTAL * 3L, grown);
}

/* ---- of closed sockets ----------------------------------------------------------- */

/* TOTAL bytes of a program that has ended, whose socket is closed; they keep their time. */
static int leave_total(const char *dst)
{
	if (net_sysctl("close_timeout_ms", 600000) ||
	    growth("10.1.0.1", dst, 0) < TOTAL * 8L / 10)
		return -1;
	if (inherited >= 0)
		close(inherited);
	/* not only until somebody cleans up after the program */
	usleep(1000000);
	return charged() >= TOTAL * 8L / 10 ? 0 : -1;
}

/* They stay on the account of who sent them, whoever made the socket, until they are dropped ... */
TEST(cgroup__orphan_dropped)
{
	int fd;

	SKIP_REF("drops them with the socket");
	SETUP_PAIR();
	GROUP_OR_SKIP();
	inherited = rds_bound("10.1.0.1", 5000);
	ASSERT_FD(inherited);
	EXPECT_EQ(0, leave_total("10.1.0.77"));
	/* the next one to be closed makes room, of another group */
	ASSERT_EQ(0, net_sysctl("max_orphans", 0));
	fd = rds_bound("10.1.0.1", 0);
	EXPECT_EQ(1, send_to(fd, "10.1.0.77", 9, buf, 1, MSG_DONTWAIT));
	close(fd);
	EXPECT_TRUE(WAIT_UNTIL(charged() < TOTAL / 4));
	no_group();
}

/* ... or the peer has them. */
TEST(cgroup__orphan_delivered)
{
	int rx[PORTS], i, n;

	SKIP_REF("drops them with the socket");
	SETUP_PAIR();
	GROUP_OR_SKIP();
	for (i = 0; i < PORTS; i++) {
		rx[i] = rds_bound_in(1, "10.1.0.2", 9 + i);
		ASSERT_FD(rx[i]);
		ASSERT_EQ(0, set_int(rx[i], SOL_SOCKET, SO_RCVBUFFORCE, TOTAL));
	}
	ASSERT_EQ(0, nl_link_flags("eth0", 0));
	EXPECT_EQ(0, leave_total("10.1.0.2"));
	ASSERT_EQ(0, nl_link_flags("eth0", 1));
	/* what is on its way in this machine is the same memory at both ends */
	for (i = 0; i < PORTS; i++)
		for (n = 0; n < PART; n += sizeof(buf))
			ASSERT_EQ(sizeof(buf), recv_wait(rx[i], buf, sizeof(buf)));
	EXPECT_TRUE(WAIT_UNTIL(charged() < TOTAL / 4));
	no_group();
}

/* The charge is given back when the queue goes: of a closed socket, when its time is over. */
TEST(cgroup__uncharged)
{
	SKIP_REF("charges nothing");
	SETUP_PAIR();
	GROUP_OR_SKIP();
	ASSERT_EQ(0, net_sysctl("close_timeout_ms", 500));
	EXPECT_LE(TOTAL * 8L / 10, growth("10.1.0.1", "10.1.0.77", 0));
	EXPECT_TRUE(WAIT_UNTIL(charged() < TOTAL / 4));
	no_group();
}

TEST_HARNESS_MAIN
