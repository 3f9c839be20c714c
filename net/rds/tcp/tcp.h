/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDS over TCP: internals of rds_tcp.ko.
 *
 * Documentation/overview.rst says what each file does.
 *
 * Locks.  The core's link mutex serialises start, stop and send of a path.  What
 * TCP's callbacks and those three share (marked "sk" below) is protected by the TCP
 * socket lock: TCP makes every callback under it, in softirq or, from the backlog,
 * in whoever owns the socket.  Order: link mutex, TCP socket lock, the core's path
 * lock (inside upcalls).  rds_tcp_path.lock is taken inside the TCP socket lock where both
 * are held, that of another path in softirq too; rds_path_accept() is called under it.
 */
#ifndef _RDS_TCP_H
#define _RDS_TCP_H

#include <linux/atomic.h>
#include <linux/bvec.h>
#include <linux/hrtimer.h>
#include <linux/net.h>
#include <linux/spinlock.h>
#include <linux/sysctl.h>
#include <linux/uio.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/rds.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "../wire.h"

#define RDS_TCP_PORT		16385

#define RDS_TCP_BATCH_FEW	4
#define RDS_TCP_BATCH_MANY	128
#define RDS_TCP_BATCH_BYTES	(256U << 10)
#define RDS_TCP_BATCH_PAGES	8
#define RDS_TCP_ARENA_ORDER	3
#define RDS_TCP_SEND_ROUNDS	16
#define RDS_TCP_PARKED_MAX	8

/*
 * Bytes that TCP may hold and not send: what else waits does so in the core, where users take
 * turns.
 */
#define RDS_TCP_UNSENT		(256U << 10)

/* Pause before going on after a shortage of memory. */
#define RDS_TCP_RETRY_DELAY	(HZ / 50 + 1)

/* A peer that acknowledges nothing for so long, ms, is gone, as an idle one that keepalive lost. */
#define RDS_TCP_USER_TIMEOUT	30000U

/* A path that has sent nothing for so long, seconds, is idle. */
#define RDS_TCP_COOLING		1

/**
 * struct rds_tcp_batch - bytes that were pulled from the core and wait for room in TCP
 * @iter: once @sealed, the bytes TCP has not accepted, over @bvec
 * @zcopy: once @sealed, what keeps pinned pages as long as packets have them, or NULL
 * @arena: pages for headers and small payloads, or NULL; outlives what is sent from it.  TCP
 *	takes references to what is written here, so each byte is written once
 * @arena_size: bytes of @arena
 * @arena_used: bytes of @arena written
 * @bytes: all bytes of the batch
 * @sealed: nothing is added any more
 * @urgent: do not hold it back
 * @nr_pages: entries used in @pages
 * @nr_msgs: entries used in @msgs
 * @nr_bvec: entries used in @bvec
 * @room: entries of @bvec, and of @msgs
 * @pages: arenas that were filled up while this batch was built, and control frames, one
 *	reference each
 * @msgs: messages whose payload @bvec points to, one reference each; behind @bvec
 * @bvec: the bytes
 */
struct rds_tcp_batch {
	struct iov_iter iter;
	struct ubuf_info *zcopy;
	struct page *arena;
	u32 arena_size;
	u32 arena_used;
	size_t bytes;
	bool sealed;
	bool urgent;
	u8 nr_pages;
	u8 nr_msgs;
	u8 nr_bvec;
	u8 room;
	struct page *pages[RDS_TCP_BATCH_PAGES];
	struct rds_message **msgs;
	struct bio_vec bvec[];
};

