// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: leaving a peer while the port is down, or because the device goes.
 *
 * The end of a connection is told to the peer with a datagram of the CM.  While the port is down
 * it cannot get through; worse, a device in software (rxe) takes its management queue pair into
 * an error for good when it cannot send.  So the CM's id of a link whose port is down is kept
 * until the port is up again, and destroyed then.  The link itself is gone at once.  Nothing is
 * dialled through a port that is down, so there are no more of them than there were links; for a
 * port that goes and comes all the time there is a limit.
 *
 * Ids whose handlers have found that they are over end here, too.
 */
#include <linux/slab.h>

#include "ib.h"

#define RDS_IB_LEAVE_INTERVAL	(HZ / 4 + 1)
#define RDS_IB_LEAVERS_MAX	16384

/**
 * struct rds_ib_leaver - an id that waits for its port
 * @dying: its end, if its device goes away
 * @node: list of them
 * @id: the CM's
 * @removed: its device is going away
 */
struct rds_ib_leaver {
	struct rds_ib_dying dying;
	struct list_head node;
	struct rdma_cm_id *id;
	bool removed;
};

static void rds_ib_leave_work(struct work_struct *work);
static void rds_ib_destroy_work(struct work_struct *work);

static DEFINE_SPINLOCK(rds_ib_leave_lock);
static LIST_HEAD(rds_ib_leavers);
static atomic_t rds_ib_nr_leavers = ATOMIC_INIT(0);
static DECLARE_DELAYED_WORK(rds_ib_leave, rds_ib_leave_work);
static LLIST_HEAD(rds_ib_dying);
static DECLARE_WORK(rds_ib_destroy, rds_ib_destroy_work);

static void rds_ib_destroy_work(struct work_struct *work)
{
	struct rds_ib_dying *d, *next;

	llist_for_each_entry_safe(d, next, llist_del_all(&rds_ib_dying), node) {
		rdma_destroy_id(d->id);		/* waits for its handler */
		kfree(d);
	}
}

static int rds_ib_dying_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	return 0;
}

/**
 * rds_ib_destroy_later() - destroy an id from its own handler
 * @d: begins the object that belongs to the id, which is freed
 * @id: the CM's
 *
 * Under the lock of the list that the object was on, so that nobody finds it gone before this is
 * queued; the module does not go before it is done.
 */
void rds_ib_destroy_later(struct rds_ib_dying *d, struct rdma_cm_id *id)
{
	d->id = id;
	id->event_handler = rds_ib_dying_event;
	llist_add(&d->node, &rds_ib_dying);
	queue_work(rds_ib_wq, &rds_ib_destroy);
}

/**
 * rds_ib_port_down() - is the port of an id down?
 * @id: the CM's
 */
bool rds_ib_port_down(struct rdma_cm_id *id)
{
	struct ib_port_attr attr;

	return id->device && id->port_num && !ib_query_port(id->device, id->port_num, &attr) &&
	       attr.state != IB_PORT_ACTIVE;
}

/* The CM's handler: if the device goes away the id goes with it. */
static int rds_ib_leave_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct rds_ib_leaver *lv = id->context;
	bool mine;

	if (ev->event != RDMA_CM_EVENT_DEVICE_REMOVAL)
		return 0;
	spin_lock(&rds_ib_leave_lock);
	mine = !list_empty(&lv->node);
	lv->removed = true;
	list_del_init(&lv->node);
	if (mine) {
		atomic_dec(&rds_ib_nr_leavers);
		rds_ib_destroy_later(&lv->dying, id);
	}
	spin_unlock(&rds_ib_leave_lock);
	return 0;
}

/*
 * The next one, now the caller's, from a list of those that were there when he began.  Without the
 * lock the port can be looked at: the CM keeps the device as long as the id is there.
 */
static struct rds_ib_leaver *rds_ib_leave_take(struct list_head *list)
{
	struct rds_ib_leaver *lv;

	spin_lock(&rds_ib_leave_lock);
	lv = list_first_entry_or_null(list, struct rds_ib_leaver, node);
	if (lv)
		list_del_init(&lv->node);
	spin_unlock(&rds_ib_leave_lock);
	return lv;
}

