/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every RDS socket test needs: addresses, bound sockets, messages with
 * control data, waiting with a deadline, info snapshots.
 *
 * Helpers return what the system call returns (-1 and errno) unless said
 * otherwise. RDS_REF=1 in the environment says that the in-tree module is
 * under test: see is_ref().
 */
#ifndef RDS_UTIL_H
#define RDS_UTIL_H

#define _GNU_SOURCE
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include <linux/rds.h>

#include "../slow.h"
#include "rds_netns.h"

#ifndef AF_RDS
#define AF_RDS 21
#endif
#ifndef SOL_RDS
#define SOL_RDS 276
#endif
#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY 60
#endif
#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY 0x4000000
#endif

#define RDS_TRANS_LOOP_ID 3	/* what getsockopt(SO_RDS_TRANSPORT) says */
#define DEF_BUF 106496		/* effective buffer of a new socket */
#define WAIT_MS (8000 * slow())	/* deadline of every wait for an event */

/* errno of a call, 0 when it succeeds */
#define ERR_OF(_call) ({ \
	long __ret; \
	errno = 0; \
	__ret = (long)(_call); \
	__ret == -1 ? errno : 0; \
})

/* The call must fail with this errno, nothing else. */
#define EXPECT_ERR(_errno, _call) EXPECT_EQ(_errno, ERR_OF(_call))

#define EXPECT_OK(_call) EXPECT_EQ(0, ERR_OF(_call))

#define ASSERT_FD(_fd) ASSERT_LE(0, (_fd))

#define SETUP_LOCAL() ASSERT_EQ(0, ns_local())
#define SETUP_PAIR() ASSERT_EQ(0, ns_pair())

/* The in-tree module is under test: deliberate differences do not apply. */
static inline bool is_ref(void)
{
	const char *s = getenv("RDS_REF");

	return s && *s == '1';
}

#define SKIP_REF(_why) do { \
	if (is_ref()) \
		SKIP(_exit(KSFT_SKIP), "in-tree module: %s", _why); \
} while (0)

