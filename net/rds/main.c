// SPDX-License-Identifier: GPL-2.0
/*
 * Start and stop of the module and of a namespace, in order: the namespace part first,
 * the address family last, and the reverse on the way out.
 */
#include <linux/init.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <net/netns/generic.h>

#include "core.h"
#include "socket.h"

struct workqueue_struct *rds_wq;
struct workqueue_struct *rds_gc_wq;

/* Kept for configurations that set it; at least 2, because 0 and 1 once meant "never". */
int rds_send_batch_count = 1024;
module_param_named(send_batch_count, rds_send_batch_count, int, 0444);
MODULE_PARM_DESC(send_batch_count, "messages sent before other work gets its turn (default 1024)");

static unsigned int rds_net_id;

/* All namespaces from init to the end of exit, including dying ones. */
static DEFINE_MUTEX(nets_lock);
static LIST_HEAD(nets);

/**
 * rds_net() - RDS's part of a namespace
 * @net: namespace
 *
 * Return: it; never NULL while sockets or connections of @net exist.
 */
struct rds_net *rds_net(const struct net *net)
{
	return net_generic(net, rds_net_id);
}

/**
 * rds_net_for_each() - visit all namespaces, dying ones too
 * @fn: may sleep; namespaces neither come nor go meanwhile
 * @arg: passed on
 */
void rds_net_for_each(void (*fn)(struct rds_net *rn, void *arg), void *arg)
{
	struct rds_net *rn;

	mutex_lock(&nets_lock);
	list_for_each_entry(rn, &nets, node)
		fn(rn, arg);
	mutex_unlock(&nets_lock);
}

/* Namespaces that are there when the module is loaded were not made by who does that. */
static bool loaded;

#ifdef CONFIG_MEMCG
/* The memory control group of the task that makes a namespace; NULL for the root. */
static struct mem_cgroup *owner_memcg(void)
{
	struct mem_cgroup *memcg = loaded ? get_mem_cgroup_from_mm(current->mm) : NULL;

	/* Nobody counts there. */
	if (memcg && !memcg->css.parent) {
		mem_cgroup_put(memcg);
		memcg = NULL;
	}
	return memcg;
}
#else
static struct mem_cgroup *owner_memcg(void)
{
	return NULL;
}
#endif

/**
 * rds_memcg() - who pays for what works make for a namespace
 * @net: namespace
 *
 * For set_active_memcg().  A task that asks for something itself pays itself.
 *
 * Return: a memory control group that lives as long as @net, or NULL for none.
 */
struct mem_cgroup *rds_memcg(const struct net *net)
{
	return rds_net(net)->memcg;
}

/**
 * rds_net_zalloc() - zeroed memory at the expense of a namespace, for what its peers do
 * @rn: namespace
 * @size: bytes
 * @gfp: how it may be allocated
 *
 * Context: any that @gfp allows.
 * Return: for kfree(), or NULL.
 */
void *rds_net_zalloc(const struct rds_net *rn, size_t size, gfp_t gfp)
{
	struct mem_cgroup *old = set_active_memcg(rn->memcg);
	void *p = kzalloc(size, gfp | __GFP_ACCOUNT | __GFP_NOWARN);

	set_active_memcg(old);
	return p;
}

static int __net_init init_net_part(struct net *net)
{
	struct rds_net *rn = rds_net(net);
	int err;

	rn->net = net;
	while (!rn->generation)
		rn->generation = get_random_u32();
	spin_lock_init(&rn->lock);
	rds_message_settle_outside(&rn->lock);
	INIT_LIST_HEAD(&rn->conn_list);
	INIT_LIST_HEAD(&rn->sockets);
	rds_users_init(&rn->users);
	init_waitqueue_head(&rn->idle);
	atomic_set(&rn->nr_socks, 1);
	init_completion(&rn->socks_gone);
	rds_linger_init_net(rn);

	rds_sysctl_defaults(rn);
	err = rds_port_init_net(rn);
	if (err)
		return err;
	err = rds_cong_init_net(rn);
	if (err)
		goto err_port;
	err = rds_conn_init_net(rn);
	if (err)
		goto err_cong;
	err = rds_sysctl_init_net(rn);
	if (err)
		goto err_conn;

	mutex_lock(&nets_lock);
	list_add_tail(&rn->node, &nets);
	mutex_unlock(&nets_lock);
	rn->memcg = owner_memcg();
	return 0;

err_conn:
	rds_conn_exit_net(rn);
err_cong:
	rds_cong_exit_net(rn);
err_port:
	rds_port_exit_net(rn);
	return err;
}

