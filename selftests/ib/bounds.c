// SPDX-License-Identifier: GPL-2.0
/* vm: modules=rds_rdma,rds_tcp,rdma_rxe,rdma_ucm,veth netns=init timeout=300 ref=0 lanes=uml */
/*
 * What peers over verbs, and readers who do not read, can make us hold, and whom that stops:
 * nobody else, and not for ever.
 */
#include "flood.h"
#include "../fairclock.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

FIXTURE(bounds)
{
	struct peer *p;
	int fd, stuck;
	struct limits was;
};

FIXTURE_SETUP(bounds)
{
	int small = 8192;

	self->was = limits_now();
	self->p = calloc(1, sizeof(*self->p));
	self->fd = rds_bound(B4, PORT);
	ASSERT_FD(self->fd);
	self->stuck = rds_bound(B4, STUCK);
	ASSERT_FD(self->stuck);
	ASSERT_EQ(0, setsockopt(self->stuck, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)));
}

FIXTURE_TEARDOWN(bounds)
{
	limits_restore(&self->was);
	peer_close(self->p);
	free(self->p);
	close(self->fd);
	close(self->stuck);
}

/*
 * A link does not stop for him: what is behind it for others comes, acknowledgments count, and he
 * has the beginning of what was sent.
 */
TEST_F_TIMEOUT(bounds, reader__who_does_not_read, 100)
{
	struct flood *f;
	uint64_t seq;
	__s64 lost;
	int got;

	ASSERT_EQ(0, set_sysctl("max_peer_bytes", 2 << 20));
	lost = counter(self->fd, "recv_drop_full");
	ASSERT_EQ(0, peer_connect(self->p, B4));
	f = flood_new(self->p);
	ASSERT_NE(NULL, f);
	ASSERT_EQ(100, send_to(self->fd, self->p->addr, 9, f->data, 100, 0));
	seq = sent_seq(self->p, f);
	ASSERT_NE(0, seq);
	ASSERT_TRUE(fill_stuck(self->p, f, self->fd));
	EXPECT_EQ(100, outq(self->fd));
	ASSERT_EQ(0, peer_ack(self->p, seq));
	EXPECT_TRUE(WAIT_UNTIL(!outq(self->fd)));
	/* more than the ring has buffers */
	EXPECT_TRUE(flood(self->p, f, 1500, STUCK, 10000));
	got = f->posted;
	EXPECT_TRUE(flood(self->p, f, 1, PORT, 10000));
	EXPECT_EQ(4096, recv_wait(self->fd, f->data, 4096));
	lost = counter(self->fd, "recv_drop_full") - lost;
	EXPECT_LE(1500, lost);
	EXPECT_EQ(got - lost, read_stuck(self->stuck));
	TH_LOG("%d messages, %lld of them lost", got, lost);
	/* it may have as much again */
	EXPECT_TRUE(flood(self->p, f, 1, STUCK, 10000));
	EXPECT_EQ(4096, recv_wait(self->stuck, f->data, 4096));
	flood_free(f);
}

/*
 * Both ends ours: what one of them has for a reader who never reads keeps nobody from an
 * acknowledgment, however few buffers the link has.
 */
TEST_F_TIMEOUT(bounds, reader__who_never_reads_what_we_send, 100)
{
	static char data[4096];
	__s64 dropped;
	int from, i;

	/* no link yet, so nothing is known of congestion; when there is one it has few buffers */
	load_anew(_metadata, &self->fd, &self->stuck);
	ASSERT_EQ(0, set_sysctl("ib/max_link_allocation", 100));
	ASSERT_EQ(0, set_sysctl("ib/max_recv_wr", 64));
	ASSERT_EQ(0, set_int(self->stuck, SOL_SOCKET, SO_RCVBUF, 8192));
	from = rds_bound(A4, PORT);
	ASSERT_FD(from);
	ASSERT_EQ(0, set_int(from, SOL_SOCKET, SO_SNDBUFFORCE, 64 << 20));
	dropped = counter(self->fd, "recv_drop_full");
	for (i = 0; i < 3000; i++)
		if (send_to(from, B4, STUCK, data, 4096, MSG_DONTWAIT) != 4096)
			break;
	TH_LOG("%d messages are for him", i);
	ASSERT_LT(500, i);
	ASSERT_EQ(0, set_sysctl("ib/max_link_allocation", self->was.links));
	ASSERT_EQ(100, send_to(self->fd, A4, PORT, data, 100, 0));
	EXPECT_TRUE(WAIT_UNTIL(!outq(self->fd)));
	EXPECT_EQ(100, recv_wait(from, data, 100));
	/* an honest peer does not send more than he may have */
	EXPECT_EQ(dropped, counter(self->fd, "recv_drop_full"));
	close(from);
}

