// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=300 ref=0 expect="kmemleak:.*suspected" lanes=uml */
/*
 * A socket's life, its options and its questions: every fault point of every
 * call. What failed can be done again, and left nothing behind (E12, E18, I3).
 */
#include "step.h"

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/select.h>

/* ---- create, bind, connect, names, close ----------------------------------- */

static int c_socket(void)
{
	return x.s = rds_socket();
}

static void d_close(int ret, int err)
{
	if (x.s >= 0)
		close(x.s);
	x.s = -1;
}

/* Descriptors differ from the first try to the next: only success counts. */
static int c_socket_ok(void)
{
	return c_socket() < 0 ? -1 : 0;
}

static struct sockaddr_storage bind_ss;
static socklen_t bind_len;

static void p_bind_port(unsigned int port)
{
	x.s = rds_socket();
	bind_len = mkaddr(&bind_ss, x.aaddr, port);
}

static void p_bind_any(void)
{
	p_bind_port(0);
}

static void p_bind(void)
{
	p_bind_port(6000);
}

static void p_bind_tcp(void)
{
	p_bind_port(6000);
	if (set_int(x.s, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP))
		WRONG("SO_RDS_TRANSPORT");
}

static int c_bind(void)
{
	return bind(x.s, (void *)&bind_ss, bind_len);
}

/* A bind that failed left the port free and the socket unbound. */
static void d_bind(int ret, int err)
{
	if (ret < 0 && c_bind())
		WRONG("cannot bind after a bind that failed: %m");
	d_close(0, 0);
}

static int c_connect(void)
{
	return connect(x.a, (void *)&x.bss, x.blen);
}

static int c_sockname(void)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	return getsockname(x.a, (void *)&ss, &len);
}

static int c_peername(void)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	return getpeername(x.a, (void *)&ss, &len);
}

/* A socket with messages sent, messages queued for nobody, and messages unread. */
static void p_full(void)
{
	struct sockaddr_storage ss;
	char b[3000];
	socklen_t len;
	int i;

	x.s = rds_bound(x.aaddr, 6001);
	len = mkaddr(&ss, strchr(x.aaddr, '%') ? "fe80::77:1%eth0" :
		     strchr(x.aaddr, ':') ? "fd00:1::77:1" : "10.1.77.1", 7);
	memset(b, 1, sizeof(b));
	for (i = 0; i < 3; i++)
		if (sendto(x.s, b, sizeof(b), 0, (void *)&ss, len) < 0 ||
		    send_to(x.s, x.aaddr, 6001, b, sizeof(b), 0) < 0)
			WRONG("cannot fill a socket: %m");
	if (x.s < 0 || !wait_data(x.s))
		WRONG("nothing to read before close");
}

static int c_close(void)
{
	int ret = close(x.s);

	x.s = -1;
	return ret;
}

/* The port is free again at once. */
static void d_port_free(int ret, int err)
{
	x.s = rds_bound(x.aaddr, 6001);
	if (x.s < 0)
		WRONG("the port of a closed socket: %m");
	d_close(0, 0);
}

static int c_shutdown(void)
{
	return shutdown(x.a, SHUT_RDWR);
}

static int c_accept(void)
{
	return accept(x.a, NULL, NULL);
}

static const struct step life[] = {
	{ "socket", NULL, c_socket_ok, 4, .done = d_close },
	{ "bind, any port", p_bind_any, c_bind, 2, .done = d_bind },
	{ "bind", p_bind, c_bind, 2, .kmemleak = 1, .done = d_bind },
	{ "bind, transport chosen", p_bind_tcp, c_bind, 2, .kmemleak = 1, .done = d_bind,
	  .tcp_only = true },
	{ "connect", NULL, c_connect, 1 },
	{ "getsockname", NULL, c_sockname, 1 },
	{ "getpeername", NULL, c_peername, 1 },
	{ "close", p_full, c_close, 0, .done = d_port_free },
	{ "shutdown", NULL, c_shutdown, 0 },
	{ "accept", NULL, c_accept, 0 },
};

/* ---- poll, ioctl ------------------------------------------------------------- */

static int c_poll(void)
{
	struct pollfd p[20];
	int i;

	/* More than fit on the kernel's stack. */
	for (i = 0; i < 20; i++)
		p[i] = (struct pollfd){ .fd = i % 2 ? x.a : x.b, .events = POLLIN | POLLOUT };
	return poll(p, 20, 0);
}

static int c_select(void)
{
	struct timeval tv = {};
	fd_set r, w;

	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_SET(x.a, &r);
	FD_SET(x.a, &w);
	return select(x.a + 1, &r, &w, NULL, &tv);
}

static int ep = -1;

static int c_epoll(void)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT };
	int n;

	ep = epoll_create1(EPOLL_CLOEXEC);
	if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, x.a, &e))
		return -1;
	n = epoll_wait(ep, &e, 1, 0);
	if (n < 0 || epoll_ctl(ep, EPOLL_CTL_DEL, x.a, NULL))
		return -1;
	return n;
}

