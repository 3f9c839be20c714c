// SPDX-License-Identifier: GPL-2.0
/* The lines between client and server: written, and read with suspicion. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"

void greeting_write(const struct greeting *g, char *line, size_t room)
{
	const struct about *a = &g->about;

	snprintf(line, room, "rds-bench %u %s %s %s %s %s %s %s", g->version, g->order, a->tool,
		 a->host, a->kernel, a->module[0], a->module[1], a->module[2]);
}

/* What other versions say behind their number is not looked at. */
bool greeting_read(const char *line, struct greeting *g)
{
	struct about *a = &g->about;

	memset(g, 0, sizeof(*g));
	if (sscanf(line, "rds-bench %u", &g->version) != 1)
		return false;
	return sscanf(line, "rds-bench %*u %2s %63s %63s %63s %63s %63s %63s", g->order, a->tool,
		      a->host, a->kernel, a->module[0], a->module[1], a->module[2]) == 7 ||
		g->version != CONTROL_VERSION;
}

/**
 * greeting_agree() - can these two work together?
 * @mine: what we have said
 * @other: what the other end has said
 * @why: why not
 * @room: bytes at @why
 *
 * Other commits of the program can, as long as they mean the same by what they say.
 *
 * Return: 0, or -1 with @why.
 */
int greeting_agree(const struct greeting *mine, const struct greeting *other, char *why,
		   size_t room)
{
	if (other->version != mine->version) {
		snprintf(why, room, "version differs: it speaks protocol %u, we speak %u",
			 other->version, mine->version);
		return -1;
	}
	if (strcmp(other->order, mine->order)) {
		snprintf(why, room, "byte order differs: it is %s, ours %s", other->order,
			 mine->order);
		return -1;
	}
	return 0;
}

void errand_write(const struct errand *e, char *line, size_t room)
{
	char cell[48], address[INET_ADDRSTRLEN];

	cell_words(&e->cell, cell, sizeof(cell));
	inet_ntop(AF_INET, &e->rx, address, sizeof(address));
	snprintf(line, room, "run %s %s %s %llx", e->proto, cell, address,
		 (unsigned long long)e->run);
}

int errand_read(const char *line, struct errand *e, char *why, size_t room)
{
	char cell[64], address[INET_ADDRSTRLEN];
	unsigned long long run;
	int end = -1;

	if (sscanf(line, "run %15s %63s %15s %llx%n", e->proto, cell, address, &run, &end) != 4 ||
	    end < 0 || line[end] || inet_pton(AF_INET, address, &e->rx) != 1) {
		snprintf(why, room, "'%.60s' cannot be understood", line);
		return -1;
	}
	e->run = run;
	return cell_parse(cell, &e->cell, why, room);
}

void counts_write(const struct counts *c, char *line, size_t room)
{
	unsigned int f;
	size_t at;

	at = snprintf(line, room, "counts %llu %llu %u", (unsigned long long)c->time,
		      (unsigned long long)c->ctxsw, c->n);
	for (f = 0; f < c->n && at < room; f++)
		at += snprintf(line + at, room - at, " %llu %llu",
			       (unsigned long long)c->flow[f].received,
			       (unsigned long long)c->flow[f].lost);
}

/* The next number of a line, behind one space. */
static bool take_number(const char **line, uint64_t *v)
{
	char *end;

	if (**line != ' ' || (*line)[1] < '0' || (*line)[1] > '9')
		return false;
	errno = 0;
	*v = strtoull(*line + 1, &end, 10);
	*line = end;
	return !errno;
}

bool counts_read(const char *line, struct counts *c)
{
	uint64_t n;
	unsigned int f;

	if (strncmp(line, "counts", 6))
		return false;
	line += 6;
	if (!take_number(&line, &c->time) || !take_number(&line, &c->ctxsw) ||
	    !take_number(&line, &n) || n > MAX_FLOWS)
		return false;
	c->n = n;
	for (f = 0; f < c->n; f++)
		if (!take_number(&line, &c->flow[f].received) ||
		    !take_number(&line, &c->flow[f].lost))
			return false;
	return !*line;
}

/* A word, and bytes as hexadecimal digits. */
void bytes_write(const char *word, const void *bytes, size_t len, char *line, size_t room)
{
	const unsigned char *b = bytes;
	size_t at = snprintf(line, room, "%s ", word), i;

	for (i = 0; i < len && at + 3 <= room; i++, at += 2)
		snprintf(line + at, room - at, "%02x", b[i]);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool bytes_read(const char *word, const char *line, void *bytes, size_t room, size_t *len)
{
	unsigned char *b = bytes;
	size_t n = strlen(word);

	if (strncmp(line, word, n) || line[n] != ' ')
		return false;
	for (line += n + 1, *len = 0; *line; line += 2) {
		if (*len == room || digit(line[0]) < 0 || digit(line[1]) < 0)
			return false;
		b[(*len)++] = digit(line[0]) << 4 | digit(line[1]);
	}
	return *len;
}
