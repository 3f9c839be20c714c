// SPDX-License-Identifier: GPL-2.0
// vm: nodes=1 modules=rds_tcp,veth timeout=200 ref=0 lanes=uml
/*
 * Small messages of a stream are held back to share packets (rds_tcp.hold_us).
 * Proves, with a limit of 1 s that nobody can overlook: a stream is held; what its
 * sender waits behind is not (recvmsg, poll, a full send buffer), neither are a
 * message after a pause and an answer; and a stream that just ends goes out when
 * the limit has passed.  Nor is a sender with many peers, which is held back if it only
 * sends, and not if it sleeps between its messages.
 *
 * Who shares the machine may stop a processor for a second: that spoils a round, and a case
 * has several.
 */
#include "../api/rds_util.h"
#include "../fairclock.h"
#include "../api/rds_netns.h"

#include "kselftest_harness.h"

#define LIMIT_US	"1000000"
#define PARAM		"/sys/module/rds_tcp/parameters/hold_us"
#define BURST		200
#define PEERS		32
#define HELD		12		/* the last ones: by then it is a stream */
#define FIRST_HELD	(PEERS - HELD)
#define ROUNDS		8

/* In how many of the rounds is it true?  No more are made than @_want. */
#define TIMES(_want, _round) ({ \
	int __i, __n = 0; \
	for (__i = 0; __i < ROUNDS && __n < (_want); __i++) \
		__n += !!(_round); \
	if (__i > __n) \
		TH_LOG("true in %d of %d rounds", __n, __i); \
	__n; \
})

/* The limit as it was, to be written back. */
static int read_param(char *v, size_t size)
{
	int fd = open(PARAM, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return -errno;
	memset(v, 0, size);
	n = read(fd, v, size - 1);
	close(fd);
	return n > 0 ? 0 : -EIO;
}

static int write_param(const char *v)
{
	int fd = open(PARAM, O_WRONLY);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, v, strlen(v));
	close(fd);
	return n < 0 ? -1 : 0;
}

FIXTURE(hold)
{
	char old[16];
	int a, b;
};

FIXTURE_SETUP(hold)
{
	char buf[64];

	ASSERT_EQ(0, read_param(self->old, sizeof(self->old)));
	ASSERT_EQ(0, ns_pair());
	self->a = rds_bound_in(0, "10.1.0.1", 4000);
	self->b = rds_bound_in(1, "10.1.0.2", 4001);
	ASSERT_LE(0, self->a);
	ASSERT_LE(0, self->b);
	/* the link is up, and its handshake over */
	ASSERT_EQ(4, send_to(self->a, "10.1.0.2", 4001, "warm", 4, 0));
	ASSERT_EQ(4, recv_wait(self->b, buf, sizeof(buf)));
	ASSERT_EQ(4, send_to(self->b, "10.1.0.1", 4000, "warm", 4, 0));
	ASSERT_EQ(4, recv_wait(self->a, buf, sizeof(buf)));
	sleep(1);
	ASSERT_EQ(0, write_param(LIMIT_US));
}

/* By the parent, whose descriptors these are not: a child that failed may not come to it. */
FIXTURE_TEARDOWN_PARENT(hold)
{
	write_param(self->old);
}

/* Takes what is there now; how many. */
static int take(int fd)
{
	char buf[500];
	int n = 0;

	while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) >= 0)
		n++;
	return n;
}

/* Takes from all @nr until @want are there or @ms have passed. */
static int take_from(const int *fd, int nr, int want, int ms)
{
	__s64 end = now_ms() + ms;
	int n = 0, i;

	do {
		for (i = 0; i < nr; i++)
			n += take(fd[i]);
		if (n < want)
			usleep(5000);
	} while (n < want && now_ms() < end);
	return n;
}

static int take_for(int fd, int want, int ms)
{
	return take_from(&fd, 1, want, ms);
}

/* A stream, the end of which is held back: how many of it have come. */
static int stream(int a, int b)
{
	int i, n;

	for (i = 0; i < BURST; i++)
		if (send_to(a, "10.1.0.2", 4001, "small", 5, 0) != 5)
			return -errno;
	n = take_for(b, BURST, 200);
	return n;
}

static bool ends_at_the_limit(int a, int b)
{
	__s64 start = now_ms(), fair = fair_ms(), took;
	int n = stream(a, b), late;

	if (n < 0)
		return false;
	late = BURST - n;
	if (take_for(b, late, 10000) != late)
		return false;
	took = now_ms() - start;
	fprintf(TH_LOG_STREAM, "# the last came after %lld ms, %d were held back\n",
		(long long)took, late);
	return late && took >= 900 && fair_ms() - fair < 2000 * slow();
}

