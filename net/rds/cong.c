// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion: a bitmap of ports for each local address, announced to every peer of that
 * address; and what each peer announced to us.
 *
 * An update cannot be lost: the map's generation is bumped after a change, and a connection owes
 * its peer a map as long as the generation it sent is not the current one.  A snapshot reads
 * the generation first, so a change during the copy only causes one map more.
 *
 * Users choose how many connections an address has, and how often a port is full and free again.
 * So many peers are told by a work, which lets go of the lock after each; and not of each port
 * that is free again, but some milliseconds later of all that are.
 *
 * On loopback both ends are here: the sender tests the receiver's local map itself.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "core.h"
#include "trace.h"

/*
 * Memory that messages in a queue may cost, descriptors included, as a multiple of the
 * receive buffer.  Empty messages and tiny ones count by this, others by their payload.
 */
#define RX_MEM_FACTOR		16
#define RX_MEM_MIN		SZ_1M

/* Maps that arrive by different paths within this time may have overtaken each other. */
#define MAP_RACE_TIME		(HZ / 10 + 1)

/* Peers told at once, in the context of the change. */
#define PUBLISH_FEW		8
/* Where they are more they learn of free ports so often. */
#define PUBLISH_PAUSE		max(HZ / 100, 1)
/* How long a bit is believed that an older map may have set. */
#define MAP_DOUBT_TIME		HZ

/* Scratch for one received map; used with c->lock held, hence bottom halves off. */
static u8 __percpu *cong_scratch;

static const struct rhashtable_params map_params = {
	.head_offset = offsetof(struct rds_cong_map, node),
	.key_offset = offsetof(struct rds_cong_map, key),
	.key_len = sizeof_field(struct rds_cong_map, key),
	.automatic_shrinking = true,
};

static void map_free_rcu(struct rcu_head *rcu)
{
	kvfree(container_of(rcu, struct rds_cong_map, rcu));
}

static void map_publish_work(struct work_struct *work);

/**
 * rds_cong_map_get() - the local map of an address, created if need be
 * @rn: namespace
 * @addr: local address
 * @scope: its interface if it is link-local, else 0
 *
 * Context: process, may sleep.
 * Return: counted map or NULL for lack of memory.
 */
struct rds_cong_map *rds_cong_map_get(struct rds_net *rn, const struct in6_addr *addr, u32 scope)
{
	struct rds_cong_map *map, *old;

	map = kvzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return NULL;
	map->key.addr = *addr;
	map->key.scope = scope;
	refcount_set(&map->ref, 1);
	map->rn = rn;
	map->clear_next = jiffies;
	rds_quota_init(&map->ports);
	INIT_DELAYED_WORK(&map->publish, map_publish_work);
	spin_lock_init(&map->lock);
	INIT_LIST_HEAD(&map->conns);
	rds_cong_senders_init(&map->senders);

	do {
		rcu_read_lock();
		old = rhashtable_lookup_get_insert_fast(&rn->maps, &map->node, map_params);
		if (old && !IS_ERR(old) && !refcount_inc_not_zero(&old->ref))
			old = ERR_PTR(-EAGAIN);		/* on its way out */
		rcu_read_unlock();
		/* Also while the table's work makes room. */
		cond_resched();
	} while (old == ERR_PTR(-EAGAIN) || old == ERR_PTR(-EBUSY));

	if (!old)
		return map;
	kvfree(map);
	return IS_ERR(old) ? NULL : old;
}

/**
 * rds_cong_map_put() - drop a reference to a local map
 * @rn: namespace
 * @map: the map
 *
 * Context: any.
 */
void rds_cong_map_put(struct rds_net *rn, struct rds_cong_map *map)
{
	if (!refcount_dec_and_test(&map->ref))
		return;
	rhashtable_remove_fast(&rn->maps, &map->node, map_params);
	rds_cong_senders_exit(rn, &map->senders);
	call_rcu(&map->rcu, map_free_rcu);
}

/* The interface of one of the ends if its address is link-local, else 0. */
static u32 map_scope(const struct rds_conn *c, const struct in6_addr *addr)
{
	return rds_addr_is_linklocal(addr) ? c->key.scope : 0;
}

/**
 * rds_cong_join() - give a new connection its local map(s)
 * @c: connection, not yet published
 *
 * Return: 0 or -ENOMEM.
 */
