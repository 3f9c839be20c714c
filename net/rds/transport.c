// SPDX-License-Identifier: GPL-2.0
/*
 * The registry of transports, and what transports ask of all their connections.
 *
 * The mutex guards the array only: a caller takes a reference on the transport's module
 * under it, lets go, and then calls the transport.
 */
#include <linux/inetdevice.h>
#include <linux/kmod.h>
#include <net/ipv6.h>

#include "core.h"

/* Which transport is asked first for an address. */
static const int order[] = { RDS_TRANS_IB, RDS_TRANS_TCP };

static DEFINE_MUTEX(registry_lock);
static struct rds_transport *registry[RDS_TRANS_LOOP + 1];

/* Counted, or NULL. */
static struct rds_transport *find(int type)
{
	struct rds_transport *t;

	mutex_lock(&registry_lock);
	t = registry[type];
	if (t && !try_module_get(t->owner))
		t = NULL;
	mutex_unlock(&registry_lock);
	return t;
}

static bool usable_in(const struct rds_transport *t, const struct net *net)
{
	return (t->caps & RDS_CAP_ANY_NETNS) || net_eq(net, &init_net);
}

/**
 * rds_transport_owns() - does this transport own the address?
 * @t: transport, held
 * @net: namespace
 * @addr: address
 * @scope: interface of a link-local address, else 0
 *
 * Context: process.
 * Return: true if it does.
 */
bool rds_transport_owns(const struct rds_transport *t, struct net *net,
			const struct in6_addr *addr, u32 scope)
{
	bool ret;

	rcu_read_lock();
	ret = t->owns_addr(net, addr, scope);
	rcu_read_unlock();
	return ret;
}

/**
 * rds_addr_is_loopback() - is this an address that every host has for itself?
 * @addr: address
 *
 * Context: any.
 * Return: true for 127/8 and ::1.
 */
bool rds_addr_is_loopback(const struct in6_addr *addr)
{
	return ipv6_addr_loopback(addr) || ipv6_addr_v4mapped_loopback(addr);
}

/**
 * rds_transport_register() - make a transport known
 * @t: transport, complete; borrowed until it is unregistered
 *
 * Return: 0, -EINVAL or -EEXIST.
 */
int rds_transport_register(struct rds_transport *t)
{
	int err = 0;

	if (t->type < 0 || t->type >= ARRAY_SIZE(registry) || t->max_paths < 1 ||
	    t->max_paths > RDS_MAX_PATHS)
		return -EINVAL;

	mutex_lock(&registry_lock);
	if (registry[t->type])
		err = -EEXIST;
	else
		WRITE_ONCE(registry[t->type], t);
	mutex_unlock(&registry_lock);
	if (!err)
		pr_info("rds: registered transport %s\n", t->name);
	return err;
}

static void kill_in_net(struct rds_net *rn, void *t)
{
	rds_conn_kill_net(rn, t);
}

/**
 * rds_transport_unregister() - forget a transport
 * @t: transport; no socket uses it (sockets hold its module)
 *
 * Destroys its connections in all namespaces and waits for that.  The transport must
 * have stopped asking for new ones.
 */
void rds_transport_unregister(struct rds_transport *t)
{
	mutex_lock(&registry_lock);
	WRITE_ONCE(registry[t->type], NULL);
	mutex_unlock(&registry_lock);

	rds_net_for_each(kill_in_net, t);
	pr_info("rds: unregistered transport %s\n", t->name);
}

/**
 * rds_transport_is_registered() - may connections of this transport be made?
 * @t: transport
 *
 * Context: any.
 */
bool rds_transport_is_registered(const struct rds_transport *t)
{
	return READ_ONCE(registry[t->type]) == t;
}

/**
 * rds_transport_put() - give a transport's module reference back
 * @t: transport or NULL
 */
void rds_transport_put(struct rds_transport *t)
{
	if (t)
		module_put(t->owner);
}

/**
 * rds_transport_get() - transport by number
 * @type: RDS_TRANS_IB or RDS_TRANS_TCP
 *
 * Loads the module if need be.
 *
 * Context: process, may sleep.
 * Return: counted transport or NULL.
 */
