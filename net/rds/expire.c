// SPDX-License-Identifier: GPL-2.0
/*
 * How many connections there may be, and which are given up.
 *
 * A connection is given up when nothing waits on it, no link is up or parked, and it was not
 * used for a while: soon if no peer ever answered, later if one did.  When the table is full
 * the least recently used ones go at once.  Looking for them is bounded: they are in a list
 * in the order of their last use as far as a look at it has told, and each attempt looks at
 * the first few.
 *
 * What a peer's repeats are recognised by outlives the connection in a small record.  Our own
 * numbers begin anew above all that were given up, so that the peer does not take a repeat of
 * them for an old message.
 */
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "core.h"

/* How long a new link may be silent when others need its place. */
#define CONN_FIRST_FRAME	((unsigned long)HZ)
/* Peers that ever answered are kept this many times longer. */
#define CONN_ANSWERED_FACTOR	10
/* Connections looked at, and given up, in one attempt to make room. */
#define CONN_SCAN		64
#define CONN_RECLAIM		8

/**
 * struct rds_conn_grave - what is remembered of a connection that was given up
 * @node: rds_net.graves
 * @list: rds_grave_block.list (rds_net.lock), oldest first
 * @rcu: freed after a grace period
 * @block: in which of rds_net.grave_blocks it is
 * @key: the connection's
 * @peer_gen: generation of the peer's instance
 * @paths: path count of a peer whose ports tell the path, else 0
 * @rx_gen: for each path
 * @next_rx: sequence expected next on each path
 */
struct rds_conn_grave {
	struct rhash_head node;
	struct list_head list;
	struct rcu_head rcu;
	u8 block;
	struct rds_conn_key key;
	u32 peer_gen;
	u32 paths;
	u32 rx_gen[RDS_MAX_PATHS];
	u64 next_rx[RDS_MAX_PATHS];
};

static const struct rhashtable_params grave_params = {
	.head_offset = offsetof(struct rds_conn_grave, node),
	.key_offset = offsetof(struct rds_conn_grave, key),
	.key_len = sizeof(struct rds_conn_key),
	.automatic_shrinking = true,
};

/* ---- what is remembered ---------------------------------------------------------- */

/**
 * rds_peer_block() - what peers have in common whose addresses begin alike
 * @rn: namespace
 * @a: address of a peer
 *
 * They are likely to be one party.  The blocks are large: whoever has many addresses has them
 * within one, and who is in it has to put up with him.
 *
 * Return: a number below RDS_PEER_BLOCKS.
 */
unsigned int rds_peer_block(const struct rds_net *rn, const struct in6_addr *a)
{
	u32 h;

	if (ipv6_addr_v4mapped(a))
		h = jhash_1word((__force u32)(a->s6_addr32[3] & htonl(0xffff0000)), rn->block_seed);
	else
		h = jhash_2words((__force u32)a->s6_addr32[0], (__force u32)a->s6_addr16[2],
				 rn->block_seed);
	return h % RDS_PEER_BLOCKS;
}

static void grave_add(struct rds_net *rn, struct rds_conn_grave *g)
{
	struct rds_grave_block *b;

	lockdep_assert_held(&rn->lock);
	g->block = rds_peer_block(rn, &g->key.faddr);
	b = &rn->grave_blocks[g->block];
	list_add_tail(&g->list, &b->list);
	b->nr++;
	rn->nr_graves++;
}

static void grave_remove(struct rds_net *rn, struct rds_conn_grave *g)
{
	lockdep_assert_held(&rn->lock);
	rhashtable_remove_fast(&rn->graves, &g->node, grave_params);
	list_del(&g->list);
	rn->grave_blocks[g->block].nr--;
	rn->nr_graves--;
	kfree_rcu(g, rcu);
}

/* Too many: the oldest one of those who have most. */
static void grave_push_out(struct rds_net *rn)
{
	struct rds_grave_block *b = rn->grave_blocks;
	unsigned int i;

	for (i = 1; i < RDS_PEER_BLOCKS; i++)
		if (rn->grave_blocks[i].nr > b->nr)
			b = &rn->grave_blocks[i];
	grave_remove(rn, list_first_entry(&b->list, struct rds_conn_grave, list));
}

/* New connections begin above what this one has reached. */
static void raise_first_tx(struct rds_net *rn, u64 floor)
{
	lockdep_assert_held(&rn->lock);
	rn->first_tx = max(rn->first_tx, floor);
}

