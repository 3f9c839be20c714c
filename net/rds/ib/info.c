// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: information records.
 */
#include "ib.h"

/**
 * struct rds_ib_walk - state of one information request
 * @opt: RDS_INFO_IB_CONNECTIONS or RDS6_INFO_IB_CONNECTIONS
 * @sink: where records go
 */
struct rds_ib_walk {
	int opt;
	struct rds_info_sink *sink;
};

static void rds_ib_fill6(struct rds6_info_rdma_connection *rec, struct rds_ib_path *ib)
{
	struct rds_ib_link *l;

	memset(rec, 0, sizeof(*rec));
	rec->src_addr = *rds_path_laddr(ib->path);
	rec->dst_addr = *rds_path_faddr(ib->path);
	rec->tos = rds_path_tos(ib->path);

	spin_lock(&ib->lock);
	l = ib->link;
	if (l && test_bit(RDS_IB_UP, &l->flags)) {
		rec->sl = l->sl;
		memcpy(rec->src_gid, &l->sgid, sizeof(rec->src_gid));
		memcpy(rec->dst_gid, &l->dgid, sizeof(rec->dst_gid));
		rec->max_send_wr = l->tx.ring.nr;
		rec->max_recv_wr = l->rx.ring.nr;
		rec->max_send_sge = l->rdev->max_sge;
		rds_ib_mr_info(l->rdev, &rec->rdma_mr_max, &rec->rdma_mr_size);
	}
	spin_unlock(&ib->lock);
}

static void rds_ib_emit(struct rds_path *p, void *arg)
{
	struct rds6_info_rdma_connection r6;
	struct rds_info_rdma_connection r4;
	struct rds_ib_walk *w = arg;

	if (rds_path_is_half(p))
		return;
	rds_ib_fill6(&r6, rds_path_priv(p));
	if (w->opt == RDS6_INFO_IB_CONNECTIONS) {
		rds_info_emit(w->sink, &r6, sizeof(r6));
		return;
	}
	if (!ipv6_addr_v4mapped(&r6.src_addr))
		return;
	memset(&r4, 0, sizeof(r4));
	r4.src_addr = r6.src_addr.s6_addr32[3];
	r4.dst_addr = r6.dst_addr.s6_addr32[3];
	memcpy(r4.src_gid, r6.src_gid, sizeof(r4.src_gid));
	memcpy(r4.dst_gid, r6.dst_gid, sizeof(r4.dst_gid));
	r4.max_send_wr = r6.max_send_wr;
	r4.max_recv_wr = r6.max_recv_wr;
	r4.max_send_sge = r6.max_send_sge;
	r4.rdma_mr_max = r6.rdma_mr_max;
	r4.rdma_mr_size = r6.rdma_mr_size;
	r4.tos = r6.tos;
	r4.sl = r6.sl;
	rds_info_emit(w->sink, &r4, sizeof(r4));
}

/**
 * rds_ib_info() - write the transport's records
 * @net: namespace
 * @opt: info option; others than ours have no records
 * @sink: where they go
 */
void rds_ib_info(struct net *net, int opt, struct rds_info_sink *sink)
{
	struct rds_ib_walk w = { .opt = opt, .sink = sink };

	if (opt == RDS_INFO_IB_CONNECTIONS || opt == RDS6_INFO_IB_CONNECTIONS)
		rds_transport_walk_paths(&rds_ib_transport, net, true, rds_ib_emit, &w);
}
