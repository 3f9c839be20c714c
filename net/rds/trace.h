/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints: the life of a path and of a message.  Documentation/tracing.rst is for their
 * users: it lists the events, with examples.
 *
 * "netns" is the inode of the network namespace, "conn" and "path" number the path
 * (rds_conn.id, rds_path.index).  Each address is there twice: as it is kept, IPv6 or
 * v4-mapped, for programs, and as a socket address, which prints IPv4 as IPv4.
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
#define RDS_TRACE_ERRNOS(X)		\
	X(EPERM) X(EINTR) X(EIO) X(EAGAIN) X(ENOMEM) X(EACCES) X(EFAULT) X(ENODEV) X(EINVAL)	\
	X(ENOSPC) X(EPIPE) X(EPROTO) X(EBADMSG) X(EOVERFLOW) X(EMSGSIZE) X(ENOPROTOOPT)		\
	X(EPROTONOSUPPORT) X(EOPNOTSUPP) X(EAFNOSUPPORT) X(EADDRINUSE) X(EADDRNOTAVAIL)		\
	X(ENETDOWN) X(ENETUNREACH) X(ENETRESET) X(ECONNABORTED) X(ECONNRESET) X(ENOBUFS)	\
	X(EISCONN) X(ENOTCONN) X(ESHUTDOWN) X(ETIMEDOUT) X(ECONNREFUSED) X(EHOSTDOWN)		\
	X(EHOSTUNREACH) X(EALREADY) X(EINPROGRESS) X(ESTALE) X(ECANCELED)

#define RDS_TRACE_SOCKADDR	sizeof(struct sockaddr_in6)

/* @to: RDS_TRACE_SOCKADDR bytes, all of which are written */
static inline void rds_trace_sockaddr(u8 *to, const struct in6_addr *a, u16 port)
{
	struct rds_addr addr = { .ip = *a, .port = port };

	memset(to, 0, RDS_TRACE_SOCKADDR);
	rds_sockaddr_fill(to, &addr);
}
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
/* A negative errno, or 0; one that is not listed is printed as a number. */
#define RDS_SYM_ERRNO(n)	{ n, #n },
#define rds_show_errno(v)	\
	__print_symbolic(-(v), RDS_TRACE_ERRNOS(RDS_SYM_ERRNO) { 0, "0" })

/* The two ends. */
#define RDS_TP_ENDS_FIELDS				\
	__field(u32, netns)				\
	__array(u8, laddr, 16)				\
	__array(u8, faddr, 16)				\
	__array(u8, local, RDS_TRACE_SOCKADDR)		\
	__array(u8, foreign, RDS_TRACE_SOCKADDR)
#define RDS_TP_ENDS_ASSIGN(net, l, lport, f, fport)	\
	do {						\
		__entry->netns = (net)->ns.inum;	\
		memcpy(__entry->laddr, (l), 16);	\
		memcpy(__entry->faddr, (f), 16);	\
		rds_trace_sockaddr(__entry->local, (l), lport);		\
		rds_trace_sockaddr(__entry->foreign, (f), fport);	\
	} while (0)

/* A path. */
#define RDS_TP_PATH_FIELDS				\
	RDS_TP_ENDS_FIELDS				\
	__field(u32, conn)				\
	__field(u32, path)				\
	__field(u8, tos)				\
	__array(char, transport, 16)
#define RDS_TP_PATH_ASSIGN(p, lport, fport)		\
	do {						\
		RDS_TP_ENDS_ASSIGN((p)->conn->rn->net, &(p)->conn->key.laddr, lport,	\
				   &(p)->conn->key.faddr, fport);			\
		__entry->conn = (p)->conn->id;		\
		__entry->path = (p)->index;		\
		__entry->tos = (p)->conn->key.tos;	\
		strscpy(__entry->transport, (p)->conn->key.trans->name, 16);		\
	} while (0)
#define RDS_TP_PATH_FORMAT	"netns=%u conn=%u path=%u transport=%s tos=%u"
#define RDS_TP_PATH_ARGS				\
	__entry->netns, __entry->conn, __entry->path, __entry->transport, __entry->tos

TRACE_EVENT(rds_state_change,
	TP_PROTO(const struct rds_path *p, enum rds_state from, enum rds_state to,
		 enum rds_event ev),
	TP_ARGS(p, from, to, ev),
	TP_STRUCT__entry(
		RDS_TP_PATH_FIELDS
		__field(u32, epoch)
		__field(int, from)
		__field(int, to)
		__field(int, ev)
	),
	TP_fast_assign(
		RDS_TP_PATH_ASSIGN(p, 0, 0);
		__entry->epoch = p->epoch;
		__entry->from = from;
		__entry->to = to;
		__entry->ev = ev;
	),
	TP_printk(RDS_TP_PATH_FORMAT " epoch=%u laddr=%pISc faddr=%pISc %s -> %s by %s",
		  RDS_TP_PATH_ARGS, __entry->epoch, __entry->local, __entry->foreign,
		  rds_show_state(__entry->from), rds_show_state(__entry->to),
		  rds_show_event(__entry->ev))
);