static void d_epoll(int ret, int err)
{
	if (ep >= 0)
		close(ep);
	ep = -1;
}

static unsigned int ioctl_nr;

static int c_ioctl(void)
{
	__u64 v = 0;

	return ioctl(x.a, ioctl_nr, &v);
}

static void p_inq(void)
{
	ioctl_nr = SIOCINQ;
}

static void p_outq(void)
{
	ioctl_nr = SIOCOUTQ;
}

static void p_settos(void)
{
	ioctl_nr = SIOCRDSSETTOS;
}

static void p_gettos(void)
{
	ioctl_nr = SIOCRDSGETTOS;
}

static const struct step waits[] = {
	{ "poll", NULL, c_poll, 1 },
	{ "select", NULL, c_select, 2 },
	{ "epoll", NULL, c_epoll, 4, .done = d_epoll },
	{ "SIOCINQ", p_inq, c_ioctl },
	{ "SIOCOUTQ", p_outq, c_ioctl },
	{ "SIOCRDSSETTOS", p_settos, c_ioctl },
	{ "SIOCRDSGETTOS", p_gettos, c_ioctl },
};

/* ---- options ------------------------------------------------------------------- */

static const struct opt {
	int level, name;
	const char *text;
	socklen_t len;		/* of the argument for setsockopt */
	int val;
} sets[] = {
	{ SOL_RDS, RDS_GET_MR, "RDS_GET_MR", sizeof(struct rds_get_mr_args) },
	{ SOL_RDS, RDS_GET_MR_FOR_DEST, "RDS_GET_MR_FOR_DEST",
	  sizeof(struct rds_get_mr_for_dest_args) },
	{ SOL_RDS, RDS_FREE_MR, "RDS_FREE_MR", sizeof(struct rds_free_mr_args) },
	{ SOL_RDS, RDS_RECVERR, "RDS_RECVERR", 4, 1 },
	{ SOL_RDS, RDS_CONG_MONITOR, "RDS_CONG_MONITOR", 4, 1 },
	{ SOL_RDS, RDS_CONG_MONITOR, "RDS_CONG_MONITOR off", 4, 0 },
	{ SOL_RDS, SO_RDS_TRANSPORT, "SO_RDS_TRANSPORT", 4, RDS_TRANS_TCP },
	{ SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, "SO_RDS_MSG_RXPATH_LATENCY",
	  sizeof(struct rds_rx_trace_so), 0 },
	{ SOL_RDS, SO_TIMESTAMP, "SO_TIMESTAMP at SOL_RDS", 4, 0 },
	{ SOL_SOCKET, SO_SNDBUFFORCE, "SO_SNDBUFFORCE", 4, ROOM },
	{ SOL_SOCKET, SO_RCVBUFFORCE, "SO_RCVBUFFORCE", 4, ROOM },
	{ SOL_SOCKET, SO_ZEROCOPY, "SO_ZEROCOPY", 4, 1 },
	{ SOL_SOCKET, SO_TIMESTAMP, "SO_TIMESTAMP", 4, 0 },
	{ SOL_SOCKET, SO_LINGER, "SO_LINGER", sizeof(struct linger), 0 },
	{ SOL_SOCKET, SO_SNDTIMEO, "SO_SNDTIMEO", sizeof(struct timeval), 8 },
}, gets[] = {
	{ SOL_RDS, RDS_RECVERR, "RDS_RECVERR" },
	{ SOL_RDS, SO_RDS_TRANSPORT, "SO_RDS_TRANSPORT" },
	{ SOL_SOCKET, SO_SNDBUF, "SO_SNDBUF" },
	{ SOL_SOCKET, SO_TYPE, "SO_TYPE" },
	{ SOL_SOCKET, SO_MEMINFO, "SO_MEMINFO" },
	{ SOL_RDS, RDS_INFO_PATHS, "RDS_INFO_PATHS" },
};

static struct opt opt;
static socklen_t room;

static int c_setopt(void)
{
	char arg[64] = {};

	memcpy(arg, &opt.val, sizeof(opt.val));
	return setsockopt(x.a, opt.level, opt.name, arg, opt.len);
}

static int c_getopt(void)
{
	socklen_t len = room;

	return getsockopt(x.a, opt.level, opt.name, in, &len);
}

/* Sum of the fault points, or -1. */
static int all_sets(void)
{
	struct step s = { NULL, NULL, c_setopt, 1 };
	int i, n, sum = 0;

	for (i = 0; i < ARRAY_SIZE(sets); i++) {
		opt = sets[i];
		s.name = opt.text;
		/* The state of the socket is looked at before the argument. */
		s.least = opt.name != SO_RDS_TRANSPORT;
		n = steps_all(&s, 1);
		if (n < 0)
			return -1;
		sum += n;
	}
	return sum;
}

/* No message under way, or an answer would differ from the next. */
static void p_quiet(void)
{
	if (!all_acked(x.a) || !all_acked(x.b))
		WRONG("messages are not acknowledged");
}