/* A shell command: 0 if it succeeds. */
__attribute__((format(printf, 1, 2)))
static inline int run_cmd(const char *fmt, ...)
{
	char cmd[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	return system(cmd);
}

/* The number in a file of /proc or /sys, -1 if there is none. */
static inline long file_number(const char *path)
{
	FILE *f = fopen(path, "r");
	long n = -1;

	if (f && fscanf(f, "%ld", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static inline __s64 now_us(void)
{
	struct timespec ts;

	/* A test may make user copies fail, and this is one without the vDSO. */
	while (clock_gettime(CLOCK_MONOTONIC, &ts))
		;
	return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

static inline __s64 now_ms(void)
{
	return now_us() / 1000;
}

/*
 * For the least that a time-out of the kernel must last: it is counted in ticks, and when a guest
 * has just got no processor several of them come at once.  This clock goes with them.
 */
static inline __s64 tick_ms(void)
{
	struct timespec ts;

	while (clock_gettime(CLOCK_MONOTONIC_COARSE, &ts))
		;
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* addr is v4, v6 or v6%interface; NULL stands for AF_UNSPEC. */
static inline socklen_t mkaddr(struct sockaddr_storage *ss, const char *addr,
			       unsigned int port)
{
	struct sockaddr_in6 *sin6 = (void *)ss;
	struct sockaddr_in *sin = (void *)ss;
	char host[64], *scope;

	memset(ss, 0, sizeof(*ss));
	if (!addr)
		return sizeof(*sin);
	snprintf(host, sizeof(host), "%s", addr);
	scope = strchr(host, '%');
	if (scope)
		*scope++ = 0;
	if (inet_pton(AF_INET, host, &sin->sin_addr) == 1) {
		sin->sin_family = AF_INET;
		sin->sin_port = htons(port);
		return sizeof(*sin);
	}
	sin6->sin6_family = AF_INET6;
	sin6->sin6_port = htons(port);
	if (inet_pton(AF_INET6, host, &sin6->sin6_addr) != 1)
		abort();
	if (scope)
		sin6->sin6_scope_id = if_nametoindex(scope);
	return sizeof(*sin6);
}

static inline int rds_socket(void)
{
	return socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

static inline int rds_bind(int fd, const char *addr, unsigned int port)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, addr, port);

	return bind(fd, (void *)&ss, len);
}

static inline int rds_connect(int fd, const char *addr, unsigned int port)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, addr, port);

	return connect(fd, (void *)&ss, len);
}

/* A new bound socket, or -1. */
static inline int rds_bound(const char *addr, unsigned int port)
{
	int fd = rds_socket();

	if (fd >= 0 && rds_bind(fd, addr, port)) {
		int err = errno;

		close(fd);
		errno = err;
		return -1;
	}
	return fd;
}

/* The same in namespace rds_ns[n]; the caller ends in rds_ns[0]. */
static inline int rds_bound_in(int n, const char *addr, unsigned int port)
{
	int fd, err;

	if (ns_enter(rds_ns[n]))
		return -1;
	fd = rds_bound(addr, port);
	err = errno;
	if (ns_enter(rds_ns[0]))
		return -1;
	errno = err;
	return fd;
}

static inline unsigned int sa_port(const struct sockaddr_storage *ss)
{
	return ntohs(ss->ss_family == AF_INET6 ?
		     ((const struct sockaddr_in6 *)ss)->sin6_port :
		     ((const struct sockaddr_in *)ss)->sin_port);
}

static inline unsigned int port_of(int fd)
{
	struct sockaddr_storage ss = {};
	socklen_t len = sizeof(ss);

	return getsockname(fd, (void *)&ss, &len) ? 0 : sa_port(&ss);
}

static inline ssize_t send_to(int fd, const char *addr, unsigned int port,
			      const void *buf, size_t len, int flags)
{
	struct sockaddr_storage ss;
	socklen_t alen = mkaddr(&ss, addr, port);

	return sendto(fd, buf, len, flags, (void *)&ss, alen);
}

/* Sends with a ready control buffer; addr NULL: no name. */
static inline ssize_t send_ctl(int fd, const char *addr, unsigned int port,
			       const void *buf, size_t len, int flags,
			       void *ctl, size_t ctllen)
{
	struct sockaddr_storage ss;
	struct iovec iov = { (void *)buf, len };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = ctl, .msg_controllen = ctllen,
	};

	if (addr) {
		m.msg_namelen = mkaddr(&ss, addr, port);
		m.msg_name = &ss;
	}
	return sendmsg(fd, &m, flags);
}

struct ctl {
	size_t len;
	__u64 buf[128];
};

/* Appends a cmsg whose cmsg_len is CMSG_LEN(claim) but which holds dlen bytes. */
static inline void ctl_add_len(struct ctl *c, int level, int type,
			       const void *data, size_t dlen, size_t claim)
{
	struct cmsghdr *h = (void *)((char *)c->buf + c->len);

	memset(h, 0, CMSG_SPACE(dlen));
	h->cmsg_level = level;
	h->cmsg_type = type;
	h->cmsg_len = CMSG_LEN(claim);
	if (dlen)
		memcpy(CMSG_DATA(h), data, dlen);
	c->len += CMSG_SPACE(dlen);
}

static inline void ctl_add(struct ctl *c, int level, int type,
			   const void *data, size_t dlen)
{
	ctl_add_len(c, level, type, data, dlen, dlen);
}

static inline ssize_t send_cmsg(int fd, const char *addr, unsigned int port,
				const void *buf, size_t len, int flags,
				int type, const void *data, size_t dlen)
{
	struct ctl c = {};

	ctl_add(&c, SOL_RDS, type, data, dlen);
	return send_ctl(fd, addr, port, buf, len, flags, c.buf, c.len);
}

struct rx {
	ssize_t ret;
	int err;
	struct msghdr m;
	struct sockaddr_storage from;
	__u64 ctl[64];
};

static inline ssize_t rx_msg_ctl(int fd, void *buf, size_t len, int flags,
				 struct rx *rx, size_t ctllen)
{
	struct iovec iov = { buf, len };

	memset(rx, 0, sizeof(*rx));
	rx->m.msg_name = &rx->from;
	rx->m.msg_namelen = sizeof(rx->from);
	rx->m.msg_iov = &iov;
	rx->m.msg_iovlen = 1;
	rx->m.msg_control = ctllen ? rx->ctl : NULL;
	rx->m.msg_controllen = ctllen;
	errno = 0;
	rx->ret = recvmsg(fd, &rx->m, flags);
	rx->err = errno;
	return rx->ret;
}

static inline ssize_t rx_msg(int fd, void *buf, size_t len, int flags, struct rx *rx)
{
	return rx_msg_ctl(fd, buf, len, flags, rx, sizeof(rx->ctl));
}

static inline struct cmsghdr *rx_cmsg(struct rx *rx, int level, int type)
{
	struct cmsghdr *c;

	if (!rx->m.msg_controllen)
		return NULL;
	for (c = CMSG_FIRSTHDR(&rx->m); c; c = CMSG_NXTHDR(&rx->m, c))
		if (c->cmsg_level == level && c->cmsg_type == type)
			return c;
	return NULL;
}

static inline bool rx_from(const struct rx *rx, const char *addr, unsigned int port)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, addr, port);

	return rx->m.msg_namelen == len && !memcmp(&ss, &rx->from, len);
}

