/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDS over verbs: internals of rds_rdma.ko.
 *
 * Documentation/overview.rst says what each file does.
 *
 * Locks.  The core's link mutex serialises start, stop and send of a path.  The CM calls
 * handlers of one id one at a time; stop() takes that lock (rdma_lock_handler()) only to say
 * that it is over.  The poll work of a link handles both completion queues, in softirq (WQ_BH),
 * so it is the one caller of rds_path_deliver().  Order: link mutex, handler lock of the CM, then
 * one of rds_ib_path.lock, rds_ib_link.lock, the core's path lock.
 */
#ifndef _RDS_IB_H
#define _RDS_IB_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/rds.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "../wire.h"
#include "credit.h"
#include "mem.h"
#include "private.h"
#include "ring.h"

#define RDS_IB_PORT4		18634
#define RDS_IB_PORT6		16385

/* Payload of one SEND. */
#define RDS_IB_FRAG		4096U
#define RDS_IB_MAX_FRAGS	(RDS_MAX_MSG_SIZE / RDS_IB_FRAG)
/* Receive buffers that a new link posts; more when they are used up. */
#define RDS_IB_FIRST_TARGET	64U
/* So many of them each link has, whatever max_recv_allocation says. */
#define RDS_IB_OWN_BUFFERS	16U
/* Segments of a work request that we use, if the device has them. */
#define RDS_IB_MAX_SGE		8

struct rds_ib_path;

/* ---- device.c (ibrdma) ------------------------------------------------------- */

/**
 * struct rds_ib_device - a device that qualifies
 * @node: list of devices (device.c)
 * @dev: the device
 * @pd: protection domain; its local_dma_lkey serves all our own buffers
 * @ref: users: links, regions
 * @gone: completed when the last reference is put
 * @removing: no new users
 * @lock: guards @links
 * @links: links on this device (link.c)
 * @events: tells of changes of its GIDs
 * @max_sge: segments of a send, at most RDS_IB_MAX_SGE
 * @max_wr: work requests of a queue
 * @max_responder: reads and atomics it serves at once, for one queue pair
 * @max_initiator: the same, that it issues
 * @atomics: plain atomic operations
 * @masked_atomics: masked ones
 * @next_vector: completion vectors are taken in turn
 * @mr: its memory regions (mr.c)
 */
struct rds_ib_device {
	struct list_head node;
	struct ib_device *dev;
	struct ib_pd *pd;
	refcount_t ref;
	struct completion gone;
	bool removing;
	spinlock_t lock;	/* links */
	struct list_head links;
	struct ib_event_handler events;
	u32 max_sge;
	u32 max_wr;
	u32 max_responder;
	u32 max_initiator;
	bool atomics;
	bool masked_atomics;
	atomic_t next_vector;
	struct rds_ib_mr_dev *mr;
};

/* The module's ib_client; adds those devices that there are. */
int rds_ib_device_init(void);
/* No links any more. */
void rds_ib_device_exit(void);
/* Counted, or NULL if @dev does not qualify or is going away.  Any process context. */
struct rds_ib_device *rds_ib_dev_get(struct ib_device *dev);
void rds_ib_dev_put(struct rds_ib_device *rdev);
/* Counted device that serves a local address now, or NULL. */
struct rds_ib_device *rds_ib_dev_for_addr(struct net *net, const struct in6_addr *addr, u32 scope);
/* Is an address another device's now, and not @rdev's any more?  Process context. */
bool rds_ib_dev_lost(struct rds_ib_device *rdev, const struct in6_addr *addr, u32 scope);
/* The device to dial with; without one the path is dialled again as soon as there is one. */
struct rds_ib_device *rds_ib_dev_for_path(struct rds_ib_path *ib);
/* rds_transport.owns_addr: under RCU. */
bool rds_ib_owns_addr(struct net *net, const struct in6_addr *addr, u32 scope);

/*
 * leave.c, for device.c: @rdev is marked as removing; drop all links on it.  Does not wait: each
 * of them holds a reference to @rdev.
 */
void rds_ib_links_gone(struct rds_ib_device *rdev);

/* ---- link ---------------------------------------------------------------------- */

