// SPDX-License-Identifier: GPL-2.0
/*
 * The info interface: getsockopt(RDS_INFO_*) writes a snapshot of records.
 *
 * A walk emits records into a kernel buffer of fixed size and counts what does not fit;
 * if the total is more than the buffer, a larger one is allocated, with no lock held, and
 * the walk is done again.  Walks see the objects of one namespace only.
 *
 * The v4 and v6 form of a record have the same fields in the same order, packed, and
 * differ in the size of the addresses: one filler appends the fields and serves both.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core.h"

/**
 * struct rds_info_sink - where the records go
 * @buf: kernel buffer
 * @cap: its size
 * @total: bytes of all records, those that did not fit included
 */
struct rds_info_sink {
	u8 *buf;
	size_t cap;
	size_t total;
};

struct source;

struct walk {
	const struct source *src;
	struct rds_net *rn;
	struct rds_info_sink *sink;
	bool known;		/* the transport that was asked is loaded */
};

/**
 * struct source - one RDS_INFO_* option
 * @opt: number
 * @size: bytes of a record
 * @v6: all objects with IPv6 addresses, else only IPv4 ones
 * @arg: meaning depends on @walk
 * @walk: emit all records
 */
struct source {
	int opt;
	size_t size;
	bool v6;
	int arg;
	void (*walk)(struct walk *w);
};

/**
 * rds_info_emit() - write one record
 * @sink: where to
 * @rec: record
 * @size: its size
 *
 * Any context.
 */
void rds_info_emit(struct rds_info_sink *sink, const void *rec, size_t size)
{
	if (size <= sink->cap && sink->total <= sink->cap - size)
		memcpy(sink->buf + sink->total, rec, size);
	sink->total += size;
}

/* ---- fillers ----------------------------------------------------------- */

struct record {
	u8 b[128];
	size_t n;
	bool v6;
};

static void put(struct record *r, const void *field, size_t n)
{
	if (WARN_ON_ONCE(n > sizeof(r->b) - r->n))
		return;
	memcpy(r->b + r->n, field, n);
	r->n += n;
}

static void put_u8(struct record *r, u8 v)
{
	put(r, &v, sizeof(v));
}

static void put_u32(struct record *r, u32 v)
{
	put(r, &v, sizeof(v));
}

static void put_u64(struct record *r, u64 v)
{
	put(r, &v, sizeof(v));
}

static void put_port(struct record *r, u16 port)
{
	__be16 v = htons(port);

	put(r, &v, sizeof(v));
}

static void put_addr(struct record *r, const struct in6_addr *a)
{
	if (r->v6)
		put(r, a, sizeof(*a));
	else
		put(r, &a->s6_addr32[3], sizeof(a->s6_addr32[3]));
}

/* A record is exactly what the ABI says, or it is not sent. */
static void emit(struct walk *w, const struct record *r)
{
	if (!WARN_ON_ONCE(r->n != w->src->size))
		rds_info_emit(w->sink, r->b, r->n);
}

static u8 path_flags(const struct rds_path *p)
{
	enum rds_state s = READ_ONCE(p->state);
	u8 flags = 0;

	if (READ_ONCE(p->sending))
		flags |= RDS_INFO_CONNECTION_FLAG_SENDING;
	if (s == RDS_CONNECTING)
		flags |= RDS_INFO_CONNECTION_FLAG_CONNECTING;
	if (s == RDS_UP)
		flags |= RDS_INFO_CONNECTION_FLAG_CONNECTED;
	return flags;
}

static bool conn_listed(const struct walk *w, const struct rds_conn *c)
{
	/* Of a link from an address to itself the end that sends is enough. */
	return !c->key.half && (w->src->v6 || rds_addr_is_v4(&c->key.laddr));
}