/* Runs for all subsystems before the first exit: from here on no connection is made. */
static void __net_exit pre_exit_net_part(struct net *net)
{
	struct rds_net *rn = rds_net(net);

	spin_lock_bh(&rn->lock);
	rn->dying = true;
	spin_unlock_bh(&rn->lock);
}

static void __net_exit exit_net_part(struct net *net)
{
	struct rds_net *rn = rds_net(net);

	rds_sysctl_exit_net(rn);
	/* Of a namespace that ends no socket is left; of one that stays none is open. */
	rds_linger_exit_net(rn);
	rds_conn_kill_net(rn, NULL);
	rds_socket_exit_net(rn);

	mutex_lock(&nets_lock);
	list_del(&rn->node);
	mutex_unlock(&nets_lock);

	rds_conn_exit_net(rn);
	rds_cong_exit_net(rn);
	rds_port_exit_net(rn);
	mem_cgroup_put(rn->memcg);
}

static struct pernet_operations net_ops = {
	.init = init_net_part,
	.pre_exit = pre_exit_net_part,
	.exit = exit_net_part,
	.id = &rds_net_id,
	.size = sizeof(struct rds_net),
};

static int __init rds_init(void)
{
	int err;

	rds_send_batch_count = max(rds_send_batch_count, 2);

	rds_wq = alloc_workqueue("krdsd", WQ_UNBOUND | WQ_MEM_RECLAIM, WQ_MAX_ACTIVE);
	if (!rds_wq)
		return -ENOMEM;
	rds_hold_init();
	err = -ENOMEM;
	rds_gc_wq = alloc_workqueue("krdsd_gc", WQ_UNBOUND, 0);
	if (!rds_gc_wq)
		goto err_wq;
	err = rds_cong_init();
	if (err)
		goto err_gc;
	err = register_pernet_subsys(&net_ops);
	if (err)
		goto err_cong;
	loaded = true;
	err = rds_transport_register(&rds_loop_transport);
	if (err)
		goto err_net;
	err = rds_socket_init();
	if (err)
		goto err_loop;
	return 0;

err_loop:
	rds_transport_unregister(&rds_loop_transport);
err_net:
	unregister_pernet_subsys(&net_ops);
err_cong:
	rds_cong_exit();
err_gc:
	destroy_workqueue(rds_gc_wq);
err_wq:
	destroy_workqueue(rds_wq);
	return err;
}
module_init(rds_init);

/*
 * Open sockets and transports hold this module, so there are none.  Closed sockets do not: the end
 * of the namespaces' part waits for them.
 */
static void __exit rds_exit(void)
{
	rds_socket_stop();
	static_key_deferred_flush(&rds_rx_trace_key);
	rds_transport_unregister(&rds_loop_transport);
	unregister_pernet_subsys(&net_ops);
	rds_pin_flush();
	rds_socket_exit();
	rds_hold_exit();
	rds_cong_exit();
	destroy_workqueue(rds_gc_wq);
	destroy_workqueue(rds_wq);
	/* Objects freed with call_rcu() have their functions here. */
	rcu_barrier();
}
module_exit(rds_exit);

MODULE_DESCRIPTION("RDS: Reliable Datagram Sockets");
MODULE_LICENSE("GPL");
MODULE_AUTHOR(RDS_AUTHOR);
MODULE_VERSION(RDS_VERSION);
