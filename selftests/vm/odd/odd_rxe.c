// SPDX-License-Identifier: GPL-2.0
/*
 * For guests only: makes the rdma_rxe devices of the machine behave as some adapters do, while it
 * is loaded, and tells what is asked of them. No queue pair may be working when it comes or goes.
 */
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_verbs.h>

static bool refuse_atomics;
module_param(refuse_atomics, bool, 0444);
MODULE_PARM_DESC(refuse_atomics, "Post no atomics for the kernel, as mlx5");

static bool bounce;
module_param(bounce, bool, 0444);
MODULE_PARM_DESC(bounce, "Registered memory up to 2 KiB is a copy at 2 KiB in another page, as in a swiotlb");

static bool level_events;
module_param(level_events, bool, 0644);
MODULE_PARM_DESC(level_events, "A completion queue that is armed tells at once of what lies in it, as mlx5");

static unsigned int most_sends;
module_param(most_sends, uint, 0444);
MODULE_PARM_DESC(most_sends, "The kernel gets no queue pair with more send requests, as mlx5 with many segments");

static int vectors;
module_param(vectors, int, 0444);
MODULE_PARM_DESC(vectors, "Completion vectors that the device has");

#define MOST_VECTORS	16
static unsigned int pairs[MOST_VECTORS];
module_param_array(pairs, uint, NULL, 0444);
MODULE_PARM_DESC(pairs, "Times two queues of one owner of the kernel were on that vector (read only)");

static unsigned int split;
module_param(split, uint, 0444);
MODULE_PARM_DESC(split, "Times they were on two (read only)");

static int traffic_class = -1;
module_param(traffic_class, int, 0444);
MODULE_PARM_DESC(traffic_class, "Of the last queue pair that got an address (read only)");

static u32 named;
static bool named_gid;
module_param(named, uint, 0644);
MODULE_PARM_DESC(named, "IPv4 address that the CM's requests name as the caller's, big endian; 0: the caller's");
module_param(named_gid, bool, 0644);
MODULE_PARM_DESC(named_gid, "...and as its GID");

static bool unseen_writes;
module_param(unseen_writes, bool, 0444);
MODULE_PARM_DESC(unseen_writes, "RDMA writes are executed, and told as if the answer had not come");

/* Those of rdma_rxe, which are put back. */
static typeof_member(struct ib_device, ops) rxe;
static int rxe_vectors;
static struct ib_device *device;

/* ---- work requests ------------------------------------------------------------------ */

/* Where a request of the CM has what, behind the header of the MAD. */
#define CM_REQ			0x0010
#define CM_REQ_LOCAL_GID	56
#define CM_REQ_PRIVATE		140
#define CMA_SADDR4		16

/* The MAD and what is behind its header are two segments; addresses for DMA are those of memory. */
static void odd_name(const struct ib_send_wr *wr)
{
	const struct ib_mad_hdr *hdr;
	u8 *req;

	if (!READ_ONCE(named) || wr->num_sge < 2)
		return;
	hdr = (void *)(uintptr_t)wr->sg_list[0].addr;
	req = (void *)(uintptr_t)wr->sg_list[1].addr;
	if (hdr->mgmt_class != IB_MGMT_CLASS_CM || hdr->attr_id != cpu_to_be16(CM_REQ))
		return;
	memcpy(req + CM_REQ_PRIVATE + CMA_SADDR4, &named, sizeof(named));
	if (named_gid)
		ipv6_addr_set_v4mapped((__force __be32)named,
				       (struct in6_addr *)(req + CM_REQ_LOCAL_GID));
}

static int odd_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad_wr)
{
	if (qp->qp_type == IB_QPT_GSI)
		odd_name(wr);
	if (!refuse_atomics || (wr->opcode != IB_WR_ATOMIC_CMP_AND_SWP &&
				wr->opcode != IB_WR_ATOMIC_FETCH_AND_ADD))
		return rxe.post_send(qp, wr, bad_wr);
	*bad_wr = wr;
	return -EOPNOTSUPP;
}

/* ---- memory ------------------------------------------------------------------------- */

#define BOUNCES	64
#define SLOT	2048

static struct page *bounces[BOUNCES];
static atomic_t nr_bounces = ATOMIC_INIT(0);

static int odd_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int nents,
			 unsigned int *offset)
{
	dma_addr_t real = sg_dma_address(sg);
	int i, ret;

	if (nents != 1 || sg_dma_len(sg) > SLOT)
		return rxe.map_mr_sg(mr, sg, nents, offset);
	i = atomic_inc_return(&nr_bounces) - 1;
	if (i >= BOUNCES)
		return -ENOMEM;
	bounces[i] = alloc_page(GFP_KERNEL);
	if (!bounces[i])
		return -ENOMEM;
	memset(page_address(bounces[i]), 'P', PAGE_SIZE);
	memcpy(page_address(bounces[i]) + SLOT, sg_virt(sg), sg_dma_len(sg));
	sg_dma_address(sg) = (uintptr_t)page_address(bounces[i]) + SLOT;
	ret = rxe.map_mr_sg(mr, sg, nents, offset);
	sg_dma_address(sg) = real;
	return ret;
}

/* ---- queues ------------------------------------------------------------------------- */

/* The last queue pair that is connected to itself: who registers memory has one. */
static struct ib_qp *own_qp;

