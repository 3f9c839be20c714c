// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=60 lanes=uml */
/* SO_LINGER: close waits for acknowledgments, for so long and no longer. */
#include "rds_duo.h"
#include "../fairclock.h"

static char buf[65536];

static int linger(int fd, int on, int sec)
{
	struct linger l = { .l_onoff = on, .l_linger = sec };

	return setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

static int queued(int obs, int port)
{
	return msgs_of_port(obs, RDS6_INFO_SEND_MESSAGES, port) +
	       msgs_of_port(obs, RDS6_INFO_RETRANS_MESSAGES, port);
}

/* Everything sent before a lingering close arrives. */
TEST_F(duo, linger__messages_arrive)
{
	int fd, i, n = 0;

	SKIP_REF("close does not wait");
	for (i = 0; i < 5; i++) {
		fd = rds_bound(variant->aaddr, 6000);
		ASSERT_FD(fd);
		ASSERT_EQ(0, linger(fd, 1, 10));
		ASSERT_EQ(10000, send_to(fd, variant->baddr, DUO_B, buf, 10000, 0));
		ASSERT_EQ(10000, send_to(fd, variant->baddr, DUO_B, buf, 10000, 0));
		ASSERT_EQ(0, close(fd));
		/* acknowledged, hence no longer in our queues */
		EXPECT_EQ(0, queued(self->a, 6000));
		while (n < (i + 1) * 2 && recv_wait(self->b, buf, sizeof(buf)) == 10000)
			n++;
		EXPECT_EQ((i + 1) * 2, n);
	}
}

/* A peer that never answers: close gives up after the linger time. */
TEST(linger__gives_up)
{
	__s64 t, fair;
	int fd, obs;

	SETUP_PAIR();
	obs = rds_bound("10.1.0.1", 0);
	fd = rds_bound("10.1.0.1", 6000);
	ASSERT_EQ(0, linger(fd, 1, 1));
	ASSERT_EQ(10, send_to(fd, "10.1.0.77", 9, buf, 10, MSG_DONTWAIT));
	EXPECT_EQ(1, queued(obs, 6000));
	t = tick_ms();
	fair = fair_ms();
	close(fd);
	t = tick_ms() - t;
	fair = fair_ms() - fair;
	if (is_ref()) {
		EXPECT_GT(900, fair);
	} else {
		EXPECT_LE(900, t);
		EXPECT_GT(6000, fair);
	}
	EXPECT_EQ(0, queued(obs, 6000));
	/* the port is free */
	EXPECT_LE(0, rds_bound("10.1.0.1", 6000));
}

/*
 * Off, or a time of 0, or nothing to wait for: close returns at once.  What was sent without
 * SO_LINGER goes on being sent.
 */
TEST(linger__at_once)
{
	static const struct {
		int on, sec, send;
	} row[] = {
		{ 0, 0, 1 }, { 0, 30, 1 }, { 1, 0, 1 }, { 1, 30, 0 },
	};
	__s64 t;
	int fd, obs, i;

	SETUP_PAIR();
	obs = rds_bound("10.1.0.1", 0);
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		fd = rds_bound("10.1.0.1", 6000 + i);
		ASSERT_FD(fd);
		ASSERT_EQ(0, linger(fd, row[i].on, row[i].sec));
		if (row[i].send)
			ASSERT_EQ(10, send_to(fd, "10.1.0.77", 9, buf, 10, MSG_DONTWAIT));
		t = fair_ms();
		close(fd);
		EXPECT_GT(3000, fair_ms() - t)
			TH_LOG("row %d", i);
		EXPECT_EQ(!row[i].on && !is_ref(), queued(obs, 6000 + i))
			TH_LOG("row %d", i);
	}
	/* an unbound socket has nothing to wait for either */
	fd = rds_socket();
	ASSERT_EQ(0, linger(fd, 1, 30));
	t = fair_ms();
	close(fd);
	EXPECT_GT(3000, fair_ms() - t);
}

/* A fatal signal ends the wait (K4): the process does not hang in exit. */
TEST(linger__killed)
{
	__s64 t;
	pid_t pid;
	int st;

	SKIP_REF("close does not wait");
	SETUP_PAIR();
	pid = fork();
	if (!pid) {
		int fd = rds_bound("10.1.0.1", 6000);

		linger(fd, 1, 30);
		send_to(fd, "10.1.0.77", 9, buf, 10, MSG_DONTWAIT);
		close(fd);
		_exit(0);
	}
	ASSERT_TRUE(WAIT_UNTIL(sleeping(pid)));
	usleep(100000);
	t = fair_ms();
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &st, 0));
	EXPECT_GT(5000, fair_ms() - t);
}

TEST_HARNESS_MAIN