/**
 * struct rds_tcp_tx - transmit state of a link
 * @batch: what is being sent, or NULL (link mutex to write); kept a while for what comes next
 * @cur: message that is only partly in batches yet, one reference (link mutex)
 * @cur_off: bytes of header and payload of @cur that are in batches
 * @cur_bv: piece of @cur's payload that is next
 * @cur_bv_off: offset in that piece
 * @blocked: send() left bytes behind, write_space has to kick (sk)
 * @end: stream position behind all that was pulled (link mutex; peeked at by info)
 * @newest: stream position where the newest message begins (likewise)
 * @base: TCP sequence number of stream position 0, set before the link is up
 * @una: last snd_una looked at (sk)
 * @acked: its stream position (sk); our FIN counts as one byte
 * @given: bytes TCP has accepted (sk)
 * @reported: position last reported to the core (sk)
 * @pushed: when bytes were last handed to TCP, ns (link mutex)
 * @asked: when send() last had something to send, ns (link mutex)
 * @heard: rds_tcp_path.heard when bytes were last handed to TCP (link mutex)
 * @gap: mean time between such calls, ns (link mutex)
 */
struct rds_tcp_tx {
	struct rds_tcp_batch *batch;
	struct rds_message *cur;
	u32 cur_off;
	u32 cur_bv;
	u32 cur_bv_off;
	bool blocked;
	u64 end;
	u64 newest;
	u32 base;
	u32 una;
	u64 acked;
	u64 given;
	u64 reported;
	u64 pushed;
	u64 asked;
	u32 gap;
	u32 heard;
};

struct rds_tcp_inc;

/**
 * struct rds_tcp_rx - receive state of a link (sk)
 * @stream: framing
 * @inc: message being received, or NULL
 * @data: where its payload goes if it is linear, else NULL
 * @big: the same message as @inc if it is kept as pieces, else NULL
 * @first: clock when its first byte was seen, while tracing
 * @starved: reading stopped for lack of memory, something is left in TCP's queue
 * @waits: nothing is read yet, see turn.c; cleared without the lock
 * @charged: memory of @inc charged to the namespace
 * @on_sock: what of it is charged to the socket, too
 * @pauses: retries without success, for their distance
 * @dead: the peer broke the protocol: nothing is read any more
 */
struct rds_tcp_rx {
	struct rds_stream stream;
	struct rds_incoming *inc;
	u8 *data;
	struct rds_tcp_inc *big;
	u64 first;
	u32 charged;
	u32 on_sock;
	u8 pauses;
	bool starved;
	bool waits;
	bool dead;
};

/**
 * struct rds_tcp_parked - an accepted socket that waits for adoption
 * @node: rds_tcp_path.parked
 * @sock: the socket
 * @birth: its place in the order in which the links of the connection came
 * @place: the path that its first frame has told, or else the peer's port
 * @told: it was told
 */
struct rds_tcp_parked {
	struct list_head node;
	struct socket *sock;
	u32 birth;
	u16 place;
	bool told;
};

/**
 * struct rds_tcp_path - private area of a path
 * @path: the core's path
 * @lock: @parked, @nr_parked, and changes of @sock, @birth for readers without the link mutex
 * @sock: the link's socket, or NULL (link mutex and @lock to change)
 * @parked: &struct rds_tcp_parked, oldest first
 * @nr_parked: their number
 * @birth: the link's place in the order in which those of the connection came; 0 = not up yet.
 *	One that we dialled gets it when it is up (sk)
 * @place: of an adopted link, as of the parked socket that it was (link mutex)
 * @wanted: a link of another path waits for what this one was left with, see turn.c
 * @births: on path 0: links of the connection so far
 * @epoch: epoch of the link (link mutex; constant while callbacks are installed)
 * @up: the link is canonical and established: its bytes are messages (sk)
 * @narrow: the link waits only for those that bring messages of this path (turn.c); set before it
 *	is there
 * @draining: stop() waits for TCP's callbacks (sk)
 * @drain_since: jiffies when that began (link mutex)
 * @heard: on path 0: changes when any path of the connection receives something
 * @evicted: the link is dropped to make room for others (rds_tcp_net.partial_lock)
 * @tx_starved: send() stopped for lack of memory (link mutex to set, retry work reads)
 * @retry: goes on with what stopped for lack of memory
 * @partial_node: rds_tcp_net.partials while a message is charged (its lock)
 * @partial_since: jiffies when that began
 * @data_ready: TCP's own callback, to put back
 * @state_change: likewise
 * @write_space: likewise
 * @tx: transmit state
 * @rx: receive state
 */
