// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: messages that were received in part.
 *
 * They are charged to the namespace, up to max_peer_bytes.  Above it only the oldest of them is
 * received further, so there is always one that can be completed; and if its peer takes too long
 * over it while others wait, its link is dropped, without loss: what is not complete was not
 * acknowledged.  Who had to wait until it was the oldest is given time from then on: less, for
 * there may be many who only pretend.
 */
#include "ib.h"

/* So much is charged at a time: sixteen fragments, each in a page. */
#define RDS_IB_CHARGE		(16 * (u32)PAGE_SIZE)
/*
 * The oldest partial message may take so long while others wait.  After each that is given up the
 * next ones have half of it, until there are none, or many together could keep the memory.
 */
#define RDS_IB_PARTIAL_MAX	(5U * HZ)
/* Enough for one that goes on.  With its link operations end that are under way. */
#define RDS_IB_PARTIAL_LEAST	(HZ / 2U)
/* One that became the oldest had to wait before; it has so long from then on, or what is left. */
#define RDS_IB_PARTIAL_TURN	(2U * HZ)

static DEFINE_SPINLOCK(rds_ib_partial_lock);	/* the list, the patience; charged, evicted */
static LIST_HEAD(rds_ib_partials);
static unsigned int rds_ib_patience = RDS_IB_PARTIAL_MAX;

static struct rds_ib_rx *rds_ib_oldest_locked(void)
{
	lockdep_assert_held(&rds_ib_partial_lock);
	return list_first_entry_or_null(&rds_ib_partials, struct rds_ib_rx, partial_node);
}

/* Somebody waits for memory: is the oldest message one that its peer leaves us with? */
static void rds_ib_evict_locked(void)
{
	struct rds_ib_rx *rx = rds_ib_oldest_locked();

	if (!rx || rx->evicted || time_before(jiffies, rx->partial_since + rds_ib_patience))
		return;
	rx->evicted = true;
	rds_ib_patience = max(rds_ib_patience / 2, RDS_IB_PARTIAL_LEAST);
	rds_ib_count(RDS_IB_PARTIAL_EVICTED);
	rds_ib_link_drop(container_of(rx, struct rds_ib_link, rx), -ENOBUFS);
}

/* The oldest message is gone: the next one may go on now, and could not before. */
static void rds_ib_next_turn_locked(void)
{
	unsigned int turn = min(rds_ib_patience, RDS_IB_PARTIAL_TURN);
	unsigned long since = jiffies - (rds_ib_patience - turn);
	struct rds_ib_rx *rx = rds_ib_oldest_locked();

	if (rx && time_before(rx->partial_since, since))
		rx->partial_since = since;
}

/**
 * rds_ib_partial_charge() - a message that will not be complete gets longer
 * @l: link; poll work
 * @bytes: what is there of it then
 *
 * Return: false if it has to wait.
 */
bool rds_ib_partial_charge(struct rds_ib_link *l, u32 bytes)
{
	struct rds_ib_rx *rx = &l->rx;
	bool force, ok;

	if (DIV_ROUND_UP(bytes, RDS_IB_FRAG) * PAGE_SIZE <= rx->charged)
		return true;
	spin_lock_bh(&rds_ib_partial_lock);
	force = list_empty(&rds_ib_partials) ||
		list_is_first(&rx->partial_node, &rds_ib_partials);
	ok = rds_path_charge(l->ib->path, RDS_IB_CHARGE, force);
	if (ok) {
		rx->charged += RDS_IB_CHARGE;
		if (list_empty(&rx->partial_node)) {
			list_add_tail(&rx->partial_node, &rds_ib_partials);
			rx->partial_since = jiffies;
		}
	} else {
		rds_ib_evict_locked();
	}
	spin_unlock_bh(&rds_ib_partial_lock);
	return ok;
}

/**
 * rds_ib_partial_done() - the message is complete, or given up
 * @l: link; poll work, or stopped
 */
void rds_ib_partial_done(struct rds_ib_link *l)
{
	struct rds_ib_rx *rx = &l->rx;
	bool oldest;

	if (!rx->charged)
		return;
	spin_lock_bh(&rds_ib_partial_lock);
	oldest = rx == rds_ib_oldest_locked();
	list_del_init(&rx->partial_node);
	if (list_empty(&rds_ib_partials))
		rds_ib_patience = RDS_IB_PARTIAL_MAX;
	if (oldest)
		rds_ib_next_turn_locked();
	spin_unlock_bh(&rds_ib_partial_lock);
	rds_path_uncharge(l->ib->path, rx->charged);
	rx->charged = 0;
}
