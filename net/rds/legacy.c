// SPDX-License-Identifier: GPL-2.0
/*
 * Duplicates from peers that do not pair path indices.
 *
 * A peer older than the source-port encoding dials its paths in any order, and which of
 * our paths a link belongs to is a guess.  Its sequence numbers are per path, so after a
 * reconnect the expectation of our path says nothing about what comes by the link: a
 * repeat could be taken for new, or a new message for a repeat.
 *
 * But such a peer keeps each socket on one path.  So the numbers of one source port only
 * rise, whatever link they come by, and a repeat is recognised by the last number of its
 * port.  Only messages from before the fan-out may have another order: they came by path 0.
 */
#include "core.h"

/* A value of rds_conn.flows: sequence and whether it was received after the fan-out. */
static void *flow_entry(u64 seq, bool fanned)
{
	return xa_mk_value((unsigned long)(seq << 1 | fanned) & LONG_MAX);
}

/**
 * rds_legacy_peer() - may this peer mix up path indices?
 * @c: the connection
 *
 * Return: true until it has announced that its source ports encode them.
 */
bool rds_legacy_peer(const struct rds_conn *c)
{
	return c->key.trans->max_paths > 1 && !READ_ONCE(c->peer_sport_idx);
}

/* The rule for a repeat: is it new, given what its port sent last? */
static bool repeat_is_new(const struct rds_path *p, u64 seq, const void *entry, bool fanned)
{
	unsigned long last;

	if (!fanned)
		return seq >= p->next_rx;
	if (!entry)
		return true;		/* it would be known */
	last = xa_to_value(entry);
	/* Known from before the fan-out only: then repeats come by path 0. */
	if (!(last & 1) && p->index)
		return true;
	return seq > last >> 1;
}

/**
 * rds_legacy_accept() - the sequence rule for a legacy peer
 * @p: path the message came by, its lock held
 * @h: header of a message from a socket
 *
 * Return: the verdict; what is expected next on the path is updated as usual.
 */
enum rds_seq_verdict rds_legacy_accept(struct rds_path *p, const struct rds_hdr *h)
{
	struct rds_conn *c = p->conn;
	bool fanned = READ_ONCE(c->npaths) > 1;
	bool repeat = h->flags & RDS_FLAG_RETRANSMITTED;
	enum rds_seq_verdict v = RDS_SEQ_NEW;

	lockdep_assert_held(&p->lock);
	if (repeat && !repeat_is_new(p, h->seq, xa_load(&c->flows, h->sport), fanned))
		return RDS_SEQ_DUP;
	if (!repeat && h->seq < p->next_rx)
		v = RDS_SEQ_REWIND;
	p->next_rx = h->seq + 1;
	/* Without memory the port is only not remembered. */
	if (xa_err(xa_store(&c->flows, h->sport, flow_entry(h->seq, fanned),
			    GFP_ATOMIC | __GFP_NOWARN)))
		xa_erase(&c->flows, h->sport);
	return v;
}
