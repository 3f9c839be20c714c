// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over TCP: incoming connections.
 *
 * The listener's data_ready callback queues the accept work of the namespace, which
 * takes connections from TCP, judges each by its addresses and either resets it or
 * parks it in the private area of the path it belongs to.  A parked socket has none of
 * our callbacks; TCP collects what arrives.  The core decides when start() adopts it.
 *
 * What TCP collects it also acknowledges.  So a parked socket must not be thrown away
 * when the peer comes once more: they queue up, and each becomes the link in turn.
 *
 * Which path one belongs to may be a guess when it comes.  Once the peer has told that its ports
 * say it, those that wait in a wrong place are moved before any is adopted, or another one parked.
 */
#include <linux/in6.h>
#include <linux/sched/mm.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>

#include "tcp.h"

/* Connections taken per run of the work. */
#define RDS_TCP_ACCEPT_BUDGET	32
#define RDS_TCP_ACCEPT_PAUSE	(HZ / 10 + 1)
/* Times to look for a connection that is going away. */
#define RDS_TCP_PLACE_TRIES	20

/**
 * struct rds_tcp_caller - addresses of an incoming connection
 * @laddr: our address
 * @faddr: the peer's
 * @scope: interface of a link-local connection, else 0
 * @fport: the peer's port
 */
struct rds_tcp_caller {
	struct in6_addr laddr;
	struct in6_addr faddr;
	u32 scope;
	u16 fport;
};

/**
 * rds_tcp_reset_sock() - close a socket of ours for good
 * @sock: socket without our callbacks; gone afterwards
 *
 * Resets the connection unless TCP has closed it already, see link.c.
 */
void rds_tcp_reset_sock(struct socket *sock)
{
	sock_no_linger(sock->sk);
	sock_release(sock);
}

/**
 * rds_tcp_listen_ready() - TCP's callback of the listener
 * @sk: the listener, or a connection that nobody accepted yet and that inherited the callback; its
 *	user data may be somebody else's (a sockmap's)
 */
void rds_tcp_listen_ready(struct sock *sk)
{
	struct rds_tcp_net *rn;

	if (READ_ONCE(sk->sk_state) != TCP_LISTEN)
		return;
	rcu_read_lock();
	rn = rcu_dereference_sk_user_data(sk);
	if (rn)
		mod_delayed_work(rds_tcp_wq, &rn->accept, 0);
	rcu_read_unlock();
}

static void rds_tcp_identify(struct sock *sk, struct rds_tcp_caller *c)
{
	const struct inet_sock *inet = inet_sk(sk);

	memset(c, 0, sizeof(*c));
	c->fport = ntohs(inet->inet_dport);
	if (sk->sk_family == AF_INET) {
		ipv6_addr_set_v4mapped(inet->inet_rcv_saddr, &c->laddr);
		ipv6_addr_set_v4mapped(inet->inet_daddr, &c->faddr);
		return;
	}
#if IS_ENABLED(CONFIG_IPV6)
	c->laddr = sk->sk_v6_rcv_saddr;
	c->faddr = sk->sk_v6_daddr;
	if ((ipv6_addr_type(&c->laddr) | ipv6_addr_type(&c->faddr)) & IPV6_ADDR_LINKLOCAL) {
		c->scope = sk->sk_bound_dev_if;
		if (!c->scope)
			c->scope = READ_ONCE(inet6_sk(sk)->mcast_oif);
	}
#endif
}

static void rds_tcp_remove(struct rds_tcp_path *tp, struct rds_tcp_parked *pk)
{
	lockdep_assert_held(&tp->lock);
	list_del(&pk->node);
	WRITE_ONCE(tp->nr_parked, tp->nr_parked - 1);
}

/**
 * rds_tcp_take_parked() - make the oldest parked socket the link's
 * @tp: path without a link, link mutex held
 *
 * In one step, so that turn.c always finds it.
 *
 * Return: the socket or NULL.
 */
struct socket *rds_tcp_take_parked(struct rds_tcp_path *tp)
{
	struct rds_tcp_parked *pk;

