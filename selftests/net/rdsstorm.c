// SPDX-License-Identifier: GPL-2.0
/*
 * rdsstorm ROUNDS PARALLEL - delete network namespaces in the middle of traffic.
 *
 * A round is a pair of namespaces of its own.  Each end sends to the other as fast
 * as it can and checks that all it gets is the next message; beside them somebody
 * reads every list there is, and two write sysctls through files opened before,
 * which do not hold the namespace.  After some messages everybody who holds one
 * is killed, in an order of chance.  The writers learn from an error that the
 * namespace has gone: that, and no leftover, ends a round.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "../traffic_sock.h"

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof(*(a)))
#endif
#include "../api/rds_netns.h"

#define MAX_SIZE	3000
#define LIVES		80	/* messages each end must get before the end may come */
#define PATIENCE	(30 * slow())	/* seconds for whatever must happen */
#define WRITERS		2

/* What the processes of all rounds share. */
static struct shared {
	unsigned long writes, reads, moved, bad;
} *all;

/* What those of one round share. */
static struct round {
	unsigned long got[2];
	unsigned int bound;
} *now;

enum role { END_A, END_B, READER, WRITER, ROLES = WRITER + WRITERS };

static void *shared(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		ts_die("mmap");
	return p;
}

static void in_ns(int n)
{
	if (ns_enter(rds_ns[n]))
		ts_die("setns");
	close(rds_ns[0]);
	close(rds_ns[1]);
}

/* Takes what has come; false when it is not what must come now. */
static bool take_all(int fd, unsigned int n)
{
	static char buf[MAX_SIZE];
	unsigned long seq;
	ssize_t len;

	for (;;) {
		len = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (len < 0)
			return true;
		memcpy(&seq, buf, sizeof(seq));
		if (len < (ssize_t)sizeof(seq) || seq != now->got[n] ||
		    len != (ssize_t)(sizeof(seq) + seq * 37 % (MAX_SIZE - 8))) {
			printf("end %u: message %lu of %zd bytes instead of %lu\n",
			       n, seq, len, now->got[n]);
			return false;
		}
		now->got[n]++;
	}
}

static int end(unsigned int n)
{
	static const char * const name[] = { "10.1.0.1:4000", "10.1.0.2:4000" };
	struct ts_addr me = ts_parse(name[n]), peer = ts_parse(name[!n]);
	static char buf[MAX_SIZE];
	unsigned long seq = 0;
	struct pollfd p;
	int fd;

	in_ns(n);
	fd = ts_socket(&me, 1 << 18, 1 << 18);
	p = (struct pollfd){ .fd = fd, .events = POLLIN | POLLOUT };
	/* what comes to a port that nobody has is lost */
	__atomic_add_fetch(&now->bound, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&now->bound, __ATOMIC_ACQUIRE) < 2)
		usleep(1000);
	for (;;) {
		memcpy(buf, &seq, sizeof(seq));
		if (sendto(fd, buf, sizeof(seq) + seq * 37 % (MAX_SIZE - 8), MSG_DONTWAIT,
			   (void *)&peer.ss, peer.len) >= 0)
			seq++;
		else if (errno == EAGAIN || errno == ENOBUFS)
			poll(&p, 1, 2);
		else
			ts_die("send");
		if (!take_all(fd, n)) {
			__atomic_add_fetch(&all->bad, 1, __ATOMIC_RELAXED);
			return 1;
		}
	}
}

static noreturn void reader(void)
{
	static const int opt[] = {
		RDS_INFO_COUNTERS, RDS6_INFO_SOCKETS, RDS6_INFO_CONNECTIONS,
		RDS6_INFO_SEND_MESSAGES, RDS6_INFO_RETRANS_MESSAGES,
		RDS6_INFO_RECV_MESSAGES, RDS6_INFO_TCP_SOCKETS,
	};
	size_t size, bytes;
	unsigned int i;
	int fd;

	in_ns(getpid() & 1);
	fd = socket(AF_RDS, SOCK_SEQPACKET, 0);
	for (i = 0;; i++) {
		free(ts_info(fd, opt[i % ARRAY_SIZE(opt)], &size, &bytes));
		__atomic_add_fetch(&all->reads, 1, __ATOMIC_RELAXED);
		usleep(2000);
	}
}

