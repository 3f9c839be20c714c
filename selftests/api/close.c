// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 */
/* close(): what becomes of messages, ports and sleepers. */
#include "rds_duo.h"

#include <pthread.h>

static char buf[65536];

/* The port is free at once; a new owner hears nothing of the old one's mail. */
TEST_F(duo, close__unread_messages)
{
	__s64 before = counter(self->a, "recv_queued");
	int i;

	for (i = 0; i < 10; i++)
		ASSERT_EQ(1000, send(self->a, buf, 1000, 0));
	/* That TCP has acknowledged them is not enough. */
	ASSERT_TRUE(WAIT_UNTIL(counter(self->a, "recv_queued") >= before + 10));
	ASSERT_TRUE(all_acked(self->a));
	close(self->b);
	self->b = rds_bound_in(variant->ns, variant->baddr, DUO_B);
	ASSERT_FD(self->b);
	EXPECT_EQ(-1, recv(self->b, buf, 1, MSG_DONTWAIT));
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	EXPECT_EQ(1, recv_wait(self->b, buf, 8));
	EXPECT_EQ('x', buf[0]);
}

/* Later messages to a closed port are dropped; the sender does not notice. */
TEST_F(duo, close__receiver_gone)
{
	__s64 before;

	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_EQ(1, recv_wait(self->b, buf, 8));
	close(self->b);
	self->b = -1;
	before = counter(self->a, "recv_drop_no_sock") +
		 counter(self->a, "recv_drop_dead_sock");
	ASSERT_EQ(1, send(self->a, "y", 1, 0));
	EXPECT_TRUE(all_acked(self->a));
	EXPECT_TRUE(WAIT_UNTIL(counter(self->a, "recv_drop_no_sock") +
			       counter(self->a, "recv_drop_dead_sock") > before));
}

/* Queued messages of a closed socket leave the queue and are never sent, if that is wanted. */
TEST(close__queued_messages)
{
	int a, obs, port, i;

	SETUP_PAIR();
	if (!is_ref())
		ASSERT_EQ(0, net_sysctl("close_timeout_ms", 0));
	obs = rds_bound("10.1.0.1", 0);
	a = rds_bound("10.1.0.1", 5001);
	ASSERT_FD(a);
	port = port_of(a);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(100, send_to(a, "10.1.0.77", 9, buf, 100, MSG_DONTWAIT));
	EXPECT_EQ(5, msgs_of_port(obs, RDS6_INFO_SEND_MESSAGES, port) +
		     msgs_of_port(obs, RDS6_INFO_RETRANS_MESSAGES, port));
	close(a);
	EXPECT_EQ(0, msgs_of_port(obs, RDS6_INFO_SEND_MESSAGES, port) +
		     msgs_of_port(obs, RDS6_INFO_RETRANS_MESSAGES, port));
}

/* The connection belongs to the hosts: it outlives the socket. */
TEST_F(duo, close__connection_stays)
{
	socklen_t len;
	void *p;
	int obs;

	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_EQ(1, recv_wait(self->b, buf, 8));
	close(self->a);
	self->a = rds_bound(variant->aaddr, DUO_A);
	ASSERT_FD(self->a);
	obs = self->a;
	ASSERT_EQ(sizeof(struct rds6_info_connection),
		  info_get(obs, RDS6_INFO_CONNECTIONS, &p, &len));
	EXPECT_LE(sizeof(struct rds6_info_connection), len);
	free(p);
	/* and order and delivery go on for the next owner of the port */
	ASSERT_EQ(1, send_to(self->a, variant->baddr, DUO_B, "y", 1, 0));
	EXPECT_EQ(1, recv_wait(self->b, buf, 8));
	EXPECT_EQ('y', buf[0]);
}

/* A duplicated descriptor keeps the socket alive. */
TEST_F(duo, close__dup)
{
	int d = dup(self->b);

	close(self->b);
	self->b = d;
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	EXPECT_EQ(1, recv_wait(d, buf, 8));
}

/* The end of a process closes its socket. */
TEST_F(duo, close__by_exit)
{
	int i;

	for (i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			int fd = rds_bound(variant->aaddr, 6000);

			send_to(fd, variant->baddr, DUO_B, "x", 1, MSG_DONTWAIT);
			_exit(fd < 0);
		}
		ASSERT_EQ(0, reap(pid));
	}
}

