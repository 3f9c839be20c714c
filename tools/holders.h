/* SPDX-License-Identifier: GPL-2.0 */
/* Which processes have a socket open: by its inode, as /proc tells. */
#ifndef RDS_TOOLS_HOLDERS_H
#define RDS_TOOLS_HOLDERS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define COMM_TEXT	64

/* One open descriptor of a socket */
struct holder {
	uint64_t	inode;
	pid_t		pid;
	char		comm[COMM_TEXT];
};

void read_comm(pid_t pid, char *comm, size_t size);
const struct holder *find_holders(uint64_t inode, size_t *nr);
void forget_holders(void);

#endif /* RDS_TOOLS_HOLDERS_H */
