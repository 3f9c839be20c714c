// SPDX-License-Identifier: GPL-2.0
/*
 * Shares of what there is a bounded number of, connections say.
 *
 *	0                                          3/4      7/8      1
 *	|------------------------------------------|--------|--------|
 *	  peers that dial us, users, administrator   users,   administrator
 *	                                             admin.
 *
 * A user may have as many as he would leave to others: half, if nobody else has any, and so there
 * is always something left for the next one, who may have half of that.  What is left to the
 * administrator of the network namespace nobody else can use up, so he gets in whatever others do.
 *
 * Who is a user?  Whoever may map subordinate ids into a user namespace has thousands of them, so a
 * task in a user namespace below that of the network counts as the one who made that namespace.
 * Subordinate ids that act outside of their namespace cannot be told from other users.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/hash.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>

#include "core.h"

/* Of each bound one of so many is for the administrator, and another one not for peers. */
#define QUOTA_RESERVE	8

/**
 * rds_quota_init() - nobody has any
 * @q: the quota
 */
void rds_quota_init(struct rds_quota *q)
{
	unsigned int i;

	spin_lock_init(&q->lock);
	q->nr = 0;
	for (i = 0; i < RDS_QUOTA_BUCKETS; i++)
		INIT_HLIST_HEAD(&q->users[i]);
}

/**
 * rds_quota_current() - for whom is it that the current task makes something?
 * @net: network namespace
 *
 * Context: process.
 * Return: RDS_WHO_ADMIN or RDS_WHO_USER.
 */
enum rds_who rds_quota_current(const struct net *net)
{
	return ns_capable_noaudit(net->user_ns, CAP_NET_ADMIN) ? RDS_WHO_ADMIN : RDS_WHO_USER;
}

/* The user who answers for the current task. */
static kuid_t quota_uid(const struct net *net)
{
	const struct user_namespace *ns = current_user_ns();
	kuid_t uid = current_uid();

	for (; ns->level > net->user_ns->level; ns = ns->parent)
		uid = ns->owner;
	return uid;
}

/* How many there may be in all when one more is made for @who. */
static unsigned int quota_bound(unsigned int max, enum rds_who who)
{
	unsigned int reserve = max / QUOTA_RESERVE;

	switch (who) {
	case RDS_WHO_USER:
		return max - reserve;
	case RDS_WHO_PEER:
		return max - 2 * reserve;
	default:
		return max;
	}
}

/**
 * rds_quota_scarce() - should others be given up before @who is turned away?
 * @q: the quota
 * @max: its bound
 * @who: for whom one more is wanted
 *
 * Context: any.
 * Return: true if there are as many as peers may make, or the bound is reached.
 */
bool rds_quota_scarce(const struct rds_quota *q, unsigned int max, enum rds_who who)
{
	return READ_ONCE(q->nr) >= quota_bound(max, who == RDS_WHO_USER ? RDS_WHO_PEER : who);
}

static struct hlist_head *quota_bucket(struct rds_quota *q, kuid_t uid)
{
	return &q->users[hash_32(__kuid_val(uid), ilog2(RDS_QUOTA_BUCKETS))];
}

/* q->lock held */
static struct rds_user *quota_find(struct rds_quota *q, kuid_t uid)
{
	struct rds_user *u;

	lockdep_assert_held(&q->lock);
	/* Each has one at least: as many as there are things for one bucket in 64 at most. */
	hlist_for_each_entry(u, quota_bucket(q, uid), node)
		if (uid_eq(u->uid, uid))
			return u;
	return NULL;
}

/* One more for @claim->who, who has @mine so far?  q->lock held. */
static bool quota_count(struct rds_quota *q, unsigned int max, enum rds_who who,
			unsigned int mine)
{
	unsigned int bound = quota_bound(max, who);

	lockdep_assert_held(&q->lock);
	if (q->nr >= bound || mine >= bound - q->nr)
		return false;
	WRITE_ONCE(q->nr, q->nr + 1);
	return true;
}

static int quota_claim_user(struct rds_quota *q, const struct net *net, unsigned int max,
			    struct rds_claim *claim)
{
	struct rds_user *u, *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	int err = -ENOSPC;

	if (!fresh)
		return -ENOMEM;
	fresh->uid = quota_uid(net);
	spin_lock_bh(&q->lock);
	u = quota_find(q, fresh->uid);
	if (quota_count(q, max, RDS_WHO_USER, u ? u->nr : 0)) {
		if (!u) {
			u = fresh;
			fresh = NULL;
			hlist_add_head(&u->node, quota_bucket(q, u->uid));
		}
		u->nr++;
		claim->user = u;
		claim->who = RDS_WHO_USER;
		err = 0;
	}
	spin_unlock_bh(&q->lock);
	kfree(fresh);
	return err;
}

/**
 * rds_quota_claim() - count one more
 * @q: the quota
 * @net: network namespace it belongs to
 * @max: how many there may be
 * @who: for whom it is; if that is a user, for the current task's
 * @claim: becomes what rds_quota_release() undoes; zeroed
 *
 * Context: process, may sleep.
 * Return: 0, -ENOSPC if it would be too many, -ENOMEM.
 */
int rds_quota_claim(struct rds_quota *q, const struct net *net, unsigned int max,
		    enum rds_who who, struct rds_claim *claim)
{
	int err = -ENOSPC;

	if (who == RDS_WHO_USER)
		return quota_claim_user(q, net, max, claim);
	spin_lock_bh(&q->lock);
	if (quota_count(q, max, who, 0)) {
		claim->who = who;
		err = 0;
	}
	spin_unlock_bh(&q->lock);
	return err;
}

/**
 * rds_quota_release() - undo rds_quota_claim()
 * @q: the quota
 * @claim: the claim; nothing is done if it was none, or released before
 *
 * Context: any.
 */
void rds_quota_release(struct rds_quota *q, struct rds_claim *claim)
{
	struct rds_user *u = claim->user;

	if (claim->who == RDS_WHO_NONE)
		return;
	claim->who = RDS_WHO_NONE;
	claim->user = NULL;
	spin_lock_bh(&q->lock);
	WRITE_ONCE(q->nr, q->nr - 1);
	if (u && !--u->nr)
		hlist_del(&u->node);
	else
		u = NULL;
	spin_unlock_bh(&q->lock);
	kfree(u);
}