/* revents, 0 on timeout */
static inline int poll_for(int fd, int events, int ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	int n = poll(&p, 1, ms);

	return n < 0 ? -1 : n ? p.revents : 0;
}

/* Receives one message within the deadline: its length, or -1. */
static inline ssize_t recv_wait(int fd, void *buf, size_t len)
{
	__s64 end = now_ms() + WAIT_MS;
	ssize_t n;

	for (;;) {
		n = recv(fd, buf, len, MSG_DONTWAIT);
		if (n >= 0 || errno != EAGAIN || now_ms() > end)
			return n;
		poll_for(fd, POLLIN, 200);
	}
}

/*
 * A message is queued. Looks at the queue itself: POLLIN may have another
 * reason (in-tree: a map update of long ago, weakness 19).
 */
static inline bool wait_data(int fd)
{
	__s64 end = now_ms() + WAIT_MS;

	while (recv(fd, NULL, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT) < 0) {
		if (errno != EAGAIN || now_ms() > end)
			return false;
		poll_for(fd, POLLIN, 100);
	}
	return true;
}

/* Naps, and gives the ms by which it was too long because this guest did not run. */
static inline __s64 nap_late(unsigned int us)
{
	__s64 late = now_us();

	usleep(us);
	late = now_us() - late - us;
	return late > 20000 ? late / 1000 : 0;
}

/*
 * Repeats until true; gives up (false) after the deadline, which waits for as long as the guest
 * does not run.
 */
#define WAIT_UNTIL(_cond) ({ \
	__s64 __end = now_ms() + WAIT_MS; \
	bool __ok; \
	while (!(__ok = (_cond)) && now_ms() < __end) \
		__end += nap_late(2000); \
	__ok; \
})

/*
 * Messages from @a until the port of @b is congested, and then until @a is told that it is free.
 * Some may still be on their way when @b is drained, and congest it again.
 */
static inline bool congest_and_clear(int a, int b, void *buf, size_t size)
{
	return WAIT_UNTIL(send(a, buf, size, MSG_DONTWAIT) < 0 && errno == ENOBUFS) &&
	       WAIT_UNTIL(recv(b, buf, size, MSG_DONTWAIT) < 0 &&
			  POLLIN & poll_for(a, POLLIN, 0));
}

static inline int set_int(int fd, int level, int name, int val)
{
	return setsockopt(fd, level, name, &val, sizeof(val));
}

static inline int get_int(int fd, int level, int name)
{
	int val = -12345;
	socklen_t len = sizeof(val);

	return getsockopt(fd, level, name, &val, &len) ? -1 : val;
}

