// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=200 ref=0 waits=1 */
/*
 * What sendmsg() has accepted arrives although the socket is closed at once, or its program ends
 * or is killed: for so long as close_timeout_ms says, for so many sockets as max_orphans says.
 */
#include "rds_duo.h"
#include "rds_trace.h"

#include "../fairclock.h"

#include <sys/resource.h>
#include <sys/stat.h>

#define DEAD	"10.1.0.77"
#define PORT	6000

static char buf[65536];

static int linger(int fd, int sec)
{
	struct linger l = { .l_onoff = 1, .l_linger = sec };

	return setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

static int queued(int obs, int port)
{
	return msgs_of_port(obs, RDS6_INFO_SEND_MESSAGES, port) +
	       msgs_of_port(obs, RDS6_INFO_RETRANS_MESSAGES, port);
}

/* Numbers from @from on, @n of them, from the socket to the second namespace. */
static int put(int fd, int from, int n)
{
	for (; n; n--, from++)
		if (send_to(fd, "10.1.0.2", DUO_B, &from, sizeof(from), 0) != sizeof(from))
			return -1;
	return 0;
}

/* The next message is this number. */
static bool got(int fd, int nr)
{
	int n = -1;

	return recv_wait(fd, &n, sizeof(n)) == sizeof(n) && n == nr;
}

/* The cable of the second namespace is pulled out, or put in again. */
static int cable(int in)
{
	int ret = ns_enter(rds_ns[1]);

	if (!ret)
		ret = nl_link_flags("eth0", in);
	return ret ?: ns_enter(rds_ns[0]);
}

/* A receiver in the second namespace, with a connection that works. */
static int receiver(void)
{
	int fd = rds_bound_in(1, "10.1.0.2", DUO_B), a = rds_bound("10.1.0.1", 0);

	if (fd < 0 || put(a, 0, 1) || !got(fd, 0) || !all_acked(a))
		return -1;
	close(a);
	return fd;
}

/* ---- everything arrives --------------------------------------------------------- */

/* As CPython's test_socket has it: the first message of all, then close(). */
TEST_F(duo, orphan__send_and_close)
{
	int i, fd;

	for (i = 0; i < 20; i++) {
		fd = rds_bound(variant->aaddr, PORT);
		ASSERT_FD(fd);
		ASSERT_EQ(4, send_to(fd, variant->baddr, DUO_B, &i, 4, 0));
		ASSERT_EQ(0, close(fd));
		EXPECT_TRUE(got(self->b, i));
	}
	EXPECT_EQ(-1, recv(self->b, buf, 4, MSG_DONTWAIT));
}

/* On this host it is in the queue when sendmsg() returns. */
TEST_F(duo, orphan__first_message_at_once)
{
	int fd, i;

	if (variant->ns)
		return;
	close(self->b);
	for (i = 0; i < 20; i++) {
		/* each time a namespace, and so a connection, that is new */
		ASSERT_EQ(0, ns_local());
		fd = rds_bound(variant->aaddr, PORT);
		self->b = rds_bound(variant->baddr, DUO_B);
		ASSERT_FD(self->b);
		ASSERT_EQ(4, send_to(fd, variant->baddr, DUO_B, &i, 4, MSG_DONTWAIT));
		EXPECT_EQ(POLLIN, POLLIN & poll_for(self->b, POLLIN, 0));
		EXPECT_EQ(4, recv(self->b, buf, 4, MSG_DONTWAIT));
		close(fd);
		close(self->b);
		close(rds_ns[0]);
	}
	self->b = -1;
}

/* The end of a process is one of its sockets, too: all in order, each once. */
TEST_F(duo, orphan__send_and_exit)
{
	int i, round, fd;
	pid_t pid;

	for (round = 0; round < 10; round++) {
		pid = fork();
		if (!pid) {
			fd = rds_bound(variant->aaddr, PORT);
			for (i = 0; i < 50; i++)
				if (send_to(fd, variant->baddr, DUO_B, &i, 4, 0) != 4)
					_exit(1);
			_exit(0);
		}
		ASSERT_EQ(0, reap(pid));
		for (i = 0; i < 50; i++)
			ASSERT_TRUE(got(self->b, i));
	}
	EXPECT_EQ(-1, recv(self->b, buf, 4, MSG_DONTWAIT));
}

enum end { CLOSED, EXITED, KILLED, CLOSED_LINGERING };

/* A program that sends ten numbers while the cable is out, and ends. */
static int end_with_messages(enum end how)
{
	pid_t pid = fork();
	int st, fd;

	if (!pid) {
		fd = rds_bound("10.1.0.1", PORT);
		if (put(fd, 0, 10))
			_exit(1);
		if (how == CLOSED_LINGERING && linger(fd, 30))
			_exit(2);
		if (how == KILLED)
			kill(getpid(), SIGKILL);
		else if (how != EXITED)
			close(fd);
		_exit(0);
	}
	if (how == CLOSED_LINGERING) {
		/* close() waits, until it is killed */
		if (!WAIT_UNTIL(sleeping(pid)))
			return -1;
		usleep(100000);
		kill(pid, SIGKILL);
	}
	return waitpid(pid, &st, 0) == pid ? st : -1;
}

/* However it ends: the messages go when they can. */
TEST(orphan__sent_later)
{
	enum end how;
	__s64 present;
	int b, i;

	SETUP_PAIR();
	b = receiver();
	ASSERT_FD(b);
	for (how = CLOSED; how <= CLOSED_LINGERING; how++) {
		ASSERT_EQ(0, cable(0));
		present = counter(b, "orphan_present");
		ASSERT_EQ(how == KILLED || how == CLOSED_LINGERING ? SIGKILL : 0,
			  end_with_messages(how));
		EXPECT_EQ(present + 1, counter(b, "orphan_present"));
		ASSERT_EQ(0, cable(1));
		for (i = 0; i < 10; i++)
			ASSERT_TRUE(got(b, i));
		EXPECT_TRUE(WAIT_UNTIL(counter(b, "orphan_present") == present));
	}
	EXPECT_EQ(-1, recv(b, buf, 4, MSG_DONTWAIT));
}

/* The port is somebody else's at once; his messages come behind, and he takes back only his. */
TEST(orphan__port_used_again)
{
	struct sockaddr_storage ss;
	int a, b, i;
	socklen_t len;

	SETUP_PAIR();
	b = receiver();
	ASSERT_FD(b);
	ASSERT_EQ(0, cable(0));
	a = rds_bound("10.1.0.1", PORT);
	ASSERT_EQ(0, put(a, 0, 5));
	close(a);
	a = rds_bound("10.1.0.1", PORT);
	ASSERT_FD(a);
	EXPECT_EQ(5, queued(a, PORT));
	ASSERT_EQ(0, put(a, 100, 3));
	len = mkaddr(&ss, "10.1.0.2", DUO_B);
	EXPECT_OK(setsockopt(a, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
	EXPECT_EQ(5, queued(a, PORT));
	i = -1;
	EXPECT_EQ(0, ioctl(a, 0x5411 /* SIOCOUTQ */, &i));
	EXPECT_EQ(0, i);
	ASSERT_EQ(0, put(a, 200, 3));
	ASSERT_EQ(0, cable(1));
	for (i = 0; i < 5; i++)
		EXPECT_TRUE(got(b, i));
	/* what TCP had by then still comes, as always */
	while (recv_wait(b, &i, sizeof(i)) == sizeof(i) && i >= 100 && i < 103)
		;
	EXPECT_EQ(200, i);
	EXPECT_TRUE(got(b, 201));
	EXPECT_TRUE(got(b, 202));
	EXPECT_TRUE(all_acked(a));
}

/* ---- and what does not ----------------------------------------------------------- */

/* Nobody is there: they wait for close_timeout_ms, and close() does not. */
TEST(orphan__dropped_in_time)
{
	__s64 t, expired, unacked, created;
	int obs, fd, i;

	SETUP_PAIR();
	ASSERT_EQ(0, net_sysctl("close_timeout_ms", 1500));
	obs = rds_bound("10.1.0.1", 0);
	expired = counter(obs, "orphan_expired");
	created = counter(obs, "orphan_created");
	unacked = counter(obs, "send_closed_unacked");
	fd = rds_bound("10.1.0.1", PORT);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(100, send_to(fd, DEAD, 9, buf, 100, MSG_DONTWAIT));
	t = tick_ms();
	close(fd);
	EXPECT_EQ(5, queued(obs, PORT));
	EXPECT_EQ(created + 1, counter(obs, "orphan_created"));
	EXPECT_TRUE(WAIT_UNTIL(!queued(obs, PORT)));
	EXPECT_LE(1490, tick_ms() - t);
	EXPECT_EQ(expired + 1, counter(obs, "orphan_expired"));
	EXPECT_EQ(unacked + 5, counter(obs, "send_closed_unacked"));
	EXPECT_EQ(0, counter(obs, "orphan_present"));
}

/* The shorter of two that are closed one after the other is dropped first. */
TEST(orphan__each_has_its_time)
{
	int obs, fd[2];

	SETUP_PAIR();
	ASSERT_EQ(0, net_sysctl("close_timeout_ms", 3000));
	obs = rds_bound("10.1.0.1", 0);
	fd[0] = rds_bound("10.1.0.1", PORT);
	fd[1] = rds_bound("10.1.0.1", PORT + 1);
	ASSERT_EQ(1, send_to(fd[0], DEAD, 9, buf, 1, MSG_DONTWAIT));
	ASSERT_EQ(1, send_to(fd[1], DEAD, 9, buf, 1, MSG_DONTWAIT));
	close(fd[0]);
	ASSERT_EQ(0, net_sysctl("close_timeout_ms", 300));
	close(fd[1]);
	EXPECT_TRUE(WAIT_UNTIL(!queued(obs, PORT + 1)));
	EXPECT_EQ(1, queued(obs, PORT));
	EXPECT_TRUE(WAIT_UNTIL(!queued(obs, PORT)));
}

/* As it was before: close_timeout_ms 0, or SO_LINGER with 0, which says so for one socket. */
TEST(orphan__dropped_at_once)
{
	int obs, fd, i;

	SETUP_PAIR();
	obs = rds_bound("10.1.0.1", 0);
	for (i = 0; i < 3; i++) {
		fd = rds_bound("10.1.0.1", PORT);
		ASSERT_EQ(1, send_to(fd, DEAD, 9, buf, 1, MSG_DONTWAIT));
		ASSERT_EQ(1, send_to(fd, DEAD, 9, buf, 1, MSG_DONTWAIT));
		EXPECT_EQ(2, queued(obs, PORT));
		ASSERT_EQ(0, i == 1 ? net_sysctl("close_timeout_ms", 0) : linger(fd, 0));
		close(fd);
		EXPECT_EQ(0, queued(obs, PORT));
	}
}

/* What was taken back before stays taken back. */
TEST(orphan__cancelled_before)
{
	struct sockaddr_storage ss;
	int obs, fd;
	socklen_t len;

	SETUP_PAIR();
	ASSERT_EQ(0, net_sysctl("close_timeout_ms", 1000));
	obs = rds_bound("10.1.0.1", 0);
	fd = rds_bound("10.1.0.1", PORT);
	ASSERT_EQ(1, send_to(fd, DEAD, 9, buf, 1, MSG_DONTWAIT));
	ASSERT_EQ(1, send_to(fd, DEAD, 10, buf, 1, MSG_DONTWAIT));
	len = mkaddr(&ss, DEAD, 9);
	EXPECT_OK(setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
	close(fd);
	EXPECT_EQ(1, queued(obs, PORT));
	EXPECT_TRUE(WAIT_UNTIL(!queued(obs, PORT)));
}

/* A program that ends does not wait; the time of SO_LINGER counts all the same. */
TEST(orphan__exit_lingers_in_background)
{
	__s64 t;
	pid_t pid;
	int obs;

	SETUP_PAIR();
	obs = rds_bound("10.1.0.1", 0);
	pid = fork();
	if (!pid) {
		int fd = rds_bound("10.1.0.1", PORT);

		_exit(linger(fd, 2) || send_to(fd, DEAD, 9, buf, 1, MSG_DONTWAIT) != 1);
	}
	t = tick_ms();
	ASSERT_EQ(0, reap(pid));
	EXPECT_EQ(1, queued(obs, PORT));
	EXPECT_TRUE(WAIT_UNTIL(!queued(obs, PORT)));
	EXPECT_LE(1900, tick_ms() - t);
}

/* Pages of the application do not stay behind, copies do. */
TEST(orphan__zerocopy_is_taken_back)
{
	__u32 cookie = 1;
	int obs, fd;

	SETUP_PAIR();
	ASSERT_EQ(0, net_sysctl("close_timeout_ms", 1000));
	obs = rds_bound("10.1.0.1", 0);
	fd = rds_bound("10.1.0.1", PORT);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(1, send_to(fd, DEAD, 9, buf, 1, MSG_DONTWAIT));
	ASSERT_EQ(0, rds_connect(fd, DEAD, 9));
	ASSERT_EQ(5000, send_cmsg(fd, NULL, 0, buf, 5000, MSG_ZEROCOPY, RDS_CMSG_ZCOPY_COOKIE,
				  &cookie, 4));
	ASSERT_EQ(1, send(fd, buf, 1, MSG_DONTWAIT));
	EXPECT_EQ(3, queued(obs, PORT));
	close(fd);
	EXPECT_EQ(2, queued(obs, PORT));
	EXPECT_TRUE(WAIT_UNTIL(!queued(obs, PORT)));
}

/* ---- how many --------------------------------------------------------------------- */

/* Closes @n sockets with a message each, ports from @port on. */
static int leave(int n, int port)
{
	int fd;

	for (; n; n--, port++) {
		fd = rds_bound("10.1.0.1", port);
		if (send_to(fd, DEAD, 9, buf, 1, MSG_DONTWAIT) != 1 || close(fd))
			return -1;
	}
	return 0;
}

/* Which of @n ports from @port on have messages: a bit for each. */
static unsigned int left(int obs, int n, int port)
{
	unsigned int bits = 0;

	while (n--)
		bits |= !!queued(obs, port + n) << n;
	return bits;
}

TEST(orphan__oldest_gives_way)
{
	__s64 limit;
	int obs;

	SETUP_PAIR();
	obs = rds_bound("10.1.0.1", 0);
	limit = counter(obs, "orphan_limit");
	ASSERT_EQ(0, net_sysctl("max_orphans", 4));
	ASSERT_EQ(0, leave(10, PORT));
	EXPECT_EQ(0x3c0, left(obs, 10, PORT));
	EXPECT_EQ(limit + 6, counter(obs, "orphan_limit"));
	EXPECT_EQ(4, counter(obs, "orphan_present"));
	/* a smaller bound counts from the next one on */
	ASSERT_EQ(0, net_sysctl("max_orphans", 2));
	ASSERT_EQ(0, leave(1, PORT + 10));
	EXPECT_EQ(0x600, left(obs, 11, PORT));
	ASSERT_EQ(0, net_sysctl("max_orphans", 0));
	ASSERT_EQ(0, leave(1, PORT + 11));
	EXPECT_EQ(0, left(obs, 12, PORT));
	EXPECT_EQ(0, counter(obs, "orphan_present"));
}

/* What is dropped with a socket is traced, whether there were too many or its time is over. */
TEST(orphan__drops_are_traced)
{
	struct stat ns;
	int obs, i;

	SETUP_PAIR();
	ASSERT_EQ(0, fstat(rds_ns[0], &ns));
	obs = rds_bound("10.1.0.1", 0);
	ASSERT_EQ(0, net_sysctl("max_orphans", 4));
	ASSERT_EQ(0, trace_drops());
	ASSERT_EQ(0, leave(6, PORT));
	EXPECT_EQ(0x3c, left(obs, 6, PORT));
	EXPECT_TRUE(traced(2, "netns=%ld .*reason=", (long)ns.st_ino));
	for (i = 0; i < 6; i++) {
		EXPECT_TRUE(traced(i < 2, "netns=%ld .*ports=%d>9 reason=CLOSED$",
				   (long)ns.st_ino, PORT + i))
			TH_LOG("socket %d", i);
	}
	ASSERT_EQ(0, net_sysctl("max_orphans", 16));
	ASSERT_EQ(0, net_sysctl("close_timeout_ms", 300));
	ASSERT_EQ(0, leave(1, PORT + 6));
	EXPECT_TRUE(WAIT_UNTIL(traced(1, "netns=%ld .*ports=%d>9 reason=CLOSED$",
				      (long)ns.st_ino, PORT + 6)));
	EXPECT_TRUE(traced(3, "netns=%ld .*reason=", (long)ns.st_ino));
	EXPECT_EQ(0x3c, left(obs, 7, PORT));
	EXPECT_EQ(0, trace_end());
	ASSERT_EQ(0, net_sysctl("max_orphans", 0));
	ASSERT_EQ(0, leave(1, PORT + 7));
	EXPECT_EQ(0, counter(obs, "orphan_present"));
}

static int leave_as_user(void *port)
{
	return setgid(1001) || setuid(1001) || leave(6, *(int *)port);
}

/* A user has half of them: of more his own oldest one goes. */
TEST(orphan__half_for_a_user)
{
	int obs, port = PORT + 4;

	SETUP_PAIR();
	obs = rds_bound("10.1.0.1", 0);
	ASSERT_EQ(0, net_sysctl("max_orphans", 8));
	ASSERT_EQ(0, leave(4, PORT));
	ASSERT_EQ(0, reap(spawn(leave_as_user, &port)));
	EXPECT_EQ(0x3cf, left(obs, 10, PORT));
	ASSERT_EQ(0, net_sysctl("max_orphans", 0));
	ASSERT_EQ(0, leave(1, PORT + 10));
	EXPECT_EQ(0, left(obs, 11, PORT));
}

/* A number of sockets, by somebody. */
struct leaver {
	int uid, n, port;
};

static int leave_as(void *arg)
{
	const struct leaver *l = arg;

	if (l->uid && (setgid(l->uid) || setuid(l->uid)))
		return 1;
	return leave(l->n, l->port);
}

static int leavers(int uid, int n, int port)
{
	struct leaver l = { uid, n, port };

	return reap(spawn(leave_as, &l));
}

/* Of @n closed by each in turn the last ones are there, as many as each user leaves of 14. */
TEST(orphan__shares)
{
	enum { N = 20 };
	int obs;

	SETUP_PAIR();
	obs = rds_bound("10.1.0.1", 0);
	ASSERT_EQ(0, net_sysctl("close_timeout_ms", 600000));
	ASSERT_EQ(0, net_sysctl("max_orphans", 16));
	ASSERT_EQ(0, leavers(1001, N, PORT));
	EXPECT_EQ(0xfe000, left(obs, N, PORT));
	/* his number and 1001 leave the same remainder to 64 */
	ASSERT_EQ(0, leavers(1065, N, PORT + 100));
	EXPECT_EQ(0xf0000, left(obs, N, PORT + 100));
	ASSERT_EQ(0, leavers(1003, N, PORT + 200));
	EXPECT_EQ(0xc0000, left(obs, N, PORT + 200));
	/* the administrator has two in any case, and the one that they leave */
	ASSERT_EQ(0, leavers(0, N, PORT + 300));
	EXPECT_EQ(0xe0000, left(obs, N, PORT + 300));
	/* and nobody has lost anything by those who came behind him */
	EXPECT_EQ(0xfe000, left(obs, N, PORT));
	EXPECT_EQ(0xf0000, left(obs, N, PORT + 100));
	EXPECT_EQ(0xc0000, left(obs, N, PORT + 200));
	ASSERT_EQ(0, net_sysctl("max_orphans", 0));
	ASSERT_EQ(0, leave(1, PORT + 400));
	EXPECT_EQ(0, counter(obs, "orphan_present"));
}

/* Who has no other one takes the place of the oldest; not that of the administrator. */
TEST(orphan__no_share_left)
{
	int obs, i;

	SETUP_PAIR();
	obs = rds_bound("10.1.0.1", 0);
	ASSERT_EQ(0, net_sysctl("close_timeout_ms", 600000));
	ASSERT_EQ(0, net_sysctl("max_orphans", 16));
	ASSERT_EQ(0, leave(2, PORT));
	for (i = 0; i < 15; i++)
		ASSERT_EQ(0, leavers(1001 + i, 1, PORT + 100 + i));
	EXPECT_EQ(3, left(obs, 2, PORT));
	EXPECT_EQ(0x7ffe, left(obs, 15, PORT + 100));
	ASSERT_EQ(0, net_sysctl("max_orphans", 0));
	ASSERT_EQ(0, leave(1, PORT + 400));
	EXPECT_EQ(0, counter(obs, "orphan_present"));
}

/* One that keeps much memory counts as several: small messages as many as one may queue. */
TEST(orphan__heavy)
{
	int obs, i, n, fd;

	SETUP_PAIR();
	obs = rds_bound("10.1.0.1", 0);
	ASSERT_EQ(0, net_sysctl("close_timeout_ms", 600000));
	ASSERT_EQ(0, net_sysctl("max_orphans", 16));
	for (i = 0; i < 6; i++) {
		fd = rds_bound("10.1.0.1", PORT + i);
		ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, 1 << 18));
		/* 4 MiB may be under way to one port */
		for (n = 0; send_to(fd, DEAD, 9 + i, buf, 25, MSG_DONTWAIT) == 25; n++)
			;
		ASSERT_LT(5000, n);
		close(fd);
		/* a quarter each, and no more than that */
		EXPECT_EQ(i < 4 ? i + 1 : 4, counter(obs, "orphan_present"));
	}
	ASSERT_EQ(0, net_sysctl("max_orphans", 0));
	ASSERT_EQ(0, leave(1, PORT + 400));
	EXPECT_EQ(0, counter(obs, "orphan_present"));
}

/* ---- the end is prompt -------------------------------------------------------------- */

#define MANY	1000

/* The end of a program with many sockets, @sends with a message each: ms. */
static __s64 end_of_many(bool sends, int seconds)
{
	struct rlimit rl = { MANY + 100, MANY + 100 };
	int i, fd, ready[2];
	pid_t pid;
	__s64 t;
	char c;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		if (setrlimit(RLIMIT_NOFILE, &rl))
			_exit(1);
		for (i = 0; i < MANY; i++) {
			fd = rds_bound("10.1.0.1", 0);
			if (fd < 0 || (seconds && linger(fd, seconds)) ||
			    (sends && send_to(fd, DEAD, 9, buf, 1, MSG_DONTWAIT) != 1))
				_exit(2);
		}
		if (write(ready[1], "x", 1) != 1)
			_exit(3);
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		return -1;
	t = fair_ms();
	close(ready[0]);
	return reap(pid) ? -1 : fair_ms() - t;
}

/* Compared with sockets that have nothing to send, for this machine may be slow. */
TEST(orphan__exit_with_many_sockets)
{
	__s64 nothing, plain, lingering;
	int obs;

	SETUP_PAIR();
	obs = rds_bound("10.1.0.1", 0);
	nothing = end_of_many(false, 0);
	plain = end_of_many(true, 0);
	lingering = end_of_many(true, 5);
	TH_LOG("%d sockets end in %lld ms, with messages %lld, lingering %lld", MANY,
	       (long long)nothing, (long long)plain, (long long)lingering);
	ASSERT_LE(0, nothing);
	EXPECT_LE(0, plain);
	EXPECT_LE(0, lingering);
	EXPECT_GT(4 * nothing + 1000, plain);
	EXPECT_GT(4 * nothing + 1000, lingering);
	ASSERT_EQ(0, net_sysctl("max_orphans", 0));
	ASSERT_EQ(0, leave(1, PORT));
	EXPECT_EQ(0, counter(obs, "orphan_present"));
}

/* Connections that they have nothing to do with are not looked at. */
TEST(orphan__exit_beside_many_connections)
{
	__s64 nothing, dropped;
	int obs, i, n = slow_kernel() || has_kasan() ? 1000 : 3500;
	char addr[32];

	SETUP_PAIR();
	/* where packets end without a word, and no neighbour is asked for */
	ASSERT_EQ(0, system("ip route add 10.2.0.0/16 via 10.1.0.2"));
	ASSERT_EQ(0, net_sysctl("max_conns", 2 * n));
	ASSERT_EQ(0, net_sysctl("close_timeout_ms", 0));
	obs = rds_bound("10.1.0.1", 0);
	ASSERT_EQ(0, set_int(obs, SOL_SOCKET, SO_SNDBUFFORCE, 1 << 24));
	for (i = 0; i < n; i++) {
		snprintf(addr, sizeof(addr), "10.2.%d.%d", i / 250, 1 + i % 250);
		ASSERT_EQ(1, send_to(obs, addr, 9, buf, 1, MSG_DONTWAIT));
	}
	nothing = end_of_many(false, 0);
	dropped = end_of_many(true, 0);
	TH_LOG("%d sockets end beside %d connections in %lld ms, with messages %lld", MANY, n,
	       (long long)nothing, (long long)dropped);
	ASSERT_LE(0, nothing);
	EXPECT_LE(0, dropped);
	EXPECT_GT(4 * nothing + 1000, dropped);
}

TEST_HARNESS_MAIN
