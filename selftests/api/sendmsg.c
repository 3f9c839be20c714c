// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=60 lanes=uml */
/* sendmsg(): every refusal, and which check comes first. */
#include "rds_util.h"
#include "../fairclock.h"

/* Nobody lives there, so a message stays queued. */
#define NOBODY "10.1.0.77"
#define PEER "10.1.0.2"

static ssize_t send_name(int fd, const struct sockaddr_storage *ss, socklen_t len)
{
	return sendto(fd, "x", 1, 0, (void *)ss, len);
}

/*
 * A socket whose queue holds exactly its send buffer: the peer was there once,
 * so that nobody waits for a handshake, and then its cable was pulled.
 */
static int full_socket(unsigned int sndbuf)
{
	static char buf[65536];
	int fd = rds_bound("10.1.0.1", 0);

	if (fd < 0 || set_int(fd, SOL_SOCKET, SO_SNDBUF, sndbuf) ||
	    send_to(fd, PEER, 4000, "x", 1, 0) != 1 || !all_acked(fd) ||
	    ns_enter(rds_ns[1]) || nl_link_flags("eth0", 0) ||
	    ns_enter(rds_ns[0]) ||
	    send_to(fd, PEER, 4000, buf, sndbuf, MSG_DONTWAIT) != sndbuf)
		return -1;
	return fd;
}

/* Row 1: unknown flags, before anything else is looked at. */
TEST(sendmsg__flags)
{
	int fd, bound, bit;

	SETUP_LOCAL();
	for (bound = 0; bound < 2; bound++) {
		fd = bound ? rds_bound("127.0.0.1", 0) : rds_socket();
		for (bit = 0; bit < 31; bit++) {
			int flag = 1 << bit;

			if (flag & (MSG_DONTWAIT | MSG_ZEROCOPY | MSG_NOSIGNAL |
				    MSG_EOR))
				continue;
			/* internal flags which the system call removes itself */
			if (flag & (1 << 16 | 1 << 18 | 1 << 20 | 1 << 27 | 1 << 30))
				continue;
			EXPECT_ERR(EOPNOTSUPP, send(fd, "x", 1, flag))
				TH_LOG("flag %x", flag);
		}
		EXPECT_ERR(EOPNOTSUPP, send(fd, BAD_PTR, 1, MSG_OOB | MSG_DONTWAIT));
	}
}

/* Harmless flags of every other socket family are accepted. */
TEST(sendmsg__nosignal_and_eor)
{
	char b[4];
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 5000);
	if (is_ref()) {
		EXPECT_ERR(EOPNOTSUPP, send(fd, "x", 1, MSG_NOSIGNAL));
		EXPECT_ERR(EOPNOTSUPP, send(fd, "x", 1, MSG_EOR));
		return;
	}
	EXPECT_EQ(1, send_to(fd, "127.0.0.1", 5000, "x", 1, MSG_NOSIGNAL));
	EXPECT_EQ(1, send_to(fd, "127.0.0.1", 5000, "y", 1,
			     MSG_EOR | MSG_NOSIGNAL | MSG_DONTWAIT));
	EXPECT_EQ(1, recv_wait(fd, b, 4));
	EXPECT_EQ('x', b[0]);
	EXPECT_EQ(1, recv_wait(fd, b, 4));
	EXPECT_EQ('y', b[0]);
}

