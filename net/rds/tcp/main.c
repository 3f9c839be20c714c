// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over TCP: the module, its namespaces, and which addresses are ours.
 *
 * Start: workqueue, namespaces (each with a listener), then the transport becomes visible
 * to sockets.  Exit: no socket uses the transport any more, since each holds the module;
 * so only listeners make connections.  First each namespace loses its listener and its
 * connections, then the core forgets the transport.
 *
 * In a namespace: the sysctls go first, since a write resets connections; then the
 * listener and its work, so that nothing arrives any more; then the connections.  It is
 * registered as a pernet device so that this happens while the interfaces still exist
 * and the peers can be told.
 *
 * The port.  Whoever may bind in a namespace can have ours before we come.  In the initial one
 * that is for its administrator to see, so the module is not loaded.  In any other it is no
 * reason for all the rest to go without: that namespace has no listener for the time being,
 * connects all the same, and tries again until the port is free.
 */
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <net/addrconf.h>
#include <net/netns/generic.h>
#include <net/route.h>

#include "tcp.h"

#define RDS_TCP_BACKLOG		64

/* How often a namespace without a listener tries to get its port. */
#define RDS_TCP_LISTEN_AGAIN	(2 * HZ)

static unsigned int rds_tcp_net_id;
struct workqueue_struct *rds_tcp_wq;
/* The namespaces that are there are given their part; no other one is made meanwhile. */
static bool rds_tcp_loading;

/**
 * rds_tcp_net() - the transport's part of a namespace
 * @net: namespace
 *
 * Return: the part; it lives as long as the namespace does.
 */
struct rds_tcp_net *rds_tcp_net(struct net *net)
{
	return net_generic(net, rds_tcp_net_id);
}

static bool rds_tcp_owns_addr6(struct net *net, const struct in6_addr *addr, u32 scope)
{
#if IS_ENABLED(CONFIG_IPV6)
	struct net_device *dev = NULL;

	if (!ipv6_mod_enabled())
		return false;
	if (scope) {
		dev = dev_get_by_index_rcu(net, scope);
		if (!dev)
			return false;
	}
	return ipv6_chk_addr(net, addr, dev, 0);
#else
	return false;
#endif
}

/**
 * rds_tcp_owns_addr() - is this a local address?
 * @net: namespace
 * @addr: address, IPv4 in mapped form
 * @scope: interface of a link-local address, else 0
 *
 * Context: under RCU.
 * Return: true if it is, loopback addresses included: the core asks the loopback transport
 * first, unless the application chose this one.
 */
bool rds_tcp_owns_addr(struct net *net, const struct in6_addr *addr, u32 scope)
{
	if (!ipv6_addr_v4mapped(addr))
		return rds_tcp_owns_addr6(net, addr, scope);
	return inet_addr_type(net, addr->s6_addr32[3]) == RTN_LOCAL;
}

/* Everything maps to 0: TCP has one class of service. */
static u8 rds_tcp_tos_map(u8 tos)
{
	return 0;
}

struct rds_transport rds_tcp_transport = {
	.name		= "tcp",
	.type		= RDS_TRANS_TCP,
	.owner		= THIS_MODULE,
	.caps		= RDS_CAP_ZCOPY | RDS_CAP_ANY_NETNS | RDS_CAP_SENDS_CONG |
			  RDS_CAP_LOCAL_VIA_LOOP | RDS_CAP_CANONICAL | RDS_CAP_HANDSHAKE,
	.max_paths	= RDS_MAX_PATHS,
	.path_priv_size	= sizeof(struct rds_tcp_path),
	.stats		= &rds_tcp_stat_desc,
	.owns_addr	= rds_tcp_owns_addr,
	.path_init	= rds_tcp_path_init,
	.path_free	= rds_tcp_path_free,
	.start		= rds_tcp_start,
	.stop		= rds_tcp_stop,
	.send		= rds_tcp_send,
	.discard	= rds_tcp_discard,
	.info		= rds_tcp_info,
	.tos_map	= rds_tcp_tos_map,
};

static int rds_tcp_sysctl(struct rds_tcp_net *rn, const struct ctl_table *table, int write,
			  void *buf, size_t *len, loff_t *pos)
{
	int err = proc_dointvec_minmax(table, write, buf, len, pos);
	struct rds_tcp_resize r = {};

	if (write && !err)
		rds_transport_walk_paths(&rds_tcp_transport, rn->net, false, rds_tcp_resize, &r);
	return err;
}

