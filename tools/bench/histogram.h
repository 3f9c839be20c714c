/* SPDX-License-Identifier: GPL-2.0 */
/* Times of round trips: all of them, in little room. Pure code, for the unit test. */
#ifndef RDS_BENCH_HISTOGRAM_H
#define RDS_BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BITS		10	/* each power of two has 2^10 buckets */
#define HISTOGRAM_BUCKETS	((64 - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS)

struct histogram {
	uint64_t count[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, uint64_t value);
void histogram_merge(struct histogram *to, const struct histogram *from);
double histogram_percentile(const struct histogram *h, unsigned int percent);

#endif
