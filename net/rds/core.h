/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Core structures of RDS: who owns what, which lock guards which field.
 *
 * Documentation/overview.rst has the way of a message, with the file at each step, and the map of
 * all files.  Acknowledgements return through rds_path_acked(), room through rds_path_kick().
 *
 * Lock order (outer first):
 *   rds_path.link (mutex) -> the transport's own lock -> one of
 *     { rds_path.lock | rds_sock.rx.lock | rds_sock.addr_lock | rds_conn.lock |
 *       rds_net.lock | rds_cong_map.lock }   (spinlocks, _bh everywhere)
 *   lock_sock(rds) is taken alone, for bind, connect and options.
 * Never two of these, but for the pairs listed in Documentation/locking.rst, each with its
 * reason where it is.
 * Final puts, user copies and transport calls happen outside spinlocks, but for one call that
 * is named there.
 */
#ifndef _RDS_CORE_H
#define _RDS_CORE_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/rhashtable.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/ipv6.h>
#include <net/rds.h>
#include <net/sock.h>

#include "cmsg.h"
#include "cong.h"
#include "drop.h"
#include "net.h"
#include "peer.h"
#include "rdma.h"
#include "sockaddr.h"
#include "state.h"
#include "stats.h"
#include "wire.h"

/* ---- works ------------------------------------------------------------- */

extern struct workqueue_struct *rds_wq;		/* unbound; one item per path and purpose */
extern struct workqueue_struct *rds_gc_wq;	/* ends connections, waits for works of rds_wq */

/* ---- addresses ---------------------------------------------------------- */

static inline bool rds_addr_is_v4(const struct in6_addr *a)
{
	return ipv6_addr_v4mapped(a);
}

static inline bool rds_addr_is_linklocal(const struct in6_addr *a)
{
	return (a->s6_addr32[0] & htonl(0xffc00000)) == htonl(0xfe800000);
}

/* ---- sockets ------------------------------------------------------------ */

/**
 * struct rds_notifier - a status notification waiting for recvmsg()
 * @node: rds_rx.notes
 * @token: the application's token
 * @status: RDS_RDMA_*
 */
struct rds_notifier {
	struct list_head node;
	u64 token;
	s32 status;
};

/**
 * struct rds_rx - receive half of a socket
 * @lock: guards all of it
 * @queue: incoming messages
 * @bytes: their payload bytes
 * @nr: their number
 * @mem: memory that they keep
 * @spilled: as much of it is on the namespace's account (room.c)
 * @notes: rds_notifier, oldest first
 * @nr_notes: their number
 * @zrecords: rds_zrecord, completions of zero-copy sends, oldest first
 * @nr_zrecords: their number
 * @cong_wait: monitor bits to report when they clear (atomic, not under @lock)
 * @cong_ready: monitor bits to report now (atomic, not under @lock)
 * @news: changes when there are more of @notes or @cong_ready (atomic, behind those)
 * @told: @news, modulo 65536, when a reader was last told that it has no room for them
 * @congested: our port's bit is set in the local map
 * @closed: release has begun; nothing is queued any more
 */
struct rds_rx {
	spinlock_t lock;
	u32 nr;
	struct list_head queue;
	u64 bytes;
	u64 mem;
	u64 spilled;
	bool congested;
	bool closed;
	u16 told;
	u32 nr_notes;
	struct list_head notes;
	struct list_head zrecords;
	u32 nr_zrecords;
	atomic_t news;
	atomic64_t cong_wait;
	atomic64_t cong_ready;
};

/* What a socket need not have read to send with zero copy, or operations it wants to hear of. */
#define RDS_ZRECORDS_MAX	1024
#define RDS_NOTES_MAX		8192

/**
 * struct rds_zrecord - one completion record under construction or ready
 * @node: rds_rx.zrecords
 * @cookies: the record as it goes to user space
 */
struct rds_zrecord {
	struct list_head node;
	struct rds_zcopy_cookies cookies;
};

