// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: transmit.
 *
 * A message is one SEND for each fragment; every fragment carries the header.  Header and short
 * payload travel in the ring entry's own buffer, longer payload is mapped where it lies.  Requests
 * are collected and given to the device in one call; the last of each call is signalled, and some
 * in between, because an entry is only retired by a signalled one.  The last fragment of a message
 * has the solicited bit: peers of the old kind look at nothing else.
 *
 * Entries are taken by send(), with the link mutex, and retired in order by the poll work.  When
 * send() has to leave something behind it sets @stalled, and whoever makes room kicks the path.
 *
 * An operation goes before the SENDs of its message; its requests are not in the ring (ops.c).
 */
#include <linux/slab.h>

#include "ib.h"

/* So many SENDs are in the ring, 256 KiB, while users take turns in the core. */
#define RDS_IB_TURNS		64U

/* A completion that takes longer is counted. */
#define RDS_IB_STALLED		(HZ / 2)

/* ---- completions ----------------------------------------------------------------- */

static void rds_ib_slot_retire(struct rds_ib_link *l, struct rds_ib_slot *s)
{
	if (time_after(jiffies, s->posted + RDS_IB_STALLED))
		rds_ib_count(RDS_IB_TX_STALLED);
	if (s->len)
		ib_dma_unmap_page(l->rdev->dev, s->addr, s->len, DMA_TO_DEVICE);
	s->len = 0;
	kfree(s->map);
	s->map = NULL;
	if (s->m)
		rds_message_put(s->m);
	s->m = NULL;
}

/* Retire the oldest @n entries. */
static void rds_ib_retire(struct rds_ib_link *l, u32 n)
{
	struct rds_ib_ring *r = &l->tx.ring;

	while (n--) {
		rds_ib_slot_retire(l, &l->tx.slots[rds_ib_ring_slot(r, r->tail)]);
		rds_ib_ring_free(r, 1);
	}
}

/**
 * rds_ib_tx_wc() - a request of the send ring completed
 * @l: link; poll work
 * @wc: its completion
 *
 * A request that fails completes even if it was not signalled, and all after it are flushed.
 */
void rds_ib_tx_wc(struct rds_ib_link *l, const struct ib_wc *wc)
{
	struct rds_ib_slot *s = container_of(wc->wr_cqe, struct rds_ib_slot, cqe);
	u32 n = rds_ib_ring_upto(&l->tx.ring, s - l->tx.slots);

	rds_ib_retire(l, n);
	if (wc->status == IB_WC_SUCCESS || test_bit(RDS_IB_CLOSING, &l->flags))
		return;
	if (wc->status == IB_WC_WR_FLUSH_ERR) {
		rds_ib_link_fail(l);
		return;
	}
	rds_ib_count(RDS_IB_DROP_WC_ERROR);
	rds_ib_say_send_failed(l, wc->status);
	rds_ib_link_drop(l, -EIO);
}

/**
 * rds_ib_tx_room() - there is room again: let send() go on
 * @l: link
 */
void rds_ib_tx_room(struct rds_ib_link *l)
{
	smp_mb();	/* room before the look; pairs with rds_ib_stall() */
	if (test_bit(0, &l->tx.stalled) && test_and_clear_bit(0, &l->tx.stalled))
		rds_path_kick(l->ib->path);
}

/* ---- building SENDs ------------------------------------------------------------------ */

/* Give the collected requests to the device; @solicit: the last one too, for a peer must act. */
static int rds_ib_flush(struct rds_ib_link *l, bool solicit)
{
	struct rds_ib_tx *tx = &l->tx;
	struct ib_send_wr *last;
	u32 i, nr = tx->nr;

	if (!nr)
		return 0;
	tx->nr = 0;
	for (i = 0; i + 1 < nr; i++)
		tx->batch[i].wr.next = &tx->batch[i + 1].wr;
	last = &tx->batch[nr - 1].wr;
	last->next = NULL;
	last->send_flags |= IB_SEND_SIGNALED;
	if (solicit)
		last->send_flags |= IB_SEND_SOLICITED;
	tx->unsignaled = 0;
	/* Some were not posted, and the link is dead: -ENOMEM would mean to try again. */
	return ib_post_send(l->qp, &tx->batch[0].wr, NULL) ? -EIO : 0;
}

