// SPDX-License-Identifier: GPL-2.0
/*
 * rdsmany NS1 NS2 SOCKETS PEERS SHARE ROUNDS - many sockets to many peers.
 *
 * SOCKETS sockets of 10.1.0.1 in NS1 each send to the PEERS addresses 10.3.0.1 and
 * up in NS2 (each to one in SHARE of them), which answer.  Messages are numbered
 * for each pair of sockets and direction; each end demands every number once and
 * in order, and the senders demand that nothing is left when all have come.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../meminfo.h"
#include "../traffic_sock.h"

#define MAX_SOCKS	4000
#define MAX_PEERS	250
#define PORT		10000
#define PEER_PORT	6000
#define STUCK		40	/* seconds without any message */

struct msg {
	__u32 from, to, number;
	char filler[500];
};

static struct ts_addr socks[MAX_SOCKS], peers[MAX_PEERS];
static int fds[MAX_SOCKS];
static __u16 next_in[MAX_SOCKS][MAX_PEERS];
static unsigned int nsocks, npeers, share, rounds;
static double last_progress;

static void enter(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/var/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		ts_die("namespace %s", name);
	close(fd);
}

static bool talk(unsigned int s, unsigned int p)
{
	return !((s + p) % share);
}

static size_t size_of(const struct msg *m)
{
	return 12 + (m->from * 31 + m->to * 17 + m->number * 7) % sizeof(m->filler);
}

static void alive(void)
{
	last_progress = ts_now();
}

static void check_alive(const char *what)
{
	if (ts_now() > last_progress + STUCK) {
		errno = 0;
		ts_die("%s: nothing moves for %d s", what, STUCK);
	}
}

static void put(int fd, const struct ts_addr *to, const struct msg *m)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };

	while (sendto(fd, m, size_of(m), MSG_DONTWAIT, (void *)&to->ss, to->len) < 0) {
		if (errno != EAGAIN && errno != ENOBUFS)
			ts_die("send to %s", ts_show(to));
		check_alive("send");
		poll(&p, 1, 5);
	}
	alive();
}

/* Takes one message: 1, 0 if there is none; dies if it is not the one due. */
static int take(int fd, struct msg *m, unsigned int me, bool answer)
{
	ssize_t len = recv(fd, m, sizeof(*m), MSG_DONTWAIT);
	unsigned int s = answer ? me : m->from, p = answer ? m->to : me;

	if (len < 0 && errno == EAGAIN)
		return 0;
	if (len < 12 || m->from >= nsocks || m->to >= npeers || m->from != s ||
	    m->to != p || (size_t)len != size_of(m) || m->number != next_in[s][p]) {
		errno = 0;
		ts_die("%zd bytes, number %u of %u -> %u%s where %u was due", len,
		       m->number, m->from, m->to, answer ? " (answer)" : "",
		       s < nsocks && p < npeers ? next_in[s][p] : 0);
	}
	next_in[s][p]++;
	alive();
	return 1;
}

static unsigned long pairs(void)
{
	unsigned long n = 0;
	unsigned int s, p;

	for (s = 0; s < nsocks; s++)
		for (p = 0; p < npeers; p++)
			n += talk(s, p);
	return n;
}

/* Answers what comes until all has come; then sees that no more does. */
static int answerer(int ready)
{
	unsigned long left = pairs() * rounds;
	static struct pollfd pf[MAX_PEERS];
	unsigned int p;
	struct msg m;

	for (p = 0; p < npeers; p++) {
		fds[p] = ts_socket(&peers[p], 4 << 20, 4 << 20);
		pf[p] = (struct pollfd){ .fd = fds[p], .events = POLLIN };
	}
	if (write(ready, "r", 1) != 1)
		return 1;
	alive();
	while (left) {
		poll(pf, npeers, 100);
		check_alive("answerer");
		for (p = 0; p < npeers; p++)
			while (left && take(fds[p], &m, p, false)) {
				put(fds[p], &socks[m.from], &m);
				left--;
			}
	}
	for (p = 0; p < npeers; p++)
		while (!ts_drained(fds[p], PEER_PORT))
			usleep(20000);
	usleep(300000);
	for (p = 0; p < npeers; p++)
		if (take(fds[p], &m, p, false))
			return 1;
	return 0;
}

static unsigned long collect(bool all)
{
	unsigned long n = 0;
	unsigned int s;
	struct msg m;

	for (s = 0; s < nsocks; s++)
		while (take(fds[s], &m, s, true))
			n++;
	if (all && !n)
		poll(NULL, 0, 20);
	return n;
}

static int asker(void)
{
	unsigned long want = pairs() * rounds, got = 0;
	long before = mem_available_now(), least = before, now;
	double start = ts_now();
	unsigned int s, p, r;
	struct msg m = { 0 };

	for (s = 0; s < nsocks; s++)
		fds[s] = ts_socket(&socks[s], 0, 0);
	alive();
	for (r = 0; r < rounds; r++) {
		for (p = 0; p < npeers; p++) {
			for (s = 0; s < nsocks; s++) {
				if (!talk(s, p))
					continue;
				m = (struct msg){ .from = s, .to = p, .number = r };
				put(fds[s], &peers[p], &m);
			}
			now = mem_available_now();
			least = now < least ? now : least;
		}
		got += collect(false);
	}
	while (got < want) {
		got += collect(true);
		check_alive("answers");
	}
	for (s = 0; s < nsocks; s++)
		while (!ts_drained(fds[s], PORT + s))
			usleep(20000);
	usleep(300000);
	if (collect(false))
		return 1;
	printf("sockets=%u peers=%u moved=%lu seconds=%.1f peak_kb=%ld\n", nsocks,
	       npeers, want + got, ts_now() - start, before - least);
	return 0;
}

int main(int argc, char **argv)
{
	struct rlimit rl = { MAX_SOCKS + 100, MAX_SOCKS + 100 };
	unsigned int i;
	char text[64], c;
	int p[2], st, end = 1;
	pid_t pid;

	if (argc != 7)
		ts_die("rdsmany NS1 NS2 SOCKETS PEERS SHARE ROUNDS");
	nsocks = atoi(argv[3]);
	npeers = atoi(argv[4]);
	share = atoi(argv[5]);
	rounds = atoi(argv[6]);
	if (nsocks > MAX_SOCKS || npeers > MAX_PEERS || !share || pipe(p) ||
	    setrlimit(RLIMIT_NOFILE, &rl))
		ts_die("arguments");
	for (i = 0; i < nsocks; i++) {
		snprintf(text, sizeof(text), "10.1.0.1:%u", PORT + i);
		socks[i] = ts_parse(text);
	}
	for (i = 0; i < npeers; i++) {
		snprintf(text, sizeof(text), "10.3.0.%u:%u", i + 1, PEER_PORT);
		peers[i] = ts_parse(text);
	}
	pid = fork();
	if (!pid) {
		enter(argv[2]);
		exit(answerer(p[1]));
	}
	close(p[1]);
	enter(argv[1]);
	st = read(p[0], &c, 1) != 1 || asker();
	if (st)
		kill(pid, SIGTERM);
	waitpid(pid, &end, 0);
	return st || end;
}
