// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init timeout=150 ref=0 */
/*
 * Everything at once: programs that register, free, map, read, write, add, cancel, close and
 * unmap at random, with keys that may be dead, while the device goes and comes.  Each call says
 * something that it may say; each program is told of each operation at most once; in the end
 * nothing is pinned, and messages pass.  RDS_SOAK: minutes.
 */
#include "rdma.h"

#define WORKERS	4
#define KEYS	32
#define TOKENS	4096

struct shared {
	__u64 key[KEYS];	/* of anybody, perhaps dead */
	__u64 good;		/* lives as long as the device */
	int stop;
	long done[8];		/* by status, and calls */
};

static struct shared *sh;
static unsigned int seed;

static unsigned int rnd(unsigned int n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 12) % n;
}

struct worker {
	int nr, fd;
	char *mem;		/* 1 MiB */
	unsigned char told[TOKENS];
	unsigned int token;
	__u64 mine[8];
};

static const int fine[] = {
	EAGAIN, ENOBUFS, EINVAL, ENODEV, ENOMEM, ETIMEDOUT, EBUSY, EIO, EADDRNOTAVAIL,
};

static bool ok(long ret)
{
	int i;

	if (ret >= 0)
		return true;
	for (i = 0; i < ARRAY_SIZE(fine); i++)
		if (errno == fine[i])
			return true;
	printf("# errno %d\n", errno);
	return false;
}

static bool open_socket(struct worker *w)
{
	char to[16];
	int tries;

	memset(w->told, 0, sizeof(w->told));
	memset(w->mine, 0, sizeof(w->mine));
	/* no address is the device's while there is none */
	for (tries = 0; tries < 1000; tries++) {
		w->fd = rds_socket();
		if (!set_int(w->fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_IB) &&
		    !rds_bind(w->fd, w->nr % 2 ? A4 : B4, 5200 + w->nr))
			break;
		close(w->fd);
		w->fd = -1;
		usleep(10000);
	}
	snprintf(to, sizeof(to), "%s", rnd(2) ? A4 : B4);
	return w->fd >= 0 && !set_timeo(w->fd, SO_SNDTIMEO, 100) &&
	       !rds_connect(w->fd, to, 5200 + rnd(WORKERS)) &&
	       !set_int(w->fd, SOL_RDS, RDS_RECVERR, rnd(2));
}

static bool do_send(struct worker *w)
{
	static const __u64 flags[] = { 0, W, RDS_RDMA_FENCE, RDS_RDMA_SILENT, W | RDS_RDMA_SILENT };
	unsigned int n = 1 + rnd(rnd(4) ? 5000 : 200000), t = w->token++ % TOKENS, i;
	struct rds_atomic_args at;
	struct rds_iovec v[20];
	__u64 key = rnd(8) ? sh->good : sh->key[rnd(KEYS)];

	w->told[t] = 0;
	if (!rnd(4)) {
		at = (struct rds_atomic_args){
			.cookie = key, .remote_addr = rnd(10) * 8, .local_addr = (long)w->mem,
			.fadd.add = 1, .flags = N, .user_token = t,
		};
		return ok(send_cmsg(w->fd, NULL, 0, "a", rnd(2), 0, RDS_CMSG_ATOMIC_FADD, &at,
				    sizeof(at)));
	}
	for (i = 0; i < 20; i++)
		v[i] = (struct rds_iovec){ (long)w->mem + rnd(MIB - n), 1 + n / 20 };
	return ok(send_rdma_v(w->fd, key, rnd(100), n + 20, v, 1 + rnd(20),
			      N | flags[rnd(ARRAY_SIZE(flags))], t, "r", rnd(2)));
}

static bool do_region(struct worker *w)
{
	static const __u64 flags[] = { 0, RDS_RDMA_USE_ONCE, RDS_RDMA_INVALIDATE };
	struct rds_get_mr_args g = {
		.vec = { (long)w->mem + rnd(5000), 1 + rnd(rnd(3) ? 10000 : MIB - 8192) },
		.flags = flags[rnd(ARRAY_SIZE(flags))],
	};
	unsigned int i = rnd(ARRAY_SIZE(w->mine));
	__u64 c = 0;

	if (w->mine[i]) {
		c = w->mine[i];
		w->mine[i] = 0;
		return ok(free_mr(w->fd, rnd(8) ? c : 0, rnd(2) ? RDS_RDMA_INVALIDATE : 0));
	}
	g.cookie_addr = (long)&c;
	if (rnd(2)) {
		if (!ok(setsockopt(w->fd, SOL_RDS, RDS_GET_MR, &g, sizeof(g))))
			return false;
	} else if (!ok(send_cmsg(w->fd, NULL, 0, "m", 1, 0, RDS_CMSG_RDMA_MAP, &g, sizeof(g)))) {
		return false;
	}
	w->mine[i] = c;
	if (c)
		sh->key[rnd(KEYS)] = c;
	return true;
}

