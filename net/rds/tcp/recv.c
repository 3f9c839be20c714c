// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over TCP: receive.
 *
 * TCP's data_ready callback reads at once, under the TCP socket lock, mostly in softirq:
 * one pass takes everything that is queued and delivers as many messages as it contains.
 * The framing itself is in wire.c.
 *
 * Small payloads are copied into one allocation with the message.  Larger ones are
 * kept as the packets they came in: clones, which share the data.  A clone that would
 * pin much more memory than it carries is not made; such a piece is copied, so a peer
 * that sends a large message in tiny packets costs about the size of the message.
 * A message counts as all that its clones pin.  A packet in which another message lies, too, is
 * counted twice, unless that is the one before it on the same queue: which of two readers
 * is slower cannot be known.
 *
 * If memory is short, reading stops where it is, TCP keeps the data, and the path's
 * retry work goes on.  It never stops for a receiver that does not read.
 *
 * Messages received in part are charged to the namespace, up to a bound, and to the TCP socket
 * and its memory control group.  Above the bound only the
 * oldest of them is received further, so there is always one that can be completed; and if its
 * peer takes too long over it, the link is dropped, without loss: what is not complete was
 * not acknowledged.
 */
#include <linux/module.h>
#include <linux/skbuff.h>

#include "tcp.h"

/* Payloads up to this size are copied in one piece. */
#define RDS_TCP_LINEAR_MAX	2048U
/*
 * A piece may be cloned if what that pins, perhaps for this message alone, is no more than so
 * many times its size: less for small ones, which cost little to copy.
 */
#define RDS_TCP_CLONE_MIN	2048U
#define RDS_TCP_PIN_SMALL	4
#define RDS_TCP_PIN_LARGE	20	/* a page of a packet of 64 KiB still is */
/* A copied piece has room for what follows, and fills what is allocated. */
#define RDS_TCP_COPY_CHUNK	((u32)SKB_WITH_OVERHEAD(8192))

/* How long a message may take when others wait for its memory. */
#define RDS_TCP_PARTIAL_MAX	(5 * HZ)
/* Retries get slower, up to this many times the first delay. */
#define RDS_TCP_PAUSES_MAX	5

/**
 * struct rds_tcp_inc - an incoming message that is kept in pieces
 * @inc: the part the core knows
 * @pieces: packets; each carries a &struct rds_tcp_piece in its control block
 */
struct rds_tcp_inc {
	struct rds_incoming inc;
	struct sk_buff_head pieces;
};

/**
 * struct rds_tcp_piece - which bytes of a packet belong to the message
 * @off: offset of the first
 * @len: their number
 * @own: the packet is ours alone, more may be appended
 */
struct rds_tcp_piece {
	u32 off;
	u32 len;
	bool own;
};

/**
 * struct rds_tcp_pass - one receive pass
 * @tp: path
 * @sk: its socket, locked
 * @batch: what is delivered with one wake-up
 * @forced: the last one: what TCP has must be taken now or never
 */
struct rds_tcp_pass {
	struct rds_tcp_path *tp;
	struct sock *sk;
	struct rds_rx_batch batch;
	bool forced;
};

static struct rds_tcp_piece *rds_tcp_piece(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct rds_tcp_piece) > sizeof(skb->cb));
	return (struct rds_tcp_piece *)skb->cb;
}

/*
 * How many bytes from @at on, of @n wanted, lie behind each other in memory.  A transmitter
 * that hands over pages of 4 KiB makes fragments of them, though they often are neighbours.
 * Only within a folio: hardened user copies check that.
 */
static size_t rds_tcp_run(const struct skb_shared_info *si, unsigned int *f, size_t at, size_t n)
{
	const skb_frag_t *frag = &si->frags[*f];
	struct folio *folio = page_folio(skb_frag_page(frag));
	void *limit = folio_address(folio) + folio_size(folio);
	void *start = skb_frag_address(frag) + at;
	void *end = start + skb_frag_size(frag) - at;

	while (end - start < n && end != limit && *f + 1 < si->nr_frags) {
		frag++;
		if (skb_frag_address(frag) != end)
			break;
		end += skb_frag_size(frag);
		++*f;
	}
	return min_t(size_t, end - start, n);
}

