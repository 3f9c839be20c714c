// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: memory regions.
 *
 * A region is made reachable by a registration, which is a work request, and is so until an
 * invalidation, another one.  They run on a queue pair of the device's own (regqp.c), so that
 * a region and its key do not depend on any connection.
 *
 * Who gives a region up puts it on a list; a work invalidates what is there, all in one go,
 * unmaps it and gives the memory back.  Nothing else waits: a region that was given up is
 * reachable until the work has run, and rds_ib_mr_flush() waits for that.  A region whose device
 * goes, or whose address goes to another device, is dead until its owner gives it up.
 *
 * The adapter's region objects (struct ib_mr) are dear on hardware and kept for reuse; the key
 * of an object changes with each use, and after half as many uses as there are keys it is freed.
 * Who was given keys must not know the next one of the same object, which may be another
 * program's memory: it is any of those that the object has not had, and the object that was freed
 * first is used first.
 * A software device (one without DMA) may be in the middle of a packet when its key is made
 * invalid.  There the object is always freed: that waits.  So it is made for no more pages than its
 * region has.
 */
#include <linux/bitmap.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "ib.h"

#define MR_PAGES_MAX	(RDS_MAX_MSG_SIZE / PAGE_SIZE + 1)
/* The last byte of a key can be chosen.  Half of its values always remain to choose from. */
#define MR_KEYS		256
#define MR_USES_MAX	(MR_KEYS / 2)

static int reuse = 1;
module_param(reuse, int, 0644);
MODULE_PARM_DESC(reuse, "keep region objects: 0 never, 1 of hardware, 2 always (not safe)");

/**
 * struct rds_ib_frmr - a region object of the adapter
 * @node: rds_ib_mr_pool.idle
 * @mr: the object
 * @pool: where it belongs
 * @pages: for so many
 * @key: last byte of its key
 * @had: those that it has had, one for each use
 */
struct rds_ib_frmr {
	struct list_head node;
	struct ib_mr *mr;
	struct rds_ib_mr_pool *pool;
	unsigned int pages;
	u8 key;
	DECLARE_BITMAP(had, MR_KEYS);
};

static struct workqueue_struct *mr_wq;
static LLIST_HEAD(dead_regions);
static DEFINE_SPINLOCK(regions_lock);	/* rds_ib_region: rdev, given_up; lists of regions */
static DEFINE_MUTEX(reap_lock);		/* regions are torn down by one at a time */
static void reap(struct work_struct *work);
static DECLARE_WORK(reap_work, reap);

/* ---- objects -------------------------------------------------------------------------- */

#define pool_count(pool, what) \
	rds_ib_count((pool)->large ? RDS_IB_RDMA_MR_1M_##what : RDS_IB_RDMA_MR_8K_##what)

/* -errno: the device has kept it, and reaches what it was made for. */
static int frmr_free(struct rds_ib_frmr *f)
{
	int err = ib_dereg_mr(f->mr);

	if (err)
		return err;
	pool_count(f->pool, FREE);
	atomic_dec(&f->pool->nr);
	kfree(f);
	return 0;
}

static struct rds_ib_frmr *frmr_idle(struct rds_ib_mr_pool *pool)
{
	struct rds_ib_frmr *f;

	spin_lock(&pool->lock);
	f = list_first_entry_or_null(&pool->idle, struct rds_ib_frmr, node);
	if (f) {
		list_del(&f->node);
		pool->nr_idle--;
	}
	spin_unlock(&pool->lock);
	return f;
}

/* The region's user has one more; what he gave up but was not reaped yet counts. */
static int pool_claim(struct rds_ib_mr_pool *pool, struct rds_mr *mr)
{
	int err = rds_mr_claim(mr, pool->shares, pool->max);

	if (err != -EAGAIN)
		return err;
	pool_count(pool, POOL_WAIT);
	rds_ib_mr_flush();
	err = rds_mr_claim(mr, pool->shares, pool->max);
	if (err == -EAGAIN)
		pool_count(pool, POOL_DEPLETED);
	return err;
}

/* A place in the pool; what was given up but not reaped yet counts. */
static bool pool_take(struct rds_ib_mr_pool *pool)
{
	if (atomic_add_unless(&pool->nr, 1, pool->max))
		return true;
	pool_count(pool, POOL_WAIT);
	rds_ib_mr_flush();
	if (atomic_add_unless(&pool->nr, 1, pool->max))
		return true;
	pool_count(pool, POOL_DEPLETED);
	return false;
}

/* Objects of this device are used again, for other regions. */
static bool frmr_reusable(struct rds_ib_device *rdev)
{
	return READ_ONCE(reuse) > ib_uses_virt_dma(rdev->dev);
}

/*
 * An object is made for one region, and freed with it.  Only in software: there memory lies where
 * the application has it, and freeing an object does what an invalidation does.
 */
static bool frmr_throwaway(struct rds_ib_device *rdev)
{
	return ib_uses_virt_dma(rdev->dev) && !frmr_reusable(rdev);
}

/* One for @pages, or for as many as others need. */
static struct rds_ib_frmr *frmr_new(struct rds_ib_device *rdev, struct rds_ib_mr_pool *pool,
				    unsigned int pages)
{
	struct rds_ib_frmr *f;
	int err;

	if (!pool_take(pool)) {
		/* The flush may have left some. */
		f = frmr_idle(pool);
		return f ?: ERR_PTR(-EAGAIN);
	}
	f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);
	err = -ENOMEM;
	if (!f)
		goto err_nr;
	f->pool = pool;
	f->pages = frmr_throwaway(rdev) ? pages : pool->pages;
	f->mr = ib_alloc_mr(rdev->pd, IB_MR_TYPE_MEM_REG, f->pages);
	if (IS_ERR(f->mr)) {
		err = PTR_ERR(f->mr);
		goto err_free;
	}
	pool_count(pool, ALLOC);
	return f;

err_free:
	kfree(f);
err_nr:
	atomic_dec(&pool->nr);
	return ERR_PTR(err);
}

