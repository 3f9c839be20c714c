// SPDX-License-Identifier: GPL-2.0
/*
 * The connections of a namespace: find, create, destroy.
 *
 * A connection is in the namespace's table from the moment it is complete until its
 * destruction begins; the table holds one reference, each user another.  Look-ups are
 * RCU.  Destruction has three steps: take it out of the table (one caller wins), doom
 * each path (senders are refused from then on) and wait for it, settle what was queued.
 * The last reference frees it in process context after a grace period.
 */
#include <linux/hash.h>
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "core.h"
#include "trace.h"

static atomic_t conn_ids;

/* Strangers choose the far address, root of a user namespace the near one: both are hashed. */
static u32 conn_key_hash(const void *data, u32 len, u32 seed)
{
	const struct rds_conn_key *key = data;
	u32 rest = hash32_ptr(key->trans) ^ key->scope ^ key->tos << 16 ^ (u32)key->half << 24;

	if (ipv6_addr_v4mapped(&key->laddr) && ipv6_addr_v4mapped(&key->faddr))
		return jhash_3words((__force u32)key->laddr.s6_addr32[3],
				    (__force u32)key->faddr.s6_addr32[3], rest, seed);
	seed = __ipv6_addr_jhash(&key->laddr, seed) ^ rest;
	return jhash2((__force const u32 *)key->faddr.s6_addr32, 4, seed);
}

static u32 conn_hash(const void *data, u32 len, u32 seed)
{
	const struct rds_conn *c = data;

	return conn_key_hash(&c->key, len, seed);
}

static int conn_cmp(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct rds_conn_key *a = arg->key, *b = &((const struct rds_conn *)obj)->key;

	return a->trans != b->trans || a->scope != b->scope || a->tos != b->tos ||
	       a->half != b->half || !ipv6_addr_equal(&a->faddr, &b->faddr) ||
	       !ipv6_addr_equal(&a->laddr, &b->laddr);
}

static const struct rhashtable_params conn_params = {
	.head_offset = offsetof(struct rds_conn, node),
	.key_offset = offsetof(struct rds_conn, key),
	.key_len = sizeof(struct rds_conn_key),
	.hashfn = conn_key_hash,
	.obj_hashfn = conn_hash,
	.obj_cmpfn = conn_cmp,
	.automatic_shrinking = true,
};

static void conn_free_paths(struct rds_conn *c)
{
	const struct rds_transport *t = c->key.trans;
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		struct rds_path *p = c->paths[i];

		if (!p)
			continue;
		if (t->path_free)
			t->path_free(p);
		rds_path_unhold(p);
		mutex_destroy(&p->link);
		rds_sendq_free(p);
		kfree(p);
	}
}

static void conn_free(struct rds_conn *c)
{
	unsigned int type = c->key.trans->type;
	struct rds_net *rn = c->rn;

	/* First: who changes a map kicks the paths on its list. */
	rds_cong_leave(c);
	rds_cong_senders_exit(rn, &c->senders);
	conn_free_paths(c);
	rds_conn_uncharge(c);
	if (c->user)
		rds_user_put(c->user);
	rds_legacy_forget(c);
	rds_underway_exit(c);
	kfree(c->fmap);
	kfree(c->fmap_doubts);
	kfree(c->blames);
	kfree(c);
	/* Last: a transport waits until it has none. */
	atomic_dec(&rn->nr_of[type]);
	atomic_dec(&rn->nr_alive);
	wake_up_all(&rn->idle);
}

static void conn_free_work(struct work_struct *work)
{
	conn_free(container_of(to_rcu_work(work), struct rds_conn, free_work));
}

/**
 * rds_conn_put() - drop a reference to a connection
 * @c: the connection
 *
 * Context: any.
 */
void rds_conn_put(struct rds_conn *c)
{
	struct rds_net *rn = c->rn;

	if (!refcount_dec_and_test(&c->ref))
		return;
	/* Now, and not when it is freed: walkers would have to step over all that wait for that. */
	spin_lock_bh(&rn->lock);
	list_del_init(&c->net_node);
	spin_unlock_bh(&rn->lock);
	rds_cong_delist(c);
	queue_rcu_work(rds_wq, &c->free_work);
}

/**
 * rds_conn_add_path() - allocate a path of a connection
 * @c: the connection, not published or with its setup mutex held
 * @index: path index, not yet present
 *
 * Context: process, may sleep.
 * Return: the path, or ERR_PTR().
 */
