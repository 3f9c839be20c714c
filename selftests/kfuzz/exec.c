// SPDX-License-Identifier: GPL-2.0
/*
 * The calls. Each result is looked at: an errno that is none, more bytes than
 * asked for, a write behind a buffer are complaints.
 */
#include "kfuzz.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/time.h>
#include <sys/wait.h>

#define CANARY	0x5a

atomic_int slots[NR_SLOTS];
atomic_int complaints;
atomic_int regions, operations, notes;

void complain(const char *fmt, ...)
{
	va_list ap;

	if (atomic_fetch_add(&complaints, 1) > 20)
		return;
	printf("# complaint: ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

/* The fault of the present call of this thread, 0 = none. */
static __thread struct thread *self;
static __thread int fault_nth;

static void arm(struct thread *t, int nth)
{
	char s[16];
	int n = snprintf(s, sizeof(s), "%d", nth), i;

	/* the write is itself a place where the fault may hit */
	for (i = 0; i < 10 && pwrite(t->fail_fd, s, n, 0) != n; i++)
		;
}

/*
 * Ends the wait of a thread by a signal. The fault goes first and does not come back
 * before the signal has: it would hit the frame of the signal, and that is the end.
 */
void exec_poke(struct thread *t, pthread_t id)
{
	pthread_mutex_lock(&t->arming);
	if (t->fail_fd >= 0) {
		atomic_store(&t->poked, 1);
		arm(t, 0);
	}
	pthread_kill(id, SIGUSR1);
	pthread_mutex_unlock(&t->arming);
}

static void on_poke(int sig)
{
	if (self)
		atomic_store(&self->poked, 0);
}

/* For each of the two threads. */
void exec_init(struct thread *t)
{
	struct sigaction act = { .sa_handler = on_poke };

	self = t;
	sigaction(SIGUSR1, &act, NULL);
}

static void set_fault(void)
{
	pthread_mutex_lock(&self->arming);
	if (!atomic_load(&self->poked))
		arm(self, fault_nth);
	pthread_mutex_unlock(&self->arming);
}

static long check(const char *name, long ret)
{
	int err = errno;

	if (fault_nth)
		arm(self, 0);
	if (ret < 0 && (err <= 0 || err > 133))
		complain("%s: errno %d is for the kernel only", name, err);
	return ret;
}

/* Every call goes through here: only the kernel meets the fault, not our own page faults. */
#define seen(_name, _call) ({			\
	if (fault_nth)				\
		set_fault();			\
	check(_name, (_call));			\
})

static void put_slot(int slot, int fd)
{
	int old = atomic_exchange(&slots[slot % NR_SLOTS], fd);

	if (old >= 0)
		seen("close", close(old));
}

/* A socket whose waits end. */
int exec_socket(void)
{
	struct timeval tv = { .tv_usec = 4000 };
	int fd = seen("socket", socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)), on = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on));
	return fd;
}

static void do_socket(int slot, const u8 *b)
{
	static const int types[] = { SOCK_SEQPACKET, SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, 77 };
	int fd;

	if (b[0] < 192) {
		put_slot(b[1] % 2 ? b[1] : slot, exec_socket());
		return;
	}
	fd = seen("socket", socket(AF_RDS, types[b[1] % ARRAY_SIZE(types)] |
				   (b[2] & 1 ? SOCK_NONBLOCK : 0), b[3] & 3));
	if (fd >= 0)
		close(fd);
}

static int send_flags(u8 b)
{
	static const int flags[] = {
		0, MSG_DONTWAIT, MSG_ZEROCOPY, MSG_ZEROCOPY | MSG_DONTWAIT, MSG_NOSIGNAL,
		MSG_EOR, MSG_MORE, MSG_OOB, MSG_PEEK, MSG_DONTWAIT | MSG_NOSIGNAL, MSG_TRUNC,
		MSG_CONFIRM, MSG_DONTROUTE, MSG_ERRQUEUE, 0x80000, 0x8000000,
	};

	/* over verbs zero copy is refused */
	return flags[b < 200 ? b % (verbs ? 2 : 4) : b % ARRAY_SIZE(flags)];
}