static bool rds_tcp_plain(const struct sk_buff *skb)
{
	const struct skb_shared_info *si = skb_shinfo(skb);
	unsigned int f;

	if (skb_has_frag_list(skb) || !skb_frags_readable(skb))
		return false;
	for (f = 0; IS_ENABLED(CONFIG_HIGHMEM) && f < si->nr_frags; f++)
		if (PageHighMem(skb_frag_page(&si->frags[f])))
			return false;
	return true;
}

/* skb_copy_datagram_iter(), but neighbouring fragments are one copy. */
static int rds_tcp_copy(const struct sk_buff *skb, size_t off, struct iov_iter *to, size_t n)
{
	const struct skb_shared_info *si = skb_shinfo(skb);
	size_t part, head = skb_headlen(skb);
	unsigned int f, last;

	if (!rds_tcp_plain(skb))
		return skb_copy_datagram_iter(skb, off, to, n);
	if (off < head) {
		part = min(n, head - off);
		if (copy_to_iter(skb->data + off, part, to) != part)
			return -EFAULT;
		n -= part;
		off += part;
	}
	off -= head;
	for (f = 0; n && f < si->nr_frags; f = last + 1) {
		last = f;
		if (off >= skb_frag_size(&si->frags[f])) {
			off -= skb_frag_size(&si->frags[f]);
			continue;
		}
		part = rds_tcp_run(si, &last, off, n);
		if (copy_to_iter(skb_frag_address(&si->frags[f]) + off, part, to) != part)
			return -EFAULT;
		n -= part;
		off = 0;
	}
	return n ? -EFAULT : 0;
}

static int rds_tcp_inc_read(struct rds_incoming *inc, size_t off, struct iov_iter *to, size_t n)
{
	struct rds_tcp_inc *big = container_of(inc, struct rds_tcp_inc, inc);
	struct sk_buff *skb;

	skb_queue_walk(&big->pieces, skb) {
		const struct rds_tcp_piece *pc = rds_tcp_piece(skb);
		size_t part;

		if (off >= pc->len) {
			off -= pc->len;
			continue;
		}
		part = min_t(size_t, n, pc->len - off);
		if (rds_tcp_copy(skb, pc->off + off, to, part))
			return -EFAULT;
		n -= part;
		off = 0;
		if (!n)
			return 0;
	}
	return n ? -EFAULT : 0;
}

static void rds_tcp_inc_free(struct rds_incoming *inc)
{
	struct rds_tcp_inc *big = container_of(inc, struct rds_tcp_inc, inc);
	struct sk_buff *skb;

	/* Not a purge: to whom watches that, the packets were dropped. */
	while ((skb = __skb_dequeue(&big->pieces)))
		consume_skb(skb);
	kfree(big);
}

/* The packet in which one message ends and the next begins, if both have a clone of it. */
static u32 rds_tcp_inc_shared(const struct rds_incoming *prev, const struct rds_incoming *inc)
{
	struct sk_buff *tail = skb_peek_tail(&container_of(prev, struct rds_tcp_inc, inc)->pieces);
	struct sk_buff *head = skb_peek(&container_of(inc, struct rds_tcp_inc, inc)->pieces);

	if (skb_shinfo(tail) != skb_shinfo(head))
		return 0;
	return head->truesize - SKB_DATA_ALIGN(sizeof(*head));
}

static const struct rds_inc_ops rds_tcp_inc_ops = {
	.read = rds_tcp_inc_read,
	.free = rds_tcp_inc_free,
	.shared = rds_tcp_inc_shared,
	.owner = THIS_MODULE,
};

