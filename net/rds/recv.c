// SPDX-License-Identifier: GPL-2.0
/*
 * Receive: from a complete message to a socket's queue, and recvmsg().
 *
 * Delivery runs in any context.  A queue over its receive buffer is announced as congested, but
 * what comes is kept until it is far above that (room.c); beyond it is dropped, and the reader
 * told.  Messages of one receive pass for one socket are collected in a batch and queued with one
 * lock and one wake-up.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "core.h"
#include "trace.h"

/* Messages that are queued under one hold of the lock. */
#define BATCH_MAX	2048
/* Messages of a closing socket that leave its queue under one hold of the lock. */
#define PURGE_AT_ONCE	256

/* ---- the incoming object --------------------------------------------------- */

struct linear_inc {
	struct rds_incoming inc;
	u8 data[];
};

static int linear_read(struct rds_incoming *inc, size_t off, struct iov_iter *to, size_t n)
{
	struct linear_inc *l = container_of(inc, struct linear_inc, inc);

	return copy_to_iter(l->data + off, n, to) == n ? 0 : -EFAULT;
}

static void linear_free(struct rds_incoming *inc)
{
	kfree(container_of(inc, struct linear_inc, inc));
}

static const struct rds_inc_ops linear_ops = {
	.read = linear_read,
	.free = linear_free,
};

/**
 * rds_inc_init() - initialise the core's part of an incoming message
 * @inc: the object
 * @ops: payload access
 * @truesize: memory of the object
 */
void rds_inc_init(struct rds_incoming *inc, const struct rds_inc_ops *ops, size_t truesize)
{
	memset(inc, 0, sizeof(*inc));
	INIT_LIST_HEAD(&inc->node);
	refcount_set(&inc->ref, 1);
	inc->ops = ops;
	inc->truesize = truesize;
}

/**
 * rds_inc_alloc_linear() - an incoming message with its payload behind it
 * @len: payload bytes
 * @gfp: allocation flags
 * @data: set to the payload
 *
 * Return: object with one reference, or NULL.
 */
struct rds_incoming *rds_inc_alloc_linear(u32 len, gfp_t gfp, u8 **data)
{
	struct linear_inc *l;
	size_t size = struct_size(l, data, len);

	l = kmalloc(size, gfp);
	if (!l)
		return NULL;
	rds_inc_init(&l->inc, &linear_ops, kmalloc_size_roundup(size));
	*data = l->data;
	return &l->inc;
}

/**
 * rds_inc_put() - drop a reference
 * @inc: the object
 *
 * Context: any.
 */
void rds_inc_put(struct rds_incoming *inc)
{
	struct module *owner;

	if (!refcount_dec_and_test(&inc->ref))
		return;
	owner = inc->counted ? inc->ops->owner : NULL;
	inc->ops->free(inc);
	module_put(owner);
}

/* ---- memory of the socket (rx.lock held) -------------------------------------- */

/* Charge the socket, and through it its cgroup.  If that is refused its user answers for it. */
static bool rx_charge(struct sock *sk, int size)
{
	struct rds_sock *rs = rds_sk(sk);

	rs->rx.mem += size;
	if (size > sk->sk_forward_alloc &&
	    !__sk_mem_schedule(sk, size - sk->sk_forward_alloc, SK_MEM_RECV)) {
		rds_stat_inc(recv_uncharged);
		atomic_long_add(size, &rs->user->uncharged);
		return false;
	}
	sk_mem_charge(sk, size);
	atomic_add(size, &sk->sk_rmem_alloc);
	return true;
}

static void rx_uncharge(struct sock *sk, int size, bool charged)
{
	struct rds_sock *rs = rds_sk(sk);

	rs->rx.mem -= size;
	if (!charged) {
		atomic_long_sub(size, &rs->user->uncharged);
		return;
	}
	atomic_sub(size, &sk->sk_rmem_alloc);
	sk_mem_uncharge(sk, size);
}

