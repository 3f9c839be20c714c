// SPDX-License-Identifier: GPL-2.0
/* Sections of rds-info: from records of the kernel to rows of cells. */
#include <stdio.h>
#include <string.h>
#include <arpa/inet.h>
#include <net/if.h>
#include <linux/rds.h>

#include "common.h"
#include "info.h"

static void cell_text(struct row *row, int i, const char *text)
{
	snprintf(row->cell[i], sizeof(row->cell[i]), "%s", text);
}

static void cell_number(struct row *row, int i, __u64 value)
{
	snprintf(row->cell[i], sizeof(row->cell[i]), "%llu", value);
}

static void cell_bool(struct row *row, int i, bool value)
{
	cell_text(row, i, value ? "true" : "false");
}

static void cell_bytes(struct row *row, int i, const void *text, size_t size)
{
	const int len = strnlen(text, size);

	snprintf(row->cell[i], sizeof(row->cell[i]), "%.*s", len, (const char *)text);
}

static void cell_in6(struct row *row, int i, const struct in6_addr *in6)
{
	format_in6(in6, row->cell[i], sizeof(row->cell[i]));
}

static void cell_v4(struct row *row, int i, __be32 addr)
{
	inet_ntop(AF_INET, &addr, row->cell[i], sizeof(row->cell[i]));
}

static void read_counter(const void *record, struct row *row)
{
	const struct rds_info_counter *c = record;

	cell_bytes(row, 0, c->name, sizeof(c->name));
	cell_number(row, 1, c->value);
}

static void cells_socket(struct row *row, __be16 bport, __be16 cport,
			 __u32 sndbuf, __u32 rcvbuf, __u64 inum)
{
	cell_number(row, 1, ntohs(bport));
	cell_number(row, 3, ntohs(cport));
	cell_number(row, 4, sndbuf);
	cell_number(row, 5, rcvbuf);
	cell_number(row, 6, inum);
	cell_number(row, 7, inum);
}

static void read_socket(const void *record, struct row *row)
{
	const struct rds_info_socket *s = record;

	cell_v4(row, 0, s->bound_addr);
	cell_v4(row, 2, s->connected_addr);
	cells_socket(row, s->bound_port, s->connected_port, s->sndbuf,
		     s->rcvbuf, s->inum);
}

static void read_socket6(const void *record, struct row *row)
{
	const struct rds6_info_socket *s = record;
	const struct in6_addr peer = s->connected_addr;

	row->local = s->bound_addr;
	cell_in6(row, 0, &row->local);
	cell_in6(row, 2, &peer);
	cells_socket(row, s->bound_port, s->connected_port, s->sndbuf,
		     s->rcvbuf, s->inum);
}

static void cells_connection(struct row *row, __u64 tx, __u64 rx,
			     __u8 flags, const void *transport)
{
	const bool sending = flags & RDS_INFO_CONNECTION_FLAG_SENDING;
	const bool connecting = flags & RDS_INFO_CONNECTION_FLAG_CONNECTING;
	const bool connected = flags & RDS_INFO_CONNECTION_FLAG_CONNECTED;

	cell_number(row, 3, tx);
	cell_number(row, 4, rx);
	snprintf(row->cell[5], sizeof(row->cell[5]), "%c%c%c",
		 sending ? 's' : '-', connecting ? 'c' : '-',
		 connected ? 'C' : '-');
	cell_bytes(row, 6, transport, TRANSNAMSIZ);
	cell_bool(row, 7, sending);
	cell_bool(row, 8, connecting);
	cell_bool(row, 9, connected);
}

static void read_connection(const void *record, struct row *row)
{
	const struct rds_info_connection *c = record;

	cell_v4(row, 0, c->laddr);
	cell_v4(row, 1, c->faddr);
	cell_number(row, 2, c->tos);
	cells_connection(row, c->next_tx_seq, c->next_rx_seq, c->flags,
			 c->transport);
}

static void read_connection6(const void *record, struct row *row)
{
	const struct rds6_info_connection *c = record;
	const struct in6_addr peer = c->faddr;

	/* This record has no tos. */
	row->local = c->laddr;
	cell_in6(row, 0, &row->local);
	cell_in6(row, 1, &peer);
	cells_connection(row, c->next_tx_seq, c->next_rx_seq, c->flags,
			 c->transport);
}