/* One for @mr, which rds_mr_unclaim() is for when it is not used any more. */
static struct rds_ib_frmr *frmr_get(struct rds_ib_device *rdev, struct rds_mr *mr)
{
	unsigned int pages = DIV_ROUND_UP(mr->offset + mr->len, PAGE_SIZE);
	struct rds_ib_mr_pool *pool = &rdev->mr->pool[pages > RDS_IB_MR_SMALL];
	struct rds_ib_frmr *f;
	int err;

	if (pages > pool->pages)
		return ERR_PTR(-EMSGSIZE);
	err = pool_claim(pool, mr);
	if (err)
		return ERR_PTR(err);
	f = frmr_idle(pool);
	if (f) {
		pool_count(pool, REUSED);
	} else {
		f = frmr_new(rdev, pool, pages);
		if (IS_ERR(f)) {
			rds_mr_unclaim(mr);
			return f;
		}
	}
	pool_count(pool, USED);
	do
		f->key = get_random_u8();
	while (__test_and_set_bit(f->key, f->had));
	return f;
}

static unsigned int frmr_uses(const struct rds_ib_frmr *f)
{
	return bitmap_weight(f->had, MR_KEYS);
}

/* The object is invalid: keep it, or free it. */
static void frmr_put(struct rds_ib_device *rdev, struct rds_ib_frmr *f)
{
	struct rds_ib_mr_pool *pool = f->pool;
	bool kept = false;

	if (frmr_reusable(rdev) && f->pages == pool->pages && frmr_uses(f) < MR_USES_MAX) {
		spin_lock(&pool->lock);
		kept = pool->nr_idle < pool->max_idle;
		if (kept) {
			list_add_tail(&f->node, &pool->idle);
			pool->nr_idle++;
		}
		spin_unlock(&pool->lock);
	}
	if (!kept)
		frmr_free(f);
}

/* ---- making a region -------------------------------------------------------------------- */

#define REGION_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE)

/* Some devices that have atomics refuse to give the right to them in a work request (mlx5). */
static int region_enable(struct rds_ib_device *rdev, struct ib_mr *mr)
{
	bool atomic = rdev->dev->attrs.atomic_cap != IB_ATOMIC_NONE &&
		      !READ_ONCE(rdev->mr->no_atomic);
	int err;

	err = rds_ib_regqp_register(rdev, mr,
				    REGION_ACCESS | (atomic ? IB_ACCESS_REMOTE_ATOMIC : 0));
	if (err != -EINVAL || !atomic)
		return err;
	err = rds_ib_regqp_register(rdev, mr, REGION_ACCESS);
	if (!err)
		WRITE_ONCE(rdev->mr->no_atomic, true);
	return err;
}