struct msg {
	struct msghdr h;
	struct iovec iov[3];
	struct sockaddr_storage ss;
	char ctl[1024];
	size_t len;
};

/* Uses b[1..11]. */
static void send_prepare(struct thread *t, const u8 *b, struct msg *m)
{
	memset(&m->h, 0, sizeof(m->h));
	if (b[1] & 1) {
		m->h.msg_name = &m->ss;
		m->h.msg_namelen = arg_addr(t, b + 2, &m->ss);
	}
	m->len = arg_size(b[5]);
	m->h.msg_iov = m->iov;
	m->h.msg_iovlen = arg_iov(b + 6, t->out, m->len, m->iov);
	m->h.msg_controllen = arg_control(t, b + 7, m->ctl, sizeof(m->ctl));
	m->h.msg_control = m->ctl;
	/* a zero-copy send without its cookie is boring */
	if (send_flags(b[0]) & MSG_ZEROCOPY && b[11] < 230) {
		static const u8 plain[4] = { 1 };

		m->h.msg_controllen = arg_control(t, plain, m->ctl, sizeof(m->ctl));
	}
	switch (b[11]) {
	case 250:
		m->h.msg_control = BAD_PTR;
		break;
	case 251:
		m->h.msg_name = BAD_PTR;
		break;
	case 252:
		m->h.msg_iov = BAD_PTR;
		break;
	case 253:
		m->h.msg_controllen = b[10] << 8;
		break;
	}
}

/* Does the first control message ask for an RDMA or atomic operation? */
static bool is_operation(const struct msghdr *h)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(h);

	return c && c->cmsg_level == SOL_RDS &&
	       (c->cmsg_type == RDS_CMSG_RDMA_ARGS || c->cmsg_type == RDS_CMSG_ATOMIC_FADD ||
		c->cmsg_type == RDS_CMSG_ATOMIC_CSWP);
}

static void do_send(struct thread *t, int fd, const u8 *b)
{
	struct msg m;
	long n;

	send_prepare(t, b, &m);
	n = seen("sendmsg", sendmsg(fd, &m.h, send_flags(b[0])));
	if (n >= 0 && n != (long)m.len)
		complain("sendmsg of %zu bytes returns %ld", m.len, n);
	if (n >= 0 && is_operation(&m.h))
		atomic_fetch_add(&operations, 1);
}

static void do_sendmmsg(struct thread *t, int fd, const u8 *b)
{
	struct mmsghdr v[4];
	struct msg m[4];
	int i, n = 1 + b[12] % 4;

	for (i = 0; i < n; i++) {
		u8 c[16];

		memcpy(c, b, sizeof(c));
		c[5] = b[5] + (b[13] & 1 ? i : 0);
		send_prepare(t, c, &m[i]);
		v[i].msg_hdr = m[i].h;
	}
	seen("sendmmsg", sendmmsg(fd, v, n, send_flags(b[0])));
}

static int recv_flags(u8 b)
{
	static const int flags[] = {
		MSG_DONTWAIT, 0, MSG_PEEK | MSG_DONTWAIT, MSG_TRUNC | MSG_DONTWAIT, MSG_OOB,
		MSG_ERRQUEUE | MSG_DONTWAIT, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT, MSG_WAITALL,
		MSG_WAITFORONE, MSG_CMSG_CLOEXEC, MSG_PEEK, 0x10000000,
	};

	/* waits are slow, so few */
	return flags[b % 16 % ARRAY_SIZE(flags)] | (b < 224 ? MSG_DONTWAIT : 0);
}