int rds_cong_join(struct rds_conn *c)
{
	struct rds_cong_map *map;

	if (c->key.trans->type == RDS_TRANS_LOOP) {
		c->floop = rds_cong_map_get(c->rn, &c->key.faddr, map_scope(c, &c->key.faddr));
		if (!c->floop)
			return -ENOMEM;
		WRITE_ONCE(c->floop->looped, true);
		return 0;
	}
	map = rds_cong_map_get(c->rn, &c->key.laddr, map_scope(c, &c->key.laddr));
	if (!map)
		return -ENOMEM;
	c->lmap = map;
	c->lmap_sent = atomic_read(&map->gen);
	spin_lock_bh(&map->lock);
	list_add_tail(&c->lmap_node, &map->conns);
	map->nr_conns++;
	spin_unlock_bh(&map->lock);
	return 0;
}

/**
 * rds_cong_delist() - nobody holds a connection any more: its peer is told nothing
 * @c: connection
 *
 * Context: any.
 */
void rds_cong_delist(struct rds_conn *c)
{
	struct rds_cong_map *map = c->lmap;

	if (!map)
		return;
	spin_lock_bh(&map->lock);
	if (!list_empty(&c->lmap_node))
		map->nr_conns--;
	list_del_init(&c->lmap_node);
	/* The namespace may go, and waits for no timer. */
	if (!map->nr_conns && cancel_delayed_work(&map->publish))
		refcount_dec(&map->ref);	/* @c has one, too */
	spin_unlock_bh(&map->lock);
}

/**
 * rds_cong_leave() - undo rds_cong_join()
 * @c: connection, no longer in use
 */
void rds_cong_leave(struct rds_conn *c)
{
	if (c->floop)
		rds_cong_map_put(c->rn, c->floop);
	rds_cong_delist(c);
	if (c->lmap)
		rds_cong_map_put(c->rn, c->lmap);
}

/* ---- receiver side: our own ports --------------------------------------------- */

/* Little-endian bitmap whatever the host: byte p / 8, bit p % 8. */
#ifdef __BIG_ENDIAN
#define MAP_BIT(port)	((port) ^ (BITS_PER_LONG - 8))
#else
#define MAP_BIT(port)	(port)
#endif

static void cong_publish(struct rds_cong_map *map, bool freed);

/*
 * The common case, without the lock: not congested, far from it, nobody waits.  Whoever changed
 * the queue last sees its final state here, so if that calls for a change somebody makes it.
 */
static bool cong_as_before(const struct rds_sock *rs)
{
	u64 rcvbuf = rds_rcvbuf(rs), mem = READ_ONCE(rs->rx.mem);

	if (READ_ONCE(rs->rx.spilled) || READ_ONCE(rs->overrun) ||
	    unlikely(atomic_long_read(&rs->user->uncharged)))
		return false;
	return !READ_ONCE(rs->rx.congested) && READ_ONCE(rs->rx.bytes) <= rcvbuf &&
	       (mem <= RX_MEM_MIN || mem <= RX_MEM_FACTOR * rcvbuf);
}

/**
 * rds_cong_update() - the receive queue or buffer of a socket changed
 * @rs: the socket
 *
 * Congested above the receive buffer, free again below half of it.
 *
 * Context: any, no lock held.
 */
void rds_cong_update(struct rds_sock *rs)
{
	u64 rcvbuf = rds_rcvbuf(rs);
	u64 mem = max_t(u64, RX_MEM_FACTOR * rcvbuf, RX_MEM_MIN);
	struct rds_net *rn;
	bool was, now;

	if (cong_as_before(rs) || !rds_is_bound(rs))
		return;
	spin_lock_bh(&rs->rx.lock);
	was = rs->rx.congested;
	now = was ? rs->rx.bytes >= rcvbuf / 2 && rs->rx.bytes : rs->rx.bytes > rcvbuf;
	/* Empty messages cost the sender nothing, but us memory. */
	if (rs->rx.mem > (was ? mem / 2 : mem))
		now = true;
	/* It has no room, whatever these say. */
	if (rds_rx_is_pressed(rs))
		now = true;
	if (rs->rx.closed)
		now = false;
	if (now != was) {
		rs->rx.congested = now;
		if (now)
			set_bit(MAP_BIT(rs->bound.port), rs->map->bits);
		else
			clear_bit(MAP_BIT(rs->bound.port), rs->map->bits);
	}
	spin_unlock_bh(&rs->rx.lock);
	if (now == was)
		return;
	rn = rds_net(sock_net(rds_rs_to_sk(rs)));
	cong_publish(rs->map, !now);
	if (!READ_ONCE(rs->map->looped))
		return;
	if (!now)
		rds_cong_senders_wake(rn, &rs->map->senders);
	rds_cong_notify(rn, now ? 0 : 1ULL << (rs->bound.port % RDS_CONG_MONITOR_SIZE));
}

