// SPDX-License-Identifier: GPL-2.0
/*
 * rdslies - a peer that keeps the framing and lies about everything else: path counts,
 * generations, indices, sequence numbers, acknowledgements, congestion.  See scenario.h.
 *
 * Where a rule says what must arrive, the scenario sends numbers from FIRST on and prints
 * "proofs N": how many of them must.
 */
#define _GNU_SOURCE
#include "scenario.h"

static bool put_number(int fd, __u64 seq, unsigned int flags, unsigned int number)
{
	struct {
		struct rds_hdr h;
		unsigned int number;
	} m = { header(9, me.port, sizeof(number), flags), number };

	m.h.seq = htobe64(seq);
	return put(fd, &m, sizeof(m.h) + sizeof(m.number));
}

static struct rds_hdr greeting(unsigned int paths, __u32 gen)
{
	struct rds_hdr h = header(1, 0, 0, 0);

	peer_greeting(&h, paths, gen);
	return h;
}

/* Not put(), which throws away what comes back. */
static bool greet(int fd, unsigned int paths)
{
	struct rds_hdr h = greeting(paths, 0);

	return send(fd, &h, sizeof(h), MSG_NOSIGNAL) == sizeof(h);
}

/* Wait for the pong to our ping; the announced path count in it, or 0. */
static unsigned int read_pong(int fd)
{
	double end = ts_now() + 5;
	struct rds_hdr h;
	size_t have = 0;
	char skip[MAP_BYTES];
	ssize_t n;

	while (ts_now() < end) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, 100) <= 0)
			continue;
		n = recv(fd, (char *)&h + have, sizeof(h) - have, MSG_DONTWAIT);
		if (n <= 0)
			return 0;
		have += n;
		if (have < sizeof(h))
			continue;
		have = 0;
		if (h.len && recv(fd, skip, be32toh(h.len), MSG_WAITALL) <= 0)
			return 0;
		if (!h.sport && h.dport == htobe16(1))
			return h.ext[0] == X_NPATHS ? h.ext[1] << 8 | h.ext[2] : 0;
	}
	return 0;
}

/* Every path count is answered, with our own; none takes the link down. */
static int npaths(void)
{
	static const unsigned int n[] = { 0, 1, 9, 255, 65535, 2, 7, 8, 3, 1, 0, 32768 };
	int fd = open_path();
	unsigned int i;
	bool ok = true;

	for (i = 0; ok && i < sizeof(n) / sizeof(*n); i++) {
		if (!greet(fd, n[i]) || read_pong(fd) != MAX_PATHS) {
			printf("%u paths: no pong\n", n[i]);
			ok = false;
		}
	}
	/* 8 paths are known since 9: what is less from then on is ignored (0 counts as 1) */
	puts("least recv_handshake 12");
	puts("expect recv_handshake_ignored 5");
	return prove(fd, ok);
}

/*
 * The generation changes in mid-link.  What a new instance repeats is new; what the same
 * instance repeats is not.
 */
static int generations(void)
{
	int fd = open_path();
	unsigned int i, number = me.first;
	struct rds_hdr h;
	bool ok = true;

	for (i = 0; ok && i < me.count; i++) {
		me.seq = 0;
		if (i & 1) {
			h = greeting(MAX_PATHS, 100 + i);
		} else {	/* a control frame, which has no number itself */
			h = header(0, 0, 0, F_MAP);
			peer_ext(&h, 0, X_GEN, 100 + i, 4);
		}
		ok = put(fd, &h, sizeof(h)) &&
		     put_number(fd, 2, F_RETRANS, number) &&
		     put_number(fd, 2, F_RETRANS, number + 1000000);
		number++;
	}
	ok = ok && swallow(fd, 200) >= 0;
	close(fd);
	printf("proofs %u\n", me.count);
	printf("least recv_generation_change %u\n", me.count - 1);
	printf("expect recv_drop_old_seq %u\n", me.count);
	return !ok;
}

