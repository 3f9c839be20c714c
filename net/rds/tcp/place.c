// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over TCP: incoming connections until they have a path.
 *
 * The listener's data_ready callback queues the accept work of the namespace, which takes
 * connections from TCP and judges each: by its addresses, and by the first header that comes.
 * That is only looked at: it stays in TCP's queue, as all that follows, for whoever reads the
 * link.  Then the connection is parked with the path it belongs to (park.c), or reset.
 *
 * A peer that says in its first frame whom it is looking for, and which path this is, says it at
 * once, and sends nothing more before we have answered.  Whether a stranger is one of these we do
 * not know; of the others some say nothing on some links.  So a link waits for its first header:
 * for RDS_TCP_STRANGER if the peer may be of the silent kind, then it is placed by its port or in
 * its turn, and those that came before it are placed before.
 *
 * All of it is the accept work's, of which one runs at a time.  While a connection waits its
 * callbacks queue that work, and its user data is the &struct rds_tcp_newcomer.
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

/* Connections that wait here; when there are more the oldest one waits no more. */
#define RDS_TCP_NEWCOMERS	256
/* How long one waits for its first header if its peer may have nothing to say. */
#define RDS_TCP_STRANGER	(HZ / 5 + 1)
/* And if the peer says it always; also how long the links of a rival have to answer. */
#define RDS_TCP_NEWCOMER_MAX	(5 * HZ)
/* How often it is looked whether they do. */
#define RDS_TCP_RIVAL_LOOK	(HZ / 50 + 1)

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
 * struct rds_tcp_newcomer - an accepted connection that has no path yet
 * @node: rds_tcp_net.newcomers, the oldest first
 * @rcu: freed when no callback looks at it any more
 * @rn: the namespace
 * @sock: the connection
 * @caller: its addresses
 * @since: jiffies when it came
 * @look: jiffies when it has to be looked at
 * @news: it has to be now; set by callbacks
 * @watched: it has our callbacks
 * @tries: times its place could not be found because the connection was going away
 * @asked: TCP's clock when the links of a rival were asked, if @rival
 * @rival: somebody else has links by the same address
 * @forsaken: those were dropped, because they did not answer
 * @data_ready: TCP's own callback, to put back
 * @state_change: likewise
 */
struct rds_tcp_newcomer {
	struct list_head node;
	struct rcu_head rcu;
	struct rds_tcp_net *rn;
	struct socket *sock;
	struct rds_tcp_caller caller;
	unsigned long since;
	unsigned long look;
	bool news;
	bool watched;
	bool rival;
	bool forsaken;
	u8 tries;
	u32 asked;
	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);
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

/* ---- those that wait --------------------------------------------------------------- */

static void rds_tcp_newcomer_ready(struct sock *sk)
{
	struct rds_tcp_newcomer *nc;

	rcu_read_lock();
	nc = rcu_dereference_sk_user_data(sk);
	if (nc) {
		WRITE_ONCE(nc->news, true);
		mod_delayed_work(rds_tcp_wq, &nc->rn->accept, 0);
	}
	rcu_read_unlock();
}

/* Have the work look at it when something comes. */
static void rds_tcp_watch(struct rds_tcp_newcomer *nc)
{
	struct sock *sk = nc->sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	if (!sk->sk_user_data) {
		nc->watched = true;
		nc->data_ready = sk->sk_data_ready;
		nc->state_change = sk->sk_state_change;
		rcu_assign_sk_user_data(sk, nc);
		WRITE_ONCE(sk->sk_data_ready, rds_tcp_newcomer_ready);
		sk->sk_state_change = rds_tcp_newcomer_ready;
	}
	write_unlock_bh(&sk->sk_callback_lock);
	/* It may have come before. */
	WRITE_ONCE(nc->news, rds_tcp_has_bytes(sk));
	release_sock(sk);
}

static void rds_tcp_unwatch(struct rds_tcp_newcomer *nc)
{
	struct sock *sk = nc->sock->sk;

	if (!nc->watched)
		return;
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_data_ready, nc->data_ready);
	sk->sk_state_change = nc->state_change;
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
	nc->watched = false;
}

/* It has a path now, or was reset. */
static void rds_tcp_newcomer_free(struct rds_tcp_newcomer *nc)
{
	list_del(&nc->node);
	nc->rn->nr_newcomers--;
	kfree_rcu(nc, rcu);
}

static void rds_tcp_turn_away(struct rds_tcp_newcomer *nc)
{
	rds_tcp_unwatch(nc);
	rds_tcp_reset_sock(nc->sock);
	rds_tcp_newcomer_free(nc);
}