static inline int set_timeo(int fd, int name, int ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	return setsockopt(fd, SOL_SOCKET, name, &tv, sizeof(tv));
}

/* Writes net.rds.@name of the caller's namespace: 0 or a negative errno. */
static inline int net_sysctl(const char *name, long val)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/net/rds/%s", name);
	f = fopen(path, "w");
	if (!f)
		return -errno;
	fprintf(f, "%ld\n", val);
	return fclose(f) ? -errno : 0;
}

/*
 * A whole info snapshot: malloc'ed records in *buf, bytes in *len. Returns the
 * record size or -1.
 */
static inline int info_get(int fd, int opt, void **buf, socklen_t *len)
{
	int item;

	*buf = NULL;
	*len = 0;
	while ((item = getsockopt(fd, SOL_RDS, opt, *buf, len)) < 0) {
		if (errno != ENOSPC)
			break;
		free(*buf);
		*buf = malloc(*len);
		if (!*buf)
			abort();
	}
	return item;
}

/* Value of a counter, or -1 if there is none of that name. */
static inline __s64 counter(int fd, const char *name)
{
	struct rds_info_counter *c;
	__s64 val = -1;
	socklen_t len, i;
	void *buf;

	if (info_get(fd, RDS_INFO_COUNTERS, &buf, &len) == sizeof(*c)) {
		c = buf;
		for (i = 0; i < len / sizeof(*c); i++)
			if (!strncmp((char *)c[i].name, name, sizeof(c[i].name)))
				memcpy(&val, &c[i].value, sizeof(val));
	}
	free(buf);
	return val;
}

/* Messages with this local port in a message list (v6 option: all families). */
static inline int msgs_of_port(int fd, int opt, unsigned int port)
{
	struct rds6_info_message *m;
	socklen_t len, i;
	void *buf;
	int n = 0;

	if (info_get(fd, opt, &buf, &len) != sizeof(*m)) {
		free(buf);
		return -1;
	}
	m = buf;
	for (i = 0; i < len / sizeof(*m); i++)
		n += m[i].lport == htons(port);
	free(buf);
	return n;
}

/*
 * Is everything this socket sent acknowledged by now, and its room given back?  What was taken off
 * the lists is for a moment in neither; in-tree has no SIOCOUTQ.
 */
static inline bool acked(int fd)
{
	unsigned int port = port_of(fd);
	int left = 0;

	return !msgs_of_port(fd, RDS6_INFO_SEND_MESSAGES, port) &&
	       !msgs_of_port(fd, RDS6_INFO_RETRANS_MESSAGES, port) &&
	       (is_ref() || (!ioctl(fd, 0x5411 /* SIOCOUTQ */, &left) && !left));
}

/* The same, within the deadline. */
static inline bool all_acked(int fd)
{
	return WAIT_UNTIL(acked(fd));
}

/* Memory whose last byte is followed by an unmapped page (hazard A4). */
static inline void *guarded(size_t len)
{
	size_t pg = sysconf(_SC_PAGESIZE);
	size_t sz = (len + pg - 1) / pg * pg;
	char *p = mmap(NULL, sz + pg, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || munmap(p + sz, pg))
		abort();
	return p + sz - len;
}

/* An address that is never mapped in user space. */
#define BAD_PTR ((void *)8)

/* Runs fn(arg) in a child; 0..255 is its exit status, -1 trouble. */
static inline pid_t spawn(int (*fn)(void *), void *arg)
{
	pid_t pid = fork();

	if (!pid)
		_exit(fn(arg));
	return pid;
}

static inline int reap(pid_t pid)
{
	int st;

	if (waitpid(pid, &st, 0) != pid || !WIFEXITED(st))
		return -1;
	return WEXITSTATUS(st);
}

/* The process sleeps in the kernel. */
static inline bool sleeping(pid_t pid)
{
	char path[64], line[512], *p = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fgets(line, sizeof(line), f))
		p = strrchr(line, ')');
	fclose(f);
	return p && p[2] == 'S';
}

#endif