/**
 * struct rds_sock - an AF_RDS socket
 * @sk: must be first; owned by its file, counted by ports table, messages, batches; its
 *	sk_bind_node is in rds_net.cong_waiters or cong_busy (rds_net.lock)
 * @listed: rds_net.sockets, until the last reference is put
 * @port_node: rds_net.ports
 * @port_claim: in rds_cong_map.ports
 * @user: who has made it, counted; immutable
 * @bound: written once under the socket lock by a successful bind, immutable afterwards;
 *	valid if @is_bound (acquire)
 * @is_bound: release-stored last
 * @trans: transport, a module reference is held; set under the socket lock; with @is_bound
 *	immutable
 * @trans_chosen: @trans was chosen with SO_RDS_TRANSPORT and is kept when bind fails
 * @map: local congestion map of the bound address, counted; set before @is_bound
 * @addr_lock: guards @peer, @has_peer, @scope
 * @peer: default destination
 * @has_peer: connected
 * @scope: socket scope
 * @tos: type of service; socket lock
 * @tos_used: a message was sent: the TOS is fixed
 * @pins_left: messages with pages of the user stayed on a path when they were cancelled
 * @lends: a message with memory of the application was sent
 * @overrun: a message was dropped, and the reader told, since the queue was last short (rx.lock)
 * @recverr: RDS_RECVERR
 * @monitor: RDS_CONG_MONITOR
 * @cong_seen: rds_net.cong_gen at the last poll that reported it
 * @traces: SO_RDS_MSG_RXPATH_LATENCY, nr and positions; socket lock writes, READ_ONCE reads
 * @tx_bytes: payload bytes queued and not acknowledged
 * @tx_msgs: messages queued and not acknowledged
 * @tx_lock: guards @tx_list; inside rds_path.lock
 * @tx_list: these messages, by rds_message.own, those to one path in order
 * @mrs: xarray: key -> struct rds_mr, memory regions (its own lock, _bh)
 * @held_bit: its bit of rds_path.held_for, others may have the same; immutable
 * @held_on: where a message of this socket may be held back, or NULL; xchg() to take
 * @payload: pages for the next payloads, made by the first large message (payload.c); cmpxchg()
 * @orphan: what it is after close(), perhaps
 * @rx: receive half
 */
struct rds_sock {
	struct sock sk;
	struct list_head listed;
	struct rhash_head port_node;
	struct rds_claim port_claim;
	struct rds_user *user;
	struct rds_addr bound;
	struct rds_transport *trans;
	struct rds_cong_map *map;
	struct rds_payload_pool *payload;
	bool is_bound;
	bool trans_chosen;
	bool has_peer;
	bool tos_used;
	bool pins_left;
	bool lends;
	bool overrun;
	bool recverr;
	bool monitor;
	u8 tos;
	u8 held_bit;
	u32 scope;
	int cong_seen;
	struct rds_rx_trace_so traces;
	struct rds_orphan *orphan;
	struct rds_rx rx ____cacheline_aligned_in_smp;	/* senders write elsewhere */
	spinlock_t addr_lock;
	spinlock_t tx_lock;
	struct rds_addr peer;
	struct xarray mrs;
	atomic_t tx_bytes;
	atomic_t tx_msgs;
	struct list_head tx_list;
	struct rds_holder *held_on;
};

static inline struct rds_sock *rds_sk(const struct sock *sk)
{
	return (struct rds_sock *)sk;
}

static inline struct sock *rds_rs_to_sk(struct rds_sock *rs)
{
	return &rs->sk;
}

/* What the application asked for; the socket layer doubles it. */
static inline int rds_sndbuf(const struct rds_sock *rs)
{
	return READ_ONCE(rs->sk.sk_sndbuf) / 2;
}

static inline int rds_rcvbuf(const struct rds_sock *rs)
{
	return READ_ONCE(rs->sk.sk_rcvbuf) / 2;
}

static inline bool rds_is_bound(const struct rds_sock *rs)
{
	return smp_load_acquire(&rs->is_bound);	/* pairs with the release in bind */
}

/* Wake every sleeper and poller, whatever event it waits for. */
static inline void rds_sock_wake(struct sock *sk)
{
	struct socket_wq *wq;

	rcu_read_lock();
	wq = rcu_dereference(sk->sk_wq);
	if (skwq_has_sleeper(wq))
		wake_up_interruptible_all(&wq->wait);
	rcu_read_unlock();
}

/* sockopt.c */
int rds_setsockopt(struct socket *sock, int level, int opt, sockptr_t val, unsigned int len);
int rds_getsockopt(struct socket *sock, int level, int opt, char __user *val, int __user *len);

/* port.c */
void rds_sock_put(struct rds_sock *rs);
void rds_sock_unlist(struct rds_sock *rs);
int rds_port_bind(struct rds_net *rn, struct rds_sock *rs, const struct rds_addr *a, u16 *port);
void rds_port_unbind(struct rds_net *rn, struct rds_sock *rs);
/* Counted socket or NULL; any context. */
struct rds_sock *rds_port_find(struct rds_net *rn, const struct in6_addr *ip, u16 port, u32 scope);
int rds_port_init_net(struct rds_net *rn);
void rds_port_exit_net(struct rds_net *rn);