/* ---- messages received in part ------------------------------------------------- */

#define HOSTS	3

/*
 * Two peers leave nearly all of a message with us, and a third one sends all of his: it waits, the
 * first one goes, the message comes.
 */
TEST_F_TIMEOUT(bounds, partial__max_peer_bytes, 60)
{
	static char in[1 << 20];
	struct flood *f[HOSTS];
	struct peer *p[HOSTS];
	__s64 before, waits;
	int i;

	ASSERT_EQ(0, set_sysctl("max_peer_bytes", 2 << 20));
	before = counter(self->fd, "ib_partial_evicted");
	waits = counter(self->fd, "recv_partial_limit");
	for (i = 0; i < HOSTS; i++) {
		p[i] = calloc(1, sizeof(*p[i]));
		ASSERT_EQ(0, peer_connect(p[i], B4));
		f[i] = flood_new(p[i]);
		ASSERT_NE(NULL, f[i]);
		if (i < HOSTS - 1)
			ASSERT_TRUE(fragments(p[i], f[i], 255, 10000));
	}
	fragments(p[HOSTS - 1], f[HOSTS - 1], 256, 500);
	EXPECT_TRUE(WAIT_UNTIL(waits < counter(self->fd, "recv_partial_limit")));
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, peer_event(p[0], PEER_WAIT));
	EXPECT_LT(before, counter(self->fd, "ib_partial_evicted"));
	EXPECT_EQ(1 << 20, recv_wait(self->fd, in, sizeof(in)));
	EXPECT_EQ(0, memcmp(in, f[HOSTS - 1]->data, 4096));
	for (i = 0; i < HOSTS; i++) {
		flood_free(f[i]);
		peer_close(p[i]);
		free(p[i]);
	}
}

/*
 * However much of it others hold: each link has a few buffers of its own, so a peer comes in at
 * once, what he sends gets through, and nobody is dropped for it.
 */
TEST_F_TIMEOUT(bounds, partial__max_recv_allocation, 60)
{
	static char in[1 << 20];
	__s64 evicted, limited;
	struct peer *p[HOSTS];
	struct flood *f[HOSTS];
	int i;

	load_anew(_metadata, &self->fd, &self->stuck);
	evicted = counter(self->fd, "ib_partial_evicted");
	limited = counter(self->fd, "ib_rx_alloc_limit");
	for (i = 0; i < HOSTS; i++) {
		p[i] = calloc(1, sizeof(*p[i]));
		ASSERT_EQ(0, peer_connect(p[i], B4));
		f[i] = flood_new(p[i]);
		ASSERT_NE(NULL, f[i]);
		if (i < HOSTS - 1)
			EXPECT_TRUE(fragments(p[i], f[i], 255, 10000));
		/* less than the first one holds */
		EXPECT_EQ(0, set_sysctl("ib/max_recv_allocation", 100));
	}
	EXPECT_TRUE(fragments(p[HOSTS - 1], f[HOSTS - 1], 256, 10000));
	EXPECT_EQ(1 << 20, recv_wait(self->fd, in, sizeof(in)));
	EXPECT_EQ(0, memcmp(in, f[HOSTS - 1]->data, 4096));
	EXPECT_EQ(100, send_to(self->fd, p[HOSTS - 1]->addr, 9, in, 100, 0));
	EXPECT_NE(0, sent_seq(p[HOSTS - 1], f[HOSTS - 1]));
	/* the others have not lost theirs, and waited long enough for that */
	EXPECT_EQ(-1, peer_event(p[0], 6000));
	for (i = 0; i < HOSTS - 1; i++) {
		EXPECT_TRUE(fragments(p[i], f[i], 1, 10000));
		EXPECT_EQ(1 << 20, recv_wait(self->fd, in, sizeof(in)));
	}
	EXPECT_EQ(evicted, counter(self->fd, "ib_partial_evicted"));
	EXPECT_LT(limited, counter(self->fd, "ib_rx_alloc_limit"));
	for (i = 0; i < HOSTS; i++) {
		flood_free(f[i]);
		peer_close(p[i]);
		free(p[i]);
	}
}

