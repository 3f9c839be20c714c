// SPDX-License-Identifier: GPL-2.0
/* The receiving processes: take messages, verify each, answer where it is the work. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <unistd.h>

#include "bench.h"

#define DRAIN		64	/* messages of one socket before the next has its turn */
#define QUIET_MS	100	/* nothing for so long: what is missing is lost */

void rx_init(struct rx *rx, const struct job *job)
{
	memset(rx, 0, sizeof(*rx));
	rx->job = job;
	rx->check.run = job->sh->run;
	rx->check.nflows = job->nflows;
	rx->room = job->cell.size + 64;
	rx->buf = aligned_alloc(64, (rx->room + 127) & ~63UL);
	if (!rx->buf)
		fail(job->sh, "no memory");
}

void rx_add(struct rx *rx, int fd)
{
	struct timeval tv = { .tv_usec = QUIET_MS * 1000 };

	rx->fd[rx->nfds] = fd;
	if (rx->job->proto->stream) {
		rx->frames[rx->nfds] = frames_new(rx->job->cell.size);
		if (!rx->frames[rx->nfds])
			fail(rx->job->sh, "no memory");
	}
	if (!rx->job->proto->reliable)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	rx->nfds++;
}

/* One message, as it was received: verify, then do what it is for. */
void rx_message(struct rx *rx, unsigned int i, const void *buf, size_t len,
		const struct peer *from)
{
	const struct msg_head *h = buf;
	const struct job *job = rx->job;
	enum verdict v = check_message(&rx->check, buf, len);

	if (v == CHECK_GAP && !job->proto->reliable) {
		job->sh->flow[h->flow].lost += rx->check.gap;
	} else if (v == CHECK_AGAIN && !job->proto->reliable) {
		return;
	} else if (v == CHECK_FOREIGN && !job->proto->reliable) {
		return;		/* a late one of an earlier run: nobody retires them */
	} else if (v != CHECK_OK) {
		if (len < sizeof(*h))
			fail(job->sh, "%s: %zu bytes: %s", job->proto->name, len, check_words(v));
		fail(job->sh, "%s: message %llu of flow %u: %s", job->proto->name,
		     (unsigned long long)h->seq, h->flow, check_words(v));
	}
	if (h->kind == MSG_CREDIT)
		rx->credit[h->flow] = h->seq;
	else
		rx->taken(rx, h, i, from);
}

/* The parts of a long SCTP message come one by one. */
static ssize_t receive_whole(struct rx *rx, unsigned int i, struct peer *from, int flags)
{
	struct iovec iov = { .iov_base = rx->buf, .iov_len = rx->room };
	struct msghdr m = { .msg_name = &from->addr, .msg_iov = &iov, .msg_iovlen = 1 };
	size_t have = 0;
	ssize_t n;

	do {
		m.msg_namelen = sizeof(from->addr);
		m.msg_flags = 0;
		n = recvmsg(rx->fd[i], &m, flags);
		if (n < 0 && (errno == EAGAIN || errno == EINTR) && !have)
			return -1;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			fail(rx->job->sh, "%s: cannot receive: %s", rx->job->proto->name,
			     strerror(errno));
		if (n < 0)
			continue;
		have += n;
		iov.iov_base = rx->buf + have;
		iov.iov_len = rx->room - have;
	} while (rx->job->proto->eor && !(m.msg_flags & MSG_EOR) && iov.iov_len);
	from->len = m.msg_namelen;
	return have;
}

/**
 * rx_receive() - one call into the kernel, and what it brings
 * @rx: the reader
 * @i: which of its sockets
 * @flags: MSG_DONTWAIT or 0
 *
 * Return: number of messages.
 */
int rx_receive(struct rx *rx, unsigned int i, int flags)
{
	struct peer from;
	ssize_t len;

	if (rx->job->proto->stream)
		return frames_read(rx, i, flags);
	len = receive_whole(rx, i, &from, flags);
	if (len < 0)
		return 0;
	rx_message(rx, i, rx->buf, len, &from);
	return 1;
}

static void answer(struct rx *rx, const struct msg_head *h, unsigned int i,
		   const struct peer *from, enum msg_kind kind, uint64_t seq, size_t len)
{
	struct msg_head fields = { .len = len, .kind = kind, .flow = h->flow, .seq = seq,
				   .run = h->run }, out;

	check_head(&out, &fields);
	send_message(rx->job, rx->fd[i], from, &out, check_payload(h->flow, seq),
		     len - sizeof(out));
}