	spin_lock_bh(&tp->lock);
	pk = list_first_entry_or_null(&tp->parked, struct rds_tcp_parked, node);
	if (pk) {
		WRITE_ONCE(tp->birth, pk->birth);
		WRITE_ONCE(tp->sock, pk->sock);
		rds_tcp_remove(tp, pk);
	}
	spin_unlock_bh(&tp->lock);
	kfree(pk);
	return tp->sock;
}

/**
 * rds_tcp_announce() - tell the core about parked sockets it may not know of
 * @tp: path; start() has just taken one
 */
void rds_tcp_announce(struct rds_tcp_path *tp)
{
	int err = 0;

	spin_lock_bh(&tp->lock);
	if (tp->nr_parked)
		err = rds_path_accept(tp->path, true);
	spin_unlock_bh(&tp->lock);
	if (err)
		rds_tcp_discard(tp->path);
}

/* Close a parked socket on which nothing waits; nothing is acknowledged on it any more. */
static bool rds_tcp_close_empty(struct sock *sk)
{
	bool empty;

	lock_sock(sk);
	/* A link by now, or something to read? */
	empty = !sk->sk_user_data && !rds_tcp_has_bytes(sk);
	if (empty && sk->sk_state != TCP_CLOSE)
		sk->sk_prot->disconnect(sk, 0);
	release_sock(sk);
	return empty;
}

/* The @n-th parked socket, counted, or NULL. */
static struct sock *rds_tcp_peek(struct rds_tcp_path *tp, unsigned int n)
{
	struct rds_tcp_parked *pk;
	struct sock *sk = NULL;

	spin_lock_bh(&tp->lock);
	list_for_each_entry(pk, &tp->parked, node) {
		if (n--)
			continue;
		sk = pk->sock->sk;
		sock_hold(sk);
		break;
	}
	spin_unlock_bh(&tp->lock);
	return sk;
}

/* Take @sk out of the parked sockets, if it still is one. */
static struct rds_tcp_parked *rds_tcp_pick(struct rds_tcp_path *tp, const struct sock *sk)
{
	struct rds_tcp_parked *pk, *found = NULL;

	spin_lock_bh(&tp->lock);
	list_for_each_entry(pk, &tp->parked, node) {
		if (pk->sock->sk != sk)
			continue;
		rds_tcp_remove(tp, pk);
		found = pk;
		break;
	}
	spin_unlock_bh(&tp->lock);
	return found;
}

static void rds_tcp_throw(struct rds_tcp_parked *pk)
{
	rds_tcp_reset_sock(pk->sock);
	kfree(pk);
}

/* No place is left: give up the oldest parked socket that has brought nothing. */
static void rds_tcp_weed(struct rds_tcp_path *tp)
{
	struct rds_tcp_parked *out = NULL;
	struct sock *sk;
	unsigned int i;

	for (i = 0; !out && (sk = rds_tcp_peek(tp, i)); i++) {
		if (rds_tcp_close_empty(sk))
			out = rds_tcp_pick(tp, sk);
		sock_put(sk);
	}
	if (!out)
		return;
	rds_tcp_count(RDS_TCP_PARKED_REPLACED);
	rds_tcp_throw(out);
}

/* Behind those that came before it. */
static void rds_tcp_insert(struct rds_tcp_path *tp, struct rds_tcp_parked *pk)
{
	struct rds_tcp_parked *before;

	lockdep_assert_held(&tp->lock);
	list_for_each_entry_reverse(before, &tp->parked, node)
		if (rds_tcp_before(before->birth, pk->birth))
			break;
	list_add(&pk->node, &before->node);
	WRITE_ONCE(tp->nr_parked, tp->nr_parked + 1);
}

