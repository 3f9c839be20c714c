// SPDX-License-Identifier: GPL-2.0
/*
 * rds-bench - the same work over RDS and over what else there is.
 *
 * Exit status: 0 all was measured and every message verified, 1 not, 2 usage.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../common.h"
#include "bench.h"

struct options opt = { .seconds = 0.5, .repeat = 1 };

static const char * const spoil_names[NR_SPOILS] = {
	"nothing", "flip", "head", "cut", "run", "drop", "dup", "swap",
};

static const char * const default_cells[] = {
	"stream/64", "stream/1K", "stream/8K", "stream/64K", "stream/1M", "pingpong/64",
	"pingpong/64K", "fanout/64/1", "fanout/64/16", "fanout/64/64", "fanin/64/16",
	"sockets/64/16", "beside/1M",
};

static struct cell cells[MAX_CELLS];
static const struct proto *chosen[MAX_PROTOS];
static unsigned int ncells, nchosen;

static void usage(FILE *out)
{
	fputs("Usage: rds-bench [options] [cell...]\n"
	      "The same work over RDS, TCP, SCTP, TIPC and UDP; every message is verified.\n\n"
	      "A cell is WORK/SIZE or WORK/SIZE/N, as in stream/64 or fanin/1K/16. WORK:\n"
	      "  stream    one socket sends to another\n"
	      "  pingpong  request and response, N clients\n"
	      "  fanout    one socket sends to N peers, at N consecutive addresses\n"
	      "  fanin     N processes send to one socket\n"
	      "  sockets   N sockets send to N others, between one pair of addresses\n"
	      "  beside    request and response of 64 bytes, beside a stream of SIZE\n\n"
	      "  -p list       transports: rds,tcp,tcpn,sctp,tipc,udp (all there are)\n"
	      "  -t seconds    time for each cell (0.5)\n"
	      "  -r count      rounds over all cells (1)\n"
	      "  --tx ADDR     address of the senders, --tx-ns NAME their network namespace\n"
	      "  --rx ADDR     first address of the receivers, --rx-ns NAME\n"
	      "  -w            count wake-ups, in a time of its own\n"
	      "  --spoil WHAT  damage one message: flip, head, cut, run, drop, dup, swap\n"
	      "  --mark        marks for a profile (selftests/vm/profile.c)\n"
	      "  --json        JSON instead of the table\n"
	      "  --plot FILE   a picture of the results, as SVG\n"
	      "  -q            no progress\n"
	      "  -h, --help    this text\n"
	      "  -V, --version\n", out);
}

static int parse_count(const char *text, char **end, unsigned int *value)
{
	unsigned long v;

	errno = 0;
	v = strtoul(text, end, 10);
	if (errno || *end == text || *text == '-' || v > UINT32_MAX >> 10)
		return -1;
	if (**end == 'K' || **end == 'M') {
		v <<= **end == 'K' ? 10 : 20;
		++*end;
	}
	if (v > UINT32_MAX)
		return -1;
	*value = v;
	return 0;
}

static int parse_cell(const char *text, struct cell *c)
{
	const char *slash = strchr(text, '/');
	char *end;
	int w;

	c->n = 1;
	for (w = 0; slash && w < NR_WORKS; w++)
		if (strlen(work_names[w]) == (size_t)(slash - text) &&
		    !strncmp(work_names[w], text, slash - text))
			break;
	if (!slash || w == NR_WORKS || parse_count(slash + 1, &end, &c->size) ||
	    (*end == '/' && parse_count(end + 1, &end, &c->n)) || *end) {
		warnx("'%s' is not a cell, like stream/64 or fanin/64/16", text);
		return -1;
	}
	c->work = w;
	if (c->size < MIN_SIZE || c->size > MAX_SIZE || c->size % 8) {
		warnx("%s: sizes go from %u to %u in steps of 8", text, MIN_SIZE, MAX_SIZE);
		return -1;
	}
	if (!c->n || c->n > MAX_FLOWS || ((c->work == STREAM || c->work == BESIDE) && c->n > 1)) {
		warnx("%s: there can be 1 to %u peers, in and beside a stream 1", text, MAX_FLOWS);
		return -1;
	}
	return 0;
}

static const struct proto *find_proto(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_protos; i++)
		if (!strcmp(protos[i].name, name))
			return &protos[i];
	return NULL;
}

static int parse_protos(char *list)
{
	char *name, *save = NULL;

	nchosen = 0;
	for (name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		if (nchosen == MAX_PROTOS || !find_proto(name)) {
			warnx("there is no transport '%s'", name);
			return -1;
		}
		chosen[nchosen++] = find_proto(name);
	}
	if (!nchosen)
		warnx("no transport is named");
	return nchosen ? 0 : -1;
}

static bool there(const struct proto *p)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int fd;

	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = p->open(p, &any, 4096, false);

	if (fd >= 0)
		close(fd);
	/* anything else is worth a message when it is measured */
	return fd >= 0 || (errno != EAFNOSUPPORT && errno != EPROTONOSUPPORT &&
			   errno != ESOCKTNOSUPPORT);
}

