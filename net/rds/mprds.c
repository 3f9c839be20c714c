// SPDX-License-Identifier: GPL-2.0
/*
 * Multipath: the handshake that learns the path count and the peer's generation, the
 * choice of a path, and the order at fan-out.
 *
 * Handshake frames arrive in softirq; they only record what the peer said and queue mprds_work,
 * which allocates paths in process context.  The number of paths that links are made and taken
 * for only grows: a smaller count is counted and ignored, because messages may wait on the paths
 * that it leaves out.  Our own messages are spread once, because a socket that changed its path
 * could be overtaken by itself; but all are put on path 0 if the peer turns out to be one that
 * mixes up the others.
 */
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/sched/mm.h>

#include "core.h"
#include "trace.h"

/* Unanswered handshake pings on one link. */
#define MAX_GREETINGS	10
/* After so many of them it is looked for other signs that the peer knows our paths. */
#define FEW_GREETINGS	3
/* How long links may be faster than the answer. */
#define GREETING_TIME	(5 * HZ)
/* Pause before paths are allocated again after a shortage of memory. */
#define MPRDS_RETRY_DELAY	(HZ / 20 + 1)

/*
 * The way of a source port is found when it first sends, by a hash that is the same at both ends,
 * if both are of this kind: an answer then carries the acknowledgment of what it answers.  Both
 * know both generations, and nobody else does.
 */
static unsigned int mprds_find_way(struct rds_conn *c, u16 sport, u16 dport, unsigned int n)
{
	u32 ports = (u32)max(sport, dport) << 16 | min(sport, dport);
	u8 *way = &c->way[sport % RDS_NR_WAYS];
	u32 seed;

	spin_lock_bh(&c->lock);
	seed = c->rn->generation ^ c->peer_gen;
	if (!*way)
		WRITE_ONCE(*way, 1 + reciprocal_scale(jhash_1word(ports, seed), n));
	spin_unlock_bh(&c->lock);
	return *way;
}

/**
 * rds_mprds_select() - the path for a message
 * @c: the connection
 * @sport: source port; all its messages to this peer go by one path, which keeps their order
 * @dport: destination port
 * @npaths: the path count the choice was made with; rds_path_enqueue() checks it
 */
struct rds_path *rds_mprds_select(struct rds_conn *c, u16 sport, u16 dport, unsigned int *npaths)
{
	unsigned int n = smp_load_acquire(&c->tx_paths);	/* pairs with mprds_publish() */
	unsigned int way;
	struct rds_path *p;

	*npaths = n;
	if (n <= 1)
		return c->paths[0];
	way = READ_ONCE(c->way[sport % RDS_NR_WAYS]) ?: mprds_find_way(c, sport, dport, n);
	p = c->paths[way - 1];
	return READ_ONCE(p->folded) ? c->paths[0] : p;
}

/**
 * rds_mprds_ext() - the extension headers of our handshake frames
 * @p: path
 * @ext: extension area, zeroed
 */
void rds_mprds_ext(const struct rds_path *p, u8 ext[RDS_EXT_LEN])
{
	rds_ext_put_u16(ext, RDS_EXT_NPATHS, RDS_MAX_PATHS);
	rds_ext_put_u32(ext, RDS_EXT_GEN_NUM, p->conn->rn->generation);
	rds_ext_put_u8(ext, RDS_EXT_SPORT_IDX, 0);
}

/**
 * rds_mprds_may_start() - may a link of this path be made now?
 * @p: the path
 *
 * Not before a pong came by path 0's present link: until the peer has seen our ping it
 * knows of one path only and would take this link for a new path 0.  A peer that did not
 * announce source-port encoding pairs indices by order of arrival, so towards it a path
 * also waits until those below are up.
 */
bool rds_mprds_may_start(const struct rds_path *p)
{
	const struct rds_conn *c = p->conn;
	const struct rds_path *p0 = c->paths[0];
	unsigned int i;

	if (!p->index || !rds_conn_is_active(c))
		return true;
	if (READ_ONCE(c->fold) && !READ_ONCE(p->folded))
		return false;
	if (!rds_path_is_up(p0) || READ_ONCE(c->greeted) != READ_ONCE(p0->epoch))
		return false;
	if (READ_ONCE(c->peer_sport_idx))
		return true;
	for (i = 0; i < p->index; i++)
		if (!rds_path_is_up(c->paths[i]))
			return false;
	return true;
}