static void recv_prepare(struct thread *t, const u8 *b, struct msg *m)
{
	static const u16 ctl[] = { 512, 512, 0, 24, 56, 16, 32, 1, 40, 15, 17, 64 };
	static const u16 name[] = { 128, 128, 0, 16, 28, 3, 40 };

	memset(&m->h, 0, sizeof(m->h));
	memset(m->ctl, CANARY, sizeof(m->ctl));
	memset(&m->ss, CANARY, sizeof(m->ss));
	m->len = arg_size(b[1]);
	m->h.msg_iov = m->iov;
	m->h.msg_iovlen = arg_iov(b + 2, t->in, m->len, m->iov);
	m->h.msg_controllen = ctl[b[3] % ARRAY_SIZE(ctl)];
	m->h.msg_control = m->ctl;
	m->h.msg_namelen = name[b[4] % ARRAY_SIZE(name)];
	m->h.msg_name = m->h.msg_namelen ? &m->ss : NULL;
	if (b[5] == 250)
		m->h.msg_control = BAD_PTR;
	if (b[5] == 251)
		m->h.msg_name = BAD_PTR;
}

/* A notification comes without data. */
static void count_note(const struct msg *m, long n)
{
	struct cmsghdr *c = m->h.msg_control == m->ctl ? CMSG_FIRSTHDR(&m->h) : NULL;

	if (!n && c && c->cmsg_type == RDS_CMSG_RDMA_STATUS)
		atomic_fetch_add(&notes, 1);
}

/* @given: as recv_prepare() made it. */
static void recv_check(const struct msg *m, const struct msghdr *given, long n, int flags)
{
	size_t i;

	if (n > (long)m->len && !(flags & MSG_TRUNC))
		complain("recvmsg of %zu bytes returns %ld", m->len, n);
	if (n >= 0 && m->h.msg_controllen > given->msg_controllen)
		complain("recvmsg: control data grew");
	count_note(m, n);
	for (i = given->msg_controllen; i < sizeof(m->ctl); i++)
		if (m->ctl[i] != CANARY) {
			complain("recvmsg wrote behind the control buffer");
			break;
		}
	for (i = given->msg_namelen; i < sizeof(m->ss); i++)
		if (((const char *)&m->ss)[i] != CANARY) {
			complain("recvmsg wrote behind the name");
			break;
		}
}

static void do_recv(struct thread *t, int fd, const u8 *b)
{
	int flags = recv_flags(b[0]);
	struct msghdr given;
	struct msg m;
	long n;

	recv_prepare(t, b, &m);
	given = m.h;
	n = seen("recvmsg", recvmsg(fd, &m.h, flags));
	recv_check(&m, &given, n, flags);
}

/* Half of the programs wait for the ends of their operations, a little. */
void exec_notes(struct thread *t, const struct prog *p)
{
	static const u8 plain[16];
	long n;
	struct pollfd pfd;
	struct msg m;
	int i;

	for (i = 0; i < NR_SLOTS && p->c[0].b[15] & 1; i++) {
		pfd = (struct pollfd){ .fd = atomic_load(&slots[i]), .events = POLLIN };
		if (pfd.fd < 0 || poll(&pfd, 1, 20) != 1)
			continue;
		do {
			recv_prepare(t, plain, &m);
			n = recvmsg(pfd.fd, &m.h, MSG_DONTWAIT);
			count_note(&m, n);
		} while (!n);
	}
}

static void do_recvmmsg(struct thread *t, int fd, const u8 *b)
{
	struct timespec ts = { .tv_nsec = b[7] * 10000 };
	struct mmsghdr v[4];
	struct msg m[4];
	int i, n = 1 + b[6] % 4;

	for (i = 0; i < n; i++) {
		recv_prepare(t, b, &m[i]);
		v[i].msg_hdr = m[i].h;
	}
	seen("recvmmsg", recvmmsg(fd, v, n, recv_flags(b[0]), b[7] & 1 ? &ts : NULL));
}

static socklen_t odd_len(u8 b, socklen_t len)
{
	static const int odd[] = { 0, 1, 3, 4, 15, 16, 27, 28, 128, 300, -1, 0x7fffffff };

	return b < 220 ? len : (socklen_t)odd[b % ARRAY_SIZE(odd)];
}

