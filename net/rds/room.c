// SPDX-License-Identifier: GPL-2.0
/*
 * What peers can make us hold is bounded.
 *
 * A receive queue.  An honest peer stops when the port's congestion bit is set, though what is
 * on the wire by then still comes.  A queue that grows far above its receive buffer all the
 * same is filled by somebody who does not look at the bit, or faster than the bit travels: the
 * link whose next message is for it stops reading, TCP's window closes, and nothing is lost.
 * The reader, or the end of the socket, lets it go on.  Other links, and this one as long as
 * its next message is for somebody else, are not held up.
 *
 * Messages received in part, and the memory of legacy.c, are charged to the namespace:
 * sysctl max_peer_bytes.
 */
#include <linux/mm.h>

#include "core.h"

/* A queue is full above this multiple of its receive buffer, but not below the minimum. */
#define RX_LIMIT_FACTOR		16
#define RX_LIMIT_MIN		SZ_8M

/* Ports of which one node of the xarray keeps the history, and what the node costs. */
#define FLOW_NODE_PORTS		XA_CHUNK_SIZE
#define FLOW_NODE_BYTES		640
/* The histories' part of max_peer_bytes. */
#define FLOW_SHARE		4

/**
 * rds_rx_limit() - memory above which a receive queue is full
 * @rs: socket
 */
u64 rds_rx_limit(const struct rds_sock *rs)
{
	return max_t(u64, (u64)RX_LIMIT_FACTOR * rds_rcvbuf(rs), RX_LIMIT_MIN);
}

/* Full: no further message.  Without memory to charge the receive buffer itself is the limit. */
static bool rx_full(const struct rds_sock *rs, u64 more)
{
	return READ_ONCE(rs->rx.mem) + more > rds_rx_limit(rs) ||
	       (READ_ONCE(rs->rx.refused) && READ_ONCE(rs->rx.bytes) > rds_rcvbuf(rs));
}

static bool rx_drained(const struct rds_sock *rs)
{
	return rs->rx.closed || (rs->rx.mem <= rds_rx_limit(rs) / 2 &&
				 (!rs->rx.refused || rs->rx.bytes <= rds_rcvbuf(rs) / 2));
}

/**
 * rds_rx_resume() - the queue changed: let the links go on that wait for it, if there is room
 * @rs: socket, rx.lock held
 */
void rds_rx_resume(struct rds_sock *rs)
{
	struct rds_path *p, *next;

	lockdep_assert_held(&rs->rx.lock);
	if (!rx_drained(rs))
		return;
	/* A listed path has not been stopped: it leaves the list before that is over. */
	list_for_each_entry_safe(p, next, &rs->rx.stalled, stall_node) {
		list_del_init(&p->stall_node);
		p->conn->key.trans->resume(p);
	}
}

/**
 * rds_path_unstall() - the link waits for no socket any more
 * @p: path; nothing is read from its link meanwhile
 *
 * Context: any.
 */
void rds_path_unstall(struct rds_path *p)
{
	struct rds_sock *rs = p->stall_rs;

	if (!rs)
		return;
	spin_lock_bh(&rs->rx.lock);
	list_del_init(&p->stall_node);
	spin_unlock_bh(&rs->rx.lock);
	p->stall_rs = NULL;
	rds_sock_put(rs);
}

/* Wait for room, unless there is some by now. */
static bool path_stall(struct rds_path *p, struct rds_sock *rs)
{
	bool full;

	sock_hold(rds_rs_to_sk(rs));
	spin_lock_bh(&rs->rx.lock);
	full = !rs->rx.closed && rx_full(rs, 0);
	if (full)
		list_add_tail(&p->stall_node, &rs->rx.stalled);
	spin_unlock_bh(&rs->rx.lock);
	if (full)
		p->stall_rs = rs;
	else
		rds_sock_put(rs);
	return full;
}

/**
 * rds_path_may_take() - is there room for a message?
 * @p: the path
 * @h: header of the message
 * @b: batch of the receive pass
 *
 * Context: any; one caller at a time per path.
 * Return: true to receive it; false to leave it with the peer until resume() is called.
 */
bool rds_path_may_take(struct rds_path *p, const struct rds_hdr *h, struct rds_rx_batch *b)
{
	const struct rds_conn_key *key = &p->conn->key;
	struct rds_sock *rs;
	bool again = p->stall_rs;

	if (again)
		rds_path_unstall(p);
	if (b->forced || h->dport <= RDS_PORT_PROBE || rds_hdr_is_cong(h))
		return true;
	rds_recv_target(p->conn->rn, &key->laddr, h->dport, key->scope, b);
	rs = b->rs;
	if (!rs || !rx_full(rs, b->bytes + (u64)b->nr * sizeof(struct rds_incoming)))
		return true;
	/* The queue must know of what this pass brought, or nobody might resume us. */
	sock_hold(rds_rs_to_sk(rs));
	rds_recv_flush(b);
	if (path_stall(p, rs)) {
		rds_sock_put(rs);
		if (!again)
			rds_stat_inc(recv_stalled);
		return false;
	}
	rds_sock_put(rs);
	return true;
}

/* ---- memory that no socket is charged for ---------------------------------------- */

/**
 * rds_peer_bytes_default() - the default of max_peer_bytes
 */
unsigned long rds_peer_bytes_default(void)
{
	return max_t(unsigned long, totalram_pages() / 64 << PAGE_SHIFT, SZ_16M);
}

/**
 * rds_path_charge() - a message in receipt gets longer
 * @p: path
 * @n: by so many bytes
 * @force: also above the bound
 *
 * Context: any.
 * Return: true if they are charged.
 */
bool rds_path_charge(struct rds_path *p, u32 n, bool force)
{
	struct rds_net *rn = p->conn->rn;

	if (atomic_long_add_return(n, &rn->partial) <= READ_ONCE(rn->sysctl.max_peer_bytes) ||
	    force)
		return true;
	atomic_long_sub(n, &rn->partial);
	rds_stat_inc(recv_partial_limit);
	return false;
}

/**
 * rds_path_uncharge() - the message is complete, or given up
 * @p: path
 * @n: bytes charged
 */
void rds_path_uncharge(struct rds_path *p, u32 n)
{
	atomic_long_sub(n, &p->conn->rn->partial);
}

/**
 * rds_flow_charge() - may the history of one more source port be kept?
 * @c: the connection
 * @sport: port without a history
 *
 * Context: any; path->lock of one of the paths held, others may be at it too.
 * Return: true if it may.
 */
bool rds_flow_charge(struct rds_conn *c, u16 sport)
{
	unsigned long first = round_down(sport, FLOW_NODE_PORTS);
	struct rds_net *rn = c->rn;

	/* Two paths may charge for the same node: then one charge too many. */
	if (xa_find(&c->flows, &first, first + FLOW_NODE_PORTS - 1, XA_PRESENT))
		return true;
	if (atomic_long_add_return(FLOW_NODE_BYTES, &rn->flow_bytes) >
	    READ_ONCE(rn->sysctl.max_peer_bytes) / FLOW_SHARE) {
		atomic_long_sub(FLOW_NODE_BYTES, &rn->flow_bytes);
		rds_stat_inc(recv_flow_limit);
		return false;
	}
	atomic_add(FLOW_NODE_BYTES, &c->flow_bytes);
	return true;
}

/**
 * rds_flow_uncharge() - the histories of a connection are gone
 * @c: the connection
 */
void rds_flow_uncharge(struct rds_conn *c)
{
	atomic_long_sub(atomic_xchg(&c->flow_bytes, 0), &c->rn->flow_bytes);
}
