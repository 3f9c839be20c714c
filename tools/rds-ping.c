// SPDX-License-Identifier: GPL-2.0
/*
 * rds-ping: measure the round trip to the RDS stack of a host.
 *
 * An empty message to port 0 is answered by the peer's kernel with an empty
 * message from port 0. Answers carry no number, so every ping in flight has
 * a socket, and thereby a port, of its own. RDS never gives up on a message:
 * a ping without an answer is withdrawn together with its socket, and a late
 * answer finds nobody.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <linux/rds.h>

#include "common.h"

#define NR_SLOTS	8	/* unless -n says otherwise */
#define MAX_SLOTS	64
#define NSEC_PER_SEC	1000000000LL
#define NSEC_PER_USEC	1000LL
#define MIN_SECONDS	0.000001
#define MAX_SECONDS	1000000

/* A ping in flight, or a socket ready for one */
struct slot {
	int		fd;
	unsigned long	seq;		/* 0: nothing in flight */
	int64_t		sent_at;
};

static struct {
	struct address	peer;
	struct address	local;
	int		family;
	unsigned long	count;		/* 0: until interrupted */
	int64_t		interval;
	int64_t		patience;	/* how long to wait for an answer */
	int		tos;
	unsigned long	slots;		/* sockets, and pings in flight */
	bool		json;
} opt = {
	.slots		= NR_SLOTS,
	.family		= AF_UNSPEC,
	.interval	= NSEC_PER_SEC,
};

static struct {
	unsigned long	sent;
	unsigned long	answered;
	unsigned long	lost;
	unsigned long	printed;
	int64_t		min;
	int64_t		max;
	int64_t		sum;
	double		squares;	/* their sum, in usec */
} stats = { .min = INT64_MAX };

static struct slot slots[MAX_SLOTS];
static int signals = -1;		/* SIGINT and SIGTERM, as a file */
static bool interrupted;

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* The kernel returns v4-mapped addresses as IPv4; do so from the start. */
static void unmap(struct address *addr)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };

	if (addr->any.sa_family != AF_INET6 ||
	    !IN6_IS_ADDR_V4MAPPED(&addr->v6.sin6_addr))
		return;
	memcpy(&v4.sin_addr, &addr->v6.sin6_addr.s6_addr[12], sizeof(v4.sin_addr));
	addr->v4 = v4;
	addr->len = sizeof(v4);
}

/* Find the address of @name, with port 0. */
static int resolve(const char *name, struct address *addr)
{
	const struct addrinfo hints = {
		.ai_family	= opt.family,
		.ai_socktype	= SOCK_DGRAM,
	};
	struct addrinfo *found;
	int err;

	err = getaddrinfo(name, NULL, &hints, &found);
	if (err) {
		warnx("%s: %s", name, gai_strerror(err));
		return -1;
	}
	memcpy(&addr->v6, found->ai_addr, found->ai_addrlen);
	addr->len = found->ai_addrlen;
	freeaddrinfo(found);
	unmap(addr);
	return 0;
}

