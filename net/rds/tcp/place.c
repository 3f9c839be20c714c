// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over TCP: incoming connections until they have a path.
 *
 * The listener's data_ready callback queues the accept work of the namespace, which takes
 * connections from TCP, judges each by its addresses and either resets it or parks it with
 * the path it belongs to (park.c).
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