/* The first header, if it is there; it stays there. */
static bool rds_tcp_peek_hdr(struct socket *sock, struct rds_hdr *h)
{
	const struct tcp_sock *tp = tcp_sk(sock->sk);
	u8 raw[RDS_HDR_LEN];
	struct kvec vec = { .iov_base = raw, .iov_len = sizeof(raw) };
	struct msghdr msg = {};

	/* Less is not asked for: that would take an error off the socket. */
	if (READ_ONCE(tp->rcv_nxt) - READ_ONCE(tp->copied_seq) < RDS_HDR_LEN)
		return false;
	if (kernel_recvmsg(sock, &msg, &vec, 1, sizeof(raw), MSG_PEEK | MSG_DONTWAIT) !=
	    sizeof(raw))
		return false;
	return !rds_hdr_parse(raw, sizeof(raw), h);
}

/* A new connection has room for it. */
static void rds_tcp_say(struct socket *sock, u8 *frame)
{
	struct kvec vec = { .iov_base = frame, .iov_len = RDS_HDR_LEN };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };

	kernel_sendmsg(sock, &msg, &vec, 1, RDS_HDR_LEN);
}

/* It was led back to us; perhaps it has been dialled by us, and waits for an answer. */
static void rds_tcp_say_self(struct rds_tcp_newcomer *nc)
{
	u8 answer[RDS_HDR_LEN];

	rds_net_answer_self(nc->rn->net, &nc->caller.laddr, answer);
	rds_tcp_say(nc->sock, answer);
}

/* ---- places ----------------------------------------------------------------------- */

/* By its port, or the order in which it came. */
static int rds_tcp_guess(struct rds_tcp_newcomer *nc, struct rds_conn *c)
{
	struct rds_path *p;
	int err = 0;

	if (rds_path_is_guess(rds_conn_path(c, 0)))
		rds_tcp_catch_up(c);
	else
		err = rds_tcp_sort_all(c);
	p = err ? NULL : rds_conn_accept_path(c, nc->caller.fport);
	if (!p)
		return -ENOMEM;
	rds_tcp_unwatch(nc);
	return rds_tcp_park(p, nc->sock, nc->caller.fport, false);
}

static bool rds_tcp_same_peer(const struct rds_tcp_newcomer *a, const struct rds_tcp_newcomer *b)
{
	return ipv6_addr_equal(&a->caller.laddr, &b->caller.laddr) &&
	       ipv6_addr_equal(&a->caller.faddr, &b->caller.faddr) &&
	       a->caller.scope == b->caller.scope;
}

/* Those of the same peer that came before it and have said nothing are placed before it. */
static int rds_tcp_guess_all(struct rds_tcp_newcomer *nc, struct rds_conn *c)
{
	struct rds_tcp_newcomer *older, *next;
	int err;

	list_for_each_entry_safe(older, next, &nc->rn->newcomers, node) {
		if (older == nc)
			break;
		if (!rds_tcp_same_peer(older, nc) || older->rival)
			continue;
		err = rds_tcp_guess(older, c);
		if (err)
			return err;
		rds_tcp_newcomer_free(older);
	}
	return rds_tcp_guess(nc, c);
}

static int rds_tcp_take_told(struct rds_tcp_newcomer *nc, struct rds_conn *c, unsigned int index)
{
	struct rds_path *p = rds_conn_told_path(c, index);

	if (!p)
		return -ENOMEM;
	rds_tcp_unwatch(nc);
	return rds_tcp_park(p, nc->sock, index, true);
}

/* Has TCP heard from the other end of this path's link after @asked? */
static bool rds_tcp_path_answers(struct rds_path *p, u32 asked)
{
	struct rds_tcp_path *tp = rds_path_priv(p);
	bool answers = false;

	spin_lock_bh(&tp->lock);
	if (tp->sock && !READ_ONCE(tp->draining))
		answers = (s32)(READ_ONCE(tcp_sk(tp->sock->sk)->rcv_tstamp) - asked) > 0;
	spin_unlock_bh(&tp->lock);
	return answers;
}

static bool rds_tcp_answers(const struct rds_conn *c, u32 asked)
{
	struct rds_path *p;
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		p = rds_conn_path(c, i);
		if (p && rds_tcp_path_answers(p, asked))
			return true;
	}
	return false;
}

/*
 * Somebody else has links by that address.  A peer that was started anew has not: what it does not
 * know any more is reset when we send something there.
 */
static int rds_tcp_rival(struct rds_tcp_newcomer *nc, struct rds_conn *c, const struct rds_hdr *h)
{
	u8 answer[RDS_HDR_LEN];
	bool late;

	if (!nc->rival) {
		nc->rival = true;
		nc->since = jiffies;
		nc->asked = tcp_jiffies32;
		rds_conn_ask(c);
		rds_conn_answer(c, h, true, answer);
		rds_tcp_say(nc->sock, answer);
	}
	late = time_after(jiffies, nc->since + RDS_TCP_NEWCOMER_MAX);
	if (rds_tcp_answers(c, nc->asked) || (late && nc->forsaken)) {
		rds_conn_answer(c, h, false, answer);
		rds_tcp_say(nc->sock, answer);
		return -EADDRINUSE;
	}
	if (late) {
		nc->forsaken = true;
		nc->since = jiffies;
		rds_conn_forsake(c);
	}
	nc->look = jiffies + RDS_TCP_RIVAL_LOOK;
	return -EINPROGRESS;
}

