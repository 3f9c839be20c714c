/* SPDX-License-Identifier: GPL-2.0 */
/* A network namespace.  Part of core.h. */
#ifndef _RDS_NET_H
#define _RDS_NET_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "linger.h"
#include "quota.h"

#define RDS_PEER_BLOCKS	64

/**
 * struct rds_grave_block - records of connections to peers whose addresses begin alike
 * @list: struct rds_conn_grave, oldest first
 * @nr: their number
 */
struct rds_grave_block {
	struct list_head list;
	unsigned int nr;
};

/**
 * struct rds_net - everything RDS keeps for one network namespace
 * @net: the namespace
 * @generation: random, not 0: tells peers that this is not the one they knew by our addresses
 * @memcg: memory control group of the task that made it, counted; NULL: none, the root, or it
 *	was there before this module
 * @node: list of all namespaces (main.c)
 * @ports: bound sockets by (address, port, scope); RCU read, rhashtable's own locks
 * @conns: connections by key; RCU read
 * @conn_list: all connections until nobody holds them (@lock)
 * @maps: local congestion maps by address; RCU read
 * @lock: guards @conn_list, @sockets, @cong_waiters, @cong_senders; insertion into @conns against
 *	@dying
 * @sockets: all sockets that are not freed, oldest first (info records)
 * @cong_waiters: sockets that met ENOBUFS and wait for any map update, by sk_bind_node
 * @cong_busy: those of them that @cong_work has not come to yet (@lock)
 * @nr_cong_waiters: on both lists (@lock; peeked at)
 * @cong_cleared: monitor bits that @cong_work has to report
 * @cong_senders: threads that wait and that @cong_work has to wake (@lock)
 * @cong_work: wakes the waiters, if they are many
 * @users: who has sockets or connections here (quota.c)
 * @dying: set once under @lock at pre-exit; no connection is inserted afterwards
 * @cong_gen: changes of maps, those of our own on loopback too; poll compares it
 * @gc: expires idle connections
 * @lru: connections, those that were not looked at for the longest time first (@lock)
 * @conn_quota: connections that were made and are in @conns, or about to be, and for whom
 * @graves: records of connections that were given up (@lock to change)
 * @grave_blocks: the same, by the beginning of the peer's address (@lock)
 * @block_seed: random, which block that is
 * @nr_graves: their number (@lock)
 * @first_tx: sequence new paths begin with (@lock)
 * @partial: memory of messages that were received in part (room.c)
 * @spilled: memory of messages on receive queues above their limit (room.c)
 * @flow_bytes: memory of all rds_conn.flows (room.c)
 * @flow_blocks: the same, by the beginning of the peer's address
 * @idle: woken when a connection has been freed
 * @nr_alive: connections not yet freed
 * @nr_of: the same, of each transport
 * @orphans: sockets that are closed and still send
 * @nr_socks: sockets that are not freed, and one more until the end of the namespace
 * @socks_gone: completed when @nr_socks is 0
 * @sysctl: values, written by proc handlers, read anywhere with READ_ONCE
 * @ctl_header: registered table
 * @ctl_table: its copy
 */
struct rds_net {
	struct net *net;
	u32 generation;
	struct mem_cgroup *memcg;
	struct list_head node;
	struct rhashtable ports;
	struct rhashtable conns;
	struct list_head conn_list;
	struct rhashtable maps;
	spinlock_t lock;
	struct list_head sockets;
	struct hlist_head cong_waiters;
	struct hlist_head cong_busy;
	unsigned int nr_cong_waiters;
	atomic64_t cong_cleared;
	struct list_head cong_senders;
	struct work_struct cong_work;
	struct rds_users users;
	bool dying;
	atomic_t nr_alive;
	atomic_t nr_of[RDS_TRANS_LOOP + 1];
	atomic_t cong_gen;
	struct delayed_work gc;
	struct list_head lru;
	struct rds_quota conn_quota;
	struct rhashtable graves;
	struct rds_grave_block grave_blocks[RDS_PEER_BLOCKS];
	u32 block_seed;
	int nr_graves;
	u64 first_tx;
	atomic_long_t partial;
	atomic_long_t spilled;
	atomic_long_t flow_bytes;
	atomic_long_t flow_blocks[RDS_PEER_BLOCKS];
	wait_queue_head_t idle;
	struct rds_orphans orphans;
	atomic_t nr_socks;
	struct completion socks_gone;
	struct {
		unsigned long reconnect_min_jiffies;
		unsigned long reconnect_max_jiffies;
		int max_unacked_packets;
		int max_unacked_bytes;
		int ping_enable;
		int max_conns;
		int idle_conn_timeout_ms;
		unsigned long max_peer_bytes;
		int close_timeout_ms;
		int max_orphans;
	} sysctl;
	struct ctl_table_header *ctl_header;
	struct ctl_table *ctl_table;
};

struct rds_net *rds_net(const struct net *net);
void *rds_net_zalloc(const struct rds_net *rn, size_t size, gfp_t gfp);
void rds_net_for_each(void (*fn)(struct rds_net *rn, void *arg), void *arg);

#endif /* _RDS_NET_H */
