// SPDX-License-Identifier: GPL-2.0
/* What people read: a line of progress, a table. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

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
	if (has_flows(&r->cell))
		fprintf(f, "  least/most %.2f", r->fairness);
	if (r->lost)
		fprintf(f, "  lost %.0f %%", 100.0 * r->lost / (r->lost + r->messages));
}

/* Why one has failed stands in the table, and there is no need to say it twice. */
void report_progress(unsigned int done, unsigned int total, const struct result *r)
{
	bool late = r->cell.work == BESIDE;
	char cell[48], time[32], round[32] = "";

	cell_words(&r->cell, cell, sizeof(cell));
	if (opt.repeat > 1)
		snprintf(round, sizeof(round), "round %u ", r->round);
	fprintf(stderr, "[%*u/%u] %s%-5s %-14s ", total > 99 ? 3 : 2, done, total, round,
		r->proto->name, cell);
	optional(late ? r->p99 : r->median, 1, time, sizeof(time));
	if (r->failed)
		fprintf(stderr, "FAILED\n");
	else if (is_time(&r->cell))
		fprintf(stderr, "%10s us (%s)\n", time, late ? "p99" : "median");
	else
		fprintf(stderr, "%10.0f /s\n", r->rate);
}

static void print_round(unsigned int round)
{
	if (opt.repeat > 1)
		printf("%5u ", round);
}

static void print_spread(const struct spread *s, int digits, const char *unit)
{
	printf("  %.*f (%.*f - %.*f) %s", digits, s->median, digits, s->least, digits, s->most,
	       unit);
}

static void print_summary(const struct summary *s)
{
	char cell[48];

	cell_words(&s->cell, cell, sizeof(cell));
	printf("%-5s %-14s", s->proto->name, cell);
	if (s->rate.n)
		print_spread(&s->rate, 1, "/s");
	if (s->median.n)
		print_spread(&s->median, 1, "us");
	if (s->x_tcp.n)
		print_spread(&s->x_tcp, 2, "x tcp");
	if (s->failed)
		printf("  %u FAILED", s->failed);
	putchar('\n');
}

/* One round needs no summary: it would be the table once more. */
static void report_summary(const struct result *r, unsigned int n)
{
	struct summary s;
	unsigned int i;

	if (opt.repeat < 2)
		return;
	printf("\n%u rounds: median (least - most) of the rates, the median times, the ratios\n",
	       opt.repeat);
	for (i = next_summary(r, n, 0, &s); i; i = next_summary(r, n, i, &s))
		print_summary(&s);
}

/* Each run has its line, and is compared with TCP's of the same round. */
void report_table(const struct result *r, unsigned int n)
{
	unsigned int i;
	char cell[48];
	double ratio;

	if (opt.repeat > 1)
		printf("round ");
	printf("%-5s %-14s %12s %9s %11s %8s %8s\n", "", "cell", "messages/s", "MB/s",
	       "ns/message", "switches", "wake-ups");
	for (i = 0; i < n; i++) {
		print_round(r[i].round);
		cell_words(&r[i].cell, cell, sizeof(cell));
		printf("%-5s %-14s ", r[i].proto->name, cell);
		if (r[i].failed) {
			printf("FAILED: %s\n", r[i].why);
			continue;
		}
		print_figures(stdout, &r[i]);
		ratio = ratio_to_tcp(r, n, &r[i]);
		if (ratio >= 0)
			printf("  %.2f x tcp", ratio);
		putchar('\n');
	}
	report_summary(r, n);
}