static int rds_tcp_sysctl_sndbuf(const struct ctl_table *table, int write, void *buf,
				 size_t *len, loff_t *pos)
{
	struct rds_tcp_net *rn = container_of(table->data, struct rds_tcp_net, sndbuf);

	return rds_tcp_sysctl(rn, table, write, buf, len, pos);
}

static int rds_tcp_sysctl_rcvbuf(const struct ctl_table *table, int write, void *buf,
				 size_t *len, loff_t *pos)
{
	struct rds_tcp_net *rn = container_of(table->data, struct rds_tcp_net, rcvbuf);

	return rds_tcp_sysctl(rn, table, write, buf, len, pos);
}

static int rds_tcp_min_sndbuf = SOCK_MIN_SNDBUF;
static int rds_tcp_min_rcvbuf = SOCK_MIN_RCVBUF;

static const struct ctl_table rds_tcp_sysctls[] = {
	{
		.procname	= "rds_tcp_sndbuf",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= rds_tcp_sysctl_sndbuf,
		.extra1		= &rds_tcp_min_sndbuf,
	},
	{
		.procname	= "rds_tcp_rcvbuf",
		.maxlen		= sizeof(int),
		.mode		= 0644,
		.proc_handler	= rds_tcp_sysctl_rcvbuf,
		.extra1		= &rds_tcp_min_rcvbuf,
	},
};

static int rds_tcp_sysctl_init(struct rds_tcp_net *rn)
{
	rn->table = kmemdup(rds_tcp_sysctls, sizeof(rds_tcp_sysctls), GFP_KERNEL);
	if (!rn->table)
		return -ENOMEM;
	rn->table[0].data = &rn->sndbuf;
	rn->table[1].data = &rn->rcvbuf;

	rn->header = register_net_sysctl_sz(rn->net, "net/rds/tcp", rn->table,
					    ARRAY_SIZE(rds_tcp_sysctls));
	if (!rn->header) {
		kfree(rn->table);
		return -ENOMEM;
	}
	return 0;
}

static void rds_tcp_sysctl_exit(struct rds_tcp_net *rn)
{
	unregister_net_sysctl_table(rn->header);
	kfree(rn->table);
}

static struct socket *rds_tcp_listen_socket(struct net *net, int family)
{
	struct sockaddr_storage any = { .ss_family = family };
	struct socket *sock;
	int len, err;

	len = family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	/* The port is at the same place in both. */
	((struct sockaddr_in *)&any)->sin_port = htons(RDS_TCP_PORT);

	err = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (err)
		return ERR_PTR(err);
	sock_set_reuseaddr(sock->sk);
	tcp_sock_set_nodelay(sock->sk);
	/* Peers with IPv4 come to it, too, whatever net.ipv6.bindv6only says. */
	lock_sock(sock->sk);
	sock->sk->sk_ipv6only = 0;
	release_sock(sock->sk);
	err = kernel_bind(sock, (struct sockaddr *)&any, len);
	if (err) {
		sock_release(sock);
		return ERR_PTR(err);
	}
	return sock;
}

static int rds_tcp_listen(struct rds_tcp_net *rn)
{
	struct socket *sock = rds_tcp_listen_socket(rn->net, AF_INET6);
	struct sock *sk;
	int err;

	/*
	 * For no other reason, or peers with IPv6 would wait for ever; bind() says
	 * -EADDRINUSE for lack of memory, too.
	 */
	if (sock == ERR_PTR(-EAFNOSUPPORT))
		sock = rds_tcp_listen_socket(rn->net, AF_INET);
	if (IS_ERR(sock))
		return PTR_ERR(sock);

	WRITE_ONCE(rn->listener, sock);
	sk = sock->sk;
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	rn->data_ready = sk->sk_data_ready;
	/* Connections are cloned from the listener: they must not inherit this. */
	__rcu_assign_sk_user_data_with_flags(sk, rn, SK_USER_DATA_NOCOPY);
	WRITE_ONCE(sk->sk_data_ready, rds_tcp_listen_ready);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);

	err = kernel_listen(sock, RDS_TCP_BACKLOG);
	if (err) {
		WRITE_ONCE(rn->listener, NULL);
		sock_release(sock);
	}
	return err;
}

static void rds_tcp_listen_work(struct work_struct *work)
{
	struct rds_tcp_net *rn = container_of(to_delayed_work(work), struct rds_tcp_net, listen);

	if (rds_tcp_listen(rn))
		queue_delayed_work(rds_tcp_wq, &rn->listen, RDS_TCP_LISTEN_AGAIN);
	else
		pr_info_ratelimited("rds_tcp: network namespace %u has TCP port %d now\n",
				    rn->net->ns.inum, RDS_TCP_PORT);
}

