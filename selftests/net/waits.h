/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every place where a system call waits: its time-out comes on time, a fatal
 * signal ends it at once, another one with EINTR or a restart, all who wait go
 * on when they can, and a call that did not succeed has left nothing behind.
 *
 * Who includes it defines WAITS_SETUP(), DEAD, an address without anybody, and
 * the variants.
 */
#ifndef RDS_WAITS_H
#define RDS_WAITS_H

#include "../fairclock.h"
#include "../freezer.h"

#include <sys/epoll.h>
#include <sys/ptrace.h>

#define WAITERS	4
#define ON_TIME	2500		/* ms by fair_ms(): this machine may be very busy */

enum kind { ROOM, ROOM_ZC, CONG, RECV, PEEK, MMSG, POLL, EPOLL };

static char buf[65536];

struct ends {
	int fd, peer, ep;
	int filled;
};

FIXTURE(waits)
{
	struct ends e;
};

FIXTURE_VARIANT(waits)
{
	enum kind what;
	const char *aaddr, *baddr;
	int ns;
};

static bool is_send(enum kind w)
{
	return w <= CONG;
}

static ssize_t send_zc(int fd, __u32 cookie, int flags)
{
	struct ctl c = {};

	ctl_add(&c, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie, sizeof(cookie));
	return send_ctl(fd, NULL, 0, buf, 4, flags | MSG_ZEROCOPY, c.buf, c.len);
}

/* Sends until it has to wait for @err: how many went before, or -1. */
static int fill(int fd, int err)
{
	__s64 end = now_ms() + WAIT_MS;
	int n = 0;

	while (now_ms() < end) {
		if (send(fd, buf, 1000, MSG_DONTWAIT) == 1000)
			n++;
		else if (errno == err)
			return n;
		else if (errno != EAGAIN)
			return -1;
		if (n > 20)
			usleep(1000);
	}
	return -1;
}

FIXTURE_SETUP(waits)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct ends *e = &self->e;
	int size = is_send(variant->what) ? 6000 : 0;

	WAITS_SETUP();
	e->peer = -1;
	e->fd = rds_bound(variant->aaddr, 5001);
	ASSERT_FD(e->fd);
	ASSERT_EQ(0, rds_connect(e->fd, variant->baddr, 5002));
	if (strcmp(variant->baddr, DEAD)) {
		e->peer = variant->ns ? rds_bound_in(variant->ns, variant->baddr, 5002) :
				       rds_bound(variant->baddr, 5002);
		ASSERT_FD(e->peer);
	}
	if (variant->what == ROOM_ZC) {
		ASSERT_EQ(0, set_int(e->fd, SOL_SOCKET, SO_ZEROCOPY, 1));
		ASSERT_EQ(4, send_zc(e->fd, 1, MSG_DONTWAIT));
	}
	if (variant->what == CONG) {
		ASSERT_EQ(0, set_int(e->peer, SOL_SOCKET, SO_RCVBUF, size));
		e->filled = fill(e->fd, ENOBUFS);
	} else if (size) {
		ASSERT_EQ(0, set_int(e->fd, SOL_SOCKET, SO_SNDBUF, size));
		e->filled = fill(e->fd, EAGAIN);
	}
	ASSERT_LE(0, e->filled);
	e->ep = epoll_create1(EPOLL_CLOEXEC);
	ASSERT_EQ(0, epoll_ctl(e->ep, EPOLL_CTL_ADD, e->fd, &ev));
}

FIXTURE_TEARDOWN(waits)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, DEAD, 5002);

	/* what nobody takes would stay as orphans of the next case's port */
	setsockopt(self->e.fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len);
	close(self->e.ep);
	close(self->e.fd);
	close(self->e.peer);
	freezer_close();
}

/* The call that waits; @ms only for those that have the time as an argument. */
static int wait_in(const struct ends *e, enum kind what, int ms)
{
	struct iovec iov = { buf, sizeof(buf) };
	struct mmsghdr mm = { { .msg_iov = &iov, .msg_iovlen = 1 } };
	struct pollfd p = { .fd = e->fd, .events = POLLIN };
	struct epoll_event ev;
	long n = -1;

	errno = 0;
	switch (what) {
	case ROOM:
	case CONG:
		n = send(e->fd, "late", 4, 0);
		break;
	case ROOM_ZC:
		n = send_zc(e->fd, 2, 0);
		break;
	case RECV:
		n = recv(e->fd, buf, sizeof(buf), 0);
		break;
	case PEEK:
		n = recv(e->fd, buf, sizeof(buf), MSG_PEEK);
		break;
	case MMSG:
		n = recvmmsg(e->fd, &mm, 1, 0, NULL);
		break;
	case POLL:
		n = poll(&p, 1, ms);
		break;
	case EPOLL:
		n = epoll_wait(e->ep, &ev, 1, ms);
		break;
	}
	if (!n && (what == POLL || what == EPOLL))
		errno = ETIMEDOUT;
	return errno;
}

