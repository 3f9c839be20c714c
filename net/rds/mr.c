// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions of a socket: pinned memory of the application that peers reach by a key.
 *
 * rds_sock.mrs is the only way to a region.  Who takes it out of there gives it to the
 * transport's mr_unmap(), which ends in rds_mr_unmapped().  The transport's mr_sync() is
 * called under the table's lock, so never for a region that is being unmapped.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "core.h"

/**
 * struct core_mr - a region, and what only the core knows of it
 * @user: whose it is; he has a socket as long as it can be claimed for him
 * @quota: what @claim is of
 * @claim: what the region takes of the device
 * @mr: what the transport knows of it
 */
struct core_mr {
	struct rds_user *user;
	struct rds_quota *quota;
	struct rds_claim claim;
	struct rds_mr mr;
};

static struct core_mr *mr_core(struct rds_mr *mr)
{
	return container_of(mr, struct core_mr, mr);
}

/* Times another key is asked for if one of a device that has gone stands in the way. */
#define MR_TRIES	8

/**
 * rds_mr_unmapped() - no peer can reach the memory any more
 * @mr: region, freed
 *
 * Context: process.
 */
void rds_mr_unmapped(struct rds_mr *mr)
{
	sg_free_table(&mr->sgt);
	rds_pin_drop(mr->pin);
	kfree(mr_core(mr));
}

/**
 * rds_mr_claim() - a region needs one of what the device has a bounded number of
 * @mr: region that is being mapped
 * @q: the quota
 * @max: how many there are
 *
 * Context: process, may sleep.
 * Return: 0, -EAGAIN if the user of the region has his share, -ENOMEM.
 */
int rds_mr_claim(struct rds_mr *mr, struct rds_quota *q, unsigned int max)
{
	struct core_mr *cm = mr_core(mr);
	int err = rds_quota_claim(q, cm->user, max, &cm->claim);

	cm->quota = q;
	return err == -ENOSPC ? -EAGAIN : err;
}

/**
 * rds_mr_unclaim() - undo rds_mr_claim()
 * @mr: region; nothing is done if it has none
 */
void rds_mr_unclaim(struct rds_mr *mr)
{
	struct core_mr *cm = mr_core(mr);

	rds_quota_release(cm->quota, &cm->claim);
}

static struct rds_mr *mr_create(struct rds_sock *rs, const struct rds_rdma_ops *ops,
				const struct rds_iovec *vec)
{
	struct core_mr *cm = kzalloc(sizeof(*cm) + ops->mr_priv_size, GFP_KERNEL_ACCOUNT);
	struct rds_mr *mr = &cm->mr;
	struct rds_pin *pin;

	if (!cm)
		return ERR_PTR(-ENOMEM);
	/* Writable and for peers to read and write, whatever the flags say, as ever. */
	pin = rds_pin_user(vec, 1, true, &mr->sgt);
	if (IS_ERR(pin)) {
		kfree(cm);
		return ERR_CAST(pin);
	}
	cm->user = rs->user;
	mr->ops = ops;
	mr->pin = pin;
	mr->offset = offset_in_page(vec->addr);
	mr->len = vec->bytes;
	return mr;
}

/* In this order; lengths that cannot be pinned are refused before anything is pinned. */
static int mr_check(const struct rds_iovec *vec)
{
	u64 end;

	if (check_add_overflow(vec->addr, vec->bytes, &end) || end > U64_MAX - PAGE_SIZE)
		return -EINVAL;
	if (!can_do_mlock())
		return -EPERM;
	if (!vec->bytes || vec->bytes > U32_MAX)
		return -EINVAL;
	if (offset_in_page(vec->addr) + vec->bytes > RDS_MAX_MSG_SIZE + PAGE_SIZE)
		return -EMSGSIZE;
	if (end > ULONG_MAX - PAGE_SIZE)
		return -EFAULT;
	return 0;
}

/*
 * Make it reachable and enter it; -EBUSY: another one may have more luck.  Somebody else may free
 * it as soon as it is entered: only its @cookie is told.
 */
static int mr_publish(struct rds_sock *rs, struct rds_mr *mr, u64 *cookie)
{
	int err = mr->ops->mr_map(mr, &rs->bound.ip, rs->bound.scope);

	if (err) {
		rds_mr_unmapped(mr);
		return err;
	}
	*cookie = (u64)mr->offset << 32 | mr->key;
	err = xa_insert_bh(&rs->mrs, mr->key, mr, GFP_KERNEL_ACCOUNT);
	if (err)
		mr->ops->mr_unmap(mr);
	return err;
}

/**
 * rds_mr_register() - make memory of the caller reachable for peers
 * @rs: bound socket
 * @args: memory, flags, where to store the cookie
 * @cookie: set to the cookie
 *
 * Context: process, may sleep.
 * Return: 0 or -errno of Documentation/sockets.rst.
 */
