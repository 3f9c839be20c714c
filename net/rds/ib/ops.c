// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: RDMA transfers and atomics.
 *
 * The work requests of an operation are posted before the SENDs of its message, on the same
 * queue pair, beside the send ring.  Each part ends with a signalled one.  A part that was
 * executed is unmapped at once; one that failed is told at once, but its memory belongs to the
 * device until the queue pair is gone, and so does that of all others then.
 */
#include <linux/slab.h>

#include "ib.h"

/**
 * struct rds_ib_op_part - a part of an operation
 * @cqe: completion of all its work requests
 * @op: the operation
 * @wrs: work requests posted, 0: not or not any more
 * @mapped: local memory is mapped
 */
struct rds_ib_op_part {
	struct ib_cqe cqe;
	struct rds_ib_op *op;
	unsigned int wrs;
	bool mapped;
};

/**
 * struct rds_ib_op - rds_op.priv: an operation in the hands of the device
 * @node: rds_ib_ops.list
 * @link: link it was posted on
 * @m: its message, counted
 * @posted: jiffies
 * @part: its parts
 */
struct rds_ib_op {
	struct list_head node;
	struct rds_ib_link *link;
	struct rds_message *m;
	unsigned long posted;
	struct rds_ib_op_part part[RDS_OP_NR];
};

/**
 * struct rds_ib_op_batch - work requests under construction
 * @rdma: for transfers
 * @atomic: for an atomic
 * @sge: segments
 */
struct rds_ib_op_batch {
	struct ib_rdma_wr rdma[RDS_IB_OP_BATCH];
	struct ib_atomic_wr atomic;
	struct ib_sge sge[RDS_IB_OP_BATCH][RDS_IB_MAX_SGE];
};

static struct rds_ib_op *op_priv(struct rds_op *op)
{
	return (struct rds_ib_op *)op->priv;
}

static enum dma_data_direction op_dir(const struct rds_op_part *part)
{
	return part->kind == RDS_OP_WRITE ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

/* ---- memory -------------------------------------------------------------------------- */

static void op_unmap(struct rds_ib_link *l, struct rds_op *op, enum rds_op_nr nr,
		     unsigned long attrs)
{
	struct rds_ib_op_part *pp = &op_priv(op)->part[nr];
	struct rds_op_part *part = &op->part[nr];

	if (!pp->mapped)
		return;
	pp->mapped = false;
	ib_dma_unmap_sgtable_attrs(l->rdev->dev, &part->sgt, op_dir(part), attrs);
}

/* The device has seen none of it, and the memory may be its owner's again: nothing is copied. */
static void op_unmap_unused(struct rds_ib_link *l, struct rds_op *op)
{
	op_unmap(l, op, RDS_OP_RDMA, DMA_ATTR_SKIP_CPU_SYNC);
	op_unmap(l, op, RDS_OP_ATOMIC, DMA_ATTR_SKIP_CPU_SYNC);
}

static int op_map(struct rds_ib_link *l, struct rds_op *op)
{
	unsigned int i;
	int err;

	for (i = 0; i < RDS_OP_NR; i++) {
		struct rds_op_part *part = &op->part[i];

		if (part->kind == RDS_OP_NONE)
			continue;
		err = ib_dma_map_sgtable_attrs(l->rdev->dev, &part->sgt, op_dir(part), 0);
		if (err) {
			rds_ib_count(RDS_IB_TX_SG_MAPPING_FAILURE);
			op_unmap_unused(l, op);
			return err;
		}
		op_priv(op)->part[i].mapped = true;
	}
	return 0;
}

/* ---- completion ----------------------------------------------------------------------- */

/* The device is through with all of it. */
static void op_retire(struct rds_ib_op *iop)
{
	struct rds_message *m = iop->m;

	rds_op_end(m);
	rds_message_put(m);
}

static bool op_over(const struct rds_ib_op *iop)
{
	return !iop->part[RDS_OP_RDMA].wrs && !iop->part[RDS_OP_ATOMIC].wrs;
}

static void op_executed(struct rds_ib_op_part *pp)
{
	struct rds_ib_op *iop = pp->op;
	enum rds_op_nr nr = pp - iop->part;
	struct rds_ib_link *l = iop->link;
	struct rds_ib_ops *ops = &l->ops;
	bool kick, over;

	if (time_after(jiffies, iop->posted + HZ / 2))
		rds_ib_count(RDS_IB_TX_STALLED);
	op_unmap(l, iop->m->op, nr, 0);
	rds_op_done(l->ib->path, iop->m, nr, RDS_RDMA_SUCCESS, false);

	spin_lock_bh(&ops->lock);
	ops->room += pp->wrs;
	ops->bytes -= iop->m->op->part[nr].bytes;
	pp->wrs = 0;
	over = op_over(iop);
	if (over)
		list_del(&iop->node);
	kick = ops->waiting;
	ops->waiting = false;
	spin_unlock_bh(&ops->lock);
	if (over)
		op_retire(iop);
	if (kick)
		rds_path_kick(l->ib->path);
}

/* A completion: of the last work request, or of any that failed. */
static void op_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ib_op_part *pp = container_of(wc->wr_cqe, struct rds_ib_op_part, cqe);
	struct rds_ib_op *iop = pp->op;
	struct rds_ib_link *l = iop->link;
	int status = RDS_RDMA_OTHER_ERROR;
	bool fault = true;

