/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every reason for which a message or frame is thrown away, for the rds_drop
 * tracepoint.  Each has a counter of its own or of its kind in stats.h.
 */
#ifndef _RDS_DROP_H
#define _RDS_DROP_H

#define RDS_DROP_REASONS(X)	\
	X(OLD_SEQ)		\
	X(NO_SOCK)		\
	X(DEAD_SOCK)		\
	X(PORTS_ZERO)		\
	X(BAD_CONG)		\
	X(PING_DISABLED)	\
	X(PONG_LIMIT)		\
	X(PONG_NOMEM)		\
	X(PONG_CONGESTED)	\
	X(STALE_EPOCH)		\
	X(EXPIRED)		\
	X(CANCELLED)		\
	X(CLOSED)

/**
 * enum rds_drop_reason - why a message did not reach its reader
 * @RDS_DROP_OLD_SEQ: repeated by the peer and already received
 * @RDS_DROP_NO_SOCK: nobody has bound the destination
 * @RDS_DROP_DEAD_SOCK: the socket is being closed
 * @RDS_DROP_PORTS_ZERO: source and destination port are both 0
 * @RDS_DROP_BAD_CONG: malformed congestion map
 * @RDS_DROP_PING_DISABLED: ping while ping_enable is 0
 * @RDS_DROP_PONG_LIMIT: too many unanswered pings of this peer
 * @RDS_DROP_PONG_NOMEM: no memory for the answer to a ping
 * @RDS_DROP_PONG_CONGESTED: the pinging port is congested
 * @RDS_DROP_STALE_EPOCH: came from a link that was replaced
 * @RDS_DROP_EXPIRED: the connection was destroyed with the message on it
 * @RDS_DROP_CANCELLED: RDS_CANCEL_SENT_TO
 * @RDS_DROP_CLOSED: the sending socket was closed
 */
enum rds_drop_reason {
#define RDS_DROP_ENUM(name)	RDS_DROP_##name,
	RDS_DROP_REASONS(RDS_DROP_ENUM)
#undef RDS_DROP_ENUM
};

#endif /* _RDS_DROP_H */
