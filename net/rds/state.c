// SPDX-License-Identifier: GPL-2.0
/*
 * Applies the state table of a path (state_table.c), owns its timer and the control work
 * that starts and stops links.
 *
 * path_apply() is the only writer of rds_path.state.  It runs under path->lock and also
 * queues the works, so that an action can never be queued for a path that is gone: after
 * GONE the table yields no action, and rds_path_reap() cancels what was queued before.
 */
#include <linux/jiffies.h>
#include <linux/random.h>

#include "core.h"
#include "trace.h"

/* The passive side gives the peer this long to answer a nudge before the next one. */
#define RDS_NUDGE_INTERVAL	(HZ / 10)
/* Where nobody waits for the peer it is dialled ever more rarely, down to this. */
#define RDS_IDLE_BACKOFF	(30UL * HZ)
/* An unanswered handshake ping is repeated after this. */
#define RDS_GREET_INTERVAL	HZ
/*
 * Where either end dials, the one that did not dial the last link waits so long for who did, and up
 * to once more: many links may have gone at once.
 */
#define RDS_PASSIVE_WAIT	(HZ / 8 + 1)
/* How long a path of a legacy peer waits for the paths below it. */
#define RDS_ORDER_INTERVAL	max(HZ / 100, 1)

/*
 * Is there something on the queue that a user waits for?  It may say no too often while the
 * path has a link; when that goes it is asked again.
 */
static bool path_has_messages(const struct rds_path *p)
{
	return READ_ONCE(p->nr_queued) > READ_ONCE(p->nr_control);
}

/* Path 0 of the passive side asks the peer to dial, for all paths. */
static bool conn_has_queued(const struct rds_conn *c)
{
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		const struct rds_path *p = smp_load_acquire(&c->paths[i]); /* published complete */

		if (p && path_has_messages(p))
			return true;
	}
	return false;
}

/* A peer that has a link may have messages for a path that has none, and cannot say so. */
static bool conn_has_link(const struct rds_conn *c)
{
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		const struct rds_path *p = smp_load_acquire(&c->paths[i]); /* published complete */

		if (p && rds_path_is_up(p))
			return true;
	}
	return false;
}

/* For how long is nobody dialled at most?  Longer where nobody of ours waits. */
static unsigned long backoff_max(const struct rds_conn *c)
{
	unsigned long max_j = READ_ONCE(c->rn->sysctl.reconnect_max_jiffies);

	if (conn_has_queued(c) || conn_has_link(c))
		return max_j;
	return max(max_j, RDS_IDLE_BACKOFF);
}

/* How long must somebody else be given time to dial, before we do? */
static unsigned long backoff_least(const struct rds_path *p)
{
	if (rds_conn_is_active(p->conn))
		return 0;
	if (p->conn->key.trans->caps & RDS_CAP_CANONICAL)
		return RDS_NUDGE_INTERVAL;
	return p->adopted ? RDS_PASSIVE_WAIT + get_random_u32_below(RDS_PASSIVE_WAIT) : 0;
}

static unsigned long backoff_next(struct rds_path *p)
{
	const struct rds_net *rn = p->conn->rn;
	unsigned long min_j = READ_ONCE(rn->sysctl.reconnect_min_jiffies);
	unsigned long max_j = backoff_max(p->conn);
	unsigned long delay = 0;

	if (!p->backoff) {
		p->backoff = min_j;
	} else {
		/* The maximum may be a smaller one by now. */
		delay = get_random_u32_below(min3(p->backoff, max_j, (unsigned long)U32_MAX));
		p->backoff = min(p->backoff * 2, max_j);
	}
	return max(delay, backoff_least(p));
}

/* What a link begins with. */
static void path_comes_up(struct rds_path *p)
{
	p->control_due = !!(p->conn->key.trans->caps & RDS_CAP_SENDS_CONG);
	p->rx_frames = 0;
	p->welcome = false;
	p->up_since = jiffies;
	rds_generation_fresh_link(p);
}