/**
 * rds_cong_release_port() - a socket is closing: its port is free again
 * @rs: the socket, rx.closed already set
 */
void rds_cong_release_port(struct rds_sock *rs)
{
	rds_cong_update(rs);
}

/* Each connection of the map has to send it. */
static void map_changed(struct rds_cong_map *map)
{
	smp_mb__before_atomic();	/* bits before generation: rds_cong_snapshot() */
	atomic_inc(&map->gen);
}

static void map_tell(struct rds_conn *c)
{
	rds_stat_inc(cong_update_queued);
	if (c->paths[0])
		rds_path_kick(c->paths[0]);
}

/* The next connection of the map, counted; the one we hold is our place. */
static struct rds_conn *map_next(struct rds_cong_map *map, struct rds_conn *c)
{
	struct list_head *pos;
	bool held = false;

	spin_lock_bh(&map->lock);
	pos = c ? &c->lmap_node : &map->conns;
	while (!held && (pos = pos->next) != &map->conns)
		held = rds_conn_tryget(list_entry(pos, struct rds_conn, lmap_node));
	spin_unlock_bh(&map->lock);
	return held ? list_entry(pos, struct rds_conn, lmap_node) : NULL;
}

static void map_publish_work(struct work_struct *work)
{
	struct rds_cong_map *map = container_of(to_delayed_work(work), struct rds_cong_map,
						publish);
	struct rds_conn *c = NULL, *next;

	map_changed(map);
	while ((next = map_next(map, c))) {
		if (c)
			rds_conn_put(c);
		c = next;
		map_tell(c);
		cond_resched();
	}
	if (c)
		rds_conn_put(c);
	rds_cong_map_put(map->rn, map);
}

/* Many peers: by the work, which sees this change if it was queued before.  map->lock held. */
static void map_publish_many(struct rds_cong_map *map, bool freed)
{
	unsigned long now = jiffies, delay = 0;

	/* That a port is full is not put off: what still comes would have to be held. */
	if (freed && time_before(now, map->clear_next))
		delay = map->clear_next - now;
	refcount_inc(&map->ref);
	if (!queue_delayed_work(rds_wq, &map->publish, delay))
		refcount_dec(&map->ref);	/* the caller has one, too */
	else if (freed)
		map->clear_next = now + delay + PUBLISH_PAUSE;
}

static void cong_publish(struct rds_cong_map *map, bool freed)
{
	struct rds_conn *c;

	spin_lock_bh(&map->lock);
	if (map->nr_conns > PUBLISH_FEW) {
		map_publish_many(map, freed);
	} else {
		map_changed(map);
		/* path->lock nests inside map->lock here, and nowhere the other way round. */
		list_for_each_entry(c, &map->conns, lmap_node)
			map_tell(c);
	}
	spin_unlock_bh(&map->lock);
}

/**
 * rds_cong_update_due() - does the peer have an old map?
 * @c: the connection
 */
bool rds_cong_update_due(const struct rds_conn *c)
{
	return c->lmap && READ_ONCE(c->lmap_sent) != (u32)atomic_read(&c->lmap->gen);
}

/**
 * rds_cong_snapshot() - the local map as it goes to the peer now
 * @c: the connection; path 0's link mutex held
 * @out: RDS_CONG_MAP_BYTES bytes
 */
void rds_cong_snapshot(struct rds_conn *c, u8 *out)
{
	WRITE_ONCE(c->lmap_sent, (u32)atomic_read(&c->lmap->gen));
	smp_rmb();	/* generation before bits: at worst one map too many */
	memcpy(out, c->lmap->bits, RDS_CONG_MAP_BYTES);
}

/* ---- sender side: the peer's ports ---------------------------------------------- */

/**
 * rds_cong_test() - is a port of the peer congested?
 * @c: the connection
 * @port: destination port
 */