/* How the last link of a path ended, if one has; a module that does not tell says 0, too. */
static void cells_ended(struct row *row, __u32 why, __u32 seconds)
{
	const char *name = strerrorname_np(why);

	if (!why)
		return;
	cell_number(row, 16, seconds);
	if (name)
		cell_bytes(row, 17, name, strlen(name));
	else
		cell_number(row, 17, why);
}

static void read_path(const void *record, struct row *row)
{
	const struct rds_info_path *p = record;
	const struct in6_addr peer = p->faddr;

	row->local = p->laddr;
	cell_in6(row, 0, &row->local);
	cell_in6(row, 1, &peer);
	cell_number(row, 2, p->tos);
	cell_number(row, 3, p->index);
	/* Until more are agreed on there is one. */
	snprintf(row->cell[4], sizeof(row->cell[4]), "%u/%u", p->index, p->npaths ?: 1);
	cell_bytes(row, 5, p->state, sizeof(p->state));
	cell_number(row, 6, p->next_tx_seq);
	cell_number(row, 7, p->next_rx_seq);
	cell_number(row, 8, p->nr_queued);
	cell_number(row, 9, p->nr_sent);
	cell_number(row, 10, p->epoch);
	cell_number(row, 11, p->backoff_ms);
	cell_bytes(row, 12, p->transport, sizeof(p->transport));
	cell_number(row, 13, p->scope);
	cell_bool(row, 14, p->flags & RDS_INFO_CONNECTION_FLAG_SENDING);
	cell_number(row, 15, p->npaths);
	cells_ended(row, p->ended_why, p->ended_s);
}

static void cells_message(struct row *row, __be16 lport, __be16 fport,
			  __u64 seq, __u32 len, __u8 tos)
{
	cell_number(row, 1, ntohs(lport));
	cell_number(row, 3, ntohs(fport));
	cell_number(row, 4, tos);
	cell_number(row, 5, seq);
	cell_number(row, 6, len);
}

static void read_message(const void *record, struct row *row)
{
	const struct rds_info_message *m = record;

	cell_v4(row, 0, m->laddr);
	cell_v4(row, 2, m->faddr);
	cells_message(row, m->lport, m->fport, m->seq, m->len, m->tos);
}

static void read_message6(const void *record, struct row *row)
{
	const struct rds6_info_message *m = record;
	const struct in6_addr peer = m->faddr;

	row->local = m->laddr;
	cell_in6(row, 0, &row->local);
	cell_in6(row, 2, &peer);
	cells_message(row, m->lport, m->fport, m->seq, m->len, m->tos);
}

static void cells_tcp(struct row *row, const struct rds6_info_tcp_socket *t)
{
	cell_number(row, 1, ntohs(t->local_port));
	cell_number(row, 3, ntohs(t->peer_port));
	cell_number(row, 4, t->hdr_rem);
	cell_number(row, 5, t->data_rem);
	cell_number(row, 6, t->last_sent_nxt);
	cell_number(row, 7, t->last_expected_una);
	cell_number(row, 8, t->last_seen_una);
}

static void read_tcp(const void *record, struct row *row)
{
	const struct rds_info_tcp_socket *t = record;
	const struct rds6_info_tcp_socket common = {
		.local_port		= t->local_port,
		.peer_port		= t->peer_port,
		.hdr_rem		= t->hdr_rem,
		.data_rem		= t->data_rem,
		.last_sent_nxt		= t->last_sent_nxt,
		.last_expected_una	= t->last_expected_una,
		.last_seen_una		= t->last_seen_una,
	};

	cell_v4(row, 0, t->local_addr);
	cell_v4(row, 2, t->peer_addr);
	cells_tcp(row, &common);
}

static void read_tcp6(const void *record, struct row *row)
{
	const struct rds6_info_tcp_socket *t = record;
	const struct in6_addr peer = t->peer_addr;

	row->local = t->local_addr;
	cell_in6(row, 0, &row->local);
	cell_in6(row, 2, &peer);
	cells_tcp(row, t);
}

static void cells_ib(struct row *row, const struct rds6_info_rdma_connection *c)
{
	cell_number(row, 2, c->tos);
	cell_number(row, 3, c->sl);
	inet_ntop(AF_INET6, c->src_gid, row->cell[4], sizeof(row->cell[4]));
	inet_ntop(AF_INET6, c->dst_gid, row->cell[5], sizeof(row->cell[5]));
	cell_number(row, 6, c->max_send_wr);
	cell_number(row, 7, c->max_recv_wr);
	cell_number(row, 8, c->max_send_sge);
	cell_number(row, 9, c->rdma_mr_max);
	cell_number(row, 10, c->rdma_mr_size);
	cell_number(row, 11, c->cache_allocs);
}

