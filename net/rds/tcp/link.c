// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over TCP: the life of one link.
 *
 * A link is made in start(), by dialling or by adopting a parked socket, and ends in
 * stop(); the core serialises both with the link mutex.  Between them TCP calls
 * rds_tcp_state_change(), rds_tcp_data_ready() and rds_tcp_write_space(), always under
 * the TCP socket lock.  They are installed and removed under that lock, so when
 * rds_tcp_detach() returns none of them runs and none will.
 *
 * Only a link from the smaller to the larger address carries messages.  If the larger
 * side dials, that is a nudge: the peer accepts, closes and dials back.
 *
 * Namespaces.  No socket here holds a counted reference to its namespace, or a
 * namespace with an idle link could never be removed; the namespace's exit handler
 * stops every link instead.  What makes that safe: a kernel socket holds a passive
 * reference, so struct net itself stays; tcp_close() stops the timers of a socket
 * without a counted reference and waits for them; TIME_WAIT and request sockets of a
 * dying namespace are purged by TCP itself.  But a socket that is closed gracefully
 * would, without its timers, linger in FIN_WAIT or LAST_ACK for ever if a FIN is
 * lost.  So stop() waits until TCP has reached CLOSE and closes everything else with
 * a zero linger time; no orphan is left behind either way.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>

#include "tcp.h"

/* How long stop() waits for the peer. */
#define RDS_TCP_DRAIN_MAX	(5 * HZ)	/* all together */
#define RDS_TCP_DRAIN_PARKED	HZ		/* if a new link waits */
#define RDS_TCP_CLOSE_MAX	HZ		/* for the last ACK, nothing more can come */
#define RDS_TCP_NUDGE_MAX	HZ		/* for the peer's reset */

#define RDS_TCP_KEEP_IDLE	5
#define RDS_TCP_KEEP_INTVL	5
#define RDS_TCP_KEEP_CNT	5

/* Links made anew for a sysctl before the others wait a moment. */
#define RDS_TCP_RESIZE_BURST	64
#define RDS_TCP_RESIZE_PAUSE	(HZ / 20 + 1)

/*
 * Give up a connect after 7 s and dial anew, instead of waiting ever longer between SYNs; to this
 * TCP adds tcp_syn_linear_timeouts.
 */
#define RDS_TCP_SYN_COUNT	1

/* Ports looked at in one attempt to connect: where more are in use the next one goes on. */
#define RDS_TCP_PORT_TRIES	64

union rds_tcp_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

static int rds_tcp_addr(union rds_tcp_addr *a, const struct in6_addr *addr, u16 port, u32 scope)
{
	memset(a, 0, sizeof(*a));
	if (ipv6_addr_v4mapped(addr)) {
		a->in.sin_family = AF_INET;
		a->in.sin_addr.s_addr = addr->s6_addr32[3];
		a->in.sin_port = htons(port);
		return sizeof(a->in);
	}
	a->in6.sin6_family = AF_INET6;
	a->in6.sin6_addr = *addr;
	a->in6.sin6_port = htons(port);
	if (ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL)
		a->in6.sin6_scope_id = scope;
	return sizeof(a->in6);
}

/* Buffer sizes as the sysctls say; TCP socket locked. */
static void rds_tcp_set_sizes(struct rds_tcp_net *rn, struct sock *sk)
{
	int sndbuf = READ_ONCE(rn->sndbuf);
	int rcvbuf = READ_ONCE(rn->rcvbuf);

	if (sndbuf > 0) {
		WRITE_ONCE(sk->sk_sndbuf, sndbuf);
		sk->sk_userlocks |= SOCK_SNDBUF_LOCK;
	}
	if (rcvbuf > 0) {
		WRITE_ONCE(sk->sk_rcvbuf, rcvbuf);
		sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	}
}

/**
 * rds_tcp_set_options() - options of every data socket
 * @rn: the namespace
 * @sock: new socket, not shared yet
 *
 * Allocations under the TCP socket lock must not enter file systems or wait for a
 * block device that itself may sit on a kernel TCP socket.
 */