/* It has said nothing so far.  Is it refused if that remains so? */
static int rds_tcp_silent(struct rds_tcp_newcomer *nc, struct rds_conn *c, bool must_speak)
{
	bool left = READ_ONCE(nc->sock->sk->sk_state) != TCP_ESTABLISHED;

	nc->look = nc->since + (rds_conn_tells(c) ? RDS_TCP_NEWCOMER_MAX : RDS_TCP_STRANGER);
	if (!left && time_before(jiffies, nc->look) && nc->rn->nr_newcomers <= RDS_TCP_NEWCOMERS)
		return -EINPROGRESS;
	/* Nothing is lost with it: such a peer waits for our answer. */
	return must_speak ? -ETIMEDOUT : rds_tcp_guess_all(nc, c);
}

/* Where it belongs, if that can be said. */
static int rds_tcp_find_place(struct rds_tcp_newcomer *nc, struct rds_conn *c)
{
	bool have;
	u8 answer[RDS_HDR_LEN];
	enum rds_placing place;
	unsigned int index;
	struct rds_hdr h;

	have = rds_tcp_peek_hdr(nc->sock, &h);
	place = rds_conn_place(c, have ? &h : NULL, &index, answer);
	switch (place) {
	case RDS_PLACE_TOLD:
		return rds_tcp_take_told(nc, c, index);
	case RDS_PLACE_GUESS:
		return rds_tcp_guess_all(nc, c);
	case RDS_PLACE_RIVAL:
		return rds_tcp_rival(nc, c, &h);
	case RDS_PLACE_REFUSED:
		rds_tcp_say(nc->sock, answer);
		return -ECONNREFUSED;
	case RDS_PLACE_LATER:
	case RDS_PLACE_MUST_SPEAK:
		break;
	}
	return rds_tcp_silent(nc, c, place == RDS_PLACE_MUST_SPEAK);
}

/*
 * Find the connection of an accepted socket and give it the socket.  0: it is the path's, or gone;
 * -EINPROGRESS: it has to wait; other errors: not taken.
 */
static int rds_tcp_place(struct rds_tcp_newcomer *nc)
{
	const struct rds_tcp_caller *caller = &nc->caller;
	struct rds_conn *c;
	int err = 0;

	/* A BPF program has put it into a sockmap before we accepted it: it cannot be ours, too. */
	if (!nc->watched && READ_ONCE(nc->sock->sk->sk_user_data))
		return -EBUSY;
	c = rds_conn_find_or_create(nc->rn->net, &rds_tcp_transport, &caller->laddr,
				    &caller->faddr, caller->scope, 0);
	if (IS_ERR(c)) {
		if (c == ERR_PTR(-EOPNOTSUPP))
			rds_tcp_say_self(nc);
		return PTR_ERR(c);
	}
	/* The larger side may only knock, see link.c. */
	if (memcmp(&caller->faddr, &caller->laddr, sizeof(caller->faddr)) >= 0) {
		rds_tcp_count(RDS_TCP_ACCEPT_NUDGE);
		rds_conn_nudged(c);
		rds_tcp_reset_sock(nc->sock);
	} else {
		err = rds_tcp_find_place(nc, c);
	}
	rds_conn_put(c);
	return err;
}

/*
 * Decide what becomes of an accepted connection.  0: it is off the list.  -EINPROGRESS: look at it
 * again when something has come, or at @nc->look.  -ENOMEM: try again later.
 */
static int rds_tcp_judge(struct rds_tcp_newcomer *nc)
{
	int err;

	WRITE_ONCE(nc->news, false);
	err = nc->watched ? 0 : rds_tcp_own(nc->rn, nc->sock->sk);
	err = err ?: rds_tcp_place(nc);
	switch (err) {
	case 0:
		rds_tcp_newcomer_free(nc);
		return 0;
	case -EAGAIN:
		/* One that is just being given up has a successor in a moment. */
		nc->look = jiffies + (nc->tries < RDS_TCP_PLACE_TRIES ? 1 : RDS_TCP_ACCEPT_PAUSE);
		nc->tries = min(nc->tries + 1, RDS_TCP_PLACE_TRIES);
		return -EINPROGRESS;
	case -ENOMEM:
		rds_tcp_count(RDS_TCP_ACCEPT_NOMEM);
		nc->look = jiffies + RDS_TCP_ACCEPT_PAUSE;
		return err;
	case -EINPROGRESS:
		if (!nc->watched)
			rds_tcp_watch(nc);
		return err;
	}
	rds_tcp_count(err == -EOPNOTSUPP ? RDS_TCP_ACCEPT_SELF : RDS_TCP_ACCEPT_REFUSED);
	rds_tcp_turn_away(nc);
	return 0;
}

