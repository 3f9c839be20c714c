// SPDX-License-Identifier: GPL-2.0
/*
 * rds-info: print what the kernel knows about RDS sockets, connections,
 * queued messages and counters.
 *
 * Every section is a table: a reader turns one record of the kernel into a
 * row of cells, and two printers turn rows into text or JSON.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <net/if.h>
#include <netinet/in.h>
#include <linux/rds.h>

#include "common.h"
#include "info.h"

#define MAX_SECTIONS	16
#define MAX_ROUNDS	100	/* a snapshot that grows this often is endless */

/* A snapshot of one source */
struct snapshot {
	char	*data;
	size_t	len;
	size_t	stride;
};

static struct {
	bool	v4;
	bool	v6;
	bool	json;
	bool	verbose;
} show = { .v4 = true };

/*
 * Fetch all records of one source. The kernel answers ENOSPC and the size
 * it needs as long as the buffer is too small, and the source may grow
 * while we allocate. Returns 0 or -errno.
 */
static int fetch(int fd, int source, struct snapshot *snap)
{
	socklen_t len = 0;
	int round, stride = 0;
	char *bigger;

	*snap = (struct snapshot){ 0 };
	for (round = 0; round < MAX_ROUNDS; round++) {
		stride = getsockopt(fd, SOL_RDS, source,
				    snap->data ? snap->data : "", &len);
		if (stride >= 0)
			break;
		if (errno != ENOSPC)
			return -errno;
		len += len / 4 + 1024;
		bigger = realloc(snap->data, len);
		if (!bigger)
			return -ENOMEM;
		snap->data = bigger;
	}
	if (round == MAX_ROUNDS)
		return -ENOSPC;
	if (len && !stride)
		return -EPROTO;
	snap->len = len;
	snap->stride = stride;
	return 0;
}

static int address_width(void)
{
	return show.v6 ? 39 : 15;
}

/* An empty cell is a value that the record does not have. */
static const char *unless_empty(const char *cell, const char *otherwise)
{
	return *cell ? cell : otherwise;
}

static void print_text_row(const struct section *sec, const struct row *row)
{
	int i, width, printed = 0;

	for (i = 0; i < MAX_COLUMNS; i++) {
		const struct column *col = &sec->columns[i];

		if (!col->title || (col->verbose_only && !show.verbose))
			continue;
		width = col->width == WIDTH_ADDRESS ? address_width() : col->width;
		printf("%s%*s", printed++ ? " " : "", width,
		       row ? unless_empty(row->cell[i], "-") : col->title);
	}
	putchar('\n');
}

static void print_json_row(const struct section *sec, const struct row *row,
			   bool first)
{
	int i, printed = 0;

	fputs(first ? "\n" : ",\n", stdout);
	if (sec->option == 'c') {
		printf("    ");
		print_json_string(row->cell[0]);
		printf(": %s", row->cell[1]);
		return;
	}
	printf("    {");
	for (i = 0; i < MAX_COLUMNS; i++) {
		const struct column *col = &sec->columns[i];

		if (!col->key)
			continue;
		printf("%s\"%s\": ", printed++ ? ", " : "", col->key);
		if (col->kind == COL_TEXT)
			print_json_string(row->cell[i]);
		else
			fputs(unless_empty(row->cell[i], "null"), stdout);
	}
	putchar('}');
}

/* Is an object of the v6 source to be shown, or did the v4 source show it? */
static bool wanted(const struct section *sec, const struct row *row)
{
	if (!IN6_IS_ADDR_V4MAPPED(&row->local))
		return show.v6;
	return show.v4 && !sec->source_v4;
}

/* Print the records of a snapshot. Returns the number of rows so far. */
static int print_rows(const struct section *sec, const struct snapshot *snap,
		      bool v6, int rows)
{
	const size_t known = v6 ? sec->size_v6 : sec->size_v4;
	union {
		struct rds6_info_rdma_connection align;
		char bytes[256];
	} record;
	size_t off, copy;
	struct row row;

	if (!snap->stride)
		return rows;
	/* Newer kernels may have longer records, older ones shorter. */
	copy = snap->stride < known ? snap->stride : known;
	for (off = 0; off + snap->stride <= snap->len; off += snap->stride) {
		memset(&record, 0, sizeof(record));
		memset(&row, 0, sizeof(row));
		memcpy(&record, snap->data + off, copy);
		(v6 ? sec->read_v6 : sec->read_v4)(&record, &row);
		if (v6 && !wanted(sec, &row))
			continue;
		if (show.json)
			print_json_row(sec, &row, !rows);
		else
			print_text_row(sec, &row);
		rows++;
	}
	return rows;
}

static void begin_section(const struct section *sec)
{
	if (show.json) {
		printf("  \"%s\": %c", sec->key, sec->option == 'c' ? '{' : '[');
		return;
	}
	printf("\n%s:\n", sec->title);
	print_text_row(sec, NULL);
}