/**
 * rds_conn_outlive() - a connection is gone, perhaps with its transport, which may come back
 * @c: the connection, whose paths take no messages any more
 *
 * Peers keep what they expect of us.  What we expect of them is not kept here: that of one that
 * was given up is, and with a transport the sockets go that got it.
 *
 * Context: process.
 */
void rds_conn_outlive(struct rds_conn *c)
{
	struct rds_net *rn = c->rn;
	u64 floor = 0;
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		struct rds_path *p = c->paths[i];

		if (!p)
			continue;
		spin_lock_bh(&p->lock);
		floor = max(floor, p->next_tx);
		spin_unlock_bh(&p->lock);
	}
	spin_lock_bh(&rn->lock);
	raise_first_tx(rn, floor);
	spin_unlock_bh(&rn->lock);
}

/* Fill in the record of a connection that goes, and raise the numbers for its successor. */
static void conn_record(struct rds_conn *c, struct rds_conn_grave *g)
{
	struct rds_net *rn = c->rn;
	u64 floor = 0;
	unsigned int i;

	g->key = c->key;
	g->peer_gen = READ_ONCE(c->peer_gen);
	g->paths = READ_ONCE(c->peer_sport_idx) ? READ_ONCE(c->want_paths) : 0;
	for (i = 0; i < RDS_MAX_PATHS; i++) {
		struct rds_path *p = smp_load_acquire(&c->paths[i]);	/* published complete */

		if (!p)
			continue;
		spin_lock_bh(&p->lock);
		floor = max(floor, p->next_tx);
		g->next_rx[i] = p->next_rx;
		g->rx_gen[i] = p->rx_gen;
		spin_unlock_bh(&p->lock);
	}
	spin_lock_bh(&rn->lock);
	raise_first_tx(rn, floor);
	spin_unlock_bh(&rn->lock);
}

/*
 * Take a connection of a peer that answered out of the table, and leave a record, which is there
 * before its successor can be made.  True for the one caller who has to destroy it.
 */
static bool conn_bury(struct rds_conn *c, struct rds_conn_grave *g)
{
	struct rds_net *rn = c->rn;
	struct rds_conn_grave *old;
	bool ours;

	conn_record(c, g);
	spin_lock_bh(&rn->lock);
	old = rhashtable_lookup_fast(&rn->graves, &c->key, grave_params);
	if (old)
		grave_remove(rn, old);
	if (rhashtable_insert_fast(&rn->graves, &g->node, grave_params)) {
		kfree(g);
		g = NULL;
	} else {
		grave_add(rn, g);
	}
	spin_unlock_bh(&rn->lock);

	ours = rds_conn_unlink(c);

	spin_lock_bh(&rn->lock);
	/* Whoever destroys it wants no record, or has made his own. */
	if (!ours && g && rhashtable_lookup_fast(&rn->graves, &c->key, grave_params) == g)
		grave_remove(rn, g);
	else if (rn->nr_graves > READ_ONCE(rn->sysctl.max_conns))
		grave_push_out(rn);
	spin_unlock_bh(&rn->lock);
	return ours;
}

/**
 * rds_conn_remember() - a new path begins where a connection that was given up has ended
 * @p: the path, not published
 *
 * The record stays until the connection is given up again or others need the place.  A peer who
 * has not noticed may come by all its paths at once: they are told apart from the first link on.
 */
void rds_conn_remember(struct rds_path *p)
{
	struct rds_conn *c = p->conn;
	struct rds_net *rn = c->rn;
	struct rds_conn_grave *g;

	spin_lock_bh(&rn->lock);
	p->next_tx = max_t(u64, rn->first_tx, 1);
	rcu_read_lock();
	g = rhashtable_lookup(&rn->graves, &c->key, grave_params);
	if (g) {
		if (!p->index) {
			WRITE_ONCE(c->peer_gen, g->peer_gen);
			WRITE_ONCE(c->want_paths, g->paths);
			WRITE_ONCE(c->peer_sport_idx, !!g->paths);
		}
		p->next_rx = g->next_rx[p->index];
		p->rx_gen = g->rx_gen[p->index];
	} else {
		p->rx_gen = READ_ONCE(c->peer_gen);
	}
	rcu_read_unlock();
	spin_unlock_bh(&rn->lock);
}

/* ---- who goes ---------------------------------------------------------------------- */

/*
 * Something that a user waits for?  The kernel's own pings and pongs keep no connection: a peer
 * could have them made, and not take them.
 */
static bool has_messages(const struct rds_path *p)
{
	return p->nr_queued + p->nr_sent > p->nr_control;
}

