// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,rdma_ucm,veth netns=init timeout=200 ref=0 lanes=uml */
/*
 * When memory to receive is short, by max_recv_allocation and by max_peer_bytes: what a link may
 * have, that it goes on all the same, and that nobody suffers who only has to wait.
 */
#include "flood.h"
#include "../fairclock.h"

#define NOBODY	4999

FIXTURE(memory)
{
	struct peer *p, *q;
	int fd, stuck, other;
	unsigned long peer_bytes;
};

/* Without links that have buffers already. */
FIXTURE_SETUP(memory)
{
	self->peer_bytes = get_sysctl("max_peer_bytes");
	self->p = calloc(1, sizeof(*self->p));
	self->q = calloc(1, sizeof(*self->q));
	self->fd = -1;
	self->stuck = -1;
	self->other = -1;
	load_anew(_metadata, &self->fd, &self->stuck);
}

FIXTURE_TEARDOWN(memory)
{
	set_sysctl("max_peer_bytes", self->peer_bytes);
	peer_close(self->p);
	peer_close(self->q);
	free(self->p);
	free(self->q);
	close(self->fd);
	close(self->stuck);
	close(self->other);
	/* with the sysctls as they were */
	EXPECT_TRUE(WAIT_UNTIL(!module_del()));
	RUN("modprobe rds_rdma");
}

/*
 * All messages to nobody since @before were looked at, and nothing asks for buffers any more: that
 * our device has acknowledged them says less.
 */
static bool dropped(int fd, __s64 before, int count)
{
	__s64 last, now = -1;

	if (!WAIT_UNTIL(counter(fd, "recv_drop_no_sock") == before + count))
		return false;
	do {
		last = now;
		usleep(100000);
		now = counter(fd, "ib_rx_refill_from_cq");
	} while (now != last);
	return true;
}

/* A peer that offers @credits. */
static int connect_credits(struct peer *p, int credits)
{
	struct priv4 d;

	if (peer_open(p, B4))
		return -1;
	d = peer_priv(p, B4);
	d.credit = htobe32(credits);
	return peer_request(p, &d, sizeof(d)) == RDMA_CM_EVENT_ESTABLISHED ? 0 : -1;
}

/*
 * What a link does not keep of what it receives takes no memory, be the bound exceeded or not: a
 * link that had its first 64 buffers is left with 16, and those of the next one fit.
 */
TEST_F_TIMEOUT(memory, small_messages__take_none, 60)
{
	struct flood *f;
	__s64 limit, before;
	int i;

	ASSERT_EQ(0, peer_connect(self->p, B4));
	f = flood_new(self->p);
	ASSERT_NE(NULL, f);
	before = counter(self->fd, "recv_drop_no_sock");
	ASSERT_EQ(0, set_sysctl("ib/max_recv_allocation", 1));
	for (i = 1; i <= 1100; i++) {
		ASSERT_TRUE(flood_wait(self->p, f, 12, 10000));
		ASSERT_EQ(0, flood_post(self->p, f, frame(i, 1, 9, NOBODY, 0)));
	}
	ASSERT_TRUE(flood_wait(self->p, f, 0, 10000));
	ASSERT_TRUE(dropped(self->fd, before, 1100));
	ASSERT_EQ(0, set_sysctl("ib/max_recv_allocation", 16 + 64 + 1));
	limit = counter(self->fd, "ib_rx_alloc_limit");
	EXPECT_LT(0, limit);
	ASSERT_EQ(0, peer_connect(self->q, B4));
	EXPECT_EQ(limit, counter(self->fd, "ib_rx_alloc_limit"));
	flood_free(f);
}

