// SPDX-License-Identifier: GPL-2.0
/* The command line of rds-bench. */
#include <arpa/inet.h>
#include <err.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common.h"
#include "control.h"
#include "options.h"

struct options opt = { .seconds = 0.5, .repeat = 1, .port = CONTROL_PORT };
struct plan plan;

static const char * const spoil_names[NR_SPOILS] = {
	"nothing", "flip", "head", "cut", "run", "drop", "dup", "swap",
};

static const char * const default_cells[] = {
	"stream/64", "stream/1K", "stream/8K", "stream/64K", "stream/1M", "pingpong/64",
	"pingpong/64K", "fanout/64/1", "fanout/64/16", "fanout/64/64", "fanin/64/16",
	"sockets/64/16", "beside/1M",
};

/* A host has one address as a rule, but for loopback: no fan-out to several. */
static const char * const one_address_cells[] = {
	"stream/64", "stream/1K", "stream/8K", "stream/64K", "stream/1M", "pingpong/64",
	"pingpong/64K", "fanout/64/1", "fanin/64/16", "sockets/64/16", "beside/1M",
};

/* Behind the others, where the addresses belong to a device that can. */
static const char * const rdma_cells[] = { "read/64K", "write/64K" };

static void usage(FILE *out)
{
	fputs("Usage: rds-bench [options] [cell...]\n"
	      "       rds-bench -s [options]\n"
	      "       rds-bench -c SERVER [options] [cell...]\n"
	      "The same work over RDS, TCP, SCTP, TIPC and UDP; every message is verified.\n"
	      "On one host, or from this one to another, where rds-bench -s runs.\n\n"
	      "A cell is WORK/SIZE or WORK/SIZE/N, as in stream/64 or fanin/1K/16. WORK:\n"
	      "  stream    one socket sends to another\n"
	      "  pingpong  request and response, N clients\n"
	      "  fanout    one socket sends to N peers, at N consecutive addresses\n"
	      "  fanin     N processes send to one socket\n"
	      "  sockets   N sockets send to N others, between one pair of addresses\n"
	      "  beside    request and response of 64 bytes, beside a stream of SIZE\n"
	      "  read      RDMA from the receiver's memory, N at a time (RDS over verbs)\n"
	      "  write     RDMA into it, each verified there\n\n"
	      "  -s, --serve   receive for clients on other hosts, at the address of --rx\n"
	      "  -c SERVER     send to the server at this address (--connect)\n"
	      "  -P port       TCP port of the server (4880)\n"
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

static int parse_cell(const char *text)
{
	char why[200];

	if (plan.ncells == MAX_CELLS) {
		warnx("more than %u cells are too many", MAX_CELLS);
		return -1;
	}
	if (!cell_parse(text, &plan.cells[plan.ncells++], why, sizeof(why)))
		return 0;
	warnx("%s", why);
	return -1;
}

static int parse_protos(char *list)
{
	char *name, *save = NULL;

	plan.nprotos = 0;
	for (name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		if (plan.nprotos == MAX_PROTOS || !find_proto(name)) {
			warnx("there is no transport '%s'", name);
			return -1;
		}
		plan.protos[plan.nprotos++] = find_proto(name);
	}
	if (!plan.nprotos)
		warnx("no transport is named");
	return plan.nprotos ? 0 : -1;
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

static int parse_address(const char *text, struct in_addr *addr, bool *named)
{
	*named = true;
	if (inet_pton(AF_INET, text, addr) == 1)
		return 0;
	warnx("'%s' is not an IPv4 address", text);
	return -1;
}

static int parse_port(const char *text)
{
	char *end;

	if (!parse_count(text, &end, &opt.port) && !*end && opt.port && opt.port <= 65535)
		return 0;
	warnx("bad port '%s'", text);
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
	{ "serve", no_argument, NULL, 's' },
	{ "connect", required_argument, NULL, 'c' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

static int parse_long(int c)
{
	switch (c) {
	case O_TX:
		return parse_address(optarg, &opt.tx, &opt.tx_named);
	case O_RX:
		return parse_address(optarg, &opt.rx, &opt.rx_named);
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
	case 's':
		opt.serve = true;
		return 0;
	case 'c':
		opt.server = optarg;
		return 0;
	case 'P':
		return parse_port(optarg);
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

static bool can_spoil(const struct cell *c)
{
	if (c->work == READ)
		return opt.spoil == SPOIL_FLIP;
	return c->work != WRITE || opt.spoil == SPOIL_FLIP || opt.spoil == SPOIL_HEAD ||
		opt.spoil == SPOIL_DROP;
}

/* What does not go together. */
static const char *contradiction(bool cells_named)
{
	unsigned int i;

	if (opt.serve && (opt.server || cells_named || plan.nprotos))
		return "a server does what its clients want: -s goes with --rx, --rx-ns, -P and -q";
	if (opt.server && opt.wakeups)
		return "wake-ups of two hosts cannot be counted";
	if (opt.server && opt.rx_ns)
		return "the receivers are on another host, which --rx-ns does not reach";
	for (i = 0; opt.spoil && i < plan.ncells; i++)
		if (!can_spoil(&plan.cells[i]))
			return "a read can be spoilt by flip, a write by flip, head and drop";
	return NULL;
}

/* Cells for those who name none. */
void plan_default_cells(bool rdma)
{
	bool one = opt.server || opt.rx_named;
	unsigned int i;

	for (i = 0; one && i < ARRAY_SIZE(one_address_cells); i++)
		parse_cell(one_address_cells[i]);
	for (i = 0; !one && i < ARRAY_SIZE(default_cells); i++)
		parse_cell(default_cells[i]);
	for (i = 0; rdma && i < ARRAY_SIZE(rdma_cells); i++)
		parse_cell(rdma_cells[i]);
}

/**
 * parse_command_line() - fill in opt and plan
 * @argc: number of words
 * @argv: the words
 *
 * Return: -1 to go on, or the exit code.
 */
int parse_command_line(int argc, char **argv)
{
	const char *problem;
	int c;

	inet_pton(AF_INET, "127.0.0.1", &opt.tx);
	opt.rx = opt.tx;
	while ((c = getopt_long(argc, argv, "sc:P:p:t:r:wqhV", long_options, NULL)) != -1) {
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
	for (; optind < argc; optind++)
		if (parse_cell(argv[optind]))
			return wrong_usage();
	problem = contradiction(plan.ncells);
	if (!problem)
		return -1;
	warnx("%s", problem);
	return wrong_usage();
}