/* ---- messages ------------------------------------------------------------ */

/* payload.c */
struct page *rds_payload_page(struct rds_sock *rs, size_t left, unsigned int *size);
void rds_payload_put(struct rds_sock *rs, struct page *page);	/* any context */
void rds_payload_close(struct rds_sock *rs);
void rds_payload_free(struct rds_sock *rs);

/* ---- connections and paths ------------------------------------------------ */

/**
 * struct rds_conn_key - identity of a connection
 * @laddr: local address
 * @faddr: foreign address
 * @trans: transport
 * @scope: interface of a link-local address, else 0
 * @tos: type of service
 * @half: 1 for the passive end of a link from an address to itself (RDS_CAP_SELF)
 */
struct rds_conn_key {
	struct in6_addr laddr;
	struct in6_addr faddr;
	const struct rds_transport *trans;
	u32 scope;
	u32 tos;
	u64 half;
};

/**
 * struct rds_path - one ordered stream of messages to a peer
 * @conn: owner (the path lives as long as its connection)
 * @index: 0..7
 * @ended_why: negative errno of the last link that ended or could not be made, 0 = none; @lock
 * @lock: guards everything down to @link
 * @state: written by path_apply() only
 * @action: what the control work has to do next (START, ADOPT or STOP; STOP stays until it
 *	is complete), else NONE
 * @epoch: incarnation of the link; bumped by START and ADOPT
 * @queue: messages to be sent again, in sequence, then those not yet taken by the transport
 * @sent: messages taken by the transport and not yet acknowledged, in sequence
 * @controls: kernel pings and pongs on @queue and @sent
 * @sendq: messages that wait behind @queue, or NULL as long as there never were any (sendq.c)
 * @front_cost: what those on @queue cost, see rds_message_load()
 * @nr_queued: messages on @queue and in @sendq
 * @nr_sent: messages on @sent
 * @acked: how far the peer has acknowledged on this link, in the unit of rds_message.ack_pos
 * @unsettled: there are more messages below @acked than were settled at once; peeked at unlocked
 * @next_tx: sequence of the next message that the transport takes for the first time
 * @next_rx: sequence expected next
 * @rx_gen: generation of the peer instance @next_rx belongs to, 0 = not known
 * @rx_frames: frames received on this link
 * @backoff: next reconnect delay bound, jiffies; 0 = at once
 * @control_due: the first control frame of this link was not sent yet
 * @parked: the transport holds a link to be adopted
 * @adopted: the link of this epoch came from the peer
 * @welcome: who accepted the link of this epoch has said that messages may follow, or is older
 * @peer_port: of an adopted link: the path that it has told, or else the peer's port
 * @folded: its messages go by path 0 (rds_mprds_fold_path()), for good
 * @rx_as: path whose messages the link brings, if not this one's (rds_mprds_repair())
 * @up_since: jiffies of the last transition to UP
 * @nr_control: length of @controls; peeked at unlocked
 * @unacked_packets: messages until an acknowledgment is asked for
 * @unacked_bytes: bytes until an acknowledgment is asked for
 * @link: serialises start, stop and send; taken in process context only
 * @greetings: handshake pings sent on this link since LINK_UP, or since the fan-out asks
 * @sending: somebody is inside send() (info records); @link
 * @pull_budget: messages this pass may still pull; @link
 * @ended_at: when the last link ended, seconds since boot; @lock
 * @pull_empty: the last pull left the queue empty; @link
 * @held: the transport holds messages back; written under @link
 * @sender: socket whose sendmsg() this pass is, or NULL; @link
 * @holder: the list @held_node is on or was; written under @link
 * @held_node: rds_holder.paths (its lock); may be off already while @held
 * @held_since: when that began, ns; @link and rds_holder.lock
 * @held_until: when it has to end, ns; likewise
 * @held_for: rds_sock.held_bit of those that may have messages held back; a lost bit costs time
 * @push: somebody waits for what is held back; set by anyone, taken with @link held
 * @pushing: this pass holds nothing back; @link
 * @ctl_work: runs @action; a STOP in several steps, none of which waits
 * @pump_work: runs send()
 * @timer: reconnect
 * @gone: completed in state GONE
 * @priv: transport's private data, path_priv_size bytes; with it most paths are just below 1 KiB
 */