static void end_section(const struct section *sec, int rows)
{
	if (show.json)
		printf("%s%c", rows ? "\n  " : "", sec->option == 'c' ? '}' : ']');
}

/*
 * Print one section. A source nobody has registered is an error only if
 * the user asked for it by name.
 */
static int print_section(int fd, const struct section *sec, bool asked)
{
	struct snapshot v4 = { 0 }, v6 = { 0 };
	int err4 = -ENOPROTOOPT, err6 = -ENOPROTOOPT, rows = 0, ret = 0;
	int err;

	if (sec->source_v4 && (show.v4 || !sec->source_v6))
		err4 = fetch(fd, sec->source_v4, &v4);
	if (sec->source_v6 && (show.v6 || !sec->source_v4))
		err6 = fetch(fd, sec->source_v6, &v6);

	/* One of the two is enough: a kernel may have no IPv6. */
	if (err4 && err4 != -ENOPROTOOPT)
		err = err4;
	else if (err6 && err6 != -ENOPROTOOPT)
		err = err6;
	else
		err = err4 && err6 ? -ENOPROTOOPT : 0;
	if (err) {
		if (show.json)
			printf("  \"%s\": null", sec->key);
		if (asked || err != -ENOPROTOOPT) {
			warnx("cannot get '%s' from the kernel: %s", sec->title,
			      err == -ENOPROTOOPT ? "no module offers it" :
						    strerror(-err));
			ret = EXIT_FAILED;
		}
	} else {
		begin_section(sec);
		if (!err4)
			rows = print_rows(sec, &v4, false, rows);
		if (!err6)
			rows = print_rows(sec, &v6, true, rows);
		end_section(sec, rows);
	}
	free(v4.data);
	free(v6.data);
	return ret;
}

static int print_sections(int fd, const bool *asked)
{
	bool all = true, first = true;
	int i, ret = EXIT_OK;

	for (i = 0; sections[i].option; i++)
		all &= !asked[i];
	if (show.json)
		fputs("{\n", stdout);
	for (i = 0; sections[i].option; i++) {
		if (!all && !asked[i])
			continue;
		if (show.json && !first)
			fputs(",\n", stdout);
		first = false;
		if (print_section(fd, &sections[i], asked[i]))
			ret = EXIT_FAILED;
	}
	if (show.json)
		fputs("\n}\n", stdout);
	return ret;
}

static void usage(FILE *out)
{
	fputs("Usage: rds-info [-cknprstIT] [-4 | -6 | -a] [-v] [--json]\n"
	      "Print what the kernel knows about RDS; without options, everything.\n\n"
	      "  -c          counters\n"
	      "  -k          sockets\n"
	      "  -n          connections\n"
	      "  -p          paths of the connections\n"
	      "  -r          messages received, not yet read\n"
	      "  -s          messages queued, not yet sent\n"
	      "  -t          messages sent, not yet acknowledged\n"
	      "  -I          InfiniBand connections\n"
	      "  -T          TCP sockets of the TCP transport\n\n"
	      "  -4          IPv4 only (default for text)\n"
	      "  -6          IPv6 only\n"
	      "  -a          IPv4 and IPv6 (default for --json)\n"
	      "  -v          more columns\n"
	      "  --json      one JSON document\n"
	      "  -h, --help  this text\n", out);
}

static bool ask_for(int option, bool *asked)
{
	int i;

	for (i = 0; sections[i].option; i++) {
		if (sections[i].option == option) {
			asked[i] = true;
			return true;
		}
	}
	return false;
}

/* Returns -1 to go on, or the exit code. */
static int parse_options(int argc, char **argv, bool *asked)
{
	static const struct option long_options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ }
	};
	bool family = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "46acknprstITvh", long_options,
				  NULL)) != -1) {
		if (opt == '4' || opt == '6' || opt == 'a') {
			show.v4 = opt != '6';
			show.v6 = opt != '4';
			family = true;
		} else if (opt == 'v') {
			show.verbose = true;
		} else if (opt == 'j') {
			show.json = true;
		} else if (opt == 'h') {
			usage(stdout);
			return EXIT_OK;
		} else if (!ask_for(opt, asked)) {
			usage(stderr);
			return EXIT_USAGE;
		}
	}
	if (optind < argc) {
		warnx("unexpected argument '%s'", argv[optind]);
		usage(stderr);
		return EXIT_USAGE;
	}
	if (show.json && !family)
		show.v6 = true;
	return -1;
}

int main(int argc, char **argv)
{
	bool asked[MAX_SECTIONS] = { false };
	int fd, ret;

	ret = parse_options(argc, argv, asked);
	if (ret >= 0)
		return ret;
	fd = open_rds_socket();
	if (fd < 0)
		return EXIT_FAILED;
	ret = print_sections(fd, asked);
	close(fd);
	if (fflush(stdout) || ferror(stdout)) {
		warn("cannot write");
		ret = EXIT_FAILED;
	}
	return ret;
}
