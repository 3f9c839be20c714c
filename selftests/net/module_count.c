// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 ref=0 */
/*
 * The modules can go as soon as the last socket is closed: neither a grace period nor messages
 * that it has not got rid of hold them.
 */
#include "../api/rds_util.h"

#include <sys/syscall.h>

#define ROUNDS	10

static char buf[65536];

static int unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? errno : 0;
}

/* A socket and its end; with messages that were not read, or that nobody takes. */
static int use(int round)
{
	int fd = rds_socket();

	if (fd < 0)
		return -1;
	switch (round % 5) {
	case 0:			/* not bound */
		break;
	case 1:			/* a message to itself, read */
		if (rds_bind(fd, "127.0.0.1", 5000) ||
		    send_to(fd, "127.0.0.1", 5000, buf, 100, 0) != 100 ||
		    recv_wait(fd, buf, sizeof(buf)) != 100)
			return -1;
		break;
	case 2:			/* large ones, not read */
		if (rds_bind(fd, "127.0.0.1", 5000) ||
		    send_to(fd, "127.0.0.1", 5000, buf, 30000, 0) != 30000 ||
		    send_to(fd, "127.0.0.1", 5000, buf, 30000, 0) != 30000)
			return -1;
		break;
	case 3:			/* over TCP to nobody */
		if (rds_bind(fd, "10.1.0.1", 5000) ||
		    send_to(fd, "10.1.0.77", 9, buf, 100, 0) != 100)
			return -1;
		break;
	default:		/* by a process that ends */
		close(fd);
		fd = fork();
		if (!fd) {
			fd = rds_bound("10.1.0.1", 5000);
			_exit(send_to(fd, "10.1.0.77", 9, buf, 100, 0) != 100);
		}
		return reap(fd);
	}
	return close(fd);
}

/* What other programs have does not hold them, and their end is no trouble afterwards. */
TEST(modules_go_at_once)
{
	int i;

	SETUP_PAIR();
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, system("modprobe rds_tcp"));
		ASSERT_EQ(0, use(i))
			TH_LOG("round %d", i);
		EXPECT_EQ(0, unload("rds_tcp"))
			TH_LOG("round %d", i);
		EXPECT_EQ(0, unload("rds"))
			TH_LOG("round %d", i);
		EXPECT_NE(0, access("/proc/sys/net/rds", F_OK));
	}
	ASSERT_EQ(0, system("modprobe rds_tcp"));
}

/* An open one does. */
TEST(an_open_socket_holds_them)
{
	int fd;

	SETUP_PAIR();
	ASSERT_EQ(0, system("modprobe rds_tcp"));
	fd = rds_bound("10.1.0.1", 5000);
	ASSERT_FD(fd);
	EXPECT_EQ(EAGAIN, unload("rds_tcp"));
	close(fd);
	EXPECT_EQ(0, unload("rds_tcp"));
	fd = rds_bound("127.0.0.1", 5000);
	ASSERT_FD(fd);
	EXPECT_EQ(EAGAIN, unload("rds"));
	close(fd);
	EXPECT_EQ(0, unload("rds"));
	ASSERT_EQ(0, system("modprobe rds_tcp"));
}

TEST_HARNESS_MAIN
