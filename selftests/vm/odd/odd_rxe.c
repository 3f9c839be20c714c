// SPDX-License-Identifier: GPL-2.0
/*
 * For guests only: makes the rdma_rxe devices of the machine behave as some adapters do, while it
 * is loaded, and tells what is asked of them. No queue pair may be working when it comes or goes.
 */
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <rdma/ib_verbs.h>

static bool refuse_atomics;
module_param(refuse_atomics, bool, 0444);
MODULE_PARM_DESC(refuse_atomics, "Post no atomics for the kernel, as mlx5");

static bool bounce;
module_param(bounce, bool, 0444);
MODULE_PARM_DESC(bounce, "Registered memory up to 2 KiB is a copy at 2 KiB in another page, as in a swiotlb");

static int traffic_class = -1;
module_param(traffic_class, int, 0444);
MODULE_PARM_DESC(traffic_class, "Of the last queue pair that got an address (read only)");

#define BOUNCES	64
#define SLOT	2048

/* Those of rdma_rxe, the same for all its devices. */
static int (*rxe_post_send)(struct ib_qp *qp, const struct ib_send_wr *wr,
			    const struct ib_send_wr **bad_wr);
static int (*rxe_map_mr_sg)(struct ib_mr *mr, struct scatterlist *sg, int nents,
			    unsigned int *offset);
static int (*rxe_modify_qp)(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			    struct ib_udata *udata);

static struct page *bounces[BOUNCES];
static atomic_t nr_bounces = ATOMIC_INIT(0);

static int odd_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad_wr)
{
	if (wr->opcode != IB_WR_ATOMIC_CMP_AND_SWP && wr->opcode != IB_WR_ATOMIC_FETCH_AND_ADD)
		return rxe_post_send(qp, wr, bad_wr);
	*bad_wr = wr;
	return -EOPNOTSUPP;
}

/* Addresses for DMA are those of memory here. */
static int odd_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int nents,
			 unsigned int *offset)
{
	dma_addr_t real = sg_dma_address(sg);
	int i, ret;

	if (nents != 1 || sg_dma_len(sg) > SLOT)
		return rxe_map_mr_sg(mr, sg, nents, offset);
	i = atomic_inc_return(&nr_bounces) - 1;
	if (i >= BOUNCES)
		return -ENOMEM;
	bounces[i] = alloc_page(GFP_KERNEL);
	if (!bounces[i])
		return -ENOMEM;
	memset(page_address(bounces[i]), 'P', PAGE_SIZE);
	memcpy(page_address(bounces[i]) + SLOT, sg_virt(sg), sg_dma_len(sg));
	sg_dma_address(sg) = (uintptr_t)page_address(bounces[i]) + SLOT;
	ret = rxe_map_mr_sg(mr, sg, nents, offset);
	sg_dma_address(sg) = real;
	return ret;
}

static int odd_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			 struct ib_udata *udata)
{
	if (qp->qp_type == IB_QPT_RC && mask & IB_QP_AV)
		WRITE_ONCE(traffic_class, rdma_ah_read_grh(&attr->ah_attr)->traffic_class);
	return rxe_modify_qp(qp, attr, mask, udata);
}

static int odd_add(struct ib_device *dev)
{
	if (dev->ops.driver_id != RDMA_DRIVER_RXE)
		return -EOPNOTSUPP;
	rxe_post_send = dev->ops.post_send;
	rxe_map_mr_sg = dev->ops.map_mr_sg;
	rxe_modify_qp = dev->ops.modify_qp;
	dev->ops.modify_qp = odd_modify_qp;
	if (refuse_atomics)
		dev->ops.post_send = odd_post_send;
	if (bounce)
		dev->ops.map_mr_sg = odd_map_mr_sg;
	return 0;
}

static void odd_remove(struct ib_device *dev, void *data)
{
	dev->ops.post_send = rxe_post_send;
	dev->ops.map_mr_sg = rxe_map_mr_sg;
	dev->ops.modify_qp = rxe_modify_qp;
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
