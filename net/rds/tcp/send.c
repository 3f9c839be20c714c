// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over TCP: transmit and acknowledgements.
 *
 * The core calls rds_tcp_send() with the link mutex held.  It pulls control frames and
 * messages into a batch, one array of page pieces, and hands the whole batch to TCP in
 * one call.  Large payloads go by reference.  Headers and small payloads are copied
 * into the arena, one behind the other, so that a run of small messages is one piece.
 * TCP takes references to these pages, therefore a byte of the arena is written once.
 *
 * Batch and arena begin small and grow at need, and go when nothing was sent for a second: there
 * may be very many idle paths.
 *
 * What TCP has no room for stays in the batch, and the next call begins with it.  TCP
 * tells about room through rds_tcp_write_space(), which runs under the TCP socket lock
 * for every ACK while SOCK_NOSPACE is set; it reports the acknowledged
 * position to the core and, if send() left something behind, kicks the path.
 *
 * MSG_MORE is not used: with a full send buffer and nothing in flight nobody would
 * push the held back tail, and batches are large enough without it.
 *
 * Coalescing.  A stream of small messages, each sent at once, costs a packet and an ACK
 * per message.  So while messages come so fast that several more are to be expected within
 * hold_us, a small batch is held back, and what is sent next joins it, until it is large or
 * hold_us have passed since the last one.  Not held back are an answer to something received,
 * the first message after a pause, and whatever its sender begins to wait behind (for room, or
 * for something to read): so request and response do not wait.  A sender that does nothing else,
 * to many peers or by several paths, has a slow stream on each or none; it is held for as long as
 * it has been sending already, but RDS_TCP_HOLD_LOOP_MIN to _MAX times hold_us.
 */
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>

#include "tcp.h"

/* A batch of this size is worth a packet of its own. */
#define RDS_TCP_HOLD_BYTES	(124U << 10)

/*
 * Held back only if that many messages are to be expected meanwhile; and no longer, if so many
 * that this path seems to be all that its sender has.
 */
#define RDS_TCP_HOLD_MIN	4
#define RDS_TCP_HOLD_ALONE	8

/* A sender that does nothing else is one that did not sleep for so many messages. */
#define RDS_TCP_HOLD_BURST	16
#define RDS_TCP_HOLD_LOOP_MIN	4
#define RDS_TCP_HOLD_LOOP_MAX	16

static unsigned int rds_tcp_hold_us = 400;
module_param_named(hold_us, rds_tcp_hold_us, uint, 0644);
MODULE_PARM_DESC(hold_us, "longest time in us that small messages wait for more (0: never)");

static struct rds_tcp_batch *rds_tcp_batch_alloc(unsigned int room)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_NOWARN;
	struct rds_tcp_batch *b;

	b = kmalloc(struct_size(b, bvec, room) + room * sizeof(*b->msgs), gfp);
	if (!b)
		return NULL;
	memset(b, 0, sizeof(*b));
	b->room = room;
	b->msgs = (struct rds_message **)&b->bvec[room];
	return b;
}

static bool rds_tcp_batch_full(const struct rds_tcp_batch *b)
{
	return b->nr_bvec == RDS_TCP_BATCH_MANY || b->bytes >= RDS_TCP_BATCH_BYTES;
}

/* Not sealed: nothing points into the batch. */
static void rds_tcp_batch_grow(struct rds_tcp_tx *tx)
{
	struct rds_tcp_batch *b = tx->batch, *more;

	more = rds_tcp_batch_alloc(RDS_TCP_BATCH_MANY);
	if (!more)
		return;
	more->arena = b->arena;
	more->arena_size = b->arena_size;
	more->arena_used = b->arena_used;
	more->bytes = b->bytes;
	more->urgent = b->urgent;
	more->nr_pages = b->nr_pages;
	more->nr_msgs = b->nr_msgs;
	more->nr_bvec = b->nr_bvec;
	memcpy(more->pages, b->pages, sizeof(b->pages));
	memcpy(more->msgs, b->msgs, b->nr_msgs * sizeof(*b->msgs));
	memcpy(more->bvec, b->bvec, b->nr_bvec * sizeof(*b->bvec));
	WRITE_ONCE(tx->batch, more);
	kfree(b);
}

