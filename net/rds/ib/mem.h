/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDS over verbs: memory regions (mr.c), the queue pair that registers them (regqp.c),
 * operations (ops.c).
 */
#ifndef _RDS_IB_MEM_H
#define _RDS_IB_MEM_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/rds_rdma.h>
#include <rdma/ib_verbs.h>

struct rds_ib_device;
struct rds_ib_frmr;
struct rds_ib_link;

/* ---- regqp.c ----------------------------------------------------------------------- */

/* Invalidations in one go. */
#define RDS_IB_REGQP_BATCH	32

/**
 * struct rds_ib_regqp - queue pair of a device, connected to itself
 * @lock: guards all of it; held while a request is under way
 * @qp: queue pair, NULL if it is not there yet or was broken
 * @cq: its completion queue
 * @news: the device has completed a request, which was asked for
 * @status: how the last request ended
 * @wr: invalidations under construction
 */
struct rds_ib_regqp {
	struct mutex lock;	/* all of it */
	struct ib_qp *qp;
	struct ib_cq *cq;
	struct completion news;
	enum ib_wc_status status;
	struct ib_send_wr wr[RDS_IB_REGQP_BATCH];
};

void rds_ib_regqp_init(struct rds_ib_regqp *rq);
void rds_ib_regqp_destroy(struct rds_ib_regqp *rq);
/* Process context, sleep.  On error the objects are in an unknown state. */
int rds_ib_regqp_register(struct rds_ib_device *rdev, struct ib_mr *mr, int access);
int rds_ib_regqp_invalidate(struct rds_ib_device *rdev, const u32 *keys, unsigned int n);

/* ---- mr.c ---------------------------------------------------------------------------- */

/* Pages that a small region touches at most. */
#define RDS_IB_MR_SMALL		2U

/**
 * struct rds_ib_mr_pool - region objects of one size
 * @lock: guards @idle, @nr_idle
 * @idle: objects not in use
 * @nr_idle: their number
 * @max_idle: how many are kept
 * @nr: objects that exist
 * @max: how many there may be
 * @pages: pages of one
 * @large: which of the two sizes
 * @shares: who has them in regions, those included that were given up and are there still
 */
struct rds_ib_mr_pool {
	spinlock_t lock;	/* idle */
	struct list_head idle;
	unsigned int nr_idle;
	unsigned int max_idle;
	atomic_t nr;
	int max;
	unsigned int pages;
	bool large;
	struct rds_quota *shares;
};

/**
 * struct rds_ib_mr_dev - memory regions of a device
 * @rdev: the device
 * @sem: held for reading while a region is made
 * @gone: no more are made
 * @no_atomic: registration cannot give peers the right to atomics
 * @regions: those that there are (mr.c: regions_lock)
 * @moved: ends those whose address is another device's now
 * @pool: small and large objects
 * @regqp: registers them
 */
struct rds_ib_mr_dev {
	struct rds_ib_device *rdev;
	struct rw_semaphore sem;
	bool gone;
	bool no_atomic;
	struct list_head regions;
	struct work_struct moved;
	struct rds_ib_mr_pool pool[2];
	struct rds_ib_regqp regqp;
};

/**
 * struct rds_ib_region - rds_mr.priv
 * @mr: the core's region
 * @rdev: device, counted; NULL if it has gone, or the address from it (mr.c: regions_lock)
 * @laddr: local address by which peers find the device
 * @scope: its interface if link-local
 * @node: rds_ib_mr_dev.regions (mr.c: regions_lock)
 * @dead: on the list of those given up
 * @given_up: the application has its memory again
 * @stuck: the device did not let go of it: neither do we
 * @frmr: object, NULL if the device has gone
 */
struct rds_ib_region {
	struct rds_mr *mr;
	struct rds_ib_device *rdev;
	struct in6_addr laddr;
	u32 scope;
	struct list_head node;
	struct llist_node dead;
	bool given_up;
	bool stuck;
	struct rds_ib_frmr *frmr;
};

int rds_ib_mr_init(void);
void rds_ib_mr_exit(void);
int rds_ib_mr_add(struct rds_ib_device *rdev);
void rds_ib_mr_remove(struct rds_ib_device *rdev);
int rds_ib_mr_map(struct rds_mr *mr, const struct in6_addr *laddr, u32 scope);
void rds_ib_mr_unmap(struct rds_mr *mr);
void rds_ib_mr_flush(void);
bool rds_ib_mr_sync(struct rds_mr *mr, bool to_device);
/* Addresses may have moved between devices; @rdev is not being removed.  Any context. */
void rds_ib_mr_look(struct rds_ib_device *rdev);

/* ---- ops.c --------------------------------------------------------------------------- */

/* Work requests of operations that a queue pair has room for, beside its send ring. */
#define RDS_IB_OP_WRS		512U
/*
 * While the device has so many bytes of operations, and two of them, there are no more: what waits
 * in the core takes turns by user, and what the device has goes in front of others' messages.
 */
#define RDS_IB_OP_BYTES		SZ_512K
/* Work requests given to the device in one call. */
#define RDS_IB_OP_BATCH		16

struct rds_ib_op_batch;

/**
 * struct rds_ib_ops - operations of a link
 * @lock: guards @list, @room, @bytes, @waiting
 * @list: struct rds_ib_op, those that the device works on
 * @room: work requests that may still be posted
 * @max: all of them
 * @bytes: what those that were posted move
 * @waiting: send() found no room and wants a kick
 * @batch: work requests under construction (link mutex)
 */
struct rds_ib_ops {
	spinlock_t lock;	/* list, room, bytes, waiting */
	struct list_head list;
	unsigned int room;
	unsigned int max;
	unsigned int bytes;
	bool waiting;
	struct rds_ib_op_batch *batch;
};

extern const struct rds_rdma_ops rds_ib_rdma_ops;

/* When the link object is made. */
void rds_ib_ops_init(struct rds_ib_link *l);
/* When its device is known: work requests of operations, beside the send ring. */
unsigned int rds_ib_ops_limit(struct rds_ib_link *l);
/*
 * Post the operation of a pulled message, once, before its first SEND.
 * 0: posted, or there is none; 1: no SEND follows, forget the message; -EAGAIN: no room, keep
 * it, the path will be kicked; -ENOMEM: keep it, try again later; other: the link is dead.
 */
int rds_ib_ops_post(struct rds_ib_link *l, struct rds_message *m);
/* In stop(): the queue pair is gone and no completion will be handled any more. */
void rds_ib_ops_reset(struct rds_ib_link *l);

#endif /* _RDS_IB_MEM_H */
