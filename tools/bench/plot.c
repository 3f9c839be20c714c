// SPDX-License-Identifier: GPL-2.0
/*
 * A picture of the summary, as SVG: for each cell one bar for each transport, as
 * long as its rate, the median of the rounds, is in proportion to the best of the
 * cell. A line across its end goes from the least to the most of the rounds.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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

static void bar(FILE *f, unsigned int y, const struct summary *s, double best)
{
	double scale = WIDTH / best, end = LEFT + s->rate.most * scale;
	double middle = y + (BAR - 2) / 2.0;

	fprintf(f, "<rect x=\"%d\" y=\"%u\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", LEFT, y,
		s->rate.median * scale, BAR - 2, colours[(s->proto - protos) % 8]);
	if (s->rate.n > 1)
		fprintf(f, "<path d=\"M%.1f,%.1f H%.1f\" stroke=\"black\"/>\n",
			LEFT + s->rate.least * scale, middle, end);
	fprintf(f, "<text x=\"%.1f\" y=\"%u\">%s %.*f</text>\n", end + 5, y + BAR - 4,
		s->proto->name, s->rate.median < 1000 ? 1 : 0, s->rate.median);
}

/* Return: where the next cell begins. */
static unsigned int group(FILE *f, unsigned int y, const struct result *r, unsigned int n,
			  const struct cell *c)
{
	struct summary s[MAX_PROTOS];
	unsigned int k, top = y;
	double best = 0;
	char cell[48];

	for (k = 0; k < nr_protos; k++) {
		summarize(r, n, &protos[k], c, &s[k]);
		if (s[k].rate.n && s[k].rate.most > best)
			best = s[k].rate.most;
	}
	for (k = 0; k < nr_protos; k++) {
		if (!s[k].rate.n || best <= 0)
			continue;
		if (f)
			bar(f, y, &s[k], best);
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
 * plot_open() - the file of the picture, before anything is measured for it
 * @path: where
 *
 * What is there stays until there is a new picture.
 *
 * Return: the file, or NULL with errno.
 */
FILE *plot_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	return fd < 0 ? NULL : fdopen(fd, "w");
}

/**
 * plot_svg() - write the picture, and close its file
 * @f: the file
 * @r: results
 * @n: how many
 *
 * Return: 0, or -1 with errno.
 */
int plot_svg(FILE *f, const struct result *r, unsigned int n)
{
	unsigned int height = groups(NULL, r, n), width = LEFT + WIDTH + RIGHT;
	int err;

	/* of a pipe or a terminal nothing can be cut off */
	if (ftruncate(fileno(f), 0) && errno != EINVAL)
		return -1;
	fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\"", width,
		height);
	fprintf(f, " viewBox=\"0 0 %u %u\">\n", width, height);
	fprintf(f, "<title>rds-bench: messages per second</title>\n");
	fprintf(f, "<style>text { font: 11px sans-serif }</style>\n");
	fprintf(f, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
	fprintf(f, "<text x=\"%d\" y=\"22\">", LEFT);
	fprintf(f, "Messages (round trips) per second, compared within a cell");
	if (opt.repeat > 1)
		fprintf(f, "; median, least and most of %u rounds", opt.repeat);
	fprintf(f, "</text>\n");
	groups(f, r, n);
	fprintf(f, "</svg>\n");
	err = ferror(f);
	if (fclose(f) || err) {
		errno = errno ?: EIO;
		return -1;
	}
	return 0;
}