/*
 * Where the payload of the current item from @off on lies: @n bytes of one piece, in @page.
 * Fragments come in order: pieces before this one are not looked at again.
 */
static bool rds_ib_piece(struct rds_ib_tx *tx, u32 off, u32 n, struct page **page, u32 *page_off)
{
	const struct rds_message *m = tx->cur;
	const void *linear = m ? m->data : tx->map + RDS_HDR_LEN;

	if (!m || !m->nr_bvec) {
		*page = virt_to_page(linear + off);
		*page_off = offset_in_page(linear + off);
		return true;
	}
	off -= tx->piece_start;
	for (; tx->piece < m->nr_bvec; tx->piece++) {
		const struct bio_vec *bv = &m->bvec[tx->piece];

		if (off < bv->bv_len) {
			*page = bv->bv_page;
			*page_off = bv->bv_offset + off;
			return n <= bv->bv_len - off;
		}
		off -= bv->bv_len;
		tx->piece_start += bv->bv_len;
	}
	return false;
}

/* Payload of a fragment: into the entry's buffer, or mapped. */
static int rds_ib_payload(struct rds_ib_link *l, struct rds_ib_slot *s, struct rds_ib_wr *w,
			  u8 *buf, u32 off, u32 n)
{
	struct ib_device *dev = l->rdev->dev;
	struct page *page;
	u32 page_off;
	u64 addr;

	if (!n)
		return 0;
	/* Pieces are whole pages, but for the last one of a message. */
	if (WARN_ON_ONCE(!rds_ib_piece(&l->tx, off, n, &page, &page_off)))
		return -EINVAL;
	if (n <= RDS_IB_INLINE) {
		/* Never high memory; but it may lie behind the first page of a piece. */
		memcpy(buf + RDS_HDR_LEN, page_address(page) + page_off, n);
		w->sge[0].length += n;
		return 0;
	}
	addr = ib_dma_map_page(dev, page, page_off, n, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(dev, addr)) {
		rds_ib_count(RDS_IB_TX_SG_MAPPING_FAILURE);
		return -ENOMEM;
	}
	s->addr = addr;
	s->len = n;
	w->sge[1] = (struct ib_sge){ .addr = addr, .length = n,
				     .lkey = l->rdev->pd->local_dma_lkey };
	w->wr.num_sge = 2;
	return 0;
}

/* One fragment into entry @pos; the header is in the entry's buffer already. */
static int rds_ib_fragment(struct rds_ib_link *l, u32 pos, bool fence)
{
	struct rds_ib_tx *tx = &l->tx;
	u32 index = rds_ib_ring_slot(&tx->ring, pos);
	u32 n = min(tx->hdr.len - tx->off, RDS_IB_FRAG);
	struct rds_ib_slot *s = &tx->slots[index];
	struct rds_ib_wr *w = &tx->batch[tx->nr];
	bool last = tx->off + n == tx->hdr.len;
	int err;

	memset(&w->wr, 0, sizeof(w->wr));
	w->sge[0] = (struct ib_sge){ .addr = rds_ib_buf_dma(&tx->bufs, index),
				     .length = RDS_HDR_LEN,
				     .lkey = l->rdev->pd->local_dma_lkey };
	w->wr.wr_cqe = &s->cqe;
	w->wr.sg_list = w->sge;
	w->wr.num_sge = 1;
	w->wr.opcode = IB_WR_SEND;
	if (++tx->unsignaled >= READ_ONCE(rds_ib_sysctl_max_unsignaled_wr)) {
		w->wr.send_flags |= IB_SEND_SIGNALED;
		tx->unsignaled = 0;
	}
	if (last)
		w->wr.send_flags |= IB_SEND_SOLICITED;
	if (fence)
		w->wr.send_flags |= IB_SEND_FENCE;
	err = rds_ib_payload(l, s, w, rds_ib_buf(&tx->bufs, index), tx->off, n);
	if (err)
		return err;
	ib_dma_sync_single_for_device(l->rdev->dev, w->sge[0].addr, w->sge[0].length,
				      DMA_TO_DEVICE);
	s->posted = jiffies;
	tx->off += n;
	tx->nr++;
	if (!last)
		return 0;
	if (tx->cur)
		tx->unasked = !l->ours && !(tx->hdr.flags & RDS_FLAG_ACK_REQUIRED);
	s->m = tx->cur;
	s->map = tx->map;
	tx->cur = NULL;
	tx->map = NULL;
	return 1;
}

