/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shares of what there is a bounded number of: quota.c.  Part of core.h.
 */
#ifndef _RDS_QUOTA_H
#define _RDS_QUOTA_H

#include <linux/list.h>
#include <linux/spinlock_types.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct net;

/**
 * enum rds_who - for whom something is made
 * @RDS_WHO_NONE: nobody; nothing was claimed
 * @RDS_WHO_ADMIN: a task with CAP_NET_ADMIN over the network namespace
 * @RDS_WHO_USER: any other task
 * @RDS_WHO_PEER: a peer that dials us
 */
enum rds_who {
	RDS_WHO_NONE,
	RDS_WHO_ADMIN,
	RDS_WHO_USER,
	RDS_WHO_PEER,
};

#define RDS_QUOTA_BUCKETS	64

/**
 * struct rds_quota - things of one kind, and who has them
 * @lock: guards all of it; innermost
 * @nr: their number
 * @users: struct rds_user, by user
 */
struct rds_quota {
	spinlock_t lock;
	unsigned int nr;
	struct hlist_head users[RDS_QUOTA_BUCKETS];
};

/**
 * struct rds_user - a user without privileges and what he has of one kind
 * @node: rds_quota.users (its lock)
 * @uid: the user
 * @nr: how many
 */
struct rds_user {
	struct hlist_node node;
	kuid_t uid;
	unsigned int nr;
};

/**
 * struct rds_claim - one of these things; its owner sees to it that no two undo it at once
 * @who: for whom it is
 * @user: who has it, if that is a user
 */
struct rds_claim {
	enum rds_who who;
	struct rds_user *user;
};

void rds_quota_init(struct rds_quota *q);
enum rds_who rds_quota_current(const struct net *net);
bool rds_quota_scarce(const struct rds_quota *q, unsigned int max, enum rds_who who);
int rds_quota_claim(struct rds_quota *q, const struct net *net, unsigned int max,
		    enum rds_who who, struct rds_claim *claim);
void rds_quota_release(struct rds_quota *q, struct rds_claim *claim);

#endif /* _RDS_QUOTA_H */