/* The peer may have sent on that link already. */
static bool path_adopts(const struct rds_path *p)
{
	return READ_ONCE(p->state) == RDS_CONNECTING && READ_ONCE(p->adopted);
}

/* May the path go?  Once it may, and @c->closing is set, nothing can use it any more. */
static bool path_is_idle(struct rds_path *p, bool answered)
{
	bool idle;

	spin_lock_bh(&p->lock);
	idle = !p->parked && !has_messages(p);
	if (answered && (p->state == RDS_UP || rds_state_is_stopping(p->state) ||
			 path_adopts(p)))
		idle = false;
	spin_unlock_bh(&p->lock);
	return idle;
}

static bool conn_is_idle(struct rds_conn *c, bool answered)
{
	unsigned int i = RDS_MAX_PATHS;

	/* Path 0 last: rds_mprds_fold_path() moves messages there. */
	while (i--) {
		struct rds_path *p = smp_load_acquire(&c->paths[i]);	/* published complete */

		if (p && !path_is_idle(p, answered))
			return false;
	}
	return true;
}

/* Has a link just come?  It deserves the time for its first frame. */
static bool conn_begins(const struct rds_conn *c)
{
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		const struct rds_path *p = smp_load_acquire(&c->paths[i]); /* published complete */

		if (p && (rds_path_is_up(p) || path_adopts(p)))
			return true;
	}
	return false;
}

/* Was it unused for so long?  @age counts for peers that never answered. */
static bool conn_is_old(const struct rds_conn *c, bool answered, unsigned long age)
{
	if (answered)
		age *= CONN_ANSWERED_FACTOR;
	else if (conn_begins(c))
		age = max(age, CONN_FIRST_FRAME);
	return !time_before(jiffies, READ_ONCE(c->last_used) + age);
}

/*
 * From "closing" on senders and new links are turned away for the moment; they look for the
 * connection again.
 */
static bool conn_close_if_idle(struct rds_conn *c, bool answered, unsigned long age)
{
	bool idle;

	/* One at a time, or one might open again what the other closes. */
	mutex_lock(&c->setup);
	if (c->going) {
		mutex_unlock(&c->setup);
		return false;
	}
	WRITE_ONCE(c->closing, true);
	smp_mb();	/* before the looks; who holds a path's lock sees it or is seen */
	/* An answer that came meanwhile must leave a grave. */
	idle = conn_is_idle(c, answered) && answered == READ_ONCE(c->answered);
	/* A link that was accepted in front of "closing", and is to be adopted, made it young. */
	idle = idle && conn_is_old(c, answered, age);
	if (!idle)
		WRITE_ONCE(c->closing, false);
	c->going = idle;
	mutex_unlock(&c->setup);
	return idle;
}

/* Give @c up if it may go. */
static bool conn_give_up(struct rds_conn *c, unsigned long age, bool pressed)
{
	bool answered = READ_ONCE(c->answered);
	struct rds_conn_grave *g = NULL;

	/* "closing" would turn senders and pongs away: not for nothing. */
	if (!conn_is_old(c, answered, age) || !conn_is_idle(c, answered))
		return false;
	/* The history of a legacy peer's ports is not kept in a grave. */
	if (answered && !pressed && rds_legacy_peer(c) && !xa_empty(&c->flows))
		return false;
	/* Before links and senders have to wait.  Without memory it is forgotten. */
	if (answered)
		g = rds_net_zalloc(c->rn, sizeof(*g), GFP_KERNEL);
	if (!conn_close_if_idle(c, answered, age)) {
		kfree(g);
		return false;
	}
	/* Without a grave, too, a successor begins above these numbers. */
	if (!g)
		rds_conn_outlive(c);
	if (!(g ? conn_bury(c, g) : rds_conn_unlink(c)))
		return false;		/* somebody else destroys it */
	rds_stat_inc(conn_expired);
	rds_conn_destroy_later(c);
	return true;
}

static void conn_expire(struct rds_conn *c, void *arg)
{
	conn_give_up(c, *(unsigned long *)arg, false);
}

static void conn_gc(struct work_struct *work)
{
	struct rds_net *rn = container_of(to_delayed_work(work), struct rds_net, gc);
	unsigned long age = msecs_to_jiffies(READ_ONCE(rn->sysctl.idle_conn_timeout_ms));

	rds_conn_for_each(rn, conn_expire, &age);
	if (!READ_ONCE(rn->dying))
		queue_delayed_work(system_long_wq, &rn->gc, max(age / 2, 1UL));
}