void rds_tcp_set_options(struct rds_tcp_net *rn, struct socket *sock)
{
	struct sock *sk = sock->sk;

	tcp_sock_set_nodelay(sk);
	WRITE_ONCE(tcp_sk(sk)->notsent_lowat, RDS_TCP_UNSENT);
	sock_set_keepalive(sk);
	tcp_sock_set_keepcnt(sk, RDS_TCP_KEEP_CNT);
	tcp_sock_set_keepidle(sk, RDS_TCP_KEEP_IDLE);
	tcp_sock_set_keepintvl(sk, RDS_TCP_KEEP_INTVL);
	tcp_sock_set_user_timeout(sk, RDS_TCP_USER_TIMEOUT);
	tcp_sock_set_syncnt(sk, RDS_TCP_SYN_COUNT);

	lock_sock(sk);
	sk->sk_allocation = GFP_NOIO;
	sk->sk_use_task_frag = false;
	rds_tcp_set_sizes(rn, sk);
	release_sock(sk);
}

#ifdef CONFIG_MEMCG
/* Charge @memcg with what @sk has received by now. */
static int rds_tcp_charge_past(struct sock *sk, struct mem_cgroup *memcg)
{
	int pages = sk_mem_pages(sk->sk_forward_alloc + atomic_read(&sk->sk_rmem_alloc));
	int bytes = pages << PAGE_SHIFT;

	if (!bytes)
		return 0;
	/* Once more, and give it back where only TCP counts it twice. */
	sk->sk_memcg = memcg;
	if (!__sk_mem_schedule(sk, bytes, SK_MEM_RECV)) {
		sk->sk_memcg = NULL;
		return -ENOMEM;
	}
	sk->sk_memcg = NULL;
	__sk_mem_reclaim(sk, bytes);
	return 0;
}

/**
 * rds_tcp_own() - let a socket that a work has made charge the group of its namespace
 * @rn: the namespace
 * @sk: new socket, nothing was sent on it
 *
 * TCP has looked for the group of the task, which a work has not.
 *
 * Return: 0, or -ENOMEM if the group is full; it may be called again.
 */
int rds_tcp_own(struct rds_tcp_net *rn, struct sock *sk)
{
	struct mem_cgroup *memcg = rds_memcg(rn->net);
	int err = 0;

	if (!memcg || !mem_cgroup_sockets_enabled || !cgroup_subsys_on_dfl(memory_cgrp_subsys))
		return 0;
	lock_sock(sk);
	if (!sk->sk_memcg) {
		err = rds_tcp_charge_past(sk, memcg);
		if (!err) {
			css_get(&memcg->css);	/* sk_free() puts it */
			sk->sk_memcg = memcg;
		}
	}
	release_sock(sk);
	return err;
}
#else
int rds_tcp_own(struct rds_tcp_net *rn, struct sock *sk)
{
	return 0;
}
#endif

/**
 * rds_tcp_resize() - apply a sysctl to a path: its link is made anew
 * @p: path
 * @arg: &struct rds_tcp_resize
 *
 * After a number of links the others wait, so that they do not all come back at once.
 *
 * Context: process, may sleep.
 */
void rds_tcp_resize(struct rds_path *p, void *arg)
{
	struct rds_tcp_path *tp = rds_path_priv(p);
	struct rds_tcp_resize *r = arg;

	rds_path_drop(p, READ_ONCE(tp->epoch), -ECONNABORTED);
	if (++r->dropped % RDS_TCP_RESIZE_BURST == 0 && !signal_pending(current))
		schedule_timeout_interruptible(RDS_TCP_RESIZE_PAUSE);
}

