// SPDX-License-Identifier: GPL-2.0
/*
 * A socket takes messages back: RDS_CANCEL_SENT_TO, close().
 *
 * It goes through its own list, however many connections there are, and messages of others on
 * them: once for all paths but the first, and once for that, because what others wait for is there.
 * The list is guarded by a lock that nests in that of the path on which a message is; so for a
 * message of another path than the last one the locks are let go of, that path's are taken, and the
 * message is looked at again.
 */
#include "core.h"

/* close() waits so long for operations on a connection, and once more without its links. */
#define CLOSE_WAIT_MAX	(10 * HZ)

/**
 * struct cancel - what a socket takes back
 * @rs: socket, held
 * @dst: messages to this address and port, or NULL for all: it is closed
 * @lent: only those with memory of the application: pages, or that of operations
 * @first: only those on path 0, or only the others
 * @p: path whose messages are taken, its connection is held; or NULL
 * @next: path of the next message, its connection is held; or NULL
 * @out: what was taken from @p
 * @begun: taken, with an operation that the device may be at; each holds its connection
 * @bytes: payload of messages that stay on @p, but not the socket's
 * @left: their number
 * @puts: references to the socket to be dropped for them
 */
struct cancel {
	struct rds_sock *rs;
	const struct rds_addr *dst;
	bool lent, first;
	struct rds_path *p, *next;
	struct list_head out, begun;
	u32 bytes, left, puts;
};

/* A message that stays has a completion to come: for a socket that is closed no more. */
static void cancel_pin(struct cancel *x, struct rds_message *m)
{
	if (x->dst) {
		WRITE_ONCE(x->rs->pins_left, true);
		return;
	}
	m->pin->rs = NULL;
	list_del_init(&m->own);
	x->puts++;
}

/*
 * A zero-copy message that the transport has taken may still be read from the user's pages,
 * for the first time or again.  It leaves the socket but stays on the path, and its completion
 * comes, when it is acknowledged or the link is gone.  A socket that is closed needs none: nothing
 * is left that holds it, and with it its namespace, for as long as the peer likes.
 */
static void cancel_message(struct cancel *x, struct rds_message *m)
{
	if (!m->rs) {		/* cancelled before */
		cancel_pin(x, m);
		return;
	}
	rds_drop_message(x->p, m, x->dst ? RDS_DROP_CANCELLED : RDS_DROP_CLOSED);
	if (m->pin && m->where == RDS_MSG_SENT) {
		x->bytes += m->charge;
		x->left++;
		x->puts++;
		m->charge = 0;
		WRITE_ONCE(m->rs, NULL);
		cancel_pin(x, m);
		return;
	}
	if (m->op)
		m->op->taken = true;
	rds_path_leave(x->p, m, &x->out);
}

/* Is it meant?  None of that changes. */
static bool cancel_means(const struct cancel *x, const struct rds_path *p,
			 const struct rds_message *m)
{
	const struct rds_conn *c = p->conn;

	if (x->first != !p->index)
		return false;
	if (x->lent && !m->pin && !m->op)
		return false;
	if (!x->dst)
		return true;
	if (READ_ONCE(m->rs) && m->dport != x->dst->port)
		return false;
	return ipv6_addr_equal(&c->key.faddr, &x->dst->ip) &&
	       (!x->dst->scope || !c->key.scope || x->dst->scope == c->key.scope);
}

/* Locks of the socket's list and of x->p, if there is one, held.  False: another path's turn. */
static bool cancel_one(struct rds_message *m, void *arg)
{
	struct cancel *x = arg;
	struct rds_path *p = READ_ONCE(m->path);

	if (!cancel_means(x, p, m))
		return true;
	if (p != x->p) {
		/* Who takes it off the path now, and then off this list, holds the connection. */
		rds_conn_hold(p->conn);
		x->next = p;
		return false;
	}
	cancel_message(x, m);
	return true;
}

static bool cancel_some(struct cancel *x, struct rds_tx_walk *w)
{
	struct rds_path *p = x->p;
	bool more;

	if (!p)
		return rds_tx_walk_some(w, cancel_one, x);
	spin_lock_bh(&p->lock);
	more = rds_tx_walk_some(w, cancel_one, x);
	spin_unlock_bh(&p->lock);
	return more;
}

