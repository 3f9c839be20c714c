// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: requests of peers that wait to be answered.
 *
 * Both ends may connect at the same time.  Then the request of the smaller address wins: its
 * sender refuses the other's, and who has the larger address gives up its own attempt for the one
 * it finds parked.  The winner's request may be lost, and the CM repeats it only after seconds: if
 * the other one still dials a while later, he gets his way.  A peer that refuses in both roles (as
 * the reference does) is dialled again.
 *
 * A request for a path whose link is up should mean that the peer has lost it.  But anybody can
 * name the peer's address, and requests arrive late.  So the peer's queue pair is asked: while it
 * answers the link stays, and the request is refused; if it does not, the new link replaces it.
 */
#include <linux/slab.h>

#include "ib.h"

/* Unanswered requests of one peer. */
#define RDS_IB_PARKED_MAX	4
/* Our request takes precedence for so long. */
#define RDS_IB_DUEL_MAX		(HZ / 4)
/* So long has the other end of a link to answer, when a request would replace it. */
#define RDS_IB_DOUBT_MAX	(HZ / 2)

/**
 * rds_ib_adopt() - take the newest parked request, for start()
 * @ib: path
 * @epoch: epoch of the link
 *
 * Return: as rds_ib_unpark(); NULL also if a newer request has ended this attempt already: it
 * stays parked for the next one.
 */
struct rds_ib_parked *rds_ib_adopt(struct rds_ib_path *ib, u32 epoch)
{
	struct rds_ib_parked *pk = NULL;

	spin_lock(&ib->lock);
	if (rds_path_adopting(ib->path, epoch)) {
		pk = ib->parked;
		ib->parked = NULL;
		ib->nr_parked = 0;
	}
	spin_unlock(&ib->lock);
	return pk;
}

/**
 * rds_ib_unpark() - take the newest parked request
 * @ib: path
 *
 * The peer has given up the older ones.
 *
 * Return: the requests, which now belong to the caller, the newest first; or NULL.
 */
struct rds_ib_parked *rds_ib_unpark(struct rds_ib_path *ib)
{
	struct rds_ib_parked *pk;

	spin_lock(&ib->lock);
	pk = ib->parked;
	ib->parked = NULL;
	ib->nr_parked = 0;
	spin_unlock(&ib->lock);
	return pk;
}

/**
 * rds_ib_refuse() - refuse requests that were parked
 * @pk: the first of a list, or NULL; gone afterwards
 *
 * Context: process, not in a handler of the CM.
 */
void rds_ib_refuse(struct rds_ib_parked *pk)
{
	struct rds_ib_parked *next;

	for (; pk; pk = next) {
		next = pk->next;
		rds_ib_count(RDS_IB_CONNECT_REFUSED);
		rds_ib_reject(pk->id);
		/* Waits for its handler. */
		rdma_destroy_id(pk->id);
		kfree(pk);
	}
}

/**
 * rds_ib_announce() - tell the core about a parked request it may not know of
 * @ib: path
 */
void rds_ib_announce(struct rds_ib_path *ib)
{
	int err = 0;

	spin_lock(&ib->lock);
	if (ib->parked)
		err = rds_path_accept(ib->path, true);
	/* There is no link any more that it would replace. */
	if (ib->doubted)
		mod_delayed_work(rds_ib_wq, &ib->doubt, 0);
	spin_unlock(&ib->lock);
	if (err)
		rds_ib_discard(ib->path);
}

static bool rds_ib_link_is(const struct rds_ib_path *ib, enum rds_ib_link_flag flag)
{
	lockdep_assert_held(&ib->lock);
	return ib->link && test_bit(RDS_IB_UP, &ib->link->flags) &&
	       !test_bit(RDS_IB_CLOSING, &ib->link->flags) && test_bit(flag, &ib->link->flags);
}

/* Take the request that would replace the link, if any; @proved: has the peer that, still? */
static struct rds_ib_parked *rds_ib_undoubt(struct rds_ib_path *ib, bool *proved)
{
	struct rds_ib_parked *pk;

	spin_lock(&ib->lock);
	pk = ib->doubted;
	WRITE_ONCE(ib->doubted, NULL);
	if (proved)
		*proved = rds_ib_link_is(ib, RDS_IB_PROVED);
	spin_unlock(&ib->lock);
	return pk;
}

/**
 * rds_ib_discard() - forget the parked requests
 * @p: path
 */
void rds_ib_discard(struct rds_path *p)
{
	struct rds_ib_path *ib = rds_path_priv(p);

	rds_ib_refuse(rds_ib_unpark(ib));
	rds_ib_refuse(rds_ib_undoubt(ib, NULL));
}

