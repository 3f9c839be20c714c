/* SPDX-License-Identifier: GPL-2.0 */
/* Congestion maps (cong.c), and who waits for them (congwait.c).  Part of core.h. */
#ifndef _RDS_CONG_H
#define _RDS_CONG_H

#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "quota.h"
#include "wire.h"

struct rds_conn;
struct rds_incoming;
struct rds_net;
struct rds_path;
struct rds_sock;

/**
 * struct rds_cong_senders - threads whose sendmsg() waits until a port takes messages again
 * @wq: where they wait, exclusively, hence in the order in which they came
 * @nr: their number
 * @node: rds_net.cong_senders, while some of them have yet to be woken
 * @left: so many; none (0 or less) while it is not there (rds_net.lock)
 */
struct rds_cong_senders {
	wait_queue_head_t wq;
	atomic_t nr;
	struct list_head node;
	int left;
};

/**
 * struct rds_cong_map - what we announce for one local address
 * @node: rds_net.maps
 * @key: what it is found by
 * @key.addr: the address
 * @key.scope: its interface if link-local
 * @ref: sockets and connections
 * @rcu: freed after a grace period
 * @rn: namespace
 * @lock: guards @conns, @nr_conns, @clear_next
 * @conns: connections that announce it, while they are held
 * @nr_conns: their number
 * @clear_next: jiffies before which many of them are not told of a free port again
 * @publish: tells them, if they are many; counts as a user
 * @ports: ports of the address that are bound, and for whom
 * @gen: number of times they were told so far
 * @looped: a loopback connection has tested it, and may be gone while its senders still wait
 * @senders: loopback senders waiting for a bit to clear
 * @bits: 65536 bits, little endian bytes; atomic bit operations only
 */
struct rds_cong_map {
	struct rhash_head node;
	struct rds_cong_key {
		struct in6_addr addr;
		u32 scope;
	} key;
	refcount_t ref;
	struct rcu_head rcu;
	struct rds_net *rn;
	spinlock_t lock;
	struct list_head conns;
	unsigned int nr_conns;
	unsigned long clear_next;
	struct delayed_work publish;
	struct rds_quota ports;
	atomic_t gen;
	bool looped;
	struct rds_cong_senders senders;
	unsigned long bits[RDS_CONG_MAP_BYTES / sizeof(long)];
};

struct rds_cong_map *rds_cong_map_get(struct rds_net *rn, const struct in6_addr *addr, u32 scope);
void rds_cong_map_put(struct rds_net *rn, struct rds_cong_map *map);
int rds_cong_join(struct rds_conn *c);			/* take and join the maps of a connection */
void rds_cong_delist(struct rds_conn *c);
void rds_cong_leave(struct rds_conn *c);
unsigned long rds_cong_doubt_over(struct rds_conn *c);
void rds_cong_link_lost(struct rds_conn *c);
/* The receive queue of a bound socket changed: set or clear its bit.  No locks held. */
void rds_cong_update(struct rds_sock *rs);
void rds_cong_release_port(struct rds_sock *rs);	/* close: clear the bit */
void rds_cong_changed(struct rds_conn *c, u64 cleared);
void rds_cong_wake(struct rds_conn *c, u64 cleared);
bool rds_cong_test(const struct rds_conn *c, u16 port);
bool rds_cong_test_local(const struct rds_conn *c, u16 port);
void rds_cong_received(struct rds_path *p, const struct rds_hdr *h, struct rds_incoming *inc);
void rds_cong_snapshot(struct rds_conn *c, u8 *out);
bool rds_cong_update_due(const struct rds_conn *c);
int rds_cong_init(void);
void rds_cong_exit(void);
int rds_cong_init_net(struct rds_net *rn);
void rds_cong_exit_net(struct rds_net *rn);

/* congwait.c */
void rds_cong_senders_init(struct rds_cong_senders *s);
void rds_cong_senders_wake(struct rds_net *rn, struct rds_cong_senders *s);
void rds_cong_senders_exit(struct rds_net *rn, struct rds_cong_senders *s);	/* nobody waits */
/* -ENOBUFS, 0, -ETIMEDOUT, or restart errno; consumes *timeo */
int rds_cong_wait(struct rds_sock *rs, struct rds_conn *c, u16 port, bool nonblock, long *timeo);
void rds_cong_notify(struct rds_net *rn, u64 cleared);
void rds_cong_work(struct work_struct *work);
__poll_t rds_cong_poll(struct rds_sock *rs);
void rds_cong_forget(struct rds_sock *rs);		/* leave cong_waiters */

#endif /* _RDS_CONG_H */
