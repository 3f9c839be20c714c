// SPDX-License-Identifier: GPL-2.0
/*
 * Operations: RDMA transfers and atomics that go with a message, and how their outcome is
 * reported.
 *
 * Built by sendmsg() with the local memory pinned and the notification allocated, so that
 * nothing can fail later.  While the message is on a path, path->lock guards how far the
 * operation is; a message leaves its path only when the operation is done, or is taken off
 * (rds_op.taken) and then the notifications are the taker's.
 */
#include <linux/slab.h>

#include "core.h"

/* The part after @part, the first one after NULL; NULL if there is none. */
static struct rds_op_part *op_next(struct rds_op *op, struct rds_op_part *part)
{
	for (part = part ? part + 1 : op->part; part < op->part + RDS_OP_NR; part++) {
		if (part->kind != RDS_OP_NONE)
			return part;
	}
	return NULL;
}

/**
 * rds_op_alloc() - an operation without parts
 * @ops: the transport that will execute it
 *
 * Return: the operation or NULL.
 */
struct rds_op *rds_op_alloc(const struct rds_rdma_ops *ops)
{
	struct rds_op *op = kzalloc(sizeof(*op) + ops->op_priv_size, GFP_KERNEL_ACCOUNT);

	if (op)
		init_completion(&op->idle);
	return op;
}

/* Let go of local memory; @now in process context only. */
static void op_unpin(struct rds_op *op, bool now)
{
	struct rds_op_part *part;

	for (part = op_next(op, NULL); part; part = op_next(op, part)) {
		if (!part->pin)
			continue;
		if (now)
			rds_pin_drop(part->pin);
		else
			rds_pin_release(part->pin);
		part->pin = NULL;
	}
}

/**
 * rds_op_free() - free the operation of a message
 * @op: the operation
 *
 * Context: any.
 */
void rds_op_free(struct rds_op *op)
{
	struct rds_op_part *part;

	op_unpin(op, false);
	for (part = op_next(op, NULL); part; part = op_next(op, part)) {
		sg_free_table(&part->sgt);
		kfree(part->note);
	}
	kfree(op);
}

/**
 * rds_op_undo() - the message will not be queued: give back at once what it holds
 * @m: message
 *
 * Context: process, may sleep.
 */
void rds_op_undo(struct rds_message *m)
{
	if (!m->op)
		return;
	op_unpin(m->op, true);
	rds_op_free(m->op);
	m->op = NULL;
}

/* ---- building -------------------------------------------------------------------- */

/* What both kinds of parts have; only with 0 the part is in use. */
static int op_add(struct rds_sock *rs, struct rds_op_part *part, enum rds_op_kind kind,
		  const struct rds_iovec *iov, unsigned int n, u64 flags, u64 token)
{
	struct rds_notifier *note = NULL;

	part->notify = flags & RDS_RDMA_NOTIFY_ME;
	if (part->notify || READ_ONCE(rs->recverr)) {
		if (READ_ONCE(rs->rx.nr_notes) >= RDS_NOTES_MAX)
			return -ENOBUFS;
		note = kmalloc(sizeof(*note), GFP_KERNEL_ACCOUNT);
		if (!note)
			return -ENOMEM;
		note->token = token;
	}
	part->pin = rds_pin_user(iov, n, kind != RDS_OP_WRITE, &part->sgt);
	if (IS_ERR(part->pin)) {
		kfree(note);
		return PTR_ERR(part->pin);
	}
	part->note = note;
	part->kind = kind;
	return 0;
}

/* All parts have to ask for silence; @other is the one that may have asked before. */
static void op_silence(struct rds_op *op, enum rds_op_nr other, u64 flags)
{
	bool first = op->part[other].kind == RDS_OP_NONE;

	op->silent = (first || op->silent) && flags & RDS_RDMA_SILENT;
}

/**
 * rds_op_add_rdma() - add a transfer
 * @rs: sending socket
 * @op: operation
 * @args: what is to be done
 * @iov: the local memory, checked
 * @bytes: its length
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int rds_op_add_rdma(struct rds_sock *rs, struct rds_op *op, const struct rds_rdma_args *args,
		    const struct rds_iovec *iov, u64 bytes)
{
	bool write = args->flags & RDS_RDMA_READWRITE;
	struct rds_op_part *part = &op->part[RDS_OP_RDMA];
	int err;

	err = op_add(rs, part, write ? RDS_OP_WRITE : RDS_OP_READ, iov, args->nr_local,
		     args->flags, args->user_token);
	if (err)
		return err;
	part->key = args->cookie;
	part->raddr = args->remote_vec.addr + (args->cookie >> 32);
	part->bytes = bytes;
	op->fence = args->flags & RDS_RDMA_FENCE;
	op_silence(op, RDS_OP_ATOMIC, args->flags);
	rds_stat_inc(send_rdma);
	return 0;
}

/* Masks that mask nothing are left out: few devices have them. */
static enum rds_op_kind atomic_kind(unsigned int type, const struct rds_atomic_args *args)
{
	switch (type) {
	case RDS_CMSG_ATOMIC_FADD:
		return RDS_OP_FADD;
	case RDS_CMSG_ATOMIC_CSWP:
		return RDS_OP_CSWP;
	case RDS_CMSG_MASKED_ATOMIC_FADD:
		return args->m_fadd.nocarry_mask ? RDS_OP_MASKED_FADD : RDS_OP_FADD;
	default:
		return ~args->m_cswp.compare_mask || ~args->m_cswp.swap_mask ?
			RDS_OP_MASKED_CSWP : RDS_OP_CSWP;
	}
}