TEST_F(hold, until_the_limit)
{
	EXPECT_EQ(1, TIMES(1, ends_at_the_limit(self->a, self->b)))
		TH_LOG("if nothing is held back, the other cases prove nothing");
}

/* Does what is held back come soon when the sender does that? */
static bool pushes(int a, int b, void (*does)(int a))
{
	int n = stream(a, b), late;

	if (n < 0)
		return false;
	does(a);
	late = BURST - n - take_for(b, BURST - n, 300);
	if (late)
		take_for(b, late, 10000);
	return n < BURST && !late;
}

static void receives(int a)
{
	char buf[64];

	set_timeo(a, SO_RCVTIMEO, 50);
	recv(a, buf, sizeof(buf), 0);
}

static void polls(int a)
{
	poll_for(a, POLLIN, 0);
}

TEST_F(hold, recvmsg_pushes)
{
	EXPECT_EQ(3, TIMES(3, pushes(self->a, self->b, receives)));
}

TEST_F(hold, poll_pushes)
{
	EXPECT_EQ(3, TIMES(3, pushes(self->a, self->b, polls)));
}

/* What was sent until there was no room comes soon. */
static bool refused(int a, int b)
{
	int sent = 0, late;

	take_for(b, 1000000, 1300);
	while (send_to(a, "10.1.0.2", 4001, "small", 5, MSG_DONTWAIT) == 5)
		sent++;
	if (errno != EAGAIN)
		return false;
	late = sent - take_for(b, sent, 300);
	return sent && !late;
}

/* Who does not wait in the call waits outside of it. */
TEST_F(hold, refused_for_room_pushes)
{
	ASSERT_LE(0, stream(self->a, self->b));
	ASSERT_EQ(0, set_int(self->a, SOL_SOCKET, SO_SNDBUF, 1000));
	EXPECT_EQ(3, TIMES(3, refused(self->a, self->b)));
}

/* With something to read: poll() for room pushes when there is none, and not when there is. */
static bool asks_for_room(int a, int b)
{
	static char large[500];
	int i, n, late;
	bool ok;

	if (set_int(a, SOL_SOCKET, SO_SNDBUF, 1 << 17))
		return false;
	for (i = 0; i < BURST / 2; i++)
		if (send_to(a, "10.1.0.2", 4001, large, 500, 0) != 500)
			return false;
	n = take_for(b, BURST / 2, 200);
	ok = n < BURST / 2 && poll_for(a, POLLIN | POLLOUT, 0) == (POLLIN | POLLOUT) &&
	     !take_for(b, 1, 200) && !set_int(a, SOL_SOCKET, SO_SNDBUF, 1000) &&
	     poll_for(a, POLLIN | POLLOUT, 0) == POLLIN;
	late = BURST / 2 - n - take_for(b, BURST / 2 - n, 300);
	if (late)
		take_for(b, late, 10000);
	return ok && !late;
}

TEST_F(hold, poll_for_room_pushes)
{
	ASSERT_EQ(4, send_to(self->b, "10.1.0.1", 4000, "data", 4, 0));
	ASSERT_TRUE(wait_data(self->a));
	EXPECT_EQ(3, TIMES(3, asks_for_room(self->a, self->b)));
}

static bool close_pushes(int b)
{
	struct linger l = { .l_onoff = 1, .l_linger = 5 };
	int a = rds_bound_in(0, "10.1.0.1", 4002), n, late;
	__s64 start, took;

	if (a < 0)
		return false;
	n = stream(a, b);
	start = now_ms();
	if (n < 0 || setsockopt(a, SOL_SOCKET, SO_LINGER, &l, sizeof(l)) || close(a))
		return false;
	took = now_ms() - start;
	late = BURST - n - take_for(b, BURST - n, 300);
	if (late)
		take_for(b, late, 10000);
	return n < BURST && took < 300 * slow() && !late;
}

TEST_F(hold, close_that_lingers_pushes)
{
	EXPECT_EQ(3, TIMES(3, close_pushes(self->b)));
}

/* A sender that waits for room would otherwise get it once a second. */
TEST_F(hold, full_buffer_pushes)
{
	__s64 start;
	int i;

	ASSERT_EQ(0, set_int(self->a, SOL_SOCKET, SO_SNDBUF, 1000));
	ASSERT_EQ(0, stream(self->a, self->b) < 0);
	start = fair_ms();
	for (i = 0; i < 4000; i++) {
		ASSERT_EQ(5, send_to(self->a, "10.1.0.2", 4001, "small", 5, 0));
		if (i % 100 == 99)
			take(self->b);
	}
	TH_LOG("4000 messages through a small buffer took %lld ms", (long long)(fair_ms() - start));
	EXPECT_GT(3000 * slow(), fair_ms() - start);
}