/* The next connection to judge, or -errno. */
static int rds_tcp_next(struct rds_tcp_net *rn)
{
	struct rds_tcp_newcomer *nc;
	struct socket *sock;
	int err;

	/* Those for which there is no memory. */
	if (rn->nr_newcomers >= 2 * RDS_TCP_NEWCOMERS)
		return -ENOMEM;
	nc = kzalloc(sizeof(*nc), GFP_KERNEL_ACCOUNT);
	if (!nc)
		return -ENOMEM;
	err = kernel_accept(rn->listener, &sock, O_NONBLOCK);
	if (err) {
		kfree(nc);
		return err;
	}

	/* Cloned from the listener, callback included. */
	lock_sock(sock->sk);
	write_lock_bh(&sock->sk->sk_callback_lock);
	WRITE_ONCE(sock->sk->sk_data_ready, rn->data_ready);
	write_unlock_bh(&sock->sk->sk_callback_lock);
	release_sock(sock->sk);

	nc->rn = rn;
	nc->sock = sock;
	nc->since = jiffies;
	nc->look = jiffies;
	rds_tcp_identify(sock->sk, &nc->caller);
	rds_tcp_set_options(rn, sock);
	list_add_tail(&nc->node, &rn->newcomers);
	rn->nr_newcomers++;
	return 0;
}

/* Take connections from TCP.  How long until the next run, MAX_SCHEDULE_TIMEOUT = none is due. */
static unsigned long rds_tcp_accept(struct rds_tcp_net *rn)
{
	int budget, err;

	for (budget = RDS_TCP_ACCEPT_BUDGET; budget; budget--) {
		err = rds_tcp_next(rn);
		if (!err || err == -ECONNABORTED)
			continue;
		if (err == -EAGAIN || err == -EINVAL)
			return MAX_SCHEDULE_TIMEOUT;
		rds_tcp_count(RDS_TCP_ACCEPT_NOMEM);
		return RDS_TCP_ACCEPT_PAUSE;
	}
	return 0;
}

/* Is it time to look at it?  With too many, at those that came first. */
static bool rds_tcp_is_due(const struct rds_tcp_newcomer *nc)
{
	return READ_ONCE(nc->news) || !time_before(jiffies, nc->look) ||
	       nc->rn->nr_newcomers > RDS_TCP_NEWCOMERS;
}

static unsigned long rds_tcp_next_look(const struct rds_tcp_newcomer *nc)
{
	unsigned long now = jiffies;

	return READ_ONCE(nc->news) || !time_before(now, nc->look) ? 0 : nc->look - now;
}

/* Judge those for which it is time.  How long until it is for the next one. */
static unsigned long rds_tcp_judge_all(struct rds_tcp_net *rn)
{
	unsigned long wait = MAX_SCHEDULE_TIMEOUT;
	struct rds_tcp_newcomer *nc, *next;

	/* Judging one may take others off the list, but none that came after it. */
	list_for_each_entry_safe(nc, next, &rn->newcomers, node)
		if (!rds_tcp_is_due(nc) || rds_tcp_judge(nc))
			wait = min(wait, rds_tcp_next_look(nc));
	return wait;
}

/**
 * rds_tcp_accept_work() - take connections from the listener, and find their places
 * @work: the namespace's accept work
 *
 * A connection for which there is no memory is kept and tried again: TCP may have
 * acknowledged messages that came by it.
 */
void rds_tcp_accept_work(struct work_struct *work)
{
	struct rds_tcp_net *rn = container_of(to_delayed_work(work), struct rds_tcp_net, accept);
	struct mem_cgroup *old = set_active_memcg(rds_memcg(rn->net));
	unsigned long more = rds_tcp_accept(rn);

	more = min(more, rds_tcp_judge_all(rn));
	set_active_memcg(old);
	if (more != MAX_SCHEDULE_TIMEOUT)
		queue_delayed_work(rds_tcp_wq, &rn->accept, more);
}

/**
 * rds_tcp_forget_newcomers() - reset the connections that have no path yet
 * @rn: the namespace, whose accept work runs no more
 */
void rds_tcp_forget_newcomers(struct rds_tcp_net *rn)
{
	struct rds_tcp_newcomer *nc, *next;

	list_for_each_entry_safe(nc, next, &rn->newcomers, node)
		rds_tcp_turn_away(nc);
}
