/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fault injection for the tests of this folder.
 *
 * fail-nth belongs to a task: its n-th fault point (slab, page or user copy) in
 * process context fails, once. A task may arm another one, so the kernel's
 * workers can be armed as well. What runs in softirq sees the system-wide
 * attributes only, see softirq.c.
 */
#ifndef FAULT_H
#define FAULT_H

#include "../api/rds_util.h"

#include <dirent.h>
#include <sys/mount.h>

/* No loop may end here silently: nth_next() says that it did. */
#define NTH_MAX 4000

#define FAULT_DEBUG "/sys/kernel/debug/"

#define NEED_FAULTS() do { \
	if (!fault_ready()) \
		SKIP(_exit(KSFT_SKIP), "kernel without fault injection"); \
} while (0)

static int nth_fd = -1;

static inline bool put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return ok;
}

static inline bool fault_attr(const char *kind, const char *attr, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), FAULT_DEBUG "%s/%s", kind, attr);
	return put_text(path, value);
}

/* All kinds of fault, those of sleeping allocations and of single pages included. */
static inline bool fault_ready(void)
{
	static const char * const kind[] = {
		"failslab", "fail_page_alloc", "fail_usercopy",
	};
	int i;

	mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);
	for (i = 0; i < ARRAY_SIZE(kind); i++)
		if (!fault_attr(kind[i], "verbose", "0") ||
		    !fault_attr(kind[i], "probability", "0"))
			return false;
	if (!fault_attr("failslab", "ignore-gfp-wait", "N") ||
	    !fault_attr("fail_page_alloc", "ignore-gfp-wait", "N") ||
	    !fault_attr("fail_page_alloc", "min-order", "0"))
		return false;
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	return nth_fd >= 0;
}

/* The write itself is a fault point, if the last fault is still to come. */
static inline void nth_put(int fd, int nth)
{
	char s[16];
	int n = snprintf(s, sizeof(s), "%d", nth), i;

	for (i = 0; i < 10 && pwrite(fd, s, n, 0) != n; i++)
		;
	if (i == 10)
		abort();
}

static inline void arm(int nth)
{
	nth_put(nth_fd, nth);
}

/* Disarms: true if the fault was used up, and not by the reading of it. */
static inline bool hit(void)
{
	char s[16] = {};
	bool used = pread(nth_fd, s, sizeof(s) - 1, 0) > 0 && atoi(s) == 0;

	arm(0);
	return used;
}

/* What a call may say for the sake of a fault. */
static inline bool fault_errno(int err)
{
	return err == ENOMEM || err == ENOBUFS || err == EFAULT || err == EAGAIN ||
	       err == ENFILE;
}

/* ---- the kernel's workers ------------------------------------------------ */

#define MAX_WORKERS 32

static int worker_fd[MAX_WORKERS];
static int nr_workers;

/*
 * Arms every worker that runs unbound work: krdsd, rds_tcp, and the clean-up of
 * namespaces. How many there are.
 */
static inline int arm_workers(int nth)
{
	char path[300], comm[32];
	struct dirent *d;
	DIR *dir = opendir("/proc");
	FILE *f;

	while (nr_workers)
		close(worker_fd[--nr_workers]);
	while (dir && (d = readdir(dir)) && nr_workers < MAX_WORKERS) {
		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		f = atoi(d->d_name) ? fopen(path, "re") : NULL;
		if (!f)
			continue;
		if (!fgets(comm, sizeof(comm), f))
			comm[0] = 0;
		fclose(f);
		if (strncmp(comm, "kworker/u", 9))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/fail-nth", d->d_name);
		worker_fd[nr_workers] = open(path, O_RDWR | O_CLOEXEC);
		if (worker_fd[nr_workers] >= 0)
			nth_put(worker_fd[nr_workers++], nth);
	}
	if (dir)
		closedir(dir);
	return nr_workers;
}

/* Disarms the workers: how many of them met their fault. */
static inline int workers_hit(void)
{
	char s[16];
	int i, n = 0;

	for (i = 0; i < nr_workers; i++) {
		memset(s, 0, sizeof(s));
		/* gone meanwhile: whether it was hit is not known */
		if (pread(worker_fd[i], s, sizeof(s) - 1, 0) <= 0)
			continue;
		n += atoi(s) == 0;
		nth_put(worker_fd[i], 0);
	}
	return n;
}

/* ---- leaks ----------------------------------------------------------------- */

#define KMEMLEAK FAULT_DEBUG "kmemleak"

/* What was lost before is not ours: once, before the tests are forked off. */
static __attribute__((constructor)) void leaks_forget(void)
{
	put_text(KMEMLEAK, "clear");
}

/*
 * A line of a leak's stack that is in the module: while it is loaded it has the
 * module's name, afterwards its address has no symbol.
 */
static inline bool leak_is_ours(const char *line)
{
	return strstr(line, "[rds") || !strncmp(line, "    0x", 6);
}

/* Scans; prints every leak. Lines that are ours, -1 if kmemleak has given up. */
static inline int leaks_found(void)
{
	char line[512];
	int n = 0, i;
	FILE *f;

	/* Objects younger than 5 s are not reported. */
	usleep(5200000);
	for (i = 0; i < 2; i++)
		if (!put_text(KMEMLEAK, "scan"))
			return -1;
	f = fopen(KMEMLEAK, "r");
	if (!f)
		return -1;
	for (i = 0; fgets(line, sizeof(line), f); i++) {
		if (i < 100)
			fprintf(stderr, "# %s", line);
		n += leak_is_ours(line);
	}
	fclose(f);
	return n;
}

/* The last test of a file: fixtures run in the order they are written. */
#define LEAKS_END() \
FIXTURE(end) { int unused; }; \
FIXTURE_SETUP(end) {} \
FIXTURE_TEARDOWN(end) {} \
TEST_F(end, no_leaks) \
{ \
	NEED_FAULTS(); \
	EXPECT_EQ(0, leaks_found()); \
}

#endif
