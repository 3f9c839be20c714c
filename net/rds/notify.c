// SPDX-License-Identifier: GPL-2.0
/*
 * What recvmsg() reports beside messages: status notifications of operations, bits of the
 * congestion monitor, completions of zero-copy sends.
 */
#include <linux/compat.h>
#include <linux/slab.h>
#include <net/compat.h>

#include "core.h"

/* Status notifications that a peek shows at once. */
#define NOTES_PEEKED	16

/**
 * rds_notify_zcopy() - report the completion of a zero-copy send
 * @pin: of the message; its record is taken if the last one of the socket is full
 *
 * Context: process.
 */
void rds_notify_zcopy(struct rds_pin *pin)
{
	struct rds_sock *rs = pin->rs;
	struct sock *sk = rds_rs_to_sk(rs);
	struct rds_zrecord *z;

	spin_lock_bh(&rs->rx.lock);
	if (rs->rx.closed)
		goto out;
	z = list_empty(&rs->rx.zrecords) ? NULL :
	    list_last_entry(&rs->rx.zrecords, struct rds_zrecord, node);
	if (z && z->cookies.num < RDS_MAX_ZCOOKIES) {
		z->cookies.cookies[z->cookies.num++] = pin->record->cookies.cookies[0];
	} else {
		list_add_tail(&pin->record->node, &rs->rx.zrecords);
		WRITE_ONCE(rs->rx.nr_zrecords, rs->rx.nr_zrecords + 1);
		pin->record = NULL;
	}
out:
	spin_unlock_bh(&rs->rx.lock);
	rds_stat_inc(zcopy_completed);
	sk->sk_data_ready(sk);
}

/**
 * rds_cmsg_room() - is there control space for one more control message?
 * @msg: of recvmsg()
 * @size: its data bytes
 *
 * A 32-bit program's header is shorter.
 */
bool rds_cmsg_room(const struct msghdr *msg, size_t size)
{
	bool compat = IS_ENABLED(CONFIG_COMPAT) && msg->msg_flags & MSG_CMSG_COMPAT;
	size_t hdr = compat ? sizeof(struct compat_cmsghdr) : CMSG_LEN(0);

	return msg->msg_control_user && msg->msg_controllen >= hdr + size;
}

/**
 * rds_note_room() - is there for a status notification?
 * @msg: of recvmsg()
 *
 * A 32-bit program's structure may end with its last member: then the padding is cut off.
 */
bool rds_note_room(const struct msghdr *msg)
{
	size_t size = sizeof(struct rds_rdma_notify);

	if (msg->msg_flags & MSG_CMSG_COMPAT)
		size = offsetofend(struct rds_rdma_notify, status);
	return rds_cmsg_room(msg, size);
}

/**
 * rds_zcopy_room() - is there for a zero-copy completion, and is it wanted?
 * @sk: socket
 * @msg: of recvmsg()
 *
 * The ABI wants room for the padding too.
 */
bool rds_zcopy_room(const struct sock *sk, const struct msghdr *msg)
{
	size_t size = sizeof(struct rds_zcopy_cookies);

	if (!(msg->msg_flags & MSG_CMSG_COMPAT))
		size = CMSG_ALIGN(size);
	return sock_flag(sk, SOCK_ZEROCOPY) && rds_cmsg_room(msg, size);
}

/**
 * rds_note_added() - a notification or monitor bit is where readers find it
 * @rs: socket
 *
 * Who reads without room is told of it, see recv_once().
 *
 * Context: any.
 */
void rds_note_added(struct rds_sock *rs)
{
	/* Who sees this finds what was added; pairs with recv_once(). */
	atomic_inc_return_release(&rs->rx.news);
}

/**
 * rds_recv_returned() - something is on the socket's queues again
 * @rs: socket
 *
 * Another reader may have looked while it was away.
 */
void rds_recv_returned(struct rds_sock *rs)
{
	struct sock *sk = rds_rs_to_sk(rs);

	sk->sk_data_ready(sk);
}

static int put_note(struct msghdr *msg, const struct rds_notifier *n)
{
	struct rds_rdma_notify out;

	memset(&out, 0, sizeof(out));
	out.user_token = n->token;
	out.status = n->status;
	return put_cmsg(msg, SOL_RDS, RDS_CMSG_RDMA_STATUS, sizeof(out), &out);
}