bool rds_cong_test(const struct rds_conn *c, u16 port)
{
	const u8 *map = c->floop ? (const u8 *)c->floop->bits : READ_ONCE(c->fmap);

	return map && rds_map_test(map, port);
}

/**
 * rds_cong_test_local() - is a port of this end congested?
 * @c: the connection
 * @port: port of its local address
 *
 * Context: any.
 */
bool rds_cong_test_local(const struct rds_conn *c, u16 port)
{
	struct rds_cong_key key = {
		.addr = c->key.laddr, .scope = map_scope(c, &c->key.laddr),
	};
	struct rds_cong_map *map;
	bool congested;

	rcu_read_lock();
	map = rhashtable_lookup_fast(&c->rn->maps, &key, map_params);
	congested = map && rds_map_test((const u8 *)map->bits, port);
	rcu_read_unlock();
	return congested;
}

/**
 * rds_cong_doubt_over() - time is over for bits that an older map may have set
 * @c: the connection
 *
 * Context: process.
 * Return: jiffies after which to call again, 0 if there is no doubt left.
 */
unsigned long rds_cong_doubt_over(struct rds_conn *c)
{
	unsigned long left = 0;
	u64 cleared = 0;
	u8 *map, *fresh;

	if (!READ_ONCE(c->fmap_doubt))
		return 0;
	spin_lock_bh(&c->lock);
	map = READ_ONCE(c->fmap);
	if (c->fmap_doubt && time_before(jiffies, c->fmap_when + MAP_DOUBT_TIME)) {
		left = c->fmap_when + MAP_DOUBT_TIME - jiffies;
	} else if (c->fmap_doubt) {
		fresh = this_cpu_ptr(cong_scratch);
		rds_map_undoubted(fresh, map, c->fmap_doubts);
		cleared = rds_map_cleared(map, fresh);
		memcpy(map, fresh, RDS_CONG_MAP_BYTES);
		memset(c->fmap_doubts, 0, RDS_CONG_MAP_BYTES);
		WRITE_ONCE(c->fmap_doubt, false);
	}
	spin_unlock_bh(&c->lock);
	if (cleared)
		rds_cong_changed(c, cleared);
	return left;
}

/**
 * rds_cong_link_lost() - path 0 is down, and what the peer told us is out of date
 * @c: the connection
 *
 * The peer may restart, or clear a bit while no link is there to say so, and nobody dials
 * for a sender that waits.  So senders go on, and the next link begins with a new map.
 *
 * Context: process.
 */
void rds_cong_link_lost(struct rds_conn *c)
{
	u64 cleared = 0;
	u8 *none;

	spin_lock_bh(&c->lock);
	if (c->fmap_doubts)
		memset(c->fmap_doubts, 0, RDS_CONG_MAP_BYTES);
	WRITE_ONCE(c->fmap_doubt, false);
	if (c->fmap) {
		none = this_cpu_ptr(cong_scratch);
		memset(none, 0, RDS_CONG_MAP_BYTES);
		cleared = rds_map_cleared(c->fmap, none);
		memset(c->fmap, 0, RDS_CONG_MAP_BYTES);
	}
	spin_unlock_bh(&c->lock);
	if (cleared)
		rds_cong_changed(c, cleared);
}

/* Whoever takes it from the link: it is the namespace's. */
static u8 *cong_alloc(struct rds_conn *c)
{
	return rds_net_zalloc(c->rn, RDS_CONG_MAP_BYTES, GFP_ATOMIC);
}

/*
 * Our copy of the peer's map, made when the first one comes in which a bit is set: most peers never
 * have a congested port.  c->lock is held.
 */
static u8 *cong_fmap(struct rds_conn *c)
{
	u8 *map = cong_alloc(c);

	if (map)
		smp_store_release(&c->fmap, map);	/* after its zeroes: rds_cong_test() */
	return map;
}

/*
 * Replace our copy of the peer's map; the ports that went from 1 to 0, modulo 64.
 *
 * A peer of the old kind sends maps by any path, so the older of two may arrive last.  Which
 * one that was cannot be known; a bit that is wrongly clear lets some messages more into a
 * queue, one that is wrongly set stops a sender for good.  So what the last of two sets is
 * believed, but for a limited time.
 */
