// SPDX-License-Identifier: GPL-2.0
/*
 * Waits that only a signal for the program ends.
 *
 * The kernel interrupts a wait for other things, too: a program is stopped, frozen or looked at
 * by a debugger, or a work of io_uring is to run in its context.  For most of them a system call
 * has to return, but the program should not notice.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/sched/signal.h>

#include "core.h"

/* How often a wait that cannot return looks for signals. */
#define WAIT_LOOK	(HZ / 10 + 1)

/* Would the program do nothing but stop, go on, or not even that? */
static bool signal_is_silent(const struct sighand_struct *hand, int sig)
{
	__sighandler_t handler = hand->action[sig - 1].sa.sa_handler;

	if (sig == SIGSTOP || handler == SIG_IGN)
		return true;
	return handler == SIG_DFL && (sig_kernel_stop(sig) || sig_kernel_ignore(sig));
}

/**
 * rds_signalled() - is there a signal for the program, one that ends it included?
 *
 * Context: process.
 */
bool rds_signalled(void)
{
	/* A task's own does not change under it. */
	struct sighand_struct *hand = rcu_dereference_raw(current->sighand);
	bool found = false;
	sigset_t set;
	int sig;

	if (!signal_pending(current))
		return false;
	spin_lock_irq(&hand->siglock);
	sigorsets(&set, &current->pending.signal, &current->signal->shared_pending.signal);
	sigandnsets(&set, &set, &current->blocked);
	for (sig = 1; sig <= _NSIG && !found; sig++)
		found = sigismember(&set, sig) && !signal_is_silent(hand, sig);
	spin_unlock_irq(&hand->siglock);
	return found;
}

/**
 * rds_intr_errno() - what a call returns whose wait was interrupted
 * @timeo: time that it had; MAX_SCHEDULE_TIMEOUT if there was no limit
 *
 * As with other sockets, but a call with a time-out that was interrupted by what is no signal
 * is made again too; its time begins anew.
 *
 * Return: -ERESTARTSYS or -EINTR.
 */
int rds_intr_errno(long timeo)
{
	return rds_signalled() ? sock_intr_errno(timeo) : -ERESTARTSYS;
}

/**
 * rds_wait_completion() - wait for a completion, unless a signal for the program comes
 * @x: the completion
 * @left: jiffies, or MAX_SCHEDULE_TIMEOUT
 *
 * For calls that cannot be made again.  Who wants to stop the program has to wait meanwhile.
 *
 * Context: process, may sleep.
 * Return: time that was left, at least 1; 0 if it is over; -ERESTARTSYS after a signal.
 */
long rds_wait_completion(struct completion *x, long left)
{
	unsigned long begin;
	long ret;

	while (left) {
		begin = jiffies;
		ret = wait_for_completion_interruptible_timeout(x, left);
		if (ret >= 0 || rds_signalled())
			return ret;
		ret = wait_for_completion_killable_timeout(x, min_t(long, left, WAIT_LOOK));
		if (left != MAX_SCHEDULE_TIMEOUT)
			left -= min_t(unsigned long, left, jiffies - begin);
		if (ret > 0)
			return max(left, 1L);
	}
	return 0;
}