/* The header is complete: make the object that will hold the message. */
static int rds_tcp_rx_start(struct rds_tcp_rx *rx)
{
	u32 len = rx->stream.hdr.len;
	struct rds_tcp_inc *big;

	if (len <= RDS_TCP_LINEAR_MAX) {
		rx->inc = rds_inc_alloc_linear(len, GFP_ATOMIC | __GFP_NOWARN, &rx->data);
		if (!rx->inc)
			return -ENOMEM;
	} else {
		big = kzalloc(sizeof(*big), GFP_ATOMIC | __GFP_NOWARN);
		if (!big)
			return -ENOMEM;
		rds_inc_init(&big->inc, &rds_tcp_inc_ops, kmalloc_size_roundup(sizeof(*big)));
		__skb_queue_head_init(&big->pieces);
		rx->inc = &big->inc;
		rx->big = big;
	}

	if (rds_rx_tracing()) {
		rx->inc->trace[RDS_RX_CLOCK_FIRST] = rx->first;
		rx->inc->trace[RDS_RX_CLOCK_HDR] = local_clock();
	}
	rds_stream_started(&rx->stream);
	return 0;
}

/* skb_copy_bits() of few bytes: mostly they lie in the linear part or in the first fragment. */
static int rds_tcp_copy_bits(const struct sk_buff *skb, u32 off, void *to, u32 n)
{
	const skb_frag_t *frag = skb_shinfo(skb)->frags;
	u32 head = skb_headlen(skb);

	if (off + n <= head) {
		memcpy(to, skb->data + off, n);
		return 0;
	}
	if (off >= head && skb_shinfo(skb)->nr_frags && off - head + n <= skb_frag_size(frag) &&
	    rds_tcp_plain(skb)) {
		memcpy(to, skb_frag_address(frag) + off - head, n);
		return 0;
	}
	return skb_copy_bits(skb, off, to, n);
}

static int rds_tcp_add_clone(struct rds_tcp_inc *big, struct sk_buff *skb, u32 off, u32 len)
{
	struct sk_buff *clone = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);

	if (!clone)
		return -ENOMEM;
	*rds_tcp_piece(clone) = (struct rds_tcp_piece){ .off = off, .len = len };
	big->inc.truesize += clone->truesize;
	__skb_queue_tail(&big->pieces, clone);
	return len;
}

static int rds_tcp_add_copy(struct rds_tcp_rx *rx, struct sk_buff *skb, u32 off, u32 len)
{
	struct sk_buff *tail = skb_peek_tail(&rx->big->pieces);

	if (!tail || !rds_tcp_piece(tail)->own || !skb_tailroom(tail)) {
		tail = alloc_skb(min(rx->stream.data_left, RDS_TCP_COPY_CHUNK),
				 GFP_ATOMIC | __GFP_NOWARN);
		if (!tail)
			return -ENOMEM;
		*rds_tcp_piece(tail) = (struct rds_tcp_piece){ .own = true };
		rx->big->inc.truesize += tail->truesize;
		__skb_queue_tail(&rx->big->pieces, tail);
	}

	len = min_t(u32, len, skb_tailroom(tail));
	if (skb_copy_bits(skb, off, skb_tail_pointer(tail), len))
		return -EFAULT;
	skb_put(tail, len);
	rds_tcp_piece(tail)->len += len;
	return len;
}

static struct rds_tcp_net *rds_tcp_path_net(const struct rds_tcp_path *tp)
{
	return rds_tcp_net(rds_path_net(tp->path));
}

/* Until the message is whole, and counts where it is read. */
static bool rds_tcp_charge_sock(struct rds_tcp_rx *rx, struct sock *sk, u32 size)
{
	int lacks = (int)size - sk->sk_forward_alloc;

	if (lacks > 0 && !__sk_mem_schedule(sk, lacks, SK_MEM_RECV))
		return false;
	sk_mem_charge(sk, size);
	rx->on_sock += size;
	return true;
}

