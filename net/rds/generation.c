// SPDX-License-Identifier: GPL-2.0
/*
 * The generation: a random number that each instance of a peer has, by which we see that it was
 * started anew and counts its messages from the beginning.
 *
 * It comes with the first frame of each link and with handshakes; over verbs with the private
 * data of the connection.
 */
#include "core.h"

/*
 * A path other than the one that told us: reset, unless its link may still be that of the
 * old instance; then rds_generation_fresh_link() does it.
 */
static void generation_reset_other(struct rds_path *q, u32 gen)
{
	bool fresh;

	spin_lock_bh(&q->lock);
	fresh = !rds_state_has_link(q->state) || (q->state == RDS_UP && !q->rx_frames);
	if (q->rx_gen != gen && (!q->rx_gen || fresh)) {
		if (q->rx_gen)
			q->next_rx = 0;
		q->rx_gen = gen;
	}
	spin_unlock_bh(&q->lock);
}

/**
 * rds_generation_fresh_link() - a new link begins: does it belong to a new peer instance?
 * @p: the path
 *
 * For a path whose old link was still up when another path learned of the new instance.
 */
void rds_generation_fresh_link(struct rds_path *p)
{
	u32 gen = READ_ONCE(p->conn->peer_gen);

	lockdep_assert_held(&p->lock);
	if (gen && p->rx_gen && p->rx_gen != gen) {
		p->next_rx = 0;
		p->rx_gen = gen;
	}
}

/**
 * rds_generation_told() - a frame told the generation of the peer's instance
 * @p: path it came by
 * @gen: generation, non-zero
 * @seq: sequence of the frame, which is yet to be judged; 0 for a control frame at the head of
 *	a link
 *
 * A changed generation means the peer restarted: what we expect next starts again.  Our
 * own numbering goes on, because a fresh receiver accepts any first number, and so no
 * queued message is lost or renumbered.  The same for a link that begins with one after others
 * that did not: who tells it does so each time.  In a message it may be told late.
 *
 * Context: any; one caller at a time per path.
 */
void rds_generation_told(struct rds_path *p, u32 gen, u64 seq)
{
	struct rds_conn *c = p->conn;
	u32 known;
	unsigned int i;

	spin_lock_bh(&p->lock);
	if (p->rx_gen ? p->rx_gen != gen : !seq)
		p->next_rx = seq;
	p->rx_gen = gen;
	spin_unlock_bh(&p->lock);

	spin_lock_bh(&c->lock);
	known = c->peer_gen;
	WRITE_ONCE(c->peer_gen, gen);
	if (known != gen)
		c->ports_changed = false;	/* another way, perhaps */
	if (!p->index)
		c->told = READ_ONCE(p->epoch);
	spin_unlock_bh(&c->lock);
	if (known == gen)
		return;
	if (known)
		rds_stat_inc(recv_generation_change);
	for (i = 0; i < RDS_MAX_PATHS; i++) {
		struct rds_path *q = smp_load_acquire(&c->paths[i]);	/* published complete */

		if (q && q != p)
			generation_reset_other(q, gen);
	}
}

/**
 * rds_path_peer_instance() - what the peer says of itself when a link is made
 * @p: path of a transport with one path, where each link tells
 * @instance: differs from one start of the peer to the next; 0 = it is of a make that has none
 *
 * Who has an instance tells it each time.  So if one is told where none was, or none where one
 * was, other software is there now, and that counts from the beginning like any other instance.
 *
 * Context: any, before the link is up.
 *
 * Return: the sequence of its newest message that was received, 0 = none.  It may be acknowledged
 * before anything comes by this link; never to a peer without an instance, which may have begun
 * to count anew unseen.
 */
u64 rds_path_peer_instance(struct rds_path *p, u32 instance)
{
	struct rds_conn *c = p->conn;
	bool other;
	u64 next;

	spin_lock_bh(&p->lock);
	other = !p->rx_gen != !instance && p->next_rx;
	if (other)
		p->next_rx = 0;
	if (!instance)
		p->rx_gen = 0;
	spin_unlock_bh(&p->lock);
	if (other)
		rds_stat_inc(recv_generation_change);
	if (instance) {
		rds_generation_told(p, instance, 0);
		spin_lock_bh(&p->lock);
		next = p->next_rx;
		spin_unlock_bh(&p->lock);
		return next ? next - 1 : 0;
	}
	spin_lock_bh(&c->lock);
	WRITE_ONCE(c->peer_gen, 0);
	spin_unlock_bh(&c->lock);
	return 0;
}

/**
 * rds_instance() - what we say of ourselves
 * @p: path
 */
u32 rds_instance(const struct rds_path *p)
{
	return p->conn->rn->generation;
}