/* ---- fan-out order -------------------------------------------------------------- */

/* rds_conn.fence: more than there are pings */
#define RDS_FENCE_LATER	U8_MAX

static void mprds_greet(struct rds_path *p);

/* Has the peer answered the ping behind what was queued on path 0 before the fan-out? */
static bool fanout_answered(const struct rds_conn *c)
{
	unsigned int fence = smp_load_acquire(&c->fence);	/* see mprds_forget_pings() */

	return fence <= READ_ONCE(c->pongs);
}

/*
 * Does the peer have everything that was queued on path 0 before the fan-out?  That its TCP has
 * acknowledged it is not enough: its RDS may not have read it when another path's message comes.
 */
static bool fanout_done(struct rds_conn *c)
{
	struct rds_path *p0 = c->paths[0];
	bool done;

	if (!fanout_answered(c))
		return false;
	spin_lock_bh(&p0->lock);
	done = !c->nr_early;
	spin_unlock_bh(&p0->lock);
	return done;
}

/* The gate opens once, and whoever opens it wakes those that were turned away. */
static void fanout_release(struct rds_conn *c)
{
	unsigned int i;

	if (xchg(&c->fanout_open, true))
		return;
	/* Those that came before the peer said how many there are have pongs to send, too. */
	for (i = 1; i < RDS_MAX_PATHS; i++) {
		struct rds_path *p = smp_load_acquire(&c->paths[i]);	/* published complete */

		if (p)
			rds_path_kick(p);
	}
}

/**
 * rds_mprds_may_send() - fan-out order: may this path send yet?
 * @p: the path
 */
bool rds_mprds_may_send(struct rds_path *p)
{
	struct rds_conn *c = p->conn;

	if (!p->index)
		return true;
	if (READ_ONCE(c->fold))
		return READ_ONCE(p->folded);	/* pings */
	if (smp_load_acquire(&c->fanout_open))		/* before fence */
		return true;
	if (fanout_done(c)) {
		fanout_release(c);
		return true;
	}
	rds_stat_inc(mprds_catchup_tx0_retries);
	return false;
}

/**
 * rds_mprds_may_still_send() - is it still as rds_mprds_may_send() has said?
 * @p: the path, its lock held
 *
 * A message that was queued since, and has something before it on path 0, was queued behind a
 * closed gate.
 */
bool rds_mprds_may_still_send(const struct rds_path *p)
{
	return !p->index || READ_ONCE(p->conn->fanout_open) || READ_ONCE(p->folded);
}

/*
 * So many pings must have been answered: all so far, and one that goes behind the last message that
 * others wait for.  That message may be in a flow, which pings overtake; then the ping has to wait
 * until it is on its way.  Locks of the connection and of path 0 held.
 */
static unsigned int fanout_fence(const struct rds_conn *c)
{
	return c->nr_early_queued ? RDS_FENCE_LATER : c->pings + 1;
}

/* Is it on its way, and nobody has asked yet? */
static bool fanout_may_ask(struct rds_conn *c)
{
	struct rds_path *p0 = c->paths[0];
	bool ask;

	if (READ_ONCE(c->fence) != RDS_FENCE_LATER)
		return false;
	spin_lock_bh(&c->lock);
	spin_lock_nested(&p0->lock, SINGLE_DEPTH_NESTING);
	ask = c->fence == RDS_FENCE_LATER && !c->nr_early_queued;
	if (ask)
		WRITE_ONCE(c->fence, fanout_fence(c));
	spin_unlock(&p0->lock);
	spin_unlock_bh(&c->lock);
	return ask;
}

/* The ping behind which path 0 has nothing that others wait for. */
static void fanout_ask(struct rds_conn *c)
{
	struct rds_path *p0 = c->paths[0];

	WRITE_ONCE(p0->greetings, 0);
	mprds_greet(p0);
	rds_path_look_later(p0);
}

/**
 * rds_mprds_path0_acked() - path 0 got shorter: release the others if it was the last
 * @c: the connection
 *
 * Context: any.
 */