/* The link is established; TCP socket locked.  False if the core is about to start() anew. */
static bool rds_tcp_link_up(struct rds_tcp_path *tp, struct sock *sk)
{
	rds_tcp_tx_begin(tp, sk);
	if (!tp->birth)
		WRITE_ONCE(tp->birth, rds_tcp_birth(tp));
	tp->up = rds_path_link_up(tp->path, tp->epoch);
	return tp->up;
}

static int rds_tcp_why(const struct sock *sk)
{
	return sk->sk_err ? -sk->sk_err : -ECONNRESET;
}

static void rds_tcp_state_change(struct sock *sk)
{
	struct rds_tcp_path *tp;

	rcu_read_lock();
	tp = rcu_dereference_sk_user_data(sk);
	if (!tp)
		goto out;

	switch (sk->sk_state) {
	case TCP_ESTABLISHED:
		if (rds_path_is_active(tp->path))
			rds_tcp_link_up(tp, sk);
		else
			rds_path_drop(tp->path, tp->epoch, -EAGAIN);
		break;
	case TCP_CLOSE_WAIT:
	case TCP_LAST_ACK:
	case TCP_CLOSE:
		rds_path_drop(tp->path, tp->epoch, rds_tcp_why(sk));
		break;
	}
	rds_tcp_event(tp);
out:
	rcu_read_unlock();
}

/* Make @sock the link and take over TCP's callbacks; TCP socket locked. */
static void rds_tcp_attach(struct rds_tcp_path *tp, struct socket *sock)
{
	struct sock *sk = sock->sk;

	spin_lock_bh(&tp->lock);
	WRITE_ONCE(tp->sock, sock);
	spin_unlock_bh(&tp->lock);

	write_lock_bh(&sk->sk_callback_lock);
	tp->data_ready = sk->sk_data_ready;
	tp->state_change = sk->sk_state_change;
	tp->write_space = sk->sk_write_space;
	rds_tcp_tx_begin(tp, sk);
	rcu_assign_sk_user_data(sk, tp);
	WRITE_ONCE(sk->sk_data_ready, rds_tcp_data_ready);
	sk->sk_state_change = rds_tcp_state_change;
	sk->sk_write_space = rds_tcp_write_space;
	write_unlock_bh(&sk->sk_callback_lock);
}

/*
 * Give TCP its callbacks back.  Afterwards none of ours runs, and the connection is closed:
 * TCP must not acknowledge anything any more that nobody is going to read.
 */
static void rds_tcp_detach(struct rds_tcp_path *tp, struct sock *sk)
{
	lock_sock(sk);
	rds_tcp_read(tp, sk, true);
	rds_tcp_settle(tp, sk);
	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_data_ready, tp->data_ready);
	sk->sk_state_change = tp->state_change;
	sk->sk_write_space = tp->write_space;
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	if (sk->sk_state != TCP_CLOSE)
		sk->sk_prot->disconnect(sk, 0);
	release_sock(sk);
}

/*
 * Bind to the path's local address, but to no port: what is bound the kernel gives to no other
 * program's connect(), whomever that calls.
 */
static int rds_tcp_bind(const struct rds_path *p, struct socket *sock)
{
	union rds_tcp_addr a;
	int len = rds_tcp_addr(&a, rds_path_laddr(p), 0, rds_path_scope(p));

	inet_set_bit(BIND_ADDRESS_NO_PORT, sock->sk);
	return kernel_bind(sock, &a.sa, len);
}

/*
 * Connect, as any program does: a port may serve for many peers.  The low three bits of ours tell
 * the peer which path this is: A + 8 * group + index.
 */
static int rds_tcp_connect(const struct rds_path *p, struct socket *sock,
			   union rds_tcp_addr *peer, int len)
{
	struct rds_tcp_net *rn = rds_tcp_net(rds_path_net(p));
	struct inet_sock *inet = inet_sk(sock->sk);
	int low, high, groups, n, port = 0, err = -EADDRNOTAVAIL;
	u32 group;

