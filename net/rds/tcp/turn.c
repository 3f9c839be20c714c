// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over TCP: whose turn it is to be read.
 *
 * Each path empties its old link before it has a new one, which keeps its messages in order.  A
 * peer that pairs paths by order of arrival may leave a link and come back by one that gets
 * another path here.  So the links of such a peer are read in the order in which they came: a new
 * one is not, from its first byte on, before those are empty that are older and that the peer has
 * left, or that we are taking down.
 *
 * If a link turns out to be on a wrong path it is given up there, and the new one comes on the path
 * whose messages both bring.  That one, too, waits.
 *
 * A link waits for older ones only, so they do not wait for each other; and each of them ends:
 * one that the peer has left does not wait for others' memory any more, another one has
 * rds_tcp_drain()'s time.
 */
#include "tcp.h"

static struct rds_tcp_path *rds_tcp_first(const struct rds_tcp_path *tp)
{
	return rds_path_priv(rds_path_first(tp->path));
}

/**
 * rds_tcp_birth() - a link came: its place in the order
 * @tp: path
 *
 * Context: any.
 */
u32 rds_tcp_birth(struct rds_tcp_path *tp)
{
	atomic_t *births = &rds_tcp_first(tp)->births;

	return atomic_inc_return(births) ?: atomic_inc_return(births);
}

static bool rds_tcp_older(u32 birth, const struct rds_tcp_path *tp)
{
	return rds_tcp_before(birth, tp->birth);
}

/* Is the link taken down, or about to be, since it is on a wrong path? */
static bool rds_tcp_goes(const struct rds_tcp_path *tp)
{
	return READ_ONCE(tp->draining) || rds_path_brings(tp->path) != tp->path;
}

static bool rds_tcp_left(const struct sock *sk)
{
	return READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN;
}

/*
 * Does an older parked link of path @q hold back that of @tp?  An older link has to be looked at:
 * @sk, counted.
 */
static bool rds_tcp_parked_waits(struct rds_tcp_path *q, const struct rds_tcp_path *tp,
				 struct sock **sk)
{
	struct rds_tcp_parked *pk;
	bool waits = false;
	u32 birth;

	*sk = NULL;
	spin_lock_bh(&q->lock);
	birth = q->sock ? READ_ONCE(q->birth) : 0;
	list_for_each_entry(pk, &q->parked, node) {
		/*
		 * It was moved there behind a newer link, which may wait for @tp: each waits for
		 * older ones only, or all could wait for ever.
		 */
		if (birth && rds_tcp_before(pk->birth, birth))
			continue;
		waits |= rds_tcp_older(pk->birth, tp) && rds_tcp_left(pk->sock->sk) &&
			 rds_tcp_has_bytes(pk->sock->sk);
	}
	if (birth && rds_tcp_older(birth, tp)) {
		*sk = q->sock->sk;
		sock_hold(*sk);
	}
	spin_unlock_bh(&q->lock);
	return waits;
}

/* The lock: what the backlog has is seen, and who is reading it is through. */
static bool rds_tcp_link_waits(struct rds_tcp_path *q, struct sock *sk)
{
	bool waits;

	lock_sock(sk);
	if (sk->sk_user_data == q)
		waits = q->up && !q->rx.dead &&
			(rds_tcp_left(sk) ? rds_tcp_unread(q, sk) : rds_tcp_goes(q));
	else	/* about to be attached, or gone */
		waits = rds_tcp_left(sk) && rds_tcp_has_bytes(sk);
	release_sock(sk);
	return waits;
}

/* Does path @q hold back the link of @tp?  Then it has to make haste. */
static bool rds_tcp_holds_back(struct rds_tcp_path *q, const struct rds_tcp_path *tp)
{
	struct sock *sk;
	bool waits;

	waits = rds_tcp_parked_waits(q, tp, &sk);
	if (sk) {
		waits |= rds_tcp_link_waits(q, sk);
		sock_put(sk);
	}
	if (waits && !READ_ONCE(q->wanted)) {
		WRITE_ONCE(q->wanted, true);
		rds_path_stop_again(q->path);
	}
	return waits;
}

/* Path @i of the connection; NULL if there is none yet, it is @tp, or nothing to @tp. */
static struct rds_tcp_path *rds_tcp_other(const struct rds_tcp_path *tp, unsigned int i)
{
	struct rds_path *p = rds_conn_path(rds_path_conn(tp->path), i);

	if (!p || p == tp->path || (tp->narrow && rds_path_brings(p) != tp->path))
		return NULL;
	return rds_path_priv(p);
}

