// SPDX-License-Identifier: GPL-2.0
/*
 * How messages leave a path: acknowledged, put back, taken back.
 *
 * What is taken off goes to a local list under path->lock and is settled afterwards without locks.
 * How many there are is up to users and peers, so no function here takes or looks at more than
 * SETTLE_CHUNK of them without letting go of the lock.
 */
#include "core.h"
#include "trace.h"

/* Messages for which a path's lock is held. */
#define SETTLE_CHUNK		256
/* Messages that an acknowledgment settles where it arrives, perhaps in softirq. */
#define SETTLE_AT_ONCE		1024

/**
 * rds_path_settle() - finish messages that are on a path no more
 * @list: the messages; emptied
 *
 * What was accounted for them is given back.  Their connection is held until their sockets have
 * forgotten them, see info.c.
 *
 * Context: any, no lock held.
 */
void rds_path_settle(struct list_head *list)
{
	rds_underway_release(list);
	rds_message_settle(list);
}

/**
 * rds_path_leave() - a message is on the path no more
 * @p: the path, its lock held
 * @m: the message
 * @list: gets it, to be settled without locks
 */
void rds_path_leave(struct rds_path *p, struct rds_message *m, struct list_head *list)
{
	if (m->where == RDS_MSG_QUEUED) {
		rds_sendq_del(p, m);
		WRITE_ONCE(p->nr_queued, p->nr_queued - 1);
		if (m->early)
			p->conn->nr_early_queued--;
	} else {
		list_del(&m->node);
		p->nr_sent--;
	}
	list_add_tail(&m->node, list);
	m->where = RDS_MSG_OFF;
	if (m->early)
		p->conn->nr_early--;
	m->early = false;
	if (m->control) {
		p->nr_control--;
		list_del_init(&m->own);
	}
}

/*
 * Messages of users without operations, from @m on, go together; p->lock held.  How many; @next is
 * what is behind them.
 */
static u32 take_run(struct rds_path *p, struct rds_message *m, u32 most, struct list_head *done,
		    struct list_head **next)
{
	struct list_head *first = &m->node;
	u32 nr = 0;

	list_for_each_entry_from(m, &p->sent, node) {
		if (m->ack_pos > p->acked || nr == most || m->op || m->control)
			break;
		m->where = RDS_MSG_OFF;
		p->conn->nr_early -= m->early;
		m->early = false;
		nr++;
	}
	*next = &m->node;
	list_bulk_move_tail(done, first, m->node.prev);
	p->nr_sent -= nr;
	return nr;
}

/* What the peer has, and the transport has let go of; p->lock held.  Return: how many. */
static u32 take_acked(struct rds_path *p, struct list_head *done)
{
	struct list_head *at = p->sent.next;
	struct rds_message *m;
	u32 nr = 0;

	while (at != &p->sent && nr < SETTLE_CHUNK) {
		m = list_entry(at, struct rds_message, node);
		if (m->ack_pos > p->acked)
			break;
		at = at->next;
		if (!m->op && !m->control) {
			nr += take_run(p, m, SETTLE_CHUNK - nr, done, &at);
		} else if (!rds_op_holds(m)) {	/* those are not many: ib/ops.c */
			rds_path_leave(p, m, done);
			nr++;
		}
	}
	return nr;
}

/*
 * What the peer got by the link before, and says so before it is repeated on this one; p->lock
 * held.  Return: how many went to @done.
 */
static u32 take_repeated(struct rds_path *p, struct list_head *done)
{
	struct rds_message *m, *next;
	u32 nr = 0;

	list_for_each_entry_safe(m, next, &p->queue, node) {
		if (!(m->flags & RDS_FLAG_RETRANSMITTED) || m->ack_pos > p->acked ||
		    rds_op_pending(m) || nr == SETTLE_CHUNK)
			break;
		rds_path_leave(p, m, done);
		nr++;
	}
	return nr;
}

/* One hold of the lock: how many messages were settled.  A new @pos counts for @epoch only. */
static u32 settle_some(struct rds_path *p, u32 epoch, u64 pos)
{
	LIST_HEAD(done);
	u32 nr;

	spin_lock_bh(&p->lock);
	if (epoch == p->epoch)
		p->acked = max(p->acked, pos);
	nr = take_acked(p, &done);
	/* Sequences are the same on each link. */
	if (nr < SETTLE_CHUNK && rds_path_asks(p))
		nr += take_repeated(p, &done);
	if (nr)
		trace_rds_ack(p, p->acked, nr);
	/* Answers acknowledge all there is: no need to ask for a frame of its own. */
	if (nr && !p->nr_sent && rds_path_asks(p))
		rds_path_begin_unacked(p);
	spin_unlock_bh(&p->lock);
	rds_path_settle(&done);
	return nr;
}

