// SPDX-License-Identifier: GPL-2.0
/* The sending processes, and the damage that they do when they are asked to. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/rds.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

struct tx {
	const struct job *job;
	unsigned int first, last;	/* flows of this process */
	unsigned int window;
	int fd[MAX_FLOWS];
	struct peer to[MAX_FLOWS];
	uint64_t seq[MAX_FLOWS];
	struct rx in;			/* replies and credits */
};

/* Flow F reads from here. */
static unsigned int socket_of(const struct tx *tx, unsigned int f)
{
	return tx->in.nfds == 1 ? 0 : f - tx->first;
}

static void put(struct tx *tx, unsigned int f, enum msg_kind kind, uint64_t seq)
{
	size_t len = kind == MSG_DATA ? job_size(tx->job, f) : sizeof(struct msg_head);
	struct msg_head fields = { .len = len, .kind = kind, .flow = f, .seq = seq,
				   .run = tx->job->sh->run }, h;

	check_head(&h, &fields);
	send_message(tx->job, tx->fd[f], &tx->to[f], &h, check_payload(f, seq),
		     len - sizeof(h));
}

/* A message that is not as it should be. */
static void put_damaged(struct tx *tx, unsigned int f, uint64_t seq)
{
	size_t len = job_size(tx->job, f), body = len - sizeof(struct msg_head);
	struct msg_head fields = { .len = len, .kind = MSG_DATA, .flow = f, .seq = seq,
				   .run = tx->job->sh->run }, h;
	char *copy = malloc(body + 1);

	if (!copy)
		fail(tx->job->sh, "no memory");
	memcpy(copy, check_payload(f, seq), body);
	if (opt.spoil == SPOIL_RUN)
		fields.run ^= 1;
	check_head(&h, &fields);
	if (opt.spoil == SPOIL_FLIP)
		copy[body / 2] ^= 16;
	else if (opt.spoil == SPOIL_HEAD)
		h.seq ^= 1ULL << 40;
	send_message(tx->job, tx->fd[f], &tx->to[f], &h, copy,
		     opt.spoil == SPOIL_CUT ? body - 8 : body);
	free(copy);
}

static void put_spoilt(struct tx *tx, unsigned int f, uint64_t seq)
{
	switch (opt.spoil) {
	case SPOIL_DROP:
		break;
	case SPOIL_DUP:
		put(tx, f, MSG_DATA, seq);
		put(tx, f, MSG_DATA, seq);
		break;
	case SPOIL_SWAP:
		put(tx, f, MSG_DATA, seq + 1);
		put(tx, f, MSG_DATA, seq);
		tx->seq[f]++;
		break;
	default:
		put_damaged(tx, f, seq);
	}
}

static void put_next(struct tx *tx, unsigned int f)
{
	uint64_t seq = tx->seq[f]++;

	while (tx->window && seq - tx->in.credit[f] >= tx->window)
		rx_receive(&tx->in, socket_of(tx, f), 0);
	if (opt.spoil && seq == SPOIL_AT)
		put_spoilt(tx, f, seq);
	else
		put(tx, f, MSG_DATA, seq);
}

static void stream(struct tx *tx)
{
	const struct shared *sh = tx->job->sh;
	unsigned int f;

	while (!sh->stop)
		for (f = tx->first; f < tx->last; f++)
			put_next(tx, f);
}

static void client_taken(struct rx *rx, const struct msg_head *h, unsigned int i,
			 const struct peer *from)
{
	rx->job->sh->flow[h->flow].received++;
	rx->credit[h->flow] = h->seq + 1;
}

/* Return: false when an unreliable transport has lost the request or its answer. */
static bool await_answer(struct tx *tx, unsigned int f)
{
	/* what comes late answers an earlier one */
	while (tx->in.credit[f] < tx->seq[f])
		if (!rx_receive(&tx->in, 0, 0) && !tx->job->proto->reliable)
			return false;
	return true;
}