/*
 * A peer is replaced by one that tells its generation: at the head of its link, or by a ping, and
 * all that it sends are repeats, because its first link broke.  It counts from the beginning.
 */
static int reborn(void)
{
	int fd = open_path();
	struct rds_hdr h;
	bool ok;

	ok = put_number(fd, 1, 0, me.first) && put_number(fd, 2, 0, me.first + 1) &&
	     put_number(fd, 3, 0, me.first + 2) && swallow(fd, 200) >= 0;
	close(fd);

	fd = open_path();
	h = header(0, 0, 0, F_MAP);
	peer_ext(&h, 0, X_GEN, 4711, 4);
	ok = ok && put(fd, &h, sizeof(h)) && put_number(fd, 1, F_RETRANS, me.first + 3) &&
	     put_number(fd, 2, F_RETRANS, me.first + 4) && swallow(fd, 200) >= 0;
	close(fd);

	fd = open_path();
	h = greeting(1, 4712);
	h.seq = htobe64(1);
	h.flags = F_RETRANS;
	ok = ok && send(fd, &h, sizeof(h), MSG_NOSIGNAL) == sizeof(h) &&
	     read_pong(fd) == MAX_PATHS && put_number(fd, 2, F_RETRANS, me.first + 5) &&
	     put_number(fd, 2, F_RETRANS, 1000000) && swallow(fd, 200) >= 0;
	close(fd);
	puts("proofs 6");
	puts("expect recv_drop_old_seq 1");
	return !ok;
}

/* Many extensions in one frame: the first of a kind counts, an unknown one ends them. */
static int extensions(void)
{
	int fd = open_path();
	struct rds_hdr h;
	unsigned int i, at, type;
	bool ok = true;

	for (i = 0; ok && i < 50; i++) {	/* contradictions */
		h = header(1, 0, 0, 0);
		at = peer_ext(&h, 0, X_NPATHS, 8, 2);
		at = peer_ext(&h, at, X_NPATHS, i % 9, 2);
		at = peer_ext(&h, at, X_GEN, 4711, 4);
		peer_ext(&h, at, X_GEN, i, 4);
		ok = put(fd, &h, sizeof(h));
	}
	for (type = 9; ok && type < 15; type++) {	/* unknown, before and behind NPATHS */
		h = header(1, 0, 0, 0);
		at = peer_ext(&h, 0, X_NPATHS, 8, 2);
		peer_ext(&h, at, type, 0, 1);
		ok = put(fd, &h, sizeof(h));
		h = header(1, 0, 0, 0);
		at = peer_ext(&h, 0, type, 0, 0);
		peer_ext(&h, at, X_NPATHS, 1, 2);
		ok = ok && put(fd, &h, sizeof(h));
	}
	for (i = 0; ok && i < 20; i++) {	/* an index that is not zero */
		h = header(1, 0, 0, 0);
		at = peer_ext(&h, 0, X_NPATHS, 8, 2);
		peer_ext(&h, at, X_SPORT, 1 + i, 1);
		ok = put(fd, &h, sizeof(h));
	}
	puts("expect recv_ext_unknown 12");
	puts("expect recv_handshake_ignored 0");
	return prove(fd, ok);
}

/*
 * We say that our source ports are path indices, and then dial eight times from ports of
 * one and the same index, each with the same numbers.
 */
static int indices(void)
{
	int fds[MAX_PATHS], fd = open_path();
	unsigned int i, k;
	bool ok = greet(fd, MAX_PATHS) && read_pong(fd) == MAX_PATHS;

	for (i = 0; i < me.count; i++) {
		for (k = 0; k < MAX_PATHS; k++) {
			fds[k] = peer_dial(&me.from, &me.to, 3, 0);
			if (fds[k] >= 0)
				put_number(fds[k], 1, F_RETRANS, me.first);
		}
		usleep(20000);
		for (k = 0; k < MAX_PATHS; k++)
			if (fds[k] >= 0)
				peer_reset(fds[k]);
	}
	me.first++;
	puts("least link_parked 1");
	puts("least recv_drop_old_seq 1");
	puts("proofs 2");
	return prove(fd, ok);
}