/* Ends well when it is told that the file, hence the namespace, has gone. */
static int writer(unsigned int n)
{
	static const char * const file[] = {
		"/proc/sys/net/rds/tcp/rds_tcp_sndbuf",
		"/proc/sys/net/rds/reconnect_max_delay_ms",
	};
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), fd, len;
	char text[16];
	unsigned int i;

	if (home < 0 || ns_initial())
		ts_die("the initial namespace");
	close(home);
	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	in_ns(n & 1);
	fd = open(file[n], O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		ts_die("%s", file[n]);
	if (setns(home, CLONE_NEWNET))
		ts_die("setns back");
	for (i = 0;; i++) {
		len = snprintf(text, sizeof(text), "%u", 20000 + i % 1000 * 10);
		if (pwrite(fd, text, len, 0) < 0)
			return errno != ENOENT;
		__atomic_add_fetch(&all->writes, 1, __ATOMIC_RELAXED);
		/* each write of the first drops the links: let some traffic pass */
		usleep(n ? 1000 : 30000 * slow());
	}
}

static int play(enum role r)
{
	switch (r) {
	case END_A:
	case END_B:
		return end(r);
	case READER:
		reader();
	default:
		return writer(r - WRITER);
	}
}

/* Waits until both ends have got their messages. */
static bool lively(void)
{
	double end = ts_now() + PATIENCE;

	while (ts_now() < end && !all->bad) {
		if (now->got[0] >= LIVES && now->got[1] >= LIVES)
			return true;
		usleep(5000);
	}
	printf("got %lu and %lu messages only\n", now->got[0], now->got[1]);
	return false;
}

/* All but the writers, in an order that differs. */
static void kill_holders(const pid_t *pid, unsigned int nr)
{
	unsigned int i, k;

	for (i = 0; i < WRITER; i++) {
		k = (i + nr) % WRITER;
		kill(pid[k], SIGKILL);
		waitpid(pid[k], NULL, 0);
		if (nr & 4)
			usleep(nr * 7919 % 40000);
	}
}

static bool told(pid_t pid)
{
	double end = ts_now() + PATIENCE;
	int st = -1;

	while (ts_now() < end) {
		if (waitpid(pid, &st, WNOHANG) == pid)
			return !st;
		usleep(10000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return false;
}

static int one_round(unsigned int nr)
{
	pid_t pid[ROLES];
	unsigned int i;
	bool ok;

	now = shared(sizeof(*now));
	if (ns_pair()) {
		printf("cannot make namespaces\n");
		return 1;
	}
	for (i = 0; i < ROLES; i++) {
		pid[i] = fork();
		if (!pid[i])
			_exit(play(i));
	}
	/* this process must not hold them either */
	if (ns_initial())
		ts_die("the initial namespace");
	close(rds_ns[0]);
	close(rds_ns[1]);
	ok = lively();
	usleep(nr * 104729 % 50000);
	kill_holders(pid, nr);
	for (i = WRITER; i < ROLES; i++)
		if (!told(pid[i])) {
			printf("round %u: writer %u was not told\n", nr, i - WRITER);
			ok = false;
		}
	__atomic_add_fetch(&all->moved, now->got[0] + now->got[1], __ATOMIC_RELAXED);
	return !ok;
}

int main(int argc, char **argv)
{
	unsigned int i, rounds, parallel, running = 0, failed = 0;
	double start = ts_now();
	int st;

	if (argc != 3)
		ts_die("rdsstorm ROUNDS PARALLEL");
	rounds = atoi(argv[1]);
	parallel = atoi(argv[2]);
	all = shared(sizeof(*all));
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < rounds || running;) {
		if (i < rounds && running < parallel && !failed) {
			if (!fork())
				exit(one_round(i));
			running++;
			i++;
			continue;
		}
		if (failed)
			i = rounds;
		if (wait(&st) < 0)
			break;
		running--;
		failed += !!st;
	}
	printf("rounds=%u failed=%u moved=%lu writes=%lu reads=%lu bad=%lu seconds=%.1f\n",
	       rounds, failed, all->moved, all->writes, all->reads, all->bad,
	       ts_now() - start);
	return failed || all->bad;
}
