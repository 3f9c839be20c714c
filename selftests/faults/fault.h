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
#include "../textfile.h"

#include <dirent.h>
#include <sys/mount.h>

/* No loop may end here silently: nth_next() says that it did. */
#define NTH_MAX 4000

/* Minutes this test may take under make soak, else 0: the short form. */
static inline int soak_minutes(void)
{
	const char *s = getenv("RDS_SOAK");

	return s ? atoi(s) : 0;
}

#define FAULT_DEBUG "/sys/kernel/debug/"

#define NEED_FAULTS() do { \
	if (!fault_ready()) \
		SKIP(_exit(KSFT_SKIP), "kernel without fault injection"); \
} while (0)

static int nth_fd = -1;

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
	/* as other tests of this guest may have left it */
	if (!fault_attr("failslab", "cache-filter", "N") ||
	    !fault_attr("failslab", "ignore-gfp-wait", "N") ||
	    !fault_attr("fail_page_alloc", "ignore-gfp-wait", "N") ||
	    !fault_attr("fail_page_alloc", "min-order", "0"))
		return false;
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	return nth_fd >= 0;
}

/*
 * The write itself is a fault point, if the last fault is still to come.  A worker may have ended
 * meanwhile.
 */
static inline void nth_put(int fd, int nth)
{
	char s[16];
	int n = snprintf(s, sizeof(s), "%d", nth), i;

	for (i = 0; i < 10 && pwrite(fd, s, n, 0) != n; i++)
		;
	if (i == 10 && errno != ESRCH)
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

#define NTH_FAR 1000000

/* After arm(NTH_FAR): how many fault points there were. */
static inline int points_passed(void)
{
	char s[16] = {};
	int left = pread(nth_fd, s, sizeof(s) - 1, 0) > 0 ? atoi(s) : NTH_FAR;

	arm(0);
	return NTH_FAR - left;
}

/*
 * What comes after fault point @nth of @total: the next one; in the short form
 * only among the last @dense, and before these every seventh, others each time.
 */
static inline int nth_after(int nth, int total, int dense)
{
	if (soak_minutes() || nth >= total - dense)
		return nth + 1;
	return nth ? nth + 7 : 1 + now_ms() % 7;
}

/* What a call may say for the sake of a fault. */
static inline bool fault_errno(int err)
{
	return err == ENOMEM || err == ENOBUFS || err == EFAULT || err == EAGAIN ||
	       err == ENFILE;
}

/* ---- the kernel's workers ------------------------------------------------ */

#define MAX_WORKERS 512	/* those with work to do may be the youngest of them */

static int worker_fd[MAX_WORKERS], worker_pid[MAX_WORKERS];
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
		if (worker_fd[nr_workers] < 0)
			continue;
		worker_pid[nr_workers] = atoi(d->d_name);
		nth_put(worker_fd[nr_workers++], nth);
	}
	if (dir)
		closedir(dir);
	return nr_workers;
}

/* Disarms the workers: how many of them met their fault.  Once called, none is known. */
static inline int workers_hit(void)
{
	char s[16];
	int i, n = 0;

	for (i = 0; i < nr_workers; i++) {
		memset(s, 0, sizeof(s));
		/* gone meanwhile: whether it was hit is not known */
		if (pread(worker_fd[i], s, sizeof(s) - 1, 0) > 0) {
			n += atoi(s) == 0;
			nth_put(worker_fd[i], 0);
		}
		close(worker_fd[i]);
	}
	nr_workers = 0;
	return n;
}

/* ---- what is there afterwards --------------------------------------------- */

#define RDS_TCP_PORT 16385

/*
 * Somebody listens for RDS over TCP at this address of the namespace; errno if not.  RDS does not
 * talk to itself that way: it may have reset the connection before connect() returns.
 */
static inline bool listens(const char *addr)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, addr, RDS_TCP_PORT);
	int fd = socket(ss.ss_family, SOCK_STREAM, 0);
	bool ok = fd >= 0 && (!connect(fd, (void *)&ss, len) || errno == ECONNRESET);
	int err = errno;

	close(fd);
	errno = err;
	return ok;
}

/* ---- in the whole system ------------------------------------------------- */

static inline bool put_num(const char *kind, const char *attr, long value)
{
	char s[24];

	snprintf(s, sizeof(s), "%ld", value);
	return fault_attr(kind, attr, s);
}

static inline long get_num(const char *kind, const char *attr)
{
	char path[128], s[24] = {};
	int fd;

	snprintf(path, sizeof(path), FAULT_DEBUG "%s/%s", kind, attr);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, s, sizeof(s) - 1) <= 0)
		s[0] = 0;
	close(fd);
	return atol(s);
}

static inline void calm(void)
{
	static const char * const kind[] = {
		"failslab", "fail_page_alloc", "fail_usercopy",
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(kind); i++) {
		put_num(kind[i], "probability", 0);
		put_num(kind[i], "interval", 1);
		put_num(kind[i], "times", 1);
		put_num(kind[i], "space", 0);
		fault_attr(kind[i], "task-filter", "N");
	}
}

/* Every @interval-th allocation of @kind, @times times, after @space bytes. */
static inline void storm(const char *kind, int interval, int times, long space)
{
	put_num(kind, "interval", interval);
	put_num(kind, "times", times);
	put_num(kind, "space", space);
	put_num(kind, "probability", 100);
}

/* Only in the kernel's workers, and in tasks that ask for it with make-it-fail. */
static inline bool storm_in_tasks(const char *kind)
{
	int i, n = arm_workers(0);
	char path[64];

	fault_attr("failslab", "ignore-gfp-wait", "N");
	fault_attr("fail_page_alloc", "ignore-gfp-wait", "N");
	fault_attr(kind, "task-filter", "Y");
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/proc/%d/make-it-fail", worker_pid[i]);
		if (!put_text(path, "1"))
			return false;
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
 * Scans; prints every leak. How many there are, -1 if kmemleak has given up.
 * User-mode Linux gives no stacks, so a leak of somebody else's error path counts
 * too, unless its text contains @known.
 */
static inline int leaks_found(const char *known)
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
		n += !strncmp(line, "unreferenced object", 19);
		n -= known && strstr(line, known);
		/* What a user-mode kernel keeps from its start: names of its own files. */
		n -= !!strstr(line, "comm \"swapper\", pid 1,");
	}
	fclose(f);
	return n;
}

#endif
