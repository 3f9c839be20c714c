// SPDX-License-Identifier: GPL-2.0
/*
 * Who waits for a congested port: senders, sockets that met ENOBUFS, monitors.
 *
 * Users choose how many sockets wait, and how often a port is full and free again.  So many are
 * told by a work, which lets go of the lock after a few.
 */
#include <linux/sched/signal.h>
#include <linux/wait.h>

#include "core.h"

/* Waiting sockets woken at once, and while their list is locked. */
#define NOTIFY_FEW	32

/**
 * rds_cong_senders_init() - nobody waits
 * @s: zeroed
 */
void rds_cong_senders_init(struct rds_cong_senders *s)
{
	init_waitqueue_head(&s->wq);
	INIT_LIST_HEAD(&s->node);
}

/**
 * rds_cong_senders_exit() - nobody waits any more, and nobody will
 * @rn: namespace
 * @s: senders, about to be freed
 *
 * Context: any.
 */
void rds_cong_senders_exit(struct rds_net *rn, struct rds_cong_senders *s)
{
	spin_lock_bh(&rn->lock);
	list_del_init(&s->node);
	spin_unlock_bh(&rn->lock);
}

/**
 * rds_cong_senders_wake() - what they wait for may have come
 * @rn: namespace
 * @s: senders
 *
 * Context: any, no lock held.
 */
void rds_cong_senders_wake(struct rds_net *rn, struct rds_cong_senders *s)
{
	int nr;

	smp_mb();	/* what they wait for before who waits; pairs with senders_sleep() */
	nr = atomic_read(&s->nr);
	if (!nr)
		return;
	wake_up_nr(&s->wq, NOTIFY_FEW);
	if (nr <= NOTIFY_FEW)
		return;
	spin_lock_bh(&rn->lock);
	/* Who sleeps again is behind all who waited before. */
	s->left = max(s->left, nr);
	if (list_empty(&s->node))
		list_add_tail(&s->node, &rn->cong_senders);
	spin_unlock_bh(&rn->lock);
	queue_work(rds_wq, &rn->cong_work);
}

/* The next few of those who wait longest; false if there are none. */
static bool senders_wake_few(struct rds_net *rn)
{
	struct rds_cong_senders *s;

	lockdep_assert_held(&rn->lock);
	s = list_first_entry_or_null(&rn->cong_senders, struct rds_cong_senders, node);
	if (!s)
		return false;
	wake_up_nr(&s->wq, NOTIFY_FEW);
	s->left -= NOTIFY_FEW;
	if (s->left > 0)
		list_move_tail(&s->node, &rn->cong_senders);
	else
		list_del_init(&s->node);
	return true;
}

static void cong_mark(struct rds_sock *rs, u16 port)
{
	struct sock *sk = rds_rs_to_sk(rs);
	struct rds_net *rn = rds_net(sock_net(sk));

	if (READ_ONCE(rs->monitor))
		atomic64_or(1ULL << (port % RDS_CONG_MONITOR_SIZE), &rs->rx.cong_wait);
	spin_lock_bh(&rn->lock);
	if (hlist_unhashed(&sk->sk_bind_node)) {
		sk_add_bind_node(sk, &rn->cong_waiters);
		WRITE_ONCE(rn->nr_cong_waiters, rn->nr_cong_waiters + 1);
	}
	spin_unlock_bh(&rn->lock);
}

/**
 * rds_cong_forget() - a socket that is closing waits for no port
 * @rs: the socket
 */
void rds_cong_forget(struct rds_sock *rs)
{
	struct sock *sk = rds_rs_to_sk(rs);
	struct rds_net *rn = rds_net(sock_net(sk));

	spin_lock_bh(&rn->lock);
	if (!hlist_unhashed(&sk->sk_bind_node)) {
		hlist_del_init(&sk->sk_bind_node);
		WRITE_ONCE(rn->nr_cong_waiters, rn->nr_cong_waiters - 1);
	}
	spin_unlock_bh(&rn->lock);
}