/* Payload up to this size travels in the entry's own buffer. */
#define RDS_IB_INLINE		(256 - RDS_HDR_LEN)
#define RDS_IB_TX_BUF		(RDS_HDR_LEN + RDS_IB_INLINE)

/**
 * struct rds_ib_slot - an entry of the send ring
 * @cqe: completion
 * @m: message whose last fragment this is, counted, or NULL
 * @map: congestion map, freed with its last fragment
 * @posted: jiffies
 * @addr: DMA address of the payload, if @len
 * @len: payload bytes mapped at @addr
 */
struct rds_ib_slot {
	struct ib_cqe cqe;
	struct rds_message *m;
	void *map;
	unsigned long posted;
	u64 addr;
	u32 len;
};

/* Work requests given to the device in one call. */
#define RDS_IB_BATCH		32

/**
 * struct rds_ib_bufs - small buffers of equal size, mapped for the device for good
 * @dev: device
 * @dir: direction
 * @size: size of each, a power of two
 * @per_page: so many in a page
 * @nr_pages: pages
 * @pages: pages
 * @dma: their addresses
 */
struct rds_ib_bufs {
	struct ib_device *dev;
	enum dma_data_direction dir;
	u32 size;
	u32 per_page;
	u32 nr_pages;
	void **pages;
	u64 *dma;
};

static inline u8 *rds_ib_buf(const struct rds_ib_bufs *b, u32 i)
{
	return b->pages[i / b->per_page] + i % b->per_page * b->size;
}

static inline u64 rds_ib_buf_dma(const struct rds_ib_bufs *b, u32 i)
{
	return b->dma[i / b->per_page] + i % b->per_page * b->size;
}

/* A work request of a batch. */
struct rds_ib_wr {
	struct ib_send_wr wr;
	struct ib_sge sge[2];
};

/**
 * struct rds_ib_tx - sending half of a link (link mutex, but for what is marked)
 * @ring: entries (allocated here, freed by the poll work)
 * @slots: entries
 * @bufs: header and inline payload of each entry, and one more for the ack frame
 * @cur: message of which not everything was posted, counted, or NULL
 * @map: congestion map of which not everything was posted, or NULL
 * @hdr: header of @cur or @map
 * @grant: credits in the first header written last
 * @off: payload bytes of it that were posted
 * @piece: of @cur, the piece where the next fragment is, or one before that
 * @piece_start: payload bytes before @piece
 * @ops_posted: the operation of @cur was posted, or it has none
 * @unasked: the last message did not ask a peer of the old kind to acknowledge
 * @unsignaled: SENDs since the last signalled one
 * @batch: batch under construction
 * @nr: its length
 * @stalled: send() left something behind and wants a kick (bit 0, atomic)
 * @ack_cqe: completion of the ack frame
 */
struct rds_ib_tx {
	struct rds_ib_ring ring;
	struct rds_ib_slot *slots;
	struct rds_ib_bufs bufs;
	struct rds_message *cur;
	u8 *map;
	struct rds_hdr hdr;
	u8 grant;
	u32 off;
	u32 piece;
	u32 piece_start;
	bool ops_posted;
	bool unasked;
	u32 unsignaled;
	struct rds_ib_wr *batch;
	u32 nr;
	unsigned long stalled;
	struct ib_cqe ack_cqe;
};

/**
 * struct rds_ib_rbuf - a posted receive buffer
 * @cqe: completion
 * @page: payload
 * @dma: its address
 * @len: bytes received, with the header
 */
struct rds_ib_rbuf {
	struct ib_cqe cqe;
	struct page *page;
	u64 dma;
	u32 len;
};

/**
 * struct rds_ib_rx - receiving half of a link (poll work; before that the CM's handler)
 * @ring: entries
 * @bufs: entries
 * @hdrs: their headers
 * @target: buffers that shall be posted
 * @spare: entries from the head of @ring on that have a page already
 * @inc: message in receipt, or NULL
 * @data: where its payload goes if it is linear, else NULL
 * @hdr: header of its first fragment
 * @got: payload bytes of it received
 * @charged: bytes charged for it (partial.c)
 * @partial_node: list of such messages
 * @partial_since: jiffies when it was listed; later if it had to wait for its turn
 * @evicted: the link is dropped because its peer does not complete it
 * @batch: messages of this pass
 * @acked: newest acknowledgment of the peer
 * @reported: what the core was told of it
 * @seq: newest sequence completed
 * @incs: messages and maps received whole
 * @ask: the peer wants an acknowledgment of something completed
 * @waiting: frames that were received and not handled, the oldest entries of @ring
 * @held: the first of them could not be handled in this pass
 * @dead: nothing is delivered any more
 */
