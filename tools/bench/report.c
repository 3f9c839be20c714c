// SPDX-License-Identifier: GPL-2.0
/* What people and programs read: a line of progress, a table, JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../common.h"
#include "bench.h"

const char * const work_names[NR_WORKS] = { "stream", "pingpong", "fanout", "fanin", "sockets",
					       "beside" };

static void size_words(unsigned int size, char *text, size_t room)
{
	if (size >= 1U << 20 && !(size % (1U << 20)))
		snprintf(text, room, "%uM", size >> 20);
	else if (size >= 1024 && !(size % 1024))
		snprintf(text, room, "%uK", size >> 10);
	else
		snprintf(text, room, "%u", size);
}

/* The words by which a cell is asked for. */
void cell_words(const struct cell *c, char *text, size_t room)
{
	char size[16];

	size_words(c->size, size, sizeof(size));
	if (c->n == 1 && c->work != FANOUT)
		snprintf(text, room, "%s/%s", work_names[c->work], size);
	else
		snprintf(text, room, "%s/%s/%u", work_names[c->work], size, c->n);
}

bool is_time(const struct cell *c)
{
	return c->work == PINGPONG || c->work == BESIDE;
}

bool same_cell(const struct cell *a, const struct cell *b)
{
	return a->work == b->work && a->size == b->size && a->n == b->n;
}

static void optional(double v, int digits, char *text, size_t room)
{
	if (v < 0)
		snprintf(text, room, "-");
	else
		snprintf(text, room, "%.*f", digits, v);
}

static void print_figures(FILE *f, const struct result *r)
{
	char ctxsw[32], wakeups[32], median[32], p99[32];

	optional(r->ctxsw, 2, ctxsw, sizeof(ctxsw));
	optional(r->wakeups, 2, wakeups, sizeof(wakeups));
	fprintf(f, "%12.1f %9.1f %11.0f %8s %8s", r->rate, r->rate * r->cell.size / 1e6, r->ns,
		ctxsw, wakeups);
	if (is_time(&r->cell)) {
		optional(r->median, 1, median, sizeof(median));
		optional(r->p99, 1, p99, sizeof(p99));
		fprintf(f, "  median %s us, p99 %s us", median, p99);
	}
	if (r->cell.n > 1)
		fprintf(f, "  least/most %.2f", r->fairness);
	if (r->lost)
		fprintf(f, "  lost %.0f %%", 100.0 * r->lost / (r->lost + r->messages));
}

void report_progress(unsigned int done, unsigned int total, const struct result *r)
{
	char cell[48], time[32];

	cell_words(&r->cell, cell, sizeof(cell));
	optional(r->cell.work == BESIDE ? r->p99 : r->median, 1, time, sizeof(time));
	fprintf(stderr, "[%*u/%u] %-5s %-14s ", total > 99 ? 3 : 2, done, total, r->proto->name,
		cell);
	if (r->failed)
		fprintf(stderr, "FAILED: %s\n", r->why);
	else if (is_time(&r->cell))
		fprintf(stderr, "%10s us\n", time);
	else
		fprintf(stderr, "%10.0f /s\n", r->rate);
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/**
 * report_value() - the middle one of the rates of a transport in a cell
 * @all: results
 * @n: how many
 * @p: the transport
 * @c: the cell
 *
 * Return: messages a second, or 0 if there is no result.
 */
double report_value(const struct result *all, unsigned int n, const struct proto *p,
		    const struct cell *c)
{
	double v[64], middle;
	unsigned int i, count = 0;

	for (i = 0; i < n && count < 64; i++)
		if (all[i].proto == p && same_cell(&all[i].cell, c) && !all[i].failed)
			v[count++] = all[i].rate;
	if (!count)
		return 0;
	qsort(v, count, sizeof(*v), by_double);
	middle = v[count / 2];
	return count % 2 ? middle : (middle + v[count / 2 - 1]) / 2;
}

/* Each run has its line; with several the middle one is compared with TCP's. */
void report_table(const struct result *r, unsigned int n)
{
	unsigned int i, k;
	char cell[48];
	double tcp;

	printf("%-5s %-14s %12s %9s %11s %8s %8s\n", "", "cell", "messages/s", "MB/s",
	       "ns/message", "switches", "wake-ups");
	for (i = 0; i < n; i++) {
		cell_words(&r[i].cell, cell, sizeof(cell));
		printf("%-5s %-14s ", r[i].proto->name, cell);
		if (r[i].failed) {
			printf("FAILED: %s\n", r[i].why);
			continue;
		}
		print_figures(stdout, &r[i]);
		for (k = 0, tcp = 0; k < nr_protos; k++)
			if (!strcmp(protos[k].name, "tcp"))
				tcp = report_value(r, n, &protos[k], &r[i].cell);
		if (tcp)
			printf("  %.2f x tcp", report_value(r, n, r[i].proto, &r[i].cell) / tcp);
		putchar('\n');
	}
}

static void json_number(const char *name, double v, int digits)
{
	if (v < 0 || isnan(v))
		printf(", \"%s\": null", name);
	else
		printf(", \"%s\": %.*f", name, digits, v);
}

void report_json(const struct result *r, unsigned int n)
{
	unsigned int i;
	char cell[48];

	printf("{\n  \"seconds\": %g,\n  \"runs\": [", opt.seconds);
	for (i = 0; i < n; i++, r++) {
		cell_words(&r->cell, cell, sizeof(cell));
		printf("%s\n    {\"transport\": \"%s\", \"cell\": \"%s\", \"ok\": %s", i ? "," : "",
		       r->proto->name, cell, r->failed ? "false" : "true");
		if (r->failed) {
			printf(", \"why\": ");
			print_json_string(r->why);
			putchar('}');
			continue;
		}
		json_number("rate", r->rate, 1);
		json_number("ns", r->ns, 1);
		json_number("switches", r->ctxsw, 4);
		json_number("wakeups", r->wakeups, 4);
		json_number("messages", r->messages, 0);
		json_number("lost", r->lost, 0);
		json_number("seconds", r->seconds, 6);
		json_number("least_most", r->cell.n > 1 ? r->fairness : -1, 4);
		json_number("median_us", r->median, 3);
		json_number("p99_us", r->p99, 3);
		putchar('}');
	}
	printf("\n  ]\n}\n");
}