/*
 * Sequence numbers that rise, leap and fall.  Without the flag of a repeat nothing is a
 * repeat, so each number must arrive; with it, nothing below the last one does.
 */
static int sequences(void)
{
	static const __u64 seq[] = {
		1, 1000, 500, 1ULL << 31, 1ULL << 32, 2, 1ULL << 62, 1ULL << 63, ~0ULL - 1,
		~0ULL, 0, ~0ULL, 1, 0, 0, 3,
	};
	int fd = open_path();
	unsigned int i, k, n = sizeof(seq) / sizeof(*seq), rewinds = 0;
	struct rds_hdr h;
	__u64 next;
	bool ok;

	me.seq = 1 << 20;		/* not itself a rewind */
	h = greeting(MAX_PATHS, time(NULL));
	ok = put(fd, &h, sizeof(h));
	next = me.seq + 1;
	for (i = 0; ok && i < n; i++) {
		ok = put_number(fd, seq[i], 0, me.first + i);
		rewinds += seq[i] < next;
		next = seq[i] + 1;
	}
	/* 3 was the last */
	for (k = 0; ok && k < 4; k++)
		ok = put_number(fd, k, F_RETRANS, 5000000 + k);
	ok = ok && swallow(fd, 200) >= 0;
	close(fd);
	printf("proofs %u\n", n);
	printf("expect recv_rewind %u\n", rewinds);
	puts("expect recv_drop_old_seq 4");
	return !ok;
}

/* Maps that say everything, nothing, and everything again. */
static int maps(void)
{
	static unsigned char map[MAP_BYTES];
	struct rds_hdr h = header(0, 0, MAP_BYTES, F_MAP);
	int fd = open_path();
	unsigned int i;
	bool ok = true;

	for (i = 0; ok && i < me.count; i++) {
		memset(map, i & 1 ? 0 : 0xff, sizeof(map));
		ok = put(fd, &h, sizeof(h)) && put(fd, map, sizeof(map));
	}
	memset(map, 0, sizeof(map));
	ok = ok && put(fd, &h, sizeof(h)) && put(fd, map, sizeof(map));
	printf("expect cong_update_received %u\n", me.count + 1);
	return prove(fd, ok);
}

/*
 * Maps that contradict each other, by all paths at once, until the victim has enough.  They may
 * have overtaken each other, so the victim looks at its copy again later.
 */
static int maps_on_all(void)
{
	static unsigned char map[MAP_BYTES];
	struct rds_hdr h = header(0, 0, MAP_BYTES, F_MAP);
	int fds[MAX_PATHS];
	unsigned int i, k;
	bool ok = true;

	setlinebuf(stdout);	/* who waits in vain sees how far it came */
	fds[0] = open_path();
	puts("path 0");
	if (!greet(fds[0], MAX_PATHS) || read_pong(fds[0]) != MAX_PATHS) {
		puts("path 0: no answer to the greeting");
		return 1;
	}
	for (k = 1; k < MAX_PATHS; k++) {
		fds[k] = peer_dial(&me.from, &me.to, k, 0);
		if (fds[k] < 0 || !talks(fds[k])) {
			printf("path %u: %s\n", k, fds[k] < 0 ? strerror(errno) : "says nothing");
			return 1;
		}
	}
	for (i = 0; ok; i++) {
		memset(map, i & 1 ? 0 : 0xff, sizeof(map));
		for (k = 0; ok && k < MAX_PATHS; k++)
			ok = put(fds[k], &h, sizeof(h)) && put(fds[k], map, sizeof(map));
		if (i == 3)
			puts("going");
	}
	printf("%u maps\n", i * MAX_PATHS);
	return i < 4;
}

