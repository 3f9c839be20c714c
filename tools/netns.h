/* SPDX-License-Identifier: GPL-2.0 */
/* The network namespaces of the machine. */
#ifndef RDS_TOOLS_NETNS_H
#define RDS_TOOLS_NETNS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "holders.h"

/* A namespace that has a process or a name */
struct netns {
	ino_t	inode;
	int	fd;
	char	name[COMM_TEXT];	/* below /run/netns, or "" */
	pid_t	pid;			/* a process in it, or 0 */
	char	comm[COMM_TEXT];
};

const struct netns *list_netns(size_t *nr);
bool enter_netns(const struct netns *ns);

#endif /* RDS_TOOLS_NETNS_H */