static void do_set_rds(struct thread *t, int fd, const u8 *b)
{
	static const u16 names[] = {
		RDS_CANCEL_SENT_TO, RDS_CONG_MONITOR, RDS_RECVERR, SO_RDS_MSG_RXPATH_LATENCY,
		SO_RDS_TRANSPORT, RDS_GET_MR, RDS_FREE_MR, RDS_GET_MR_FOR_DEST, 4, 9, 11, 29, 63,
		10000, 10015,
	};
	static const u8 mr[] = { RDS_GET_MR, RDS_GET_MR_FOR_DEST, RDS_GET_MR, RDS_FREE_MR };
	/* over verbs they are worth calling */
	int name = verbs && b[0] & 1 ? mr[b[0] >> 1 & 3] : names[b[0] % ARRAY_SIZE(names)];
	char buf[512] = {};
	size_t len = arg_rds_value(t, name, b + 1, buf);
	long ret;

	ret = seen("setsockopt", setsockopt(fd, b[8] == 77 ? 1000 : SOL_RDS, name,
					    b[8] == 78 ? BAD_PTR : (void *)buf,
					    odd_len(b[7], len)));
	if (!ret && (name == RDS_GET_MR || name == RDS_GET_MR_FOR_DEST))
		atomic_fetch_add(&regions, 1);
}

static void do_set_sock(struct thread *t, int fd, const u8 *b)
{
	static const u16 names[] = {
		SO_RCVBUF, SO_SNDBUF, SO_ZEROCOPY, 29 /* timestamp */, SO_RCVBUFFORCE,
		SO_SNDBUFFORCE, 35, 63, 64, 37, SO_RCVLOWAT, SO_PRIORITY, SO_MARK, 42,
		SO_BINDTODEVICE, 26, SO_REUSEADDR, SO_KEEPALIVE, 46, 49, 72, 73, 61, 82,
		SO_LINGER, SO_RCVTIMEO, SO_SNDTIMEO,
	};
	int name = names[b[0] % ARRAY_SIZE(names)];
	struct timeval tv = { .tv_sec = b[1] == 9 ? -1 : 0, .tv_usec = b[2] * 100 };
	struct linger l = { .l_onoff = b[1] & 1, .l_linger = b[2] & 1 };
	int x = b[1] < 4 ? b[1] : b[1] < 200 ? b[1] << 8 | b[2] : (int)arg_u32(b + 2);
	void *val = &x;
	socklen_t len = sizeof(x);

	if (name == SO_LINGER) {
		val = &l;
		len = sizeof(l);
	} else if (name == SO_RCVTIMEO || name == SO_SNDTIMEO) {
		val = &tv;
		len = sizeof(tv);
	}
	seen("setsockopt", setsockopt(fd, SOL_SOCKET, name, val, odd_len(b[7], len) % 512));
}

static void do_get(struct thread *t, int fd, const u8 *b)
{
	static const u16 rds[] = { RDS_RECVERR, SO_RDS_TRANSPORT, 1, 2, 6, 10, 29, 10002, 10010 };
	static const u16 sock[] = { SO_RCVBUF, SO_SNDBUF, SO_ERROR, SO_TYPE, 39, 38, 55, 60, 28 };
	char buf[300];
	socklen_t len = odd_len(b[2], 4);
	bool ours = b[1] % 2;
	int name;

	if ((int)len < 0 || len > sizeof(buf))
		len = b[2] & 1 ? sizeof(buf) : 0;
	name = ours ? rds[b[0] % ARRAY_SIZE(rds)] : sock[b[0] % ARRAY_SIZE(sock)];
	seen("getsockopt", getsockopt(fd, ours ? SOL_RDS : SOL_SOCKET, name,
				      b[3] == 250 ? BAD_PTR : (void *)buf,
				      b[4] == 250 ? BAD_PTR : (void *)&len));
}