/* Show the oldest ones, and leave them where they are for other readers. */
static int peek_notes(struct rds_sock *rs, struct msghdr *msg)
{
	struct rds_notifier seen[NOTES_PEEKED], *n;
	unsigned int have = 0, i;
	int err = 0;

	spin_lock_bh(&rs->rx.lock);
	list_for_each_entry(n, &rs->rx.notes, node) {
		if (have == ARRAY_SIZE(seen))
			break;
		seen[have++] = *n;
	}
	spin_unlock_bh(&rs->rx.lock);
	for (i = 0; i < have && rds_note_room(msg) && !err; i++)
		err = put_note(msg, &seen[i]);
	return err ?: i;
}

/**
 * rds_recv_notes() - priority 1: status notifications, oldest first, as many as fit
 * @rs: socket
 * @msg: of recvmsg()
 * @flags: MSG_PEEK leaves them queued
 *
 * What does not fit stays queued.
 *
 * Context: process, may sleep.
 * Return: the number delivered, or -EFAULT.
 */
int rds_recv_notes(struct rds_sock *rs, struct msghdr *msg, int flags)
{
	struct rds_notifier *n, *next;
	LIST_HEAD(taken);
	int err = 0, nr = 0;
	bool left;

	if (!rds_note_room(msg))
		return 0;
	if (flags & MSG_PEEK)
		return peek_notes(rs, msg);
	spin_lock_bh(&rs->rx.lock);
	list_splice_init(&rs->rx.notes, &taken);
	spin_unlock_bh(&rs->rx.lock);

	list_for_each_entry_safe(n, next, &taken, node) {
		if (!rds_note_room(msg))
			break;
		err = put_note(msg, n);
		if (err)
			break;
		nr++;
		list_del(&n->node);
		kfree(n);
	}
	spin_lock_bh(&rs->rx.lock);
	WRITE_ONCE(rs->rx.nr_notes, rs->rx.nr_notes - nr);
	left = !list_empty(&taken);
	list_splice(&taken, &rs->rx.notes);
	spin_unlock_bh(&rs->rx.lock);
	if (left) {
		rds_note_added(rs);
		rds_recv_returned(rs);
	}
	return nr ?: err;
}

/**
 * rds_recv_cong() - priority 2: bits of the congestion monitor
 * @rs: socket
 * @msg: of recvmsg()
 * @flags: MSG_PEEK leaves them set
 *
 * Return: 1 = delivered, 0 = none or no room, -EFAULT.
 */
int rds_recv_cong(struct rds_sock *rs, struct msghdr *msg, int flags)
{
	u64 mask = atomic64_read(&rs->rx.cong_ready);
	int err;

	if (!mask || !rds_cmsg_room(msg, sizeof(mask)))
		return 0;
	err = put_cmsg(msg, SOL_RDS, RDS_CMSG_CONG_UPDATE, sizeof(mask), &mask);
	if (err)
		return err;
	if (!(flags & MSG_PEEK))
		atomic64_andnot(mask, &rs->rx.cong_ready);
	return 1;
}

/**
 * rds_recv_zcopy() - completions of zero-copy sends, if the application can take them
 * @rs: socket
 * @msg: of recvmsg()
 * @flags: MSG_PEEK leaves them queued
 *
 * Context: process, may sleep.
 * Return: 1 = delivered, 0 = none or no room, -EFAULT.
 */
int rds_recv_zcopy(struct rds_sock *rs, struct msghdr *msg, int flags)
{
	struct rds_zcopy_cookies out;
	struct rds_zrecord *z;
	int err;

	if (!rds_zcopy_room(rds_rs_to_sk(rs), msg))
		return 0;
	spin_lock_bh(&rs->rx.lock);
	z = list_first_entry_or_null(&rs->rx.zrecords, struct rds_zrecord, node);
	if (z)
		out = z->cookies;
	if (z && !(flags & MSG_PEEK)) {
		list_del(&z->node);
		WRITE_ONCE(rs->rx.nr_zrecords, rs->rx.nr_zrecords - 1);
	}
	spin_unlock_bh(&rs->rx.lock);
	if (!z)
		return 0;
	err = put_cmsg(msg, SOL_RDS, RDS_CMSG_ZCOPY_COMPLETION, sizeof(out), &out);
	if (flags & MSG_PEEK)
		return err ?: 1;
	if (err) {
		spin_lock_bh(&rs->rx.lock);
		list_add(&z->node, &rs->rx.zrecords);
		WRITE_ONCE(rs->rx.nr_zrecords, rs->rx.nr_zrecords + 1);
		spin_unlock_bh(&rs->rx.lock);
		rds_recv_returned(rs);
		return err;
	}
	kfree(z);
	return 1;
}