struct rds_ib_rx {
	struct rds_ib_ring ring;
	struct rds_ib_rbuf *bufs;
	struct rds_ib_bufs hdrs;
	u32 target;
	u32 spare;
	struct rds_incoming *inc;
	u8 *data;
	struct rds_hdr hdr;
	u32 got;
	u32 charged;
	struct list_head partial_node;
	unsigned long partial_since;
	bool evicted;
	struct rds_rx_batch batch;
	u64 acked;
	u64 reported;
	u64 seq;
	u32 incs;
	bool ask;
	u32 waiting;
	bool held;
	bool dead;
};

/* What stopped for lack of memory is tried again after this. */
#define RDS_IB_RETRY_DELAY	(HZ / 50 + 1)

/* Bits of rds_ib_link.flags */
enum rds_ib_link_flag {
	RDS_IB_UP,		/* established and told to the core */
	RDS_IB_EARLY,		/* something was received before that */
	RDS_IB_CLOSING,		/* nothing is posted any more (set under the lock) */
	RDS_IB_FAILED,		/* the queue pair is in error, and the end is near */
	RDS_IB_QUIET,		/* the queue pair is empty: the poll work does nothing */
	RDS_IB_ACK_WANTED,
	RDS_IB_ACK_FLYING,
	RDS_IB_PROVED,		/* an ack frame arrived that was posted after rds_ib_probe() */
};

/* The ack frame that shall tell whether the peer is there. */
enum rds_ib_probe {
	RDS_IB_PROBE_NONE,
	RDS_IB_PROBE_WANTED,
	RDS_IB_PROBE_FLYING,
};

/**
 * struct rds_ib_link - one link: an attempt to connect, or a connection
 * @ib: owner
 * @epoch: goes with every upcall
 * @id: the CM's
 * @rdev: device, counted, once it is known
 * @node: rds_ib_device.links
 * @qp: queue pair, or NULL
 * @scq: completions of sends
 * @rcq: completions of receives
 * @poll: handles both
 * @retry: goes on with what stopped for lack of memory
 * @fail: ends the link if the peer does not
 * @confirm: takes the link up if the peer uses it and does not confirm
 * @ack_timer: acknowledges what nobody asked to
 * @alive: asks whether the peer is there
 * @idle: list of links that peers have made (alive.c)
 * @heard: frames received by the last look (alive work)
 * @carried: messages by the last look (alive.c: rds_ib_idle_lock)
 * @used: jiffies when it carried more than at the look before (likewise)
 * @adopted: the peer connected
 * @requested: our request is out (handler lock)
 * @asked: jiffies when it went
 * @stopping: no event means anything any more (handler lock)
 * @removed: the device goes away, and the CM has said so (handler lock)
 * @confirmed: the CM knows that both ends are there
 * @disconnected: the peer has confirmed that it is over
 * @mute: the port is down: the peer cannot be told (link mutex)
 * @since: jiffies when stop() began
 * @version: negotiated
 * @tos: type of service
 * @sl: service level
 * @ours: the peer says which instance it is, so it acknowledges without being asked
 * @flags: enum rds_ib_link_flag
 * @lock: guards @credit, @ack_seq, @ack_sent and @probe
 * @probe: has the peer to be asked whether it is there?
 * @credit: flow control
 * @ack_seq: newest sequence completed, to be acknowledged
 * @ack_sent: what the peer was told last
 * @sgid: for info
 * @dgid: for info
 * @tx: sending
 * @rx: receiving
 * @ops: operations
 * @wcs: completions being handled (poll work)
 * @cost: its fixed memory, in units of 4 KiB, once it is charged
 * @share: in rds_ib_dialled, or NULL
 */
