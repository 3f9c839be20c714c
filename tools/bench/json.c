// SPDX-License-Identifier: GPL-2.0
/* What programs read. */
#include <arpa/inet.h>
#include <math.h>
#include <string.h>

#include "../common.h"
#include "about.h"
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
	if (r->via >= 0)
		printf(", \"via\": \"%s\"", via_name(r->via));
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
	json_number("least_most", has_flows(&r->cell) ? r->fairness : -1, 4);
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

/* A module that is not loaded is null, and one that tells no version "?". */
static void json_about(const char *name, const struct about *a)
{
	int i;

	printf("  \"%s\": ", name);
	if (!a) {
		printf("null,\n");
		return;
	}
	printf("{\"host\": ");
	print_json_string(a->host);
	printf(", \"kernel\": ");
	print_json_string(a->kernel);
	printf(", \"rds_bench\": ");
	print_json_string(a->tool);
	printf(", \"modules\": {");
	for (i = 0; i < NR_MODULES; i++) {
		printf("%s\"%s\": ", i ? ", " : "", module_names[i]);
		if (strcmp(a->module[i], "-"))
			print_json_string(a->module[i]);
		else
			printf("null");
	}
	printf("}},\n");
}

static void json_head(const struct document *d)
{
	char text[64];
	struct tm tm;

	gmtime_r(&d->date, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	printf("{\n  \"date\": \"%s\",\n", text);
	json_about("client", d->here);
	json_about("server", d->there);
	inet_ntop(AF_INET, &opt.tx, text, sizeof(text));
	printf("  \"tx\": \"%s\",\n", text);
	inet_ntop(AF_INET, &opt.rx, text, sizeof(text));
	printf("  \"rx\": \"%s\",\n  \"seconds\": %g,\n  \"rounds\": %u,\n", text, opt.seconds,
	       opt.repeat);
}

/**
 * report_json() - all results as one document
 * @d: what it tells beside them
 * @r: results
 * @n: how many
 */
void report_json(const struct document *d, const struct result *r, unsigned int n)
{
	struct summary s;
	unsigned int i;

	json_head(d);
	printf("  \"runs\": [");
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
