// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=300 ref=0 expect="kmemleak:.*suspected" lanes=uml */
/*
 * Receiving: every fault point of every way to receive. A fault costs no
 * message, no completion and no congestion event: what the call could not hand
 * over is the next thing to be received (I3).
 *
 * One exception is not the module's: the generic layer copies the sender's name
 * out after the socket has let go of the message. A step with a name may lose
 * a message by that fault point, which may be met twice, as there are more of
 * them before it at one time than at another. All of it is in the buffer then.
 * No other step may lose any.
 */
#include "step.h"
#include "../api/uring.h"

#define MM 3

static int lost;	/* messages the present step has lost */
static struct rx rx;
static __u32 first;	/* number of the first message of recvmmsg() */

static void p_sent(size_t len)
{
	make(len);
	if (send(x.a, out, len, 0) != (ssize_t)len)
		WRONG("message %u is not accepted: %m", x.seq);
}

static void p_msg(size_t len)
{
	p_sent(len);
	if (!wait_data(x.b))
		WRONG("message %u does not arrive", x.seq);
}

static void p_small(void)
{
	p_msg(100);
}

static void p_big(void)
{
	p_msg(MSG_MAX_LEN);
}

static int c_recv(void)
{
	return recv(x.b, in, sizeof(in), MSG_DONTWAIT);
}

static int c_peek(void)
{
	return recv(x.b, in, sizeof(in), MSG_DONTWAIT | MSG_PEEK);
}

static int c_read(void)
{
	return read(x.b, in, sizeof(in));
}

static int c_readv(void)
{
	struct iovec v[10];
	int i;

	for (i = 0; i < 10; i++)
		v[i] = (struct iovec){ in + i * 20480, 20480 };
	return readv(x.b, v, 10);
}

static int c_recvfrom(void)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	return recvfrom(x.b, in, sizeof(in), MSG_DONTWAIT, (void *)&ss, &len);
}

/* The message is here or still there. */
static void d_here_or_there(int ret)
{
	int n = ret;

	if (n < 0)
		n = c_recv();
	if (n >= 0 && !msg_intact(x.seq, n))
		WRONG("message %u is damaged", x.seq);
	lost += n < 0;
}

static void d_kept(int ret, int err)
{
	d_here_or_there(ret);
	if (lost)
		WRONG("message %u is lost", x.seq);
}

static void d_peeked(int ret, int err)
{
	if (ret >= 0 && !msg_intact(x.seq, ret))
		WRONG("message %u is damaged for who peeks", x.seq);
	d_kept(-1, 0);
}

static void d_named(int ret, int err)
{
	int before = lost;

	d_here_or_there(ret);
	if (lost > 2)
		WRONG("message %u is lost, and others before", x.seq);
	else if (lost > before && !msg_intact(x.seq, MSG_MAX_LEN))
		WRONG("message %u is lost, and was not copied", x.seq);
}

/* ---- control messages that go with data --------------------------------------- */

static void p_stamps(void)
{
	struct rds_rx_trace_so so = { .rx_traces = 3, .rx_trace_pos = { 0, 1, 2 } };

	setsockopt(x.b, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so));
	set_int(x.b, SOL_SOCKET, SO_TIMESTAMP, 1);
	p_big();
}

static int c_recvmsg(void)
{
	ssize_t n = rx_msg(x.b, in, sizeof(in), MSG_DONTWAIT, &rx);

	errno = rx.err;
	return n;
}

static void d_stamps(int ret, int err)
{
	if (ret >= 0 && (!rx_cmsg(&rx, SOL_SOCKET, SO_TIMESTAMP) ||
			 !rx_cmsg(&rx, SOL_RDS, RDS_CMSG_RXPATH_LATENCY)))
		WRONG("message %u came without its control messages", x.seq);
	d_named(ret, err);
}

/* ---- several messages ------------------------------------------------------------- */

static char mm_buf[MM][3000];

static void p_mmsg(void)
{
	int i;

	first = x.seq + 1;
	for (i = 0; i < MM; i++)
		p_msg(3000);
	if (!WAIT_UNTIL(msgs_of_port(x.b, RDS6_INFO_RECV_MESSAGES, DUO_B) == MM))
		WRONG("%d messages do not arrive", MM);
}

