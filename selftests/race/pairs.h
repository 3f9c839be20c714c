/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages of the race tests, and the account of them: every message has a
 * place in struct account, which says whether it was accepted and how often it
 * came. A message of an earlier round is a duplicate, unless that round closed
 * or cancelled something.
 */
#ifndef PAIRS_H
#define PAIRS_H

#include "api/rds_util.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#define MAGIC	0x52414345u
#define MAX_SEQ	16		/* messages of one source and round */

enum source { FROM_PEER_X, FROM_PEER_Y, FROM_T0, FROM_T1, NR_SOURCES };

struct wire {
	__u32 magic;
	__u32 round;
	__u16 from;
	__u16 seq;
	__u16 lossy;
	__u16 pad;
};

struct account {
	__u32 round;
	bool lossy[NR_SOURCES];		/* may be lost, never come twice */
	atomic_int next[NR_SOURCES];	/* sequence numbers handed out */
	atomic_int ok[NR_SOURCES][MAX_SEQ];
	atomic_int seen[NR_SOURCES][MAX_SEQ];
	atomic_int zok[NR_SOURCES][MAX_SEQ];	/* zero copy: accepted, completed */
	atomic_int zdone[NR_SOURCES][MAX_SEQ];
	atomic_int last[NR_SOURCES];	/* order, kept by the one who drains */
	atomic_int stale, foreign;
};

static struct account acc;

static inline void acc_reset(__u32 round)
{
	int i;

	memset(&acc, 0, sizeof(acc));
	acc.round = round;
	for (i = 0; i < NR_SOURCES; i++)
		atomic_store(&acc.last[i], -1);
}

static inline void acc_cookies(const struct cmsghdr *c)
{
	struct rds_zcopy_cookies z;
	__u32 i;

	memcpy(&z, CMSG_DATA(c), sizeof(z));
	for (i = 0; i < z.num && i < 8; i++) {
		__u32 from = z.cookies[i] >> 8 & 0xff, seq = z.cookies[i] & 0xff;

		if (z.cookies[i] >> 16 != (acc.round & 0xffff) || from >= NR_SOURCES ||
		    seq >= MAX_SEQ)
			atomic_fetch_add(&acc.foreign, 1);
		else
			atomic_fetch_add(&acc.zdone[from][seq], 1);
	}
}

/* @ordered: nobody else receives, so what comes must come in order. */
static inline void acc_message(const struct wire *w, ssize_t len, bool ordered)
{
	if (len < (ssize_t)sizeof(*w) || w->magic != MAGIC || w->from >= NR_SOURCES ||
	    w->seq >= MAX_SEQ) {
		atomic_fetch_add(&acc.foreign, 1);
		return;
	}
	if (w->round != acc.round) {
		if (!w->lossy)
			atomic_fetch_add(&acc.stale, 1);
		return;
	}
	atomic_fetch_add(&acc.seen[w->from][w->seq], 1);
	if (ordered && atomic_exchange(&acc.last[w->from], w->seq) >= w->seq)
		atomic_fetch_add(&acc.foreign, 1);
}

/* One recvmsg(): what it returns; messages and completions are accounted. */
static inline ssize_t acc_recv(int fd, int flags, bool ordered)
{
	struct cmsghdr *c;
	char buf[512];
	struct rx rx;

	rx_msg(fd, buf, sizeof(buf), flags, &rx);
	if (rx.ret < 0) {
		errno = rx.err;
		return -1;
	}
	c = rx_cmsg(&rx, SOL_RDS, RDS_CMSG_ZCOPY_COMPLETION);
	if (flags & MSG_PEEK)
		return rx.ret;	/* all stays: it comes again */
	if (c)
		acc_cookies(c);
	if (rx.m.msg_namelen)
		acc_message((void *)buf, rx.ret, ordered);
	return rx.ret;
}

/* Sends the next message of a source; accepted ones are accounted. */
static inline ssize_t acc_send(int fd, enum source from, const char *addr, unsigned int port,
			       int flags, unsigned int r)
{
	/* what a closed socket still has on the wire must not change */
	static char pages[32][NR_SOURCES][MAX_SEQ][512];
	int seq = atomic_fetch_add(&acc.next[from], 1);
	bool zc = flags & MSG_ZEROCOPY;
	size_t len = sizeof(struct wire) + r % 200;
	struct ctl c = {};
	struct wire w = {
		.magic = MAGIC, .round = acc.round, .from = from, .seq = seq,
		.lossy = acc.lossy[from],
	};
	__u32 cookie = acc.round << 16 | from << 8 | seq;
	char *buf;
	ssize_t n;

	if (seq >= MAX_SEQ)
		return 0;
	buf = pages[acc.round % ARRAY_SIZE(pages)][from][seq];
	memcpy(buf, &w, sizeof(w));
	if (zc)
		ctl_add(&c, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie, 4);
	n = send_ctl(fd, addr, port, buf, len, flags, zc ? c.buf : NULL, c.len);
	if (n == (ssize_t)len) {
		atomic_store(&acc.ok[from][seq], 1);
		atomic_store(&acc.zok[from][seq], zc);
	} else if (n >= 0) {
		atomic_fetch_add(&acc.foreign, 1);
	}
	return n;
}

/* All of a source has come, or as much as may be waited for. */
static inline bool acc_complete(enum source from)
{
	int i;

	for (i = 0; i < MAX_SEQ && !acc.lossy[from]; i++)
		if (atomic_load(&acc.seen[from][i]) < atomic_load(&acc.ok[from][i]))
			return false;
	return true;
}

static inline bool acc_zcomplete(enum source from)
{
	int i;

	for (i = 0; i < MAX_SEQ; i++)
		if (atomic_load(&acc.zdone[from][i]) < atomic_load(&acc.zok[from][i]))
			return false;
	return true;
}

/* NULL, or what is wrong with the account. */
static inline const char *acc_verdict(void)
{
	int f, i;

	if (atomic_load(&acc.foreign))
		return "a message, cookie or order that cannot be";
	if (atomic_load(&acc.stale))
		return "a message of an earlier round";
	for (f = 0; f < NR_SOURCES; f++) {
		for (i = 0; i < MAX_SEQ; i++) {
			if (atomic_load(&acc.seen[f][i]) > 1)
				return "a message came twice";
			if (atomic_load(&acc.seen[f][i]) && !atomic_load(&acc.ok[f][i]))
				return "a refused message came";
			if (atomic_load(&acc.zdone[f][i]) > atomic_load(&acc.zok[f][i]))
				return "a completion too many";
		}
		if (!acc_complete(f))
			return "an accepted message is missing";
	}
	return NULL;
}

#endif
