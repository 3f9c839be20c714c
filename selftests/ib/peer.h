/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A peer over verbs in user space: it makes connections with the private data and sends the
 * frames that a test asks for.  Each has an address of its own, for a peer that was refused is
 * dialled by the kernel at this very machine.
 */
#ifndef RDS_IB_PEER_H
#define RDS_IB_PEER_H

#include "rxe.h"

#include <endian.h>
#include <rdma/rdma_cma.h>

#ifndef PEER_BUFS
#define PEER_BUFS	64
#endif
#define PEER_BUF	4352
/* A request of the CM that is lost is sent again after 4.3 s. */
#define PEER_WAIT	(20 * 1000)

struct peer {
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_cq *scq, *rcq;
	struct ibv_comp_channel *events;	/* of rcq */
	char addr[32];
	uint8_t mem[PEER_BUFS + 1][PEER_BUF];
	uint8_t reply[256];	/* private data of the answer */
	int reply_len;
	int status;		/* of a refusal */
	uint32_t invalidate;	/* key that IBV_WR_SEND_WITH_INV invalidates */
	int retries;		/* of both ends, 0 = 7: rxe takes that for no limit */
};

/* Private data in the layout of IPv4. */
struct priv4 {
	uint32_t saddr, daddr;
	uint8_t major, minor;
	uint16_t minors;
	uint8_t tos, pad[3];
	uint64_t ack_seq;
	uint32_t credit, instance;
} __attribute__((packed));

/* The same in that of IPv6. */
struct priv6 {
	uint8_t saddr[16], daddr[16];
	uint8_t major, minor;
	uint16_t minors;
	uint8_t tos, pad[3];
	uint64_t ack_seq;
	uint32_t credit, instance;
} __attribute__((packed));

struct frame_hdr {
	uint64_t seq, ack;
	uint32_t len;
	uint16_t sport, dport;
	uint8_t flags, credit, pad[4];
	uint16_t csum;
	uint8_t ext[16];
} __attribute__((packed));