/* About @most messages that were acknowledged, at most.  True if there may be more. */
static bool settle(struct rds_path *p, u32 epoch, u64 pos, u32 most)
{
	u32 nr, all = 0;

	do {
		nr = settle_some(p, epoch, pos);
		all += nr;
	} while (nr >= SETTLE_CHUNK && all < most);
	if (!all)
		return false;
	if (!p->index)
		rds_mprds_path0_acked(p->conn);
	else
		rds_mprds_fold_later(p->conn);
	return nr >= SETTLE_CHUNK;
}

/**
 * rds_path_settle_rest() - finish all messages that the peer has acknowledged
 * @p: the path
 *
 * Context: process.
 */
void rds_path_settle_rest(struct rds_path *p)
{
	WRITE_ONCE(p->unsettled, false);
	while (settle(p, 0, 0, SETTLE_AT_ONCE))
		cond_resched();
}

/**
 * rds_path_acked() - the peer has everything up to a position
 * @p: the path
 * @epoch: epoch of the link
 * @pos: position, in the unit of rds_message.ack_pos
 *
 * If that is very much the path's work does the rest: the caller may be a softirq.
 *
 * Context: any.
 */
void rds_path_acked(struct rds_path *p, u32 epoch, u64 pos)
{
	if (!settle(p, epoch, pos, SETTLE_AT_ONCE))
		return;
	WRITE_ONCE(p->unsettled, true);
	rds_path_kick(p);
}

static bool message_is_handshake(const struct rds_message *m)
{
	return m->sport == RDS_PORT_PROBE || m->dport == RDS_PORT_PROBE;
}

/* The next link begins with a handshake of its own; p->lock held. */
static void drop_handshakes(struct rds_path *p, struct list_head *drop)
{
	struct rds_message *m, *next;

	list_for_each_entry_safe(m, next, &p->controls, own)
		if (message_is_handshake(m))
			rds_path_leave(p, m, drop);
}

/* From the sent list back to the queue, or to @drop; p->lock held.  True if it is sent again. */
static bool requeue_one(struct rds_path *p, struct rds_message *m, struct list_head *drop)
{
	if (!rds_op_requeue(m)) {
		m->op->taken = true;
		rds_drop_message(p, m, RDS_DROP_OP);
		rds_path_leave(p, m, drop);
		return false;
	}
	if (!m->rs && !m->control) {
		rds_path_leave(p, m, drop);
		return false;
	}
	m->flags |= RDS_FLAG_RETRANSMITTED;
	if (rds_path_asks(p))
		m->flags |= RDS_FLAG_ACK_REQUIRED;
	m->where = RDS_MSG_QUEUED;
	list_move(&m->node, &p->queue);
	p->front_cost += rds_message_load(m);
	if (m->early)
		p->conn->nr_early_queued++;
	p->nr_sent--;
	WRITE_ONCE(p->nr_queued, p->nr_queued + 1);
	return true;
}

/* The newest first, each before the one before: how many are sent again.  False at the end. */
static bool requeue_some(struct rds_path *p, struct list_head *drop, u32 *nr)
{
	unsigned int n;
	bool more;

	spin_lock_bh(&p->lock);
	for (n = 0; n < SETTLE_CHUNK && !list_empty(&p->sent); n++)
		*nr += requeue_one(p, list_last_entry(&p->sent, struct rds_message, node), drop);
	more = !list_empty(&p->sent);
	if (!more)
		p->acked = 0;
	spin_unlock_bh(&p->lock);
	return more;
}

/**
 * rds_path_requeue_sent() - put unacknowledged messages back in front of the queue
 * @p: the path; its link is stopped, link mutex held
 *
 * Handshake messages are dropped, also those that were not sent yet.  So are messages that
 * were taken back: TCP does not read their pages any more; and those whose operation may have
 * been executed.  Nobody sends or acknowledges meanwhile.
 */
void rds_path_requeue_sent(struct rds_path *p)
{
	LIST_HEAD(drop);
	u32 nr = 0;

	rds_path_settle_rest(p);
	spin_lock_bh(&p->lock);
	drop_handshakes(p, &drop);
	spin_unlock_bh(&p->lock);
	while (requeue_some(p, &drop, &nr))
		cond_resched();
	rds_stat_add(send_retransmitted, nr);
	rds_op_finish(&drop, RDS_RDMA_DROPPED);
	rds_path_settle(&drop);
	if (!p->index)
		rds_mprds_path0_acked(p->conn);
}

/**
 * rds_tx_walk_begin() - somebody looks through the messages that a socket has on paths
 * @w: the walk
 * @rs: the socket, held until rds_tx_walk_end()
 *
 * What is sent meanwhile is not looked at.
 */
void rds_tx_walk_begin(struct rds_tx_walk *w, struct rds_sock *rs)
{
	w->rs = rs;
	w->here.where = RDS_MSG_OFF;
	w->end.where = RDS_MSG_OFF;
	spin_lock_bh(&rs->tx_lock);
	list_add(&w->here.own, &rs->tx_list);
	list_add_tail(&w->end.own, &rs->tx_list);
	spin_unlock_bh(&rs->tx_lock);
}

