/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Numbered messages, and flows of them: each accepted message must arrive once,
 * intact and in order, whatever fails meanwhile.
 */
#ifndef FLOW_H
#define FLOW_H

#include "fault.h"

#define MSG_MAX_LEN	(200 << 10)
#define MSG_MAGIC	0x5fa17e57

struct msg_head {
	__u32 magic, seq, len, pad;
};

static char out[MSG_MAX_LEN], in[MSG_MAX_LEN];

/* Message number @seq of @len bytes in out[]. */
static inline void msg_make(__u32 seq, size_t len)
{
	struct msg_head h = { MSG_MAGIC, seq, len };
	size_t i;

	for (i = sizeof(h); i < len; i++)
		out[i] = i * 13 + seq;
	memcpy(out, &h, sizeof(h));
}

/* in[] has message @seq, all of it. */
static inline bool msg_intact(__u32 seq, ssize_t n)
{
	struct msg_head h;
	ssize_t i;

	memcpy(&h, in, sizeof(h));
	if (n < (ssize_t)sizeof(h) || h.magic != MSG_MAGIC || h.seq != seq || h.len != n)
		return false;
	for (i = sizeof(h); i < n; i++)
		if (in[i] != (char)(i * 13 + seq))
			return false;
	return true;
}

/**
 * struct flow - messages from one socket to another, which is connected to it
 * @tx: from
 * @rx: to
 * @sent: accepted so far
 * @got: arrived so far
 * @total: how many there shall be
 * @bad: something arrived that should not
 */
struct flow {
	int tx, rx;
	__u32 sent, got, total;
	bool bad;
};

static size_t flow_min = sizeof(struct msg_head), flow_max = MSG_MAX_LEN;

/* Linear, one packet, several pages, several packets. */
static inline size_t flow_len(__u32 seq)
{
	static const size_t len[] = { 64, 1400, 20000, 3000, 60000, 200 };
	size_t n = len[seq % ARRAY_SIZE(len)];

	n = n < flow_max ? n : flow_max;
	return n > flow_min ? n : flow_min;
}

static inline void flow_send(struct flow *f)
{
	size_t len = flow_len(f->sent);

	if (f->sent == f->total)
		return;
	msg_make(f->sent, len);
	if (send(f->tx, out, len, MSG_DONTWAIT) == (ssize_t)len) {
		f->sent++;
	} else if (!fault_errno(errno)) {
		fprintf(stderr, "# send: %m\n");
		f->bad = true;
	}
}

static inline void flow_recv(struct flow *f)
{
	ssize_t n = recv(f->rx, in, sizeof(in), MSG_DONTWAIT);

	if (n < 0) {
		if (!fault_errno(errno)) {
			fprintf(stderr, "# recv: %m\n");
			f->bad = true;
		}
		return;
	}
	if (msg_intact(f->got, n)) {
		f->got++;
		return;
	}
	fprintf(stderr, "# message %u of %u expected, %zd bytes of message %u came\n", f->got,
		f->total, n, ((struct msg_head *)in)->seq);
	f->bad = true;
}

/* Everything of all flows, @more messages each: true within @ms. */
static inline bool flows_run(struct flow *f, int nr, __u32 more, int ms)
{
	__s64 end = now_ms() + ms;
	bool bad = false, left;
	int i;

	for (i = 0; i < nr; i++)
		f[i].total += more;
	do {
		left = false;
		for (i = 0; i < nr; i++) {
			flow_send(&f[i]);
			flow_recv(&f[i]);
			bad |= f[i].bad;
			left |= f[i].got < f[i].total;
		}
		/* The kernel's workers want the only processor. */
		if (left)
			usleep(1000);
	} while (left && !bad && now_ms() < end);
	for (i = 0; i < nr && (left || bad); i++)
		fprintf(stderr, "# flow %d: %u accepted, %u arrived, %u expected\n", i,
			f[i].sent, f[i].got, f[i].total);
	return !left && !bad;
}

/* @pairs of sockets: f[2i] goes from ns 0 to ns 1, f[2i + 1] back. */
static inline int flows_open(struct flow *f, int pairs, const char *a, const char *b)
{
	int i, s, t;

	for (i = 0; i < pairs; i++) {
		s = rds_bound(a, 7000 + i);
		t = rds_bound_in(1, b, 8000 + i);
		if (s < 0 || t < 0 || rds_connect(s, b, 8000 + i) || rds_connect(t, a, 7000 + i))
			return -1;
		f[2 * i] = (struct flow){ .tx = s, .rx = t };
		f[2 * i + 1] = (struct flow){ .tx = t, .rx = s };
	}
	return 0;
}

#define PATHS 8

/* Paths of all connections of this namespace that are up. */
static inline int paths_up(int fd)
{
	struct rds_info_path *p;
	socklen_t len, i;
	void *buf;
	int n = 0;

	if (info_get(fd, RDS_INFO_PATHS, &buf, &len) == sizeof(*p))
		for (p = buf, i = 0; i < len / sizeof(*p); i++)
			n += !strcmp((char *)p[i].state, "up");
	free(buf);
	return n;
}

#endif