struct rds_tcp_path {
	struct rds_path *path;
	spinlock_t lock;	/* parked, nr_parked, changes of sock */
	struct socket *sock;
	struct list_head parked;
	unsigned int nr_parked;
	u32 birth;
	u16 place;
	atomic_t births;
	u32 epoch;
	bool up;
	bool narrow;
	bool draining;
	unsigned long drain_since;
	u32 heard;
	bool evicted;
	bool wanted;
	bool tx_starved;
	struct delayed_work retry;
	struct list_head partial_node;
	unsigned long partial_since;
	void (*data_ready)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	struct rds_tcp_tx tx;
	struct rds_tcp_rx rx;
};

/**
 * struct rds_tcp_net - the transport in one network namespace
 * @net: the namespace; not counted, it outlives this by construction
 * @listener: listening socket, or NULL while another program has its port
 * @data_ready: TCP's own callback of the listener; accepted sockets get it back
 * @accept: accepts what is in the listener's queue, and finds its place (place.c)
 * @listen: tries to get @listener
 * @newcomers: connections that were accepted and have no path yet; @accept's
 * @nr_newcomers: their number
 * @sndbuf: sysctl rds_tcp_sndbuf, 0 = TCP decides
 * @rcvbuf: sysctl rds_tcp_rcvbuf, 0 = TCP decides
 * @table: sysctl table of this namespace
 * @header: its registration
 * @next_group: next group of eight source ports
 * @partial_lock: guards @partials
 * @partials: paths with a message received in part, the oldest first
 */
struct rds_tcp_net {
	struct net *net;
	struct socket *listener;
	void (*data_ready)(struct sock *sk);
	struct delayed_work accept;
	struct delayed_work listen;
	struct list_head newcomers;
	unsigned int nr_newcomers;
	int sndbuf;
	int rcvbuf;
	struct ctl_table *table;
	struct ctl_table_header *header;
	atomic_t next_group;
	spinlock_t partial_lock;	/* partials */
	struct list_head partials;
};

/**
 * struct rds_tcp_resize - a sysctl is applied to the links of a namespace
 * @dropped: links taken down so far
 */
struct rds_tcp_resize {
	unsigned int dropped;
};

/* Counters; the first RDS_TCP_NR_REF_STATS are the reference's, in its order. */
enum rds_tcp_stat {
	RDS_TCP_DATA_READY_CALLS,
	RDS_TCP_WRITE_SPACE_CALLS,
	RDS_TCP_SNDBUF_FULL,
	RDS_TCP_CONNECT_RACED,
	RDS_TCP_LISTEN_CLOSED_STALE,
	RDS_TCP_NR_REF_STATS,
	RDS_TCP_ACCEPT_SELF = RDS_TCP_NR_REF_STATS,
	RDS_TCP_ACCEPT_NUDGE,
	RDS_TCP_ACCEPT_REFUSED,
	RDS_TCP_ACCEPT_NOMEM,
	RDS_TCP_PARKED_REPLACED,
	RDS_TCP_DROP_BAD_LEN,
	RDS_TCP_DROP_URGENT,
	RDS_TCP_DRAIN_TIMEOUT,
	RDS_TCP_RX_NOMEM,
	RDS_TCP_TX_NOMEM,
	RDS_TCP_NO_SOURCE_PORT,
	RDS_TCP_PARTIAL_EVICTED,
	RDS_TCP_NR_STATS
};

struct rds_tcp_stats {
	u64 c[RDS_TCP_NR_STATS];
};

DECLARE_PER_CPU(struct rds_tcp_stats, rds_tcp_stats);

static inline void rds_tcp_count(enum rds_tcp_stat s)
{
	this_cpu_inc(rds_tcp_stats.c[s]);
}

/* Of two births of links: they wrap around. */
static inline bool rds_tcp_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/* Something happened that a draining stop() wants to look at; TCP socket locked. */
static inline void rds_tcp_event(struct rds_tcp_path *tp)
{
	if (tp->draining)
		rds_path_stop_again(tp->path);
}