/**
 * rds_tx_walk_some() - the next messages of a walk, about SETTLE_CHUNK at most
 * @w: the walk
 * @fn: is called for each that is on a path, with rds_sock.tx_lock held; may take it off the list.
 *	If it says false no more follow now, and this message is the next one.
 * @arg: for @fn
 *
 * Return: false at the end.
 */
bool rds_tx_walk_some(struct rds_tx_walk *w, bool (*fn)(struct rds_message *m, void *arg),
		      void *arg)
{
	struct rds_message *m = &w->here, *next;
	unsigned int n = 0;
	bool more;

	spin_lock_bh(&w->rs->tx_lock);
	list_for_each_entry_safe_continue(m, next, &w->rs->tx_list, own) {
		if (m == &w->end || n++ == SETTLE_CHUNK)
			break;
		if (READ_ONCE(m->where) != RDS_MSG_OFF && !fn(m, arg))
			break;
	}
	more = m != &w->end;
	list_move_tail(&w->here.own, &m->own);
	spin_unlock_bh(&w->rs->tx_lock);
	return more;
}

/**
 * rds_tx_walk_end() - a walk is over
 * @w: the walk
 */
void rds_tx_walk_end(struct rds_tx_walk *w)
{
	spin_lock_bh(&w->rs->tx_lock);
	list_del(&w->here.own);
	list_del(&w->end.own);
	spin_unlock_bh(&w->rs->tx_lock);
}

/* False when the path is empty. */
static bool empty_some(struct rds_path *p, enum rds_drop_reason why, struct list_head *out)
{
	struct rds_message *m = NULL;
	unsigned int n;

	spin_lock_bh(&p->lock);
	for (n = 0; n < SETTLE_CHUNK; n++) {
		m = list_first_entry_or_null(&p->sent, struct rds_message, node) ?:
		    list_first_entry_or_null(&p->queue, struct rds_message, node) ?:
		    rds_sendq_behind(p);
		if (!m)
			break;
		if (m->rs || m->control)
			rds_drop_message(p, m, why);
		if (m->op)
			m->op->taken = true;
		rds_path_leave(p, m, out);
	}
	spin_unlock_bh(&p->lock);
	return m;
}

/**
 * rds_path_empty() - take everything off a path that is gone
 * @p: the path
 * @why: reason
 * @out: gets the messages; the caller finishes their operations and settles them
 *
 * Context: process.
 */
void rds_path_empty(struct rds_path *p, enum rds_drop_reason why, struct list_head *out)
{
	while (empty_some(p, why, out))
		cond_resched();
	if (!p->index)
		rds_mprds_path0_acked(p->conn);
}

/**
 * rds_op_refuse() - an operation cannot be executed on this link
 * @p: path; link mutex held
 * @m: message, pulled, operation not begun
 * @status: what is reported
 */
void rds_op_refuse(struct rds_path *p, struct rds_message *m, int status)
{
	LIST_HEAD(out);

	spin_lock_bh(&p->lock);
	if (!m->op->taken) {
		m->op->taken = true;
		rds_drop_message(p, m, RDS_DROP_OP);
		rds_path_leave(p, m, &out);
	}
	spin_unlock_bh(&p->lock);
	rds_op_finish(&out, status);
	rds_path_settle(&out);
}

/**
 * rds_op_begin() - the transport is going to execute an operation
 * @p: path; link mutex held
 * @m: message, pulled
 *
 * Of a user who has cost its links too often none is tried (blame.c).
 *
 * Return: false if the message was taken off the path: do nothing, forget it.
 */
bool rds_op_begin(struct rds_path *p, struct rds_message *m)
{
	if (!rds_conn_blames(p->conn, m->rs->user))
		return rds_op_start(p, m);
	rds_stat_inc(send_op_refused);
	rds_op_refuse(p, m, RDS_RDMA_OTHER_ERROR);
	return false;
}

/**
 * rds_op_done() - a part of an operation was executed, or has failed
 * @p: path
 * @m: its message, begun
 * @nr: part
 * @status: RDS_RDMA_SUCCESS, _REMOTE_ERROR or _OTHER_ERROR
 * @fault: the link is lost by what it asked for
 *
 * Context: any, no lock of RDS held.
 */
void rds_op_done(struct rds_path *p, struct rds_message *m, enum rds_op_nr nr, int status,
		 bool fault)
{
	struct rds_notifier *note = NULL;
	LIST_HEAD(out);

	spin_lock_bh(&p->lock);
	/* Who has taken the message reports what was not done by then. */
	if (!m->op->taken && rds_op_part_done(m, nr, status, &note))
		rds_path_leave(p, m, &out);
	spin_unlock_bh(&p->lock);
	if (fault)
		rds_conn_blame(p->conn, m->rs->user);
	rds_op_tell(m, nr, status, note);
	rds_path_settle(&out);
	if (!p->index)
		rds_mprds_path0_acked(p->conn);
}
