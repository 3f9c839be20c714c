// SPDX-License-Identifier: GPL-2.0
/* This host: its name, its kernel, the versions of what is measured. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../common.h"
#include "about.h"

const char * const module_names[NR_MODULES] = { "rds", "rds_tcp", "rds_rdma" };

/* They go as words of a line to the other host. */
static void set_word(char *to, const char *from)
{
	snprintf(to, ABOUT_WORD, "%s", *from ? from : "?");
	to[strcspn(to, "\n")] = '\0';
	for (; *to; to++)
		if (*to <= ' ' || *to == 0x7f)
			*to = '_';
}

static void module_version(const char *name, char *to)
{
	char path[96], line[ABOUT_WORD] = "?";
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	if (access(path, F_OK))
		line[0] = '-';
	snprintf(path, sizeof(path), "/sys/module/%s/version", name);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(line, sizeof(line), f))
			line[0] = '\0';
		fclose(f);
	}
	set_word(to, line);
}

void about_here(struct about *a)
{
	struct utsname u;
	int i;

	memset(&u, 0, sizeof(u));
	uname(&u);
	set_word(a->tool, RDS_VERSION);
	set_word(a->host, u.nodename);
	set_word(a->kernel, u.release);
	for (i = 0; i < NR_MODULES; i++)
		module_version(module_names[i], a->module[i]);
}
