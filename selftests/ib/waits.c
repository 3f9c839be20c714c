// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,rdma_ucm,veth netns=init timeout=150 ref=0 waits=1 */
/*
 * The waits of net/waits.h over verbs; and those that are there for memory and operations: for
 * an operation that a peer does not take, for pages, for a registration.
 */
#include "peer.h"

#define DEAD		"10.5.0.77"
#define WAITS_SETUP()	do { } while (0)

#include "../net/waits.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/syscall.h>

#define PORT	4000

FIXTURE_VARIANT_ADD(waits, send_buffer)
{
	.what = ROOM, .aaddr = A4, .baddr = DEAD,
};

FIXTURE_VARIANT_ADD(waits, congestion)
{
	.what = CONG, .aaddr = A6, .baddr = B6,
};

FIXTURE_VARIANT_ADD(waits, recv)
{
	.what = RECV, .aaddr = A4, .baddr = B4,
};

/* ---- an operation that the peer does not take -------------------------------------- */

struct ops {
	struct peer *p;
	char *mem;
	int fd;
};

FIXTURE(op)
{
	struct ops *o;	/* shared with children */
	long before, pins;
	__s64 dropped;
};

/* A write of a page, behind more messages than the peer has buffers; he posts none again. */
static int begin_op(struct ops *o)
{
	struct rds_iovec v = { (long)o->mem, PG };
	struct rds_rdma_args a = {
		.cookie = 0x1234, .remote_vec = { 0, PG }, .local_vec_addr = (long)&v,
		.nr_local = 1, .flags = RDS_RDMA_READWRITE,
	};
	int i;

	o->fd = rds_bound(B4, PORT);
	if (o->fd < 0)
		return -1;
	for (i = 0; i < 2 * PEER_BUFS; i++)
		if (send_to(o->fd, o->p->addr, 9, "y", 1, 0) != 1)
			return -1;
	memset(o->mem, 1, PG);
	if (send_cmsg(o->fd, o->p->addr, 9, "x", 1, 0, RDS_CMSG_RDMA_ARGS, &a, sizeof(a)) != 1)
		return -1;
	usleep(300000);
	return 0;
}

FIXTURE_SETUP(op)
{
	struct ops *o = mmap(NULL, PG, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = rds_bound(A4, 0);

	ASSERT_FD(fd);
	self->dropped = counter(fd, "send_close_dropped");
	close(fd);
	self->before = pinned();
	self->o = o;
	o->p = calloc(1, sizeof(*o->p));
	o->mem = mmap(NULL, PG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, peer_connect(o->p, B4));
	/* with what is the peer's */
	self->pins = pinned();
}

/* The operation ends with its link, and its memory is pinned no more. */
FIXTURE_TEARDOWN(op)
{
	int fd;

	peer_close(self->o->p);
	free(self->o->p);
	EXPECT_TRUE(WAIT_UNTIL(self->before == pinned()));
	fd = rds_bound(A4, 0);
	EXPECT_EQ(self->dropped, counter(fd, "send_close_dropped"));
	close(fd);
	freezer_close();
}

static int op_cancel(void *arg)
{
	const struct ops *o = arg;
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, o->p->addr, 9);

	signal(SIGUSR1, on_signal);
	return setsockopt(o->fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len) ? 1 : 0;
}

/* The memory is this process's, and so is the socket. */
static int op_close(void *arg)
{
	struct ops *o = arg;

	signal(SIGUSR1, on_signal);
	return begin_op(o) || close(o->fd) ? 1 : 0;
}

static int op_exit(void *arg)
{
	if (begin_op(arg))
		return 1;
	pause();
	return 0;
}

/* Is the operation's page pinned? */
static bool op_pinned(long before)
{
	return pinned() == before + 1;
}

/* Has the child ended, or stopped? */
static bool is_over(pid_t pid)
{
	siginfo_t si = {};

	return waitid(P_PID, pid, &si, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) || si.si_pid;
}

/* SIGUSR1 or SIGKILL ends the waiting at once. */
static void ended_by(struct __test_metadata *_metadata, pid_t pid, int sig)
{
	__s64 t = fair_ms();
	int st;

	kill(pid, sig);
	ASSERT_EQ(pid, waitpid(pid, &st, 0));
	EXPECT_GT(ON_TIME, fair_ms() - t);
	EXPECT_EQ(sig == SIGKILL ? SIGKILL : 0, st);
}

