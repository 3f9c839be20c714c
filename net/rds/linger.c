// SPDX-License-Identifier: GPL-2.0
/*
 * SO_LINGER: how long the end of a socket waits for what it has sent.
 *
 * close() waits as it was told to.  A program that ends without it cannot be interrupted any
 * more, and closes one socket after the other: the time of all of them begins with the first,
 * and there is none if it was killed.  What a thread of the kernel puts last (io_uring, passed
 * descriptors nobody took) does not wait: that thread puts those of the whole machine.
 */
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "core.h"

/* For a program that ends. */
#define LINGER_EXIT_MAX		(10 * HZ)
#define LINGER_EXITS_BITS	6

/**
 * struct linger_exit - a task that ends with lingering sockets
 * @task: compared and never looked into
 * @born: its start, since another one may come to be at the same place
 * @since: jiffies when its first socket began to linger
 */
struct linger_exit {
	const struct task_struct *task;
	u64 born;
	unsigned long since;
};

/* Those whose hash is the same push each other out, and wait longer. */
static struct linger_exit exits[1 << LINGER_EXITS_BITS];
static DEFINE_SPINLOCK(exits_lock);

static unsigned long exit_began(void)
{
	struct linger_exit *x = &exits[hash_ptr(current, LINGER_EXITS_BITS)];
	unsigned long since;

	spin_lock(&exits_lock);
	if (x->task != current || x->born != current->start_boottime)
		*x = (struct linger_exit){ current, current->start_boottime, jiffies };
	since = x->since;
	spin_unlock(&exits_lock);
	return since;
}

/* exit() ends the other threads as a signal would, and one of them may close the files. */
static bool was_killed(void)
{
	const struct signal_struct *sig = current->signal;

	if (READ_ONCE(sig->flags) & SIGNAL_GROUP_EXIT)
		return sig->group_exit_code & 0x7f;
	return current->flags & PF_SIGNALED;
}

/**
 * rds_linger() - wait until the peers have everything, the time is over, or a signal comes
 * @rs: socket that is being closed
 *
 * Context: process, may sleep.
 */
void rds_linger(struct rds_sock *rs)
{
	struct sock *sk = &rs->sk;
	unsigned long time = sk->sk_lingertime, since;

	if (!sock_flag(sk, SOCK_LINGER) || (current->flags & PF_KTHREAD) || was_killed())
		return;
	if (current->flags & PF_EXITING) {
		since = exit_began();	/* before the clock is read: time cannot be negative */
		time = min(time, LINGER_EXIT_MAX);
		time -= min(time, jiffies - since);
	}
	rds_send_push(rs);
	wait_event_interruptible_timeout(*sk_sleep(sk), !atomic_read(&rs->tx_msgs), time);
}
