// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: receive.
 *
 * A receive buffer is a header and a page.  Short payloads are copied out and the page is posted
 * again; of longer messages the pages are kept, and others take their place.  Fragments of
 * a message come one behind the other; each repeats the header.
 *
 * A frame whose message finds no memory is held, and what comes behind it waits in the ring.
 * Acknowledgments and credits are taken from all of them as they come.  In the end the ring runs
 * empty and the peer's device waits.
 *
 * All pages, posted or in messages, count against max_recv_allocation; when much of it is in use
 * the rings do not grow any more.  What is posted cannot be taken back from a queue pair, so links
 * that are idle may have all of it; hence the few first buffers of a link are its own whatever the
 * others have.  How many links there are is bounded, too, and they count there.
 */
#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "ib.h"

/* Payloads up to this size are copied. */
#define RDS_IB_LINEAR_MAX	2048U
/* A message that is not charged is tried again after this. */
#define RDS_IB_CHARGE_DELAY	(HZ / 10 + 1)

/**
 * struct rds_ib_inc - a message in pages
 * @inc: the core's part
 * @nr: pages
 * @pages: one for each fragment
 */
struct rds_ib_inc {
	struct rds_incoming inc;
	u32 nr;
	struct page *pages[] __counted_by(nr);
};

/* A fragment has a page of its own however large that is; the limit counts fragments' bytes. */
#define RDS_IB_PAGE_UNITS	((long)(PAGE_SIZE / RDS_IB_FRAG))

static atomic_long_t rds_ib_pages;

/**
 * rds_ib_rx_pages() - memory in use for receiving, in units of 4 KiB
 */
long rds_ib_rx_pages(void)
{
	return atomic_long_read(&rds_ib_pages);
}

/* @own: one of those that a link has in any case. */
static struct page *rds_ib_page_alloc(bool own, gfp_t gfp)
{
	struct page *page = NULL;

	if (atomic_long_add_return(RDS_IB_PAGE_UNITS, &rds_ib_pages) <=
	    READ_ONCE(rds_ib_sysctl_max_recv_allocation) || own)
		page = alloc_page(gfp | __GFP_NOWARN);
	else
		rds_ib_count(RDS_IB_RX_ALLOC_LIMIT);
	if (!page)
		atomic_long_sub(RDS_IB_PAGE_UNITS, &rds_ib_pages);
	return page;
}

static void rds_ib_page_free(struct page *page)
{
	__free_page(page);
	atomic_long_sub(RDS_IB_PAGE_UNITS, &rds_ib_pages);
}

/* ---- messages in pages ------------------------------------------------------------ */

static int rds_ib_inc_read(struct rds_incoming *inc, size_t off, struct iov_iter *to, size_t n)
{
	struct rds_ib_inc *in = container_of(inc, struct rds_ib_inc, inc);

	while (n) {
		size_t in_page = off % RDS_IB_FRAG;
		size_t part = min_t(size_t, n, RDS_IB_FRAG - in_page);

		if (copy_page_to_iter(in->pages[off / RDS_IB_FRAG], in_page, part, to) != part)
			return -EFAULT;
		off += part;
		n -= part;
	}
	return 0;
}

static void rds_ib_inc_free(struct rds_incoming *inc)
{
	struct rds_ib_inc *in = container_of(inc, struct rds_ib_inc, inc);
	u32 i;

	for (i = 0; i < in->nr && in->pages[i]; i++)
		rds_ib_page_free(in->pages[i]);
	kvfree(in);
}

static const struct rds_inc_ops rds_ib_inc_ops = {
	.read = rds_ib_inc_read,
	.free = rds_ib_inc_free,
	.owner = THIS_MODULE,
};

static struct rds_incoming *rds_ib_inc_alloc(u32 len, u8 **data)
{
	u32 nr = DIV_ROUND_UP(len, RDS_IB_FRAG);
	struct rds_ib_inc *in;

	if (len <= RDS_IB_LINEAR_MAX)
		return rds_inc_alloc_linear(len, GFP_ATOMIC | __GFP_NOWARN, data);
	in = kzalloc(struct_size(in, pages, nr), GFP_ATOMIC | __GFP_NOWARN);
	if (!in)
		return NULL;
	in->nr = nr;
	rds_inc_init(&in->inc, &rds_ib_inc_ops,
		     kmalloc_size_roundup(struct_size(in, pages, nr)) + nr * PAGE_SIZE);
	*data = NULL;
	return &in->inc;
}

/* ---- buffers ------------------------------------------------------------------------ */