/* The head of the list, counted, and moved to its end. */
static struct rds_conn *lru_next(struct rds_net *rn)
{
	struct rds_conn *c;

	spin_lock_bh(&rn->lock);
	c = list_first_entry_or_null(&rn->lru, struct rds_conn, lru_node);
	if (c)
		list_move_tail(&c->lru_node, &rn->lru);
	if (c && !refcount_inc_not_zero(&c->ref))
		c = NULL;
	spin_unlock_bh(&rn->lock);
	return c;
}

/* Make room: who was not used since he was last looked at goes, if nothing waits on him. */
static void conn_reclaim(struct rds_net *rn)
{
	unsigned int scan = CONN_SCAN, gone = 0;
	struct rds_conn *c;
	unsigned long seen;

	while (scan-- && gone < CONN_RECLAIM) {
		c = lru_next(rn);
		if (!c)
			continue;
		seen = c->lru_used;
		c->lru_used = READ_ONCE(c->last_used);
		/* The second chance. */
		if (!READ_ONCE(c->answered) || seen == c->lru_used)
			gone += conn_give_up(c, 0, true);
		rds_conn_put(c);
	}
}

/* ---- how many ------------------------------------------------------------------------ */

/**
 * rds_conn_may_create() - is there room for one more connection?
 * @rn: namespace
 * @who: for whom it is
 *
 * Gives up others before it says no.
 *
 * Context: process, may sleep.
 * Return: true if there may be; rds_conn_charge() decides.
 */
bool rds_conn_may_create(struct rds_net *rn, enum rds_who who)
{
	unsigned int max = READ_ONCE(rn->sysctl.max_conns);

	if (rds_quota_scarce(&rn->conn_quota, max, who))
		conn_reclaim(rn);
	/* Those on their way out cost memory too. */
	if (READ_ONCE(rn->conn_quota.nr) < max &&
	    atomic_read(&rn->nr_alive) < 2LL * max + CONN_SCAN)
		return true;
	rds_stat_inc(conn_limit);
	return false;
}

/**
 * rds_conn_charge() - count a new connection for whom it is
 * @c: the connection, not published
 * @who: for whom
 *
 * Context: process, may sleep.
 * Return: 0, -ENOSPC if the share is used up, -ENOMEM.
 */
int rds_conn_charge(struct rds_conn *c, enum rds_who who)
{
	struct rds_net *rn = c->rn;
	struct rds_user *user = who == RDS_WHO_PEER ? NULL : rds_user_get(rn);
	int err;

	if (!user && who != RDS_WHO_PEER)
		return -ENOMEM;
	c->user = user;		/* until it is freed */
	err = rds_quota_claim(&rn->conn_quota, user, READ_ONCE(rn->sysctl.max_conns), &c->claim);
	if (err == -ENOSPC)
		rds_stat_inc(conn_share);
	return err;
}

/**
 * rds_conn_uncharge() - undo rds_conn_charge(), once
 * @c: the connection, out of the table; one caller at a time
 */
void rds_conn_uncharge(struct rds_conn *c)
{
	rds_quota_release(&c->rn->conn_quota, &c->claim);
}

/* ---- namespace ------------------------------------------------------------------------ */

int rds_expire_init_net(struct rds_net *rn)
{
	int err = rhashtable_init(&rn->graves, &grave_params);
	unsigned int i;

	if (err)
		return err;
	rn->block_seed = get_random_u32();
	for (i = 0; i < RDS_PEER_BLOCKS; i++)
		INIT_LIST_HEAD(&rn->grave_blocks[i].list);
	rds_quota_init(&rn->conn_quota);
	INIT_LIST_HEAD(&rn->lru);
	INIT_DELAYED_WORK(&rn->gc, conn_gc);
	queue_delayed_work(system_long_wq, &rn->gc,
			   msecs_to_jiffies(rn->sysctl.idle_conn_timeout_ms) / 2);
	return 0;
}

/* No connection is left. */
void rds_expire_exit_net(struct rds_net *rn)
{
	struct rds_conn_grave *g, *next;
	unsigned int i;

	cancel_delayed_work_sync(&rn->gc);
	/* Nobody else is there: one at a time, so that bottom halves run meanwhile. */
	for (i = 0; i < RDS_PEER_BLOCKS; i++) {
		list_for_each_entry_safe(g, next, &rn->grave_blocks[i].list, list) {
			spin_lock_bh(&rn->lock);
			grave_remove(rn, g);
			spin_unlock_bh(&rn->lock);
			cond_resched();
		}
	}
	rhashtable_destroy(&rn->graves);
}