/* Nor do they without a bound: as many buffers as a link begins with. */
TEST_F_TIMEOUT(memory, small_messages__one_at_a_time, 60)
{
	struct frame_hdr h;
	__s64 limit, before;
	int i;

	ASSERT_EQ(0, peer_connect(self->p, B4));
	before = counter(self->fd, "recv_drop_no_sock");
	for (i = 1; i <= 150; i++) {
		h = frame(i, 1, 9, NOBODY, 0);
		ASSERT_EQ(0, peer_send(self->p, &h, "x", 1));
	}
	ASSERT_TRUE(dropped(self->fd, before, 150));
	ASSERT_EQ(0, set_sysctl("ib/max_recv_allocation", 64 + 64 + 1));
	limit = counter(self->fd, "ib_rx_alloc_limit");
	ASSERT_EQ(0, peer_connect(self->q, B4));
	EXPECT_EQ(limit, counter(self->fd, "ib_rx_alloc_limit"));
}

/* A link that has what it may have and does nothing looks for no more. */
TEST_F(memory, idle__asks_for_nothing)
{
	__s64 before;

	ASSERT_EQ(0, set_sysctl("ib/max_recv_allocation", 1));
	ASSERT_EQ(0, peer_connect(self->p, B4));
	/* until the greeting is through */
	usleep(300000);
	before = counter(self->fd, "ib_rx_refill_from_thread");
	usleep(500000);
	EXPECT_EQ(before, counter(self->fd, "ib_rx_refill_from_thread"));
}

/* The few buffers that a link has in any case are enough for credits, whoever begins. */
TEST_F_TIMEOUT(memory, credits__of_a_link_at_the_bound, 60)
{
	static char out[128 << 10], in[128 << 10];
	int i;

	ASSERT_EQ(0, set_sysctl("ib/flow_control", 1));
	ASSERT_EQ(0, set_sysctl("ib/max_recv_allocation", 1));
	self->other = rds_bound(A4, PORT);
	ASSERT_FD(self->other);
	EXPECT_EQ(0, set_int(self->other, SOL_SOCKET, SO_SNDBUF, 2 * sizeof(out)));
	EXPECT_EQ(0, set_int(self->fd, SOL_SOCKET, SO_SNDBUF, 2 * sizeof(out)));
	for (i = 0; i < (int)sizeof(out); i++)
		out[i] = i * 7 + i / 256;
	ASSERT_EQ(1, send_to(self->fd, A4, PORT, "x", 1, 0));
	ASSERT_EQ(1, recv_wait(self->other, in, sizeof(in)));
	usleep(100000);
	ASSERT_EQ((int)sizeof(out), send_to(self->other, B4, PORT, out, sizeof(out), 0));
	ASSERT_EQ((int)sizeof(out), recv_wait(self->fd, in, sizeof(in)));
	EXPECT_EQ(0, memcmp(in, out, sizeof(out)));
	ASSERT_EQ((int)sizeof(out), send_to(self->fd, A4, PORT, out, sizeof(out), 0));
	ASSERT_EQ((int)sizeof(out), recv_wait(self->other, in, sizeof(in)));
	EXPECT_EQ(0, memcmp(in, out, sizeof(out)));
	EXPECT_LT(0, counter(self->fd, "ib_rx_credit_updates"));
}

/* A reader who never reads, as in ib/bounds, of a peer by credits: it gets them all the same. */
TEST_F_TIMEOUT(memory, credits__reader_who_never_reads, 100)
{
	int small = 8192;
	struct flood *f;
	struct priv4 d;

	ASSERT_EQ(0, setsockopt(self->stuck, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)));
	ASSERT_EQ(0, set_sysctl("max_peer_bytes", 2 << 20));
	ASSERT_EQ(0, set_sysctl("ib/flow_control", 1));
	ASSERT_EQ(0, connect_credits(self->p, 32767));
	f = flood_new(self->p);
	ASSERT_NE(NULL, f);
	memcpy(&d, self->p->reply, sizeof(d));
	f->limited = true;
	f->credits = be32toh(d.credit);
	ASSERT_LT(1, f->credits);
	ASSERT_TRUE(fill_stuck(self->p, f, self->fd));
	/* more than the ring has buffers */
	EXPECT_TRUE(flood(self->p, f, 1500, STUCK, 10000));
	/* behind them: who reads while some are not looked at yet makes room for the last */
	EXPECT_TRUE(flood(self->p, f, 1, PORT, 10000));
	EXPECT_EQ(4096, recv_wait(self->fd, f->data, 4096));
	EXPECT_EQ(-1, peer_event(self->p, 0));
	EXPECT_LT(1500, read_stuck(self->stuck));
	flood_free(f);
}