static void path_came_up(struct rds_path *p)
{
	mod_delayed_work(rds_wq, &p->timer, RDS_LISTEN_TIME);
	queue_work(rds_wq, &p->pump_work);
}

static enum rds_action path_apply(struct rds_path *p, enum rds_event ev)
{
	struct rds_transition t = rds_state_next(p->state, ev);
	enum rds_state from = p->state;

	lockdep_assert_held(&p->lock);
	if (t.action == RDS_ACT_UP)
		path_comes_up(p);
	/* Who sends holds the link mutex, but not this lock, and may see UP at once. */
	smp_store_release(&p->state, t.next);	/* pairs with rds_path_is_up() */
	/* That a peer lets us in and says nothing is no use of the path. */
	if (from == RDS_UP && t.next != RDS_UP && p->rx_frames)
		WRITE_ONCE(p->conn->last_used, jiffies);
	if (from != t.next)
		trace_rds_state_change(p, from, t.next, ev);

	switch (t.action) {
	case RDS_ACT_START:
	case RDS_ACT_ADOPT:
		p->adopted = t.action == RDS_ACT_ADOPT;
		if (p->adopted)
			p->parked = false;
		WRITE_ONCE(p->epoch, p->epoch + 1);
		p->action = t.action;
		mod_delayed_work(rds_wq, &p->ctl_work, 0);
		break;
	case RDS_ACT_STOP:
		rds_stat_inc(conn_reset);
		p->action = t.action;
		mod_delayed_work(rds_wq, &p->ctl_work, 0);
		break;
	case RDS_ACT_UP:
		path_came_up(p);
		break;
	case RDS_ACT_TIMER:
		mod_delayed_work(rds_wq, &p->timer, backoff_next(p));
		break;
	case RDS_ACT_PARK:
		rds_stat_inc(link_parked);
		break;
	case RDS_ACT_REFUSE:
		rds_stat_inc(link_refused);
		break;
	case RDS_ACT_STALE:
		rds_stat_inc(event_stale);
		break;
	case RDS_ACT_RELEASE:
		complete_all(&p->gone);
		break;
	default:
		break;
	}
	return t.action;
}

/* How the link has ended that is being taken down now, for who asks later. */
static void path_ended(struct rds_path *p, int why)
{
	lockdep_assert_held(&p->lock);
	p->ended_why = why;
	p->ended_at = ktime_get_boottime_seconds();
}

/* What the end of a tear-down means depends on what waits. */
static enum rds_event stopped_event(const struct rds_path *p)
{
	const struct rds_conn *c = p->conn;
	bool active = rds_conn_is_active(c) || !(c->key.trans->caps & RDS_CAP_CANONICAL);

	if (p->parked)
		return RDS_EV_STOPPED_ADOPT;
	if (c->key.half)
		return RDS_EV_STOPPED_IDLE;
	if (active || (!p->index && conn_has_queued(c)))
		return RDS_EV_STOPPED_RETRY;
	return RDS_EV_STOPPED_IDLE;
}

/*
 * One step of a tear-down.  Peers that are slow to answer, on purpose perhaps, cost a timer
 * and no thread, so that they do not keep the works of other paths waiting.
 */
static void path_stop(struct rds_path *p)
{
	const struct rds_transport *t = p->conn->key.trans;
	unsigned long again;

	lockdep_assert_held(&p->link);
	again = t->stop(p, rds_state_is_dying(READ_ONCE(p->state)));
	if (again) {
		/* Not if it is queued already, because something has happened meanwhile. */
		queue_delayed_work(rds_wq, &p->ctl_work, again);
		return;
	}
	rds_path_requeue_sent(p);
	rds_mprds_fold_path(p);
	if (!p->index)
		rds_cong_link_lost(p->conn);

	spin_lock_bh(&p->lock);
	p->action = RDS_ACT_NONE;
	WRITE_ONCE(p->rx_as, NULL);
	path_apply(p, stopped_event(p));
	spin_unlock_bh(&p->lock);
	if (p->index && path_has_messages(p))
		rds_path_want(p->conn->paths[0]);
}