	inet_get_local_port_range(rds_path_net(p), &low, &high);
	low = round_up(low, RDS_MAX_PATHS);
	groups = (high + 1 - low) / RDS_MAX_PATHS;

	for (n = min(groups, RDS_TCP_PORT_TRIES); n > 0 && err == -EADDRNOTAVAIL; n--) {
		group = (u32)atomic_inc_return(&rn->next_group) % groups;
		port = low + RDS_MAX_PATHS * group + rds_path_index(p);
		WRITE_ONCE(inet->local_port_range, (u32)port << 16 | port);
		err = kernel_connect(sock, &peer->sa, len, O_NONBLOCK);
		cond_resched();
	}
	if (err == -EADDRNOTAVAIL)
		rds_tcp_count(RDS_TCP_NO_SOURCE_PORT);
	if (err && err != -EINPROGRESS)
		return err;
	/* TCP does not keep to our choice if the range has just been changed. */
	return READ_ONCE(inet->inet_sport) == htons(port) ? 0 : -EAGAIN;
}

static int rds_tcp_dial(struct rds_tcp_path *tp)
{
	const struct rds_path *p = tp->path;
	union rds_tcp_addr peer;
	struct socket *sock;
	int len, err;

	len = rds_tcp_addr(&peer, rds_path_faddr(p), RDS_TCP_PORT, rds_path_scope(p));
	err = sock_create_kern(rds_path_net(p), peer.sa.sa_family, SOCK_STREAM, IPPROTO_TCP,
			       &sock);
	if (err)
		return err;

	rds_tcp_own(rds_tcp_net(rds_path_net(p)), sock->sk);
	rds_tcp_set_options(rds_tcp_net(rds_path_net(p)), sock);
	err = rds_tcp_bind(p, sock);
	if (err) {
		sock_release(sock);
		return err;
	}

	rds_tcp_ask_turn(tp);
	lock_sock(sock->sk);
	rds_tcp_attach(tp, sock);
	release_sock(sock->sk);
	return rds_tcp_connect(p, sock, &peer, len);
}

/*
 * Make the oldest parked socket the link.  If there are more the core hears of it again
 * and goes on to the next, after stop() has emptied this one.
 */
static int rds_tcp_adopt(struct rds_tcp_path *tp)
{
	struct socket *sock;
	struct sock *sk;
	int err;

	rds_tcp_ask_turn(tp);
	if (tp->narrow) {
		err = rds_tcp_sort(tp);
		if (err) {
			schedule_timeout_uninterruptible(RDS_TCP_RETRY_DELAY);
			return err;
		}
		/* Links of other paths may have been placed anew, too. */
		rds_tcp_ask_turn(tp);
	}
	sock = rds_tcp_take_parked(tp);
	if (!sock)
		return -ENOENT;

	sk = sock->sk;
	rds_tcp_await_turn(tp, sk);
	lock_sock(sk);
	/* They may have changed while it was parked. */
	rds_tcp_set_sizes(rds_tcp_net(rds_path_net(tp->path)), sk);
	rds_tcp_attach(tp, sock);
	rds_path_peer_port(tp->path, tp->place);
	if (rds_tcp_link_up(tp, sk)) {
		/* What came before the callbacks were ours has told nobody. */
		if (rds_tcp_take_turn(tp, sk))
			rds_tcp_read(tp, sk, false);
		else
			rds_tcp_retry_later(tp, 0);
		/* The peer may have closed it by now; what it sent before counts. */
		if (sk->sk_state != TCP_ESTABLISHED)
			rds_path_drop(tp->path, tp->epoch, rds_tcp_why(sk));
	}
	release_sock(sk);
	rds_tcp_announce(tp);
	return 0;
}

/**
 * rds_tcp_start() - make a link
 * @p: path without a link
 * @epoch: goes with every upcall about this link
 * @adopt: take the parked socket instead of dialling
 *
 * Return: 0, the outcome is told by upcalls; or -errno.
 */
