// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA reads and writes: memory of the receiver that the sender reaches by keys.
 *
 * A write is followed by a message; the receiver then verifies what lies in its
 * memory, and says so. A read moves a piece of noise that begins elsewhere each
 * time, so that what an earlier one has left is not taken for it.
 */
#include <errno.h>
#include <linux/rds.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"

#define READ_SPREAD	4096	/* reads begin within so many bytes */

/* The operations of one sender. */
struct ops {
	const struct job *job;
	int fd;
	const struct peer *to;
	struct rx *in;			/* messages of the receiver */
	char *local;			/* where reads go */
	struct msg_head head[MAX_IN_FLIGHT];	/* of what is written */
	uint64_t begun[MAX_IN_FLIGHT];	/* when, 0: not to be counted */
	uint64_t posted, noted, over;	/* operations: begun, reported, accounted for */
	struct histogram times;
};

/* Keys that a run of this kind has. */
unsigned int job_keys(const struct job *job)
{
	if (job->cell.work == WRITE)
		return job->cell.n;
	return job->cell.work == READ;
}

static char *new_memory(const struct job *job, size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fail(job->sh, "no memory");
	return p;
}

static uint64_t register_memory(const struct job *job, int fd, char *p, size_t size)
{
	uint64_t key = 0;
	struct rds_get_mr_args args = {
		.vec = { .addr = (uintptr_t)p, .bytes = size },
		.cookie_addr = (uintptr_t)&key,
		.flags = RDS_RDMA_READWRITE,
	};

	if (!setsockopt(fd, SOL_RDS, RDS_GET_MR, &args, sizeof(args)))
		return key;
	if (errno == EOPNOTSUPP)
		fail(job->sh, "no RDMA by %s: reads and writes want an address of an %s",
		     via_name(job->sh->via), "InfiniBand or RoCE device (rds_rdma)");
	fail(job->sh, "cannot register memory: %s", strerror(errno));
}

/**
 * rdma_offer() - memory of the receiver for its peer
 * @rx: the receiver
 * @fd: its socket
 */
void rdma_offer(struct rx *rx, int fd)
{
	const struct job *job = rx->job;
	size_t size = job->cell.size;
	unsigned int i;

	if (job->cell.work == READ) {
		rx->memory = new_memory(job, size + READ_SPREAD);
		memcpy(rx->memory, check_noise(0), size + READ_SPREAD);
		job->sh->key[0] = register_memory(job, fd, rx->memory, size + READ_SPREAD);
		return;
	}
	rx->memory = new_memory(job, size * job->cell.n);
	for (i = 0; i < job->cell.n; i++)
		job->sh->key[i] = register_memory(job, fd, rx->memory + i * size, size);
}

/* A message says that the memory in front of it has been written. */
void rdma_written(struct rx *rx, const struct msg_head *h)
{
	const struct job *job = rx->job;
	const char *p = rx->memory + h->seq % job->cell.n * job->cell.size;
	enum verdict v = check_memory(&rx->check, h, p, job->cell.size);

	if (v != CHECK_OK)
		fail(job->sh, "RDMA write %llu: %s", (unsigned long long)h->seq, check_words(v));
}

static const char *status_words(int status)
{
	static const char * const words[] = {
		[RDS_RDMA_REMOTE_ERROR] = "the peer refused it",
		[RDS_RDMA_CANCELED] = "it was cancelled",
		[RDS_RDMA_DROPPED] = "it was dropped",
		[RDS_RDMA_OTHER_ERROR] = "it failed",
	};

	return status > 0 && status <= RDS_RDMA_OTHER_ERROR ? words[status] : "unknown status";
}

/* Where read number @seq begins, in bytes. */
static unsigned int read_at(uint64_t seq)
{
	return seq * 211 % (READ_SPREAD / 8 + 1) * 8;
}

static void verify_read(struct ops *o, uint64_t seq)
{
	size_t size = o->job->cell.size;
	char *p = o->local + seq % o->job->cell.n * size;

	if (opt.spoil == SPOIL_FLIP && seq == SPOIL_AT)
		p[size / 2] ^= 16;
	if (memcmp(p, check_noise(read_at(seq) / 8), size))
		fail(o->job->sh, "RDMA read %llu: %s", (unsigned long long)seq,
		     check_words(CHECK_CONTENT));
	o->job->sh->flow[0].received++;
}

static void take_note(struct ops *o, const struct rds_rdma_notify *n)
{
	unsigned long long seq = o->noted++;

	if (n->user_token != seq)
		fail(o->job->sh, "RDMA operation %llu: reported as %llu", seq,
		     (unsigned long long)n->user_token);
	if (n->status != RDS_RDMA_SUCCESS)
		fail(o->job->sh, "RDMA operation %llu: %s", seq, status_words(n->status));
	if (o->job->cell.work == READ)
		verify_read(o, seq);
}

/* A write is over when the receiver has seen it, too. */
static uint64_t over(const struct ops *o)
{
	if (o->job->cell.work == WRITE && o->in->credit[0] < o->noted)
		return o->in->credit[0];
	return o->noted;
}

