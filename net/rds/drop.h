/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every reason for which a message or frame is thrown away.  Each has a counter of its own in
 * stats.h and is traced as rds_drop: drop.c does both.
 */
#ifndef _RDS_DROP_H
#define _RDS_DROP_H

/**
 * enum rds_drop_reason - why a message did not reach its reader
 * @RDS_DROP_OLD_SEQ: repeated by the peer and already received
 * @RDS_DROP_NO_SOCK: nobody has bound the destination
 * @RDS_DROP_DEAD_SOCK: the socket is being closed
 * @RDS_DROP_UNREAD: was in the receive queue when the socket was closed
 * @RDS_DROP_PORTS_ZERO: source and destination port are both 0
 * @RDS_DROP_BAD_CONG: malformed congestion map
 * @RDS_DROP_PING_DISABLED: ping while ping_enable is 0
 * @RDS_DROP_PONG_LIMIT: too many unanswered pings of this peer
 * @RDS_DROP_PONG_NOMEM: no memory for the answer to a ping
 * @RDS_DROP_PONG_CONGESTED: the pinging port is congested
 * @RDS_DROP_FULL: the receive queue has no room, nor the namespace for what it cannot take
 * @RDS_DROP_EXPIRED: the connection was destroyed with the message, or the answer, on it
 * @RDS_DROP_CANCELLED: RDS_CANCEL_SENT_TO
 * @RDS_DROP_CLOSED: the sending socket was closed
 * @RDS_DROP_OP: its RDMA or atomic operation failed, or may have been executed on a lost link
 * @RDS_DROP_BAD_CHECKSUM: the header was damaged on its way
 */
enum rds_drop_reason {
	RDS_DROP_OLD_SEQ,
	RDS_DROP_NO_SOCK,
	RDS_DROP_DEAD_SOCK,
	RDS_DROP_UNREAD,
	RDS_DROP_PORTS_ZERO,
	RDS_DROP_BAD_CONG,
	RDS_DROP_PING_DISABLED,
	RDS_DROP_PONG_LIMIT,
	RDS_DROP_PONG_NOMEM,
	RDS_DROP_PONG_CONGESTED,
	RDS_DROP_FULL,
	RDS_DROP_EXPIRED,
	RDS_DROP_CANCELLED,
	RDS_DROP_CLOSED,
	RDS_DROP_OP,
	RDS_DROP_BAD_CHECKSUM,
};

struct in6_addr;
struct net;
struct rds_hdr;
struct rds_incoming;
struct rds_message;
struct rds_path;

void rds_drop(const struct rds_path *p, const struct rds_hdr *h, enum rds_drop_reason why);
void rds_drop_incoming(const struct net *net, const struct in6_addr *dst,
		       const struct rds_incoming *inc, enum rds_drop_reason why);
void rds_drop_message(const struct rds_path *p, const struct rds_message *m,
		      enum rds_drop_reason why);

#endif /* _RDS_DROP_H */