/* Who asks for a transport wants it measured, or to hear at once that there is none. */
static int require(const struct proto *p)
{
	int fd;

	if (there(p))
		return 0;
	if (strcmp(p->name, "rds")) {
		warnx("this kernel has no %s; try 'modprobe %s'", p->name, p->name);
		return -1;
	}
	/* says why, and what helps */
	fd = open_rds_socket();
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

/* RDS is what this is for: without it nothing is measured unless others are asked for. */
static int choose(void)
{
	unsigned int i;

	for (i = 0; i < nchosen; i++)
		if (require(chosen[i]))
			return -1;
	if (nchosen)
		return 0;
	if (require(&protos[0]))
		return -1;
	for (i = 0; i < nr_protos; i++) {
		if (there(&protos[i]))
			chosen[nchosen++] = &protos[i];
		else
			warnx("this kernel has no %s", protos[i].name);
	}
	return 0;
}

static int parse_seconds(const char *text)
{
	char *end;

	opt.seconds = strtod(text, &end);
	if (end == text || *end || !isfinite(opt.seconds) || opt.seconds < 0.001 ||
	    opt.seconds > 3600) {
		warnx("bad time '%s', want seconds", text);
		return -1;
	}
	return 0;
}

static int parse_rounds(const char *text)
{
	char *end;

	if (!parse_count(text, &end, &opt.repeat) && !*end && opt.repeat &&
	    opt.repeat <= MAX_ROUNDS)
		return 0;
	warnx("bad number of rounds '%s', want 1 to %u", text, MAX_ROUNDS);
	return -1;
}

static int parse_spoil(const char *text)
{
	unsigned int i;

	for (i = 1; i < NR_SPOILS; i++) {
		if (!strcmp(spoil_names[i], text)) {
			opt.spoil = i;
			return 0;
		}
	}
	warnx("'%s' is no kind of damage", text);
	return -1;
}

static int parse_address(const char *text, struct in_addr *addr)
{
	if (inet_pton(AF_INET, text, addr) == 1)
		return 0;
	warnx("'%s' is not an IPv4 address", text);
	return -1;
}

enum { O_TX = 256, O_RX, O_TX_NS, O_RX_NS, O_SPOIL, O_MARK, O_JSON, O_PLOT };

static const struct option long_options[] = {
	{ "tx", required_argument, NULL, O_TX },
	{ "rx", required_argument, NULL, O_RX },
	{ "tx-ns", required_argument, NULL, O_TX_NS },
	{ "rx-ns", required_argument, NULL, O_RX_NS },
	{ "spoil", required_argument, NULL, O_SPOIL },
	{ "mark", no_argument, NULL, O_MARK },
	{ "json", no_argument, NULL, O_JSON },
	{ "plot", required_argument, NULL, O_PLOT },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

static int parse_long(int c)
{
	switch (c) {
	case O_TX:
		return parse_address(optarg, &opt.tx);
	case O_RX:
		return parse_address(optarg, &opt.rx);
	case O_TX_NS:
		opt.tx_ns = optarg;
		return 0;
	case O_RX_NS:
		opt.rx_ns = optarg;
		return 0;
	case O_SPOIL:
		return parse_spoil(optarg);
	case O_MARK:
		opt.mark = true;
		return 0;
	case O_JSON:
		opt.json = true;
		return 0;
	case O_PLOT:
		opt.plot = optarg;
		return 0;
	}
	return -1;
}

static int parse_option(int c)
{
	switch (c) {
	case 'p':
		return parse_protos(optarg);
	case 't':
		return parse_seconds(optarg);
	case 'r':
		return parse_rounds(optarg);
	case 'w':
		opt.wakeups = true;
		return 0;
	case 'q':
		opt.quiet = true;
		return 0;
	}
	return parse_long(c);
}

/* Returns -1 to go on, or the exit code. */
static int parse_command_line(int argc, char **argv)
{
	unsigned int i;
	int c;

	parse_address("127.0.0.1", &opt.tx);
	parse_address("127.0.0.1", &opt.rx);
	while ((c = getopt_long(argc, argv, "p:t:r:wqhV", long_options, NULL)) != -1) {
		if (c == 'h') {
			usage(stdout);
			return EXIT_OK;
		}
		if (c == 'V') {
			print_version();
			return EXIT_OK;
		}
		if (parse_option(c))
			return wrong_usage();
	}
	if (argc - optind > MAX_CELLS) {
		warnx("%u cells are too many", argc - optind);
		return wrong_usage();
	}
	for (; optind < argc; optind++)
		if (parse_cell(argv[optind], &cells[ncells++]))
			return wrong_usage();
	for (i = 0; !ncells && i < ARRAY_SIZE(default_cells); i++)
		parse_cell(default_cells[i], &cells[i]);
	ncells = ncells ?: i;
	return -1;
}

/* All transports of a cell follow each other, so that they see the same machine. */
static unsigned int run_all(struct result *results)
{
	unsigned int round, c, p, n = 0, total = 0;

	for (c = 0; c < ncells; c++)
		for (p = 0; p < nchosen; p++)
			total += opt.repeat * (cells[c].size <= chosen[p]->max_size);
	for (round = 0; round < opt.repeat; round++) {
		for (c = 0; c < ncells; c++) {
			for (p = 0; p < nchosen; p++) {
				if (cells[c].size > chosen[p]->max_size)
					continue;
				run_cell(chosen[p], &cells[c], &results[n]);
				results[n++].round = round + 1;
				if (!opt.quiet)
					report_progress(n, total, &results[n - 1]);
			}
		}
	}
	return n;
}

/* A receiver of TCP has two for each flow; whoever may not have that many is told by accept(). */
static void want_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

/* What can be known to be missing before the first cell is measured. */
static int prepare(FILE **picture)
{
	if (choose() || (opt.wakeups && cost_try_wakeups()))
		return -1;
	if (!opt.plot)
		return 0;
	*picture = plot_open(opt.plot);
	if (!*picture)
		warn("%s", opt.plot);
	return *picture ? 0 : -1;
}

static int report(const struct result *results, unsigned int n, FILE *picture)
{
	int ret = EXIT_OK;
	unsigned int i;

	if (!n) {
		warnx("nothing to measure: no transport has messages of that size");
		return EXIT_FAILED;
	}
	if (opt.json)
		report_json(results, n);
	else
		report_table(results, n);
	if (picture && plot_svg(picture, results, n)) {
		warn("%s", opt.plot);
		ret = EXIT_FAILED;
	}
	for (i = 0; i < n; i++)
		if (results[i].failed)
			ret = EXIT_FAILED;
	return ret;
}

int main(int argc, char **argv)
{
	struct result *results;
	FILE *picture = NULL;
	int ret;

	name_program(argv, "rds-bench");
	ret = parse_command_line(argc, argv);
	if (ret >= 0)
		return finish_output(ret);
	/* in-tree RDS does not take MSG_NOSIGNAL */
	signal(SIGPIPE, SIG_IGN);
	check_init();
	want_files();
	if (prepare(&picture))
		return EXIT_FAILED;
	results = calloc((size_t)ncells * nchosen * opt.repeat + 1, sizeof(*results));
	if (!results)
		err(EXIT_FAILED, "cannot keep the results");
	ret = report(results, run_all(results), picture);
	free(results);
	return finish_output(ret);
}