/* Room for one piece more: 0 or -ENOSPC.  There are never more messages than pieces. */
static int rds_tcp_batch_room(struct rds_tcp_tx *tx)
{
	if (rds_tcp_batch_full(tx->batch))
		return -ENOSPC;
	if (tx->batch->nr_bvec == tx->batch->room)
		rds_tcp_batch_grow(tx);
	return tx->batch->nr_bvec < tx->batch->room ? 0 : -ENOSPC;
}

/* Room for @need bytes in one piece in the arena: 0, -ENOSPC if the batch is full, -ENOMEM. */
static int rds_tcp_arena_room(struct rds_tcp_batch *b, u32 need)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_COMP | __GFP_NOWARN;
	unsigned int order = b->arena ? RDS_TCP_ARENA_ORDER : 0;
	struct page *page = NULL;

	if (b->arena && b->arena_size - b->arena_used >= need)
		return 0;
	if (b->nr_pages == RDS_TCP_BATCH_PAGES)
		return -ENOSPC;

	if (order)
		page = alloc_pages(gfp | __GFP_NORETRY, order);
	if (!page) {
		order = 0;
		page = alloc_pages(gfp, order);
	}
	if (!page)
		return -ENOMEM;

	/* The batch may point into the old page: it keeps it until TCP has it. */
	if (b->arena)
		b->pages[b->nr_pages++] = b->arena;
	b->arena = page;
	b->arena_size = PAGE_SIZE << order;
	b->arena_used = 0;
	return 0;
}

static void rds_tcp_batch_add(struct rds_tcp_batch *b, struct page *page, u32 len, u32 off)
{
	bvec_set_page(&b->bvec[b->nr_bvec++], page, len, off);
	b->bytes += len;
}

/*
 * Append @len bytes that were just written to the arena.  The caller made sure that the
 * batch is not full.
 */
static void rds_tcp_batch_add_arena(struct rds_tcp_batch *b, u32 len)
{
	struct bio_vec *last = b->nr_bvec ? &b->bvec[b->nr_bvec - 1] : NULL;

	if (last && last->bv_page == b->arena &&
	    last->bv_offset + last->bv_len == b->arena_used) {
		last->bv_len += len;
		b->bytes += len;
	} else {
		rds_tcp_batch_add(b, b->arena, len, b->arena_used);
	}
	b->arena_used += len;
}

static void *rds_tcp_arena(const struct rds_tcp_batch *b)
{
	return page_address(b->arena) + b->arena_used;
}

/* TCP has all bytes, or the link is gone: let go of what the batch points to. */
static void rds_tcp_batch_clear(struct rds_tcp_batch *b)
{
	while (b->nr_msgs)
		rds_message_put(b->msgs[--b->nr_msgs]);
	while (b->nr_pages)
		put_page(b->pages[--b->nr_pages]);
	b->nr_bvec = 0;
	b->bytes = 0;
	b->iter.count = 0;
	b->sealed = false;
	b->urgent = false;
}

static void rds_tcp_batch_free(struct rds_tcp_tx *tx)
{
	struct rds_tcp_batch *b = tx->batch;

	if (!b)
		return;
	WRITE_ONCE(tx->batch, NULL);
	rds_tcp_batch_clear(b);
	if (b->arena)
		put_page(b->arena);
	kfree(b);
}

/* Nothing to send: free what is not needed, if that is not new. */
static void rds_tcp_idle(struct rds_tcp_path *tp)
{
	if (ktime_get_ns() - tp->tx.asked < RDS_TCP_COOLING * NSEC_PER_SEC)
		rds_tcp_cool_later(tp);
	else
		rds_tcp_batch_free(&tp->tx);
}

static int rds_tcp_encode_hdr(struct rds_tcp_tx *tx)
{
	struct rds_tcp_batch *b = tx->batch;
	int err = rds_tcp_arena_room(b, RDS_HDR_LEN);

	if (err)
		return err;
	rds_message_hdr(tx->cur, rds_tcp_arena(b));
	rds_tcp_batch_add_arena(b, RDS_HDR_LEN);
	tx->cur_off = RDS_HDR_LEN;
	return 0;
}