/* The address this host would use to reach the peer, by asking UDP. */
static int choose_local(void)
{
	struct address peer = opt.peer;
	int fd, err = 0;

	/* UDP cannot be connected to port 0. */
	if (peer.any.sa_family == AF_INET)
		peer.v4.sin_port = htons(9);
	else
		peer.v6.sin6_port = htons(9);

	fd = socket(peer.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	opt.local.len = sizeof(opt.local.v6);
	if (fd < 0 || connect(fd, &peer.any, peer.len) ||
	    getsockname(fd, &opt.local.any, &opt.local.len)) {
		err = -1;
		warn("no way to the host");
	}
	if (fd >= 0)
		close(fd);
	return err;
}

/* Open the socket of a slot on a port of the kernel's choice. */
static int open_slot(struct slot *slot)
{
	/* Whoever ends us does not want our pings sent in the background. */
	const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
	struct address local = opt.local;
	rds_tos_t tos = opt.tos;
	char text[ADDRESS_TEXT];
	int fd;

	if (local.any.sa_family == AF_INET)
		local.v4.sin_port = 0;
	else
		local.v6.sin6_port = 0;

	fd = open_rds_socket();
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	if (bind(fd, &local.any, local.len)) {
		format_address(&local, text, sizeof(text));
		if (errno == EADDRNOTAVAIL)
			warnx(transport_loaded() ? "no local address %s" :
			      "no RDS transport for address %s; try 'modprobe rds_tcp'", text);
		else
			warn("cannot bind to %s", text);
		goto fail;
	}
	if (tos && ioctl(fd, SIOCRDSSETTOS, &tos)) {
		if (errno == ENOTTY)
			warnx("the transport has no type of service");
		else
			warn("cannot set the type of service");
		goto fail;
	}
	*slot = (struct slot){ .fd = fd };
	return 0;
fail:
	close(fd);
	return -1;
}

/* Withdraw the ping of a slot and go on with a fresh port. */
static int renew_slot(struct slot *slot)
{
	setsockopt(slot->fd, SOL_RDS, RDS_CANCEL_SENT_TO, &opt.peer.any,
		   opt.peer.len);
	close(slot->fd);
	slot->fd = -1;
	return open_slot(slot);
}

static void print_answer(unsigned long seq, int64_t nsec)
{
	if (!opt.json) {
		if (nsec >= 0)
			printf("%4lu: %lld usec\n", seq,
			       (long long)(nsec / NSEC_PER_USEC));
		else
			printf("%4lu: no answer\n", seq);
	} else {
		printf("%s\n    {\"seq\": %lu, \"usec\": ",
		       stats.printed ? "," : "", seq);
		if (nsec >= 0)
			printf("%.3f}", (double)nsec / NSEC_PER_USEC);
		else
			printf("null}");
	}
	stats.printed++;
	fflush(stdout);
}

static double usec(int64_t nsec)
{
	return (double)nsec / NSEC_PER_USEC;
}

static double mean(void)
{
	return usec(stats.sum) / stats.answered;
}

/* Standard deviation, as ping(8) has it */
static double mdev(void)
{
	const double variance = stats.squares / stats.answered - mean() * mean();

	return variance > 0 ? sqrt(variance) : 0;
}

static void print_text_head(void)
{
	char peer[ADDRESS_TEXT], local[ADDRESS_TEXT];

	format_address(&opt.peer, peer, sizeof(peer));
	format_address(&opt.local, local, sizeof(local));
	printf("RDS ping %s from %s", peer, local);
	if (opt.tos)
		printf(", type of service %d", opt.tos);
	putchar('\n');
	fflush(stdout);
}

/* A ping that is under way when we are interrupted is not answered either. */
static void print_text_tail(void)
{
	const unsigned long missing = stats.sent - stats.answered;

	printf("\n%lu sent, %lu answered, %.3g %% lost\n", stats.sent, stats.answered,
	       stats.sent ? 100.0 * missing / stats.sent : 0.0);
	if (stats.answered)
		printf("round trip min/avg/max/mdev = %.0f/%.0f/%.0f/%.0f usec\n",
		       usec(stats.min), mean(), usec(stats.max), mdev());
}

static void print_json_head(void)
{
	char text[ADDRESS_TEXT];

	format_address(&opt.peer, text, sizeof(text));
	fputs("{\n  \"host\": ", stdout);
	print_json_string(text);
	format_address(&opt.local, text, sizeof(text));
	fputs(",\n  \"local\": ", stdout);
	print_json_string(text);
	printf(",\n  \"tos\": %d,\n  \"pings\": [", opt.tos);
}

static void print_json_tail(void)
{
	printf("%s],\n  \"sent\": %lu,\n  \"answered\": %lu,\n  \"lost\": %lu",
	       stats.printed ? "\n  " : "", stats.sent, stats.answered,
	       stats.sent - stats.answered);
	if (stats.answered)
		printf(",\n  \"%s\": {\"min\": %.3f, \"avg\": %.3f, \"max\": %.3f, \"mdev\": %.3f}",
		       "usec", usec(stats.min), mean(), usec(stats.max), mdev());
	fputs("\n}\n", stdout);
}

/* Returns 1 if sent, 0 if the kernel has no room now, -1 on errors. */
static int send_ping(struct slot *slot)
{
	slot->sent_at = now();
	if (sendto(slot->fd, NULL, 0, MSG_DONTWAIT, &opt.peer.any,
		   opt.peer.len) == 0) {
		slot->seq = ++stats.sent;
		return 1;
	}
	if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM ||
	    errno == EINTR)
		return 0;
	warn("cannot send");
	return -1;
}

