// SPDX-License-Identifier: GPL-2.0
/*
 * The outgoing message object: payload, header, references, one destructor.
 *
 * Small payloads are linear behind the object, large ones in pages that a transport may
 * hand over by reference, zero-copy ones in pinned user pages.  Built in process context
 * by sendmsg(); the last reference may go in any context.
 */
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/unaligned.h>

#include "core.h"

/* Up to here a copy into the transport's buffer is cheaper than a page reference. */
#define RDS_LINEAR_MAX		2048

static struct rds_message *message_alloc(size_t extra, gfp_t gfp)
{
	struct rds_message *m = kmalloc(sizeof(*m) + extra, gfp);

	if (!m)
		return NULL;
	memset(m, 0, sizeof(*m));
	refcount_set(&m->ref, 1);
	INIT_LIST_HEAD(&m->node);
	INIT_LIST_HEAD(&m->own);
	return m;
}

static int payload_copy(struct rds_sock *rs, struct rds_message *m, struct iov_iter *from,
			size_t len)
{
	while (len) {
		unsigned int size, n;
		struct page *page = rds_payload_page(rs, len, &size);

		if (!page)
			return -ENOMEM;
		n = min_t(size_t, size, len);
		bvec_set_page(&m->bvec[m->nr_bvec++], page, n, 0);
		if (!copy_from_iter_full(page_address(page), n, from))
			return -EFAULT;
		len -= n;
	}
	return 0;
}

/**
 * rds_message_from_user() - a message with a copy of the payload
 * @rs: socket that sends it
 * @from: payload
 * @len: its length, at most RDS_MAX_MSG_SIZE
 * @err: set to -ENOMEM or -EFAULT when NULL is returned
 *
 * Context: process, may sleep.
 * Return: a message with one reference, which is the caller's.
 */
struct rds_message *rds_message_from_user(struct rds_sock *rs, struct iov_iter *from, size_t len,
					  int *err)
{
	bool linear = len <= RDS_LINEAR_MAX;
	struct rds_message *m;

	m = message_alloc(linear ? len : DIV_ROUND_UP(len, PAGE_SIZE) * sizeof(struct bio_vec),
			  GFP_KERNEL_ACCOUNT);
	if (!m) {
		*err = -ENOMEM;
		return NULL;
	}
	m->len = len;
	*err = 0;
	if (linear) {
		if (!copy_from_iter_full(m->data, len, from))
			*err = -EFAULT;
	} else {
		m->bvec = (struct bio_vec *)m->data;
		*err = payload_copy(rs, m, from, len);
	}
	if (*err) {
		rds_message_put(m);
		return NULL;
	}
	rds_stat_add(copy_from_user, len);
	return m;
}

/**
 * rds_message_zerocopy() - a message over the caller's own pages
 * @rs: socket that gets the completion
 * @from: payload
 * @len: its length
 * @cookie: cookie of the completion
 * @err: set to -ENOMEM, -EFAULT, or -ENOBUFS (too many completions have not been read) when NULL
 *	is returned
 *
 * No completion is produced until the message was queued (rds_pin.notify).
 *
 * Context: process, may sleep.
 * Return: a message with one reference, which is the caller's.
 */
struct rds_message *rds_message_zerocopy(struct rds_sock *rs, struct iov_iter *from, size_t len,
					 u32 cookie, int *err)
{
	struct rds_message *m;
	struct rds_pin *pin;

	*err = -ENOBUFS;
	if (READ_ONCE(rs->rx.nr_zrecords) >= RDS_ZRECORDS_MAX)
		return NULL;
	*err = -ENOMEM;
	m = message_alloc(0, GFP_KERNEL_ACCOUNT);
	if (!m)
		return NULL;
	m->len = len;
	pin = rds_pin_iter(from, len, &m->bvec, &m->nr_bvec);
	if (IS_ERR(pin)) {
		*err = PTR_ERR(pin);
		rds_message_put(m);
		return NULL;
	}
	m->pin = pin;
	pin->record = kzalloc(sizeof(*pin->record), GFP_KERNEL_ACCOUNT);
	if (!pin->record) {
		rds_message_unpin(m);
		rds_message_put(m);
		return NULL;
	}
	pin->record->cookies.num = 1;
	pin->record->cookies.cookies[0] = cookie;
	sock_hold(rds_rs_to_sk(rs));
	pin->rs = rs;
	*err = 0;
	return m;
}

