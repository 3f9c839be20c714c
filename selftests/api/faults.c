// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=300 ref=0 */
/*
 * Every allocation and user copy of every call fails once (fail-nth): the call
 * says so or copes, and leaves a socket that works (E12, I3, J3, J4). Needs a
 * kernel with fault injection; leaks and use after free are for the log.
 */
#include "rds_util.h"

#include <sys/mount.h>

#define MAX_NTH 400

static char buf[20000];
static int nth_fd = -1;

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd >= 0) {
		if (write(fd, text, strlen(text)) < 0)
			perror(path);
		close(fd);
	}
}

static bool ready(void)
{
	mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);
	put("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	put("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	put("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	put("/sys/kernel/debug/failslab/verbose", "0");
	put("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	put("/sys/kernel/debug/fail_usercopy/verbose", "0");
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR);
	return nth_fd >= 0;
}

/* The write itself is a fault point, if the last fault is still to come. */
static void arm(int nth)
{
	char s[16];
	int n = snprintf(s, sizeof(s), "%d", nth), i;

	for (i = 0; i < 10 && pwrite(nth_fd, s, n, 0) != n; i++)
		;
	if (i == 10)
		abort();
}

/* Disarms: true if the fault was used up, and not by the reading of it. */
static bool hit(void)
{
	char s[16] = {};
	bool used = pread(nth_fd, s, sizeof(s) - 1, 0) > 0 && atoi(s) == 0;

	arm(0);
	return used;
}

/* A socket bound to and connected with itself is a good receiver. */
static bool works(int fd, const char *addr)
{
	char b[16];
	int n;

	if (send_to(fd, addr, 5000, "ok", 2, 0) != 2)
		return false;
	/* what the step sent may come late, but comes before this */
	do {
		n = recv_wait(fd, b, sizeof(b));
	} while (n > 2);
	return n == 2 && recv(fd, b, sizeof(b), MSG_DONTWAIT) < 0;
}

struct step {
	const char *name;
	int (*call)(int fd, const char *addr);
};

static int c_bind(int fd, const char *addr)
{
	int s = rds_socket(), ret;

	if (s < 0)
		return -1;
	ret = rds_bind(s, addr, 0);
	close(s);
	return ret;
}

static int c_send(int fd, const char *addr)
{
	return send_to(fd, addr, 5000, buf, sizeof(buf), MSG_DONTWAIT);
}

static int c_send_new_peer(int fd, const char *addr)
{
	static int n;
	char dst[64];

	if (strchr(addr, ':'))
		snprintf(dst, sizeof(dst), "fd00:1::%x", 0x100 + n++ % 4000);
	else
		snprintf(dst, sizeof(dst), "10.1.%d.%d", n / 250 + 1, n % 250 + 1);
	n++;
	return send_to(fd, dst, 9, buf, 100, MSG_DONTWAIT);
}

static int c_info(int fd, const char *addr)
{
	socklen_t len;
	void *p;
	int n = info_get(fd, RDS6_INFO_CONNECTIONS, &p, &len);

	free(p);
	return n;
}

static int c_counters(int fd, const char *addr)
{
	return counter(fd, "send_queued") < 0 ? -1 : 0;
}

static int c_options(int fd, const char *addr)
{
	if (set_int(fd, SOL_RDS, RDS_CONG_MONITOR, 1) ||
	    set_int(fd, SOL_RDS, RDS_CONG_MONITOR, 0) ||
	    set_int(fd, SOL_RDS, RDS_RECVERR, 0))
		return -1;
	return 0;
}

static int c_zcopy(int fd, const char *addr)
{
	static char *p;
	__u32 cookie = 1;

	if (!p)
		p = aligned_alloc(4096, 16384);
	set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1);
	return send_cmsg(fd, addr, 5000, p, 16384, MSG_ZEROCOPY | MSG_DONTWAIT,
			 RDS_CMSG_ZCOPY_COOKIE, &cookie, 4);
}

static int c_cancel(int fd, const char *addr)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, addr, 5000);

	return setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len);
}

static int c_names(int fd, const char *addr)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	if (rds_connect(fd, addr, 5000) || poll_for(fd, POLLIN | POLLOUT, 0) < 0)
		return -1;
	return getpeername(fd, (void *)&ss, &len);
}

