/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Drops of messages as the kernel traces them, in an instance of its own: other tests leave theirs
 * off, or small.
 */
#ifndef RDS_TRACE_H
#define RDS_TRACE_H

#include "rds_util.h"

#define TRACING	"/sys/kernel/tracing"
#define DROPS	TRACING "/instances/drops"

static inline int trace_drops(void)
{
	return run_cmd("[ -d " TRACING "/events ] || mount -t tracefs none " TRACING
		       "; mkdir -p " DROPS " && echo >" DROPS "/trace && echo 1 >" DROPS
		       "/events/rds/rds_drop/enable");
}

/* Are there @n lines so far that match? */
__attribute__((format(printf, 2, 3)))
static inline bool traced(int n, const char *fmt, ...)
{
	char pattern[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(pattern, sizeof(pattern), fmt, ap);
	va_end(ap);
	return !run_cmd("[ $(grep -c '%s' " DROPS "/trace) = %d ]", pattern, n);
}

static inline int trace_end(void)
{
	return run_cmd("rmdir " DROPS);
}

/* Were there @n for this reason?  The end of tracing. */
static inline bool traced_drops(const char *reason, int n)
{
	bool ok = traced(n, "reason=%s$", reason);

	return !trace_end() && ok;
}

#endif
