// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: acknowledgments.
 *
 * Each header carries one.  A frame of its own goes if the peer wants to know at once, or if
 * nothing else was sent for a while; there is one at a time, with a buffer and a work request for
 * it alone.
 */
#include "ib.h"

/* Acknowledge this long after something was received, if nobody asked and nothing was sent. */
#define RDS_IB_ACK_DELAY	(HZ / 100 + 1)

/**
 * rds_ib_ack_take() - what goes into a header now
 * @l: link, its lock held
 *
 * With it no ack frame is due any more.
 *
 * Return: the sequence.
 */
u64 rds_ib_ack_take(struct rds_ib_link *l)
{
	lockdep_assert_held(&l->lock);
	l->ack_sent = l->ack_seq;
	if (test_and_clear_bit(RDS_IB_ACK_WANTED, &l->flags))
		rds_ib_count(RDS_IB_ACK_SEND_PIGGYBACKED);
	return l->ack_seq;
}

/* The ack frame has arrived.  Was it posted when the peer had to prove that it is there? */
static void rds_ib_proved(struct rds_ib_link *l)
{
	bool proved;

	spin_lock_bh(&l->lock);
	proved = l->probe == RDS_IB_PROBE_FLYING;
	if (proved) {
		l->probe = RDS_IB_PROBE_NONE;
		set_bit(RDS_IB_PROVED, &l->flags);
	}
	spin_unlock_bh(&l->lock);
	if (proved && READ_ONCE(l->ib->doubted))
		mod_delayed_work(rds_ib_wq, &l->ib->doubt, 0);
}

/**
 * rds_ib_ack_done() - the ack frame has arrived, or has not
 * @cq: queue of the link's SENDs
 * @wc: the completion
 *
 * Context: poll work.
 */
void rds_ib_ack_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ib_link *l = cq->cq_context;

	clear_bit_unlock(RDS_IB_ACK_FLYING, &l->flags);	/* the buffer is ours again */
	if (wc->status == IB_WC_SUCCESS) {
		rds_ib_proved(l);
		rds_ib_ack(l);
	} else if (!test_bit(RDS_IB_CLOSING, &l->flags)) {
		rds_ib_count(RDS_IB_ACK_SEND_FAILURE);
		if (wc->status == IB_WC_WR_FLUSH_ERR)
			rds_ib_link_fail(l);
		else
			rds_ib_link_drop(l, -EIO);
	}
}

/* Post the ack frame.  l->lock held: after CLOSING nothing is posted. */
static int rds_ib_ack_post(struct rds_ib_link *l, u8 grant)
{
	u32 index = l->tx.ring.mask + 1;	/* the buffer behind those of the ring */
	u8 *buf = rds_ib_buf(&l->tx.bufs, index);
	struct rds_hdr h = { .ack = l->ack_seq, .credit = grant };
	struct ib_sge sge = {
		.addr = rds_ib_buf_dma(&l->tx.bufs, index),
		.length = RDS_HDR_LEN,
		.lkey = l->rdev->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &l->tx.ack_cqe,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED | IB_SEND_SOLICITED,
	};

	rds_hdr_build(buf, &h);
	rds_hdr_seal(buf);
	ib_dma_sync_single_for_device(l->rdev->dev, sge.addr, RDS_HDR_LEN, DMA_TO_DEVICE);
	return ib_post_send(l->qp, &wr, NULL);
}

/**
 * rds_ib_ack() - send an ack frame, if one is due and none is on its way
 * @l: link
 *
 * Context: any.
 */
void rds_ib_ack(struct rds_ib_link *l)
{
	int err = 0;
	u8 grant;

	spin_lock_bh(&l->lock);
	if (test_bit(RDS_IB_CLOSING, &l->flags) || !test_bit(RDS_IB_UP, &l->flags) ||
	    (!test_bit(RDS_IB_ACK_WANTED, &l->flags) && l->probe != RDS_IB_PROBE_WANTED))
		goto out;
	if (test_bit_acquire(RDS_IB_ACK_FLYING, &l->flags)) {
		rds_ib_count(RDS_IB_ACK_SEND_DELAYED);
		goto out;
	}
	/* Without a credit it waits for one; what is received meanwhile asks again. */
	if (!rds_ib_credit_take(&l->credit, 1, &grant)) {
		rds_ib_count(RDS_IB_TX_THROTTLE);
		goto out;
	}
	set_bit(RDS_IB_ACK_FLYING, &l->flags);
	err = rds_ib_ack_post(l, grant);
	if (err) {
		clear_bit(RDS_IB_ACK_FLYING, &l->flags);
		rds_ib_count(RDS_IB_ACK_SEND_FAILURE);
		goto out;
	}
	clear_bit(RDS_IB_ACK_WANTED, &l->flags);
	if (l->probe == RDS_IB_PROBE_WANTED)
		l->probe = RDS_IB_PROBE_FLYING;
	l->ack_sent = l->ack_seq;
	rds_ib_count(RDS_IB_ACK_SENT);
	if (grant)
		rds_ib_count(RDS_IB_TX_CREDIT_UPDATES);
out:
	spin_unlock_bh(&l->lock);
	if (err)
		rds_ib_link_drop(l, err);
}

/**
 * rds_ib_probe() - is the peer there?
 * @l: link
 *
 * RDS_IB_PROVED says so when it has acknowledged an ack frame that is posted from now on: one that
 * is on its way already proves nothing.
 *
 * Context: any.
 */
void rds_ib_probe(struct rds_ib_link *l)
{
	spin_lock_bh(&l->lock);
	clear_bit(RDS_IB_PROVED, &l->flags);
	l->probe = RDS_IB_PROBE_WANTED;
	spin_unlock_bh(&l->lock);
	rds_ib_ack(l);
}

/**
 * rds_ib_ack_timer() - acknowledge what nobody asked to
 * @work: rds_ib_link.ack_timer
 *
 * Otherwise the last few messages of a burst would stay in the sender's memory.
 */
void rds_ib_ack_timer(struct work_struct *work)
{
	struct rds_ib_link *l = container_of(to_delayed_work(work), struct rds_ib_link, ack_timer);
	bool due;

	spin_lock_bh(&l->lock);
	due = l->ack_seq != l->ack_sent;
	if (due)
		set_bit(RDS_IB_ACK_WANTED, &l->flags);
	spin_unlock_bh(&l->lock);
	if (due)
		rds_ib_ack(l);
}

/**
 * rds_ib_received() - messages were received: when are they acknowledged?
 * @l: link
 * @seq: newest sequence, 0 = none
 * @ask: the peer wants to know at once
 *
 * Also when the peer should learn of receive buffers.
 */
void rds_ib_received(struct rds_ib_link *l, u64 seq, bool ask)
{
	bool now, later;

	spin_lock_bh(&l->lock);
	/* What comes again is older than what the link began with. */
	if (seq > l->ack_seq)
		l->ack_seq = seq;
	if (ask || rds_ib_credit_update_due(&l->credit))
		set_bit(RDS_IB_ACK_WANTED, &l->flags);
	now = test_bit(RDS_IB_ACK_WANTED, &l->flags);
	later = !now && l->ack_seq != l->ack_sent;
	/* Under the lock: not after stop() has cancelled it. */
	if (later && !test_bit(RDS_IB_CLOSING, &l->flags))
		queue_delayed_work(rds_ib_wq, &l->ack_timer, RDS_IB_ACK_DELAY);
	spin_unlock_bh(&l->lock);
	if (now)
		rds_ib_ack(l);
}