struct rds_ib_link {
	struct rds_ib_path *ib;
	u32 epoch;
	struct rdma_cm_id *id;
	struct rds_ib_device *rdev;
	struct list_head node;
	struct ib_qp *qp;
	struct ib_cq *scq;
	struct ib_cq *rcq;
	struct work_struct poll;
	struct delayed_work retry;
	struct delayed_work fail;
	struct delayed_work confirm;
	struct delayed_work ack_timer;
	struct delayed_work alive;
	struct list_head idle;
	u32 heard;
	u32 carried;
	unsigned long used;
	bool adopted;
	bool requested;
	unsigned long asked;
	bool stopping;
	bool removed;
	bool confirmed;
	bool disconnected;
	bool mute;
	unsigned long since;
	u16 version;
	u8 tos;
	u8 sl;
	bool ours;
	unsigned long flags;
	spinlock_t lock;	/* credit, ack_seq, ack_sent, probe */
	enum rds_ib_probe probe;
	struct rds_ib_credit credit;
	u64 ack_seq;
	u64 ack_sent;
	union ib_gid sgid;
	union ib_gid dgid;
	struct rds_ib_tx tx;
	struct rds_ib_rx rx;
	struct rds_ib_ops ops;
	struct ib_wc wcs[16];
	long cost;
	struct rds_share *share;
};

/**
 * struct rds_ib_dying - an id of the CM that is destroyed later; begins an object of kmalloc()
 * @node: list of them
 * @id: the CM's
 */
struct rds_ib_dying {
	struct llist_node node;
	struct rdma_cm_id *id;
};

/**
 * struct rds_ib_parked - a connection request that waits for start(adopt)
 * @dying: its end, if the CM ends it
 * @next: an older one of the same path, given up
 * @ib: path
 * @id: the CM's
 * @priv: what the request says
 * @version: negotiated
 * @responder: reads and atomics the peer wants to issue
 * @initiator: those it can serve
 */
struct rds_ib_parked {
	struct rds_ib_dying dying;
	struct rds_ib_parked *next;
	struct rds_ib_path *ib;
	struct rdma_cm_id *id;
	struct rds_ib_private priv;
	u16 version;
	u8 responder;
	u8 initiator;
};

/**
 * struct rds_ib_path - private area of a path
 * @path: the core's path
 * @lock: guards @parked, @doubted, and @link for readers without the link mutex
 * @link: the link, or NULL (link mutex and @lock to change)
 * @parked: requests, the newest first
 * @nr_parked: their number
 * @doubted: a request that came while the link was up, or NULL
 * @doubt: decides what becomes of it
 * @no_device: our address was no device's when we wanted to dial (device.c)
 */
struct rds_ib_path {
	struct rds_path *path;
	spinlock_t lock;	/* parked, doubted, link */
	struct rds_ib_link *link;
	struct rds_ib_parked *parked;
	unsigned int nr_parked;
	struct rds_ib_parked *doubted;
	struct delayed_work doubt;
	bool no_device;
};

/* main.c */
extern struct rds_transport rds_ib_transport;
extern struct workqueue_struct *rds_ib_wq;	/* sleeps */
extern struct workqueue_struct *rds_ib_poll_wq;
extern struct rds_quota *rds_ib_dialled;	/* links that we dial */
extern unsigned int rds_ib_mr_1m_pool_size;
extern unsigned int rds_ib_mr_8k_pool_size;
unsigned int rds_ib_retries(const struct rdma_cm_id *id);

/* sysctl.c */
extern unsigned long rds_ib_sysctl_max_send_wr;
extern unsigned long rds_ib_sysctl_max_recv_wr;
extern unsigned long rds_ib_sysctl_max_unsignaled_wr;
extern unsigned long rds_ib_sysctl_max_recv_allocation;
extern unsigned long rds_ib_sysctl_max_link_allocation;
extern int rds_ib_sysctl_flow_control;
int rds_ib_sysctl_init(void);
void rds_ib_sysctl_exit(void);

/* say.c: lines for the kernel log */
void rds_ib_say_connected(const struct rds_ib_link *l);
void rds_ib_say_refused(const struct rds_ib_link *l, int reason);
void rds_ib_say_send_failed(const struct rds_ib_link *l, enum ib_wc_status status);