/* Peers' links beyond the bound are refused, and leave nothing behind. */
TEST_F(bounds, links__memory)
{
	__s64 conns, limit, refused;
	struct priv4 d;

	ASSERT_LT(10000, self->was.links);
	ASSERT_EQ(0, set_sysctl("ib/max_link_allocation", 100));
	conns = counter(self->fd, "conn_created");
	limit = counter(self->fd, "ib_link_limit");
	refused = counter(self->fd, "ib_connect_refused");
	ASSERT_EQ(0, peer_open(self->p, B4));
	d = peer_priv(self->p, B4);
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, peer_request(self->p, &d, sizeof(d)));
	EXPECT_EQ(conns, counter(self->fd, "conn_created"));
	EXPECT_EQ(refused + 1, counter(self->fd, "ib_connect_refused"));
	/* also counts links that we dial: to peers of tests before this one */
	EXPECT_LT(limit, counter(self->fd, "ib_link_limit"));
	peer_close(self->p);
	ASSERT_EQ(0, set_sysctl("ib/max_link_allocation", self->was.links));
	EXPECT_EQ(0, peer_connect(self->p, B4));
}

/* Nor may our own users have all: a link that we dial waits until there is room. */
TEST_F(bounds, links__dialled)
{
	__s64 refused, limit;
	char in[10] = "";
	int to = -1;

	RUN("ip addr replace 10.5.0.250/24 dev rdst0");
	EXPECT_TRUE(WAIT_UNTIL((to = rds_bound("10.5.0.250", PORT)) >= 0));
	ASSERT_EQ(0, set_sysctl("ib/max_link_allocation", 100));
	limit = counter(self->fd, "ib_link_limit");
	refused = counter(self->fd, "ib_connect_refused");
	ASSERT_EQ(4, send_to(self->fd, "10.5.0.250", PORT, "room", 4, 0));
	EXPECT_TRUE(WAIT_UNTIL(limit + 1 < counter(self->fd, "ib_link_limit")));
	/* it did not even ask */
	EXPECT_EQ(refused, counter(self->fd, "ib_connect_refused"));
	EXPECT_EQ(-1, recv(to, in, sizeof(in), MSG_DONTWAIT));
	ASSERT_EQ(0, set_sysctl("ib/max_link_allocation", self->was.links));
	EXPECT_EQ(4, recv_wait(to, in, sizeof(in)));
	EXPECT_EQ(0, memcmp(in, "room", 4));
	close(to);
}

/* ---- operations behind something that does not move ------------------------------ */

/* A write of 8 bytes to nowhere in particular, with a notification. */
static int send_write(int fd, const char *to, void *mem)
{
	struct rds_iovec v = { (long)mem, 8 };
	struct rds_rdma_args a = {
		.cookie = 0x1234, .remote_vec = { 0, 8 }, .local_vec_addr = (long)&v, .nr_local = 1,
		.flags = RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME, .user_token = 7,
	};

	return send_cmsg(fd, to, 9, "x", 1, 0, RDS_CMSG_RDMA_ARGS, &a, sizeof(a)) == 1 ? 0 : -1;
}

/* The status of a notification, -1 if there is none. */
static int note_status(int fd)
{
	struct rds_rdma_notify n;
	struct cmsghdr *h;
	struct rx rx;
	char b[8];

	if (rx_msg(fd, b, sizeof(b), MSG_DONTWAIT, &rx) < 0)
		return -1;
	h = rx_cmsg(&rx, SOL_RDS, RDS_CMSG_RDMA_STATUS);
	if (!h)
		return -1;
	memcpy(&n, CMSG_DATA(h), sizeof(n));
	return n.status;
}

/*
 * The peer's bad request breaks our queue pair; until the link is dropped nothing is begun on it
 * that could not be executed.  The next link, to this very machine, refuses the key.
 */
TEST_F(bounds, op__not_begun_on_a_broken_link)
{
	struct ibv_send_wr wr = { .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE }, *bad;
	struct ibv_sge sge;
	struct ibv_wc wc;
	__u64 mem = 0;
	int status;

	ASSERT_EQ(0, peer_connect(self->p, B4));
	/* until the greeting is through */
	usleep(200000);
	sge = (struct ibv_sge){ (long)self->p->mem[0], 8, self->p->mr->lkey };
	wr.sg_list = &sge;
	wr.wr.rdma.rkey = 0x4711;
	ASSERT_EQ(0, ibv_post_send(self->p->id->qp, &wr, &bad));
	while (ibv_poll_cq(self->p->scq, 1, &wc) != 1)
		;
	ASSERT_EQ(IBV_WC_REM_ACCESS_ERR, wc.status);
	ASSERT_EQ(0, send_write(self->fd, self->p->addr, &mem));
	while ((status = note_status(self->fd)) == -1)
		poll_for(self->fd, POLLIN, 100);
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, status);
}

