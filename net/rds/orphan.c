// SPDX-License-Identifier: GPL-2.0
/*
 * Orphans: sockets that are closed and still have messages which nobody has acknowledged.
 *
 * Here is who they are, for how long and how many; linger.c lets them in and drops those whose
 * time is over.  An orphan is on the lists until its last message has left its path, which
 * rds_tx_release() tells, in any context, or until somebody takes it off to drop what it has.
 */
#include <linux/capability.h>
#include <linux/hash.h>
#include <linux/slab.h>
#include <linux/timerqueue.h>

#include "core.h"

/**
 * struct rds_orphan_user - a user without privileges and his orphans
 * @node: rds_orphans.users (its lock, as all)
 * @uid: the user
 * @socks: rds_orphan.user_node, the first to be closed first
 * @nr: their number
 */
struct rds_orphan_user {
	struct hlist_node node;
	kuid_t uid;
	struct list_head socks;
	unsigned int nr;
};

static struct hlist_head *user_bucket(struct rds_orphans *o, kuid_t uid)
{
	return &o->users[hash_32(__kuid_val(uid), RDS_ORPHAN_USER_BITS)];
}

static struct rds_orphan_user *user_find(struct rds_orphans *o, kuid_t uid)
{
	struct rds_orphan_user *u;

	lockdep_assert_held(&o->lock);
	hlist_for_each_entry(u, user_bucket(o, uid), node)
		if (uid_eq(u->uid, uid))
			return u;
	return NULL;
}

/* Count @x for its user; @fresh is his record if he has none.  Return: what is not needed. */
static struct rds_orphan_user *user_add(struct rds_orphans *o, struct rds_orphan *x,
					struct rds_orphan_user *fresh)
{
	struct rds_orphan_user *u = user_find(o, fresh->uid);

	if (!u) {
		u = fresh;
		fresh = NULL;
		hlist_add_head(&u->node, user_bucket(o, u->uid));
	}
	u->nr++;
	list_add_tail(&x->user_node, &u->socks);
	x->user = u;
	return fresh;
}

static void user_del(struct rds_orphan *x)
{
	struct rds_orphan_user *u = x->user;

	if (!u)
		return;
	list_del(&x->user_node);
	if (--u->nr)
		return;
	hlist_del(&u->node);
	kfree(u);
}

/* Wake the work when the first deadline is over; o->lock held. */
static void orphans_arm(struct rds_orphans *o)
{
	struct timerqueue_node *first = timerqueue_getnext(&o->deadlines);
	s64 left;

	if (!first || o->ending)
		return;
	left = ktime_to_ns(ktime_sub(first->expires, ktime_get()));
	mod_delayed_work(rds_gc_wq, &o->work, left > 0 ? nsecs_to_jiffies(left) + 1 : 0);
}

/* Return: the socket, with the list's reference. */
static struct rds_sock *orphan_unlink(struct rds_orphans *o, struct rds_orphan *x)
{
	struct rds_sock *rs = x->rs;

	lockdep_assert_held(&o->lock);
	list_del(&x->node);
	timerqueue_del(&o->deadlines, &x->deadline);
	user_del(x);
	o->nr--;
	rds_stat_add(orphan_present, -1);
	rs->orphan = NULL;
	kfree(x);
	return rs;
}

/* Without memory it is waited for that: what was accepted must not be lost for so little. */
static struct rds_orphan *orphan_alloc(struct rds_sock *rs, unsigned long time)
{
	struct rds_orphan *x = kzalloc(sizeof(*x), GFP_KERNEL | __GFP_NOFAIL);

	x->rs = rs;
	timerqueue_init(&x->deadline);
	x->deadline.expires = ktime_add_ms(ktime_get(), jiffies_to_msecs(time));
	return x;
}

/**
 * rds_orphan_add() - a socket is closed, and its messages are to be sent all the same
 * @rs: the socket, closed; nobody sends on it any more
 * @time: jiffies after which they are dropped
 *
 * Does nothing if none is left, or the namespace ends.
 *
 * Context: process, may sleep.
 */