/* cm.c */
void rds_ib_sockaddr(struct sockaddr_storage *ss, const struct in6_addr *addr, u32 scope,
		     bool port);
void rds_ib_confirm_work(struct work_struct *work);
void rds_ib_confirm_later(struct rds_ib_link *l);	/* any context */
int rds_ib_listen(void);
void rds_ib_unlisten(void);
int rds_ib_dial(struct rds_ib_link *l);
int rds_ib_accept(struct rds_ib_link *l, struct rds_ib_parked *pk);
void rds_ib_reject(struct rdma_cm_id *id);

/* park.c */
int rds_ib_park(struct rds_path *p, struct rds_ib_parked *pk);
int rds_ib_parked_event(struct rdma_cm_id *id, struct rdma_cm_event *ev);
struct rds_ib_parked *rds_ib_adopt(struct rds_ib_path *ib, u32 epoch);
struct rds_ib_parked *rds_ib_unpark(struct rds_ib_path *ib);
void rds_ib_refuse(struct rds_ib_parked *pk);
void rds_ib_announce(struct rds_ib_path *ib);
void rds_ib_discard(struct rds_path *p);
void rds_ib_doubt_work(struct work_struct *work);

/* alive.c */
void rds_ib_alive_begin(struct rds_ib_link *l);
void rds_ib_alive_end(struct rds_ib_link *l);
void rds_ib_alive_work(struct work_struct *work);
void rds_ib_evict_idle(void);

/* leave.c */
bool rds_ib_port_down(struct rdma_cm_id *id);
bool rds_ib_leave_later(struct rds_ib_link *l);
void rds_ib_destroy_later(struct rds_ib_dying *d, struct rdma_cm_id *id);
void rds_ib_leave_all(void);

/* link.c */
int rds_ib_path_init(struct rds_path *p);
void rds_ib_path_free(struct rds_path *p);
int rds_ib_start(struct rds_path *p, u32 epoch, bool adopt);
unsigned long rds_ib_stop(struct rds_path *p, bool abort);
bool rds_ib_link_room(const struct rds_ib_device *rdev);
int rds_ib_link_attach(struct rds_ib_link *l);
int rds_ib_link_setup(struct rds_ib_link *l);
void rds_ib_retry_later(struct rds_ib_link *l, unsigned long delay);
void rds_ib_link_up(struct rds_ib_link *l);
void rds_ib_link_fail(struct rds_ib_link *l);
void rds_ib_link_drop(struct rds_ib_link *l, int why);

/* bufs.c */
int rds_ib_bufs_init(struct rds_ib_bufs *b, struct ib_device *dev, u32 nr, u32 size,
		     enum dma_data_direction dir);
void rds_ib_bufs_free(struct rds_ib_bufs *b);

/* send.c */
int rds_ib_send(struct rds_path *p);
int rds_ib_tx_init(struct rds_ib_link *l, u32 nr);
void rds_ib_tx_free(struct rds_ib_link *l);
void rds_ib_tx_wc(struct rds_ib_link *l, const struct ib_wc *wc);
void rds_ib_tx_room(struct rds_ib_link *l);

/* ack.c */
u64 rds_ib_ack_take(struct rds_ib_link *l);
void rds_ib_ack_done(struct ib_cq *cq, struct ib_wc *wc);
void rds_ib_ack(struct rds_ib_link *l);
void rds_ib_probe(struct rds_ib_link *l);
void rds_ib_ack_timer(struct work_struct *work);
void rds_ib_received(struct rds_ib_link *l, u64 seq, bool ask);

/* recv.c */
int rds_ib_rx_init(struct rds_ib_link *l, u32 nr);
void rds_ib_rx_free(struct rds_ib_link *l);
bool rds_ib_refill(struct rds_ib_link *l, gfp_t gfp);
u32 rds_ib_rx_posted(const struct rds_ib_link *l);
void rds_ib_rx_wc(struct rds_ib_link *l, const struct ib_wc *wc);
void rds_ib_rx_begin(struct rds_ib_link *l);
void rds_ib_rx_done(struct rds_ib_link *l);
long rds_ib_rx_pages(void);

/* partial.c */
bool rds_ib_partial_charge(struct rds_ib_link *l, u32 bytes);
void rds_ib_partial_done(struct rds_ib_link *l);

