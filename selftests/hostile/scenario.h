/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One scenario of a hostile peer, and the proof that the victim survived it:
 *
 *   PROGRAM SCENARIO FROM VICTIM PORT FIRST [COUNT]
 *
 * FROM is the address to connect from, smaller than VICTIM unless the scenario is about
 * that.  Most scenarios end with a proof: a valid message to PORT of the victim, whose
 * payload is the number FIRST (host order), sent on the same connection.  If it arrives
 * there, the victim kept its framing and its wits.
 *
 * A line "expect COUNTER N" on the output says by how much a counter of the victim must
 * have grown, "least COUNTER N" that it may have grown more.
 *
 * Exit status: 0 the victim reacted as it must, 1 it did not, 2 no connection.
 */
#ifndef RDS_HOSTILE_SCENARIO_H
#define RDS_HOSTILE_SCENARIO_H

#include <sys/resource.h>

#include "peer.h"

static struct {
	struct ts_addr from, to;
	unsigned int port, first, count;
	__u64 seq;
} me __attribute__((unused));

static unsigned char zeros[MAX_MSG + 4096];

static inline unsigned int chance(void)
{
	static unsigned int x = 2463534242U;

	x ^= x << 13;
	x ^= x >> 17;
	return x ^= x << 5;
}

/* --- connections ------------------------------------------------------ */

/*
 * Source ports are multiples of eight: to a victim which was told that they
 * carry the path index, each is path 0.
 */
static inline int tcp_connect(void)
{
	return peer_dial(&me.from, &me.to, 0, 0);
}

/* Bytes until the peer stops sending for @ms; -1 when it has closed. */
static inline long swallow(int fd, int ms)
{
	static char buf[65536];
	struct pollfd p = { .fd = fd, .events = POLLIN };
	long got = 0, n;

	while (poll(&p, 1, ms) > 0) {
		n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n <= 0)
			return -1;
		got += n;
	}
	return got;
}

/* Has the victim begun to talk?  Each link begins with a control frame, perhaps without a map. */
static inline bool talks(int fd)
{
	struct { struct rds_hdr h; char map[MAP_BYTES]; } in;
	size_t got = 0, want = sizeof(in.h);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	double end = ts_now() + 0.5;
	ssize_t n;

	while (got < want && ts_now() < end) {
		if (poll(&p, 1, 20) <= 0)
			continue;
		n = recv(fd, (char *)&in + got, want - got, MSG_DONTWAIT);
		if (n <= 0)
			return false;
		got += n;
		if (got == sizeof(in.h) && be32toh(in.h.len) <= MAP_BYTES)
			want += be32toh(in.h.len);
	}
	return got >= sizeof(in.h);
}

/*
 * A connection which the victim has made a path; with @rcvbuf it can send only so much
 * before we read.
 */
static inline int open_path_small(int rcvbuf)
{
	double end = ts_now() + 15;
	int fd;

	while (ts_now() < end) {
		fd = peer_dial(&me.from, &me.to, 0, rcvbuf);
		if (fd >= 0 && talks(fd))
			return fd;
		if (fd >= 0)
			close(fd);
		usleep(20000);
	}
	errno = 0;
	ts_die("the victim takes no connection from %s", ts_show(&me.from));
}

static inline int open_path(void)
{
	return open_path_small(0);
}

static inline bool put(int fd, const void *buf, size_t len)
{
	const char *p = buf;
	ssize_t n;

	while (len) {
		n = send(fd, p, len, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		p += n;
		len -= n;
		swallow(fd, 0);
	}
	return true;
}

/* Does the victim close or reset within @seconds? */
static inline bool dropped(int fd, double seconds)
{
	double end = ts_now() + seconds;

	while (ts_now() < end)
		if (swallow(fd, 100) < 0)
			return true;
	return false;
}

/* --- messages --------------------------------------------------------- */

static inline struct rds_hdr header(unsigned int sport, unsigned int dport,
				    __u32 len, unsigned int flags)
{
	struct rds_hdr h = {
		.seq = htobe64(flags & F_MAP ? 0 : ++me.seq),
		.len = htobe32(len), .sport = htobe16(sport),
		.dport = htobe16(dport), .flags = flags,
	};

	return h;
}

static inline bool put_frame(int fd, const struct rds_hdr *h)
{
	return put(fd, h, sizeof(*h)) && put(fd, zeros, be32toh(h->len));
}

static inline bool put_proof(int fd, unsigned int number, size_t piece)
{
	struct {
		struct rds_hdr h;
		unsigned int number;
	} m = { header(9, me.port, sizeof(number), 0), number };
	size_t at, len = sizeof(m.h) + sizeof(m.number);

	for (at = 0; at < len; at += piece) {
		if (!put(fd, (char *)&m + at, piece < len - at ? piece : len - at))
			return false;
		if (piece < len)
			usleep(2000);
	}
	return true;
}

/* Wait until TCP there has everything, or the connection is gone. */
static inline bool arrived(int fd)
{
	double end = ts_now() + 60;
	int left = 1;

	while (left && ts_now() < end)
		if (swallow(fd, 20) < 0 || ioctl(fd, TS_OUTQ, &left) || left < 0)
			return false;
	return !left;
}

/* All is well if the victim still listens to us after what we did. */
static inline int prove(int fd, bool ok)
{
	ok = ok && put_proof(fd, me.first, 1000) && arrived(fd) && swallow(fd, 100) >= 0;
	close(fd);
	return !ok;
}

struct scenario {
	const char *name;
	int (*run)(void);
};

/* Run one of the @n scenarios. */
static inline int scenario_main(int argc, char **argv, const struct scenario *s, unsigned int n)
{
	struct rlimit many = { 21000, 21000 };
	unsigned int i;

	setrlimit(RLIMIT_NOFILE, &many);
	signal(SIGPIPE, SIG_IGN);
	for (i = 0; argc >= 6 && i < n; i++) {
		if (strcmp(argv[1], s[i].name))
			continue;
		me.from = ts_parse(argv[2]);
		me.to = ts_port_add(ts_parse(argv[3]), VICTIM_PORT);
		me.port = atoi(argv[4]);
		me.first = strtoul(argv[5], NULL, 0);
		me.count = argc > 6 ? strtoul(argv[6], NULL, 0) : 1000;
		return s[i].run();
	}
	fputs("see the comments in scenario.h\n", stderr);
	return 2;
}

#endif
