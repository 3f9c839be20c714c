/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Users of a namespace, and their shares of what there is a bounded number of: quota.c.  Part of
 * core.h.
 */
#ifndef _RDS_QUOTA_H
#define _RDS_QUOTA_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/spinlock_types.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct net;
struct rds_net;

/**
 * enum rds_who - for whom something is made
 * @RDS_WHO_ADMIN: a task with CAP_NET_ADMIN over the network namespace
 * @RDS_WHO_USER: any other task
 * @RDS_WHO_PEER: a peer that dials us
 */
enum rds_who {
	RDS_WHO_ADMIN,
	RDS_WHO_USER,
	RDS_WHO_PEER,
};

#define RDS_QUOTA_BUCKETS	64

/**
 * struct rds_user - a user of a namespace, as long as he has something there
 * @node: rds_users.hash
 * @users: where that is
 * @who: RDS_WHO_USER, or RDS_WHO_ADMIN: those are all the same user
 * @uid: whose ids answer for him; not of the administrator
 * @ref: sockets, connections and shares (rds_users.lock); not of the administrator, who is always
 *	there
 * @spilled: bytes of his sockets' queues that are above their limits (room.c)
 * @uncharged: bytes of his sockets' queues that the kernel refused to charge
 * @orphans: rds_orphan.user_node, the first to be closed first (rds_orphans.lock)
 * @nr_orphans: what they count (rds_orphans.lock)
 */
struct rds_user {
	struct hlist_node node;
	struct rds_users *users;
	enum rds_who who;
	kuid_t uid;
	unsigned int ref;
	atomic_long_t spilled;
	atomic_long_t uncharged;
	struct list_head orphans;
	unsigned int nr_orphans;
};

/**
 * struct rds_users - all users of a namespace
 * @lock: guards @hash; innermost
 * @hash: struct rds_user without privileges, by uid
 * @admin: who has CAP_NET_ADMIN over it
 */
struct rds_users {
	spinlock_t lock;
	struct hlist_head hash[RDS_QUOTA_BUCKETS];
	struct rds_user admin;
};

/**
 * struct rds_quota - things of one kind, and who has them
 * @lock: guards all of it; innermost
 * @nr: their number
 * @shares: struct rds_share, by user
 */
struct rds_quota {
	spinlock_t lock;
	unsigned int nr;
	struct hlist_head shares[RDS_QUOTA_BUCKETS];
};

/**
 * struct rds_share - what a user without privileges has of one kind
 * @node: rds_quota.shares (its lock)
 * @user: the user, counted
 * @nr: how many
 */
struct rds_share {
	struct hlist_node node;
	struct rds_user *user;
	unsigned int nr;
};

/**
 * struct rds_claim - one of these things; its owner sees to it that no two undo it at once
 * @share: of which it is; one of nobody's if it is not for a user; NULL: nothing was claimed
 */
struct rds_claim {
	struct rds_share *share;
};

void rds_users_init(struct rds_users *users);
enum rds_who rds_quota_current(const struct net *net);
struct rds_user *rds_user_get(struct rds_net *rn);
void rds_user_hold(struct rds_user *u);
void rds_user_put(struct rds_user *user);

unsigned long rds_quota_bound(unsigned long max, enum rds_who who);
bool rds_quota_fits(unsigned long max, enum rds_who who, unsigned long all, unsigned long mine);

void rds_quota_init(struct rds_quota *q);
bool rds_quota_scarce(const struct rds_quota *q, unsigned int max, enum rds_who who);
int rds_quota_claim(struct rds_quota *q, struct rds_user *user, unsigned int max,
		    struct rds_claim *claim);
void rds_quota_release(struct rds_quota *q, struct rds_claim *claim);

#endif /* _RDS_QUOTA_H */