static void conn_record(struct rds_conn *c, void *arg)
{
	struct walk *w = arg;
	struct record r = { .v6 = w->src->v6 };
	struct rds_path *p = c->paths[0];
	u8 name[TRANSNAMSIZ] = {};
	u64 next_tx, next_rx;

	if (!conn_listed(w, c))
		return;
	spin_lock_bh(&p->lock);
	next_tx = p->next_tx;
	next_rx = p->next_rx;
	spin_unlock_bh(&p->lock);

	strscpy((char *)name, c->key.trans->name, sizeof(name));
	put_u64(&r, next_tx);
	put_u64(&r, next_rx);
	put_addr(&r, &c->key.laddr);
	put_addr(&r, &c->key.faddr);
	put(&r, name, sizeof(name));
	put_u8(&r, path_flags(p));
	if (!r.v6)
		put_u8(&r, c->key.tos);
	emit(w, &r);
}

/* @l is ours, @f the peer's, whatever the direction. */
static void message_record(struct walk *w, u64 seq, u32 len, const struct in6_addr *l, u16 lport,
			   const struct in6_addr *f, u16 fport, u8 tos)
{
	struct record r = { .v6 = w->src->v6 };

	put_u64(&r, seq);
	put_u32(&r, len);
	put_addr(&r, l);
	put_addr(&r, f);
	put_port(&r, lport);
	put_port(&r, fport);
	put_u8(&r, 0);
	put_u8(&r, tos);
	emit(w, &r);
}

enum { LIST_QUEUED, LIST_SENT };

/* A walk over the messages of a socket, or of the kernel's own on a path. */
struct messages {
	struct walk *w;
	u64 ahead;
};

/*
 * What has no number gets about the one that is shown.  The connection stays as long as the message
 * is on the list by which we have it.
 */
static void sent_record(struct rds_message *m, void *arg)
{
	struct rds_path *p = READ_ONCE(m->path);
	struct rds_conn *c = p->conn;
	struct messages *x = arg;
	u64 seq = READ_ONCE(m->seq);
	int list = READ_ONCE(m->where) == RDS_MSG_SENT ? LIST_SENT : LIST_QUEUED;

	if (list != x->w->src->arg || !conn_listed(x->w, c))
		return;
	if (!seq)
		seq = READ_ONCE(p->next_tx) + x->ahead++;
	message_record(x->w, seq, m->len, &c->key.laddr, m->sport, &c->key.faddr, m->dport,
		       c->key.tos);
}

/* Not those that were taken back, and are there for the transport's sake. */
static bool own_record(struct rds_message *m, void *arg)
{
	if (READ_ONCE(m->rs))
		sent_record(m, arg);
	return true;
}

static void sock_sent(struct walk *w, struct rds_sock *rs)
{
	struct messages x = { .w = w };
	struct rds_tx_walk place;

	if (!atomic_read(&rs->tx_msgs))
		return;
	rds_tx_walk_begin(&place, rs);
	while (rds_tx_walk_some(&place, own_record, &x))
		cond_resched();
	rds_tx_walk_end(&place);
}

static void conn_controls(struct rds_conn *c, void *arg)
{
	struct messages x = { .w = arg };
	struct rds_message *m;
	struct rds_path *p;
	int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		p = smp_load_acquire(&c->paths[i]);	/* published complete */
		if (!p || !READ_ONCE(p->nr_control))
			continue;
		x.ahead = 0;
		spin_lock_bh(&p->lock);
		list_for_each_entry(m, &p->controls, own)
			sent_record(m, &x);
		spin_unlock_bh(&p->lock);
	}
}

static void path_record(struct walk *w, struct rds_path *p)
{
	struct rds_conn *c = p->conn;
	struct rds_info_path rec = {
		.laddr = c->key.laddr,
		.faddr = c->key.faddr,
		.scope = c->key.scope,
		.tos = c->key.tos,
		.index = p->index,
		.npaths = READ_ONCE(c->npaths),
		.flags = path_flags(p),
	};

	strscpy((char *)rec.transport, c->key.trans->name, sizeof(rec.transport));
	spin_lock_bh(&p->lock);
	strscpy((char *)rec.state, rds_state_name(p->state), sizeof(rec.state));
	rec.next_tx_seq = p->next_tx;
	rec.next_rx_seq = p->next_rx;
	rec.nr_queued = p->nr_queued;
	rec.nr_sent = p->nr_sent;
	rec.epoch = p->epoch;
	rec.backoff_ms = jiffies_to_msecs(p->backoff);
	rec.ended_why = -p->ended_why;
	if (p->ended_why)
		rec.ended_s = (u32)ktime_get_boottime_seconds() - p->ended_at;
	spin_unlock_bh(&p->lock);
	rds_info_emit(w->sink, &rec, sizeof(rec));
}

