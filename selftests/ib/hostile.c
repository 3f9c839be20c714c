// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,rdma_ucm,ib_uverbs,veth netns=init */
/* vm: timeout=180 ref=0 lanes=uml */
/*
 * What goes over the wire, as a peer in user space sees it, and what becomes of peers that
 * break the rules: private data, versions, the first frame, fragments, acknowledgments,
 * retransmission, and each kind of bad frame.
 */
#include "peer.h"
#include "../fairclock.h"

#define PORT	4000

FIXTURE(wire)
{
	struct peer *p;
	int fd;
};

FIXTURE_SETUP(wire)
{
	self->p = calloc(1, sizeof(*self->p));
	self->fd = rds_socket();
	ASSERT_EQ(0, rds_bind(self->fd, B4, PORT));
}

FIXTURE_TEARDOWN(wire)
{
	peer_close(self->p);
	free(self->p);
	close(self->fd);
}

static bool sum_ok(const struct frame_hdr *h)
{
	struct frame_hdr c = *h;

	c.csum = 0;
	return h->csum && frame_sum(&c) == be16toh(h->csum);
}

/* Skip the map that every link begins with. */
static int skip_map(struct peer *p)
{
	struct frame_hdr h;
	uint8_t *data;
	int i;

	for (i = 0; i < 2; i++)
		if (peer_recv(p, &h, &data, 5000) != 48 + 4096 || h.flags != 1)
			return -1;
	return 0;
}

TEST_F(wire, reply__private_data)
{
	struct priv4 d;

	ASSERT_EQ(0, peer_connect(self->p, B4));
	ASSERT_GE(self->p->reply_len, (int)sizeof(d));
	memcpy(&d, self->p->reply, sizeof(d));
	EXPECT_EQ(inet_addr(B4), d.saddr);
	EXPECT_EQ(inet_addr(self->p->addr), d.daddr);
	EXPECT_EQ(3, d.major);
	EXPECT_EQ(1, d.minor);
	EXPECT_EQ(htobe16(3), d.minors);
	EXPECT_EQ(0, d.tos);
	EXPECT_EQ(0, d.pad[0] | d.pad[1] | d.pad[2]);
	EXPECT_EQ(0, d.ack_seq);
	EXPECT_EQ(0, d.credit);
}

struct proposal {
	int major, minor, minors, want;
};

/* What is proposed, and the version of the answer; 0: refused with the number 1. */
TEST_F(wire, versions)
{
	static const struct proposal v[] = {
		{ 3, 1, 3, 0x301 }, { 4, 1, 3, 0x401 }, { 4, 0, 1, 0x400 }, { 4, 7, 3, 0x401 },
		{ 4, 1, 0xfffc, 0 }, { 0, 0, 0, 0x400 }, { 3, 0, 3, 0 }, { 2, 1, 3, 0 },
		{ 5, 1, 3, 0 },
	};
	struct priv4 d;
	unsigned int i;
	int why;

	for (i = 0; i < sizeof(v) / sizeof(*v); i++) {
		ASSERT_EQ(0, peer_open(self->p, B4));
		d = peer_priv(self->p, B4);
		d.major = v[i].major;
		d.minor = v[i].minor;
		d.minors = htobe16(v[i].minors);
		if (v[i].want) {
			EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, peer_request(self->p, &d, sizeof(d)));
			memcpy(&d, self->p->reply, sizeof(d));
			EXPECT_EQ(v[i].want, d.major << 8 | d.minor);
		} else {
			EXPECT_EQ(RDMA_CM_EVENT_REJECTED, peer_request(self->p, &d, sizeof(d)));
			memcpy(&why, self->p->reply, sizeof(why));
			EXPECT_EQ(1, why);
		}
		peer_close(self->p);
	}
}

/* Addresses in the private data that are not those of the CM. */
TEST_F(wire, addresses__of_somebody_else)
{
	struct priv4 d;
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, peer_open(self->p, B4));
		d = peer_priv(self->p, B4);
		if (i)
			d.saddr = inet_addr("10.5.0.250");
		else
			d.daddr = inet_addr(A4);
		EXPECT_EQ(RDMA_CM_EVENT_REJECTED, peer_request(self->p, &d, sizeof(d)));
		peer_close(self->p);
	}
}

