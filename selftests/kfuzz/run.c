// SPDX-License-Identifier: GPL-2.0
/*
 * One program: its sockets, two threads, and the closing of all. Thread 0 lives
 * in a namespace with 10.1.0.1, thread 1 in one with 10.1.0.2. With verbs both are in
 * the initial one, and the addresses belong to one device.
 *
 *	slot 0	thread 0, unbound		slot 4	thread 1, unbound
 *	slot 1	127.0.0.1			slot 7	empty
 *	slot 2	10.1.0.1 <-> slot 3, 10.1.0.2	slot 5	fd00:1::1 <-> slot 6, fd00:1::2
 */
#include "kfuzz.h"

#include "api/rds_netns.h"

#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#define POKE_MS		15	/* a thread that still waits then is interrupted */
#define STUCK_MS	30000

static struct thread threads[2];
static pthread_t tid[2];
static sem_t go[2], done[2];
static const struct prog *prog;
static enum { SETUP, RUN } phase;
static atomic_int running;
bool have_cover;
bool verbs;

/* ---- sockets ------------------------------------------------------------- */

static const struct {
	const char *addr;
	u16 port;
	const char *peer;
	u16 peer_port;
	int thread;
} plan[NR_SLOTS] = {
	[0] = { NULL, 0, NULL, 0, 0 },
	[1] = { "127.0.0.1", 5001, "127.0.0.1", 5001, 0 },
	[2] = { "10.1.0.1", 5002, "10.1.0.2", 5003, 0 },
	[3] = { "10.1.0.2", 5003, "10.1.0.1", 5002, 1 },
	[4] = { NULL, 0, NULL, 0, 1 },
	[5] = { "fd00:1::1", 5005, "fd00:1::2", 5006, 0 },
	[6] = { "fd00:1::2", 5006, "fd00:1::1", 5005, 1 },
	[7] = { NULL, 0, NULL, 0, 2 },
};

static int sa(struct sockaddr_storage *ss, const char *addr, u16 port)
{
	struct sockaddr_in6 *sin6 = (void *)ss;
	struct sockaddr_in *sin = (void *)ss;

	memset(ss, 0, sizeof(*ss));
	sin->sin_port = htons(port);
	if (inet_pton(AF_INET, addr, &sin->sin_addr) == 1) {
		sin->sin_family = AF_INET;
		return sizeof(*sin);
	}
	sin6->sin6_family = AF_INET6;
	inet_pton(AF_INET6, addr, &sin6->sin6_addr);
	return sizeof(*sin6);
}

/* Which slots a program touches; a socket comes with its peer. */
static u32 wanted(const struct prog *p)
{
	u32 i, mask = 0;

	for (i = 0; i < p->n; i++)
		mask |= 1 << p->c[i].slot % NR_SLOTS;
	if (mask & 0x0c)
		mask |= 0x0c;
	if (mask & 0x60)
		mask |= 0x60;
	return mask;
}

/*
 * The sockets of the program before are gone with its processes, but an io_uring
 * gives up its files in the kernel's own time: a port gets 10 s to be free.
 */
static int bind_freed(int fd, const struct sockaddr_storage *ss, socklen_t len)
{
	int i;

	for (i = 0; i < 1000; i++) {
		if (!bind(fd, (const void *)ss, len))
			return 0;
		if (errno != EADDRINUSE)
			break;
		usleep(10000);
	}
	return -1;
}

static void make_slots(struct thread *t)
{
	u32 mask = wanted(prog);
	struct sockaddr_storage ss;
	int i, fd;

	for (i = 0; i < NR_SLOTS; i++) {
		if (plan[i].thread != t->nr || !(mask & 1 << i))
			continue;
		fd = exec_socket();
		atomic_store(&slots[i], fd);
		if (fd < 0 || !plan[i].addr)
			continue;
		if (bind_freed(fd, &ss, sa(&ss, plan[i].addr, plan[i].port)))
			complain("port %u is not free: errno %d", plan[i].port, errno);
		connect(fd, (void *)&ss, sa(&ss, plan[i].peer, plan[i].peer_port));
	}
}

/* ---- threads ------------------------------------------------------------- */

static void run_calls(struct thread *t)
{
	u32 i;

	if (have_cover)
		cover_reset(t->nr);
	for (i = 0; i < prog->n; i++)
		if ((prog->c[i].thread & 1) == t->nr)
			exec_call(t, &prog->c[i]);
}