int rds_tcp_start(struct rds_path *p, u32 epoch, bool adopt)
{
	struct rds_tcp_path *tp = rds_path_priv(p);
	struct mem_cgroup *old;
	int err;

	if (WARN_ON_ONCE(tp->sock))
		return -EISCONN;
	tp->epoch = epoch;
	old = set_active_memcg(rds_memcg(rds_path_net(p)));
	err = adopt ? rds_tcp_adopt(tp) : rds_tcp_dial(tp);
	set_active_memcg(old);
	return err;
}

/* How long may stop() still wait, given when it began and what has been reached? */
static unsigned long rds_tcp_drain_limit(struct rds_tcp_path *tp, struct sock *sk)
{
	unsigned int parked = READ_ONCE(tp->nr_parked);

	/* The peer has left this link twice: it says no more on it. */
	if (parked > 1)
		return 0;
	switch (sk->sk_state) {
	case TCP_CLOSE:
		return 0;
	case TCP_CLOSING:
	case TCP_LAST_ACK:
		/* All was received; worth a moment to learn what the peer has. */
		return RDS_TCP_CLOSE_MAX;
	default:
		/* Only a nudge needs time; what else is sent on it would be lost. */
		if (!tp->up)
			return parked || rds_path_is_active(tp->path) ? 0 : RDS_TCP_NUDGE_MAX;
		/* The new one may be on another path, where this one belongs. */
		parked |= READ_ONCE(tp->wanted) && rds_path_brings(tp->path) != tp->path;
		return parked ? RDS_TCP_DRAIN_PARKED : RDS_TCP_DRAIN_MAX;
	}
}

/*
 * Orderly end: send what is in TCP's queue and a FIN, receive and deliver until the
 * peer's FIN.  The peer may be gone, so the time is limited, but not the one for our own memory.
 * Returns what is left of it, 0 when there is nothing to wait for.
 */
static unsigned long rds_tcp_drain(struct rds_tcp_path *tp)
{
	struct sock *sk = tp->sock->sk;
	unsigned long limit, spent;
	bool waits, left, nomem;

	waits = rds_tcp_await_turn(tp, sk);
	lock_sock(sk);
	waits &= rds_tcp_unread(tp, sk);
	if (!tp->draining || waits)
		tp->drain_since = jiffies;
	if (!tp->draining) {
		WRITE_ONCE(tp->draining, true);
		release_sock(sk);
		kernel_sock_shutdown(tp->sock, SHUT_WR);
		lock_sock(sk);
	}
	/* Others wait for what the peer has left here: it may not wait for others' memory. */
	rds_tcp_read(tp, sk, READ_ONCE(tp->wanted) && sk->sk_shutdown & RCV_SHUTDOWN && !waits);
	limit = rds_tcp_drain_limit(tp, sk);
	left = rds_tcp_unread(tp, sk);
	/* The retry work is on it. */
	if (left && !limit)
		limit = RDS_TCP_CLOSE_MAX;
	spent = jiffies - tp->drain_since;
	if (left && !waits && spent >= limit)
		rds_tcp_read(tp, sk, true);
	nomem = rds_tcp_unread(tp, sk);
	release_sock(sk);

	if (spent < limit)
		return limit - spent;
	/* The peer has forgotten it, so it would be lost with the socket. */
	if (nomem)
		return RDS_TCP_CLOSE_MAX;
	if (tp->up && (left || limit > RDS_TCP_CLOSE_MAX))
		rds_tcp_count(RDS_TCP_DRAIN_TIMEOUT);
	return 0;
}

/* Has the peer something to say that is worth waiting for? */
static bool rds_tcp_may_drain(const struct rds_tcp_path *tp)
{
	/* Neither a socket that is still connecting nor a broken stream has. */
	return !tp->rx.dead && !READ_ONCE(tp->evicted) &&
	       tp->sock->sk->sk_state != TCP_SYN_SENT;
}

