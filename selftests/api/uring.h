/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One io_uring, by its system calls: one operation queued at a time.
 */
#ifndef URING_H
#define URING_H

#include "rds_util.h"

#include <linux/io_uring.h>
#include <sys/syscall.h>

#define ENTRIES 16

static struct ring {
	int fd;
	unsigned int *sq_head, *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
} ring;

static void *ring_map(size_t len, off_t off)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		    ring.fd, off);
}

/* 0, or a negative errno; 1 for a kernel without io_uring. */
static int ring_open(void)
{
	struct io_uring_params p = {};
	char *sq, *cq;
	FILE *f = fopen("/proc/sys/kernel/io_uring_disabled", "w");

	if (!f)
		return 1;
	fputs("0", f);
	fclose(f);
	ring.fd = syscall(__NR_io_uring_setup, ENTRIES, &p);
	if (ring.fd < 0)
		return -errno;
	sq = ring_map(p.sq_off.array + p.sq_entries * 4, IORING_OFF_SQ_RING);
	cq = ring_map(p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		      IORING_OFF_CQ_RING);
	ring.sqe = ring_map(p.sq_entries * sizeof(struct io_uring_sqe),
			    IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || ring.sqe == MAP_FAILED)
		return -ENOMEM;
	ring.sq_head = (void *)(sq + p.sq_off.head);
	ring.sq_tail = (void *)(sq + p.sq_off.tail);
	ring.sq_mask = (void *)(sq + p.sq_off.ring_mask);
	ring.sq_array = (void *)(sq + p.sq_off.array);
	ring.cq_head = (void *)(cq + p.cq_off.head);
	ring.cq_tail = (void *)(cq + p.cq_off.tail);
	ring.cq_mask = (void *)(cq + p.cq_off.ring_mask);
	ring.cqe = (void *)(cq + p.cq_off.cqes);
	return 0;
}

#define RING_OR_SKIP() do { \
	int __err = ring_open(); \
	if (__err == 1) \
		SKIP(_exit(KSFT_SKIP), "kernel without io_uring"); \
	ASSERT_EQ(0, __err); \
} while (0)

/* Queues one operation and hands it to the kernel. */
static int submit(int op, int fd, void *addr, unsigned int len, int flags,
		  __u64 id)
{
	unsigned int tail = *ring.sq_tail, i = tail & *ring.sq_mask;
	struct io_uring_sqe *s = &ring.sqe[i];

	memset(s, 0, sizeof(*s));
	s->opcode = op;
	s->fd = fd;
	s->addr = (unsigned long)addr;
	s->len = len;
	s->msg_flags = flags;
	s->user_data = id;
	ring.sq_array[i] = i;
	__atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
	return syscall(__NR_io_uring_enter, ring.fd, 1, 0, 0, NULL, 0);
}

static bool have_cqe(void)
{
	return __atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE) != *ring.cq_head;
}

/* The result of the next completion, whose id must fit; -9999 when none comes. */
static int result(__u64 id)
{
	struct io_uring_cqe *c;
	unsigned int head = *ring.cq_head;
	int res;

	while (!have_cqe()) {
		if (poll_for(ring.fd, POLLIN, WAIT_MS) <= 0)
			return -9999;
	}
	c = &ring.cqe[head & *ring.cq_mask];
	res = c->user_data == id ? c->res : -9998;
	__atomic_store_n(ring.cq_head, head + 1, __ATOMIC_RELEASE);
	return res;
}

#endif
