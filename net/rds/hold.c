// SPDX-License-Identifier: GPL-2.0
/*
 * Paths whose transport holds messages back, so that more of them go out together.
 *
 * A transport decides whether it waits and how long (rds_path_hold()).  The path is then on the
 * list of the CPU where that began, until the transport has sent.  It is made to send when a socket
 * with messages there begins to wait for something, and when its time is over: there is one timer
 * for a CPU, and when it fires all that are held go, one behind the other.  It is a little late on
 * purpose, because a stream that goes on sends what it holds itself.
 */
#include <linux/hrtimer.h>
#include <linux/percpu.h>

#include "core.h"

/* More messages without sleeping than these are not counted. */
#define HOLD_BURST_MAX	U16_MAX

#define HOLD_GAP_MAX	NSEC_PER_MSEC

/**
 * struct rds_holder - what is held back on one CPU
 * @lock: guards @paths, taken in softirq too
 * @paths: rds_path.held_node, the oldest first
 * @asked: when a message last came on this CPU that could be held back, ns; only a hint
 * @gap: mean time between these, ns; a hint, as all the following
 * @sender: whose message it was; compared and never looked into
 * @slept: how often @sender had slept until then
 * @burst: messages before it, without sleeping or another sender between; HOLD_BURST_MAX at most
 * @timer: the oldest path's time is over
 * @work: makes all send
 */
struct rds_holder {
	spinlock_t lock;	/* paths */
	struct list_head paths;
	u64 asked;
	u32 gap;
	const struct task_struct *sender;
	u32 slept;
	u16 burst;
	struct hrtimer timer;
	struct work_struct work;
};

static DEFINE_PER_CPU(struct rds_holder, rds_holders);

/* A message comes on this CPU that can be held back: ns since the last, or the mean if longer. */
static u32 holder_note(struct rds_holder *h, u64 now)
{
	u32 new = min(now - READ_ONCE(h->asked), (u64)HOLD_GAP_MAX);
	u32 slept = READ_ONCE(current->nvcsw);
	u32 gap = READ_ONCE(h->gap) + new / 8 - READ_ONCE(h->gap) / 8;
	u16 burst = READ_ONCE(h->burst);

	WRITE_ONCE(h->asked, now);
	WRITE_ONCE(h->gap, gap);
	if (READ_ONCE(h->sender) != current || READ_ONCE(h->slept) != slept) {
		WRITE_ONCE(h->sender, current);
		WRITE_ONCE(h->slept, slept);
		WRITE_ONCE(h->burst, 0);
	} else if (burst < HOLD_BURST_MAX) {
		WRITE_ONCE(h->burst, burst + 1);
	}
	return max(gap, new);
}

/**
 * rds_path_burst() - is the message from a loop that sends and does nothing else?
 * @p: the path; link mutex held
 * @now: ktime_get_ns()
 * @gap: set to the mean time between messages on this CPU, ns
 *
 * What sleeps between its messages wants them delivered.  To be asked only for a message that
 * is not held back yet.
 *
 * Return: messages that its sender sent before it without sleeping, to all peers; 65,535 at most.
 */
unsigned int rds_path_burst(const struct rds_path *p, u64 now, u64 *gap)
{
	struct rds_holder *h = raw_cpu_ptr(&rds_holders);

	if (!p->sender)
		return 0;
	*gap = holder_note(h, now);
	return READ_ONCE(h->burst);
}

/* When the timer sees to a path: a quarter late, most are pushed before. */
static u64 holder_end(const struct rds_path *p)
{
	return p->held_until + (p->held_until - p->held_since) / 4;
}

static void holder_arm(struct rds_holder *h, u64 now, u64 end)
{
	hrtimer_start(&h->timer, ns_to_ktime(end - now), HRTIMER_MODE_REL_SOFT);
}

/**
 * rds_path_hold() - the transport holds back what it has
 * @p: the path, not held yet; link mutex held
 * @now: ktime_get_ns()
 * @until: then it wants to send at the latest
 */
void rds_path_hold(struct rds_path *p, u64 now, u64 until)
{
	struct rds_holder *h = raw_cpu_ptr(&rds_holders);
	u64 end;

	WRITE_ONCE(p->holder, h);
	WRITE_ONCE(p->held_for, 0);
	/* Before the timer can see it: what is not held is not pushed. */
	WRITE_ONCE(p->held, true);
	spin_lock_bh(&h->lock);
	p->held_since = now;
	p->held_until = until;
	list_add_tail(&p->held_node, &h->paths);
	end = holder_end(p);
	if (!hrtimer_is_queued(&h->timer) ||
	    end < ktime_to_ns(hrtimer_get_expires(&h->timer)))
		holder_arm(h, now, end);
	spin_unlock_bh(&h->lock);
}