/* Ends the waiting of @n callers. */
static int let_go(const struct ends *e, enum kind what, int n)
{
	struct sockaddr_storage ss;
	socklen_t len;

	switch (what) {
	case ROOM:
	case ROOM_ZC:
		len = mkaddr(&ss, DEAD, 5002);
		return setsockopt(e->fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len);
	case CONG:
		for (n = 0; n < e->filled; n++)
			if (recv_wait(e->peer, buf, sizeof(buf)) != 1000)
				return -1;
		return 0;
	default:
		len = sizeof(ss);
		if (getsockname(e->fd, (void *)&ss, &len))
			return -1;
		while (n--)
			if (sendto(e->peer, "go", 2, 0, (void *)&ss, len) != 2)
				return -1;
		return 0;
	}
}

static void start(const struct ends *e, enum kind what, pid_t *pid, int n)
{
	while (n--) {
		pid[n] = fork();
		if (!pid[n])
			_exit(wait_in(e, what, -1));
	}
}

/* All of them sleep, and still do a moment later. */
static bool all_wait(const pid_t *pid, int n)
{
	int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < n; i++)
			if (!WAIT_UNTIL(sleeping(pid[i])))
				return false;
		usleep(60000);
	}
	for (i = 0; i < n; i++)
		if (!sleeping(pid[i]))
			return false;
	return true;
}

/* Messages at the peer, which must be "late" ones, each sent by one caller. */
static int late_ones(const struct ends *e)
{
	int n = 0;

	if (!all_acked(e->fd))
		return -1;
	while (recv(e->peer, buf, sizeof(buf), MSG_DONTWAIT) == 4)
		n++;
	return errno == EAGAIN ? n : -2;
}

static const int times[] = { 60, 400 };

TEST_F(waits, time_out)
{
	int opt = is_send(variant->what) ? SO_SNDTIMEO : SO_RCVTIMEO, i, n;
	__s64 t, fair;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		ASSERT_EQ(0, set_timeo(self->e.fd, opt, times[i]));
		/*
		 * When this guest has just got no processor the kernel counts its ticks afterwards,
		 * and a time in ticks is over too early: not three times in turn.
		 */
		for (n = 0, t = 0; n < 3 && t < times[i] - 10; n++) {
			usleep(5000);
			t = now_ms();
			fair = fair_ms();
			EXPECT_EQ(ETIMEDOUT, wait_in(&self->e, variant->what, times[i]));
			t = now_ms() - t;
			EXPECT_GT(times[i] + ON_TIME, fair_ms() - fair);
		}
		EXPECT_LE(times[i] - 10, t);
	}
	/* what timed out was not sent, and the next call without a limit works */
	ASSERT_EQ(0, set_timeo(self->e.fd, opt, 0));
	ASSERT_EQ(0, let_go(&self->e, variant->what, 1));
	EXPECT_EQ(0, wait_in(&self->e, variant->what, -1));
	if (variant->what == CONG)
		EXPECT_EQ(1, late_ones(&self->e));
}

/* A time-out of one caller is not the time-out of another. */
TEST_F(waits, time_out_beside_another)
{
	int opt = is_send(variant->what) ? SO_SNDTIMEO : SO_RCVTIMEO;
	pid_t pid;

	start(&self->e, variant->what, &pid, 1);
	ASSERT_TRUE(all_wait(&pid, 1));
	ASSERT_EQ(0, set_timeo(self->e.fd, opt, 100));
	EXPECT_EQ(ETIMEDOUT, wait_in(&self->e, variant->what, 100));
	EXPECT_TRUE(all_wait(&pid, 1));
	ASSERT_EQ(0, let_go(&self->e, variant->what, 1));
	EXPECT_EQ(0, reap(pid));
}

/* Kills all: ms by fair_ms() until the last is gone, or -1 if one of them ended otherwise. */
static __s64 kill_waiters(const pid_t *pid)
{
	__s64 start = fair_ms();
	bool killed = true;
	int i, st;

	for (i = 0; i < WAITERS; i++)
		kill(pid[i], SIGKILL);
	for (i = 0; i < WAITERS; i++)
		killed &= waitpid(pid[i], &st, 0) == pid[i] && WIFSIGNALED(st);
	return killed ? fair_ms() - start : -1;
}