/* Who waits until a port takes messages again. */
static struct rds_cong_senders *cong_senders(struct rds_conn *c)
{
	return c->floop ? &c->floop->senders : &c->senders;
}

/* Its reader is slow, or so much is under way to it that it does not matter how fast he is. */
static bool cong_refuses(struct rds_conn *c, u16 port)
{
	return rds_cong_test(c, port) || rds_underway_full(c, port);
}

/* It goes away without: tell it when the bit clears.  False if it has cleared already. */
static bool cong_mark_refused(struct rds_sock *rs, struct rds_conn *c, u16 port)
{
	cong_mark(rs, port);
	smp_mb();	/* mark before test; pairs with the update's barrier */
	return cong_refuses(c, port);
}

static bool cong_wait_over(struct rds_conn *c, u16 port)
{
	return !cong_refuses(c, port) || rds_state_is_dying(READ_ONCE(c->paths[0]->state));
}

/* As wait_event_interruptible_timeout(), but one of many who are woken in the order they came. */
static long senders_sleep(struct rds_cong_senders *s, struct rds_conn *c, u16 port, long timeo)
{
	DEFINE_WAIT(wait);
	bool over;

	atomic_inc(&s->nr);
	for (;;) {
		/* A barrier between who waits and what for. */
		prepare_to_wait_exclusive(&s->wq, &wait, TASK_INTERRUPTIBLE);
		over = cong_wait_over(c, port);
		if (over || !timeo || signal_pending(current))
			break;
		timeo = schedule_timeout(timeo);
	}
	finish_wait(&s->wq, &wait);
	atomic_dec(&s->nr);
	if (over)
		return max(timeo, 1L);
	return timeo ? -ERESTARTSYS : 0;
}

/**
 * rds_cong_wait() - let a sender through, or make it wait, or refuse
 * @rs: sending socket
 * @c: connection
 * @port: destination port
 * @nonblock: do not wait
 * @timeo: time the caller may still wait, reduced by the time waited
 *
 * Context: process.
 * Return: 0, -ENOBUFS, -ETIMEDOUT, or the errno of an interrupted wait.
 */
int rds_cong_wait(struct rds_sock *rs, struct rds_conn *c, u16 port, bool nonblock, long *timeo)
{
	long ret;

	if (likely(!cong_refuses(c, port)))
		return 0;
	if (nonblock) {
		if (!cong_mark_refused(rs, c, port))
			return 0;
		rds_stat_inc(cong_send_error);
		return -ENOBUFS;
	}
	rds_stat_inc(cong_send_blocked);
	rds_send_push(rs);
	ret = senders_sleep(cong_senders(c), c, port, *timeo);
	if (ret < 0)
		return cong_mark_refused(rs, c, port) ? rds_intr_errno(*timeo) : 0;
	*timeo = *timeo == MAX_SCHEDULE_TIMEOUT ? *timeo : ret;
	return !ret && cong_mark_refused(rs, c, port) ? -ETIMEDOUT : 0;
}

/* One marked socket: move its bits, wake it; true if it still waits for others. */
static bool cong_wake(struct rds_sock *rs, u64 cleared)
{
	struct sock *sk = rds_rs_to_sk(rs);
	u64 hit;

	if (!READ_ONCE(rs->monitor)) {
		rds_sock_wake(sk);
		return false;
	}
	hit = atomic64_fetch_andnot(cleared, &rs->rx.cong_wait) & cleared;
	if (hit) {
		atomic64_or(hit, &rs->rx.cong_ready);
		rds_note_added(rs);
		rds_sock_wake(sk);
	}
	return atomic64_read(&rs->rx.cong_wait);
}

/* The first few of @from; who still waits is on rn->cong_waiters then. */
static void cong_wake_few(struct rds_net *rn, struct hlist_head *from, u64 cleared)
{
	unsigned int left = NOTIFY_FEW;
	struct hlist_node *next;
	struct sock *sk;

	lockdep_assert_held(&rn->lock);
	hlist_for_each_entry_safe(sk, next, from, sk_bind_node) {
		if (!left--)
			break;
		hlist_del_init(&sk->sk_bind_node);
		if (cong_wake(rds_sk(sk), cleared))
			hlist_add_head(&sk->sk_bind_node, &rn->cong_waiters);
		else
			WRITE_ONCE(rn->nr_cong_waiters, rn->nr_cong_waiters - 1);
	}
}