static int rds_tcp_encode_linear(struct rds_tcp_tx *tx)
{
	const struct rds_message *m = tx->cur;
	struct rds_tcp_batch *b = tx->batch;
	u32 done = tx->cur_off - RDS_HDR_LEN;
	u32 n;
	int err;

	err = rds_tcp_arena_room(b, 1);
	if (err)
		return err;
	n = min(m->len - done, b->arena_size - b->arena_used);
	memcpy(rds_tcp_arena(b), m->data + done, n);
	rds_tcp_batch_add_arena(b, n);
	tx->cur_off += n;
	return 0;
}

static int rds_tcp_encode_piece(struct rds_tcp_tx *tx)
{
	const struct rds_message *m = tx->cur;
	u32 left = m->len + RDS_HDR_LEN - tx->cur_off;
	const struct bio_vec *bv;
	u32 n;

	/* The header has promised m->len bytes; never send fewer or more. */
	if (WARN_ON_ONCE(tx->cur_bv >= m->nr_bvec))
		return -EINVAL;

	bv = &m->bvec[tx->cur_bv];
	n = min(bv->bv_len - tx->cur_bv_off, left);
	if (n) {
		rds_tcp_batch_add(tx->batch, bv->bv_page, n, bv->bv_offset + tx->cur_bv_off);
		tx->cur_off += n;
	}
	tx->cur_bv++;
	tx->cur_bv_off = 0;
	return 0;
}

/* Move as much of the current message into the batch as fits: 0 = all of it, or -errno. */
static int rds_tcp_encode(struct rds_tcp_tx *tx)
{
	struct rds_message *m = tx->cur;
	int err;

	while (tx->cur_off < RDS_HDR_LEN + m->len) {
		err = rds_tcp_batch_room(tx);
		if (err)
			return err;
		if (tx->cur_off < RDS_HDR_LEN)
			err = rds_tcp_encode_hdr(tx);
		else if (!m->nr_bvec)
			err = rds_tcp_encode_linear(tx);
		else
			err = rds_tcp_encode_piece(tx);
		if (err)
			return err;
	}

	tx->cur = NULL;
	if (m->nr_bvec)
		tx->batch->msgs[tx->batch->nr_msgs++] = m;
	else
		rds_message_put(m);
	return 0;
}

/* One control frame, in pages of its own: its size, -ENOSPC or -ENOMEM. */
static int rds_tcp_pull_control(struct rds_tcp_path *tp)
{
	struct rds_tcp_batch *b;
	struct page *page;
	size_t n;

	if (rds_tcp_batch_room(&tp->tx))
		return -ENOSPC;
	b = tp->tx.batch;
	if (b->nr_pages == RDS_TCP_BATCH_PAGES)
		return -ENOSPC;
	page = alloc_pages(GFP_KERNEL | __GFP_COMP | __GFP_NOWARN,
			   get_order(RDS_CONTROL_MAX));
	if (!page)
		return -ENOMEM;

	b->pages[b->nr_pages++] = page;
	n = rds_path_pull_control(tp->path, page_address(page));
	if (n) {
		rds_tcp_batch_add(b, page, n, 0);
		tp->tx.end += n;
		b->urgent = true;
	}
	return n;
}

static bool rds_tcp_pull(struct rds_tcp_path *tp)
{
	struct rds_tcp_tx *tx = &tp->tx;
	u64 start = tx->end;

	tx->cur = rds_path_pull(tp->path, &tx->end);
	if (!tx->cur)
		return false;
	/* Pings, pongs and handshakes of the kernel. */
	if (tx->cur->control)
		tx->batch->urgent = true;
	tx->newest = start;
	tx->cur_off = 0;
	tx->cur_bv = 0;
	tx->cur_bv_off = 0;
	return true;
}

/* Add what waits to the batch.  0, also if there is nothing to send, or -errno. */
static int rds_tcp_fill(struct rds_tcp_path *tp)
{
	struct rds_tcp_tx *tx = &tp->tx;
	bool control = true;
	int err = 0;

	while (err >= 0 && !rds_tcp_batch_full(tx->batch)) {
		if (tx->cur) {
			err = rds_tcp_encode(tx);
		} else if (control && rds_path_control_due(tp->path)) {
			err = rds_tcp_pull_control(tp);
			/* Somebody else took it: do not ask again and again. */
			control = err > 0;
		} else if (!rds_tcp_pull(tp)) {
			break;
		}
	}
	/* Full: a message may be half in it, and the rest follows at once. */
	if (err < 0 || rds_tcp_batch_full(tx->batch))
		tx->batch->urgent = true;
	if (err == -ENOSPC || (err == -ENOMEM && tx->batch->bytes))
		return 0;
	return min(err, 0);
}