void rds_mprds_path0_acked(struct rds_conn *c)
{
	if (smp_load_acquire(&c->fanout_open))	/* before fence */
		return;
	if (fanout_may_ask(c))
		fanout_ask(c);
	if (fanout_done(c))
		fanout_release(c);
	if (!READ_ONCE(c->nr_early_queued))
		rds_mprds_fold_later(c);
}

/* A peer that answers no more: what its TCP has acknowledged must do. */
static void fanout_give_up(struct rds_conn *c)
{
	spin_lock_bh(&c->lock);
	WRITE_ONCE(c->fence, 0);
	spin_unlock_bh(&c->lock);
	rds_mprds_path0_acked(c);
}

/* ---- the beginning of a link -------------------------------------------------- */

static void mprds_want_all(struct rds_conn *c)
{
	unsigned int i, n = smp_load_acquire(&c->npaths);	/* pairs with mprds_publish() */

	if (!rds_conn_is_active(c))
		return;
	for (i = 1; i < n; i++)
		rds_path_hurry(c->paths[i]);
}

/*
 * Without pings no pong comes either, and without a pong the peer does not know us.  Where there
 * are several paths we must ask all the same, or messages on them would wait until pings are
 * allowed: ours, and those of a peer that waits for us to dial.
 */
static bool mprds_may_ask(const struct rds_conn *c)
{
	return READ_ONCE(c->rn->sysctl.ping_enable) || READ_ONCE(c->npaths) > 1;
}

/**
 * rds_mprds_is_pong() - is this the answer to a handshake ping of ours?
 * @c: connection it came by
 * @h: its header
 */
bool rds_mprds_is_pong(const struct rds_conn *c, const struct rds_hdr *h)
{
	return h->dport == RDS_PORT_PROBE && h->sport == RDS_PORT_KERNEL && mprds_may_ask(c);
}

static void mprds_greet(struct rds_path *p)
{
	struct rds_conn *c = p->conn;
	bool counted = !p->index;

	if (!mprds_may_ask(c))
		return;
	if (counted) {
		spin_lock_bh(&c->lock);
		c->pings++;
		spin_unlock_bh(&c->lock);
	}
	if (rds_path_send_control(p, RDS_PORT_PROBE, RDS_PORT_KERNEL) && counted) {
		spin_lock_bh(&c->lock);
		if (c->pings)
			c->pings--;
		spin_unlock_bh(&c->lock);
	}
}

/* Path 0 has a new link: what was on the old one is answered no more. */
static void mprds_forget_pings(struct rds_path *p)
{
	struct rds_conn *c = p->conn;
	struct rds_message *m;

	spin_lock_bh(&c->lock);
	c->pings = 0;
	WRITE_ONCE(c->pongs, 0);
	/* Those that were queued and not sent go by this one. */
	spin_lock_nested(&p->lock, SINGLE_DEPTH_NESTING);
	list_for_each_entry(m, &p->controls, own)
		c->pings += m->where == RDS_MSG_QUEUED && m->sport == RDS_PORT_PROBE;
	if (c->fence)
		smp_store_release(&c->fence, fanout_fence(c));	/* after pongs, fewer now */
	spin_unlock(&p->lock);
	spin_unlock_bh(&c->lock);
}

/*
 * No pong comes: pings are off by now, or behind a message that is not read.  But a peer that has
 * answered before, and begins this link with the generation of then, knows our paths.
 */
static void mprds_recognise(struct rds_path *p0)
{
	struct rds_conn *c = p0->conn;
	u32 epoch = READ_ONCE(p0->epoch);
	bool same;

	spin_lock_bh(&c->lock);
	same = c->greeted && c->greeted_gen && c->greeted_gen == c->peer_gen && c->told == epoch;
	if (same)
		WRITE_ONCE(c->greeted, epoch);
	spin_unlock_bh(&c->lock);
	if (same)
		mprds_want_all(c);
}

/**
 * rds_mprds_greet_again() - repeat a handshake ping that got no answer
 * @p: the path
 *
 * Context: process.
 * Return: true if the timer should look again.
 */
