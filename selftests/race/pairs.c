// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=240 ref=0 */
/*
 * Every pair of calls from two threads, on one socket and on two sockets of one
 * address, over loopback and over TCP. After each round: both calls came back
 * with an errno that they may have, each accepted message came once and in
 * order, the ports are free again, and the sockets still work.
 *
 * RDS_SOAK=minutes runs that long. RACE_PAIR="bind close" runs one pair only.
 */
#include "pairs.h"

#include <dirent.h>

#define PORT_X 6001	/* one address for both */
#define PORT_Y 6002
#define PORT_Z 6004	/* the other one of bind against bind */
#define PORT_P 6003	/* the peer */
#define STUCK_MS 20000
#define SHORT_S 30	/* all tests together */
#define MIN_ROUNDS 2

enum op {
	BIND, CONNECT, SENDMSG, RECVMSG, POLL, SETSOCKOPT, INFO, CANCEL, CLOSE,
	DUP_CLOSE, SHUTDOWN, IOCTL, ZCSEND, NR_OPS
};

static const char * const op_name[NR_OPS] = {
	"bind", "connect", "sendmsg", "recvmsg", "poll", "setsockopt", "info",
	"cancel", "close", "dup+close", "shutdown", "ioctl", "zcsend",
};

struct place {
	const char *addr, *peer;
	int ns;			/* of the peer */
	bool two;
};

struct side {
	enum op op;
	int nr;			/* 0 or 1 */
	int fd;
	unsigned int port;	/* to bind to */
	unsigned int r;
	int bound;		/* 1: bind() succeeded */
	int bad;		/* an errno that may not be */
	const char *what;
	pthread_t thread;
	sem_t start, done;
};

static struct side side[2];
static const struct place *place;
static atomic_int ready;
static int px;			/* the peer's socket */

static bool has(enum op op)
{
	return side[0].op == op || side[1].op == op;
}

/* ---- the calls: 0 or the errno ------------------------------------------- */

static int do_bind(struct side *s)
{
	int err = ERR_OF(rds_bind(s->fd, place->addr, s->port));

	s->bound |= !err;
	return err;
}

static int do_connect(struct side *s)
{
	return ERR_OF(rds_connect(s->fd, place->peer, PORT_P));
}

static int do_send(struct side *s)
{
	int flags = s->r & 1 ? MSG_DONTWAIT : 0;
	const char *to = s->r & 2 ? place->peer : NULL;

	if (s->op == ZCSEND)
		flags |= MSG_ZEROCOPY;
	return ERR_OF(acc_send(s->fd, FROM_T0 + s->nr, to, PORT_P, flags, s->r >> 8));
}

static int do_recv(struct side *s)
{
	int flags = s->r & 3 ? MSG_DONTWAIT : 0;

	if ((s->r >> 2 & 7) == 0)
		flags |= MSG_PEEK;
	return ERR_OF(acc_recv(s->fd, flags, false));
}

static int do_poll(struct side *s)
{
	return ERR_OF(poll_for(s->fd, POLLIN | POLLOUT | POLLWRBAND, s->r & 1 ? 0 : 2));
}

static int do_set(struct side *s)
{
	struct rds_rx_trace_so tr = { .rx_traces = s->r >> 4 & 3, .rx_trace_pos = { 0, 1, 2 } };
	bool on = s->r >> 4 & 1;

	switch (s->r % 8) {
	case 0:
		return ERR_OF(set_int(s->fd, SOL_RDS, RDS_CONG_MONITOR, on));
	case 1:
		return ERR_OF(set_int(s->fd, SOL_RDS, RDS_RECVERR, on));
	case 2:
		return ERR_OF(set_int(s->fd, SOL_SOCKET, SO_RCVBUF, 50000 + s->r % 8000));
	case 3:
		return ERR_OF(set_int(s->fd, SOL_SOCKET, SO_TIMESTAMP, on));
	case 4:
		return ERR_OF(set_int(s->fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP));
	case 5:
		return ERR_OF(setsockopt(s->fd, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, &tr,
					 sizeof(tr)));
	case 6:
		return ERR_OF(set_int(s->fd, SOL_RDS, SO_TIMESTAMP_NEW, on));
	default:
		return ERR_OF(set_int(s->fd, SOL_SOCKET, SO_SNDBUF, 50000 + s->r % 8000));
	}
}

