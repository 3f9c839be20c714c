// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: is the peer still there?
 *
 * A connection that carries nothing says nothing of its other end.  So a link on which nothing was
 * received for a while, and on which nothing is under way, sends the ack frame: every peer takes
 * it, and if nobody acknowledges it the device says so, as of any other SEND.
 *
 * The same frame tells whether a peer has really lost the link that he asks to replace (park.c).
 *
 * Links that peers have made are listed in the order in which they last carried a message, as far
 * as looks at them have told.  When there is no room for one more the first goes, if it has carried
 * nothing for a while: peers that do nothing, or are gone, keep nobody out.
 */
#include <linux/random.h>

#include "ib.h"

/* A link is looked at once in so long, or up to twice that. */
#define RDS_IB_ALIVE_INTERVAL	(10 * HZ)
/* A link that has carried nothing for so long may go when others want its place... */
#define RDS_IB_IDLE_MIN		(10 * HZ)
/* ...but only one in so long: who is there comes again, and wants another's. */
#define RDS_IB_EVICT_INTERVAL	(HZ / 10 + 1)
/* Links that are looked at to find one. */
#define RDS_IB_EVICT_SCAN	64

static DEFINE_SPINLOCK(rds_ib_idle_lock);	/* rds_ib_idle, rds_ib_evict_next */
static LIST_HEAD(rds_ib_idle);
static unsigned long rds_ib_evict_next;

/* Messages and maps, both ways. */
static u32 rds_ib_carried(const struct rds_ib_link *l)
{
	return READ_ONCE(l->tx.ring.head) + READ_ONCE(l->rx.incs);
}

/* Frames that were received, of any kind. */
static u32 rds_ib_heard(const struct rds_ib_link *l)
{
	return READ_ONCE(l->rx.ring.tail) + READ_ONCE(l->rx.waiting);
}

/* Is something under way?  Then the device will tell if it does not arrive. */
static bool rds_ib_in_flight(const struct rds_ib_link *l)
{
	return rds_ib_ring_used(&l->tx.ring) || READ_ONCE(l->ops.room) != l->ops.max;
}

/* Has it carried something since it was looked at?  Then it is the last of the list. */
static bool rds_ib_idle_look(struct rds_ib_link *l)
{
	u32 carried = rds_ib_carried(l);

	lockdep_assert_held(&rds_ib_idle_lock);
	if (carried == l->carried)
		return false;
	l->carried = carried;
	l->used = jiffies;
	if (!list_empty(&l->idle))
		list_move_tail(&l->idle, &rds_ib_idle);
	return true;
}

static void rds_ib_alive_later(struct rds_ib_link *l)
{
	queue_delayed_work(rds_ib_wq, &l->alive,
			   RDS_IB_ALIVE_INTERVAL + get_random_u32_below(RDS_IB_ALIVE_INTERVAL));
}

/**
 * rds_ib_alive_work() - look at a link
 * @work: &rds_ib_link.alive
 */
void rds_ib_alive_work(struct work_struct *work)
{
	struct rds_ib_link *l = container_of(to_delayed_work(work), struct rds_ib_link, alive);
	u32 heard = rds_ib_heard(l);

	if (test_bit(RDS_IB_CLOSING, &l->flags))
		return;
	spin_lock_bh(&rds_ib_idle_lock);
	rds_ib_idle_look(l);
	spin_unlock_bh(&rds_ib_idle_lock);
	if (heard == l->heard && !rds_ib_in_flight(l))
		rds_ib_probe(l);
	l->heard = heard;
	rds_ib_alive_later(l);
}

/**
 * rds_ib_alive_begin() - a link is up
 * @l: link
 */
void rds_ib_alive_begin(struct rds_ib_link *l)
{
	spin_lock_bh(&rds_ib_idle_lock);
	l->used = jiffies;
	l->carried = rds_ib_carried(l);
	if (l->adopted)
		list_add_tail(&l->idle, &rds_ib_idle);
	spin_unlock_bh(&rds_ib_idle_lock);
	rds_ib_alive_later(l);
}

/**
 * rds_ib_alive_end() - a link is being stopped, and not looked at any more
 * @l: link, up or not
 *
 * Context: process, sleeps.
 */
void rds_ib_alive_end(struct rds_ib_link *l)
{
	cancel_delayed_work_sync(&l->alive);
	spin_lock_bh(&rds_ib_idle_lock);
	list_del_init(&l->idle);
	spin_unlock_bh(&rds_ib_idle_lock);
}

/* Does somebody wait for something?  Or has it not been idle for long enough? */
static bool rds_ib_may_evict(const struct rds_ib_link *l)
{
	return !time_before(jiffies, l->used + RDS_IB_IDLE_MIN) && !rds_ib_in_flight(l) &&
	       !READ_ONCE(l->rx.waiting) && !rds_path_has_unacked(l->ib->path) &&
	       !rds_path_has_queued(l->ib->path);
}

/**
 * rds_ib_evict_idle() - there is no room for one more link: drop one that does nothing
 *
 * Its place is free a little later: who wanted it comes again.
 *
 * Context: any.
 */
void rds_ib_evict_idle(void)
{
	unsigned int scan = RDS_IB_EVICT_SCAN;
	struct rds_ib_link *l;

	spin_lock_bh(&rds_ib_idle_lock);
	if (time_before(jiffies, rds_ib_evict_next))
		scan = 0;
	while (scan-- && !list_empty(&rds_ib_idle)) {
		l = list_first_entry(&rds_ib_idle, struct rds_ib_link, idle);
		if (rds_ib_idle_look(l))
			continue;
		if (!rds_ib_may_evict(l)) {
			list_move_tail(&l->idle, &rds_ib_idle);
			continue;
		}
		rds_ib_evict_next = jiffies + RDS_IB_EVICT_INTERVAL;
		list_del_init(&l->idle);
		rds_ib_count(RDS_IB_LINK_EVICTED);
		rds_ib_link_drop(l, -ENOSPC);
		break;
	}
	spin_unlock_bh(&rds_ib_idle_lock);
}