/**
 * rds_message_unpin() - a message that was not queued gives the user's pages back
 * @m: message, its only reference is the caller's
 *
 * At once, so that the next one does not find them accounted still.
 *
 * Context: process, may sleep.
 */
void rds_message_unpin(struct rds_message *m)
{
	if (!m->pin)
		return;
	rds_pin_drop(m->pin);
	m->pin = NULL;
	m->bvec = NULL;
	m->nr_bvec = 0;
}

/**
 * rds_message_control() - an empty message of the kernel's own (ping, pong)
 * @gfp: allocation flags
 *
 * Context: any that @gfp allows.
 * Return: a message with one reference, or NULL.
 */
struct rds_message *rds_message_control(gfp_t gfp)
{
	struct rds_message *m = message_alloc(0, gfp);

	if (m)
		m->control = true;
	return m;
}

static void message_free(struct rds_message *m)
{
	unsigned int i;

	if (m->pin) {
		rds_pin_release(m->pin);	/* frees the pieces too */
	} else {
		for (i = 0; i < m->nr_bvec; i++)
			rds_payload_put(m->rs, m->bvec[i].bv_page);
	}
	if (m->op)
		rds_op_free(m->op);
	if (m->rs)
		rds_sock_put(m->rs);
	kfree(m);
}

/**
 * rds_message_put() - drop a reference
 * @m: the message
 *
 * Context: any, but no lock of RDS held.
 */
void rds_message_put(struct rds_message *m)
{
	if (refcount_dec_and_test(&m->ref))
		message_free(m);
}

/**
 * rds_message_hdr() - the header of a message as it goes on the wire now
 * @m: the message, taken by the transport
 * @out: 48 bytes, all written
 */
void rds_message_hdr(const struct rds_message *m, u8 out[RDS_HDR_LEN])
{
	struct rds_hdr h = {
		.seq = m->seq,
		.len = m->len,
		.sport = m->sport,
		.dport = m->dport,
		.flags = m->flags,
	};

	memcpy(h.ext, m->ext, sizeof(h.ext));
	rds_hdr_build(out, &h);
}

/**
 * rds_message_truesize() - memory that a message keeps
 * @m: the message
 *
 * Context: any.
 */
size_t rds_message_truesize(const struct rds_message *m)
{
	size_t size = sizeof(*m);
	unsigned int i;

	if (!m->nr_bvec)
		return kmalloc_size_roundup(size + m->len);
	if (!m->pin)
		size += DIV_ROUND_UP(m->len, PAGE_SIZE) * sizeof(struct bio_vec);
	size = kmalloc_size_roundup(size);
	for (i = 0; i < m->nr_bvec; i++)
		size += m->pin ? PAGE_SIZE : page_size(m->bvec[i].bv_page);
	return size;
}

/* Only user pages can be in high memory; the others need not be copied page by page. */
static size_t bvec_read(const struct bio_vec *bv, size_t off, size_t n, struct iov_iter *to)
{
	if (PageHighMem(bv->bv_page))
		return copy_page_to_iter(bv->bv_page, bv->bv_offset + off, n, to);
	return copy_to_iter(page_address(bv->bv_page) + bv->bv_offset + off, n, to);
}

/**
 * rds_message_read() - copy payload out of a message (loopback)
 * @m: the message
 * @off: first byte
 * @to: destination
 * @n: bytes, inside the payload
 *
 * Return: 0 or -EFAULT.
 */