static void conn_paths(struct rds_conn *c, void *arg)
{
	struct rds_path *p;
	int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		p = smp_load_acquire(&c->paths[i]);	/* published complete */
		if (p)
			path_record(arg, p);
	}
}

static void sock_record(struct walk *w, struct rds_sock *rs)
{
	struct record r = { .v6 = w->src->v6 };
	bool bound = rds_is_bound(rs);
	struct rds_addr peer, own = {};

	if (bound)
		own = rs->bound;
	if (!r.v6 && !rds_addr_is_v4(&own.ip))
		return;
	spin_lock_bh(&rs->addr_lock);
	peer = rs->has_peer ? rs->peer : (struct rds_addr){};
	spin_unlock_bh(&rs->addr_lock);

	put_u32(&r, rds_sndbuf(rs));
	put_addr(&r, &own.ip);
	put_addr(&r, &peer.ip);
	put_port(&r, own.port);
	put_port(&r, peer.port);
	put_u32(&r, rds_rcvbuf(rs));
	put_u64(&r, sock_i_ino(&rs->sk));
	emit(w, &r);
}

/* Messages of a receive queue that are shown under one hold of its lock. */
#define UNREAD_AT_ONCE	128

/**
 * struct unread - a walk over a receive queue
 * @at: the message that was shown last, counted, or NULL
 * @left: how many are still to be shown at most: what comes meanwhile is not
 *
 * Messages are read from the front: if @at is on no list any more, nothing is that was shown.
 */
struct unread {
	struct rds_incoming *at;
	u32 left;
};

/* The next ones; rx.lock held, the socket is not closed.  False at the end. */
static bool show_unread(struct walk *w, struct rds_sock *rs, struct unread *u)
{
	struct rds_incoming *inc = u->at;
	unsigned int n;

	lockdep_assert_held(&rs->rx.lock);
	u->left = min(u->left, rs->rx.nr);
	if (!inc || list_empty(&inc->node))
		inc = list_entry(&rs->rx.queue, struct rds_incoming, node);
	for (n = 0; n < u->left && n < UNREAD_AT_ONCE; n++) {
		inc = list_next_entry(inc, node);
		if (list_entry_is_head(inc, &rs->rx.queue, node))
			break;
		message_record(w, inc->seq, inc->len, &rs->bound.ip, rs->bound.port, &inc->saddr,
			       inc->sport, inc->tos);
	}
	u->left -= n;
	if (n < UNREAD_AT_ONCE)
		return false;
	refcount_inc(&inc->ref);
	u->at = inc;
	return true;
}

static void sock_messages(struct walk *w, struct rds_sock *rs)
{
	struct unread u = { .left = U32_MAX };
	struct rds_incoming *last;
	bool more;

	if (!rds_is_bound(rs) || (!w->src->v6 && !rds_addr_is_v4(&rs->bound.ip)))
		return;
	do {
		last = u.at;
		spin_lock_bh(&rs->rx.lock);
		/* Once it is closed, the last one may be on another list. */
		more = !rs->rx.closed && show_unread(w, rs, &u);
		spin_unlock_bh(&rs->rx.lock);
		if (last)
			rds_inc_put(last);
		cond_resched();
	} while (more);
}

/* ---- walkers ----------------------------------------------------------- */

static void walk_counters(struct walk *w)
{
	rds_stats_info(w->sink);
}

static void walk_conns(struct walk *w)
{
	rds_conn_for_each(w->rn, conn_record, w);
}

static void walk_paths(struct walk *w)
{
	rds_conn_for_each(w->rn, conn_paths, w);
}

/* Sockets taken while the list is locked once: nobody else waits for more than these. */
#define SOCKS_AT_ONCE	32

/*
 * The next sockets behind @at (NULL: from the first on), counted; SOCKS_AT_ONCE at most, and
 * not beyond @last.  How many.
 */