struct rds_transport *rds_transport_get(int type)
{
	struct rds_transport *t = find(type);

	if (t)
		return t;
	if (type == RDS_TRANS_TCP)
		request_module("rds_tcp");
	else if (type == RDS_TRANS_IB)
		request_module("rds_rdma");
	return find(type);
}

/**
 * rds_transport_for_addr() - the transport a socket bound to an address uses
 * @net: namespace
 * @addr: address
 * @scope: interface of a link-local address, else 0
 *
 * Context: process.
 * Return: counted transport, NULL if nobody owns the address.
 */
struct rds_transport *rds_transport_for_addr(struct net *net, const struct in6_addr *addr,
					     u32 scope)
{
	struct rds_transport *t;
	int i;

	if (rds_addr_is_loopback(addr))
		return find(RDS_TRANS_LOOP);

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		t = find(order[i]);
		if (!t)
			continue;
		if (usable_in(t, net) && rds_transport_owns(t, net, addr, scope))
			return t;
		rds_transport_put(t);
	}
	return NULL;
}

/**
 * rds_transport_serves() - is there a transport, but for loopback, in this namespace?
 * @net: namespace
 *
 * Context: process.
 * Return: true if one is registered that works there.
 */
bool rds_transport_serves(const struct net *net)
{
	bool found = false;
	int i;

	mutex_lock(&registry_lock);
	for (i = 0; i < ARRAY_SIZE(order) && !found; i++)
		found = registry[order[i]] && usable_in(registry[order[i]], net);
	mutex_unlock(&registry_lock);
	return found;
}

/**
 * rds_addr_is_local() - does any transport own this address?
 * @net: namespace
 * @addr: address
 * @scope: interface of a link-local address, else 0
 *
 * Context: process.
 * Return: true if one does.
 */
bool rds_addr_is_local(struct net *net, const struct in6_addr *addr, u32 scope)
{
	struct rds_transport *t = rds_transport_for_addr(net, addr, scope);

	rds_transport_put(t);
	return t;
}

/**
 * rds_transport_for_each() - visit the registered transports, except loopback
 * @fn: called with the transport's module held; may sleep
 * @arg: passed on
 */
void rds_transport_for_each(void (*fn)(struct rds_transport *t, void *arg), void *arg)
{
	struct rds_transport *t;
	int i;

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		t = find(order[i]);
		if (t)
			fn(t, arg);
		rds_transport_put(t);
	}
}

/**
 * rds_transport_exit_net() - destroy a transport's connections in one namespace
 * @t: transport
 * @net: namespace; the transport makes no new connections in it
 *
 * Waits until they are gone.
 */
void rds_transport_exit_net(struct rds_transport *t, struct net *net)
{
	rds_conn_kill_net(rds_net(net), t);
}

struct path_walk {
	const struct rds_transport *t;
	bool all;
	void (*fn)(struct rds_path *p, void *arg);
	void *arg;
};

static void visit_paths(struct rds_conn *c, void *arg)
{
	struct path_walk *w = arg;
	struct rds_path *p;
	int i;

	if (c->key.trans != w->t)
		return;
	for (i = 0; i < RDS_MAX_PATHS; i++) {
		p = smp_load_acquire(&c->paths[i]);	/* published complete */
		if (p && (w->all || rds_state_has_link(READ_ONCE(p->state))))
			w->fn(p, w->arg);
	}
}

/**
 * rds_transport_walk_paths() - visit the paths of a transport
 * @t: transport
 * @net: namespace
 * @all: also those without a link
 * @fn: called in process context with the connection held; may sleep
 * @arg: passed on
 */
void rds_transport_walk_paths(struct rds_transport *t, struct net *net, bool all,
			      void (*fn)(struct rds_path *p, void *arg), void *arg)
{
	struct path_walk w = { .t = t, .all = all, .fn = fn, .arg = arg };

	rds_conn_for_each(rds_net(net), visit_paths, &w);
}