int rds_message_read(const struct rds_message *m, size_t off, struct iov_iter *to, size_t n)
{
	unsigned int i;

	if (!m->nr_bvec)
		return copy_to_iter(m->data + off, n, to) == n ? 0 : -EFAULT;

	for (i = 0; i < m->nr_bvec && n; i++) {
		const struct bio_vec *bv = &m->bvec[i];
		size_t part;

		if (off >= bv->bv_len) {
			off -= bv->bv_len;
			continue;
		}
		part = min_t(size_t, bv->bv_len - off, n);
		if (bvec_read(bv, off, part, to) != part)
			return -EFAULT;
		off = 0;
		n -= part;
	}
	return 0;
}

/* ---- the sender's charge ------------------------------------------------- */

/* Sixteen times the buffer may be spent on messages without payload. */
#define RDS_TX_OVERHEAD		16
#define RDS_TX_MIN_MSGS		2048

static int tx_max_msgs(const struct rds_sock *rs)
{
	return max(rds_sndbuf(rs) / (RDS_TX_MSG_COST / RDS_TX_OVERHEAD), RDS_TX_MIN_MSGS);
}

/**
 * rds_tx_writable() - may a message be queued, is POLLOUT due?
 * @rs: socket
 *
 * Return: true if the queued bytes are below the send buffer, and the messages not so many
 * that they cost far more, though they carry little or nothing.
 */
bool rds_tx_writable(const struct rds_sock *rs)
{
	return atomic_read(&rs->tx_bytes) < rds_sndbuf(rs) &&
	       atomic_read(&rs->tx_msgs) < tx_max_msgs(rs);
}

/**
 * rds_tx_admit() - account for a message that will be queued
 * @rs: socket
 * @len: its payload
 *
 * The last one may overshoot: admitted if what is queued before it is below the limits.
 *
 * Return: true if there is room; rds_tx_release() gives it back.
 */
bool rds_tx_admit(struct rds_sock *rs, u32 len)
{
	int old = atomic_read(&rs->tx_bytes);

	if (atomic_read(&rs->tx_msgs) >= tx_max_msgs(rs))
		return false;
	do {
		if (old >= rds_sndbuf(rs))
			return false;
	} while (!atomic_try_cmpxchg(&rs->tx_bytes, &old, old + len));
	atomic_inc(&rs->tx_msgs);
	return true;
}

/**
 * rds_tx_write_space() - the generic layer changed SO_SNDBUF
 * @sk: socket
 */
void rds_tx_write_space(struct sock *sk)
{
	smp_mb();	/* who releases sees the new limit, or what he released is seen here */
	if (rds_tx_writable(rds_sk(sk)))
		rds_sock_wake(sk);
}

/**
 * rds_tx_release() - messages left the send queue
 * @rs: socket
 * @bytes: their payload
 * @msgs: their number
 *
 * Wakes sleepers once, when the send buffer stops being full by either measure.  When nothing
 * is left a lingering close is woken, and an orphan is one no more.  Any context, no locks held.
 */
void rds_tx_release(struct rds_sock *rs, u32 bytes, u32 msgs)
{
	int left = atomic_sub_return(bytes, &rs->tx_bytes);
	/* Full barrier: a closer, and a limit, that has seen what was left is seen here. */
	int nr = atomic_sub_return(msgs, &rs->tx_msgs);
	int limit = rds_sndbuf(rs), max_msgs = tx_max_msgs(rs);
	bool last = !nr && READ_ONCE(rs->rx.closed);

	if (bytes && !left)
		rds_stat_inc(send_queue_empty);
	if ((left < limit && left + (int)bytes >= limit) ||
	    (nr < max_msgs && nr + (int)msgs >= max_msgs) ||
	    last)
		rds_sock_wake(&rs->sk);
	if (last)
		rds_orphan_done(rs);
}

#ifdef CONFIG_PROVE_LOCKING
/* Not a lock: lockdep's name for "messages are being settled". */
static struct lockdep_map settle_map = STATIC_LOCKDEP_MAP_INIT("rds_message_settle", &settle_map);

static void settle_begins(void)
{
	lock_map_acquire_read(&settle_map);
	lock_map_release(&settle_map);
}