/* Leave @pk for start() to adopt; takes it, but for -EAGAIN if the connection is going away. */
static int rds_tcp_put(struct rds_path *p, struct rds_tcp_parked *pk, bool again)
{
	struct rds_tcp_path *tp = rds_path_priv(p);
	int err;

	if (READ_ONCE(tp->nr_parked) == RDS_TCP_PARKED_MAX)
		rds_tcp_weed(tp);

	/* One step, so that start() cannot adopt what the core was not told about. */
	spin_lock_bh(&tp->lock);
	err = rds_path_accept(p, again);
	if (!err && tp->nr_parked < RDS_TCP_PARKED_MAX) {
		rds_tcp_insert(tp, pk);
		pk = NULL;
	}
	spin_unlock_bh(&tp->lock);
	/* A tear-down that leaves the peer more time than it needs. */
	rds_path_stop_again(p);

	/* No place: of all of them it is the one that has said least. */
	if (!err && pk) {
		rds_tcp_count(RDS_TCP_PARKED_REPLACED);
		rds_tcp_throw(pk);
	}
	return err;
}

/* As rds_tcp_put(); takes @sock, but for -ENOMEM and -EAGAIN. */
static int rds_tcp_park(struct rds_path *p, struct socket *sock)
{
	struct rds_tcp_parked *pk = kmalloc(sizeof(*pk), GFP_KERNEL_ACCOUNT);
	int err;

	if (!pk)
		return -ENOMEM;
	pk->sock = sock;
	pk->birth = rds_tcp_birth(rds_path_priv(p));
	err = rds_tcp_put(p, pk, false);
	if (err)
		kfree(pk);
	return err;
}

/**
 * rds_tcp_sort() - move parked sockets to the path that their ports tell
 * @tp: path of a peer whose ports do; no TCP socket is locked
 *
 * Context: process, may sleep.
 * Return: 0, or -ENOMEM if that path could not be made.
 */
int rds_tcp_sort(struct rds_tcp_path *tp)
{
	struct rds_tcp_parked *pk;
	unsigned int i = 0;
	struct rds_path *p;
	struct sock *sk;
	u16 port;

	while ((sk = rds_tcp_peek(tp, i))) {
		port = ntohs(READ_ONCE(inet_sk(sk)->inet_dport));
		/* 0: it has been closed, and whoever did that is about to take it away */
		p = port ? rds_conn_accept_path(rds_path_conn(tp->path), port) : tp->path;
		pk = p && p != tp->path ? rds_tcp_pick(tp, sk) : NULL;
		sock_put(sk);
		if (!p)
			return -ENOMEM;
		if (p == tp->path)
			i++;
		else if (pk && rds_tcp_put(p, pk, true))
			rds_tcp_throw(pk);
	}
	return 0;
}

static int rds_tcp_sort_all(const struct rds_conn *c)
{
	struct rds_path *p;
	unsigned int i;
	int err = 0;

	for (i = 0; i < RDS_MAX_PATHS && !err; i++) {
		p = rds_conn_path(c, i);
		if (p)
			err = rds_tcp_sort(rds_path_priv(p));
	}
	return err;
}

/* Find the connection of an accepted socket and give it the socket; -errno: not taken. */
static int rds_tcp_place(struct rds_tcp_net *rn, const struct rds_tcp_caller *caller,
			 struct socket *sock)
{
	struct rds_conn *c;
	struct rds_path *p;
	int err = 0;

	/* A BPF program has put it into a sockmap before we accepted it: it cannot be ours, too. */
	if (READ_ONCE(sock->sk->sk_user_data))
		return -EBUSY;
	c = rds_conn_find_or_create(rn->net, &rds_tcp_transport, &caller->laddr,
				    &caller->faddr, caller->scope, 0);
	if (IS_ERR(c))
		return PTR_ERR(c);
	/* The larger side may only knock, see link.c. */
	if (memcmp(&caller->faddr, &caller->laddr, sizeof(caller->faddr)) >= 0) {
		rds_tcp_count(RDS_TCP_ACCEPT_NUDGE);
		rds_conn_nudged(c);
		rds_tcp_reset_sock(sock);
	} else {
		if (rds_path_is_guess(rds_conn_path(c, 0)))
			rds_tcp_catch_up(c);
		else
			err = rds_tcp_sort_all(c);
		p = err ? NULL : rds_conn_accept_path(c, caller->fport);
		err = p ? rds_tcp_park(p, sock) : -ENOMEM;
	}
	rds_conn_put(c);
	return err;
}

