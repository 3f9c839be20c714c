// SPDX-License-Identifier: GPL-2.0
/*
 * rds-traffic - move messages over RDS sockets and prove that each of them
 * arrived exactly once, intact and in the order of its flow.
 *
 * Exit status: 0 all is proven, 1 it is not, 2 it could not be tried.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>

#define FAIR_LATER
#include "fairclock.h"
#include "traffic_flow.h"
#include "traffic_sock.h"

#define MAX_SOCKS	256
#define MAX_DESTS	64
#define MAX_SIZE_ARG	256
#define BUDGET		64	/* messages of one socket in one turn */
#define STALL_MS	1000	/* no wake-up for so long: look ourselves */

enum mode { RECV = 1, SEND = 2, BOTH = 3, PINGPONG = 4, ECHO = 5 };

struct tx {
	struct ts_addr to;
	struct tf_sched sched;
	__u64 next;
	bool congested;
};

struct rx {
	struct rx *older;		/* chain of the socket */
	struct ts_addr from;
	struct tf_rx f;
	bool replaced;			/* its sender began another flow */
	bool counted;			/* as complete */
};

struct sock {
	int fd;
	struct ts_addr addr;
	struct tx *tx;
	unsigned int turn;
	bool full;			/* EAGAIN: wait for POLLOUT */
	bool overdue;			/* waiting timed out before this try */
	bool drained;
	struct rx *rx;
};

static struct {
	enum mode mode;
	struct ts_addr bind, peer, dest[MAX_DESTS];
	unsigned int ndest, nsocks, senders, depth;
	__u64 count;
	double timeout, rate, start, linger, resume_at;
	__s64 start_ms;			/* by fair_ms() */
	struct tf_sched sched;
	int sndbuf, rcvbuf, so_linger;
	__u8 tos;
	__u64 pause_after;
	double pause_s, slow_s;
	bool json, progress, spread, any, partial, nodrain, monitor, fair;
	const char *ready, *go, *half;
} o = {
	.nsocks = 1, .senders = 1, .depth = 1, .count = 1000, .timeout = 60,
	.sndbuf = 2 << 20, .rcvbuf = 2 << 20, .linger = 0.3, .so_linger = -1,
	.sched = { .nsizes = 1, .sizes = { 1024 } },
};

static struct {
	__u64 sent, bytes, enobufs, eagain, stalls, unplaced, foreign, strange;
	__u64 received, complete;
	__u64 last_flow;		/* so many had the last one when the first was complete */
	double first, last;
	__s64 last_ms, gap_ms;		/* the longest time between two messages, by fair_ms() */
} st;

static struct sock socks[MAX_SOCKS];
static unsigned char pool[TF_POOL], inbuf[TF_MAX_MSG + 1];
static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = sig;
}

static __u64 random64(void)
{
	__u64 v;

	if (getrandom(&v, sizeof(v), 0) != sizeof(v))
		ts_die("getrandom");
	return v;
}

static void fill_pool(void)
{
	__u64 i, w;

	for (i = 0; i < TF_POOL; i += 8) {
		w = tf_mix(i + 1);
		memcpy(pool + i, &w, 8);
	}
}

static ssize_t put_message(int fd, const struct ts_addr *to,
			   const struct tf_sched *s, __u64 seq,
			   __u32 *len)
{
	struct tf_hdr h;
	struct iovec iov[2] = { { .iov_base = &h } };
	struct msghdr m = { .msg_name = (void *)&to->ss, .msg_iov = iov,
			    .msg_namelen = to->len, .msg_iovlen = 2 };

	*len = tf_header(&h, s, seq, pool);
	iov[0].iov_len = *len < TF_HDR ? *len : TF_HDR;
	iov[1].iov_base = pool + tf_payload_off(s, seq);
	iov[1].iov_len = *len - iov[0].iov_len;
	return sendmsg(fd, &m, MSG_DONTWAIT);
}