static int cong_replace(struct rds_conn *c, u8 *map, const u8 *fresh, bool raced, u64 *cleared,
			bool *changed)
{
	if (raced && !c->fmap_doubts) {
		c->fmap_doubts = cong_alloc(c);
		if (!c->fmap_doubts)
			return -ENOMEM;
	}
	if (c->fmap_doubts)
		WRITE_ONCE(c->fmap_doubt, rds_map_doubt(c->fmap_doubts, map, fresh, raced));
	*changed = memcmp(map, fresh, RDS_CONG_MAP_BYTES);
	*cleared = rds_map_cleared(map, fresh);
	memcpy(map, fresh, RDS_CONG_MAP_BYTES);
	return 0;
}

/* 0, -EBADMSG, or -ENOMEM. */
static int cong_take_map(struct rds_path *p, struct rds_incoming *inc, u64 *cleared,
			 bool *changed)
{
	struct kvec kv = { .iov_len = RDS_CONG_MAP_BYTES };
	struct rds_conn *c = p->conn;
	struct iov_iter to;
	int err = -EBADMSG;
	bool raced;
	u8 *map;

	/* Two paths may deliver maps at once; and the scratch needs bottom halves off. */
	spin_lock_bh(&c->lock);
	kv.iov_base = this_cpu_ptr(cong_scratch);
	iov_iter_kvec(&to, ITER_DEST, &kv, 1, RDS_CONG_MAP_BYTES);
	if (inc->ops->read(inc, 0, &to, RDS_CONG_MAP_BYTES))
		goto out;
	err = -ENOMEM;
	map = c->fmap;
	if (!map && memchr_inv(kv.iov_base, 0, RDS_CONG_MAP_BYTES)) {
		map = cong_fmap(c);
		if (!map)
			goto out;
	}
	err = 0;
	raced = c->fmap_path != p->index && time_before(jiffies, c->fmap_when + MAP_RACE_TIME);
	c->fmap_path = p->index;
	c->fmap_when = jiffies;
	if (map)
		err = cong_replace(c, map, kv.iov_base, raced, cleared, changed);
out:
	spin_unlock_bh(&c->lock);
	return err;
}

/**
 * rds_cong_received() - a control frame arrived: generation and perhaps a map
 * @p: path
 * @h: header
 * @inc: payload; borrowed
 *
 * Context: any; one caller at a time per path.
 */
void rds_cong_received(struct rds_path *p, const struct rds_hdr *h, struct rds_incoming *inc)
{
	struct rds_conn *c = p->conn;
	bool changed = false;
	struct rds_ext e;
	u64 cleared = 0;
	int err;

	rds_ext_parse(h->ext, &e);
	if (RDS_EXT_HAS(&e, RDS_EXT_GEN_NUM) && e.gen)
		rds_generation_told(p, e.gen, 0);
	if (!h->len)
		return;		/* only a carrier of the generation */
	err = rds_map_valid(h) ? cong_take_map(p, inc, &cleared, &changed) : -EBADMSG;
	if (err == -ENOMEM) {	/* the next link begins with a map: no update is lost */
		rds_path_drop(p, READ_ONCE(p->epoch), err);
		return;
	}
	if (err) {
		rds_drop(p, h, RDS_DROP_BAD_CONG);
		return;
	}
	rds_stat_inc(cong_update_received);
	if (READ_ONCE(c->fmap_doubt))
		queue_delayed_work(rds_wq, &c->paths[0]->timer, MAP_DOUBT_TIME);
	/* Each link begins with a map; one that says nothing new is no event. */
	if (changed)
		rds_cong_changed(c, cleared);
}

int rds_cong_init(void)
{
	cong_scratch = __alloc_percpu(RDS_CONG_MAP_BYTES, sizeof(long));
	return cong_scratch ? 0 : -ENOMEM;
}

void rds_cong_exit(void)
{
	free_percpu(cong_scratch);
}

int rds_cong_init_net(struct rds_net *rn)
{
	INIT_HLIST_HEAD(&rn->cong_waiters);
	INIT_HLIST_HEAD(&rn->cong_busy);
	INIT_LIST_HEAD(&rn->cong_senders);
	INIT_WORK(&rn->cong_work, rds_cong_work);
	return rhashtable_init(&rn->maps, &map_params);
}

/* No socket and no connection is left. */
void rds_cong_exit_net(struct rds_net *rn)
{
	cancel_work_sync(&rn->cong_work);
	rhashtable_destroy(&rn->maps);
}
