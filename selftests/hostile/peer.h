/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs that pose as an RDS peer share: the header as it is on the wire, and
 * TCP connections whose source port says which path they are.
 */
#ifndef RDS_HOSTILE_PEER_H
#define RDS_HOSTILE_PEER_H

#include <assert.h>
#include <endian.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>

#include "../traffic_sock.h"

#define VICTIM_PORT	16385
#define MAP_BYTES	8192
#define MAX_MSG		(1024U * 1024)
#define MAX_PATHS	8
#define F_MAP		0x01
#define F_RETRANS	0x04

/* Extension headers */
#define X_NPATHS	5
#define X_GEN		6
#define X_SPORT		8
#define X_LINK		15

struct rds_hdr {
	__u64 seq;
	__u64 ack;
	__u32 len;
	__u16 sport;
	__u16 dport;
	__u8 flags;
	__u8 credit;
	__u8 pad[4];
	__u8 csum[2];
	__u8 ext[16];
};

static_assert(sizeof(struct rds_hdr) == 48, "header is 48 bytes");

/*
 * A connection from @from, from a source port that is @index modulo eight, to @to; or -1.
 * @rcvbuf limits what the victim can send before we read, 0 for the default.
 */
static inline int peer_dial(const struct ts_addr *from, const struct ts_addr *to,
			    unsigned int index, int rcvbuf)
{
	static unsigned int turn;
	struct timeval tv = { .tv_sec = 10 };
	int fd = socket(to->ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	unsigned int tries = 5000;
	struct ts_addr a;
	int err;

	if (fd < 0)
		ts_die("TCP socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (rcvbuf)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, sizeof(rcvbuf));
	if (!turn)
		turn = getpid() * 100;
	do {
		if (!tries--)
			ts_die("no source port");
		a = ts_port_add(*from, 10240 + ++turn % 5000 * MAX_PATHS + index);
	} while (bind(fd, (void *)&a.ss, a.len));
	if (!connect(fd, (void *)&to->ss, to->len))
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

static inline void peer_reset(int fd)
{
	struct linger lg = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &lg, sizeof(lg));
	close(fd);
}

/* Append an extension header of @size body bytes at @at; where the next one goes. */
static inline unsigned int peer_ext(struct rds_hdr *h, unsigned int at, __u8 type,
				    __u32 value, unsigned int size)
{
	unsigned int i;

	if (at + 1 + size > sizeof(h->ext))
		return at;
	h->ext[at++] = type;
	for (i = size; i; i--)
		h->ext[at++] = value >> 8 * (i - 1);
	return at;
}

/* The extensions of an honest handshake. */
static inline void peer_greeting(struct rds_hdr *h, unsigned int paths, __u32 gen)
{
	unsigned int at = peer_ext(h, 0, X_NPATHS, paths, 2);

	if (gen)
		at = peer_ext(h, at, X_GEN, gen, 4);
	peer_ext(h, at, X_SPORT, 0, 1);
}

#endif