/* Return: length, -1 with errno; a bare notification is EAGAIN too. */
static ssize_t get_message(struct sock *s, struct ts_addr *from)
{
	char control[256];
	struct iovec iov = { .iov_base = inbuf, .iov_len = sizeof(inbuf) };
	struct msghdr m = { .msg_name = &from->ss, .msg_iov = &iov,
			    .msg_namelen = sizeof(from->ss), .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	ssize_t len = recvmsg(s->fd, &m, MSG_DONTWAIT);

	from->len = m.msg_namelen;
	if (!len && !m.msg_namelen) {
		errno = EAGAIN;
		return -1;
	}
	return len;
}

/* --- sending ---------------------------------------------------------- */

static bool tx_done(const struct tx *t)
{
	return t->next > t->sched.total + 1;
}

static bool sock_sent_all(const struct sock *s)
{
	unsigned int i;

	for (i = 0; i < o.ndest; i++)
		if (!tx_done(&s->tx[i]))
			return false;
	return true;
}

static bool sock_congested(const struct sock *s)
{
	unsigned int i;

	for (i = 0; i < o.ndest; i++)
		if (s->tx[i].congested)
			return true;
	return false;
}

/* Something to send, and to a destination that takes it? */
static bool sock_sendable(const struct sock *s)
{
	unsigned int i;

	for (i = 0; o.mode & SEND && i < o.ndest; i++)
		if (!tx_done(&s->tx[i]) && !s->tx[i].congested)
			return true;
	return false;
}

static struct tx *next_tx(struct sock *s)
{
	unsigned int i;
	struct tx *t;

	for (i = 0; i < o.ndest; i++) {
		t = &s->tx[s->turn++ % o.ndest];
		if (!tx_done(t) && !t->congested)
			return t;
	}
	return NULL;
}

static bool rate_allows(void)
{
	if (o.half && st.sent >= o.count / 2) {
		if (access(o.half, F_OK))
			return false;
		o.half = NULL;
	}
	return !o.rate || st.sent < (ts_now() - o.start) * o.rate + 1;
}

/* Return: false when this socket can do no more for now. */
static bool send_one(struct sock *s)
{
	struct tx *t = next_tx(s);
	__u32 len;

	if (!t || !rate_allows())
		return false;
	if (put_message(s->fd, &t->to, &t->sched, t->next, &len) >= 0) {
		if (t->next && t->next <= t->sched.total) {
			st.sent++;
			st.bytes += len;
		}
		t->next++;
		st.stalls += s->overdue;
		s->overdue = false;
		return true;
	}
	if (errno == EINTR)
		return !stopped;
	s->overdue = false;
	if (errno == ENOBUFS) {
		st.enobufs++;
		t->congested = true;
		return true;
	}
	if (errno != EAGAIN)
		ts_die("send to %s, message %llu", ts_show(&t->to),
		       t->next);
	st.eagain++;
	s->full = true;
	return false;
}

static void send_some(struct sock *s)
{
	int left = BUDGET;

	while (!s->full && left-- && send_one(s))
		;
}

static void wake_sender(struct sock *s)
{
	unsigned int i;

	for (i = 0; s->tx && i < o.ndest; i++)
		s->tx[i].congested = false;
}

/* --- receiving -------------------------------------------------------- */

static struct rx *find_rx(struct sock *s, const struct ts_addr *from)
{
	struct rx *r;

	for (r = s->rx; r; r = r->older)
		if (!r->replaced && ts_same(&r->from, from))
			return r;
	return NULL;
}

static struct rx *find_flow(struct sock *s, const struct ts_addr *from,
			    __u64 flow)
{
	struct rx *r;

	for (r = s->rx; r; r = r->older)
		if (r->f.sched.flow == flow && ts_same(&r->from, from))
			return r;
	return NULL;
}

/* A flow begins at its message 0, or anywhere when the user says so. */
static struct rx *join_flow(struct sock *s, const struct ts_addr *from,
			    __u32 len)
{
	const struct tf_hdr *h = (const void *)inbuf;
	struct rx *r, *old = find_rx(s, from);
	struct tf_sched sched;
	__u64 seq = be64toh(h->seq);

	if (!tf_intact(inbuf, len) || !tf_sched_parse(&sched, h) ||
	    seq > sched.total + 1) {
		st.foreign++;
		return NULL;
	}
	r = calloc(1, sizeof(*r));
	if (!r || !tf_rx_init(&r->f, &sched, o.any ? seq : 0))
		ts_die("no memory");
	if (old)
		old->replaced = true;
	r->from = *from;
	r->older = s->rx;
	s->rx = r;
	return r;
}

static bool rx_complete(const struct rx *r)
{
	return tf_rx_complete(&r->f) &&
	       (o.any || r->f.sched.total == o.count);
}

/* The first flow is complete: how many messages have come of that which is the last? */
static void note_last_flow(const struct sock *s)
{
	const struct rx *r;
	unsigned int flows = 0;

	st.last_flow = o.count;
	for (r = s->rx; r; r = r->older, flows++)
		if (r->f.next - 1 < st.last_flow)
			st.last_flow = r->f.next - 1;
	if (flows < o.senders)
		st.last_flow = 0;
}

/* A message has come. */
static void note_gap(void)
{
	__s64 now = fair_ms();

	if (now - st.last_ms > st.gap_ms)
		st.gap_ms = now - st.last_ms;
	st.last_ms = now;
}

static void take_message(struct sock *s, const struct ts_addr *from,
			 __u32 len)
{
	const struct tf_hdr *h = (const void *)inbuf;
	struct rx *r;

	if (!st.received++) {
		st.first = ts_now();
		st.last = st.first;
		st.last_ms = fair_ms();
	}
	if (len >= TF_HDR && be32toh(h->magic) == TF_MAGIC)
		r = find_flow(s, from, be64toh(h->flow));
	else
		r = find_rx(s, from);
	if (!r && len >= TF_HDR)
		r = join_flow(s, from, len);
	else if (!r)
		st.unplaced++;
	if (r) {
		tf_rx_message(&r->f, inbuf, len);
		if (!r->counted && rx_complete(r)) {
			r->counted = true;
			if (!st.complete++)
				note_last_flow(s);
		}
	}
	st.last = ts_now();
	note_gap();
	if (o.slow_s)
		usleep(o.slow_s * 1e6);
	if (o.pause_after && st.received == o.pause_after)
		o.resume_at = st.last + o.pause_s;
}

static void recv_some(struct sock *s)
{
	struct ts_addr from;
	int left = BUDGET;
	ssize_t len;

	while (left-- && ts_now() >= o.resume_at) {
		len = get_message(s, &from);
		if (len < 0 && errno == EINTR && !stopped)
			continue;
		if (len < 0 && errno != EAGAIN && errno != EINTR)
			ts_die("recvmsg");
		if (len < 0)
			return;
		if (o.peer.len && !ts_same(&from, &o.peer))
			st.strange++;
		else
			take_message(s, &from, len);
	}
}

struct sum {
	struct tf_count n;
	__u64 flows, complete, lost;
};

static void add_up(struct sum *sum)
{
	struct rx *r;
	unsigned int i;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < o.nsocks; i++) {
		for (r = socks[i].rx; r; r = r->older) {
			sum->flows++;
			sum->complete += rx_complete(r);
			sum->n.received += r->f.n.received;
			sum->n.dup += r->f.n.dup;
			sum->n.reordered += r->f.n.reordered;
			sum->n.corrupt += r->f.n.corrupt;
			sum->n.bytes += r->f.n.bytes;
			if (r->replaced && o.partial)
				sum->lost += r->f.missing;
			else
				sum->lost += r->f.missing +
					r->f.sched.total + 2 - r->f.next;
		}
	}
	if (sum->complete < o.senders && !sum->lost)
		sum->lost = (o.senders - sum->complete) * o.count;
}

