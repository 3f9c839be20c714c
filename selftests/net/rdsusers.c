// SPDX-License-Identifier: GPL-2.0
/*
 * Users who send between the same two hosts, for net/users, net/pile and net/wakes:
 *
 *	rdsusers hog UID ADDR PORT		binds, and does not read
 *	rdsusers echo UID ADDR PORT		sends back what comes
 *	rdsusers attack UID ADDR TO DEAD HOG	400 sockets send all they can to ports DEAD and HOG
 *	rdsusers sip UID ADDR PORT		8 sockets from PORT on, each full after a message or
 *						two, take what comes at once; prints how much
 *	rdsusers feed UID ADDR TO PORT		sends them all they take
 *	rdsusers probe UID ADDR TO PORT ADDR2 TO2 SECONDS	16 sockets, each with one message
 *						under way to an echo, and 16 between two other
 *						addresses; prints round trips, those of the socket
 *						with the fewest, and their p99 in us
 *	rdsusers patient UID ADDR TO PORT SECONDS	sends what it can, and waits where it must;
 *						prints how many it sent, and its longest wait
 *	rdsusers pile UID ADDR TO SOCKS EACH	queues EACH empty messages with each of SOCKS
 *						sockets, or what it can in 40 s; at SIGUSR1 closes
 *						them and fills new ones as fast as it can
 *	rdsusers crowd UID ADDR TO PORT COUNT	sends until the port is congested; then COUNT
 *						processes, called "waits", wait for it
 *	rdsusers faults UID ADDR TO PORT	16 sockets write to memory that is not there, as
 *						often as they can
 *	rdsusers writes UID ADDR TO PORT	16 sockets write 256 KiB to memory of a socket that
 *						is bound there, as often as they can
 *	rdsusers pass UID ADDR TO TIMES		so often a socket sends one message and is closed;
 *						prints the median and p99 of both in us
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/rds.h>

#ifndef AF_RDS
#define AF_RDS		21
#endif

#define VICTIMS		16		/* at each address */
#define ATTACKERS	400
#define SIPPERS		8
#define BIG		100000
#define SMALL		100
#define LARGE		(256 << 10)
#define MAX_TIMES	200000
#define PILE_TIME	40
#define PERIOD		0.1		/* so often a victim asks, unless it waits for an answer */
#define GRAIN		2		/* ms: the probe looks this often who asks next */

struct addr {
	struct sockaddr_storage ss;
	socklen_t len;
};

/* Two series of times in us. */
static unsigned int times[2][MAX_TIMES], ntimes[2];
static volatile sig_atomic_t told;

