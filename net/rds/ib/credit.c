// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: flow control by credits.
 *
 * Pure code, also compiled in user space.  One credit is one receive buffer of the peer, used up
 * by one SEND whatever it carries.  The last credit is only used by a SEND that returns credits:
 * otherwise both ends could stand with buffers posted that neither can tell the other of.
 *
 * The end that connects offers flow control and learns from the answer if the other has credits
 * for it.  An answer without may come from a peer that had no buffer yet, but goes by ours all the
 * same: so who offered always grants.
 */
#include <linux/types.h>

#include "credit.h"

/**
 * rds_ib_credit_init() - no credits yet
 * @c: credits of a link
 * @nr: receive buffers that it will have at least; flow control needs RDS_IB_CREDIT_LEAST
 *
 * The peer uses all but one of our buffers and must then hear of those that are free again, so a
 * frame for half of them comes in time.  It is worth two at least: a frame for one would make the
 * other end send a frame for the one buffer that it used, and so on for ever.
 */
void rds_ib_credit_init(struct rds_ib_credit *c, u32 nr)
{
	c->on = false;
	c->tell = false;
	c->send = 0;
	c->posted = 0;
	c->update = nr / 2;
	if (c->update < 2)
		c->update = 2;
	if (c->update > RDS_IB_CREDIT_UPDATE)
		c->update = RDS_IB_CREDIT_UPDATE;
}

/* The last one only if credits go back with it. */
static u32 credit_usable(const struct rds_ib_credit *c)
{
	return c->send && !c->posted ? c->send - 1 : c->send;
}

/**
 * rds_ib_credit_left() - may a SEND be posted now?
 * @c: credits of the link
 */
bool rds_ib_credit_left(const struct rds_ib_credit *c)
{
	return !c->on || credit_usable(c);
}

/**
 * rds_ib_credit_take() - may SENDs be posted?
 * @c: credits of the link
 * @want: so many, at least 1
 * @grant: credits to put into the header of the first one
 *
 * Return: how many may be posted; if 0, nothing is granted.
 */
u32 rds_ib_credit_take(struct rds_ib_credit *c, u32 want, u8 *grant)
{
	u32 n;

	*grant = 0;
	n = c->on ? credit_usable(c) : want;
	if (n > want)
		n = want;
	if (!n)
		return 0;
	if (c->on)
		c->send -= n;
	if (c->on || c->tell) {
		*grant = c->posted < RDS_IB_CREDIT_MAX ? c->posted : RDS_IB_CREDIT_MAX;
		c->posted -= *grant;
	}
	return n;
}

/**
 * rds_ib_credit_give_back() - what was taken was not used
 * @c: credits of the link
 * @sends: SENDs that were not posted
 * @grant: credits that were not granted, because the first one is among them
 */
void rds_ib_credit_give_back(struct rds_ib_credit *c, u32 sends, u8 grant)
{
	if (c->on)
		c->send += sends;
	c->posted += grant;
}

/**
 * rds_ib_credit_got() - the peer granted credits
 * @c: credits of the link
 * @n: so many
 */
void rds_ib_credit_got(struct rds_ib_credit *c, u32 n)
{
	/* A peer cannot have more buffers than that; no overflow by a hostile one. */
	if (c->on)
		c->send = n > RDS_IB_CREDIT_TOTAL - c->send ? RDS_IB_CREDIT_TOTAL : c->send + n;
}

/**
 * rds_ib_credit_posted() - receive buffers were posted
 * @c: credits of the link
 * @n: so many
 */
void rds_ib_credit_posted(struct rds_ib_credit *c, u32 n)
{
	c->posted += n;
}

/**
 * rds_ib_credit_update_due() - should the peer be told of buffers at once?
 * @c: credits of the link
 */
bool rds_ib_credit_update_due(const struct rds_ib_credit *c)
{
	return (c->on || c->tell) && c->posted >= c->update;
}

/**
 * rds_ib_credit_first() - credits for the private data
 * @c: credits of the link; buffers were posted
 *
 * Return: credits granted with it.
 */
u32 rds_ib_credit_first(struct rds_ib_credit *c)
{
	u32 n = c->posted < RDS_IB_CREDIT_FIRST ? c->posted : RDS_IB_CREDIT_FIRST;

	c->posted -= n;
	return n;
}