bool rds_mprds_greet_again(struct rds_path *p)
{
	struct rds_conn *c = p->conn;

	if (p->index || c->key.trans->max_paths < 2 || !rds_path_is_up(p) ||
	    (READ_ONCE(c->greeted) == READ_ONCE(p->epoch) &&
	     (fanout_answered(c) || READ_ONCE(c->fence) == RDS_FENCE_LATER)))
		return false;
	if (p->greetings >= MAX_GREETINGS) {
		fanout_give_up(c);
		return false;
	}
	if (p->greetings >= FEW_GREETINGS)
		mprds_recognise(p);
	WRITE_ONCE(p->greetings, p->greetings + 1);
	mprds_greet(p);
	return true;
}

/**
 * rds_mprds_link_up() - a path came up: greet, and bring up the others
 * @p: the path
 *
 * Context: any.
 */
void rds_mprds_link_up(struct rds_path *p)
{
	struct rds_conn *c = p->conn;
	unsigned int n;

	if (c->key.trans->max_paths < 2)
		return;
	WRITE_ONCE(p->greetings, 0);
	if (!p->index)
		mprds_forget_pings(p);
	/*
	 * A legacy peer that restarted may have come by a link that we took for another path; it
	 * must learn our path count all the same.  If path 0 is down, it may be legacy only now.
	 */
	if (!p->index || rds_legacy_peer(c) || !rds_path_is_up(c->paths[0]))
		mprds_greet(p);
	n = smp_load_acquire(&c->npaths);	/* pairs with mprds_publish() */
	if (p->index + 1 < n && rds_conn_is_active(c)) {
		/* It may be the turn of the next one; the others' come with the pong. */
		rds_path_hurry(c->paths[p->index + 1]);
	} else if (n > 1 && READ_ONCE(c->peer_sport_idx) && !rds_conn_is_active(c)) {
		/* It may have been on its way to a wrong path when mprds_repair() looked. */
		spin_lock_bh(&c->lock);
		if (!c->dead)
			mod_delayed_work(rds_wq, &c->mprds_work, 0);
		spin_unlock_bh(&c->lock);
	}
}

/* ---- handshake ---------------------------------------------------------------- */

/**
 * rds_mprds_generation() - a handshake ping or pong may tell of a new instance of the peer
 * @p: path it came by
 * @h: its header
 *
 * Before the frame itself is judged: it may be a repeat of the new instance.
 *
 * Context: any; one caller at a time per path.
 */
void rds_mprds_generation(struct rds_path *p, const struct rds_hdr *h)
{
	struct rds_ext e;

	if (p->conn->key.trans->max_paths < 2 || !mprds_may_ask(p->conn))
		return;
	rds_ext_parse(h->ext, &e);
	if (RDS_EXT_HAS(&e, RDS_EXT_GEN_NUM) && e.gen)
		rds_generation_told(p, e.gen, h->seq);
}

/**
 * rds_mprds_received() - a handshake ping or pong arrived
 * @p: path it came by
 * @h: its header
 *
 * Context: any; one caller at a time per path.
 */
void rds_mprds_received(struct rds_path *p, const struct rds_hdr *h)
{
	struct rds_conn *c = p->conn;
	bool pong = h->sport == RDS_PORT_KERNEL && !p->index;
	bool known, was_idx;
	struct rds_ext e;
	unsigned int n, most;

	if (c->key.trans->max_paths < 2)
		return;
	rds_stat_inc(recv_handshake);
	rds_ext_parse(h->ext, &e);
	if (e.unknown)
		rds_stat_inc(recv_ext_unknown);

	spin_lock_bh(&c->lock);
	known = !pong || c->greeted == p->epoch;
	was_idx = c->peer_sport_idx;
	if (pong) {
		WRITE_ONCE(c->greeted, READ_ONCE(p->epoch));
		c->greeted_gen = c->peer_gen;
	}
	if (pong && c->pongs < c->pings)
		WRITE_ONCE(c->pongs, c->pongs + 1);
	most = max(c->npaths, c->want_paths);
	n = rds_npaths_clamp(&e, most);
	n = min(n, c->key.trans->max_paths);
	WRITE_ONCE(c->peer_sport_idx, rds_legacy_announced(p, h, &e, n));
	if (!c->peer_sport_idx && c->tx_paths > 1)
		WRITE_ONCE(c->fold, true);
	if (n < most)
		rds_stat_inc(recv_handshake_ignored);
	else if (!c->dead)
		c->want_paths = n;
	/* What says nothing new dials nothing: or each ping of a peer would, seven times. */
	if (!c->dead && (!known || n > most || c->peer_sport_idx != was_idx || c->fold))
		mod_delayed_work(rds_wq, &c->mprds_work, 0);
	spin_unlock_bh(&c->lock);
	if (!rds_legacy_peer(c))
		rds_legacy_forget(c);
	if (pong)
		rds_mprds_path0_acked(c);
}

