// SPDX-License-Identifier: GPL-2.0
/*
 * rds-info: print what the kernel knows about RDS sockets, connections,
 * queued messages and counters.
 *
 * Every section is a table: a reader turns one record of the kernel into a
 * row of cells, and two printers turn rows into text or JSON. Rows are made
 * as they are printed, for there may be many: text is gone through twice,
 * because a column is as wide as its widest cell.
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
#include "holders.h"
#include "info.h"
#include "netns.h"

#define MAX_SECTIONS	16
#define MAX_ROUNDS	100	/* a snapshot that grows this often is endless */

/* A snapshot of one source */
struct snapshot {
	char	*data;
	size_t	len;
	size_t	stride;
};

/* One section while it is being printed */
struct table {
	const struct section	*sec;
	struct snapshot		v4;
	struct snapshot		v6;
	int			rows;		/* visited in this pass */
	int			hidden;		/* counters that are 0 */
	int			width[MAX_COLUMNS];
};

static struct {
	bool	v4;
	bool	v6;
	bool	json;
	bool	verbose;
	bool	everything;	/* no section was asked for */
	bool	nonzero;	/* counters that are not 0 */
	bool	all_netns;
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

/* Who has a socket open, in a few words. */
static void format_process(const char *inode, char *text, size_t size)
{
	const struct holder *h;
	size_t nr;

	h = find_holders(strtoull(inode, NULL, 10), &nr);
	if (!nr)
		snprintf(text, size, "-");
	else if (nr == 1)
		snprintf(text, size, "%s/%d", h->comm, h->pid);
	else
		snprintf(text, size, "%s/%d+%zu", h->comm, h->pid, nr - 1);
}

static void print_json_processes(const char *inode)
{
	const struct holder *h;
	size_t nr, i;

	h = find_holders(strtoull(inode, NULL, 10), &nr);
	putchar('[');
	for (i = 0; i < nr; i++) {
		printf("%s{\"pid\": %d, \"comm\": ", i ? ", " : "", h[i].pid);
		print_json_string(h[i].comm);
		putchar('}');
	}
	putchar(']');
}

/* A cell as text; an empty one is a value that the record does not have. */
static const char *cell_text(const struct section *sec, const struct row *row, int i,
			     char *room, size_t size)
{
	if (!row)
		return sec->columns[i].title;
	if (sec->columns[i].kind == COL_PROCESS) {
		format_process(row->cell[i], room, size);
		return room;
	}
	return *row->cell[i] ? row->cell[i] : "-";
}

static bool in_text(const struct column *col)
{
	return col->title && (!col->verbose_only || show.verbose) &&
		(!col->named_only || !show.everything);
}

static bool last_in_text(const struct section *sec, int i)
{
	while (++i < MAX_COLUMNS)
		if (in_text(&sec->columns[i]))
			return false;
	return true;
}

/* No row: the titles */
static void measure_row(struct table *t, const struct row *row)
{
	char room[2 * COMM_TEXT];
	int i, width;

	for (i = 0; i < MAX_COLUMNS; i++) {
		if (!in_text(&t->sec->columns[i]))
			continue;
		width = strlen(cell_text(t->sec, row, i, room, sizeof(room)));
		if (width > t->width[i])
			t->width[i] = width;
	}
}

static void print_text_row(struct table *t, const struct row *row)
{
	char room[2 * COMM_TEXT];
	const char *text;
	int i, width, printed = 0;

	for (i = 0; i < MAX_COLUMNS; i++) {
		const struct column *col = &t->sec->columns[i];

		if (!in_text(col))
			continue;
		text = cell_text(t->sec, row, i, room, sizeof(room));
		width = t->width[i];
		if (col->kind != COL_NUMBER)	/* nothing to be filled at the end of a line */
			width = last_in_text(t->sec, i) ? 0 : -width;
		printf("%s%*s", printed++ ? " " : "", width, text);
	}
	putchar('\n');
}

static void print_json_cell(const struct column *col, const char *cell)
{
	if (col->kind == COL_PROCESS)
		print_json_processes(cell);
	else if (col->kind == COL_TEXT)
		print_json_string(cell);
	else
		fputs(*cell ? cell : "null", stdout);
}

static void print_json_row(struct table *t, const struct row *row)
{
	int i, printed = 0;

	fputs(t->rows ? ",\n" : "\n", stdout);
	if (t->sec->option == 'c') {
		printf("    ");
		print_json_string(row->cell[0]);
		printf(": %s", row->cell[1]);
		return;
	}
	printf("    {");
	for (i = 0; i < MAX_COLUMNS; i++) {
		const struct column *col = &t->sec->columns[i];

		if (!col->key)
			continue;
		printf("%s\"%s\": ", printed++ ? ", " : "", col->key);
		print_json_cell(col, row->cell[i]);
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

/* Call @visit for the records of a snapshot that are to be shown. */
static void visit_rows(struct table *t, bool v6,
		       void (*visit)(struct table *t, const struct row *row))
{
	const struct section *sec = t->sec;
	const struct snapshot *snap = v6 ? &t->v6 : &t->v4;
	const size_t known = v6 ? sec->size_v6 : sec->size_v4;
	union {
		struct rds6_info_rdma_connection align;
		char bytes[256];
	} record;
	size_t off, copy;
	struct row row;

	if (!snap->stride)
		return;
	/* Newer kernels may have longer records, older ones shorter. */
	copy = snap->stride < known ? snap->stride : known;
	for (off = 0; off + snap->stride <= snap->len; off += snap->stride) {
		memset(&record, 0, sizeof(record));
		memset(&row, 0, sizeof(row));
		memcpy(&record, snap->data + off, copy);
		(v6 ? sec->read_v6 : sec->read_v4)(&record, &row);
		if (v6 && !wanted(sec, &row))
			continue;
		if (sec->option == 'c' && show.nonzero && !strcmp(row.cell[1], "0")) {
			t->hidden++;
			continue;
		}
		visit(t, &row);
		t->rows++;
	}
}

static void visit_table(struct table *t, void (*visit)(struct table *t, const struct row *row))
{
	t->rows = 0;
	t->hidden = 0;
	visit_rows(t, false, visit);
	visit_rows(t, true, visit);
}

static void print_json_table(struct table *t)
{
	const bool counters = t->sec->option == 'c';

	printf("  \"%s\": %c", t->sec->key, counters ? '{' : '[');
	visit_table(t, print_json_row);
	printf("%s%c", t->rows ? "\n  " : "", counters ? '}' : ']');
}

static void print_text_table(struct table *t)
{
	measure_row(t, NULL);
	visit_table(t, measure_row);
	if (!t->rows && show.everything) {
		printf("\n%s: none\n", t->sec->title);
		return;
	}
	printf("\n%s:\n", t->sec->title);
	print_text_row(t, NULL);
	visit_table(t, print_text_row);
	if (t->hidden && show.everything)
		printf("(%d counters are 0; 'rds-info -c' shows all)\n", t->hidden);
}

/* Returns 0 or -errno. One of the two sources is enough: a kernel may have no IPv6. */
static int fetch_table(int fd, struct table *t)
{
	const struct section *sec = t->sec;
	int err4 = -ENOPROTOOPT, err6 = -ENOPROTOOPT;

	if (sec->source_v4 && (show.v4 || !sec->source_v6))
		err4 = fetch(fd, sec->source_v4, &t->v4);
	if (sec->source_v6 && (show.v6 || !sec->source_v4))
		err6 = fetch(fd, sec->source_v6, &t->v6);

	if (err4 && err4 != -ENOPROTOOPT)
		return err4;
	if (err6 && err6 != -ENOPROTOOPT)
		return err6;
	return err4 && err6 ? -ENOPROTOOPT : 0;
}

/*
 * Print one section. A source nobody has registered is an error only if
 * the user asked for it by name.
 */
static int print_section(int fd, const struct section *sec)
{
	struct table t = { .sec = sec };
	int ret = 0, err;

	err = fetch_table(fd, &t);
	if (err && show.json)
		printf("  \"%s\": null", sec->key);
	if (err && (!show.everything || err != -ENOPROTOOPT)) {
		warnx("cannot get '%s' from the kernel: %s", sec->title,
		      err == -ENOPROTOOPT ? "no module offers it" : strerror(-err));
		ret = EXIT_FAILED;
	}
	if (!err)
		(show.json ? print_json_table : print_text_table)(&t);
	free(t.v4.data);
	free(t.v6.data);
	return ret;
}

/* @first: nothing stands before it in its JSON object */
static int print_sections(int fd, const bool *asked, bool counters_too, bool first)
{
	int i, ret = EXIT_OK;

	for (i = 0; sections[i].option; i++) {
		if (!asked[i] || (sections[i].option == 'c' && !counters_too))
			continue;
		if (show.json && !first)
			fputs(",\n", stdout);
		first = false;
		if (print_section(fd, &sections[i]))
			ret = EXIT_FAILED;
	}
	return ret;
}

static void print_netns_head(const struct netns *ns, bool first)
{
	const unsigned long long inode = ns->inode;

	if (!show.json) {
		printf("%s=== network namespace %llu", first ? "" : "\n", inode);
		if (*ns->name)
			printf(", %s", ns->name);
		if (ns->pid)
			printf(", of %s/%d", ns->comm, ns->pid);
		putchar('\n');
		return;
	}
	printf("%s{\n  \"netns\": %llu,\n  \"name\": ", first ? "" : ",\n", inode);
	if (*ns->name)
		print_json_string(ns->name);
	else
		printf("null");
	printf(",\n  \"pid\": %d", ns->pid);
}

/*
 * All sections but the counters, which are those of the machine, of one namespace.
 * @printed: how many there were before
 */
static int print_netns(const struct netns *ns, const bool *asked, int *printed)
{
	int fd, ret;

	if (!enter_netns(ns))
		return EXIT_FAILED;
	fd = open_rds_socket();
	if (fd < 0)
		return EXIT_FAILED;
	print_netns_head(ns, !(*printed)++);
	ret = print_sections(fd, asked, false, false);
	if (show.json)
		printf("\n}");
	close(fd);
	return ret;
}

static bool counters_asked(const bool *asked)
{
	int i;

	for (i = 0; sections[i].option; i++)
		if (sections[i].option == 'c')
			return asked[i];
	return false;
}

static int print_all_netns(int fd, const bool *asked)
{
	bool only_counters[MAX_SECTIONS] = { false };
	const struct netns *spaces;
	int ret = EXIT_OK, printed = 0;
	size_t i, nr;

	spaces = list_netns(&nr);
	if (show.json)
		printf("{\"namespaces\": [\n");
	for (i = 0; i < nr; i++)
		if (print_netns(&spaces[i], asked, &printed))
			ret = EXIT_FAILED;
	if (show.json)
		printf("\n]");
	if (counters_asked(asked)) {
		for (i = 0; sections[i].option; i++)
			only_counters[i] = sections[i].option == 'c';
		if (print_sections(fd, only_counters, true, false))
			ret = EXIT_FAILED;
	}
	if (show.json)
		puts("\n}");
	return ret;
}

static int print_all(int fd, const bool *asked)
{
	int ret;

	if (show.all_netns)
		return print_all_netns(fd, asked);
	if (show.json)
		fputs("{\n", stdout);
	ret = print_sections(fd, asked, true, true);
	if (show.json)
		fputs("\n}\n", stdout);
	return ret;
}

/* The version of a module that is loaded; one of the kernel tree may tell none. */
static void print_module(const char *name)
{
	char path[64], version[64] = "loaded, tells no version";
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	if (access(path, F_OK))
		snprintf(version, sizeof(version), "not loaded");
	snprintf(path, sizeof(path), "/sys/module/%s/version", name);
	f = fopen(path, "re");
	if (f) {
		if (fgets(version, sizeof(version), f))
			version[strcspn(version, "\n")] = '\0';
		fclose(f);
	}
	printf("module %s: %s\n", name, version);
}

static void print_versions(void)
{
	print_version();
	print_module("rds");
	print_module("rds_tcp");
	print_module("rds_rdma");
}

static void usage(FILE *out)
{
	fputs("Usage: rds-info [-knpsrtTIc] [-4 | -6 | -a] [-v] [-N] [--nonzero] [--json]\n"
	      "Print what the kernel knows about RDS; without options, everything but\n"
	      "counters that are 0.\n\n"
	      "  -k          sockets, and the processes that have them open\n"
	      "  -n          connections\n"
	      "  -p          paths of the connections\n"
	      "  -s          messages queued, not yet sent\n"
	      "  -r          messages received, not yet read\n"
	      "  -t          messages sent, not yet acknowledged\n"
	      "  -T          TCP sockets of the TCP transport\n"
	      "  -I          InfiniBand connections\n"
	      "  -c          counters\n\n"
	      "  -4          IPv4 only (default for text)\n"
	      "  -6          IPv6 only\n"
	      "  -a          IPv4 and IPv6 (default for --json)\n"
	      "  -v          more columns\n"
	      "  -N          of all network namespaces\n"
	      "  --nonzero   counters only if they are not 0\n"
	      "  --json      one JSON document\n"
	      "  -h, --help  this text\n"
	      "  -V, --version\n"
	      "              of this program and of the modules that are loaded\n", out);
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

/* Options that do not name a section. False for others. */
static bool parse_other(int opt, bool *family)
{
	switch (opt) {
	case '4':
	case '6':
	case 'a':
		show.v4 = opt != '6';
		show.v6 = opt != '4';
		*family = true;
		return true;
	case 'v':
		show.verbose = true;
		return true;
	case 'j':
		show.json = true;
		return true;
	case 'N':
		show.all_netns = true;
		return true;
	case 'z':
		show.nonzero = true;
		return true;
	}
	return false;
}

/* What follows from all options together */
static void conclude(bool *asked, bool family)
{
	int i;

	show.everything = true;
	for (i = 0; sections[i].option; i++)
		show.everything &= !asked[i];
	for (i = 0; sections[i].option && show.everything; i++)
		asked[i] = true;
	if (show.everything && !show.json)
		show.nonzero = true;
	if (show.json && !family)
		show.v6 = true;
}

/* Returns -1 to go on, or the exit code. */
static int parse_options(int argc, char **argv, bool *asked)
{
	static const struct option long_options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "nonzero", no_argument, NULL, 'z' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ }
	};
	bool family = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "46acknprstITvNhV", long_options,
				  NULL)) != -1) {
		if (opt == 'h') {
			usage(stdout);
			return EXIT_OK;
		}
		if (opt == 'V') {
			print_versions();
			return EXIT_OK;
		}
		if (!parse_other(opt, &family) && !ask_for(opt, asked))
			return wrong_usage();	/* getopt() has complained */
	}
	if (optind < argc) {
		warnx("unexpected argument '%s'", argv[optind]);
		return wrong_usage();
	}
	conclude(asked, family);
	return -1;
}

int main(int argc, char **argv)
{
	bool asked[MAX_SECTIONS] = { false };
	int fd, ret;

	name_program(argv, "rds-info");
	ret = parse_options(argc, argv, asked);
	if (ret >= 0)
		return finish_output(ret);
	fd = open_rds_socket();
	if (fd < 0)
		return EXIT_FAILED;
	ret = print_all(fd, asked);
	close(fd);
	forget_holders();
	return finish_output(ret);
}
