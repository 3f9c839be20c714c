// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 timeout=60 */
/* The percentiles of rds-bench, against values that are sorted. */
#include <stdlib.h>
#include "unit.h"
#include "../../tools/bench/histogram.h"

#define MANY	1000000

static struct histogram h, other;
static uint64_t values[MANY];

static void clear(void)
{
	memset(&h, 0, sizeof(h));
	memset(&other, 0, sizeof(other));
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Return: whether @got is @want, as exactly as a bucket is. */
static bool near(double got, double want)
{
	return got >= want * (1 - 1 / 2048.) - .5 && got <= want * (1 + 1 / 2048.) + .5;
}

/* Of n values the p-th percentile has the rank p * n / 100, rounded up. */
static void ranks(void)
{
	unsigned int n, i;

	for (n = 1; n <= 400; n++) {
		clear();
		for (i = 1; i <= n; i++)
			histogram_add(&h, i);
		EXPECT_EQ((long)histogram_percentile(&h, 50), (n + 1) / 2);
		EXPECT_EQ((long)histogram_percentile(&h, 99), (99 * n + 99) / 100);
		EXPECT_EQ((long)histogram_percentile(&h, 100), n);
	}
}

static void no_samples(void)
{
	clear();
	EXPECT(histogram_percentile(&h, 50) < 0);
	EXPECT(histogram_percentile(&h, 99) < 0);
}

/* One value of any size is told as it is; above 2^32 ns are 4.29 s. */
static void any_size(void)
{
	uint64_t v;
	int bit;

	for (bit = 0; bit < 64; bit++) {
		for (v = (1ULL << bit) - 1; v != (1ULL << bit) + 2; v++) {
			clear();
			histogram_add(&h, v);
			EXPECT(near(histogram_percentile(&h, 50), v));
		}
	}
	clear();
	histogram_add(&h, UINT64_MAX);
	EXPECT(near(histogram_percentile(&h, 99), UINT64_MAX));
	clear();
	histogram_add(&h, 5000000000ULL);
	EXPECT(near(histogram_percentile(&h, 99), 5e9));
}

/* All count, also those after the first 262144, and those of several processes. */
static void many_samples(void)
{
	unsigned int percent, i;

	clear();
	srandom(1);
	for (i = 0; i < MANY; i++) {
		values[i] = i < MANY / 2 ? 20000 + random() % 1000 : random();
		histogram_add(i % 3 ? &h : &other, values[i]);
	}
	histogram_merge(&h, &other);
	qsort(values, MANY, sizeof(values[0]), by_value);
	for (percent = 1; percent <= 100; percent++)
		EXPECT(near(histogram_percentile(&h, percent), values[MANY / 100 * percent - 1]));
}

static const struct unit_test tests[] = {
	CASE(ranks),
	CASE(no_samples),
	CASE(any_size),
	CASE(many_samples),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
