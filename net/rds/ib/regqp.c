// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: registration and invalidation of memory.
 *
 * Both are work requests, but nothing of them goes to a peer: any queue pair of the protection
 * domain will do that is ready to send.  This one belongs to the device and is connected to
 * itself, with no rights for anybody.  One request at a time: it takes microseconds, and the device
 * wakes who waits without a detour over a softirq.  After an error it is thrown away, and the next
 * request makes a new one.
 */
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "ib.h"

#define REGQP_TIMEOUT	(10 * HZ)

static void regqp_news(struct ib_cq *cq, void *arg)
{
	struct rds_ib_regqp *rq = arg;

	complete(&rq->news);
}

static void regqp_error(struct ib_event *event, void *arg)
{
	/* Requests that it breaks complete with an error, or not in time. */
}

/* ---- connecting it to itself ------------------------------------------------------------- */

/* The first GID of a port as the address of both ends. */
static int self_gid(struct ib_device *dev, u32 port, u32 nr, struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *gid;
	u32 i;

	for (i = 0; i < nr; i++) {
		gid = rdma_get_gid_attr(dev, port, i);
		if (IS_ERR(gid))
			continue;
		rdma_ah_set_grh(ah, NULL, 0, i, 1, 0);
		memcpy(rdma_ah_retrieve_grh(ah)->dgid.raw, gid->gid.raw, sizeof(gid->gid.raw));
		if (ah->type == RDMA_AH_ATTR_TYPE_ROCE)
			rdma_read_gid_l2_fields(gid, NULL, ah->roce.dmac);
		rdma_put_gid_attr(gid);
		return 0;
	}
	return -ENODEV;
}

/*
 * A port and what is needed to address ourselves through it.  Ports of InfiniBand go by the LID;
 * those that share one with others, of virtual functions, want the GID as well.
 */
static int self_address(struct ib_device *dev, u32 port, struct rdma_ah_attr *ah,
			enum ib_mtu *mtu)
{
	struct ib_port_attr pa;
	int err;

	err = ib_query_port(dev, port, &pa);
	if (err)
		return err;
	*mtu = pa.active_mtu;
	memset(ah, 0, sizeof(*ah));
	ah->type = rdma_ah_find_type(dev, port);
	rdma_ah_set_port_num(ah, port);
	if (rdma_protocol_ib(dev, port))
		rdma_ah_set_dlid(ah, pa.lid);
	return rdma_is_grh_required(dev, port) ? self_gid(dev, port, pa.gid_tbl_len, ah) : 0;
}

static int regqp_to_rtr(struct ib_qp *qp, struct ib_qp_attr *a)
{
	a->qp_state = IB_QPS_INIT;
	a->port_num = rdma_ah_get_port_num(&a->ah_attr);
	a->pkey_index = 0;
	a->qp_access_flags = 0;
	return ib_modify_qp(qp, a, IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX |
				   IB_QP_ACCESS_FLAGS);
}

