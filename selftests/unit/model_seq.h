/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sender and a receiver of one path, with a link that breaks: does
 * rds_seq_accept() deliver each message once and in order?
 *
 * The link is a FIFO.  A break loses its tail; what was queued at the receiver
 * before may or may not have been acknowledged.  The sender repeats, flagged,
 * everything that is not acknowledged and was selected before; it cancels
 * messages that wait, which leaves gaps.  A restarted sender begins at 1.
 */
#ifndef _RDS_UNIT_MODEL_SEQ_H
#define _RDS_UNIT_MODEL_SEQ_H

#include <string.h>

#include "check.h"
#include "wire.h"

#define SEQ_MAX		4096	/* messages of one run */
#define SEQ_QUEUE	64	/* messages at the sender and on the link */

struct seq_msg {
	u64 seq;
	u32 id;
	bool sent;		/* was selected on this or an earlier link */
	bool retransmitted;
};

struct seq_model {
	struct seq_msg queue[SEQ_QUEUE];	/* not acknowledged, in order */
	int queued;
	int next_tx;				/* first of queue[] not on this link */
	struct seq_msg link[SEQ_QUEUE];
	int in_flight;
	u64 tx_seq;
	u64 rx_next;
	u32 ids;
	u32 last_id;				/* last delivered */
	bool delivered[SEQ_MAX];
	bool cancelled[SEQ_MAX];
	bool lost_ok;				/* protocol cannot do better, see restart */
	u32 dups, rewinds;
};

static inline void seq_init(struct seq_model *m)
{
	memset(m, 0, sizeof(*m));
	m->tx_seq = 1;
}

static inline void seq_queue(struct seq_model *m)
{
	struct seq_msg *q;

	if (m->queued == SEQ_QUEUE || m->ids == SEQ_MAX - 1)
		return;
	q = &m->queue[m->queued++];
	*q = (struct seq_msg){ .seq = m->tx_seq++, .id = ++m->ids };
}

static inline void seq_transmit(struct seq_model *m)
{
	struct seq_msg *q;

	if (m->next_tx == m->queued || m->in_flight == SEQ_QUEUE)
		return;
	q = &m->queue[m->next_tx++];
	q->retransmitted = q->sent;
	q->sent = true;
	m->link[m->in_flight++] = *q;
}

/* The receiver takes the oldest frame on the link. */
static inline void seq_receive(struct seq_model *m)
{
	struct seq_msg f;

	if (!m->in_flight)
		return;
	f = m->link[0];
	memmove(m->link, m->link + 1, --m->in_flight * sizeof(f));

	switch (rds_seq_accept(&m->rx_next, f.seq,
			       f.retransmitted ? RDS_FLAG_RETRANSMITTED : 0)) {
	case RDS_SEQ_DUP:
		m->dups++;
		CHECK(m->delivered[f.id] || m->lost_ok);
		return;
	case RDS_SEQ_REWIND:
		m->rewinds++;
		break;
	case RDS_SEQ_NEW:
		break;
	}
	CHECK(!m->delivered[f.id]);
	CHECK(f.id > m->last_id);
	CHECK(m->rx_next == f.seq + 1);
	m->delivered[f.id] = true;
	m->last_id = f.id;
}

/* Acknowledge the oldest message if it has left the link. */
static inline void seq_ack(struct seq_model *m)
{
	if (!m->next_tx || (m->in_flight && m->link[0].id <= m->queue[0].id))
		return;
	CHECK(m->delivered[m->queue[0].id] || m->cancelled[m->queue[0].id] || m->lost_ok);
	memmove(m->queue, m->queue + 1, --m->queued * sizeof(m->queue[0]));
	m->next_tx--;
}

static inline void seq_break(struct seq_model *m)
{
	m->in_flight = 0;
	m->next_tx = 0;
}

/* Cancel message @i of the queue; what is on the link already still arrives. */
static inline void seq_cancel(struct seq_model *m, int i)
{
	if (i >= m->queued)
		return;
	m->cancelled[m->queue[i].id] = true;
	memmove(m->queue + i, m->queue + i + 1, (--m->queued - i) * sizeof(m->queue[0]));
	if (i < m->next_tx)
		m->next_tx--;
}

/*
 * The sender's host is restarted: its queue is lost, sequences begin at 1.
 * With @generation the receiver is told and forgets the old sequence; without,
 * a first message that is lost and repeated looks like an old duplicate.
 */
static inline void seq_restart(struct seq_model *m, bool generation)
{
	int i;

	seq_break(m);
	for (i = 0; i < m->queued; i++)
		m->cancelled[m->queue[i].id] = true;
	m->queued = 0;
	m->tx_seq = 1;
	if (generation)
		m->rx_next = 0;
	else
		m->lost_ok = true;
}

/* Let everything arrive, then account for every message. */
static inline void seq_finish(struct seq_model *m)
{
	u32 id;

	while (m->queued || m->in_flight) {
		seq_transmit(m);
		seq_receive(m);
		seq_ack(m);
	}
	for (id = 1; id <= m->ids && !m->lost_ok; id++)
		CHECK(m->delivered[id] || m->cancelled[id]);
}

static inline void seq_step(struct seq_model *m, struct choices *c, bool restarts)
{
	u32 what = pick(c, 32);

	if (what < 10)
		seq_queue(m);
	else if (what < 18)
		seq_transmit(m);
	else if (what < 25)
		seq_receive(m);
	else if (what < 29)
		seq_ack(m);
	else if (what == 29)
		seq_break(m);
	else if (what == 30)
		seq_cancel(m, pick(c, SEQ_QUEUE));
	else if (restarts && !pick(c, 4))
		seq_restart(m, true);
}

#endif /* _RDS_UNIT_MODEL_SEQ_H */
