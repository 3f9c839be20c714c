// SPDX-License-Identifier: GPL-2.0
/*
 * rdsns NS COMMAND...: run a command in a network namespace of ip-netns(8).
 *
 * What "ip netns exec" does but for /sys and /etc, which no test looks at: without the mounts,
 * and linked statically, it takes a third of the time, and the shell tests do this all day.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char path[256];
	int fd;

	if (argc < 3)
		errx(255, "usage: rdsns NS COMMAND...");
	snprintf(path, sizeof(path), "/run/netns/%s", argv[1]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		err(255, "namespace %s", argv[1]);
	execvp(argv[2], argv + 2);
	err(127, "%s", argv[2]);
}