static void path_start(struct rds_path *p, u32 epoch, bool adopt)
{
	const struct rds_transport *t = p->conn->key.trans;
	int err;

	lockdep_assert_held(&p->link);
	err = t->start(p, epoch, adopt);
	if (err < 0)
		rds_path_drop(p, epoch, err);
}

/**
 * rds_path_control() - start or stop the link if that is due
 * @p: the path; link mutex held
 *
 * Context: process, may sleep.
 */
void rds_path_control(struct rds_path *p)
{
	enum rds_action act;
	u32 epoch;

	spin_lock_bh(&p->lock);
	act = p->action;
	if (act != RDS_ACT_STOP)
		p->action = RDS_ACT_NONE;
	epoch = p->epoch;
	spin_unlock_bh(&p->lock);

	if (act == RDS_ACT_STOP)
		path_stop(p);
	else if (act == RDS_ACT_START || act == RDS_ACT_ADOPT)
		path_start(p, epoch, act == RDS_ACT_ADOPT);
}

static void path_ctl_work(struct work_struct *work)
{
	struct rds_path *p = container_of(to_delayed_work(work), struct rds_path, ctl_work);

	mutex_lock(&p->link);
	rds_path_control(p);
	mutex_unlock(&p->link);
}

static void path_timer(struct work_struct *work)
{
	struct rds_path *p = container_of(to_delayed_work(work), struct rds_path, timer);
	bool ready = rds_mprds_may_start(p);
	bool greet = rds_mprds_greet_again(p);
	unsigned long doubt = rds_cong_doubt_over(p->conn);

	rds_path_kick(p);	/* in case it waited for the peer's first frame */
	spin_lock_bh(&p->lock);
	/* The link has lasted a while. */
	if (p->state == RDS_UP)
		p->backoff = 0;
	if (p->state == RDS_UP && (greet || doubt))
		mod_delayed_work(rds_wq, &p->timer,
				 min_not_zero(greet ? RDS_GREET_INTERVAL : 0, doubt));
	else if (p->state == RDS_BACKOFF && !ready)
		/* Path 0 coming up hurries the others. */
		mod_delayed_work(rds_wq, &p->timer,
				 rds_path_is_up(p->conn->paths[0]) ? RDS_ORDER_INTERVAL : HZ);
	else
		path_apply(p, RDS_EV_TIMER);
	spin_unlock_bh(&p->lock);
}

/**
 * rds_path_init_state() - state, works and timer of a new path
 * @p: zeroed path with conn and index set
 */
void rds_path_init_state(struct rds_path *p)
{
	p->state = RDS_DOWN;
	p->action = RDS_ACT_NONE;
	INIT_DELAYED_WORK(&p->ctl_work, path_ctl_work);
	INIT_DELAYED_WORK(&p->timer, path_timer);
	init_completion(&p->gone);
}

/* Nobody has waited for the peer, and now somebody does: not for the end of so long a time. */
static void path_awake(struct rds_path *p)
{
	unsigned long max_j = READ_ONCE(p->conn->rn->sysctl.reconnect_max_jiffies);

	lockdep_assert_held(&p->lock);
	if (p->state != RDS_BACKOFF || p->backoff <= max_j || !conn_has_queued(p->conn))
		return;
	p->backoff = max_j;
	mod_delayed_work(rds_wq, &p->timer, 0);
}

/**
 * rds_path_want() - somebody needs the path: connect if it is down
 * @p: the path
 *
 * Paths above 0 of a legacy peer come up in ascending order, because such a peer pairs
 * path indices by order of arrival.
 *
 * Context: any.
 */