/* info.c */
void rds_ib_info(struct net *net, int opt, struct rds_info_sink *sink);
/* What mr.c says in info records: regions and pages of one, of the large class. */
void rds_ib_mr_info(const struct rds_ib_device *rdev, u32 *max, u32 *size);

/* ---- counters -------------------------------------------------------------------- */

/* The first RDS_IB_NR_REF_STATS are the reference's, in its order. */
enum rds_ib_stat {
	RDS_IB_CONNECT_RACED,
	RDS_IB_LISTEN_CLOSED_STALE,
	RDS_IB_EVT_HANDLER_CALL,
	RDS_IB_TASKLET_CALL,
	RDS_IB_TX_CQ_EVENT,
	RDS_IB_TX_RING_FULL,
	RDS_IB_TX_THROTTLE,
	RDS_IB_TX_SG_MAPPING_FAILURE,
	RDS_IB_TX_STALLED,
	RDS_IB_TX_CREDIT_UPDATES,
	RDS_IB_RX_CQ_EVENT,
	RDS_IB_RX_RING_EMPTY,
	RDS_IB_RX_REFILL_FROM_CQ,
	RDS_IB_RX_REFILL_FROM_THREAD,
	RDS_IB_RX_ALLOC_LIMIT,
	RDS_IB_RX_TOTAL_FRAGS,
	RDS_IB_RX_TOTAL_INCS,
	RDS_IB_RX_CREDIT_UPDATES,
	RDS_IB_ACK_SENT,
	RDS_IB_ACK_SEND_FAILURE,
	RDS_IB_ACK_SEND_DELAYED,
	RDS_IB_ACK_SEND_PIGGYBACKED,
	RDS_IB_ACK_RECEIVED,
	RDS_IB_RDMA_MR_8K_ALLOC,
	RDS_IB_RDMA_MR_8K_FREE,
	RDS_IB_RDMA_MR_8K_USED,
	RDS_IB_RDMA_MR_8K_POOL_FLUSH,
	RDS_IB_RDMA_MR_8K_POOL_WAIT,
	RDS_IB_RDMA_MR_8K_POOL_DEPLETED,
	RDS_IB_RDMA_MR_1M_ALLOC,
	RDS_IB_RDMA_MR_1M_FREE,
	RDS_IB_RDMA_MR_1M_USED,
	RDS_IB_RDMA_MR_1M_POOL_FLUSH,
	RDS_IB_RDMA_MR_1M_POOL_WAIT,
	RDS_IB_RDMA_MR_1M_POOL_DEPLETED,
	RDS_IB_RDMA_MR_8K_REUSED,
	RDS_IB_RDMA_MR_1M_REUSED,
	RDS_IB_ATOMIC_CSWP,
	RDS_IB_ATOMIC_FADD,
	RDS_IB_NR_REF_STATS,
	/* ours */
	RDS_IB_CONNECT_REFUSED = RDS_IB_NR_REF_STATS,
	RDS_IB_REJECTED,
	RDS_IB_DROP_SHORT,
	RDS_IB_DROP_MISMATCH,
	RDS_IB_DROP_BAD_LEN,
	RDS_IB_DROP_BAD_WC,
	RDS_IB_DROP_WC_ERROR,
	RDS_IB_RX_NOMEM,
	RDS_IB_TX_NOMEM,
	RDS_IB_DEVICE_REMOVED,
	RDS_IB_PARTIAL_EVICTED,
	RDS_IB_LINK_LIMIT,
	RDS_IB_LINK_EVICTED,
	RDS_IB_LISTEN_ALIVE,
	RDS_IB_NR_STATS
};

struct rds_ib_stats {
	u64 c[RDS_IB_NR_STATS];
};

DECLARE_PER_CPU(struct rds_ib_stats, rds_ib_stats);
extern const struct rds_stat_desc rds_ib_stat_desc;

static inline void rds_ib_count(enum rds_ib_stat s)
{
	this_cpu_inc(rds_ib_stats.c[s]);
}

static inline void rds_ib_count_add(enum rds_ib_stat s, u64 n)
{
	this_cpu_add(rds_ib_stats.c[s], n);
}

#endif /* _RDS_IB_H */
