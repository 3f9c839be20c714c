// SPDX-License-Identifier: GPL-2.0
/*
 * The network namespaces of the machine: our own, those that have a name below
 * /run/netns, and those of all processes that we may look at. One that only a
 * descriptor keeps is not found.
 */
#include <ctype.h>
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "netns.h"

static struct netns *spaces;
static size_t nr_spaces;

/* The namespace behind a file, known or new; NULL if there is none. */
static struct netns *add(const char *path)
{
	struct netns *bigger;
	struct stat st;
	size_t i;
	int fd;

	if (stat(path, &st))
		return NULL;
	for (i = 0; i < nr_spaces; i++)
		if (spaces[i].inode == st.st_ino)
			return &spaces[i];
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		warn("cannot open the namespace %s", path);
		return NULL;
	}
	bigger = reallocarray(spaces, nr_spaces + 1, sizeof(*spaces));
	if (!bigger)
		err(1, "cannot list the namespaces");
	spaces = bigger;
	spaces[nr_spaces] = (struct netns){ .inode = st.st_ino, .fd = fd };
	return &spaces[nr_spaces++];
}

static void add_named(void)
{
	DIR *dir = opendir("/run/netns");
	struct dirent *entry;
	struct netns *ns;
	char path[512];

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/run/netns/%s", entry->d_name);
		ns = add(path);
		if (ns && !*ns->name)
			snprintf(ns->name, sizeof(ns->name), "%.*s",
				 (int)sizeof(ns->name) - 1, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

static void add_of_processes(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	struct netns *ns;
	char path[64];

	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/ns/net", atoi(entry->d_name));
		ns = add(path);
		if (ns && !ns->pid) {
			ns->pid = atoi(entry->d_name);
			read_comm(ns->pid, ns->comm, sizeof(ns->comm));
		}
	}
	if (dir)
		closedir(dir);
}

/* All that can be found, our own first. */
const struct netns *list_netns(size_t *nr)
{
	add("/proc/self/ns/net");
	add_named();
	add_of_processes();
	*nr = nr_spaces;
	return spaces;
}

bool enter_netns(const struct netns *ns)
{
	if (!setns(ns->fd, CLONE_NEWNET))
		return true;
	warn("cannot enter the network namespace %llu", (unsigned long long)ns->inode);
	return false;
}