/* Is something in TCP's receive queue?  A FIN does not count.  A hint unless it is locked. */
static inline bool rds_tcp_has_bytes(const struct sock *sk)
{
	u32 n = READ_ONCE(tcp_sk(sk)->rcv_nxt) - READ_ONCE(tcp_sk(sk)->copied_seq);

	return n > (sock_flag(sk, SOCK_DONE) ? 1 : 0);
}

/* Did reading stop before the end?  TCP socket locked. */
static inline bool rds_tcp_unread(const struct rds_tcp_path *tp, const struct sock *sk)
{
	return !tp->rx.dead && (tp->rx.starved || (tp->rx.waits && rds_tcp_has_bytes(sk)));
}

/* main.c */
extern struct rds_transport rds_tcp_transport;
extern struct workqueue_struct *rds_tcp_wq;
struct rds_tcp_net *rds_tcp_net(struct net *net);
bool rds_tcp_owns_addr(struct net *net, const struct in6_addr *addr, u32 scope);

/* place.c */
void rds_tcp_listen_ready(struct sock *sk);
void rds_tcp_accept_work(struct work_struct *work);
void rds_tcp_forget_newcomers(struct rds_tcp_net *rn);

/* park.c */
int rds_tcp_park(struct rds_path *p, struct socket *sock, u16 place, bool told);
int rds_tcp_sort_all(const struct rds_conn *c);
struct socket *rds_tcp_take_parked(struct rds_tcp_path *tp);
void rds_tcp_announce(struct rds_tcp_path *tp);
int rds_tcp_sort(struct rds_tcp_path *tp);
void rds_tcp_discard(struct rds_path *p);
void rds_tcp_reset_sock(struct socket *sock);

/* turn.c */
u32 rds_tcp_birth(struct rds_tcp_path *tp);
void rds_tcp_ask_turn(struct rds_tcp_path *tp);
bool rds_tcp_take_turn(struct rds_tcp_path *tp, const struct sock *sk);
void rds_tcp_catch_up(const struct rds_conn *c);
bool rds_tcp_await_turn(struct rds_tcp_path *tp, struct sock *sk);

/* link.c */
int rds_tcp_path_init(struct rds_path *p);
void rds_tcp_path_free(struct rds_path *p);
void rds_tcp_resize(struct rds_path *p, void *arg);
int rds_tcp_start(struct rds_path *p, u32 epoch, bool adopt);
unsigned long rds_tcp_stop(struct rds_path *p, bool abort);
void rds_tcp_set_options(struct rds_tcp_net *rn, struct socket *sock);
int rds_tcp_own(struct rds_tcp_net *rn, struct sock *sk);
void rds_tcp_retry_later(struct rds_tcp_path *tp, unsigned long delay);
void rds_tcp_cool_later(struct rds_tcp_path *tp);

/* batch.c */
struct rds_tcp_batch *rds_tcp_batch_alloc(unsigned int room);
void rds_tcp_batch_clear(struct rds_tcp_batch *b);
void rds_tcp_batch_free(struct rds_tcp_tx *tx);
int rds_tcp_encode(struct rds_tcp_tx *tx);
int rds_tcp_fill(struct rds_tcp_path *tp);

/* zcopy.c */
int rds_tcp_zcopy_begin(struct rds_tcp_tx *tx);
void rds_tcp_zcopy_exit(void);

/* send.c */
int rds_tcp_send(struct rds_path *p);
void rds_tcp_write_space(struct sock *sk);
void rds_tcp_settle(struct rds_tcp_path *tp, struct sock *sk);
void rds_tcp_tx_begin(struct rds_tcp_path *tp, struct sock *sk);
void rds_tcp_tx_reset(struct rds_tcp_path *tp);

/* recv.c */
void rds_tcp_data_ready(struct sock *sk);
void rds_tcp_read(struct rds_tcp_path *tp, struct sock *sk, bool forced);
void rds_tcp_rx_reset(struct rds_tcp_path *tp, struct sock *sk);

/* info.c */
extern const struct rds_stat_desc rds_tcp_stat_desc;
void rds_tcp_info(struct net *net, int opt, struct rds_info_sink *sink);

#endif /* _RDS_TCP_H */