/* A map of any wrong size is counted and changes nothing. */
static int bad_maps(void)
{
	static const __u32 lens[] = { 1, 8191, 8193, 16384, MAX_MSG };
	int fd = open_path();
	struct rds_hdr h;
	unsigned int i;
	bool ok = true;

	for (i = 0; ok && i < 10; i++) {
		h = header(0, 0, lens[i % 5], F_MAP);
		ok = put_frame(fd, &h);
	}
	puts("expect recv_drop_bad_cong 10");
	return prove(fd, ok);
}

/* Fifty frames that the victim refuses, and counts as @counter. */
static int refusals(struct rds_hdr (*frame)(unsigned int i), const char *counter)
{
	int fd = open_path();
	struct rds_hdr h;
	unsigned int i;
	bool ok = true;

	for (i = 0; ok && i < 50; i++) {
		h = frame(i);
		ok = put_frame(fd, &h);
	}
	printf("expect %s 50\n", counter);
	return prove(fd, ok);
}

static struct rds_hdr portless(unsigned int i)
{
	return header(0, 0, i % 3 * 100, 0);
}

static int no_ports(void)
{
	return refusals(portless, "recv_drop_ports_zero");
}

static struct rds_hdr to_nobody(unsigned int i)
{
	return header(9, 30000 + i, i * 100, 0);
}

static int no_socket(void)
{
	return refusals(to_nobody, "recv_drop_no_sock");
}

static struct rds_hdr ping(unsigned int i)
{
	return header(2 + i, 0, 0, 0);
}

/* With ping_enable 0. */
static int pings_off(void)
{
	puts("expect recv_ping 0");
	return refusals(ping, "recv_drop_ping_disabled");
}

/* Pings from ports that are congested, as we say. */
static int pings_congested(void)
{
	static unsigned char map[MAP_BYTES];
	struct rds_hdr h = header(0, 0, MAP_BYTES, F_MAP);
	int fd = open_path();
	unsigned int i;
	bool ok;

	map[12] = 1 << 4;	/* port 100 */
	ok = put(fd, &h, sizeof(h)) && put(fd, map, sizeof(map));
	for (i = 0; ok && i < 50; i++) {
		h = header(100, 0, 0, 0);
		ok = put_frame(fd, &h);
	}
	memset(map, 0, sizeof(map));
	h = header(0, 0, MAP_BYTES, F_MAP);
	ok = ok && put(fd, &h, sizeof(h)) && put(fd, map, sizeof(map));
	puts("expect pong_congested 50");
	return prove(fd, ok);
}

/* Pings whose answers nobody takes: at some point there are no more. */
static int pings_unread(void)
{
	struct rds_hdr h;
	unsigned int i;
	int fd = open_path_small(2304);
	char skip[4096];

	for (i = 0; i < me.count; i++) {
		h = header(2 + i % 60000, 0, 0, 0);
		if (send(fd, &h, sizeof(h), MSG_NOSIGNAL) != sizeof(h))
			break;
	}
	puts("least pong_limit 1");
	/* Once somebody reads, the link is as good as before. */
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (poll(&p, 1, 500) <= 0)
			break;
		if (recv(fd, skip, sizeof(skip), MSG_DONTWAIT) <= 0)
			return 1;
	}
	return prove(fd, i == me.count);
}

/* Too long: the link goes, each time counted. */
static int too_long(void)
{
	struct rds_hdr h;
	unsigned int i;
	bool ok = true;
	int fd;

	for (i = 0; ok && i < 5; i++) {
		fd = open_path();
		h = header(9, me.port, MAX_MSG + 1 + i, 0);
		ok = put(fd, &h, sizeof(h)) && dropped(fd, 5);
		peer_reset(fd);
	}
	puts("expect tcp_drop_bad_len 5");
	return prove(open_path(), ok);
}

