// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: one link from start to stop.
 *
 * A link is an object of its own, made by start() and freed by stop().  What it needs of a device
 * is set up in the CM's handlers (or in start() for a parked request); receive buffers are posted
 * before the peer can know the queue pair, so it finds them.
 *
 * Both completion queues are polled by one work, in passes.  A pass stops when the budget is used
 * up, or when both queues are empty and armed.  Before the link is up what was received stays in
 * its queue, and that is not armed again once it has told of something: some adapters report what
 * lies in a queue when it is armed, again and again.  A message that finds no room or no memory is
 * kept, and so is what comes behind it until all buffers are used up: then the device makes the
 * peer wait.  Acknowledgments are taken from it at once.  The receive queue is armed for solicited
 * completions while so many buffers are posted that no message can use them up before its last
 * fragment.
 *
 * stop(): no event of the CM means anything any more; disconnect, and give the peer a moment to
 * confirm, unless it is known to be gone; drain the queue pair, so that each request has its
 * verdict; then the poll work does nothing more, and everything is taken apart.  What arrived and
 * was not delivered was not acknowledged either.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "ib.h"

/* Time for the peer to confirm the end of a link. */
#define RDS_IB_DISCONNECT_MAX	(HZ / 5 + 1)
/* Completions handled before others get their turn. */
#define RDS_IB_POLL_BUDGET	256
/* Requests outside the rings: the ack frame, and the one that drains. */
#define RDS_IB_EXTRA_WR		2
/* Time for the peer to learn from its queue pair that ours is in error. */
#define RDS_IB_FAIL_DELAY	(HZ / 10 + 1)

/* ---- completions -------------------------------------------------------------------- */

static void rds_ib_poll_soon(struct rds_ib_link *l)
{
	queue_work(rds_ib_poll_wq, &l->poll);
}

static void rds_ib_scq_event(struct ib_cq *cq, void *arg)
{
	rds_ib_count(RDS_IB_TX_CQ_EVENT);
	rds_ib_poll_soon(arg);
}

static void rds_ib_rcq_event(struct ib_cq *cq, void *arg)
{
	struct rds_ib_link *l = arg;

	rds_ib_count(RDS_IB_RX_CQ_EVENT);
	set_bit(RDS_IB_EARLY, &l->flags);
	rds_ib_poll_soon(l);
}

/* Drivers call the two event handlers in interrupts as well, where no lock of a path is taken. */
static void rds_ib_cq_error(struct ib_event *event, void *arg)
{
	struct rds_ib_link *l = arg;

	mod_delayed_work(rds_ib_wq, &l->fail, 0);
}

static void rds_ib_qp_event(struct ib_event *event, void *arg)
{
	struct rds_ib_link *l = arg;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		rds_ib_confirm_later(l);
		break;
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		rds_ib_link_fail(l);
		break;
	default:
		mod_delayed_work(rds_ib_wq, &l->fail, 0);
	}
}

static unsigned int rds_ib_poll_sends(struct rds_ib_link *l, unsigned int budget)
{
	unsigned int done = 0;
	int i, n;

	while (done < budget && (n = ib_poll_cq(l->scq, ARRAY_SIZE(l->wcs), l->wcs)) > 0) {
		for (i = 0; i < n; i++) {
			if (l->wcs[i].wr_cqe->done)
				l->wcs[i].wr_cqe->done(l->scq, &l->wcs[i]);
			else
				rds_ib_tx_wc(l, &l->wcs[i]);
		}
		done += n;
	}
	return done;
}

/* What was received waits in the queue until the core knows that the link is up. */
static bool rds_ib_may_receive(struct rds_ib_link *l)
{
	if (test_bit(RDS_IB_UP, &l->flags) || test_bit(RDS_IB_CLOSING, &l->flags))
		return true;
	if (l->adopted && test_bit(RDS_IB_EARLY, &l->flags))
		rds_ib_confirm_later(l);
	return false;
}

static unsigned int rds_ib_poll_recvs(struct rds_ib_link *l, unsigned int budget)
{
	unsigned int done = 0;
	int i, n;

	if (!rds_ib_may_receive(l))
		return 0;
	/* Stopped before the core heard of it. */
	if (!test_bit(RDS_IB_UP, &l->flags))
		l->rx.dead = true;
	rds_ib_rx_begin(l);
	while (done < budget && (n = ib_poll_cq(l->rcq, ARRAY_SIZE(l->wcs), l->wcs)) > 0) {
		for (i = 0; i < n; i++) {
			if (l->wcs[i].wr_cqe->done)
				l->wcs[i].wr_cqe->done(l->rcq, &l->wcs[i]);
			else
				rds_ib_rx_wc(l, &l->wcs[i]);
		}
		done += n;
	}
	rds_ib_rx_done(l);
	return done;
}