/* Row 2: length of the name; 0 means no name (E6, E17). */
TEST(sendmsg__name_lengths)
{
	struct sockaddr_storage v4, v6;
	int fd4, fd6;
	socklen_t l;

	SETUP_LOCAL();
	fd4 = rds_bound("127.0.0.1", 0);
	fd6 = rds_bound("::1", 0);
	mkaddr(&v4, "127.0.0.1", 9);
	mkaddr(&v6, "::1", 9);
	EXPECT_ERR(ENOTCONN, send_name(fd4, &v4, 0));
	for (l = 1; l <= sizeof(v4); l++) {
		EXPECT_EQ(l < 16 ? EINVAL : 0, ERR_OF(send_name(fd4, &v4, l)));
		EXPECT_EQ(l < 28 ? EINVAL : 0, ERR_OF(send_name(fd6, &v6, l)));
	}
	EXPECT_ERR(EINVAL, send_name(fd4, &v4, -1));
	EXPECT_ERR(EINVAL, send_name(fd4, &v4, sizeof(v4) + 1));
	EXPECT_ERR(EFAULT, send_name(fd4, BAD_PTR, 16));
	EXPECT_ERR(ENOTCONN, send_name(fd4, NULL, 16));
}

/* Row 2: unusable addresses, before row 3 (not bound). */
TEST(sendmsg__bad_addresses)
{
	static const char * const bad[] = {
		"0.0.0.0", "255.255.255.255", "224.0.0.1", "::", "ff02::1",
		"::ffff:0.0.0.0", "::ffff:255.255.255.255", "::ffff:224.0.0.1",
		"fe80::9",
	};
	int fd, i, bound;

	SETUP_LOCAL();
	for (bound = 0; bound < 2; bound++) {
		fd = bound ? rds_bound("127.0.0.1", 0) : rds_socket();
		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			EXPECT_ERR(EINVAL, send_to(fd, bad[i], 9, "x", 1, 0))
				TH_LOG("%s bound %d", bad[i], bound);
		}
	}
}

/* Row 2: other families. */
TEST(sendmsg__other_families)
{
	struct sockaddr_storage ss;
	int fd, f;

	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 0);
	mkaddr(&ss, "127.0.0.1", 9);
	for (f = 0; f < 50; f++) {
		if (f == AF_INET || f == AF_INET6)
			continue;
		ss.ss_family = f;
		EXPECT_ERR(EINVAL, send_name(fd, &ss, 16));
		EXPECT_ERR(EINVAL, send_name(fd, &ss, 128));
	}
}

/* Row 3: not bound, or no destination (E1). Before rows 4, 7 and 11. */
TEST(sendmsg__not_bound_or_no_destination)
{
	static char big[2 << 20];
	int fd;

	SETUP_LOCAL();
	fd = rds_socket();
	EXPECT_ERR(ENOTCONN, send(fd, "x", 1, 0));
	EXPECT_ERR(ENOTCONN, send_to(fd, "127.0.0.1", 9, "x", 1, 0));
	EXPECT_ERR(ENOTCONN, send_to(fd, "::1", 9, "x", 1, 0));
	ASSERT_EQ(0, rds_connect(fd, "127.0.0.1", 9));
	EXPECT_ERR(ENOTCONN, send(fd, "x", 1, 0));
	EXPECT_ERR(ENOTCONN, send(fd, big, sizeof(big), 0));
	EXPECT_ERR(ENOTCONN, send(fd, BAD_PTR, 1, 0));
	close(fd);
	fd = rds_bound("127.0.0.1", 0);
	EXPECT_ERR(ENOTCONN, send(fd, "x", 1, 0));
	EXPECT_ERR(ENOTCONN, send(fd, NULL, 0, 0));
}

/* Row 4: the two families do not mix. Before rows 7 and 11. */
TEST(sendmsg__family_mismatch)
{
	static char big[2 << 20];
	int v4, v6;

	SETUP_LOCAL();
	v4 = rds_bound("10.9.0.1", 0);
	v6 = rds_bound("fd09::1", 0);
	EXPECT_ERR(EOPNOTSUPP, send_to(v4, "fd09::2", 9, "x", 1, 0));
	EXPECT_ERR(EOPNOTSUPP, send_to(v6, "10.9.0.2", 9, "x", 1, 0));
	EXPECT_ERR(EOPNOTSUPP, send_to(v6, "::ffff:10.9.0.2", 9, "x", 1, 0));
	EXPECT_ERR(EOPNOTSUPP, send_to(v4, "fd09::2", 9, big, sizeof(big), 0));
	EXPECT_ERR(EOPNOTSUPP, send_to(v4, "fd09::2", 9, BAD_PTR, 1, 0));
	EXPECT_EQ(1, send_to(v4, "::ffff:10.9.0.2", 9, "x", 1, 0));
}