struct rds_path *rds_conn_add_path(struct rds_conn *c, unsigned int index)
{
	const struct rds_transport *t = c->key.trans;
	struct rds_path *p = kzalloc(sizeof(*p) + t->path_priv_size, GFP_KERNEL_ACCOUNT);
	int err;

	if (!p)
		return ERR_PTR(-ENOMEM);
	p->conn = c;
	p->index = index;
	spin_lock_init(&p->lock);
	rds_message_settle_outside(&p->lock);
	INIT_LIST_HEAD(&p->queue);
	INIT_LIST_HEAD(&p->sent);
	INIT_LIST_HEAD(&p->controls);
	INIT_LIST_HEAD(&p->held_node);
	rds_conn_remember(p);
	mutex_init(&p->link);
	INIT_WORK(&p->pump_work, rds_path_pump_work);
	rds_path_init_state(p);
	if (t->path_init) {
		err = t->path_init(p);
		if (err) {
			kfree(p);
			return ERR_PTR(err);
		}
	}
	smp_store_release(&c->paths[index], p);	/* published complete */
	return p;
}

static void conn_destroy_work(struct work_struct *work);

static struct rds_conn *conn_alloc(struct rds_net *rn, const struct rds_conn_key *key)
{
	struct rds_conn *c = kzalloc(sizeof(*c), GFP_KERNEL_ACCOUNT);
	struct rds_path *p;
	int err;

	if (!c)
		return ERR_PTR(-ENOMEM);
	c->key = *key;
	c->rn = rn;
	refcount_set(&c->ref, 1);
	INIT_RCU_WORK(&c->free_work, conn_free_work);
	INIT_LIST_HEAD(&c->net_node);
	INIT_LIST_HEAD(&c->lru_node);
	INIT_WORK(&c->destroy_work, conn_destroy_work);
	INIT_LIST_HEAD(&c->lmap_node);
	rds_cong_senders_init(&c->senders);
	spin_lock_init(&c->lock);
	rds_message_settle_outside(&c->lock);
	INIT_DELAYED_WORK(&c->mprds_work, rds_mprds_work);
	mutex_init(&c->setup);
	xa_init_flags(&c->flows, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
	rds_underway_init(c);
	c->fanout_open = true;
	c->last_used = jiffies;
	c->lru_used = c->last_used;
	c->id = atomic_inc_return(&conn_ids);
	atomic_inc(&rn->nr_alive);
	atomic_inc(&rn->nr_of[key->trans->type]);

	err = rds_cong_join(c);
	if (err)
		goto err_free;
	p = rds_conn_add_path(c, 0);
	if (IS_ERR(p)) {
		err = PTR_ERR(p);
		goto err_free;
	}
	return c;

err_free:
	conn_free(c);
	return ERR_PTR(err);
}

static struct rds_conn *conn_get(struct rds_conn *c)
{
	return c && rds_conn_tryget(c) ? c : NULL;
}

/* Counted, or NULL.  Any context. */
static struct rds_conn *conn_lookup(struct rds_net *rn, const struct rds_conn_key *key)
{
	struct rds_conn *c;

	rcu_read_lock();
	c = conn_get(rhashtable_lookup(&rn->conns, key, conn_params));
	rcu_read_unlock();
	return c;
}

/* Publish, unless somebody was faster or the namespace is going.  Takes a table reference. */
static struct rds_conn *conn_insert(struct rds_net *rn, struct rds_conn *c)
{
	struct rds_conn *old;