static int odd_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	if (!udata && qp->qp_type == IB_QPT_RC && most_sends && attr->cap.max_send_wr > most_sends)
		return -ENOMEM;
	return rxe.create_qp(qp, attr, udata);
}

static int odd_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			 struct ib_udata *udata)
{
	if (qp->qp_type == IB_QPT_RC && mask & IB_QP_AV)
		WRITE_ONCE(traffic_class, rdma_ah_read_grh(&attr->ah_attr)->traffic_class);
	if (mask & IB_QP_DEST_QPN && attr->dest_qp_num == qp->qp_num)
		own_qp = qp;
	return rxe.modify_qp(qp, attr, mask, udata);
}

static int odd_destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	if (own_qp == qp)
		own_qp = NULL;
	return rxe.destroy_qp(qp, udata);
}

static int odd_poll_cq(struct ib_cq *cq, int most, struct ib_wc *wc)
{
	int n = rxe.poll_cq(cq, most, wc), i;

	for (i = 0; i < n; i++)
		if (wc[i].status == IB_WC_SUCCESS && wc[i].opcode == IB_WC_RDMA_WRITE)
			wc[i].status = IB_WC_WR_FLUSH_ERR;
	return n;
}

static int odd_req_notify_cq(struct ib_cq *cq, enum ib_cq_notify_flags flags)
{
	int ret;

	if (!READ_ONCE(level_events))
		return rxe.req_notify_cq(cq, flags);
	ret = rxe.req_notify_cq(cq, flags | IB_CQ_REPORT_MISSED_EVENTS);
	if (ret > 0 && cq->comp_handler)
		cq->comp_handler(cq, cq->cq_context);
	return min(ret, 0);
}

static DEFINE_SPINLOCK(last_lock);
static void *last_owner;
static int last_vector;

static int odd_create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr,
			 struct uverbs_attr_bundle *attrs)
{
	if (!attrs && attr->comp_vector < MOST_VECTORS) {
		spin_lock(&last_lock);
		if (last_owner == cq->cq_context && last_vector == attr->comp_vector)
			pairs[last_vector]++;
		else if (last_owner == cq->cq_context)
			split++;
		last_owner = cq->cq_context;
		last_vector = attr->comp_vector;
		spin_unlock(&last_lock);
	}
	return rxe.create_cq(cq, attr, attrs);
}

/* ---- while it runs ------------------------------------------------------------------ */

static int break_own(const char *val, const struct kernel_param *kp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	return own_qp ? ib_modify_qp(own_qp, &attr, IB_QP_STATE) : -ENOENT;
}

static const struct kernel_param_ops break_ops = { .set = break_own };
module_param_cb(break_own_qp, &break_ops, NULL, 0200);
MODULE_PARM_DESC(break_own_qp, "The queue pair that is connected to itself goes into an error");

static bool ib_port;
static u32 roce_flags;

/* Its port is one of InfiniBand whose LID is not its alone; for registrations only. */
static int set_ib_port(const char *val, const struct kernel_param *kp)
{
	int err = param_set_bool(val, kp);
	u32 *flags;

	if (err || !device)
		return err;
	flags = &device->port_data[1].immutable.core_cap_flags;
	*flags = ib_port ? RDMA_CORE_PORT_IBA_IB | RDMA_CORE_CAP_IB_GRH_REQUIRED : roce_flags;
	return 0;
}

static const struct kernel_param_ops ib_port_ops = { .set = set_ib_port, .get = param_get_bool };
module_param_cb(ib_port, &ib_port_ops, &ib_port, 0644);
MODULE_PARM_DESC(ib_port, "The port is one of InfiniBand that needs a GRH");

static int odd_add(struct ib_device *dev)
{
	if (dev->ops.driver_id != RDMA_DRIVER_RXE || device)
		return -EOPNOTSUPP;
	device = dev;
	rxe = dev->ops;
	rxe_vectors = dev->num_comp_vectors;
	roce_flags = dev->port_data[1].immutable.core_cap_flags;
	dev->ops.post_send = odd_post_send;
	dev->ops.create_qp = odd_create_qp;
	dev->ops.modify_qp = odd_modify_qp;
	dev->ops.destroy_qp = odd_destroy_qp;
	dev->ops.create_cq = odd_create_cq;
	if (vectors)
		dev->num_comp_vectors = vectors;
	dev->ops.req_notify_cq = odd_req_notify_cq;
	if (unseen_writes)
		dev->ops.poll_cq = odd_poll_cq;
	if (bounce)
		dev->ops.map_mr_sg = odd_map_mr_sg;
	return 0;
}

static void odd_remove(struct ib_device *dev, void *data)
{
	dev->port_data[1].immutable.core_cap_flags = roce_flags;
	dev->num_comp_vectors = rxe_vectors;
	dev->ops = rxe;
	device = NULL;
	own_qp = NULL;
}

static struct ib_client odd_client = {
	.name	= "odd_rxe",
	.add	= odd_add,
	.remove	= odd_remove,
};

static int __init odd_init(void)
{
	return ib_register_client(&odd_client);
}
module_init(odd_init);

static void __exit odd_exit(void)
{
	int i;

	ib_unregister_client(&odd_client);
	for (i = 0; i < BOUNCES; i++)
		if (bounces[i])
			__free_page(bounces[i]);
}
module_exit(odd_exit);

MODULE_DESCRIPTION("Makes rdma_rxe behave as other devices do, for tests");
MODULE_LICENSE("GPL");
