// SPDX-License-Identifier: GPL-2.0
/*
 * rdsmisc - what the shell tests cannot do with ip, ss and rds-traffic:
 * destroying TCP connections in a row, sending from two namespaces in the
 * same instant, one socket against many addresses, cancelling, leading
 * connections elsewhere.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define FAIR_LATER
#include "../fairclock.h"
#include "killtcp.h"

/* killtcp EVERY_MS SECONDS: prints how many were destroyed, and in how many of the rounds any. */
static int cmd_killtcp(char **a)
{
	double end = ts_now() + atof(a[1]);
	unsigned int killed = 0, rounds = 0, hits = 0, n;
	int fd = diag_open();

	do {
		n = kill_all(fd, NULL);
		killed += n;
		hits += n > 0;
		rounds++;
		usleep(atof(a[0]) * 1000);
	} while (ts_now() < end);
	printf("%u connections killed in %u of %u rounds\n", killed, hits, rounds);
	return 0;
}

static void enter_ns(const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/var/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		ts_die("namespace %s", name);
	close(fd);
}

static struct ts_addr nth_addr(struct ts_addr a, unsigned int n)
{
	struct sockaddr_in6 *v6 = (void *)&a.ss;
	struct sockaddr_in *v4 = (void *)&a.ss;
	__u32 low;

	if (a.ss.ss_family == AF_INET) {
		v4->sin_addr.s_addr = htonl(ntohl(v4->sin_addr.s_addr) + n);
		return a;
	}
	memcpy(&low, &v6->sin6_addr.s6_addr[12], 4);
	low = htonl(ntohl(low) + n);
	memcpy(&v6->sin6_addr.s6_addr[12], &low, 4);
	return a;
}

struct end {
	struct ts_addr addr;
	int fd, diag;
};

static void open_end(struct end *e, const char *ns, struct ts_addr addr)
{
	enter_ns(ns);
	e->addr = addr;
	e->fd = ts_socket(&e->addr, 0, 0);
	e->diag = diag_open();
}

static void put_number(struct end *from, const struct end *to, unsigned int n)
{
	if (sendto(from->fd, &n, sizeof(n), MSG_DONTWAIT,
		   (const void *)&to->addr.ss, to->addr.len) != sizeof(n))
		ts_die("round %u: send to %s", n, ts_show(&to->addr));
}

/* The next message must be @want, and come before @end. */
static bool get_number(struct end *e, unsigned int want, double end)
{
	struct pollfd p = { .fd = e->fd, .events = POLLIN };
	unsigned int got = ~0U;
	ssize_t len = -1;

	while (len < 0 && ts_now() < end) {
		poll(&p, 1, 100);
		len = recv(e->fd, &got, sizeof(got), MSG_DONTWAIT);
	}
	if (len == sizeof(got) && got == want)
		return true;
	printf("%s: round %u: %s (%zd bytes, number %u)\n", ts_show(&e->addr),
	       want, len < 0 ? "nothing came" : "wrong message", len, got);
	return false;
}

/* Destroys what connects @x and @y, at the one end, the other, or both. */
static unsigned int cut(struct end *x, struct end *y, unsigned int i)
{
	unsigned int killed = 0;

	if (i % 3 != 1)
		killed += kill_all(x->diag, &x->addr);
	if (i % 3 != 0)
		killed += kill_all(y->diag, &y->addr);
	return killed;
}

/* Nothing more than what was sent may come, also not a little later. */
static bool silent(struct end *e)
{
	char c;

	if (recv(e->fd, &c, 1, MSG_DONTWAIT) < 0)
		return true;
	printf("%s: a message too many\n", ts_show(&e->addr));
	return false;
}

static int crossed_pair(char **a, unsigned int nr)
{
	unsigned int i, rounds = atoi(a[4]), killed = 0;
	double start = ts_now(), t, slowest = 0;
	struct end x, y;

	open_end(&x, a[0], nth_addr(ts_parse(a[1]), 256 * nr));
	open_end(&y, a[2], nth_addr(ts_parse(a[3]), 256 * nr));
	for (i = 0; i < rounds; i++) {
		if (i)
			killed += cut(&x, &y, i);
		t = ts_now();
		put_number(i & 2 ? &x : &y, i & 2 ? &y : &x, i);
		put_number(i & 2 ? &y : &x, i & 2 ? &x : &y, i);
		if (!get_number(&x, i, ts_now() + 20) ||
		    !get_number(&y, i, ts_now() + 20))
			return 1;
		t = ts_now() - t;
		slowest = t > slowest ? t : slowest;
	}
	while (!ts_drained(x.fd, 5000) || !ts_drained(y.fd, 5000))
		usleep(20000);
	usleep(200000);
	printf("%u rounds, %u connections killed, %u messages, %.1f s, slowest round %.3f s\n",
	       rounds, killed, rounds * 2, ts_now() - start, slowest);
	return !silent(&x) || !silent(&y) || (rounds > 1 && !killed);
}

