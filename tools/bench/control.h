/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the client and the server of rds-bench say to each other, over TCP, in
 * lines of words:
 *
 * rds-bench 1 le VERSION ...	both, at once; or "busy PEER" by the server
 *
 * Then the client asks, and the server answers:
 *
 * run TRANSPORT CELL ADDRESS ID	ready VIA, then address HEX for each socket and
 *				key HEX for each region: the receivers are there
 * look				counts TIME SWITCHES N MESSAGES LOST ...
 * stop				done: the receivers have ended, and well
 * abort			done: they have been killed
 *
 * Instead of each answer there can be "failed WHY". Pure code, for the unit test.
 */
#ifndef RDS_BENCH_CONTROL_H
#define RDS_BENCH_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "about.h"
#include "bench.h"

/* Rises with each change of the lines above, of the messages, or of the noise in them. */
#define CONTROL_VERSION		1
#define CONTROL_PORT		4880
#define CONTROL_LINE		(MAX_FLOWS * 42 + 128)	/* the longest: all counts */

struct greeting {
	unsigned int version;
	char order[3];			/* of the bytes of a word: le or be */
	struct about about;
};

/* What the server is asked to receive. */
struct errand {
	char proto[16];
	struct cell cell;
	struct in_addr rx;
	uint64_t run;
};

struct counts {
	uint64_t time, ctxsw;
	unsigned int n;
	struct { uint64_t received, lost; } flow[MAX_FLOWS];
};

void greeting_write(const struct greeting *g, char *line, size_t room);
bool greeting_read(const char *line, struct greeting *g);
int greeting_agree(const struct greeting *mine, const struct greeting *other, char *why,
		   size_t room);
void errand_write(const struct errand *e, char *line, size_t room);
int errand_read(const char *line, struct errand *e, char *why, size_t room);
void counts_write(const struct counts *c, char *line, size_t room);
bool counts_read(const char *line, struct counts *c);
void bytes_write(const char *word, const void *bytes, size_t len, char *line, size_t room);
bool bytes_read(const char *word, const char *line, void *bytes, size_t room, size_t *len);

#endif
