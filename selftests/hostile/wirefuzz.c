// SPDX-License-Identifier: GPL-2.0
/*
 * wirefuzz - an RDS peer that knows the protocol and abuses it.
 *
 *   wirefuzz dial|listen FROM:0 VICTIM:0 PORT [--seed N] [--first N] [--rounds N] [--seconds S]
 *       [--bystander PORT]
 *   wirefuzz echo ADDR:PORT
 *
 * A round is some dozens of actions on up to eight links: valid frames, frames with
 * mutated fields, frames cut, split, repeated, on the wrong link, resets, silence.  Then
 * the peer turns honest: new links, an honest handshake, and a message to the echo server
 * (PORT of the victim), which must come back.  All along the victim's own stream must be
 * valid.  So a round fails if the victim lost its wits or its way back.
 *
 * BYSTANDER is a port of the victim whose reader has to bear with messages from us.
 *
 * "dial" wants FROM smaller than the victim, "listen" larger: then the victim dials us.
 * A round depends on the seed and its number alone: --seed N --first R --rounds 1.
 *
 * Exit status: 0, 1 the victim failed, 2 could not run.
 */
#define _GNU_SOURCE
#include <getopt.h>

#include "wirefuzz_link.h"

#define RECOVER		30	/* seconds for the way back */
#define HISTORY		16
#define FRAME_MAX	(sizeof(struct rds_hdr) + 20000 + sizeof(struct nonce))

static struct fuzz f = { .listener = -1 };
static __u64 rng;
static unsigned char payload[MAX_MSG];

static struct frame {
	unsigned char bytes[FRAME_MAX];
	size_t len;
} history[HISTORY];

static __u32 rnd(void)
{
	__u64 z = rng += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return (z ^ z >> 31) >> 16;
}

static __u32 below(__u32 n)
{
	return rnd() % n;
}

static bool one_in(__u32 n)
{
	return !below(n);
}

/* --- links ------------------------------------------------------------ */

static void accept_links(void)
{
	struct sockaddr_storage ss;
	socklen_t len;
	unsigned int i;
	int fd, one = 1;

	while (f.listener >= 0) {
		struct ts_addr a;

		len = sizeof(ss);
		fd = accept4(f.listener, (void *)&ss, &len, SOCK_CLOEXEC);
		if (fd < 0)
			return;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		a.ss = ss;
		i = ts_port(&a) % MAX_PATHS;
		link_close(&f.links[i], true);
		link_open(&f.links[i], fd, i);
	}
}

/* Ask a victim that dials to do so. */
static void knock(void)
{
	int fd = peer_dial(&f.from, &f.to, 0, 0);

	if (fd >= 0)
		peer_reset(fd);
}

static struct link *dial(unsigned int index, unsigned int port_index, int rcvbuf)
{
	struct link *l = &f.links[index];
	int fd;

	if (f.listener >= 0) {
		if (one_in(4))
			knock();
		accept_links();
		return l->fd >= 0 ? l : NULL;
	}
	if (l->fd >= 0)
		return l;
	fd = peer_dial(&f.from, &f.to, port_index, rcvbuf);
	if (fd < 0)
		return NULL;
	link_open(l, fd, index);
	return l;
}

static void drop_all(void)
{
	unsigned int i;

	for (i = 0; i < MAX_PATHS; i++)
		link_close(&f.links[i], true);
	while (f.nr_held)
		peer_reset(f.held[--f.nr_held]);
}

/* --- frames ----------------------------------------------------------- */

static __u64 odd_seq(__u64 next)
{
	switch (below(10)) {
	case 0: return 0;
	case 1: return 1;
	case 2: return next - 1;
	case 3: return next + (1ULL << 31);
	case 4: return next + (1ULL << 62);
	case 5: return 1ULL << 63;
	case 6: return ~0ULL;
	case 7: return next - below(100);
	case 8: return (__u64)rnd() << 32 | rnd();
	default: return next + 1;
	}
}

static unsigned int odd_port(void)
{
	static const unsigned int ports[] = { 0, 1, 2, NONCE_SPORT, 65535, 16385 };
	unsigned int i = below(10);

	return i < 6 ? ports[i] : i == 6 ? f.port : i == 7 ? f.bystander : below(65536);
}

/* A length that is announced and kept. */
static __u32 some_len(void)
{
	static const __u32 lens[] = {
		0, 1, 16, 47, 48, 49, 2047, 2048, 2049, 4096, 8191, 8192, 8193,
	};
	unsigned int i = below(16);

	return i < 13 ? lens[i] : below(i == 15 ? 20000 : 300);
}