static bool rds_ib_rbuf_fill(struct rds_ib_link *l, struct rds_ib_rbuf *b, gfp_t gfp)
{
	struct ib_device *dev = l->rdev->dev;

	if (b->page)		/* a spare one */
		return true;
	b->page = rds_ib_page_alloc(rds_ib_ring_used(&l->rx.ring) < RDS_IB_OWN_BUFFERS, gfp);
	if (!b->page)
		return false;
	b->dma = ib_dma_map_page(dev, b->page, 0, RDS_IB_FRAG, DMA_FROM_DEVICE);
	if (!ib_dma_mapping_error(dev, b->dma)) {
		l->rx.spare++;
		return true;
	}
	rds_ib_page_free(b->page);
	b->page = NULL;
	return false;
}

static void rds_ib_rbuf_unmap(struct rds_ib_link *l, struct rds_ib_rbuf *b)
{
	ib_dma_unmap_page(l->rdev->dev, b->dma, RDS_IB_FRAG, DMA_FROM_DEVICE);
	b->page = NULL;
}

/*
 * The oldest buffer was used and its page was not kept.  It goes where the next one will be
 * posted that has none, so that a link has as many pages as it ever has buffers posted; above the
 * bound as few as are its own.
 */
static void rds_ib_rbuf_spare(struct rds_ib_link *l, struct rds_ib_rbuf *b)
{
	struct rds_ib_rx *rx = &l->rx;
	struct rds_ib_rbuf *to = &rx->bufs[rds_ib_ring_slot(&rx->ring, rx->ring.head + rx->spare)];
	struct page *page = b->page;

	if (!page)
		return;
	if (rds_ib_ring_used(&rx->ring) + rx->spare > RDS_IB_OWN_BUFFERS &&
	    rds_ib_rx_pages() > READ_ONCE(rds_ib_sysctl_max_recv_allocation)) {
		rds_ib_rbuf_unmap(l, b);
		rds_ib_page_free(page);
		return;
	}
	b->page = NULL;
	to->page = page;
	to->dma = b->dma;
	rx->spare++;
}

/* Post the buffer of the next position: 0, -ENOMEM or another -errno. */
static int rds_ib_post_one(struct rds_ib_link *l, gfp_t gfp)
{
	struct rds_ib_rx *rx = &l->rx;
	struct ib_recv_wr wr = {};
	struct ib_sge sge[2];
	struct rds_ib_rbuf *b;
	u32 pos, index;
	int err;

	index = rds_ib_ring_slot(&rx->ring, rx->ring.head);
	b = &rx->bufs[index];
	if (!rds_ib_rbuf_fill(l, b, gfp))
		return -ENOMEM;
	sge[0] = (struct ib_sge){ .addr = rds_ib_buf_dma(&rx->hdrs, index), .length = RDS_HDR_LEN,
				  .lkey = l->rdev->pd->local_dma_lkey };
	sge[1] = (struct ib_sge){ .addr = b->dma, .length = RDS_IB_FRAG,
				  .lkey = l->rdev->pd->local_dma_lkey };
	wr.wr_cqe = &b->cqe;
	wr.sg_list = sge;
	wr.num_sge = ARRAY_SIZE(sge);
	ib_dma_sync_single_for_device(l->rdev->dev, sge[0].addr, RDS_HDR_LEN, DMA_FROM_DEVICE);
	rds_ib_ring_take(&rx->ring, 1, &pos);
	err = ib_post_recv(l->qp, &wr, NULL);
	if (err)
		rds_ib_ring_untake(&rx->ring, 1);
	else
		rx->spare--;
	return err;
}

/**
 * rds_ib_refill() - post receive buffers
 * @l: link
 * @gfp: how to allocate
 *
 * Return: false if memory was short.
 */
bool rds_ib_refill(struct rds_ib_link *l, gfp_t gfp)
{
	struct rds_ib_rx *rx = &l->rx;
	u32 posted = 0;
	int err = 0;

	while (rds_ib_ring_used(&rx->ring) < rx->target) {
		err = rds_ib_post_one(l, gfp);
		if (err)
			break;
		posted++;
	}
	spin_lock_bh(&l->lock);
	rds_ib_credit_posted(&l->credit, posted);
	spin_unlock_bh(&l->lock);
	if (err && err != -ENOMEM)
		rds_ib_link_drop(l, err);
	return err != -ENOMEM;
}

/**
 * rds_ib_rx_posted() - buffers that the device has
 * @l: link; poll work
 */
u32 rds_ib_rx_posted(const struct rds_ib_link *l)
{
	return rds_ib_ring_used(&l->rx.ring) - l->rx.waiting;
}