static void *work(void *arg)
{
	struct thread *t = arg;

	if (setns(t->ns, CLONE_NEWNET))
		complain("setns: errno %d", errno);
	t->scope = if_nametoindex(verbs ? "rdst0" : "eth0");
	t->fail_fd = prog_faults ? open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC) : -1;
	exec_init(t);
	uring_open(t);
	if (have_cover)
		cover_enable(t->nr);
	sem_post(&done[t->nr]);
	for (;;) {
		while (sem_wait(&go[t->nr]))
			;
		if (phase == SETUP)
			make_slots(t);
		else
			run_calls(t);
		atomic_fetch_and(&running, ~(1 << t->nr));
		sem_post(&done[t->nr]);
	}
	return NULL;
}

static bool wait_for(sem_t *s, int ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += ms * 1000000L;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	while (sem_timedwait(s, &ts))
		if (errno != EINTR)
			return false;
	return true;
}

static void show_stacks(void)
{
	static const char cmd[] =
		"for f in /proc/[0-9]*/task/*/stack; do grep -H rds_ $f; done 2>/dev/null";

	if (system(cmd))
		printf("# no stacks\n");
	fflush(stdout);
}

static bool join_threads(u32 mask)
{
	int nr, ms;

	for (nr = 0; nr < 2; nr++) {
		for (ms = 0; mask & 1 << nr && !wait_for(&done[nr], POKE_MS); ms += POKE_MS) {
			if (ms > STUCK_MS) {
				complain("thread %d is stuck", nr);
				show_stacks();
				return false;
			}
			if (atomic_load(&running) & 1)
				exec_poke(&threads[0], tid[0]);
			if (atomic_load(&running) & 2)
				exec_poke(&threads[1], tid[1]);
		}
	}
	return true;
}

static bool both(int what, u32 mask)
{
	int nr;

	phase = what;
	atomic_store(&running, mask);
	for (nr = 0; nr < 2; nr++)
		if (mask & 1 << nr)
			sem_post(&go[nr]);
	return join_threads(mask);
}

/* False if the kernel did something wrong; the caller knows the program. */
bool run_prog(const struct prog *p)
{
	int before = atomic_load(&complaints), begun = atomic_load(&operations), i, fd;
	u32 mask = wanted(p);

	prog = p;
	for (i = 0; i < NR_SLOTS; i++)
		atomic_store(&slots[i], -1);
	if (!both(SETUP, (mask & 0x27 ? 1 : 0) | (mask & 0x58 ? 2 : 0)) || !both(RUN, 3))
		return false;
	if (atomic_load(&operations) != begun)
		exec_notes(&threads[0], p);
	for (i = 0; i < NR_SLOTS; i++) {
		fd = atomic_exchange(&slots[i], -1);
		if (fd >= 0)
			close(fd);
	}
	return atomic_load(&complaints) == before;
}

/* ---- does it still work? -------------------------------------------------- */

static bool transfer(int a, int b)
{
	static const char text[] = "is anybody there";
	struct pollfd p = { .fd = b, .events = POLLIN };
	char buf[64];
	int i;

	if (send(a, text, sizeof(text), 0) != sizeof(text))
		return false;
	for (i = 0; i < 100; i++) {
		poll(&p, 1, 200);
		if (recv(b, buf, sizeof(buf), MSG_DONTWAIT) == sizeof(text) &&
		    !memcmp(buf, text, sizeof(text)))
			return recv(b, buf, sizeof(buf), MSG_DONTWAIT) < 0;
	}
	return false;
}

/* All slots are made, all ports are free, all pairs talk in both directions. */
bool run_health(void)
{
	struct prog all = { .n = NR_SLOTS };
	static const u8 pairs[][2] = { { 1, 1 }, { 2, 3 }, { 5, 6 } };
	int before = atomic_load(&complaints), i;
	u32 k;

	for (i = 0; i < NR_SLOTS; i++) {
		all.c[i].slot = i;
		all.c[i].op = OP_PAUSE;
		atomic_store(&slots[i], -1);
	}
	prog = &all;
	if (!both(SETUP, 3))
		return false;
	for (k = 0; k < ARRAY_SIZE(pairs); k++)
		for (i = 0; i < 2; i++)
			if (!transfer(atomic_load(&slots[pairs[k][i]]),
				      atomic_load(&slots[pairs[k][!i]])))
				complain("slots %u and %u do not talk", pairs[k][0], pairs[k][1]);
	for (i = 0; i < NR_SLOTS; i++)
		if (atomic_load(&slots[i]) >= 0)
			close(atomic_exchange(&slots[i], -1));
	return atomic_load(&complaints) == before;
}

