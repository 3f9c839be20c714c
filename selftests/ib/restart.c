// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,rdma_ucm,ib_uverbs,veth netns=init timeout=120 ref=0 */
/*
 * A peer that connects anew: the same one, another instance of it, or other software, which tells
 * no instance.  It repeats the number of a message that was delivered: from the same one it is
 * that message, from anybody else a new one.
 */
#include "peer.h"

#define PORT	4000

FIXTURE(restart)
{
	struct peer *p, *q;
	int fd;
};

FIXTURE_SETUP(restart)
{
	/* addresses whose peers our kernel does not know from other tests, and does not dial */
	if (*peer_last < 220)
		*peer_last = 220;
	self->p = calloc(1, sizeof(*self->p));
	self->q = calloc(1, sizeof(*self->q));
	self->fd = rds_bound(B4, PORT);
	ASSERT_FD(self->fd);
}

FIXTURE_TEARDOWN(restart)
{
	EXPECT_EQ(0, run_cmd("echo 0 >/proc/sys/net/rds/ib/flow_control"));
	peer_close(self->p);
	peer_close(self->q);
	free(self->p);
	free(self->q);
	close(self->fd);
}

FIXTURE_VARIANT(restart)
{
	uint32_t before, after;
	bool other;
};

FIXTURE_VARIANT_ADD(restart, the_same) { .before = 7, .after = 7 };
FIXTURE_VARIANT_ADD(restart, another_instance) { .before = 7, .after = 8, .other = true };
FIXTURE_VARIANT_ADD(restart, the_reference) { };
FIXTURE_VARIANT_ADD(restart, the_reference_then_ours) { .after = 7, .other = true };
FIXTURE_VARIANT_ADD(restart, ours_then_the_reference) { .before = 7, .other = true };

static int connect_with(struct peer *p, uint32_t instance, uint32_t credit)
{
	struct priv4 d;

	if (peer_open(p, B4))
		return -1;
	d = peer_priv(p, B4);
	d.instance = htobe32(instance);
	d.credit = htobe32(credit);
	return peer_request(p, &d, sizeof(d)) == RDMA_CM_EVENT_ESTABLISHED ? 0 : -1;
}

static int connect_as(struct peer *p, uint32_t instance)
{
	return connect_with(p, instance, 0);
}

static int say(struct peer *p, uint64_t seq, int flags, const char *what)
{
	struct frame_hdr h = frame(seq, 2, 9, PORT, flags);

	return peer_send(p, &h, what, 2);
}

#define HEAR(what) do { \
	char in_[8] = ""; \
	ASSERT_EQ(2, recv_wait(self->fd, in_, sizeof(in_))); \
	ASSERT_STREQ(what, in_); \
} while (0)

/* The address is used again while the old link is up, or our kernel would dial itself. */
#define HEAR_TWO() do { \
	ASSERT_EQ(0, connect_as(self->p, variant->before)); \
	ASSERT_EQ(0, say(self->p, 1, 0, "a1")); \
	ASSERT_EQ(0, say(self->p, 2, 0, "a2")); \
	HEAR("a1"); \
	HEAR("a2"); \
	peer_crash(self->p); \
	--*peer_last; \
} while (0)

TEST_F(restart, repeated_number)
{
	__s64 before = counter(self->fd, "recv_generation_change");

	HEAR_TWO();
	ASSERT_EQ(0, connect_as(self->q, variant->after));
	ASSERT_EQ(0, say(self->q, 1, 4, "b1"));
	ASSERT_EQ(0, say(self->q, 3, 0, "b3"));
	if (variant->other)
		HEAR("b1");
	HEAR("b3");
	/* more than that if our kernel dials itself in place of peers of tests before */
	EXPECT_LE(before + variant->other, counter(self->fd, "recv_generation_change"));
	/* the one that came is known from now on */
	ASSERT_EQ(0, say(self->q, 3, 4, "c3"));
	ASSERT_EQ(0, say(self->q, 4, 0, "c4"));
	HEAR("c4");
}

/*
 * The first frame on the new link acknowledges what came by the one before.  Or else two nodes that
 * send much to readers who do not read could fill each other's buffers with what is behind that
 * acknowledgment, and make new links for ever.  Who tells no instance may have begun at 1 again.
 */
TEST_F(restart, first_acknowledgment)
{
	bool same = variant->before && variant->before == variant->after;
	struct frame_hdr h;
	uint8_t *data;

	HEAR_TWO();
	ASSERT_EQ(0, connect_as(self->q, variant->after));
	ASSERT_EQ(3, send_to(self->fd, self->q->addr, 9, "our", 3, 0));
	do {
		ASSERT_LT(0, peer_recv(self->q, &h, &data, PEER_WAIT));
		EXPECT_EQ(same ? 2 : 0, be64toh(h.ack));
	} while (be16toh(h.sport) != PORT);
	EXPECT_EQ(0, memcmp(data, "our", 3));
}

#define MANY	10

/*
 * The other way: what is acknowledged so before it is sent again is not sent again.  The new link
 * has credits for one frame, so it cannot have been.
 */
TEST_F(restart, acknowledged_before_it_is_repeated)
{
	struct frame_hdr h;
	uint64_t seq = 0;
	uint8_t *data;
	int i, sent = 0;

	RUN("echo 1 >/proc/sys/net/rds/ib/flow_control");
	ASSERT_EQ(0, connect_as(self->p, variant->before));
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(3, send_to(self->fd, self->p->addr, 9, "our", 3, 0));
		do {
			ASSERT_LT(0, peer_recv(self->p, &h, &data, PEER_WAIT));
		} while (be16toh(h.sport) != PORT);
		seq = be64toh(h.seq);
	}
	peer_crash(self->p);
	--*peer_last;
	ASSERT_EQ(0, connect_with(self->q, variant->after, 2));
	ASSERT_EQ(0, peer_ack(self->q, seq));
	EXPECT_TRUE(WAIT_UNTIL(!ioctl(self->fd, SIOCOUTQ, &i) && !i));
	while (peer_recv(self->q, &h, &data, 100) > 0)
		sent += be16toh(h.sport) == PORT;
	EXPECT_GE(1, sent);
}

TEST_HARNESS_MAIN
