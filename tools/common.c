// SPDX-License-Identifier: GPL-2.0
/* What rds-info and rds-ping share. */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <arpa/inet.h>
#include <net/if.h>

#include "common.h"

/* Return an RDS socket, or -1 after telling the user what is missing. */
int open_rds_socket(void)
{
	int fd = socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd >= 0)
		return fd;
	if (errno == EAFNOSUPPORT)
		warnx("no RDS sockets in this kernel; try 'modprobe rds_tcp'");
	else
		warn("cannot create an RDS socket");
	return -1;
}

/* Write an address; IPv4 ones, which the kernel keeps mapped, as IPv4. */
void format_in6(const struct in6_addr *in6, char *buf, size_t size)
{
	if (IN6_IS_ADDR_V4MAPPED(in6))
		inet_ntop(AF_INET, &in6->s6_addr[12], buf, size);
	else
		inet_ntop(AF_INET6, in6, buf, size);
}

/* Write a socket address without its port, with the link if it needs one. */
void format_address(const struct address *addr, char *buf, size_t size)
{
	char link[IF_NAMESIZE];
	size_t used;

	if (addr->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &addr->v4.sin_addr, buf, size);
		return;
	}
	format_in6(&addr->v6.sin6_addr, buf, size);
	used = strlen(buf);
	if (!addr->v6.sin6_scope_id)
		return;
	if (if_indextoname(addr->v6.sin6_scope_id, link))
		snprintf(buf + used, size - used, "%%%s", link);
	else
		snprintf(buf + used, size - used, "%%%u", addr->v6.sin6_scope_id);
}

/* True if both name the same host; ports and scopes do not matter. */
bool same_host(const struct address *a, const struct address *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family == AF_INET)
		return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
	return !memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof(struct in6_addr));
}

/* Print a JSON string; bytes outside ASCII are printed as their code. */
void print_json_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		unsigned char c = *s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}