static int do_info(struct side *s)
{
	static const int opt[] = {
		RDS6_INFO_SOCKETS, RDS6_INFO_CONNECTIONS, RDS6_INFO_RECV_MESSAGES,
		RDS6_INFO_SEND_MESSAGES, RDS6_INFO_RETRANS_MESSAGES, RDS_INFO_COUNTERS,
		RDS6_INFO_TCP_SOCKETS, RDS_INFO_SOCKETS, RDS_INFO_PATHS,
	};
	socklen_t len;
	void *p;
	int err = ERR_OF(info_get(s->fd, opt[s->r % ARRAY_SIZE(opt)], &p, &len));

	free(p);
	return err;
}

static int do_cancel(struct side *s)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, place->peer, PORT_P);

	return ERR_OF(setsockopt(s->fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
}

static int do_close(struct side *s)
{
	return ERR_OF(close(s->fd));
}

static int do_dup_close(struct side *s)
{
	int d = dup(s->fd);

	return d < 0 ? errno : ERR_OF(close(d));
}

static int do_shutdown(struct side *s)
{
	return ERR_OF(shutdown(s->fd, s->r % 4));
}

static int do_ioctl(struct side *s)
{
	__u8 tos = s->r >> 8;
	int n;

	switch (s->r % 4) {
	case 0:
		return ERR_OF(ioctl(s->fd, SIOCRDSSETTOS, &tos));
	case 1:
		return ERR_OF(ioctl(s->fd, SIOCRDSGETTOS, &tos));
	case 2:
		return ERR_OF(ioctl(s->fd, 0x541b /* FIONREAD */, &n));
	default:
		return ERR_OF(ioctl(s->fd, 0x5411 /* TIOCOUTQ */, &n));
	}
}

static int (*const call[NR_OPS])(struct side *s) = {
	do_bind, do_connect, do_send, do_recv, do_poll, do_set, do_info, do_cancel,
	do_close, do_dup_close, do_shutdown, do_ioctl, do_send,
};

static bool may(const struct side *s, int err)
{
	switch (err) {
	case 0:
		return s->op != SHUTDOWN;
	case EBADF:
		return has(CLOSE) && !place->two;
	case EINVAL:
		return s->op == BIND || s->op == IOCTL;
	case EADDRINUSE:
		return s->op == BIND && place->two && has(BIND);
	case EAGAIN:
	case ETIMEDOUT:
		return s->op == RECVMSG;
	case ENOTCONN:
		return has(BIND) && (s->op == SENDMSG || s->op == ZCSEND || s->op == CANCEL);
	case EOPNOTSUPP:
		return s->op == SHUTDOWN || s->op == SETSOCKOPT ||
		       (s->op == ZCSEND && !place->ns);
	case ENOTTY:
		return s->op == IOCTL;
	}
	return false;
}

/* ---- two threads --------------------------------------------------------- */

static unsigned int rnd(unsigned int *r)
{
	*r = *r * 1103515245 + 12345;
	return *r >> 8;
}

static void delay(unsigned int r)
{
	unsigned int i;

	if (r % 4 == 0)
		sched_yield();
	for (i = 0; r % 4 > 1 && i < (r >> 2 & 0x3fff); i++)
		__asm__ volatile("");
}

static void *work(void *arg)
{
	struct side *s = arg;
	unsigned int r = 77 + s->nr;
	int i, n, err;

	for (;;) {
		sem_wait(&s->start);
		atomic_fetch_add(&ready, 1);
		while (atomic_load(&ready) < 2)
			sched_yield();
		/* closing twice would hit a stranger */
		n = s->op == CLOSE ? 1 : 1 + rnd(&r) % 4;
		for (i = 0; i < n; i++) {
			s->r = rnd(&r);
			delay(rnd(&r));
			err = call[s->op](s);
			if (!may(s, err) && !s->bad)
				s->bad = err ? err : -1;
		}
		sem_post(&s->done);
	}
	return NULL;
}

static void start_threads(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		side[i].nr = i;
		sem_init(&side[i].start, 0, 0);
		sem_init(&side[i].done, 0, 0);
		if (pthread_create(&side[i].thread, NULL, work, &side[i]))
			abort();
	}
}

