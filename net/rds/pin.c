// SPDX-License-Identifier: GPL-2.0
/*
 * Pinned user pages: the pages, the locked-memory accounting and the notification are
 * one object with one release.
 *
 * All pins are long-term ones, for a peer decides how long they last, and whoever unplugs memory,
 * or needs it in one piece, must not wait for a peer.  So pages that may move are moved out of the
 * way first, and the mm refuses memory that a file system has to be told about before each write.
 *
 * Made in process context by sendmsg().  The last user may let go in any context, so
 * unpinning and notifying happen in a work item.
 */
#include <linux/mm.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "core.h"

static void pin_free(struct rds_pin *pin)
{
	unpin_user_pages_dirty_lock(pin->pages, pin->nr, pin->dirty);
	mm_unaccount_pinned_pages(&pin->mmp);
	if (pin->rs) {
		if (pin->notify)
			rds_notify_zcopy(pin);
		rds_sock_put(pin->rs);
	}
	kfree(pin->record);
	kvfree(pin->bvec);
	kvfree(pin);
}

static void pin_work(struct work_struct *work)
{
	pin_free(container_of(work, struct rds_pin, work));
}

/**
 * rds_pin_release() - unpin, give the accounting back and notify
 * @pin: taken
 *
 * Any context.
 */
void rds_pin_release(struct rds_pin *pin)
{
	/* Always: the last user may be under RCU or a lock that nobody can ask about. */
	INIT_WORK(&pin->work, pin_work);
	queue_work(rds_wq, &pin->work);
}

/**
 * rds_pin_drop() - the same at once
 * @pin: taken
 *
 * Context: process, may sleep.
 */
void rds_pin_drop(struct rds_pin *pin)
{
	pin_free(pin);
}

/* Wait for releases in flight (module exit: they need the module's text). */
void rds_pin_flush(void)
{
	flush_workqueue(rds_wq);
}

/*
 * Pin @len bytes at @addr, for reading; @bvec has room for @max entries, for all that is pinned.
 * Bytes or -errno.
 */
static ssize_t pin_run(struct rds_pin *pin, unsigned long addr, size_t len, struct bio_vec *bvec,
		       unsigned int max)
{
	size_t off = offset_in_page(addr), n, done;
	int got;

	got = min_t(size_t, DIV_ROUND_UP(off + len, PAGE_SIZE), max - pin->nr);
	if (got)
		got = pin_user_pages_fast(addr - off, got, FOLL_LONGTERM, pin->pages + pin->nr);
	if (got <= 0)
		return got ? got : -EFAULT;
	len = min(len, got * PAGE_SIZE - off);
	for (done = 0; done < len; done += n) {
		n = min(len - done, PAGE_SIZE - off);
		bvec_set_page(&bvec[pin->nr], pin->pages[pin->nr], n, off);
		pin->nr++;
		off = 0;
	}
	return len;
}

/* Where @from is, and how far it is from there to the end of the piece. */
static size_t iter_piece(const struct iov_iter *from, unsigned long *addr)
{
	if (iter_is_ubuf(from)) {
		*addr = (unsigned long)from->ubuf + from->iov_offset;
		return from->count;
	}
	*addr = (unsigned long)iter_iov_addr(from);
	return iter_iov_len(from);
}

/* Pin @len bytes of @from; @bvec has room for @max entries.  0 or -errno, partly done. */
static int pin_pages(struct rds_pin *pin, struct iov_iter *from, size_t len,
		     struct bio_vec *bvec, unsigned int max)
{
	unsigned long addr;
	ssize_t got;

	while (len) {
		got = min(len, iter_piece(from, &addr));
		if (got)
			got = pin_run(pin, addr, got, bvec, max);
		if (got < 0)
			return got;
		len -= got;
		iov_iter_advance(from, got);	/* over empty pieces, too */
	}
	return 0;
}

/**
 * rds_pin_iter() - pin a user buffer for reading
 * @from: user buffer; advanced
 * @len: bytes to pin, at most RDS_MAX_MSG_SIZE
 * @bvec: the pieces, one per page; freed with the pin; not touched on error
 * @nr_bvec: their number; not touched on error
 *
 * Process context.  The pages count against RLIMIT_MEMLOCK until rds_pin_release().
 * Return: the pin, or ERR_PTR(-ENOMEM) (also: over the limit) or ERR_PTR(-EFAULT).
 */
