// SPDX-License-Identifier: GPL-2.0
/*
 * Pages of large payloads, used again.
 *
 * The kernel zeroes most pages that it allocates: of the way of a large message that is
 * as much as half a copy.  So a socket keeps the pages of messages that are done, for its
 * next ones.  A transport, and on the same host the receiver, may still read such a page:
 * it is taken again only while the socket's own reference is the last one.
 *
 * No more is kept than the send buffer allows, nothing for longer than two seconds without
 * use, and nothing after close().  The pages stay charged to the memory control group of
 * who allocated them, which is one that used this socket.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "core.h"

#define RDS_PAYLOAD_ORDER	3
#define RDS_PAYLOAD_IDLE	HZ

/**
 * struct rds_payload_pool - pages that a socket keeps
 * @lock: guards all but @idle; innermost, taken in any context
 * @pages: in the order in which they came, linked by page->lru, each with a reference
 * @bytes: their size
 * @used: a page was taken since @idle looked
 * @closed: nothing more is kept
 * @idle: frees what is not used
 */
struct rds_payload_pool {
	spinlock_t lock;	/* see above */
	struct list_head pages;
	unsigned int bytes;
	bool used;
	bool closed;
	struct delayed_work idle;
};

static void pages_free(struct list_head *pages)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, pages, lru) {
		list_del_init(&page->lru);
		put_page(page);
	}
}

static void pool_idle(struct work_struct *work)
{
	struct rds_payload_pool *pool = container_of(to_delayed_work(work),
						     struct rds_payload_pool, idle);
	LIST_HEAD(pages);

	spin_lock_bh(&pool->lock);
	if (!pool->used) {
		list_splice_init(&pool->pages, &pages);
		pool->bytes = 0;
	} else if (!pool->closed) {
		queue_delayed_work(rds_wq, &pool->idle, RDS_PAYLOAD_IDLE);
	}
	pool->used = false;
	spin_unlock_bh(&pool->lock);
	pages_free(&pages);
}

static struct rds_payload_pool *pool_make(struct rds_sock *rs)
{
	struct rds_payload_pool *pool = kzalloc(sizeof(*pool), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	if (!pool)
		return NULL;
	spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->pages);
	INIT_DELAYED_WORK(&pool->idle, pool_idle);
	/* Another thread may have been first. */
	if (cmpxchg(&rs->payload, NULL, pool)) {
		kfree(pool);
		pool = READ_ONCE(rs->payload);
	}
	return pool;
}

static struct page *pool_take(struct rds_sock *rs, unsigned int order)
{
	struct rds_payload_pool *pool = READ_ONCE(rs->payload);
	struct page *page;

	if (!pool)
		pool = pool_make(rs);
	if (!pool)
		return NULL;
	spin_lock_bh(&pool->lock);
	page = list_first_entry_or_null(&pool->pages, struct page, lru);
	if (page && compound_order(page) == order && page_ref_count(page) == 1) {
		list_del_init(&page->lru);
		pool->bytes -= page_size(page);
		pool->used = true;
	} else {
		page = NULL;
	}
	spin_unlock_bh(&pool->lock);
	if (page)
		rds_stat_inc(payload_reused);
	return page;
}

/**
 * rds_payload_page() - room for a payload
 * @rs: the sending socket
 * @left: bytes of payload that have none yet
 * @size: set to the size of the page
 *
 * Its content is anything: all that is sent of it must be written.
 *
 * Context: process, may sleep.
 * Return: a page in low memory, compound if larger than PAGE_SIZE; or NULL.
 */
struct page *rds_payload_page(struct rds_sock *rs, size_t left, unsigned int *size)
{
	unsigned int order = min_t(unsigned int, get_order(left), RDS_PAYLOAD_ORDER);
	struct page *page = pool_take(rs, order);

	if (!page && order)
		page = alloc_pages(GFP_KERNEL_ACCOUNT | __GFP_COMP | __GFP_NOWARN | __GFP_NORETRY,
				   order);
	if (!page)
		page = alloc_page(GFP_KERNEL_ACCOUNT);
	if (page)
		*size = page_size(page);
	return page;
}

/**
 * rds_payload_put() - a message is done with a page
 * @rs: the socket that sent it; or NULL
 * @page: a page of rds_payload_page()
 *
 * Context: any.
 */
void rds_payload_put(struct rds_sock *rs, struct page *page)
{
	struct rds_payload_pool *pool = rs ? READ_ONCE(rs->payload) : NULL;
	unsigned int size = page_size(page);
	bool first, kept = false;

	if (pool) {
		spin_lock_bh(&pool->lock);
		if (!pool->closed && pool->bytes + size <= rds_sndbuf(rs)) {
			first = !pool->bytes;
			list_add_tail(&page->lru, &pool->pages);
			pool->bytes += size;
			if (first)
				queue_delayed_work(rds_wq, &pool->idle, RDS_PAYLOAD_IDLE);
			kept = true;
		}
		spin_unlock_bh(&pool->lock);
	}
	if (!kept)
		put_page(page);
}

/**
 * rds_payload_close() - the socket is being closed
 * @rs: socket
 *
 * Context: process, may sleep.
 */
void rds_payload_close(struct rds_sock *rs)
{
	struct rds_payload_pool *pool = READ_ONCE(rs->payload);
	LIST_HEAD(pages);

	if (!pool)
		return;
	spin_lock_bh(&pool->lock);
	pool->closed = true;
	list_splice_init(&pool->pages, &pages);
	pool->bytes = 0;
	spin_unlock_bh(&pool->lock);
	cancel_delayed_work_sync(&pool->idle);
	pages_free(&pages);
}

/**
 * rds_payload_free() - the last reference to the socket is gone
 * @rs: socket
 *
 * Context: any.
 */
void rds_payload_free(struct rds_sock *rs)
{
	kfree(rs->payload);
}
