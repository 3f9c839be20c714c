// SPDX-License-Identifier: GPL-2.0
/*
 * The address family: create, release, bind, connect, names, poll, ioctl, and the errnos
 * of their addresses.
 *
 * Everything here runs in process context, except rds_tx_release() and the destructor.
 * Bind, connect and options hold the socket lock; send and receive never do.
 */
#include <linux/compat.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/sockios.h>
#include <net/ipv6.h>
#include <asm/ioctls.h>

#include "core.h"
#include "socket.h"

/* ---- addresses --------------------------------------------------------- */

static const int sa_bind_errno[RDS_SA_NR] = {
	[RDS_SA_SHORT] = -EINVAL,
	[RDS_SA_FAMILY] = -EINVAL,
	[RDS_SA_V4_ANY] = -EINVAL,
	[RDS_SA_V4_BAD] = -EINVAL,
	[RDS_SA_V6_BAD] = -EINVAL,
	[RDS_SA_V6_SCOPE] = -EINVAL,
};

static const int sa_connect_errno[RDS_SA_NR] = {
	[RDS_SA_SHORT] = -EINVAL,
	[RDS_SA_FAMILY] = -EAFNOSUPPORT,
	[RDS_SA_V4_ANY] = -EDESTADDRREQ,
	[RDS_SA_V4_BAD] = -EINVAL,
	[RDS_SA_V6_BAD] = -EPROTOTYPE,
	[RDS_SA_V6_SCOPE] = -EINVAL,
};

/* ---- bind, connect, names ---------------------------------------------- */

/* Nobody owns the address: because it is not one of this host, or because nobody is there? */
static void bind_complain(const struct net *net, const struct rds_addr *a)
{
	union {
		struct sockaddr any;
		struct sockaddr_in6 room;
	} name;

	rds_sockaddr_fill(&name, a);
	if (rds_transport_serves(net))
		pr_info_ratelimited("rds: no local address %pISc\n", &name.any);
	else
		pr_info_ratelimited("rds: no transport for address %pISc: load rds_tcp or rds_rdma\n",
				    &name.any);
}

/* The transport for a bind; a chosen one must own the address. */
static int bind_transport(struct rds_sock *rs, const struct rds_addr *a,
			  struct rds_transport **t)
{
	struct net *net = sock_net(&rs->sk);

	*t = rs->trans;
	if (*t)
		return rds_transport_owns(*t, net, &a->ip, a->scope) ? 0 : -ENOPROTOOPT;
	*t = rds_transport_for_addr(net, &a->ip, a->scope);
	if (*t)
		return 0;
	bind_complain(net, a);
	return -EADDRNOTAVAIL;
}

static int bind_locked(struct rds_sock *rs, const struct rds_addr *a)
{
	struct rds_net *rn = rds_net(sock_net(&rs->sk));
	struct rds_transport *t;
	u16 port;
	int err;

	if (rds_is_bound(rs))
		return -EINVAL;
	/* Not bound, so a scope can only come from a link-local peer. */
	if (a->scope && rs->scope && a->scope != rs->scope)
		return -EINVAL;
	err = bind_transport(rs, a, &t);
	if (err)
		return err;

	err = -EINVAL;
	if (a->port == RDS_PORT_PROBE)
		goto err_trans;
	rs->map = rds_cong_map_get(rn, &a->ip, a->scope);
	err = -ENOMEM;
	if (!rs->map)
		goto err_trans;
	err = rds_port_bind(rn, rs, a, &port);
	if (err)
		goto err_map;

	rs->trans = t;
	if (a->scope) {
		spin_lock_bh(&rs->addr_lock);
		WRITE_ONCE(rs->scope, a->scope);
		spin_unlock_bh(&rs->addr_lock);
	}
	/* Pairs with rds_is_bound(): who sees it sees address, map and transport. */
	smp_store_release(&rs->is_bound, true);
	return 0;

err_map:
	rds_cong_map_put(rn, rs->map);
	rs->map = NULL;
err_trans:
	if (t != rs->trans)
		rds_transport_put(t);
	return err;
}