/* ---- messages received in part ------------------------------------------------- */

/* Peers, connected, each with what it needs to send. */
static bool crowd(struct peer *p[], struct flood *f[], int n)
{
	int i;

	for (i = 0; i < n; i++) {
		p[i] = calloc(1, sizeof(*p[i]));
		if (peer_connect(p[i], B4))
			return false;
		f[i] = flood_new(p[i]);
		if (!f[i])
			return false;
	}
	/* until the greetings are through */
	usleep(200000);
	return true;
}

static void crowd_goes(struct peer *p[], struct flood *f[], int n)
{
	int i;

	for (i = 0; i < n; i++) {
		flood_free(f[i]);
		peer_close(p[i]);
		free(p[i]);
	}
}

#define HONEST	4

/*
 * One peer leaves the beginning of a message with us, and honest ones send the largest there are:
 * they wait, that one goes, and each has its turn and keeps its link.
 */
TEST_F_TIMEOUT(memory, partial__who_had_to_wait_is_not_dropped, 60)
{
	static char in[1 << 20];
	struct peer *p[HONEST + 1];
	struct flood *f[HONEST + 1];
	__s64 before, waits;
	int i;

	ASSERT_EQ(0, set_sysctl("max_peer_bytes", 2 << 20));
	before = counter(self->fd, "ib_partial_evicted");
	waits = counter(self->fd, "recv_partial_limit");
	ASSERT_TRUE(crowd(p, f, HONEST + 1));
	ASSERT_TRUE(fragments(p[0], f[0], 1, 5000));
	for (i = 1; i <= HONEST; i++)
		fragments(p[i], f[i], 128, i == HONEST ? 100 : 5000);
	for (i = 1; i <= HONEST; i++)
		fragments(p[i], f[i], 128, 10);
	EXPECT_TRUE(WAIT_UNTIL(waits < counter(self->fd, "recv_partial_limit")));
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, peer_event(p[0], PEER_WAIT));
	for (i = 1; i <= HONEST; i++) {
		ASSERT_EQ(1 << 20, recv_wait(self->fd, in, sizeof(in)));
		EXPECT_EQ(0, memcmp(in, f[1]->data, 4096));
	}
	EXPECT_EQ(before + 1, counter(self->fd, "ib_partial_evicted"));
	crowd_goes(p, f, HONEST + 1);
}

#define HOGS	8

/* Many of those: the patience with one that had to wait is not there for each of them. */
TEST_F_TIMEOUT(memory, partial__many_that_stay, 90)
{
	static char in[1 << 20];
	struct peer *p[HOGS + 1];
	struct flood *f[HOGS + 1];
	struct pollfd pfd = { .fd = self->fd, .events = POLLIN };
	__s64 begin, before, took;
	int i;

	ASSERT_EQ(0, set_sysctl("max_peer_bytes", 2 << 20));
	before = counter(self->fd, "ib_partial_evicted");
	ASSERT_TRUE(crowd(p, f, HOGS + 1));
	begin = fair_ms();
	for (i = 0; i < HOGS; i++)
		fragments(p[i], f[i], 250, 200);
	fragments(p[HOGS], f[HOGS], 256, 30000);
	ASSERT_EQ(1, poll(&pfd, 1, 60000));
	ASSERT_EQ(1 << 20, recv_wait(self->fd, in, sizeof(in)));
	took = fair_ms() - begin;
	TH_LOG("%lld ms, %lld of %d gave way", (long long)took,
	       (long long)(counter(self->fd, "ib_partial_evicted") - before), HOGS);
	EXPECT_LT(took, 15000);
	crowd_goes(p, f, HOGS + 1);
}

TEST_HARNESS_MAIN