/**
 * rds_ib_parked_event() - the CM's handler for the id of a parked request
 * @id: the CM's
 * @ev: event
 *
 * It does not destroy the id by its return: once the request is off the list nobody would wait for
 * that before the module goes.
 *
 * Return: 0.
 */
int rds_ib_parked_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rds_ib_parked *pk = id->context, **pos;
	struct rds_ib_path *ib = pk->ib;
	bool mine = false;

	rds_ib_count(RDS_IB_EVT_HANDLER_CALL);
	spin_lock(&ib->lock);
	if (ib->doubted == pk) {
		WRITE_ONCE(ib->doubted, NULL);
		mine = true;
	}
	for (pos = &ib->parked; *pos && !mine; ) {
		mine = *pos == pk;
		if (mine) {
			*pos = pk->next;
			ib->nr_parked--;
		} else {
			pos = &(*pos)->next;
		}
	}
	/* If somebody has taken it, that one will see for himself. */
	if (mine)
		rds_ib_destroy_later(&pk->dying, id);
	spin_unlock(&ib->lock);
	return 0;
}

/* Is our own request on its way, and has precedence? */
static bool rds_ib_duel(struct rds_ib_path *ib)
{
	struct rds_ib_link *l;
	bool ours;

	if (!rds_path_is_active(ib->path))
		return false;
	spin_lock(&ib->lock);
	l = ib->link;
	ours = l && smp_load_acquire(&l->requested) &&	/* before the time */
	       time_before(jiffies, l->asked + RDS_IB_DUEL_MAX) &&
	       !READ_ONCE(l->stopping) && !test_bit(RDS_IB_UP, &l->flags);
	spin_unlock(&ib->lock);
	return ours;
}

/* Leave the request for start() to adopt: 0 or -errno, then @pk is still the caller's. */
static int rds_ib_park_now(struct rds_path *p, struct rds_ib_parked *pk)
{
	struct rds_ib_path *ib = rds_path_priv(p);
	int err;

	/* One step, so that start() cannot adopt what the core was not told about. */
	spin_lock(&ib->lock);
	err = ib->nr_parked < RDS_IB_PARKED_MAX ? rds_path_accept(p, false) : -EBUSY;
	if (!err) {
		pk->next = ib->parked;
		ib->parked = pk;
		ib->nr_parked++;
	}
	spin_unlock(&ib->lock);
	/* A tear-down that leaves the peer more time than it needs. */
	rds_path_stop_again(p);
	return err;
}

/**
 * rds_ib_doubt_work() - has the peer lost the link that a request would replace?
 * @work: &rds_ib_path.doubt
 */
void rds_ib_doubt_work(struct work_struct *work)
{
	struct rds_ib_path *ib = container_of(to_delayed_work(work), struct rds_ib_path, doubt);
	bool proved;
	struct rds_ib_parked *pk = rds_ib_undoubt(ib, &proved);

	if (!pk)
		return;
	if (proved) {
		rds_ib_count(RDS_IB_LISTEN_ALIVE);
		rds_ib_refuse(pk);
		return;
	}
	rds_ib_count(RDS_IB_LISTEN_CLOSED_STALE);
	if (rds_ib_park_now(ib->path, pk))
		rds_ib_refuse(pk);
}

/* If a link is up ask its other end first: 1, 0 = it is not, or -EBUSY: it is being asked. */
static int rds_ib_doubt(struct rds_ib_path *ib, struct rds_ib_parked *pk)
{
	int ret = 0;

	spin_lock(&ib->lock);
	if (ib->doubted) {
		ret = -EBUSY;
	} else if (rds_ib_link_is(ib, RDS_IB_UP)) {
		WRITE_ONCE(ib->doubted, pk);
		rds_ib_probe(ib->link);
		mod_delayed_work(rds_ib_wq, &ib->doubt, RDS_IB_DOUBT_MAX);
		ret = 1;
	}
	spin_unlock(&ib->lock);
	return ret;
}

/**
 * rds_ib_park() - leave a request for start() to adopt
 * @p: path
 * @pk: the request
 *
 * Context: handler of the CM.
 * Return: 0 or -errno, then @pk is still the caller's.
 */
int rds_ib_park(struct rds_path *p, struct rds_ib_parked *pk)
{
	struct rds_ib_path *ib = rds_path_priv(p);
	int ret;

	if (rds_ib_duel(ib)) {
		rds_ib_count(RDS_IB_CONNECT_RACED);
		return -EALREADY;
	}
	pk->ib = ib;
	ret = rds_ib_doubt(ib, pk);
	if (ret)
		return min(ret, 0);
	return rds_ib_park_now(p, pk);
}