static void do_info(struct thread *t, int fd, const u8 *b)
{
	static const u32 lens[] = {
		65536, 0, 4096, 1, 25, 26, 27, 40, 41, 64, 200, 2000, 1 << 20, -1, 0x7fffffff,
	};
	socklen_t len = lens[b[1] % ARRAY_SIZE(lens)] + (b[2] > 250 ? b[2] - 253 : 0), given = len;
	int opt = b[0] == 200 ? RDS_INFO_PATHS : RDS_INFO_FIRST + b[0] % 19;
	char *buf = t->in + (b[3] & 7);
	long n;

	if (b[0] % 32 == 19)
		opt = RDS_INFO_PATHS;
	if (b[4] == 250)
		buf = BAD_PTR;
	n = seen("info", getsockopt(fd, SOL_RDS, opt, buf, b[5] == 250 ? BAD_PTR : (void *)&len));
	if (n > 0 && len > given)
		complain("info %d: %u bytes into %u", opt, len, given);
	if (n > 0 && len % n)
		complain("info %d: %u bytes, but records of %ld", opt, len, n);
}

static void do_ioctl(struct thread *t, int fd, const u8 *b)
{
	static const u32 cmds[] = {
		SIOCRDSSETTOS, SIOCRDSGETTOS, 0x541b /* FIONREAD */, 0x5411 /* TIOCOUTQ */,
		0x8905 /* SIOCATMARK */, 0x8906 /* SIOCGSTAMP */, 0x8907, 0x89e2, 0x89ef,
		0x5421 /* FIONBIO */, 0x8912 /* SIOCGIFCONF */,
	};

	memset(t->in, 0, 256);
	t->in[0] = b[1];
	seen("ioctl", ioctl(fd, cmds[b[0] % ARRAY_SIZE(cmds)],
			    b[2] > 250 ? BAD_PTR : (void *)t->in));
}