/*
 * One path until a pong proved that the peer knows ours.
 * With a legacy peer the side that accepts pairs path indices by order of arrival, which may
 * differ from link to link; its duplicate filter must then see our messages on one path, or
 * it takes a repeat on the wrong path for one that it had.
 */
static unsigned int mprds_tx_paths(const struct rds_conn *c, unsigned int n)
{
	if (!READ_ONCE(c->greeted))
		return 1;
	return READ_ONCE(c->peer_sport_idx) ? n : 1;
}

/*
 * May the peer's TCP have messages of path 0 that its RDS has not read, now or soon?  Those in
 * front of an answered ping it has.  Locks of the connection and of path 0 held.
 */
static bool mprds_maybe_unread(const struct rds_conn *c)
{
	if (!READ_ONCE(c->rn->sysctl.ping_enable))
		return false;
	return c->nr_early ||
	       (c->last_data && (c->last_data > c->pinged_at || c->pongs < c->pings));
}

/* Publish the path count together with the point in path 0's stream others wait for. */
static void mprds_publish(struct rds_conn *c, unsigned int n)
{
	unsigned int tx = mprds_tx_paths(c, n);
	struct rds_path *p0 = c->paths[0];
	bool ask = false;

	spin_lock_bh(&c->lock);
	/*
	 * path[0].lock nests here: a message enqueued on path 0 with the old count is
	 * either counted in nr_early or refused by rds_path_enqueue().
	 */
	spin_lock_nested(&p0->lock, SINGLE_DEPTH_NESTING);
	if (c->tx_paths <= 1 && tx > 1) {
		ask = mprds_maybe_unread(c);
		WRITE_ONCE(c->fence, ask ? fanout_fence(c) : 0);
		smp_store_release(&c->fanout_open,	/* after fence */
				  !ask && !c->nr_early);
	}
	/* Others wait for what is parked. */
	rds_sendq_wake(p0);
	smp_store_release(&c->npaths, n);	/* after paths[] */
	if (c->tx_paths <= 1)
		smp_store_release(&c->tx_paths, tx);	/* after paths[] and fanout_open */
	spin_unlock(&p0->lock);
	spin_unlock_bh(&c->lock);
	if (ask && READ_ONCE(c->fence) != RDS_FENCE_LATER)
		fanout_ask(c);
	rds_path_kick(p0);
}

/* Paths 1..n-1 exist; setup mutex held. */
static bool mprds_add_paths(struct rds_conn *c, unsigned int n)
{
	unsigned int i;

	lockdep_assert_held(&c->setup);
	for (i = 1; i < n; i++)
		if (!c->paths[i] && IS_ERR(rds_conn_add_path(c, i)))
			return false;
	return true;
}

/**
 * rds_mprds_guess() - how many paths may an incoming link belong to?
 * @c: the connection
 *
 * A legacy peer dials its other paths as soon as it has our ping; its answer, which tells
 * us the path count, may come later than the links.  If it is us who were started anew, it dials
 * all at once: they are here before the first of them is up.
 *
 * Context: process, may sleep.
 * Return: the path count, or a guess while the handshake on a young path 0 goes on; 0 for
 * lack of memory.
 */
unsigned int rds_mprds_guess(struct rds_conn *c)
{
	unsigned int n = c->key.trans->max_paths;
	struct rds_path *p0 = c->paths[0];
	bool young = rds_path_is_up(p0) &&
		     !time_after(jiffies, READ_ONCE(p0->up_since) + GREETING_TIME);

	if (READ_ONCE(c->npaths))
		return c->npaths;
	if (!young && !rds_path_has_successor(p0))
		return 1;
	mutex_lock(&c->setup);
	if (c->dead)
		n = 1;
	else if (!mprds_add_paths(c, n))
		n = 0;
	mutex_unlock(&c->setup);
	return n;
}

/*
 * The path that a link of path @i belongs to, by its first frame or its port, if that is another;
 * c->lock held.
 */