	switch (wc->status) {
	case IB_WC_SUCCESS:
		op_executed(pp);
		return;
	case IB_WC_WR_FLUSH_ERR:
		/* Whether it was executed is not known: rds_ib_ops_reset(). */
		return;
	case IB_WC_REM_ACCESS_ERR:
		status = RDS_RDMA_REMOTE_ERROR;
		break;
	case IB_WC_REM_INV_REQ_ERR:
	case IB_WC_REM_OP_ERR:
		break;
	default:
		/* The peer is gone, say. */
		fault = false;
		break;
	}
	/* In this order: who is told of it may send the next at once, and not by this link. */
	rds_path_drop(l->ib->path, l->epoch, -EIO);
	rds_op_done(l->ib->path, iop->m, pp - iop->part, status, fault);
}

/* ---- posting ---------------------------------------------------------------------------- */

/* Segments of one work request. */
static unsigned int part_sge(const struct rds_ib_link *l, const struct rds_op_part *part)
{
	if (part->kind != RDS_OP_READ)
		return l->rdev->max_sge;
	return clamp_t(u32, l->rdev->dev->attrs.max_sge_rd, 1, l->rdev->max_sge);
}

/* Work requests that a part may need; mapping can only join segments. */
static unsigned int part_wrs(const struct rds_ib_link *l, const struct rds_op_part *part)
{
	if (part->kind == RDS_OP_NONE)
		return 0;
	return DIV_ROUND_UP(part->sgt.orig_nents, part_sge(l, part));
}

/* Give @wr up to @max segments from @*sg on, which is advanced.  Return: bytes. */
static u32 fill_sge(struct rds_ib_link *l, struct ib_send_wr *wr, unsigned int max,
		    struct scatterlist **sg, unsigned int *left)
{
	struct ib_sge *sge = wr->sg_list;
	u32 bytes = 0;
	int *n = &wr->num_sge;

	for (*n = 0; *left && *n < max; (*n)++, (*left)--) {
		sge[*n].addr = sg_dma_address(*sg);
		sge[*n].length = sg_dma_len(*sg);
		sge[*n].lkey = l->rdev->pd->local_dma_lkey;
		bytes += sge[*n].length;
		*sg = sg_next(*sg);
	}
	return bytes;
}

static int post_rdma(struct rds_ib_link *l, struct rds_op_part *part, struct rds_ib_op_part *pp)
{
	struct rds_ib_op_batch *b = l->ops.batch;
	unsigned int left = part->sgt.nents, i;
	struct scatterlist *sg = part->sgt.sgl;
	u64 raddr = part->raddr;
	int err = 0;

	while (left && !err) {
		for (i = 0; left && i < RDS_IB_OP_BATCH; i++) {
			struct ib_rdma_wr *wr = &b->rdma[i];

			*wr = (struct ib_rdma_wr) {
				.wr = {
					.wr_cqe = &pp->cqe,
					.sg_list = b->sge[i],
					.opcode = part->kind == RDS_OP_WRITE ?
						  IB_WR_RDMA_WRITE : IB_WR_RDMA_READ,
				},
				.remote_addr = raddr,
				.rkey = part->key,
			};
			raddr += fill_sge(l, &wr->wr, part_sge(l, part), &sg, &left);
			if (i)
				b->rdma[i - 1].wr.next = &wr->wr;
		}
		if (!left)
			b->rdma[i - 1].wr.send_flags = IB_SEND_SIGNALED;
		err = ib_post_send(l->qp, &b->rdma[0].wr, NULL);
	}
	return err;
}

static const enum ib_wr_opcode atomic_opcodes[] = {
	[RDS_OP_FADD] = IB_WR_ATOMIC_FETCH_AND_ADD,
	[RDS_OP_CSWP] = IB_WR_ATOMIC_CMP_AND_SWP,
	[RDS_OP_MASKED_FADD] = IB_WR_MASKED_ATOMIC_FETCH_AND_ADD,
	[RDS_OP_MASKED_CSWP] = IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
};