/* Take what has arrived at a slot; anything but an answer is dropped. */
static int take_answer(struct slot *slot)
{
	struct address from = { .len = sizeof(from.v6) };
	const int64_t at = now();
	char byte;
	int64_t nsec;
	ssize_t n;

	n = recvfrom(slot->fd, &byte, sizeof(byte), MSG_DONTWAIT, &from.any,
		     &from.len);
	if (n < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return 0;
		warn("cannot receive");
		return -1;
	}
	/* Port 0 stands at the same place in both kinds of addresses. */
	if (!slot->seq || n || !from.len || from.v4.sin_port ||
	    !same_host(&from, &opt.peer))
		return 0;

	nsec = at - slot->sent_at;
	stats.answered++;
	stats.sum += nsec;
	stats.squares += usec(nsec) * usec(nsec);
	if (nsec < stats.min)
		stats.min = nsec;
	if (nsec > stats.max)
		stats.max = nsec;
	print_answer(slot->seq, nsec);
	slot->seq = 0;
	return 0;
}

/* Give up on pings that have waited too long. */
static int expire(int64_t at)
{
	struct slot *slot;

	for (slot = slots; slot < slots + opt.slots; slot++) {
		if (!slot->seq || at - slot->sent_at < opt.patience)
			continue;
		stats.lost++;
		print_answer(slot->seq, -1);
		if (renew_slot(slot))
			return -1;
	}
	return 0;
}

static struct slot *free_slot(void)
{
	struct slot *slot;

	for (slot = slots; slot < slots + opt.slots; slot++)
		if (!slot->seq)
			return slot;
	return NULL;
}

static bool all_sent(void)
{
	return opt.count && stats.sent == opt.count;
}

static bool finished(void)
{
	return interrupted ||
	       (all_sent() && stats.answered + stats.lost == stats.sent);
}

/* Sleep until something arrives or it is @next, but see old pings expire. */
static int wait_until(int64_t next)
{
	struct pollfd pfds[MAX_SLOTS + 1];
	int64_t left, until = next, due;
	struct timespec ts;
	unsigned long i;

	for (i = 0; i < opt.slots; i++) {
		pfds[i] = (struct pollfd){ .fd = slots[i].fd, .events = POLLIN };
		due = slots[i].sent_at + opt.patience;
		if (slots[i].seq && due < until)
			until = due;
	}
	pfds[i] = (struct pollfd){ .fd = signals, .events = POLLIN };
	left = until - now();
	if (left < 0)
		left = 0;
	ts = (struct timespec){ left / NSEC_PER_SEC, left % NSEC_PER_SEC };
	if (ppoll(pfds, opt.slots + 1, &ts, NULL) < 0) {
		if (errno == EINTR)
			return 0;
		warn("cannot poll");
		return -1;
	}
	interrupted = pfds[opt.slots].revents & POLLIN;
	for (i = 0; i < opt.slots; i++)
		if ((pfds[i].revents & POLLIN) && take_answer(&slots[i]))
			return -1;
	return 0;
}

/* Returns 0 when done, -1 on errors. */
static int ping_loop(void)
{
	int64_t at, next = now();
	struct slot *slot;
	int sent;

	for (;;) {
		at = now();
		if (expire(at))
			return -1;
		if (finished())
			return 0;
		slot = all_sent() ? NULL : free_slot();
		if (slot && at >= next) {
			sent = send_ping(slot);
			if (sent < 0)
				return -1;
			/* No bursts to catch up, and no spinning without room. */
			next += opt.interval;
			if (next < at)
				next = at;
			if (!sent && next < at + NSEC_PER_SEC / 1000)
				next = at + NSEC_PER_SEC / 1000;
		}
		if (wait_until(all_sent() || !free_slot() ? INT64_MAX : next))
			return -1;
	}
}

static int catch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (signals < 0)
		warn("cannot catch signals");
	return signals < 0 ? -1 : 0;
}