/*
 * Decide what becomes of an accepted connection.  Takes @sock, but for -ENOMEM, and -EAGAIN if
 * the connection that it belongs to takes long to go: try again.
 */
static int rds_tcp_judge(struct rds_tcp_net *rn, struct socket *sock)
{
	unsigned int tries = RDS_TCP_PLACE_TRIES;
	struct rds_tcp_caller caller;
	int err;

	err = rds_tcp_own(rn, sock->sk);
	if (err)
		return err;
	rds_tcp_identify(sock->sk, &caller);
	rds_tcp_set_options(rn, sock);
	/* One that is just being given up has a successor in a moment. */
	while ((err = rds_tcp_place(rn, &caller, sock)) == -EAGAIN && --tries)
		schedule_timeout_uninterruptible(1);
	if (!err || err == -ENOMEM || err == -EAGAIN)
		return err;
	rds_tcp_count(err == -EOPNOTSUPP ? RDS_TCP_ACCEPT_SELF : RDS_TCP_ACCEPT_REFUSED);
	rds_tcp_reset_sock(sock);
	return 0;
}

/* The next connection to judge, or -errno of kernel_accept(). */
static int rds_tcp_next(struct rds_tcp_net *rn, struct socket **sock)
{
	int err;

	*sock = rn->deferred;
	rn->deferred = NULL;
	if (*sock)
		return 0;
	err = kernel_accept(rn->listener, sock, O_NONBLOCK);
	if (err)
		return err;

	/* Cloned from the listener, callback included. */
	lock_sock((*sock)->sk);
	write_lock_bh(&(*sock)->sk->sk_callback_lock);
	WRITE_ONCE((*sock)->sk->sk_data_ready, rn->data_ready);
	write_unlock_bh(&(*sock)->sk->sk_callback_lock);
	release_sock((*sock)->sk);
	return 0;
}

/* Take connections from TCP; true if there may be more. */
static bool rds_tcp_accept_some(struct rds_tcp_net *rn, unsigned long *pause)
{
	struct socket *sock;
	int budget, err;

	*pause = 0;
	for (budget = RDS_TCP_ACCEPT_BUDGET; budget; budget--) {
		err = rds_tcp_next(rn, &sock);
		if (err == -EAGAIN || err == -EINVAL)
			return false;
		if (err == -ECONNABORTED)
			continue;
		if (!err) {
			err = rds_tcp_judge(rn, sock);
			if (err)
				rn->deferred = sock;
		}
		if (err) {
			if (err != -EAGAIN)
				rds_tcp_count(RDS_TCP_ACCEPT_NOMEM);
			*pause = RDS_TCP_ACCEPT_PAUSE;
			break;
		}
	}
	return true;
}

/**
 * rds_tcp_accept_work() - take connections from the listener
 * @work: the namespace's accept work
 *
 * A connection for which there is no memory is kept and tried again: TCP may have
 * acknowledged messages that came by it.
 */
void rds_tcp_accept_work(struct work_struct *work)
{
	struct rds_tcp_net *rn = container_of(to_delayed_work(work), struct rds_tcp_net, accept);
	struct mem_cgroup *old = set_active_memcg(rds_memcg(rn->net));
	unsigned long pause;
	bool more = rds_tcp_accept_some(rn, &pause);

	set_active_memcg(old);
	if (more)
		queue_delayed_work(rds_tcp_wq, &rn->accept, pause);
}

/**
 * rds_tcp_discard() - forget the parked sockets
 * @p: path
 */
void rds_tcp_discard(struct rds_path *p)
{
	struct rds_tcp_path *tp = rds_path_priv(p);
	struct rds_tcp_parked *pk, *next;
	LIST_HEAD(all);

	spin_lock_bh(&tp->lock);
	list_splice_init(&tp->parked, &all);
	WRITE_ONCE(tp->nr_parked, 0);
	spin_unlock_bh(&tp->lock);
	list_for_each_entry_safe(pk, next, &all, node)
		rds_tcp_throw(pk);
}
