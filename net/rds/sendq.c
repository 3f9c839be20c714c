// SPDX-License-Identifier: GPL-2.0
/*
 * What waits on a path, and in which order it goes.
 *
 * In front is rds_path.queue: first what is sent again, then messages of the kernel and, as long as
 * there are few, of everybody, in the order in which they came.  That is all in most cases.  What
 * does not fit there waits in flows, one for each user and port of the peer, until nothing is in
 * front.  Then users take turns, by bytes (deficit round robin: who has overdrawn his credit waits
 * until it was filled up again), and the flows of a user take turns in his, by messages.  So the
 * messages of a pair of sockets stay in order, and a user waits behind one turn of each other user,
 * whatever they have queued.  The user is the one who made the socket, as quota.c knows users: all
 * administrators are one, and so is a user namespace.
 *
 * A flow whose port is congested at the peer is parked when it is its turn: its messages wait here,
 * and neither in the transport nor at the receiver, where they would keep others waiting.
 * rds_cong_changed() wakes it.
 *
 * All of it is under path->lock, and no step depends on how many messages, flows or users there
 * are, but for the chains of the hash.  Flows and users are made by sendmsg() before it takes the
 * lock, and go with the last message.
 */
#include <linux/hash.h>
#include <linux/slab.h>

#include "core.h"

/* What a user sends in one turn. */
#define QUANTUM		SZ_64K
/* Flows and users that are looked at under one hold of the lock. */
#define STEPS		64

static struct hlist_head *flow_head(struct rds_sendq *q, kuid_t uid, u16 port)
{
	return &q->flows[hash_32(__kuid_val(uid) * 31 + port, RDS_SENDQ_HASH_BITS)];
}

static struct hlist_head *user_head(struct rds_sendq *q, kuid_t uid)
{
	return &q->users[hash_32(__kuid_val(uid), RDS_SENDQ_HASH_BITS)];
}

/* Not sk_uid, which fchown() changes while messages wait. */
static kuid_t sock_user(const struct rds_sock *rs)
{
	return rs->user->uid;
}

/* ---- objects ------------------------------------------------------------------ */

static struct rds_sendq *sendq_alloc(void)
{
	struct rds_sendq *q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);

	if (!q)
		return NULL;
	INIT_LIST_HEAD(&q->ring);
	INIT_LIST_HEAD(&q->parked);
	INIT_LIST_HEAD(&q->waking);
	q->round = 1;
	return q;
}

static struct rds_flow *flow_alloc(kuid_t uid)
{
	struct rds_flow *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	struct rds_sendq_user *u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);

	if (!f || !u) {
		kfree(f);
		kfree(u);
		return NULL;
	}
	INIT_LIST_HEAD(&u->node);
	INIT_LIST_HEAD(&u->flows);
	u->uid = uid;
	INIT_LIST_HEAD(&f->node);
	INIT_LIST_HEAD(&f->msgs);
	f->user = u;
	return f;
}

/**
 * rds_sendq_prepare() - make what rds_sendq_add() has asked for
 * @p: the path
 * @rs: the socket that sends
 * @spare: set to a flow
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rds_sendq_prepare(struct rds_path *p, const struct rds_sock *rs, struct rds_flow **spare)
{
	struct rds_sendq *q = READ_ONCE(p->sendq) ? NULL : sendq_alloc();

	if (!q && !READ_ONCE(p->sendq))
		return -ENOMEM;
	if (!*spare)
		*spare = flow_alloc(sock_user(rs));
	spin_lock_bh(&p->lock);
	if (!p->sendq) {
		WRITE_ONCE(p->sendq, q);
		q = NULL;
	}
	spin_unlock_bh(&p->lock);
	kfree(q);
	return *spare ? 0 : -ENOMEM;
}

/**
 * rds_sendq_unprepare() - a flow was not needed
 * @spare: the flow, or NULL
 */
void rds_sendq_unprepare(struct rds_flow *spare)
{
	if (!spare)
		return;
	kfree(spare->user);
	kfree(spare);
}