/**
 * rds_path_unhold() - the transport holds nothing back any more
 * @p: the path; link mutex held, or nobody else knows the path
 */
void rds_path_unhold(struct rds_path *p)
{
	if (!READ_ONCE(p->held))
		return;
	spin_lock_bh(&p->holder->lock);
	list_del_init(&p->held_node);
	spin_unlock_bh(&p->holder->lock);
	WRITE_ONCE(p->held, false);
}

/**
 * rds_path_held_until() - when has the transport to send what it holds back?
 * @p: the path; link mutex held
 *
 * Return: ns as ktime_get_ns(), or 0 if nothing is held back.
 */
u64 rds_path_held_until(const struct rds_path *p)
{
	return READ_ONCE(p->held) ? p->held_until : 0;
}

/**
 * rds_path_join() - a message joins what is held back, and tells of a sender with many paths
 * @p: the path; link mutex held
 * @now: ktime_get_ns()
 */
void rds_path_join(const struct rds_path *p, u64 now)
{
	if (p->sender)
		holder_note(raw_cpu_ptr(&rds_holders), now);
}

/* May there be messages of this socket (NULL: of anybody)?  The bits of others may be the same. */
static bool holder_concerns(const struct rds_path *p, const struct rds_sock *rs)
{
	return !rs || (READ_ONCE(p->held_for) & BIT(rs->held_bit) &&
		       p->conn->rn == rds_net(sock_net(&rs->sk)));
}

/*
 * The first one with messages of this socket, taken off the list, with a reference to its
 * connection; or NULL.
 */
static struct rds_path *holder_take(struct rds_holder *h, const struct rds_sock *rs, u64 since)
{
	struct rds_path *p, *next, *found = NULL;

	spin_lock_bh(&h->lock);
	list_for_each_entry_safe(p, next, &h->paths, held_node) {
		if (p->held_since > since)
			break;
		if (!holder_concerns(p, rs))
			continue;
		list_del_init(&p->held_node);
		if (rds_conn_tryget(p->conn)) {
			found = p;
			break;
		}
	}
	spin_unlock_bh(&h->lock);
	return found;
}

/* Only what is held now, or somebody who goes on sending could keep us here for ever. */
static void holder_push(struct rds_holder *h, const struct rds_sock *rs)
{
	u64 since = ktime_get_ns();
	struct rds_path *p;

	while ((p = holder_take(h, rs, since))) {
		rds_path_push(p);
		rds_conn_put(p->conn);
		cond_resched();
	}
}

/**
 * rds_send_push_held() - the sender is about to wait: hold nothing of it back
 * @rs: socket
 *
 * Only the CPU where that began last is looked at; for others the time limit counts.
 *
 * Context: process, may sleep.
 */
void rds_send_push_held(struct rds_sock *rs)
{
	struct rds_holder *h = xchg(&rs->held_on, NULL);

	if (h)
		holder_push(h, rs);
}

static void holder_work(struct work_struct *work)
{
	holder_push(container_of(work, struct rds_holder, work), NULL);
}

static enum hrtimer_restart holder_timer(struct hrtimer *timer)
{
	struct rds_holder *h = container_of(timer, struct rds_holder, timer);
	u64 now = ktime_get_ns(), end = U64_MAX;
	struct rds_path *p;

	spin_lock(&h->lock);
	list_for_each_entry(p, &h->paths, held_node)
		end = min(end, holder_end(p));
	if (!list_empty(&h->paths)) {
		/* Not forwarded: rds_path_hold() may have started it meanwhile. */
		if (now < end)
			holder_arm(h, now, end);
		else
			queue_work(rds_wq, &h->work);
	}
	spin_unlock(&h->lock);
	return HRTIMER_NORESTART;
}

void rds_hold_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct rds_holder *h = per_cpu_ptr(&rds_holders, cpu);

		spin_lock_init(&h->lock);
		INIT_LIST_HEAD(&h->paths);
		INIT_WORK(&h->work, holder_work);
		hrtimer_init(&h->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
		h->timer.function = holder_timer;
	}
}

/* There are no paths any more. */
void rds_hold_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct rds_holder *h = per_cpu_ptr(&rds_holders, cpu);

		hrtimer_cancel(&h->timer);
		cancel_work_sync(&h->work);
	}
}