/* After a pass: post again what was used, and more of it if that was nearly all. */
static void rds_ib_replenish(struct rds_ib_link *l)
{
	struct rds_ib_rx *rx = &l->rx;
	u32 posted = rds_ib_rx_posted(l);

	/* A queue pair in error would give them back at once, without end. */
	if (rx->dead || test_bit(RDS_IB_CLOSING, &l->flags) || posted > rx->target / 2)
		return;
	if (!posted)
		rds_ib_count(RDS_IB_RX_RING_EMPTY);
	if (posted <= rx->target / 4 &&
	    rds_ib_rx_pages() < READ_ONCE(rds_ib_sysctl_max_recv_allocation) / 2)
		rx->target = min(rx->target * 2, rx->ring.nr);
	rds_ib_count(RDS_IB_RX_REFILL_FROM_CQ);
	/* With as many as are its own it waits for what comes, and asks for more then. */
	if (rds_ib_refill(l, GFP_ATOMIC) || rds_ib_rx_posted(l) >= RDS_IB_OWN_BUFFERS)
		return;
	rds_ib_count(RDS_IB_RX_NOMEM);
	rds_ib_count(RDS_IB_RX_REFILL_FROM_THREAD);
	rds_ib_retry_later(l, RDS_IB_RETRY_DELAY);
}

/* ---- one completion -------------------------------------------------------------------- */

/* The peer broke the protocol, or the link is broken: nothing is delivered any more. */
static bool rds_ib_rx_end(struct rds_ib_link *l, int err)
{
	l->rx.dead = true;
	rds_ib_link_drop(l, err);
	return true;
}

static bool rds_ib_rx_dead(struct rds_ib_link *l, enum rds_ib_stat why, int err)
{
	rds_ib_count(why);
	return rds_ib_rx_end(l, err);
}

static struct rds_ib_rbuf *rds_ib_rbuf_of(const struct ib_wc *wc)
{
	return container_of(wc->wr_cqe, struct rds_ib_rbuf, cqe);
}

/* Acknowledgment and credits; each completion once. */
static void rds_ib_rx_control(struct rds_ib_link *l, const struct rds_hdr *h)
{
	if (h->ack > l->rx.acked)
		l->rx.acked = h->ack;
	if (!h->credit)
		return;
	rds_ib_count(RDS_IB_RX_CREDIT_UPDATES);
	spin_lock_bh(&l->lock);
	rds_ib_credit_got(&l->credit, h->credit);
	spin_unlock_bh(&l->lock);
	rds_ib_tx_room(l);
}

/* Take the payload of a fragment out of its buffer. */
static void rds_ib_rx_payload(struct rds_ib_link *l, struct rds_ib_rbuf *b, u32 n)
{
	struct rds_ib_rx *rx = &l->rx;
	struct rds_ib_inc *in;

	if (rx->data) {
		ib_dma_sync_single_for_cpu(l->rdev->dev, b->dma, n, DMA_FROM_DEVICE);
		memcpy_from_page(rx->data + rx->got, b->page, 0, n);
		ib_dma_sync_single_for_device(l->rdev->dev, b->dma, n, DMA_FROM_DEVICE);
	} else {
		in = container_of(rx->inc, struct rds_ib_inc, inc);
		in->pages[rx->got / RDS_IB_FRAG] = b->page;
		rds_ib_rbuf_unmap(l, b);
	}
	rx->got += n;
}

/* A first fragment: 0 or -ENOMEM. */
static int rds_ib_rx_start(struct rds_ib_link *l, const struct rds_hdr *h)
{
	struct rds_ib_rx *rx = &l->rx;

	rx->inc = rds_ib_inc_alloc(h->len, &rx->data);
	if (!rx->inc)
		return -ENOMEM;
	rx->hdr = *h;
	rx->got = 0;
	if (rds_rx_tracing()) {
		rx->inc->trace[RDS_RX_CLOCK_FIRST] = local_clock();
		rx->inc->trace[RDS_RX_CLOCK_HDR] = local_clock();
	}
	return 0;
}

static bool rds_ib_same_message(const struct rds_hdr *a, const struct rds_hdr *b)
{
	return a->seq == b->seq && a->len == b->len && a->sport == b->sport &&
	       a->dport == b->dport;
}

