// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over TCP: transmit and acknowledgements.
 *
 * The core calls rds_tcp_send() with the link mutex held.  It pulls control frames and
 * messages into a batch (batch.c) and hands the whole batch to TCP in one call.  One short
 * message that is alone needs no batch: TCP copies it.
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

/* TCP keeps the page that it copies lone messages to, up to 32 kB for each socket. */
static void rds_tcp_frag_free(struct sock *sk)
{
	lock_sock(sk);
	if (sk->sk_frag.page)
		put_page(sk->sk_frag.page);
	sk->sk_frag.page = NULL;
	release_sock(sk);
}

/* Nothing to send: free what is not needed, if that is not new. */
static void rds_tcp_idle(struct rds_tcp_path *tp)
{
	if (ktime_get_ns() - tp->tx.asked < RDS_TCP_COOLING * NSEC_PER_SEC) {
		rds_tcp_cool_later(tp);
		return;
	}
	rds_tcp_batch_free(&tp->tx);
	rds_tcp_frag_free(tp->sock->sk);
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

/*
 * Of packets that wait TCP makes probes for a larger MTU, which refer to the same pages and not to
 * the messages: what programs may write to again must be copied then.
 */
static bool rds_tcp_probes_mtu(const struct sock *sk)
{
	return READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_mtu_probing) ||
	       inet_csk(sk)->icsk_mtup.enabled;
}

/* Hand bytes to TCP: how many it took, or -errno. */
static int rds_tcp_push(struct rds_tcp_path *tp, struct sock *sk, struct msghdr *msg)
{
	const struct rds_tcp_path *first = rds_path_priv(rds_path_first(tp->path));
	size_t count = iov_iter_count(&msg->msg_iter);
	struct rds_tcp_tx *tx = &tp->tx;
	bool idle;
	int ret;

	tx->pushed = tx->asked;
	tx->heard = READ_ONCE(first->heard);

	lock_sock(sk);
	tx->blocked = false;
	if (msg->msg_flags & MSG_ZEROCOPY && rds_tcp_probes_mtu(sk))
		msg->msg_flags &= ~MSG_ZEROCOPY;
	ret = tcp_sendmsg_locked(sk, msg, count);
	/*
	 * From now on each ACK calls rds_tcp_write_space().  Not before: TCP would also do so for
	 * each packet that it sends.
	 */
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

/* The rest of the batch: 1 = TCP has it all, 0 = no room, or -errno. */
static int rds_tcp_push_batch(struct rds_tcp_path *tp, struct sock *sk)
{
	struct rds_tcp_batch *b = tp->tx.batch;
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL,
		.msg_iter = b->iter,
		.msg_ubuf = b->zcopy,
	};
	int ret;

	msg.msg_flags |= b->zcopy ? MSG_ZEROCOPY : MSG_SPLICE_PAGES;
	ret = rds_tcp_push(tp, sk, &msg);
	if (ret < 0)
		return ret == -EAGAIN ? 0 : ret;
	if (ret < iov_iter_count(&b->iter)) {
		iov_iter_advance(&b->iter, ret);
		return 0;
	}
	rds_tcp_batch_clear(b);
	return 1;
}

/* TCP copies one short message cheaper than it takes references.  As rds_tcp_push_batch(). */
static int rds_tcp_push_lone(struct rds_tcp_path *tp, struct sock *sk)
{
	struct rds_message *m = tp->tx.cur;
	u8 hdr[RDS_HDR_LEN];
	struct kvec vec[] = { { hdr, sizeof(hdr) }, { m->data, m->len } };
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	int ret;

	rds_message_hdr(m, hdr);
	iov_iter_kvec(&msg.msg_iter, ITER_SOURCE, vec, m->len ? 2 : 1, sizeof(hdr) + m->len);
	ret = rds_tcp_push(tp, sk, &msg);
	if (ret < 0)
		return ret == -EAGAIN ? 0 : ret;
	/* The rest goes by a batch. */
	tp->tx.cur_off = ret;
	if (ret < sizeof(hdr) + m->len)
		return 0;
	tp->tx.cur = NULL;
	tp->tx.batch->urgent = false;
	rds_message_put(m);
	return 1;
}

/* The batch waits for more: a lone message is its first. */
static int rds_tcp_keep(struct rds_tcp_path *tp)
{
	int err = tp->tx.cur ? rds_tcp_encode(&tp->tx) : 0;

	if (err == -ENOMEM) {
		rds_tcp_starve(tp);
		err = 0;
	}
	return err;
}

/* Prepare the next bytes, in a batch or as tx.cur: 1 = there are some, 0 = not now, or -errno. */
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
	if (!b->bytes && !tx->cur) {
		rds_tcp_idle(tp);
		return 0;
	}
	if (rds_tcp_hold(tp))
		return rds_tcp_keep(tp);
	rds_path_unhold(tp->path);
	if (!b->bytes)
		return 1;
	if (rds_tcp_zcopy_begin(tx)) {
		rds_tcp_starve(tp);
		return 0;
	}
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
	struct sock *sk;
	int ret;

	if (!tp->sock)
		return -ENOTCONN;
	sk = tp->sock->sk;
	/* The peer has spoken first, but we have not listened yet; see rds_tcp_await_turn(). */
	if (unlikely(READ_ONCE(tp->rx.waits)) && rds_tcp_has_bytes(sk))
		return 0;
	while (rounds--) {
		ret = rds_tcp_prepare(tp);
		if (ret <= 0)
			return ret;
		if (tp->tx.batch->sealed)
			ret = rds_tcp_push_batch(tp, sk);
		else
			ret = rds_tcp_push_lone(tp, sk);
		if (ret < 0)
			return ret;
		if (!ret) {
			rds_tcp_count(RDS_TCP_SNDBUF_FULL);
			return 0;
		}
		/* All of it: no need to look again. */
		if (!tp->tx.cur && rds_path_emptied(p)) {
			rds_tcp_cool_later(tp);
			return 0;
		}
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