/* --- the loop --------------------------------------------------------- */

static void open_sockets(void)
{
	struct linger lg = { .l_onoff = 1, .l_linger = o.so_linger };
	unsigned int i, d;
	int one = 1;
	struct sock *s;

	for (i = 0; i < o.nsocks; i++) {
		s = &socks[i];
		s->addr = ts_port_add(o.bind, i);
		s->fd = ts_socket(&s->addr, o.sndbuf, o.rcvbuf);
		if (o.tos && ioctl(s->fd, SIOCRDSSETTOS, &o.tos))
			ts_die("type of service %u", o.tos);
		if (o.monitor && setsockopt(s->fd, SOL_RDS, RDS_CONG_MONITOR,
					    &one, sizeof(one)))
			ts_die("RDS_CONG_MONITOR");
		if (o.so_linger >= 0 &&
		    setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &lg, sizeof(lg)))
			ts_die("SO_LINGER");
		s->tx = calloc(o.ndest + 1, sizeof(*s->tx));
		if (!s->tx)
			ts_die("no memory");
		for (d = 0; d < o.ndest; d++) {
			s->tx[d].to = ts_port_add(o.dest[d], o.spread ? i : 0);
			s->tx[d].sched = o.sched;
			s->tx[d].sched.flow = random64();
			s->tx[d].sched.seed = random64();
			s->tx[d].sched.total = o.count;
		}
	}
}

/* Tells the test that messages may come, and whom to kill. */
static void say_ready(void)
{
	char tmp[512];
	FILE *f;

	if (!o.ready)
		return;
	snprintf(tmp, sizeof(tmp), "%s.tmp", o.ready);
	f = fopen(tmp, "w");
	if (!f || fprintf(f, "%d\n", getpid()) < 0 || fclose(f) ||
	    rename(tmp, o.ready))
		ts_die("cannot write %s", o.ready);
}