static void read_ib(const void *record, struct row *row)
{
	const struct rds_info_rdma_connection *c = record;
	struct rds6_info_rdma_connection common = {
		.max_send_wr	= c->max_send_wr,
		.max_recv_wr	= c->max_recv_wr,
		.max_send_sge	= c->max_send_sge,
		.rdma_mr_max	= c->rdma_mr_max,
		.rdma_mr_size	= c->rdma_mr_size,
		.tos		= c->tos,
		.sl		= c->sl,
		.cache_allocs	= c->cache_allocs,
	};

	memcpy(common.src_gid, c->src_gid, sizeof(common.src_gid));
	memcpy(common.dst_gid, c->dst_gid, sizeof(common.dst_gid));
	cell_v4(row, 0, c->src_addr);
	cell_v4(row, 1, c->dst_addr);
	cells_ib(row, &common);
}

static void read_ib6(const void *record, struct row *row)
{
	const struct rds6_info_rdma_connection *c = record;

	row->local = c->src_addr;
	cell_in6(row, 0, &c->src_addr);
	cell_in6(row, 1, &c->dst_addr);
	cells_ib(row, c);
}

#define MESSAGE_SECTION(opt, what, json, name)				\
{									\
	.option = opt,							\
	.source_v4 = RDS_INFO_##what##_MESSAGES,			\
	.source_v6 = RDS6_INFO_##what##_MESSAGES,			\
	.title = name, .key = json,					\
	.size_v4 = sizeof(struct rds_info_message),			\
	.size_v6 = sizeof(struct rds6_info_message),			\
	.read_v4 = read_message, .read_v6 = read_message6,		\
	.columns = {							\
		{ "LocalAddr",	"local_addr" },				\
		{ "LPort",	"local_port",		COL_NUMBER },	\
		{ "RemoteAddr",	"remote_addr" },			\
		{ "RPort",	"remote_port",		COL_NUMBER },	\
		{ "Tos",	"tos",			COL_NUMBER },	\
		{ "Seq",	"seq",			COL_NUMBER },	\
		{ "Bytes",	"bytes",		COL_NUMBER },	\
	},								\
}

