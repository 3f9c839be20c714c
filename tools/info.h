/* SPDX-License-Identifier: GPL-2.0 */
/* Sections of rds-info: from records of the kernel to rows of cells. */
#ifndef RDS_TOOLS_INFO_H
#define RDS_TOOLS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <netinet/in.h>

#define MAX_COLUMNS	19

enum column_kind {
	COL_TEXT,		/* a string in JSON, to the left in text */
	COL_NUMBER,
	COL_BOOL,
	COL_PROCESS,		/* the cell is an inode, shown is who has it open */
};

/*
 * A column of a section, as wide as its content. No title: JSON only. No key:
 * text only.
 */
struct column {
	const char		*title;
	const char		*key;
	enum column_kind	kind;
	bool			verbose_only;
	bool			named_only;	/* not beside all other sections: too wide */
};

/* One record of the kernel, ready to be printed */
struct row {
	struct in6_addr	local;
	char		cell[MAX_COLUMNS][INET6_ADDRSTRLEN];
};

struct section {
	char			option;
	int			source_v4;	/* 0: the v6 source lists all */
	int			source_v6;	/* 0: the v4 source is all there is */
	const char		*title;
	const char		*key;
	size_t			size_v4;
	size_t			size_v6;
	void			(*read_v4)(const void *record, struct row *row);
	void			(*read_v6)(const void *record, struct row *row);
	struct column		columns[MAX_COLUMNS];
};

/* In the order of the output; the last one has no option. */
extern const struct section sections[];

#endif /* RDS_TOOLS_INFO_H */
