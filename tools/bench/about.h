/* SPDX-License-Identifier: GPL-2.0 */
/* What a figure is worth nothing without: where it was measured. */
#ifndef RDS_BENCH_ABOUT_H
#define RDS_BENCH_ABOUT_H

#define ABOUT_WORD	64
#define NR_MODULES	3

/* Words without spaces; a module that is not loaded is "-", one without a version "?". */
struct about {
	char tool[ABOUT_WORD], host[ABOUT_WORD], kernel[ABOUT_WORD];
	char module[NR_MODULES][ABOUT_WORD];
};

extern const char * const module_names[NR_MODULES];

void about_here(struct about *a);

#endif