int rds_mr_register(struct rds_sock *rs, const struct rds_get_mr_args *args, u64 *cookie)
{
	const struct rds_rdma_ops *ops = rs->trans->rdma;
	unsigned int tries = MR_TRIES;
	struct rds_mr *mr;
	u64 __user *to;
	int err;

	if (!ops)
		return -EOPNOTSUPP;
	err = mr_check(&args->vec);
	if (err)
		return err;
	do {
		mr = mr_create(rs, ops, &args->vec);
		if (IS_ERR(mr))
			return PTR_ERR(mr);
		mr->use_once = args->flags & RDS_RDMA_USE_ONCE;
		mr->invalidate = args->flags & RDS_RDMA_INVALIDATE;
		err = mr_publish(rs, mr, cookie);
	} while (err == -EBUSY && --tries);
	if (err)
		return err;
	to = u64_to_user_ptr(args->cookie_addr);
	if (to && put_user(*cookie, to)) {
		rds_mr_free(rs, *cookie, false);
		return -EFAULT;
	}
	return 0;
}

/* End what was given up, by messages that use it up too. */
static void mr_flush(struct rds_sock *rs, const struct rds_rdma_ops *ops)
{
	xa_lock_bh(&rs->mrs);
	xa_unlock_bh(&rs->mrs);
	ops->mr_flush();
}

/**
 * rds_mr_free() - end a region
 * @rs: its socket
 * @cookie: its cookie, or 0: see to it that all that were freed are
 * @invalidate: return when no peer can reach it any more
 *
 * Context: process, may sleep.
 * Return: 0, -EINVAL for a key that is none of this socket's.
 */
int rds_mr_free(struct rds_sock *rs, u64 cookie, bool invalidate)
{
	/* One that was chosen stays, bound or not, and has nothing to flush before. */
	const struct rds_transport *t = rds_is_bound(rs) || !cookie ? READ_ONCE(rs->trans) : NULL;
	const struct rds_rdma_ops *ops = t ? t->rdma : NULL;
	struct rds_mr *mr;

	if (!ops)
		return -EINVAL;
	if (cookie) {
		mr = xa_erase_bh(&rs->mrs, (u32)cookie);
		if (!mr)
			return -EINVAL;
		invalidate |= mr->invalidate;
		ops->mr_unmap(mr);
	}
	if (invalidate || !cookie)
		mr_flush(rs, ops);
	return 0;
}

/**
 * rds_mr_dest() - a cookie goes to a peer, who may use the region from now on
 * @rs: sending socket
 * @cookie: the cookie
 *
 * The message carries the number and holds nothing: who frees the region takes the key back, as
 * rds_mr_free() says, from messages that are still on their way, too.
 *
 * Return: 0, -EINVAL for a key that is none of this socket's, or of a region that is dead because
 * its device has gone, or the address to another one.
 */
int rds_mr_dest(struct rds_sock *rs, u64 cookie)
{
	struct rds_mr *mr;
	bool ok;

	xa_lock_bh(&rs->mrs);
	mr = xa_load(&rs->mrs, (u32)cookie);
	ok = mr && mr->ops->mr_sync(mr, true);
	xa_unlock_bh(&rs->mrs);
	return ok ? 0 : -EINVAL;
}

/**
 * rds_mr_used() - a message says that its sender has executed an operation on a region
 * @rs: receiving socket
 * @key: key of the region, perhaps
 *
 * Context: any.
 */
void rds_mr_used(struct rds_sock *rs, u32 key)
{
	struct rds_mr *mr;

	if (xa_empty(&rs->mrs))
		return;
	xa_lock_bh(&rs->mrs);
	mr = xa_load(&rs->mrs, key);
	if (mr)
		mr->ops->mr_sync(mr, false);
	if (mr && mr->use_once) {
		__xa_erase(&rs->mrs, key);
		mr->ops->mr_unmap(mr);	/* who does not find it any more can flush it */
	}
	xa_unlock_bh(&rs->mrs);
}

/**
 * rds_mr_release_all() - end all regions of a socket that is being closed
 * @rs: the socket
 *
 * Context: process, sleeps until no peer can reach them any more.
 */
void rds_mr_release_all(struct rds_sock *rs)
{
	const struct rds_rdma_ops *ops = rds_is_bound(rs) ? rs->trans->rdma : NULL;
	struct rds_mr *mr;
	unsigned long key;

	if (!ops)
		return;
	xa_for_each(&rs->mrs, key, mr) {
		/* A message that uses it up may be faster. */
		mr = xa_erase_bh(&rs->mrs, key);
		if (mr)
			ops->mr_unmap(mr);
	}
	mr_flush(rs, ops);
}
