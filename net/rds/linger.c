// SPDX-License-Identifier: GPL-2.0
/*
 * What becomes of the messages of a socket that is closed: it is waited for them, or they go on
 * being sent in the background, or they are dropped.
 *
 * SO_LINGER is the time that they have.  close() waits for so long, and a signal ends that, but
 * not their time; a program that ends without close(), or is killed, does not wait at all, as with
 * TCP.  Without SO_LINGER, and also with it after close(), they have close_timeout_ms at most.
 */
#include <linux/jiffies.h>
#include <linux/sched/signal.h>

#include "core.h"

/* Wait as close() was told to.  Return: jiffies that are left of the time. */
static unsigned long linger_wait(struct rds_sock *rs, unsigned long time)
{
	unsigned long begin = jiffies;

	/* Nobody waits for it: a thread of the kernel has it last, or the program ends. */
	if (!time || current->flags & (PF_KTHREAD | PF_EXITING))
		return time;
	rds_send_push(rs);
	wait_event_interruptible_timeout(*sk_sleep(&rs->sk), !atomic_read(&rs->tx_msgs),
					 min_t(unsigned long, time, MAX_SCHEDULE_TIMEOUT));
	return time - min(time, jiffies - begin);
}

static void drop(struct rds_sock *rs)
{
	rds_cancel(rs, NULL);
	rds_sock_put(rs);
}

/* Room for @rs, which is one of them by now, unless it is done. */
static void drop_excess(struct rds_net *rn, const struct rds_sock *rs)
{
	unsigned int max = READ_ONCE(rn->sysctl.max_orphans);
	struct rds_sock *old;

	while ((old = rds_orphan_excess(rn, rs, max))) {
		rds_stat_inc(orphan_limit);
		drop(old);
	}
}

/**
 * rds_linger() - a socket is closed: see to what it has sent
 * @rs: the socket; nobody uses it any more
 *
 * User memory is let go of in any case, also that of devices, see rds_cancel().
 *
 * Context: process, may sleep.
 */
void rds_linger(struct rds_sock *rs)
{
	struct rds_net *rn = rds_net(sock_net(&rs->sk));
	unsigned long time = msecs_to_jiffies(READ_ONCE(rn->sysctl.close_timeout_ms));

	if (sock_flag(&rs->sk, SOCK_LINGER))
		time = min(time, linger_wait(rs, rs->sk.sk_lingertime));
	/* While there are regions, so that a peer's last operations do not break its link. */
	if (!time)
		rds_cancel(rs, NULL);
	else
		rds_cancel_lent(rs);
	if (!atomic_read(&rs->tx_msgs))
		return;
	rds_orphan_add(rs, time);
	drop_excess(rn, rs);
}

static void drop_overdue(struct rds_net *rn)
{
	struct rds_sock *rs;

	while ((rs = rds_orphan_overdue(rn))) {
		rds_stat_inc(orphan_expired);
		drop(rs);
		cond_resched();
	}
}

static void orphan_work(struct work_struct *work)
{
	drop_overdue(container_of(to_delayed_work(work), struct rds_net, orphans.work));
}

/**
 * rds_linger_init_net() - orphans of a namespace
 * @rn: namespace
 */
void rds_linger_init_net(struct rds_net *rn)
{
	rds_orphan_init_net(rn, orphan_work);
}

/**
 * rds_linger_exit_net() - drop all orphans; no socket of the namespace is open
 * @rn: namespace
 */
void rds_linger_exit_net(struct rds_net *rn)
{
	rds_orphan_end(rn);
	cancel_delayed_work_sync(&rn->orphans.work);
	drop_overdue(rn);
}