struct rds_path {
	struct rds_conn *conn;
	u8 index;
	s16 ended_why;

	spinlock_t lock;
	enum rds_state state;
	enum rds_action action;
	u32 epoch;
	u32 nr_queued;
	u32 nr_sent;
	u64 front_cost;
	struct rds_sendq *sendq;
	struct list_head queue;
	struct list_head sent;
	struct list_head controls;
	u64 acked;
	u64 next_tx;
	u64 next_rx;
	u32 rx_gen;
	u32 rx_frames;
	unsigned long backoff;
	bool control_due;
	bool parked;
	bool adopted, welcome;
	bool folded;
	bool unsettled;
	u16 peer_port;
	struct rds_path *rx_as;
	unsigned long up_since;
	u32 nr_control;
	u32 unacked_packets;
	u64 unacked_bytes;

	struct mutex link;
	u8 greetings;
	bool sending;
	bool pull_empty;
	bool held;
	bool push;
	bool pushing;
	unsigned int pull_budget;
	u32 ended_at;
	struct delayed_work ctl_work;
	struct work_struct pump_work;
	struct delayed_work timer;
	struct completion gone;
	struct rds_sock *sender;
	struct rds_holder *holder;
	struct list_head held_node;
	u64 held_since;
	u64 held_until;
	unsigned long held_for;
	u64 priv[];
};

#define RDS_NR_WAYS	256

/* Ports whose records a connection finds at once (underway.c). */
#define RDS_UNDERWAY_RECENT	8

/**
 * struct rds_conn - a connection
 * @node: rds_net.conns
 * @net_node: rds_net.conn_list (rds_net.lock), until nobody holds it
 * @key: identity, immutable
 * @rn: namespace
 * @ref: table, users, works
 * @free_work: frees it in process context after a grace period
 * @lmap: local map of key.laddr, counted
 * @lmap_node: @lmap's list of connections (map lock)
 * @lmap_sent: generation of @lmap the peer was told (path 0's sender)
 * @fmap: what the peer told us; NULL = no bit so far; kept once set
 * @fmap_doubts: bits of it that an overtaken map may have set (@lock); NULL = none so far
 * @floop: on loopback: the receiver's local map, counted, instead of @fmap
 * @senders: blocking senders waiting for a bit to clear, but for loopback
 * @lock: guards the fields down to @mprds_work
 * @fmap_path: path by which the last map came
 * @fmap_when: jiffies of that
 * @fmap_doubt: there are bits in @fmap_doubts
 * @peer_gen: generation of the peer's instance, 0 = unknown
 * @want_paths: path count announced by the peer, 0 = unknown
 * @peer_sport_idx: peer encodes the path in its source port
 * @ports_changed: it says so, but somebody on the way changes them
 * @greeted: epoch of the link of path 0 by which a handshake pong came
 * @greeted_gen: @peer_gen of then
 * @told: epoch of the link of path 0 by which @peer_gen was told
 * @kind: does the peer say whom a link leads to (peer.c)?  Any value is right for a moment
 * @who_gen: instance of the peer whose link was let in last, 0 = none that has told
 * @who_name: its name for this connection
 * @doubt_since: jiffies when another instance was found in place of the known one, 0 = no doubt
 * @dead: being destroyed: no path is added, no work queued
 * @closing: senders and new links have to wait whether it goes (expire.c); @setup to write
 * @going: it goes; @setup
 * @fanout_open: other paths may send
 * @repairing: messages are being given to other paths (mprds_repair()); read under a path's lock
 * @fold: the peer does not pair path indices any more: our messages go by path 0, for good
 * @pings: handshake pings on path 0's present link
 * @pongs: how many are answered; read unlocked, as @fence
 * @fence: so many must be before @fanout_open; 0 = none need, RDS_FENCE_LATER = the ping that has
 *	to be answered was not sent yet
 * @pinged_at: sequence of the last one that path 0's transport took (path[0].lock)
 * @last_data: that of the last message of a user there, 0 = none so far (path[0].lock)
 * @nr_early: messages that were queued before other paths were used, and not acknowledged
 *	(path[0].lock)
 * @nr_early_queued: those of them that the transport of path 0's link has not taken (path[0].lock)
 * @npaths: paths in use; 0 = unknown; release-stored under lock and path[0].lock
 * @tx_paths: paths our own messages are spread over; 0 = unknown; likewise
 * @way: path + 1 of our source ports with this remainder, 0 = none yet; kept once set
 * @flows: xarray: source port of a peer that may not pair path indices -> the last
 *	sequence received from it (legacy.c)
 * @flow_bytes: its memory, charged to the namespace
 * @underway: xarray: destination port -> struct rds_underway (underway.c)
 * @recent: those that were asked for last, by port (@underway's lock to write; RCU)
 * @nr_underway: records in it
 * @blames: who has cost it links; NULL: nobody without privileges (blame.c)
 * @crowded: once there was too much under way to one of them
 * @mprds_work: allocates paths, in process context; delayed only for lack of memory
 * @setup: serialises mprds set-up
 * @answered: the peer ever sent a valid frame
 * @claim: in rds_net.conn_quota
 * @fold_waits: rds_mprds_fold_path() has to be called again when something was acknowledged
 * @user: who was the first to send by it, counted, NULL before; written once
 * @destroy_work: destroys it once it was taken out of the table
 * @lru_node: rds_net.lru (rds_net.lock), while in the table
 * @lru_used: @last_used when it was last looked at
 * @last_used: jiffies of the last send, accepted link, or end of a link
 * @id: number for traces
 * @paths: [0] always; others once announced; never freed before the connection
 */