/* The same over IPv6; each byte of an address counts. */
TEST_F(wire, addresses__of_somebody_else_v6)
{
	struct priv6 d;
	int i;

	for (i = 0; i < 32; i += i == 15 || i == 16 ? 1 : 5) {
		ASSERT_EQ(0, peer_open(self->p, B6));
		d = (struct priv6){ .major = 3, .minor = 1, .minors = htobe16(3) };
		inet_pton(AF_INET6, self->p->addr, d.saddr);
		inet_pton(AF_INET6, B6, d.daddr);
		((uint8_t *)&d)[i] ^= 1;
		EXPECT_EQ(RDMA_CM_EVENT_REJECTED, peer_request(self->p, &d, sizeof(d)));
		((uint8_t *)&d)[i] ^= 1;
		peer_close(self->p);
	}
	ASSERT_EQ(0, peer_open(self->p, B6));
	inet_pton(AF_INET6, self->p->addr, d.saddr);
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, peer_request(self->p, &d, sizeof(d)));
}

TEST_F(wire, first_frame__is_the_map)
{
	struct frame_hdr h;
	uint8_t *data;
	int i, j;

	ASSERT_EQ(0, peer_connect(self->p, B4));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(48 + 4096, peer_recv(self->p, &h, &data, 5000));
		EXPECT_EQ(1, h.flags);
		EXPECT_EQ(0, h.seq);
		EXPECT_EQ(8192, be32toh(h.len));
		EXPECT_EQ(0, h.sport | h.dport);
		EXPECT_TRUE(sum_ok(&h));
		for (j = 0; j < 16; j++)
			EXPECT_EQ(0, h.ext[j]);
		for (j = 0; j < 4096; j++)
			ASSERT_EQ(0, data[j]);
	}
}

/* A full receive queue sets the bit of its port. */
TEST_F(wire, map__bit_of_a_full_queue)
{
	static uint8_t data[4096];
	struct frame_hdr h;
	uint8_t *map;
	int i, small = 8192;

	ASSERT_EQ(0, setsockopt(self->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)));
	ASSERT_EQ(0, peer_connect(self->p, B4));
	ASSERT_EQ(0, skip_map(self->p));
	for (i = 1; i <= 10; i++) {
		h = frame(i, 4096, 7, PORT, 0);
		ASSERT_EQ(0, peer_send(self->p, &h, data, 4096));
	}
	do {
		i = peer_recv(self->p, &h, &map, 5000);
		ASSERT_LT(0, i);
	} while (h.flags != 1);
	ASSERT_EQ(48 + 4096, i);
	EXPECT_EQ(1 << PORT % 8, map[PORT / 8]);
}

TEST_F(wire, message__fragments_and_headers)
{
	static char out[10000];
	struct frame_hdr h, first;
	uint8_t *data;
	int i, n;

	for (i = 0; i < (int)sizeof(out); i++)
		out[i] = i * 7 + i / 256;
	ASSERT_EQ(0, peer_connect(self->p, B4));
	ASSERT_EQ(0, skip_map(self->p));
	ASSERT_EQ((int)sizeof(out), send_to(self->fd, self->p->addr, 9, out, sizeof(out), 0));
	for (i = 0; i < 3; i++) {
		n = i < 2 ? 4096 : 10000 - 8192;
		ASSERT_EQ(48 + n, peer_recv(self->p, &h, &data, 5000));
		EXPECT_EQ(0, memcmp(data, out + i * 4096, n));
		EXPECT_TRUE(sum_ok(&h));
		EXPECT_EQ(PORT, be16toh(h.sport));
		EXPECT_EQ(9, be16toh(h.dport));
		EXPECT_EQ(10000, be32toh(h.len));
		EXPECT_EQ(0, h.credit);
		EXPECT_EQ(0, h.ack);
		/* nothing waits behind it, and this peer acknowledges only if asked to */
		EXPECT_EQ(2, h.flags);
		if (!i)
			first = h;
		else
			EXPECT_EQ(0, memcmp(&h, &first, sizeof(h)));
	}
	EXPECT_NE(0, first.seq);
	/* Without payload it is one header. */
	ASSERT_EQ(0, send_to(self->fd, self->p->addr, 9, NULL, 0, 0));
	ASSERT_EQ(48, peer_recv(self->p, &h, &data, 5000));
	EXPECT_EQ(be64toh(first.seq) + 1, be64toh(h.seq));
	EXPECT_EQ(PORT, be16toh(h.sport));
}