/* Its driver does not know this one, whatever the device says: it costs one link, not each. */
static void atomic_unknown(struct rds_ib_device *rdev, enum rds_op_kind kind)
{
	if (kind == RDS_OP_FADD || kind == RDS_OP_CSWP)
		WRITE_ONCE(rdev->atomics, false);
	WRITE_ONCE(rdev->masked_atomics, false);
}

static int post_atomic(struct rds_ib_link *l, struct rds_op_part *part, struct rds_ib_op_part *pp)
{
	bool cswp = part->kind == RDS_OP_CSWP || part->kind == RDS_OP_MASKED_CSWP;
	struct rds_ib_op_batch *b = l->ops.batch;
	struct scatterlist *sg = part->sgt.sgl;
	unsigned int left = 1;
	int err;

	b->atomic = (struct ib_atomic_wr) {
		.wr = {
			.wr_cqe = &pp->cqe,
			.sg_list = b->sge[0],
			.opcode = atomic_opcodes[part->kind],
			.send_flags = IB_SEND_SIGNALED,
		},
		.remote_addr = part->raddr,
		.rkey = part->key,
		.compare_add = cswp ? part->compare : part->add,
		.swap = part->add,
		/* Of an addition: the bits that pass on no carry. */
		.compare_add_mask = cswp ? part->compare_mask : part->add_mask,
		.swap_mask = part->add_mask,
	};
	fill_sge(l, &b->atomic.wr, 1, &sg, &left);
	rds_ib_count(cswp ? RDS_IB_ATOMIC_CSWP : RDS_IB_ATOMIC_FADD);
	err = ib_post_send(l->qp, &b->atomic.wr, NULL);
	if (err == -EOPNOTSUPP)
		atomic_unknown(l->rdev, part->kind);
	return err;
}

/* Hand it to the completions, then to the device. */
static int op_post(struct rds_ib_link *l, struct rds_message *m)
{
	struct rds_ib_op *iop = op_priv(m->op);
	struct rds_ib_ops *ops = &l->ops;
	unsigned int i;
	int err = 0;

	iop->link = l;
	iop->m = m;
	iop->posted = jiffies;
	rds_message_get(m);
	for (i = 0; i < RDS_OP_NR; i++) {
		iop->part[i].op = iop;
		iop->part[i].cqe.done = op_done;
		iop->part[i].wrs = part_wrs(l, &m->op->part[i]);
	}
	spin_lock_bh(&ops->lock);
	list_add_tail(&iop->node, &ops->list);
	ops->room -= iop->part[RDS_OP_RDMA].wrs + iop->part[RDS_OP_ATOMIC].wrs;
	ops->bytes += m->op->part[RDS_OP_RDMA].bytes + m->op->part[RDS_OP_ATOMIC].bytes;
	spin_unlock_bh(&ops->lock);

	if (m->op->part[RDS_OP_RDMA].kind)
		err = post_rdma(l, &m->op->part[RDS_OP_RDMA], &iop->part[RDS_OP_RDMA]);
	if (!err && m->op->part[RDS_OP_ATOMIC].kind)
		err = post_atomic(l, &m->op->part[RDS_OP_ATOMIC], &iop->part[RDS_OP_ATOMIC]);
	/* The link is dead; neither -ENOMEM nor -EAGAIN of a device means to try again. */
	return err ? -EIO : 0;
}

/* Can this device do it at all? */
static bool op_possible(const struct rds_ib_device *rdev, const struct rds_op *op)
{
	switch (op->part[RDS_OP_ATOMIC].kind) {
	case RDS_OP_FADD:
	case RDS_OP_CSWP:
		return READ_ONCE(rdev->atomics);
	case RDS_OP_MASKED_FADD:
	case RDS_OP_MASKED_CSWP:
		return READ_ONCE(rdev->masked_atomics);
	default:
		return true;
	}
}

/* Some devices refuse an atomic that is not, which would cost the link. */
static bool op_aligned(const struct rds_op *op)
{
	return op->part[RDS_OP_ATOMIC].kind == RDS_OP_NONE ||
	       IS_ALIGNED(op->part[RDS_OP_ATOMIC].raddr, sizeof(u64));
}

/* 0, -EAGAIN: not now, -EMSGSIZE: never. */
static int op_room(struct rds_ib_link *l, const struct rds_op *op)
{
	unsigned int wrs = part_wrs(l, &op->part[RDS_OP_RDMA]) +
			   part_wrs(l, &op->part[RDS_OP_ATOMIC]);
	struct rds_ib_ops *ops = &l->ops;
	int err = 0;

	spin_lock_bh(&ops->lock);
	if (wrs > ops->max) {
		err = -EMSGSIZE;
	} else if (wrs > ops->room ||
		   (ops->bytes >= RDS_IB_OP_BYTES && !list_is_singular(&ops->list))) {
		ops->waiting = true;
		err = -EAGAIN;
	}
	spin_unlock_bh(&ops->lock);
	return err;
}

