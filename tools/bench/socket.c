// SPDX-License-Identifier: GPL-2.0
/*
 * The transports: how a socket of each is made, and what else differs. All send
 * one message with one sendmsg(), and all but TCP receive one with one recvmsg().
 */
#include <errno.h>
#include <linux/rds.h>
#include <linux/tipc.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

/* wants what <sys/socket.h> declares */
#include <linux/sctp.h>

#define PF_RDS_NUMBER	21

static void set_buffers(int fd, int bytes)
{
	/* Only root may have more than net.core.[rw]mem_max. */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

static int open_socket(int family, int type, int protocol, int buf)
{
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);

	if (fd >= 0)
		set_buffers(fd, buf);
	return fd;
}

static int bind_or_close(int fd, const struct sockaddr_in *local)
{
	int err;

	if (fd < 0 || !bind(fd, (const struct sockaddr *)local, sizeof(*local)))
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

static int rds_open(const struct proto *p, const struct sockaddr_in *local, int buf, bool rx)
{
	return bind_or_close(open_socket(PF_RDS_NUMBER, SOCK_SEQPACKET, 0, buf), local);
}

static int udp_open(const struct proto *p, const struct sockaddr_in *local, int buf, bool rx)
{
	return bind_or_close(open_socket(AF_INET, SOCK_DGRAM, 0, buf), local);
}

/*
 * Senders stay until the receiver has all, so nothing is lost by an ABORT; an
 * association that shuts down in order would keep a deleted namespace for minutes.
 */
static int sctp_open(const struct proto *p, const struct sockaddr_in *local, int buf, bool rx)
{
	int fd = open_socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP, buf);
	struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
	int one = 1;

	if (fd >= 0) {
		setsockopt(fd, IPPROTO_SCTP, SCTP_NODELAY, &one, sizeof(one));
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	}
	fd = bind_or_close(fd, local);
	if (fd >= 0 && rx)
		listen(fd, MAX_FLOWS);
	return fd;
}

static int tcp_open(const struct proto *p, const struct sockaddr_in *local, int buf, bool rx)
{
	struct sockaddr_in any_port = *local;
	int fd = open_socket(AF_INET, SOCK_STREAM, 0, buf), one = 1;

	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!p->nagle)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (!rx)
		any_port.sin_port = 0;
	fd = bind_or_close(fd, &any_port);
	if (fd >= 0 && rx)
		listen(fd, MAX_FLOWS);
	return fd;
}

/* Its messages go to the socket's own address, which is learnt by getsockname(). */
static int tipc_open(const struct proto *p, const struct sockaddr_in *local, int buf, bool rx)
{
	int fd = open_socket(AF_TIPC, SOCK_RDM, 0, buf), no = 0;

	/* what finds no room comes back, and is seen */
	if (fd >= 0)
		setsockopt(fd, SOL_TIPC, TIPC_DEST_DROPPABLE, &no, sizeof(no));
	return fd;
}

/*
 * A full SOCK_RDM receiver returns messages: its users must keep count. The
 * receiver tells how far it is after each half of this. Small messages that came
 * in one packet are charged for the whole of it, each.
 */
static unsigned int tipc_window(unsigned int size)
{
	return (1U << 18) / (2 * size + 1024);
}

const struct proto protos[] = {
	{ .name = "rds", .title = "RDS", .max_size = MAX_SIZE, .reliable = true, .rdma = true,
	  .open = rds_open },
	{ .name = "tcp", .title = "framed TCP, TCP_NODELAY", .max_size = MAX_SIZE,
	  .reliable = true, .stream = true, .open = tcp_open },
	{ .name = "tcpn", .title = "framed TCP, Nagle", .max_size = MAX_SIZE,
	  .reliable = true, .stream = true, .nagle = true, .open = tcp_open },
	{ .name = "sctp", .title = "SCTP, one to many", .max_size = MAX_SIZE,
	  .reliable = true, .eor = true, .open = sctp_open },
	{ .name = "tipc", .title = "TIPC, SOCK_RDM", .max_size = TIPC_MAX_USER_MSG_SIZE,
	  .reliable = true, .open = tipc_open, .window = tipc_window },
	{ .name = "udp", .title = "UDP, unreliable", .max_size = 65507 & ~7U,
	  .open = udp_open },
};