/* Make an object of the mapped memory, under a new key; peers count from the first page. */
static int region_register(struct rds_ib_region *r, struct rds_ib_device *rdev)
{
	struct rds_mr *mr = r->mr;
	struct rds_ib_frmr *f;
	int n;

	f = frmr_get(rdev, mr);
	if (IS_ERR(f))
		return PTR_ERR(f);
	n = ib_map_mr_sg(f->mr, mr->sgt.sgl, mr->sgt.nents, NULL, PAGE_SIZE);
	if (n != mr->sgt.nents) {
		n = n < 0 ? n : -EINVAL;
		goto err_free;
	}
	/* The device takes these bits for those of the address; a bounce buffer has its own. */
	mr->offset = offset_in_page(f->mr->iova);
	f->mr->iova = mr->offset;
	ib_update_fast_reg_key(f->mr, f->key);
	n = region_enable(rdev, f->mr);
	if (n)
		goto err_free;
	r->frmr = f;
	mr->key = f->mr->rkey;
	return 0;

err_free:
	frmr_free(f);
	rds_mr_unclaim(mr);
	return n;
}

static int region_map(struct rds_ib_region *r, struct rds_ib_device *rdev)
{
	struct sg_table *sgt = &r->mr->sgt;
	int err;

	err = ib_dma_map_sgtable_attrs(rdev->dev, sgt, DMA_BIDIRECTIONAL, 0);
	if (err)
		return err;
	err = region_register(r, rdev);
	if (err) {
		ib_dma_unmap_sgtable_attrs(rdev->dev, sgt, DMA_BIDIRECTIONAL, 0);
		return err;
	}
	spin_lock_bh(&regions_lock);
	r->rdev = rdev;
	list_add_tail(&r->node, &rdev->mr->regions);
	spin_unlock_bh(&regions_lock);
	return 0;
}

/**
 * rds_ib_mr_map() - rds_rdma_ops.mr_map
 * @mr: the core's region
 * @laddr: local address
 * @scope: its interface if link-local
 *
 * Return: 0 or -errno.
 */
int rds_ib_mr_map(struct rds_mr *mr, const struct in6_addr *laddr, u32 scope)
{
	struct rds_ib_region *r = (struct rds_ib_region *)mr->priv;
	struct rds_ib_device *rdev;
	int err = -ENODEV;

	rdev = rds_ib_dev_for_addr(&init_net, laddr, scope);
	if (!rdev)
		return -ENODEV;
	r->mr = mr;
	r->laddr = *laddr;
	r->scope = scope;
	down_read(&rdev->mr->sem);
	if (!rdev->mr->gone)
		err = region_map(r, rdev);
	up_read(&rdev->mr->sem);
	if (err)
		rds_ib_dev_put(rdev);
	return err;
}

/* ---- ending a region --------------------------------------------------------------------- */

/* The device knows the region no more, and is done with its memory; reap_lock held. */
static void region_end(struct rds_ib_region *r, bool invalid)
{
	struct rds_ib_device *rdev = r->rdev;

	lockdep_assert_held(&reap_lock);
	if (invalid)
		frmr_put(rdev, r->frmr);
	else if (frmr_free(r->frmr))
		r->stuck = true;
	r->frmr = NULL;
	rds_mr_unclaim(r->mr);

	spin_lock_bh(&regions_lock);
	list_del(&r->node);
	r->rdev = NULL;
	spin_unlock_bh(&regions_lock);
	/* The application may have written to it since it was synced for that. */
	if (!r->stuck)
		ib_dma_unmap_sgtable_attrs(rdev->dev, &r->mr->sgt, DMA_BIDIRECTIONAL,
					   DMA_ATTR_SKIP_CPU_SYNC);
	else
		dev_err(&rdev->dev->dev, "rds: keeps a region of memory, which is lost\n");
	rds_ib_dev_put(rdev);
}

/* Invalidate regions of one device, as many as go at once, and end them. */
static void regions_invalidate(struct rds_ib_region **r, unsigned int n)
{
	struct rds_ib_device *rdev = r[0]->rdev;
	u32 keys[RDS_IB_REGQP_BATCH];
	unsigned int i;
	bool ok;

	/* The last region may hold the last reference. */
	refcount_inc(&rdev->ref);
	for (i = 0; i < n; i++)
		keys[i] = r[i]->frmr->mr->rkey;
	ok = !rds_ib_regqp_invalidate(rdev, keys, n);
	for (i = 0; i < n; i++)
		region_end(r[i], ok);
	rds_ib_dev_put(rdev);
}