static int rds_bind(struct socket *sock, struct sockaddr *uaddr, int len)
{
	struct sock *sk = sock->sk;
	enum rds_sa_verdict v;
	struct rds_addr a;
	int err;

	v = rds_sockaddr_classify(uaddr, len, &a);
	if (v != RDS_SA_OK)
		return sa_bind_errno[v];
	lock_sock(sk);
	err = bind_locked(rds_sk(sk), &a);
	release_sock(sk);
	return err;
}

/* Only stores the default destination. */
static int rds_connect(struct socket *sock, struct sockaddr *uaddr, int len, int flags)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	u32 own_scope = 0;
	enum rds_sa_verdict v;
	struct rds_addr a;
	int err = 0;

	v = rds_sockaddr_classify(uaddr, len, &a);
	if (v != RDS_SA_OK)
		return sa_connect_errno[v];

	lock_sock(sock->sk);
	if (rds_is_bound(rs))
		own_scope = rs->bound.scope;
	if (a.scope && own_scope && a.scope != own_scope) {
		err = -EINVAL;
	} else {
		spin_lock_bh(&rs->addr_lock);
		rs->peer = a;
		rs->has_peer = true;
		/* A scope that came with the peer goes with it. */
		WRITE_ONCE(rs->scope, a.scope ?: own_scope);
		spin_unlock_bh(&rs->addr_lock);
	}
	release_sock(sock->sk);
	return err;
}

static int rds_getname(struct socket *sock, struct sockaddr *uaddr, int peer)
{
	struct sockaddr_storage *ss = (struct sockaddr_storage *)uaddr;
	struct rds_sock *rs = rds_sk(sock->sk);
	struct rds_addr to, a = {};
	bool connected;
	u32 scope;
	int len;

	spin_lock_bh(&rs->addr_lock);
	connected = rs->has_peer;
	to = rs->peer;
	scope = rs->scope;
	spin_unlock_bh(&rs->addr_lock);

	if (peer && !connected)
		return -ENOTCONN;
	if (peer || rds_is_bound(rs)) {
		a = peer ? to : rs->bound;
		a.scope = scope;
		return rds_sockaddr_fill(ss, &a);
	}

	/* Not bound: nothing but the family, which is the peer's if there is one. */
	memset(ss, 0, sizeof(*ss));
	if (!connected)
		return sizeof(struct sockaddr_in);
	len = rds_sockaddr_fill(ss, &to);
	memset(ss->__data, 0, sizeof(ss->__data));
	return len;
}

/* ---- poll and ioctl ---------------------------------------------------- */

static __poll_t rds_poll(struct file *file, struct socket *sock, poll_table *wait)
{
	struct sock *sk = sock->sk;
	struct rds_sock *rs = rds_sk(sk);
	bool in, out;
	__poll_t mask;

	sock_poll_wait(file, sock, wait);

	mask = rds_cong_poll(rs);
	in = rds_rx_ready(rs);
	out = rds_tx_writable(rs);
	if (in)
		mask |= EPOLLIN | EPOLLRDNORM;
	if (out)
		mask |= EPOLLOUT | EPOLLWRNORM;
	/* What is missing may be what the caller waits for. */
	if (!in || !out)
		rds_send_push(rs);
	if (READ_ONCE(sk->sk_err) || !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	return mask;
}

/* Payload of the next message, as for other datagram sockets. */
static int next_len(struct rds_sock *rs)
{
	struct rds_incoming *inc;
	int len;

	spin_lock_bh(&rs->rx.lock);
	inc = list_first_entry_or_null(&rs->rx.queue, struct rds_incoming, node);
	len = inc ? inc->len : 0;
	spin_unlock_bh(&rs->rx.lock);
	return len;
}

static int set_tos(struct rds_sock *rs, const u8 __user *arg)
{
	u8 tos;
	int err = 0;

	if (get_user(tos, arg))
		return -EFAULT;
	lock_sock(&rs->sk);
	if (!rs->trans || !rs->trans->tos_map)
		err = -ENOIOCTLCMD;
	else if (rs->tos || READ_ONCE(rs->tos_used))
		err = -EINVAL;
	else
		WRITE_ONCE(rs->tos, rs->trans->tos_map(tos));
	release_sock(&rs->sk);
	return err;
}

static int rds_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	void __user *p = (void __user *)arg;

	switch (cmd) {
	case SIOCRDSSETTOS:
		return set_tos(rs, p);
	case SIOCRDSGETTOS:
		return put_user(READ_ONCE(rs->tos), (u8 __user *)p);
	case SIOCINQ:
		return put_user(next_len(rs), (int __user *)p);
	case SIOCOUTQ:
		return put_user(atomic_read(&rs->tx_bytes), (int __user *)p);
	}
	return -ENOIOCTLCMD;
}

