// SPDX-License-Identifier: GPL-2.0
/*
 * Duplicates from peers that do not pair path indices.
 *
 * A peer older than the source-port encoding dials its paths in any order, and which of
 * our paths a link belongs to is a guess.  Its sequence numbers are per path, so after a
 * reconnect the expectation of our path says nothing about what comes by the link: a
 * repeat could be taken for new, or a new message for a repeat.
 *
 * But such a peer keeps each socket on one path: a repeat is recognised by the last number
 * of its source port (rds_seq_accept_flow() in wire.c).
 */
#include <linux/sched/mm.h>

#include "core.h"

/**
 * rds_legacy_peer() - may this peer mix up path indices?
 * @c: the connection
 *
 * Return: true until it has announced that its source ports encode them, or its links tell.
 */
bool rds_legacy_peer(const struct rds_conn *c)
{
	return c->key.trans->max_paths > 1 && !READ_ONCE(c->peer_sport_idx) && !rds_conn_tells(c);
}

/**
 * rds_legacy_announced() - a peer says, or does not, that its source ports encode paths
 * @p: path that a ping or pong came by
 * @h: its header
 * @e: its extension headers
 * @n: how many paths it has
 *
 * A peer that says so, and dials us, sends pings by its path 0 alone.  If one comes from another
 * path's port somebody on the way has changed that.
 *
 * Context: any; the connection's lock held.
 * Return: true if it says so, and that may be believed.
 */
bool rds_legacy_announced(struct rds_path *p, const struct rds_hdr *h, const struct rds_ext *e,
			  unsigned int n)
{
	struct rds_conn *c = p->conn;

	lockdep_assert_held(&c->lock);
	if (!RDS_EXT_HAS(e, RDS_EXT_SPORT_IDX))
		return false;
	if (rds_conn_tells(c))
		return true;
	if (h->sport == RDS_PORT_PROBE && READ_ONCE(p->adopted) && READ_ONCE(p->peer_port) % n)
		c->ports_changed = true;
	if (c->ports_changed)
		rds_stat_inc(recv_handshake_disbelieved);
	return !c->ports_changed;
}

/* A value of rds_conn.flows: the low bits of the sequence, and rds_flow_seq.fanned. */
#define FLOW_SEQ_BITS	(BITS_PER_LONG - 2)

static void *flow_pack(const struct rds_flow_seq *f)
{
	return xa_mk_value((unsigned long)(f->last << 1 | f->fanned) & LONG_MAX);
}

/* @seq is the number of the message that is looked at now, so not far from the last one. */
static void flow_unpack(struct rds_flow_seq *f, const void *entry, u64 seq)
{
	unsigned long v = entry ? xa_to_value(entry) : 0;

	f->known = entry;
	f->fanned = v & 1;
	f->last = rds_seq_widen(seq, v >> 1, FLOW_SEQ_BITS);
}

/* At the expense of the namespace.  Without memory it is forgotten. */
static void flow_store(struct rds_conn *c, u16 sport, const struct rds_flow_seq *f)
{
	struct mem_cgroup *old = set_active_memcg(c->rn->memcg);

	if (xa_err(xa_store(&c->flows, sport, flow_pack(f), GFP_ATOMIC | __GFP_NOWARN)))
		xa_erase(&c->flows, sport);
	set_active_memcg(old);
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
	enum rds_seq_verdict v;
	struct rds_flow_seq f;
	bool known;

	lockdep_assert_held(&p->lock);
	flow_unpack(&f, xa_load(&c->flows, h->sport), h->seq);
	known = f.known;
	v = rds_seq_accept_flow(&p->next_rx, &f, READ_ONCE(c->npaths) > 1, !p->index,
				h->seq, h->flags);
	/* Without memory, or above the bound, the port is only not remembered. */
	if (v != RDS_SEQ_DUP && !known && !rds_flow_charge(c, h->sport))
		return v;
	if (v != RDS_SEQ_DUP)
		flow_store(c, h->sport, &f);
	return v;
}

/**
 * rds_legacy_forget() - give back what is remembered of source ports
 * @c: the connection; its peer is not a legacy one, or it is being freed
 *
 * What a path that is in rds_legacy_accept() just now adds stays until the connection goes.
 *
 * Context: any.
 */
void rds_legacy_forget(struct rds_conn *c)
{
	xa_destroy(&c->flows);
	rds_flow_uncharge(c);
}
