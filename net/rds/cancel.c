// SPDX-License-Identifier: GPL-2.0
/*
 * A socket takes messages back: RDS_CANCEL_SENT_TO, close().
 */
#include "core.h"

/* close() waits so long for an operation, and once more after the link was dropped. */
#define CLOSE_WAIT_MAX	(10 * HZ)

/**
 * struct purge - a socket takes messages back from a path
 * @p: the path
 * @rs: the socket, held
 * @dport: only those to this port, or NULL
 * @lent: only those with memory of the application
 * @why: reason
 * @out: gets them
 * @bytes: payload of messages that stay on the path, but not the socket's
 * @left: their number
 * @puts: references to the socket to be dropped for them
 */
struct purge {
	struct rds_path *p;
	struct rds_sock *rs;
	const u16 *dport;
	bool lent;
	enum rds_drop_reason why;
	struct list_head *out;
	u32 bytes, left, puts;
};

/* A message that stays has a completion to come: for a socket that is closed no more. */
static void purge_pin(struct purge *x, struct rds_message *m)
{
	if (x->why != RDS_DROP_CLOSED) {
		WRITE_ONCE(x->rs->pins_left, true);
		return;
	}
	m->pin->rs = NULL;
	list_del_init(&m->own);
	x->puts++;
}

/* Locks of the path and of the socket's list held. */
static void purge_one(struct rds_message *m, void *arg)
{
	struct purge *x = arg;

	if (READ_ONCE(m->path) != x->p)
		return;
	if (!m->rs) {		/* cancelled before */
		purge_pin(x, m);
		return;
	}
	if ((x->dport && m->dport != *x->dport) || (x->lent && !m->pin && !m->op))
		return;
	rds_drop_message(x->p, m, x->why);
	if (m->pin && m->where == RDS_MSG_SENT) {
		x->bytes += m->charge;
		x->left++;
		x->puts++;
		m->charge = 0;
		WRITE_ONCE(m->rs, NULL);
		purge_pin(x, m);
		return;
	}
	if (m->op)
		m->op->taken = true;
	rds_path_leave(x->p, m, x->out);
}

/*
 * Take a socket's messages off the path.  Who calls finishes their operations and settles them.
 *
 * A zero-copy message that the transport has taken may still be read from the user's pages,
 * for the first time or again.  It leaves the socket but stays on the path, and its completion
 * comes, when it is acknowledged or the link is gone.  A socket that is closed needs none: nothing
 * is left that holds it, and with it its namespace, for as long as the peer likes.
 *
 * Looks at the socket's own messages only, however many others there are.
 *
 * Context: process.
 */
static void path_purge(struct rds_path *p, struct rds_sock *rs, const u16 *dport, bool lent,
		       enum rds_drop_reason why, struct list_head *out)
{
	struct purge x = {
		.p = p, .rs = rs, .dport = dport, .lent = lent, .why = why, .out = out,
	};
	struct rds_tx_walk w;
	bool more;

	rds_tx_walk_begin(&w, rs);
	do {
		spin_lock_bh(&p->lock);
		more = rds_tx_walk_some(&w, purge_one, &x);
		spin_unlock_bh(&p->lock);
		cond_resched();
	} while (more);
	rds_tx_walk_end(&w);

	if (x.left)
		rds_tx_release(rs, x.bytes, x.left);
	for (; x.puts; x.puts--)
		rds_sock_put(rs);
	if (!p->index)
		rds_mprds_path0_acked(p->conn);
}

/**
 * struct cancel_ctx - what a socket takes back
 * @rs: socket
 * @dst: messages to this address and port, or NULL for all: it is closed
 * @lent: only those with memory of the application
 */
struct cancel_ctx {
	struct rds_sock *rs;
	const struct rds_addr *dst;
	bool lent;
};

/*
 * A peer that takes nothing could make the end of a socket wait for ever.  Without the link its
 * memory is free; the others' messages are sent again.
 */
static void cancel_wait(struct rds_conn *c, struct list_head *msgs, bool closing)
{
	unsigned int i;

	if (rds_op_wait(msgs, closing ? CLOSE_WAIT_MAX : MAX_SCHEDULE_TIMEOUT))
		return;
	rds_stat_inc(send_close_dropped);
	for (i = 0; i < RDS_MAX_PATHS; i++) {
		struct rds_path *p = smp_load_acquire(&c->paths[i]);	/* published complete */

		if (p)
			rds_path_reset(p);
	}
	rds_op_wait(msgs, CLOSE_WAIT_MAX);
}

static void cancel_conn(struct rds_conn *c, void *arg)
{
	struct cancel_ctx *x = arg;
	unsigned int i = RDS_MAX_PATHS;
	LIST_HEAD(out);

	if (!ipv6_addr_equal(&c->key.laddr, &x->rs->bound.ip))
		return;
	if (x->dst && !ipv6_addr_equal(&c->key.faddr, &x->dst->ip))
		return;
	if (x->dst && x->dst->scope && c->key.scope && x->dst->scope != c->key.scope)
		return;
	/* Path 0 last: rds_mprds_fold_path() moves messages there. */
	while (i--) {
		struct rds_path *p = smp_load_acquire(&c->paths[i]);	/* published complete */

		if (!p)
			continue;
		path_purge(p, x->rs, x->dst ? &x->dst->port : NULL, x->lent,
			   x->dst ? RDS_DROP_CANCELLED : RDS_DROP_CLOSED, &out);
		rds_mprds_fold_path(p);
	}
	rds_op_finish(&out, x->dst ? RDS_RDMA_CANCELED : -1);
	cancel_wait(c, &out, !x->dst);
	rds_underway_release(&out);
	rds_message_settle_parted(&out, x->rs);
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
	struct cancel_ctx x = { .rs = rs, .dst = dst };

	if (!rds_is_bound(rs))
		return 0;
	if (!atomic_read(&rs->tx_msgs) && (dst || !READ_ONCE(rs->pins_left)))
		return 0;
	rds_conn_for_each(rds_net(sock_net(rds_rs_to_sk(rs))), cancel_conn, &x);
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
	struct cancel_ctx x = { .rs = rs, .lent = true };

	if (READ_ONCE(rs->lends) && (atomic_read(&rs->tx_msgs) || READ_ONCE(rs->pins_left)))
		rds_conn_for_each(rds_net(sock_net(rds_rs_to_sk(rs))), cancel_conn, &x);
}
