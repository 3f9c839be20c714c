// SPDX-License-Identifier: GPL-2.0
/* One request through io_uring, and its cancellation if it does not end at once. */
#include "kfuzz.h"

#include <linux/io_uring.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define ENTRIES	8

struct uring {
	u32 *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
};

static void *map(int fd, size_t len, off_t off)
{
	return mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, off);
}

/* Without io_uring the calls do nothing. */
void uring_open(struct thread *t)
{
	struct io_uring_params p = {};
	struct uring *u = calloc(1, sizeof(*u));
	char *sq, *cq;

	t->ring = u ? (int)syscall(__NR_io_uring_setup, ENTRIES, &p) : -1;
	if (t->ring < 0)
		return;
	sq = map(t->ring, p.sq_off.array + p.sq_entries * 4, IORING_OFF_SQ_RING);
	cq = map(t->ring, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		 IORING_OFF_CQ_RING);
	u->sqe = map(t->ring, p.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || u->sqe == MAP_FAILED) {
		close(t->ring);
		t->ring = -1;
		return;
	}
	u->sq_tail = (void *)(sq + p.sq_off.tail);
	u->sq_mask = (void *)(sq + p.sq_off.ring_mask);
	u->sq_array = (void *)(sq + p.sq_off.array);
	u->cq_head = (void *)(cq + p.cq_off.head);
	u->cq_tail = (void *)(cq + p.cq_off.tail);
	u->cq_mask = (void *)(cq + p.cq_off.ring_mask);
	u->cqe = (void *)(cq + p.cq_off.cqes);
	t->uring = u;
}

static struct io_uring_sqe *next(struct uring *u, int op, int fd, u64 id)
{
	u32 tail = *u->sq_tail, i = tail & *u->sq_mask;
	struct io_uring_sqe *s = &u->sqe[i];

	memset(s, 0, sizeof(*s));
	s->opcode = op;
	s->fd = fd;
	s->user_data = id;
	u->sq_array[i] = i;
	__atomic_store_n(u->sq_tail, tail + 1, __ATOMIC_RELEASE);
	return s;
}

/* Takes what has completed. */
static int reap(struct uring *u)
{
	u32 head = *u->cq_head, n = 0;

	while (head != __atomic_load_n(u->cq_tail, __ATOMIC_ACQUIRE)) {
		int res = u->cqe[head & *u->cq_mask].res;

		if (res < -133)
			complain("io_uring: result %d", res);
		head++;
		n++;
	}
	__atomic_store_n(u->cq_head, head, __ATOMIC_RELEASE);
	return n;
}

static int enter(int fd, int submit, int wait)
{
	return syscall(__NR_io_uring_enter, fd, submit, wait, wait ? IORING_ENTER_GETEVENTS : 0,
		       NULL, 0);
}

void uring_call(struct thread *t, int fd, const u8 *b)
{
	static const u8 ops[] = {
		IORING_OP_SEND, IORING_OP_RECV, IORING_OP_SENDMSG, IORING_OP_RECVMSG,
		IORING_OP_POLL_ADD,
	};
	struct iovec iov[3];
	struct msghdr m = { .msg_iov = iov };
	int op = ops[b[0] % ARRAY_SIZE(ops)], got, tries;
	struct io_uring_sqe *s;

	if (t->ring < 0)
		return;
	s = next(t->uring, op, fd, 1);
	s->msg_flags = b[1] & 1 ? MSG_DONTWAIT : 0;
	if (op == IORING_OP_POLL_ADD) {
		s->poll32_events = b[1] & 2 ? POLLIN : POLLOUT | POLLIN;
	} else if (op == IORING_OP_SENDMSG || op == IORING_OP_RECVMSG) {
		m.msg_iovlen = arg_iov(b + 2, op == IORING_OP_SENDMSG ? t->out : t->in,
				       arg_size(b[3]), iov);
		s->addr = (unsigned long)&m;
		s->len = 1;
	} else {
		s->addr = (unsigned long)(op == IORING_OP_SEND ? t->out : t->in);
		s->len = arg_size(b[3]);
	}
	enter(t->ring, 1, 0);
	got = reap(t->uring);
	if (got)
		return;
	s = next(t->uring, IORING_OP_ASYNC_CANCEL, -1, 2);
	s->addr = 1;
	enter(t->ring, 1, 0);
	for (tries = 0; got < 2 && tries < 2000; tries++) {
		got += reap(t->uring);
		if (got < 2)
			enter(t->ring, 0, 1);
	}
	if (got < 2)
		complain("io_uring: a request is neither done nor cancelled");
}