/* How long a batch may be held, ns: a second at most. */
static u64 rds_tcp_hold_ns(void)
{
	return min_t(u64, READ_ONCE(rds_tcp_hold_us), USEC_PER_SEC) * NSEC_PER_USEC;
}

/* A mean over about 8 calls of send(); one long pause does not end a stream. */
static void rds_tcp_note_gap(struct rds_tcp_tx *tx, u64 now, u64 wait)
{
	u32 gap = min(now - tx->asked, wait / 2);

	tx->gap = tx->asked ? tx->gap - tx->gap / 8 + gap / 8 : wait / 2;
	tx->asked = now;
}

/* How long is a message of a loop held that sends and does nothing else?  ns, or 0. */
static u64 rds_tcp_hold_loop(struct rds_tcp_path *tp, u64 now, u64 wait)
{
	u64 gap = 0;
	unsigned int burst = rds_path_burst(tp->path, now, &gap);

	if (burst < RDS_TCP_HOLD_BURST || gap * RDS_TCP_HOLD_MIN > wait)
		return 0;
	gap = clamp(burst * gap, wait * RDS_TCP_HOLD_LOOP_MIN, wait * RDS_TCP_HOLD_LOOP_MAX);
	return min_t(u64, gap, NSEC_PER_SEC);
}

/* Begin to hold back?  Until when, or 0. */
static u64 rds_tcp_hold_until(struct rds_tcp_path *tp, u64 now, u64 wait, bool alone)
{
	const struct rds_tcp_tx *tx = &tp->tx;
	u64 stream = 0, longer;

	if (now - tx->pushed < wait && wait >= tx->gap * (u64)RDS_TCP_HOLD_MIN)
		stream = tx->pushed + wait;
	if (stream && alone)
		return stream;
	longer = rds_tcp_hold_loop(tp, now, wait);
	return longer ? now + longer : stream;
}

/* Hold the batch back?  Then the core sees to it that send() is called again. */
static bool rds_tcp_hold(struct rds_tcp_path *tp)
{
	const struct rds_tcp_path *first = rds_path_priv(rds_path_first(tp->path));
	struct rds_tcp_tx *tx = &tp->tx;
	u64 wait = rds_tcp_hold_ns();
	u64 now = ktime_get_ns(), until;
	bool alone;

	rds_tcp_note_gap(tx, now, wait);
	if (!wait || tx->batch->urgent || tx->batch->bytes >= RDS_TCP_HOLD_BYTES ||
	    rds_path_push_wanted(tp->path))
		return false;
	/* Something arrived since we sent last: this may be the answer. */
	if (READ_ONCE(first->heard) != tx->heard)
		return false;
	alone = wait >= tx->gap * (u64)RDS_TCP_HOLD_ALONE;
	until = rds_path_held_until(tp->path);
	if (until) {
		if (!alone)
			rds_path_join(tp->path, now);
		return now < until;
	}
	until = rds_tcp_hold_until(tp, now, wait, alone);
	if (!until)
		return false;
	rds_path_hold(tp->path, now, until);
	return true;
}

/* No memory and nothing under way that would call us again. */
static void rds_tcp_starve(struct rds_tcp_path *tp)
{
	rds_tcp_count(RDS_TCP_TX_NOMEM);
	WRITE_ONCE(tp->tx_starved, true);
	rds_tcp_retry_later(tp, RDS_TCP_RETRY_DELAY);
}