/* Ask for news of a queue that nobody looks into yet, once.  True if there are some. */
static bool rds_ib_arm_early(struct rds_ib_link *l)
{
	if (test_bit(RDS_IB_EARLY, &l->flags) ||
	    ib_req_notify_cq(l->rcq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) <= 0)
		return false;
	set_bit(RDS_IB_EARLY, &l->flags);
	return true;
}

/* Ask for events.  True if something came meanwhile. */
static bool rds_ib_arm(struct rds_ib_link *l)
{
	bool closing = test_bit(RDS_IB_CLOSING, &l->flags);
	enum ib_cq_notify_flags flags = IB_CQ_NEXT_COMP;
	int more;

	more = ib_req_notify_cq(l->scq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS);
	if (!closing && !test_bit(RDS_IB_UP, &l->flags))
		return rds_ib_arm_early(l) || more > 0;
	/* Some devices do not take the flushed ones for solicited, and stop() waits for them. */
	if (!closing && rds_ib_rx_posted(l) > 2 * RDS_IB_MAX_FRAGS)
		flags = IB_CQ_SOLICITED;
	more |= ib_req_notify_cq(l->rcq, flags | IB_CQ_REPORT_MISSED_EVENTS);
	return more > 0;
}

static void rds_ib_poll_work(struct work_struct *work)
{
	struct rds_ib_link *l = container_of(work, struct rds_ib_link, poll);
	unsigned int sends, recvs;

	if (test_bit(RDS_IB_QUIET, &l->flags))
		return;
	rds_ib_count(RDS_IB_TASKLET_CALL);
	sends = rds_ib_poll_sends(l, RDS_IB_POLL_BUDGET);
	if (sends)
		rds_ib_tx_room(l);
	recvs = rds_ib_poll_recvs(l, RDS_IB_POLL_BUDGET);
	if (sends >= RDS_IB_POLL_BUDGET || recvs >= RDS_IB_POLL_BUDGET || rds_ib_arm(l))
		rds_ib_poll_soon(l);
}

static void rds_ib_retry_work(struct work_struct *work)
{
	struct rds_ib_link *l = container_of(to_delayed_work(work), struct rds_ib_link, retry);

	rds_ib_tx_room(l);
	rds_ib_poll_soon(l);
}

/**
 * rds_ib_retry_later() - go on later with what stopped
 * @l: link
 * @delay: jiffies, if nothing was to be tried again sooner anyway
 */
void rds_ib_retry_later(struct rds_ib_link *l, unsigned long delay)
{
	if (!queue_delayed_work(rds_ib_wq, &l->retry, delay) &&
	    time_after(READ_ONCE(l->retry.timer.expires), jiffies + delay))
		mod_delayed_work(rds_ib_wq, &l->retry, delay);
}

/* ---- set up -------------------------------------------------------------------------- */

/**
 * rds_ib_link_attach() - tie a link to the device that the CM has found
 * @l: link; handler lock held
 *
 * Return: 0, or -ENODEV if the device does not qualify or goes away.
 */
int rds_ib_link_attach(struct rds_ib_link *l)
{
	struct rds_ib_device *rdev = rds_ib_dev_get(l->id->device);
	bool removing;

	if (!rdev)
		return -ENODEV;
	spin_lock_bh(&rdev->lock);
	removing = READ_ONCE(rdev->removing);
	if (!removing)
		list_add_tail(&l->node, &rdev->links);
	spin_unlock_bh(&rdev->lock);
	if (removing) {
		rds_ib_dev_put(rdev);
		return -ENODEV;
	}
	WRITE_ONCE(l->rdev, rdev);
	WRITE_ONCE(l->ib->no_device, false);
	return 0;
}

/*
 * ib_drain_qp() waits for the completions of its requests, unless a queue is for IB_POLL_DIRECT.
 * Those of ib_create_cq() are not: our poll work calls what each completion names, as its own do.
 */
static_assert(IB_POLL_DIRECT != 0);

