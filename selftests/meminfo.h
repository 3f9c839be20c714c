/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of the machine. */
#ifndef RDS_MEMINFO_H
#define RDS_MEMINFO_H

#include <stdio.h>

/* kB that are free, or can be. */
static inline long mem_available_now(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	char line[128];
	long kb = 0;

	while (f && !kb && fgets(line, sizeof(line), f))
		sscanf(line, "MemAvailable: %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}

#endif