/* ---- what comes next -------------------------------------------------------------------- */

/* A congestion map: 1 if there is one, 0 if not, or -ENOMEM. */
static int rds_ib_pull_map(struct rds_ib_link *l)
{
	struct rds_ib_tx *tx = &l->tx;

	tx->map = kmalloc(RDS_CONTROL_MAX, GFP_KERNEL | __GFP_NOWARN);
	if (!tx->map)
		return -ENOMEM;
	if (!rds_path_pull_control(l->ib->path, tx->map)) {
		kfree(tx->map);
		tx->map = NULL;
		return 0;
	}
	rds_hdr_parse(tx->map, RDS_HDR_LEN, &tx->hdr);
	return 1;
}

static bool rds_ib_pull_message(struct rds_ib_link *l)
{
	struct rds_path *p = l->ib->path;
	struct rds_ib_tx *tx = &l->tx;
	struct rds_message *m = rds_path_pull(p, NULL);

	if (!m)
		return false;
	tx->cur = m;
	tx->hdr = (struct rds_hdr){
		.seq = m->seq,
		.len = m->len,
		.sport = m->sport,
		.dport = m->dport,
		.flags = m->flags,
	};
	memcpy(tx->hdr.ext, m->ext, sizeof(tx->hdr.ext));
	/*
	 * A peer of the old kind acknowledges only what it is asked to: do not leave a tail, nor
	 * if what is queued never goes (rds_ib_tail()).
	 */
	if (!l->ours && !rds_path_has_queued(p))
		tx->hdr.flags |= RDS_FLAG_ACK_REQUIRED;
	return true;
}

/* The next item: 1 if there is one, 0 if nothing is left, or -ENOMEM. */
static int rds_ib_pull(struct rds_ib_link *l)
{
	struct rds_ib_tx *tx = &l->tx;
	int ret = 0;

	if (tx->cur || tx->map)
		return 1;
	tx->off = 0;
	tx->piece = 0;
	tx->piece_start = 0;
	tx->ops_posted = false;
	if (rds_path_control_due(l->ib->path))
		ret = rds_ib_pull_map(l);
	return ret ? ret : rds_ib_pull_message(l);
}

/* Post the operation of the current message: 0, 1 if that was all of it, or -errno. */
static int rds_ib_operation(struct rds_ib_link *l)
{
	struct rds_ib_tx *tx = &l->tx;
	int ret;

	/* What was collected goes before it. */
	ret = rds_ib_flush(l, false);
	if (ret)
		return ret;
	ret = rds_ib_ops_post(l, tx->cur);
	if (ret < 0)
		return ret;
	tx->ops_posted = true;
	if (ret) {
		rds_message_put(tx->cur);
		tx->cur = NULL;
	}
	return ret;
}

/* ---- posting -------------------------------------------------------------------------- */

/*
 * Room for SENDs.  What is in the ring goes in that order: while more waits in the core than a few
 * messages, it has to wait there, where users take turns.
 */
static u32 rds_ib_room(const struct rds_ib_link *l)
{
	u32 room = rds_ib_ring_room(&l->tx.ring);
	u32 used = rds_ib_ring_used(&l->tx.ring);

	if (!rds_path_has_backlog(l->ib->path))
		return room;
	return min(room, RDS_IB_TURNS - min(used, RDS_IB_TURNS));
}