static void *sender(void *arg)
{
	int *a = arg, fd;

	while (!__atomic_load_n(&a[1], __ATOMIC_ACQUIRE)) {
		fd = __atomic_load_n(&a[0], __ATOMIC_ACQUIRE);
		send(fd, "x", 1, MSG_DONTWAIT);
	}
	return NULL;
}

/* With somebody who reads: the queue of a socket that nobody reads may be full. */
static bool all_acked_by(int fd, int reader)
{
	return WAIT_UNTIL(({
		while (recv(reader, buf, sizeof(buf), MSG_DONTWAIT) >= 0)
			;
		acked(fd);
	}));
}

/* Receiving sockets closed and bound again under traffic (F11, E14). */
TEST_F(duo, close__under_traffic)
{
	int arg[2] = { self->a, 0 }, i, fd = self->b;
	pthread_t t;

	ASSERT_EQ(0, pthread_create(&t, NULL, sender, arg));
	for (i = 0; i < 100; i++) {
		close(fd);
		fd = rds_bound_in(variant->ns, variant->baddr, DUO_B);
		ASSERT_FD(fd);
		recv(fd, buf, 1, MSG_DONTWAIT);
	}
	__atomic_store_n(&arg[1], 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	self->b = fd;
	EXPECT_TRUE(all_acked_by(self->a, fd));
}

static void *flood(void *arg)
{
	int *p = arg;

	while (!__atomic_load_n(&p[1], __ATOMIC_ACQUIRE))
		if (send(p[0], "x", 1, MSG_DONTWAIT) != 1)
			usleep(100);
	return NULL;
}

/*
 * A socket closed between the moment when a message found it and the one when it is queued:
 * counted as dropped there, and neither read by the next owner nor kept.
 */
TEST_F(duo, close__found_and_gone)
{
	int arg[2] = { self->a, 0 }, fd = self->b, i;
	__s64 before = counter(self->a, "recv_drop_dead_sock");
	__s64 end = now_ms() + 2 * WAIT_MS;
	pthread_t t;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "takes two processors: nothing sleeps between the two moments");
	ASSERT_EQ(0, pthread_create(&t, NULL, flood, arg));
	for (i = 0; now_ms() < end; i++) {
		if (!(i % 16) && counter(self->a, "recv_drop_dead_sock") > before)
			break;
		usleep(i % 64 * 10);
		close(fd);
		fd = rds_bound_in(variant->ns, variant->baddr, DUO_B);
		if (fd < 0)
			break;
	}
	__atomic_store_n(&arg[1], 1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	self->b = fd;
	EXPECT_LE(0, fd);
	EXPECT_LT(before, counter(self->a, "recv_drop_dead_sock"));
	EXPECT_TRUE(all_acked_by(self->a, fd));
	TH_LOG("%d sockets closed", i);
}

/* Sending sockets closed with messages under way: all arrive that were taken. */
TEST_F(duo, close__sender_under_traffic)
{
	int i, fd, ok = 0, n = 0;
	bool last = false;
	ssize_t len;

	for (i = 0; i < 100; i++) {
		fd = rds_bound(variant->aaddr, 6000);
		ASSERT_FD(fd);
		ASSERT_EQ(0, rds_connect(fd, variant->baddr, DUO_B));
		ok += send(fd, &i, sizeof(i), MSG_DONTWAIT) == sizeof(i);
		close(fd);
	}
	EXPECT_LT(0, ok);
	/* What arrives is whole and in order.  Another port's message may come before them. */
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	for (fd = -1; !last || (!is_ref() && n < ok);) {
		len = recv_wait(self->b, &i, sizeof(i));
		if (len == 1 && !last) {
			last = true;
			continue;
		}
		ASSERT_EQ((ssize_t)sizeof(i), len);
		EXPECT_LT(fd, i);
		fd = i;
		n++;
	}
	if (!is_ref())
		EXPECT_EQ(ok, n);
	EXPECT_EQ(-1, recv(self->b, &i, sizeof(i), MSG_DONTWAIT));
}

TEST_HARNESS_MAIN