const struct section sections[] = {
	{
		.option = 'k',
		.source_v4 = RDS_INFO_SOCKETS,
		.source_v6 = RDS6_INFO_SOCKETS,
		.title = "RDS Sockets", .key = "sockets",
		.size_v4 = sizeof(struct rds_info_socket),
		.size_v6 = sizeof(struct rds6_info_socket),
		.read_v4 = read_socket, .read_v6 = read_socket6,
		.columns = {
			{ "BoundAddr",	"bound_addr" },
			{ "BPort",	"bound_port",		COL_NUMBER },
			{ "ConnAddr",	"connected_addr" },
			{ "CPort",	"connected_port",	COL_NUMBER },
			{ "SndBuf",	"sndbuf",		COL_NUMBER },
			{ "RcvBuf",	"rcvbuf",		COL_NUMBER },
			{ "Inode",	"inode",		COL_NUMBER },
			{ "Process",	"processes",		COL_PROCESS },
		},
	},
	{
		.option = 'n',
		.source_v4 = RDS_INFO_CONNECTIONS,
		.source_v6 = RDS6_INFO_CONNECTIONS,
		.title = "RDS Connections", .key = "connections",
		.size_v4 = sizeof(struct rds_info_connection),
		.size_v6 = sizeof(struct rds6_info_connection),
		.read_v4 = read_connection, .read_v6 = read_connection6,
		.columns = {
			{ "LocalAddr",	"local_addr" },
			{ "RemoteAddr",	"remote_addr" },
			{ "Tos",	"tos",			COL_NUMBER },
			{ "NextTX",	"next_tx",		COL_NUMBER },
			{ "NextRX",	"next_rx",		COL_NUMBER },
			{ "Flgs",	NULL },
			{ "Transport",	"transport",		COL_TEXT, true },
			{ NULL,		"sending",		COL_BOOL },
			{ NULL,		"connecting",		COL_BOOL },
			{ NULL,		"connected",		COL_BOOL },
		},
	},
	{
		.option = 'p',
		.source_v6 = RDS_INFO_PATHS,
		.title = "RDS Paths", .key = "paths",
		.size_v6 = sizeof(struct rds_info_path),
		.read_v6 = read_path,
		.columns = {
			{ "LocalAddr",	"local_addr" },
			{ "RemoteAddr",	"remote_addr" },
			{ "Tos",	"tos",			COL_NUMBER },
			{ NULL,		"path",			COL_NUMBER },
			{ "Path",	NULL,			COL_NUMBER },
			{ "State",	"state" },
			{ "NextTX",	"next_tx",		COL_NUMBER, true },
			{ "NextRX",	"next_rx",		COL_NUMBER, true },
			{ "Queued",	"queued",		COL_NUMBER },
			{ "Unacked",	"unacked",		COL_NUMBER },
			{ "Links",	"links",		COL_NUMBER },
			{ "Backoff",	"backoff_ms",		COL_NUMBER, true },
			{ "Transport",	"transport",		COL_TEXT, true },
			{ "Scope",	"scope",		COL_NUMBER, true },
			{ NULL,		"sending",		COL_BOOL },
			{ NULL,		"npaths",		COL_NUMBER },
			{ "Ended",	"ended_s",		COL_NUMBER, false, true },
			{ "Why",	"ended_why",		COL_TEXT, false, true },
		},
	},
	MESSAGE_SECTION('s', SEND, "send_queue", "Send Message Queue"),
	MESSAGE_SECTION('r', RECV, "receive_queue", "Receive Message Queue"),
	MESSAGE_SECTION('t', RETRANS, "retransmit_queue",
			"Retransmit Message Queue"),
	{
		.option = 'T',
		.source_v4 = RDS_INFO_TCP_SOCKETS,
		.source_v6 = RDS6_INFO_TCP_SOCKETS,
		.title = "TCP Connections", .key = "tcp_sockets",
		.size_v4 = sizeof(struct rds_info_tcp_socket),
		.size_v6 = sizeof(struct rds6_info_tcp_socket),
		.read_v4 = read_tcp, .read_v6 = read_tcp6,
		.columns = {
			{ "LocalAddr",	"local_addr" },
			{ "LPort",	"local_port",		COL_NUMBER },
			{ "RemoteAddr",	"remote_addr" },
			{ "RPort",	"remote_port",		COL_NUMBER },
			{ "Hdr",	"hdr_rem",		COL_NUMBER },
			{ "Data",	"data_rem",		COL_NUMBER },
			{ "SentNxt",	"last_sent_nxt",	COL_NUMBER },
			{ "ExpectUna",	"last_expected_una",	COL_NUMBER },
			{ "SeenUna",	"last_seen_una",	COL_NUMBER },
		},
	},
	{
		.option = 'I',
		.source_v4 = RDS_INFO_IB_CONNECTIONS,
		.source_v6 = RDS6_INFO_IB_CONNECTIONS,
		.title = "RDS IB Connections", .key = "ib_connections",
		.size_v4 = sizeof(struct rds_info_rdma_connection),
		.size_v6 = sizeof(struct rds6_info_rdma_connection),
		.read_v4 = read_ib, .read_v6 = read_ib6,
		.columns = {
			{ "LocalAddr",	"local_addr" },
			{ "RemoteAddr",	"remote_addr" },
			{ "Tos",	"tos",			COL_NUMBER },
			{ "SL",		"sl",			COL_NUMBER },
			{ "LocalDev",	"local_gid" },
			{ "RemoteDev",	"remote_gid" },
			{ "SendWR",	"max_send_wr",		COL_NUMBER, true },
			{ "RecvWR",	"max_recv_wr",		COL_NUMBER, true },
			{ "SendSGE",	"max_send_sge",		COL_NUMBER, true },
			{ "MRMax",	"rdma_mr_max",		COL_NUMBER, true },
			{ "MRSize",	"rdma_mr_size",		COL_NUMBER, true },
			{ "Cached",	"cache_allocs",		COL_NUMBER, true },
		},
	},
	{
		.option = 'c',
		.source_v4 = RDS_INFO_COUNTERS,
		.title = "Counters", .key = "counters",
		.size_v4 = sizeof(struct rds_info_counter),
		.read_v4 = read_counter,
		.columns = {
			{ "CounterName",	NULL },
			{ "Value",	NULL,			COL_NUMBER },
		},
	},
	{ .option = 0 },
};
