// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,rdma_ucm,ib_uverbs,veth netns=init timeout=180 ref=0 */
/*
 * Adapters that are not as rdma_rxe is: the module odd_rxe (selftests/vm/odd) makes it be so.
 */
#include "rdma.h"
#include "peer.h"

#define PARAM	"/sys/module/odd_rxe/parameters/"

/* Both have to find the device as it is now. */
static int odd(const char *how)
{
	/* a test that failed may have left one */
	run_cmd("rmmod odd_rxe 2>/dev/null");
	return rxe_link_del() || run_cmd("modprobe odd_rxe %s", how) || rxe_link_add();
}

static int even(void)
{
	return rxe_link_del() || run_cmd("rmmod odd_rxe") || rxe_link_add();
}

static ssize_t fadd(int fd, __u64 cookie, __u64 *old)
{
	struct rds_atomic_args a = {
		.cookie = cookie, .local_addr = (long)old, .fadd.add = 1, .flags = N,
	};

	return send_cmsg(fd, NULL, 0, "a", 1, 0, RDS_CMSG_ATOMIC_FADD, &a, sizeof(a));
}

/*
 * It says that it has atomics, and its driver posts none for the kernel: one operation fails for
 * that, all others are refused, and the link that it costs is the last one.
 */
TEST_F(rdma, atomics__announced_but_not_posted)
{
	__u64 *word = (__u64 *)self->dst, *old = (__u64 *)self->src, c;
	__s64 resets;
	int i;
	char m[4];

	ASSERT_EQ(0, odd("refuse_atomics=1"));
	ASSERT_EQ(0, get_mr(self->b, word, 8, 0, &c));
	*word = 7;
	ASSERT_EQ(1, fadd(self->a, c, old));
	EXPECT_LT(0, next_note(self->a, NULL));
	/* the link is up again */
	ASSERT_EQ(1, send(self->a, "u", 1, 0));
	while (recv_wait(self->b, m, 4) == 1 && *m != 'u')
		;
	ASSERT_EQ('u', *m);
	ASSERT_TRUE(all_acked(self->a));
	resets = counter(self->a, "conn_reset");
	for (i = 0; i < 10; i++)
		EXPECT_ERR(EOPNOTSUPP, fadd(self->a, c, old));
	EXPECT_EQ(7, *word);
	/* who asks for what works gets it */
	fill(self->dst, 100, 3);
	ASSERT_EQ(1, send_rdma(self->a, c, 0, old, 8, N, 1, "r", 1));
	EXPECT_EQ(0, next_note(self->a, NULL));
	EXPECT_EQ(*word, *old);
	while (recv_wait(self->b, m, 4) == 1 && *m != 'r')
		;
	EXPECT_EQ('r', *m);
	EXPECT_EQ(resets, counter(self->a, "conn_reset"));
	ASSERT_EQ(0, even());
}

/* Where in its page a region begins, for the device: peers reach it, and not what lies beside. */
TEST_F(rdma, region__bounced)
{
	static const unsigned int offset[] = { 0, 8, 0x200, 0x800, 0xf00 };
	unsigned int i, n = 200;
	char m[4];
	__u64 c;

	ASSERT_EQ(0, odd("bounce=1"));
	for (i = 0; i < ARRAY_SIZE(offset); i++) {
		fill(self->dst, 8192, i);
		memset(self->src, 0, n);
		ASSERT_EQ(0, get_mr(self->b, self->dst + offset[i], n, 0, &c));
		ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src, n, N, 1, "r", 1));
		EXPECT_EQ(0, next_note(self->a, NULL));
		EXPECT_EQ(0, memcmp(self->src, self->dst + offset[i], n))
			TH_LOG("region at %#x: %.8s", offset[i], self->src);
		EXPECT_EQ(1, recv_wait(self->b, m, 4));
		EXPECT_EQ(0, free_mr(self->b, c, RDS_RDMA_INVALIDATE));
	}
	ASSERT_EQ(0, even());
}

#define CONFIG_DIR	"/sys/kernel/config"
#define CMA_DIR		CONFIG_DIR "/rdma_cm/rxe_t"

/* A socket without a past: what the others have sent is dialled again as soon as it can be. */
static int fresh_socket(__u8 tos)
{
	int fd = rds_socket();

	if (!WAIT_UNTIL(!rds_bind(fd, "10.5.0.3", 5003)))
		return -1;
	return tos && ioctl(fd, SIOCRDSSETTOS, &tos) ? -1 : fd;
}

/* What the administrator has set for all of RoCE holds, but for sockets that ask for something. */
TEST_F(rdma, tos__of_the_administrator)
{
	int fd, i;
	char m[4];

	run_cmd("modprobe -q configfs");
	RUN("mountpoint -q " CONFIG_DIR " || mount -t configfs none " CONFIG_DIR);
	ASSERT_EQ(0, odd(""));
	RUN("ip addr add 10.5.0.3/24 dev rdst0");
	RUN("mkdir " CMA_DIR " && echo 104 >" CMA_DIR "/ports/1/default_roce_tos");
	for (i = 0; i < 2; i++) {
		fd = fresh_socket(i ? 0x20 : 0);
		ASSERT_FD(fd);
		ASSERT_EQ(1, send_to(fd, variant->baddr, PORT_B, "m", 1, 0));
		ASSERT_EQ(1, recv_wait(self->b, m, 4));
		EXPECT_EQ(i ? 0x20 : 104, file_number(PARAM "traffic_class"));
		close(fd);
	}
	RUN("rmdir " CMA_DIR);
	RUN("ip addr del 10.5.0.3/24 dev rdst0");
	ASSERT_EQ(0, even());
}

/* ---- queues ---------------------------------------------------------------------- */

static int sends_of(int fd, const char *from, const char *to)
{
	struct rds_info_rdma_connection *r;
	socklen_t len;
	int i, n, nr = 0;
	void *p;

	if (info_get(fd, RDS_INFO_IB_CONNECTIONS, &p, &len) != sizeof(*r))
		return -1;
	for (r = p, n = len / sizeof(*r), i = 0; i < n; i++)
		if (r[i].src_addr == inet_addr(from) && r[i].dst_addr == inet_addr(to) && !r[i].tos)
			nr = r[i].max_send_wr;
	free(p);
	return nr;
}

/* What it says of requests and of segments it has not at the same time: as many as it can. */
TEST_F(rdma, sends__fewer_than_announced)
{
	char m[4];

	RUN("echo 4096 >/proc/sys/net/rds/ib/max_send_wr");
	ASSERT_EQ(0, odd("most_sends=1000"));
	EXPECT_EQ(1, send(self->a, "m", 1, 0));
	EXPECT_EQ(1, recv_wait(self->b, m, 4));
	/* 512 more are for operations */
	EXPECT_EQ(256, sends_of(self->a, A4, B4));
	RUN("echo 256 >/proc/sys/net/rds/ib/max_send_wr");
	ASSERT_EQ(0, even());
}

TEST_HARNESS_MAIN
