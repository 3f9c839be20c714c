// SPDX-License-Identifier: GPL-2.0
/*
 * The loopback transport: the smallest complete example of the contract in net/rds.h.
 *
 * A message is not copied: the sender's object itself goes to the receiving socket, and is
 * acknowledged as soon as it was offered there.  Back-pressure is the receiver's congestion
 * bit, which senders on a loopback connection test directly (cong.c).
 */
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "core.h"

/* Acknowledge at least this often, so that senders need not wait for the end of a pass. */
#define LOOP_ACK_BATCH	64

struct loop_inc {
	struct rds_incoming inc;
	struct rds_message *m;
};

static int loop_read(struct rds_incoming *inc, size_t off, struct iov_iter *to, size_t n)
{
	return rds_message_read(container_of(inc, struct loop_inc, inc)->m, off, to, n);
}

static void loop_free(struct rds_incoming *inc)
{
	struct loop_inc *l = container_of(inc, struct loop_inc, inc);

	rds_message_put(l->m);
	kfree(l);
}

static const struct rds_inc_ops loop_inc_ops = {
	.read = loop_read,
	.free = loop_free,
};

static int loop_start(struct rds_path *p, u32 epoch, bool adopt)
{
	rds_path_link_up(p, epoch);
	return 0;
}

static unsigned long loop_stop(struct rds_path *p, bool abort)
{
	return 0;
}

/* A ping for this end: the answer goes the other way on the same path. */
static void loop_ping(struct rds_path *p, const struct rds_hdr *h)
{
	if (!READ_ONCE(p->conn->rn->sysctl.ping_enable)) {
		rds_stat_inc(recv_drop_no_sock);
		rds_drop(p, h, RDS_DROP_PING_DISABLED);
		return;
	}
	rds_stat_inc(recv_ping);
	if (rds_cong_test_local(p->conn, h->sport)) {
		rds_stat_inc(cong_send_error);
		rds_drop(p, h, RDS_DROP_PONG_CONGESTED);
		return;
	}
	rds_path_pong(p, h);
}

/* Takes @l and the reference to @m. */
static void loop_deliver(struct rds_path *p, struct loop_inc *l, struct rds_message *m,
			 struct rds_rx_batch *b)
{
	const struct rds_conn_key *key = &p->conn->key;
	/* Only the kernel sends from port 0: a pong, on its way back to this address. */
	bool back = m->sport == RDS_PORT_KERNEL;
	struct rds_hdr h = { .seq = m->seq, .len = m->len, .sport = m->sport, .dport = m->dport };

	if (m->dport == RDS_PORT_KERNEL) {
		loop_ping(p, &h);
		rds_message_put(m);
		kfree(l);
		return;
	}
	rds_inc_init(&l->inc, &loop_inc_ops, sizeof(*l) + rds_message_truesize(m));
	l->m = m;
	l->inc.len = m->len;
	l->inc.seq = m->seq;
	l->inc.saddr = back ? key->faddr : key->laddr;
	l->inc.scope = key->scope;
	l->inc.tos = key->tos;
	l->inc.sport = m->sport;
	l->inc.dport = m->dport;
	if (rds_rx_tracing()) {
		l->inc.trace[RDS_RX_CLOCK_FIRST] = local_clock();
		l->inc.trace[RDS_RX_CLOCK_HDR] = local_clock();
	}
	memcpy(h.ext, m->ext, sizeof(h.ext));
	rds_recv_deliver(p->conn->rn, back ? &key->laddr : &key->faddr, &h, &l->inc, b);
}

static int loop_send(struct rds_path *p)
{
	u32 epoch = READ_ONCE(p->epoch);
	struct rds_rx_batch b;
	struct rds_message *m;
	struct loop_inc *l;
	unsigned int nr = 0;
	u64 end = 0;

	rds_rx_batch_init(&b);
	for (;;) {
		l = kmalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
		if (!l) {
			rds_path_kick(p);
			break;
		}
		m = rds_path_pull(p, &end);
		if (!m) {
			kfree(l);
			break;
		}
		loop_deliver(p, l, m, &b);
		if (++nr % LOOP_ACK_BATCH == 0) {
			rds_path_deliver_done(p, &b);
			rds_path_acked(p, epoch, end);
		}
	}
	rds_path_deliver_done(p, &b);
	rds_path_acked(p, epoch, end);
	return 0;
}

static bool loop_owns_addr(struct net *net, const struct in6_addr *addr, u32 scope)
{
	return ipv6_addr_v4mapped(addr) ? ipv4_is_loopback(addr->s6_addr32[3]) :
					  ipv6_addr_loopback(addr);
}

struct rds_transport rds_loop_transport = {
	.name = "loopback",
	.type = RDS_TRANS_LOOP,
	.owner = THIS_MODULE,
	.caps = RDS_CAP_ANY_NETNS | RDS_CAP_AT_ONCE,
	.max_paths = 1,
	.owns_addr = loop_owns_addr,
	.start = loop_start,
	.stop = loop_stop,
	.send = loop_send,
};