/* @size bytes of memory more for a message that will not be complete with them. */
static int rds_tcp_charge(struct rds_tcp_pass *pass, u32 size)
{
	struct rds_tcp_path *tp = pass->tp;
	struct rds_tcp_net *rn = rds_tcp_path_net(tp);
	u32 held = tp->rx.inc->truesize + size;
	int err = 0;
	bool must;

	/* What was charged in vain, for lack of memory, counts now. */
	if (held <= tp->rx.charged)
		return 0;
	size = held - tp->rx.charged;
	spin_lock_bh(&rn->partial_lock);
	/* Not if others than TCP's hold it all: then there would be none to be completed. */
	must = pass->forced || list_empty(&rn->partials) ||
	       list_is_first(&tp->partial_node, &rn->partials);
	if (!rds_path_charge(tp->path, size, must)) {
		err = -ENOBUFS;
	} else if (!rds_tcp_charge_sock(&tp->rx, pass->sk, size) && !must) {
		/* Of all TCP sockets' memory there is no more: that is nobody's fault here. */
		rds_path_uncharge(tp->path, size);
		err = -ENOMEM;
	} else if (list_empty(&tp->partial_node)) {
		list_add_tail(&tp->partial_node, &rn->partials);
		tp->partial_since = jiffies;
	}
	spin_unlock_bh(&rn->partial_lock);
	if (!err)
		tp->rx.charged += size;
	return err;
}

/* @sk is locked. */
static void rds_tcp_uncharge(struct rds_tcp_path *tp, struct sock *sk)
{
	struct rds_tcp_net *rn = rds_tcp_path_net(tp);

	if (!tp->rx.charged)
		return;
	spin_lock_bh(&rn->partial_lock);
	list_del_init(&tp->partial_node);
	spin_unlock_bh(&rn->partial_lock);
	rds_path_uncharge(tp->path, tp->rx.charged);
	sk_mem_uncharge(sk, tp->rx.on_sock);
	tp->rx.charged = 0;
	tp->rx.on_sock = 0;
}

/* Others wait for memory: is the oldest partial message one that its peer leaves us with? */
static void rds_tcp_evict(struct rds_tcp_net *rn)
{
	struct rds_tcp_path *tp;

	spin_lock_bh(&rn->partial_lock);
	tp = list_first_entry_or_null(&rn->partials, struct rds_tcp_path, partial_node);
	if (tp && !tp->evicted && !READ_ONCE(tp->rx.starved) &&
	    time_after(jiffies, tp->partial_since + RDS_TCP_PARTIAL_MAX)) {
		rds_tcp_count(RDS_TCP_PARTIAL_EVICTED);
		WRITE_ONCE(tp->evicted, true);
		/* Listed: it has a link, or one that is being stopped anyway. */
		rds_path_drop(tp->path, READ_ONCE(tp->epoch), -ENOBUFS);
	}
	spin_unlock_bh(&rn->partial_lock);
}

static bool rds_tcp_worth_clone(const struct sk_buff *skb, u32 len)
{
	u32 factor = len < RDS_TCP_CLONE_MIN ? RDS_TCP_PIN_SMALL : RDS_TCP_PIN_LARGE;

	return skb->truesize <= (u64)factor * len;
}

/* What it takes to keep a piece of @skb. */
static u32 rds_tcp_piece_size(const struct rds_tcp_rx *rx, const struct sk_buff *skb, bool clone)
{
	struct sk_buff *tail = skb_peek_tail(&rx->big->pieces);

	if (clone)
		return skb->truesize;
	if (tail && rds_tcp_piece(tail)->own && skb_tailroom(tail))
		return 0;
	return SKB_TRUESIZE(min(rx->stream.data_left, RDS_TCP_COPY_CHUNK));
}

static int rds_tcp_add_piece(struct rds_tcp_pass *pass, struct sk_buff *skb, u32 off, u32 len)
{
	struct rds_tcp_rx *rx = &pass->tp->rx;
	bool clone = rds_tcp_worth_clone(skb, len);
	int err;

	if (len < rx->stream.data_left) {
		err = rds_tcp_charge(pass, rds_tcp_piece_size(rx, skb, clone));
		if (err)
			return err;
	}
	return clone ? rds_tcp_add_clone(rx->big, skb, off, len) :
		       rds_tcp_add_copy(rx, skb, off, len);
}