/* Bounce buffers that are all in use say -EIO, too: those of our own will be given back. */
static int op_map_room(struct rds_ib_link *l, struct rds_op *op)
{
	struct rds_ib_ops *ops = &l->ops;
	int err = op_map(l, op);
	bool alone;

	if (err != -EIO)
		return err;
	spin_lock_bh(&ops->lock);
	alone = list_empty(&ops->list);
	spin_unlock_bh(&ops->lock);
	/* The others may have ended while we tried; no new ones begin. */
	return alone ? op_map(l, op) : -ENOMEM;
}

/**
 * rds_ib_ops_post() - post the operation of a message before its SENDs
 * @l: link, link mutex held
 * @m: message, pulled
 *
 * Return: see mem.h.
 */
int rds_ib_ops_post(struct rds_ib_link *l, struct rds_message *m)
{
	struct rds_path *p = l->ib->path;
	struct rds_op *op = m->op;
	bool silent;
	int err;

	if (!rds_op_pending(m))
		return 0;
	if (!l->ops.batch)
		l->ops.batch = kmalloc(sizeof(*l->ops.batch), GFP_KERNEL | __GFP_NOWARN);
	if (!l->ops.batch)
		return -ENOMEM;
	err = op_possible(l->rdev, op) && op_aligned(op) ? 0 : -EOPNOTSUPP;
	if (!err)
		err = op_room(l, op);
	if (!err)
		err = op_map_room(l, op);
	if (err == -EAGAIN || err == -ENOMEM)
		return err;
	if (err) {
		rds_op_refuse(p, m, RDS_RDMA_OTHER_ERROR);
		return 1;
	}
	if (!rds_op_begin(p, m)) {
		op_unmap_unused(l, op);
		return 1;
	}
	silent = op->silent;
	err = op_post(l, m);
	return err ?: silent;
}

/**
 * rds_ib_ops_init() - a new link has no operations
 * @l: link
 */
void rds_ib_ops_init(struct rds_ib_link *l)
{
	struct rds_ib_ops *ops = &l->ops;

	spin_lock_init(&ops->lock);
	INIT_LIST_HEAD(&ops->list);
}

/**
 * rds_ib_ops_limit() - set how many work requests of operations there may be
 * @l: link with a device, without a queue pair
 *
 * Return: their number.
 */
unsigned int rds_ib_ops_limit(struct rds_ib_link *l)
{
	l->ops.max = min(l->rdev->max_wr / 2, RDS_IB_OP_WRS);
	l->ops.room = l->ops.max;
	return l->ops.max;
}

/**
 * rds_ib_ops_reset() - the queue pair is gone: let go of what it was working on
 * @l: link, link mutex held
 *
 * Nobody knows whether these operations were executed.
 */
void rds_ib_ops_reset(struct rds_ib_link *l)
{
	struct rds_ib_op *iop, *next;

	list_for_each_entry_safe(iop, next, &l->ops.list, node) {
		list_del(&iop->node);
		op_unmap(l, iop->m->op, RDS_OP_RDMA, 0);
		op_unmap(l, iop->m->op, RDS_OP_ATOMIC, 0);
		op_retire(iop);
	}
	kfree(l->ops.batch);
	l->ops.batch = NULL;
}

/* ---- what the core asks ------------------------------------------------------------------ */

static int op_check(const struct in6_addr *laddr, u32 scope, const struct rds_op *op)
{
	struct rds_ib_device *rdev;
	bool ok;

	if (op->part[RDS_OP_ATOMIC].kind == RDS_OP_NONE)
		return 0;
	rdev = rds_ib_dev_for_addr(&init_net, laddr, scope);
	/* None just now: whether it can is seen when there is one. */
	if (!rdev)
		return 0;
	ok = op_possible(rdev, op);
	rds_ib_dev_put(rdev);
	return ok ? 0 : -EOPNOTSUPP;
}

const struct rds_rdma_ops rds_ib_rdma_ops = {
	.mr_priv_size	= sizeof(struct rds_ib_region),
	.op_priv_size	= sizeof(struct rds_ib_op),
	.mr_map		= rds_ib_mr_map,
	.mr_unmap	= rds_ib_mr_unmap,
	.mr_flush	= rds_ib_mr_flush,
	.mr_sync	= rds_ib_mr_sync,
	.op_check	= op_check,
};