/* Extensions as they should be, doubled, contradictory, unknown, overrunning, or noise. */
static void odd_ext(struct rds_hdr *h)
{
	static const __u32 paths[] = { 0, 1, 2, 3, 7, 8, 8, 8, 9, 255, 256, 32768, 65535 };
	static const unsigned char size[16] = { 0, 4, 4, 8, 8, 2, 4, 4, 1, 8, 1, 2, 3, 4, 5, 6 };
	unsigned int at = 0, i, type, n = below(5);

	for (i = 0; i < n; i++) {
		type = one_in(4) ? below(16) : X_NPATHS + below(4);
		at = peer_ext(h, at, type, type == X_NPATHS ? paths[below(13)] :
			      type == X_GEN ? f.gen + below(3) : one_in(3) ? rnd() : 0,
			      size[type]);
	}
	if (one_in(3))
		for (i = below(16); i < 16; i++)
			h->ext[i] = rnd();
}

static void mutate(struct rds_hdr *h, __u64 next)
{
	unsigned int n = 1 + below(3);

	while (n--) {
		switch (below(11)) {
		case 0:
		case 1:
			h->seq = htobe64(odd_seq(next));
			break;
		case 2:
			h->ack = htobe64(odd_seq(next));
			break;
		case 3:
			h->flags ^= 1U << below(8);
			break;
		case 4:
			h->flags |= F_RETRANS;
			break;
		case 5:
			h->sport = htobe16(odd_port());
			break;
		case 6:
			h->dport = htobe16(odd_port());
			break;
		case 7:
			odd_ext(h);
			break;
		case 8:
			((unsigned char *)h)[24 + below(24)] = rnd();
			break;
		case 9:
			h->credit = rnd();
			break;
		case 10:	/* not kept: what follows is garbage */
			if (one_in(4))
				h->len = htobe32(one_in(2) ? rnd() : below(MAX_MSG + 2));
			break;
		}
	}
}

static struct rds_hdr valid_header(const struct link *l, unsigned int sport, unsigned int dport)
{
	struct rds_hdr h = {
		.seq = htobe64(++f.next[l->index]),
		.sport = htobe16(sport), .dport = htobe16(dport),
	};

	return h;
}

static void fill_map(unsigned char *map)
{
	unsigned int i, kind = below(5);

	for (i = 0; i < MAP_BYTES; i++)
		map[i] = kind == 0 ? 0 : kind == 1 ? 0xff : kind == 2 ? 0x55 : rnd();
	if (kind == 4) {	/* one port only */
		memset(map, 0, MAP_BYTES);
		map[below(MAP_BYTES)] = 1U << below(8);
	}
}

/* The next frame for a link, in history[] so that it can come again. */
static struct frame *new_frame(struct link *l)
{
	struct frame *fr = &history[below(HISTORY)];
	struct nonce n = { .magic = MAGIC };
	struct rds_hdr h;
	unsigned int kind = below(12);
	__u32 len = 0;

	if (kind < 4) {			/* a message for the echo server */
		h = valid_header(l, NONCE_SPORT + below(3), f.port);
		len = sizeof(n) + some_len();
		memcpy(payload, &n, sizeof(n));
	} else if (kind < 6) {		/* for anybody */
		h = valid_header(l, odd_port(), odd_port());
		len = some_len();
	} else if (kind < 8) {		/* handshake */
		h = valid_header(l, one_in(2), 0);
		h.dport = htobe16(!h.sport);
		if (one_in(2))
			odd_ext(&h);
		else
			peer_greeting(&h, MAX_PATHS, f.gen);
	} else if (kind < 10) {		/* congestion map */
		h = (struct rds_hdr){ .flags = F_MAP };
		fill_map(payload);
		len = one_in(4) ? some_len() : MAP_BYTES;
		if (one_in(4))
			peer_ext(&h, 0, X_GEN, f.gen + below(3), 4);
	} else {			/* ping */
		h = valid_header(l, odd_port(), 0);
	}
	h.len = htobe32(len);
	if (one_in(2))
		mutate(&h, f.next[l->index]);
	memcpy(fr->bytes, &h, sizeof(h));
	memcpy(fr->bytes + sizeof(h), payload, len);
	memset(payload, 0, sizeof(n));
	fr->len = sizeof(h) + len;
	return fr;
}

/* --- actions ---------------------------------------------------------- */

static void send_split(struct link *l, const unsigned char *p, size_t len)
{
	unsigned int kind = below(6);
	size_t part;

	while (len && l->fd >= 0) {
		part = kind < 3 ? len : kind == 3 ? 1 : 1 + below(len);
		if (kind == 3 && len > 100)
			part = len - 100;
		if (part > len)
			part = len;
		if (!link_put(l, p, part)) {
			/* The victim does not read: mostly no use to go on. */
			if (!one_in(4))
				link_close(l, one_in(2));
			return;
		}
		p += part;
		len -= part;
	}
}

