// SPDX-License-Identifier: GPL-2.0
/*
 * How messages leave a path: acknowledged, put back, taken back.
 *
 * What is taken off goes to a local list under path->lock and is settled afterwards without locks.
 */
#include "core.h"
#include "trace.h"

/*
 * What the peer got by the link before, and says so before it is repeated on this one; p->lock
 * held.  Return: how many went to @done.
 */
static u32 path_take_repeated(struct rds_path *p, u64 pos, struct list_head *done)
{
	struct rds_message *m, *next;
	u32 nr = 0;

	list_for_each_entry_safe(m, next, &p->queue, node) {
		if (!(m->flags & RDS_FLAG_RETRANSMITTED) || m->ack_pos > pos || rds_op_pending(m))
			break;
		list_move_tail(&m->node, done);
		p->nr_control -= m->control;
		nr++;
	}
	WRITE_ONCE(p->nr_queued, p->nr_queued - nr);
	return nr;
}

/**
 * rds_path_acked() - the peer has everything up to a position
 * @p: the path
 * @epoch: epoch of the link
 * @pos: position, in the unit of rds_message.ack_pos
 *
 * Context: any.
 */
void rds_path_acked(struct rds_path *p, u32 epoch, u64 pos)
{
	struct rds_message *m, *next;
	LIST_HEAD(done);
	u32 nr = 0;

	spin_lock_bh(&p->lock);
	if (epoch == p->epoch) {
		list_for_each_entry_safe(m, next, &p->sent, node) {
			if (m->ack_pos > pos)
				break;
			if (rds_op_holds(m))
				continue;
			list_move_tail(&m->node, &done);
			p->nr_control -= m->control;
			nr++;
		}
		/* Sequences are the same on each link. */
		if (rds_path_asks(p))
			nr += path_take_repeated(p, pos, &done);
		if (nr)
			trace_rds_ack(p, pos, nr);
		/* Answers acknowledge all there is: no need to ask for a frame of its own. */
		if (nr && list_empty(&p->sent) && rds_path_asks(p))
			rds_path_begin_unacked(p);
	}
	spin_unlock_bh(&p->lock);
	if (!nr)
		return;
	rds_message_settle(&done);
	if (!p->index)
		rds_mprds_path0_acked(p->conn);
	else
		rds_mprds_fold_path(p);
}

static bool message_is_handshake(const struct rds_message *m)
{
	return m->control && (m->sport == RDS_PORT_PROBE || m->dport == RDS_PORT_PROBE);
}

/* The next link begins with a handshake of its own; p->lock held.  Return: how many went. */
static u32 drop_handshake(struct rds_path *p, struct list_head *list, struct list_head *drop)
{
	struct rds_message *m, *next;
	u32 nr = 0;

	list_for_each_entry_safe(m, next, list, node) {
		if (!message_is_handshake(m))
			continue;
		list_move_tail(&m->node, drop);
		p->nr_control--;
		nr++;
	}
	return nr;
}

/**
 * rds_path_requeue_sent() - put unacknowledged messages back in front of the queue
 * @p: the path; its link is stopped, link mutex held
 *
 * Handshake messages are dropped, also those that were not sent yet.  So are messages that
 * were taken back: TCP does not read their pages any more; and those whose operation may have
 * been executed.
 */
void rds_path_requeue_sent(struct rds_path *p)
{
	struct rds_message *m, *next;
	LIST_HEAD(drop);
	u32 nr = 0;

	spin_lock_bh(&p->lock);
	drop_handshake(p, &p->sent, &drop);
	WRITE_ONCE(p->nr_queued, p->nr_queued - drop_handshake(p, &p->queue, &drop));
	list_for_each_entry_safe(m, next, &p->sent, node) {
		if (!rds_op_requeue(m)) {
			m->op->taken = true;
			rds_drop_message(p, m, RDS_DROP_OP);
			list_move_tail(&m->node, &drop);
			continue;
		}
		if (!m->rs && !m->control) {
			list_move_tail(&m->node, &drop);
			continue;
		}
		m->flags |= RDS_FLAG_RETRANSMITTED;
		if (rds_path_asks(p))
			m->flags |= RDS_FLAG_ACK_REQUIRED;
		nr++;
	}
	list_splice_init(&p->sent, &p->queue);
	WRITE_ONCE(p->nr_queued, p->nr_queued + nr);
	spin_unlock_bh(&p->lock);
	rds_stat_add(send_retransmitted, nr);
	rds_op_finish(&drop, RDS_RDMA_DROPPED);
	rds_message_settle(&drop);
	if (!p->index)
		rds_mprds_path0_acked(p->conn);
}

static bool purge_matches(const struct rds_message *m, const struct rds_sock *rs,
			  const u16 *dport, bool lent)
{
	return !rs || (m->rs == rs && (!dport || m->dport == *dport) &&
		       (!lent || m->pin || m->op));
}

/* A message that stays has a completion to come: for a socket that is closed no more. */
static u32 purge_pin(struct rds_pin *pin, struct rds_sock *rs, enum rds_drop_reason why)
{
	if (why != RDS_DROP_CLOSED) {
		WRITE_ONCE(rs->pins_left, true);
		return 0;
	}
	pin->rs = NULL;
	return 1;
}

/**
 * rds_path_purge() - take a socket's messages off the path
 * @p: the path
 * @rs: the socket, held, or NULL for everything on a path that is gone
 * @dport: only those to this port, or NULL
 * @lent: only those with memory of the application: pages, or that of operations
 * @why: reason
 * @out: gets the messages; the caller finishes their operations and settles them
 *
 * A zero-copy message that the transport has taken may still be read from the user's pages,
 * for the first time or again.  It leaves the socket but stays on the path, and its completion
 * comes, when it is acknowledged or the link is gone.  A socket that is closed needs none: nothing
 * is left that holds it, and with it its namespace, for as long as the peer likes.
 *
 * Context: any.
 */
void rds_path_purge(struct rds_path *p, struct rds_sock *rs, const u16 *dport, bool lent,
		    enum rds_drop_reason why, struct list_head *out)
{
	struct list_head *lists[] = { &p->sent, &p->queue };
	struct rds_message *m, *next;
	u32 bytes = 0, left = 0, pins = 0;
	unsigned int i;

	spin_lock_bh(&p->lock);
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		list_for_each_entry_safe(m, next, lists[i], node) {
			if (rs && why == RDS_DROP_CLOSED && !m->rs && m->pin && m->pin->rs == rs)
				pins += purge_pin(m->pin, rs, why);	/* cancelled before */
			if (!purge_matches(m, rs, dport, lent))
				continue;
			if (m->rs || m->control)
				rds_drop_message(p, m, why);
			if (rs && m->pin && lists[i] == &p->sent) {
				bytes += m->charge;
				left++;
				m->charge = 0;
				WRITE_ONCE(m->rs, NULL);
				pins += purge_pin(m->pin, rs, why);
				continue;
			}
			if (m->op)
				m->op->taken = true;
			list_move_tail(&m->node, out);
			p->nr_control -= m->control;
			if (lists[i] == &p->queue)
				WRITE_ONCE(p->nr_queued, p->nr_queued - 1);
		}
	}
	spin_unlock_bh(&p->lock);
	if (left)
		rds_tx_release(rs, bytes, left);
	for (left += pins; left; left--)
		rds_sock_put(rs);
	if (!p->index)
		rds_mprds_path0_acked(p->conn);
}