void rds_path_want(struct rds_path *p)
{
	if (p->conn->key.half || (p->index && !rds_conn_is_active(p->conn)))
		return;
	if (!rds_mprds_may_start(p))
		return;
	spin_lock_bh(&p->lock);
	path_apply(p, RDS_EV_WANT);
	path_awake(p);
	spin_unlock_bh(&p->lock);
}

/**
 * rds_path_hurry() - the peer is alive: connect now
 * @p: the path
 *
 * Context: any.
 */
void rds_path_hurry(struct rds_path *p)
{
	rds_path_want(p);
	spin_lock_bh(&p->lock);
	if (p->state == RDS_BACKOFF)
		mod_delayed_work(rds_wq, &p->timer, 0);
	spin_unlock_bh(&p->lock);
}

/**
 * rds_path_look_later() - the peer was asked again: has it answered in a while?
 * @p: the path
 *
 * Context: any.
 */
void rds_path_look_later(struct rds_path *p)
{
	spin_lock_bh(&p->lock);
	if (p->state == RDS_UP)
		queue_delayed_work(rds_wq, &p->timer, RDS_GREET_INTERVAL);
	spin_unlock_bh(&p->lock);
}

/**
 * rds_path_accept() - the transport parked an incoming link
 * @p: the path
 * @again: it was parked before, and others are being taken
 *
 * Context: any.
 * Return: 0 if it will be adopted; -EAGAIN if the connection is going away, look for it again;
 * the transport has to discard the link or try again.
 */
int rds_path_accept(struct rds_path *p, bool again)
{
	bool was_parked, was_up;
	int err = 0;

	spin_lock_bh(&p->lock);
	was_parked = p->parked;
	was_up = p->state == RDS_UP;
	p->parked = true;
	if ((!again && READ_ONCE(p->conn->closing)) ||
	    path_apply(p, RDS_EV_ACCEPT) == RDS_ACT_REFUSE) {
		p->parked = was_parked;
		err = -EAGAIN;
	} else if (was_up) {
		/* The peer has given up on the link that we have. */
		path_ended(p, -ECONNRESET);
	}
	/* Before the unlock: who gives up connections then sees a link, or that one came. */
	WRITE_ONCE(p->conn->last_used, jiffies);
	spin_unlock_bh(&p->lock);
	return err;
}

/**
 * rds_path_adopting() - start() takes what is parked
 * @p: the path
 * @epoch: the epoch start() was called with
 *
 * Under the lock under which the transport parks, so that what is parked later counts.
 *
 * Context: any.
 * Return: false if another request came meanwhile and start() is late: the path is about to be
 * stopped, and then all that is parked is looked at again.
 */
bool rds_path_adopting(struct rds_path *p, u32 epoch)
{
	bool ok;

	spin_lock_bh(&p->lock);
	ok = epoch == p->epoch && p->state == RDS_CONNECTING;
	if (ok)
		p->parked = false;
	spin_unlock_bh(&p->lock);
	return ok;
}

/**
 * rds_path_peer_port() - where the link that is being adopted comes from
 * @p: the path
 * @port: the peer's port
 *
 * Context: any.
 */
void rds_path_peer_port(struct rds_path *p, u16 port)
{
	spin_lock_bh(&p->lock);
	p->peer_port = port;
	spin_unlock_bh(&p->lock);
}

/**
 * rds_path_link_up() - the link can carry messages
 * @p: the path
 * @epoch: the epoch start() was called with
 *
 * Context: any.
 * Return: false if @epoch is old: start() or stop() is about to be called, and nothing that was
 * received may be delivered before that.
 */
