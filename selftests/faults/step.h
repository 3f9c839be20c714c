/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One system call at a time, each of its fault points in turn, on the two
 * connected sockets of the fixture duo.
 *
 * What holds after every single fault: the call either did all it does without
 * a fault or says an errno that a fault excuses; a message it accepted arrives
 * once and intact, one it refused does not; and the sockets work both ways.
 */
#ifndef STEP_H
#define STEP_H

#include "flow.h"
#include "../api/rds_duo.h"

#define ROOM		(8 << 20)	/* buffers: no back-pressure in these tests */

/* The duo, and what a step keeps between its parts. */
static struct {
	int a, b;
	const char *aaddr, *baddr;
	struct sockaddr_storage ass, bss;
	socklen_t alen, blen;
	bool loop;		/* loopback transport */
	__u32 seq;		/* of the last message made */
	int s;			/* scratch socket */
	bool bad;		/* a step found something wrong */
} x = { .s = -1 };

#define WRONG(_fmt, ...) do { \
	x.bad = true; \
	fprintf(stderr, "# " _fmt "\n", ##__VA_ARGS__); \
} while (0)

/**
 * struct step - a call under test
 * @name: for the log
 * @prep: before the call, without faults; may be NULL
 * @call: the call itself: nothing in it but what shall meet faults
 * @least: fault points there must be at least
 * @msgs: messages that reach b for each unit of a positive result: 0, 1 (any
 *	positive result is one message) or 2 (the result is their number)
 * @tcp_only: not for the loopback transport
 * @partly: a fault may also make the positive result smaller
 * @done: after the call, without faults; gets its result; may be NULL
 * @after: likewise, but after everything has arrived
 * @kmemleak: so many more fault points if the kernel has kmemleak
 */
struct step {
	const char *name;
	void (*prep)(void);
	int (*call)(void);
	int least;
	int msgs;
	bool tcp_only;
	bool partly;
	void (*done)(int ret, int err);
	void (*after)(int ret, int err);
	int kmemleak;
};

/* A message of @len bytes in out[], with a number of its own. */
static inline void make(size_t len)
{
	msg_make(++x.seq, len);
}

/*
 * A marker goes after what the step sent; what arrives before it is the step's:
 * messages x.seq - @most + 1 and following, @count of them.
 */
static inline bool arrived(int count, int most)
{
	int got = 0;
	ssize_t n;

	if (send(x.a, "ok", 2, 0) != 2)
		return false;
	for (;;) {
		n = recv_wait(x.b, in, sizeof(in));
		if (n == 2 && !memcmp(in, "ok", 2))
			break;
		if (!msg_intact(x.seq - most + 1 + got, n)) {
			fprintf(stderr, "# alien message of %zd bytes (%d)\n", n, errno);
			return false;
		}
		got++;
	}
	if (got != count)
		fprintf(stderr, "# %d messages came, %d were accepted\n", got, count);
	return got == count;
}

/* The other way. */
static inline bool answers(void)
{
	ssize_t n;

	if (send(x.b, "re", 2, 0) != 2)
		return false;
	n = recv_wait(x.a, in, sizeof(in));
	return n == 2 && !memcmp(in, "re", 2);
}

/* Prep, call and done once; with a fault if @nth. True if the fault was used. */
static inline bool step_once(const struct step *s, int nth, int *ret, int *err)
{
	bool used = false;

	if (s->prep)
		s->prep();
	errno = 0;
	if (nth)
		arm(nth);
	*ret = s->call();
	*err = *ret < 0 ? errno : 0;
	if (nth)
		used = hit();
	if (s->done)
		s->done(*ret, *err);
	return used;
}

static inline int step_msgs(const struct step *s, int ret)
{
	if (ret < 0)
		return 0;
	return s->msgs == 2 ? ret : s->msgs;
}

/* All fault points of a step: how many, or -1. */
static inline int step_all(const struct step *s)
{
	int nth, ret, err, want, want_err, most;
	bool used = true;

	step_once(s, 0, &want, &want_err);
	most = step_msgs(s, want);
	if (!arrived(most, most) || !answers())
		return -1;
	if (s->after)
		s->after(want, want_err);
	for (nth = 1; used; nth++) {
		if (nth == NTH_MAX) {
			WRONG("%s: more than %d fault points", s->name, NTH_MAX);
			return -1;
		}
		used = step_once(s, nth, &ret, &err);
		if (ret != want || err != want_err) {
			bool part = s->partly && ret > 0 && ret < want;

			if (!used || (!part && !fault_errno(err)))
				WRONG("%s: fault %d: %d (%s)", s->name, nth, ret, strerror(err));
		}
		if (!arrived(step_msgs(s, ret), most))
			WRONG("%s: fault %d: wrong messages", s->name, nth);
		if (!answers())
			WRONG("%s: fault %d: no way back", s->name, nth);
		if (s->after)
			s->after(ret, err);
		if (x.bad)
			return -1;
	}
	return nth - 2;
}

/* All steps of a list: the sum of their fault points, or -1. */
static inline int steps_all(const struct step *s, int nr)
{
	bool kmemleak = !access(KMEMLEAK, F_OK);
	int i, n, least, sum = 0;

	for (i = 0; i < nr; i++) {
		if (s[i].tcp_only && x.loop)
			continue;
		n = step_all(&s[i]);
		least = s[i].least + (kmemleak ? s[i].kmemleak : 0);
		if (n < least || x.bad) {
			fprintf(stderr, "# %s: %d fault points, at least %d expected\n",
				s[i].name, n, least);
			return -1;
		}
		printf("# %s: %d fault points\n", s[i].name, n);
		sum += n;
	}
	return sum;
}

/* x from the fixture; large buffers, and an end to every wait. */
#define STEP_SETUP() do { \
	int __fd[2] = { self->a, self->b }, __i; \
	x.a = self->a; \
	x.b = self->b; \
	x.aaddr = variant->aaddr; \
	x.baddr = variant->baddr; \
	x.alen = mkaddr(&x.ass, x.aaddr, DUO_A); \
	x.blen = mkaddr(&x.bss, x.baddr, DUO_B); \
	x.loop = !strcmp(x.aaddr, "127.0.0.1"); \
	for (__i = 0; __i < 2; __i++) { \
		ASSERT_EQ(0, set_int(__fd[__i], SOL_SOCKET, SO_SNDBUFFORCE, ROOM)); \
		ASSERT_EQ(0, set_int(__fd[__i], SOL_SOCKET, SO_RCVBUFFORCE, ROOM)); \
		ASSERT_EQ(0, set_timeo(__fd[__i], SO_SNDTIMEO, WAIT_MS)); \
	} \
} while (0)

/* A test: @_all runs steps and says how many fault points there were, or -1. */
#define RUN_STEPS(_all) do { \
	int __n; \
\
	NEED_FAULTS(); \
	STEP_SETUP(); \
	__n = (_all); \
	ASSERT_LT(0, __n); \
	TH_LOG("%d fault points exercised", __n); \
} while (0)

#endif