/* Tear down what was given up. */
static void reap(struct work_struct *work)
{
	struct llist_node *list = llist_reverse_order(llist_del_all(&dead_regions));
	struct rds_ib_region *batch[RDS_IB_REGQP_BATCH], *r, *next;
	struct llist_node *first = list;
	unsigned int n = 0;

	mutex_lock(&reap_lock);
	llist_for_each_entry(r, list, dead) {
		if (!r->rdev)
			continue;
		if (frmr_throwaway(r->rdev)) {
			region_end(r, false);
			cond_resched();
			continue;
		}
		if (n && (n == ARRAY_SIZE(batch) || batch[0]->rdev != r->rdev)) {
			regions_invalidate(batch, n);
			n = 0;
		}
		batch[n++] = r;
	}
	if (n)
		regions_invalidate(batch, n);
	mutex_unlock(&reap_lock);

	/* Pages that a peer may still write to stay pinned for ever. */
	llist_for_each_entry_safe(r, next, first, dead) {
		if (!r->stuck)
			rds_mr_unmapped(r->mr);
		cond_resched();
	}
}

/**
 * rds_ib_mr_flush() - rds_rdma_ops.mr_flush
 *
 * Context: process, sleeps.
 */
void rds_ib_mr_flush(void)
{
	flush_work(&reap_work);
}

/* What the CPU wrote for peers, or they for it.  regions_lock held. */
static void region_sync(struct rds_ib_region *r, bool to_device)
{
	struct device *dev;

	lockdep_assert_held(&regions_lock);
	if (!r->rdev || ib_uses_virt_dma(r->rdev->dev))
		return;
	/* Not piece by piece: what an IOMMU makes one for the device is many in memory. */
	dev = r->rdev->dev->dma_device;
	if (to_device)
		dma_sync_sgtable_for_device(dev, &r->mr->sgt, DMA_BIDIRECTIONAL);
	else
		dma_sync_sgtable_for_cpu(dev, &r->mr->sgt, DMA_BIDIRECTIONAL);
}

/**
 * rds_ib_mr_sync() - rds_rdma_ops.mr_sync
 * @mr: region, not unmapped
 * @to_device: peers will read what the CPU has written
 *
 * Context: any.
 * Return: false if no peer can reach it any more.
 */
bool rds_ib_mr_sync(struct rds_mr *mr, bool to_device)
{
	struct rds_ib_region *r = (struct rds_ib_region *)mr->priv;
	bool alive;

	spin_lock_bh(&regions_lock);
	alive = r->rdev;
	region_sync(r, to_device);
	spin_unlock_bh(&regions_lock);
	return alive;
}

/**
 * rds_ib_mr_unmap() - rds_rdma_ops.mr_unmap
 * @mr: region
 *
 * Context: any.
 */
void rds_ib_mr_unmap(struct rds_mr *mr)
{
	struct rds_ib_region *r = (struct rds_ib_region *)mr->priv;

	spin_lock_bh(&regions_lock);
	/* What peers wrote is the application's now, not when the mapping ends. */
	region_sync(r, false);
	r->given_up = true;
	spin_unlock_bh(&regions_lock);
	llist_add(&r->dead, &dead_regions);
	queue_work(mr_wq, &reap_work);
}

/*
 * The device is not the region's any more; reap_lock held, and registrations are locked out, so
 * that nobody but the caller changes the list it is on.
 */
static void region_strand(struct rds_ib_region *r)
{
	spin_lock_bh(&regions_lock);
	/* What was given up is the application's, who may have written to it since. */
	if (!r->given_up)
		region_sync(r, false);
	spin_unlock_bh(&regions_lock);
	region_end(r, false);
}

/*
 * Links follow an address to another device, keys do not: there they would be nobody's, or those of
 * somebody else's memory.  One that is no device's for a while may come back.
 */
static void regions_moved(struct work_struct *work)
{
	struct rds_ib_mr_dev *md = container_of(work, struct rds_ib_mr_dev, moved);
	struct rds_ib_region *r, *next;
	struct in6_addr laddr = {};
	bool lost = false;
	u32 scope = 0;

	down_write(&md->sem);
	mutex_lock(&reap_lock);
	list_for_each_entry_safe(r, next, &md->regions, node) {
		/* Mostly one address has many. */
		if (scope != r->scope || !ipv6_addr_equal(&laddr, &r->laddr))
			lost = rds_ib_dev_lost(md->rdev, &r->laddr, r->scope);
		laddr = r->laddr;
		scope = r->scope;
		if (lost)
			region_strand(r);
		cond_resched();
	}
	mutex_unlock(&reap_lock);
	up_write(&md->sem);
}

