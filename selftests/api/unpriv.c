// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=60 lanes=uml */
/* Users without privilege, in a given namespace and in one of their own. */
#include "rds_util.h"

#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static int drop(void)
{
	if (setgid(4711) || setuid(4711))
		return -1;
	/* /proc/self must be ours again, for ns and uid_map */
	return prctl(PR_SET_DUMPABLE, 1);
}

/* Sends itself a message and looks at the info records: 0 or a line number. */
static int use_rds(const char *addr)
{
	socklen_t len;
	char b[8];
	void *p;
	int fd = rds_bound(addr, 5000);

	if (fd < 0)
		return __LINE__;
	if (send_to(fd, addr, 5000, "abc", 3, 0) != 3)
		return __LINE__;
	if (recv_wait(fd, b, 8) != 3)
		return __LINE__;
	if (info_get(fd, RDS6_INFO_SOCKETS, &p, &len) != 52 || len != 52)
		return __LINE__;
	if (counter(fd, "send_queued") < 1)
		return __LINE__;
	close(fd);
	return 0;
}

static int as_user(void *arg)
{
	static const char * const addr[] = { "127.0.0.1", "::1", "10.9.0.1", "fd09::1" };
	int i, ret;

	if (drop())
		return 1;
	for (i = 0; i < 4; i++) {
		ret = use_rds(addr[i]);
		if (ret)
			return ret;
	}
	return 0;
}

/* No call of daily use needs a capability; low ports neither. */
TEST(unpriv__daily_use)
{
	SETUP_LOCAL();
	EXPECT_EQ(0, reap(spawn(as_user, NULL)));
}

static int forced(void *arg)
{
	int fd, v;

	if (drop())
		return 1;
	fd = rds_socket();
	if (ERR_OF(set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, 1 << 20)) != EPERM)
		return 2;
	if (ERR_OF(set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, 1 << 20)) != EPERM)
		return 3;
	/* without FORCE the administrator's limit holds */
	if (set_int(fd, SOL_SOCKET, SO_SNDBUF, 64 << 20))
		return 4;
	v = get_int(fd, SOL_SOCKET, SO_SNDBUF);
	if (v < 4608 || v >= 64 << 20)
		return 5;
	if (rds_bind(fd, "127.0.0.1", 2))
		return 6;
	return 0;
}

/* Buffers beyond the limits do. */
TEST(unpriv__buffer_limits)
{
	SETUP_LOCAL();
	EXPECT_EQ(0, reap(spawn(forced, NULL)));
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

/*
 * A chroot, in which the test guests run, must not make user namespaces. So
 * climb out of it, in a mount namespace of our own, and move its file system
 * onto the true root. Without a chroot nothing happens.
 */
static void leave_chroot(void)
{
	int fd, i;

	if (unshare(CLONE_NEWNS))
		return;
	mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	mkdir("/tmp/rds-climb", 0755);
	if (fd < 0 || chroot("/tmp/rds-climb"))
		return;
	for (i = 0; i < 64 && !chdir(".."); i++)
		;
	if (chroot("."))
		return;
	syscall(__NR_move_mount, fd, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH);
	if (fchdir(fd) || chroot("."))
		abort();
	close(fd);
}

static int new_user_ns(void *arg)
{
	leave_chroot();
	return unshare(CLONE_NEWUSER) ? 1 : 0;
}

/* Not in a kernel without them. */
#define USER_NS_OR_SKIP() do { \
	if (reap(spawn(new_user_ns, NULL))) \
		SKIP(_exit(KSFT_SKIP), "no user namespaces here"); \
} while (0)

static int own_ns(void *arg)
{
	leave_chroot();
	if (drop())
		return 1;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return 2;
	/* root in here */
	if (write_file("/proc/self/setgroups", "deny") ||
	    write_file("/proc/self/uid_map", "0 4711 1"))
		return 3;
	if (nl_link_flags("lo", 1) || ns_lo_addrs())
		return 4;
	if (use_rds("127.0.0.1"))
		return 5;
	if (use_rds("10.9.0.1"))
		return 6;
	if (use_rds("fd09::1"))
		return 7;
	/* the machine's sysctls are not writable from here (G6) */
	if (write_file("/proc/sys/net/rds/ping_enable", "0") >= 0)
		return 8;
	return 0;
}

/* A user's own user and network namespace has a working RDS of its own. */
TEST(unpriv__own_namespace)
{
	USER_NS_OR_SKIP();
	EXPECT_EQ(0, reap(spawn(own_ns, NULL)));
}

static int sees_nothing(void *arg)
{
	socklen_t len;
	void *p;
	int fd;

	leave_chroot();
	if (drop() || unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return 1;
	fd = rds_socket();
	if (info_get(fd, RDS6_INFO_SOCKETS, &p, &len) != 52 || len != 52)
		return 2;
	if (info_get(fd, RDS6_INFO_CONNECTIONS, &p, &len) != 65 || len)
		return 3;
	if (info_get(fd, RDS6_INFO_RECV_MESSAGES, &p, &len) != 50 || len)
		return 4;
	return 0;
}

/* From there nothing of the outside shows (G4, G14). */
TEST(unpriv__own_namespace_is_blind)
{
	int fd;

	SETUP_LOCAL();
	USER_NS_OR_SKIP();
	fd = rds_bound("127.0.0.1", 5000);
	ASSERT_EQ(1, send_to(fd, "127.0.0.1", 5000, "x", 1, 0));
	ASSERT_TRUE(wait_data(fd));
	EXPECT_EQ(0, reap(spawn(sees_nothing, NULL)));
}

static int no_sysctl(void *arg)
{
	static const char * const name[] = {
		"reconnect_min_delay_ms", "reconnect_max_delay_ms",
		"max_unacked_packets", "max_unacked_bytes", "ping_enable",
	};
	char path[128];
	int i;

	if (drop())
		return 1;
	for (i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "/proc/sys/net/rds/%s", name[i]);
		if (write_file(path, "5") != -EACCES)
			return 10 + i;
	}
	return 0;
}

/* The sysctls exist and belong to root. */
TEST(unpriv__sysctls)
{
	ASSERT_EQ(0, ns_initial());
	ASSERT_EQ(0, access("/proc/sys/net/rds/ping_enable", R_OK));
	EXPECT_EQ(0, reap(spawn(no_sysctl, NULL)));
}

TEST_HARNESS_MAIN