/**
 * rds_tcp_ask_turn() - a link is about to be made: might it have to wait?
 * @tp: path
 */
void rds_tcp_ask_turn(struct rds_tcp_path *tp)
{
	unsigned int i;

	tp->narrow = !rds_path_is_guess(tp->path);
	tp->rx.waits = !tp->narrow;
	for (i = 0; i < RDS_MAX_PATHS && !tp->rx.waits; i++)
		tp->rx.waits = rds_tcp_other(tp, i);
}

static bool rds_tcp_is_turn(const struct rds_tcp_path *tp)
{
	struct rds_tcp_path *q;
	unsigned int i;
	bool turn = true;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		q = rds_tcp_other(tp, i);
		if (q && rds_tcp_holds_back(q, tp))
			turn = false;
	}
	return turn;
}

/* Nothing to be seen on an older link of path @q that would hold back that of @tp, nor hidden. */
static bool rds_tcp_is_quiet(struct rds_tcp_path *q, const struct rds_tcp_path *tp)
{
	const struct sock *sk;
	bool quiet;
	u32 birth;

	spin_lock_bh(&q->lock);
	birth = READ_ONCE(q->birth);
	sk = q->sock ? q->sock->sk : NULL;
	quiet = !q->nr_parked &&
		(!sk || !birth || !rds_tcp_older(birth, tp) ||
		 !(rds_tcp_left(sk) || rds_tcp_goes(q) ||
		   READ_ONCE(sk->sk_lock.owned) || READ_ONCE(sk->sk_backlog.len)));
	spin_unlock_bh(&q->lock);
	return quiet;
}

/* The link is read from now on; rds_tcp_send() may have waited for that. */
static void rds_tcp_listens(struct rds_tcp_path *tp)
{
	WRITE_ONCE(tp->rx.waits, false);
	rds_path_kick(tp->path);
}

/**
 * rds_tcp_take_turn() - the link has brought something: is it plain that it may be read?
 * @tp: path with a link
 * @sk: its socket, locked
 *
 * Reading at once is what makes TCP acknowledge at once.
 *
 * Context: any.
 * Return: true if so; else it may or may not be, see rds_tcp_await_turn().
 */
bool rds_tcp_take_turn(struct rds_tcp_path *tp, const struct sock *sk)
{
	struct rds_tcp_path *q;
	unsigned int i;

	if (!READ_ONCE(tp->rx.waits))
		return true;
	if (!rds_tcp_has_bytes(sk))
		return false;
	for (i = 0; i < RDS_MAX_PATHS; i++) {
		q = rds_tcp_other(tp, i);
		if (q && !rds_tcp_is_quiet(q, tp))
			return false;
	}
	rds_tcp_listens(tp);
	return true;
}

/**
 * rds_tcp_await_turn() - may the link be read?  If not, look again in a moment
 * @tp: path with a link
 * @sk: its socket
 *
 * A link that has brought nothing is not asked for yet: what it brings later may follow what the
 * peer leaves on another one meanwhile.
 *
 * Context: process, may sleep; no TCP socket is locked.
 * Return: true if nothing is read for now.
 */
bool rds_tcp_await_turn(struct rds_tcp_path *tp, struct sock *sk)
{
	if (!READ_ONCE(tp->rx.waits))
		return false;
	if (!rds_tcp_has_bytes(sk))
		return true;
	if (rds_tcp_is_turn(tp)) {
		rds_tcp_listens(tp);
		return false;
	}
	rds_tcp_retry_later(tp, RDS_TCP_RETRY_DELAY);
	return true;
}

/**
 * rds_tcp_catch_up() - learn of all links that the peer has left by now
 * @c: connection for which a new link has come
 *
 * Its end was received before the new one, but may still be in the backlog; the new one belongs
 * in its place.
 *
 * Context: process, may sleep; no TCP socket is locked.
 */
void rds_tcp_catch_up(const struct rds_conn *c)
{
	struct rds_tcp_path *tp;
	struct rds_path *p;
	struct sock *sk;
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		p = rds_conn_path(c, i);
		if (!p)
			continue;
		tp = rds_path_priv(p);
		spin_lock_bh(&tp->lock);
		sk = tp->sock ? tp->sock->sk : NULL;
		if (sk)
			sock_hold(sk);
		spin_unlock_bh(&tp->lock);
		if (!sk)
			continue;
		lock_sock(sk);
		release_sock(sk);
		sock_put(sk);
	}
}
