/* SPDX-License-Identifier: GPL-2.0 */
/* A thread that changes the lengths of four RDMA vectors while calls read them (A2). */
#ifndef RDS_FLIP_H
#define RDS_FLIP_H

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include <linux/rds.h>

static atomic_int flip_stop;

static void *flip_vectors(void *arg)
{
	struct rds_iovec *v = arg;
	unsigned int r = 1;

	while (!atomic_load(&flip_stop)) {
		r = r * 1103515245 + 12345;
		*(volatile __u64 *)&v[r >> 16 & 3].bytes =
			(r >> 8) % 3 ? 4096 : r & 1 ? 0xffffffff : 1ULL << (r >> 24 & 63);
		/* on one processor the calls need a turn */
		if (!(r >> 20 & 63))
			usleep(1);
	}
	return NULL;
}

#endif
