// SPDX-License-Identifier: GPL-2.0
/*
 * A picture of the table, as SVG: for each cell one bar for each transport, as
 * long as its rate is in proportion to the best of the cell.
 */
#include <errno.h>
#include <string.h>

#include "bench.h"

#define BAR		14
#define GAP		12
#define HEAD		40
#define LEFT		170
#define WIDTH		520
#define RIGHT		150

static const char * const colours[] = {
	"#c0392b", "#2471a3", "#85c1e9", "#7d3c98", "#239b56", "#99a3a4", "#b9770e", "#17202a",
};

static bool first_of_cell(const struct result *r, unsigned int i)
{
	unsigned int k;

	for (k = 0; k < i; k++)
		if (same_cell(&r[k].cell, &r[i].cell))
			return false;
	return true;
}

static void bar(FILE *f, unsigned int y, unsigned int k, double value, double best)
{
	double width = WIDTH * value / best;

	fprintf(f, "<rect x=\"%d\" y=\"%u\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", LEFT, y,
		width, BAR - 2, colours[k % 8]);
	fprintf(f, "<text x=\"%.1f\" y=\"%u\">%s %.*f</text>\n", LEFT + width + 5, y + BAR - 4,
		protos[k].name, value < 1000 ? 1 : 0, value);
}

/* Return: where the next cell begins. */
static unsigned int group(FILE *f, unsigned int y, const struct result *r, unsigned int n,
			  const struct cell *c)
{
	double value[MAX_PROTOS], best = 0;
	unsigned int k, top = y;
	char cell[48];

	for (k = 0; k < nr_protos; k++) {
		value[k] = report_value(r, n, &protos[k], c);
		if (value[k] > best)
			best = value[k];
	}
	for (k = 0; k < nr_protos; k++) {
		if (!value[k])
			continue;
		if (f)
			bar(f, y, k, value[k], best);
		y += BAR;
	}
	cell_words(c, cell, sizeof(cell));
	if (f && y > top)
		fprintf(f, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">%s</text>\n", LEFT - 8,
			(top + y) / 2 + 4, cell);
	return y > top ? y + GAP : y;
}

static unsigned int groups(FILE *f, const struct result *r, unsigned int n)
{
	unsigned int i, y = HEAD;

	for (i = 0; i < n; i++)
		if (first_of_cell(r, i))
			y = group(f, y, r, n, &r[i].cell);
	return y;
}

/**
 * plot_svg() - write the picture
 * @path: of the file
 * @r: results
 * @n: how many
 *
 * Return: 0, or -1 with errno.
 */
int plot_svg(const char *path, const struct result *r, unsigned int n)
{
	unsigned int height = groups(NULL, r, n);
	FILE *f = fopen(path, "w");
	int err;

	if (!f)
		return -1;
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\">\n",
		LEFT + WIDTH + RIGHT, height);
	fprintf(f, "<style>text { font: 11px sans-serif }</style>\n");
	fprintf(f, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
	fprintf(f, "<text x=\"%d\" y=\"22\">Messages per second, compared within a cell</text>\n",
		LEFT);
	groups(f, r, n);
	fprintf(f, "</svg>\n");
	err = ferror(f);
	if (fclose(f) || err) {
		errno = errno ?: EIO;
		return -1;
	}
	return 0;
}