static void rx_add(struct rds_sock *rs, const struct rds_incoming *inc)
{
	rs->rx.bytes += inc->len;
	rs->rx.nr++;
}

/* Something was dropped, and that is over. */
static void rx_recover(struct rds_sock *rs)
{
	if (unlikely(rs->overrun) && rds_rx_is_short(rs))
		rs->overrun = false;
}

static void rx_remove(struct rds_sock *rs, struct rds_incoming *inc)
{
	rs->rx.bytes -= inc->len;
	rs->rx.nr--;
	rx_uncharge(rds_rs_to_sk(rs), inc->truesize, inc->charged);
	if (inc->spilled)
		rds_rx_unspill(rs, inc->truesize);
	inc->spilled = false;
	rx_recover(rs);
}

/*
 * May @inc join the queue?  It is charged with what it pins and the last one there does not.  What
 * both pin is from then on @inc's: the other one will be read first.
 */
static bool rx_admit(struct rds_sock *rs, struct rds_incoming *inc)
{
	struct rds_incoming *last = list_empty(&rs->rx.queue) ? NULL :
				    list_last_entry(&rs->rx.queue, struct rds_incoming, node);
	u32 shared = 0, size;

	if (last && inc->ops->shared && inc->ops == last->ops)
		shared = inc->ops->shared(last, inc);
	size = inc->truesize - shared;
	inc->charged = rx_charge(rds_rs_to_sk(rs), size);
	inc->spilled = !rds_rx_has_room(rs, inc->charged);
	if (unlikely(inc->spilled)) {
		/* Behind one that was dropped there would be a hole. */
		if (rs->overrun || !rds_rx_spill(rs, size)) {
			rx_uncharge(rds_rs_to_sk(rs), size, inc->charged);
			return false;
		}
		rds_stat_inc(recv_spilled);
	}
	rx_add(rs, inc);
	if (!shared)
		return true;
	/* On another account, or not the last one's own any more: it stays where it is. */
	if (inc->charged == last->charged && inc->spilled == last->spilled &&
	    last->truesize >= shared)
		last->truesize -= shared;
	else
		inc->truesize -= shared;
	return true;
}

/* ---- delivery ------------------------------------------------------------------ */

/* Messages that were for @rs, on no queue. */
static void drop_all(const struct rds_sock *rs, struct list_head *list, enum rds_drop_reason why)
{
	struct rds_incoming *inc, *next;

	list_for_each_entry_safe(inc, next, list, node) {
		list_del_init(&inc->node);
		rds_drop_incoming(sock_net(&rs->sk), &rs->bound.ip, inc, why);
		rds_inc_put(inc);
	}
}

/*
 * Put a batch on the queue, but for what has no room: that goes to @full.  True if the reader has
 * to be told that there is such: once, until the queue has been short.
 */
static bool queue_batch(struct rds_sock *rs, struct rds_rx_batch *b, struct list_head *full)
{
	struct rds_incoming *inc, *next;
	bool told;

	lockdep_assert_held(&rs->rx.lock);
	/* Other sockets of its user may have been read since. */
	rx_recover(rs);
	told = rs->overrun;
	list_for_each_entry_safe(inc, next, &b->list, node) {
		if (likely(rx_admit(rs, inc))) {
			list_move_tail(&inc->node, &rs->rx.queue);
			continue;
		}
		rs->overrun = true;
		list_move_tail(&inc->node, full);
		b->bytes -= inc->len;
		b->nr--;
	}
	/* Nobody reads what is not there, and by that ends it. */
	if (!rs->rx.nr)
		rs->overrun = false;
	return !list_empty(full) && !told;
}

/**
 * rds_recv_flush() - queue a batch on its socket and wake the reader
 * @b: the batch, empty afterwards
 *
 * Context: any, no lock of RDS held.
 */