/* Wait for a report, or a message of the receiver. */
static void hear(struct ops *o)
{
	char control[CMSG_SPACE(sizeof(struct rds_rdma_notify)) * MAX_IN_FLIGHT];
	struct iovec iov = { .iov_base = o->in->buf, .iov_len = o->in->room };
	struct peer from;
	struct msghdr m = { .msg_name = &from.addr, .msg_namelen = sizeof(from.addr),
			    .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct rds_rdma_notify note;
	ssize_t n = recvmsg(o->fd, &m, 0);
	struct cmsghdr *c;
	uint64_t now;

	if (n < 0 && errno != EINTR && errno != EAGAIN)
		fail(o->job->sh, "cannot receive: %s", strerror(errno));
	if (n < 0)
		return;
	from.len = m.msg_namelen;
	for (c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level != SOL_RDS || c->cmsg_type != RDS_CMSG_RDMA_STATUS)
			continue;
		memcpy(&note, CMSG_DATA(c), sizeof(note));
		take_note(o, &note);
	}
	if (n)
		rx_message(o->in, 0, o->in->buf, n, &from);
	for (now = now_ns(); o->over < over(o); o->over++)
		if (o->begun[o->over % o->job->cell.n])
			histogram_add(&o->times, now - o->begun[o->over % o->job->cell.n]);
}

/* The head and the noise are written from where they lie. @v: two vectors; returns how many. */
static unsigned int local_memory(struct ops *o, uint64_t seq, struct rds_iovec *v)
{
	unsigned int slot = seq % o->job->cell.n, size = o->job->cell.size;
	struct msg_head *h = &o->head[slot];
	struct msg_head fields = { .len = size, .kind = MSG_DATA, .seq = seq,
				   .run = o->job->sh->run };
	bool spoil = seq == SPOIL_AT;

	if (o->job->cell.work == READ) {
		v[0] = (struct rds_iovec){ (uintptr_t)(o->local + slot * size), size };
		return 1;
	}
	check_head(h, &fields);
	if (spoil && opt.spoil == SPOIL_HEAD)
		h->seq ^= 1ULL << 40;
	/* what belongs to the next one */
	seq += spoil && opt.spoil == SPOIL_FLIP;
	v[0] = (struct rds_iovec){ (uintptr_t)h, sizeof(*h) };
	v[1] = (struct rds_iovec){ (uintptr_t)check_payload(0, seq), size - sizeof(*h) };
	return size > sizeof(*h) ? 2 : 1;
}

static void send_operation(struct ops *o, const struct rds_rdma_args *args,
			   const struct msg_head *h)
{
	char control[CMSG_SPACE(sizeof(*args))] __attribute__((aligned(8))) = {};
	struct iovec iov = { .iov_base = (void *)h, .iov_len = sizeof(*h) };
	struct msghdr m = { .msg_name = (void *)&o->to->addr, .msg_namelen = o->to->len,
			    .msg_iov = &iov, .msg_iovlen = h ? 1 : 0 };
	struct pollfd p = { .fd = o->fd, .events = POLLOUT };
	struct cmsghdr *c = (void *)control;

	if (args) {
		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(*args)), .cmsg_level = SOL_RDS,
				       .cmsg_type = RDS_CMSG_RDMA_ARGS };
		memcpy(CMSG_DATA(c), args, sizeof(*args));
	}
	while (sendmsg(o->fd, &m, 0) < 0) {
		if (errno != EINTR && errno != EAGAIN && errno != ENOBUFS)
			fail(o->job->sh, "cannot send an RDMA operation: %s", strerror(errno));
		poll(&p, 1, 10);
	}
}

static void post(struct ops *o)
{
	const struct job *job = o->job;
	bool write = job->cell.work == WRITE;
	uint64_t seq = o->posted++;
	unsigned int slot = seq % job->cell.n;
	struct rds_iovec v[2];
	struct msg_head fields = { .len = sizeof(fields), .kind = MSG_DATA, .seq = seq,
				   .run = job->sh->run }, h;
	struct rds_rdma_args args = {
		.cookie = job->sh->key[write ? slot : 0],
		.remote_vec = { .addr = write ? 0 : read_at(seq), .bytes = job->cell.size },
		.local_vec_addr = (uintptr_t)v,
		.flags = RDS_RDMA_NOTIFY_ME | (write ? RDS_RDMA_READWRITE : RDS_RDMA_SILENT),
		.user_token = seq,
	};

	args.nr_local = local_memory(o, seq, v);
	check_head(&h, &fields);
	o->begun[slot] = job->sh->measuring ? now_ns() : 0;
	if (write && opt.spoil == SPOIL_DROP && seq == SPOIL_AT)
		send_operation(o, NULL, &h);
	else
		send_operation(o, &args, write ? &h : NULL);
}

/**
 * rdma_run() - one operation after the other, until the time is over
 * @job: the run
 * @fd: the sender's socket
 * @to: the receiver
 * @in: reads what the receiver says
 *
 * Return: how many messages the receiver has had.
 */
uint64_t rdma_run(const struct job *job, int fd, const struct peer *to, struct rx *in)
{
	static struct ops o;

	o.job = job;
	o.fd = fd;
	o.to = to;
	o.in = in;
	if (job->cell.work == READ)
		o.local = new_memory(job, (size_t)job->cell.size * job->cell.n);
	while (!job->sh->stop) {
		while (o.posted - o.over >= job->cell.n)
			hear(&o);
		post(&o);
	}
	while (o.over < o.posted)
		hear(&o);
	histogram_merge(&job->sh->times, &o.times);
	return job->cell.work == WRITE ? o.posted : 0;
}