/**
 * rds_cong_work() - tell all who wait when it begins
 * @work: rds_net.cong_work
 *
 * Who comes later looks at the maps, which were changed before; and another change meanwhile has
 * the work run once more.
 */
void rds_cong_work(struct work_struct *work)
{
	struct rds_net *rn = container_of(work, struct rds_net, cong_work);
	u64 cleared = atomic64_xchg(&rn->cong_cleared, 0);

	spin_lock_bh(&rn->lock);
	hlist_move_list(&rn->cong_waiters, &rn->cong_busy);
	while (!hlist_empty(&rn->cong_busy)) {
		cong_wake_few(rn, &rn->cong_busy, cleared);
		spin_unlock_bh(&rn->lock);
		cond_resched();
		spin_lock_bh(&rn->lock);
	}
	/* What changes meanwhile is told by the next run: others wait for the end of this one. */
	while (senders_wake_few(rn) && !work_pending(work)) {
		spin_unlock_bh(&rn->lock);
		cond_resched();
		spin_lock_bh(&rn->lock);
	}
	spin_unlock_bh(&rn->lock);
}

/**
 * rds_cong_notify() - a map changed: tell the sockets that met ENOBUFS
 * @rn: namespace
 * @cleared: monitor bits of ports that are free again
 *
 * They are woken under the lock; nothing takes it below a wait queue's lock.
 *
 * Context: any, no lock held.
 */
void rds_cong_notify(struct rds_net *rn, u64 cleared)
{
	atomic_inc(&rn->cong_gen);
	smp_mb();	/* bits and generation before the list; pairs with cong_mark_refused() */
	if (!READ_ONCE(rn->nr_cong_waiters))
		return;
	spin_lock_bh(&rn->lock);
	if (rn->nr_cong_waiters <= NOTIFY_FEW && hlist_empty(&rn->cong_busy)) {
		cong_wake_few(rn, &rn->cong_waiters, cleared);
	} else {
		atomic64_or(cleared, &rn->cong_cleared);
		queue_work(rds_wq, &rn->cong_work);
	}
	spin_unlock_bh(&rn->lock);
}

/**
 * rds_cong_wake() - ports take messages again
 * @c: connection
 * @cleared: the ports, modulo 64
 *
 * Wakes senders, and tells monitors.
 *
 * Context: any, no lock held.
 */
void rds_cong_wake(struct rds_conn *c, u64 cleared)
{
	rds_cong_senders_wake(c->rn, cong_senders(c));
	rds_cong_notify(c->rn, cleared);
}

/**
 * rds_cong_changed() - the peer's map has changed
 * @c: connection
 * @cleared: ports that take messages again, modulo 64
 *
 * Wakes what waits for them, messages and senders, and tells monitors.
 *
 * Context: any, no lock held.
 */
void rds_cong_changed(struct rds_conn *c, u64 cleared)
{
	struct rds_path *p;
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		p = smp_load_acquire(&c->paths[i]);	/* published complete */
		if (p)
			rds_path_unpark(p);
	}
	rds_cong_wake(c, cleared);
}

/**
 * rds_cong_poll() - the congestion part of poll()
 * @rs: socket
 *
 * Reading the event consumes it.
 */
__poll_t rds_cong_poll(struct rds_sock *rs)
{
	struct rds_net *rn = rds_net(sock_net(rds_rs_to_sk(rs)));
	int gen;

	if (READ_ONCE(rs->monitor))
		return 0;	/* rds_rx_ready() */
	gen = atomic_read(&rn->cong_gen);
	if (READ_ONCE(rs->cong_seen) == gen)
		return 0;
	WRITE_ONCE(rs->cong_seen, gen);
	return EPOLLIN | EPOLLRDNORM | EPOLLWRBAND;
}