/**
 * rds_op_add_atomic() - add an atomic
 * @rs: sending socket
 * @op: operation
 * @type: RDS_CMSG_*ATOMIC_*
 * @args: what is to be done
 *
 * Context: process, may sleep.
 * Return: 0 or -errno.
 */
int rds_op_add_atomic(struct rds_sock *rs, struct rds_op *op, unsigned int type,
		      const struct rds_atomic_args *args)
{
	const struct rds_iovec iov = { .addr = args->local_addr, .bytes = sizeof(u64) };
	struct rds_op_part *part = &op->part[RDS_OP_ATOMIC];
	enum rds_op_kind kind = atomic_kind(type, args);
	int err;

	if (iov.addr & 7 || iov.addr > ULONG_MAX - PAGE_SIZE)
		return -EFAULT;
	err = op_add(rs, part, kind, &iov, 1, args->flags, args->user_token);
	if (err)
		return err;
	part->key = args->cookie;
	part->raddr = args->remote_addr + (args->cookie >> 32);
	part->bytes = sizeof(u64);
	if (kind == RDS_OP_CSWP || kind == RDS_OP_MASKED_CSWP) {
		part->compare = args->cswp.compare;
		part->add = args->cswp.swap;
		part->compare_mask = args->m_cswp.compare_mask;
		part->add_mask = args->m_cswp.swap_mask;
	} else {
		part->add = args->fadd.add;
		part->add_mask = args->m_fadd.nocarry_mask;
	}
	op_silence(op, RDS_OP_RDMA, args->flags);
	return 0;
}

/* ---- outcome --------------------------------------------------------------------- */

/* Takes @note; the message that it is about keeps @rs. */
static void op_report(struct rds_sock *rs, struct rds_notifier *note, int status)
{
	struct sock *sk = rds_rs_to_sk(rs);

	note->status = status;
	spin_lock_bh(&rs->rx.lock);
	if (!rs->rx.closed) {
		list_add_tail(&note->node, &rs->rx.notes);
		WRITE_ONCE(rs->rx.nr_notes, rs->rx.nr_notes + 1);
		rds_note_added(rs);
		note = NULL;
	}
	spin_unlock_bh(&rs->rx.lock);
	if (!note)
		sk->sk_data_ready(sk);
	kfree(note);
}

/* The notification of a part that ends with @status, if one is due; path->lock, or taken. */
static struct rds_notifier *op_note(struct rds_op_part *part, int status)
{
	struct rds_notifier *note = part->note;

	/* Without NOTIFY_ME only failures are told, and not those the application wants. */
	if (!part->notify && (status == RDS_RDMA_SUCCESS || status == RDS_RDMA_CANCELED))
		return NULL;
	part->note = NULL;
	return note;
}

static void op_account(const struct rds_op_part *part)
{
	if (part->kind == RDS_OP_READ)
		rds_stat_add(recv_rdma_bytes, part->bytes);
	else if (part->kind == RDS_OP_WRITE)
		rds_stat_add(send_rdma_bytes, part->bytes);
}

/* All parts in @state? */
static bool op_all(struct rds_op *op, enum rds_op_state state)
{
	struct rds_op_part *part;

	for (part = op_next(op, NULL); part; part = op_next(op, part)) {
		if (part->state != state)
			return false;
	}
	return true;
}

/**
 * rds_op_holds() - has a message to stay on its path though the peer has confirmed it?
 * @m: message
 *
 * A read may end after the message that went behind it.  If so the message leaves the path
 * when the operation is done.
 *
 * Context: path->lock held.
 */
bool rds_op_holds(struct rds_message *m)
{
	if (!m->op || op_all(m->op, RDS_OP_OK))
		return false;
	m->op->acked = true;
	return true;
}

/**
 * rds_op_requeue() - the link is gone: may a message be sent again?
 * @m: message
 *
 * Context: path->lock held.
 * Return: false if its operation may have been executed without our knowing, or has failed.
 */
bool rds_op_requeue(const struct rds_message *m)
{
	return !m->op || op_all(m->op, RDS_OP_OK) || op_all(m->op, RDS_OP_WAITING);
}

