/* SPDX-License-Identifier: GPL-2.0 */
/* What main.c has to know about the address family. */
#ifndef _RDS_SOCKET_H
#define _RDS_SOCKET_H

struct rds_net;

int rds_socket_init(void);	/* the last step: from here on there are sockets */
void rds_socket_exit_net(struct rds_net *rn);
void rds_socket_stop(void);
void rds_socket_exit(void);

#endif /* _RDS_SOCKET_H */
