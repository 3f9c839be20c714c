// SPDX-License-Identifier: GPL-2.0
/*
 * Multipath: a peer that mixes up paths gets all messages by path 0.
 */
#include "core.h"

/* Messages that are given to path 0 under one hold of the locks. */
#define FOLD_CHUNK	256

static void fold_one(struct rds_path *p, struct rds_path *p0, struct rds_message *m)
{
	rds_sendq_del(p, m);
	WRITE_ONCE(p->nr_queued, p->nr_queued - 1);
	rds_sendq_add(p0, m, NULL);
	WRITE_ONCE(p0->nr_queued, p0->nr_queued + 1);
	WRITE_ONCE(m->path, p0);
	m->flags &= ~RDS_FLAG_RETRANSMITTED;
	m->seq = 0;
}

/* Some of a path's messages go to path 0; locks of both held.  True when none is left. */
static bool fold_some(struct rds_path *p, struct rds_path *p0)
{
	struct rds_message *m, *next;
	unsigned int n = 0;

	list_for_each_entry_safe(m, next, &p->queue, node) {
		if (m->control)
			continue;
		if (n++ == FOLD_CHUNK)
			return false;
		fold_one(p, p0, m);
	}
	while ((m = rds_sendq_behind(p))) {
		if (n++ == FOLD_CHUNK)
			return false;
		fold_one(p, p0, m);
	}
	WRITE_ONCE(p->folded, true);
	return true;
}

/**
 * rds_mprds_fold_path() - put the messages of a path on path 0, and those to come too
 * @p: the path; nothing is done unless its peer asks for that
 *
 * The peer was replaced by one that mixes up path indices, see mprds_tx_paths().  What waits here
 * gets new numbers, by which nobody could tell a repeat; so what a link carries already stays, and
 * nothing follows it (rds_mprds_may_send()), until the peer has acknowledged it
 * (rds_path_acked()) or the link is stopped.  One that says nothing is that of the old peer.
 *
 * It goes in front of the flows of path 0.  There earlier messages of the same sockets may wait,
 * from before the fan-out: until they are on their way (rds_mprds_path0_acked()) nothing is done.
 *
 * Context: process.
 */
void rds_mprds_fold_path(struct rds_path *p)
{
	struct rds_path *p0 = p->conn->paths[0];
	bool sent, silent, early, done;

	if (!p->index || !READ_ONCE(p->conn->fold) || READ_ONCE(p->folded))
		return;
	do {
		/* path[0].lock nests in those of the others here, nowhere the other way round. */
		spin_lock_bh(&p->lock);
		spin_lock_nested(&p0->lock, SINGLE_DEPTH_NESTING);
		sent = !list_empty(&p->sent);
		silent = p->state != RDS_UP || !p->rx_frames;
		early = p->conn->nr_early_queued;
		if (sent || early)
			WRITE_ONCE(p->conn->fold_waits, true);
		done = sent || early || fold_some(p, p0);
		spin_unlock(&p0->lock);
		spin_unlock_bh(&p->lock);
		cond_resched();
	} while (!done);
	if (sent) {
		if (silent)
			rds_path_reset(p);
		return;
	}
	if (early)
		return;
	if (READ_ONCE(p0->nr_queued))
		rds_path_want(p0);
	rds_path_kick(p0);
	/* Control messages were turned away. */
	rds_path_kick(p);
}

/**
 * rds_mprds_fold_later() - what has kept a path's messages from path 0 may be gone
 * @c: the connection
 *
 * Context: any, no lock held.
 */
void rds_mprds_fold_later(struct rds_conn *c)
{
	if (!READ_ONCE(c->fold_waits) || !xchg(&c->fold_waits, false))
		return;
	spin_lock_bh(&c->lock);
	if (!c->dead)
		mod_delayed_work(rds_wq, &c->mprds_work, 0);
	spin_unlock_bh(&c->lock);
}