/**
 * rds_op_pending() - is there an operation to be executed?
 * @m: message; link mutex or path->lock held
 */
bool rds_op_pending(const struct rds_message *m)
{
	return m->op && !op_all(m->op, RDS_OP_OK);
}

/**
 * rds_op_start() - an operation is in the hands of the transport
 * @p: path; link mutex held
 * @m: message, pulled
 *
 * Return: false if the message was taken off the path meanwhile.
 */
bool rds_op_start(struct rds_path *p, struct rds_message *m)
{
	struct rds_op *op = m->op;
	struct rds_op_part *part;

	spin_lock_bh(&p->lock);
	if (!op->taken) {
		op->begun = true;
		/* Nothing is sent, so nobody will confirm it. */
		op->acked |= op->silent;
		for (part = op_next(op, NULL); part; part = op_next(op, part))
			part->state = RDS_OP_POSTED;
	}
	spin_unlock_bh(&p->lock);
	return op->begun;
}

/**
 * rds_op_part_done() - a part of an operation was executed, or has failed
 * @m: its message, begun, and not taken off its path; path->lock held
 * @nr: part
 * @status: RDS_RDMA_SUCCESS, _REMOTE_ERROR or _OTHER_ERROR
 * @note: set to what has to be given to rds_op_tell()
 *
 * Return: true if the message waits for nothing else, and leaves its path.
 */
bool rds_op_part_done(struct rds_message *m, enum rds_op_nr nr, int status,
		      struct rds_notifier **note)
{
	struct rds_op_part *part = &m->op->part[nr];

	part->state = status == RDS_RDMA_SUCCESS ? RDS_OP_OK : RDS_OP_FAILED;
	*note = op_note(part, status);
	if (!m->op->acked || !op_all(m->op, RDS_OP_OK))
		return false;
	m->op->taken = true;
	return true;
}

/**
 * rds_op_tell() - count a part of an operation, and tell who wants to know
 * @m: its message
 * @nr: part
 * @status: outcome
 * @note: of rds_op_part_done(), or NULL
 *
 * Context: any, no lock of RDS held.
 */
void rds_op_tell(const struct rds_message *m, enum rds_op_nr nr, int status,
		 struct rds_notifier *note)
{
	if (status == RDS_RDMA_SUCCESS)
		op_account(&m->op->part[nr]);
	if (note)
		op_report(m->rs, note, status);
}

/**
 * rds_op_end() - the device does not touch the local memory of an operation any more
 * @m: message
 *
 * Context: any.
 */
void rds_op_end(struct rds_message *m)
{
	op_unpin(m->op, false);
	complete_all(&m->op->idle);
}

/*
 * Nobody has seen its end, but the peer has confirmed the message that went behind it.  (A read, or
 * what an atomic found, may have been lost on the way back.)
 */
static bool op_proven(const struct rds_op *op, const struct rds_op_part *part)
{
	return part->kind == RDS_OP_WRITE && part->state == RDS_OP_POSTED && op->acked &&
	       !op->silent;
}

/* @status, or what is known better. */
static void op_finish(struct rds_message *m, struct rds_op_part *part, int status)
{
	struct rds_notifier *note;

	if (part->state == RDS_OP_OK)
		return;
	if (op_proven(m->op, part)) {
		/* Of one that was taken back the end will be seen. */
		if (status != RDS_RDMA_CANCELED)
			op_account(part);
		status = RDS_RDMA_SUCCESS;
	}
	note = op_note(part, status);
	if (note)
		op_report(m->rs, note, status);
}

/**
 * rds_op_finish() - report the operations of messages that were taken off a path
 * @msgs: the messages, taken
 * @status: outcome of what was not reported yet and is not known; negative: nothing is reported
 */
void rds_op_finish(struct list_head *msgs, int status)
{
	struct rds_op_part *part;
	struct rds_message *m;

	list_for_each_entry(m, msgs, node) {
		if (!m->op || status < 0)
			continue;
		for (part = op_next(m->op, NULL); part; part = op_next(m->op, part))
			op_finish(m, part, status);
	}
}

/**
 * rds_op_wait() - wait until the device does not touch the memory of operations any more
 * @msgs: messages that were taken off a path
 * @time: jiffies, for all of them
 *
 * Not for a process that ends: nobody looks at its memory, and no signal would end the wait.
 *
 * Context: process, may sleep.
 * Return: false if the time was over; true also after a signal for the program.
 */
bool rds_op_wait(struct list_head *msgs, unsigned long time)
{
	struct rds_message *m;
	long left = min_t(unsigned long, time, MAX_SCHEDULE_TIMEOUT);

	if (current->flags & (PF_EXITING | PF_KTHREAD))
		return true;
	list_for_each_entry(m, msgs, node) {
		if (!m->op || !m->op->begun)
			continue;
		left = rds_wait_completion(&m->op->idle, left);
		if (left <= 0)
			return left < 0;
	}
	return true;
}
