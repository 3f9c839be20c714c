// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: counters.
 */
#include "ib.h"

DEFINE_PER_CPU(struct rds_ib_stats, rds_ib_stats);

static const char *const rds_ib_stat_names[] = {
	[RDS_IB_CONNECT_RACED]			= "ib_connect_raced",
	[RDS_IB_LISTEN_CLOSED_STALE]		= "ib_listen_closed_stale",
	[RDS_IB_EVT_HANDLER_CALL]		= "ib_evt_handler_call",
	[RDS_IB_TASKLET_CALL]			= "ib_tasklet_call",
	[RDS_IB_TX_CQ_EVENT]			= "ib_tx_cq_event",
	[RDS_IB_TX_RING_FULL]			= "ib_tx_ring_full",
	[RDS_IB_TX_THROTTLE]			= "ib_tx_throttle",
	[RDS_IB_TX_SG_MAPPING_FAILURE]		= "ib_tx_sg_mapping_failure",
	[RDS_IB_TX_STALLED]			= "ib_tx_stalled",
	[RDS_IB_TX_CREDIT_UPDATES]		= "ib_tx_credit_updates",
	[RDS_IB_RX_CQ_EVENT]			= "ib_rx_cq_event",
	[RDS_IB_RX_RING_EMPTY]			= "ib_rx_ring_empty",
	[RDS_IB_RX_REFILL_FROM_CQ]		= "ib_rx_refill_from_cq",
	[RDS_IB_RX_REFILL_FROM_THREAD]		= "ib_rx_refill_from_thread",
	[RDS_IB_RX_ALLOC_LIMIT]			= "ib_rx_alloc_limit",
	[RDS_IB_RX_TOTAL_FRAGS]			= "ib_rx_total_frags",
	[RDS_IB_RX_TOTAL_INCS]			= "ib_rx_total_incs",
	[RDS_IB_RX_CREDIT_UPDATES]		= "ib_rx_credit_updates",
	[RDS_IB_ACK_SENT]			= "ib_ack_sent",
	[RDS_IB_ACK_SEND_FAILURE]		= "ib_ack_send_failure",
	[RDS_IB_ACK_SEND_DELAYED]		= "ib_ack_send_delayed",
	[RDS_IB_ACK_SEND_PIGGYBACKED]		= "ib_ack_send_piggybacked",
	[RDS_IB_ACK_RECEIVED]			= "ib_ack_received",
	[RDS_IB_RDMA_MR_8K_ALLOC]		= "ib_rdma_mr_8k_alloc",
	[RDS_IB_RDMA_MR_8K_FREE]		= "ib_rdma_mr_8k_free",
	[RDS_IB_RDMA_MR_8K_USED]		= "ib_rdma_mr_8k_used",
	[RDS_IB_RDMA_MR_8K_POOL_FLUSH]		= "ib_rdma_mr_8k_pool_flush",
	[RDS_IB_RDMA_MR_8K_POOL_WAIT]		= "ib_rdma_mr_8k_pool_wait",
	[RDS_IB_RDMA_MR_8K_POOL_DEPLETED]	= "ib_rdma_mr_8k_pool_depleted",
	[RDS_IB_RDMA_MR_1M_ALLOC]		= "ib_rdma_mr_1m_alloc",
	[RDS_IB_RDMA_MR_1M_FREE]		= "ib_rdma_mr_1m_free",
	[RDS_IB_RDMA_MR_1M_USED]		= "ib_rdma_mr_1m_used",
	[RDS_IB_RDMA_MR_1M_POOL_FLUSH]		= "ib_rdma_mr_1m_pool_flush",
	[RDS_IB_RDMA_MR_1M_POOL_WAIT]		= "ib_rdma_mr_1m_pool_wait",
	[RDS_IB_RDMA_MR_1M_POOL_DEPLETED]	= "ib_rdma_mr_1m_pool_depleted",
	[RDS_IB_RDMA_MR_8K_REUSED]		= "ib_rdma_mr_8k_reused",
	[RDS_IB_RDMA_MR_1M_REUSED]		= "ib_rdma_mr_1m_reused",
	[RDS_IB_ATOMIC_CSWP]			= "ib_atomic_cswp",
	[RDS_IB_ATOMIC_FADD]			= "ib_atomic_fadd",
	[RDS_IB_CONNECT_REFUSED]		= "ib_connect_refused",
	[RDS_IB_REJECTED]			= "ib_rejected",
	[RDS_IB_DROP_SHORT]			= "ib_drop_short",
	[RDS_IB_DROP_MISMATCH]			= "ib_drop_mismatch",
	[RDS_IB_DROP_BAD_LEN]			= "ib_drop_bad_len",
	[RDS_IB_DROP_BAD_WC]			= "ib_drop_bad_wc",
	[RDS_IB_DROP_WC_ERROR]			= "ib_drop_wc_error",
	[RDS_IB_RX_NOMEM]			= "ib_rx_nomem",
	[RDS_IB_TX_NOMEM]			= "ib_tx_nomem",
	[RDS_IB_DEVICE_REMOVED]			= "ib_device_removed",
	[RDS_IB_PARTIAL_EVICTED]		= "ib_partial_evicted",
	[RDS_IB_LINK_LIMIT]			= "ib_link_limit",
};

const struct rds_stat_desc rds_ib_stat_desc = {
	.names	= rds_ib_stat_names,
	.nr	= RDS_IB_NR_STATS,
	.nr_ref	= RDS_IB_NR_REF_STATS,
	.base	= (u64 __percpu *)&rds_ib_stats,
};