struct rds_pin *rds_pin_iter(struct iov_iter *from, size_t len, struct bio_vec **bvec, u16 *nr_bvec)
{
	unsigned int max = iov_iter_npages(from, U16_MAX);
	struct bio_vec *vec;
	struct rds_pin *pin;
	int err;

	/* Pages of the kernel's own cannot be pinned, only referenced. */
	if (!len || !max || !user_backed_iter(from))
		return ERR_PTR(-EFAULT);

	vec = kvmalloc_array(max, sizeof(*vec), GFP_KERNEL_ACCOUNT);
	pin = kvzalloc(struct_size(pin, pages, max), GFP_KERNEL_ACCOUNT);
	err = -ENOMEM;
	if (!vec || !pin)
		goto err_free;

	/* The helper assumes one run of pages; many small pieces pin more. */
	if (mm_account_pinned_pages(&pin->mmp, max_t(size_t, len, (size_t)max * PAGE_SIZE -
						     min(max, 2U) * PAGE_SIZE)))
		goto err_free;

	err = pin_pages(pin, from, len, vec, max);
	if (err)
		goto err_unpin;

	pin->bvec = vec;
	*bvec = vec;
	*nr_bvec = pin->nr;
	return pin;

err_unpin:
	unpin_user_pages(pin->pages, pin->nr);
	mm_unaccount_pinned_pages(&pin->mmp);
err_free:
	kvfree(pin);
	kvfree(vec);
	return ERR_PTR(err);
}

/* ---- memory for devices -------------------------------------------------------- */

static unsigned long vec_pages(const struct rds_iovec *v)
{
	return (PAGE_ALIGN(v->addr + v->bytes) - (v->addr & PAGE_MASK)) >> PAGE_SHIFT;
}

/* The piece @*v begins with, not longer than its page; @*v is advanced over it. */
static u32 vec_next(struct rds_iovec *v)
{
	u32 n = min_t(u64, v->bytes, PAGE_SIZE - offset_in_page(v->addr));

	v->addr += n;
	v->bytes -= n;
	return n;
}

/*
 * Charge the caller for @pages; given back by mm_unaccount_pinned_pages().  Its counterpart takes
 * a length, and two pages for the ends of it that one that begins and ends in a page has not.
 */
static int pin_account(struct mmpin *mmp, unsigned long pages)
{
	struct user_struct *user = current_user();
	unsigned long limit = rlimit(RLIMIT_MEMLOCK);
	long used = atomic_long_read(&user->locked_vm);

	if (capable(CAP_IPC_LOCK) || limit == RLIM_INFINITY)
		return 0;
	do {
		if (used + pages > limit >> PAGE_SHIFT)
			return -ENOMEM;
	} while (!atomic_long_try_cmpxchg(&user->locked_vm, &used, used + pages));
	mmp->user = get_uid(user);
	mmp->num_pg = pages;
	return 0;
}

/* Devices, and what bounces for them, do not take entries of any length. */
#define SG_ENTRY_MAX	SZ_64K

/* Does a piece at the start of @next go on where the one that ends with @last ends? */
static bool pages_join(struct page *last, struct page *next)
{
	return next == last + 1 && page_folio(last) == page_folio(next);
}

/*
 * Entries for the pieces of @vec in @pin's pages, where neighbours make one; written to @sg if
 * there is one.  Return: their number.
 */
static unsigned int pin_fill_sg(struct rds_pin *pin, const struct rds_iovec *vec, unsigned int n,
				struct scatterlist *sg)
{
	struct scatterlist *cur = NULL;
	unsigned int i, nents = 0;
	struct page **page = pin->pages;

	for (i = 0; i < n; i++) {
		struct rds_iovec left = vec[i];
		u32 run = 0;

		for (; left.bytes; page++) {
			u32 off = offset_in_page(left.addr);
			u32 len = vec_next(&left);
			bool join = run && run + len <= SG_ENTRY_MAX && pages_join(page[-1], *page);

			run = join ? run + len : len;
			nents += !join;
			if (!sg)
				continue;
			if (join) {
				cur->length += len;
			} else {
				cur = cur ? sg_next(cur) : sg;
				sg_set_page(cur, *page, len, off);
			}
		}
	}
	return nents;
}

