// SPDX-License-Identifier: GPL-2.0
/*
 * Users, and their shares of what there is a bounded number of, connections say.
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
 *
 * Each user has one record in a namespace.  A socket holds that of who made it, so what is counted
 * for each message needs no search, and what is counted once in a namespace is counted there.  Of
 * things with a bound for each address or device he has a share for each.
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

/* What was claimed and is not for a user is of this share. */
static struct rds_share nobodys;

/* ---- users ------------------------------------------------------------------------- */

static void user_init(struct rds_user *u, struct rds_users *users, enum rds_who who, kuid_t uid)
{
	u->users = users;
	u->who = who;
	u->uid = uid;
	u->ref = 1;
	INIT_LIST_HEAD(&u->orphans);
}

/**
 * rds_users_init() - there is nobody but the administrator
 * @users: of a namespace
 */
void rds_users_init(struct rds_users *users)
{
	spin_lock_init(&users->lock);
	user_init(&users->admin, users, RDS_WHO_ADMIN, INVALID_UID);
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

static struct hlist_head *user_bucket(struct rds_users *users, kuid_t uid)
{
	return &users->hash[hash_32(__kuid_val(uid), ilog2(RDS_QUOTA_BUCKETS))];
}

/* The record of @uid with one more reference, or @fresh (may be NULL) if there is none. */
static struct rds_user *user_find(struct rds_users *users, kuid_t uid, struct rds_user *fresh)
{
	struct rds_user *u;

	spin_lock_bh(&users->lock);
	hlist_for_each_entry(u, user_bucket(users, uid), node) {
		if (uid_eq(u->uid, uid)) {
			u->ref++;
			goto out;
		}
	}
	u = fresh;
	if (u)
		hlist_add_head(&u->node, user_bucket(users, uid));
out:
	spin_unlock_bh(&users->lock);
	return u;
}

/**
 * rds_user_get() - the user that the current task counts as
 * @rn: namespace
 *
 * Context: process, may sleep.
 * Return: a counted user, or NULL without memory.
 */
struct rds_user *rds_user_get(struct rds_net *rn)
{
	struct rds_users *users = &rn->users;
	struct rds_user *u, *fresh;
	kuid_t uid;

	if (rds_quota_current(rn->net) == RDS_WHO_ADMIN)
		return &users->admin;
	uid = quota_uid(rn->net);
	u = user_find(users, uid, NULL);
	if (u)
		return u;
	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return NULL;
	user_init(fresh, users, RDS_WHO_USER, uid);
	u = user_find(users, uid, fresh);
	if (u != fresh)
		kfree(fresh);
	return u;
}

/**
 * rds_user_hold() - take a reference to a user
 * @u: the user, held by the caller
 *
 * Context: any.
 */
void rds_user_hold(struct rds_user *u)
{
	if (u->who == RDS_WHO_ADMIN)
		return;
	spin_lock_bh(&u->users->lock);
	u->ref++;
	spin_unlock_bh(&u->users->lock);
}

/**
 * rds_user_put() - drop a reference to a user
 * @user: the user
 *
 * Context: any.
 */
void rds_user_put(struct rds_user *user)
{
	bool last;

	if (user->who == RDS_WHO_ADMIN)
		return;
	spin_lock_bh(&user->users->lock);
	last = !--user->ref;
	if (last)
		hlist_del(&user->node);
	spin_unlock_bh(&user->users->lock);
	if (last)
		kfree(user);
}

/* ---- the rule ---------------------------------------------------------------------- */

/**
 * rds_quota_bound() - how many there may be in all when one more is made
 * @max: the bound
 * @who: for whom
 */
unsigned long rds_quota_bound(unsigned long max, enum rds_who who)
{
	unsigned long reserve = max / QUOTA_RESERVE;

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
 * rds_quota_fits() - may there be one more?
 * @max: the bound
 * @who: for whom
 * @all: how many there are
 * @mine: those of them that are this user's, if it is for a user
 */
bool rds_quota_fits(unsigned long max, enum rds_who who, unsigned long all, unsigned long mine)
{
	unsigned long bound = rds_quota_bound(max, who);

	return all < bound && (who != RDS_WHO_USER || mine < bound - all);
}

/* ---- shares ------------------------------------------------------------------------ */

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
		INIT_HLIST_HEAD(&q->shares[i]);
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
	return READ_ONCE(q->nr) >= rds_quota_bound(max, who == RDS_WHO_USER ? RDS_WHO_PEER : who);
}

static struct hlist_head *share_bucket(struct rds_quota *q, const struct rds_user *u)
{
	return &q->shares[hash_32(__kuid_val(u->uid), ilog2(RDS_QUOTA_BUCKETS))];
}

static struct rds_share *share_find(struct rds_quota *q, const struct rds_user *u)
{
	struct rds_share *s;

	lockdep_assert_held(&q->lock);
	/* Each has one at least: as many as there are things for one bucket in 64 at most. */
	hlist_for_each_entry(s, share_bucket(q, u), node)
		if (s->user == u)
			return s;
	return NULL;
}

static int quota_claim_user(struct rds_quota *q, struct rds_user *u, unsigned int max,
			    struct rds_claim *claim)
{
	struct rds_share *s, *fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	int err = -ENOSPC;

	if (!fresh)
		return -ENOMEM;
	fresh->user = u;
	spin_lock_bh(&q->lock);
	s = share_find(q, u);
	if (rds_quota_fits(max, RDS_WHO_USER, q->nr, s ? s->nr : 0)) {
		if (!s) {
			s = fresh;
			fresh = NULL;
			hlist_add_head(&s->node, share_bucket(q, u));
		}
		s->nr++;
		WRITE_ONCE(q->nr, q->nr + 1);
		claim->share = s;
		err = 0;
	}
	spin_unlock_bh(&q->lock);
	/* Nobody else releases what is claimed here, so the share is there still. */
	if (!fresh)
		rds_user_hold(u);
	kfree(fresh);
	return err;
}

/**
 * rds_quota_claim() - count one more
 * @q: the quota
 * @user: for whom it is, held by the caller; NULL: a peer that dials us
 * @max: how many there may be
 * @claim: becomes what rds_quota_release() undoes; zeroed
 *
 * Context: process, may sleep.
 * Return: 0, -ENOSPC if it would be too many, -ENOMEM.
 */
int rds_quota_claim(struct rds_quota *q, struct rds_user *user, unsigned int max,
		    struct rds_claim *claim)
{
	enum rds_who who = user ? user->who : RDS_WHO_PEER;
	int err = -ENOSPC;

	if (who == RDS_WHO_USER)
		return quota_claim_user(q, user, max, claim);
	spin_lock_bh(&q->lock);
	if (rds_quota_fits(max, who, q->nr, 0)) {
		WRITE_ONCE(q->nr, q->nr + 1);
		claim->share = &nobodys;
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
	struct rds_share *s = claim->share;

	if (!s)
		return;
	claim->share = NULL;
	spin_lock_bh(&q->lock);
	WRITE_ONCE(q->nr, q->nr - 1);
	if (s != &nobodys && !--s->nr)
		hlist_del(&s->node);
	else
		s = NULL;
	spin_unlock_bh(&q->lock);
	if (s)
		rds_user_put(s->user);
	kfree(s);
}

/* ---- of transports ------------------------------------------------------------------ */

/**
 * rds_quota_alloc() - something that a device, or a transport, has a bounded number of
 *
 * Return: a quota of which nobody has any, or NULL.
 */
struct rds_quota *rds_quota_alloc(void)
{
	struct rds_quota *q = kmalloc(sizeof(*q), GFP_KERNEL);

	if (q)
		rds_quota_init(q);
	return q;
}

/**
 * rds_quota_free() - it goes
 * @q: its quota, of which nobody has any; or NULL
 */
void rds_quota_free(struct rds_quota *q)
{
	kfree(q);
}

/**
 * rds_path_claim() - a path needs one, for the user who was the first to send by its connection
 * @p: the path
 * @q: the quota
 * @max: how many there are
 *
 * Context: process, may sleep.
 * Return: what rds_path_unclaim() gives back; -ENOSPC if the user has his share, -ENOMEM.
 */
struct rds_share *rds_path_claim(const struct rds_path *p, struct rds_quota *q, unsigned int max)
{
	struct rds_claim claim = {};
	int err = rds_quota_claim(q, READ_ONCE(p->conn->user), max, &claim);

	return err ? ERR_PTR(err) : claim.share;
}

/**
 * rds_path_unclaim() - undo rds_path_claim()
 * @q: the quota
 * @share: what it has returned
 *
 * Context: any.
 */
void rds_path_unclaim(struct rds_quota *q, struct rds_share *share)
{
	struct rds_claim claim = { .share = share };

	rds_quota_release(q, &claim);
}