/*
 * What is no signal to the program does not end the waiting, and who wants to stop the program
 * has to wait meanwhile.
 */
static void disturb_op(struct __test_metadata *_metadata, pid_t pid)
{
	kill(pid, SIGSTOP);
	usleep(250000);
	EXPECT_FALSE(is_over(pid));
	kill(pid, SIGCONT);
	ASSERT_TRUE(freezer_open() && freezer_add(pid) && freezer_freeze(true));
	usleep(250000);
	EXPECT_FALSE(is_over(pid));
	ASSERT_TRUE(freezer_freeze(false));
	usleep(250000);
	EXPECT_FALSE(is_over(pid));
}

/* Nobody else has to wait: not for the socket, not for its other peers. */
static void cancel_ends(struct __test_metadata *_metadata, struct ops *o, long pins, int sig)
{
	int to = rds_bound(A4, PORT);
	char in[8];
	pid_t pid;

	ASSERT_FD(to);
	ASSERT_EQ(0, begin_op(o));
	pid = spawn(op_cancel, o);
	ASSERT_TRUE(all_wait(&pid, 1));
	EXPECT_TRUE(op_pinned(pins));
	EXPECT_EQ(2, send_to(o->fd, A4, PORT, "go", 2, 0));
	EXPECT_EQ(2, recv_wait(to, in, sizeof(in)));
	disturb_op(_metadata, pid);
	ended_by(_metadata, pid, sig);
	/* it is still under way */
	EXPECT_TRUE(op_pinned(pins));
	close(to);
	close(o->fd);
}

TEST_F(op, cancel__signal)
{
	cancel_ends(_metadata, self->o, self->pins, SIGUSR1);
}

TEST_F(op, cancel__killed)
{
	cancel_ends(_metadata, self->o, self->pins, SIGKILL);
}

static bool has_fd(pid_t pid, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	return !faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW);
}

static void close_ends(struct __test_metadata *_metadata, struct ops *o, long pins, int sig)
{
	pid_t pid = spawn(op_close, o);

	ASSERT_TRUE(WAIT_UNTIL(op_pinned(pins) && !has_fd(pid, o->fd)));
	ASSERT_TRUE(all_wait(&pid, 1));
	disturb_op(_metadata, pid);
	ended_by(_metadata, pid, sig);
}

TEST_F(op, close__signal)
{
	close_ends(_metadata, self->o, self->pins, SIGUSR1);
}

TEST_F(op, close__killed)
{
	close_ends(_metadata, self->o, self->pins, SIGKILL);
}

/* The end of a process does not wait. */
TEST_F(op, exit__killed)
{
	pid_t pid = spawn(op_exit, self->o);

	ASSERT_TRUE(WAIT_UNTIL(op_pinned(self->pins)));
	ended_by(_metadata, pid, SIGKILL);
}

/* ---- a region that is being made ------------------------------------------------------ */

#define PAGES	8

FIXTURE(region)
{
	char *mem;
	long pins;
	int fd;
};

FIXTURE_SETUP(region)
{
	__u64 cookie;

	self->mem = mmap(NULL, PAGES * PG, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	self->fd = rds_bound(A4, PORT);
	ASSERT_FD(self->fd);
	/* the device has a queue pair for it from now on */
	ASSERT_EQ(0, get_mr(self->fd, self->mem, PG, 0, &cookie));
	ASSERT_EQ(0, free_mr(self->fd, cookie, RDS_RDMA_INVALIDATE));
	self->pins = pinned();
}

/* Nothing is left of who was killed, and others register as before. */
FIXTURE_TEARDOWN(region)
{
	__u64 cookie = 0;

	EXPECT_TRUE(WAIT_UNTIL(self->pins == pinned()));
	EXPECT_EQ(0, get_mr(self->fd, self->mem, PAGES * PG, 0, &cookie));
	EXPECT_EQ(0, free_mr(self->fd, cookie, RDS_RDMA_INVALIDATE));
	close(self->fd);
	munmap(self->mem, PAGES * PG);
}

/* Sleeps in the kernel, whether a signal would wake it or not. */
static bool blocked(pid_t pid)
{
	char path[64], line[512], *p = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (f && fgets(line, sizeof(line), f))
		p = strrchr(line, ')');
	if (f)
		fclose(f);
	return p && p[2] == 'D';
}

/* Memory of which the last page does not come: whoever has the descriptor would bring it. */
static int region_of_absent_page(void *arg)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *mem = mmap(NULL, PAGES * PG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC), *rds = arg;
	__u64 cookie;

	memset(mem, 1, (PAGES - 1) * PG);
	reg.range.start = (long)mem + (PAGES - 1) * PG;
	reg.range.len = PG;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg))
		return 1;
	return get_mr(*rds, mem, PAGES * PG, 0, &cookie) ? 2 : 3;
}