/* Row 5: two link-local scopes that differ. Before row 7. */
TEST(sendmsg__scope_mismatch)
{
	static char big[2 << 20];
	int fd;

	SETUP_PAIR();
	fd = rds_bound("fe80::1%eth0", 0);
	ASSERT_FD(fd);
	EXPECT_ERR(EINVAL, send_to(fd, "fe80::9%lo", 9, "x", 1, 0));
	EXPECT_ERR(EINVAL, send_to(fd, "fe80::9%lo", 9, big, sizeof(big), 0));
	EXPECT_EQ(1, send_to(fd, "fe80::2%eth0", 9, "x", 1, MSG_DONTWAIT));
}

/* Row 7: nothing above 1 MiB, however large the buffer. Before row 11. */
TEST(sendmsg__above_1_mib)
{
	static char big[(1 << 20) + 1];
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 5000);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, 4 << 20));
	EXPECT_ERR(EMSGSIZE, send_to(fd, "127.0.0.1", 9, big, sizeof(big), 0));
	EXPECT_ERR(EMSGSIZE, send_to(fd, "127.0.0.1", 9, BAD_PTR, 3 << 20, 0));
	EXPECT_ERR(EMSGSIZE, send_to(fd, "127.0.0.1", 9, big, SIZE_MAX / 2, 0));
	EXPECT_EQ(1 << 20, send_to(fd, "127.0.0.1", 9, big, 1 << 20, 0));
}

/* Row 8: nothing above the effective send buffer. Before row 11. */
TEST(sendmsg__above_sndbuf)
{
	static char big[DEF_BUF + 1];
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 5000);
	EXPECT_ERR(EMSGSIZE, send_to(fd, "127.0.0.1", 9, big, DEF_BUF + 1, 0));
	EXPECT_ERR(EMSGSIZE, send_to(fd, "127.0.0.1", 9, BAD_PTR, DEF_BUF + 1, 0));
	EXPECT_EQ(DEF_BUF, send_to(fd, "127.0.0.1", 9, big, DEF_BUF, 0));
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUF, 5000));
	EXPECT_ERR(EMSGSIZE, send_to(fd, "127.0.0.1", 9, big, 5001, 0));
	EXPECT_EQ(5000, send_to(fd, "127.0.0.1", 9, big, 5000, 0));
}

/* Row 11: an unreadable payload sends nothing, wherever the hole is (A1). */
TEST(sendmsg__payload_fault)
{
	char *p, b[16];
	struct iovec iov[2] = { { "abc", 3 }, { BAD_PTR, 3 } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 5000);
	ASSERT_EQ(0, rds_connect(fd, "127.0.0.1", 5000));
	EXPECT_ERR(EFAULT, send(fd, BAD_PTR, 1, 0));
	EXPECT_ERR(EFAULT, sendmsg(fd, &m, 0));
	p = guarded(10);
	EXPECT_ERR(EFAULT, send(fd, p, 11, 0));
	EXPECT_ERR(EFAULT, send(fd, (void *)0xffff888000000000UL, 8, 0));
	EXPECT_EQ(10, send(fd, p, 10, 0));
	EXPECT_EQ(10, recv_wait(fd, b, sizeof(b)));
	EXPECT_ERR(EAGAIN, recv(fd, b, 16, MSG_DONTWAIT));
}

/* A failed call takes no buffer space: failing for ever stays possible (K10). */
TEST(sendmsg__fault_releases_space)
{
	char *p;
	int fd, i;

	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", 5000);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUF, 5000));
	p = guarded(4000);
	for (i = 0; i < 10; i++)
		EXPECT_ERR(EFAULT, send_to(fd, NOBODY, 9, p, 4001, MSG_DONTWAIT));
	EXPECT_EQ(4000, send_to(fd, NOBODY, 9, p, 4000, MSG_DONTWAIT));
}