#ifdef CONFIG_COMPAT
static int rds_compat_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	return rds_ioctl(sock, cmd, (unsigned long)compat_ptr(arg));
}
#endif

/* ---- life -------------------------------------------------------------- */

/*
 * Refuse deliveries, unpublish, drain both directions, drop.  Whoever still holds the
 * socket (a message in flight or still to be sent, a batch) finds it closed and orphaned.
 */
static int rds_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct rds_sock *rs;
	struct rds_net *rn;

	if (!sk)
		return 0;
	rs = rds_sk(sk);
	rn = rds_net(sock_net(sk));

	spin_lock_bh(&rs->rx.lock);
	WRITE_ONCE(rs->rx.closed, true);
	spin_unlock_bh(&rs->rx.lock);
	/* While the port is ours: its bit must not hit the next owner. */
	rds_cong_release_port(rs);
	rds_port_unbind(rn, rs);

	/* Nobody reads it any more, and somebody's completion may wait for it. */
	rds_rx_purge(rs);
	rds_linger(rs);
	rds_mr_release_all(rs);
	rds_payload_close(rs);
	rds_cong_forget(rs);
	if (rs->traces.rx_traces)
		static_branch_slow_dec_deferred(&rds_rx_trace_key);

	rds_transport_put(rs->trans);
	rs->trans = NULL;
	sock_prot_inuse_add(sock_net(sk), sk->sk_prot, -1);
	sock_orphan(sk);
	sock->sk = NULL;
	rds_sock_put(rs);
	return 0;
}

static void net_put_sock(struct rds_net *rn)
{
	if (atomic_dec_and_test(&rn->nr_socks))
		complete(&rn->socks_gone);
}

/* The last reference is gone; may run in softirq. */
static void rds_destruct(struct sock *sk)
{
	struct rds_net *rn = rds_net(sock_net(sk));
	struct rds_sock *rs = rds_sk(sk);

	WARN_ON_ONCE(!list_empty(&rs->rx.queue) || atomic_read(&rs->tx_msgs));
	/* The generic layer may have put it. */
	if (!list_empty(&rs->listed))
		rds_sock_unlist(rs);
	if (rs->map)
		rds_cong_map_put(rn, rs->map);
	skb_queue_purge(&sk->sk_error_queue);
	rds_payload_free(rs);
	rds_user_put(rs->user);
	sk_mem_reclaim_final(sk);
	net_put_sock(rn);
}

/* Receive queues are charged to the socket and its memory control group. */
static atomic_long_t memory_allocated;
static DEFINE_PER_CPU(int, memory_per_cpu_fw_alloc);
static long memory_limits[3];
static int buffer_limits[3] = { SZ_4K, SZ_128K, SZ_4M };

/*
 * No owner: it would hold the module until a closed socket is freed, after a grace period or, if
 * it still sends, much later.  The module waits for closed ones instead, rds_socket_exit_net().
 */
static struct proto rds_proto = {
	.name = "RDS",
	.obj_size = sizeof(struct rds_sock),
	.memory_allocated = &memory_allocated,
	.per_cpu_fw_alloc = &memory_per_cpu_fw_alloc,
	.sysctl_mem = memory_limits,
	.sysctl_rmem = buffer_limits,
	.sysctl_wmem = buffer_limits,
};

