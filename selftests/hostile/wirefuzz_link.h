/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The links of the wire fuzzer, and what it demands of the other end: whatever the
 * victim is sent, its own stream stays a valid one.
 */
#ifndef RDS_WIREFUZZ_LINK_H
#define RDS_WIREFUZZ_LINK_H

#include "peer.h"

#define MAGIC		0x66757a7a2d726473ULL
#define HELD_MAX	8
#define NONCE_SPORT	9

/* A payload that the echo server returns. */
struct nonce {
	__u64 magic;
	__u64 value;
};

/**
 * struct link - one TCP connection to the victim
 * @fd: -1 if there is none
 * @index: the path the victim must take it for
 * @raw: header that is being received
 * @have: bytes of @raw
 * @left: payload bytes of the frame that are missing
 * @got: payload bytes of the frame that were received
 * @head: the first of them
 * @last: highest sequence seen on this link
 * @frames: frames received
 */
struct link {
	int fd;
	unsigned int index;
	struct rds_hdr raw;
	unsigned int have;
	unsigned int left;
	unsigned int got;
	unsigned char head[sizeof(struct nonce)];
	__u64 last;
	unsigned long frames;
};

/**
 * struct fuzz - the state of the whole peer
 * @from: our address
 * @to: the victim
 * @port: its echo server
 * @listener: where the victim dials us, or -1: we dial
 * @links: one for each path, if there is
 * @held: accepted or dialled connections nobody cares for
 * @nr_held: their number
 * @next: next sequence number of each path
 * @echoed: newest nonce that came back
 * @ponged: a pong to a handshake ping arrived since this was cleared
 * @answer: answer pings as they come
 * @gen: generation we claim
 * @frames: received in total
 * @sent: frames and pieces of garbage sent
 */
struct fuzz {
	struct ts_addr from, to;
	unsigned int port, bystander;
	int listener;
	struct link links[MAX_PATHS];
	int held[HELD_MAX];
	unsigned int nr_held;
	__u64 next[MAX_PATHS];
	__u64 echoed;
	bool ponged;
	bool answer;
	__u32 gen;
	unsigned long frames, sent;
};

static noreturn void link_wrong(const struct link *l, const char *what)
{
	const struct rds_hdr *h = &l->raw;

	printf("the victim's stream on path %u is wrong: %s\n", l->index, what);
	printf("seq %llu len %u ports %u>%u flags %#x, last seq %llu\n",
	       (unsigned long long)be64toh(h->seq), be32toh(h->len),
	       be16toh(h->sport), be16toh(h->dport), h->flags, (unsigned long long)l->last);
	exit(1);
}

static void link_close(struct link *l, bool reset)
{
	if (l->fd < 0)
		return;
	if (reset)
		peer_reset(l->fd);
	else
		close(l->fd);
	l->fd = -1;
}

static void link_open(struct link *l, int fd, unsigned int index)
{
	*l = (struct link){ .fd = fd, .index = index };
}

/* As much as goes without waiting long; false if not all of it did. */
static bool link_put(struct link *l, const void *buf, size_t len)
{
	const char *p = buf;
	unsigned int tries = 0;
	ssize_t n;

	while (len && l->fd >= 0 && tries < 2) {
		struct pollfd w = { .fd = l->fd, .events = POLLOUT };

		n = send(l->fd, p, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0) {
			p += n;
			len -= n;
			continue;
		}
		if (errno != EAGAIN) {
			link_close(l, true);
			return false;
		}
		tries++;
		poll(&w, 1, 10);
	}
	return !len;
}

static void link_pong(struct fuzz *f, struct link *l)
{
	struct rds_hdr h = {
		.seq = htobe64(++f->next[l->index]), .dport = l->raw.sport,
	};

	if (h.dport == htobe16(1))
		peer_greeting(&h, MAX_PATHS, f->gen);
	link_put(l, &h, sizeof(h));
}

/* A complete header: is this something an honest host may send? */
static void link_header(struct link *l)
{
	const struct rds_hdr *h = &l->raw;
	__u32 len = be32toh(h->len);
	__u64 seq = be64toh(h->seq);

	if (h->ack || h->credit)
		link_wrong(l, "a field that TCP does not use is set");
	if (h->flags & ~(F_MAP | F_RETRANS))
		link_wrong(l, "flags");
	if (h->flags & F_MAP) {
		if (h->flags != F_MAP || seq || h->sport || h->dport ||
		    (len && len != MAP_BYTES))
			link_wrong(l, "congestion map");
		return;
	}
	if (!seq || seq <= l->last)
		link_wrong(l, "sequence does not rise");
	if (len > MAX_MSG || (!h->sport && len))
		link_wrong(l, "length");
	if (!h->sport && !h->dport)
		link_wrong(l, "no ports");
	l->last = seq;
}

static void link_frame(struct fuzz *f, struct link *l)
{
	const struct rds_hdr *h = &l->raw;
	struct nonce n;

	l->frames++;
	f->frames++;
	if (!(h->flags & F_MAP)) {
		if (h->dport == 0 && f->answer)
			link_pong(f, l);
		if (h->sport == 0 && h->dport == htobe16(1))
			f->ponged = true;
		memcpy(&n, l->head, sizeof(n));
		if (h->sport == htobe16(f->port) && l->got >= sizeof(n) &&
		    n.magic == MAGIC && n.value > f->echoed)
			f->echoed = n.value;
	}
	l->have = 0;
	l->got = 0;
}

static void link_take(struct fuzz *f, struct link *l, const unsigned char *p, size_t n)
{
	size_t part;

	while (n || (l->have == sizeof(l->raw) && !l->left)) {
		if (l->have < sizeof(l->raw)) {
			part = sizeof(l->raw) - l->have < n ? sizeof(l->raw) - l->have : n;
			memcpy((char *)&l->raw + l->have, p, part);
			l->have += part;
			if (l->have == sizeof(l->raw)) {
				link_header(l);
				l->left = be32toh(l->raw.len);
			}
		} else {
			part = l->left < n ? l->left : n;
			if (l->got < sizeof(l->head))
				memcpy(l->head + l->got, p,
				       part < sizeof(l->head) - l->got ?
				       part : sizeof(l->head) - l->got);
			l->got += part;
			l->left -= part;
		}
		p += part;
		n -= part;
		if (l->have == sizeof(l->raw) && !l->left)
			link_frame(f, l);
	}
}

/* Take what has arrived; a link that the victim has closed is forgotten. */
static void link_read(struct fuzz *f, struct link *l)
{
	static unsigned char buf[65536];
	ssize_t n;

	while (l->fd >= 0) {
		n = recv(l->fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n > 0) {
			link_take(f, l, buf, n);
			continue;
		}
		if (n < 0 && errno == EAGAIN)
			return;
		link_close(l, true);
	}
}

static void links_read(struct fuzz *f)
{
	unsigned int i;

	for (i = 0; i < MAX_PATHS; i++)
		link_read(f, &f->links[i]);
}

/* Wait for the victim, at most @ms; true if it did something. */
static bool links_wait(struct fuzz *f, int ms)
{
	struct pollfd p[MAX_PATHS + 1];
	unsigned int i, n = 0;

	for (i = 0; i < MAX_PATHS; i++)
		if (f->links[i].fd >= 0)
			p[n++] = (struct pollfd){ .fd = f->links[i].fd, .events = POLLIN };
	if (f->listener >= 0)
		p[n++] = (struct pollfd){ .fd = f->listener, .events = POLLIN };
	return poll(p, n, ms) > 0;
}

#endif
