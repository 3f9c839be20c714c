// SPDX-License-Identifier: GPL-2.0
/*
 * The port table of a namespace: which socket has bound (address, port, scope).
 *
 * Insertion is the test: rhashtable refuses a second entry with the same key, so there
 * is no look-then-insert window.  The table holds a reference on every socket in it, and
 * sockets are freed after a grace period, so a reader needs RCU only.
 *
 * The ports of an address are shared out (quota.c), or one user could have them all.
 *
 * Here references to sockets end, too: who finds one by its port, or holds it for its messages,
 * puts it.
 */
#include <linux/jhash.h>
#include <linux/random.h>
#include <net/ipv6.h>

#include "core.h"

#define PORT_FIRST	2	/* 0 means "any", 1 is reserved for the handshake */
#define PORT_COUNT	(65536 - PORT_FIRST)

/*
 * Root of a user namespace has all the addresses he wants: no two may meet whatever the seed, as
 * they would if their words were added up before.
 */
static u32 addr_hash(const struct rds_addr *a, u32 seed)
{
	if (!ipv6_addr_v4mapped(&a->ip))
		seed = __ipv6_addr_jhash(&a->ip, seed);
	return jhash_3words((__force u32)a->ip.s6_addr32[3], a->port, a->scope, seed);
}

static u32 key_hash(const void *data, u32 len, u32 seed)
{
	return addr_hash(data, seed);
}

static u32 sock_hash(const void *data, u32 len, u32 seed)
{
	const struct rds_sock *rs = data;

	return addr_hash(&rs->bound, seed);
}

static int sock_cmp(struct rhashtable_compare_arg *arg, const void *obj)
{
	const struct rds_addr *key = arg->key;
	const struct rds_sock *rs = obj;

	return rs->bound.port != key->port || rs->bound.scope != key->scope ||
	       !ipv6_addr_equal(&rs->bound.ip, &key->ip);
}

static const struct rhashtable_params port_params = {
	.head_offset = offsetof(struct rds_sock, port_node),
	.key_len = sizeof(struct rds_addr),
	.hashfn = key_hash,
	.obj_hashfn = sock_hash,
	.obj_cmpfn = sock_cmp,
	.automatic_shrinking = true,
};

/* 0, -EADDRINUSE or -ENOMEM. */
static int claim(struct rds_net *rn, struct rds_sock *rs, const struct rds_addr *a, u16 port)
{
	int err;

	rs->bound = *a;
	rs->bound.port = port;
	sock_hold(&rs->sk);
	/* Busy is the table's work that makes room. */
	while ((err = rhashtable_lookup_insert_key(&rn->ports, &rs->bound, &rs->port_node,
						   port_params)) == -EBUSY)
		cond_resched();
	if (!err)
		return 0;
	sock_put(&rs->sk);
	return err == -EEXIST ? -EADDRINUSE : -ENOMEM;
}

/* As asked for, or any free one. */
static int port_choose(struct rds_net *rn, struct rds_sock *rs, const struct rds_addr *a, u16 *port)
{
	u32 start, i;
	int err;

	if (a->port) {
		*port = a->port;
		return claim(rn, rs, a, a->port);
	}

	start = get_random_u32_below(PORT_COUNT);
	for (i = 0; i < PORT_COUNT; i++) {
		*port = PORT_FIRST + (start + i) % PORT_COUNT;
		err = claim(rn, rs, a, *port);
		if (err != -EADDRINUSE)
			return err;
		cond_resched();
	}
	return -EADDRINUSE;
}

/**
 * rds_port_bind() - enter a socket into the port table
 * @rn: namespace
 * @rs: socket, not in the table; its @bound is written, everything else that a
 *	receiver looks at, the map too, must be set already
 * @a: address; port 0 asks for any free port
 * @port: the port it became
 *
 * Context: process, socket lock held.
 * Return: 0, -EADDRINUSE or -ENOMEM.
 */
int rds_port_bind(struct rds_net *rn, struct rds_sock *rs, const struct rds_addr *a, u16 *port)
{
	struct rds_quota *q = &rs->map->ports;
	struct rds_user *user = rds_user_get(rn);
	int err;

	if (!user)
		return -ENOMEM;
	err = rds_quota_claim(q, user, PORT_COUNT, &rs->port_claim);
	rds_user_put(user);
	if (err)
		return err == -ENOSPC ? -EADDRINUSE : err;
	err = port_choose(rn, rs, a, port);
	if (err)
		rds_quota_release(q, &rs->port_claim);
	return err;
}

/**
 * rds_port_unbind() - take a socket out of the port table
 * @rn: namespace
 * @rs: socket, the caller holds a reference; harmless if it is not in the table
 */
void rds_port_unbind(struct rds_net *rn, struct rds_sock *rs)
{
	if (!rds_is_bound(rs))
		return;
	if (rhashtable_remove_fast(&rn->ports, &rs->port_node, port_params))
		return;
	rds_quota_release(&rs->map->ports, &rs->port_claim);
	rds_sock_put(rs);
}

/**
 * rds_port_find() - who has bound this address and port?
 * @rn: namespace
 * @ip: address
 * @port: port
 * @scope: interface of a link-local address, else 0
 *
 * Context: any.
 * Return: counted socket or NULL.
 */
struct rds_sock *rds_port_find(struct rds_net *rn, const struct in6_addr *ip, u16 port, u32 scope)
{
	struct rds_addr key = { .ip = *ip, .port = port, .scope = scope };
	struct rds_sock *rs;

	rcu_read_lock();
	rs = rhashtable_lookup(&rn->ports, &key, port_params);
	if (rs && !refcount_inc_not_zero(&rs->sk.sk_refcnt))
		rs = NULL;
	rcu_read_unlock();
	return rs;
}

/* ---- references to sockets --------------------------------------------------------- */

/**
 * rds_sock_unlist() - a socket is on the list of all no more
 * @rs: the socket, nobody's
 *
 * Context: any, no lock of RDS held.
 */
void rds_sock_unlist(struct rds_sock *rs)
{
	struct rds_net *rn = rds_net(sock_net(&rs->sk));

	spin_lock_bh(&rn->lock);
	list_del_init(&rs->listed);
	spin_unlock_bh(&rn->lock);
}

/**
 * rds_sock_put() - drop a reference to a socket
 * @rs: the socket
 *
 * Context: any, no lock of RDS held.
 */
void rds_sock_put(struct rds_sock *rs)
{
	if (!refcount_dec_and_test(&rs->sk.sk_refcnt))
		return;
	/* Now, and not when it is freed: walkers would have to step over all that wait for that. */
	rds_sock_unlist(rs);
	sk_free(&rs->sk);
}

/* ---- namespaces -------------------------------------------------------------------- */

int rds_port_init_net(struct rds_net *rn)
{
	return rhashtable_init(&rn->ports, &port_params);
}

/* No socket of the namespace is left, so the table is empty. */
void rds_port_exit_net(struct rds_net *rn)
{
	rhashtable_destroy(&rn->ports);
}