static bool quick(int from, const char *addr, unsigned int port, int to)
{
	__s64 start = fair_ms();
	char buf[64];

	return send_to(from, addr, port, "lone", 4, 0) == 4 &&
	       recv_wait(to, buf, sizeof(buf)) == 4 &&
	       fair_ms() - start < (slow() > 1 ? 900 : 300);
}

/* What comes after a pause goes at once, and a request is answered at once. */
static bool lone_ones(int a, int b)
{
	bool asked, answered;

	usleep(1100000);
	asked = quick(a, "10.1.0.2", 4001, b);
	answered = quick(b, "10.1.0.1", 4000, a);
	return asked && answered;
}

TEST_F(hold, not_lone_ones)
{
	EXPECT_EQ(3, TIMES(3, lone_ones(self->a, self->b)));
}

/* --- one socket, many peers: no path has a stream of its own */

FIXTURE(fan)
{
	char old[16];
	int a, b[PEERS];
};

static char *peer(int i)
{
	static char s[16];

	snprintf(s, sizeof(s), "10.1.0.%d", 10 + i);
	return s;
}

FIXTURE_SETUP(fan)
{
	char buf[64];
	int i;

	ASSERT_EQ(0, read_param(self->old, sizeof(self->old)));
	ASSERT_EQ(0, ns_pair());
	self->a = rds_bound_in(0, "10.1.0.1", 4000);
	ASSERT_LE(0, self->a);
	ASSERT_EQ(0, ns_enter(rds_ns[1]));
	for (i = 0; i < PEERS; i++)
		ASSERT_EQ(0, nl_addr("eth0", peer(i), 24, 1));
	ASSERT_EQ(0, ns_enter(rds_ns[0]));
	for (i = 0; i < PEERS; i++) {
		self->b[i] = rds_bound_in(1, peer(i), 4001);
		ASSERT_LE(0, self->b[i]);
		ASSERT_EQ(4, send_to(self->a, peer(i), 4001, "warm", 4, 0));
		ASSERT_EQ(4, recv_wait(self->b[i], buf, sizeof(buf)));
	}
	/* the handshake is over: what comes next is no answer to it */
	usleep(300000);
	for (i = 0; i < PEERS; i++) {
		ASSERT_EQ(4, send_to(self->a, peer(i), 4001, "warm", 4, 0));
		ASSERT_EQ(4, recv_wait(self->b[i], buf, sizeof(buf)));
	}
	usleep(1100000);
}

FIXTURE_TEARDOWN_PARENT(fan)
{
	write_param(self->old);
}

/* From the last ones, by which the sender is known for what it is. */
static int fan_take(const int *b, int want, int ms)
{
	return take_from(b + FIRST_HELD, HELD, want, ms);
}

/*
 * One message to each, without a pause, after none for longer than the limit: how many of the last
 * ones have not come soon.  All but a few: what a worker sends, because it was at it, it does not
 * hold back.
 */
static int fan_out(int a, const int *b)
{
	int i;

	for (i = 0; i < PEERS; i++)
		if (send_to(a, peer(i), 4001, "small", 5, 0) != 5)
			return -errno;
	return HELD - fan_take(b, HELD, 200);
}

static bool fan_is_held(int a, const int *b)
{
	int held = fan_out(a, b);

	return held >= HELD / 2 && fan_take(b, held, 10000) == held;
}

TEST_F(fan, until_the_limit)
{
	ASSERT_EQ(0, write_param(LIMIT_US));
	EXPECT_EQ(1, TIMES(1, (usleep(1100000), fan_is_held(self->a, self->b))));
}

static bool recvmsg_pushes(int a, const int *b)
{
	int held, late;

	usleep(1100000);
	held = fan_out(a, b);
	receives(a);
	late = held - fan_take(b, held, 300);
	if (late)
		fan_take(b, late, 10000);
	return held >= HELD / 2 && !late;
}

TEST_F(fan, recvmsg_pushes_all)
{
	ASSERT_EQ(0, write_param(LIMIT_US));
	EXPECT_EQ(2, TIMES(2, recvmsg_pushes(self->a, self->b)));
}