static unsigned int next_socks(struct rds_net *rn, struct rds_sock *at, struct rds_sock *last,
			       struct rds_sock **socks)
{
	struct list_head *pos = at ? at->listed.next : rn->sockets.next;
	unsigned int n = 0;

	lockdep_assert_held(&rn->lock);
	if (at == last)
		return 0;
	for (; n < SOCKS_AT_ONCE && pos != &rn->sockets; pos = pos->next) {
		struct rds_sock *rs = list_entry(pos, struct rds_sock, listed);

		/* Who puts the last reference takes it off the list next. */
		if (refcount_inc_not_zero(&rds_rs_to_sk(rs)->sk_refcnt))
			socks[n++] = rs;
		if (rs == last)
			break;
	}
	return n;
}

/* The newest socket, counted, or NULL. */
static struct rds_sock *last_sock(struct rds_net *rn)
{
	struct rds_sock *rs;

	lockdep_assert_held(&rn->lock);
	list_for_each_entry_reverse(rs, &rn->sockets, listed)
		if (refcount_inc_not_zero(&rds_rs_to_sk(rs)->sk_refcnt))
			return rs;
	return NULL;
}

/*
 * The sockets that are there when it begins, the oldest first; those that go meanwhile perhaps.
 * Closed ones, too, if @closed.  One that is held stays on the list and keeps the place.
 */
static void each_sock(struct walk *w, bool closed, void (*fn)(struct walk *w, struct rds_sock *rs))
{
	struct rds_sock *socks[SOCKS_AT_ONCE], *at = NULL, *last;
	struct rds_net *rn = w->rn;
	unsigned int i, n;

	spin_lock_bh(&rn->lock);
	last = last_sock(rn);
	while (last) {
		n = next_socks(rn, at, last, socks);
		spin_unlock_bh(&rn->lock);
		for (i = 0; i < n; i++) {
			if (closed || !READ_ONCE(socks[i]->rx.closed))
				fn(w, socks[i]);
			if (at)
				rds_sock_put(at);
			at = socks[i];
		}
		cond_resched();
		spin_lock_bh(&rn->lock);
		if (!n)
			break;
	}
	spin_unlock_bh(&rn->lock);
	if (at)
		rds_sock_put(at);
	if (last)
		rds_sock_put(last);
}

static void walk_socks(struct walk *w)
{
	each_sock(w, false, sock_record);
}

static void walk_sent_messages(struct walk *w)
{
	each_sock(w, true, sock_sent);
	rds_conn_for_each(w->rn, conn_controls, w);
}

static void walk_sock_messages(struct walk *w)
{
	each_sock(w, false, sock_messages);
}

static void ask_transport(struct rds_transport *t, void *arg)
{
	struct walk *w = arg;

	if (t->type != w->src->arg || !t->info)
		return;
	w->known = true;
	t->info(w->rn->net, w->src->opt, w->sink);
}

static void walk_transport(struct walk *w)
{
	w->known = false;
	rds_transport_for_each(ask_transport, w);
}

/* ---- the option -------------------------------------------------------- */

static const struct source sources[] = {
	{ RDS_INFO_COUNTERS, sizeof(struct rds_info_counter), false, 0, walk_counters },
	{ RDS_INFO_CONNECTIONS, sizeof(struct rds_info_connection), false, 0, walk_conns },
	{ RDS6_INFO_CONNECTIONS, sizeof(struct rds6_info_connection), true, 0, walk_conns },
	{ RDS_INFO_SEND_MESSAGES, sizeof(struct rds_info_message), false, LIST_QUEUED,
	  walk_sent_messages },
	{ RDS6_INFO_SEND_MESSAGES, sizeof(struct rds6_info_message), true, LIST_QUEUED,
	  walk_sent_messages },
	{ RDS_INFO_RETRANS_MESSAGES, sizeof(struct rds_info_message), false, LIST_SENT,
	  walk_sent_messages },
	{ RDS6_INFO_RETRANS_MESSAGES, sizeof(struct rds6_info_message), true, LIST_SENT,
	  walk_sent_messages },
	{ RDS_INFO_RECV_MESSAGES, sizeof(struct rds_info_message), false, 0,
	  walk_sock_messages },
	{ RDS6_INFO_RECV_MESSAGES, sizeof(struct rds6_info_message), true, 0,
	  walk_sock_messages },
	{ RDS_INFO_SOCKETS, sizeof(struct rds_info_socket), false, 0, walk_socks },
	{ RDS6_INFO_SOCKETS, sizeof(struct rds6_info_socket), true, 0, walk_socks },
	{ RDS_INFO_TCP_SOCKETS, sizeof(struct rds_info_tcp_socket), false, RDS_TRANS_TCP,
	  walk_transport },
	{ RDS6_INFO_TCP_SOCKETS, sizeof(struct rds6_info_tcp_socket), true, RDS_TRANS_TCP,
	  walk_transport },
	{ RDS_INFO_IB_CONNECTIONS, sizeof(struct rds_info_rdma_connection), false,
	  RDS_TRANS_IB, walk_transport },
	{ RDS6_INFO_IB_CONNECTIONS, sizeof(struct rds6_info_rdma_connection), true,
	  RDS_TRANS_IB, walk_transport },
	{ RDS_INFO_PATHS, sizeof(struct rds_info_path), true, 0, walk_paths },
};