struct rds_conn {
	struct rhash_head node;
	struct list_head net_node;
	struct rds_conn_key key;
	struct rds_net *rn;
	refcount_t ref;
	struct rcu_work free_work;
	struct rds_cong_map *lmap;
	struct list_head lmap_node;
	u32 lmap_sent;
	u8 *fmap;
	u8 *fmap_doubts;
	struct rds_cong_map *floop;
	struct rds_cong_senders senders;

	spinlock_t lock;
	u8 fmap_path;
	unsigned long fmap_when;
	bool fmap_doubt;
	u32 peer_gen;
	u32 want_paths;
	bool peer_sport_idx, ports_changed;
	u32 greeted, greeted_gen, told;
	enum rds_peer_kind kind;
	u32 who_gen, who_name;
	unsigned long doubt_since;
	bool dead;
	bool fanout_open, repairing, fold, fold_waits;
	u8 pings, pongs, fence;
	u64 pinged_at, last_data;
	u32 nr_early, nr_early_queued;
	unsigned int npaths, tx_paths;
	u8 way[RDS_NR_WAYS];
	struct xarray flows;
	atomic_t flow_bytes;
	struct xarray underway;
	struct rds_underway *recent[RDS_UNDERWAY_RECENT];
	atomic_t nr_underway;
	bool crowded;
	struct rds_blames *blames;
	struct delayed_work mprds_work;
	struct mutex setup;

	bool closing, going;
	bool answered;
	struct rds_claim claim;
	struct rds_user *user;
	struct work_struct destroy_work;
	struct list_head lru_node;
	unsigned long lru_used;
	unsigned long last_used;
	u32 id;
	struct rds_path *paths[RDS_MAX_PATHS];
};

static inline bool rds_conn_is_active(const struct rds_conn *c)
{
	return memcmp(&c->key.laddr, &c->key.faddr, sizeof(struct in6_addr)) < 0;
}

/* conn.c */
struct rds_conn *rds_conn_for_send(struct rds_sock *rs, const struct in6_addr *faddr, u32 scope);
/* Call @fn for each connection of @rn, in process context; @fn may sleep; a reference is held. */
void rds_conn_for_each(struct rds_net *rn, void (*fn)(struct rds_conn *c, void *arg), void *arg);
/* False while it is being freed. */
static inline bool rds_conn_tryget(struct rds_conn *c)
{
	return refcount_inc_not_zero(&c->ref);
}

/* Somebody else has a reference, too. */
static inline void rds_conn_hold(struct rds_conn *c)
{
	refcount_inc(&c->ref);
}

struct rds_path *rds_conn_add_path(struct rds_conn *c, unsigned int index);
bool rds_path_has_successor(struct rds_path *p);
int rds_conn_init_net(struct rds_net *rn);
void rds_conn_kill_net(struct rds_net *rn, const struct rds_transport *t);	/* NULL = all */
void rds_conn_exit_net(struct rds_net *rn);
bool rds_conn_unlink(struct rds_conn *c);		/* one caller gets true */
void rds_conn_destroy_later(struct rds_conn *c);	/* only who unlinked it */