TRACE_EVENT(rds_link_drop,
	TP_PROTO(const struct rds_path *p, u32 epoch, int why),
	TP_ARGS(p, epoch, why),
	TP_STRUCT__entry(
		RDS_TP_PATH_FIELDS
		__field(u32, epoch)
		__field(int, state)
		__field(int, why)
	),
	TP_fast_assign(
		RDS_TP_PATH_ASSIGN(p, 0, 0);
		__entry->epoch = epoch;
		__entry->state = p->state;
		__entry->why = why;
	),
	TP_printk(RDS_TP_PATH_FORMAT " epoch=%u laddr=%pISc faddr=%pISc state=%s why=%s",
		  RDS_TP_PATH_ARGS, __entry->epoch, __entry->local, __entry->foreign,
		  rds_show_state(__entry->state), rds_show_errno(__entry->why))
);

DECLARE_EVENT_CLASS(rds_path_message,
	TP_PROTO(const struct rds_path *p, const struct rds_message *m),
	TP_ARGS(p, m),
	TP_STRUCT__entry(
		RDS_TP_PATH_FIELDS
		__field(u64, seq)
		__field(u32, len)
		__field(u16, sport)
		__field(u16, dport)
		__field(u8, flags)
	),
	TP_fast_assign(
		RDS_TP_PATH_ASSIGN(p, m->sport, m->dport);
		__entry->seq = m->seq;
		__entry->len = m->len;
		__entry->sport = m->sport;
		__entry->dport = m->dport;
		__entry->flags = m->flags;
	),
	TP_printk(RDS_TP_PATH_FORMAT " seq=%llu len=%u flags=0x%x from=%pISpc to=%pISpc",
		  RDS_TP_PATH_ARGS, __entry->seq, __entry->len, __entry->flags,
		  __entry->local, __entry->foreign)
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
		RDS_TP_PATH_FIELDS
		__field(u64, pos)
		__field(u32, nr)
	),
	TP_fast_assign(
		RDS_TP_PATH_ASSIGN(p, 0, 0);
		__entry->pos = pos;
		__entry->nr = nr;
	),
	TP_printk(RDS_TP_PATH_FORMAT " laddr=%pISc faddr=%pISc pos=%llu messages=%u",
		  RDS_TP_PATH_ARGS, __entry->local, __entry->foreign, __entry->pos,
		  __entry->nr)
);

TRACE_EVENT(rds_deliver,
	TP_PROTO(const struct rds_sock *rs, const struct rds_incoming *inc),
	TP_ARGS(rs, inc),
	TP_STRUCT__entry(
		RDS_TP_ENDS_FIELDS
		__field(u64, seq)
		__field(u32, len)
		__field(u16, sport)
		__field(u16, dport)
		__field(u8, tos)
	),
	TP_fast_assign(
		RDS_TP_ENDS_ASSIGN(sock_net(&rs->sk), &rs->bound.ip, inc->dport,
				   &inc->saddr, inc->sport);
		__entry->seq = inc->seq;
		__entry->len = inc->len;
		__entry->sport = inc->sport;
		__entry->dport = inc->dport;
		__entry->tos = inc->tos;
	),
	TP_printk("netns=%u tos=%u seq=%llu len=%u from=%pISpc to=%pISpc",
		  __entry->netns, __entry->tos, __entry->seq, __entry->len,
		  __entry->foreign, __entry->local)
);

/* @p is NULL for a message that has reached its socket, or found none: conn is 0 then */
TRACE_EVENT(rds_drop,
	TP_PROTO(const struct net *net, const struct rds_path *p, const struct in6_addr *laddr,
		 const struct in6_addr *faddr, u8 tos, const struct rds_hdr *h,
		 enum rds_drop_reason reason),
	TP_ARGS(net, p, laddr, faddr, tos, h, reason),
	TP_STRUCT__entry(
		RDS_TP_ENDS_FIELDS
		__field(u64, seq)
		__field(u32, conn)
		__field(u32, path)
		__field(u32, len)
		__field(int, reason)
		__field(u16, sport)
		__field(u16, dport)
		__field(u8, tos)
		__array(char, transport, 16)
	),
	TP_fast_assign(
		RDS_TP_ENDS_ASSIGN(net, laddr, 0, faddr, 0);
		__entry->seq = h->seq;
		__entry->conn = p ? p->conn->id : 0;
		__entry->path = p ? p->index : 0;
		__entry->len = h->len;
		__entry->reason = reason;
		__entry->sport = h->sport;
		__entry->dport = h->dport;
		__entry->tos = tos;
		strscpy(__entry->transport, p ? p->conn->key.trans->name : "-", 16);
	),
	TP_printk(RDS_TP_PATH_FORMAT " laddr=%pISc faddr=%pISc seq=%llu len=%u ports=%u>%u reason=%s",
		  RDS_TP_PATH_ARGS, __entry->local, __entry->foreign, __entry->seq, __entry->len,
		  __entry->sport, __entry->dport, rds_show_drop(__entry->reason))
);

#endif /* _TRACE_RDS_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace

/* This part must be outside protection */
#include <trace/define_trace.h>