TEST_F(region, pages__killed)
{
	__u64 cookie = 0;
	__s64 t;
	int st;
	pid_t pid;

	if (syscall(__NR_userfaultfd, O_CLOEXEC) < 0)
		SKIP(return, "no userfaultfd");
	pid = spawn(region_of_absent_page, &self->fd);
	ASSERT_TRUE(WAIT_UNTIL(blocked(pid)));
	usleep(60000);
	ASSERT_TRUE(blocked(pid));
	/* the socket is not locked meanwhile */
	EXPECT_EQ(0, get_mr(self->fd, self->mem, PG, 0, &cookie));
	EXPECT_EQ(0, free_mr(self->fd, cookie, RDS_RDMA_INVALIDATE));
	t = fair_ms();
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &st, 0));
	EXPECT_TRUE(WIFSIGNALED(st));
	EXPECT_GT(ON_TIME, fair_ms() - t);
}

static int real_time(pid_t pid, int prio)
{
	struct sched_param p = { .sched_priority = prio };

	return sched_setscheduler(pid, prio ? SCHED_FIFO | SCHED_RESET_ON_FORK : SCHED_OTHER, &p);
}

/* Keeps a processor from everybody else, workers of the kernel too. */
static int hog(void *arg)
{
	volatile int *stop = arg;

	while (!*stop)
		;
	return 0;
}

static int start_hogs(pid_t *hogs, int n, volatile int *stop)
{
	cpu_set_t set;
	int i;

	for (i = 0; i < n; i++) {
		hogs[i] = spawn(hog, (void *)stop);
		CPU_ZERO(&set);
		CPU_SET(i, &set);
		if (sched_setaffinity(hogs[i], sizeof(set), &set) || real_time(hogs[i], 1))
			return -1;
	}
	return 0;
}

struct region_of {
	int fd;
	char *mem;
};

static int region_of_mem(void *arg)
{
	const struct region_of *r = arg;
	__u64 cookie;

	return get_mr(r->fd, r->mem, PAGES * PG, 0, &cookie) ? 1 : 0;
}

/*
 * The device (rxe) registers in a worker, which does not get to it for a moment.  Nobody can take
 * back what the device was asked for, so the wait is not cut short; it ends as soon as the device
 * has done it, and the process with it.
 */
TEST_F(region, registration__killed)
{
	volatile int *stop = mmap(NULL, PG, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				  -1, 0);
	int i, st, n = sysconf(_SC_NPROCESSORS_ONLN);
	struct region_of r = { .mem = self->mem };
	bool waited = false;
	pid_t pid, hogs[8];
	__s64 t;

	ASSERT_GE(ARRAY_SIZE(hogs), n);
	r.fd = rds_bound(A4, PORT + 1);
	ASSERT_FD(r.fd);
	memset(r.mem, 1, PAGES * PG);
	ASSERT_EQ(0, real_time(0, 3));
	ASSERT_EQ(0, start_hogs(hogs, n, stop));
	pid = spawn(region_of_mem, &r);
	ASSERT_EQ(0, real_time(pid, 2));
	for (t = now_ms(); !waited && now_ms() - t < 500; usleep(1000))
		waited = blocked(pid);
	usleep(20000);
	waited = waited && blocked(pid);
	kill(pid, SIGKILL);
	usleep(50000);
	*stop = 1;
	t = fair_ms();
	real_time(0, 0);
	ASSERT_EQ(pid, waitpid(pid, &st, 0));
	EXPECT_GT(ON_TIME, fair_ms() - t);
	EXPECT_TRUE(waited);
	EXPECT_TRUE(WIFSIGNALED(st));
	for (i = 0; i < n; i++)
		EXPECT_EQ(0, reap(hogs[i]));
	close(r.fd);
}

TEST_HARNESS_MAIN
