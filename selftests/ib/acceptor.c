// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,rdma_ucm,ib_uverbs,veth netns=init */
/* vm: timeout=240 ref=0 lanes=uml */
/*
 * Who is dialled by our kernel: an acceptor in user space looks at each request, answers it in
 * every way that there is, and sees what comes next.
 *
 * It listens where rds_rdma would, for IPv6, before that is loaded, which goes without then.
 */
#include "acceptor.h"

#include <linux/sockios.h>

#define PORT	4000

FIXTURE(acceptor)
{
	struct rdma_event_channel *ch;
	struct rdma_cm_id *listener;
	struct call *c, *d;
	char addr[32];
	int fd;
};

static bool unloaded(void)
{
	return !run_cmd("rmmod rds_rdma 2>/dev/null");
}

static int listen_first(struct rdma_event_channel **ch, struct rdma_cm_id **id)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(16385) };

	if (!WAIT_UNTIL(unloaded()))
		return -1;
	*ch = rdma_create_event_channel();
	if (!*ch || rdma_create_id(*ch, id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(*id, (void *)&any) || rdma_listen(*id, 10))
		return -1;
	return run_cmd("modprobe rds_rdma");
}

/* An address that the device knows. */
static bool known(const char *addr)
{
	int fd = rds_bound(addr, PORT + 1);
	bool ib = fd >= 0 && get_int(fd, SOL_RDS, SO_RDS_TRANSPORT) == RDS_TRANS_IB;

	close(fd);
	return ib;
}

FIXTURE_SETUP(acceptor)
{
	self->fd = -1;
	self->c = calloc(1, sizeof(*self->c));
	self->d = calloc(1, sizeof(*self->d));
	ASSERT_EQ(0, listen_first(&self->ch, &self->listener));
	snprintf(self->addr, sizeof(self->addr), "fd05::%x", ++*peer_last);
	run_cmd("ip addr add %s/64 dev rdst0 nodad", self->addr);
	ASSERT_TRUE(WAIT_UNTIL(known(self->addr)));
	self->fd = rds_bound(A6, PORT);
	ASSERT_FD(self->fd);
}

FIXTURE_TEARDOWN(acceptor)
{
	call_end(self->c);
	call_end(self->d);
	close(self->fd);
	EXPECT_TRUE(WAIT_UNTIL(unloaded()));
	rdma_destroy_id(self->listener);
	rdma_destroy_event_channel(self->ch);
	RUN("modprobe rds_rdma");
	free(self->c);
	free(self->d);
}

#define REQUEST(c) ASSERT_TRUE(event(self->ch, RDMA_CM_EVENT_CONNECT_REQUEST, c))
#define END() ASSERT_TRUE(event(self->ch, RDMA_CM_EVENT_DISCONNECTED, NULL))

/* The answer to a request that says what an ordinary peer would. */
static struct priv6 ordinary(const struct call *c)
{
	struct priv6 d = { .major = 3, .minor = 1, .minors = htobe16(3) };

	memcpy(d.saddr, c->priv.daddr, 16);
	memcpy(d.daddr, c->priv.saddr, 16);
	return d;
}

static int answer_priv(struct call *c, struct priv6 d)
{
	return answer(c, &d, sizeof(d));
}

static void say(struct __test_metadata *_metadata, int fd, const char *addr, const char *text)
{
	int len = strlen(text);

	ASSERT_EQ(len, send_to(fd, addr, 9, text, len, 0));
}

#define SAY(text) say(_metadata, self->fd, self->addr, text)

/* The message comes by this link, and when it is acknowledged that is all. */
static void delivered(struct __test_metadata *_metadata, int fd, struct call *c,
		      const char *what)
{
	struct frame_hdr h;
	char text[9] = "";

	ASSERT_EQ((int)strlen(what), message(&c->p, &h, text));
	ASSERT_STREQ(what, text);
	ASSERT_EQ(0, ack(&c->p, h.seq));
	EXPECT_TRUE(WAIT_UNTIL(!outq(fd)));
}

#define DELIVERED(c, what) delivered(_metadata, self->fd, c, what)

static void as_first(struct __test_metadata *_metadata, const struct call *c, const char *addr)
{
	struct in6_addr a;

	EXPECT_EQ(sizeof(c->priv), c->len);
	inet_pton(AF_INET6, A6, &a);
	EXPECT_EQ(0, memcmp(c->priv.saddr, &a, 16));
	inet_pton(AF_INET6, addr, &a);
	EXPECT_EQ(0, memcmp(c->priv.daddr, &a, 16));
	EXPECT_EQ(3, c->priv.major);
	EXPECT_EQ(1, c->priv.minor);
	EXPECT_EQ(htobe16(3), c->priv.minors);
	EXPECT_EQ(0, c->priv.pad[0] | c->priv.pad[1] | c->priv.pad[2]);
	EXPECT_EQ(0, c->priv.ack_seq);
	EXPECT_NE(0, c->priv.instance);
}

