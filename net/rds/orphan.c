// SPDX-License-Identifier: GPL-2.0
/*
 * Orphans: sockets that are closed and still have messages which nobody has acknowledged.
 *
 * Here is who they are, for how long and how many; linger.c lets them in and drops those whose
 * time is over.  An orphan is on the lists until its last message has left its path, which
 * rds_tx_release() tells, in any context, or until somebody takes it off to drop what it has.
 *
 * The bound is one of memory, in units of 256 KiB: a message costs more than its payload, and a
 * socket with many small ones far more than its send buffer.
 *
 * They are shared as quota.c says, but who has used up his share is not turned away, for what was
 * accepted is to be sent: an older one gives way, of the same user if there is one.
 */
#include <linux/slab.h>
#include <linux/timerqueue.h>

#include "core.h"

/* Payloads up to here are in the message itself (message.c); larger ones are in pages. */
#define ORPHAN_LINEAR	2048

/* About what the messages of a socket keep: as if all were of the same size. */
static u64 orphan_cost(const struct rds_sock *rs)
{
	u32 n = max(atomic_read(&rs->tx_msgs), 1);
	u32 len = max(atomic_read(&rs->tx_bytes), 0) / n;

	if (len <= ORPHAN_LINEAR)
		return (u64)n * kmalloc_size_roundup(sizeof(struct rds_message) + len);
	return (u64)n * (sizeof(struct rds_message) + (PAGE_SIZE << get_order(len)));
}

/* What a socket counts: one at least, and not so much that it alone would have no room. */
static unsigned int orphan_units(const struct rds_sock *rs, unsigned int max)
{
	u64 units = DIV_ROUND_CLOSEST_ULL(orphan_cost(rs), RDS_ORPHAN_UNIT);

	return clamp_t(u64, units, 1, max(max / 4, 1U));
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
	list_del(&x->user_node);
	rs->user->nr_orphans -= x->units;
	timerqueue_del(&o->deadlines, &x->deadline);
	o->nr -= x->units;
	rds_stat_add(orphan_present, -1);
	rs->orphan = NULL;
	kfree(x);
	return rs;
}

/* Without memory it is waited for that: what was accepted must not be lost for so little. */
static struct rds_orphan *orphan_alloc(struct rds_sock *rs, unsigned long time)
{
	struct rds_net *rn = rds_net(sock_net(&rs->sk));
	struct rds_orphan *x = kzalloc(sizeof(*x), GFP_KERNEL | __GFP_NOFAIL);

	x->rs = rs;
	x->units = orphan_units(rs, READ_ONCE(rn->sysctl.max_orphans));
	INIT_LIST_HEAD(&x->node);
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

	spin_lock_bh(&o->lock);
	/* Whoever releases the last message from now on waits for the lock, and finds it listed. */
	if (atomic_read(&rs->tx_msgs) && !o->ending) {
		sock_hold(&rs->sk);
		rs->orphan = x;
		if (rs->user->who == RDS_WHO_USER)
			list_add_tail(&x->node, &o->list);
		list_add_tail(&x->user_node, &rs->user->orphans);
		rs->user->nr_orphans += x->units;
		if (timerqueue_add(&o->deadlines, &x->deadline))
			orphans_arm(o);
		o->nr += x->units;
		x = NULL;
		rds_stat_inc(orphan_present);
		rds_stat_inc(orphan_created);
	}
	spin_unlock_bh(&o->lock);
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

/* The oldest one of a user, or NULL. */
static struct rds_orphan *user_oldest(struct rds_user *u)
{
	return list_first_entry_or_null(&u->orphans, struct rds_orphan, user_node);
}

/* Has @u more than his share?  What the administrator has takes nothing from users. */
static bool user_exceeds(const struct rds_orphans *o, const struct rds_user *u,
			 const struct rds_user *admin, unsigned int max)
{
	return u != admin && u->nr_orphans &&
	       !rds_quota_fits(max, RDS_WHO_USER, o->nr - admin->nr_orphans - 1,
			       u->nr_orphans - 1);
}

/*
 * Who gives way?  If users together have no more than they may it is the administrator who has
 * more than what is kept for him.
 */
static struct rds_orphan *orphan_victim(struct rds_orphans *o, struct rds_user *u,
					struct rds_user *admin, unsigned int max)
{
	struct rds_orphan *old = list_first_entry_or_null(&o->list, struct rds_orphan, node);

	if (user_exceeds(o, u, admin, max))
		return list_is_singular(&u->orphans) ? old : user_oldest(u);
	if (o->nr <= max)
		return NULL;
	if (admin->nr_orphans > max - rds_quota_bound(max, RDS_WHO_USER))
		return user_oldest(admin);
	return old ?: user_oldest(admin);
}

/**
 * rds_orphan_excess() - who has to go if there are too many?
 * @rn: namespace
 * @last: the last to come: if its user has more than his share, the oldest of his goes
 * @max: bound for all of them, in units
 *
 * Context: process.
 * Return: an orphan that was taken off the lists, whose reference is the caller's, or NULL.
 */
struct rds_sock *rds_orphan_excess(struct rds_net *rn, const struct rds_sock *last,
				   unsigned int max)
{
	struct rds_orphans *o = &rn->orphans;
	struct rds_sock *rs = NULL;
	struct rds_orphan *x;

	spin_lock_bh(&o->lock);
	x = orphan_victim(o, last->user, &rn->users.admin, max);
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
