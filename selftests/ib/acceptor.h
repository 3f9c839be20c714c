/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An acceptor in user space: it takes requests of our kernel, answers them, and reads what comes by
 * the link.
 */
#ifndef RDS_IB_ACCEPTOR_H
#define RDS_IB_ACCEPTOR_H

#include "peer.h"

/* A request, and the link that is made of it. */
struct call {
	struct rdma_cm_id *id;
	struct rdma_conn_param param;
	union {
		struct priv6 priv;
		struct priv4 priv4;
	};
	int len;
	struct peer p;
};

static inline void call_end(struct call *c)
{
	c->p.id = c->id;
	peer_close(&c->p);
	c->id = NULL;
}

/* The next event of a type within a while; of a request what it says is written to @c. */
static inline bool event(struct rdma_event_channel *ch, int type, struct call *c)
{
	struct pollfd pfd = { .fd = ch->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	bool found = false;

	while (!found && poll(&pfd, 1, PEER_WAIT) == 1 && !rdma_get_cm_event(ch, &ev)) {
		found = (int)ev->event == type;
		if (found && type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			memset(c, 0, sizeof(*c));
			c->id = ev->id;
			c->param = ev->param.conn;
			c->len = ev->param.conn.private_data_len;
			memcpy(&c->priv, ev->param.conn.private_data,
			       c->len < (int)sizeof(c->priv) ? c->len : (int)sizeof(c->priv));
		}
		rdma_ack_cm_event(ev);
	}
	return found;
}

static inline int answer(struct call *c, const void *priv, int len)
{
	struct rdma_conn_param param = {
		.private_data = priv, .private_data_len = len, .responder_resources = 1,
		.initiator_depth = 1, .rnr_retry_count = 7,
	};

	c->p.id = c->id;
	return peer_queues(&c->p) ? -1 : rdma_accept(c->id, &param);
}

/* The next message of our kernel, skipping maps and acknowledgments; -1 if there is none. */
static inline int message(struct peer *p, struct frame_hdr *h, char *text)
{
	uint8_t *data;
	int n;

	do {
		n = peer_recv(p, h, &data, 10000);
		if (n < 0)
			return -1;
	} while (h->flags == 1 || (!h->sport && !h->dport));
	memcpy(text, data, n - 48 < 8 ? n - 48 : 8);
	return n - 48;
}

static inline int ack(struct peer *p, uint64_t seq)
{
	struct frame_hdr h = frame(0, 0, 0, 0, 0);

	h.ack = seq;
	h.csum = 0;
	h.csum = htobe16(frame_sum(&h));
	return peer_send(p, &h, NULL, 0);
}

static inline unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

#endif
