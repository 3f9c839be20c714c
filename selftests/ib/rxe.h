/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A software RDMA device for tests in C, made before the first test and taken away after the
 * last one: rxe on a veth device with two addresses of each family, in the initial namespace.
 */
#ifndef RDS_RXE_H
#define RDS_RXE_H

#include "../api/rds_trace.h"

#define A4	"10.5.0.1"
#define B4	"10.5.0.2"
#define A6	"fd05::1"
#define B6	"fd05::2"

#define PG	4096UL
#define MIB	(1UL << 20)

/* A shell command; the test fails if it does. */
#define RUN(...) ASSERT_EQ(0, run_cmd(__VA_ARGS__))

/* Who defines RXE_THERE has a device already. */
#ifndef RXE_THERE
static pid_t rxe_owner;

static inline int rxe_link_add(void)
{
	int tries, fd;

	if (run_cmd("rdma link add rxe_t type rxe netdev rdst0"))
		return -1;
	/* the device learns of its addresses a little later */
	for (tries = 0; tries < 500; tries++) {
		fd = rds_socket();
		if (!set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_IB) &&
		    !rds_bind(fd, B6, 0)) {
			close(fd);
			return 0;
		}
		close(fd);
		usleep(10000);
	}
	return -1;
}

static inline int rxe_link_del(void)
{
	return run_cmd("rdma link del rxe_t");
}

__attribute__((constructor))
static void rxe_setup(void)
{
	rxe_owner = getpid();
	if (run_cmd("ip link add rdst0 mtu 5000 type veth peer name rdst1 mtu 5000") ||
	    run_cmd("ip addr add " A4 "/24 dev rdst0; ip addr add " B4 "/24 dev rdst0") ||
	    run_cmd("ip addr add " A6 "/64 dev rdst0 nodad") ||
	    run_cmd("ip addr add " B6 "/64 dev rdst0 nodad") ||
	    run_cmd("ip link set rdst0 up; ip link set rdst1 up") || rxe_link_add()) {
		printf("Bail out! no software RDMA device\n");
		exit(1);
	}
}

__attribute__((destructor))
static void rxe_cleanup(void)
{
	if (getpid() != rxe_owner)
		return;
	run_cmd("rdma link del rxe_t 2>/dev/null; ip link del rdst0");
}
#endif

/* Pages pinned by anybody. */
static inline long pinned(void)
{
	long got = 0, put = 0, v;
	char line[128], *p;
	FILE *f = fopen("/proc/sys/vm/stat_refresh", "w");

	/* each processor keeps some of the count to itself */
	if (f) {
		fputs("1\n", f);
		fclose(f);
	}
	f = fopen("/proc/vmstat", "r");
	while (f && fgets(line, sizeof(line), f)) {
		p = strchr(line, ' ');
		v = p ? atol(p) : 0;
		if (!strncmp(line, "nr_foll_pin_acquired ", 21))
			got = v;
		if (!strncmp(line, "nr_foll_pin_released ", 21))
			put = v;
	}
	if (f)
		fclose(f);
	return got - put;
}

/* Objects of the device that regions have. */
static inline __s64 regions(void)
{
	int fd = rds_socket();
	__s64 n = counter(fd, "ib_rdma_mr_8k_alloc") - counter(fd, "ib_rdma_mr_8k_free") +
		  counter(fd, "ib_rdma_mr_1m_alloc") - counter(fd, "ib_rdma_mr_1m_free");

	close(fd);
	return n;
}

/* Bytes that were sent and are not acknowledged, or whose operation is not done. */
static inline int outq(int fd)
{
	int n = -1;

	ioctl(fd, SIOCOUTQ, &n);
	return n;
}

static inline int get_mr(int fd, const void *p, __u64 len, __u64 flags, __u64 *cookie)
{
	struct rds_get_mr_args a = {
		.vec = { (long)p, len }, .cookie_addr = (long)cookie, .flags = flags,
	};

	return setsockopt(fd, SOL_RDS, RDS_GET_MR, &a, sizeof(a));
}

static inline int free_mr(int fd, __u64 cookie, __u64 flags)
{
	struct rds_free_mr_args a = { .cookie = cookie, .flags = flags };

	return setsockopt(fd, SOL_RDS, RDS_FREE_MR, &a, sizeof(a));
}

#endif