static void user_free_if_unused(struct rds_sendq_user *u)
{
	if (u->nr_flows || !list_empty(&u->node))
		return;
	hlist_del(&u->hash);
	kfree(u);
}

/**
 * rds_sendq_free() - a path is freed
 * @p: the path, on which no message is
 */
void rds_sendq_free(struct rds_path *p)
{
	struct rds_sendq_user *u, *next;

	if (!p->sendq)
		return;
	/* Those who had overdrawn their credit. */
	list_for_each_entry_safe(u, next, &p->sendq->ring, node) {
		list_del_init(&u->node);
		user_free_if_unused(u);
	}
	kfree(p->sendq);
}

/* ---- in ------------------------------------------------------------------------ */

static struct rds_sendq_user *user_find(struct rds_sendq *q, kuid_t uid)
{
	struct rds_sendq_user *u;

	hlist_for_each_entry(u, user_head(q, uid), hash)
		if (uid_eq(u->uid, uid))
			return u;
	return NULL;
}

static struct rds_flow *flow_find(struct rds_sendq *q, kuid_t uid, u16 port)
{
	struct rds_flow *f;

	hlist_for_each_entry(f, flow_head(q, uid, port), hash)
		if (f->port == port && uid_eq(f->user->uid, uid))
			return f;
	return NULL;
}

/* A user has a flow whose turn may come: he is in the ring. */
static void flow_activate(struct rds_sendq *q, struct rds_flow *f)
{
	list_move_tail(&f->node, &f->user->flows);
	if (list_empty(&f->user->node))
		list_add_tail(&f->user->node, &q->ring);
}

/* @f becomes a flow of its user to a port. */
static void flow_begin(struct rds_sendq *q, struct rds_flow *f, u16 port)
{
	struct rds_sendq_user *u = user_find(q, f->user->uid);

	if (u) {
		kfree(f->user);
		f->user = u;
	} else {
		hlist_add_head(&f->user->hash, user_head(q, f->user->uid));
	}
	f->port = port;
	f->user->nr_flows++;
	hlist_add_head(&f->hash, flow_head(q, f->user->uid, port));
	flow_activate(q, f);
}

static void flow_count(struct rds_sendq *q, struct rds_flow *f, int n)
{
	f->nr += n;
	q->nr += n;
	if (f->round == q->round)	/* parked */
		WRITE_ONCE(q->nr_parked, q->nr_parked + n);
}

/**
 * rds_sendq_add_behind() - put a message into a flow
 * @p: the path, its lock held
 * @m: the message of a user
 * @spare: a flow in case there is none, then set to NULL
 *
 * Return: false if there is none and it is needed: rds_sendq_prepare().
 */
bool rds_sendq_add_behind(struct rds_path *p, struct rds_message *m, struct rds_flow **spare)
{
	struct rds_flow *f = NULL;

	if (p->sendq)
		f = flow_find(p->sendq, sock_user(m->rs), m->dport);
	if (!f) {
		if (!p->sendq || !*spare)
			return false;
		f = *spare;
		*spare = NULL;
		flow_begin(p->sendq, f, m->dport);
	}
	m->flow = f;
	list_add_tail(&m->node, &f->msgs);
	flow_count(p->sendq, f, 1);
	return true;
}

/* ---- out ----------------------------------------------------------------------- */

static void flow_end(struct rds_flow *f)
{
	list_del(&f->node);
	hlist_del(&f->hash);
	f->user->nr_flows--;
	user_free_if_unused(f->user);
	kfree(f);
}

/**
 * rds_sendq_del() - a message waits no more
 * @p: the path, its lock held
 * @m: the message; still on a list
 */
void rds_sendq_del(struct rds_path *p, struct rds_message *m)
{
	struct rds_flow *f = m->flow;

	list_del_init(&m->node);
	if (!f) {
		p->front_cost -= rds_message_load(m);
		return;
	}
	m->flow = NULL;
	flow_count(p->sendq, f, -1);
	if (!f->nr)
		flow_end(f);
}

/*
 * Must it wait until its port is not congested any more?  Not if other paths wait for it: it was
 * queued before there were several, and what is under way to a port is bounded.
 */
