// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over verbs: small buffers of equal size, mapped for the device for good.
 */
#include <linux/slab.h>

#include "ib.h"

/**
 * rds_ib_bufs_init() - allocate and map small buffers
 * @b: zeroed
 * @dev: device
 * @nr: how many
 * @size: of each, a power of two, at most a page
 * @dir: direction
 *
 * Return: 0 or -ENOMEM; rds_ib_bufs_free() in either case.
 */
int rds_ib_bufs_init(struct rds_ib_bufs *b, struct ib_device *dev, u32 nr, u32 size,
		     enum dma_data_direction dir)
{
	u32 want;

	b->dev = dev;
	b->dir = dir;
	b->size = size;
	b->per_page = PAGE_SIZE / size;
	want = DIV_ROUND_UP(nr, b->per_page);
	b->pages = kvcalloc(want, sizeof(*b->pages), GFP_KERNEL_ACCOUNT);
	b->dma = kvcalloc(want, sizeof(*b->dma), GFP_KERNEL_ACCOUNT);
	if (!b->pages || !b->dma)
		return -ENOMEM;
	for (; b->nr_pages < want; b->nr_pages++) {
		void *page = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
		u64 dma;

		if (!page)
			return -ENOMEM;
		dma = ib_dma_map_single(dev, page, PAGE_SIZE, dir);
		if (ib_dma_mapping_error(dev, dma)) {
			free_page((unsigned long)page);
			return -ENOMEM;
		}
		b->pages[b->nr_pages] = page;
		b->dma[b->nr_pages] = dma;
	}
	return 0;
}

/**
 * rds_ib_bufs_free() - free small buffers
 * @b: zeroed, or initialised in whole or in part
 */
void rds_ib_bufs_free(struct rds_ib_bufs *b)
{
	while (b->nr_pages--) {
		ib_dma_unmap_single(b->dev, b->dma[b->nr_pages], PAGE_SIZE, b->dir);
		free_page((unsigned long)b->pages[b->nr_pages]);
	}
	kvfree(b->pages);
	kvfree(b->dma);
	memset(b, 0, sizeof(*b));
}
