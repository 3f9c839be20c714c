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

/* rds_underway.cost: nobody can be charged any more, there will be another record */
#define UNDERWAY_GONE		(-1)

/**
 * struct rds_underway - what is under way to one port
 * @conn: the connection, which outlives it
 * @cost: bytes, those of descriptors included; or UNDERWAY_GONE
 * @refused: somebody waits until there is less
 * @port: the port
 * @rcu: freed after a grace period
 *
 * It is in the table of its connection, and stays there as long as something is under way.
 */
struct rds_underway {
	struct rds_conn *conn;
	atomic_t cost;
	bool refused;
	u16 port;
	struct rcu_head rcu;
};

/* Where the record that was asked for last is, of ports that leave the same remainder. */
static struct rds_underway **recent(struct rds_conn *c, u16 port)
{
	return &c->recent[port % RDS_UNDERWAY_RECENT];
}

/* RCU read side. */
static struct rds_underway *underway_find(struct rds_conn *c, u16 port)
{
	struct rds_underway *u = READ_ONCE(*recent(c, port));

	if (u && u->port == port)
		return u;
	u = xa_load(&c->underway, port);
	/* Under the lock, so that one that goes is not put back. */
	if (u) {
		xa_lock_bh(&c->underway);
		if (atomic_read(&u->cost) != UNDERWAY_GONE)
			WRITE_ONCE(*recent(c, port), u);
		xa_unlock_bh(&c->underway);
	}
	return u;
}

/* There is a record, or -ENOMEM. */
static int underway_make(struct rds_conn *c, u16 port)
{
	struct rds_underway *u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT), *old;

	if (!u)
		return -ENOMEM;
	u->conn = c;
	u->port = port;
	old = xa_cmpxchg_bh(&c->underway, port, NULL, u, GFP_KERNEL_ACCOUNT);
	if (!old) {
		atomic_inc(&c->nr_underway);
		return 0;
	}
	kfree(u);
	return xa_is_err(old) ? xa_err(old) : 0;
}

/* The record is not needed, unless somebody was charged meanwhile. */
static void underway_forget(struct rds_underway *u)
{
	struct rds_conn *c = u->conn;
	bool gone;

	xa_lock_bh(&c->underway);
	gone = !atomic_cmpxchg(&u->cost, 0, UNDERWAY_GONE);
	if (gone) {
		if (*recent(c, u->port) == u)
			WRITE_ONCE(*recent(c, u->port), NULL);
		__xa_erase(&c->underway, u->port);
	}
	xa_unlock_bh(&c->underway);
	if (!gone)
		return;
	atomic_dec(&c->nr_underway);
	kfree_rcu(u, rcu);
}

/* Once somebody was refused nobody is let in before it is half of that, and all are told. */
static bool underway_too_much(const struct rds_underway *u, int cost)
{
	return cost >= (READ_ONCE(u->refused) ? UNDERWAY_MAX / 2 : UNDERWAY_MAX);
}

/* 0, -ENOBUFS, or -ESTALE if the record is going; RCU read side. */
static int underway_add(struct rds_underway *u, int cost, bool force)
{
	int old = atomic_read(&u->cost);

	do {
		if (old == UNDERWAY_GONE)
			return -ESTALE;
		if (!force && underway_too_much(u, old))
			return -ENOBUFS;
	} while (!atomic_try_cmpxchg(&u->cost, &old, old + cost));
	return 0;
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
	struct rds_underway *u;
	int err;

	do {
		rcu_read_lock();
		u = underway_find(c, m->dport);
		err = u ? underway_add(u, rds_message_cost(m), force) : -ENOENT;
		rcu_read_unlock();
		if (err == -ENOENT)
			err = underway_make(c, m->dport) ?: -ESTALE;
	} while (err == -ESTALE);
	if (!err)
		m->underway = u;
	else if (err == -ENOBUFS)
		WRITE_ONCE(c->crowded, true);
	return err;
}

/**
 * rds_underway_is_full() - is too much under way to a port?
 * @c: connection, which was crowded once: rds_underway_full()
 * @port: the port
 *
 * If so, rds_cong_wake() follows when it is less.
 *
 * Context: any.
 */
bool rds_underway_is_full(struct rds_conn *c, u16 port)
{
	struct rds_underway *u;
	bool full = false;

	rcu_read_lock();
	u = underway_find(c, port);
	if (u && underway_too_much(u, atomic_read(&u->cost))) {
		WRITE_ONCE(u->refused, true);
		smp_mb();	/* refused before the second look; pairs with underway_less() */
		full = underway_too_much(u, atomic_read(&u->cost));
	}
	rcu_read_unlock();
	return full;
}

/* Messages of one port have been settled. */
static void underway_less(struct rds_underway *u, int cost)
{
	struct rds_conn *c = u->conn;
	int left;

	rcu_read_lock();	/* it may be forgotten as soon as there is none left */
	left = atomic_sub_return(cost, &u->cost);	/* full barrier: before refused */
	if (READ_ONCE(u->refused) && left < UNDERWAY_MAX / 2 && xchg(&u->refused, false))
		rds_cong_wake(c, 1ULL << (u->port % RDS_CONG_MONITOR_SIZE));
	if (!left && atomic_read(&c->nr_underway) > UNDERWAY_KEPT)
		underway_forget(u);
	rcu_read_unlock();
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
	int cost = 0;

	list_for_each_entry(m, list, node) {
		if (!m->underway)
			continue;
		if (u && m->underway != u) {
			underway_less(u, cost);
			cost = 0;
		}
		u = m->underway;
		m->underway = NULL;
		cost += rds_message_cost(m);
	}
	if (u)
		underway_less(u, cost);
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