static inline uint16_t frame_sum(const void *hdr)
{
	const uint8_t *p = hdr;
	uint32_t sum = 0;
	int i;

	for (i = 0; i < 48; i += 2)
		sum += p[i] << 8 | p[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

static inline struct frame_hdr frame(uint64_t seq, uint32_t len, uint16_t sport, uint16_t dport,
				     uint8_t flags)
{
	struct frame_hdr h = {
		.seq = htobe64(seq), .len = htobe32(len), .sport = htobe16(sport),
		.dport = htobe16(dport), .flags = flags,
	};

	h.csum = htobe16(frame_sum(&h));
	return h;
}

static inline struct priv4 peer_priv(const struct peer *p, const char *to)
{
	struct priv4 d = { .major = 3, .minor = 1, .minors = htobe16(3) };

	d.saddr = inet_addr(p->addr);
	d.daddr = inet_addr(to);
	return d;
}

/* The next event, or -1 after a while. */
static inline int peer_event(struct peer *p, int wait)
{
	struct pollfd pfd = { .fd = p->ch->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	int type;

	if (poll(&pfd, 1, wait) != 1 || rdma_get_cm_event(p->ch, &ev))
		return -1;
	type = ev->event;
	p->status = ev->status;
	p->reply_len = ev->param.conn.private_data_len;
	if (ev->param.conn.private_data)
		memcpy(p->reply, ev->param.conn.private_data, p->reply_len);
	else
		p->reply_len = 0;
	rdma_ack_cm_event(ev);
	return type;
}

static inline int peer_post(struct peer *p, int i)
{
	struct ibv_sge sge = { (long)p->mem[i], PEER_BUF, p->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(p->id->qp, &wr, &bad);
}

static inline int peer_queues(struct peer *p)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 512, .max_recv_wr = PEER_BUFS + 1, .max_send_sge = 2,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
	};
	int i;

	p->scq = ibv_create_cq(p->id->verbs, 1024, NULL, NULL, 0);
	p->events = ibv_create_comp_channel(p->id->verbs);
	p->rcq = ibv_create_cq(p->id->verbs, 1024, NULL, p->events, 0);
	attr.send_cq = p->scq;
	attr.recv_cq = p->rcq;
	if (!p->scq || !p->rcq || rdma_create_qp(p->id, NULL, &attr))
		return -1;
	p->mr = ibv_reg_mr(p->id->pd, p->mem, sizeof(p->mem), IBV_ACCESS_LOCAL_WRITE);
	if (!p->mr)
		return -1;
	for (i = 0; i < PEER_BUFS; i++)
		if (peer_post(p, i))
			return -1;
	return 0;
}

/* The last byte of the address used last; each test is a process of its own. */
static int *peer_last;

__attribute__((constructor))
static void peer_addresses(void)
{
	peer_last = mmap(NULL, sizeof(*peer_last), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	*peer_last = 10;
#ifndef PEER_STAYS
	/* nor has the kernel a connection with one: of a test before this one, to this machine */
	run_cmd("rmmod rds_rdma 2>/dev/null && modprobe rds_rdma");
#endif
}

/* A peer with an address of its own, the way to @to resolved and queues made. */
static inline int peer_open(struct peer *p, const char *to)
{
	bool v6 = strchr(to, ':');
	struct sockaddr_storage src, dst;
	int tries;

	memset(p, 0, sizeof(*p));
	snprintf(p->addr, sizeof(p->addr), v6 ? "fd05::%x" : "10.5.0.%d", ++*peer_last);
	run_cmd("ip addr add %s/%s dev rdst0 2>/dev/null", p->addr, v6 ? "64 nodad" : "24");
	mkaddr(&src, p->addr, 0);
	mkaddr(&dst, to, v6 ? 16385 : 18634);
	p->ch = rdma_create_event_channel();
	if (!p->ch)
		return -1;
	/* the device learns of the address a little later */
	for (tries = 0; tries < 200; tries++) {
		if (rdma_create_id(p->ch, &p->id, NULL, RDMA_PS_TCP))
			return -1;
		if (!rdma_resolve_addr(p->id, (void *)&src, (void *)&dst, 2000) &&
		    peer_event(p, PEER_WAIT) == RDMA_CM_EVENT_ADDR_RESOLVED)
			break;
		rdma_destroy_id(p->id);
		p->id = NULL;
		usleep(20000);
	}
	if (!p->id || rdma_resolve_route(p->id, 2000) ||
	    peer_event(p, PEER_WAIT) != RDMA_CM_EVENT_ROUTE_RESOLVED)
		return -1;
	return peer_queues(p);
}

/* The event that answers a request with this private data. */
static inline int peer_request(struct peer *p, const void *priv, int len)
{
	struct rdma_conn_param param = {
		.private_data = priv, .private_data_len = len,
		.retry_count = p->retries ? p->retries : 7, .rnr_retry_count = 7,
	};

	if (rdma_connect(p->id, &param))
		return -1;
	return peer_event(p, PEER_WAIT);
}

static inline void peer_close(struct peer *p)
{
	if (p->id && p->id->qp)
		rdma_destroy_qp(p->id);
	if (p->mr)
		ibv_dereg_mr(p->mr);
	if (p->scq)
		ibv_destroy_cq(p->scq);
	if (p->rcq)
		ibv_destroy_cq(p->rcq);
	if (p->events)
		ibv_destroy_comp_channel(p->events);
	if (p->id)
		rdma_destroy_id(p->id);
	if (p->ch)
		rdma_destroy_event_channel(p->ch);
	p->id = NULL;
	p->ch = NULL;
	p->mr = NULL;
	p->scq = NULL;
	p->rcq = NULL;
	p->events = NULL;
}

/* Its queue pair is no more, and nobody says so: as after a crash. */
static inline void peer_crash(struct peer *p)
{
	rdma_destroy_qp(p->id);
}

static inline int peer_connect(struct peer *p, const char *to)
{
	struct priv4 d;

	int event;

	if (peer_open(p, to)) {
		printf("# %s finds no way to %s: %s\n", p->addr, to, strerror(errno));
		return -1;
	}
	d = peer_priv(p, to);
	event = peer_request(p, &d, sizeof(d));
	if (event == RDMA_CM_EVENT_ESTABLISHED)
		return 0;
	printf("# %s to %s: event %d, status %d, %d bytes\n", p->addr, to, event, p->status,
	       p->reply_len);
	return -1;
}

static inline int peer_qp_to(struct peer *p, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	return rdma_init_qp_attr(p->id, &attr, &mask) || ibv_modify_qp(qp, &attr, mask);
}

/* A connection that the peer uses and does not confirm: the answer to its request, 0 or -1. */
static inline int peer_connect_unconfirmed(struct peer *p, const char *to)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct ibv_qp *qp;
	struct priv4 d;
	int ret = -1;

	if (peer_open(p, to))
		return -1;
	d = peer_priv(p, to);
	param.private_data = &d;
	param.private_data_len = sizeof(d);
	/* without a queue pair of its own librdmacm leaves that to us */
	qp = p->id->qp;
	p->id->qp = NULL;
	param.qp_num = qp->qp_num;
	if (!rdma_connect(p->id, &param) &&
	    peer_event(p, PEER_WAIT) == RDMA_CM_EVENT_CONNECT_RESPONSE &&
	    !peer_qp_to(p, qp, IBV_QPS_RTR) && !peer_qp_to(p, qp, IBV_QPS_RTS))
		ret = 0;
	p->id->qp = qp;
	return ret;
}

static inline int peer_confirm(struct peer *p)
{
	struct ibv_qp *qp = p->id->qp;
	int ret;

	p->id->qp = NULL;
	ret = rdma_establish(p->id);
	p->id->qp = qp;
	return ret;
}

/* Post @n bytes of the scratch buffer, and do not wait: 0 or -1. */
static inline int peer_post_raw(struct peer *p, int n, int opcode)
{
	struct ibv_sge sge = { (long)p->mem[PEER_BUFS], n, p->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode,
				  .send_flags = IBV_SEND_SOLICITED }, *bad;

	if (opcode == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = p->invalidate;
	return ibv_post_send(p->id->qp, &wr, &bad) ? -1 : 0;
}

/* Send @n bytes of the scratch buffer: the status, or -1. */
static inline int peer_send_raw(struct peer *p, int n, int opcode)
{
	struct ibv_wc wc;
	int tries;

	if (peer_post_raw(p, n, opcode))
		return -1;
	for (tries = 0; tries < 20000; tries++) {
		if (ibv_poll_cq(p->scq, 1, &wc) == 1)
			return wc.status;
		usleep(1000);
	}
	return -1;
}

static inline int peer_send(struct peer *p, const struct frame_hdr *h, const void *data, int n)
{
	memcpy(p->mem[PEER_BUFS], h, sizeof(*h));
	if (n)
		memcpy(p->mem[PEER_BUFS] + sizeof(*h), data, n);
	return peer_send_raw(p, sizeof(*h) + n, IBV_WR_SEND);
}

/* A frame that only acknowledges. */
static inline int peer_ack(struct peer *p, uint64_t seq)
{
	struct frame_hdr h = frame(0, 0, 0, 0, 0);

	h.ack = htobe64(seq);
	h.csum = 0;
	h.csum = htobe16(frame_sum(&h));
	return peer_send(p, &h, NULL, 0);
}

/* Does an event come, for which frames with the solicited bit were asked? */
static inline bool peer_solicited(struct peer *p, int wait_ms)
{
	struct pollfd pfd = { .fd = p->events->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *ctx;

	if (poll(&pfd, 1, wait_ms) != 1 || ibv_get_cq_event(p->events, &cq, &ctx))
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

/* The next frame: its length, -1 after a while. Valid until so many others came. */
static inline int peer_recv(struct peer *p, struct frame_hdr *h, uint8_t **data, int wait_ms)
{
	struct ibv_wc wc;
	int i;

	while (ibv_poll_cq(p->rcq, 1, &wc) != 1) {
		if (wait_ms-- <= 0)
			return -1;
		usleep(1000);
	}
	if (wc.status || wc.wc_flags & IBV_WC_WITH_IMM)
		return -1;
	i = wc.wr_id;
	memcpy(h, p->mem[i], sizeof(*h));
	*data = p->mem[i] + sizeof(*h);
	/* posted again when half the others have been used */
	peer_post(p, i);
	return wc.byte_len;
}

#endif
