/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who waits and who does not: closed sockets whose messages are still to be sent (linger.c,
 * orphan.c), and what ends the wait of a system call (wait.c).
 */
#ifndef _RDS_LINGER_H
#define _RDS_LINGER_H

#include <linux/list.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/timerqueue.h>
#include <linux/workqueue.h>

/* An orphan counts as one for each of these that its messages keep. */
#define RDS_ORPHAN_UNIT	SZ_256K

struct completion;
struct rds_net;
struct rds_sock;

/**
 * struct rds_orphans - closed sockets of a namespace that still have messages to send (orphan.c)
 * @lock: guards all of it, rds_sock.orphan, and what rds_user has of it
 * @list: rds_orphan.node, the first to be closed first, but those of the administrator
 * @deadlines: rds_orphan.deadline
 * @nr: what they count together
 * @ending: no more are taken, and the time of all is over
 * @work: drops those whose time is over
 */
struct rds_orphans {
	spinlock_t lock;	/* all of it */
	struct list_head list;
	struct timerqueue_head deadlines;
	unsigned int nr;
	bool ending;
	struct delayed_work work;
};

/**
 * struct rds_orphan - a socket that is closed and still sends
 * @rs: the socket, whose @orphan it is, counted
 * @node: rds_orphans.list, or empty
 * @deadline: rds_orphans.deadlines; when its messages are dropped
 * @user_node: rds_user.orphans
 * @units: what it counts
 *
 * Guarded by rds_orphans.lock.
 */
struct rds_orphan {
	struct rds_sock *rs;
	struct list_head node;
	struct timerqueue_node deadline;
	struct list_head user_node;
	unsigned int units;
};

/* linger.c */
void rds_linger(struct rds_sock *rs);
void rds_linger_init_net(struct rds_net *rn);
void rds_linger_exit_net(struct rds_net *rn);

/* orphan.c */
void rds_orphan_init_net(struct rds_net *rn, work_func_t work);
void rds_orphan_add(struct rds_sock *rs, unsigned long time);
void rds_orphan_done(struct rds_sock *rs);		/* any context, no locks held */
struct rds_sock *rds_orphan_excess(struct rds_net *rn, const struct rds_sock *last,
				   unsigned int max);
struct rds_sock *rds_orphan_overdue(struct rds_net *rn);
void rds_orphan_end(struct rds_net *rn);

/* wait.c */
bool rds_signalled(void);
int rds_intr_errno(long timeo);
long rds_wait_completion(struct completion *x, long left);

#endif /* _RDS_LINGER_H */
