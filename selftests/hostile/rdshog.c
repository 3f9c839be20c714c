// SPDX-License-Identifier: GPL-2.0
/*
 * rdshog - a peer that wants the victim's memory; see scenario.h.  And:
 *
 *   rdshog unread ADDR:PORT COUNT
 *
 * the victim's socket that nobody reads until SIGUSR1; then the first of COUNT messages must be
 * there.  Exit status 0 if fewer came, where they have room for it in order and without a gap,
 * and it was told once that there were more.
 */
#define _GNU_SOURCE
#include "scenario.h"

#define SOURCES		2000
#define QUIET		2	/* seconds without progress */
#define DEAF_PORT	7100

static volatile sig_atomic_t signalled;

static void on_usr1(int sig)
{
	signalled = 1;
}

/* --- the victim's socket ---------------------------------------------- */

static int unread(const char *where, unsigned int count)
{
	struct ts_addr a = ts_parse(where);
	struct timeval tv = { .tv_sec = 1 };
	int fd = socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	unsigned int got = 0, wrong = 0, told = 0, number;
	static char buf[MAX_MSG];
	ssize_t n;

	signal(SIGUSR1, on_usr1);
	if (fd < 0 || bind(fd, (void *)&a.ss, a.len))
		ts_die("bind %s", where);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	puts("ready");
	fflush(stdout);
	while (!signalled)
		pause();
	for (;;) {
		n = recv(fd, buf, sizeof(buf), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == ENOBUFS) {
			told++;
		} else if (n < 0) {
			break;
		} else if (n >= (ssize_t)sizeof(number)) {
			memcpy(&number, buf, sizeof(number));
			wrong += number != got;
		}
		got += n >= 0;
	}
	printf("%u messages, %u out of place, told %u times\n", got, wrong, told);
	return !got || got >= count || wrong || told != 1;
}

/* --- scenarios -------------------------------------------------------- */

static unsigned int accepted(int fd, const void *buf, size_t len, double seconds)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	double end = ts_now() + seconds;
	size_t at = 0;
	ssize_t n;

	while (at < len && ts_now() < end) {
		swallow(fd, 0);
		n = send(fd, (const char *)buf + at, len - at, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0)
			at += n;
		else if (errno == EAGAIN)
			poll(&p, 1, 100);
		else
			break;
	}
	return at;
}

/* A connection from the @i-th address upwards of FROM (IPv6). */
static int connect_from(unsigned int i)
{
	struct ts_addr from = me.from;
	struct sockaddr_in6 *v6 = (void *)&from.ss;
	__u16 last = htons(0x1000 + i);

	memcpy(&v6->sin6_addr.s6_addr[14], &last, 2);
	return peer_dial(&from, &me.to, 0, 0);
}

/* From each of COUNT addresses all but the last byte of the largest message. */
static int partial(void)
{
	struct rds_hdr h = header(9, me.port + 1, MAX_MSG, 0);
	static int fds[SOURCES];
	unsigned int i, gone = 0, open = 0;
	__u64 bytes = 0;

	for (i = 0; i < me.count && i < SOURCES; i++) {
		fds[i] = connect_from(i);
		if (fds[i] < 0)
			continue;
		open++;
		bytes += accepted(fds[i], &h, sizeof(h), 1);
		bytes += accepted(fds[i], zeros, MAX_MSG - 1, 0.3);
	}
	sleep(2);
	for (i = 0; i < me.count && i < SOURCES; i++)
		gone += fds[i] >= 0 && swallow(fds[i], 0) < 0;
	printf("%u links, %llu MiB sent, the victim closed %u of them\n", open,
	       (unsigned long long)bytes >> 20, gone);
	for (i = 0; i < me.count && i < SOURCES; i++)
		if (fds[i] >= 0)
			peer_reset(fds[i]);
	return prove(open_path(), open == me.count);
}

/*
 * COUNT addresses replace their link by the next one again and again, and never close the
 * old one: the victim waits a while for each, at its end of each.
 */
static int drains(void)
{
	static int fds[SOURCES][4];
	struct rds_hdr h = header(9, me.port + 1, 0, 0);
	unsigned int i, turn = 0, n = 0;
	double end = 0;

	memset(fds, -1, sizeof(fds));
	while (ts_now() < end || !turn) {
		for (i = 0; i < me.count && i < SOURCES; i++) {
			int *fd = &fds[i][turn % 4];

			if (*fd >= 0)
				peer_reset(*fd);
			*fd = connect_from(i);
			if (*fd < 0)
				continue;
			n++;
			accepted(*fd, &h, sizeof(h), 0.1);
		}
		if (!turn++) {
			puts("draining");
			fflush(stdout);
			end = ts_now() + 10;
		}
	}
	printf("%u links from %u addresses\n", n, me.count);
	for (i = 0; i < me.count * 4 && i < SOURCES * 4; i++)
		if (fds[i / 4][i % 4] >= 0)
			peer_reset(fds[i / 4][i % 4]);
	return prove(open_path(), n > me.count);
}

/* Frames with @len bytes each, numbered from @number on, in @buf; how many bytes. */
static size_t pack(unsigned char *buf, size_t size, size_t len, unsigned int *number)
{
	struct rds_hdr h;
	size_t at = 0;

	while (*number < me.count && at + sizeof(h) + len <= size) {
		h = header(9, me.port + 1, len, 0);
		memcpy(buf + at, &h, sizeof(h));
		memcpy(buf + at + sizeof(h), zeros, len);
		if (len >= sizeof(*number))
			memcpy(buf + at + sizeof(h), number, sizeof(*number));
		at += sizeof(h) + len;
		++*number;
	}
	return at;
}

