/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading and writing sockaddrs: pure, the only place that looks into one.  Everything is
 * read once and copied out.
 */
#ifndef _RDS_SOCKADDR_H
#define _RDS_SOCKADDR_H

#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/types.h>

/**
 * struct rds_addr - an address as the core knows it
 * @ip: IPv6 or v4-mapped
 * @port: host order
 * @scope: interface index of a link-local address, else 0
 */
struct rds_addr {
	struct in6_addr ip;
	u16 port;
	u32 scope;
};

/**
 * enum rds_sa_verdict - what can be wrong with a sockaddr
 * @RDS_SA_OK: nothing
 * @RDS_SA_SHORT: no family, or shorter than the family's structure
 * @RDS_SA_FAMILY: neither IPv4 nor IPv6
 * @RDS_SA_V4_ANY: 0.0.0.0
 * @RDS_SA_V4_BAD: broadcast or multicast
 * @RDS_SA_V6_BAD: not unicast, or a bad IPv4 address in IPv6 clothes
 * @RDS_SA_V6_SCOPE: link-local without an interface
 * @RDS_SA_NR: number of verdicts
 *
 * Each system call has its own errno for it.
 */
enum rds_sa_verdict {
	RDS_SA_OK,
	RDS_SA_SHORT,
	RDS_SA_FAMILY,
	RDS_SA_V4_ANY,
	RDS_SA_V4_BAD,
	RDS_SA_V6_BAD,
	RDS_SA_V6_SCOPE,
	RDS_SA_NR
};

enum rds_sa_verdict rds_sockaddr_classify(const void *name, int len, struct rds_addr *out);
int rds_sockaddr_parse(const void *name, int len, struct rds_addr *out);
int rds_sockaddr_cancel(const void *name, size_t len, u32 scope, struct rds_addr *out);
int rds_sockaddr_fill(void *name, const struct rds_addr *a);	/* returns length */

#endif /* _RDS_SOCKADDR_H */