TEST_F(acceptor, request__every_field)
{
	struct ibv_device_attr attr;
	unsigned char tos = 5;

	SAY("a");
	REQUEST(self->c);
	as_first(_metadata, self->c, self->addr);
	EXPECT_EQ(0, self->c->priv.tos);
	EXPECT_EQ(0, self->c->priv.credit);
	ASSERT_EQ(0, ibv_query_device(self->c->id->verbs, &attr));
	/* what is ours to begin is his to serve */
	EXPECT_EQ(least(attr.max_qp_init_rd_atom, 255), self->c->param.responder_resources);
	EXPECT_EQ(least(attr.max_qp_rd_atom, 255), self->c->param.initiator_depth);
	/* RoCE; see main.c */
	EXPECT_EQ(6, self->c->param.retry_count);
	EXPECT_EQ(7, self->c->param.rnr_retry_count);
	ASSERT_EQ(0, answer_priv(self->c, ordinary(self->c)));
	DELIVERED(self->c, "a");
	/* another type of service is another connection */
	close(self->fd);
	self->fd = rds_bound(A6, PORT);
	ASSERT_FD(self->fd);
	ASSERT_EQ(0, ioctl(self->fd, SIOCRDSSETTOS, &tos));
	SAY("b");
	REQUEST(self->d);
	as_first(_metadata, self->d, self->addr);
	EXPECT_EQ(5, self->d->priv.tos);
	EXPECT_EQ(self->c->priv.instance, self->d->priv.instance);
}

/* The module with a parameter; a socket to send by it, or -1. */
static int retries(const char *addr, int old, int told)
{
	close(old);
	if (!WAIT_UNTIL(unloaded()) ||
	    run_cmd("modprobe rds_rdma rds_ib_retry_count=%d", told) || !WAIT_UNTIL(known(addr)))
		return -1;
	return rds_bound(A6, PORT);
}

/* What the module was told, RoCE or not. */
TEST_F(acceptor, request__retry_count)
{
	self->fd = retries(self->addr, self->fd, 1);
	ASSERT_FD(self->fd);
	SAY("a");
	REQUEST(self->c);
	EXPECT_EQ(1, self->c->param.retry_count);
	ASSERT_EQ(0, answer_priv(self->c, ordinary(self->c)));
	DELIVERED(self->c, "a");
}

/* A request cannot say more than 7. */
TEST_F(acceptor, request__most_retries)
{
	self->fd = retries(self->addr, self->fd, 9);
	ASSERT_FD(self->fd);
	SAY("a");
	REQUEST(self->c);
	EXPECT_EQ(7, self->c->param.retry_count);
	ASSERT_EQ(0, answer_priv(self->c, ordinary(self->c)));
	DELIVERED(self->c, "a");
}

TEST_F(acceptor, answer__versions)
{
	static const uint8_t good[][2] = { { 3, 1 }, { 4, 0 }, { 4, 1 } };
	static const uint8_t bad[][2] = { { 3, 0 }, { 2, 1 }, { 4, 2 }, { 5, 1 }, { 1, 0 } };
	struct priv6 d;
	unsigned int i;

	SAY("a");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		REQUEST(self->c);
		as_first(_metadata, self->c, self->addr);
		d = ordinary(self->c);
		d.major = bad[i][0];
		d.minor = bad[i][1];
		ASSERT_EQ(0, answer_priv(self->c, d));
		END();
		call_end(self->c);
	}
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		REQUEST(self->c);
		as_first(_metadata, self->c, self->addr);
		d = ordinary(self->c);
		d.major = good[i][0];
		d.minor = good[i][1];
		ASSERT_EQ(0, answer_priv(self->c, d));
		DELIVERED(self->c, "a");
		SAY("a");
		/* who is left dials again */
		ASSERT_EQ(0, rdma_disconnect(self->c->id));
		call_end(self->c);
	}
}

/* An answer that cannot be told changes nothing. */
TEST_F(acceptor, answer__short)
{
	static const int len[] = { 0, 1, 33, 55 };
	struct priv6 d;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(len); i++) {
		SAY("a");
		REQUEST(self->c);
		d = ordinary(self->c);
		if (len[i] > 32)
			d.major = 0;
		ASSERT_EQ(0, answer(self->c, &d, len[i]));
		DELIVERED(self->c, "a");
		ASSERT_EQ(0, rdma_disconnect(self->c->id));
		call_end(self->c);
		/* our kernel dials again by itself */
		REQUEST(self->c);
		as_first(_metadata, self->c, self->addr);
		ASSERT_EQ(0, rdma_reject(self->c->id, NULL, 0));
		call_end(self->c);
	}
}

