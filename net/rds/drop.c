// SPDX-License-Identifier: GPL-2.0
/*
 * Where a message or frame ends that does not reach its reader: each is counted under its
 * reason and traced, here and nowhere else.
 */
#include "core.h"
#include "drop.h"
#include "trace.h"

static const enum rds_stat drop_stats[] = {
	[RDS_DROP_OLD_SEQ]	 = RDS_STAT_recv_drop_old_seq,
	[RDS_DROP_NO_SOCK]	 = RDS_STAT_recv_drop_no_sock,
	[RDS_DROP_DEAD_SOCK]	 = RDS_STAT_recv_drop_dead_sock,
	[RDS_DROP_UNREAD]	 = RDS_STAT_recv_drop_unread,
	[RDS_DROP_PORTS_ZERO]	 = RDS_STAT_recv_drop_ports_zero,
	[RDS_DROP_BAD_CONG]	 = RDS_STAT_recv_drop_bad_cong,
	[RDS_DROP_PING_DISABLED] = RDS_STAT_recv_drop_ping_disabled,
	[RDS_DROP_PONG_LIMIT]	 = RDS_STAT_pong_limit,
	[RDS_DROP_PONG_NOMEM]	 = RDS_STAT_pong_nomem,
	[RDS_DROP_PONG_CONGESTED] = RDS_STAT_pong_congested,
	[RDS_DROP_FULL]		 = RDS_STAT_recv_drop_full,
	[RDS_DROP_EXPIRED]	 = RDS_STAT_send_expired,
	[RDS_DROP_CANCELLED]	 = RDS_STAT_send_cancelled,
	[RDS_DROP_CLOSED]	 = RDS_STAT_send_closed_unacked,
	[RDS_DROP_OP]		 = RDS_STAT_send_op_dropped,
	[RDS_DROP_BAD_CHECKSUM]	 = RDS_STAT_recv_drop_bad_checksum,
};

/**
 * rds_drop() - a frame is thrown away
 * @p: path
 * @h: its header
 * @why: reason
 *
 * Context: any.
 */
void rds_drop(const struct rds_path *p, const struct rds_hdr *h, enum rds_drop_reason why)
{
	this_cpu_inc(rds_stats.v[drop_stats[why]]);
	trace_rds_drop(p->conn->rn->net, p, &p->conn->key.laddr, &p->conn->key.faddr,
		       p->conn->key.tos, h, why);
}

/**
 * rds_drop_incoming() - a message for a socket is thrown away
 * @net: namespace
 * @dst: address it was sent to
 * @inc: the message; the caller frees it
 * @why: reason
 *
 * Context: any.
 */
void rds_drop_incoming(const struct net *net, const struct in6_addr *dst,
		       const struct rds_incoming *inc, enum rds_drop_reason why)
{
	struct rds_hdr h = {
		.seq = inc->seq, .len = inc->len, .sport = inc->sport, .dport = inc->dport,
	};

	this_cpu_inc(rds_stats.v[drop_stats[why]]);
	trace_rds_drop(net, NULL, dst, &inc->saddr, inc->tos, &h, why);
}

/**
 * rds_drop_message() - a message of ours is given up
 * @p: path it was queued on
 * @m: the message; the caller frees it
 * @why: reason
 *
 * Context: any.
 */
void rds_drop_message(const struct rds_path *p, const struct rds_message *m,
		      enum rds_drop_reason why)
{
	struct rds_hdr h = {
		.seq = m->seq, .len = m->len, .sport = m->sport, .dport = m->dport,
		.flags = m->flags,
	};

	rds_drop(p, &h, why);
}

/**
 * rds_path_bad_checksum() - the transport has received a header with a wrong checksum
 * @p: the path
 * @h: the header
 *
 * Context: any.
 */
void rds_path_bad_checksum(struct rds_path *p, const struct rds_hdr *h)
{
	rds_drop(p, h, RDS_DROP_BAD_CHECKSUM);
}