static void rds_ib_rx_complete(struct rds_ib_link *l)
{
	struct rds_ib_rx *rx = &l->rx;
	struct rds_incoming *inc = rx->inc;

	rx->inc = NULL;
	rds_ib_partial_done(l);
	WRITE_ONCE(rx->incs, rx->incs + 1);
	rds_ib_count(RDS_IB_RX_TOTAL_INCS);
	if (!rds_hdr_is_cong(&rx->hdr)) {
		rx->seq = rx->hdr.seq;
		rx->ask |= rx->hdr.flags & RDS_FLAG_ACK_REQUIRED;
	}
	rds_path_deliver(l->ib->path, l->epoch, &rx->hdr, inc, &rx->batch);
}

/* A fragment with payload, or a message without.  False: it has to be held. */
static bool rds_ib_rx_fragment(struct rds_ib_link *l, struct rds_ib_rbuf *b,
			       const struct rds_hdr *h)
{
	struct rds_ib_rx *rx = &l->rx;
	u32 n = b->len - RDS_HDR_LEN;
	u32 need;

	if (!rx->inc) {
		if (h->len > RDS_MAX_MSG_SIZE)
			return rds_ib_rx_dead(l, RDS_IB_DROP_BAD_LEN, -EPROTO);
		if (n < min(h->len, RDS_IB_FRAG))
			return rds_ib_rx_dead(l, RDS_IB_DROP_SHORT, -EPROTO);
		if (rds_ib_rx_start(l, h)) {
			rds_ib_count(RDS_IB_RX_NOMEM);
			rds_ib_retry_later(l, RDS_IB_RETRY_DELAY);
			return false;
		}
	} else if (!rds_ib_same_message(h, &rx->hdr)) {
		return rds_ib_rx_dead(l, RDS_IB_DROP_MISMATCH, -EPROTO);
	}
	need = min(rx->hdr.len - rx->got, RDS_IB_FRAG);
	if (n < need)
		return rds_ib_rx_dead(l, RDS_IB_DROP_SHORT, -EPROTO);
	if (!rx->data && rx->got + need < rx->hdr.len &&
	    !rds_ib_partial_charge(l, rx->got + need)) {
		rds_ib_retry_later(l, RDS_IB_CHARGE_DELAY);
		return false;
	}
	rds_ib_count(RDS_IB_RX_TOTAL_FRAGS);
	if (need)
		rds_ib_rx_payload(l, b, need);
	if (rx->got == rx->hdr.len)
		rds_ib_rx_complete(l);
	return true;
}

/* Is this a good frame?  Its header; or false, then the link is given up. */
static bool rds_ib_rx_check(struct rds_ib_link *l, const struct ib_wc *wc, struct rds_hdr *h)
{
	struct rds_ib_rx *rx = &l->rx;
	u32 index = rds_ib_rbuf_of(wc) - rx->bufs;
	u8 *raw;

	if (wc->status != IB_WC_SUCCESS) {
		if (!rx->dead && !test_bit(RDS_IB_CLOSING, &l->flags)) {
			rds_ib_count(RDS_IB_DROP_WC_ERROR);
			rds_ib_link_fail(l);
		}
		rx->dead = true;
		return false;
	}
	if (rx->dead)
		return false;
	if (wc->opcode != IB_WC_RECV ||
	    wc->wc_flags & (IB_WC_WITH_IMM | IB_WC_WITH_INVALIDATE))
		return !rds_ib_rx_dead(l, RDS_IB_DROP_BAD_WC, -EPROTO);
	if (wc->byte_len < RDS_HDR_LEN)
		return !rds_ib_rx_dead(l, RDS_IB_DROP_SHORT, -EPROTO);
	raw = rds_ib_buf(&rx->hdrs, index);
	ib_dma_sync_single_for_cpu(l->rdev->dev, rds_ib_buf_dma(&rx->hdrs, index), RDS_HDR_LEN,
				   DMA_FROM_DEVICE);
	rds_hdr_parse(raw, RDS_HDR_LEN, h);
	if (!h->csum || rds_hdr_csum_ok(raw))
		return true;
	rds_path_bad_checksum(l->ib->path, h);
	return !rds_ib_rx_end(l, -EPROTO);
}

/* Acknowledgments travel alone, too. */
static bool rds_ib_is_ack(const struct rds_hdr *h, u32 len)
{
	return len == RDS_HDR_LEN && !h->sport && !h->dport && !h->len;
}

/* Handle the oldest frame that waits, whose header is @h, or hold it. */
static void rds_ib_rx_next(struct rds_ib_link *l, const struct rds_hdr *h)
{
	struct rds_ib_rx *rx = &l->rx;
	struct rds_ib_rbuf *b = &rx->bufs[rds_ib_ring_slot(&rx->ring, rx->ring.tail)];

	rx->held = !rx->dead && !rds_ib_is_ack(h, b->len) && !rds_ib_rx_fragment(l, b, h);
	if (rx->held)
		return;
	rx->waiting--;
	rds_ib_rbuf_spare(l, b);
	rds_ib_ring_free(&rx->ring, 1);
}

