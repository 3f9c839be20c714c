/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDS: the contract between the core and its transports.
 *
 * A transport module includes this file (and with it net/rds_rdma.h) and net/rds/wire.h, nothing
 * else of RDS.
 *
 * Objects.  A *connection* (struct rds_conn) joins a local and a foreign address over
 * one transport; it has 1..max_paths *paths* (struct rds_path).  A path has at most
 * one *link* (the transport's word for it: a TCP socket, a queue pair).  Each link
 * attempt has an *epoch*; every upcall that concerns a link carries the epoch it
 * was started with, and the core ignores upcalls of an older one.
 *
 * Who may run what on a path.  start(), stop() and send() run in process context, may
 * sleep, and are serialised by the path's link mutex, which the core holds around
 * them.  Upcalls never take that mutex and never call back into the transport, but for
 * mr_sync() and mr_unmap(), under locks of the core; so they may be made from
 * softirq and under those locks of the transport that these two do not take.
 */
#ifndef _NET_RDS_H
#define _NET_RDS_H

#include <linux/bvec.h>
#include <linux/in6.h>
#include <linux/jump_label_ratelimit.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/rds.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <net/net_namespace.h>
#include <net/rds_rdma.h>

struct mem_cgroup;
struct rds_conn;
struct rds_flow;
struct rds_hdr;
struct rds_info_sink;
struct rds_path;
struct rds_pin;
struct rds_quota;
struct rds_share;
struct rds_underway;
struct rds_sock;

/* What all modules tell about themselves; the build names the version, see tools/version.sh. */
#ifndef RDS_VERSION
#define RDS_VERSION		"unknown"
#endif
#define RDS_AUTHOR		"the maintainers of the repository that this was built from"

/* Symbols of the core live in this namespace. */
#define RDS_SYMBOL_NS		RDS_TRANSPORT

/* Kernel-internal transport number of the loopback transport; visible in SO_RDS_TRANSPORT. */
#define RDS_TRANS_LOOP		3

/* rds_transport.caps */
#define RDS_CAP_ZCOPY		0x01	/* payload pages may belong to user space */
#define RDS_CAP_ANY_NETNS	0x02	/* works outside the initial namespace */
#define RDS_CAP_SENDS_CONG	0x04	/* carries congestion maps */
#define RDS_CAP_LOCAL_VIA_LOOP	0x08	/* local destinations go through the loopback transport */
#define RDS_CAP_CANONICAL	0x10	/* only the smaller address keeps a link it made itself */
#define RDS_CAP_ACK_REQUIRED	0x40	/* the header asks for acknowledgements (verbs) */
#define RDS_CAP_HANDSHAKE	0x80	/* control frames carry our generation, path 0 is greeted */
#define RDS_CAP_SELF		0x100	/* a link from an address to itself has two ends here */
#define RDS_CAP_AT_ONCE		0x200	/* start() needs nobody else: who sends makes the link */

/* rds_message.where */
enum rds_message_where {
	RDS_MSG_OFF,	/* not on a path (any more) */
	RDS_MSG_QUEUED,	/* not taken by the transport, or to be sent again */
	RDS_MSG_SENT	/* taken, and not acknowledged */
};

/**
 * struct rds_message - one message on its way out
 * @ref: references: path queue, transport in flight, sender
 * @node: membership in a path's queue, its sent list or a local list (path->lock)
 * @own: rds_sock.tx_list of @rs until it is settled, also if @rs is NULL because it was taken back
 *	(that of @pin, rds_sock.tx_lock); of the kernel's own: rds_path.controls (path->lock)
 * @path: the path it was queued on last (path->lock)
 * @flow: rds_path.sendq's in which it waits, or NULL (path->lock)
 * @where: which list of the path it is on (path->lock)
 * @rs: sending socket, counted; NULL for pings and pongs of the kernel, and once it was taken
 *	back while the transport may still read its pages
 * @control: a ping or pong of the kernel
 * @early: queued on path 0 before others were used (path->lock)
 * @seq: sequence number, fixed when the transport takes it for the first time; 0 = not yet
 * @ack_pos: set by rds_path_pull(): the position, in the transport's own monotonic unit, at
 *	which the message is acknowledged
 * @len: payload bytes
 * @charge: bytes charged to the socket's send buffer, 0 once released
 * @sport: source port, host order
 * @dport: destination port, host order
 * @flags: header flags (RDS_FLAG_RETRANSMITTED is set by the core when it requeues)
 * @underway: what is charged for it, or NULL (underway.c)
 * @nr_bvec: payload pieces, 0 if the payload is linear
 * @ext: extension headers
 * @pin: pinned user pages behind @bvec (zero copy), or NULL
 * @op: operation to be executed before the message is sent, or NULL
 * @bvec: payload pieces, page memory that may be handed over by reference; the sum of
 *	the lengths is @len.  Immutable after the message was queued
 * @data: linear payload if @nr_bvec is 0 (slab memory: copy, never hand over)
 */
struct rds_message {
	refcount_t ref;
	struct list_head node;
	struct list_head own;
	struct rds_path *path;
	struct rds_underway *underway;
	struct rds_flow *flow;
	struct rds_sock *rs;
	u64 seq;
	u64 ack_pos;
	u32 len;
	u32 charge;
	u16 sport;
	u16 dport;
	u8 flags;
	bool control;
	u8 where;
	bool early;
	u16 nr_bvec;
	u8 ext[16];
	struct rds_pin *pin;
	struct rds_op *op;
	struct bio_vec *bvec;
	u8 data[] __aligned(8);
};

void rds_message_put(struct rds_message *m);

static inline void rds_message_get(struct rds_message *m)
{
	refcount_inc(&m->ref);
}

struct rds_incoming;

/**
 * struct rds_inc_ops - how to get at the payload of an incoming message
 * @read: copy @n payload bytes from offset @off into @to; process context (may fault)
 *	or any context when @to is a kernel iterator; 0 or -EFAULT
 * @free: free the object; any context
 * @shared: how much of the @truesize of @inc is that of @prev, too, which is in front of it on the
 *	same queue and has the same operations; under a lock of the core.  NULL: nothing ever is
 * @owner: module of these, if not the core's: a message on a queue keeps it, because the
 *	socket may be another transport's
 */
struct rds_inc_ops {
	int (*read)(struct rds_incoming *inc, size_t off, struct iov_iter *to, size_t n);
	void (*free)(struct rds_incoming *inc);
	u32 (*shared)(const struct rds_incoming *prev, const struct rds_incoming *inc);
	struct module *owner;
};

/* Indices of rds_incoming.trace: clock readings (local_clock(), ns) */
enum rds_rx_clock {
	RDS_RX_CLOCK_FIRST,	/* first byte seen by the transport */
	RDS_RX_CLOCK_HDR,	/* header complete */
	RDS_RX_CLOCK_QUEUED,	/* on the socket (core) */
	RDS_RX_CLOCK_READ,	/* being read (core) */
	RDS_NR_RX_CLOCKS
};

/**
 * struct rds_incoming - one message on its way in
 * @node: membership in a batch or a socket's receive queue
 * @ref: references: queue or reader
 * @ops: payload access
 * @saddr: sender
 * @cookie: RDMA cookie from the header, 0 = none
 * @seq: sequence number
 * @stamp: real time of arrival if the socket asked for it, else 0
 * @trace: clock readings, all zero unless rds_rx_tracing()
 * @len: payload bytes
 * @truesize: memory that is free when the message is: its own, and what it pins; on a queue but
 *	for what it shares with the next one
 * @scope: interface of a link-local sender, else 0
 * @sport: sender's port, host order
 * @dport: receiver's port, host order
 * @tos: type of service of the connection
 * @counted: it holds @ops->owner
 * @charged: @truesize is charged to the socket
 * @spilled: it is on the account of the namespace, since the queue had no room
 *
 * The transport fills @ops, @truesize and, while rds_rx_tracing(), @trace[0..1]; the core
 * the rest.  But for the charge immutable once it is on a socket's queue.
 */
struct rds_incoming {
	struct list_head node;
	refcount_t ref;
	const struct rds_inc_ops *ops;
	struct in6_addr saddr;
	u64 cookie;
	u64 seq;
	ktime_t stamp;
	u64 trace[RDS_NR_RX_CLOCKS];
	u32 len;
	u32 truesize;
	u32 scope;
	u16 sport;
	u16 dport;
	u8 tos;
	bool counted;
	bool charged;
	bool spilled;
};

void rds_inc_init(struct rds_incoming *inc, const struct rds_inc_ops *ops, size_t truesize);
struct rds_incoming *rds_inc_alloc_linear(u32 len, gfp_t gfp, u8 **data);
void rds_inc_put(struct rds_incoming *inc);

extern struct static_key_false_deferred rds_rx_trace_key;

static inline bool rds_rx_tracing(void)
{
	return static_branch_unlikely(&rds_rx_trace_key.key);
}

/**
 * struct rds_stat_desc - counters of a transport, appended to RDS_INFO_COUNTERS
 * @names: counter names, at most 31 characters each
 * @nr: number of counters
 * @nr_ref: how many of them (from the first) the reference transport has, in its order;
 *	the rest is listed after all reference counters of all transports
 * @base: per-CPU array of @nr u64
 */
struct rds_stat_desc {
	const char *const *names;
	unsigned int nr;
	unsigned int nr_ref;
	u64 __percpu *base;
};

/**
 * struct rds_transport - what a transport gives to the core
 * @name: name in info records, at most 15 characters
 * @type: RDS_TRANS_IB, RDS_TRANS_TCP or RDS_TRANS_LOOP
 * @owner: module
 * @caps: RDS_CAP_*
 * @max_paths: paths a connection may have (1..8)
 * @path_priv_size: bytes of private data the core allocates, zeroed, with each path
 * @stats: counters, or NULL
 * @rdma: memory regions and operations, or NULL
 * @owns_addr: is @addr local and usable in @net (@scope: interface index or 0);
 *	process context under RCU, does not sleep
 * @path_init: prepare the private data of a new path; may sleep; 0 or -errno
 * @path_free: undo @path_init; called after stop() when nothing runs any more; may sleep
 * @start: make a link: connect, or (@adopt) take over the one that the transport parked
 *	before it called rds_path_accept().  May sleep, link mutex held.  The outcome
 *	arrives as rds_path_link_up() or rds_path_drop() with @epoch, from any context; a
 *	negative return counts as a drop
 * @stop: take the link down.  Link mutex held, idempotent, also called when start() failed.
 *	Received data is delivered first (drain) unless @abort.  It does not wait for the
 *	peer: it returns how many jiffies it still wants to give it, and is called again
 *	when they have passed or rds_path_stop_again() was called; 0 when it is done.
 *	Then no callback of this epoch runs and no partial message is left
 * @send: pull control frames and messages and write as much as there is room for.  May
 *	sleep, link mutex held, path UP.  0: nothing left that could be sent now (all
 *	taken, or rds_path_kick() will follow when there is room); negative: link is dead
 * @discard: forget a link parked for this path (refused, or the path is going away)
 * @info: write the transport's info records for @opt in namespace @net; may sleep
 * @tos_map: wire TOS for the value an application gave; NULL: SIOCRDSSETTOS is not understood
 */
struct rds_transport {
	const char *name;
	int type;
	struct module *owner;
	u32 caps;
	unsigned int max_paths;
	size_t path_priv_size;
	const struct rds_stat_desc *stats;
	const struct rds_rdma_ops *rdma;

	bool (*owns_addr)(struct net *net, const struct in6_addr *addr, u32 scope);
	int (*path_init)(struct rds_path *p);
	void (*path_free)(struct rds_path *p);
	int (*start)(struct rds_path *p, u32 epoch, bool adopt);
	unsigned long (*stop)(struct rds_path *p, bool abort);
	int (*send)(struct rds_path *p);
	void (*discard)(struct rds_path *p);
	void (*info)(struct net *net, int opt, struct rds_info_sink *sink);
	u8 (*tos_map)(u8 tos);
};

/*
 * Registry.  register: 0, -EEXIST or -EINVAL (its type).  unregister destroys all connections of
 * the transport and waits.
 */
int rds_transport_register(struct rds_transport *t);
void rds_transport_unregister(struct rds_transport *t);

/*
 * A transport's namespace goes away: destroy its connections there; waits.  No new ones can
 * appear in a dying netns.
 */
void rds_transport_exit_net(struct rds_transport *t, struct net *net);
/*
 * Who pays for what works of a transport make for the namespace: for set_active_memcg().  It lives
 * as long as @net; NULL: nobody.
 */
struct mem_cgroup *rds_memcg(const struct net *net);
/* Facts about a path; all immutable for its lifetime. */
void *rds_path_priv(const struct rds_path *p);
struct net *rds_path_net(const struct rds_path *p);
struct rds_conn *rds_path_conn(const struct rds_path *p);
unsigned int rds_path_index(const struct rds_path *p);
/* Path 0 of the same connection; it exists as long as any other. */
struct rds_path *rds_path_first(const struct rds_path *p);
/* A path of a connection, or NULL if there is none yet. */
struct rds_path *rds_conn_path(const struct rds_conn *c, unsigned int index);
/* May the peer take a link of this path for one of another?  Until it has said that it does not. */
bool rds_path_is_guess(const struct rds_path *p);
/* The path whose messages the link brings: another one if its place turned out to be wrong. */
struct rds_path *rds_path_brings(struct rds_path *p);
const struct in6_addr *rds_path_laddr(const struct rds_path *p);
const struct in6_addr *rds_path_faddr(const struct rds_path *p);
u32 rds_path_scope(const struct rds_path *p);
u8 rds_path_tos(const struct rds_path *p);
/* The local address is numerically smaller: this side makes the canonical link. */
bool rds_path_is_active(const struct rds_path *p);
/* The passive end of a link from an address to itself (RDS_CAP_SELF). */
bool rds_path_is_half(const struct rds_path *p);

/*
 * Incoming links.  rds_conn_find_or_create(): counted connection or ERR_PTR(-ENOMEM,
 * -ENOSPC over max_conns, -ENETDOWN, -EOPNOTSUPP for a local peer); may sleep.
 * rds_conn_accept_path(): the path an incoming link from @peer_port belongs to, NULL for lack
 * of memory; may sleep; valid while the connection is held.
 */
struct rds_conn *rds_conn_find_or_create(struct net *net, struct rds_transport *t,
					 const struct in6_addr *laddr,
					 const struct in6_addr *faddr, u32 scope, u8 tos);
void rds_conn_put(struct rds_conn *c);
struct rds_path *rds_conn_accept_path(struct rds_conn *c, u16 peer_port);

/**
 * enum rds_placing - where an incoming link belongs
 * @RDS_PLACE_LATER: its first frame has to be waited for; if it stays silent, a guess
 * @RDS_PLACE_MUST_SPEAK: the same; if it stays silent, nowhere: the peer's other links did tell
 * @RDS_PLACE_GUESS: it does not say: rds_conn_accept_path()
 * @RDS_PLACE_TOLD: it does: rds_conn_told_path()
 * @RDS_PLACE_RIVAL: there are links to somebody else by the same address: rds_conn_ask(), and see
 *	whether they answer; if not, rds_conn_forsake()
 * @RDS_PLACE_REFUSED: the answer has to be sent, and the link closed
 */
enum rds_placing {
	RDS_PLACE_LATER,
	RDS_PLACE_MUST_SPEAK,
	RDS_PLACE_GUESS,
	RDS_PLACE_TOLD,
	RDS_PLACE_RIVAL,
	RDS_PLACE_REFUSED
};

/*
 * rds_conn_place(): @h: first header of an incoming link that has no path, NULL = it has not come.
 * rds_conn_answer(): a frame that says it has to wait, or is refused, for a rival.
 * Process context.
 */
enum rds_placing rds_conn_place(struct rds_conn *c, const struct rds_hdr *h, unsigned int *index,
				u8 answer[48]);
void rds_conn_answer(struct rds_conn *c, const struct rds_hdr *h, bool wait, u8 answer[48]);
/* To a link from an address of ours: that it was led back here. */
void rds_net_answer_self(struct net *net, const struct in6_addr *laddr, u8 answer[48]);
struct rds_path *rds_conn_told_path(struct rds_conn *c, unsigned int index);
/* Do the peer's links say in their first frame where they belong?  Unknown counts as no. */
bool rds_conn_tells(const struct rds_conn *c);
void rds_conn_ask(struct rds_conn *c);
void rds_conn_forsake(struct rds_conn *c);
/* The larger peer knocked (non-canonical connect): connect path 0 if it is down. */
void rds_conn_nudged(struct rds_conn *c);

/*
 * Upcalls about the link.  Any context.
 * rds_path_accept(): the transport parked a link in the path's private data; @again: it did so
 * before.  0: it will be adopted by start(); -EAGAIN: the connection is going away, the
 * transport must discard the link, or find the connection anew.
 * rds_path_link_up(): false if @epoch is not the current one, because a call of start() is on
 * its way; the transport must not read from the link before that, or messages are lost.
 */
int rds_path_accept(struct rds_path *p, bool again);
/*
 * start(adopt) takes what is parked; false: it must not, because what was parked since has
 * ordered a stop().
 */
bool rds_path_adopting(struct rds_path *p, u32 epoch);
bool rds_path_link_up(struct rds_path *p, u32 epoch);
/*
 * What the peer says in the handshake of a link: a number that differs from one start of it to
 * the next; 0 = of a make that has none.  Before link_up(), for transports with one path.
 * Returns the sequence that may be acknowledged before anything comes, 0 = none.
 */
u64 rds_path_peer_instance(struct rds_path *p, u32 instance);
/* Ours. */
u32 rds_instance(const struct rds_path *p);
/* The path told by a link that start() adopts, or else the peer's port; before link_up(). */
void rds_path_peer_port(struct rds_path *p, u16 port);
void rds_path_drop(struct rds_path *p, u32 epoch, int why);
/* What stop() waits for has happened: call it again now. */
void rds_path_stop_again(struct rds_path *p);
/* There is room again: run send() from the path's work. */
void rds_path_kick(struct rds_path *p);

/*
 * Pulling work, only from send().
 * rds_path_pull_control(): writes a complete control frame (congestion map and/or generation
 * carrier) into @buf of at least RDS_CONTROL_MAX bytes; bytes written, 0 = none due.
 * rds_path_control_due() is the cheap test before @buf is allocated.
 * rds_path_pull(): the next message, moved to the sent list, with a reference for the
 * caller; NULL = none.  @end: the byte position behind the previous message, advanced by header
 * and payload of this one and kept as its ack_pos; with NULL the unit of acknowledgments is the
 * sequence.  What was pulled is the transport's until stop().
 * rds_message_hdr(): the 48 header bytes as they go on the wire now.
 */
#define RDS_CONTROL_MAX		(48 + 8192)
bool rds_path_control_due(struct rds_path *p);

/*
 * A transport may hold messages back for others to join them, for a bounded time.  It says
 * so with rds_path_hold(), and asks before it holds whether somebody waits: then everything
 * must go.  Link mutex held.
 */
void rds_path_hold(struct rds_path *p, u64 now, u64 until);
void rds_path_unhold(struct rds_path *p);
u64 rds_path_held_until(const struct rds_path *p);
void rds_path_join(const struct rds_path *p, u64 now);
unsigned int rds_path_burst(const struct rds_path *p, u64 now, u64 *gap);
bool rds_path_push_wanted(const struct rds_path *p);
size_t rds_path_pull_control(struct rds_path *p, u8 *buf);
struct rds_message *rds_path_pull(struct rds_path *p, u64 *end);
bool rds_path_emptied(const struct rds_path *p);
void rds_message_hdr(const struct rds_message *m, u8 out[48]);
/* Is anything left to be pulled, or to be acknowledged?  Hints. */
bool rds_path_has_queued(const struct rds_path *p);
bool rds_path_has_backlog(const struct rds_path *p);
bool rds_path_has_unacked(const struct rds_path *p);
/* A frame is thrown away for its checksum: counted and traced.  Any context. */
void rds_path_bad_checksum(struct rds_path *p, const struct rds_hdr *h);

/*
 * rds_path_acked(): everything with ack_pos <= @pos is safe at the peer.  Any context; call
 * once per batch, not per message.
 */
void rds_path_acked(struct rds_path *p, u32 epoch, u64 pos);
/* For a peer that acknowledges only what it is asked to, when the last message did not ask. */
int rds_path_blank(struct rds_path *p);

/**
 * struct rds_rx_batch - messages of one receive pass, delivered with one wake-up per socket
 * @rs: socket the collected messages are for, counted, or NULL
 * @list: collected messages
 * @bytes: their payload bytes
 * @nr: their number
 * @port: their destination port
 */
struct rds_rx_batch {
	struct rds_sock *rs;
	struct list_head list;
	u64 bytes;
	u32 nr;
	u16 port;
};

static inline void rds_rx_batch_init(struct rds_rx_batch *b)
{
	*b = (struct rds_rx_batch){ .list = LIST_HEAD_INIT(b->list) };
}

/*
 * rds_path_deliver(): a complete frame (message, ping, pong, handshake or congestion map)
 * arrived.  Takes @inc (whose reference passes to the core in every case).  One caller
 * at a time per path.  rds_path_deliver_done(): end of the pass.
 */
void rds_path_deliver(struct rds_path *p, u32 epoch, const struct rds_hdr *h,
		      struct rds_incoming *inc, struct rds_rx_batch *b);
void rds_path_deliver_done(struct rds_path *p, struct rds_rx_batch *b);

/*
 * rds_path_charge(): @n more bytes of memory of a message that is not complete yet; false if the
 * namespace holds too many of them and not @force.
 */
bool rds_path_charge(struct rds_path *p, u32 n, bool force);
void rds_path_uncharge(struct rds_path *p, u32 n);

/*
 * Shares of what a device or the transport has a bounded number of; process context.
 * rds_quota_alloc(): nobody has any; NULL without memory.
 * rds_path_claim(): one of @max, for the user whose connection it is; -ENOSPC if that one has his
 * share, -ENOMEM.  rds_path_unclaim(): and gives it back; nothing is done if that is NULL.
 */
struct rds_quota *rds_quota_alloc(void);
void rds_quota_free(struct rds_quota *q);
struct rds_share *rds_path_claim(const struct rds_path *p, struct rds_quota *q, unsigned int max);
void rds_path_unclaim(struct rds_quota *q, struct rds_share *share);

/*
 * Emit one info record of exactly @size bytes (a multiple of nothing; all records of a source
 * have one size).
 */
void rds_info_emit(struct rds_info_sink *sink, const void *rec, size_t size);
/* Walk @t's paths in @net: @all, or those that own a link; @fn: process context, may sleep. */
void rds_transport_walk_paths(struct rds_transport *t, struct net *net, bool all,
			      void (*fn)(struct rds_path *p, void *arg), void *arg);

#endif /* _NET_RDS_H */
