// SPDX-License-Identifier: GPL-2.0
/* What several rounds come to. Pure code, for the unit test. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

bool is_time(const struct cell *c)
{
	return c->work == PINGPONG || c->work == BESIDE || is_rdma(c);
}

/* Several, of which one could be served worse than another? */
bool has_flows(const struct cell *c)
{
	return c->n > 1 && !is_rdma(c);
}

bool same_cell(const struct cell *a, const struct cell *b)
{
	return a->work == b->work && a->size == b->size && a->n == b->n;
}

static int by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static struct spread spread_of(double *v, unsigned int n)
{
	struct spread s = { .n = n };

	if (!n)
		return s;
	qsort(v, n, sizeof(*v), by_double);
	s.least = v[0];
	s.most = v[n - 1];
	s.median = n % 2 ? v[n / 2] : (v[n / 2] + v[n / 2 - 1]) / 2;
	return s;
}

/**
 * ratio_to_tcp() - how a rate compares with that of framed TCP
 * @all: results
 * @n: how many
 * @r: one of them
 *
 * Only a neighbour of the same round has seen the same machine.
 *
 * Return: the ratio, or below 0 if that round has no rate of TCP, or @r has none.
 */
double ratio_to_tcp(const struct result *all, unsigned int n, const struct result *r)
{
	unsigned int i;

	if (r->failed)
		return -1;
	for (i = 0; i < n; i++)
		if (all[i].round == r->round && same_cell(&all[i].cell, &r->cell) &&
		    !strcmp(all[i].proto->name, "tcp") && !all[i].failed && all[i].rate > 0)
			return r->rate / all[i].rate;
	return -1;
}

/* Is this the first result of its transport in its cell? */
static bool begins_group(const struct result *all, unsigned int i)
{
	unsigned int k;

	for (k = 0; k < i; k++)
		if (all[k].proto == all[i].proto && same_cell(&all[k].cell, &all[i].cell))
			return false;
	return true;
}

/**
 * summarize() - median, least and most over the rounds
 * @all: results
 * @n: how many
 * @p: a transport
 * @c: a cell
 * @s: filled in; a spread without values has @n 0
 */
void summarize(const struct result *all, unsigned int n, const struct proto *p,
	       const struct cell *c, struct summary *s)
{
	double rate[MAX_ROUNDS], median[MAX_ROUNDS], p99[MAX_ROUNDS], x_tcp[MAX_ROUNDS];
	unsigned int i, rates = 0, medians = 0, p99s = 0, ratios = 0;

	*s = (struct summary){ .proto = p, .cell = *c };
	for (i = 0; i < n && s->rounds < MAX_ROUNDS; i++) {
		if (all[i].proto != p || !same_cell(&all[i].cell, c))
			continue;
		s->rounds++;
		s->failed += all[i].failed;
		if (all[i].failed)
			continue;
		rate[rates++] = all[i].rate;
		if (all[i].median >= 0)
			median[medians++] = all[i].median;
		if (all[i].p99 >= 0)
			p99[p99s++] = all[i].p99;
		x_tcp[ratios] = ratio_to_tcp(all, n, &all[i]);
		ratios += x_tcp[ratios] >= 0;
	}
	s->rate = spread_of(rate, rates);
	s->median = spread_of(median, medians);
	s->p99 = spread_of(p99, p99s);
	s->x_tcp = spread_of(x_tcp, ratios);
}

/**
 * next_summary() - one transport in one cell after the other
 * @all: results
 * @n: how many
 * @i: where to look on; 0 at first
 * @s: filled in
 *
 * Return: where to look on, or 0 if there are no more.
 */
unsigned int next_summary(const struct result *all, unsigned int n, unsigned int i,
			  struct summary *s)
{
	for (; i < n; i++) {
		if (!begins_group(all, i))
			continue;
		summarize(all, n, all[i].proto, &all[i].cell, s);
		return i + 1;
	}
	return 0;
}