/**
 * rds_ib_rx_wc() - something was received
 * @l: link; poll work
 * @wc: the completion; they come in the order of the buffers
 */
void rds_ib_rx_wc(struct rds_ib_link *l, const struct ib_wc *wc)
{
	struct rds_ib_rx *rx = &l->rx;
	struct rds_hdr h = {};

	if (rds_ib_rx_check(l, wc, &h)) {
		rds_ib_rx_control(l, &h);
		if (rds_ib_is_ack(&h, wc->byte_len))
			rds_ib_count(RDS_IB_ACK_RECEIVED);
	}
	rds_ib_rbuf_of(wc)->len = wc->byte_len;
	rx->waiting++;
	if (!rx->held)
		rds_ib_rx_next(l, &h);
}

/**
 * rds_ib_rx_begin() - begin a pass: with what was left by the one before
 * @l: link; poll work
 */
void rds_ib_rx_begin(struct rds_ib_link *l)
{
	struct rds_ib_rx *rx = &l->rx;
	struct rds_hdr h;

	rds_rx_batch_init(&rx->batch);
	rx->ask = false;
	rx->held = false;
	/* The peer sends it again by the next link; nor may what is behind it overtake it. */
	if (rx->waiting && test_bit(RDS_IB_CLOSING, &l->flags))
		rx->dead = true;
	while (rx->waiting && !rx->held) {
		rds_hdr_parse(rds_ib_buf(&rx->hdrs, rds_ib_ring_slot(&rx->ring, rx->ring.tail)),
			      RDS_HDR_LEN, &h);
		rds_ib_rx_next(l, &h);
	}
}

/* What is there of a message goes at once: others may wait for the memory. */
static void rds_ib_rx_abandon(struct rds_ib_link *l)
{
	rds_ib_partial_done(l);
	if (l->rx.inc)
		rds_inc_put(l->rx.inc);
	l->rx.inc = NULL;
}

/**
 * rds_ib_rx_done() - end of a pass
 * @l: link; poll work
 */
void rds_ib_rx_done(struct rds_ib_link *l)
{
	struct rds_ib_rx *rx = &l->rx;
	u64 acked = rx->acked;

	rds_path_deliver_done(l->ib->path, &rx->batch);
	if (acked != rx->reported) {
		rx->reported = acked;
		rds_path_acked(l->ib->path, l->epoch, acked);
	}
	if (rx->dead)
		rds_ib_rx_abandon(l);
	rds_ib_replenish(l);
	rds_ib_received(l, rx->seq, rx->ask);
	/* With buffers to tell of, the last credit can be used. */
	if (l->credit.on)
		rds_ib_tx_room(l);
}

/* ---- begin and end ---------------------------------------------------------------------- */

/**
 * rds_ib_rx_init() - make the receiving half of a link
 * @l: link with a device
 * @nr: entries of the ring
 *
 * Return: 0 or -ENOMEM; rds_ib_rx_free() in either case.
 */
int rds_ib_rx_init(struct rds_ib_link *l, u32 nr)
{
	u32 size = rds_ib_ring_init(&l->rx.ring, nr);

	l->rx.target = min(nr, RDS_IB_FIRST_TARGET);
	l->rx.bufs = kvcalloc(size, sizeof(*l->rx.bufs), GFP_KERNEL_ACCOUNT);
	if (!l->rx.bufs)
		return -ENOMEM;
	return rds_ib_bufs_init(&l->rx.hdrs, l->rdev->dev, size, roundup_pow_of_two(RDS_HDR_LEN),
				DMA_FROM_DEVICE);
}

/**
 * rds_ib_rx_free() - end of the receiving half
 * @l: link whose queue pair is gone
 */
void rds_ib_rx_free(struct rds_ib_link *l)
{
	struct rds_ib_rx *rx = &l->rx;
	struct page *page;
	u32 i;

	rds_ib_rx_abandon(l);
	for (i = 0; rx->bufs && i <= rx->ring.mask; i++) {
		page = rx->bufs[i].page;
		if (!page)
			continue;
		rds_ib_rbuf_unmap(l, &rx->bufs[i]);
		rds_ib_page_free(page);
	}
	rds_ib_bufs_free(&rx->hdrs);
	kvfree(rx->bufs);
}