/* Urgent data in the stream: TCP would never let us read past it. */
static int urgent(void)
{
	struct rds_hdr h;
	unsigned int i;
	bool ok = true;
	int fd;

	for (i = 0; ok && i < 5; i++) {
		fd = open_path();
		h = header(9, me.port + 1, 100, 0);
		ok = put(fd, &h, 10 * i) &&
		     send(fd, "!", 1, MSG_OOB | MSG_NOSIGNAL) == 1 && dropped(fd, 5);
		if (!ok)
			printf("a mark at offset %u: the link stays\n", 10 * i);
		peer_reset(fd);
	}
	puts("expect tcp_drop_urgent 5");
	return prove(open_path(), ok);
}

/* A connection that TCP makes and RDS resets, perhaps before connect() has returned. */
static bool refused(void)
{
	int fd = tcp_connect();
	bool ok;

	if (fd < 0)
		return errno == ECONNRESET;
	ok = dropped(fd, 5);
	peer_reset(fd);
	return ok;
}

/* A frame as those links begin with that say which path they are. */
static bool tell(int fd)
{
	struct rds_hdr h = header(0, 0, 0, F_MAP);
	unsigned int at = peer_ext(&h, 0, X_GEN, 4713, 4);

	h.ext[at] = X_LINK;
	h.ext[at + 10] = 1;	/* a name; the rest is 0 */
	return put(fd, &h, sizeof(h)) && swallow(fd, 200) >= 0;
}

/* A link that says nothing before the victim has. */
static bool silent(int *fd, int seconds)
{
	struct pollfd p = { .events = POLLIN };
	char c;

	p.fd = *fd = tcp_connect();
	return *fd >= 0 && poll(&p, 1, seconds * 1000) == 1 && recv(*fd, &c, 1, MSG_PEEK) == 1;
}

static int wrong(const char *what)
{
	printf("%s\n", what);
	return 1;
}

/*
 * Whoever said which path a link is, in its midst or at its head, is replaced by one that does not,
 * and waits for the victim to speak.
 */
static int told_once(void)
{
	struct rds_hdr plain = header(0, 0, 0, F_MAP);
	int fd = open_path();

	if (!put(fd, &plain, sizeof(plain)) || !tell(fd))
		return wrong("told in the midst of a link: it was taken down");
	peer_reset(fd);
	if (!silent(&fd, 4))
		return wrong("a silent link after one that told in its midst: nothing came on it");
	peer_reset(fd);
	fd = tcp_connect();
	if (fd < 0 || !tell(fd))
		return wrong("told at the head of a link: it was taken down");
	peer_reset(fd);
	if (!silent(&fd, 20))
		return wrong("a silent link after one that told at its head: nothing came on it");
	return prove(fd, true);
}

/* From the larger address: reset and counted. */
static int wrong_way(void)
{
	unsigned int i;
	bool ok = true;

	for (i = 0; ok && i < 10; i++)
		ok = refused();
	puts("expect tcp_accept_nudge 10");
	return !ok;
}

/* From one of the victim's own addresses. */
static int self(void)
{
	unsigned int i;
	bool ok = true;

	for (i = 0; ok && i < 5; i++)
		ok = refused();
	puts("expect tcp_accept_self 5");
	return !ok;
}

int main(int argc, char **argv)
{
	static const struct scenario scenarios[] = {
		{ "npaths", npaths }, { "generations", generations },
		{ "reborn", reborn },
		{ "extensions", extensions }, { "indices", indices },
		{ "sequences", sequences }, { "maps", maps }, { "maps-on-all", maps_on_all },
		{ "bad-maps", bad_maps },
		{ "no-ports", no_ports }, { "no-socket", no_socket },
		{ "pings-off", pings_off }, { "pings-congested", pings_congested },
		{ "pings-unread", pings_unread }, { "too-long", too_long },
		{ "told-once", told_once }, { "urgent", urgent },
		{ "wrong-way", wrong_way }, { "self", self },
	};

	return scenario_main(argc, argv, scenarios, sizeof(scenarios) / sizeof(*scenarios));
}
