// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,rdma_ucm,ib_uverbs,veth netns=init */
/* vm: timeout=180 ref=0 lanes=uml */
/*
 * Adapters that are not as rdma_rxe is: the module odd_rxe (selftests/vm/odd) makes it be so.
 */
#include "rdma.h"
#include "peer.h"

#define PARAM	"/sys/module/odd_rxe/parameters/"

/* Both have to find the device as it is now. */
static int odd(const char *how)
{
	/* the test before may have left one */
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

/*
 * The link goes before it has said that a write was executed.  The message behind that was
 * confirmed, so it was.
 */
TEST_F(rdma, write__confirmed_by_the_peer_alone)
{
	char m[4];
	__u64 c;

	ASSERT_EQ(0, odd("unseen_writes=1"));
	memset(self->src, 1, 100);
	memset(self->dst, 0, 100);
	ASSERT_EQ(0, get_mr(self->b, self->dst, 100, 0, &c));
	ASSERT_EQ(2, send_rdma(self->a, c, 0, self->src, 100, W | N, 1, "wr", 2));
	ASSERT_EQ(1, send(self->a, "m", 1, 0));
	EXPECT_EQ(2, recv_wait(self->b, m, 4));
	EXPECT_EQ(1, recv_wait(self->b, m, 4));
	EXPECT_TRUE(all(self->dst, 100, 1));
	/* both are confirmed, and the first one waits for its operation */
	EXPECT_TRUE(WAIT_UNTIL(outq(self->a) == 2));
	EXPECT_TRUE(quiet(self->a));
	ASSERT_EQ(0, even());
	EXPECT_EQ(RDS_RDMA_SUCCESS, next_note(self->a, NULL));
	EXPECT_TRUE(all_acked(self->a));
	EXPECT_TRUE(quiet(self->b));
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

/* ---- completion queues ---------------------------------------------------------- */

/*
 * The peer's first frames come before the confirmation that makes the link: nobody looks at them
 * until then.  On an adapter that tells of what lies in a queue when it is armed, that is no reason
 * to ask again and again.
 */
TEST_F(rdma, events__before_the_link_is_up)
{
	struct frame_hdr h = frame(1, 2, 9, PORT_B, 0);
	struct peer *p = calloc(1, sizeof(*p));
	__s64 runs, events;
	uint8_t *data;
	char m[4];
	int i;

	ASSERT_EQ(0, odd(""));
	RUN("echo 1 >" PARAM "level_events");
	ASSERT_EQ(0, peer_connect_unconfirmed(p, B4));
	runs = counter(self->b, "ib_tasklet_call");
	events = counter(self->b, "ib_rx_cq_event");
	ASSERT_EQ(0, peer_send(p, &h, "xy", 2));
	/* it is up when it believes so without having been told */
	for (i = 0; i < 2; i++)
		ASSERT_LT(0, peer_recv(p, &h, &data, 5000));
	runs = counter(self->b, "ib_tasklet_call") - runs;
	events = counter(self->b, "ib_rx_cq_event") - events;
	RUN("echo 0 >" PARAM "level_events");
	TH_LOG("%lld runs, %lld events", runs, events);
	EXPECT_GE(20, runs);
	EXPECT_GE(5, events);
	/* or the CM goes on asking for it */
	EXPECT_EQ(0, peer_confirm(p));
	EXPECT_EQ(2, recv_wait(self->b, m, 4));
	peer_close(p);
	free(p);
	/* the device cannot go while this process has it open */
}

#define VECTORS	4

/* How many pairs of queues there are on each: their sum. */
static unsigned int pairs(unsigned int *nr)
{
	FILE *f = fopen(PARAM "pairs", "r");
	unsigned int i, sum = 0;

	for (i = 0; i < VECTORS; i++) {
		nr[i] = 0;
		if (f && fscanf(f, "%u,", &nr[i]) == 1)
			sum += nr[i];
	}
	if (f)
		fclose(f);
	return sum;
}

/* Both queues of a link are on one vector, for one work handles them, and all vectors have some. */
TEST_F(rdma, queues__of_a_link_on_one_vector)
{
	unsigned int nr[VECTORS], i;
	__u8 tos;
	char m[4];
	int fd;

	ASSERT_EQ(0, odd("vectors=4"));
	for (tos = 1; tos <= VECTORS; tos++) {
		fd = rds_bound(A4, 0);
		ASSERT_FD(fd);
		ASSERT_EQ(0, ioctl(fd, SIOCRDSSETTOS, &tos));
		ASSERT_EQ(1, send_to(fd, B4, PORT_B, "m", 1, 0));
		ASSERT_EQ(1, recv_wait(self->b, m, 4));
		close(fd);
	}
	/* a link has two ends here */
	EXPECT_LE(2 * VECTORS, pairs(nr));
	for (i = 0; i < VECTORS; i++) {
		TH_LOG("vector %u: %u", i, nr[i]);
		EXPECT_LE(1, nr[i]);
	}
	EXPECT_EQ(0, file_number(PARAM "split"));
	ASSERT_EQ(0, even());
}

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

/* ---- the connection manager ------------------------------------------------------- */

/*
 * A request that names somebody else, in all that its sender writes himself, while that one has a
 * link: it is refused, and the link stays.  With @gid it names his GID, too, as who spoofs
 * addresses can, or anybody on InfiniBand: then that he answers is what counts.
 */
static void in_the_name_of(struct __test_metadata *_metadata, int a, int b, bool gid)
{
	struct peer *p = calloc(1, sizeof(*p));
	__s64 stale, alive;
	struct priv4 d;
	char m[4];

	ASSERT_EQ(1, send(a, "u", 1, 0));
	ASSERT_EQ(1, recv_wait(b, m, 4));
	stale = counter(a, "ib_listen_closed_stale");
	alive = counter(a, "ib_listen_alive");
	RUN("echo %d >" PARAM "named_gid; echo %u >" PARAM "named", gid, inet_addr(A4));
	ASSERT_EQ(0, peer_open(p, B4));
	d = peer_priv(p, B4);
	d.saddr = inet_addr(A4);
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, peer_request(p, &d, sizeof(d)));
	RUN("echo 0 >" PARAM "named");
	peer_close(p);
	free(p);
	EXPECT_EQ(1, send(a, "u", 1, 0));
	EXPECT_EQ(1, recv_wait(b, m, 4));
	EXPECT_EQ(stale, counter(a, "ib_listen_closed_stale"));
	/* others may dial, too, and be called so */
	EXPECT_LE(alive + gid, counter(a, "ib_listen_alive"));
}

TEST_F(rdma, request__in_the_name_of_another)
{
	ASSERT_EQ(0, odd(""));
	in_the_name_of(_metadata, self->a, self->b, false);
	in_the_name_of(_metadata, self->a, self->b, true);
	/* as above */
}

/* ---- registration ----------------------------------------------------------------- */

/* Ports that share their LID with others: the queue pair that registers memory needs a GID. */
TEST_F(rdma, region__on_a_port_that_needs_a_grh)
{
	char m[4];
	__u64 c;

	ASSERT_EQ(0, odd(""));
	RUN("echo 1 >" PARAM "ib_port");
	EXPECT_EQ(0, get_mr(self->b, self->dst, 100, 0, &c));
	RUN("echo 0 >" PARAM "ib_port");
	ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src, 100, W | N, 0, "w", 1));
	EXPECT_EQ(0, next_note(self->a, NULL));
	EXPECT_EQ(1, recv_wait(self->b, m, 4));
	EXPECT_EQ(0, free_mr(self->b, c, RDS_RDMA_INVALIDATE));
	ASSERT_EQ(0, even());
}

/* It may break while nobody uses it: who is next does not learn of that. */
TEST_F(rdma, region__after_the_queue_pair_broke)
{
	__u64 c, d;

	ASSERT_EQ(0, odd(""));
	ASSERT_EQ(0, get_mr(self->b, self->dst, 100, 0, &c));
	RUN("echo 1 >" PARAM "break_own_qp");
	EXPECT_EQ(0, get_mr(self->b, self->dst, 100, 0, &d));
	EXPECT_EQ(0, free_mr(self->b, c, RDS_RDMA_INVALIDATE));
	EXPECT_EQ(0, free_mr(self->b, d, RDS_RDMA_INVALIDATE));
	ASSERT_EQ(0, even());
}

TEST_HARNESS_MAIN
