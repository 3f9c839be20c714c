// SPDX-License-Identifier: GPL-2.0
/* The words for a cell, in both directions. Pure code, for the unit test. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

const char * const work_names[NR_WORKS] = { "stream", "pingpong", "fanout", "fanin", "sockets",
					       "beside", "read", "write" };

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

/* A number, with K or M behind it, and where it ends. */
int parse_count(const char *text, char **end, unsigned int *value)
{
	unsigned long v;

	errno = 0;
	v = strtoul(text, end, 10);
	if (errno || *end == text || *text == '-' || v > UINT32_MAX >> 10)
		return -1;
	if (**end == 'K' || **end == 'M') {
		v <<= **end == 'K' ? 10 : 20;
		++*end;
	}
	if (v > UINT32_MAX)
		return -1;
	*value = v;
	return 0;
}

bool is_rdma(const struct cell *c)
{
	return c->work == READ || c->work == WRITE;
}

/* How many there may be of what the last number of a cell counts. */
static unsigned int most_of(enum work work)
{
	if (work == STREAM || work == BESIDE)
		return 1;
	return work == READ || work == WRITE ? MAX_IN_FLIGHT : MAX_FLOWS;
}

static bool parse_words(const char *text, struct cell *c)
{
	const char *slash = strchr(text, '/');
	char *end;
	int w;

	c->n = 1;
	for (w = 0; slash && w < NR_WORKS; w++)
		if (strlen(work_names[w]) == (size_t)(slash - text) &&
		    !strncmp(work_names[w], text, slash - text))
			break;
	c->work = w;
	return slash && w < NR_WORKS && !parse_count(slash + 1, &end, &c->size) &&
		(*end != '/' || !parse_count(end + 1, &end, &c->n)) && !*end;
}

/**
 * cell_parse() - understand the words for a cell
 * @text: such as stream/64 or fanin/64/16
 * @c: filled in
 * @why: what is wrong with it
 * @room: bytes at @why
 *
 * Return: 0, or -1 with @why.
 */
int cell_parse(const char *text, struct cell *c, char *why, size_t room)
{
	unsigned int most;

	if (!parse_words(text, c)) {
		snprintf(why, room, "'%.60s' is not a cell, like stream/64 or fanin/64/16", text);
		return -1;
	}
	most = most_of(c->work);
	if (c->size < MIN_SIZE || c->size > MAX_SIZE || c->size % 8) {
		snprintf(why, room, "%.60s: sizes go from %u to %u in steps of 8", text, MIN_SIZE,
			 MAX_SIZE);
		return -1;
	}
	if (c->n && c->n <= most)
		return 0;
	if (is_rdma(c))
		snprintf(why, room, "%.60s: 1 to %u operations can be under way", text, most);
	else
		snprintf(why, room, "%.60s: there can be 1 to %u peers, in and beside a stream 1",
			 text, MAX_FLOWS);
	return -1;
}