static bool ends_soon(int a, const int *b, int stream)
{
	__s64 start, took;
	int i, held;

	usleep(1100000);
	held = fan_out(a, b);
	start = fair_ms();
	for (i = 0; i < BURST; i++)
		if (send_to(stream, peer(0), 4001, "small", 5, 0) != 5)
			return false;
	if (take_for(b[0], BURST + 1, 10000) != BURST + 1)
		return false;
	took = fair_ms() - start;
	fprintf(TH_LOG_STREAM, "# the end of the stream came after %lld ms\n", (long long)took);
	fan_take(b, held, 10000);
	return held >= HELD / 2 && took < 400 * slow();
}

/* A stream, held for 200 ms, does not wait for the timer of what is held for 800. */
TEST_F(fan, stream_beside_the_patient)
{
	int stream = rds_bound_in(0, "10.1.0.1", 5000);

	ASSERT_LE(0, stream);
	ASSERT_EQ(0, write_param("200000"));
	EXPECT_EQ(2, TIMES(2, ends_soon(self->a, self->b, stream)));
}

static bool only_its_own(int a, const int *b, unsigned int port)
{
	int other = rds_bound_in(0, "10.1.0.1", port), i, held, n;

	usleep(1100000);
	held = fan_out(a, b);
	for (i = 0; i < BURST; i++)
		if (send_to(other, peer(0), 4001, "small", 5, 0) != 5)
			return false;
	poll_for(other, POLLIN, 0);
	n = fan_take(b, held, 100);
	/* not closed: the next one shall be elsewhere */
	return held >= HELD / 2 && held == n + fan_take(b, held - n, 10000) &&
	       take_for(b[0], BURST + 1, 1000) == BURST + 1 && n < held;
}

/*
 * What another sender waits behind is pushed, and ours not; unless both have the same bit of 64,
 * which comes of where they are in memory.
 */
TEST_F(fan, waits_of_others_do_not)
{
	unsigned int port = 5000;

	ASSERT_EQ(0, write_param(LIMIT_US));
	EXPECT_EQ(2, TIMES(2, only_its_own(self->a, self->b, port++)));
}

/* Busy: who sleeps is not held. */
static void spin_us(int us)
{
	__s64 end = now_us() + us;

	while (now_us() < end)
		;
}

/*
 * After 6 ms of messages to one peer, which join what is held for it: is one to another held?
 * 1 yes, 0 no, -1 the messages came too slowly to count.
 */
static int held_after_joining(int a, const int *b)
{
	__s64 end;
	int i, n = 0;

	for (i = 0; i < PEERS; i++)
		if (send_to(a, peer(i), 4001, "small", 5, 0) != 5)
			return -1;
	for (end = now_us() + 6000; now_us() < end; spin_us(slow() > 1 ? 250 : 500), n++)
		if (send_to(a, peer(PEERS - 1), 4001, "small", 5, 0) != 5)
			return -1;
	take(b[0]);
	if (send_to(a, peer(0), 4001, "small", 5, 0) != 5)
		return -1;
	spin_us(2000);
	return n < 7 ? -1 : !take(b[0]);
}

/*
 * The limit is 14.4 ms for a sender with many peers that sends at least one message in a sixteenth
 * of that.  Those that join others count, too, unless they are a stream by themselves (eight in
 * 3.6 ms).  A pause counts as 1 ms at most.
 */
TEST_F(fan, what_joins_counts)
{
	int i, round, ret, fast = 0, held = 0;

	ASSERT_EQ(0, write_param("3600"));
	for (round = 0; round < 50; round++) {
		ret = held_after_joining(self->a, self->b);
		fast += ret >= 0;
		held += ret > 0;
		usleep(20000);
		for (i = 0; i < PEERS; i++)
			take(self->b[i]);
	}
	TH_LOG("held %d times of %d", held, fast);
	if (fast < 10)
		SKIP(return, "too slow a kernel");
	EXPECT_LT(fast / 10, held);	/* none if they do not count */
}

static int by_size(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* The limit is 50 ms for a stream and 200 ms for a sender with many peers; this one is neither. */
TEST_F(fan, sleepers_are_not_held)
{
	int i, took[BURST / 4];
	char buf[64];
	__s64 start;

	ASSERT_EQ(0, write_param("50000"));
	for (i = 0; i < BURST / 4; i++) {
		usleep(3000);
		start = fair_ms();
		ASSERT_EQ(5, send_to(self->a, peer(i % PEERS), 4001, "small", 5, 0));
		ASSERT_EQ(5, recv_wait(self->b[i % PEERS], buf, sizeof(buf)));
		took[i] = fair_ms() - start;
	}
	qsort(took, BURST / 4, sizeof(int), by_size);
	EXPECT_GT(25, took[BURST / 8]) TH_LOG("the median was %d ms", took[BURST / 8]);
}

TEST_HARNESS_MAIN
