/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of applications that devices and peers reach: pinned pages (pin.c), regions of sockets
 * (mr.c), operations of messages (op.c).
 */
#ifndef _RDS_RDMA_H
#define _RDS_RDMA_H

#include <linux/bvec.h>
#include <linux/rds.h>
#include <linux/skbuff.h>
#include <linux/workqueue.h>
#include <net/rds_rdma.h>

struct rds_message;
struct rds_sock;
struct rds_zrecord;

/* pin.c */
/**
 * struct rds_pin - pinned user pages, their accounting and the notifier, as one object
 * @rs: socket to notify, counted, or NULL
 * @mmp: locked-memory accounting
 * @work: release runs in process context
 * @record: zero-copy completion with this cookie alone, or NULL
 * @notify: a completion is due (set once the message was queued)
 * @dirty: the device may have written
 * @bvec: the pieces of a message, or NULL
 * @nr: pages
 * @pages: pages
 */
struct rds_pin {
	struct rds_sock *rs;
	struct mmpin mmp;
	struct bio_vec *bvec;
	struct work_struct work;
	struct rds_zrecord *record;
	bool notify;
	bool dirty;
	unsigned int nr;
	struct page *pages[] __counted_by(nr);
};

struct rds_pin *rds_pin_iter(struct iov_iter *from, size_t len, struct bio_vec **bvec,
			     u16 *nr_bvec);
/* Can these pages be pinned?  0, -EFAULT or errno of the mm. */
int rds_pin_probe(u64 addr, u64 bytes, bool write);
struct rds_pin *rds_pin_user(const struct rds_iovec *vec, unsigned int n, bool write,
			     struct sg_table *sgt);
void rds_pin_release(struct rds_pin *pin);		/* any context */
void rds_pin_drop(struct rds_pin *pin);			/* process context, at once */
void rds_pin_flush(void);				/* module exit */

/* mr.c */
int rds_mr_register(struct rds_sock *rs, const struct rds_get_mr_args *args, u64 *cookie);
int rds_mr_free(struct rds_sock *rs, u64 cookie, bool invalidate);
int rds_mr_dest(struct rds_sock *rs, u64 cookie);
void rds_mr_used(struct rds_sock *rs, u32 key);		/* any context */
void rds_mr_release_all(struct rds_sock *rs);

/* op.c */
struct rds_op *rds_op_alloc(const struct rds_rdma_ops *ops);
void rds_op_free(struct rds_op *op);			/* any context */
void rds_op_undo(struct rds_message *m);		/* process context, never queued */
int rds_op_add_rdma(struct rds_sock *rs, struct rds_op *op, const struct rds_rdma_args *args,
		    const struct rds_iovec *iov, u64 bytes);
int rds_op_add_atomic(struct rds_sock *rs, struct rds_op *op, unsigned int type,
		      const struct rds_atomic_args *args);
bool rds_op_holds(struct rds_message *m);		/* path->lock held */
bool rds_op_requeue(const struct rds_message *m);	/* path->lock held */
bool rds_op_start(struct rds_path *p, struct rds_message *m);
bool rds_op_part_done(struct rds_message *m, enum rds_op_nr nr, int status,
		      struct rds_notifier **note);
void rds_op_tell(const struct rds_message *m, enum rds_op_nr nr, int status,
		 struct rds_notifier *note);
void rds_op_finish(struct list_head *msgs, int status);
bool rds_op_wait(struct list_head *msgs, unsigned long time);

#endif /* _RDS_RDMA_H */