static int run(void)
{
	unsigned long i;
	int err;

	err = catch_signals();
	for (i = 0; i < opt.slots; i++)
		slots[i].fd = -1;
	for (i = 0; i < opt.slots && !err; i++)
		err = open_slot(&slots[i]);
	if (err)
		return EXIT_FAILED;
	if (opt.json)
		print_json_head();
	else
		print_text_head();
	err = ping_loop();
	if (opt.json)
		print_json_tail();
	else
		print_text_tail();
	if (err || !stats.answered)
		return EXIT_FAILED;
	return opt.count && stats.answered < opt.count ? EXIT_FAILED : EXIT_OK;
}

static void usage(FILE *out)
{
	fputs("Usage: rds-ping [-c count] [-i interval] [-w timeout] [-n sockets]\n"
	      "                [-I local_addr] [-Q tos] [-4 | -6] [--json] host\n"
	      "Measure the round trip to the RDS stack of a host.\n\n"
	      "  -c count       stop after this many pings\n"
	      "  -i interval    seconds between pings (1)\n"
	      "  -w timeout     seconds to wait for an answer (an interval for each socket,\n"
	      "                 at least 1)\n"
	      "  -n sockets     pings in flight at a time, 1 to 64 (8)\n"
	      "  -I local_addr  address to send from\n"
	      "  -Q tos         type of service, 0 to 255\n"
	      "  -4, -6         IPv4 or IPv6 only\n"
	      "  --json         one JSON document\n"
	      "  -h, --help     this text\n"
	      "  -V, --version\n", out);
}

static int parse_number(const char *what, const char *text, unsigned long min,
			unsigned long max, unsigned long *value)
{
	char *end;

	errno = 0;
	*value = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || *value < min ||
	    *value > max) {
		warnx("bad %s '%s'", what, text);
		return -1;
	}
	return 0;
}

static int parse_seconds(const char *what, const char *text, int64_t *nsec)
{
	double seconds;
	char *end;

	errno = 0;
	seconds = strtod(text, &end);
	if (errno || end == text || *end || !isfinite(seconds) ||
	    seconds < MIN_SECONDS || seconds > MAX_SECONDS) {
		warnx("bad %s '%s', want seconds", what, text);
		return -1;
	}
	*nsec = seconds * NSEC_PER_SEC;
	return 0;
}

static int parse_option(int c, const char **local)
{
	unsigned long value;

	switch (c) {
	case 'c':
		return parse_number("count", optarg, 1, ULONG_MAX, &opt.count);
	case 'i':
		return parse_seconds("interval", optarg, &opt.interval);
	case 'w':
		return parse_seconds("timeout", optarg, &opt.patience);
	case 'Q':
		if (parse_number("type of service", optarg, 0, 255, &value))
			return -1;
		opt.tos = value;
		return 0;
	case 'n':
		return parse_number("number of sockets", optarg, 1, MAX_SLOTS, &opt.slots);
	case 'I':
		*local = optarg;
		return 0;
	case '4':
		opt.family = AF_INET;
		return 0;
	case '6':
		opt.family = AF_INET6;
		return 0;
	case 'j':
		opt.json = true;
		return 0;
	}
	return -1;	/* getopt() has complained */
}

static int resolve_ends(const char *host, const char *local)
{
	if (resolve(host, &opt.peer))
		return EXIT_USAGE;
	if (!local)
		return choose_local() ? EXIT_FAILED : -1;
	opt.family = opt.peer.any.sa_family;
	return resolve(local, &opt.local) ? EXIT_USAGE : -1;
}

/* Returns -1 to go on, or the exit code. */
static int parse_command_line(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ }
	};
	const char *local = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "c:i:w:n:I:Q:46hV", long_options,
				NULL)) != -1) {
		if (c == 'h') {
			usage(stdout);
			return EXIT_OK;
		}
		if (c == 'V') {
			print_version();
			return EXIT_OK;
		}
		if (parse_option(c, &local))
			return wrong_usage();
	}
	if (argc - optind != 1) {
		warnx(optind < argc ? "more than one host" : "no host");
		return wrong_usage();
	}
	if (!opt.patience) {
		opt.patience = opt.slots * opt.interval;
		if (opt.patience < NSEC_PER_SEC)
			opt.patience = NSEC_PER_SEC;
	}
	return resolve_ends(argv[optind], local);
}

int main(int argc, char **argv)
{
	int ret;

	name_program(argv, "rds-ping");
	ret = parse_command_line(argc, argv);
	return finish_output(ret >= 0 ? ret : run());
}