/* False if its device has begun to go away meanwhile. */
static bool rds_ib_leave_put_back(struct rds_ib_leaver *lv)
{
	bool removed;

	spin_lock(&rds_ib_leave_lock);
	removed = lv->removed;
	if (!removed)
		list_add_tail(&lv->node, &rds_ib_leavers);
	spin_unlock(&rds_ib_leave_lock);
	return !removed;
}

static void rds_ib_leave_now(struct rds_ib_leaver *lv)
{
	atomic_dec(&rds_ib_nr_leavers);
	rdma_destroy_id(lv->id);
	kfree(lv);
}

static void rds_ib_leave_work(struct work_struct *work)
{
	struct rds_ib_leaver *lv;
	LIST_HEAD(list);

	spin_lock(&rds_ib_leave_lock);
	list_splice_init(&rds_ib_leavers, &list);
	spin_unlock(&rds_ib_leave_lock);
	while ((lv = rds_ib_leave_take(&list)))
		if (!rds_ib_port_down(lv->id) || !rds_ib_leave_put_back(lv))
			rds_ib_leave_now(lv);
	if (!list_empty_careful(&rds_ib_leavers))
		queue_delayed_work(rds_ib_wq, &rds_ib_leave, RDS_IB_LEAVE_INTERVAL);
}

/**
 * rds_ib_leave_later() - destroy an id when its port is up
 * @l: link that is being stopped, without a queue pair; gives up its id
 *
 * Return: false if that cannot be: the caller does it now.
 */
bool rds_ib_leave_later(struct rds_ib_link *l)
{
	struct rds_ib_leaver *lv = NULL;

	if (atomic_inc_return(&rds_ib_nr_leavers) <= RDS_IB_LEAVERS_MAX)
		lv = kzalloc(sizeof(*lv), GFP_KERNEL);
	if (!lv)
		goto err;
	lv->id = l->id;
	rdma_lock_handler(lv->id);
	/* The CM tells it only once. */
	if (l->removed) {
		rdma_unlock_handler(lv->id);
		kfree(lv);
		goto err;
	}
	lv->id->context = lv;
	lv->id->event_handler = rds_ib_leave_event;
	rds_ib_leave_put_back(lv);
	rdma_unlock_handler(l->id);
	queue_delayed_work(rds_ib_wq, &rds_ib_leave, RDS_IB_LEAVE_INTERVAL);
	return true;

err:
	atomic_dec(&rds_ib_nr_leavers);
	return false;
}

/**
 * rds_ib_leave_all() - the module goes: do not wait for ports
 *
 * Nobody adds ids any more.
 */
void rds_ib_leave_all(void)
{
	struct rds_ib_leaver *lv;

	cancel_delayed_work_sync(&rds_ib_leave);
	while ((lv = rds_ib_leave_take(&rds_ib_leavers)))
		rds_ib_leave_now(lv);
}

/* ---- devices that go ----------------------------------------------------------------- */

static void rds_ib_link_gone(struct rds_ib_link *l)
{
	rds_ib_count(RDS_IB_DEVICE_REMOVED);
	/* Nobody will answer, so do not wait for it. */
	WRITE_ONCE(l->disconnected, true);
	rds_ib_link_drop(l, -ENODEV);
	rds_path_stop_again(l->ib->path);
}

/**
 * rds_ib_links_gone() - a device goes away: so do its links
 * @rdev: device, marked as being removed, so that there will be no more
 *
 * Does not wait: each link holds a reference to @rdev.
 *
 * Context: process.
 */
void rds_ib_links_gone(struct rds_ib_device *rdev)
{
	struct rds_ib_link *l;
	LIST_HEAD(told);

	spin_lock_bh(&rdev->lock);
	while ((l = list_first_entry_or_null(&rdev->links, struct rds_ib_link, node))) {
		list_move(&l->node, &told);
		rds_ib_link_gone(l);
		/* Peers choose how many there are. */
		spin_unlock_bh(&rdev->lock);
		cond_resched();
		spin_lock_bh(&rdev->lock);
	}
	list_splice(&told, &rdev->links);
	spin_unlock_bh(&rdev->lock);
}