	spin_lock_bh(&rn->lock);
	if (rn->dying || !rds_transport_is_registered(c->key.trans)) {
		old = ERR_PTR(-ENETDOWN);
	} else {
		refcount_inc(&c->ref);
		rcu_read_lock();
		old = rhashtable_lookup_get_insert_key(&rn->conns, &c->key, &c->node,
						       conn_params);
		if (!old) {
			list_add_tail(&c->net_node, &rn->conn_list);
			list_add_tail(&c->lru_node, &rn->lru);
		} else if (!IS_ERR(old)) {
			old = conn_get(old) ?: ERR_PTR(-EAGAIN);
		}
		rcu_read_unlock();
		if (old)
			refcount_dec(&c->ref);
	}
	spin_unlock_bh(&rn->lock);
	return old;
}

/* Destroy a connection that this caller took out of the table, and drop the table's reference. */
static void conn_destroy(struct rds_conn *c)
{
	LIST_HEAD(left);
	unsigned int i;

	spin_lock_bh(&c->lock);
	c->dead = true;
	spin_unlock_bh(&c->lock);
	cancel_delayed_work_sync(&c->mprds_work);
	/* Whoever adds paths by hand (accept) sees dead under the setup mutex. */
	mutex_lock(&c->setup);
	mutex_unlock(&c->setup);

	for (i = 0; i < RDS_MAX_PATHS; i++)
		if (c->paths[i])
			rds_path_doom(c->paths[i]);
	rds_cong_senders_wake(c->rn, &c->senders);
	for (i = 0; i < RDS_MAX_PATHS; i++)
		if (c->paths[i])
			rds_path_await_gone(c->paths[i]);
	rds_conn_outlive(c);
	for (i = 0; i < RDS_MAX_PATHS; i++) {
		if (!c->paths[i])
			continue;
		rds_path_reap(c->paths[i]);
		rds_path_empty(c->paths[i], RDS_DROP_EXPIRED, &left);
	}
	rds_op_finish(&left, RDS_RDMA_DROPPED);
	rds_path_settle(&left);
	rds_conn_put(c);
}

static void conn_destroy_work(struct work_struct *work)
{
	conn_destroy(container_of(work, struct rds_conn, destroy_work));
}

/**
 * rds_conn_destroy_later() - destroy a connection without waiting for that
 * @c: connection that this caller took out of the table
 *
 * Context: any.
 */
void rds_conn_destroy_later(struct rds_conn *c)
{
	queue_work(rds_gc_wq, &c->destroy_work);
}

/**
 * rds_conn_unlink() - take a connection out of the table
 * @c: the connection
 *
 * Context: any.
 * Return: true for the one caller who then has to destroy it.
 */
bool rds_conn_unlink(struct rds_conn *c)
{
	struct rds_net *rn = c->rn;

	if (rhashtable_remove_fast(&rn->conns, &c->node, conn_params))
		return false;
	spin_lock_bh(&rn->lock);
	list_del_init(&c->lru_node);
	spin_unlock_bh(&rn->lock);
	rds_conn_uncharge(c);
	return true;
}

/*
 * The next connection of the list, counted.  A connection stays on the list as long as it is held,
 * so the one we hold marks our place even if it has left the table; and hardly any that is listed
 * is not held.
 */
static struct rds_conn *conn_next(struct rds_net *rn, struct rds_conn *c)
{
	struct list_head *pos;
	struct rds_conn *next = NULL;

	spin_lock_bh(&rn->lock);
	pos = c ? &c->net_node : &rn->conn_list;
	while (!next && (pos = pos->next) != &rn->conn_list)
		next = conn_get(list_entry(pos, struct rds_conn, net_node));
	spin_unlock_bh(&rn->lock);
	return next;
}

/**
 * rds_conn_for_each() - visit every connection of a namespace
 * @rn: namespace
 * @fn: called with a reference held, in process context; may sleep and may remove it
 * @arg: passed on
 *
 * Each connection that is there all the while is visited once.
 */
void rds_conn_for_each(struct rds_net *rn, void (*fn)(struct rds_conn *c, void *arg), void *arg)
{
	struct rds_conn *c = NULL, *next;

	while ((next = conn_next(rn, c))) {
		if (c)
			rds_conn_put(c);
		c = next;
		fn(c, arg);
		cond_resched();
	}
	if (c)
		rds_conn_put(c);
}

/* ---- find or create -------------------------------------------------------- */

static struct rds_conn *conn_create(struct rds_net *rn, const struct rds_conn_key *key,
				    enum rds_who who)
{
	struct rds_conn *c, *old;

