// SPDX-License-Identifier: GPL-2.0
/*
 * Users whose operations cost a link.
 *
 * An operation that the peer's device refuses costs the link between two hosts, which is other
 * users', too.  Some of that is borne: programs end while others write to their memory.  Who does
 * it more often has no operations begun on that connection for a while.  Elsewhere he has, for it
 * may be the peer who made him do it.  It is kept with the connection, by user id, so that it is
 * not forgotten with his sockets.
 */
#include <linux/jiffies.h>

#include "core.h"

/* Faults of a user that are borne, and the time in which one of them is forgotten. */
#define FAULTS_MAX	16
#define FAULT_TIME	(16 * HZ)
/* Users that a connection remembers: those with the most. */
#define BLAMES_MAX	8

/**
 * struct rds_blame - what a user has cost a connection
 * @uid: the user
 * @forgotten: get_jiffies_64() at which all of it is
 */
struct rds_blame {
	kuid_t uid;
	u64 forgotten;
};

/**
 * struct rds_blames - who has cost a connection its links
 * @of: users, in no order (rds_conn.lock)
 */
struct rds_blames {
	struct rds_blame of[BLAMES_MAX];
};

/* His, or that of who has the least. */
static struct rds_blame *blame_of(struct rds_blames *b, kuid_t uid)
{
	struct rds_blame *p, *least = b->of;

	for (p = b->of; p < b->of + BLAMES_MAX; p++) {
		if (uid_eq(p->uid, uid))
			return p;
		if (p->forgotten < least->forgotten)
			least = p;
	}
	return least;
}

/**
 * rds_conn_blame() - an operation of a user has cost a link
 * @c: connection
 * @u: the user
 *
 * Context: any, no lock of RDS held.
 */
void rds_conn_blame(struct rds_conn *c, const struct rds_user *u)
{
	u64 now = get_jiffies_64();
	struct rds_blame *b;

	if (u->who == RDS_WHO_ADMIN)
		return;
	spin_lock_bh(&c->lock);
	if (!c->blames)
		WRITE_ONCE(c->blames, rds_net_zalloc(c->rn, sizeof(*c->blames), GFP_ATOMIC));
	if (c->blames) {
		b = blame_of(c->blames, u->uid);
		if (!uid_eq(b->uid, u->uid) || b->forgotten < now)
			b->forgotten = now;
		b->uid = u->uid;
		b->forgotten += FAULT_TIME;
	}
	spin_unlock_bh(&c->lock);
}

/**
 * rds_conn_blames() - has it been so often of late that he had better not try again?
 * @c: connection
 * @u: the user; the administrator may
 *
 * Context: any, no lock of RDS held.
 */
bool rds_conn_blames(struct rds_conn *c, const struct rds_user *u)
{
	u64 limit = get_jiffies_64() + (FAULTS_MAX - 1) * FAULT_TIME;
	struct rds_blame *b;
	bool blamed;

	if (likely(!READ_ONCE(c->blames)) || u->who == RDS_WHO_ADMIN)
		return false;
	spin_lock_bh(&c->lock);
	b = blame_of(c->blames, u->uid);
	blamed = uid_eq(b->uid, u->uid) && b->forgotten > limit;
	spin_unlock_bh(&c->lock);
	return blamed;
}