/**
 * rds_ib_mr_look() - addresses may have moved between devices
 * @rdev: device that is not being removed
 *
 * Context: any.
 */
void rds_ib_mr_look(struct rds_ib_device *rdev)
{
	queue_work(mr_wq, &rdev->mr->moved);
}

/* ---- devices ------------------------------------------------------------------------------ */

static int pool_init(struct rds_ib_mr_pool *pool, bool large, unsigned int pages, u64 max)
{
	pool->shares = rds_quota_alloc();
	spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->idle);
	pool->large = large;
	pool->pages = pages;
	pool->max = clamp_t(u64, max, 1, INT_MAX);
	pool->max_idle = large ? 256 : 1024;
	return pool->shares ? 0 : -ENOMEM;
}

static void pools_exit(struct rds_ib_mr_dev *md)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(md->pool); i++)
		rds_quota_free(md->pool[i].shares);
}

/**
 * rds_ib_mr_add() - a device comes
 * @rdev: device
 *
 * Return: 0 or -ENOMEM.
 */
int rds_ib_mr_add(struct rds_ib_device *rdev)
{
	const struct ib_device_attr *a = &rdev->dev->attrs;
	struct rds_ib_mr_dev *md = kzalloc(sizeof(*md), GFP_KERNEL);
	u64 large = max(a->max_mr / 2, 1);

	if (!md)
		return -ENOMEM;
	md->rdev = rdev;
	init_rwsem(&md->sem);
	INIT_LIST_HEAD(&md->regions);
	INIT_WORK(&md->moved, regions_moved);
	rds_ib_regqp_init(&md->regqp);
	if (pool_init(&md->pool[0], false, min(RDS_IB_MR_SMALL, a->max_fast_reg_page_list_len),
		      min_t(u64, rds_ib_mr_8k_pool_size, large * 85)) ||
	    pool_init(&md->pool[1], true, min_t(u32, MR_PAGES_MAX, a->max_fast_reg_page_list_len),
		      min_t(u64, rds_ib_mr_1m_pool_size, large))) {
		pools_exit(md);
		kfree(md);
		return -ENOMEM;
	}
	rdev->mr = md;
	return 0;
}

/**
 * rds_ib_mr_remove() - a device goes: its regions are dead
 * @rdev: device, not found any more, without links
 *
 * The memory stays pinned until the applications give the regions up.
 */
void rds_ib_mr_remove(struct rds_ib_device *rdev)
{
	struct rds_ib_mr_dev *md = rdev->mr;
	struct rds_ib_region *r, *next;
	struct rds_ib_frmr *f;
	unsigned int i;

	cancel_work_sync(&md->moved);
	down_write(&md->sem);
	md->gone = true;
	up_write(&md->sem);

	mutex_lock(&reap_lock);
	list_for_each_entry_safe(r, next, &md->regions, node) {
		region_strand(r);
		cond_resched();
	}
	mutex_unlock(&reap_lock);

	for (i = 0; i < ARRAY_SIZE(md->pool); i++) {
		while ((f = frmr_idle(&md->pool[i])))
			frmr_free(f);
	}
	pools_exit(md);
	rds_ib_regqp_destroy(&md->regqp);
}

/**
 * rds_ib_mr_info() - for info records
 * @rdev: device
 * @max: set to the number of large regions there may be
 * @size: set to the pages of one
 */
void rds_ib_mr_info(const struct rds_ib_device *rdev, u32 *max, u32 *size)
{
	*max = rdev->mr->pool[1].max;
	*size = rdev->mr->pool[1].pages;
}

/**
 * rds_ib_mr_init() - before the first device
 *
 * Return: 0 or -ENOMEM.
 */
int rds_ib_mr_init(void)
{
	mr_wq = alloc_workqueue("rds_ib_mr", WQ_UNBOUND, 0);
	return mr_wq ? 0 : -ENOMEM;
}

/* rds_ib_mr_exit() - after the last device */
void rds_ib_mr_exit(void)
{
	destroy_workqueue(mr_wq);
}