static void do_epoll(struct thread *t, int fd, const u8 *b)
{
	struct epoll_event e = { .events = b[0] % 4 ? EPOLLIN | EPOLLOUT : arg_u32(b) };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	if (ep < 0)
		return;
	seen("epoll_ctl", epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
	seen("epoll_wait", epoll_wait(ep, &e, 1, b[4] > 240));
	close(ep);
}

static void do_name(struct thread *t, int fd, const u8 *b)
{
	struct sockaddr_storage ss;
	socklen_t len = odd_len(b[1], sizeof(ss));

	if ((int)len > (int)sizeof(ss))
		len = sizeof(ss);
	if (b[0] & 1)
		seen("getpeername", getpeername(fd, (void *)&ss, &len));
	else
		seen("getsockname", getsockname(fd, (void *)&ss, &len));
}

static void do_splice(struct thread *t, int fd, const u8 *b)
{
	int p[2];

	if (pipe2(p, O_NONBLOCK))
		return;
	if (b[1] & 1) {
		seen("splice", splice(fd, NULL, p[1], NULL, 4096, SPLICE_F_NONBLOCK));
	} else {
		seen("write", write(p[1], t->out, 1 + b[2]));
		seen("splice", splice(p[0], NULL, fd, NULL, 1 + b[2], b[3] & 7));
	}
	close(p[0]);
	close(p[1]);
}

static void do_file(struct thread *t, int fd, const u8 *b)
{
	struct iovec iov[2] = { { t->in, arg_size(b[2]) }, { t->in + 2000000, 100 } };

	switch (b[0] % 7) {
	case 0:
		seen("read", read(fd, t->in, arg_size(b[1])));
		break;
	case 1:
		seen("readv", readv(fd, iov, 2));
		break;
	case 2:
		seen("write", write(fd, t->out, arg_size(b[1])));
		break;
	case 3:
		seen("writev", writev(fd, iov, 2));
		break;
	case 4:
		do_splice(t, fd, b);
		break;
	case 5:
		seen("lseek", lseek(fd, b[1], SEEK_SET));
		break;
	case 6:
		seen("fcntl", fcntl(fd, F_SETFL, b[1] & 1 ? O_NONBLOCK : 0));
		break;
	}
}

static void do_misc(struct thread *t, int fd, const u8 *b)
{
	int sv[2];
	void *p;

	switch (b[0] % 6) {
	case 0:
	case 1:
		seen("shutdown", shutdown(fd, b[1] % 5));
		break;
	case 2:
		seen("listen", listen(fd, b[1]));
		break;
	case 3:
		seen("accept", accept4(fd, NULL, NULL, 0));
		break;
	case 4:
		seen("socketpair", socketpair(AF_RDS, SOCK_SEQPACKET, 0, sv));
		break;
	case 5:
		p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		if (p != MAP_FAILED)
			complain("mmap of a socket worked");
		break;
	}
}

/* A child that uses the sockets a little and goes, with or without closing them. */
static void do_fork(struct thread *t, int fd, const u8 *b)
{
	pid_t pid = fork();
	int i;

	if (!pid) {
		if (b[0] & 1)
			recv(fd, t->in, 100, MSG_DONTWAIT);
		if (b[0] & 2)
			send(fd, t->out, arg_size(b[1]), MSG_DONTWAIT);
		memset(t->out, b[2], 65536);
		for (i = 0; b[0] & 4 && i < NR_SLOTS; i++)
			close(atomic_load(&slots[i]));
		_exit(0);
	}
	if (pid < 0)
		return;
	memset(t->out, b[3], 65536);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void do_bind(struct thread *t, int fd, const u8 *b)
{
	struct sockaddr_storage ss;
	socklen_t len = arg_addr(t, b, &ss);

	seen("bind", bind(fd, b[3] == 250 ? BAD_PTR : (void *)&ss, len));
}

static void do_connect(struct thread *t, int fd, const u8 *b)
{
	struct sockaddr_storage ss;
	socklen_t len = arg_addr(t, b, &ss);

	seen("connect", connect(fd, b[3] == 250 ? BAD_PTR : (void *)&ss, len));
}

static void do_poll(struct thread *t, int fd, const u8 *b)
{
	struct pollfd p = { .fd = fd, .events = b[0] ? arg_u32(b) : POLLIN | POLLOUT };

	seen("poll", poll(&p, 1, b[4] > 240));
}

static void do_mem(struct thread *t, int fd, const u8 *b)
{
	madvise(t->out, REGION, MADV_DONTNEED);
	memset(t->out, b[0], 8192);
}

static void do_pause(struct thread *t, int fd, const u8 *b)
{
	if (b[0] > 200)
		usleep(b[1]);
	else
		sched_yield();
}

static void (*const on_fd[NR_OPS])(struct thread *t, int fd, const u8 *b) = {
	[OP_BIND] = do_bind, [OP_CONNECT] = do_connect, [OP_SEND] = do_send,
	[OP_SENDMMSG] = do_sendmmsg, [OP_RECV] = do_recv, [OP_RECVMMSG] = do_recvmmsg,
	[OP_SET_RDS] = do_set_rds, [OP_SET_SOCK] = do_set_sock, [OP_GET] = do_get,
	[OP_INFO] = do_info, [OP_IOCTL] = do_ioctl, [OP_POLL] = do_poll, [OP_EPOLL] = do_epoll,
	[OP_NAME] = do_name, [OP_FILE] = do_file, [OP_MISC] = do_misc, [OP_MEM] = do_mem,
	[OP_FORK] = do_fork, [OP_URING] = uring_call, [OP_PAUSE] = do_pause,
};

static void do_call(struct thread *t, const struct call *c)
{
	int slot = c->slot % NR_SLOTS, fd = atomic_load(&slots[slot]), op = c->op % NR_OPS;

	if (op == OP_SOCKET)
		do_socket(slot, c->b);
	else if (op == OP_CLOSE)
		put_slot(slot, -1);
	else if (op == OP_DUP)
		put_slot(c->b[0], dup(fd));
	else
		on_fd[op](t, fd, c->b);
}

static bool may_fail(u8 op)
{
	/* faults elsewhere in the kernel are not the subject */
	return op != OP_FORK && op != OP_URING && op != OP_MEM && op != OP_EPOLL && op != OP_FILE;
}

void exec_call(struct thread *t, const struct call *c)
{
	fault_nth = t->fail_fd >= 0 && may_fail(c->op % NR_OPS) ? c->fail : 0;
	do_call(t, c);
	fault_nth = 0;
}