static void pingpong(struct tx *tx)
{
	static struct histogram times;
	struct shared *sh = tx->job->sh;
	uint64_t begin, end;
	bool measured;

	/* its pages are there before the clock runs */
	memset(&times, 0, sizeof(times));
	begin = now_ns();
	while (!sh->stop) {
		measured = sh->measuring;
		put_next(tx, tx->first);
		measured = await_answer(tx, tx->first) && measured;
		end = now_ns();
		if (measured)
			histogram_add(&times, end - begin);
		begin = end;
	}
	histogram_merge(&sh->times, &times);
}

/* An RDS socket belongs to the transport of its address, and talks to others of that only. */
static void check_via(const struct tx *tx, int fd)
{
	int ours = socket_via(fd), theirs = tx->job->sh->via;
	char here[INET_ADDRSTRLEN], there[INET_ADDRSTRLEN];

	if (!(ours == RDS_TRANS_IB && theirs == RDS_TRANS_TCP) &&
	    !(ours == RDS_TRANS_TCP && theirs == RDS_TRANS_IB))
		return;
	inet_ntop(AF_INET, &opt.tx, here, sizeof(here));
	inet_ntop(AF_INET, &opt.rx, there, sizeof(there));
	fail(tx->job->sh, "the senders' address %s belongs to %s, the receivers' %s to %s", here,
	     via_name(ours), there, via_name(theirs));
}

static int open_sender(const struct tx *tx, unsigned int f)
{
	struct sockaddr_in local = { .sin_family = AF_INET, .sin_addr = opt.tx };
	const struct job *job = tx->job;
	int fd;

	local.sin_port = htons(job->base + MAX_FLOWS + f);
	fd = job->proto->open(job->proto, &local, job->buf, false);
	if (fd < 0)
		fail(job->sh, "%s: cannot make the sending socket %u at %s: %s", job->proto->name,
		     f, inet_ntoa(opt.tx), strerror(errno));
	check_via(tx, fd);
	return fd;
}

static void connect_flow(struct tx *tx, unsigned int f)
{
	const struct job *job = tx->job;
	struct shared *sh = job->sh;
	unsigned int r = job->nsocks == 1 ? 0 : f;

	if (job->cell.work == FANOUT && !job->proto->stream && f > tx->first) {
		tx->fd[f] = tx->fd[tx->first];
	} else {
		tx->fd[f] = open_sender(tx, f);
		rx_add(&tx->in, tx->fd[f]);
	}
	tx->to[f].addr = sh->addr[r];
	if (!job->proto->stream)
		tx->to[f].len = sh->addr_len[r];
	else if (connect(tx->fd[f], (struct sockaddr *)&sh->addr[r], sh->addr_len[r]))
		fail(sh, "%s: cannot connect: %s", job->proto->name, strerror(errno));
}

/* @index: of the sender; in a fan-in and with several clients each has one flow. */
void send_process(const struct job *job, unsigned int index)
{
	struct shared *sh = job->sh;
	struct tx tx = { .job = job };
	unsigned int f;

	tx.first = job->nsenders == 1 ? 0 : index;
	tx.window = job_is_pinged(job, tx.first) ? 0 : job_window(job);
	tx.last = job->nsenders == 1 ? job->nflows : index + 1;
	rx_init(&tx.in, job);
	tx.in.taken = client_taken;
	for (f = tx.first; f < tx.last; f++)
		connect_flow(&tx, f);
	__sync_fetch_and_add(&sh->ready, 1);
	while (!sh->go)
		usleep(1000);
	if (job_is_pinged(job, tx.first))
		pingpong(&tx);
	else if (is_rdma(&job->cell))
		tx.seq[0] = rdma_run(job, tx.fd[0], &tx.to[0], &tx.in);
	else
		stream(&tx);
	for (f = tx.first; f < tx.last; f++)
		put(&tx, f, MSG_END, tx.seq[f]);
	/* RDS forgets what a closed socket has sent */
	while (!sh->finish)
		usleep(1000);
	_exit(0);
}