/* Row 19: admitted while less than the buffer is queued, however much it is. */
TEST(sendmsg__queue_rule)
{
	static char buf[6000];
	int fd;

	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", 0);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUF, 6000));
	EXPECT_EQ(5999, send_to(fd, NOBODY, 9, buf, 5999, MSG_DONTWAIT));
	EXPECT_EQ(0, send_to(fd, NOBODY, 9, buf, 0, MSG_DONTWAIT));
	EXPECT_EQ(POLLOUT, poll_for(fd, POLLOUT, 0));
	/* one message may overshoot: 11999 bytes of 6000 */
	EXPECT_EQ(6000, send_to(fd, NOBODY, 9, buf, 6000, MSG_DONTWAIT));
	EXPECT_EQ(0, poll_for(fd, POLLOUT, 0));
	EXPECT_ERR(EAGAIN, send_to(fd, NOBODY, 9, buf, 1, MSG_DONTWAIT));
	/* an empty message has no bytes, and is refused all the same */
	EXPECT_ERR(EAGAIN, send_to(fd, NOBODY, 9, buf, 0, MSG_DONTWAIT));
	/* the limit is the socket's, not the destination's */
	EXPECT_ERR(EAGAIN, send_to(fd, "10.1.0.2", 9, buf, 1, MSG_DONTWAIT));
	ASSERT_EQ(0, fcntl(fd, F_SETFL, O_NONBLOCK));
	EXPECT_ERR(EAGAIN, send_to(fd, NOBODY, 9, buf, 1, 0));
}

/* Messages that carry nothing cost memory: they are bounded by number, and a sender wakes. */
TEST(sendmsg__empty_ones_are_bounded)
{
	struct sockaddr_storage ss;
	socklen_t len;
	int fd, n = 0;
	pid_t pid;

	SKIP_REF("any number of empty messages is queued");
	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", 0);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUF, 6000));
	while (n < 10000 && !send_to(fd, NOBODY, 9, "", 0, MSG_DONTWAIT))
		n++;
	EXPECT_EQ(2048, n);
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(0, poll_for(fd, POLLOUT, 0));
	EXPECT_ERR(EAGAIN, send_to(fd, NOBODY, 9, "x", 1, MSG_DONTWAIT));
	pid = fork();
	if (!pid)
		_exit(send_to(fd, NOBODY, 9, "x", 1, 0) != 1);
	EXPECT_TRUE(WAIT_UNTIL(sleeping(pid)));
	len = mkaddr(&ss, NOBODY, 9);
	ASSERT_EQ(0, setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(POLLOUT, poll_for(fd, POLLOUT, 0));
}

/* A larger buffer admits again, a smaller one only stops admission. */
TEST(sendmsg__sndbuf_changes)
{
	static char buf[6000];
	int fd;

	SETUP_PAIR();
	fd = full_socket(6000);
	ASSERT_FD(fd);
	EXPECT_ERR(EAGAIN, send_to(fd, PEER, 9, buf, 1, MSG_DONTWAIT));
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUF, 6001));
	EXPECT_EQ(1, send_to(fd, PEER, 9, buf, 1, MSG_DONTWAIT));
	EXPECT_ERR(EAGAIN, send_to(fd, PEER, 9, buf, 1, MSG_DONTWAIT));
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUF, 5000));
	EXPECT_ERR(EAGAIN, send_to(fd, PEER, 9, buf, 1, MSG_DONTWAIT));
	EXPECT_EQ(2, msgs_of_port(fd, RDS6_INFO_SEND_MESSAGES, port_of(fd)) +
		     msgs_of_port(fd, RDS6_INFO_RETRANS_MESSAGES, port_of(fd)));
}

