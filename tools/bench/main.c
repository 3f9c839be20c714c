// SPDX-License-Identifier: GPL-2.0
/*
 * rds-bench - the same work over RDS and over what else there is.
 *
 * Exit status: 0 all was measured and every message verified, 1 not, 2 usage.
 */
#include <err.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <linux/rds.h>

#include "../common.h"
#include "control.h"
#include "options.h"

/* Who asks for a transport wants it measured, or to hear at once that there is none. */
static int require(const struct proto *p)
{
	int fd;

	if (proto_there(p))
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
static int choose_protos(void)
{
	unsigned int i;

	for (i = 0; i < plan.nprotos; i++)
		if (require(plan.protos[i]))
			return -1;
	if (plan.nprotos)
		return 0;
	if (require(&protos[0]))
		return -1;
	for (i = 0; i < nr_protos; i++) {
		if (proto_there(&protos[i]))
			plan.protos[plan.nprotos++] = &protos[i];
		else
			warnx("this kernel has no %s", protos[i].name);
	}
	return 0;
}

/* Would sockets of the senders' address have RDMA? */
static bool rdma_there(void)
{
	struct sockaddr_in local = { .sin_family = AF_INET, .sin_addr = opt.tx };
	const struct proto *rds = find_proto("rds");
	int fd = rds->open(rds, &local, 4096, false);
	bool there = fd >= 0 && socket_via(fd) == RDS_TRANS_IB;

	if (fd >= 0)
		close(fd);
	return there;
}

/* What can be known to be missing before the first cell is measured. */
static int prepare(const struct greeting *mine, FILE **picture)
{
	if (choose_protos() || (opt.wakeups && cost_try_wakeups()) ||
	    (opt.server && remote_connect(mine)))
		return -1;
	if (!plan.ncells)
		plan_default_cells(rdma_there());
	if (!opt.plot)
		return 0;
	*picture = plot_open(opt.plot);
	if (!*picture)
		warn("%s", opt.plot);
	return *picture ? 0 : -1;
}

static unsigned int count_runs(void)
{
	unsigned int c, p, total = 0;

	for (c = 0; c < plan.ncells; c++)
		for (p = 0; p < plan.nprotos; p++)
			total += opt.repeat * proto_can(plan.protos[p], &plan.cells[c]);
	return total;
}

/* All transports of a cell follow each other, so that they see the same machine. */
static void run_all(struct result *results, unsigned int total)
{
	unsigned int round, c, p, n = 0;

	for (round = 0; round < opt.repeat; round++) {
		for (c = 0; c < plan.ncells; c++) {
			for (p = 0; p < plan.nprotos; p++) {
				if (!proto_can(plan.protos[p], &plan.cells[c]))
					continue;
				run_cell(plan.protos[p], &plan.cells[c], &results[n]);
				results[n++].round = round + 1;
				if (!opt.quiet)
					report_progress(n, total, &results[n - 1]);
			}
		}
	}
}

static int report(const struct document *d, const struct result *results, unsigned int n,
		  FILE *picture)
{
	int ret = EXIT_OK;
	unsigned int i;

	if (opt.json)
		report_json(d, results, n);
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

/* A receiver of TCP has two for each flow; whoever may not have that many is told by accept(). */
static void want_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r))
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

static int measure_all(const struct greeting *mine)
{
	struct document d = { .date = time(NULL), .here = &mine->about };
	struct result *results;
	FILE *picture = NULL;
	unsigned int n;
	int ret;

	if (prepare(mine, &picture))
		return EXIT_FAILED;
	if (opt.server)
		d.there = remote_about();
	n = count_runs();
	if (!n) {
		warnx("nothing to measure: no transport has such messages");
		return EXIT_FAILED;
	}
	results = calloc(n, sizeof(*results));
	if (!results)
		err(EXIT_FAILED, "cannot keep the results");
	run_all(results, n);
	ret = report(&d, results, n, picture);
	free(results);
	return ret;
}

int main(int argc, char **argv)
{
	bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	struct greeting mine = { .version = CONTROL_VERSION };
	int ret;

	name_program(argv, "rds-bench");
	ret = parse_command_line(argc, argv);
	if (ret >= 0)
		return finish_output(ret);
	memcpy(mine.order, big ? "be" : "le", sizeof(mine.order));
	about_here(&mine.about);
	/* in-tree RDS does not take MSG_NOSIGNAL */
	signal(SIGPIPE, SIG_IGN);
	check_init();
	want_files();
	return finish_output(opt.serve ? serve(&mine) : measure_all(&mine));
}
