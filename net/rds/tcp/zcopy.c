// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over TCP: what is sent from the pages of a program.
 *
 * The program may write to its pages again when it has the completion.  That TCP's peer has
 * acknowledged the bytes is not enough for that: on the same host the packets in its queue are
 * these very pages, and a packet that is repeated may still wait in a device.  So packets carry a
 * reference to the messages (struct ubuf_info), as those of MSG_ZEROCOPY do, and the kernel copies
 * them where somebody would keep them.
 */
#include <linux/slab.h>

#include "tcp.h"

/**
 * struct rds_tcp_zcopy - the messages with pinned pages of a batch
 * @ubuf: counts the packets, and the batch
 * @nr: entries of @msgs
 * @msgs: one reference each
 */
struct rds_tcp_zcopy {
	struct ubuf_info ubuf;
	unsigned int nr;
	struct rds_message *msgs[];
};

static atomic_t zcopies = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(zcopies_gone);

/* A packet, or the batch, is gone.  Any context. */
static void rds_tcp_zcopy_complete(struct sk_buff *skb, struct ubuf_info *ubuf, bool ok)
{
	struct rds_tcp_zcopy *z = container_of(ubuf, struct rds_tcp_zcopy, ubuf);

	if (!refcount_dec_and_test(&ubuf->refcnt))
		return;
	while (z->nr)
		rds_message_put(z->msgs[--z->nr]);
	kfree(z);
	rcu_read_lock();	/* rds_tcp_zcopy_exit() and whoever comes after it wait for us */
	if (atomic_dec_and_test(&zcopies))
		wake_up(&zcopies_gone);
	rcu_read_unlock();
}

static const struct ubuf_info_ops rds_tcp_zcopy_ops = {
	.complete = rds_tcp_zcopy_complete,
};

static void rds_tcp_zcopy_add(struct rds_tcp_zcopy *z, struct rds_message *m)
{
	rds_message_get(m);
	z->msgs[z->nr++] = m;
}

/**
 * rds_tcp_zcopy_begin() - let the packets of a batch keep its messages
 * @tx: transmit state with a complete batch
 *
 * Nothing to do if no message of the batch has pinned pages.
 *
 * Context: process, link mutex held.
 * Return: 0 or -ENOMEM.
 */
int rds_tcp_zcopy_begin(struct rds_tcp_tx *tx)
{
	struct rds_tcp_batch *b = tx->batch;
	unsigned int i, nr = tx->cur && tx->cur->pin;
	struct rds_tcp_zcopy *z;

	for (i = 0; i < b->nr_msgs; i++)
		nr += !!b->msgs[i]->pin;
	if (!nr)
		return 0;
	z = kmalloc(struct_size(z, msgs, nr), GFP_KERNEL | __GFP_NOWARN);
	if (!z)
		return -ENOMEM;
	z->ubuf.ops = &rds_tcp_zcopy_ops;
	/*
	 * Else skb_clone() copies the pages when TCP first sends them, and TCP, which had not
	 * charged for them, gives back as if it had.
	 */
	z->ubuf.flags = SKBFL_ZEROCOPY_FRAG | SKBFL_DONT_ORPHAN;
	refcount_set(&z->ubuf.refcnt, 1);
	z->nr = 0;
	if (tx->cur && tx->cur->pin)
		rds_tcp_zcopy_add(z, tx->cur);
	for (i = 0; i < b->nr_msgs; i++)
		if (b->msgs[i]->pin)
			rds_tcp_zcopy_add(z, b->msgs[i]);
	atomic_inc(&zcopies);
	b->zcopy = &z->ubuf;
	return 0;
}

/**
 * rds_tcp_zcopy_exit() - wait until no packet keeps a message
 *
 * The links are gone; packets of theirs may still be in the queue of a device.
 */
void rds_tcp_zcopy_exit(void)
{
	wait_event(zcopies_gone, !atomic_read(&zcopies));
}