static void act_frame(struct link *l)
{
	struct frame *fr = one_in(5) ? &history[below(HISTORY)] : new_frame(l);
	size_t len = fr->len;

	if (one_in(12) && len)
		len = below(len);	/* and then something else */
	f.sent++;
	send_split(l, fr->bytes, len);
}

static void act_burst(struct link *l)
{
	unsigned int n = 2 + below(30);

	while (n-- && l->fd >= 0)
		act_frame(l);
}

static void act_large(struct link *l)
{
	struct rds_hdr h = valid_header(l, NONCE_SPORT, one_in(2) ? f.port : odd_port());
	__u32 len = 1 + below(MAX_MSG);

	h.len = htobe32(len);
	f.sent++;
	link_put(l, &h, sizeof(h));
	link_put(l, payload, one_in(2) ? len : below(len));
}

static void act_garbage(struct link *l)
{
	unsigned char buf[300];
	unsigned int i, n = 1 + below(sizeof(buf));

	for (i = 0; i < n; i++)
		buf[i] = rnd();
	f.sent++;
	link_put(l, buf, n);
}

static void act_end(struct link *l)
{
	switch (below(5)) {
	case 0:
		link_close(l, true);
		break;
	case 1:
		link_close(l, false);
		break;
	case 2:
		shutdown(l->fd, SHUT_WR);
		break;
	case 3:			/* urgent data; the rest of the stream goes on */
		if (one_in(4))
			send(l->fd, "!", 1, MSG_OOB | MSG_NOSIGNAL | MSG_DONTWAIT);
		break;
	case 4:			/* left alone, neither read nor closed */
		if (f.nr_held == HELD_MAX)
			peer_reset(f.held[--f.nr_held]);
		f.held[f.nr_held++] = l->fd;
		l->fd = -1;
		break;
	}
}

static void act(void)
{
	unsigned int index = below(one_in(3) ? MAX_PATHS : 2), kind = below(100);
	struct link *l = &f.links[index];

	if (l->fd < 0) {
		l = dial(index, one_in(8) ? below(MAX_PATHS) : index, one_in(8) ? 2048 : 0);
		if (!l)
			return;
	}
	if (kind < 60)
		act_frame(l);
	else if (kind < 72)
		act_burst(l);
	else if (kind < 74)
		act_large(l);
	else if (kind < 76)
		act_garbage(l);
	else if (kind < 84)
		act_end(l);
	else if (kind < 96)
		links_read(&f);
	else
		links_wait(&f, 1 + below(5));
}

/* --- the way back ----------------------------------------------------- */

static void honest_service(int ms)
{
	links_wait(&f, ms);
	accept_links();
	links_read(&f);
}

/* What an honest peer says first: no port is congested, and who it is. */
static void honest_greet(struct link *l)
{
	struct rds_hdr h = { .flags = F_MAP, .len = htobe32(MAP_BYTES) };

	memset(payload, 0, MAP_BYTES);
	link_put(l, &h, sizeof(h));
	link_put(l, payload, MAP_BYTES);
	h = valid_header(l, 1, 0);
	peer_greeting(&h, MAX_PATHS, f.gen);
	link_put(l, &h, sizeof(h));
}

/* All eight links, greeted once each; path 0 first, the others when its pong is there. */
static void honest_links(bool greeted[MAX_PATHS])
{
	unsigned int i, n;

	if (f.links[0].fd < 0)
		f.ponged = false;
	n = f.ponged ? MAX_PATHS : 1;
	for (i = 0; i < n; i++) {
		if (f.links[i].fd < 0) {
			greeted[i] = false;
			if (f.listener < 0)
				dial(i, i, 0);
		}
		/* A link that nobody took yet would be silent. */
		if (f.links[i].fd >= 0 && !greeted[i] && f.links[i].frames) {
			honest_greet(&f.links[i]);
			greeted[i] = true;
		}
	}
}

static void honest_nonce(__u64 value, unsigned int path)
{
	struct {
		struct rds_hdr h;
		struct nonce n;
	} m;

	if (f.links[path].fd < 0)
		return;
	m.h = valid_header(&f.links[path], NONCE_SPORT, f.port);
	m.h.len = htobe32(sizeof(m.n));
	m.n = (struct nonce){ .magic = MAGIC, .value = value };
	link_put(&f.links[path], &m, sizeof(m));
}

/* Honest from now on: does a message come back? */
static bool recover(__u64 value)
{
	double end = ts_now() + RECOVER, again = 0, knocked = 0;
	bool greeted[MAX_PATHS] = { };
	unsigned int tries = 0;

	drop_all();
	f.ponged = false;
	f.answer = true;
	while (f.echoed < value && ts_now() < end) {
		if (f.listener >= 0 && f.links[0].fd < 0 && ts_now() > knocked) {
			knock();
			knocked = ts_now() + 0.5;
		}
		honest_links(greeted);
		if (f.ponged && ts_now() > again) {
			honest_nonce(value, tries++ % MAX_PATHS);
			again = ts_now() + 0.3;
		}
		honest_service(f.ponged ? 20 : 5);
	}
	f.answer = false;
	return f.echoed >= value;
}

