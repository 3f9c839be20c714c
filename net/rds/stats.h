/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counters of the core: one table, per CPU.  The first RDS_STAT_NR_REF are those of the
 * reference, in its order; the others are ours, one for every reason to drop.
 */
#ifndef _RDS_STATS_H
#define _RDS_STATS_H

#include <linux/percpu.h>

#define RDS_STATS(X)				\
	X(conn_reset)				\
	X(recv_drop_bad_checksum)		\
	X(recv_drop_old_seq)			\
	X(recv_drop_no_sock)			\
	X(recv_drop_dead_sock)			\
	X(recv_deliver_raced)			\
	X(recv_delivered)			\
	X(recv_queued)				\
	X(recv_immediate_retry)			\
	X(recv_delayed_retry)			\
	X(recv_ack_required)			\
	X(recv_rdma_bytes)			\
	X(recv_ping)				\
	X(send_queue_empty)			\
	X(send_queue_full)			\
	X(send_lock_contention)			\
	X(send_lock_queue_raced)		\
	X(send_immediate_retry)			\
	X(send_delayed_retry)			\
	X(send_drop_acked)			\
	X(send_ack_required)			\
	X(send_queued)				\
	X(send_rdma)				\
	X(send_rdma_bytes)			\
	X(send_pong)				\
	X(page_remainder_hit)			\
	X(page_remainder_miss)			\
	X(copy_to_user)				\
	X(copy_from_user)			\
	X(cong_update_queued)			\
	X(cong_update_received)			\
	X(cong_send_error)			\
	X(cong_send_blocked)			\
	X(recv_bytes_added_to_sock)		\
	X(recv_bytes_freed_fromsock)		\
	X(send_stuck_rm)			\
	X(mprds_catchup_tx0_retries)

#define RDS_STATS_EXTRA(X)			\
	X(event_stale)				\
	X(link_refused)				\
	X(link_parked)				\
	X(link_misplaced)			\
	X(link_wrong_peer)			\
	X(conn_created)				\
	X(conn_expired)				\
	X(conn_limit)				\
	X(conn_share)				\
	X(recv_rewind)				\
	X(recv_drop_ports_zero)			\
	X(recv_drop_bad_cong)			\
	X(recv_drop_ping_disabled)		\
	X(recv_handshake)			\
	X(recv_handshake_ignored)		\
	X(recv_handshake_disbelieved)		\
	X(recv_ext_unknown)			\
	X(recv_uncharged)			\
	X(recv_spilled)				\
	X(recv_drop_full)			\
	X(recv_drop_unread)			\
	X(recv_partial_limit)			\
	X(recv_flow_limit)			\
	X(recv_generation_change)		\
	X(pong_limit)				\
	X(pong_nomem)				\
	X(pong_congested)			\
	X(send_expired)				\
	X(send_cancelled)			\
	X(send_closed_unacked)			\
	X(send_op_dropped)			\
	X(send_op_refused)			\
	X(send_close_dropped)			\
	X(orphan_present)			\
	X(orphan_created)			\
	X(orphan_expired)			\
	X(orphan_limit)				\
	X(send_retransmitted)			\
	X(cong_update_sent)			\
	X(zcopy_sent)				\
	X(zcopy_completed)			\
	X(payload_reused)

enum rds_stat {
#define RDS_STAT_ENUM(name)	RDS_STAT_##name,
	RDS_STATS(RDS_STAT_ENUM)
	RDS_STAT_NR_REF,
	RDS_STAT_LAST_REF = RDS_STAT_NR_REF - 1,
	RDS_STATS_EXTRA(RDS_STAT_ENUM)
	RDS_STAT_NR
#undef RDS_STAT_ENUM
};

struct rds_stats {
	u64 v[RDS_STAT_NR];
};

DECLARE_PER_CPU_ALIGNED(struct rds_stats, rds_stats);

/* Any context; this_cpu operations are safe against preemption and interrupts. */
#define rds_stat_inc(name)	this_cpu_inc(rds_stats.v[RDS_STAT_##name])
#define rds_stat_add(name, n)	this_cpu_add(rds_stats.v[RDS_STAT_##name], (n))

struct rds_info_sink;
void rds_stats_info(struct rds_info_sink *sink);

#endif /* _RDS_STATS_H */
