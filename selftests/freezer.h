/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The freezer of control groups, which stops a process with what is no signal to it.
 */
#ifndef RDS_FREEZER_H
#define RDS_FREEZER_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "textfile.h"

#define FREEZER	"/sys/fs/cgroup/rds-freezer"

/* False on a kernel that has none. */
static inline bool freezer_open(void)
{
	mkdir(FREEZER, 0755);
	return !access(FREEZER "/cgroup.freeze", W_OK);
}

/* When who was in it has ended. */
static inline void freezer_close(void)
{
	rmdir(FREEZER);
}

static inline bool freezer_add(pid_t pid)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", pid);
	return put_text(FREEZER "/cgroup.procs", text);
}

static inline bool freezer_freeze(bool frozen)
{
	return put_text(FREEZER "/cgroup.freeze", frozen ? "1" : "0");
}

/* Do all that are in it stand still? */
static inline bool freezer_frozen(void)
{
	char text[128] = {};
	int fd = open(FREEZER "/cgroup.events", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	return n > 0 && strstr(text, "frozen 1");
}

#endif
