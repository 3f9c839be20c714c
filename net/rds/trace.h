/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: the life of a path and of a message.  "conn" and "path" number the
 * path (rds_conn.id, rds_path.index); addresses are IPv6 or v4-mapped.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rds

#if !defined(_TRACE_RDS_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_RDS_H

#include <linux/tracepoint.h>

#include "core.h"
#include "drop.h"

#ifndef _TRACE_RDS_NAMES
#define _TRACE_RDS_NAMES
#define RDS_TRACE_STATES(X)		\
	X(DOWN) X(BACKOFF) X(CONNECTING) X(UP) X(DISCONNECTING) X(ERROR) X(DYING) X(GONE)
#define RDS_TRACE_EVENTS(X)		\
	X(WANT) X(TIMER) X(ACCEPT) X(LINK_UP) X(DROP) X(STOPPED_ADOPT)	\
	X(STOPPED_RETRY) X(STOPPED_IDLE) X(DESTROY)
#define RDS_TRACE_DROPS(X)		\
	X(OLD_SEQ) X(NO_SOCK) X(DEAD_SOCK) X(UNREAD) X(PORTS_ZERO) X(BAD_CONG) X(PING_DISABLED)	\
	X(PONG_LIMIT) X(PONG_NOMEM) X(PONG_CONGESTED) X(FULL) X(EXPIRED)	\
	X(CANCELLED) X(CLOSED) X(OP) X(BAD_CHECKSUM)
#endif

#define RDS_DEF_STATE(n)	TRACE_DEFINE_ENUM(RDS_##n);
#define RDS_DEF_EVENT(n)	TRACE_DEFINE_ENUM(RDS_EV_##n);
#define RDS_DEF_DROP(n)		TRACE_DEFINE_ENUM(RDS_DROP_##n);
RDS_TRACE_STATES(RDS_DEF_STATE)
RDS_TRACE_EVENTS(RDS_DEF_EVENT)
RDS_TRACE_DROPS(RDS_DEF_DROP)
#undef RDS_DEF_STATE
#undef RDS_DEF_EVENT
#undef RDS_DEF_DROP

/* The last pair ends the list, because the macros above put a comma after each. */
#define RDS_SYM_STATE(n)	{ RDS_##n, #n },
#define RDS_SYM_EVENT(n)	{ RDS_EV_##n, #n },
#define RDS_SYM_DROP(n)		{ RDS_DROP_##n, #n },
#define rds_show_state(v)	\
	__print_symbolic(v, RDS_TRACE_STATES(RDS_SYM_STATE) { RDS_NR_STATES, "?" })
#define rds_show_event(v)	\
	__print_symbolic(v, RDS_TRACE_EVENTS(RDS_SYM_EVENT) { RDS_NR_EVENTS, "?" })
#define rds_show_drop(v)	\
	__print_symbolic(v, RDS_TRACE_DROPS(RDS_SYM_DROP) { -1, "?" })

TRACE_EVENT(rds_state_change,
	TP_PROTO(const struct rds_path *p, enum rds_state from, enum rds_state to,
		 enum rds_event ev),
	TP_ARGS(p, from, to, ev),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, path)
		__field(u32, epoch)
		__field(int, from)
		__field(int, to)
		__field(int, ev)
		__array(u8, laddr, 16)
		__array(u8, faddr, 16)
	),
	TP_fast_assign(
		__entry->conn = p->conn->id;
		__entry->path = p->index;
		__entry->epoch = p->epoch;
		__entry->from = from;
		__entry->to = to;
		__entry->ev = ev;
		memcpy(__entry->laddr, &p->conn->key.laddr, 16);
		memcpy(__entry->faddr, &p->conn->key.faddr, 16);
	),
	TP_printk("conn=%u path=%u epoch=%u laddr=%pI6c faddr=%pI6c %s -> %s by %s",
		  __entry->conn, __entry->path, __entry->epoch, __entry->laddr,
		  __entry->faddr, rds_show_state(__entry->from),
		  rds_show_state(__entry->to), rds_show_event(__entry->ev))
);

TRACE_EVENT(rds_link_drop,
	TP_PROTO(const struct rds_path *p, u32 epoch, int why),
	TP_ARGS(p, epoch, why),
	TP_STRUCT__entry(
		__field(u32, conn)
		__field(u32, path)
		__field(u32, epoch)
		__field(int, why)
	),
	TP_fast_assign(
		__entry->conn = p->conn->id;
		__entry->path = p->index;
		__entry->epoch = epoch;
		__entry->why = why;
	),
	TP_printk("conn=%u path=%u epoch=%u why=%d",
		  __entry->conn, __entry->path, __entry->epoch, __entry->why)
);