/* close() waits for an operation, but not for ever for a peer that takes nothing. */
TEST_F_TIMEOUT(bounds, op__close_behind_what_the_peer_does_not_take, 60)
{
	__s64 start, fair, before = counter(self->fd, "send_close_dropped");
	__u64 mem = 0;
	long pins;
	int i;

	ASSERT_EQ(0, peer_connect(self->p, B4));
	pins = pinned();
	/* more than the peer has buffers; he does not post them again */
	for (i = 0; i < 2 * PEER_BUFS; i++)
		ASSERT_EQ(1, send_to(self->fd, self->p->addr, 9, "y", 1, 0));
	ASSERT_EQ(0, send_write(self->fd, self->p->addr, &mem));
	usleep(300000);
	start = now_ms();
	fair = fair_ms();
	close(self->fd);
	EXPECT_LT(1000, now_ms() - start);
	EXPECT_GT(20000, fair_ms() - fair);
	EXPECT_TRUE(WAIT_UNTIL(pins == pinned()));
	self->fd = rds_bound(B4, PORT);
	EXPECT_EQ(before + 1, counter(self->fd, "send_close_dropped"));
}

/*
 * Our request to a peer with the larger address takes precedence over his, but it is lost: the CM
 * would repeat it after four seconds.
 */
TEST_F_TIMEOUT(bounds, duel__request_is_lost, 60)
{
	int tries, event = -1;
	__s64 start;
	struct priv4 d;

	RUN("ip neigh replace 10.5.0.200 lladdr 02:00:00:00:00:99 dev rdst0 nud permanent");
	ASSERT_EQ(1, send_to(self->fd, "10.5.0.200", 9, "x", 1, 0));
	usleep(100000);
	start = fair_ms();
	for (tries = 0; event != RDMA_CM_EVENT_ESTABLISHED && tries < 30; tries++) {
		*peer_last = 199;
		if (tries)
			peer_close(self->p);
		ASSERT_EQ(0, peer_open(self->p, B4));
		d = peer_priv(self->p, B4);
		event = peer_request(self->p, &d, sizeof(d));
		usleep(50000);
	}
	TH_LOG("%d requests, %lld ms", tries, fair_ms() - start);
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event);
	EXPECT_GT(2000, fair_ms() - start);
	*peer_last = 100;
	run_cmd("ip neigh del 10.5.0.200 dev rdst0");
}

/*
 * The second of two requests counts, however soon it comes.  The CM hands them to the workers of
 * several processors, so that a few change places; then it is the other one that counts.
 */
TEST_F_TIMEOUT(bounds, requests__two_at_once, 100)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct peer *q = calloc(1, sizeof(*q));
	int i, swapped = 0;
	struct priv4 d;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, peer_open(q, B4));
		--*peer_last;
		ASSERT_EQ(0, peer_open(self->p, B4));
		d = peer_priv(self->p, B4);
		param.private_data = &d;
		param.private_data_len = sizeof(d);
		ASSERT_EQ(0, rdma_connect(q->id, &param));
		usleep(i * 200);
		if (peer_request(self->p, &d, sizeof(d)) != RDMA_CM_EVENT_ESTABLISHED) {
			EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, peer_event(q, PEER_WAIT));
			swapped++;
		}
		peer_close(self->p);
		peer_close(q);
	}
	TH_LOG("%d changed places", swapped);
	EXPECT_GT(7, swapped);
	free(q);
}

/* Packets that the device has sent. */
static long packets(void)
{
	return file_number("/sys/class/infiniband/rxe_t/ports/1/hw_counters/sent_pkts");
}

/* Addresses of this machine are local again: at once, for a request does not wait for long. */
static bool rule_local(void)
{
	struct {
		struct nlmsghdr h;
		struct fib_rule_hdr rule;
		struct nlattr a;
		__u32 pref;
	} m = {
		.h = { sizeof(m), RTM_NEWRULE, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL },
		.rule = { .family = AF_INET, .table = RT_TABLE_LOCAL, .action = FR_ACT_TO_TBL },
		.a = { sizeof(m.a) + sizeof(m.pref), FRA_PRIORITY },
	};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	bool ok = send(fd, &m, sizeof(m), 0) == sizeof(m);

	close(fd);
	return ok;
}