TEST_F(wire, ack__when_asked_and_later)
{
	static char in[64];
	struct frame_hdr h;
	uint8_t *data;

	ASSERT_EQ(0, peer_connect(self->p, B4));
	ASSERT_EQ(0, skip_map(self->p));
	h = frame(5, 3, 9, PORT, 2);
	ASSERT_EQ(0, peer_send(self->p, &h, "abc", 3));
	ASSERT_EQ(48, peer_recv(self->p, &h, &data, 5000));
	EXPECT_EQ(5, be64toh(h.ack));
	EXPECT_EQ(0, h.seq | h.len | h.sport | h.dport | h.flags | h.credit);
	EXPECT_TRUE(sum_ok(&h));
	ASSERT_EQ(3, recv(self->fd, in, sizeof(in), 0));
	EXPECT_EQ(0, memcmp(in, "abc", 3));
	/* not asked: a little later */
	h = frame(6, 0, 9, PORT, 0);
	ASSERT_EQ(0, peer_send(self->p, &h, NULL, 0));
	ASSERT_EQ(48, peer_recv(self->p, &h, &data, 5000));
	EXPECT_EQ(6, be64toh(h.ack));
	ASSERT_EQ(0, recv(self->fd, in, sizeof(in), 0));
	/* the same again, as after a reconnect: not delivered, but acknowledged */
	h = frame(6, 0, 9, PORT, 2 | 4);
	ASSERT_EQ(0, peer_send(self->p, &h, NULL, 0));
	ASSERT_EQ(48, peer_recv(self->p, &h, &data, 5000));
	EXPECT_EQ(6, be64toh(h.ack));
	EXPECT_EQ(-1, recv(self->fd, in, sizeof(in), MSG_DONTWAIT));
	EXPECT_EQ(EAGAIN, errno);
}

/* A peer of the old kind looks at nothing before a frame with the solicited bit. */
TEST_F(wire, solicited__last_fragments_and_acks)
{
	static char out[3 * 4096];
	struct frame_hdr h;
	uint8_t *data;
	int i;

	ASSERT_EQ(0, peer_connect(self->p, B4));
	ASSERT_EQ(0, skip_map(self->p));
	/* a message of one fragment, and of three: one event, when all of it is there */
	ASSERT_EQ(0, ibv_req_notify_cq(self->p->rcq, 1));
	ASSERT_EQ(10, send_to(self->fd, self->p->addr, 9, out, 10, 0));
	EXPECT_TRUE(peer_solicited(self->p, 5000));
	ASSERT_EQ(58, peer_recv(self->p, &h, &data, 0));
	ASSERT_EQ(0, ibv_req_notify_cq(self->p->rcq, 1));
	ASSERT_EQ((int)sizeof(out), send_to(self->fd, self->p->addr, 9, out, sizeof(out), 0));
	EXPECT_TRUE(peer_solicited(self->p, 5000));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(4144, peer_recv(self->p, &h, &data, 0));
	/* an acknowledgment */
	ASSERT_EQ(0, ibv_req_notify_cq(self->p->rcq, 1));
	h = frame(1, 0, 9, PORT, 2);
	ASSERT_EQ(0, peer_send(self->p, &h, NULL, 0));
	EXPECT_TRUE(peer_solicited(self->p, 5000));
	ASSERT_EQ(48, peer_recv(self->p, &h, &data, 0));
	EXPECT_EQ(1, be64toh(h.ack));
}