/* Takes what there is; false if an operation was told twice. */
static bool do_receive(struct worker *w)
{
	struct rds_rdma_notify n;
	struct cmsghdr *h;
	struct rx rx;
	char b[64];

	while (rx_msg_ctl(w->fd, b, sizeof(b), MSG_DONTWAIT, &rx, sizeof(rx.ctl)) >= 0) {
		for (h = CMSG_FIRSTHDR(&rx.m); h; h = CMSG_NXTHDR(&rx.m, h)) {
			if (h->cmsg_type != RDS_CMSG_RDMA_STATUS)
				continue;
			memcpy(&n, CMSG_DATA(h), sizeof(n));
			if (n.user_token >= TOKENS || w->told[n.user_token]++ || n.status > 4U)
				return false;
			__atomic_add_fetch(&sh->done[n.status], 1, __ATOMIC_RELAXED);
		}
	}
	return errno == EAGAIN;
}

static bool do_other(struct worker *w)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, rnd(2) ? A4 : B4, 5200 + rnd(WORKERS));

	switch (rnd(6)) {
	case 0:
		close(w->fd);
		return open_socket(w);
	case 1:
		return !setsockopt(w->fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len);
	case 2:
		/* memory that regions and operations are using goes */
		munmap(w->mem, MIB);
		w->mem = pages(MIB);
		return true;
	case 3:
		return ok(send_cmsg(w->fd, NULL, 0, "d", 1, 0, RDS_CMSG_RDMA_DEST,
				    &w->mine[rnd(8)], 8));
	default:
		return ok(send(w->fd, "s", 1, 0));
	}
}

static int work(void *arg)
{
	struct worker *w = arg;
	int what = -1;
	bool good;

	seed = w->nr * 77 + getpid();
	w->mem = pages(MIB);
	good = open_socket(w);
	while (good && !__atomic_load_n(&sh->stop, __ATOMIC_RELAXED)) {
		what = rnd(8);
		switch (what) {
		case 0 ... 3:
			good = do_send(w);
			break;
		case 4 ... 5:
			good = do_region(w);
			break;
		case 6:
			good = do_other(w);
			break;
		}
		if (good && !do_receive(w)) {
			what = 100;
			good = false;
		}
		sh->done[7]++;
		if (!rnd(20))
			usleep(1000);
	}
	if (!good)
		printf("# worker %d: call %d failed, errno %d, socket %d\n", w->nr, what, errno,
		       w->fd);
	return good ? 0 : 1;
}

#define DEVICE_MS	10000	/* so long a device may take to go */

/* If the device has not gone by then: what the kernel says, for the CM tells what it waits for. */
static pid_t watch(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	usleep((DEVICE_MS + 5000) * 1000);
	if (system("dmesg | tail -n 20 | sed 's/^/# /'"))
		perror("# dmesg");
	_exit(0);
}

TEST_F_TIMEOUT(rdma, stress__all, 3700)
{
	const char *soak = getenv("RDS_SOAK");
	int secs = soak && atoi(soak) ? atoi(soak) * 60 : 15, i;
	static struct worker w[WORKERS];
	pid_t pid[WORKERS], watcher;
	__s64 start, took, slowest = 0, end;

	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, get_mr(self->b, self->dst, MIB, 0, &sh->good));
	for (i = 0; i < WORKERS; i++) {
		w[i].nr = i;
		pid[i] = spawn(work, &w[i]);
	}
	for (end = now_ms() + secs * 1000; now_ms() < end;) {
		usleep(2500000);
		watcher = watch();
		start = now_ms();
		ASSERT_EQ(0, rxe_link_del());
		took = now_ms() - start;
		slowest = took > slowest ? took : slowest;
		kill(watcher, SIGKILL);
		reap(watcher);
		usleep(100000);
		ASSERT_EQ(0, rxe_link_add());
		ASSERT_EQ(0, get_mr(self->b, self->dst, MIB, 0, &sh->good));
	}
	sh->stop = 1;
	for (i = 0; i < WORKERS; i++)
		EXPECT_EQ(0, reap(pid[i]));
	TH_LOG("%ld calls, %ld done, %ld refused, %ld cancelled, %ld dropped, %ld other",
	       sh->done[7], sh->done[0], sh->done[1], sh->done[2], sh->done[3], sh->done[4]);
	TH_LOG("a device went in %lld ms at most", slowest);
	EXPECT_GT(DEVICE_MS, slowest);
	EXPECT_LT(100, sh->done[7]);
	EXPECT_LT(100, sh->done[0]);
	/* the fixture's sockets had nothing to do with it: they still talk */
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	EXPECT_EQ(1, recv_wait(self->b, self->src, 1));
}

TEST_HARNESS_MAIN
