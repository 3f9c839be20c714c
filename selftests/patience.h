/* SPDX-License-Identifier: GPL-2.0 */
#ifndef RDS_PATIENCE_H
#define RDS_PATIENCE_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* How much slower than usual the kernel and this machine are: limits stretch with it. */
static inline int slow(void)
{
	const char *times = getenv("RDS_SLOW");

	return times && atoi(times) > 1 ? atoi(times) : 1;
}

/* Is it the kernel that is many times slower? */
static inline bool slow_kernel(void)
{
	const char *kernel = getenv("RDS_KERNEL");

	return kernel && (!strcmp(kernel, "kasan") || !strcmp(kernel, "kcsan"));
}

/* Then dials and ends of namespaces take much longer, and what is in slabs costs more. */
static inline bool has_kasan(void)
{
	const char *kernel = getenv("RDS_KERNEL");

	return kernel && strstr(kernel, "kasan");
}

#endif