/* Refused in the end, after its vectors were copied and its pages pinned. */
static int c_rdma(int fd, const char *addr)
{
	struct rds_iovec v[2] = { { (long)buf, 4096 }, { (long)buf + 4096, 4096 } };
	struct rds_rdma_args a = {
		.remote_vec = { 0, 8192 }, .local_vec_addr = (long)v, .nr_local = 2,
		.flags = RDS_RDMA_NOTIFY_ME,
	};

	return send_cmsg(fd, addr, 5000, "x", 1, MSG_DONTWAIT, RDS_CMSG_RDMA_ARGS,
			 &a, sizeof(a));
}

static int c_atomic(int fd, const char *addr)
{
	static __u64 v;
	struct rds_atomic_args a = { .local_addr = (long)&v };

	return send_cmsg(fd, addr, 5000, "x", 1, MSG_DONTWAIT,
			 RDS_CMSG_MASKED_ATOMIC_CSWP, &a, sizeof(a));
}

static const struct step step[] = {
	{ "bind", c_bind },
	{ "send", c_send },
	{ "send to a new peer", c_send_new_peer },
	{ "info", c_info },
	{ "counters", c_counters },
	{ "options", c_options },
	{ "zero copy", c_zcopy },
	{ "cancel", c_cancel },
	{ "names", c_names },
	{ "rdma", c_rdma },
	{ "atomic", c_atomic },
};

/* Fails the 1st, 2nd ... fault point of a step until none is left: how many. */
static int all_points(int fd, const char *addr, const struct step *s)
{
	int nth;

	for (nth = 1; nth < MAX_NTH; nth++) {
		arm(nth);
		s->call(fd, addr);
		if (!hit())
			break;
		if (!works(fd, addr)) {
			fprintf(stderr, "# %s: dead after fault %d\n", s->name, nth);
			return -1;
		}
	}
	return nth;
}

FIXTURE(faults)
{
	int fd;
};

FIXTURE_VARIANT(faults)
{
	const char *addr;
};

FIXTURE_VARIANT_ADD(faults, loop)
{
	.addr = "127.0.0.1",
};

FIXTURE_VARIANT_ADD(faults, tcp_bound)
{
	.addr = "10.1.0.1",
};

FIXTURE_VARIANT_ADD(faults, ipv6)
{
	.addr = "fd00:1::1",
};

FIXTURE_SETUP(faults)
{
	ASSERT_EQ(0, ns_pair());
	self->fd = rds_bound(variant->addr, 5000);
	ASSERT_FD(self->fd);
}

FIXTURE_TEARDOWN(faults)
{
	close(self->fd);
}

/* Each step in turn. */
TEST_F_TIMEOUT(faults, every_call__fail_nth, 90)
{
	int i, n;

	if (!ready())
		SKIP(_exit(KSFT_SKIP), "kernel without fault injection");
	for (i = 0; i < ARRAY_SIZE(step); i++) {
		n = all_points(self->fd, variant->addr, &step[i]);
		EXPECT_LT(0, n);
		EXPECT_GT(MAX_NTH, n);
		TH_LOG("%s: %d fault points", step[i].name, n - 1);
	}
}

/*
 * Receiving: a fault costs no message (I3). Plain recv(), because recvmsg() has
 * copies of its own after the socket has let go of the message.
 */
TEST_F_TIMEOUT(faults, recv__fail_nth, 90)
{
	int nth, n;

	if (!ready())
		SKIP(_exit(KSFT_SKIP), "kernel without fault injection");
	for (nth = 1; nth < MAX_NTH; nth++) {
		ASSERT_EQ(5000, send_to(self->fd, variant->addr, 5000, buf, 5000, 0));
		ASSERT_TRUE(wait_data(self->fd));
		arm(nth);
		n = recv(self->fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (!hit())
			break;
		if (n < 0) {
			n = recv_wait(self->fd, buf, sizeof(buf));
			ASSERT_EQ(5000, n);
		}
	}
	EXPECT_EQ(5000, n);
	EXPECT_LT(1, nth);
	EXPECT_GT(MAX_NTH, nth);
	TH_LOG("recv: %d fault points", nth - 1);
}

TEST_HARNESS_MAIN