/**
 * rds_message_settle_outside() - teach lockdep that nothing is settled under a lock
 * @lock: the lock
 *
 * What settles wakes sockets and may put the last reference of one, which takes locks of its
 * own choice.
 *
 * Context: process.
 */
void rds_message_settle_outside(spinlock_t *lock)
{
	local_bh_disable();
	lock_map_acquire(&settle_map);
	might_lock(lock);
	lock_map_release(&settle_map);
	local_bh_enable();
}
#else
static void settle_begins(void) { }
void rds_message_settle_outside(spinlock_t *lock) { }
#endif

/* Whose list it is on.  Once it has left its path, nobody changes that. */
static struct rds_sock *message_owner(const struct rds_message *m)
{
	if (list_empty(&m->own))
		return NULL;
	return m->rs ?: m->pin->rs;
}

/* Messages that leave the list of their socket under one hold of its lock. */
#define DISOWN_AT_ONCE	256

/* From @m on, some of @rs; up to the one that is returned, or the list's end. */
static struct rds_message *disown_run(struct list_head *list, struct rds_message *m,
				      struct rds_sock *rs)
{
	unsigned int n = 0;

	spin_lock_bh(&rs->tx_lock);
	list_for_each_entry_from(m, list, node) {
		if (n++ == DISOWN_AT_ONCE || message_owner(m) != rs)
			break;
		list_del_init(&m->own);
	}
	spin_unlock_bh(&rs->tx_lock);
	return m;
}

/* Messages that left a path leave the lists of their sockets. */
static void message_disown(struct list_head *list)
{
	struct rds_message *m = list_first_entry(list, struct rds_message, node);
	struct rds_sock *rs;

	while (!list_entry_is_head(m, list, node)) {
		rs = message_owner(m);
		m = rs ? disown_run(list, m, rs) : list_next_entry(m, node);
	}
}

/**
 * rds_message_settle() - finish messages that left a path
 * @list: messages taken off a path's lists, with the path's references; emptied
 *
 * Releases the senders' send buffers with one wake-up for each run of messages of one
 * socket, then the references.
 *
 * Context: any, no lock held.
 */
void rds_message_settle(struct list_head *list)
{
	struct rds_message *m, *next;
	struct rds_sock *rs = NULL;
	u32 bytes = 0, msgs = 0;

	settle_begins();
	message_disown(list);
	list_for_each_entry_safe(m, next, list, node) {
		INIT_LIST_HEAD(&m->node);	/* all of them leave the list */
		if (m->rs && m->rs != rs) {
			if (rs) {
				rds_tx_release(rs, bytes, msgs);
				rds_sock_put(rs);
			}
			rs = m->rs;
			sock_hold(rds_rs_to_sk(rs));
			bytes = 0;
			msgs = 0;
		}
		if (m->rs) {
			bytes += m->charge;
			msgs++;
			m->charge = 0;
		}
		rds_message_put(m);
	}
	INIT_LIST_HEAD(list);
	if (rs) {
		rds_tx_release(rs, bytes, msgs);
		rds_sock_put(rs);
	}
}

/**
 * rds_message_settle_parted() - finish messages that were taken back
 * @list: messages of @rs taken off a path's lists, with the path's references; emptied
 * @rs: their socket, held
 *
 * As rds_message_settle(), but the transport may have begun with one, and keep it for as long as
 * the peer likes: it holds neither the socket nor its namespace then.  Operations have ended.
 *
 * Context: any, no lock held.
 */
void rds_message_settle_parted(struct list_head *list, struct rds_sock *rs)
{
	u32 bytes = 0, msgs = 0, n;
	struct rds_message *m;

	message_disown(list);
	list_for_each_entry(m, list, node) {
		if (m->rs != rs || m->op)
			continue;
		bytes += m->charge;
		msgs++;
		m->charge = 0;
		WRITE_ONCE(m->rs, NULL);
	}
	rds_message_settle(list);
	if (msgs)
		rds_tx_release(rs, bytes, msgs);
	for (n = 0; n < msgs; n++)
		rds_sock_put(rs);
}
