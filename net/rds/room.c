// SPDX-License-Identifier: GPL-2.0
/*
 * What peers can make us hold is bounded.
 *
 * A receive queue.  An honest peer stops when the port's congestion bit is set, though what is
 * on the wire by then still comes.  A queue that grows far above its receive buffer all the
 * same is filled by somebody who does not look at the bit, by many at once, or faster than the
 * bit travels.  No link stops for that: it has other sockets' messages, too.  What comes above
 * the limit is spilled: it stays on the queue, on the account of the namespace (sysctl
 * max_peer_bytes) and of the socket's memory control group.  Each user, and each of his sockets,
 * gets only a share of that, and an eighth is for the administrator; what is beyond is dropped, for
 * this socket alone, and its reader is told.
 *
 * Messages received in part, and the memory of legacy.c, are charged to the namespace, too, each
 * kind by itself: a reader who does not read keeps no message from being received.
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
/* Addresses that begin alike may have so many times what they leave. */
#define FLOW_BLOCK_SHARE	3

/**
 * rds_rx_limit() - memory above which a receive queue is full
 * @rs: socket
 */
u64 rds_rx_limit(const struct rds_sock *rs)
{
	return max_t(u64, (u64)RX_LIMIT_FACTOR * rds_rcvbuf(rs), RX_LIMIT_MIN);
}

/**
 * rds_rx_has_room() - does a message fit into the socket's own queue?
 * @rs: socket, rx.lock held; rx.mem has the message already, rx.bytes and rx.nr have not
 * @charged: it is charged.  If not, all sockets of its user may have twice this one's buffer
 *	in that way: he may have very many
 *
 * The first one that is charged always does.
 */
bool rds_rx_has_room(const struct rds_sock *rs, bool charged)
{
	lockdep_assert_held(&rs->rx.lock);
	if (charged)
		return !rs->rx.nr || rs->rx.mem <= rds_rx_limit(rs);
	return atomic_long_read(&rs->user->uncharged) <= 2 * (long)rds_rcvbuf(rs);
}

/**
 * rds_rx_is_pressed() - is there no room for more, whatever the receive buffer says?
 * @rs: socket, rx.lock held
 *
 * Something was spilled or dropped; or the kernel refused to charge something of it, and its user
 * has half of what he may have in that way.
 */
bool rds_rx_is_pressed(const struct rds_sock *rs)
{
	lockdep_assert_held(&rs->rx.lock);
	return rs->rx.spilled || rs->overrun ||
	       (rs->rx.mem > atomic_read(&rs->sk.sk_rmem_alloc) &&
		atomic_long_read(&rs->user->uncharged) > rds_rcvbuf(rs));
}

/**
 * rds_rx_is_short() - is the queue down to half of what it may be, charged or not?
 * @rs: socket, rx.lock held
 */
bool rds_rx_is_short(const struct rds_sock *rs)
{
	lockdep_assert_held(&rs->rx.lock);
	return rs->rx.mem <= rds_rcvbuf(rs) && rs->rx.bytes <= rds_rcvbuf(rs) / 2;
}

/*
 * May there be so much, this with it?  Three numbers: of the socket, of its user, of all.  A socket
 * may have as much as its user, and all users together, leave; the administrator's eighth he may
 * have in any case.
 */
static bool spill_fits(const struct rds_user *u, u64 max, u64 sock, u64 mine, u64 all)
{
	u64 bound = rds_quota_bound(max, RDS_WHO_USER);

	if (u->who == RDS_WHO_ADMIN && mine <= max - bound)
		return all <= max;
	return all <= bound && sock + mine + all <= max;
}

/**
 * rds_rx_spill() - put a message for which a queue has no room on the namespace's account
 * @rs: socket, rx.lock held
 * @size: its memory
 *
 * One alone gets a third of the bound, one of many sockets of a user less, and a user never more
 * than half.
 *
 * Return: true if it may stay; rds_rx_unspill() when it goes.
 */
bool rds_rx_spill(struct rds_sock *rs, u32 size)
{
	struct rds_net *rn = rds_net(sock_net(rds_rs_to_sk(rs)));
	struct rds_user *u = rs->user;
	u64 mine, all;

	lockdep_assert_held(&rs->rx.lock);
	mine = atomic_long_add_return(size, &u->spilled);
	all = atomic_long_add_return(size, &rn->spilled);
	if (!spill_fits(u, READ_ONCE(rn->sysctl.max_peer_bytes), rs->rx.spilled + size, mine,
			all)) {
		atomic_long_sub(size, &rn->spilled);
		atomic_long_sub(size, &u->spilled);
		return false;
	}
	rs->rx.spilled += size;
	return true;
}

/**
 * rds_rx_unspill() - a spilled message leaves the queue
 * @rs: socket, rx.lock held
 * @size: its memory
 */
void rds_rx_unspill(struct rds_sock *rs, u32 size)
{
	struct rds_net *rn = rds_net(sock_net(rds_rs_to_sk(rs)));

	lockdep_assert_held(&rs->rx.lock);
	rs->rx.spilled -= size;
	atomic_long_sub(size, &rs->user->spilled);
	atomic_long_sub(size, &rn->spilled);
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

static atomic_long_t *flow_block(const struct rds_conn *c)
{
	return &c->rn->flow_blocks[rds_peer_block(c->rn, &c->key.faddr)];
}

/*
 * One more node?  Peers are mostly neighbours, so these may have most of it, but never so much that
 * others have nothing.
 */
static bool flow_fits(struct rds_net *rn, atomic_long_t *block)
{
	u64 max = READ_ONCE(rn->sysctl.max_peer_bytes) / FLOW_SHARE;
	u64 mine = atomic_long_add_return(FLOW_NODE_BYTES, block);
	u64 all = atomic_long_add_return(FLOW_NODE_BYTES, &rn->flow_bytes);

	if (all + mine / FLOW_BLOCK_SHARE <= max)
		return true;
	atomic_long_sub(FLOW_NODE_BYTES, &rn->flow_bytes);
	atomic_long_sub(FLOW_NODE_BYTES, block);
	return false;
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

	/* Two paths may charge for the same node: then one charge too many. */
	if (xa_find(&c->flows, &first, first + FLOW_NODE_PORTS - 1, XA_PRESENT))
		return true;
	if (!flow_fits(c->rn, flow_block(c))) {
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
	int bytes = atomic_xchg(&c->flow_bytes, 0);

	atomic_long_sub(bytes, &c->rn->flow_bytes);
	atomic_long_sub(bytes, flow_block(c));
}