/* So many SENDs of the current item can be posted now; headers are written for them. */
static u32 rds_ib_admit(struct rds_ib_link *l, u32 *pos, bool *starved)
{
	struct rds_ib_tx *tx = &l->tx;
	u32 left = max(DIV_ROUND_UP(tx->hdr.len - tx->off, RDS_IB_FRAG), 1U);
	u32 n, i, room;
	u8 grant, *buf;

	room = rds_ib_room(l);
	n = min3(left, room, RDS_IB_BATCH - tx->nr);
	if (!n) {
		rds_ib_count(RDS_IB_TX_RING_FULL);
		return 0;
	}
	spin_lock_bh(&l->lock);
	n = rds_ib_credit_take(&l->credit, n, &grant);
	if (n)
		tx->hdr.ack = rds_ib_ack_take(l);
	spin_unlock_bh(&l->lock);
	if (!n) {
		rds_ib_count(RDS_IB_TX_THROTTLE);
		*starved = true;
		return 0;
	}
	/* Room was there, and only we take it. */
	rds_ib_ring_take(&tx->ring, n, pos);
	tx->grant = grant;
	for (i = 0; i < n; i++) {
		buf = rds_ib_buf(&tx->bufs, rds_ib_ring_slot(&tx->ring, *pos + i));
		tx->hdr.credit = i ? 0 : grant;
		rds_hdr_build(buf, &tx->hdr);
		rds_hdr_seal(buf);
	}
	return n;
}

/* Not everything that was admitted could be built: give the rest back. */
static void rds_ib_unadmit(struct rds_ib_link *l, u32 n, bool first)
{
	rds_ib_ring_untake(&l->tx.ring, n);
	spin_lock_bh(&l->lock);
	rds_ib_credit_give_back(&l->credit, n, first ? l->tx.grant : 0);
	/* The header with the acknowledgment does not go now. */
	if (first && l->ack_seq)
		set_bit(RDS_IB_ACK_WANTED, &l->flags);
	spin_unlock_bh(&l->lock);
	rds_ib_ack(l);
}

/* The last credit is used: what follows has to wait, and the peer must look at what it got. */
static bool rds_ib_starving(struct rds_ib_link *l)
{
	bool left;

	spin_lock_bh(&l->lock);
	left = rds_ib_credit_left(&l->credit);
	spin_unlock_bh(&l->lock);
	return !left;
}

/*
 * Post of the current item what there is room for.  1: all of it, 0: it has to wait for room in the
 * ring or for credits, or -errno; -EAGAIN: for an operation, ops.c kicks.
 */
static int rds_ib_post(struct rds_ib_link *l, bool *starved)
{
	struct rds_ib_tx *tx = &l->tx;
	u32 i, n, pos;
	bool fence;
	int ret;

	if (tx->cur && !tx->ops_posted && rds_op_pending(tx->cur)) {
		ret = rds_ib_operation(l);
		if (ret)
			return ret;
	}
	fence = tx->cur && tx->cur->op && tx->cur->op->fence;
	for (;;) {
		if (tx->nr == RDS_IB_BATCH) {
			ret = rds_ib_flush(l, rds_ib_starving(l));
			if (ret)
				return ret;
		}
		n = rds_ib_admit(l, &pos, starved);
		if (!n)
			return 0;
		for (i = 0; i < n; i++) {
			ret = rds_ib_fragment(l, pos + i, fence);
			if (ret < 0) {
				rds_ib_unadmit(l, n - i, !i);
				return ret;
			}
		}
		if (ret)
			return 1;
	}
}

/* Something stays behind.  True if there are credits, or is room, by now: go on. */
static bool rds_ib_stall(struct rds_ib_link *l, bool starved)
{
	struct rds_ib_tx *tx = &l->tx;
	bool go;

	set_bit(0, &tx->stalled);
	smp_mb();	/* pairs with rds_ib_tx_room() */
	if (starved)
		go = !rds_ib_starving(l);
	else	/* Not empty: a completion is still to come. */
		go = !rds_ib_ring_used(&tx->ring);
	return go && test_and_clear_bit(0, &tx->stalled);
}

