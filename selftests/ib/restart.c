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

static int connect_as(struct peer *p, uint32_t instance)
{
	struct priv4 d;

	if (peer_open(p, B4))
		return -1;
	d = peer_priv(p, B4);
	d.instance = htobe32(instance);
	return peer_request(p, &d, sizeof(d)) == RDMA_CM_EVENT_ESTABLISHED ? 0 : -1;
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

TEST_F(restart, repeated_number)
{
	__s64 before = counter(self->fd, "recv_generation_change");

	ASSERT_EQ(0, connect_as(self->p, variant->before));
	ASSERT_EQ(0, say(self->p, 1, 0, "a1"));
	ASSERT_EQ(0, say(self->p, 2, 0, "a2"));
	HEAR("a1");
	HEAR("a2");
	/* while the old link is up, or our kernel would dial this very machine */
	--*peer_last;
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

TEST_HARNESS_MAIN