const unsigned int nr_protos = ARRAY_SIZE(protos);

const struct proto *find_proto(const char *name)
{
	unsigned int i;

	for (i = 0; i < nr_protos; i++)
		if (!strcmp(protos[i].name, name))
			return &protos[i];
	return NULL;
}

/* Does this kernel have it? */
bool proto_there(const struct proto *p)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int fd;

	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = p->open(p, &any, 4096, false);

	if (fd >= 0)
		close(fd);
	/* anything else is worth a message when it is measured */
	return fd >= 0 || (errno != EAFNOSUPPORT && errno != EPROTONOSUPPORT &&
			   errno != ESOCKTNOSUPPORT);
}

/* Has it such work? */
bool proto_can(const struct proto *p, const struct cell *c)
{
	return c->size <= p->max_size && (p->rdma || !is_rdma(c));
}

/* The transport of a bound RDS socket, or -1. */
int socket_via(int fd)
{
	int via = -1;
	socklen_t len = sizeof(via);

	return getsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &via, &len) ? -1 : via;
}

const char *via_name(int via)
{
	switch (via) {
	case RDS_TRANS_IB:
		return "infiniband";
	case RDS_TRANS_TCP:
		return "tcp";
	case RDS_TRANS_COUNT:
		return "loopback";
	}
	return "no transport of RDS";
}

/* How many messages of a flow may be on the way; 0: as many as it takes. */
unsigned int job_window(const struct job *job)
{
	unsigned int per_socket = job->nflows / job->nsocks, w;

	if (!job->proto->window)
		return 0;
	w = job->proto->window(job->cell.size) / per_socket;
	return w < 2 ? 2 : w;
}

/* Beside a stream the round trips are of this size. */
#define BESIDE_SIZE	64

/* Bytes of a message of this flow. */
unsigned int job_size(const struct job *job, unsigned int flow)
{
	return job->cell.work == BESIDE && !flow ? BESIDE_SIZE : job->cell.size;
}

/* Round trips, not a stream? */
bool job_is_pinged(const struct job *job, unsigned int flow)
{
	return job->cell.work == PINGPONG || (job->cell.work == BESIDE && !flow);
}

/* Who sees that a message of this flow has come, the sender or the receiver? */
bool job_sender_counts(const struct job *job, unsigned int flow)
{
	return job_is_pinged(job, flow) || job->cell.work == READ;
}

static bool try_again(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	if (errno == EINTR)
		return true;
	if (errno != EAGAIN && errno != ENOBUFS)
		return false;
	poll(&p, 1, 10);
	return true;
}

/* What there is to do about it, where that is known. */
static const char *send_hint(const struct job *job)
{
	/* RDS: longer than the send buffer, which only root may have as large as we ask for */
	return errno == EMSGSIZE && job->proto->reliable ?
		"; it takes root, or a larger net.core.wmem_max" : "";
}

/* Sends one message, however often one has to ask. */
void send_message(const struct job *job, int fd, const struct peer *to,
		  const struct msg_head *h, const void *payload, size_t payload_len)
{
	struct iovec iov[2] = {
		{ .iov_base = (void *)h, .iov_len = sizeof(*h) },
		{ .iov_base = (void *)payload, .iov_len = payload_len },
	};
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = payload_len ? 2 : 1 };
	ssize_t left = sizeof(*h) + payload_len, n;

	if (to->len) {
		m.msg_name = (void *)&to->addr;
		m.msg_namelen = to->len;
	}
	while ((n = sendmsg(fd, &m, 0)) != left) {
		if (n < 0 && try_again(fd))
			continue;
		if (n < 0)
			fail(job->sh, "cannot send: %s%s", strerror(errno), send_hint(job));
		left -= n;
		while (m.msg_iovlen && (size_t)n >= m.msg_iov->iov_len) {
			n -= m.msg_iov->iov_len;
			m.msg_iov++;
			m.msg_iovlen--;
		}
		m.msg_iov->iov_base = (char *)m.msg_iov->iov_base + n;
		m.msg_iov->iov_len -= n;
	}
}