void rds_recv_flush(struct rds_rx_batch *b)
{
	struct rds_sock *rs = b->rs;
	bool closed, tell = false;
	LIST_HEAD(full);
	struct sock *sk;

	if (!rs)
		return;
	sk = rds_rs_to_sk(rs);
	/* It came to nothing for this socket. */
	if (!b->nr)
		goto out;
	spin_lock_bh(&rs->rx.lock);
	closed = rs->rx.closed;
	if (!closed)
		tell = queue_batch(rs, b, &full);
	spin_unlock_bh(&rs->rx.lock);

	if (closed) {
		drop_all(rs, &b->list, RDS_DROP_DEAD_SOCK);
		goto out;
	}
	drop_all(rs, &full, RDS_DROP_FULL);
	if (tell) {
		WRITE_ONCE(sk->sk_err, ENOBUFS);
		sk_error_report(sk);
	}
	rds_stat_add(recv_queued, b->nr);
	rds_stat_add(recv_bytes_added_to_sock, b->bytes);
	rds_cong_update(rs);
	sk->sk_data_ready(sk);
out:
	rds_sock_put(rs);
	rds_rx_batch_init(b);
}

/* Extension headers of a data message for a bound socket. */
static void deliver_ext(struct rds_sock *rs, const struct rds_hdr *h, struct rds_incoming *inc)
{
	struct rds_ext e;

	if (!h->ext[0])
		return;
	rds_ext_parse(h->ext, &e);
	if (RDS_EXT_HAS(&e, RDS_EXT_RDMA_DEST))
		inc->cookie = (u64)e.dest_off << 32 | e.dest_rkey;
	if (RDS_EXT_HAS(&e, RDS_EXT_RDMA))
		rds_mr_used(rs, e.rdma_rkey);
}

/* Make the batch one for the socket bound to a destination; its @rs is NULL if nobody is bound. */
static void recv_target(struct rds_net *rn, const struct in6_addr *dst, u16 port, u32 scope,
			struct rds_rx_batch *b)
{
	/* Once closed, the port may be somebody else's. */
	if (b->rs && b->port == port && !READ_ONCE(b->rs->rx.closed) &&
	    ipv6_addr_equal(&b->rs->bound.ip, dst))
		return;
	rds_recv_flush(b);
	b->rs = rds_port_find(rn, dst, port, rds_addr_is_linklocal(dst) ? scope : 0);
	b->port = port;
}

/**
 * rds_recv_deliver() - give a message to the socket bound to its destination
 * @rn: namespace of the connection
 * @dst: destination address; the port is in @inc
 * @h: header
 * @inc: message, sender filled in; the reference passes to this function
 * @b: batch of the receive pass
 *
 * Context: any, no lock of RDS held.
 */
void rds_recv_deliver(struct rds_net *rn, const struct in6_addr *dst, const struct rds_hdr *h,
		      struct rds_incoming *inc, struct rds_rx_batch *b)
{
	recv_target(rn, dst, inc->dport, inc->scope, b);
	if (!rds_addr_is_linklocal(&inc->saddr))
		inc->scope = 0;
	if (!b->rs) {
		rds_drop_incoming(rn->net, dst, inc, RDS_DROP_NO_SOCK);
		rds_inc_put(inc);
		return;
	}
	/* The transport goes away, and the socket does not keep it. */
	if (!try_module_get(inc->ops->owner)) {
		rds_drop_incoming(rn->net, dst, inc, RDS_DROP_NO_SOCK);
		rds_inc_put(inc);
		return;
	}
	inc->counted = true;
	deliver_ext(b->rs, h, inc);
	if (sock_flag(rds_rs_to_sk(b->rs), SOCK_RCVTSTAMP))
		inc->stamp = ktime_get_real();
	if (rds_rx_tracing())
		inc->trace[RDS_RX_CLOCK_QUEUED] = local_clock();
	trace_rds_deliver(b->rs, inc);
	list_add_tail(&inc->node, &b->list);
	b->bytes += inc->len;
	if (++b->nr >= BATCH_MAX)
		rds_recv_flush(b);
}