/**
 * rds_tcp_stop() - take the link down
 * @p: path, link mutex held
 * @abort: do not wait for the peer, reset the connection
 *
 * Return: 0 when it is down, else how long the peer still has.
 */
unsigned long rds_tcp_stop(struct rds_path *p, bool abort)
{
	struct rds_tcp_path *tp = rds_path_priv(p);
	struct socket *sock = tp->sock;
	unsigned long wait;

	if (sock) {
		wait = !abort && rds_tcp_may_drain(tp) ? rds_tcp_drain(tp) : 0;
		if (wait)
			return wait;
		rds_tcp_detach(tp, sock->sk);
		spin_lock_bh(&tp->lock);
		WRITE_ONCE(tp->sock, NULL);
		WRITE_ONCE(tp->birth, 0);
		spin_unlock_bh(&tp->lock);
	}
	cancel_delayed_work_sync(&tp->retry);
	tp->up = false;
	WRITE_ONCE(tp->draining, false);
	WRITE_ONCE(tp->wanted, false);
	tp->tx_starved = false;
	rds_tcp_tx_reset(tp);
	rds_tcp_rx_reset(tp, sock ? sock->sk : NULL);
	if (sock)
		rds_tcp_reset_sock(sock);
	/* If the core gave up an adoption it still has to know what is parked. */
	rds_tcp_announce(tp);
	return 0;
}

/**
 * rds_tcp_retry_later() - go on in a moment with what stopped for lack of memory
 * @tp: path with a link
 * @delay: how long that is
 */
void rds_tcp_retry_later(struct rds_tcp_path *tp, unsigned long delay)
{
	if (!queue_delayed_work(rds_tcp_wq, &tp->retry, delay) &&
	    time_after(READ_ONCE(tp->retry.timer.expires), jiffies + delay))
		mod_delayed_work(rds_tcp_wq, &tp->retry, delay);	/* it was to cool */
}

/**
 * rds_tcp_cool_later() - have send() called when the path may be idle
 * @tp: path with a link, link mutex held
 */
void rds_tcp_cool_later(struct rds_tcp_path *tp)
{
	queue_delayed_work(rds_tcp_wq, &tp->retry, RDS_TCP_COOLING * HZ);
}

/* Cancelled by stop() before the socket goes away. */
static void rds_tcp_retry_work(struct work_struct *work)
{
	struct rds_tcp_path *tp = container_of(to_delayed_work(work), struct rds_tcp_path, retry);
	struct socket *sock = READ_ONCE(tp->sock);
	struct sock *sk;

	if (!sock)
		return;

	sk = sock->sk;
	rds_tcp_await_turn(tp, sk);
	lock_sock(sk);
	if (sk->sk_user_data == tp && !tp->rx.waits && (tp->rx.starved || rds_tcp_has_bytes(sk))) {
		rds_tcp_read(tp, sk, false);
		rds_tcp_event(tp);
	}
	release_sock(sk);
	if (READ_ONCE(tp->tx_starved) || READ_ONCE(tp->tx.batch)) {
		WRITE_ONCE(tp->tx_starved, false);
		rds_path_kick(tp->path);
	}
}

/**
 * rds_tcp_path_init() - prepare the private area of a new path
 * @p: path
 *
 * Return: 0.
 */
int rds_tcp_path_init(struct rds_path *p)
{
	struct rds_tcp_path *tp = rds_path_priv(p);

	tp->path = p;
	spin_lock_init(&tp->lock);
	INIT_DELAYED_WORK(&tp->retry, rds_tcp_retry_work);
	INIT_LIST_HEAD(&tp->parked);
	INIT_LIST_HEAD(&tp->partial_node);
	rds_stream_reset(&tp->rx.stream);
	return 0;
}

/**
 * rds_tcp_path_free() - release what belongs to a path
 * @p: path that was stopped
 */
void rds_tcp_path_free(struct rds_path *p)
{
	rds_tcp_discard(p);
	rds_tcp_tx_reset(rds_path_priv(p));
}
