/* SPDX-License-Identifier: GPL-2.0 */
/* What the command line asks for, beside the options that all files see. */
#ifndef RDS_BENCH_OPTIONS_H
#define RDS_BENCH_OPTIONS_H

#include "bench.h"

/* What is measured. */
struct plan {
	unsigned int ncells, nprotos;
	struct cell cells[MAX_CELLS];
	const struct proto *protos[MAX_PROTOS];
};

extern struct plan plan;

int parse_command_line(int argc, char **argv);
void plan_default_cells(bool rdma);

#endif