/* Does a notification wait of which no reader without room was told? */
static bool rx_has_news(const struct rds_sock *rs)
{
	return (!list_empty_careful(&rs->rx.notes) || atomic64_read(&rs->rx.cong_ready)) &&
	       READ_ONCE(rs->rx.told) != (u16)atomic_read(&rs->rx.news);
}

/**
 * rds_rx_ready() - is there anything recvmsg() could report?
 * @rs: socket
 *
 * Zero-copy completions and congestion bits included.
 */
bool rds_rx_ready(struct rds_sock *rs)
{
	return !list_empty_careful(&rs->rx.queue) || rx_has_news(rs) ||
	       !list_empty_careful(&rs->rx.zrecords);
}

/* False when the queue is empty. */
static bool purge_some(struct rds_sock *rs)
{
	struct rds_incoming *inc, *next;
	unsigned int n = 0;
	LIST_HEAD(incs);
	bool more;

	spin_lock_bh(&rs->rx.lock);
	list_for_each_entry_safe(inc, next, &rs->rx.queue, node) {
		if (n++ == PURGE_AT_ONCE)
			break;
		rx_remove(rs, inc);
		list_move_tail(&inc->node, &incs);
	}
	more = !list_empty(&rs->rx.queue);
	if (!more)
		sk_mem_reclaim(rds_rs_to_sk(rs));
	spin_unlock_bh(&rs->rx.lock);
	drop_all(rs, &incs, RDS_DROP_UNREAD);
	return more;
}

/**
 * rds_rx_purge() - drop everything a closing socket has not read
 * @rs: the socket; rx.closed is set here
 *
 * Context: process, may sleep.
 */
void rds_rx_purge(struct rds_sock *rs)
{
	struct rds_notifier *n, *n2;
	struct rds_zrecord *z, *z2;
	LIST_HEAD(notes);
	LIST_HEAD(zrecords);

	spin_lock_bh(&rs->rx.lock);
	rs->rx.closed = true;
	rds_stat_add(recv_bytes_freed_fromsock, rs->rx.bytes);
	list_splice_init(&rs->rx.notes, &notes);
	list_splice_init(&rs->rx.zrecords, &zrecords);
	spin_unlock_bh(&rs->rx.lock);

	while (purge_some(rs))
		cond_resched();
	list_for_each_entry_safe(n, n2, &notes, node)
		kfree(n);
	list_for_each_entry_safe(z, z2, &zrecords, node)
		kfree(z);
}

/* ---- recvmsg -------------------------------------------------------------------- */

/* Take the head of the queue, or only look at it. */
static struct rds_incoming *recv_take(struct rds_sock *rs, bool peek)
{
	struct rds_incoming *inc;

	if (list_empty_careful(&rs->rx.queue))
		return NULL;
	spin_lock_bh(&rs->rx.lock);
	inc = list_first_entry_or_null(&rs->rx.queue, struct rds_incoming, node);
	if (inc && peek) {
		refcount_inc(&inc->ref);
	} else if (inc) {
		list_del_init(&inc->node);
		rx_remove(rs, inc);
	}
	spin_unlock_bh(&rs->rx.lock);
	return inc;
}

/* The copy faulted: the message is the next one again. */
static void recv_untake(struct rds_sock *rs, struct rds_incoming *inc)
{
	bool closed;

	spin_lock_bh(&rs->rx.lock);
	closed = rs->rx.closed;
	if (!closed) {
		list_add(&inc->node, &rs->rx.queue);
		inc->charged = rx_charge(rds_rs_to_sk(rs), inc->truesize);
		rx_add(rs, inc);
	}
	spin_unlock_bh(&rs->rx.lock);
	if (closed) {
		rds_drop_incoming(sock_net(&rs->sk), &rs->bound.ip, inc, RDS_DROP_UNREAD);
		rds_inc_put(inc);
	} else {
		rds_recv_returned(rs);
	}
}

/* Few sockets have any, but each message asks. */
static int recv_zcopy(struct rds_sock *rs, struct msghdr *msg, int flags)
{
	return list_empty_careful(&rs->rx.zrecords) ? 0 : rds_recv_zcopy(rs, msg, flags);
}

