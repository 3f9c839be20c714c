// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over TCP: counters and information records.
 *
 * Records are snapshots: numbers of a link at work may not fit together exactly.
 */
#include <net/inet_sock.h>

#include "tcp.h"

DEFINE_PER_CPU(struct rds_tcp_stats, rds_tcp_stats);

static const char *const rds_tcp_stat_names[] = {
	[RDS_TCP_DATA_READY_CALLS]	= "tcp_data_ready_calls",
	[RDS_TCP_WRITE_SPACE_CALLS]	= "tcp_write_space_calls",
	[RDS_TCP_SNDBUF_FULL]		= "tcp_sndbuf_full",
	[RDS_TCP_CONNECT_RACED]		= "tcp_connect_raced",
	[RDS_TCP_LISTEN_CLOSED_STALE]	= "tcp_listen_closed_stale",
	[RDS_TCP_ACCEPT_SELF]		= "tcp_accept_self",
	[RDS_TCP_ACCEPT_NUDGE]		= "tcp_accept_nudge",
	[RDS_TCP_ACCEPT_REFUSED]	= "tcp_accept_refused",
	[RDS_TCP_ACCEPT_NOMEM]		= "tcp_accept_nomem",
	[RDS_TCP_PARKED_REPLACED]	= "tcp_parked_replaced",
	[RDS_TCP_DROP_BAD_LEN]		= "tcp_drop_bad_len",
	[RDS_TCP_DROP_URGENT]		= "tcp_drop_urgent",
	[RDS_TCP_DRAIN_TIMEOUT]		= "tcp_drain_timeout",
	[RDS_TCP_RX_NOMEM]		= "tcp_rx_nomem",
	[RDS_TCP_TX_NOMEM]		= "tcp_tx_nomem",
	[RDS_TCP_NO_SOURCE_PORT]	= "tcp_no_source_port",
	[RDS_TCP_PARTIAL_EVICTED]	= "tcp_partial_evicted",
};

const struct rds_stat_desc rds_tcp_stat_desc = {
	.names	= rds_tcp_stat_names,
	.nr	= RDS_TCP_NR_STATS,
	.nr_ref	= RDS_TCP_NR_REF_STATS,
	.base	= (u64 __percpu *)&rds_tcp_stats,
};

/**
 * struct rds_tcp_walk - state of one information request
 * @opt: RDS_INFO_TCP_SOCKETS or RDS6_INFO_TCP_SOCKETS
 * @sink: where records go
 */
struct rds_tcp_walk {
	int opt;
	struct rds_info_sink *sink;
};

static void rds_tcp_fill6(struct rds6_info_tcp_socket *rec, const struct rds_tcp_path *tp,
			  const struct sock *sk)
{
	const struct rds_tcp_tx *tx = &tp->tx;
	const struct rds_stream *s = &tp->rx.stream;

	memset(rec, 0, sizeof(*rec));
	rec->local_addr = *rds_path_laddr(tp->path);
	rec->local_port = inet_sk(sk)->inet_sport;
	rec->peer_addr = *rds_path_faddr(tp->path);
	rec->peer_port = inet_sk(sk)->inet_dport;
	rec->hdr_rem = RDS_HDR_LEN - READ_ONCE(s->hdr_have);
	rec->data_rem = READ_ONCE(s->data_left);
	rec->last_sent_nxt = READ_ONCE(tx->base) + (u32)READ_ONCE(tx->newest);
	rec->last_expected_una = READ_ONCE(tx->base) + (u32)READ_ONCE(tx->end);
	rec->last_seen_una = READ_ONCE(tx->una);
}

static void rds_tcp_emit(struct rds_path *p, void *arg)
{
	struct rds_tcp_path *tp = rds_path_priv(p);
	struct rds_tcp_walk *w = arg;
	struct rds6_info_tcp_socket r6;
	struct rds_info_tcp_socket r4;
	bool link;

	spin_lock_bh(&tp->lock);
	/* A socket that is not connected yet has no peer's port to show. */
	link = tp->sock && READ_ONCE(tp->sock->sk->sk_state) != TCP_CLOSE;
	if (link)
		rds_tcp_fill6(&r6, tp, tp->sock->sk);
	spin_unlock_bh(&tp->lock);
	if (!link)
		return;

	if (w->opt == RDS6_INFO_TCP_SOCKETS) {
		rds_info_emit(w->sink, &r6, sizeof(r6));
		return;
	}
	if (!ipv6_addr_v4mapped(&r6.local_addr) || !ipv6_addr_v4mapped(&r6.peer_addr))
		return;
	r4 = (struct rds_info_tcp_socket){
		.local_addr = r6.local_addr.s6_addr32[3],
		.local_port = r6.local_port,
		.peer_addr = r6.peer_addr.s6_addr32[3],
		.peer_port = r6.peer_port,
		.hdr_rem = r6.hdr_rem,
		.data_rem = r6.data_rem,
		.last_sent_nxt = r6.last_sent_nxt,
		.last_expected_una = r6.last_expected_una,
		.last_seen_una = r6.last_seen_una,
	};
	rds_info_emit(w->sink, &r4, sizeof(r4));
}

/**
 * rds_tcp_info() - write the transport's records
 * @net: namespace
 * @opt: info option; others than ours have no records
 * @sink: where they go
 */
void rds_tcp_info(struct net *net, int opt, struct rds_info_sink *sink)
{
	struct rds_tcp_walk w = { .opt = opt, .sink = sink };

	if (opt == RDS_INFO_TCP_SOCKETS || opt == RDS6_INFO_TCP_SOCKETS)
		rds_transport_walk_paths(&rds_tcp_transport, net, false, rds_tcp_emit, &w);
}
