// SPDX-License-Identifier: GPL-2.0
/*
 * Which processes have a socket open: by its inode, as /proc tells. The list is
 * made when it is first asked for. Of processes of other users only root
 * learns it.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "holders.h"

static struct holder *holders;
static size_t nr_holders, room;
static bool known;

/* The name of a process; what a terminal would not like is replaced. */
void read_comm(pid_t pid, char *comm, size_t size)
{
	char path[64], *c;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(comm, size, f))
		snprintf(comm, size, "?");
	if (f)
		fclose(f);
	comm[strcspn(comm, "\n")] = '\0';
	for (c = comm; *c; c++)
		if (!isgraph((unsigned char)*c))
			*c = '_';
}

static void add(uint64_t inode, pid_t pid, const char *comm)
{
	struct holder *bigger;

	if (nr_holders == room) {
		room = room ? 2 * room : 256;
		bigger = reallocarray(holders, room, sizeof(*holders));
		if (!bigger) {
			perror("rds-info: processes are not listed");
			exit(1);
		}
		holders = bigger;
	}
	holders[nr_holders] = (struct holder){ .inode = inode, .pid = pid };
	snprintf(holders[nr_holders].comm, COMM_TEXT, "%s", comm);
	nr_holders++;
}

/* The sockets of one process, each once however often it has it. */
static void scan_process(pid_t pid)
{
	char path[64], link[64], comm[COMM_TEXT] = "";
	const size_t first = nr_holders;
	unsigned long long inode;
	struct dirent *entry;
	size_t i;
	ssize_t n;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		n = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
		if (n < 0)
			continue;
		link[n] = '\0';
		if (sscanf(link, "socket:[%llu]", &inode) != 1)
			continue;
		for (i = first; i < nr_holders && holders[i].inode != inode; i++)
			;
		if (i < nr_holders)
			continue;
		if (!*comm)
			read_comm(pid, comm, sizeof(comm));
		add(inode, pid, comm);
	}
	if (dir)
		closedir(dir);
}

static int by_inode(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void scan(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			scan_process(atoi(entry->d_name));
	if (dir)
		closedir(dir);
	if (nr_holders)
		qsort(holders, nr_holders, sizeof(*holders), by_inode);
	known = true;
}

/* The processes that have a socket open, by pid; valid until forget_holders(). */
const struct holder *find_holders(uint64_t inode, size_t *nr)
{
	size_t low = 0, high, middle;

	if (!known)
		scan();
	high = nr_holders;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (holders[middle].inode < inode)
			low = middle + 1;
		else
			high = middle;
	}
	for (*nr = 0; low + *nr < nr_holders && holders[low + *nr].inode == inode; ++*nr)
		;
	return holders + low;
}

void forget_holders(void)
{
	free(holders);
	holders = NULL;
	nr_holders = 0;
	room = 0;
	known = false;
}