bool rds_path_link_up(struct rds_path *p, u32 epoch)
{
	enum rds_action act = RDS_ACT_STALE;
	bool current_epoch;

	spin_lock_bh(&p->lock);
	current_epoch = epoch == p->epoch;
	/*
	 * What is being given up must not receive any more; if it stays we try again.  With the
	 * link of a peer that has answered before it does stay, see path_is_idle().
	 */
	if (current_epoch && READ_ONCE(p->conn->closing) &&
	    !(p->adopted && READ_ONCE(p->conn->answered))) {
		path_ended(p, -ECANCELED);
		path_apply(p, RDS_EV_DROP);
		current_epoch = false;
	} else if (current_epoch) {
		act = path_apply(p, RDS_EV_LINK_UP);
	}
	if (!current_epoch)
		rds_stat_inc(event_stale);
	spin_unlock_bh(&p->lock);
	if (act == RDS_ACT_UP)
		rds_mprds_link_up(p);
	return current_epoch;
}

/**
 * rds_path_drop() - the link broke or could not be made
 * @p: the path
 * @epoch: the epoch start() was called with
 * @why: negative errno, for the trace and RDS_INFO_PATHS
 *
 * The end of a link that is being taken down anyway is not news.
 *
 * Context: any.
 */
void rds_path_drop(struct rds_path *p, u32 epoch, int why)
{
	spin_lock_bh(&p->lock);
	if (epoch == p->epoch && (p->state == RDS_CONNECTING || p->state == RDS_UP)) {
		trace_rds_link_drop(p, epoch, why);
		path_ended(p, why);
		path_apply(p, RDS_EV_DROP);
	} else {
		rds_stat_inc(event_stale);
	}
	spin_unlock_bh(&p->lock);
}

/**
 * rds_path_reset() - administrative drop, whatever the epoch
 * @p: the path
 *
 * Context: any.
 */
void rds_path_reset(struct rds_path *p)
{
	spin_lock_bh(&p->lock);
	if (p->state == RDS_CONNECTING || p->state == RDS_UP)
		path_ended(p, -ECANCELED);
	path_apply(p, RDS_EV_DROP);
	spin_unlock_bh(&p->lock);
}

static void path_stop_again(struct rds_path *p)
{
	lockdep_assert_held(&p->lock);
	if (p->action == RDS_ACT_STOP)
		mod_delayed_work(rds_wq, &p->ctl_work, 0);
}

/**
 * rds_path_stop_again() - what the transport's stop() waits for has happened
 * @p: the path
 *
 * Context: any.
 */
void rds_path_stop_again(struct rds_path *p)
{
	spin_lock_bh(&p->lock);
	path_stop_again(p);
	spin_unlock_bh(&p->lock);
}

/**
 * rds_path_doom() - begin the destruction of a path
 * @p: the path
 *
 * From here on rds_path_enqueue() refuses messages.
 *
 * Context: any.
 */
void rds_path_doom(struct rds_path *p)
{
	spin_lock_bh(&p->lock);
	path_apply(p, RDS_EV_DESTROY);
	/* A tear-down under way is not orderly any more. */
	path_stop_again(p);
	spin_unlock_bh(&p->lock);
}

/**
 * rds_path_await_gone() - wait until the link of a doomed path is stopped
 * @p: the path
 *
 * Context: process, sleeps.
 */
void rds_path_await_gone(struct rds_path *p)
{
	wait_for_completion(&p->gone);
}

/**
 * rds_path_reap() - nothing of a path runs any more
 * @p: the path; all paths of its connection are gone
 *
 * Order: the state GONE means the link was stopped, so no callback of the transport is
 * left to queue anything; senders are refused under path->lock; then the works.  What the
 * link of one path delivers may start the timer of another one, so all are stopped before.
 *
 * Context: process, sleeps.
 */
void rds_path_reap(struct rds_path *p)
{
	const struct rds_transport *t = p->conn->key.trans;

	cancel_delayed_work_sync(&p->timer);
	cancel_delayed_work_sync(&p->ctl_work);
	cancel_work_sync(&p->pump_work);
	if (t->discard)
		t->discard(p);
}