static int get_all_sizes(const char *text)
{
	/* Room for everything, for one byte, and for nothing. */
	static const socklen_t rooms[] = { sizeof(in), 1, 0 };
	struct step s = { text, NULL, c_getopt };
	int i, n, sum = 0;

	if (opt.name == RDS_INFO_SEND_MESSAGES || opt.name == RDS6_INFO_SEND_MESSAGES ||
	    opt.name == RDS_INFO_RETRANS_MESSAGES || opt.name == RDS6_INFO_RETRANS_MESSAGES)
		s.prep = p_quiet;
	for (i = 0; i < ARRAY_SIZE(rooms); i++) {
		room = rooms[i];
		n = steps_all(&s, 1);
		if (n < 0)
			return -1;
		sum += n;
	}
	return sum;
}

static int all_gets(void)
{
	char text[32];
	int i, n, sum = 0;

	for (i = 0; i < ARRAY_SIZE(gets); i++) {
		opt = gets[i];
		n = get_all_sizes(opt.text);
		if (n < 0)
			return -1;
		sum += n;
	}
	for (i = RDS_INFO_FIRST; i <= RDS_INFO_LAST; i++) {
		opt = (struct opt){ SOL_RDS, i };
		snprintf(text, sizeof(text), "info %d", i);
		n = get_all_sizes(text);
		if (n < 0)
			return -1;
		sum += n;
	}
	return sum;
}

/* ---- cancel, settings ------------------------------------------------------------ */

static struct sockaddr_storage far_ss;
static socklen_t far_len;

static void p_cancel(void)
{
	far_len = mkaddr(&far_ss, strchr(x.aaddr, '%') ? "fe80::77:2%eth0" :
			 strchr(x.aaddr, ':') ? "fd00:1::77:2" : "10.1.77.2", 7);
	if (sendto(x.a, out, 5000, 0, (void *)&far_ss, far_len) < 0)
		WRONG("nothing to cancel: %m");
}

static int c_cancel(void)
{
	return setsockopt(x.a, SOL_RDS, RDS_CANCEL_SENT_TO, &far_ss, far_len);
}

static void d_cancel(int ret, int err)
{
	int left = msgs_of_port(x.a, RDS6_INFO_SEND_MESSAGES, DUO_A);
	int kept = ret < 0;

	if (!x.loop && left != kept)
		WRONG("%d messages left, cancel said %d", left, ret);
	if (ret < 0 && c_cancel())
		WRONG("cancel after a cancel that failed: %m");
}

static const struct step cancels[] = {
	{ "cancel", p_cancel, c_cancel, 1, .done = d_cancel },
};

/* Writing the buffer sizes resets the links, in the middle of all this. */
static const char *sysctl_path;
static int sysctl_fd = -1;

static void p_sysctl(void)
{
	sysctl_fd = open(sysctl_path, O_RDWR | O_CLOEXEC);
	if (sysctl_fd < 0)
		WRONG("%s: %m", sysctl_path);
}

static int c_sysctl(void)
{
	char b[64];

	if (pread(sysctl_fd, b, sizeof(b), 0) < 0)
		return -1;
	return pwrite(sysctl_fd, "20000", 5, 0);
}

static void d_sysctl(int ret, int err)
{
	close(sysctl_fd);
}

static int all_sysctls(void)
{
	static const char * const path[] = {
		"/proc/sys/net/rds/max_conns",
		"/proc/sys/net/rds/idle_conn_timeout_ms",
		"/proc/sys/net/rds/tcp/rds_tcp_sndbuf",
		"/proc/sys/net/rds/tcp/rds_tcp_rcvbuf",
	};
	struct step s = { NULL, p_sysctl, c_sysctl, 4, .done = d_sysctl };
	int i, n, sum = 0;

	for (i = 0; i < ARRAY_SIZE(path); i++) {
		sysctl_path = path[i];
		s.name = path[i];
		n = steps_all(&s, 1);
		if (n < 0)
			return -1;
		sum += n;
	}
	return sum;
}

/* ------------------------------------------------------------------------------------ */

TEST_F_TIMEOUT(duo, life__fail_nth, 120)
{
	RUN_STEPS(steps_all(life, ARRAY_SIZE(life)));
}

TEST_F_TIMEOUT(duo, waits__fail_nth, 120)
{
	RUN_STEPS(steps_all(waits, ARRAY_SIZE(waits)));
}

TEST_F_TIMEOUT(duo, cancel__fail_nth, 120)
{
	RUN_STEPS(steps_all(cancels, ARRAY_SIZE(cancels)));
}

TEST_F_TIMEOUT(duo, setsockopt__fail_nth, 120)
{
	RUN_STEPS(all_sets());
}

TEST_F_TIMEOUT(duo, getsockopt__fail_nth, 120)
{
	RUN_STEPS(all_gets());
}

TEST_F_TIMEOUT(duo, sysctl__fail_nth, 120)
{
	RUN_STEPS(all_sysctls());
}

#include "leaks.h"

TEST_HARNESS_MAIN
