// SPDX-License-Identifier: GPL-2.0
/*
 * The entry of received frames: what was there before is dropped, pings are answered, maps and
 * handshakes are taken note of, and messages go on to the sockets (recv.c).
 */
#include "core.h"

/* Bound of the next reconnect delay once the peer has said something. */
#define RDS_HEARD_BACKOFF	((unsigned long)HZ / 10)

/*
 * A frame arrived; the first one of a link may be what sending waits for.  A peer that speaks
 * is dialled again soon; at once only if its link lasts, see path_timer().
 */
static void path_heard(struct rds_path *p)
{
	u32 frames = READ_ONCE(p->rx_frames);
	unsigned long min_j;

	WRITE_ONCE(p->rx_frames, frames + 1);
	if (frames)
		return;
	min_j = READ_ONCE(p->conn->rn->sysctl.reconnect_min_jiffies);
	spin_lock_bh(&p->lock);
	p->backoff = min(p->backoff, max(RDS_HEARD_BACKOFF, min_j));
	spin_unlock_bh(&p->lock);
	rds_path_kick(p);
}

/**
 * rds_path_pong() - answer a ping
 * @p: path it came by
 * @h: its header
 *
 * Context: any.
 */
void rds_path_pong(struct rds_path *p, const struct rds_hdr *h)
{
	switch (rds_path_send_control(p, RDS_PORT_KERNEL, h->sport)) {
	case 0:
		break;
	case -ENOBUFS:
		rds_drop(p, h, RDS_DROP_PONG_LIMIT);
		break;
	case -ESHUTDOWN:
		rds_drop(p, h, RDS_DROP_EXPIRED);
		break;
	default:
		rds_drop(p, h, RDS_DROP_PONG_NOMEM);
	}
}

static void deliver_ping(struct rds_path *p, const struct rds_hdr *h)
{
	if (!h->sport) {
		rds_drop(p, h, RDS_DROP_PORTS_ZERO);
		return;
	}
	rds_stat_inc(recv_ping);
	if (h->sport == RDS_PORT_PROBE) {
		rds_mprds_received(p, h);
	} else if (rds_cong_test(p->conn, h->sport)) {
		rds_stat_inc(cong_send_error);
		rds_drop(p, h, RDS_DROP_PONG_CONGESTED);
		return;
	}
	rds_path_pong(p, h);
}

/* Frames that are not for a socket.  True if consumed (the caller still owns @inc). */
static bool deliver_kernel(struct rds_path *p, const struct rds_hdr *h)
{
	if (rds_mprds_is_pong(p->conn, h)) {
		rds_mprds_received(p, h);
		return true;
	}
	if (!READ_ONCE(p->conn->rn->sysctl.ping_enable)) {
		if (h->dport != RDS_PORT_KERNEL)
			return false;
		/* To the reference's counters it is a port that nobody has. */
		rds_stat_inc(recv_drop_no_sock);
		rds_drop(p, h, RDS_DROP_PING_DISABLED);
		return true;
	}
	if (h->dport == RDS_PORT_KERNEL) {
		deliver_ping(p, h);
		return true;
	}
	return false;
}

/* The sequence rule, under the lock because a changed generation resets other paths too. */
static bool deliver_is_new(struct rds_path *p, const struct rds_hdr *h)
{
	struct rds_conn *c = p->conn;
	enum rds_seq_verdict v;
	struct rds_path *q;

again:
	q = READ_ONCE(p->rx_as) ?: p;
	spin_lock_bh(&q->lock);
	if (unlikely(READ_ONCE(c->repairing) || (READ_ONCE(p->rx_as) ?: p) != q)) {
		spin_unlock_bh(&q->lock);
		/* mprds_repair() is giving the messages to another path: wait until it has. */
		spin_lock_bh(&c->lock);
		spin_unlock_bh(&c->lock);
		goto again;
	}
	if (rds_legacy_peer(c) && h->sport > RDS_PORT_PROBE)
		v = rds_legacy_accept(q, h);
	else
		v = rds_seq_accept(&q->next_rx, h->seq, h->flags);
	spin_unlock_bh(&q->lock);

	if (v == RDS_SEQ_REWIND)
		rds_stat_inc(recv_rewind);
	if (v != RDS_SEQ_DUP)
		return true;
	rds_drop(p, h, RDS_DROP_OLD_SEQ);
	return false;
}

/**
 * rds_path_deliver() - a complete frame arrived
 * @p: the path
 * @epoch: epoch of the link it came by
 * @h: its header
 * @inc: its payload; the reference passes to this function
 * @b: batch of the current receive pass
 *
 * Context: any; one caller at a time per path.
 */
void rds_path_deliver(struct rds_path *p, u32 epoch, const struct rds_hdr *h,
		      struct rds_incoming *inc, struct rds_rx_batch *b)
{
	struct rds_conn *c = p->conn;
	bool first;

	inc->len = h->len;
	inc->seq = h->seq;
	/* Only start() begins an epoch, and not before stop(), after which the link is silent. */
	if (WARN_ON_ONCE(epoch != READ_ONCE(p->epoch)))
		goto done;
	if (!READ_ONCE(c->answered))
		WRITE_ONCE(c->answered, true);
	first = !READ_ONCE(p->rx_frames);
	path_heard(p);
	if (unlikely(first || rds_hdr_is_cong(h)) && !rds_peer_told(p, h, first))
		goto done;
	if (rds_hdr_is_cong(h)) {
		rds_cong_received(p, h, inc);
		goto done;
	}
	if (unlikely(h->sport + h->dport == RDS_PORT_PROBE))
		rds_mprds_generation(p, h);
	if (!deliver_is_new(p, h))
		goto done;
	if (h->flags & RDS_FLAG_ACK_REQUIRED)
		rds_stat_inc(recv_ack_required);
	if (unlikely(h->dport <= RDS_PORT_PROBE)) {
		/* Who has our answer believes that all before was read. */
		rds_recv_flush(b);
		if (deliver_kernel(p, h))
			goto done;
	}

	inc->saddr = c->key.faddr;
	inc->scope = c->key.scope;
	inc->tos = c->key.tos;
	inc->sport = h->sport;
	inc->dport = h->dport;
	rds_recv_deliver(c->rn, &c->key.laddr, h, inc, b);
	return;
done:
	rds_inc_put(inc);
}

/**
 * rds_path_deliver_done() - end of a receive pass
 * @p: the path
 * @b: the batch; its messages are queued and their reader is woken
 */
void rds_path_deliver_done(struct rds_path *p, struct rds_rx_batch *b)
{
	rds_recv_flush(b);
}