static int pin_vecs(struct rds_pin *pin, const struct rds_iovec *vec, unsigned int n,
		    unsigned int gup)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		unsigned long addr = vec[i].addr & PAGE_MASK;
		unsigned long left = vec_pages(&vec[i]);

		while (left) {
			int got = pin_user_pages_fast(addr, left, gup, pin->pages + pin->nr);

			if (got <= 0)
				return got ? got : -EFAULT;
			pin->nr += got;
			addr += (unsigned long)got << PAGE_SHIFT;
			left -= got;
			cond_resched();
		}
	}
	return 0;
}

/**
 * rds_pin_user() - pin memory of the caller for a device
 * @vec: the memory, not more than RDS_MAX_MSG_SIZE in all, checked by rds_iov_check()
 * @n: entries
 * @write: the device will write; such pages are made dirty when they are released
 * @sgt: set to the memory as a list for the device; free with sg_free_table()
 *
 * The pages count against RLIMIT_MEMLOCK until rds_pin_release().
 *
 * Context: process, may sleep.
 * Return: the pin, or ERR_PTR(-ENOMEM) (also: over the limit), -EFAULT, or an errno of the mm.
 */
struct rds_pin *rds_pin_user(const struct rds_iovec *vec, unsigned int n, bool write,
			     struct sg_table *sgt)
{
	unsigned int gup = (write ? FOLL_WRITE : 0) | FOLL_LONGTERM;
	unsigned long pages = 0;
	struct rds_pin *pin;
	unsigned int i;
	int err;

	for (i = 0; i < n; i++)
		pages += vec_pages(&vec[i]);
	pin = kvzalloc(struct_size(pin, pages, pages), GFP_KERNEL_ACCOUNT);
	if (!pin)
		return ERR_PTR(-ENOMEM);
	err = pin_account(&pin->mmp, pages);
	if (err)
		goto err_free;
	pin->dirty = write;
	err = pin_vecs(pin, vec, n, gup);
	if (err)
		goto err_unpin;
	err = sg_alloc_table(sgt, pin_fill_sg(pin, vec, n, NULL), GFP_KERNEL);
	if (err)
		goto err_unpin;
	pin_fill_sg(pin, vec, n, sgt->sgl);
	return pin;

err_unpin:
	unpin_user_pages(pin->pages, pin->nr);
	mm_unaccount_pinned_pages(&pin->mmp);
err_free:
	kvfree(pin);
	return ERR_PTR(err);
}

#define PROBE_BATCH	16

/**
 * rds_pin_probe() - could these pages be pinned?
 * @addr: first byte
 * @bytes: length, not 0
 * @write: for writing
 *
 * For requests that a transport without RDMA refuses only after the arguments have been
 * looked at.  Nothing stays pinned.  Process context.
 * Return: 0, -EFAULT, -ERESTARTSYS or another errno of the memory management.
 */
int rds_pin_probe(u64 addr, u64 bytes, bool write)
{
	struct page *pages[PROBE_BATCH];
	unsigned long start, left;
	u64 end;

	if (!bytes || check_add_overflow(addr, bytes, &end) || end > U64_MAX - PAGE_SIZE ||
	    end > ULONG_MAX - PAGE_SIZE)
		return -EFAULT;

	start = addr & PAGE_MASK;
	left = (PAGE_ALIGN(end) - start) >> PAGE_SHIFT;
	while (left) {
		int n = pin_user_pages_fast(start, min_t(unsigned long, left, PROBE_BATCH),
					    (write ? FOLL_WRITE : 0) | FOLL_LONGTERM, pages);

		if (n <= 0)
			return n ? n : -EFAULT;
		unpin_user_pages(pages, n);
		start += (unsigned long)n << PAGE_SHIFT;
		left -= n;
		if (signal_pending(current))
			return -ERESTARTSYS;	/* nothing has happened yet */
		cond_resched();
	}
	return 0;
}