static bool must_park(const struct rds_path *p, const struct rds_message *m)
{
	const struct rds_conn *c = p->conn;

	/* What is on loopback is at the receiver at once. */
	if (c->floop || !rds_cong_test(c, m->dport))
		return false;
	return !m->early || READ_ONCE(c->fanout_open);
}

static void flow_park(struct rds_sendq *q, struct rds_flow *f)
{
	f->round = q->round;
	list_move_tail(&f->node, &q->parked);
	WRITE_ONCE(q->nr_parked, q->nr_parked + f->nr);
}

/* A turn ends: the next user's comes. */
static void user_turn_over(struct rds_sendq *q, struct rds_sendq_user *u)
{
	u->credit += QUANTUM;
	list_move_tail(&u->node, &q->ring);
}

/* The user whose turn it is has nothing to send just now, and owes nothing. */
static void user_leave(struct rds_sendq_user *u)
{
	u->credit = 0;
	list_del_init(&u->node);
	user_free_if_unused(u);
}

/* One look at whose turn it is: his message, or NULL. */
static struct rds_message *sendq_step(struct rds_path *p)
{
	struct rds_sendq *q = p->sendq;
	struct rds_sendq_user *u = list_first_entry(&q->ring, struct rds_sendq_user, node);
	struct rds_message *m;
	struct rds_flow *f;

	if (u->credit <= 0) {
		user_turn_over(q, u);
		return NULL;
	}
	f = list_first_entry_or_null(&u->flows, struct rds_flow, node);
	if (!f) {
		user_leave(u);
		return NULL;
	}
	m = list_first_entry(&f->msgs, struct rds_message, node);
	if (must_park(p, m)) {
		/* That was his turn: who has many such flows does not keep the others waiting. */
		flow_park(q, f);
		list_move_tail(&u->node, &q->ring);
		return NULL;
	}
	u->credit -= rds_message_load(m);
	list_move_tail(&f->node, &u->flows);
	return m;
}

/**
 * rds_sendq_next() - the message in a flow that goes next; there is none in front
 * @p: the path, its lock held
 * @again: set if there may be one, but not after so many steps: let go of the lock, ask again
 *
 * Return: the message, still where it waits, or NULL.
 */
struct rds_message *rds_sendq_next(struct rds_path *p, bool *again)
{
	struct rds_sendq *q = p->sendq;
	struct rds_message *m = NULL;
	unsigned int n;

	if (!q || q->nr == q->nr_parked)
		return NULL;
	for (n = 0; n < STEPS && !m; n++) {
		if (!list_empty(&q->waking))
			flow_activate(q, list_first_entry(&q->waking, struct rds_flow, node));
		if (list_empty(&q->ring))
			return NULL;
		m = sendq_step(p);
	}
	*again = !m;
	return m;
}

/**
 * rds_sendq_behind() - any message that waits in a flow, the oldest of that
 * @p: the path, its lock held
 */
struct rds_message *rds_sendq_behind(struct rds_path *p)
{
	struct rds_sendq *q = p->sendq;
	struct rds_sendq_user *u;
	struct rds_flow *f;

	if (!q || !q->nr)
		return NULL;
	f = list_first_entry_or_null(&q->parked, struct rds_flow, node) ?:
	    list_first_entry_or_null(&q->waking, struct rds_flow, node);
	while (!f) {
		u = list_first_entry(&q->ring, struct rds_sendq_user, node);
		f = list_first_entry_or_null(&u->flows, struct rds_flow, node);
		if (!f)
			user_leave(u);
	}
	return list_first_entry(&f->msgs, struct rds_message, node);
}

/**
 * rds_sendq_wake() - ports may be congested no more: all flows take part again
 * @p: the path, its lock held
 */
void rds_sendq_wake(struct rds_path *p)
{
	struct rds_sendq *q = p->sendq;

	if (!q || list_empty(&q->parked))
		return;
	list_splice_tail_init(&q->parked, &q->waking);
	q->round++;
	WRITE_ONCE(q->nr_parked, 0);
}