/*
 * crossed NS1 ADDR1 NS2 ADDR2 ROUNDS PAIRS: both ends send in the same instant,
 * after all their connections were destroyed.  PAIRS of addresses do so side by
 * side, the n-th of them 256 * n behind the first.
 */
static int cmd_crossed(char **a)
{
	unsigned int i, pairs = atoi(a[5]);
	int st, rc = 0;

	for (i = 0; i < pairs; i++) {
		fflush(stdout);
		if (!fork())
			exit(crossed_pair(a, i));
	}
	while (wait(&st) > 0)
		rc |= st;
	return !!rc;
}

/* contacts NS1 NS2 COUNT: first contact of 10.1.(i+1).1 and .2, i < COUNT. */
static int cmd_contacts(char **a)
{
	char addr[2][32];
	unsigned int i, n = atoi(a[2]);
	struct end e[2];

	for (i = 0; i < n; i++) {
		snprintf(addr[0], sizeof(addr[0]), "10.1.%u.1:5000", i + 1);
		snprintf(addr[1], sizeof(addr[1]), "10.1.%u.2:5000", i + 1);
		open_end(&e[0], a[0], ts_parse(addr[0]));
		open_end(&e[1], a[1], ts_parse(addr[1]));
		put_number(&e[i & 1], &e[~i & 1], i);
		put_number(&e[~i & 1], &e[i & 1], i);
		if (!get_number(&e[0], i, ts_now() + 10) ||
		    !get_number(&e[1], i, ts_now() + 10))
			return 1;
	}
	printf("%u first contacts, %u messages\n", n, n * 2);
	return 0;
}

/* spray FROM TO COUNT [HOLD_S]: one message to each of COUNT addresses. */
static int cmd_spray(char **a)
{
	struct ts_addr from = ts_parse(a[0]), to = ts_parse(a[1]), d;
	unsigned int i, n = atoi(a[2]), ok = 0, refused = 0;
	int fd = ts_socket(&from, 1 << 20, 0), err = 0;

	for (i = 0; i < n; i++) {
		d = nth_addr(to, i);
		if (sendto(fd, "x", 1, MSG_DONTWAIT, (void *)&d.ss, d.len) == 1) {
			ok++;
		} else {
			refused++;
			err = errno;
		}
	}
	printf("accepted=%u refused=%u errno=%d\n", ok, refused, err);
	fflush(stdout);
	if (a[3])
		usleep(atof(a[3]) * 1e6);
	return 0;
}

/*
 * cancel FROM DEAD LIVE COUNT: COUNT messages to each of two destinations, then
 * cancel those to DEAD; only they may go.  LIVE must be unreachable for the
 * time being, so that its messages are still there to be counted.
 */
static int cmd_cancel(char **a)
{
	struct ts_addr from = ts_parse(a[0]), dead = ts_parse(a[1]);
	struct ts_addr live = ts_parse(a[2]);
	unsigned int i, n = atoi(a[3]), before, after;
	int fd = ts_socket(&from, 1 << 20, 0);

	for (i = 0; i < n; i++) {
		if (sendto(fd, &i, sizeof(i), MSG_DONTWAIT, (void *)&dead.ss,
			   dead.len) < 0 ||
		    sendto(fd, &i, sizeof(i), MSG_DONTWAIT, (void *)&live.ss,
			   live.len) < 0)
			ts_die("send %u", i);
	}
	before = ts_listed(fd, ts_port(&from));
	if (setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &dead.ss, dead.len))
		ts_die("RDS_CANCEL_SENT_TO");
	after = ts_listed(fd, ts_port(&from));
	printf("before=%u after=%u\n", before, after);
	fflush(stdout);
	while (!ts_drained(fd, ts_port(&from)))
		usleep(50000);
	printf("drained\n");
	return before == 2 * n && after == n ? 0 : 1;
}

/* numbers ADDR COUNT SECONDS: receive 0 .. COUNT-1 in order, nothing else. */
static int cmd_numbers(char **a)
{
	struct end e = { .addr = ts_parse(a[0]) };
	unsigned int i, n = atoi(a[1]);
	double end = ts_now() + atof(a[2]);

	e.fd = ts_socket(&e.addr, 0, 1 << 20);
	printf("ready\n");
	fflush(stdout);
	for (i = 0; i < n; i++) {
		if (!get_number(&e, i, end))
			return 1;
		printf("got %u\n", i);
		fflush(stdout);
	}
	usleep(300000);
	return recv(e.fd, &i, sizeof(i), MSG_DONTWAIT) >= 0;
}

/*
 * flood FROM TO SECONDS: send as fast as goes until told otherwise by an error
 * that neither poll nor waiting cures, or by the clock.
 */
static int cmd_flood(char **a)
{
	struct ts_addr from = ts_parse(a[0]), to = ts_parse(a[1]);
	double end = ts_now() + atof(a[2]);
	int fd = ts_socket(&from, 1 << 20, 0);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	static char buf[2000];
	unsigned long n = 0;

	while (ts_now() < end) {
		if (sendto(fd, buf, n % sizeof(buf), MSG_DONTWAIT,
			   (void *)&to.ss, to.len) >= 0)
			n++;
		else if (errno == EAGAIN || errno == ENOBUFS)
			poll(&p, 1, 5);
		else if (errno != EINTR)
			break;
	}
	printf("%lu\n", n);
	return 0;
}

