// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over TCP: incoming connections that wait for their path.
 *
 * A parked socket is in the private area of the path it belongs to.  It has none of our callbacks;
 * TCP collects what arrives.  The core decides when start() adopts it.
 *
 * What TCP collects it also acknowledges.  So a parked socket must not be thrown away
 * when the peer comes once more: they queue up, and each becomes the link in turn.
 *
 * Which path one belongs to may be a guess when it comes.  Once the peer has told that its ports
 * say it, those that wait in a wrong place are moved before any is adopted, or another one parked.
 */
#include <net/inet_sock.h>

#include "tcp.h"

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
		tp->place = pk->place;
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

/* The @n-th parked socket, counted, or NULL; @port: the peer's if that says where it belongs. */
static struct sock *rds_tcp_peek(struct rds_tcp_path *tp, unsigned int n, u16 *port)
{
	struct rds_tcp_parked *pk;
	struct sock *sk = NULL;

	spin_lock_bh(&tp->lock);
	list_for_each_entry(pk, &tp->parked, node) {
		if (n--)
			continue;
		sk = pk->sock->sk;
		sock_hold(sk);
		*port = pk->told ? 0 : pk->place;
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
	u16 port;

	for (i = 0; !out && (sk = rds_tcp_peek(tp, i, &port)); i++) {
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

/**
 * rds_tcp_park() - leave an accepted socket for start() to adopt
 * @p: path
 * @sock: the socket
 * @place: the path that it has told, or else its port
 * @told: it has told it
 *
 * Return: 0, or -ENOMEM, or -EAGAIN if the connection is going away: then it is not taken.
 */
int rds_tcp_park(struct rds_path *p, struct socket *sock, u16 place, bool told)
{
	struct rds_tcp_parked *pk = kmalloc(sizeof(*pk), GFP_KERNEL_ACCOUNT);
	int err;

	if (!pk)
		return -ENOMEM;
	pk->sock = sock;
	pk->place = place;
	pk->told = told;
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

	while ((sk = rds_tcp_peek(tp, i, &port))) {
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

/**
 * rds_tcp_sort_all() - rds_tcp_sort() for all paths
 * @c: the connection
 *
 * Return: 0 or -ENOMEM.
 */
int rds_tcp_sort_all(const struct rds_conn *c)
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