/* How long poll may sleep; a rate or a pause must not be overslept. */
static int wait_ms(bool draining)
{
	double left = o.start + o.timeout - ts_now();
	int ms = STALL_MS;

	if (o.rate)
		ms = 2;
	else if (draining)
		ms = 10;
	else if (o.resume_at > ts_now())
		ms = (o.resume_at - ts_now()) * 1000 + 1;
	if (left * 1000 < ms)
		ms = left < 0 ? 0 : left * 1000 + 1;
	return ms;
}

static void set_events(struct pollfd *p, const struct sock *s)
{
	bool reading = o.mode != SEND && ts_now() >= o.resume_at;

	p->fd = s->fd;
	p->events = 0;
	p->revents = 0;
	if (reading || sock_congested(s))
		p->events |= POLLIN;
	if (sock_sendable(s) && (s->full || !o.rate))
		p->events |= POLLOUT;
}

/* Nobody woke us in time: try again, and know it for a stall if it works. */
static void look_again(struct pollfd *p)
{
	struct sock *s;
	unsigned int i;

	poll(p, o.nsocks, 0);
	for (i = 0; i < o.nsocks; i++) {
		s = &socks[i];
		if (!s->full && !sock_congested(s))
			continue;
		s->overdue = !p[i].revents;
		s->full = false;
		wake_sender(s);
	}
}

static bool poll_round(bool draining)
{
	static struct pollfd p[MAX_SOCKS];
	int ms = wait_ms(draining), n;
	unsigned int i;

	for (i = 0; i < o.nsocks; i++)
		set_events(&p[i], &socks[i]);
	n = poll(p, o.nsocks, ms);
	if (n < 0 && errno != EINTR)
		ts_die("poll");
	if (n < 0)
		return false;
	if (!n && ms >= STALL_MS)
		look_again(p);
	for (i = 0; i < o.nsocks; i++) {
		if (p[i].revents & POLLOUT)
			socks[i].full = false;
		if (p[i].revents & (POLLIN | POLLWRBAND)) {
			recv_some(&socks[i]);
			wake_sender(&socks[i]);
		}
	}
	return n > 0;
}

static bool all_sent(void)
{
	unsigned int i;

	for (i = 0; i < o.nsocks; i++)
		if (!sock_sent_all(&socks[i]))
			return false;
	return true;
}

static bool all_drained(void)
{
	unsigned int i;
	struct sock *s;

	for (i = 0; i < o.nsocks; i++) {
		s = &socks[i];
		if (!s->drained)
			s->drained = ts_drained(s->fd, ts_port(&s->addr));
		if (!s->drained)
			return false;
	}
	return true;
}

static void show_progress(void)
{
	static double next;
	struct sum sum;

	if (!o.progress || ts_now() < next)
		return;
	next = ts_now() + 1;
	add_up(&sum);
	fprintf(stderr, "%5.1f s: sent %llu, received %llu\n",
		ts_now() - o.start, st.sent,
		sum.n.received);
}

/* Asking whether all is acknowledged costs, so not after each small batch. */
static bool finished(bool quiet)
{
	static unsigned int turn;

	if (o.mode & RECV && st.complete < o.senders)
		return false;
	if (!(o.mode & SEND))
		return true;
	if (!all_sent())
		return false;
	return o.nodrain || ((quiet || !(++turn % 16)) && all_drained());
}

static bool time_left(void)
{
	return !stopped && ts_now() < o.start + o.timeout;
}

/* Duplicates come late: stay a while after all has arrived. */
static void linger(void)
{
	double end = ts_now() + o.linger;

	while (o.mode & RECV && time_left() && ts_now() < end)
		poll_round(true);
}

/* Not left to exit(2), which does not linger. */
static void close_sockets(void)
{
	unsigned int i;

	for (i = 0; i < o.nsocks; i++)
		if (o.so_linger >= 0 && close(socks[i].fd))
			ts_die("close");
}

static bool run(void)
{
	bool ok = false, quiet;
	unsigned int i;

	while (!ok && time_left()) {
		for (i = 0; o.mode & SEND && i < o.nsocks; i++)
			send_some(&socks[i]);
		quiet = !poll_round(o.mode & SEND && all_sent());
		ok = finished(quiet);
		show_progress();
	}
	linger();
	return ok;
}

#include "traffic_pingpong.h"
#include "traffic_main.h"
