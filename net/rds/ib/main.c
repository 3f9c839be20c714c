// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: the module.
 *
 * Start: devices first, then listeners, then the transport becomes visible to sockets.  Exit: no
 * socket uses the transport any more, since each holds the module.  The listeners go first, so
 * nothing makes connections; then the connections; then the devices with what is registered.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "ib.h"

/*
 * Linux's RoCE drops frames under load; a retry costs less than a new connection.  Not 7: rxe
 * takes that for no limit, and a peer that died would never be noticed.
 */
#define RDS_IB_ROCE_RETRIES	6

struct workqueue_struct *rds_ib_wq;
struct workqueue_struct *rds_ib_poll_wq;

unsigned int rds_ib_mr_1m_pool_size = 4096;
module_param(rds_ib_mr_1m_pool_size, uint, 0444);
MODULE_PARM_DESC(rds_ib_mr_1m_pool_size, "regions of up to 1 MiB for each device");

unsigned int rds_ib_mr_8k_pool_size = 348160;
module_param(rds_ib_mr_8k_pool_size, uint, 0444);
MODULE_PARM_DESC(rds_ib_mr_8k_pool_size, "regions of up to two pages for each device");

static unsigned int rds_ib_retry_count = 1;
static bool rds_ib_retry_set;

static int rds_ib_set_retries(const char *val, const struct kernel_param *kp)
{
	rds_ib_retry_set = true;
	return param_set_uint(val, kp);
}

static const struct kernel_param_ops rds_ib_retry_ops = {
	.set = rds_ib_set_retries,
	.get = param_get_uint,
};
module_param_cb(rds_ib_retry_count, &rds_ib_retry_ops, &rds_ib_retry_count, 0444);
MODULE_PARM_DESC(rds_ib_retry_count, "retries of a request (at most 7; RoCE has 6 unless this is set)");

/**
 * rds_ib_retries() - how often the device repeats a request
 * @id: of the link, which has a port
 */
unsigned int rds_ib_retries(const struct rdma_cm_id *id)
{
	if (rdma_protocol_roce(id->device, id->port_num) && !rds_ib_retry_set)
		return RDS_IB_ROCE_RETRIES;
	return min(rds_ib_retry_count, 7U);
}

static u8 rds_ib_tos_map(u8 tos)
{
	return tos;
}

struct rds_transport rds_ib_transport = {
	.name		= "infiniband",
	.type		= RDS_TRANS_IB,
	.owner		= THIS_MODULE,
	.caps		= RDS_CAP_SENDS_CONG | RDS_CAP_ACK_REQUIRED | RDS_CAP_SELF,
	.max_paths	= 1,
	.path_priv_size	= sizeof(struct rds_ib_path),
	.stats		= &rds_ib_stat_desc,
	.rdma		= &rds_ib_rdma_ops,
	.owns_addr	= rds_ib_owns_addr,
	.path_init	= rds_ib_path_init,
	.path_free	= rds_ib_path_free,
	.start		= rds_ib_start,
	.stop		= rds_ib_stop,
	.send		= rds_ib_send,
	.discard	= rds_ib_discard,
	.info		= rds_ib_info,
	.tos_map	= rds_ib_tos_map,
};

struct rds_quota *rds_ib_dialled;

static int rds_ib_workqueues(void)
{
	rds_ib_wq = alloc_workqueue("krds_ib", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rds_ib_wq)
		return -ENOMEM;
	/* In softirq: completions are not worth a context switch each. */
	rds_ib_poll_wq = alloc_workqueue("krds_ib_poll", WQ_BH, 0);
	if (!rds_ib_poll_wq) {
		destroy_workqueue(rds_ib_wq);
		return -ENOMEM;
	}
	return 0;
}

static int __init rds_ib_init(void)
{
	int err;

	err = rds_ib_workqueues();
	if (err)
		return err;
	rds_ib_dialled = rds_quota_alloc();
	err = rds_ib_dialled ? rds_ib_sysctl_init() : -ENOMEM;
	if (err)
		goto err_wq;
	err = rds_ib_device_init();
	if (err)
		goto err_sysctl;
	err = rds_ib_listen();
	if (err)
		goto err_device;
	/* Last: from now on sockets may use it, and nothing may fail any more. */
	err = rds_transport_register(&rds_ib_transport);
	if (err)
		goto err_listen;
	return 0;

err_listen:
	rds_ib_unlisten();
err_device:
	rds_ib_device_exit();
err_sysctl:
	rds_ib_sysctl_exit();
err_wq:
	rds_quota_free(rds_ib_dialled);
	destroy_workqueue(rds_ib_poll_wq);
	destroy_workqueue(rds_ib_wq);
	return err;
}
module_init(rds_ib_init);

static void __exit rds_ib_exit(void)
{
	rds_ib_unlisten();
	rds_transport_unregister(&rds_ib_transport);
	rds_ib_leave_all();
	rds_ib_device_exit();
	rds_ib_sysctl_exit();
	rds_quota_free(rds_ib_dialled);
	destroy_workqueue(rds_ib_poll_wq);
	destroy_workqueue(rds_ib_wq);
	WARN_ON(rds_ib_rx_pages());
}
module_exit(rds_ib_exit);

MODULE_DESCRIPTION("RDS: transport over InfiniBand and RoCE");
MODULE_LICENSE("GPL");
MODULE_AUTHOR(RDS_AUTHOR);
MODULE_VERSION(RDS_VERSION);
MODULE_IMPORT_NS(RDS_TRANSPORT);