	if (READ_ONCE(rn->dying))
		return ERR_PTR(-ENETDOWN);
	if (!rds_conn_may_create(rn, who))
		return ERR_PTR(-ENOSPC);
	do {
		c = conn_alloc(rn, key);
		if (IS_ERR(c))
			return c;
		old = ERR_PTR(rds_conn_charge(c, who));
		if (!old)
			old = conn_insert(rn, c);
		if (!old) {
			rds_stat_inc(conn_created);
			return c;
		}
		rds_conn_uncharge(c);	/* now, not when it is freed */
		rds_conn_put(c);
		cond_resched();
	} while (old == ERR_PTR(-EAGAIN) || old == ERR_PTR(-EBUSY));
	return old;
}

static void conn_key(struct rds_conn_key *key, const struct rds_transport *t,
		     const struct in6_addr *laddr, const struct in6_addr *faddr, u32 scope, u8 tos)
{
	memset(key, 0, sizeof(*key));	/* graves hash it by its bytes, holes too */
	key->laddr = *laddr;
	key->faddr = *faddr;
	key->trans = t;
	key->scope = scope;
	key->tos = tos;
}

/* What is dialled for it counts as his: a peer's has nobody before. */
static struct rds_conn *conn_used_by(struct rds_conn *c, struct rds_user *u)
{
	if (likely(READ_ONCE(c->user)))
		return c;
	rds_user_hold(u);
	if (cmpxchg(&c->user, NULL, u))
		rds_user_put(u);
	return c;
}

/**
 * rds_conn_for_send() - the connection for a message of a socket
 * @rs: bound socket
 * @faddr: destination address
 * @scope: interface for a link-local destination, else 0
 *
 * A destination that is local to the namespace goes through the loopback transport if the
 * socket's transport wants that; decided when the connection is created.  A loopback address
 * always does: nobody is there on a device, and to dial ::1 costs rdma_rxe its CM's queue pair.
 *
 * Context: process, may sleep.
 * Return: counted connection, or ERR_PTR(-ENOMEM, -ENETDOWN).
 */
struct rds_conn *rds_conn_for_send(struct rds_sock *rs, const struct in6_addr *faddr, u32 scope)
{
	struct net *net = sock_net(rds_rs_to_sk(rs));
	struct rds_net *rn = rds_net(net);
	struct rds_conn_key key;
	struct rds_conn *c;

	conn_key(&key, rs->trans, &rs->bound.ip, faddr, scope, rs->tos);
	c = conn_lookup(rn, &key);
	if (c)
		return conn_used_by(c, rs->user);
	if (rs->trans->caps & RDS_CAP_LOCAL_VIA_LOOP || rds_addr_is_loopback(faddr)) {
		key.trans = &rds_loop_transport;
		c = conn_lookup(rn, &key);
		if (c)
			return conn_used_by(c, rs->user);
		if (!rds_addr_is_local(net, faddr, scope))
			key.trans = rs->trans;
	}
	c = conn_create(rn, &key, rds_quota_current(net));
	return c == ERR_PTR(-ENOSPC) ? ERR_PTR(-ENOMEM) : c;
}

/* Do we dial this address of ours?  It was a peer's, has moved here, and messages wait for it. */
static bool conn_is_dialled(struct rds_net *rn, const struct rds_conn_key *key)
{
	struct rds_conn_key other;
	struct rds_conn *c;

	conn_key(&other, key->trans, &key->faddr, &key->laddr, key->scope, key->tos);
	c = conn_lookup(rn, &other);
	if (c)
		rds_conn_put(c);
	return c;
}

struct rds_conn *rds_conn_find_or_create(struct net *net, struct rds_transport *t,
					 const struct in6_addr *laddr,
					 const struct in6_addr *faddr, u32 scope, u8 tos)
{
	struct rds_net *rn = rds_net(net);
	struct rds_conn_key key;
	struct rds_conn *c;

	if (rds_addr_is_loopback(faddr))
		return ERR_PTR(-EOPNOTSUPP);
	conn_key(&key, t, laddr, faddr, scope, tos);
	if (t->caps & RDS_CAP_SELF)
		key.half = ipv6_addr_equal(laddr, faddr);
	c = conn_lookup(rn, &key);
	if (c)
		return c;
	if (t->caps & RDS_CAP_LOCAL_VIA_LOOP && rds_addr_is_local(net, faddr, scope) &&
	    !conn_is_dialled(rn, &key))
		return ERR_PTR(-EOPNOTSUPP);
	return conn_create(rn, &key, RDS_WHO_PEER);
}

/* ---- incoming links --------------------------------------------------------- */

/* Is an incoming link there that is being adopted, or waits for it?  p->lock held. */
static bool path_has_next(const struct rds_path *p)
{
	return p->parked || (p->state == RDS_CONNECTING && p->adopted);
}

/* Can an incoming link be adopted here at once, or after a tear-down that is under way? */
static bool path_is_vacant(struct rds_path *p)
{
	bool vacant;

	spin_lock_bh(&p->lock);
	vacant = p->state != RDS_UP && !path_has_next(p);
	spin_unlock_bh(&p->lock);
	return vacant;
}

/**
 * rds_path_has_successor() - is an incoming link being adopted, or parked?
 * @p: the path
 *
 * Context: any.
 */
bool rds_path_has_successor(struct rds_path *p)
{
	bool has;

	spin_lock_bh(&p->lock);
	has = path_has_next(p);
	spin_unlock_bh(&p->lock);
	return has;
}

/* Is the link of @p replaced before that of @q?  Not if its successor is there already. */
static bool path_goes_first(struct rds_path *p, struct rds_path *q)
{
	bool p_has = rds_path_has_successor(p), q_has = rds_path_has_successor(q);

	if (p_has != q_has)
		return q_has;
	return time_before(READ_ONCE(p->up_since), READ_ONCE(q->up_since));
}

/**
 * rds_conn_accept_path() - the path an incoming link belongs to
 * @c: the connection
 * @peer_port: source port of the link
 *
 * A peer that announced it encodes the index in its source port.  For others: the lowest
 * vacant path, and if there is none (the peer restarted and we have not noticed) the one
 * whose link is oldest, so that the new links replace the old ones in order.
 *
 * Context: process, may sleep.
 * Return: the path, valid as long as @c is held; NULL for lack of memory: any other path
 * would be the wrong one.
 */
struct rds_path *rds_conn_accept_path(struct rds_conn *c, u16 peer_port)
{
	struct rds_path *oldest;
	unsigned int n, i;