static const struct source *find_source(int opt)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		if (sources[i].opt == opt)
			return &sources[i];
	}
	return NULL;
}

/*
 * The reference pins the buffer first and says EAGAIN if it cannot, before it looks at
 * anything else.  Both ends are enough to keep that order; the copy finds the rest.
 */
static bool writable(char __user *buf, size_t len)
{
	if (!len)
		return true;
	return access_ok(buf, len) && !fault_in_safe_writeable(buf, 1) &&
	       !fault_in_safe_writeable(buf + len - 1, 1);
}

#define FIRST_ROOM	(4 * PAGE_SIZE)
#define MAX_WALKS	8

/*
 * Fill @w->sink, whose buffer is the caller's to free.  More than @limit bytes are only
 * counted.  0 or -ENOMEM.
 */
static int snapshot(struct walk *w, size_t limit)
{
	struct rds_info_sink *s = w->sink;
	size_t room = min(limit, FIRST_ROOM);
	int i;

	for (i = 0; i < MAX_WALKS; i++) {
		kvfree(s->buf);
		s->cap = room;
		s->buf = room ? kvmalloc(room, GFP_KERNEL_ACCOUNT) : NULL;
		if (room && !s->buf)
			return -ENOMEM;
		s->total = 0;
		w->known = true;
		w->src->walk(w);
		if (s->total <= s->cap || s->total > limit)
			return 0;
		room = min(limit, s->total + s->total / 4);
	}
	return 0;
}

static int answer(struct walk *w, char __user *val, int __user *optlen, size_t len)
{
	struct rds_info_sink *s = w->sink;
	int ret = w->src->size;

	if (s->total > min(len, s->cap))
		ret = -ENOSPC;
	else if (copy_to_user(val, s->buf, s->total))
		return -EAGAIN;
	if (put_user((int)min_t(size_t, s->total, INT_MAX), optlen))
		return -EFAULT;
	return ret;
}

/**
 * rds_info_getsockopt() - getsockopt(RDS_INFO_*)
 * @sock: any RDS socket of the namespace
 * @opt: source
 * @val: buffer
 * @optlen: its size; becomes the size of the snapshot on success and with -ENOSPC
 *
 * Return: the size of one record, or -errno.
 */
int rds_info_getsockopt(struct socket *sock, int opt, char __user *val, int __user *optlen)
{
	struct rds_info_sink sink = {};
	struct walk w = {
		.src = find_source(opt),
		.rn = rds_net(sock_net(sock->sk)),
		.sink = &sink,
	};
	int len, ret;

	if (get_user(len, optlen))
		return -EFAULT;
	if (len < 0 || len > INT_MAX - PAGE_SIZE + 1 ||
	    (unsigned long)val + len < (unsigned long)val)
		return -EINVAL;
	if (!writable(val, len))
		return -EAGAIN;
	if (!w.src)
		return -ENOPROTOOPT;

	ret = snapshot(&w, len);
	if (!ret)
		ret = w.known ? answer(&w, val, optlen, len) : -ENOPROTOOPT;
	kvfree(sink.buf);
	return ret;
}
