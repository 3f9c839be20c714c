/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A clock that stands while this guest gets no processor, for limits on how long something may
 * take: the machine may be busy with other things.  A child of the test program does nothing but
 * nap, and the time by which it is woken too late does not count.  Who includes this has the child
 * from the beginning of the program, in the namespaces of its start and with no file open; or from
 * fair_begin() on, if FAIR_LATER is defined.
 */
#ifndef RDS_FAIRCLOCK_H
#define RDS_FAIRCLOCK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <linux/types.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define FAIR_NAP	10000	/* us */
#define FAIR_GRAIN	15000	/* us that a nap takes longer on an idle guest, at most */

struct fair_clock {
	unsigned int changing;		/* odd while the child writes */
	__s64 late, due;
};

static struct fair_clock *fair_clock;
static __s64 fair_last;			/* the latest time that was told */

static inline __s64 fair_now(void)
{
	struct timespec ts;

	/* user copies may be made to fail, see now_us() */
	while (clock_gettime(CLOCK_MONOTONIC, &ts))
		;
	return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

static inline __s64 fair_lateness(__s64 due, __s64 now)
{
	return now - due > FAIR_GRAIN ? now - due : 0;
}

static inline void fair_nap_for_ever(struct fair_clock *c)
{
	__s64 now;

	for (;;) {
		usleep(FAIR_NAP);
		now = fair_now();
		__atomic_add_fetch(&c->changing, 1, __ATOMIC_SEQ_CST);
		c->late += fair_lateness(c->due, now);
		c->due = now + FAIR_NAP;
		__atomic_add_fetch(&c->changing, 1, __ATOMIC_SEQ_CST);
	}
}

#ifndef FAIR_LATER
__attribute__((constructor))
#endif
static void fair_begin(void)
{
	struct fair_clock *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t parent = getpid(), pid;

	if (c == MAP_FAILED)
		return;
	c->due = fair_now() + FAIR_NAP;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent || close_range(0, ~0U, 0))
			_exit(0);
		fair_nap_for_ever(c);
	}
	if (pid > 0)
		fair_clock = c;
}

/*
 * Milliseconds, of which only differences mean something.  When a nap turns out to be too long, the
 * time since its end does not count after all: the clock stands then, it does not go back.
 */
static inline __s64 fair_ms(void)
{
	struct fair_clock *c = fair_clock;
	__s64 now, late;
	unsigned int seen, tries = 0;

	if (!c)
		return fair_now() / 1000;
	do {
		seen = __atomic_load_n(&c->changing, __ATOMIC_SEQ_CST);
		now = fair_now();
		late = c->late + fair_lateness(c->due, now);
		/* who has real-time priority must not wait for the child */
	} while (((seen & 1) || seen != __atomic_load_n(&c->changing, __ATOMIC_SEQ_CST)) &&
		 ++tries < 1000);
	now -= late;
	if (now > __atomic_load_n(&fair_last, __ATOMIC_RELAXED))
		__atomic_store_n(&fair_last, now, __ATOMIC_RELAXED);
	return __atomic_load_n(&fair_last, __ATOMIC_RELAXED) / 1000;
}

#endif
