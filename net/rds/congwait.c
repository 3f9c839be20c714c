// SPDX-License-Identifier: GPL-2.0
/*
 * Who waits for a congested port: senders, sockets that met ENOBUFS, monitors.
 *
 * Users choose how many sockets wait, and how often a port is full and free again.  So many are
 * told by a work, which lets go of the lock after a few.
 */
#include <linux/sched/signal.h>

#include "core.h"

/* Waiting sockets woken at once, and while their list is locked. */
#define NOTIFY_FEW	32

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

/* Where senders wait until a port takes messages again. */
static wait_queue_head_t *cong_wq(struct rds_conn *c)
{
	return c->floop ? &c->floop->wq : &c->cong_wq;
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
	ret = wait_event_interruptible_timeout(*cong_wq(c), cong_wait_over(c, port), *timeo);
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
	wake_up_all(cong_wq(c));
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
