/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDS: the part of the contract that is about memory: regions that peers reach by a key,
 * and operations (RDMA transfers, atomics) that go with a message.
 *
 * A region belongs to a socket.  The core pins the memory and keeps the table of keys, the
 * transport makes it reachable.  mr_unmap() may be called anywhere and only asks; when no
 * peer can reach the memory any more the transport says rds_mr_unmapped().
 *
 * An operation belongs to a message and has up to two parts, executed in this order: a
 * transfer, an atomic.  Before the first frame of the message the transport says
 * rds_op_begin() and posts all of it; then rds_op_done() for each part, once; and
 * rds_op_end() when the device does not touch the local memory any more, once.  An operation
 * is begun at most once in its life: a message whose operation had begun and was not done when
 * the link went is not sent again.
 */
#ifndef _NET_RDS_RDMA_H
#define _NET_RDS_RDMA_H

#include <linux/completion.h>
#include <linux/scatterlist.h>
#include <linux/types.h>

struct in6_addr;
struct rds_message;
struct rds_notifier;
struct rds_path;
struct rds_pin;
struct rds_quota;

/**
 * struct rds_mr - memory of a socket that peers reach by a key
 * @ops: the transport's
 * @key: the key, set by mr_map()
 * @offset: where the memory begins for peers, below a page: as in its first page, but mr_map() may
 *	say otherwise
 * @len: bytes
 * @use_once: freed when a message says that an operation has used it
 * @invalidate: who frees it waits until no peer can reach it
 * @sgt: the memory, exactly
 * @pin: its pages
 * @priv: the transport's
 */
struct rds_mr {
	const struct rds_rdma_ops *ops;
	u32 key;
	u32 offset;
	u32 len;
	bool use_once;
	bool invalidate;
	struct sg_table sgt;
	struct rds_pin *pin;
	u8 priv[] __aligned(8);
};

/* Parts of an operation, in the order in which they are executed. */
enum rds_op_nr {
	RDS_OP_RDMA,
	RDS_OP_ATOMIC,
	RDS_OP_NR
};

enum rds_op_kind {
	RDS_OP_NONE,
	RDS_OP_READ,
	RDS_OP_WRITE,
	RDS_OP_FADD,
	RDS_OP_CSWP,
	RDS_OP_MASKED_FADD,
	RDS_OP_MASKED_CSWP,
};

enum rds_op_state {
	RDS_OP_WAITING,		/* not begun */
	RDS_OP_POSTED,		/* begun: may have been executed, may not */
	RDS_OP_OK,
	RDS_OP_FAILED,
};

/**
 * struct rds_op_part - a transfer or an atomic operation
 * @kind: what it does; immutable, as all that describes it
 * @key: key of the peer's region
 * @raddr: address inside of it
 * @bytes: length
 * @add: FADD: what to add; CSWP: what to store
 * @compare: CSWP: what to compare with
 * @add_mask: MASKED_FADD: bits that pass on no carry; MASKED_CSWP: bits to store
 * @compare_mask: MASKED_CSWP: bits to compare
 * @sgt: local memory, exactly
 * @pin: its pages, until rds_op_end()
 * @state: how far it is (path->lock)
 * @notify: success is reported, too
 * @note: where the outcome will be reported, or NULL (path->lock)
 */
struct rds_op_part {
	enum rds_op_kind kind;
	u32 key;
	u64 raddr;
	u32 bytes;
	u64 add;
	u64 compare;
	u64 add_mask;
	u64 compare_mask;
	struct sg_table sgt;
	struct rds_pin *pin;
	enum rds_op_state state;
	bool notify;
	struct rds_notifier *note;
};

/**
 * struct rds_op - the operation of a message
 * @part: what it consists of
 * @fence: the message must not overtake a read
 * @silent: the peer gets no message
 * @taken: the message was taken off its path (path->lock)
 * @acked: the peer has confirmed the message, or never will (path->lock)
 * @begun: memory is in use; until @idle
 * @idle: completed by rds_op_end()
 * @priv: the transport's
 */
struct rds_op {
	struct rds_op_part part[RDS_OP_NR];
	bool fence;
	bool silent;
	bool taken;
	bool acked;
	bool begun;
	struct completion idle;
	u8 priv[] __aligned(8);
};

/**
 * struct rds_rdma_ops - a transport that has memory regions and operations
 * @mr_priv_size: size of rds_mr.priv
 * @op_priv_size: size of rds_op.priv; zeroed
 * @mr_map: make the memory reachable through the device that owns local address @laddr;
 *	process context, sleeps.  0 (key set) or -errno: -ENODEV there is none, -EAGAIN no
 *	region is free, or none for this user
 * @mr_unmap: ask for the end of that; any context
 * @mr_flush: wait until all regions given to mr_unmap() before are unmapped; sleeps
 * @mr_sync: the memory was written by the CPU (@to_device) or will be read by it; false if no peer
 *	can reach it any more; any context
 * @op_check: can the device that owns @laddr execute @op?  0 or -EOPNOTSUPP; may sleep
 */
struct rds_rdma_ops {
	size_t mr_priv_size;
	size_t op_priv_size;
	int (*mr_map)(struct rds_mr *mr, const struct in6_addr *laddr, u32 scope);
	void (*mr_unmap)(struct rds_mr *mr);
	void (*mr_flush)(void);
	bool (*mr_sync)(struct rds_mr *mr, bool to_device);
	int (*op_check)(const struct in6_addr *laddr, u32 scope, const struct rds_op *op);
};

/* No peer can reach the memory any more, or never could: frees @mr.  Process context. */
void rds_mr_unmapped(struct rds_mr *mr);

/*
 * Shares of what a device has a bounded number of, and regions are made of: rds_quota_alloc().
 * Process context.
 * rds_mr_claim(): from mr_map(): the region takes one of @max.  0, -EAGAIN if its user has his
 * share, -ENOMEM.
 * rds_mr_unclaim(): and gives it back; nothing is done if it has none.
 */
int rds_mr_claim(struct rds_mr *mr, struct rds_quota *q, unsigned int max);
void rds_mr_unclaim(struct rds_mr *mr);

/*
 * rds_op_pending(): is there something to execute?
 * rds_op_begin(): false if the message was taken back: forget it.  From send().
 * rds_op_refuse(): it cannot be executed: reported as @status, the message leaves the path.
 * From send(), instead of begin.
 * rds_op_done(): outcome of a part, RDS_RDMA_*; @fault: the link is lost by what it asked for.  Any
 * context.
 * rds_op_end(): see above.  Any context.
 */
bool rds_op_pending(const struct rds_message *m);
bool rds_op_begin(struct rds_path *p, struct rds_message *m);
void rds_op_refuse(struct rds_path *p, struct rds_message *m, int status);
void rds_op_done(struct rds_path *p, struct rds_message *m, enum rds_op_nr nr, int status,
		 bool fault);
void rds_op_end(struct rds_message *m);

#endif /* _NET_RDS_RDMA_H */