/*
 * The messages behind the last one were taken back, or were operations without a message: 0, or
 * -ENOMEM.
 */
static int rds_ib_tail(struct rds_ib_link *l)
{
	int err;

	if (!l->tx.unasked || rds_path_has_queued(l->ib->path))
		return 0;
	err = rds_path_blank(l->ib->path);
	l->tx.unasked = err == -ENOMEM;
	return l->tx.unasked ? err : 0;
}

/* Pull and post until nothing is left (0), or -errno; -ENOSPC: it has to wait. */
static int rds_ib_push(struct rds_ib_link *l, bool *starved)
{
	int ret;

	for (;;) {
		ret = rds_ib_pull(l);
		if (!ret)
			ret = rds_ib_tail(l);
		if (ret <= 0)
			return ret;
		ret = rds_ib_post(l, starved);
		if (!ret)
			return -ENOSPC;
		if (ret < 0)
			return ret;
	}
}

/**
 * rds_ib_send() - post as much as there is room for
 * @p: path, UP, link mutex held
 *
 * Return: 0 if nothing is left that could be sent now, or -errno: the link is dead.
 */
int rds_ib_send(struct rds_path *p)
{
	struct rds_ib_path *ib = rds_path_priv(p);
	struct rds_ib_link *l = ib->link;
	bool starved = false;
	int ret, err;

	/* A link that comes up kicks us; one that is being stopped needs nothing. */
	if (!l || !test_bit(RDS_IB_UP, &l->flags) || test_bit(RDS_IB_CLOSING, &l->flags))
		return 0;
	/* It would be flushed, and an operation then counts as one that may have been executed. */
	if (test_bit(RDS_IB_FAILED, &l->flags))
		return 0;
	clear_bit(0, &l->tx.stalled);
	ret = rds_ib_push(l, &starved);
	/* Before a wait for credits: the peer must look at what it got. */
	err = rds_ib_flush(l, starved);
	if (err)
		return err;
	if (ret == -ENOMEM) {
		rds_ib_count(RDS_IB_TX_NOMEM);
		set_bit(0, &l->tx.stalled);
		rds_ib_retry_later(l, RDS_IB_RETRY_DELAY);
		return 0;
	}
	if (ret == -ENOSPC && rds_ib_stall(l, starved))
		rds_path_kick(p);
	return ret == -ENOSPC || ret == -EAGAIN ? 0 : ret;
}

/* ---- begin and end ---------------------------------------------------------------------- */

/**
 * rds_ib_tx_init() - make the sending half of a link
 * @l: link with a device
 * @nr: entries of the ring
 *
 * Return: 0 or -ENOMEM; rds_ib_tx_free() in either case.
 */
int rds_ib_tx_init(struct rds_ib_link *l, u32 nr)
{
	u32 size = rds_ib_ring_init(&l->tx.ring, nr);

	l->tx.ack_cqe.done = rds_ib_ack_done;
	l->tx.slots = kvcalloc(size, sizeof(*l->tx.slots), GFP_KERNEL_ACCOUNT);
	l->tx.batch = kvcalloc(RDS_IB_BATCH, sizeof(*l->tx.batch), GFP_KERNEL_ACCOUNT);
	if (!l->tx.slots || !l->tx.batch)
		return -ENOMEM;
	return rds_ib_bufs_init(&l->tx.bufs, l->rdev->dev, size + 1, RDS_IB_TX_BUF,
				DMA_TO_DEVICE);
}

/**
 * rds_ib_tx_free() - end of the sending half
 * @l: link whose queue pair is gone
 */
void rds_ib_tx_free(struct rds_ib_link *l)
{
	struct rds_ib_tx *tx = &l->tx;

	if (tx->slots)
		rds_ib_retire(l, rds_ib_ring_used(&tx->ring));
	if (tx->cur)
		rds_message_put(tx->cur);
	tx->cur = NULL;
	kfree(tx->map);
	tx->map = NULL;
	rds_ib_bufs_free(&tx->bufs);
	kvfree(tx->batch);
	kvfree(tx->slots);
}