	n = rds_mprds_apply(c) ? rds_mprds_guess(c) : 0;
	if (!n)
		return NULL;
	if (!rds_legacy_peer(c))
		return c->paths[peer_port % n];

	oldest = c->paths[0];
	for (i = 0; i < n; i++) {
		if (path_is_vacant(c->paths[i]))
			return c->paths[i];
		if (path_goes_first(c->paths[i], oldest))
			oldest = c->paths[i];
	}
	return oldest;
}

/**
 * rds_conn_told_path() - the path that the first frame of an incoming link has told
 * @c: the connection
 * @index: the path, below RDS_MAX_PATHS
 *
 * Context: process, may sleep.
 * Return: the path, valid as long as @c is held; NULL for lack of memory.
 */
struct rds_path *rds_conn_told_path(struct rds_conn *c, unsigned int index)
{
	struct rds_path *p = NULL;

	mutex_lock(&c->setup);
	if (c->paths[index])
		p = c->paths[index];
	else if (c->dead)
		p = c->paths[0];	/* it refuses the link, as any other does */
	else if (!IS_ERR(rds_conn_add_path(c, index)))
		p = c->paths[index];
	mutex_unlock(&c->setup);
	return p;
}

/**
 * rds_conn_nudged() - the larger peer asked us to connect
 * @c: the connection
 *
 * Context: any.
 */
void rds_conn_nudged(struct rds_conn *c)
{
	WRITE_ONCE(c->last_used, jiffies);
	/* The others follow when the peer has answered on this one. */
	rds_path_hurry(c->paths[0]);
}

/* ---- namespace ---------------------------------------------------------------- */

static void conn_kill(struct rds_conn *c, void *arg)
{
	const struct rds_transport *t = arg;

	if (t && c->key.trans != t)
		return;
	if (rds_conn_unlink(c))
		conn_destroy(c);
}

/**
 * rds_conn_kill_net() - destroy the connections of a namespace
 * @rn: namespace
 * @t: only those of this transport, or NULL for all
 *
 * With @t NULL the namespace must be dying; waits until every connection is freed.
 *
 * Context: process, sleeps.
 */
void rds_conn_kill_net(struct rds_net *rn, const struct rds_transport *t)
{
	/* Insertions that did not see us coming are in the table when this is over. */
	spin_lock_bh(&rn->lock);
	spin_unlock_bh(&rn->lock);
	rds_conn_for_each(rn, conn_kill, (void *)t);
	if (!t) {
		cancel_delayed_work_sync(&rn->gc);
		wait_event(rn->idle, !atomic_read(&rn->nr_alive));
	} else {
		wait_event(rn->idle, !atomic_read(&rn->nr_of[t->type]));
	}
	/* Frees that wait for a grace period, and whoever woke us is still in a work. */
	rcu_barrier();
	flush_workqueue(rds_wq);
}

int rds_conn_init_net(struct rds_net *rn)
{
	int err = rhashtable_init(&rn->conns, &conn_params);

	if (err)
		return err;
	err = rds_expire_init_net(rn);
	if (err)
		rhashtable_destroy(&rn->conns);
	return err;
}

void rds_conn_exit_net(struct rds_net *rn)
{
	rds_expire_exit_net(rn);
	rhashtable_destroy(&rn->conns);
}