/* Both on one vector, for one work handles them; the next link gets the next one. */
static int rds_ib_make_cqs(struct rds_ib_link *l, u32 sends, u32 recvs)
{
	struct ib_device *dev = l->rdev->dev;
	u32 vector = atomic_inc_return(&l->rdev->next_vector);
	struct ib_cq_init_attr attr = {
		.cqe = sends,
		.comp_vector = vector % (u32)dev->num_comp_vectors,
	};
	struct ib_cq *cq;

	cq = ib_create_cq(dev, rds_ib_scq_event, rds_ib_cq_error, l, &attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	l->scq = cq;
	attr.cqe = recvs;
	cq = ib_create_cq(dev, rds_ib_rcq_event, rds_ib_cq_error, l, &attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	l->rcq = cq;
	return 0;
}

static int rds_ib_make_qp(struct rds_ib_link *l, u32 sends, u32 recvs)
{
	struct ib_qp_init_attr attr = {
		.event_handler	= rds_ib_qp_event,
		.qp_context	= l,
		.send_cq	= l->scq,
		.recv_cq	= l->rcq,
		.cap		= {
			.max_send_wr	= sends,
			.max_recv_wr	= recvs,
			.max_send_sge	= l->rdev->max_sge,
			.max_recv_sge	= 2,
		},
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
	};
	int err;

	err = rdma_create_qp(l->id, l->rdev->pd, &attr);
	if (!err)
		l->qp = l->id->qp;
	return err;
}

/* No send ring is made smaller than that because the device cannot do more. */
#define RDS_IB_SENDS_LEAST	64U

/*
 * What a device says of requests and of segments it may not have at the same time.  So the send
 * ring is halved until there is room for it; @sends is set to what became of it.
 */
static int rds_ib_fit_qp(struct rds_ib_link *l, u32 *sends, u32 ops, u32 recvs)
{
	u32 asked = *sends;
	int err;

	for (;;) {
		err = rds_ib_make_qp(l, *sends + ops, recvs);
		if ((err != -ENOMEM && err != -EINVAL) || *sends <= RDS_IB_SENDS_LEAST)
			break;
		*sends = max(*sends / 2, RDS_IB_SENDS_LEAST);
	}
	if (!err && *sends < asked)
		dev_info_once(&l->rdev->dev->dev, "rds: send rings of %u entries instead of %u\n",
			      *sends, asked);
	return err;
}

/* Entries of a ring: what was asked for, as far as the device can beside @more others. */
static u32 rds_ib_ring_size(const struct rds_ib_device *rdev, unsigned long want, u32 more)
{
	u32 most = min3(rdev->max_wr, (u32)rdev->dev->attrs.max_cqe, RDS_IB_RING_MAX);

	return most > more ? clamp_t(unsigned long, want, 1, most - more) : 1;
}

/* ---- what links cost ------------------------------------------------------------------ */

/* What a device may keep for a request of either kind and for a completion: about that of rxe. */
#define RDS_IB_COST_SEND	512
#define RDS_IB_COST_RECV	128
#define RDS_IB_COST_WC		sizeof(struct ib_wc)

/* Of the links that we dial, and of those that peers do: neither may shut out the others. */
static atomic_long_t rds_ib_links_cost[2];

/* Memory of a link that does nothing, in units of 4 KiB.  Devices round their queues up. */
static long rds_ib_link_cost(u32 sends, u32 recvs, u32 ops)
{
	u64 bytes = sizeof(struct rds_ib_link);

	bytes += sends * (sizeof(struct rds_ib_slot) + RDS_IB_TX_BUF + 0ULL);
	bytes += recvs * (sizeof(struct rds_ib_rbuf) + roundup_pow_of_two(RDS_HDR_LEN) + 0ULL);
	bytes += roundup_pow_of_two(sends + ops) * (RDS_IB_COST_SEND + RDS_IB_COST_WC + 0ULL);
	bytes += roundup_pow_of_two(recvs + RDS_IB_EXTRA_WR) *
		 (RDS_IB_COST_RECV + RDS_IB_COST_WC + 0ULL);
	bytes += RDS_IB_OWN_BUFFERS * PAGE_SIZE;
	return DIV_ROUND_UP_ULL(bytes, RDS_IB_FRAG);
}

/* Of those that we dial each user has a share.  0 or -errno. */
static int rds_ib_link_claim(struct rds_ib_link *l, long cost)
{
	unsigned long max = READ_ONCE(rds_ib_sysctl_max_link_allocation) / cost;
	struct rds_share *share;

	if (l->adopted)
		return 0;
	share = rds_path_claim(l->ib->path, rds_ib_dialled, min_t(unsigned long, max, INT_MAX));
	if (IS_ERR(share))
		return PTR_ERR(share);
	l->share = share;
	return 0;
}

static int rds_ib_link_charge(struct rds_ib_link *l, u32 sends, u32 recvs, u32 ops)
{
	long cost = rds_ib_link_cost(sends, recvs, ops);
	atomic_long_t *all = &rds_ib_links_cost[l->adopted];
	int err = rds_ib_link_claim(l, cost);

	if (!err && atomic_long_add_return(cost, all) >
		    READ_ONCE(rds_ib_sysctl_max_link_allocation)) {
		atomic_long_sub(cost, all);
		err = -ENOSPC;
	}
	if (!err)
		l->cost = cost;
	if (err != -ENOSPC)
		return err;
	if (l->adopted)
		rds_ib_evict_idle();
	rds_ib_count(RDS_IB_LINK_LIMIT);
	return err;
}

/**
 * rds_ib_link_room() - may a peer have one more link?
 * @rdev: device
 *
 * Before anything is made for it; counted when it is.  If not, one that does nothing goes.
 */
bool rds_ib_link_room(const struct rds_ib_device *rdev)
{
	u32 ops = min(rdev->max_wr / 2, RDS_IB_OP_WRS) + RDS_IB_EXTRA_WR;
	u32 sends = rds_ib_ring_size(rdev, READ_ONCE(rds_ib_sysctl_max_send_wr), ops);
	u32 recvs = rds_ib_ring_size(rdev, READ_ONCE(rds_ib_sysctl_max_recv_wr),
				     RDS_IB_EXTRA_WR);

	if (atomic_long_read(&rds_ib_links_cost[true]) + rds_ib_link_cost(sends, recvs, ops) <=
	    READ_ONCE(rds_ib_sysctl_max_link_allocation))
		return true;
	rds_ib_evict_idle();
	rds_ib_count(RDS_IB_LINK_LIMIT);
	return false;
}

/* Rings, buffers and queues. */
static int rds_ib_link_make(struct rds_ib_link *l, u32 sends, u32 recvs, u32 ops)
{
	int err = rds_ib_rx_init(l, recvs);

	if (!err)
		err = rds_ib_make_cqs(l, sends + ops, recvs + RDS_IB_EXTRA_WR);
	if (!err)
		err = rds_ib_fit_qp(l, &sends, ops, recvs + RDS_IB_EXTRA_WR);
	return err ?: rds_ib_tx_init(l, sends);
}

/**
 * rds_ib_link_setup() - make queues and rings, and post receive buffers
 * @l: link with a device; handler lock held
 *
 * What was made is undone by stop().
 *
 * Return: 0 or -errno.
 */
int rds_ib_link_setup(struct rds_ib_link *l)
{
	u32 ops = rds_ib_ops_limit(l) + RDS_IB_EXTRA_WR;
	u32 sends = rds_ib_ring_size(l->rdev, READ_ONCE(rds_ib_sysctl_max_send_wr), ops);
	u32 recvs = rds_ib_ring_size(l->rdev, READ_ONCE(rds_ib_sysctl_max_recv_wr),
				     RDS_IB_EXTRA_WR);
	struct mem_cgroup *old;
	int err;

	err = rds_ib_link_charge(l, sends, recvs, ops);
	if (err)
		return err;
	/* As many as it has when memory is short. */
	rds_ib_credit_init(&l->credit, min(recvs, RDS_IB_OWN_BUFFERS));
	old = set_active_memcg(rds_memcg(rds_path_net(l->ib->path)));
	err = rds_ib_link_make(l, sends, recvs, ops);
	set_active_memcg(old);
	if (err)
		return err;
	rds_ib_refill(l, GFP_KERNEL);
	if (!rds_ib_ring_used(&l->rx.ring))
		return -ENOMEM;
	rds_ib_poll_soon(l);	/* arms */
	return 0;
}

/**
 * rds_ib_link_up() - the link is established
 * @l: link; handler lock held
 */
void rds_ib_link_up(struct rds_ib_link *l)
{
	struct rds_path *p = l->ib->path;

	rdma_read_gids(l->id, &l->sgid, &l->dgid);
	if (!rds_path_link_up(p, l->epoch))
		return;		/* stop() is on its way */
	set_bit(RDS_IB_UP, &l->flags);
	rds_ib_say_connected(l);
	rds_ib_alive_begin(l);
	rds_path_kick(p);	/* send() may have come too early */
	rds_ib_poll_soon(l);
}

/**
 * rds_ib_link_drop() - the link is broken
 * @l: link
 * @why: negative errno, for traces
 */
void rds_ib_link_drop(struct rds_ib_link *l, int why)
{
	rds_path_drop(l->ib->path, l->epoch, why);
}

static void rds_ib_fail_work(struct work_struct *work)
{
	struct rds_ib_link *l = container_of(to_delayed_work(work), struct rds_ib_link, fail);

	rds_ib_link_drop(l, -EIO);
}

/**
 * rds_ib_link_fail() - our queue pair is in error, not by a request of ours
 * @l: link
 *
 * It has refused a request of the peer, whose own queue pair will say which.  The end of the
 * link must not overtake that answer.  What is sent meanwhile is kept for the next link.
 */
void rds_ib_link_fail(struct rds_ib_link *l)
{
	set_bit(RDS_IB_FAILED, &l->flags);
	queue_delayed_work(rds_ib_wq, &l->fail, RDS_IB_FAIL_DELAY);
}

static struct rds_ib_link *rds_ib_link_alloc(struct rds_ib_path *ib, u32 epoch)
{
	struct mem_cgroup *old = set_active_memcg(rds_memcg(rds_path_net(ib->path)));
	struct rds_ib_link *l = kvzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);

	set_active_memcg(old);
	if (!l)
		return NULL;
	l->ib = ib;
	l->epoch = epoch;
	l->tos = rds_path_tos(ib->path);
	spin_lock_init(&l->lock);
	INIT_LIST_HEAD(&l->node);
	INIT_LIST_HEAD(&l->idle);
	INIT_LIST_HEAD(&l->rx.partial_node);
	INIT_WORK(&l->poll, rds_ib_poll_work);
	INIT_DELAYED_WORK(&l->retry, rds_ib_retry_work);
	INIT_DELAYED_WORK(&l->ack_timer, rds_ib_ack_timer);
	INIT_DELAYED_WORK(&l->alive, rds_ib_alive_work);
	INIT_DELAYED_WORK(&l->fail, rds_ib_fail_work);
	INIT_DELAYED_WORK(&l->confirm, rds_ib_confirm_work);
	rds_ib_ops_init(l);
	return l;
}

static void rds_ib_publish(struct rds_ib_path *ib, struct rds_ib_link *l)
{
	spin_lock(&ib->lock);
	WRITE_ONCE(ib->link, l);
	spin_unlock(&ib->lock);
}

/**
 * rds_ib_start() - make a link
 * @p: path without a link
 * @epoch: goes with every upcall about this link
 * @adopt: answer the parked request instead of making one
 *
 * Return: 0, the outcome is told by upcalls; or -errno.
 */
int rds_ib_start(struct rds_path *p, u32 epoch, bool adopt)
{
	struct rds_ib_path *ib = rds_path_priv(p);
	struct rds_ib_parked *pk = NULL;
	struct rds_ib_link *l;
	int err;

	if (WARN_ON_ONCE(ib->link))
		return -EISCONN;
	if (adopt) {
		pk = rds_ib_adopt(ib, epoch);
		if (!pk)
			return -ENOENT;
		rds_ib_refuse(pk->next);
		pk->next = NULL;
	}
	l = rds_ib_link_alloc(ib, epoch);
	if (!l) {
		rds_ib_refuse(pk);
		return -ENOMEM;
	}
	l->adopted = adopt;
	rds_ib_publish(ib, l);
	if (!adopt)
		return rds_ib_dial(l);
	err = rds_ib_accept(l, pk);
	kfree(pk);
	return err;
}

/* ---- stop ------------------------------------------------------------------------------ */

/* Begin: the CM's events are ignored, the queue pair is in error, the peer is being told. */
static void rds_ib_stop_begin(struct rds_ib_link *l)
{
	rdma_lock_handler(l->id);
	WRITE_ONCE(l->stopping, true);
	rdma_unlock_handler(l->id);

	spin_lock_bh(&l->lock);
	set_bit(RDS_IB_CLOSING, &l->flags);
	spin_unlock_bh(&l->lock);
	l->since = jiffies;
	if (!l->qp)
		return;
	l->mute = rds_ib_port_down(l->id);
	if (!l->mute)
		rdma_disconnect(l->id);
	rds_ib_poll_soon(l);	/* a message that is held is given up */
}

/* How long the peer still has to confirm. */
static unsigned long rds_ib_stop_wait(struct rds_ib_link *l)
{
	unsigned long spent = jiffies - l->since;

	if (!test_bit(RDS_IB_UP, &l->flags) || l->mute || !READ_ONCE(l->confirmed) ||
	    READ_ONCE(l->disconnected) || READ_ONCE(l->ib->nr_parked) ||
	    READ_ONCE(l->ib->doubted) || spent >= RDS_IB_DISCONNECT_MAX)
		return 0;
	return RDS_IB_DISCONNECT_MAX - spent;
}

/* Nothing is in flight and nothing runs afterwards. */
static void rds_ib_quiesce(struct rds_ib_link *l)
{
	rds_ib_alive_end(l);
	cancel_delayed_work_sync(&l->ack_timer);
	cancel_delayed_work_sync(&l->retry);
	/* Nothing to wait for if it never was: rdma_rxe without memory for RTR flushes nothing. */
	if (test_bit(RDS_IB_UP, &l->flags))
		ib_drain_qp(l->qp);
	set_bit(RDS_IB_QUIET, &l->flags);
	cancel_work_sync(&l->poll);
	if (l->qp)
		rdma_destroy_qp(l->id);
	if (l->scq)
		ib_destroy_cq(l->scq);
	if (l->rcq)
		ib_destroy_cq(l->rcq);
	/* The poll work starts nothing any more, but the others may start it: it goes last. */
	cancel_delayed_work_sync(&l->fail);
	cancel_delayed_work_sync(&l->confirm);
	cancel_delayed_work_sync(&l->retry);
	cancel_delayed_work_sync(&l->ack_timer);
	cancel_work_sync(&l->poll);
}

static void rds_ib_link_free(struct rds_ib_link *l)
{
	rds_ib_quiesce(l);
	rds_ib_publish(l->ib, NULL);
	rds_ib_ops_reset(l);
	if (l->rdev) {
		rds_ib_tx_free(l);
		rds_ib_rx_free(l);
		spin_lock_bh(&l->rdev->lock);
		list_del(&l->node);
		spin_unlock_bh(&l->rdev->lock);
	}
	if (!l->mute || !rds_ib_leave_later(l))
		rdma_destroy_id(l->id);
	if (l->rdev)
		rds_ib_dev_put(l->rdev);
	atomic_long_sub(l->cost, &rds_ib_links_cost[l->adopted]);
	rds_path_unclaim(rds_ib_dialled, l->share);
	kvfree(l);
}

/**
 * rds_ib_stop() - take the link down
 * @p: path, link mutex held
 * @abort: do not wait for the peer
 *
 * Return: 0 when it is down, else how long the peer still has.
 */
unsigned long rds_ib_stop(struct rds_path *p, bool abort)
{
	struct rds_ib_path *ib = rds_path_priv(p);
	struct rds_ib_link *l = ib->link;
	unsigned long wait;

	if (l && !l->id) {
		rds_ib_publish(ib, NULL);
		kvfree(l);
	} else if (l) {
		if (!l->stopping)
			rds_ib_stop_begin(l);
		wait = abort ? 0 : rds_ib_stop_wait(l);
		if (wait)
			return wait;
		rds_ib_link_free(l);
	}
	/* If the core gave up an adoption it still has to know what is parked. */
	rds_ib_announce(ib);
	return 0;
}

/**
 * rds_ib_path_init() - prepare the private area of a new path
 * @p: path
 *
 * Return: 0.
 */
int rds_ib_path_init(struct rds_path *p)
{
	struct rds_ib_path *ib = rds_path_priv(p);

	ib->path = p;
	spin_lock_init(&ib->lock);
	INIT_DELAYED_WORK(&ib->doubt, rds_ib_doubt_work);
	return 0;
}

/**
 * rds_ib_path_free() - release what belongs to a path
 * @p: path that was stopped
 */
void rds_ib_path_free(struct rds_path *p)
{
	struct rds_ib_path *ib = rds_path_priv(p);

	cancel_delayed_work_sync(&ib->doubt);
	rds_ib_discard(p);
}