/* Hand the rest of the batch to TCP: bytes taken, or -errno. */
static int rds_tcp_push(struct rds_tcp_path *tp, struct sock *sk)
{
	const struct rds_tcp_path *first = rds_path_priv(rds_path_first(tp->path));
	struct rds_tcp_tx *tx = &tp->tx;
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES,
		.msg_iter = tx->batch->iter,
	};
	size_t count = iov_iter_count(&msg.msg_iter);
	bool idle;
	int ret;

	tx->pushed = tx->asked;
	tx->heard = READ_ONCE(first->heard);

	lock_sock(sk);
	/* From now on each ACK calls rds_tcp_write_space(). */
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	tx->blocked = false;
	ret = tcp_sendmsg_locked(sk, &msg, count);
	/* An ACK processed meanwhile may have found nothing in flight. */
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	if (ret > 0)
		tx->given += ret;
	tx->blocked = ret == -EAGAIN || (ret >= 0 && ret < count);
	/* Refused for lack of memory, not of room: no ACK will come to tell. */
	idle = tx->blocked && tcp_rtx_and_write_queues_empty(sk);
	rds_tcp_settle(tp, sk);
	release_sock(sk);

	if (idle)
		rds_tcp_starve(tp);
	return ret;
}

/* Prepare the next bytes: 1 = there are some, 0 = not now, or -errno. */
static int rds_tcp_prepare(struct rds_tcp_path *tp)
{
	struct rds_tcp_tx *tx = &tp->tx;
	struct rds_tcp_batch *b;
	int err = -ENOMEM;

	if (!tx->batch)
		WRITE_ONCE(tx->batch, rds_tcp_batch_alloc(RDS_TCP_BATCH_FEW));
	if (tx->batch && tx->batch->sealed)
		return 1;
	if (tx->batch)
		err = rds_tcp_fill(tp);
	if (err == -ENOMEM) {
		rds_tcp_starve(tp);
		return 0;
	}
	if (err < 0)
		return err;
	b = tx->batch;
	if (!b->bytes) {
		rds_tcp_idle(tp);
		return 0;
	}
	if (rds_tcp_hold(tp))
		return 0;
	rds_path_unhold(tp->path);
	iov_iter_bvec(&b->iter, ITER_SOURCE, b->bvec, b->nr_bvec, b->bytes);
	b->sealed = true;
	return 1;
}

/**
 * rds_tcp_send() - write as much as there is room for
 * @p: path, UP, link mutex held
 *
 * Return: 0 if nothing is left that could be sent now, or -errno: the link is dead.
 */
int rds_tcp_send(struct rds_path *p)
{
	struct rds_tcp_path *tp = rds_path_priv(p);
	unsigned int rounds = RDS_TCP_SEND_ROUNDS;
	struct iov_iter *iter;
	int ret;

	if (!tp->sock)
		return -ENOTCONN;
	/* The peer has spoken first, but we have not listened yet; see rds_tcp_await_turn(). */
	if (unlikely(READ_ONCE(tp->rx.waits)) && rds_tcp_has_bytes(tp->sock->sk))
		return 0;
	while (rounds--) {
		ret = rds_tcp_prepare(tp);
		if (ret <= 0)
			return ret;

		iter = &tp->tx.batch->iter;
		ret = rds_tcp_push(tp, tp->sock->sk);
		if (ret < 0 && ret != -EAGAIN)
			return ret;
		if (ret > 0)
			iov_iter_advance(iter, ret);
		if (iov_iter_count(iter)) {
			rds_tcp_count(RDS_TCP_SNDBUF_FULL);
			return 0;
		}
		rds_tcp_batch_clear(tp->tx.batch);
	}

	/* The caller is somebody's sendmsg(): the path's work goes on. */
	rds_path_kick(p);
	return 0;
}

/**
 * rds_tcp_settle() - tell the core how far the peer has acknowledged
 * @tp: path
 * @sk: its socket, locked
 *
 * Called at least once per 2 GiB of acknowledged data, so the 32-bit difference is
 * enough.  A FIN occupies a sequence number too; hence the bound.
 */
void rds_tcp_settle(struct rds_tcp_path *tp, struct sock *sk)
{
	struct rds_tcp_tx *tx = &tp->tx;
	u32 una = READ_ONCE(tcp_sk(sk)->snd_una);
	u64 pos;

	if (!tp->up)
		return;
	tx->acked += una - tx->una;
	WRITE_ONCE(tx->una, una);
	pos = min(tx->acked, tx->given);
	if (pos == tx->reported)
		return;
	tx->reported = pos;
	rds_path_acked(tp->path, tp->epoch, pos);
}