/* Whatever is said with a refusal, the same is asked again. */
TEST_F(acceptor, reject__kinds)
{
	static const int why[] = { 1, 0, -ENOMEM, 2, 7, 0x01000000 };
	__s64 before = counter(self->fd, "ib_rejected");
	unsigned int i;
	int err = 0;

	SAY("a");
	for (i = 0; i < ARRAY_SIZE(why) + 2; i++) {
		REQUEST(self->c);
		as_first(_metadata, self->c, self->addr);
		if (i < ARRAY_SIZE(why))
			err = rdma_reject(self->c->id, &why[i], sizeof(why[i]));
		else if (i == ARRAY_SIZE(why))
			err = rdma_reject(self->c->id, NULL, 0);
		ASSERT_EQ(0, err);
		/* or the CM does it, when the id goes */
		call_end(self->c);
	}
	REQUEST(self->c);
	EXPECT_EQ(before + i, counter(self->fd, "ib_rejected"));
	ASSERT_EQ(0, answer_priv(self->c, ordinary(self->c)));
	DELIVERED(self->c, "a");
}

/* The instance counts in an answer, too. */
TEST_F(acceptor, answer__instance)
{
	static const uint32_t who[] = { 7, 7, 8, 0, 0, 8 };
	static const bool other[] = { true, false, true, true, false, true };
	struct frame_hdr h;
	struct priv6 d;
	unsigned int i;
	char in[8];

	SAY("a");
	for (i = 0; i < ARRAY_SIZE(who); i++) {
		REQUEST(self->c);
		d = ordinary(self->c);
		d.instance = htobe32(who[i]);
		ASSERT_EQ(0, answer_priv(self->c, d));
		DELIVERED(self->c, "a");
		h = frame(1, 1, 9, PORT, 4);
		ASSERT_EQ(0, peer_send(&self->c->p, &h, "x", 1));
		h = frame(2, 1, 9, PORT, 0);
		ASSERT_EQ(0, peer_send(&self->c->p, &h, "y", 1));
		if (other[i]) {
			ASSERT_EQ(1, recv_wait(self->fd, in, sizeof(in)));
			EXPECT_EQ('x', in[0]) TH_LOG("link %d", i);
		}
		ASSERT_EQ(1, recv_wait(self->fd, in, sizeof(in)));
		EXPECT_EQ('y', in[0]) TH_LOG("link %d", i);
		SAY("a");
		ASSERT_EQ(0, rdma_disconnect(self->c->id));
		call_end(self->c);
	}
}

/* Frames of our kernel within a moment. */
static int frames(struct peer *p, int *credits)
{
	struct frame_hdr h;
	uint8_t *data;
	int n = 0;

	*credits = 0;
	for (; peer_recv(p, &h, &data, 500) > 0; n++)
		*credits += h.credit;
	return n;
}

/* Who has credits without having offered any; both; and one who did not want them. */
TEST_F(acceptor, credits__by_one_end)
{
	int i, n, granted;
	struct priv6 d;

	/* we offer none: those of the peer limit nothing */
	SAY("a");
	REQUEST(self->c);
	EXPECT_EQ(0, self->c->priv.credit);
	d = ordinary(self->c);
	d.credit = htobe32(3);
	ASSERT_EQ(0, answer_priv(self->c, d));
	for (i = 0; i < 9; i++)
		SAY("b");
	/* with the map, which is two */
	n = frames(&self->c->p, &granted);
	EXPECT_EQ(12, n);
	EXPECT_EQ(0, granted);

	/* we offer some, he does not: no limit either, but he may count on ours */
	RUN("echo 1 >/proc/sys/net/rds/ib/flow_control");
	ASSERT_EQ(0, rdma_disconnect(self->c->id));
	call_end(self->c);
	REQUEST(self->c);
	EXPECT_LT(0, be32toh(self->c->priv.credit));
	ASSERT_EQ(0, answer_priv(self->c, ordinary(self->c)));
	n = frames(&self->c->p, &granted);
	EXPECT_EQ(12, n);

	/* both: not more than he granted */
	ASSERT_EQ(0, rdma_disconnect(self->c->id));
	call_end(self->c);
	REQUEST(self->c);
	EXPECT_LT(0, be32toh(self->c->priv.credit));
	d = ordinary(self->c);
	d.credit = htobe32(6);
	ASSERT_EQ(0, answer_priv(self->c, d));
	n = frames(&self->c->p, &granted);
	EXPECT_LE(5, n);
	EXPECT_GE(6, n);
}

TEST_HARNESS_MAIN
