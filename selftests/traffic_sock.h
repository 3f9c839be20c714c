/* SPDX-License-Identifier: GPL-2.0 */
/* Addresses, sockets and queue look-ups of rds-traffic and its relatives. */
#ifndef RDS_TRAFFIC_SOCK_H
#define RDS_TRAFFIC_SOCK_H

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/rds.h>

#ifndef AF_RDS
#define AF_RDS		21
#endif
#ifndef SOL_RDS
#define SOL_RDS		276
#endif
#ifndef SO_SNDBUFFORCE
#define SO_SNDBUFFORCE	32
#define SO_RCVBUFFORCE	33
#endif
#define TS_OUTQ		0x5411		/* SIOCOUTQ */

struct ts_addr {
	struct sockaddr_storage ss;
	socklen_t len;
};

static inline noreturn void ts_die(const char *fmt, ...)
{
	int err = errno;
	va_list ap;

	va_start(ap, fmt);
	fputs("rds-traffic: ", stderr);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	if (err)
		fprintf(stderr, ": %s", strerror(err));
	fputc('\n', stderr);
	exit(2);
}

static inline double ts_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* "10.0.0.1:4000" or "[fe80::1%eth0]:4000" */
static inline struct ts_addr ts_parse(const char *text)
{
	struct ts_addr a = { .len = sizeof(struct sockaddr_in) };
	struct sockaddr_in6 *v6 = (void *)&a.ss;
	struct sockaddr_in *v4 = (void *)&a.ss;
	char host[INET6_ADDRSTRLEN + IF_NAMESIZE + 2];
	const char *colon = strrchr(text, ':');
	char *scope;

	errno = 0;
	if (!colon || (size_t)(colon - text) >= sizeof(host))
		ts_die("'%s' is not ADDR:PORT", text);
	snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
	if (*host != '[') {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(atoi(colon + 1));
		if (inet_pton(AF_INET, host, &v4->sin_addr) != 1)
			ts_die("'%s' is not an IPv4 address", host);
		return a;
	}
	a.len = sizeof(*v6);
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(atoi(colon + 1));
	host[strlen(host) - 1] = '\0';
	scope = strchr(host, '%');
	if (scope) {
		*scope++ = '\0';
		v6->sin6_scope_id = if_nametoindex(scope);
		if (!v6->sin6_scope_id)
			ts_die("no interface '%s'", scope);
	}
	if (inet_pton(AF_INET6, host + 1, &v6->sin6_addr) != 1)
		ts_die("'%s' is not an IPv6 address", host + 1);
	return a;
}

/* The port sits at the same place in both families. */
static inline __u16 ts_port(const struct ts_addr *a)
{
	return ntohs(((const struct sockaddr_in *)&a->ss)->sin_port);
}

static inline struct ts_addr ts_port_add(struct ts_addr a, unsigned int n)
{
	((struct sockaddr_in *)&a.ss)->sin_port = htons(ts_port(&a) + n);
	return a;
}

static inline bool ts_same(const struct ts_addr *a, const struct ts_addr *b)
{
	const struct sockaddr_in6 *x6 = (const void *)&a->ss;
	const struct sockaddr_in6 *y6 = (const void *)&b->ss;
	const struct sockaddr_in *x = (const void *)&a->ss;
	const struct sockaddr_in *y = (const void *)&b->ss;

	if (a->ss.ss_family != b->ss.ss_family || x->sin_port != y->sin_port)
		return false;
	if (a->ss.ss_family == AF_INET)
		return x->sin_addr.s_addr == y->sin_addr.s_addr;
	return !memcmp(&x6->sin6_addr, &y6->sin6_addr, 16);
}

static inline const char *ts_show(const struct ts_addr *a)
{
	static char out[4][INET6_ADDRSTRLEN + 16];
	static unsigned int turn;
	char *o = out[turn++ % 4], host[INET6_ADDRSTRLEN] = "?";

	if (a->ss.ss_family == AF_INET6) {
		inet_ntop(AF_INET6,
			  &((const struct sockaddr_in6 *)&a->ss)->sin6_addr,
			  host, sizeof(host));
		snprintf(o, sizeof(out[0]), "[%s]:%u", host, ts_port(a));
	} else {
		inet_ntop(AF_INET,
			  &((const struct sockaddr_in *)&a->ss)->sin_addr,
			  host, sizeof(host));
		snprintf(o, sizeof(out[0]), "%s:%u", host, ts_port(a));
	}
	return o;
}

/* What root may force and others must ask for. */
static inline void ts_buf(int fd, int force, int opt, int bytes)
{
	if (bytes && setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof(bytes)) &&
	    setsockopt(fd, SOL_SOCKET, opt, &bytes, sizeof(bytes)))
		ts_die("cannot set a buffer to %d bytes", bytes);
}

static inline int ts_socket(const struct ts_addr *a, int sndbuf, int rcvbuf)
{
	int fd = socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		ts_die("socket(AF_RDS)");
	ts_buf(fd, SO_SNDBUFFORCE, SO_SNDBUF, sndbuf);
	ts_buf(fd, SO_RCVBUFFORCE, SO_RCVBUF, rcvbuf);
	if (bind(fd, (const struct sockaddr *)&a->ss, a->len))
		ts_die("bind %s", ts_show(a));
	return fd;
}

/* Records of info option @opt, or NULL when there are none. */
static inline void *ts_info(int fd, int opt, size_t *size, size_t *bytes)
{
	socklen_t len = 0;
	char *buf = NULL;
	int rc;

	for (;;) {
		rc = getsockopt(fd, SOL_RDS, opt, buf ? buf : (char *)&rc,
				&len);
		if (rc >= 0 || errno != ENOSPC)
			break;
		len += 4096;
		free(buf);
		buf = calloc(1, len);
		if (!buf)
			ts_die("no memory");
	}
	*size = rc > 0 ? rc : 0;
	*bytes = buf && rc > 0 ? len : 0;
	return buf;
}

/* Messages of the port still queued or unacknowledged, as the kernel lists. */
static inline unsigned int ts_listed(int fd, __u16 port)
{
	static const int opts[] = {
		RDS6_INFO_SEND_MESSAGES, RDS6_INFO_RETRANS_MESSAGES
	};
	const struct rds6_info_message *m;
	unsigned int i, found = 0;
	size_t size, bytes, at;
	char *buf;

	for (i = 0; i < 2; i++) {
		buf = ts_info(fd, opts[i], &size, &bytes);
		for (at = 0; size && at + size <= bytes; at += size) {
			m = (const void *)(buf + at);
			found += ntohs(m->lport) == port;
		}
		free(buf);
	}
	return found;
}

/**
 * ts_drained() - has everything this socket sent been acknowledged?
 * @fd: the socket
 * @port: its port
 *
 * In-tree modules have no SIOCOUTQ, there the lists of messages must do.
 *
 * Return: true when nothing is left
 */
static inline bool ts_drained(int fd, __u16 port)
{
	int left;

	if (!ioctl(fd, TS_OUTQ, &left))
		return !left;
	return !ts_listed(fd, port);
}

#endif