static bool finished(struct side *s)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += STUCK_MS / 1000;
	while (sem_timedwait(&s->done, &ts))
		if (errno != EINTR)
			return false;
	return true;
}

/* ---- one round ----------------------------------------------------------- */

/* A socket at the address, connected with the peer; unbound if that is the race. */
static int make_socket(unsigned int port, bool bound)
{
	int fd = rds_socket();

	if (fd < 0 || (bound && rds_bind(fd, place->addr, port)) ||
	    rds_connect(fd, place->peer, PORT_P) ||
	    set_timeo(fd, SO_RCVTIMEO, 5) ||
	    set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

/* Messages of the peer to one of the two sockets. */
static bool peer_sends(int nr, unsigned int port, int n)
{
	while (n--)
		if (acc_send(px, FROM_PEER_X + nr, place->addr, port, 0, n * 50) < 0)
			return false;
	return true;
}

static void drain(int fd)
{
	while (acc_recv(fd, MSG_DONTWAIT, true) >= 0)
		;
}

static bool drained(int fd, enum source a, enum source b)
{
	return WAIT_UNTIL((drain(fd), acc_complete(a) && acc_complete(b)));
}

static bool zcopied(int fd, enum source a, enum source b)
{
	return WAIT_UNTIL((drain(fd), acc_zcomplete(a) && acc_zcomplete(b)));
}

/* What is closed or cancelled may be lost. */
static void set_lossy(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		int other = place->two ? i : !i;

		acc.lossy[FROM_T0 + i] = side[other].op == CLOSE || side[other].op == CANCEL;
		acc.lossy[FROM_PEER_X + i] = side[i].op == CLOSE;
	}
	if (!place->two && has(CLOSE))
		acc.lossy[FROM_PEER_X] = true;
}

/* Exactly one bind() of a pair of them may win. */
static const char *check_binds(void)
{
	int i, wins = 0;

	for (i = 0; i < 2; i++)
		wins += side[i].bound;
	if (has(BIND) && !(has(CLOSE) && !place->two) && wins != 1)
		return "not exactly one bind() succeeded";
	for (i = 0; i < 2; i++)
		if (side[i].bound && !has(CLOSE) && port_of(side[i].fd) != side[i].port)
			return "bound to another port than asked for";
	return NULL;
}

/* The sockets after the race: everything arrives, in both directions. */
static const char *check_socket(int nr, int fd)
{
	unsigned int port = port_of(fd);
	enum source mine = FROM_T0 + nr, theirs = FROM_PEER_X + nr;

	if (!port)
		return NULL;	/* lost the bind */
	if (!peer_sends(nr, port, 2))
		return "the peer cannot send to it";
	/* a last one behind those that may be lost */
	if (acc_send(fd, mine, place->peer, PORT_P, 0, 0) < 0)
		return "cannot send";
	if (!drained(fd, theirs, theirs))
		return "does not receive";
	if (!drained(px, FROM_T0, FROM_T1))
		return "the peer does not receive";
	if (!zcopied(fd, mine, place->two ? mine : FROM_T0 + !nr))
		return "a zero-copy completion is missing";
	return NULL;
}

static const char *after(int x, int y)
{
	const char *why = NULL;
	int i;

	for (i = 0; i < 2; i++)
		if (side[i].bad)
			return "a result that may not be";
	why = check_binds();
	if (!why && !(has(CLOSE) && !place->two) && side[0].op != CLOSE)
		why = check_socket(0, x);
	if (!why && place->two && side[1].op != CLOSE)
		why = check_socket(1, y);
	drain(px);
	return why ?: acc_verdict();
}

/* NULL, or what went wrong. */
static const char *run_round(__u32 nr)
{
	bool both = side[0].op == BIND && side[1].op == BIND;
	const char *why;
	int x, y, i;

	acc_reset(nr);
	set_lossy();
	x = make_socket(PORT_X, !(has(BIND) && (!place->two || side[0].op == BIND)));
	y = x;
	if (x >= 0 && place->two)
		y = make_socket(PORT_Y, side[1].op != BIND);
	if (x < 0 || y < 0)
		return "cannot bind: a port is not free again";
	for (i = 0; i < 2; i++) {
		side[i].fd = i ? y : x;
		side[i].bound = 0;
		side[i].bad = 0;
		side[i].port = i && place->two && !both ? PORT_Y :
			       i && both && !place->two ? PORT_Z : PORT_X;
	}
	atomic_store(&ready, 0);
	if (!has(BIND) && (!peer_sends(0, PORT_X, 2) ||
			   (place->two && !peer_sends(1, PORT_Y, 2))))
		return "the peer cannot send";
	for (i = 0; i < 2; i++)
		sem_post(&side[i].start);
	if (!has(BIND) && !peer_sends(0, PORT_X, 2))
		return "the peer cannot send";
	for (i = 0; i < 2; i++)
		if (!finished(&side[i]))
			return "stuck";
	why = after(x, y);
	/* a socket that the race closed is EBADF here, and its number is nobody's */
	close(x);
	if (place->two)
		close(y);
	return why;
}

static void show_stacks(void)
{
	struct dirent *d;
	char path[300], line[200];
	DIR *dir = opendir("/proc/self/task");
	FILE *f;

	while (dir && (d = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/stack", d->d_name);
		f = d->d_name[0] == '.' ? NULL : fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			printf("#   %s: %s", d->d_name, line);
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
}

static bool wanted(enum op a, enum op b)
{
	const char *only = getenv("RACE_PAIR");
	char name[64];

	snprintf(name, sizeof(name), "%s %s", op_name[a], op_name[b]);
	return !only || !*only || !strcmp(only, name);
}

/* For one pair of one of the four tests. */
static int budget_ms(void)
{
	const char *s = getenv("RDS_SOAK"), *only = getenv("RACE_PAIR");
	int ms = (s && atoi(s) > 0 ? atoi(s) * 60000 : SHORT_S * 1000) / 4;

	return only && *only ? ms : ms / (NR_OPS * (NR_OPS + 1) / 2);
}

/* Rounds of one pair for its time: true if all was well. */
static bool run_pair(enum op a, enum op b, __u32 *round)
{
	__s64 end = now_ms() + budget_ms();
	const char *why;
	int n;

	for (n = 0; n < MIN_ROUNDS || now_ms() < end; n++) {
		/* on two sockets it matters who has which */
		side[0].op = n & 1 ? b : a;
		side[1].op = n & 1 ? a : b;
		why = run_round(++*round);
		if (!why)
			continue;
		printf("# %s against %s, round %d: %s (errno %d, %d)\n", op_name[side[0].op],
		       op_name[side[1].op], n, why, side[0].bad, side[1].bad);
		show_stacks();
		fflush(stdout);
		return false;
	}
	return true;
}

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

FIXTURE(pairs)
{
	int dummy;
};

FIXTURE_VARIANT(pairs)
{
	struct place place;
};

FIXTURE_VARIANT_ADD(pairs, one_socket_loop)
{
	.place = { "127.0.0.1", "127.0.0.1", 0, false },
};

FIXTURE_VARIANT_ADD(pairs, two_sockets_loop)
{
	.place = { "127.0.0.1", "127.0.0.1", 0, true },
};

FIXTURE_VARIANT_ADD(pairs, one_socket_tcp)
{
	.place = { "10.1.0.1", "10.1.0.2", 1, false },
};

FIXTURE_VARIANT_ADD(pairs, two_sockets_tcp)
{
	.place = { "10.1.0.1", "10.1.0.2", 1, true },
};

FIXTURE_SETUP(pairs)
{
	SETUP_PAIR();
	place = &variant->place;
	px = rds_bound_in(place->ns, place->peer, PORT_P);
	ASSERT_FD(px);
}

FIXTURE_TEARDOWN(pairs)
{
	close(px);
}

TEST_F_TIMEOUT(pairs, all, 7200)
{
	__u32 round = 0;
	int a, b, fds, pairs = 0, bad = 0;

	start_threads();
	fds = count_fds();
	for (a = 0; a < NR_OPS && !bad; a++) {
		for (b = a; b < NR_OPS && !bad; b++) {
			if (!wanted(a, b))
				continue;
			bad += !run_pair(a, b, &round);
			pairs++;
		}
	}
	printf("# %d pairs, %u rounds\n", pairs, round);
	EXPECT_EQ(0, bad);
	EXPECT_LT(0, pairs);
	if (!bad)
		EXPECT_EQ(fds, count_fds());
}

TEST_HARNESS_MAIN