/* clock: for each line of input what fair_ms() is */
static int cmd_clock(char **a)
{
	char line[16];

	fair_begin();
	while (fgets(line, sizeof(line), stdin)) {
		printf("%lld\n", (long long)fair_ms());
		fflush(stdout);
	}
	return 0;
}

/* A socket of @ns at @addr, -1 when the module is not there. */
static int open_if_loaded(const char *ns, const struct ts_addr *addr)
{
	int fd;

	enter_ns(ns);
	fd = socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 && errno != EAFNOSUPPORT)
		ts_die("socket");
	if (fd < 0 || !bind(fd, (void *)&addr->ss, addr->len))
		return fd;
	if (errno != EADDRNOTAVAIL)
		ts_die("bind");
	close(fd);
	return -1;
}

/*
 * openers NS1 ADDR1 NS2 ADDR2 STOP: sockets come and go while somebody tries to
 * unload the module, until there is a file STOP.  When both are open the module
 * is there, and must work.
 */
static int cmd_openers(char **a)
{
	struct end x = { .addr = ts_parse(a[1]) }, y = { .addr = ts_parse(a[3]) };
	unsigned int i, round, used = 0, absent = 0;

	for (round = 0; access(a[4], F_OK); round++) {
		x.fd = open_if_loaded(a[0], &x.addr);
		y.fd = open_if_loaded(a[2], &y.addr);
		for (i = 0; x.fd >= 0 && y.fd >= 0 && i < 5; i++) {
			put_number(&x, &y, i);
			if (!get_number(&y, i, ts_now() + 20))
				return 1;
		}
		used += i;
		absent += !i;
		/* who unloads takes longer to begin than a few messages take */
		if (i)
			usleep(round % 5 * 30000);
		if (x.fd >= 0)
			close(x.fd);
		if (y.fd >= 0)
			close(y.fd);
		usleep(round % 7 * 20000);
	}
	printf("messages=%u absent=%u\n", used, absent);
	return 0;
}

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

/* if (user_ip4 == @from) user_ip4 = @to; return 1 */
static int connect_program(__u32 from, __u32 to)
{
	const short ip4 = offsetof(struct bpf_sock_addr, user_ip4);
	struct bpf_insn insn[] = {
		{ BPF_LDX | BPF_MEM | BPF_W, 2, 1, ip4 },
		{ BPF_JMP32 | BPF_JNE | BPF_K, 2, 0, 2, from },
		{ BPF_ALU | BPF_MOV | BPF_K, 3, 0, 0, to },
		{ BPF_STX | BPF_MEM | BPF_W, 1, 3, ip4 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1 },
		{ BPF_JMP | BPF_EXIT },
	};
	static char log[4096];
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_CGROUP_SOCK_ADDR,
		.expected_attach_type = BPF_CGROUP_INET4_CONNECT, .insns = (long)insn,
		.insn_cnt = sizeof(insn) / sizeof(*insn), .license = (long)"GPL",
		.log_buf = (long)log, .log_size = sizeof(log), .log_level = 1,
	};
	int fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0)
		ts_die("no program at connect(): %s", log);
	return fd;
}

/*
 * mislead FROM TO: what connects to the one IPv4 address, whoever it is, gets to the other, until
 * this is killed.
 */
static int cmd_mislead(char **a)
{
	union bpf_attr attr = {};
	struct in_addr from, to;

	if (inet_pton(AF_INET, a[0], &from) != 1 || inet_pton(AF_INET, a[1], &to) != 1)
		ts_die("no address");
	attr.link_create.prog_fd = connect_program(from.s_addr, to.s_addr);
	attr.link_create.target_fd = open("/sys/fs/cgroup", O_RDONLY | O_CLOEXEC);
	attr.link_create.attach_type = BPF_CGROUP_INET4_CONNECT;
	if (bpf(BPF_LINK_CREATE, &attr) < 0)
		ts_die("the root control group takes no program");
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int args;
		int (*run)(char **a);
	} cmds[] = {
		{ "killtcp", 2, cmd_killtcp },
		{ "crossed", 6, cmd_crossed },
		{ "contacts", 3, cmd_contacts },
		{ "spray", 3, cmd_spray },
		{ "cancel", 4, cmd_cancel },
		{ "numbers", 3, cmd_numbers },
		{ "flood", 3, cmd_flood },
		{ "clock", 0, cmd_clock },
		{ "openers", 5, cmd_openers },
		{ "mislead", 2, cmd_mislead },
	};
	unsigned int i;

	for (i = 0; argc > 1 && i < sizeof(cmds) / sizeof(*cmds); i++)
		if (!strcmp(argv[1], cmds[i].name) && argc - 2 >= cmds[i].args)
			return cmds[i].run(argv + 2);
	fputs("see the comments in rdsmisc.c\n", stderr);
	return 2;
}
