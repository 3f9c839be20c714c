// SPDX-License-Identifier: GPL-2.0
/*
 * Counts values by size. Small ones have a bucket each, larger ones share it with
 * neighbours that differ by a thousandth at most, so that a percentile over any
 * number of samples is right within half of that.
 */
#include "histogram.h"

#define SUB	(1U << HISTOGRAM_BITS)

void histogram_add(struct histogram *h, uint64_t value)
{
	unsigned int shift = 0;

	if (value >= 2 * SUB)
		shift = 63 - HISTOGRAM_BITS - __builtin_clzll(value);
	h->count[shift * SUB + (value >> shift)]++;
}

/* Others may add to @to at the same time. */
void histogram_merge(struct histogram *to, const struct histogram *from)
{
	unsigned int i;

	for (i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (from->count[i])
			__sync_fetch_and_add(&to->count[i], from->count[i]);
}

/* The middle of what a bucket holds. */
static double value_of(unsigned int i)
{
	unsigned int shift = i < 2 * SUB ? 0 : i / SUB - 1;

	return (double)((uint64_t)(i - shift * SUB) << shift) + ((1ULL << shift) - 1) / 2.0;
}

/**
 * histogram_percentile() - the least value that so many percent do not exceed
 * @h: the values
 * @percent: 1 to 100
 *
 * Return: the value, or below 0 if there is none at all.
 */
double histogram_percentile(const struct histogram *h, unsigned int percent)
{
	uint64_t sum = 0, rank;
	unsigned int i;

	for (i = 0; i < HISTOGRAM_BUCKETS; i++)
		sum += h->count[i];
	rank = (sum * percent + 99) / 100;
	for (i = 0, sum = 0; i < HISTOGRAM_BUCKETS; i++) {
		sum += h->count[i];
		if (rank && sum >= rank)
			return value_of(i);
	}
	return -1;
}