static void server_taken(struct rx *rx, const struct msg_head *h, unsigned int i,
			 const struct peer *from)
{
	unsigned int window = job_window(rx->job);

	if (h->kind == MSG_END) {
		rx->ended++;
	} else if (job_is_pinged(rx->job, h->flow)) {
		answer(rx, h, i, from, MSG_REPLY, h->seq, h->len);
	} else {
		if (rx->job->cell.work == WRITE)
			rdma_written(rx, h);
		rx->job->sh->flow[h->flow].received++;
		if (rx->job->cell.work == WRITE)
			answer(rx, h, i, from, MSG_CREDIT, h->seq + 1, sizeof(*h));
		if (window && (h->seq + 1) % (window / 2) == 0)
			answer(rx, h, i, from, MSG_CREDIT, h->seq + 1, sizeof(*h));
	}
}

/* With an unreliable transport the end may get lost like everything else. */
static bool finished(const struct rx *rx, bool quiet)
{
	return rx->ended == rx->flows ||
	       (quiet && !rx->job->proto->reliable && rx->job->sh->stop);
}

static void serve_one(struct rx *rx)
{
	int n;

	do
		n = rx_receive(rx, 0, 0);
	while (!finished(rx, !n));
}

static void serve_many(struct rx *rx)
{
	int ep = epoll_create1(EPOLL_CLOEXEC), n, i, left;
	struct epoll_event ev[MAX_FLOWS];

	if (ep < 0)
		fail(rx->job->sh, "epoll_create1: %s", strerror(errno));
	for (i = 0; i < (int)rx->nfds; i++) {
		ev[0] = (struct epoll_event){ .events = EPOLLIN, .data.u32 = i };
		if (epoll_ctl(ep, EPOLL_CTL_ADD, rx->fd[i], &ev[0]))
			fail(rx->job->sh, "epoll_ctl: %s", strerror(errno));
	}
	do {
		n = epoll_wait(ep, ev, MAX_FLOWS, QUIET_MS);
		for (i = 0; i < n; i++) {
			/* a read of the stream takes many messages at once */
			left = rx->job->proto->stream ? 1 : DRAIN;
			while (left-- && rx_receive(rx, ev[i].data.u32, MSG_DONTWAIT))
				;
		}
	} while (!finished(rx, !n));
}

static int open_receiver(const struct job *job, unsigned int i)
{
	struct sockaddr_in local = { .sin_family = AF_INET };
	struct shared *sh = job->sh;
	unsigned int host = job->cell.work == FANOUT ? i : 0;
	int fd;

	local.sin_addr.s_addr = htonl(ntohl(opt.rx.s_addr) + host);
	local.sin_port = htons(job->base + i);
	fd = job->proto->open(job->proto, &local, job->buf, true);
	if (fd < 0)
		fail(sh, "%s: cannot make the receiving socket %u at %s: %s", job->proto->name, i,
		     inet_ntoa(local.sin_addr), strerror(errno));
	sh->via = socket_via(fd);
	sh->addr_len[i] = sizeof(sh->addr[i]);
	if (getsockname(fd, (struct sockaddr *)&sh->addr[i], &sh->addr_len[i]))
		fail(sh, "%s: getsockname: %s", job->proto->name, strerror(errno));
	return fd;
}

static void accept_all(struct rx *rx, const int *listener)
{
	const struct job *job = rx->job;
	unsigned int i;
	int fd;

	for (i = 0; i < rx->flows; i++) {
		fd = accept(listener[job->nsocks == 1 ? 0 : i], NULL, NULL);
		if (fd < 0)
			fail(job->sh, "accept: %s", strerror(errno));
		rx_add(rx, fd);
	}
}

/* @index: of the receiver; if there are several, each has one socket. */
void receive_process(const struct job *job, unsigned int index)
{
	unsigned int i, nsocks = job->nsocks / job->nreceivers;
	struct shared *sh = job->sh;
	int fd[MAX_FLOWS];
	struct rx rx;

	rx_init(&rx, job);
	rx.flows = job->nflows / job->nreceivers;
	rx.taken = server_taken;
	for (i = 0; i < nsocks; i++)
		fd[i] = open_receiver(job, index + i);
	if (is_rdma(&job->cell))
		rdma_offer(&rx, fd[0]);
	__sync_fetch_and_add(&sh->ready, 1);
	if (job->proto->stream)
		accept_all(&rx, fd);
	else
		for (i = 0; i < nsocks; i++)
			rx_add(&rx, fd[i]);
	if (rx.nfds > 1 || (job->proto->stream && !job_is_pinged(job, index)))
		serve_many(&rx);
	else
		serve_one(&rx);
	_exit(0);
}