static struct rds_path *mprds_rightful(struct rds_conn *c, unsigned int i, unsigned int n)
{
	struct rds_path *p = c->paths[i], *q = NULL;

	spin_lock_nested(&p->lock, SINGLE_DEPTH_NESTING);
	if (p->state == RDS_UP && p->adopted && !p->rx_as && p->peer_port % n != i)
		q = c->paths[p->peer_port % n];
	spin_unlock(&p->lock);
	return q;
}

/*
 * Links that came before we knew that the peer's ports tell the path may be on the wrong one.
 * They are taken down, the peer makes them again, and until they are gone their messages are
 * judged, as those before, by the sequence of the path they belong to.
 *
 * Nothing is judged meanwhile: who delivers sees c->repairing and waits, or is out when each
 * path's lock was taken once (rds_path_deliver()).
 */
static void mprds_repair(struct rds_conn *c)
{
	struct rds_path *to[RDS_MAX_PATHS] = {};
	u64 next_rx[RDS_MAX_PATHS];
	unsigned int i, n = c->npaths;

	lockdep_assert_held(&c->setup);
	if (n < 2 || rds_conn_is_active(c) || rds_legacy_peer(c))
		return;
	spin_lock_bh(&c->lock);
	WRITE_ONCE(c->repairing, true);
	for (i = 0; i < n; i++)
		to[i] = mprds_rightful(c, i, n);
	for (i = 0; i < n; i++) {
		if (!to[i])
			continue;
		spin_lock_nested(&c->paths[i]->lock, SINGLE_DEPTH_NESTING);
		next_rx[i] = c->paths[i]->next_rx;
		c->paths[i]->next_rx = 0;
		WRITE_ONCE(c->paths[i]->rx_as, to[i]);
		spin_unlock(&c->paths[i]->lock);
	}
	for (i = 0; i < n; i++) {
		if (!to[i])
			continue;
		spin_lock_nested(&to[i]->lock, SINGLE_DEPTH_NESTING);
		to[i]->next_rx = max(to[i]->next_rx, next_rx[i]);
		to[i]->rx_gen = to[i]->rx_gen ?: c->peer_gen;
		spin_unlock(&to[i]->lock);
	}
	WRITE_ONCE(c->repairing, false);
	spin_unlock_bh(&c->lock);
	for (i = 0; i < n; i++) {
		if (!to[i])
			continue;
		rds_stat_inc(link_misplaced);
		rds_path_reset(c->paths[i]);
	}
}

/**
 * rds_mprds_apply() - make the announced path count real
 * @c: the connection
 *
 * Context: process, may sleep.
 * Return: false for lack of memory: the peer counts on paths that are not there.
 */
bool rds_mprds_apply(struct rds_conn *c)
{
	unsigned int want, i;
	bool ok;

	mutex_lock(&c->setup);
	spin_lock_bh(&c->lock);
	want = c->dead ? 0 : c->want_paths;
	spin_unlock_bh(&c->lock);
	ok = mprds_add_paths(c, want);
	if (want && ok &&
	    (want > c->npaths || (c->tx_paths <= 1 && mprds_tx_paths(c, want) > c->tx_paths)))
		mprds_publish(c, want);
	for (i = 1; want && READ_ONCE(c->fold) && i < RDS_MAX_PATHS; i++)
		if (c->paths[i] && !READ_ONCE(c->paths[i]->folded))
			rds_mprds_fold_path(c->paths[i]);
	if (want)
		mprds_repair(c);
	mutex_unlock(&c->setup);
	return ok;
}

/**
 * rds_mprds_work() - rds_conn.mprds_work
 * @work: the work
 */
void rds_mprds_work(struct work_struct *work)
{
	struct rds_conn *c = container_of(to_delayed_work(work), struct rds_conn, mprds_work);
	struct mem_cgroup *old = set_active_memcg(c->rn->memcg);
	bool done = rds_mprds_apply(c);

	set_active_memcg(old);
	if (!done) {
		/* The peer sends by all paths, and only we may dial them. */
		spin_lock_bh(&c->lock);
		if (!c->dead)
			queue_delayed_work(rds_wq, &c->mprds_work, MPRDS_RETRY_DELAY);
		spin_unlock_bh(&c->lock);
	}
	mprds_want_all(c);
}