/* Does TCP try the peer's window from time to time?  TCP socket locked. */
static bool rds_tcp_is_shut(const struct sock *sk)
{
	return !tcp_rtx_and_write_queues_empty(sk) &&
	       (!tcp_sk(sk)->snd_wnd || inet_csk(sk)->icsk_pending == ICSK_TIME_PROBE0);
}

/*
 * TCP_USER_TIMEOUT ends a link whose window stays shut for so long, though its peer's TCP
 * answers each attempt: the reader at the other end takes his time (room.c).  So as long as there
 * are answers it is put off, always for a few attempts more than the next one; and attempts do
 * not get so rare that a dead peer goes unnoticed: with data in flight they are retransmissions,
 * else probes.  TCP socket locked.
 */
static void rds_tcp_patience(struct rds_tcp_tx *tx, struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	unsigned int limit;
	long next;

	if (!rds_tcp_is_shut(sk)) {
		if (!tx->shut)
			return;
		/*
		 * What the receiver threw away meanwhile is repeated first, and TCP reckons
		 * that from when the window was shut.
		 */
		if (tcp_sk(sk)->packets_out && tcp_sk(sk)->retrans_stamp)
			return;
		tx->shut = false;
		/* TCP leaves it if the window opens for a part of what waits. */
		icsk->icsk_probes_tstamp = 0;
		tcp_sock_set_user_timeout(sk, RDS_TCP_USER_TIMEOUT);
		return;
	}
	if (!tx->shut)
		tx->shut_since = jiffies;
	tx->shut = true;
	next = max_t(long, icsk->icsk_timeout - jiffies, 0);
	limit = jiffies_to_msecs(jiffies - tx->shut_since) +
		max(RDS_TCP_USER_TIMEOUT, 3 * jiffies_to_msecs(next));
	tcp_sock_set_user_timeout(sk, min_t(unsigned int, limit, INT_MAX));
	if (tcp_sk(sk)->packets_out)
		icsk->icsk_rto = min_t(u32, icsk->icsk_rto, RDS_TCP_SHUT_RTO);
	else
		icsk->icsk_backoff = min_t(u8, icsk->icsk_backoff, RDS_TCP_SHUT_BACKOFF);
}

/**
 * rds_tcp_write_space() - TCP's callback: something was acknowledged
 * @sk: the link's socket, locked by the caller
 */
void rds_tcp_write_space(struct sock *sk)
{
	struct rds_tcp_path *tp;

	rcu_read_lock();
	tp = rcu_dereference_sk_user_data(sk);
	if (!tp)
		goto out;

	rds_tcp_count(RDS_TCP_WRITE_SPACE_CALLS);
	rds_tcp_settle(tp, sk);
	rds_tcp_patience(&tp->tx, sk);
	if (tp->tx.blocked) {
		if (sk_stream_is_writeable(sk)) {
			tp->tx.blocked = false;
			rds_path_kick(tp->path);
		}
	} else if (tcp_rtx_and_write_queues_empty(sk)) {
		clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	}
out:
	rcu_read_unlock();
}

/**
 * rds_tcp_tx_begin() - stream position 0 is the next byte that is sent
 * @tp: path
 * @sk: its socket, locked; nothing was sent on it
 */
void rds_tcp_tx_begin(struct rds_tcp_path *tp, struct sock *sk)
{
	struct rds_tcp_tx *tx = &tp->tx;

	WRITE_ONCE(tx->base, tcp_sk(sk)->write_seq);
	WRITE_ONCE(tx->una, tx->base);
	WRITE_ONCE(tx->end, 0);
	WRITE_ONCE(tx->newest, 0);
	tx->acked = 0;
	tx->given = 0;
	tx->reported = 0;
	tx->blocked = false;
	tx->shut = false;
	tx->pushed = 0;
	tx->asked = 0;
}

/**
 * rds_tcp_tx_reset() - forget what was pulled for a link that is gone
 * @tp: path; the core sends again what is not acknowledged
 *
 * A path without a link costs no transmit memory: there may be as many as peers ever came.
 */
void rds_tcp_tx_reset(struct rds_tcp_path *tp)
{
	struct rds_tcp_tx *tx = &tp->tx;

	rds_tcp_batch_free(tx);
	if (tx->cur)
		rds_message_put(tx->cur);
	tx->cur = NULL;
	rds_path_unhold(tp->path);
}
