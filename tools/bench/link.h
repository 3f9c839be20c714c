/* SPDX-License-Identifier: GPL-2.0 */
/* The TCP connection between client and server of rds-bench. */
#ifndef RDS_BENCH_LINK_H
#define RDS_BENCH_LINK_H

#include <stdbool.h>
#include <stdio.h>

struct link {
	FILE *in, *out;
};

int link_open(struct link *l, int fd);
void link_close(struct link *l);
void link_patience(const struct link *l, unsigned int seconds);
bool link_say(struct link *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool link_hear(struct link *l, char *line, size_t room);

#endif
