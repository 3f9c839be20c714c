/* SPDX-License-Identifier: GPL-2.0 */
/* Sockets, requests and notifications of rdmapeer. */
#ifndef RDS_RDMAPEER_H
#define RDS_RDMAPEER_H

#include <poll.h>
#include <stddef.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "../traffic_sock.h"

#define PP_MAGIC	0x52445052u
#define PP_MIB		(1UL << 20)
#define PP_GUARD	4096UL		/* on both sides of a region */
#define PP_REGIONS	64
#define PP_STATUS	5		/* RDS_RDMA_SUCCESS .. OTHER_ERROR */

enum pp_op {
	PP_MAKE = 1,	/* a region; the reply has its cookie */
	PP_CHECK,	/* the last write to it is there, and nothing else changed */
	PP_FREE,
	PP_SINK,	/* count it, no reply */
	PP_PING,
	PP_BYE,
	PP_REPLY,
};

/**
 * struct pp_msg - every message, in host order
 * @magic: PP_MAGIC
 * @op: enum pp_op
 * @id: of the request that is answered
 * @region: number of the region at the server
 * @len: of the region, or of what was written
 * @off: of the region in its page, or of what was written in the region
 * @seed: of the content
 * @cookie: of the region, if it did not come as a control message
 * @flags: of the call that makes or frees a region
 * @status: 0 or an errno
 */
struct pp_msg {
	__u32 magic, op, id, region;
	__u64 len, off, seed, cookie, flags;
	__s32 status, pad;
};

static struct {
	int fd;
	double end;			/* give up then */
	unsigned long notes[PP_STATUS], bad;
	void (*note)(__u64 token, int status);
} pp;

static inline unsigned long pp_noted(void)
{
	unsigned long sum = 0;
	int i;

	for (i = 0; i < PP_STATUS; i++)
		sum += pp.notes[i];
	return sum;
}

static inline void pp_fill(void *p, size_t n, __u64 seed)
{
	__u64 x = seed * 0x9e3779b97f4a7c15ULL + 1;
	unsigned char *c = p;

	while (n--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		*c++ = x >> 24;
	}
}

static inline void *pp_pages(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		ts_die("%zu bytes of memory", n);
	return p;
}

static inline void pp_wait(short events)
{
	struct pollfd p = { .fd = pp.fd, .events = events };

	errno = 0;
	if (ts_now() > pp.end)
		ts_die("no end in time");
	poll(&p, 1, 20);
}

/* Is everything acknowledged within 10 s? */
static inline bool pp_acked(void)
{
	double end = ts_now() + 10;
	int left = 1;

	while (!ioctl(pp.fd, SIOCOUTQ, &left) && left && ts_now() < end)
		poll(NULL, 0, 20);
	if (left)
		fprintf(stderr, "%d bytes are not acknowledged\n", left);
	return !left;
}

/* One try: sent bytes, or -errno. */
static inline ssize_t pp_try(const struct ts_addr *to, const void *data, size_t len, int type,
			     const void *arg, size_t arglen)
{
	union {
		char room[CMSG_SPACE(256)];
		struct cmsghdr align;
	} u = { };
	struct iovec iov = { (void *)data, len };
	struct msghdr m = {
		.msg_name = (void *)&to->ss, .msg_namelen = to->len, .msg_iov = &iov,
		.msg_iovlen = 1, .msg_control = type ? &u : NULL,
		.msg_controllen = type ? CMSG_SPACE(arglen) : 0,
	};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	ssize_t n;

	if (h) {
		h->cmsg_level = SOL_RDS;
		h->cmsg_type = type;
		h->cmsg_len = CMSG_LEN(arglen);
		memcpy(CMSG_DATA(h), arg, arglen);
	}
	n = sendmsg(pp.fd, &m, MSG_DONTWAIT);
	return n < 0 ? -errno : n;
}

static inline void pp_take_control(struct msghdr *m, __u64 *cookie)
{
	struct rds_rdma_notify n;
	struct cmsghdr *h;
	size_t i, count;

	for (h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		if (h->cmsg_level != SOL_RDS)
			continue;
		if (h->cmsg_type == RDS_CMSG_RDMA_DEST && cookie)
			memcpy(cookie, CMSG_DATA(h), sizeof(*cookie));
		if (h->cmsg_type != RDS_CMSG_RDMA_STATUS)
			continue;
		count = (h->cmsg_len - CMSG_LEN(0)) / sizeof(n);
		for (i = 0; i < count; i++) {
			memcpy(&n, CMSG_DATA(h) + i * sizeof(n), sizeof(n));
			if (n.status < 0 || n.status >= PP_STATUS)
				pp.bad++;
			else
				pp.notes[n.status]++;
			if (pp.note)
				pp.note(n.user_token, n.status);
		}
	}
}

/* One message of ours: its length, 0 = something else came, -1 = nothing there. */
static inline ssize_t pp_recv(struct ts_addr *from, struct pp_msg *msg, __u64 *cookie)
{
	static char data[PP_MIB];
	struct iovec iov = { data, sizeof(data) };
	char control[4096];
	struct msghdr m = {
		.msg_name = &from->ss, .msg_namelen = sizeof(from->ss), .msg_iov = &iov,
		.msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	ssize_t n;

	n = recvmsg(pp.fd, &m, MSG_DONTWAIT);
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			ts_die("recvmsg");
		return -1;
	}
	from->len = m.msg_namelen;
	if (cookie)
		*cookie = 0;
	pp_take_control(&m, cookie);
	if (!n)
		return 0;
	memcpy(msg, data, sizeof(*msg));
	if (n < (ssize_t)sizeof(*msg) || msg->magic != PP_MAGIC) {
		errno = 0;
		ts_die("a message of %zd bytes is not ours", n);
	}
	return n;
}

/* Takes what is there; replies that nobody waits for are dropped. */
static inline void pp_drain(void)
{
	struct ts_addr from;
	struct pp_msg m;

	while (pp_recv(&from, &m, NULL) >= 0)
		;
}

/* Operations that were not done. */
static inline unsigned long pp_failed(void)
{
	return pp_noted() - pp.notes[RDS_RDMA_SUCCESS];
}

static unsigned long done_ok, done_bad;

static inline void count(bool ok)
{
	if (ok)
		done_ok++;
	else
		done_bad++;
}

static inline void await_notes(unsigned long n)
{
	while (pp_noted() + pp.bad < n) {
		pp_wait(POLLIN);
		pp_drain();
	}
}

/* Until it is taken. */
static inline void pp_send(const struct ts_addr *to, const void *data, size_t len, int type,
			   const void *arg, size_t arglen)
{
	ssize_t n;

	while ((n = pp_try(to, data, len, type, arg, arglen)) < 0) {
		if (n != -EAGAIN && n != -ENOBUFS && n != -ENOMEM) {
			errno = -n;
			ts_die("sendmsg to %s", ts_show(to));
		}
		pp_wait(n == -EAGAIN && !type ? POLLOUT : 0);
	}
	if (n != (ssize_t)len)
		ts_die("sendmsg: %zd of %zu", n, len);
}

#endif
