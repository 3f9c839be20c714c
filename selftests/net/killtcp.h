/* SPDX-License-Identifier: GPL-2.0 */
/* Destroys the TCP connections of RDS in the current namespace, by sock_diag. */
#ifndef RDS_KILLTCP_H
#define RDS_KILLTCP_H

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>

#include "../traffic_sock.h"

#define RDS_TCP_PORT	16385
#define NL_BUF		32768
#define MAX_KILLS	512

#ifndef SOCK_DESTROY
#define SOCK_DESTROY	21
#endif

struct diag_req {
	struct nlmsghdr n;
	struct inet_diag_req_v2 r;
};

struct targets {
	const struct ts_addr *only;	/* of this local address, or NULL */
	struct inet_diag_sockid id[MAX_KILLS];
	int family[MAX_KILLS];
	unsigned int n;
};

static inline int diag_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct timeval tv = { .tv_sec = 2 };

	if (fd < 0)
		ts_die("sock_diag");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	return fd;
}

static inline bool diag_from(const struct ts_addr *a, const struct inet_diag_msg *m)
{
	const struct sockaddr_in6 *v6 = (const void *)&a->ss;
	const struct sockaddr_in *v4 = (const void *)&a->ss;

	if (a->ss.ss_family != m->idiag_family)
		return false;
	if (a->ss.ss_family == AF_INET)
		return v4->sin_addr.s_addr == m->id.idiag_src[0];
	return !memcmp(&v6->sin6_addr, m->id.idiag_src, 16);
}

static inline void diag_note(struct targets *t, const struct inet_diag_msg *m)
{
	if (m->idiag_state == TCP_LISTEN || m->idiag_state == TCP_TIME_WAIT ||
	    m->idiag_state == TCP_CLOSE || t->n == MAX_KILLS ||
	    (ntohs(m->id.idiag_sport) != RDS_TCP_PORT &&
	     ntohs(m->id.idiag_dport) != RDS_TCP_PORT) ||
	    (t->only && !diag_from(t->only, m)))
		return;
	t->family[t->n] = m->idiag_family;
	t->id[t->n++] = m->id;
}

/* Note every RDS/TCP connection of the namespace and family. */
static inline void diag_list(int fd, int family, struct targets *t)
{
	struct diag_req q = {
		.n = { .nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.r = { .sdiag_family = family, .sdiag_protocol = IPPROTO_TCP,
		       .idiag_states = ~(1U << TCP_LISTEN) },
	};
	static char buf[NL_BUF];
	struct nlmsghdr *n;
	int len;

	if (send(fd, &q, sizeof(q), 0) < 0)
		ts_die("sock_diag send");
	for (;;) {
		len = recv(fd, buf, sizeof(buf), 0);
		if (len < 0)
			ts_die("sock_diag receive");
		for (n = (void *)buf; NLMSG_OK(n, (unsigned int)len);
		     n = NLMSG_NEXT(n, len)) {
			if (n->nlmsg_type == NLMSG_DONE ||
			    n->nlmsg_type == NLMSG_ERROR)
				return;
			diag_note(t, NLMSG_DATA(n));
		}
	}
}

static inline bool diag_kill(int fd, int family, const struct inet_diag_sockid *id)
{
	struct diag_req q = {
		.n = { .nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DESTROY,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.r = { .sdiag_family = family, .sdiag_protocol = IPPROTO_TCP,
		       .idiag_states = -1, .id = *id },
	};
	struct { struct nlmsghdr n; struct nlmsgerr e; char more[512]; } a;

	if (send(fd, &q, sizeof(q), 0) < 0 || recv(fd, &a, sizeof(a), 0) < 0)
		ts_die("SOCK_DESTROY");
	if (a.n.nlmsg_type == NLMSG_ERROR && a.e.error == -EOPNOTSUPP) {
		errno = EOPNOTSUPP;
		ts_die("this kernel cannot destroy sockets");
	}
	return a.n.nlmsg_type == NLMSG_ERROR && !a.e.error;
}

/* All of them, or those from one local address: how many. */
static inline unsigned int kill_all(int fd, const struct ts_addr *only)
{
	static struct targets t;
	unsigned int i, killed = 0;

	t.n = 0;
	t.only = only;
	if (!only || only->ss.ss_family == AF_INET)
		diag_list(fd, AF_INET, &t);
	if (!only || only->ss.ss_family == AF_INET6)
		diag_list(fd, AF_INET6, &t);
	for (i = 0; i < t.n; i++)
		killed += diag_kill(fd, t.family[i], &t.id[i]);
	return killed;
}

#endif