/* What was taken from the path is finished while its connection is held. */
static void cancel_finish(struct cancel *x)
{
	struct rds_conn *c = x->p->conn;
	struct rds_message *m, *next;

	if (x->left)
		rds_tx_release(x->rs, x->bytes, x->left);
	for (; x->puts; x->puts--)
		rds_sock_put(x->rs);
	x->bytes = 0;
	x->left = 0;
	if (!x->p->index)
		rds_mprds_path0_acked(c);
	else
		rds_mprds_fold_later(c);
	rds_op_finish(&x->out, x->dst ? RDS_RDMA_CANCELED : -1);
	list_for_each_entry_safe(m, next, &x->out, node) {
		if (!m->op || !m->op->begun)
			continue;
		rds_conn_hold(c);
		list_move_tail(&m->node, &x->begun);
	}
	rds_underway_release(&x->out);
	rds_message_settle_parted(&x->out, x->rs);
	rds_conn_put(c);
}

static void cancel_walk(struct cancel *x)
{
	struct rds_tx_walk w;
	bool more;

	rds_tx_walk_begin(&w, x->rs);
	do {
		more = cancel_some(x, &w);
		if (x->p && (x->next || !more))
			cancel_finish(x);
		if (x->next || !more)
			x->p = x->next;
		x->next = NULL;
		cond_resched();
	} while (more);
	rds_tx_walk_end(&w);
}

/*
 * A peer that takes nothing could make the end of a socket wait for ever.  Without the link its
 * memory is free; the others' messages are sent again.
 */
static void cancel_wait(struct cancel *x, struct rds_conn *c, struct list_head *msgs)
{
	unsigned int i;

	if (rds_op_wait(msgs, x->dst ? MAX_SCHEDULE_TIMEOUT : CLOSE_WAIT_MAX))
		return;
	rds_stat_inc(send_close_dropped);
	for (i = 0; i < RDS_MAX_PATHS; i++) {
		struct rds_path *p = smp_load_acquire(&c->paths[i]);	/* published complete */

		if (p)
			rds_path_reset(p);
	}
	rds_op_wait(msgs, CLOSE_WAIT_MAX);
}

/* The operations of one connection after the other. */
static void cancel_begun(struct cancel *x)
{
	struct rds_message *m, *next;
	struct rds_conn *c;
	LIST_HEAD(msgs);
	unsigned int n;

	while (!list_empty(&x->begun)) {
		c = list_first_entry(&x->begun, struct rds_message, node)->path->conn;
		n = 0;
		list_for_each_entry_safe(m, next, &x->begun, node) {
			if (m->path->conn != c)
				continue;
			list_move_tail(&m->node, &msgs);
			n++;
		}
		cancel_wait(x, c, &msgs);
		rds_underway_release(&msgs);
		rds_message_settle_parted(&msgs, x->rs);
		while (n--)
			rds_conn_put(c);
	}
}

static void cancel(struct cancel *x)
{
	INIT_LIST_HEAD(&x->out);
	INIT_LIST_HEAD(&x->begun);
	cancel_walk(x);
	x->first = true;
	cancel_walk(x);
	cancel_begun(x);
}

/**
 * rds_cancel() - take a socket's messages back
 * @rs: socket
 * @dst: only those to this address and port, or NULL for all (close)
 *
 * A message that is half-way on the wire still completes on the present link.  So does an
 * RDMA or atomic operation that has begun, and this waits for it: afterwards its memory is
 * the application's again, unless a signal came.  For close() that has a limit: then the link
 * goes.
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int rds_cancel(struct rds_sock *rs, const struct rds_addr *dst)
{
	struct cancel x = { .rs = rs, .dst = dst };

	if (!rds_is_bound(rs))
		return 0;
	if (atomic_read(&rs->tx_msgs) || (!dst && READ_ONCE(rs->pins_left)))
		cancel(&x);
	return 0;
}

/**
 * rds_cancel_lent() - a socket is closed: take back what uses memory of the application
 * @rs: socket
 *
 * As rds_cancel() for all messages with pages of zero copy, or an operation.  The others stay.
 *
 * Context: process, may sleep.
 */
void rds_cancel_lent(struct rds_sock *rs)
{
	struct cancel x = { .rs = rs, .lent = true };

	if (READ_ONCE(rs->lends) && (atomic_read(&rs->tx_msgs) || READ_ONCE(rs->pins_left)))
		cancel(&x);
}