/*
 * COUNT messages of @len bytes to a socket that nobody reads, whatever the congestion map
 * says.  The victim must never stop us: others' messages go by the same link.
 */
static int flood(size_t len)
{
	static unsigned char buf[65536];
	double moved = ts_now(), end = moved + 120;
	size_t at = 0, have = 0;
	bool stopped = false;
	int fd = open_path(), small = 65536;
	unsigned int i = 0;
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	while ((i < me.count || at < have) && ts_now() < end) {
		struct pollfd p = { .fd = fd, .events = POLLOUT };

		if (at == have) {
			have = pack(buf, sizeof(buf), len, &i);
			at = 0;
		}
		n = send(fd, buf + at, have - at, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0) {
			at += n;
			moved = ts_now();
			continue;
		}
		if (errno != EAGAIN)
			break;
		stopped |= ts_now() > moved + QUIET;
		poll(&p, 1, 100);
		if (swallow(fd, 0) < 0)
			break;
	}
	printf("%u of %u messages sent\n", i, me.count);
	if (stopped)
		puts("the victim stopped us");
	return prove(fd, !stopped && i == me.count && at == have);
}

static int empties(void)
{
	return flood(0);
}

static int tinies(void)
{
	return flood(4);
}

static int larges(void)
{
	return flood(60000);
}

/* Acknowledgements in headers, which mean nothing on TCP. */
static bool lie_about_acks(int fd)
{
	static const __u64 acks[] = { 0, 1, 100, 1ULL << 40, ~0ULL, ~0ULL - 1, 5, 0 };
	struct rds_hdr h;
	unsigned int i;

	for (i = 0; i < 80; i++) {
		h = header(0, 0, 0, 0);
		h.ack = htobe64(acks[i % 8] + i);
		if (!put(fd, &h, sizeof(h)))
			return false;
	}
	return true;
}

/*
 * Read frames, a byte at a time until @slow and quickly then, until COUNT of them were for
 * DEAF_PORT; how many were, or -1 if the sequence falls.
 */
static int hear(int fd, double slow, double end)
{
	unsigned int got = 0, left = 0, have = 0;
	int room = 1 << 20;
	static char skip[65536];
	struct rds_hdr in;
	__u64 last = 0;
	ssize_t n;

	while (got < me.count && ts_now() < end) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		bool head = have < sizeof(in);
		size_t want = head ? sizeof(in) - have : left < sizeof(skip) ? left : sizeof(skip);

		if (ts_now() < slow) {
			usleep(5000);
			want = 1;
		} else if (room) {
			setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
			room = 0;
		}
		if (poll(&p, 1, 1000) <= 0)
			continue;
		n = recv(fd, head ? (char *)&in + have : skip, want, MSG_DONTWAIT);
		if (n <= 0)
			break;
		have += head ? n : 0;
		if (!head)
			left -= n;
		else
			left = have == sizeof(in) ? be32toh(in.len) : 1;
		if (left)
			continue;
		have = 0;
		if (in.flags & F_MAP)
			continue;
		if (be64toh(in.seq) <= last)
			return -1;
		last = be64toh(in.seq);
		got += in.dport == htobe16(DEAF_PORT);
	}
	return got;
}

/* Until nothing more comes, because nobody reads; at least two seconds. */
static void wait_full(int fd)
{
	double end = ts_now() + 30, since = ts_now();
	int have = 0, now;

	while (ts_now() < end && (!have || ts_now() < since + QUIET)) {
		usleep(50000);
		if (ioctl(fd, FIONREAD, &now) || now == have)
			continue;
		have = now;
		since = ts_now();
	}
}

/*
 * Greet, and then read nothing for a while and little for another, though the victim has
 * COUNT messages for us.  All of them must come in the end, in order; meanwhile we
 * acknowledge what was never sent.
 */
static int deaf(void)
{
	int fd = open_path_small(4096), i, got;
	struct rds_hdr h = header(1, 0, 0, 0);

	peer_greeting(&h, 1, 0);
	if (send(fd, &h, sizeof(h), MSG_NOSIGNAL) != sizeof(h))
		return 1;
	puts("deaf");
	fflush(stdout);
	wait_full(fd);
	for (i = 0; i < 80; i++) {	/* not put(), which reads */
		h = header(0, 0, 0, 0);
		h.ack = htobe64(i % 3 ? ~0ULL - i : i);
		if (send(fd, &h, sizeof(h), MSG_NOSIGNAL) != sizeof(h))
			return 1;
	}
	got = hear(fd, ts_now() + 3, ts_now() + 90);
	printf("%d of %u messages, in order\n", got, me.count);
	return prove(fd, got == me.count && lie_about_acks(fd));
}

int main(int argc, char **argv)
{
	static const struct scenario scenarios[] = {
		{ "partial", partial }, { "drains", drains }, { "empties", empties },
		{ "tinies", tinies },
		{ "larges", larges }, { "deaf", deaf },
	};

	if (argc == 4 && !strcmp(argv[1], "unread"))
		return unread(argv[2], atoi(argv[3]));
	return scenario_main(argc, argv, scenarios, sizeof(scenarios) / sizeof(*scenarios));
}