/* Store payload bytes: how many, or -errno. */
static int rds_tcp_rx_data(struct rds_tcp_pass *pass, struct sk_buff *skb, u32 off, size_t left)
{
	struct rds_tcp_rx *rx = &pass->tp->rx;
	u32 len = min_t(size_t, left, rx->stream.data_left);
	int ret;

	if (!rx->big) {
		u8 *to = rx->data + rx->stream.hdr.len - rx->stream.data_left;

		ret = rds_tcp_copy_bits(skb, off, to, len) ? -EFAULT : (int)len;
	} else {
		ret = rds_tcp_add_piece(pass, skb, off, len);
	}
	if (ret > 0)
		rds_stream_took(&rx->stream, ret);
	return ret;
}

static int rds_tcp_rx_hdr(struct rds_tcp_rx *rx, struct sk_buff *skb, u32 off, size_t left)
{
	u8 buf[RDS_HDR_LEN];
	u32 n = min_t(size_t, left, RDS_HDR_LEN - rx->stream.hdr_have);

	if (!rx->stream.hdr_have && rds_rx_tracing())
		rx->first = local_clock();
	if (rds_tcp_copy_bits(skb, off, buf, n))
		return -EFAULT;
	return rds_stream_hdr(&rx->stream, buf, n);
}

static void rds_tcp_rx_done(struct rds_tcp_pass *pass)
{
	struct rds_tcp_path *tp = pass->tp;
	struct rds_tcp_rx *rx = &tp->rx;
	struct rds_incoming *inc = rx->inc;

	rds_tcp_uncharge(tp, pass->sk);
	rx->inc = NULL;
	rx->big = NULL;
	rx->data = NULL;
	rds_path_deliver(tp->path, tp->epoch, &rx->stream.hdr, inc, &pass->batch);
	rds_stream_reset(&rx->stream);
}

/*
 * One step of the framing over @left bytes of @skb at @off.
 * Bytes taken (0 if the step needs none), or -errno.
 */
static int rds_tcp_rx_step(struct rds_tcp_pass *pass, struct sk_buff *skb, u32 off, size_t left)
{
	struct rds_tcp_rx *rx = &pass->tp->rx;

	switch (rx->stream.need) {
	case RDS_STREAM_HDR:
		return left ? rds_tcp_rx_hdr(rx, skb, off, left) : 0;
	case RDS_STREAM_START:
		return rds_tcp_rx_start(rx);
	case RDS_STREAM_DATA:
		return left ? rds_tcp_rx_data(pass, skb, off, left) : 0;
	case RDS_STREAM_DONE:
		rds_tcp_rx_done(pass);
		return 0;
	case RDS_STREAM_BAD:
		break;
	}
	return -EPROTO;
}

/* Could the framing make progress without more bytes? */
static bool rds_tcp_rx_pending(const struct rds_tcp_rx *rx)
{
	return rx->stream.need != RDS_STREAM_HDR && rx->stream.need != RDS_STREAM_DATA;
}

/*
 * Feed @len bytes of @skb at @off to the framing; with @len 0 finish what needs no more
 * bytes.  Bytes taken; desc->error says why it stopped early.  tcp_read_sock() calls
 * this for each packet in its queue.
 */
static int rds_tcp_rx_actor(read_descriptor_t *desc, struct sk_buff *skb, unsigned int off,
			    size_t len)
{
	struct rds_tcp_pass *pass = desc->arg.data;
	size_t left = len;
	int ret;

	/* Ends: each step takes bytes or moves the framing towards wanting some. */
	while (!desc->error && (left || rds_tcp_rx_pending(&pass->tp->rx))) {
		ret = rds_tcp_rx_step(pass, skb, off, left);
		if (ret < 0) {
			desc->error = ret;
			break;
		}
		off += ret;
		left -= ret;
	}
	return len - left;
}