/* Row 19b: a blocking send waits for SO_SNDTIMEO and gives ETIMEDOUT (K8). */
TEST(sendmsg__timeout)
{
	__s64 t, fair;
	int fd;

	SETUP_PAIR();
	fd = full_socket(6000);
	ASSERT_FD(fd);
	ASSERT_EQ(0, set_timeo(fd, SO_SNDTIMEO, 200));
	t = tick_ms();
	fair = fair_ms();
	EXPECT_ERR(ETIMEDOUT, send_to(fd, PEER, 9, "x", 1, 0));
	EXPECT_LE(190, tick_ms() - t);
	EXPECT_GT(5000, fair_ms() - fair);
}

static int signals;

static void on_alarm(int sig)
{
	signals++;
}

static void alarm_in(int ms, int sa_flags, int repeat)
{
	struct itimerval it = { .it_value = { 0, ms * 1000 },
				.it_interval = { 0, repeat * 1000 } };
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = sa_flags };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
}

/* Row 19c: a signal ends the wait, SA_RESTART continues it. */
TEST(sendmsg__signal)
{
	struct sockaddr_storage ss;
	struct itimerval off = {};
	socklen_t len;
	pid_t pid;
	int fd;

	SETUP_PAIR();
	fd = full_socket(6000);
	ASSERT_FD(fd);
	alarm_in(50, 0, 100);
	EXPECT_ERR(EINTR, send_to(fd, PEER, 9, "x", 1, 0));
	EXPECT_LE(1, signals);
	signals = 0;
	alarm_in(50, SA_RESTART, 50);
	pid = fork();
	if (!pid) {
		/* make room once the sender has been restarted a few times */
		usleep(300000);
		len = mkaddr(&ss, PEER, 4000);
		_exit(!!setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
	}
	EXPECT_EQ(1, send_to(fd, PEER, 9, "x", 1, 0));
	EXPECT_LE(2, signals);
	setitimer(ITIMER_REAL, &off, NULL);
	EXPECT_EQ(0, reap(pid));
}

/* Released bytes wake a sleeping sender. */
TEST(sendmsg__wakes_on_release)
{
	struct sockaddr_storage ss;
	socklen_t len;
	pid_t pid;
	int fd;

	SETUP_PAIR();
	fd = full_socket(6000);
	ASSERT_FD(fd);
	pid = fork();
	if (!pid)
		_exit(send_to(fd, PEER, 9, "x", 1, 0) != 1);
	EXPECT_TRUE(WAIT_UNTIL(sleeping(pid)));
	len = mkaddr(&ss, PEER, 4000);
	ASSERT_EQ(0, setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
	EXPECT_EQ(0, reap(pid));
}

/* The counter of refused sends counts. */
TEST(sendmsg__queue_full_counter)
{
	__s64 before;
	int fd;

	SETUP_PAIR();
	fd = full_socket(6000);
	ASSERT_FD(fd);
	before = counter(fd, "send_queue_full");
	ASSERT_LE(0, before);
	EXPECT_ERR(EAGAIN, send_to(fd, PEER, 9, "x", 1, MSG_DONTWAIT));
	EXPECT_LT(before, counter(fd, "send_queue_full"));
}

/* An unreachable peer is no error, now or later. */
TEST(sendmsg__unreachable_peer)
{
	/* in-tree waits for a handshake that never ends (weakness 8) */
	int fd, flags = is_ref() ? MSG_DONTWAIT : 0;
	char b;

	SETUP_PAIR();
	fd = rds_bound("10.1.0.1", 0);
	EXPECT_EQ(1, send_to(fd, NOBODY, 9, "x", 1, flags));
	EXPECT_EQ(1, send_to(fd, "198.51.100.1", 9, "x", 1, flags));
	usleep(100000);
	EXPECT_EQ(0, get_int(fd, SOL_SOCKET, SO_ERROR));
	EXPECT_EQ(0, poll_for(fd, 0, 0));
	EXPECT_ERR(EAGAIN, recv(fd, &b, 1, MSG_DONTWAIT));
}

TEST_HARNESS_MAIN
