// SPDX-License-Identifier: GPL-2.0
/* What programs read. */
#include <math.h>

#include "../common.h"
#include "bench.h"

static void json_number(const char *name, double v, int digits)
{
	if (v < 0 || !isfinite(v))
		printf(", \"%s\": null", name);
	else
		printf(", \"%s\": %.*f", name, digits, v);
}

static void json_cell(const struct proto *p, const struct cell *c)
{
	char cell[48];

	cell_words(c, cell, sizeof(cell));
	printf("\"transport\": \"%s\", \"cell\": \"%s\"", p->name, cell);
}

static void json_run(const struct result *all, unsigned int n, const struct result *r)
{
	printf("    {");
	json_cell(r->proto, &r->cell);
	printf(", \"round\": %u, \"ok\": %s", r->round, r->failed ? "false" : "true");
	if (r->failed) {
		printf(", \"why\": ");
		print_json_string(r->why);
		putchar('}');
		return;
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
	json_number("x_tcp", ratio_to_tcp(all, n, r), 4);
	putchar('}');
}

static void json_spread(const char *name, const struct spread *s, int digits)
{
	if (!s->n) {
		printf(", \"%s\": null", name);
		return;
	}
	printf(", \"%s\": {\"median\": %.*f, \"least\": %.*f, \"most\": %.*f}", name, digits,
	       s->median, digits, s->least, digits, s->most);
}

static void json_summary(const struct summary *s)
{
	printf("    {");
	json_cell(s->proto, &s->cell);
	printf(", \"rounds\": %u, \"failed\": %u", s->rounds, s->failed);
	json_spread("rate", &s->rate, 1);
	json_spread("median_us", &s->median, 3);
	json_spread("p99_us", &s->p99, 3);
	json_spread("x_tcp", &s->x_tcp, 4);
	putchar('}');
}

/**
 * report_json() - all results as one document
 * @r: results
 * @n: how many
 */
void report_json(const struct result *r, unsigned int n)
{
	struct summary s;
	unsigned int i;

	printf("{\n  \"seconds\": %g,\n  \"rounds\": %u,\n  \"runs\": [", opt.seconds, opt.repeat);
	for (i = 0; i < n; i++) {
		printf(i ? ",\n" : "\n");
		json_run(r, n, &r[i]);
	}
	printf("\n  ],\n  \"summary\": [");
	for (i = next_summary(r, n, 0, &s); i; i = next_summary(r, n, i, &s)) {
		printf(i > 1 ? ",\n" : "\n");
		json_summary(&s);
	}
	printf("\n  ]\n}\n");
}