void rds_orphan_add(struct rds_sock *rs, unsigned long time)
{
	struct rds_orphans *o = &rds_net(sock_net(&rs->sk))->orphans;
	struct rds_orphan *x = orphan_alloc(rs, time);
	struct rds_orphan_user *fresh = NULL;

	if (!rs->privileged) {
		fresh = kzalloc(sizeof(*fresh), GFP_KERNEL | __GFP_NOFAIL);
		fresh->uid = rs->sk.sk_uid;
		INIT_LIST_HEAD(&fresh->socks);
	}
	spin_lock_bh(&o->lock);
	/* Whoever releases the last message from now on waits for the lock, and finds it listed. */
	if (atomic_read(&rs->tx_msgs) && !o->ending) {
		sock_hold(&rs->sk);
		rs->orphan = x;
		list_add_tail(&x->node, &o->list);
		if (timerqueue_add(&o->deadlines, &x->deadline))
			orphans_arm(o);
		if (fresh)
			fresh = user_add(o, x, fresh);
		x = NULL;
		o->nr++;
		rds_stat_inc(orphan_present);
		rds_stat_inc(orphan_created);
	}
	spin_unlock_bh(&o->lock);
	kfree(fresh);
	kfree(x);
}

/**
 * rds_orphan_done() - the last message of a closed socket has left its path
 * @rs: the socket, held by the caller, whether it is an orphan or not
 *
 * Context: any, no lock of RDS held.
 */
void rds_orphan_done(struct rds_sock *rs)
{
	struct rds_orphans *o = &rds_net(sock_net(&rs->sk))->orphans;
	bool listed;

	spin_lock_bh(&o->lock);
	listed = rs->orphan;
	if (listed)
		orphan_unlink(o, rs->orphan);
	spin_unlock_bh(&o->lock);
	if (listed)
		rds_sock_put(rs);
}

/**
 * rds_orphan_excess() - who has to go if there are too many?
 * @rn: namespace
 * @last: the last to come: if its user has more than his half, the oldest of his goes
 * @max: bound for all of them
 *
 * Context: process.
 * Return: an orphan that was taken off the lists, whose reference is the caller's, or NULL.
 */
struct rds_sock *rds_orphan_excess(struct rds_net *rn, const struct rds_sock *last,
				   unsigned int max)
{
	struct rds_orphans *o = &rn->orphans;
	struct rds_orphan_user *u = NULL;
	struct rds_orphan *x = NULL;
	struct rds_sock *rs = NULL;

	spin_lock_bh(&o->lock);
	if (!last->privileged)
		u = user_find(o, last->sk.sk_uid);
	if (u && u->nr > DIV_ROUND_UP(max, 2))
		x = list_first_entry(&u->socks, struct rds_orphan, user_node);
	else if (o->nr > max)
		x = list_first_entry(&o->list, struct rds_orphan, node);
	if (x)
		rs = orphan_unlink(o, x);
	spin_unlock_bh(&o->lock);
	return rs;
}

/**
 * rds_orphan_overdue() - whose time is over?
 * @rn: namespace
 *
 * If nobody's is, the work of the namespace will be woken when that has changed.
 *
 * Context: process.
 * Return: as rds_orphan_excess().
 */
struct rds_sock *rds_orphan_overdue(struct rds_net *rn)
{
	struct rds_orphans *o = &rn->orphans;
	struct timerqueue_node *first;
	struct rds_sock *rs = NULL;

	spin_lock_bh(&o->lock);
	first = timerqueue_getnext(&o->deadlines);
	if (first && (o->ending || ktime_before(first->expires, ktime_get())))
		rs = orphan_unlink(o, container_of(first, struct rds_orphan, deadline));
	else
		orphans_arm(o);
	spin_unlock_bh(&o->lock);
	return rs;
}

/**
 * rds_orphan_end() - the time of all orphans of a namespace is over, and no more come
 * @rn: namespace
 */
void rds_orphan_end(struct rds_net *rn)
{
	spin_lock_bh(&rn->orphans.lock);
	rn->orphans.ending = true;
	spin_unlock_bh(&rn->orphans.lock);
}

/**
 * rds_orphan_init() - of a socket
 * @rs: new socket
 *
 * Who may take more than a user's half is told by who makes it.
 */
void rds_orphan_init(struct rds_sock *rs)
{
	rs->privileged = ns_capable_noaudit(sock_net(&rs->sk)->user_ns, CAP_NET_ADMIN);
}

/**
 * rds_orphan_init_net() - of a namespace
 * @rn: namespace
 * @work: drops who is overdue
 */
void rds_orphan_init_net(struct rds_net *rn, work_func_t work)
{
	struct rds_orphans *o = &rn->orphans;

	spin_lock_init(&o->lock);
	rds_message_settle_outside(&o->lock);
	INIT_LIST_HEAD(&o->list);
	timerqueue_init_head(&o->deadlines);
	INIT_DELAYED_WORK(&o->work, work);
}
