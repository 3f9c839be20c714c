/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kselftest's harness with time limits that stretch with the kernel, and by what
 * the runner says in RDS_SOAK: how many minutes a long form may take.
 */
#ifndef RDS_SLOW_H
#define RDS_SLOW_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <unistd.h>

#include "patience.h"

static inline unsigned int slow_alarm(unsigned int seconds)
{
	const char *soak = getenv("RDS_SOAK");

	return alarm(seconds ? seconds * slow() + (soak ? atoi(soak) * 120 : 0) : 0);
}

/* the harness ends each case by an alarm */
#define alarm slow_alarm
#include "kselftest_harness.h"
#undef alarm

#endif
