/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flow control by credits: one credit is one receive buffer of the peer.  Pure code; the
 * caller serialises.
 */
#ifndef _RDS_IB_CREDIT_H
#define _RDS_IB_CREDIT_H

#include <linux/types.h>

#define RDS_IB_CREDIT_MAX	255	/* in one header */
#define RDS_IB_CREDIT_FIRST	32767	/* in the private data */
#define RDS_IB_CREDIT_TOTAL	0x100000	/* more than any peer has buffers */
/* So many buffers that the peer does not know of are worth a frame of their own, at most. */
#define RDS_IB_CREDIT_UPDATE	16
/* With fewer buffers flow control is not offered. */
#define RDS_IB_CREDIT_LEAST	4

/**
 * struct rds_ib_credit - both directions of a link
 * @on: both ends offered flow control: we send only what we have credits for
 * @tell: we offered it: grant credits in any case, the peer may count on them
 * @send: SENDs we may still post
 * @posted: our receive buffers that the peer was not told of
 * @update: so many of them are worth a frame
 */
struct rds_ib_credit {
	bool on;
	bool tell;
	u32 send;
	u32 posted;
	u32 update;
};

void rds_ib_credit_init(struct rds_ib_credit *c, u32 nr);

u32 rds_ib_credit_take(struct rds_ib_credit *c, u32 want, u8 *grant);
void rds_ib_credit_give_back(struct rds_ib_credit *c, u32 sends, u8 grant);
void rds_ib_credit_got(struct rds_ib_credit *c, u32 n);
void rds_ib_credit_posted(struct rds_ib_credit *c, u32 n);
bool rds_ib_credit_left(const struct rds_ib_credit *c);
bool rds_ib_credit_update_due(const struct rds_ib_credit *c);
u32 rds_ib_credit_first(struct rds_ib_credit *c);

#endif /* _RDS_IB_CREDIT_H */
