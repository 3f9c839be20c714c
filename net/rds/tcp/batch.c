// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over TCP: batches.
 *
 * A batch is an array of page pieces that are handed to TCP in one call.  Large payloads go
 * by reference.  Headers and small payloads are copied into the arena, one behind the other, so
 * that a run of small messages is one piece.  TCP takes references to these pages, therefore a
 * byte of the arena is written once.
 *
 * Batch and arena begin small and grow at need, and go when nothing was sent for a second: there
 * may be very many idle paths.
 */
#include <linux/mm.h>

#include "tcp.h"

/**
 * rds_tcp_batch_alloc() - an empty batch
 * @room: pieces it has room for
 *
 * Context: process, may sleep.
 * Return: the batch, or NULL.
 */
struct rds_tcp_batch *rds_tcp_batch_alloc(unsigned int room)
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

/**
 * rds_tcp_batch_clear() - TCP has all bytes, or the link is gone: let go of the pages
 * @b: the batch, empty afterwards
 *
 * Context: process, link mutex held.
 */
void rds_tcp_batch_clear(struct rds_tcp_batch *b)
{
	while (b->nr_msgs)
		rds_message_put(b->msgs[--b->nr_msgs]);
	while (b->nr_pages)
		put_page(b->pages[--b->nr_pages]);
	net_zcopy_put(b->zcopy);
	b->zcopy = NULL;
	b->nr_bvec = 0;
	b->bytes = 0;
	b->iter.count = 0;
	b->sealed = false;
	b->urgent = false;
}

/**
 * rds_tcp_batch_free() - a path has no batch any more
 * @tx: its transmit state
 *
 * Context: process, link mutex held.
 */
void rds_tcp_batch_free(struct rds_tcp_tx *tx)
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

/* A lone message may have been taken up to somewhere within its header. */
static int rds_tcp_encode_hdr(struct rds_tcp_tx *tx)
{
	struct rds_tcp_batch *b = tx->batch;
	u32 n = RDS_HDR_LEN - tx->cur_off;
	int err = rds_tcp_arena_room(b, RDS_HDR_LEN);

	if (err)
		return err;
	rds_message_hdr(tx->cur, rds_tcp_arena(b));
	if (tx->cur_off)
		memmove(rds_tcp_arena(b), rds_tcp_arena(b) + tx->cur_off, n);
	rds_tcp_batch_add_arena(b, n);
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

/**
 * rds_tcp_encode() - move as much of the current message into the batch as fits
 * @tx: transmit state with a batch and a current message
 *
 * Context: process, link mutex held.
 * Return: 0 = all of it, -ENOSPC or -ENOMEM.
 */
int rds_tcp_encode(struct rds_tcp_tx *tx)
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

/* Was a short message just pulled that has nothing before it and nothing behind it? */
static bool rds_tcp_is_lone(const struct rds_tcp_path *tp)
{
	const struct rds_tcp_tx *tx = &tp->tx;

	return tx->cur && !tx->cur->nr_bvec && !tx->cur_off && !tx->batch->bytes &&
	       rds_path_emptied(tp->path);
}

/**
 * rds_tcp_fill() - add what waits to the batch
 * @tp: path with a batch that is not sealed
 *
 * But not yet a lone message: it stays the current one and may be sent without a batch.
 *
 * Context: process, link mutex held.
 * Return: 0, also if there is nothing to send, or -ENOMEM.
 */
int rds_tcp_fill(struct rds_tcp_path *tp)
{
	struct rds_tcp_tx *tx = &tp->tx;
	bool control = true;
	int err = 0;

	while (err >= 0 && !rds_tcp_batch_full(tx->batch)) {
		if (rds_tcp_is_lone(tp)) {
			break;
		} else if (tx->cur) {
			err = rds_tcp_encode(tx);
		} else if (control && rds_path_control_due(tp->path)) {
			err = rds_tcp_pull_control(tp);
			/* Somebody else took it: do not ask again and again. */
			control = err > 0;
		} else if (rds_path_emptied(tp->path) || !rds_tcp_pull(tp)) {
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