/* What the peer acknowledges leaves the send queue, and no more than that. */
TEST_F(wire, ack__frees_the_sender)
{
	struct frame_hdr h, a;
	int left = -1, tries;
	uint64_t seq = 0;
	uint8_t *data;
	int i;

	ASSERT_EQ(0, peer_connect(self->p, B4));
	ASSERT_EQ(0, skip_map(self->p));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(100, send_to(self->fd, self->p->addr, 9, self->p->mem, 100, 0));
		ASSERT_EQ(148, peer_recv(self->p, &h, &data, 5000));
		if (i == 1)
			seq = be64toh(h.seq);
	}
	ioctl(self->fd, SIOCOUTQ, &left);
	EXPECT_EQ(300, left);
	a = frame(0, 0, 0, 0, 0);
	a.ack = htobe64(seq);
	a.csum = 0;
	a.csum = htobe16(frame_sum(&a));
	ASSERT_EQ(0, peer_send(self->p, &a, NULL, 0));
	for (tries = 0; tries < 500 && left != 100; tries++) {
		usleep(10000);
		ioctl(self->fd, SIOCOUTQ, &left);
	}
	EXPECT_EQ(100, left);
}

/* No checksum is a valid one. */
TEST_F(wire, checksum__zero_is_none)
{
	char in[8];
	struct frame_hdr h;

	ASSERT_EQ(0, peer_connect(self->p, B4));
	h = frame(1, 2, 9, PORT, 0);
	h.csum = 0;
	ASSERT_EQ(0, peer_send(self->p, &h, "xy", 2));
	ASSERT_EQ(2, recv(self->fd, in, sizeof(in), 0));
}

/* Who connects once more has lost the link that is up: if he has. */
TEST_F(wire, connect__again)
{
	struct peer *q = calloc(1, sizeof(*q));
	struct frame_hdr h;
	struct priv4 d;
	__s64 alive;
	char in[8];

	ASSERT_EQ(0, peer_connect(self->p, B4));
	alive = counter(self->fd, "ib_listen_alive");
	--*peer_last;
	ASSERT_EQ(0, peer_open(q, B4));
	d = peer_priv(q, B4);
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, peer_request(q, &d, sizeof(d)));
	EXPECT_EQ(alive + 1, counter(self->fd, "ib_listen_alive"));
	peer_close(q);
	h = frame(1, 2, 9, PORT, 0);
	ASSERT_EQ(0, peer_send(self->p, &h, "ab", 2));
	ASSERT_EQ(2, recv(self->fd, in, sizeof(in), 0));
	peer_crash(self->p);
	--*peer_last;
	ASSERT_EQ(0, peer_connect(q, B4));
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, peer_event(self->p, PEER_WAIT));
	ASSERT_EQ(0, skip_map(q));
	h = frame(2, 2, 9, PORT, 0);
	ASSERT_EQ(0, peer_send(q, &h, "xy", 2));
	ASSERT_EQ(2, recv(self->fd, in, sizeof(in), 0));
	peer_close(q);
	free(q);
}

/* ---- what ends a link -------------------------------------------------------- */

struct bad {
	const char *name, *counter;
	int len, n, opcode;	/* length in the header, payload bytes of the frame */
	int csum, cut;		/* added to the checksum; bytes cut off the header */
	int second;		/* after a first fragment of 8192 bytes */
	int seq;		/* of it */
};

static const struct bad bad[] = {
	{ "checksum", "recv_drop_bad_checksum", 4, 4, .csum = 1 },
	{ "half a header", "ib_drop_short", 0, 0, .cut = 1 },
	{ "nothing at all", "ib_drop_short", 0, 0, .cut = 48 },
	{ "less than the length", "ib_drop_short", 4097, 4095 },
	{ "less than the length, one fragment", "ib_drop_short", 100, 99 },
	{ "no payload", "ib_drop_short", 100, 0 },
	{ "more than 1 MiB", "ib_drop_bad_len", (1 << 20) + 1, 4096 },
	{ "4 GiB", "ib_drop_bad_len", -1, 4096 },
	{ "immediate data", "ib_drop_bad_wc", 4, 4, IBV_WR_SEND_WITH_IMM },
	{ "longer than a buffer", "ib_drop_wc_error", 4096, 4097 },
	{ "another sequence", "ib_drop_mismatch", 8192, 4096, .second = 1, .seq = 2 },
	{ "another length", "ib_drop_mismatch", 8191, 4095, .second = 1, .seq = 1 },
	{ "a short second fragment", "ib_drop_short", 8192, 4095, .second = 1, .seq = 1 },
};