/*
 * Send a message from @from to @to, which is an address of this machine, by a way that ends
 * nowhere: our request stays on its way, while the peer at @to asks for the same.
 */
static bool request_into_nothing(int fd, const char *from, const char *to)
{
	long before;
	bool sent;

	if (run_cmd("ip neigh replace %s lladdr 02:00:00:00:00:99 dev rdst0 nud permanent", to) ||
	    run_cmd("ip route replace %s dev rdst0 table 99", to) ||
	    run_cmd("ip rule add pref 2 lookup local && ip rule del pref 0") ||
	    run_cmd("ip rule add pref 1 from %s to %s lookup 99", from, to))
		return false;
	before = packets();
	sent = send_to(fd, to, 9, to, sizeof("10.5.0.0"), 0) > 0 && before >= 0 &&
	       WAIT_UNTIL(packets() > before);
	return rule_local() && sent;
}

static void restore_rules(void)
{
	run_cmd("ip rule del pref 1; ip rule del pref 2");
}

/*
 * Both ends dial at once: of the two requests that of the smaller address counts, at either end.
 * Ours is too old for that after a quarter of a second, which a slow machine may miss.
 */
TEST_F_TIMEOUT(bounds, requests__both_ends_at_once, 60)
{
	int last, tries, event = -1;
	struct frame_hdr h;
	struct priv4 d;
	uint8_t *data;
	__s64 raced;

	load_anew(_metadata, &self->fd, &self->stuck);
	raced = counter(self->fd, "ib_connect_raced");
	for (tries = 0; tries < 10 && event != RDMA_CM_EVENT_REJECTED; tries++) {
		peer_close(self->p);
		ASSERT_EQ(0, peer_open(self->p, B4));
		d = peer_priv(self->p, B4);
		ASSERT_TRUE(request_into_nothing(self->fd, B4, self->p->addr));
		event = peer_request(self->p, &d, sizeof(d));
		restore_rules();
	}
	TH_LOG("met in round %d", tries);
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, event);
	EXPECT_EQ(raced + 1, counter(self->fd, "ib_connect_raced"));
	peer_close(self->p);

	RUN("ip addr replace 10.5.0.250/24 dev rdst0");
	ASSERT_TRUE(WAIT_UNTIL((last = rds_bound("10.5.0.250", PORT)) >= 0));
	ASSERT_EQ(0, peer_open(self->p, "10.5.0.250"));
	d = peer_priv(self->p, "10.5.0.250");
	ASSERT_TRUE(request_into_nothing(last, "10.5.0.250", self->p->addr));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, peer_request(self->p, &d, sizeof(d)));
	restore_rules();
	while (peer_recv(self->p, &h, &data, PEER_WAIT) > 0 && !h.sport)
		;
	EXPECT_EQ(htobe16(PORT), h.sport);
	EXPECT_EQ(raced + 1, counter(self->fd, "ib_connect_raced"));
	close(last);
}

/* A socket of TCP on an address of ours may have messages that only rds_rdma can read. */
TEST_F(bounds, module__stays_for_what_is_unread)
{
	static uint16_t in[4096];
	struct flood *f;
	int tcp;

	tcp = rds_socket();
	ASSERT_FD(tcp);
	ASSERT_EQ(0, set_int(tcp, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP));
	ASSERT_EQ(0, rds_bind(tcp, B4, PORT + 9));
	ASSERT_EQ(0, peer_connect(self->p, B4));
	f = flood_new(self->p);
	ASSERT_NE(NULL, f);
	ASSERT_TRUE(flood(self->p, f, 1, PORT + 9, 5000));
	EXPECT_TRUE(wait_data(tcp));
	flood_free(f);
	peer_close(self->p);
	close(self->fd);
	close(self->stuck);
	/* not for some other reason, which would go away */
	usleep(1000000);
	ASSERT_NE(0, module_del());
	EXPECT_EQ(4096, recv_wait(tcp, in, sizeof(in)));
	EXPECT_EQ(1, in[1]);
	EXPECT_TRUE(WAIT_UNTIL(!module_del()));
	RUN("modprobe rds_rdma");
	close(tcp);
	self->fd = rds_bound(B4, PORT);
	self->stuck = rds_bound(B4, STUCK);
}

TEST_HARNESS_MAIN