DECLARE_EVENT_CLASS(rds_path_message,
	TP_PROTO(const struct rds_path *p, const struct rds_message *m),
	TP_ARGS(p, m),
	TP_STRUCT__entry(
		__field(u64, seq)
		__field(u32, conn)
		__field(u32, path)
		__field(u32, len)
		__field(u16, sport)
		__field(u16, dport)
		__field(u8, flags)
		__array(u8, laddr, 16)
		__array(u8, faddr, 16)
	),
	TP_fast_assign(
		__entry->seq = m->seq;
		__entry->conn = p->conn->id;
		__entry->path = p->index;
		__entry->len = m->len;
		__entry->sport = m->sport;
		__entry->dport = m->dport;
		__entry->flags = m->flags;
		memcpy(__entry->laddr, &p->conn->key.laddr, 16);
		memcpy(__entry->faddr, &p->conn->key.faddr, 16);
	),
	TP_printk("conn=%u path=%u seq=%llu len=%u flags=0x%x from=[%pI6c]:%u to=[%pI6c]:%u",
		  __entry->conn, __entry->path, __entry->seq, __entry->len, __entry->flags,
		  __entry->laddr, __entry->sport, __entry->faddr, __entry->dport)
);

DEFINE_EVENT(rds_path_message, rds_enqueue,
	TP_PROTO(const struct rds_path *p, const struct rds_message *m),
	TP_ARGS(p, m)
);

DEFINE_EVENT(rds_path_message, rds_transmit,
	TP_PROTO(const struct rds_path *p, const struct rds_message *m),
	TP_ARGS(p, m)
);

TRACE_EVENT(rds_ack,
	TP_PROTO(const struct rds_path *p, u64 pos, u32 nr),
	TP_ARGS(p, pos, nr),
	TP_STRUCT__entry(
		__field(u64, pos)
		__field(u32, conn)
		__field(u32, path)
		__field(u32, nr)
	),
	TP_fast_assign(
		__entry->pos = pos;
		__entry->conn = p->conn->id;
		__entry->path = p->index;
		__entry->nr = nr;
	),
	TP_printk("conn=%u path=%u pos=%llu messages=%u",
		  __entry->conn, __entry->path, __entry->pos, __entry->nr)
);

TRACE_EVENT(rds_deliver,
	TP_PROTO(const struct rds_sock *rs, const struct rds_incoming *inc),
	TP_ARGS(rs, inc),
	TP_STRUCT__entry(
		__field(u64, seq)
		__field(u32, len)
		__field(u16, sport)
		__field(u16, dport)
		__array(u8, laddr, 16)
		__array(u8, faddr, 16)
	),
	TP_fast_assign(
		__entry->seq = inc->seq;
		__entry->len = inc->len;
		__entry->sport = inc->sport;
		__entry->dport = inc->dport;
		memcpy(__entry->laddr, &rs->bound.ip, 16);
		memcpy(__entry->faddr, &inc->saddr, 16);
	),
	TP_printk("seq=%llu len=%u from=[%pI6c]:%u to=[%pI6c]:%u",
		  __entry->seq, __entry->len, __entry->faddr, __entry->sport,
		  __entry->laddr, __entry->dport)
);

/* @p is NULL for a message that has reached its socket, or found none */
TRACE_EVENT(rds_drop,
	TP_PROTO(const struct rds_path *p, const struct in6_addr *laddr,
		 const struct in6_addr *faddr, const struct rds_hdr *h,
		 enum rds_drop_reason reason),
	TP_ARGS(p, laddr, faddr, h, reason),
	TP_STRUCT__entry(
		__field(u64, seq)
		__field(u32, conn)
		__field(u32, path)
		__field(u32, len)
		__field(int, reason)
		__field(u16, sport)
		__field(u16, dport)
		__array(u8, laddr, 16)
		__array(u8, faddr, 16)
	),
	TP_fast_assign(
		__entry->seq = h->seq;
		__entry->conn = p ? p->conn->id : 0;
		__entry->path = p ? p->index : 0;
		__entry->len = h->len;
		__entry->reason = reason;
		__entry->sport = h->sport;
		__entry->dport = h->dport;
		memcpy(__entry->laddr, laddr, 16);
		memcpy(__entry->faddr, faddr, 16);
	),
	TP_printk("conn=%u path=%u laddr=%pI6c faddr=%pI6c seq=%llu len=%u ports=%u>%u reason=%s",
		  __entry->conn, __entry->path, __entry->laddr, __entry->faddr,
		  __entry->seq, __entry->len, __entry->sport, __entry->dport,
		  rds_show_drop(__entry->reason))
);

#endif /* _TRACE_RDS_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace

/* This part must be outside protection */
#include <trace/define_trace.h>