/* The frame's length, in the scratch buffer, or -1. */
static int make_bad(struct peer *p, const struct bad *b)
{
	static const uint8_t data[4100];
	struct frame_hdr h;

	if (b->second) {
		h = frame(1, 8192, 9, PORT, 0);
		if (peer_send(p, &h, data, 4096))
			return -1;
	}
	h = frame(b->second ? b->seq : 1, b->len, 9, PORT, 0);
	h.csum = htobe16(be16toh(h.csum) + b->csum);
	memcpy(p->mem[PEER_BUFS], &h, sizeof(h));
	memset(p->mem[PEER_BUFS] + sizeof(h), 0, b->n);
	return sizeof(h) + b->n - b->cut;
}

static int send_bad(struct peer *p, const struct bad *b)
{
	int n = make_bad(p, b);

	if (n < 0)
		return -1;
	peer_send_raw(p, n, b->opcode ? b->opcode : IBV_WR_SEND);
	return 0;
}

TEST_F(wire, bad_frames__end_the_link)
{
	unsigned int i;
	int before;
	char in[8];

	ASSERT_EQ(0, trace_drops());
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		before = (int)counter(self->fd, bad[i].counter);
		ASSERT_LE(0, before);
		ASSERT_EQ(0, peer_connect(self->p, B4));
		ASSERT_EQ(0, skip_map(self->p));
		ASSERT_EQ(0, send_bad(self->p, &bad[i])) TH_LOG("%s", bad[i].name);
		EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, peer_event(self->p, PEER_WAIT))
			TH_LOG("%s", bad[i].name);
		EXPECT_LT(before, (int)counter(self->fd, bad[i].counter)) TH_LOG("%s", bad[i].name);
		peer_close(self->p);
	}
	EXPECT_TRUE(traced_drops("BAD_CHECKSUM", 1));
	EXPECT_EQ(-1, recv(self->fd, in, sizeof(in), MSG_DONTWAIT));
}

#define MUTE	20

/* Milliseconds until a peer that comes now is served, or -1. */
static int served(struct peer *p, int fd)
{
	__s64 start = fair_ms();
	struct frame_hdr h;
	char in[8];

	if (peer_connect(p, B4) || skip_map(p))
		return -1;
	h = frame(1, 2, 9, PORT, 0);
	if (peer_send(p, &h, "hi", 2) || recv_wait(fd, in, sizeof(in)) != 2)
		return -1;
	return fair_ms() - start;
}

/*
 * Links that go, whose peers do not confirm that: a fifth of a second is waited for each.  For one
 * after the other that would be four, and nobody else is held up.
 */
TEST_F_TIMEOUT(wire, links_that_go__hold_up_nobody, 120)
{
	static struct peer mute[MUTE], other;
	int i, before, after;

	before = served(self->p, self->fd);
	ASSERT_LE(0, before);
	for (i = 0; i < MUTE; i++) {
		ASSERT_EQ(0, peer_connect(&mute[i], B4));
		ASSERT_EQ(0, skip_map(&mute[i]));
	}
	/* none is waited for: the link may go before it says that it has the frame */
	for (i = 0; i < MUTE; i++)
		ASSERT_EQ(0, peer_post_raw(&mute[i], make_bad(&mute[i], &bad[0]), IBV_WR_SEND));
	after = served(&other, self->fd);
	EXPECT_LE(0, after);
	/* all were told, and none answered */
	for (i = 0; i < MUTE; i++)
		EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, peer_event(&mute[i], PEER_WAIT));
	TH_LOG("served after %d ms, without them after %d", after, before);
	EXPECT_GT(MUTE * 150 * slow(), after - before);
	peer_close(&other);
	for (i = 0; i < MUTE; i++)
		peer_close(&mute[i]);
}

/*
 * A peer that uses its link and never confirms it has one, and is told when it ends: the CM refuses
 * it then, for it still waits for the confirmation.
 */