static const struct proto_ops rds_proto_ops = {
	.family = AF_RDS,
	.owner = THIS_MODULE,
	.release = rds_release,
	.bind = rds_bind,
	.connect = rds_connect,
	.socketpair = sock_no_socketpair,
	.accept = sock_no_accept,
	.getname = rds_getname,
	.poll = rds_poll,
	.ioctl = rds_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = rds_compat_ioctl,
#endif
	.listen = sock_no_listen,
	.shutdown = sock_no_shutdown,
	.setsockopt = rds_setsockopt,
	.getsockopt = rds_getsockopt,
	.sendmsg = rds_sendmsg,
	.recvmsg = rds_recvmsg,
	.mmap = sock_no_mmap,
};

static void init_sock(struct rds_sock *rs, struct rds_net *rn)
{
	spin_lock_init(&rs->addr_lock);
	spin_lock_init(&rs->tx_lock);
	INIT_LIST_HEAD(&rs->tx_list);
	rs->held_bit = hash_ptr(rs, ilog2(BITS_PER_LONG));
	xa_init_flags(&rs->mrs, XA_FLAGS_LOCK_BH);
	spin_lock_init(&rs->rx.lock);
	INIT_LIST_HEAD(&rs->rx.queue);
	INIT_LIST_HEAD(&rs->rx.notes);
	INIT_LIST_HEAD(&rs->rx.zrecords);
	/* Updates before our time are no event for this socket. */
	rs->cong_seen = atomic_read(&rn->cong_gen);
}

static int rds_create(struct net *net, struct socket *sock, int protocol, int kern)
{
	struct rds_net *rn = rds_net(net);
	struct rds_user *user;
	struct sock *sk;

	if (sock->type != SOCK_SEQPACKET || protocol)
		return -ESOCKTNOSUPPORT;

	user = rds_user_get(rn);
	if (!user)
		return -ENOMEM;
	sk = sk_alloc(net, AF_RDS, GFP_KERNEL, &rds_proto, kern);
	if (!sk) {
		rds_user_put(user);
		return -ENOMEM;
	}
	rds_sk(sk)->user = user;
	sock->ops = &rds_proto_ops;
	sock_init_data(sock, sk);
	/* SO_RCVBUF moves the congestion thresholds, so we want to see it. */
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
	sock_set_flag(sk, SOCK_RCU_FREE);
	sk->sk_write_space = rds_tx_write_space;
	sk->sk_destruct = rds_destruct;
	init_sock(rds_sk(sk), rn);
	atomic_inc(&rn->nr_socks);
	sock_prot_inuse_add(net, &rds_proto, 1);

	spin_lock_bh(&rn->lock);
	list_add_tail(&rds_sk(sk)->listed, &rn->sockets);
	spin_unlock_bh(&rn->lock);
	return 0;
}

static const struct net_proto_family rds_family = {
	.family = AF_RDS,
	.create = rds_create,
	.owner = THIS_MODULE,
};

/**
 * rds_socket_init() - register the protocol and the address family
 *
 * Return: 0 or -errno.
 */
int __init rds_socket_init(void)
{
	unsigned long pages = max(nr_free_buffer_pages() / 8, 128UL);
	int err;

	/* The first is what counts: above it a socket is charged only for what is below 4 KiB. */
	memory_limits[0] = pages / 4 * 3;
	memory_limits[1] = pages;
	memory_limits[2] = memory_limits[0] * 2;

	err = proto_register(&rds_proto, 1);
	if (err)
		return err;
	err = sock_register(&rds_family);
	if (err)
		proto_unregister(&rds_proto);
	return err;
}

/**
 * rds_socket_exit_net() - wait until all sockets of a namespace are freed
 * @rn: namespace; none is open, and no connection is left
 *
 * Context: process, sleeps.
 */
void rds_socket_exit_net(struct rds_net *rn)
{
	net_put_sock(rn);
	wait_for_completion(&rn->socks_gone);
}

/* rds_socket_stop() - no sockets are made any more */
void rds_socket_stop(void)
{
	sock_unregister(AF_RDS);
}

/* rds_socket_exit() - no socket is left in any namespace */
void rds_socket_exit(void)
{
	/* The generic layer has not let go yet of those that we have seen the end of. */
	rcu_barrier();
	proto_unregister(&rds_proto);
}