/* No time limit: copying out what is left of it can fail after the last message. */
static int c_recvmmsg(void)
{
	struct mmsghdr m[MM] = {};
	struct iovec v[MM];
	int i;

	for (i = 0; i < MM; i++) {
		v[i] = (struct iovec){ mm_buf[i], 3000 };
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	return recvmmsg(x.b, m, MM, MSG_DONTWAIT, NULL);
}

static void d_recvmmsg(int ret, int err)
{
	int i, n;

	/* An error behind the first message waits in the socket. */
	get_int(x.b, SOL_SOCKET, SO_ERROR);
	for (i = 0; i < MM; i++) {
		n = 3000;
		if (i < ret)
			memcpy(in, mm_buf[i], n);
		else
			n = c_recv();
		if (!msg_intact(first + i, n))
			WRONG("message %d of %d is not intact, %d were received", i, MM, ret);
	}
}

/* ---- notifications ------------------------------------------------------------------ */

static char *zpage;
static __u32 cookie;

static void p_completion(void)
{
	if (!zpage) {
		zpage = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		set_int(x.a, SOL_SOCKET, SO_ZEROCOPY, 1);
	}
	cookie++;
	make(8192);
	memcpy(zpage, out, 8192);
	if (send_cmsg(x.a, NULL, 0, zpage, 8192, MSG_ZEROCOPY, RDS_CMSG_ZCOPY_COOKIE,
		      &cookie, sizeof(cookie)) != 8192 ||
	    recv_wait(x.b, in, sizeof(in)) != 8192 || !poll_for(x.a, POLLIN, WAIT_MS))
		WRONG("no completion");
}

static int c_note(void)
{
	ssize_t n = rx_msg(x.a, in, 0, MSG_DONTWAIT, &rx);

	errno = rx.err;
	return n;
}

/* Delivered now, or the next time. */
static void d_completion(int ret, int err)
{
	struct rds_zcopy_cookies z = {};
	struct cmsghdr *c;

	if (ret < 0)
		c_note();
	c = rx_cmsg(&rx, SOL_RDS, RDS_CMSG_ZCOPY_COMPLETION);
	if (c)
		memcpy(&z, CMSG_DATA(c), sizeof(z));
	if (z.num != 1 || z.cookies[0] != cookie)
		WRONG("completion %u is lost: %u, %u", cookie, z.num, z.cookies[0]);
}

/* b becomes congested, a is told so, and b becomes free again. */
static void p_cong(void)
{
	bool full;

	set_int(x.a, SOL_RDS, RDS_CONG_MONITOR, 1);
	set_int(x.b, SOL_SOCKET, SO_RCVBUF, 4000);
	full = WAIT_UNTIL(send(x.a, out, 3000, MSG_DONTWAIT) < 0 && errno == ENOBUFS);
	if (!full || !all_acked(x.a))
		WRONG("no congestion");
	while (c_recv() > 0)
		;
	set_int(x.b, SOL_SOCKET, SO_RCVBUFFORCE, ROOM);
	if (!poll_for(x.a, POLLIN, WAIT_MS))
		WRONG("no congestion update");
}

static void d_cong(int ret, int err)
{
	struct cmsghdr *c;
	__u64 bits = 0;

	if (ret < 0)
		c_note();
	c = rx_cmsg(&rx, SOL_RDS, RDS_CMSG_CONG_UPDATE);
	if (c)
		memcpy(&bits, CMSG_DATA(c), sizeof(bits));
	if (bits != RDS_CONG_MONITOR_MASK(DUO_B))
		WRONG("congestion update is lost: %llx", bits);
	set_int(x.a, SOL_RDS, RDS_CONG_MONITOR, 0);
}

static const struct step steps[] = {
	{ "recv 100", p_small, c_recv, 1, .done = d_kept },
	{ "recv 200 KiB", p_big, c_recv, 2, .done = d_kept },
	{ "peek", p_big, c_peek, 2, .done = d_peeked },
	{ "read", p_small, c_read, 1, .done = d_kept },
	{ "readv, 10 pieces", p_big, c_readv, 3, .done = d_kept },
	{ "recvfrom", p_big, c_recvfrom, 3, .done = d_named },
	{ "recvmsg with stamps", p_stamps, c_recvmsg, 6, .done = d_stamps },
	{ "recvmmsg", p_mmsg, c_recvmmsg, 5, .done = d_recvmmsg, .partly = true },
	{ "completion", p_completion, c_note, 1, .done = d_completion, .tcp_only = true },
	{ "congestion update", p_cong, c_note, 1, .done = d_cong },
};

/* ---- io_uring -------------------------------------------------------------------------- */

static int ring_op, ring_flags;

/* Hands one operation to the kernel; whether it was taken is told by the ring. */
static int c_ring(void)
{
	int fd = ring_op == IORING_OP_SEND ? x.a : x.b;
	void *buf = ring_op == IORING_OP_SEND ? out : in;
	int len = 0;

	if (ring_op == IORING_OP_SEND)
		len = 20000;
	else if (ring_op == IORING_OP_RECV)
		len = sizeof(in);
	return submit(ring_op, fd, len ? buf : NULL, len, ring_flags, 1);
}

/* The result of what was handed over; an operation that was not taken is forgotten. */
static int ring_result(void)
{
	if (__atomic_load_n(ring.sq_head, __ATOMIC_ACQUIRE) != *ring.sq_tail) {
		*ring.sq_tail = *ring.sq_head;
		return -ENOMEM;
	}
	return result(1);
}

static void p_ring_send(void)
{
	ring_op = IORING_OP_SEND;
	ring_flags = 0;
	make(20000);
}

static void p_ring_recv(void)
{
	ring_op = IORING_OP_RECV;
	ring_flags = 0;
	p_big();
}

static void p_ring_later(void)
{
	ring_op = IORING_OP_RECV;
	ring_flags = 0;
}

static void p_ring_poll(void)
{
	ring_op = IORING_OP_POLL_ADD;
	ring_flags = POLLIN;
	p_small();
}

static void d_ring_send(int ret, int err)
{
	int n = ring_result();

	if (n != 20000 && (n >= 0 || !fault_errno(-n)))
		WRONG("io_uring says %d to a send", n);
	if (n == 20000 ? recv_wait(x.b, in, sizeof(in)) != n || !msg_intact(x.seq, n) :
			 recv(x.b, in, sizeof(in), MSG_DONTWAIT) >= 0)
		WRONG("io_uring said %d to a send", n);
}

static void d_ring_recv(int ret, int err)
{
	d_kept(ring_result(), err);
}

/* The receive waits; a message wakes it, or finds nobody there. */
static void d_ring_later(int ret, int err)
{
	bool taken = __atomic_load_n(ring.sq_head, __ATOMIC_ACQUIRE) == *ring.sq_tail;
	int n;

	if (taken && have_cqe()) {	/* failed at once */
		n = result(1);
		taken = false;
		if (n >= 0 || !fault_errno(-n))
			WRONG("io_uring says %d to a receive of nothing", n);
	} else if (!taken) {
		ring_result();
	}
	if (taken)
		p_sent(100);
	else
		p_small();
	d_kept(taken ? result(1) : -1, 0);
}

static void d_ring_poll(int ret, int err)
{
	int n = ring_result();

	if (n < 0 ? !fault_errno(-n) : !(n & POLLIN))
		WRONG("io_uring says %d to a poll", n);
	d_kept(-1, 0);
}

static const struct step rings[] = {
	{ "io_uring send", p_ring_send, c_ring, 2, .done = d_ring_send },
	{ "io_uring recv", p_ring_recv, c_ring, 2, .done = d_ring_recv },
	{ "io_uring recv, later", p_ring_later, c_ring, 0, .done = d_ring_later },
	{ "io_uring poll", p_ring_poll, c_ring, 0, .done = d_ring_poll },
};

static int each(const struct step *s, int nr)
{
	int i, n, sum = 0;

	for (i = 0; i < nr; i++) {
		lost = 0;
		n = steps_all(&s[i], 1);
		if (n < 0)
			return -1;
		sum += n;
	}
	return sum;
}

TEST_F_TIMEOUT(duo, recv__fail_nth, 120)
{
	RUN_STEPS(each(steps, ARRAY_SIZE(steps)));
}

TEST_F_TIMEOUT(duo, io_uring__fail_nth, 120)
{
	RING_OR_SKIP();
	RUN_STEPS(each(rings, ARRAY_SIZE(rings)));
}

#include "leaks.h"

TEST_HARNESS_MAIN