/* The port is somebody else's.  0 if the namespace has to do without for the time being. */
static int rds_tcp_do_without(struct rds_tcp_net *rn, int err)
{
	if (net_eq(rn->net, &init_net)) {
		pr_err("rds_tcp: cannot listen on TCP port %d, error %d; see ss -tlnp sport = %d\n",
		       RDS_TCP_PORT, err, RDS_TCP_PORT);
		return err;
	}
	/* One that is being made has no programs: there it is lack of memory. */
	if (!rds_tcp_loading)
		return err;
	pr_warn_ratelimited("rds_tcp: cannot listen on TCP port %d in network namespace %u, error %d; no peer can connect to it until the port is free there, which is tried every %d s\n",
			    RDS_TCP_PORT, rn->net->ns.inum, err, RDS_TCP_LISTEN_AGAIN / HZ);
	queue_delayed_work(rds_tcp_wq, &rn->listen, RDS_TCP_LISTEN_AGAIN);
	return 0;
}

static void rds_tcp_unlisten(struct rds_tcp_net *rn)
{
	struct sock *sk;

	cancel_delayed_work_sync(&rn->listen);
	if (!rn->listener)
		return;
	sk = rn->listener->sk;
	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	WRITE_ONCE(sk->sk_data_ready, rn->data_ready);
	rcu_assign_sk_user_data(sk, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);

	/* Connections TCP has not handed over yet still have our callback. */
	synchronize_rcu();
	/* Those that wait queue the work, too. */
	disable_delayed_work_sync(&rn->accept);
	rds_tcp_forget_newcomers(rn);
	sock_release(rn->listener);
	/* Their callbacks may be about to queue it still. */
	synchronize_rcu();
}

static int __net_init rds_tcp_net_init(struct net *net)
{
	struct rds_tcp_net *rn = rds_tcp_net(net);
	int err;

	rn->net = net;
	INIT_DELAYED_WORK(&rn->accept, rds_tcp_accept_work);
	INIT_DELAYED_WORK(&rn->listen, rds_tcp_listen_work);
	atomic_set(&rn->next_group, get_random_u32());
	spin_lock_init(&rn->partial_lock);
	INIT_LIST_HEAD(&rn->partials);
	INIT_LIST_HEAD(&rn->newcomers);

	err = rds_tcp_listen(rn);
	if (err)
		err = rds_tcp_do_without(rn, err);
	if (err)
		return err;
	err = rds_tcp_sysctl_init(rn);
	if (err)
		rds_tcp_unlisten(rn);
	return err;
}

static void __net_exit rds_tcp_net_exit(struct net *net)
{
	struct rds_tcp_net *rn = rds_tcp_net(net);

	rds_tcp_sysctl_exit(rn);
	rds_tcp_unlisten(rn);
	rds_transport_exit_net(&rds_tcp_transport, net);
}

static struct pernet_operations rds_tcp_net_ops = {
	.init	= rds_tcp_net_init,
	.exit	= rds_tcp_net_exit,
	.id	= &rds_tcp_net_id,
	.size	= sizeof(struct rds_tcp_net),
};

static int __init rds_tcp_init(void)
{
	int err;

	rds_tcp_wq = alloc_workqueue("rds_tcp", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rds_tcp_wq)
		return -ENOMEM;
	rds_tcp_loading = true;
	err = register_pernet_device(&rds_tcp_net_ops);
	rds_tcp_loading = false;
	if (err)
		goto err_wq;
	err = rds_transport_register(&rds_tcp_transport);
	if (err)
		goto err_net;
	return 0;

err_net:
	unregister_pernet_device(&rds_tcp_net_ops);
err_wq:
	destroy_workqueue(rds_tcp_wq);
	return err;
}

static void __exit rds_tcp_exit(void)
{
	unregister_pernet_device(&rds_tcp_net_ops);
	rds_transport_unregister(&rds_tcp_transport);
	destroy_workqueue(rds_tcp_wq);
	rds_tcp_zcopy_exit();
	/* TCP may still be on its way out of a callback that we have removed. */
	synchronize_rcu();
}

module_init(rds_tcp_init);
module_exit(rds_tcp_exit);

MODULE_DESCRIPTION("RDS over TCP");
MODULE_LICENSE("GPL");
MODULE_AUTHOR(RDS_AUTHOR);
MODULE_VERSION(RDS_VERSION);
MODULE_IMPORT_NS(RDS_TRANSPORT);
