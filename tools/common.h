/* SPDX-License-Identifier: GPL-2.0 */
/* What the tools share. */
#ifndef RDS_TOOLS_COMMON_H
#define RDS_TOOLS_COMMON_H

#include <stdbool.h>
#include <sys/socket.h>
#include <netinet/in.h>

#ifndef AF_RDS
#define AF_RDS 21
#endif

/* Exit codes */
enum {
	EXIT_OK		= 0,
	EXIT_FAILED	= 1,	/* no answer, or not all that was asked for */
	EXIT_USAGE	= 2,	/* the command line makes no sense */
};

/* Any address, with the length that socket calls want for it */
struct address {
	union {
		struct sockaddr		any;
		struct sockaddr_in	v4;
		struct sockaddr_in6	v6;
	};
	socklen_t len;
};

#define ADDRESS_TEXT	(INET6_ADDRSTRLEN + IF_NAMESIZE + 1)

/* The build names it, see version.sh. */
#ifndef RDS_VERSION
#define RDS_VERSION "unknown"
#endif

void name_program(char **argv, const char *name);
void print_version(void);
int wrong_usage(void);
int finish_output(int code);
int open_rds_socket(void);
bool transport_loaded(void);
void format_in6(const struct in6_addr *in6, char *buf, size_t size);
void format_address(const struct address *addr, char *buf, size_t size);
bool same_host(const struct address *a, const struct address *b);
void print_json_string(const char *s);

#endif /* RDS_TOOLS_COMMON_H */