static int recv_put_stamp(struct sock *sk, struct msghdr *msg, ktime_t stamp)
{
	struct timespec64 ts = ktime_to_timespec64(stamp);
	struct __kernel_old_timeval old = { .tv_sec = ts.tv_sec,
					    .tv_usec = ts.tv_nsec / NSEC_PER_USEC };

	if (sock_flag(sk, SOCK_TSTAMP_NEW)) {
		struct __kernel_sock_timeval tv = { .tv_sec = ts.tv_sec,
						    .tv_usec = ts.tv_nsec / NSEC_PER_USEC };

		return put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMP_NEW, sizeof(tv), &tv);
	}
	return put_cmsg(msg, SOL_SOCKET, SO_TIMESTAMP_OLD, sizeof(old), &old);
}

static int recv_put_trace(struct rds_sock *rs, struct msghdr *msg, struct rds_incoming *inc)
{
	struct rds_rx_trace_so want = rs->traces;
	struct rds_cmsg_rx_trace t;
	unsigned int i;

	memset(&t, 0, sizeof(t));
	t.rx_traces = min_t(u8, want.rx_traces, RDS_MSG_RX_DGRAM_TRACE_MAX);
	inc->trace[RDS_RX_CLOCK_READ] = local_clock();
	for (i = 0; i < t.rx_traces; i++) {
		u8 pos = want.rx_trace_pos[i];

		if (pos >= RDS_MSG_RX_DGRAM_TRACE_MAX)
			continue;
		t.rx_trace_pos[i] = pos;
		/* Tracing may have been off when the message began. */
		if (inc->trace[pos] && inc->trace[pos + 1] >= inc->trace[pos])
			t.rx_trace[i] = inc->trace[pos + 1] - inc->trace[pos];
	}
	return put_cmsg(msg, SOL_RDS, RDS_CMSG_RXPATH_LATENCY, sizeof(t), &t);
}

/* Control messages that go with data, in the order of the ABI. */
static int recv_data_cmsgs(struct rds_sock *rs, struct msghdr *msg, struct rds_incoming *inc,
			   int flags)
{
	struct sock *sk = rds_rs_to_sk(rs);
	int err = 0;

	if (inc->cookie)
		err = put_cmsg(msg, SOL_RDS, RDS_CMSG_RDMA_DEST, sizeof(inc->cookie), &inc->cookie);
	if (!err && inc->stamp && sock_flag(sk, SOCK_RCVTSTAMP))
		err = recv_put_stamp(sk, msg, inc->stamp);
	if (!err && READ_ONCE(rs->traces.rx_traces))
		err = recv_put_trace(rs, msg, inc);
	if (!err) {
		err = recv_zcopy(rs, msg, flags);
		if (err > 0)
			err = 0;
	}
	return err;
}

static void recv_put_name(const struct rds_sock *rs, struct msghdr *msg,
			  const struct rds_incoming *inc)
{
	struct rds_addr from = { .ip = inc->saddr, .port = inc->sport };

	from.scope = inc->scope ?: READ_ONCE(rs->scope);
	if (msg->msg_name)
		msg->msg_namelen = rds_sockaddr_fill(msg->msg_name, &from);
}

/* Priority 3: one message.  Bytes to return, -EFAULT, or -EAGAIN if there is none. */
static int recv_data(struct rds_sock *rs, struct msghdr *msg, size_t size, int flags)
{
	struct rds_incoming *inc = recv_take(rs, flags & MSG_PEEK);
	size_t n;
	int err;

	if (!inc)
		return -EAGAIN;
	n = min_t(size_t, inc->len, size);
	err = inc->ops->read(inc, 0, &msg->msg_iter, n);
	if (!err)
		err = recv_data_cmsgs(rs, msg, inc, flags);
	if (err) {
		if (flags & MSG_PEEK)
			rds_inc_put(inc);
		else
			recv_untake(rs, inc);
		return err;
	}
	recv_put_name(rs, msg, inc);
	if (n < inc->len) {
		msg->msg_flags |= MSG_TRUNC;
		if (flags & MSG_TRUNC)
			n = inc->len;
	}
	if (!(flags & MSG_PEEK)) {
		rds_stat_inc(recv_delivered);
		rds_stat_add(recv_bytes_freed_fromsock, inc->len);
		rds_cong_update(rs);
	}
	rds_stat_add(copy_to_user, min_t(size_t, inc->len, size));
	rds_inc_put(inc);
	return n;
}

