// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=150 ref=0 waits=1 lanes=uml */
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

/* Messages on their way, of all sockets. */
static int under_way(int obs)
{
	socklen_t queue = 0, sent = 0;
	void *p;

	info_get(obs, RDS6_INFO_SEND_MESSAGES, &p, &queue);
	free(p);
	info_get(obs, RDS6_INFO_RETRANS_MESSAGES, &p, &sent);
	free(p);
	return (queue + sent) / sizeof(struct rds6_info_message);
}

/*
 * However it ends, and with however many sockets: their messages have two seconds.  close() waits
 * for that, a program that ends does not.
 */
TEST(linger__time_out)
{
	static const struct {
		enum end how;
		int sockets;
	} row[] = {
		{ BY_CLOSE, 1 }, { BY_EXIT, 1 }, { BY_EXIT, 6 }, { BY_EXIT_WITH_THREADS, 1 },
	};
	__s64 t, fair;
	int i, obs;

	SETUP_PAIR();
	obs = rds_bound("10.1.0.1", 0);
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		t = tick_ms();
		fair = fair_ms();
		EXPECT_EQ(0, reap(lingerer(row[i].sockets, 2, row[i].how)));
		EXPECT_EQ(row[i].how == BY_CLOSE ? 0 : row[i].sockets, under_way(obs))
			TH_LOG("row %d", i);
		EXPECT_TRUE(WAIT_UNTIL(!under_way(obs)));
		EXPECT_LE(1900, tick_ms() - t)
			TH_LOG("row %d", i);
		EXPECT_GT(2000 + ON_TIME, fair_ms() - fair)
			TH_LOG("row %d", i);
	}
}

/* And none of many has none of it, whenever the clock ticks while it ends. */
TEST(linger__many_end)
{
	int n = 200, i, obs;
	pid_t pid[200];

	SETUP_PAIR();
	ASSERT_EQ(0, net_sysctl("max_orphans", n));
	ASSERT_EQ(0, net_sysctl("close_timeout_ms", 600000));
	obs = rds_bound("10.1.0.1", 0);
	/* long enough for all of them to end meanwhile */
	for (i = 0; i < n; i++)
		pid[i] = lingerer(1, 500, BY_EXIT);
	for (i = 0; i < n; i++)
		EXPECT_EQ(0, reap(pid[i]));
	EXPECT_EQ(n, under_way(obs));
	ASSERT_EQ(0, net_sysctl("max_orphans", 0));
	EXPECT_EQ(0, reap(lingerer(1, 1, BY_EXIT)));
	EXPECT_EQ(0, under_way(obs));
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
		/* What the last one left under way has its port; chance may give it once more. */
		fd = rds_bound("10.1.0.1", 5000 + i);
		ASSERT_FD(fd);
		EXPECT_EQ(0, rds_connect(fd, DEAD, 9));
		EXPECT_EQ(1, send(fd, "x", 1, 0));
		EXPECT_EQ(1, msgs_of_port(fd, RDS6_INFO_SEND_MESSAGES, port_of(fd)));
		close(fd);
	}
	EXPECT_GT(2 * ON_TIME, fair_ms() - t);
}

TEST_HARNESS_MAIN