TEST_F(wire, links_that_are_not_confirmed)
{
	struct frame_hdr h;
	char in[4];
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, peer_connect_unconfirmed(self->p, B4));
		h = frame(1, 2, 9, PORT, 0);
		ASSERT_EQ(0, peer_send(self->p, &h, "hi", 2));
		ASSERT_EQ(2, recv_wait(self->fd, in, sizeof(in)));
		ASSERT_EQ(0, skip_map(self->p));
		ASSERT_EQ(0, send_bad(self->p, &bad[0]));
		EXPECT_EQ(RDMA_CM_EVENT_REJECTED, peer_event(self->p, PEER_WAIT));
		peer_close(self->p);
	}
}

/* A message that invalidates a region on its way is no frame, though its key is right. */
TEST_F(wire, bad_frames__invalidation)
{
	struct bad b = { .len = 4, .n = 4, .opcode = IBV_WR_SEND_WITH_INV };
	static char mem[8192];
	__u64 cookie = 0;
	int before;

	before = (int)counter(self->fd, "ib_drop_bad_wc");
	ASSERT_EQ(0, get_mr(self->fd, mem, sizeof(mem), 0, &cookie));
	ASSERT_EQ(0, peer_connect(self->p, B4));
	ASSERT_EQ(0, skip_map(self->p));
	self->p->invalidate = cookie;
	ASSERT_EQ(0, send_bad(self->p, &b));
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, peer_event(self->p, PEER_WAIT));
	EXPECT_EQ(before + 1, (int)counter(self->fd, "ib_drop_bad_wc"));
	EXPECT_EQ(-1, recv(self->fd, mem, 8, MSG_DONTWAIT));
	EXPECT_EQ(0, free_mr(self->fd, cookie, RDS_RDMA_INVALIDATE));
}

/* Requests that are never taken up, and links that say nothing. */
TEST_F(wire, silent_peers)
{
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, peer_connect(self->p, B4));
		/* gone without a word */
		peer_close(self->p);
	}
}

/* Grants of credits by who was not offered any mean nothing. */
TEST_F(wire, credits__not_agreed)
{
	struct frame_hdr h;
	uint8_t *data;
	int i;

	ASSERT_EQ(0, peer_connect(self->p, B4));
	ASSERT_EQ(0, skip_map(self->p));
	h = frame(0, 0, 0, 0, 0);
	h.credit = 255;
	h.csum = 0;
	h.csum = htobe16(frame_sum(&h));
	for (i = 0; i < 50; i++)
		ASSERT_EQ(0, peer_send(self->p, &h, NULL, 0));
	ASSERT_EQ(10, send_to(self->fd, self->p->addr, 9, self->p->mem, 10, 0));
	ASSERT_EQ(58, peer_recv(self->p, &h, &data, 5000));
	EXPECT_EQ(0, h.credit);
}

struct offer {
	int ours, his;		/* sysctl, credits of the request */
	bool limited;
};

/* Frames of our kernel until none comes for a while, and the credits in them. */
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

/* Flow control is what both ends offer; an offer of one alone limits nobody. */
TEST_F(wire, credits__by_one_end)
{
	static const struct offer v[] = { { 0, 3 }, { 1, 0 }, { 1, 6, true } };
	struct priv4 d;
	int i, j, granted;

	for (i = 0; i < (int)ARRAY_SIZE(v); i++) {
		RUN("echo %d >/proc/sys/net/rds/ib/flow_control", v[i].ours);
		ASSERT_EQ(0, peer_open(self->p, B4));
		d = peer_priv(self->p, B4);
		d.credit = htobe32(v[i].his);
		ASSERT_EQ(RDMA_CM_EVENT_ESTABLISHED, peer_request(self->p, &d, sizeof(d)));
		memcpy(&d, self->p->reply, sizeof(d));
		EXPECT_EQ(v[i].limited, !!d.credit);
		for (j = 0; j < 10; j++)
			ASSERT_EQ(1, send_to(self->fd, self->p->addr, 9, "x", 1, 0));
		j = frames(self->p, &granted);
		if (v[i].limited) {
			/* the last one only to grant some */
			EXPECT_LE(5, j);
			EXPECT_GE(6, j);
		} else {
			/* with the map */
			EXPECT_EQ(12, j) TH_LOG("%d, %d", v[i].ours, v[i].his);
			EXPECT_EQ(0, granted);
		}
		peer_close(self->p);
	}
	RUN("echo 0 >/proc/sys/net/rds/ib/flow_control");
}

TEST_HARNESS_MAIN
