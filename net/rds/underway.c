// SPDX-License-Identifier: GPL-2.0
/*
 * What is under way to each port of a peer: accepted by sendmsg() and not acknowledged.
 *
 * It is bounded whatever the number of sockets that send there.  Who would exceed it waits, or
 * is refused, as for a congested port (cong.c), and is told in the same way that he may go on.
 * So a port that is not read, or not there, or too slow, takes a bounded part of what waits between
 * two hosts, and a receive queue that was not congested does not become full by what is under way.
 */
#include <linux/slab.h>

#include "core.h"

/* One message is accepted in any case. */
#define UNDERWAY_MAX		SZ_4M
/* Records that a connection keeps though nothing is under way, for what is sent next. */
#define UNDERWAY_KEPT		64

/**
 * struct rds_underway - what is under way to one port
 * @conn: the connection, which outlives it
 * @ref: the connection's table, and each message
 * @cost: bytes, those of descriptors included
 * @refused: somebody waits until there is less
 * @port: the port
 * @rcu: freed after a grace period
 */
struct rds_underway {
	struct rds_conn *conn;
	refcount_t ref;
	atomic_t cost;
	bool refused;
	u16 port;
	struct rcu_head rcu;
};

static struct rds_underway *underway_find(struct rds_conn *c, u16 port)
{
	struct rds_underway *u;

	rcu_read_lock();
	u = xa_load(&c->underway, port);
	if (u && !refcount_inc_not_zero(&u->ref))
		u = NULL;
	rcu_read_unlock();
	return u;
}

/* Counted, or NULL for lack of memory. */
static struct rds_underway *underway_get(struct rds_conn *c, u16 port)
{
	struct rds_underway *u, *old;

	for (;;) {
		u = underway_find(c, port);
		if (u)
			return u;
		u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);
		if (!u)
			return NULL;
		u->conn = c;
		u->port = port;
		refcount_set(&u->ref, 2);
		old = xa_cmpxchg_bh(&c->underway, port, NULL, u, GFP_KERNEL_ACCOUNT);
		if (!old) {
			atomic_inc(&c->nr_underway);
			return u;
		}
		kfree(u);
		if (xa_is_err(old))
			return NULL;
	}
}

/* The record is not needed, unless somebody has found it meanwhile. */
static void underway_forget(struct rds_underway *u)
{
	struct rds_conn *c = u->conn;
	bool last;

	xa_lock_bh(&c->underway);
	last = refcount_dec_if_one(&u->ref);
	if (last)
		__xa_erase(&c->underway, u->port);
	xa_unlock_bh(&c->underway);
	if (!last)
		return;
	atomic_dec(&c->nr_underway);
	kfree_rcu(u, rcu);
}

static void underway_put(struct rds_underway *u, unsigned int nr)
{
	rcu_read_lock();
	/* The table has one. */
	WARN_ON_ONCE(refcount_sub_and_test(nr, &u->ref));
	if (refcount_read(&u->ref) == 1 && atomic_read(&u->conn->nr_underway) > UNDERWAY_KEPT)
		underway_forget(u);
	rcu_read_unlock();
}

/**
 * rds_underway_charge() - account for a message that is going to be queued
 * @c: connection
 * @m: the message, with port and length
 * @force: whatever is under way already
 *
 * Context: process, may sleep.
 * Return: 0, -ENOBUFS if there is too much, -ENOMEM.
 */
int rds_underway_charge(struct rds_conn *c, struct rds_message *m, bool force)
{
	struct rds_underway *u = underway_get(c, m->dport);
	int old;

	if (!u)
		return -ENOMEM;
	old = atomic_read(&u->cost);
	do {
		if (old >= UNDERWAY_MAX && !force) {
			WRITE_ONCE(c->crowded, true);
			underway_put(u, 1);
			return -ENOBUFS;
		}
	} while (!atomic_try_cmpxchg(&u->cost, &old, old + rds_message_cost(m)));
	m->underway = u;
	return 0;
}

/**
 * rds_underway_full() - is too much under way to a port?
 * @c: connection
 * @port: the port
 *
 * If so, rds_cong_changed() follows when it is less.
 *
 * Context: any.
 */
bool rds_underway_full(struct rds_conn *c, u16 port)
{
	struct rds_underway *u;
	bool full;

	if (!READ_ONCE(c->crowded))	/* mostly */
		return false;
	u = underway_find(c, port);
	if (!u)
		return false;
	full = atomic_read(&u->cost) >= UNDERWAY_MAX;
	if (full) {
		WRITE_ONCE(u->refused, true);
		smp_mb();	/* refused before the second look; pairs with underway_less() */
		full = atomic_read(&u->cost) >= UNDERWAY_MAX;
	}
	underway_put(u, 1);
	return full;
}

/* Messages of one port have been settled; @u may be gone afterwards. */
static void underway_less(struct rds_underway *u, int cost, unsigned int nr)
{
	int left = atomic_sub_return(cost, &u->cost);	/* full barrier: before refused */

	if (READ_ONCE(u->refused) && left < UNDERWAY_MAX / 2 && xchg(&u->refused, false))
		rds_cong_changed(u->conn, 1ULL << (u->port % RDS_CONG_MONITOR_SIZE));
	underway_put(u, nr);
}

/**
 * rds_underway_release() - messages have been settled, or were not queued after all
 * @list: the messages, each charged or not; their connections are held
 *
 * Context: any, no lock held.
 */
void rds_underway_release(struct list_head *list)
{
	struct rds_underway *u = NULL;
	struct rds_message *m;
	unsigned int nr = 0;
	int cost = 0;

	list_for_each_entry(m, list, node) {
		if (!m->underway)
			continue;
		if (u && m->underway != u) {
			underway_less(u, cost, nr);
			cost = 0;
			nr = 0;
		}
		u = m->underway;
		m->underway = NULL;
		cost += rds_message_cost(m);
		nr++;
	}
	if (u)
		underway_less(u, cost, nr);
}

/**
 * rds_underway_init() - a connection is made
 * @c: the connection
 */
void rds_underway_init(struct rds_conn *c)
{
	xa_init_flags(&c->underway, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
}

/**
 * rds_underway_exit() - a connection is freed: nothing is under way
 * @c: the connection
 */
void rds_underway_exit(struct rds_conn *c)
{
	struct rds_underway *u;
	unsigned long port;

	xa_for_each(&c->underway, port, u)
		kfree(u);
	xa_destroy(&c->underway);
}