static void die(const char *what)
{
	fprintf(stderr, "rdsusers: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static struct addr address(const char *s, int port)
{
	struct addr a = {};
	struct sockaddr_in *v4 = (void *)&a.ss;
	struct sockaddr_in6 *v6 = (void *)&a.ss;

	if (inet_pton(AF_INET, s, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		a.len = sizeof(*v4);
	} else if (inet_pton(AF_INET6, s, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		a.len = sizeof(*v6);
	} else {
		die(s);
	}
	return a;
}

static int bound(const char *s, int port)
{
	struct addr a = address(s, port);
	int fd = socket(AF_RDS, SOCK_SEQPACKET, 0);

	if (fd < 0 || bind(fd, (void *)&a.ss, a.len))
		die("bind");
	return fd;
}

static int put(int fd, const void *buf, size_t len, const struct addr *to)
{
	if (sendto(fd, buf, len, MSG_DONTWAIT, (const void *)&to->ss, to->len) >= 0)
		return 0;
	if (errno != EAGAIN && errno != ENOBUFS)
		die("send");
	return -1;
}

static void tell_ready(void)
{
	printf("ready %d\n", getpid());
	fflush(stdout);
}

static int by_size(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return x < y ? -1 : x > y;
}

/* The one below which that part of them is. */
static unsigned int quantile(int which, double part)
{
	if (!ntimes[which])
		return 0;
	qsort(times[which], ntimes[which], sizeof(**times), by_size);
	return times[which][(unsigned int)(part * (ntimes[which] - 1))];
}

static void note_time(int which, double since)
{
	if (ntimes[which] < MAX_TIMES)
		times[which][ntimes[which]++] = (now() - since) * 1e6;
}

static void hog(char **arg)
{
	bound(arg[0], atoi(arg[1]));
	tell_ready();
	pause();
}

static void echo(char **arg)
{
	int fd = bound(arg[0], atoi(arg[1]));
	struct addr from = { .len = sizeof(from.ss) };
	char buf[SMALL];
	ssize_t n;

	tell_ready();
	for (;;) {
		from.len = sizeof(from.ss);
		n = recvfrom(fd, buf, sizeof(buf), 0, (void *)&from.ss, &from.len);
		if (n < 0)
			die("recv");
		if (sendto(fd, buf, n, 0, (void *)&from.ss, from.len) < 0)
			die("answer");
	}
}

/* Once a second. */
static bool time_to_tell(void)
{
	static double told_at;

	if (now() < told_at + 1)
		return false;
	told_at = now();
	return true;
}

static void attack(char **arg)
{
	struct addr to[2] = { address(arg[1], atoi(arg[2])), address(arg[1], atoi(arg[3])) };
	static int fds[ATTACKERS];
	static char blob[BIG];
	struct timespec pause = { .tv_nsec = 2000000 };
	unsigned long sent[2] = {};
	int i, first = 1;

	for (i = 0; i < ATTACKERS; i++)
		fds[i] = bound(arg[0], 0);
	for (;;) {
		for (i = 0; i < ATTACKERS; i++) {
			int hog = i >= ATTACKERS * 5 / 8;

			sent[hog] += !put(fds[i], blob, BIG, &to[hog]);
		}
		if (first)
			tell_ready();
		first = 0;
		if (time_to_tell()) {
			printf("sent %lu to nobody, %lu to a socket that is not read\n",
			       sent[0], sent[1]);
			fflush(stdout);
		}
		nanosleep(&pause, NULL);
	}
}

static void tell_how_many(const char *what, unsigned long n)
{
	if (!time_to_tell())
		return;
	printf("%s %lu\n", what, n);
	fflush(stdout);
}

static void sip(char **arg)
{
	struct pollfd p[SIPPERS];
	static char buf[BIG];
	unsigned long n = 0;
	int i, one = 1;

	for (i = 0; i < SIPPERS; i++) {
		p[i] = (struct pollfd){ bound(arg[0], atoi(arg[1]) + i), POLLIN, 0 };
		if (setsockopt(p[i].fd, SOL_SOCKET, SO_RCVBUF, &one, sizeof(one)))
			die("SO_RCVBUF");
	}
	tell_ready();
	while (poll(p, SIPPERS, -1) > 0) {
		for (i = 0; i < SIPPERS; i++)
			if (p[i].revents && recv(p[i].fd, buf, sizeof(buf), MSG_DONTWAIT) >= 0)
				n++;
		tell_how_many("sipped", n);
	}
}

static void feed(char **arg)
{
	struct timespec pause = { .tv_nsec = 200000 };
	static char blob[4000];
	struct addr to[SIPPERS];
	int fds[SIPPERS], i;
	unsigned long n = 0;

	for (i = 0; i < SIPPERS; i++) {
		to[i] = address(arg[1], atoi(arg[2]) + i);
		fds[i] = bound(arg[0], 0);
	}
	tell_ready();
	for (;;) {
		for (i = 0; i < SIPPERS; i++)
			n += !put(fds[i], blob, sizeof(blob), &to[i]);
		tell_how_many("fed", n);
		nanosleep(&pause, NULL);
	}
}

/* One who asks, and waits from when he wanted to: that he may not send yet is no excuse. */
struct asker {
	int fd, which;
	int sent;		/* on its way */
	unsigned int answers;
	double since, next;	/* wants an answer since then, or 0; asks next */
};

static unsigned int refused[2];

/* What comes, and what he asks next. */
static void ask(struct asker *a, const struct addr *to)
{
	char buf[SMALL] = {};

	if (a->sent && recv(a->fd, buf, sizeof(buf), MSG_DONTWAIT) >= 0) {
		note_time(a->which, a->since);
		a->answers++;
		a->since = 0;
		a->sent = 0;
	}
	if (!a->since && now() >= a->next) {
		a->since = now();
		a->next = (a->next > a->since - PERIOD ? a->next : a->since - PERIOD) + PERIOD;
	}
	if (a->since && !a->sent) {
		a->sent = !put(a->fd, buf, sizeof(buf), to);
		refused[a->which] += !a->sent;
	}
}

static void report(const char *name, int which, const struct asker *who)
{
	unsigned int i, least = -1U;

	for (i = 0; i < 2 * VICTIMS; i++)
		if (who[i].which == which && who[i].answers < least)
			least = who[i].answers;
	printf("%s %u least %u p99 %u worst %u refused %u\n", name, ntimes[which], least,
	       quantile(which, 0.99), quantile(which, 1), refused[which]);
}

/* Both in one process, in turns: what the processor does to one it does to the other. */
static void probe(char **arg)
{
	struct addr to[2] = { address(arg[1], atoi(arg[2])), address(arg[4], atoi(arg[2])) };
	struct asker who[2 * VICTIMS] = {};
	struct pollfd p[2 * VICTIMS];
	unsigned int turn;
	double end;
	int i, k;

	for (i = 0; i < 2 * VICTIMS; i++) {
		who[i].which = i % 2;
		who[i].fd = bound(arg[i % 2 ? 3 : 0], 0);
		who[i].next = now() + PERIOD * (i / 2) / VICTIMS;
		p[i].fd = who[i].fd;
		p[i].events = POLLIN;
	}
	for (end = now() + atof(arg[5]), turn = 0; now() < end; turn++) {
		for (i = 0; i < 2 * VICTIMS; i++) {
			k = i ^ (turn % 2);	/* the first one waits for the other's answer */
			ask(&who[k], &to[k % 2]);
		}
		poll(p, 2 * VICTIMS, GRAIN);
	}
	/* Who has waited in vain until now counts as well. */
	for (i = 0; i < 2 * VICTIMS; i++)
		if (who[i].since && now() - who[i].since > 1)
			note_time(i % 2, who[i].since);
	report("beside", 0, who);
	report("elsewhere", 1, who);
	printf("grain %d us\n", GRAIN * 1000);
}

static void patient(char **arg)
{
	struct addr to = address(arg[1], atoi(arg[2]));
	struct timeval limit = { .tv_sec = 1 + atoi(arg[3]) };
	double end = now() + atof(arg[3]), t;
	int fd = bound(arg[0], 0);
	static char blob[BIG];

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	do {
		t = now();
		if (sendto(fd, blob, BIG, 0, (void *)&to.ss, to.len) == BIG)
			note_time(0, t);
		else if (errno != EAGAIN)
			die("send");
	} while (now() < end);
	printf("sent %u worst %u\n", ntimes[0], quantile(0, 1));
}

static void on_usr1(int sig)
{
	told = 1;
}

static void pile(char **arg)
{
	int i, k, socks = atoi(arg[2]), each = atoi(arg[3]), *fds = calloc(socks, sizeof(int));
	unsigned long total = 0;
	double begin = now();

	signal(SIGUSR1, on_usr1);
	for (i = 0; i < socks && now() < begin + PILE_TIME; i++) {
		struct addr to = address(arg[1], 1000 + i);

		fds[i] = bound(arg[0], 0);
		for (k = 0; k < each && !put(fds[i], "", 0, &to); k++)
			total++;
	}
	socks = i;
	printf("queued %lu\n", total);
	tell_ready();
	while (!told)
		pause();
	for (i = 0;; i = (i + 1) % socks) {
		struct addr to = address(arg[1], 1000 + i);

		close(fds[i]);
		fds[i] = bound(arg[0], 0);
		for (k = 0; k < each && !put(fds[i], "", 0, &to); k++)
			;
	}
}

/* A peer's map takes a while to come. */
static unsigned int fill(int fd, const struct addr *to)
{
	struct timespec pause = { .tv_nsec = 300000000 };
	static char msg[1000];
	unsigned int n, sum = 0;

	do {
		for (n = 0; !put(fd, msg, sizeof(msg), to); n++)
			;
		nanosleep(&pause, NULL);
		sum += n;
	} while (n);
	return sum;
}

/* They stay: of sockets that are closed with messages that wait there may be so many. */
static void crowd(char **arg)
{
	struct addr to = address(arg[1], atoi(arg[2]));
	struct timespec pause_10ms = { .tv_nsec = 10000000 };
	int i, n = atoi(arg[3]), fd = bound(arg[0], 0);
	volatile int *sent = mmap(NULL, sizeof(*sent), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static char msg[1000];

	if (sent == MAP_FAILED)
		die("mmap");
	printf("full %u\n", fill(fd, &to));
	fflush(stdout);
	for (i = 0; i < n; i++) {
		if (fork())
			continue;
		prctl(PR_SET_NAME, "waits");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fd = bound(arg[0], 0);
		if (sendto(fd, msg, sizeof(msg), 0, (void *)&to.ss, to.len) == sizeof(msg))
			__sync_fetch_and_add(sent, 1);
		pause();
	}
	while (*sent < n)
		nanosleep(&pause_10ms, NULL);
	printf("sent %d\n", n);
	fflush(stdout);
	pause();
}

/* 16 sockets of @addr write to a region at @to all the time. */
static void write_to(const char *addr, struct addr to, __u64 cookie, size_t len)
{
	struct timespec pause_1ms = { .tv_nsec = 1000000 };
	static char mem[LARGE], ctl[CMSG_SPACE(sizeof(struct rds_rdma_args))];
	struct rds_iovec v = { .addr = (long)mem, .bytes = len };
	struct rds_rdma_args a = {
		.cookie = cookie, .remote_vec = { 0, len }, .local_vec_addr = (long)&v,
		.nr_local = 1, .flags = RDS_RDMA_READWRITE,
	};
	struct msghdr m = {
		.msg_name = &to.ss, .msg_namelen = to.len,
		.msg_control = ctl, .msg_controllen = sizeof(ctl),
	};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	unsigned long asked = 0;
	double told_at = now();
	int i, fds[VICTIMS];

	h->cmsg_level = SOL_RDS;
	h->cmsg_type = RDS_CMSG_RDMA_ARGS;
	h->cmsg_len = CMSG_LEN(sizeof(a));
	memcpy(CMSG_DATA(h), &a, sizeof(a));
	for (i = 0; i < VICTIMS; i++)
		fds[i] = bound(addr, 0);
	tell_ready();
	for (;;) {
		for (i = 0; i < VICTIMS; i++)
			asked += !sendmsg(fds[i], &m, MSG_DONTWAIT);
		if (now() > told_at + 1) {
			printf("asked for %lu\n", asked);
			fflush(stdout);
			told_at = now();
		}
		nanosleep(&pause_1ms, NULL);
	}
}

/* Each of them costs the link. */
static void faults(char **arg)
{
	write_to(arg[0], address(arg[1], atoi(arg[2])), 0x12345678, SMALL);
}

static void writes(char **arg)
{
	static char mem[LARGE];
	__u64 cookie;
	struct rds_get_mr_args a = {
		.vec = { (long)mem, sizeof(mem) }, .cookie_addr = (long)&cookie,
		.flags = RDS_RDMA_READWRITE,
	};
	int fd = bound(arg[1], atoi(arg[2]));

	if (setsockopt(fd, SOL_RDS, RDS_GET_MR, &a, sizeof(a)))
		die("GET_MR");
	write_to(arg[0], address(arg[1], atoi(arg[2])), cookie, sizeof(mem));
}

static void pass(char **arg)
{
	struct addr to = address(arg[1], 6);
	int i, fd, n = atoi(arg[2]);
	double t;

	for (i = 0; i < n && i < MAX_TIMES; i++) {
		fd = bound(arg[0], 0);
		t = now();
		put(fd, "", 0, &to);
		note_time(0, t);
		t = now();
		close(fd);
		note_time(1, t);
	}
	printf("send %u p99 %u\n", quantile(0, 0.5), quantile(0, 0.99));
	printf("close %u p99 %u\n", quantile(1, 0.5), quantile(1, 0.99));
}

static const struct mode {
	const char *name;
	int args;
	void (*run)(char **arg);
} modes[] = {
	{ "hog", 2, hog }, { "echo", 2, echo }, { "attack", 4, attack }, { "probe", 6, probe },
	{ "sip", 2, sip }, { "feed", 3, feed }, { "patient", 4, patient },
	{ "crowd", 4, crowd }, { "faults", 3, faults },
	{ "writes", 3, writes }, { "pile", 4, pile }, { "pass", 3, pass },
};

int main(int argc, char **argv)
{
	struct rlimit many = { 8192, 8192 }, all = { RLIM_INFINITY, RLIM_INFINITY };
	unsigned int i;

	for (i = 0; argc > 2 && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name) || argc != modes[i].args + 3)
			continue;
		if (setrlimit(RLIMIT_NOFILE, &many) || setrlimit(RLIMIT_MEMLOCK, &all) ||
		    setuid(atoi(argv[2])))
			die("uid");
		modes[i].run(argv + 3);
		return 0;
	}
	fprintf(stderr, "usage: rdsusers MODE UID ...\n");
	return 2;
}
