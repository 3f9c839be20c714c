// SPDX-License-Identifier: GPL-2.0
/*
 * Who is dialled by our kernel over IPv4, on another machine: there rds_rdma is not loaded, and
 * this listens in its place.  Our end, 10.0.0.1, port 4000, writes "hello" to 10.0.0.2, port 9, all
 * the while.  Run by pair_messages.sh; ib/acceptor has the rest.
 */
#define RXE_THERE
#include "acceptor.h"

#define OURS	"10.0.0.1"
#define ME	"10.0.0.2"

FIXTURE(acceptor4)
{
	struct rdma_event_channel *ch;
	struct rdma_cm_id *listener;
	struct call c;
};

FIXTURE_SETUP(acceptor4)
{
	struct sockaddr_in me = { .sin_family = AF_INET, .sin_port = htons(18634) };

	inet_pton(AF_INET, ME, &me.sin_addr);
	memset(&self->c, 0, sizeof(self->c));
	self->ch = rdma_create_event_channel();
	ASSERT_NE(NULL, self->ch);
	ASSERT_EQ(0, rdma_create_id(self->ch, &self->listener, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_bind_addr(self->listener, (void *)&me));
	ASSERT_EQ(0, rdma_listen(self->listener, 10));
}

FIXTURE_TEARDOWN(acceptor4)
{
	rdma_destroy_id(self->listener);
	rdma_destroy_event_channel(self->ch);
}

static bool zero(const uint8_t *p, int n)
{
	while (n--)
		if (*p++)
			return false;
	return true;
}

/* Every byte of a request: it is the same each time. */
static void request(struct __test_metadata *_metadata, struct rdma_event_channel *ch,
		    struct call *c, uint32_t *instance)
{
	struct priv4 want = { .major = 3, .minor = 1, .minors = htobe16(3) };
	struct ibv_device_attr attr;
	struct sockaddr_in *sin;

	ASSERT_TRUE(event(ch, RDMA_CM_EVENT_CONNECT_REQUEST, c));
	inet_pton(AF_INET, OURS, &want.saddr);
	inet_pton(AF_INET, ME, &want.daddr);
	if (!*instance)
		*instance = c->priv4.instance;
	EXPECT_NE(0, *instance);
	want.instance = *instance;
	EXPECT_EQ(0, memcmp(&want, &c->priv4, sizeof(want)));
	/* the CM's room for it has one size for both families */
	EXPECT_EQ(sizeof(c->priv), c->len);
	EXPECT_TRUE(zero((uint8_t *)&c->priv + sizeof(want), sizeof(c->priv) - sizeof(want)));
	sin = (void *)rdma_get_peer_addr(c->id);
	EXPECT_EQ(AF_INET, sin->sin_family);
	EXPECT_EQ(want.saddr, sin->sin_addr.s_addr);
	ASSERT_EQ(0, ibv_query_device(c->id->verbs, &attr));
	EXPECT_EQ(least(attr.max_qp_init_rd_atom, 255), c->param.responder_resources);
	EXPECT_EQ(least(attr.max_qp_rd_atom, 255), c->param.initiator_depth);
	EXPECT_EQ(6, c->param.retry_count);
	EXPECT_EQ(7, c->param.rnr_retry_count);
}

#define REQUEST() request(_metadata, self->ch, &self->c, &instance)

/*
 * Messages come by this link, @seq and the next one, and are acknowledged: they do not come by
 * another.  Whether the last acknowledgment has come in time nobody tells us.
 */
static void delivered(struct __test_metadata *_metadata, struct call *c, uint64_t *seq)
{
	struct frame_hdr h;
	uint64_t first = 0;
	char text[8];
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(5, message(&c->p, &h, text));
		EXPECT_EQ(0, memcmp(text, "hello", 5));
		EXPECT_EQ(htobe16(4000), h.sport);
		EXPECT_EQ(htobe16(9), h.dport);
		EXPECT_EQ(0, ack(&c->p, h.seq));
		if (!i)
			first = be64toh(h.seq);
	}
	EXPECT_EQ(first + 1, be64toh(h.seq));
	EXPECT_TRUE(first == *seq || first == *seq + 1);
	*seq = first + 1;
}

TEST_F_TIMEOUT(acceptor4, request__every_byte, 60)
{
	static const struct {
		uint8_t major, minor, len;
		bool ok;
	} say[] = {
		{ 5, 1, 32 }, { 3, 1, 32, true }, { 3, 0, 32 }, { 4, 1, 32, true },
		{ 0, 0, 31, true },
	};
	uint32_t instance = 0;
	uint64_t seq = 1;
	struct priv4 d;
	unsigned int i;
	int why = 1;

	for (i = 0; i < ARRAY_SIZE(say); i++) {
		REQUEST();
		d = (struct priv4){ .major = say[i].major, .minor = say[i].minor };
		d.saddr = self->c.priv4.daddr;
		d.daddr = self->c.priv4.saddr;
		d.minors = htobe16(3);
		ASSERT_EQ(0, answer(&self->c, &d, say[i].len));
		if (say[i].ok) {
			delivered(_metadata, &self->c, &seq);
			ASSERT_EQ(0, rdma_disconnect(self->c.id));
		} else {
			ASSERT_TRUE(event(self->ch, RDMA_CM_EVENT_DISCONNECTED, NULL));
		}
		call_end(&self->c);
	}
	REQUEST();
	ASSERT_EQ(0, rdma_reject(self->c.id, &why, sizeof(why)));
	call_end(&self->c);
	REQUEST();
	call_end(&self->c);
}

TEST_HARNESS_MAIN