static bool fuzz_round(__u64 seed, unsigned int round, double *took)
{
	unsigned int i, n;
	double begin;
	bool ok;

	rng = seed * 1000003 + round;
	for (i = 0; i < HISTORY; i++)
		history[i].len = 0;
	f.gen = 1 + below(5);
	for (i = 0; i < MAX_PATHS; i++)
		f.next[i] = below(1000);
	if (one_in(3))
		drop_all();
	n = 20 + below(150);
	for (i = 0; i < n; i++)
		act();
	begin = ts_now();
	ok = recover(round + 1);
	*took = ts_now() - begin;
	return ok;
}

/* --- the echo server -------------------------------------------------- */

static int serve_echo(const char *where)
{
	struct ts_addr addr = ts_parse(where), from;
	int fd = socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	static char buf[MAX_MSG];
	struct nonce n;
	ssize_t len;

	if (fd < 0 || bind(fd, (void *)&addr.ss, addr.len))
		ts_die("echo server at %s", where);
	puts("ready");
	fflush(stdout);
	for (;;) {
		from.len = sizeof(from.ss);
		len = recvfrom(fd, buf, sizeof(buf), 0, (void *)&from.ss, &from.len);
		if (len < 0 && errno != EINTR)
			ts_die("echo server: receive");
		if (len < (ssize_t)sizeof(n))
			continue;
		memcpy(&n, buf, sizeof(n));
		if (n.magic == MAGIC)
			sendto(fd, buf, len < 4096 ? len : 4096, MSG_DONTWAIT,
			       (void *)&from.ss, from.len);
	}
}

static void start_listening(void)
{
	struct ts_addr a = ts_port_add(f.from, VICTIM_PORT);
	int one = 1;

	f.listener = socket(a.ss.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	setsockopt(f.listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (f.listener < 0 || bind(f.listener, (void *)&a.ss, a.len) || listen(f.listener, 64))
		ts_die("listen at %s", ts_show(&a));
}

static int run(__u64 seed, unsigned int first, unsigned int rounds, double seconds)
{
	double end = ts_now() + seconds, slowest = 0, sum = 0, took;
	unsigned int i, slow = 0;

	printf("seed %llu\n", (unsigned long long)seed);
	fflush(stdout);
	for (i = 0; i < rounds && ts_now() < end; i++) {
		if (fuzz_round(seed, first + i, &took)) {
			sum += took;
			if (took > slowest) {
				slowest = took;
				slow = first + i;
			}
			continue;
		}
		printf("no way back after --seed %llu --first %u --rounds 1\n",
		       (unsigned long long)seed, first + i);
		printf("the %uth round; ponged %d, frames by path:", i + 1, f.ponged);
		for (i = 0; i < MAX_PATHS; i++)
			printf(" %lu", f.links[i].fd < 0 ? 0 : 1 + f.links[i].frames);
		puts("");
		return 1;
	}
	printf("%u rounds, %lu frames sent, %lu received\n", i, f.sent, f.frames);
	printf("way back %.2f s, slowest %.2f s (round %u)\n", i ? sum / i : 0, slowest, slow);
	return !i || !f.sent || !f.frames;
}

int main(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "seed", 1, NULL, 's' }, { "rounds", 1, NULL, 'r' },
		{ "seconds", 1, NULL, 't' }, { "first", 1, NULL, 'f' },
		{ "bystander", 1, NULL, 'b' }, { },
	};
	__u64 seed = time(NULL) * 1000 + getpid() % 1000;
	unsigned int rounds = -1, first = 0, i;
	double seconds = 1e9;
	int c;

	signal(SIGPIPE, SIG_IGN);
	if (argc == 3 && !strcmp(argv[1], "echo"))
		return serve_echo(argv[2]);
	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'r')
			rounds = strtoul(optarg, NULL, 0);
		else if (c == 't')
			seconds = atof(optarg);
		else if (c == 'b')
			f.bystander = atoi(optarg);
		else if (c == 'f')
			first = strtoul(optarg, NULL, 0);
		else
			return 2;
	}
	if (argc - optind != 4) {
		fputs("see the comments in wirefuzz.c\n", stderr);
		return 2;
	}
	f.from = ts_parse(argv[optind + 1]);
	f.to = ts_port_add(ts_parse(argv[optind + 2]), VICTIM_PORT);
	f.port = atoi(argv[optind + 3]);
	for (i = 0; i < MAX_PATHS; i++)
		f.links[i].fd = -1;
	if (!strcmp(argv[optind], "listen"))
		start_listening();
	return run(seed, first, rounds, seconds);
}