/* state.c */
void rds_path_init_state(struct rds_path *p);
void rds_path_doom(struct rds_path *p);			/* DESTROY */
void rds_path_await_gone(struct rds_path *p);
void rds_path_reap(struct rds_path *p);			/* all paths are GONE */
void rds_path_control(struct rds_path *p);		/* link mutex held */
void rds_path_reset(struct rds_path *p);		/* administrative drop */
void rds_path_hurry(struct rds_path *p);		/* reconnect now, not after the back-off */
void rds_path_look_later(struct rds_path *p);

/* mprds.c */
struct rds_path *rds_mprds_select(struct rds_conn *c, u16 sport, u16 dport, unsigned int *npaths);
void rds_mprds_generation(struct rds_path *p, const struct rds_hdr *h);
bool rds_mprds_is_pong(const struct rds_conn *c, const struct rds_hdr *h);
void rds_mprds_received(struct rds_path *p, const struct rds_hdr *h);
void rds_mprds_link_up(struct rds_path *p);
bool rds_mprds_greet_again(struct rds_path *p);
void rds_mprds_ext(const struct rds_path *p, u8 ext[RDS_EXT_LEN]);
bool rds_mprds_may_send(struct rds_path *p);
bool rds_mprds_may_still_send(const struct rds_path *p);
void rds_mprds_path0_acked(struct rds_conn *c);
void rds_mprds_fold_path(struct rds_path *p);
void rds_mprds_fold_later(struct rds_conn *c);
bool rds_mprds_may_start(const struct rds_path *p);
unsigned int rds_mprds_guess(struct rds_conn *c);
bool rds_mprds_apply(struct rds_conn *c);
void rds_mprds_work(struct work_struct *work);

/* ---- send and receive ------------------------------------------------------- */

/* send.c */
int rds_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);

/* cancel.c */
int rds_cancel(struct rds_sock *rs, const struct rds_addr *dst);	/* NULL = everything */
void rds_cancel_lent(struct rds_sock *rs);

/* recv.c */
int rds_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags);
/* To the socket at (@dst, inc->dport); takes @inc, whose addresses and lengths are filled in. */
void rds_recv_deliver(struct rds_net *rn, const struct in6_addr *dst, const struct rds_hdr *h,
		      struct rds_incoming *inc, struct rds_rx_batch *b);
void rds_recv_flush(struct rds_rx_batch *b);
bool rds_rx_ready(struct rds_sock *rs);
void rds_rx_purge(struct rds_sock *rs);

/* notify.c */
void rds_notify_zcopy(struct rds_pin *pin);
bool rds_cmsg_room(const struct msghdr *msg, size_t size);
bool rds_note_room(const struct msghdr *msg);
bool rds_zcopy_room(const struct sock *sk, const struct msghdr *msg);
void rds_note_added(struct rds_sock *rs);
void rds_recv_returned(struct rds_sock *rs);
int rds_recv_notes(struct rds_sock *rs, struct msghdr *msg, int flags);
int rds_recv_cong(struct rds_sock *rs, struct msghdr *msg, int flags);
int rds_recv_zcopy(struct rds_sock *rs, struct msghdr *msg, int flags);

/* ---- info, statistics, sysctls, transports ------------------------------------ */

/* info.c */
int rds_info_getsockopt(struct socket *sock, int opt, char __user *val, int __user *len);

/* sysctl.c */
void rds_sysctl_defaults(struct rds_net *rn);
int rds_sysctl_init_net(struct rds_net *rn);
void rds_sysctl_exit_net(struct rds_net *rn);

/* transport.c: the one that owns @addr in @net, module reference taken; NULL if none. */
bool rds_transport_serves(const struct net *net);
struct rds_transport *rds_transport_for_addr(struct net *net, const struct in6_addr *addr,
					     u32 scope);
/* By number, loading the module if need be; reference taken; NULL if none. */
struct rds_transport *rds_transport_get(int type);
void rds_transport_put(struct rds_transport *t);
bool rds_transport_is_registered(const struct rds_transport *t);	/* any context */
bool rds_transport_owns(const struct rds_transport *t, struct net *net,
			const struct in6_addr *addr, u32 scope);
bool rds_addr_is_local(struct net *net, const struct in6_addr *addr, u32 scope);
bool rds_addr_is_loopback(const struct in6_addr *addr);
/* Call @fn for each registered transport in order IB, TCP. May sleep. */
void rds_transport_for_each(void (*fn)(struct rds_transport *t, void *arg), void *arg);

/* loop.c */
extern struct rds_transport rds_loop_transport;

#include "bounds.h"
#include "hold.h"
#include "sendq.h"

#endif /* _RDS_CORE_H */