/* Does a notification wait that the caller has room for? */
static bool recv_has_room(const struct rds_sock *rs, const struct msghdr *msg)
{
	return (!list_empty_careful(&rs->rx.notes) && rds_note_room(msg)) ||
	       (atomic64_read(&rs->rx.cong_ready) && rds_cmsg_room(msg, sizeof(u64)));
}

/* One attempt in order of priority; -EAGAIN = nothing the caller can take. */
static int recv_once(struct rds_sock *rs, struct msghdr *msg, size_t size, int flags)
{
	int news = atomic_read_acquire(&rs->rx.news);
	int ret = 0;

	if (!list_empty_careful(&rs->rx.notes))
		ret = rds_recv_notes(rs, msg, flags);
	if (!ret && atomic64_read(&rs->rx.cong_ready))
		ret = rds_recv_cong(rs, msg, flags);
	if (ret)
		return min(ret, 0);
	ret = recv_data(rs, msg, size, flags);
	if (ret != -EAGAIN)
		return ret;
	ret = recv_zcopy(rs, msg, flags);
	if (ret)
		return min(ret, 0);
	/*
	 * No room: say so instead of sleeping under a poll() that says IN.  It stays queued.  But
	 * say it once: a program that never has room would get nothing else, and not sleep.
	 */
	if (!rx_has_news(rs) || recv_has_room(rs, msg))
		return -EAGAIN;
	if (!(flags & MSG_PEEK))
		WRITE_ONCE(rs->rx.told, news);
	msg->msg_flags |= MSG_CTRUNC;
	return 0;
}

/* Wake up for a zero-copy completion only if this call could return it. */
static bool recv_wait_over(struct rds_sock *rs, const struct msghdr *msg)
{
	return !list_empty_careful(&rs->rx.queue) || READ_ONCE(rds_rs_to_sk(rs)->sk_err) ||
	       rx_has_news(rs) || recv_has_room(rs, msg) ||
	       (!list_empty_careful(&rs->rx.zrecords) && rds_zcopy_room(rds_rs_to_sk(rs), msg));
}

/**
 * rds_recvmsg() - take one message or notification
 * @sock: socket
 * @msg: destination
 * @size: payload room
 * @flags: MSG_*
 *
 * Context: process, may sleep.
 * Return: bytes, or an errno of Documentation/sockets.rst.
 */
int rds_recvmsg(struct socket *sock, struct msghdr *msg, size_t size, int flags)
{
	struct sock *sk = sock->sk;
	struct rds_sock *rs = rds_sk(sk);
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	long left;
	int ret;

	msg->msg_namelen = 0;
	if (flags & MSG_OOB)
		return 0;
	if (flags & MSG_ERRQUEUE)
		return -EAGAIN;		/* nothing is ever queued there */

	for (;;) {
		/* ENOBUFS: something was dropped */
		ret = sock_error(sk) ?: recv_once(rs, msg, size, flags);
		if (ret != -EAGAIN || !timeo)
			return ret;
		rds_send_push(rs);
		/* Others may take what ends the wait, each time. */
		if (signal_pending(current))
			return rds_intr_errno(timeo);
		left = wait_event_interruptible_timeout(*sk_sleep(sk), recv_wait_over(rs, msg),
							timeo);
		if (left < 0)
			return rds_intr_errno(timeo);
		if (!left)
			return -ETIMEDOUT;
		if (timeo != MAX_SCHEDULE_TIMEOUT)
			timeo = left;
	}
}