#define PINNED	(32 << 10)

/* With a limit of one region, one can be made: nothing is charged. */
static bool region_fits(int fd)
{
	u64 cookie;
	struct rds_get_mr_args a = {
		.vec = { (unsigned long)threads[0].out, PINNED },
		.cookie_addr = (unsigned long)&cookie,
	};
	int tries;

	for (tries = 0; tries < 500; tries++) {
		if (!setsockopt(fd, SOL_RDS, RDS_GET_MR, &a, sizeof(a)))
			return true;
		usleep(20000);
	}
	complain("locked memory of regions is still charged (errno %d)", errno);
	return false;
}

/* With a limit of one message, one zero-copy message can be sent: nothing is charged. */
bool run_unpinned(void)
{
	struct rlimit lim = { PINNED + 8192, PINNED + 8192 };
	static const u8 cookie[4] = { 1 };
	struct sockaddr_storage ss;
	char ctl[256];
	struct iovec iov = { threads[0].out, PINNED };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl };
	int fd, tries;
	long n = -1;

	if (setns(threads[0].ns, CLONE_NEWNET) || setrlimit(RLIMIT_MEMLOCK, &lim))
		return false;
	fd = exec_socket();
	if (fd < 0 || bind(fd, (void *)&ss, sa(&ss, "10.1.0.1", 5002)) ||
	    connect(fd, (void *)&ss, sa(&ss, "10.1.0.2", 5099)))
		return false;
	if (verbs)
		return region_fits(fd);
	m.msg_controllen = arg_control(&threads[0], cookie, ctl, sizeof(ctl));
	for (tries = 0; n != PINNED && tries < 500; tries++) {
		n = sendmsg(fd, &m, MSG_ZEROCOPY);
		if (n < 0)
			usleep(20000);
	}
	if (n < 0)
		complain("locked memory is still charged (errno %d)", errno);
	close(fd);
	return n == PINNED;
}

/* ---- beginning ------------------------------------------------------------ */

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		perror(path);
	close(fd);
}

static void prepare_faults(void)
{
	put("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	put("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	put("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	put("/sys/kernel/debug/failslab/verbose", "0");
	put("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	put("/sys/kernel/debug/fail_usercopy/verbose", "0");
}

/* Root is not charged for locked memory as long as it may lock memory. */
static int be_charged(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d))
		return -errno;
	d[0].effective &= ~(1u << CAP_IPC_LOCK);
	return syscall(SYS_capset, &h, d) ? -errno : 0;
}

/* Both in this namespace; its addresses must be those of an RDMA device. */
static int ns_verbs(void)
{
	struct sockaddr_storage ss;
	int fd = exec_socket(), trans = 0;
	socklen_t len = sizeof(trans);

	if (fd < 0 || bind(fd, (void *)&ss, sa(&ss, "10.1.0.1", 0)))
		return -errno;
	getsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &trans, &len);
	close(fd);
	rds_ns[0] = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	rds_ns[1] = rds_ns[0];
	return trans == RDS_TRANS_IB && rds_ns[0] >= 0 ? 0 : -ENODEV;
}

/* 0 or a negative errno. */
int run_init(bool faults)
{
	struct rlimit lim = { 8 << 20, 8 << 20 };
	int nr, ret;

	mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);
	put("/proc/sys/kernel/io_uring_disabled", "0");
	if (faults)
		prepare_faults();
	ret = verbs ? ns_verbs() : ns_pair();
	if (!ret)
		ret = be_charged();
	if (ret)
		return ret;
	setrlimit(RLIMIT_MEMLOCK, &lim);
	signal(SIGPIPE, SIG_IGN);
	have_cover = cover_open(0) && cover_open(1);
	for (nr = 0; nr < 2; nr++) {
		struct thread *t = &threads[nr];

		t->nr = nr;
		t->ns = rds_ns[nr];
		pthread_mutex_init(&t->arming, NULL);
		t->out = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		t->in = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (t->out == MAP_FAILED || t->in == MAP_FAILED)
			return -ENOMEM;
		memset(t->out, 0x11 + nr, REGION);
		sem_init(&go[nr], 0, 0);
		sem_init(&done[nr], 0, 0);
		if (pthread_create(&tid[nr], NULL, work, t))
			return -EAGAIN;
		while (sem_wait(&done[nr]))
			;
	}
	return 0;
}
