// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=150 ref=0 waits=1 */
/*
 * The waits of waits.h over TCP and loopback, and those of close() and exit.
 */
#include "../api/rds_util.h"

#include <pthread.h>

#define DEAD		"10.1.0.77"
#define WAITS_SETUP()	SETUP_PAIR()

#include "waits.h"

FIXTURE_VARIANT_ADD(waits, send_buffer)
{
	.what = ROOM, .aaddr = "10.1.0.1", .baddr = DEAD,
};

FIXTURE_VARIANT_ADD(waits, send_buffer_zerocopy)
{
	.what = ROOM_ZC, .aaddr = "10.1.0.1", .baddr = DEAD,
};

FIXTURE_VARIANT_ADD(waits, congestion_loop)
{
	.what = CONG, .aaddr = "127.0.0.1", .baddr = "127.0.0.1",
};

FIXTURE_VARIANT_ADD(waits, congestion_local)
{
	.what = CONG, .aaddr = "10.9.0.1", .baddr = "10.9.0.2",
};

FIXTURE_VARIANT_ADD(waits, congestion_tcp)
{
	.what = CONG, .aaddr = "10.1.0.1", .baddr = "10.1.0.2", .ns = 1,
};

FIXTURE_VARIANT_ADD(waits, congestion_tcp_up)
{
	.what = CONG, .aaddr = "fd00:1::1", .baddr = "fd00:1::2", .ns = 1,
};

FIXTURE_VARIANT_ADD(waits, recv)
{
	.what = RECV, .aaddr = "10.1.0.1", .baddr = "10.1.0.2", .ns = 1,
};

FIXTURE_VARIANT_ADD(waits, recv_loop)
{
	.what = RECV, .aaddr = "127.0.0.1", .baddr = "127.0.0.1",
};

FIXTURE_VARIANT_ADD(waits, recv_peek)
{
	.what = PEEK, .aaddr = "10.1.0.1", .baddr = "10.1.0.2", .ns = 1,
};

FIXTURE_VARIANT_ADD(waits, recvmmsg)
{
	.what = MMSG, .aaddr = "10.1.0.1", .baddr = "10.1.0.2", .ns = 1,
};

FIXTURE_VARIANT_ADD(waits, poll)
{
	.what = POLL, .aaddr = "10.1.0.1", .baddr = "10.1.0.2", .ns = 1,
};

FIXTURE_VARIANT_ADD(waits, epoll)
{
	.what = EPOLL, .aaddr = "10.1.0.1", .baddr = "10.1.0.2", .ns = 1,
};

/* --- close and exit ------------------------------------------------------ */

enum end { BY_CLOSE, BY_EXIT, BY_EXIT_WITH_THREADS };

static void *pausing(void *unused)
{
	for (;;)
		pause();
	return NULL;
}

/* A child with @n sockets which closes, or just ends, with messages nobody will take. */
static pid_t lingerer(int n, int seconds, enum end how)
{
	struct linger l = { .l_onoff = 1, .l_linger = seconds };
	pthread_t thread;
	pid_t pid = fork();
	int fd = -1, i;

	if (pid)
		return pid;
	for (i = 0; i < n; i++) {
		fd = rds_bound("10.1.0.1", 0);
		if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)) ||
		    send_to(fd, DEAD, 9, buf, 10, MSG_DONTWAIT) != 10)
			_exit(1);
	}
	for (i = 0; how == BY_EXIT_WITH_THREADS && i < WAITERS; i++)
		if (pthread_create(&thread, NULL, pausing, NULL))
			_exit(1);
	if (how != BY_CLOSE)
		_exit(0);
	_exit(close(fd) ? 2 : 0);
}

/* However it ends, and with however many sockets: all of them have the same second. */
TEST(linger__time_out)
{
	static const struct {
		enum end how;
		int sockets;
	} row[] = {
		{ BY_CLOSE, 1 }, { BY_EXIT, 1 }, { BY_EXIT, 6 }, { BY_EXIT_WITH_THREADS, 1 },
	};
	__s64 t, fair;
	int i;

	SETUP_PAIR();
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		t = now_ms();
		fair = fair_ms();
		EXPECT_EQ(0, reap(lingerer(row[i].sockets, 1, row[i].how)));
		EXPECT_LE(900, now_ms() - t)
			TH_LOG("row %d", i);
		EXPECT_GT(1000 + ON_TIME, fair_ms() - fair)
			TH_LOG("row %d", i);
	}
}

/* And none of many has none of it, whenever the clock ticks while it ends. */
TEST(linger__many_end)
{
	struct { pid_t pid; __s64 since; } end[200];
	int i, left = ARRAY_SIZE(end);
	int status = 0;
	pid_t pid;

	SETUP_PAIR();
	for (i = 0; i < left; i++) {
		end[i].since = now_ms();
		end[i].pid = lingerer(1, 1, BY_EXIT);
	}
	for (; left; left--) {
		pid = wait(&status);
		ASSERT_LT(0, pid);
		EXPECT_EQ(0, status);
		for (i = 0; end[i].pid != pid; i++)
			ASSERT_LT(i + 1, ARRAY_SIZE(end));
		EXPECT_LE(900, now_ms() - end[i].since);
	}
}

TEST(linger__killed)
{
	pid_t pid[WAITERS];
	__s64 t;
	int i;

	SETUP_PAIR();
	for (i = 0; i < WAITERS; i++)
		pid[i] = lingerer(1, 60, BY_CLOSE);
	ASSERT_TRUE(all_wait(pid, WAITERS));
	t = kill_waiters(pid);
	EXPECT_LE(0, t);
	EXPECT_GT(ON_TIME, t);
}

/* --- what must not wait at all ------------------------------------------- */

TEST(no_wait)
{
	int fd, i, n = 64;
	__s64 t;

	SETUP_PAIR();
	t = fair_ms();
	for (i = 0; i < n; i++) {
		fd = rds_bound("10.1.0.1", 0);
		ASSERT_FD(fd);
		EXPECT_EQ(0, rds_connect(fd, DEAD, 9));
		EXPECT_EQ(1, send(fd, "x", 1, 0));
		EXPECT_EQ(1, msgs_of_port(fd, RDS6_INFO_SEND_MESSAGES, port_of(fd)));
		close(fd);
	}
	EXPECT_GT(2 * ON_TIME, fair_ms() - t);
}

TEST_HARNESS_MAIN