TEST_F(waits, killed)
{
	pid_t pid[WAITERS];
	__s64 t;

	start(&self->e, variant->what, pid, WAITERS);
	ASSERT_TRUE(all_wait(pid, WAITERS));
	t = kill_waiters(pid);
	EXPECT_LE(0, t);
	EXPECT_GT(ON_TIME, t);
	ASSERT_EQ(0, let_go(&self->e, variant->what, 1));
	if (variant->what == CONG)
		EXPECT_EQ(0, late_ones(&self->e));
	EXPECT_EQ(0, wait_in(&self->e, variant->what, -1));
	if (variant->what == CONG)
		EXPECT_EQ(1, late_ones(&self->e));
}

TEST_F(waits, woken_all)
{
	pid_t pid[WAITERS];
	int i;

	start(&self->e, variant->what, pid, WAITERS);
	ASSERT_TRUE(all_wait(pid, WAITERS));
	ASSERT_EQ(0, let_go(&self->e, variant->what, WAITERS));
	for (i = 0; i < WAITERS; i++)
		EXPECT_EQ(0, reap(pid[i]));
	if (variant->what == CONG)
		EXPECT_EQ(WAITERS, late_ones(&self->e));
}

static void on_signal(int sig)
{
}

TEST_F(waits, signal)
{
	struct itimerval it = { { 0, 50000 }, { 0, 50000 } }, off = {};
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	EXPECT_EQ(EINTR, wait_in(&self->e, variant->what, -1));
	setitimer(ITIMER_REAL, &off, NULL);
	ASSERT_EQ(0, let_go(&self->e, variant->what, 1));
	if (variant->what == CONG)
		EXPECT_EQ(0, late_ones(&self->e));
}

static bool stopped(pid_t pid)
{
	bool ok;
	int st;

	kill(pid, SIGSTOP);
	ok = waitpid(pid, &st, WUNTRACED) == pid && WIFSTOPPED(st);
	kill(pid, SIGCONT);
	return ok && all_wait(&pid, 1);
}

static bool frozen(pid_t pid)
{
	bool ok;

	ok = freezer_open() && freezer_add(pid) && freezer_freeze(true) &&
	     WAIT_UNTIL(freezer_frozen());
	return freezer_freeze(false) && ok && all_wait(&pid, 1);
}

/* A debugger looks, has it go on, and looks once more before it goes away. */
static bool debugged(pid_t pid)
{
	int i, st;

	if (ptrace(PTRACE_SEIZE, pid, 0, 0))
		return false;
	for (i = 0; i < 2; i++)
		if (ptrace(PTRACE_INTERRUPT, pid, 0, 0) || waitpid(pid, &st, __WALL) != pid ||
		    !WIFSTOPPED(st) || ptrace(i ? PTRACE_DETACH : PTRACE_CONT, pid, 0, 0) ||
		    !all_wait(&pid, 1))
			return false;
	return true;
}

/* What has a call return that waits, and is no signal to the program: the call goes on. */
static void disturb(struct __test_metadata *_metadata, pid_t pid)
{
	ASSERT_TRUE(stopped(pid));
	ASSERT_TRUE(frozen(pid));
	ASSERT_TRUE(debugged(pid));
	ASSERT_TRUE(stopped(pid));
}

/* With SA_RESTART, and when it was disturbed, the call goes on as if nothing had been. */
TEST_F(waits, restarted)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pid_t pid;

	/* never restarted, see signal(7) */
	if (variant->what == POLL || variant->what == EPOLL)
		return;
	sigaction(SIGUSR1, &sa, NULL);
	start(&self->e, variant->what, &pid, 1);
	ASSERT_TRUE(all_wait(&pid, 1));
	kill(pid, SIGUSR1);
	EXPECT_TRUE(all_wait(&pid, 1));
	disturb(_metadata, pid);
	kill(pid, SIGUSR1);
	EXPECT_TRUE(all_wait(&pid, 1));
	ASSERT_EQ(0, let_go(&self->e, variant->what, 1));
	EXPECT_EQ(0, reap(pid));
	if (variant->what == CONG)
		EXPECT_EQ(1, late_ones(&self->e));
}

/* So it does with a time-out, if what came was no signal to the program. */
TEST_F(waits, disturbed_with_time_out)
{
	int opt = is_send(variant->what) ? SO_SNDTIMEO : SO_RCVTIMEO;
	pid_t pid;

	if (variant->what == POLL || variant->what == EPOLL)
		return;
	ASSERT_EQ(0, set_timeo(self->e.fd, opt, 4 * WAIT_MS));
	start(&self->e, variant->what, &pid, 1);
	ASSERT_TRUE(all_wait(&pid, 1));
	disturb(_metadata, pid);
	ASSERT_EQ(0, let_go(&self->e, variant->what, 1));
	EXPECT_EQ(0, reap(pid));
	if (variant->what == CONG)
		EXPECT_EQ(1, late_ones(&self->e));
}

#endif