static int regqp_connect(struct ib_qp *qp, struct ib_qp_attr *a)
{
	int err = regqp_to_rtr(qp, a);

	if (err)
		return err;
	a->qp_state = IB_QPS_RTR;
	a->dest_qp_num = qp->qp_num;
	a->rq_psn = 0;
	a->max_dest_rd_atomic = 0;
	a->min_rnr_timer = IB_RNR_TIMER_655_36;
	err = ib_modify_qp(qp, a, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
				  IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	a->qp_state = IB_QPS_RTS;
	a->sq_psn = 0;
	a->timeout = 14;
	a->retry_cnt = 7;
	a->rnr_retry = 7;
	a->max_rd_atomic = 0;
	return ib_modify_qp(qp, a, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
				   IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

static int regqp_connect_any(struct ib_qp *qp)
{
	struct ib_qp_attr *a = kzalloc(sizeof(*a), GFP_KERNEL);
	int err = -ENODEV;
	u32 port;

	if (!a)
		return -ENOMEM;
	rdma_for_each_port(qp->device, port) {
		err = self_address(qp->device, port, &a->ah_attr, &a->path_mtu);
		if (!err)
			break;
	}
	if (!err)
		err = regqp_connect(qp, a);
	kfree(a);
	return err;
}

static int regqp_create(struct rds_ib_regqp *rq, struct rds_ib_device *rdev)
{
	struct ib_cq_init_attr attr = { .cqe = RDS_IB_REGQP_BATCH + 2 };
	struct ib_qp_init_attr init = {
		.event_handler = regqp_error,
		.cap = {
			.max_send_wr = RDS_IB_REGQP_BATCH + 1,
			.max_recv_wr = 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	int err;

	rq->cq = ib_create_cq(rdev->dev, regqp_news, regqp_error, rq, &attr);
	if (IS_ERR(rq->cq))
		return PTR_ERR(rq->cq);
	init.send_cq = rq->cq;
	init.recv_cq = rq->cq;
	rq->qp = ib_create_qp(rdev->pd, &init);
	if (IS_ERR(rq->qp)) {
		err = PTR_ERR(rq->qp);
		goto err_cq;
	}
	err = regqp_connect_any(rq->qp);
	if (err)
		goto err_qp;
	return 0;

err_qp:
	ib_destroy_qp(rq->qp);
err_cq:
	ib_destroy_cq(rq->cq);
	rq->qp = NULL;
	return err;
}

/* No request is under way; what one that failed has left is over with the queue pair. */
static void regqp_break(struct rds_ib_regqp *rq)
{
	if (!rq->qp)
		return;
	ib_destroy_qp(rq->qp);
	ib_destroy_cq(rq->cq);
	rq->qp = NULL;
}

/* ---- requests ------------------------------------------------------------------------ */

/* True if the request is over. */
static bool regqp_poll(struct rds_ib_regqp *rq)
{
	bool over = false;
	struct ib_wc wc;

	while (ib_poll_cq(rq->cq, 1, &wc) > 0) {
		/* The first one counts: what follows an error is flushed. */
		if (!over)
			rq->status = wc.status;
		over = true;
	}
	return over;
}

static int regqp_wait(struct rds_ib_regqp *rq)
{
	unsigned long left = REGQP_TIMEOUT;

	do {
		reinit_completion(&rq->news);
		ib_req_notify_cq(rq->cq, IB_CQ_NEXT_COMP);
		if (regqp_poll(rq))
			return 0;
		left = wait_for_completion_timeout(&rq->news, left);
	} while (left);
	return regqp_poll(rq) ? 0 : -ETIMEDOUT;
}

/* Post a chain of which the last one is signalled, and wait. */
static int regqp_run(struct rds_ib_device *rdev, struct ib_send_wr *wr)
{
	struct rds_ib_regqp *rq = &rdev->mr->regqp;
	int err;

	lockdep_assert_held(&rq->lock);
	if (!rq->qp) {
		err = regqp_create(rq, rdev);
		if (err)
			return err;
	}
	err = ib_post_send(rq->qp, wr, NULL);
	if (!err)
		err = regqp_wait(rq);
	if (!err && rq->status != IB_WC_SUCCESS)
		err = -EIO;
	if (err) {
		dev_warn_ratelimited(&rdev->dev->dev, "rds: memory registration failed: %d (%s)\n",
				     err, err == -EIO ? ib_wc_status_msg(rq->status) : "no status");
		regqp_break(rq);
	}
	return err;
}

/**
 * rds_ib_regqp_register() - make a mapped object reachable under its key
 * @rdev: device
 * @mr: object, not registered
 * @access: IB_ACCESS_*
 *
 * Return: 0 or -errno.
 */
int rds_ib_regqp_register(struct rds_ib_device *rdev, struct ib_mr *mr, int access)
{
	struct rds_ib_regqp *rq = &rdev->mr->regqp;
	struct ib_reg_wr wr = {
		.wr = {
			.opcode = IB_WR_REG_MR,
			.send_flags = IB_SEND_SIGNALED,
		},
		.mr = mr,
		.key = mr->rkey,
		.access = access,
	};
	int err;

	mutex_lock(&rq->lock);
	err = regqp_run(rdev, &wr.wr);
	/* The queue pair was broken before it came, and nothing was done: another one does it. */
	if (err == -EIO && rq->status == IB_WC_WR_FLUSH_ERR)
		err = regqp_run(rdev, &wr.wr);
	mutex_unlock(&rq->lock);
	return err;
}

/**
 * rds_ib_regqp_invalidate() - no peer may use these keys any more
 * @rdev: device
 * @keys: keys
 * @n: their number, 1 to RDS_IB_REGQP_BATCH
 *
 * Return: 0 or -errno; then some may be valid still.
 */
int rds_ib_regqp_invalidate(struct rds_ib_device *rdev, const u32 *keys, unsigned int n)
{
	struct rds_ib_regqp *rq = &rdev->mr->regqp;
	unsigned int i;
	int err;

	mutex_lock(&rq->lock);
	for (i = 0; i < n; i++) {
		rq->wr[i] = (struct ib_send_wr) {
			.opcode = IB_WR_LOCAL_INV,
			.ex.invalidate_rkey = keys[i],
			.next = i + 1 < n ? &rq->wr[i + 1] : NULL,
			.send_flags = i + 1 < n ? 0 : IB_SEND_SIGNALED,
		};
	}
	err = regqp_run(rdev, rq->wr);
	mutex_unlock(&rq->lock);
	return err;
}

/**
 * rds_ib_regqp_init() - prepare; the queue pair is made when it is first needed
 * @rq: zeroed
 */
void rds_ib_regqp_init(struct rds_ib_regqp *rq)
{
	mutex_init(&rq->lock);
	init_completion(&rq->news);
}

/**
 * rds_ib_regqp_destroy() - the device goes
 * @rq: not used any more
 */
void rds_ib_regqp_destroy(struct rds_ib_regqp *rq)
{
	mutex_lock(&rq->lock);
	regqp_break(rq);
	mutex_unlock(&rq->lock);
}
