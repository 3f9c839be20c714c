// SPDX-License-Identifier: GPL-2.0
/*
 * What the whole system did meanwhile: the work of kernel threads and softirqs
 * belongs to a message too, so these are not counts of a process.
 */
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define SCHEDSTATS	"/proc/sys/kernel/sched_schedstats"

static uint64_t context_switches(void)
{
	unsigned long long n = 0;
	FILE *f = fopen("/proc/stat", "r");
	char *line = NULL;
	size_t size = 0;

	while (f && getline(&line, &size, f) > 0 && sscanf(line, "ctxt %llu", &n) != 1)
		;
	free(line);
	if (f)
		fclose(f);
	return n;
}

/* The fifth number of each processor's line counts calls of try_to_wake_up(). */
static bool wake_ups(uint64_t *sum)
{
	FILE *f = fopen("/proc/schedstat", "r");
	unsigned long long n;
	bool known = false;
	char *line = NULL;
	size_t size = 0;

	*sum = 0;
	while (f && getline(&line, &size, f) > 0) {
		if (sscanf(line, "cpu%*u %*u %*u %*u %*u %llu", &n) != 1)
			continue;
		*sum += n;
		known = true;
	}
	free(line);
	if (f)
		fclose(f);
	return known;
}

void cost_read(struct cost *c)
{
	c->ctxsw = context_switches();
	c->wakeups_known = wake_ups(&c->wakeups);
}

/**
 * cost_count_wakeups() - let the scheduler count, which costs it a little
 * @on: begin; otherwise back to how it was
 *
 * Return: whether it counts now.
 */
bool cost_count_wakeups(bool on)
{
	static char before = '0';
	int fd = open(SCHEDSTATS, O_RDWR | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return false;
	if (on && pread(fd, &before, 1, 0) != 1)
		before = '0';
	ok = pwrite(fd, on ? "1" : &before, 1, 0) == 1;
	close(fd);
	return ok && on;
}

/**
 * cost_try_wakeups() - can they be counted?
 *
 * Asked before anything is measured: a column of nothing helps nobody.
 *
 * Return: 0, or -1 after saying why not.
 */
int cost_try_wakeups(void)
{
	struct cost c;

	if (!cost_count_wakeups(true)) {
		warn("cannot count wake-ups: " SCHEDSTATS);
		return -1;
	}
	cost_read(&c);
	cost_count_wakeups(false);
	if (!c.wakeups_known)
		warnx("cannot count wake-ups: /proc/schedstat does not tell them");
	return c.wakeups_known ? 0 : -1;
}

/*
 * Instructions without effect, known to selftests/vm/profile.c: QEMU starts
 * and stops counting where it meets them.
 */
void cost_mark(unsigned int which)
{
#ifdef __x86_64__
	if (which)
		__asm__ volatile("nopl 0x52445301(%%rax,%%rax,1)" ::: "memory");
	else
		__asm__ volatile("nopl 0x52445302(%%rax,%%rax,1)" ::: "memory");
#endif
}