/* Did the pass end early, and will it go on? */
static bool rds_tcp_rx_paused(struct rds_tcp_path *tp, int err)
{
	struct rds_tcp_rx *rx = &tp->rx;

	WRITE_ONCE(rx->starved, err == -ENOMEM || err == -ENOBUFS);
	if (!rx->starved) {
		rx->pauses = 0;
		return false;
	}
	if (err == -ENOMEM)
		rds_tcp_count(RDS_TCP_RX_NOMEM);
	else
		rds_tcp_evict(rds_tcp_path_net(tp));
	rds_tcp_retry_later(tp, RDS_TCP_RETRY_DELAY << rx->pauses);
	if (rx->pauses < RDS_TCP_PAUSES_MAX)
		rx->pauses++;
	return true;
}

/**
 * rds_tcp_read() - take and deliver everything TCP has received
 * @tp: path with a link
 * @sk: its socket, locked
 * @forced: for the last time, also above max_peer_bytes
 */
void rds_tcp_read(struct rds_tcp_path *tp, struct sock *sk, bool forced)
{
	struct rds_tcp_path *first = rds_path_priv(rds_path_first(tp->path));
	struct rds_tcp_pass pass = { .tp = tp, .sk = sk, .forced = forced };
	read_descriptor_t desc = { .arg.data = &pass, .count = 1 };

	if (tp->rx.dead || !tp->up || (tp->rx.waits && !forced))
		return;

	/* Before anybody can answer. */
	WRITE_ONCE(first->heard, READ_ONCE(first->heard) + 1);
	rds_rx_batch_init(&pass.batch);
	/* An empty message whose header came last may still want its memory. */
	if (rds_tcp_rx_pending(&tp->rx))
		rds_tcp_rx_actor(&desc, NULL, 0, 0);
	if (!desc.error)
		tcp_read_sock(sk, &desc, rds_tcp_rx_actor);
	/* RDS has none, and TCP lets nobody read past the mark in this way. */
	if (!desc.error && tcp_sk(sk)->urg_data) {
		rds_tcp_count(RDS_TCP_DROP_URGENT);
		desc.error = -EBADMSG;
	}
	rds_path_deliver_done(tp->path, &pass.batch);

	if (rds_tcp_rx_paused(tp, desc.error))
		return;
	if (desc.error) {
		if (desc.error == -EPROTO)
			rds_tcp_count(RDS_TCP_DROP_BAD_LEN);
		tp->rx.dead = true;
		rds_path_drop(tp->path, tp->epoch, desc.error);
	}
}

/**
 * rds_tcp_data_ready() - TCP's callback: something was received
 * @sk: the link's socket, locked by the caller
 */
void rds_tcp_data_ready(struct sock *sk)
{
	struct rds_tcp_path *tp;

	rcu_read_lock();
	tp = rcu_dereference_sk_user_data(sk);
	if (tp) {
		rds_tcp_count(RDS_TCP_DATA_READY_CALLS);
		if (rds_tcp_take_turn(tp, sk))
			rds_tcp_read(tp, sk, false);
		else
			rds_tcp_retry_later(tp, 0);
		rds_tcp_event(tp);
	}
	rcu_read_unlock();
}

/**
 * rds_tcp_rx_reset() - forget the partial message
 * @tp: path whose callbacks do not run
 * @sk: the socket by which it came, not locked; NULL if there was none
 */
void rds_tcp_rx_reset(struct rds_tcp_path *tp, struct sock *sk)
{
	struct rds_tcp_rx *rx = &tp->rx;

	if (sk) {
		lock_sock(sk);
		rds_tcp_uncharge(tp, sk);
		release_sock(sk);
	}
	tp->evicted = false;
	if (rx->inc)
		rds_inc_put(rx->inc);
	memset(rx, 0, sizeof(*rx));
	rds_stream_reset(&rx->stream);
}
