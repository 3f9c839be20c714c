// SPDX-License-Identifier: GPL-2.0
/*
 * rdmapeer - two programs that try RDMA with one another over RDS, on two machines.
 *
 *	rdmapeer serve -b ADDR:PORT		makes regions, checks what was written to them
 *	rdmapeer WHAT -b ADDR:PORT -d SERVER	one of the things below
 *
 * Uses only what an in-tree peer knows, unless -g asks for RDS_GET_MR.  Exit status: 0 all was
 * as it must be, 1 it was not, 2 it could not be tried.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <signal.h>

#include "rdmapeer.h"

struct region {
	char *map, *mem;		/* mem: after the guard and the offset */
	char *shadow;			/* what map must look like */
	size_t mapped, len;
	__u64 cookie;
};

static struct {
	struct ts_addr bind, to;
	unsigned long count, size, depth;
	__u64 cookie, silent;
	bool get, fence, lossy;
	double timeout;
	const char *ready;
} o = { .count = 100, .size = 65536, .depth = 16, .timeout = 60 };

static struct region regions[PP_REGIONS];
static unsigned long sunk;
static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = 1;
}

/* --- the server */

static void region_drop(struct region *r)
{
	if (!r->map)
		return;
	munmap(r->map, r->mapped);
	munmap(r->shadow, r->mapped);
	memset(r, 0, sizeof(*r));
}

static void region_make(struct region *r, const struct pp_msg *m)
{
	region_drop(r);
	r->len = m->len;
	r->mapped = (2 * PP_GUARD + m->off + m->len + 4095) & ~4095UL;
	r->map = pp_pages(r->mapped);
	r->shadow = pp_pages(r->mapped);
	r->mem = r->map + PP_GUARD + m->off;
	pp_fill(r->map, r->mapped, ~m->seed);
	pp_fill(r->mem, r->len, m->seed);
	memcpy(r->shadow, r->map, r->mapped);
}

/* The region is registered with the reply, or before it. */
static void serve_make(const struct ts_addr *from, struct pp_msg *m)
{
	struct region *r = &regions[m->region % PP_REGIONS];
	struct rds_get_mr_args a = { .cookie_addr = (long)&r->cookie, .flags = m->flags };

	region_make(r, m);
	a.vec.addr = (long)r->mem;
	a.vec.bytes = r->len;
	m->status = 0;
	m->op = PP_REPLY;
	if (m->cookie) {	/* asked for by its number */
		if (setsockopt(pp.fd, SOL_RDS, RDS_GET_MR, &a, sizeof(a)))
			m->status = errno;
		m->cookie = r->cookie;
		pp_send(from, m, sizeof(*m), 0, NULL, 0);
		return;
	}
	pp_send(from, m, sizeof(*m), RDS_CMSG_RDMA_MAP, &a, sizeof(a));
}

static int region_check(struct region *r, const struct pp_msg *m)
{
	size_t i;

	if (!r->map || m->off + m->len > r->len)
		return -EINVAL;
	pp_fill(r->shadow + (r->mem - r->map) + m->off, m->len, m->seed);
	if (!memcmp(r->map, r->shadow, r->mapped))
		return 0;
	for (i = 0; r->map[i] == r->shadow[i]; i++)
		;
	fprintf(stderr, "region %u: byte %zd is wrong (%zu long, write of %llu at %llu)\n",
		m->region, (ssize_t)i - (r->mem - r->map), r->len, m->len, m->off);
	memcpy(r->shadow, r->map, r->mapped);
	return -EIO;
}

static int region_free(struct region *r, const struct pp_msg *m)
{
	struct rds_free_mr_args a = { .cookie = r->cookie, .flags = m->flags };

	return setsockopt(pp.fd, SOL_RDS, RDS_FREE_MR, &a, sizeof(a)) ? errno : 0;
}

static bool serve_one(const struct ts_addr *from, struct pp_msg *m)
{
	struct region *r = &regions[m->region % PP_REGIONS];

	switch (m->op) {
	case PP_MAKE:
		serve_make(from, m);
		return true;
	case PP_SINK:
		sunk++;
		return true;
	case PP_CHECK:
		m->status = -region_check(r, m);
		break;
	case PP_FREE:
		m->status = region_free(r, m);
		break;
	case PP_PING:
		m->len = sunk;
		m->status = 0;
		break;
	case PP_BYE:
		return false;
	}
	m->op = PP_REPLY;
	pp_send(from, m, sizeof(*m), 0, NULL, 0);
	return true;
}

static int serve(void)
{
	struct ts_addr from;
	struct pp_msg m;

	while (!stopped) {
		ssize_t n = pp_recv(&from, &m, NULL);

		if (n < 0)
			pp_wait(POLLIN);
		else if (n && !serve_one(&from, &m))
			break;
	}
	return 0;
}

/* --- the client */

static __u32 last_id;

static unsigned long redone;

/*
 * Asks and waits; the cookie comes either way.  An operation that a link took with it took its
 * message too: it is asked for again if the link is one that loses packets.
 */
static struct pp_msg ask_with(struct pp_msg m, int type, const void *arg, size_t arglen)
{
	unsigned long gone;
	struct ts_addr from;
	__u64 cookie;
	struct pp_msg r;

	m.magic = PP_MAGIC;
again:
	gone = pp_failed();
	m.id = ++last_id;
	pp_send(&o.to, &m, sizeof(m), type, arg, arglen);
	for (;;) {
		ssize_t n = pp_recv(&from, &r, &cookie);

		if (pp_failed() != gone && o.lossy && ++redone)
			goto again;
		if (n < 0)
			pp_wait(POLLIN);
		else if (n && r.op == PP_REPLY && r.id == m.id)
			break;
	}
	if (cookie)
		r.cookie = cookie;
	return r;
}

static struct pp_msg ask(struct pp_msg m)
{
	return ask_with(m, 0, NULL, 0);
}

/* A region at the server: its cookie. */
static __u64 make(__u32 region, __u64 len, __u64 off, __u64 seed, __u64 flags)
{
	struct pp_msg r = ask((struct pp_msg){
		.op = PP_MAKE, .region = region, .len = len, .off = off, .seed = seed,
		.flags = flags, .cookie = o.get,
	});

	errno = r.status;
	if (r.status || !r.cookie)
		ts_die("no region of %llu bytes", len);
	return r.cookie;
}

static struct rds_rdma_args rdma_args(__u64 cookie, __u64 off, struct rds_iovec *v, __u64 flags,
				      __u64 token)
{
	return (struct rds_rdma_args){
		.cookie = cookie, .remote_vec = { off, v->bytes }, .local_vec_addr = (long)v,
		.nr_local = 1, .user_token = token,
		.flags = flags | RDS_RDMA_NOTIFY_ME | (o.fence ? RDS_RDMA_FENCE : 0),
	};
}

/* The write and the message that has it checked are one request. */
static bool write_one(__u32 region, __u64 cookie, char *mem, __u64 len, __u64 off, __u64 seed,
		      __u64 flags)
{
	struct rds_iovec v = { (long)mem, len };
	struct rds_rdma_args a = rdma_args(cookie, off, &v, flags | RDS_RDMA_READWRITE, seed);
	unsigned long before = pp.notes[RDS_RDMA_SUCCESS], all = pp_noted();
	struct pp_msg r = { .op = PP_CHECK, .region = region, .len = len, .off = off };

	pp_fill(mem, len, seed);
	r.seed = seed;
	redone = 0;
	r = ask_with(r, RDS_CMSG_RDMA_ARGS, &a, sizeof(a));
	await_notes(all + 1 + redone);
	if (r.status)
		fprintf(stderr, "write of %llu at %llu: %s\n", len, off, strerror(r.status));
	return !r.status && pp.notes[RDS_RDMA_SUCCESS] == before + 1;
}

/* @want: what the bytes must be; around them nothing may change. */
static bool read_one(__u64 cookie, char *mem, __u64 len, __u64 off, const char *want, __u64 flags)
{
	struct rds_iovec v = { (long)mem, len };
	struct rds_rdma_args a = rdma_args(cookie, off, &v, flags, off);
	unsigned long before = pp.notes[RDS_RDMA_SUCCESS], all = pp_noted();
	int i, touched = 0;
	__u64 at;

	memset(mem - 64, 0x5a, len + 128);
	redone = 0;
	ask_with((struct pp_msg){ .op = PP_PING }, RDS_CMSG_RDMA_ARGS, &a, sizeof(a));
	await_notes(all + 1 + redone);
	for (i = 1; i <= 64; i++)
		touched += mem[-i] != 0x5a || mem[len + i - 1] != 0x5a;
	if (!memcmp(mem, want, len) && !touched && pp.notes[RDS_RDMA_SUCCESS] == before + 1)
		return true;
	for (at = 0; at < len && mem[at] == want[at]; at++)
		;
	fprintf(stderr, "read of %llu at %llu: byte %llu is %02x, not %02x; %d around it changed\n",
		len, off, at, (__u8)mem[at], at < len ? (__u8)want[at] : 0x5a, touched);
	for (at = 0; at < len && at < 64; at++)
		fprintf(stderr, "%02x/%02x ", (__u8)mem[at], (__u8)want[at]);
	fprintf(stderr, "\nthe same, 0.2 s later: ");
	usleep(200000);
	fputs(memcmp(mem, want, len) ? "still wrong\n" : "right by now\n", stderr);
	return false;
}

/* Every size class at alignments of both ends, written, then read. */
static int content(void)
{
	static const unsigned long sizes[] = {
		1, 2, 7, 8, 9, 511, 4095, 4096, 4097, 12293, 65536, PP_MIB - 4095, PP_MIB,
	};
	static const unsigned long offs[] = { 0, 1, 8, 2049, 4095 };
	char *mem = pp_pages(3 * PP_MIB), *want = pp_pages(PP_MIB);
	unsigned int i, j, n = 0;
	__u64 cookie;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		for (j = 0; j < 5; j++) {
			unsigned long ro = offs[(i + 2 * j) % 5], lo = 4096 + offs[j];
			unsigned long len = sizes[i];
			unsigned long room = len + ro > PP_MIB ? PP_MIB : len + ro;
			__u64 seed = 1000 + ++n;

			if (len > 20000 && j > 1)
				continue;
			ro = room - len;
			/* one region each: the next one finds its predecessor unused */
			cookie = make(n, room, offs[j], seed, 0);
			count(write_one(n, cookie, mem + lo, len, ro, seed + 5000,
					j & 1 ? RDS_RDMA_FENCE : 0));
			pp_fill(want, len, seed + 5000);
			count(read_one(cookie, mem + lo, len, ro, want,
				       j & 2 ? RDS_RDMA_FENCE : 0));
			ask((struct pp_msg){ .op = PP_FREE, .region = n });
		}
	}
	/* used once: it works, once */
	cookie = make(1, 10000, 3, 9, RDS_RDMA_USE_ONCE);
	count(write_one(1, cookie, mem, 10000, 0, 10, 0));
	return 0;
}

/* A request that must fail: the connection goes on with another one. */
static void must_fail(__u64 cookie, __u64 off, __u64 len, bool write, const char *what)
{
	static char mem[8192];
	struct rds_iovec v = { (long)mem, len };
	struct rds_rdma_args a = rdma_args(cookie, off, &v, write ? RDS_RDMA_READWRITE : 0, 1);
	unsigned long all = pp_noted(), remote = pp.notes[RDS_RDMA_REMOTE_ERROR];
	struct pp_msg m = { .magic = PP_MAGIC, .op = PP_SINK };

	pp_send(&o.to, &m, sizeof(m), RDS_CMSG_RDMA_ARGS, &a, sizeof(a));
	await_notes(all + 1);
	count(pp.notes[RDS_RDMA_REMOTE_ERROR] == remote + 1);
	if (pp.notes[RDS_RDMA_REMOTE_ERROR] != remote + 1)
		fprintf(stderr, "%s: not told as an error of the peer\n", what);
}

static int errors(void)
{
	char *mem = pp_pages(PP_MIB);
	__u64 c;

	c = make(1, 8192, 100, 1, 0);
	must_fail(c ^ 0x5500, 0, 100, true, "write with a wrong key");
	c = make(1, 8192, 100, 1, 0);
	must_fail(c ^ 0x5500, 0, 100, false, "read with a wrong key");
	c = make(1, 4096, 0, 1, 0);
	must_fail(c, 4000, 200, true, "write across the end");
	c = make(1, 4096, 0, 1, 0);
	must_fail(c, 4000, 200, false, "read across the end");
	c = make(1, 4096, 0, 1, 0);
	must_fail(c, 1 << 20, 8, true, "write far behind the end");
	c = make(1, 8192, 0, 1, 0);
	count(write_one(1, c, mem, 8192, 0, 2, 0));
	if (o.get) {	/* only then it is known to the server by its number */
		ask((struct pp_msg){ .op = PP_FREE, .region = 1, .flags = RDS_RDMA_INVALIDATE });
		must_fail(c, 0, 100, true, "write to a region that was freed");
		must_fail(c, 0, 100, false, "read from a region that was freed");
	}
	/* none of them changed a byte, and the next one works */
	c = make(2, 8192, 77, 3, 0);
	count(write_one(2, c, mem, 8192, 0, 4, 0));
	count(!ask((struct pp_msg){ .op = PP_CHECK, .region = 1 }).status);
	return 0;
}

/* --- many operations at once */

#define MAX_OPS	4096

static unsigned char fate[MAX_OPS];		/* status + 1 of each token */

static void note_fate(__u64 token, int status)
{
	if (token >= MAX_OPS || fate[token])
		done_bad++;
	else
		fate[token] = status + 1;
}

static void spell(const char *what)
{
	static const char * const names[] = { "success", "remote", "canceled", "dropped", "other" };
	int i;

	printf("{\"what\":\"%s\",\"ok\":%lu,\"bad\":%lu", what, done_ok, done_bad);
	for (i = 0; i < PP_STATUS; i++)
		printf(",\"%s\":%lu", names[i], pp.notes[i]);
}

/*
 * Each adds one to a word of its own, whatever happens to the connection: at the end a word is 1
 * if its operation was told as done, else 0 or 1, and never 2.
 */
static int once(void)
{
	char *words = pp_pages(MAX_OPS * 8 + 8192), *old = pp_pages(MAX_OPS * 8);
	struct pp_msg m = { .magic = PP_MAGIC, .op = PP_SINK };
	unsigned long i, sum = 0;
	__u64 cookie, *w = (__u64 *)(words + 4096);
	char *zeros = pp_pages(MAX_OPS * 8);

	if (o.count > MAX_OPS)
		ts_die("at most %d operations", MAX_OPS);
	cookie = make(1, MAX_OPS * 8, 0, 0, 0);
	count(write_one(1, cookie, zeros, MAX_OPS * 8, 0, 7, 0));
	pp_fill(zeros, MAX_OPS * 8, 7);		/* the words as they were before */
	pp.note = note_fate;
	memset(pp.notes, 0, sizeof(pp.notes));
	for (i = 0; i < o.count && !stopped; i++) {
		struct rds_atomic_args a = {
			.cookie = cookie, .remote_addr = i * 8, .local_addr = (long)old + i * 8,
			.fadd.add = 1, .flags = RDS_RDMA_NOTIFY_ME, .user_token = i,
		};

		while (i - pp_noted() >= o.depth)
			await_notes(pp_noted() + 1);
		pp_send(&o.to, &m, sizeof(m), RDS_CMSG_ATOMIC_FADD, &a, sizeof(a));
	}
	await_notes(o.count);
	pp.note = NULL;
	for (i = 0; i < 3; i++)		/* the link may go once more */
		if (read_one(cookie, (char *)w, MAX_OPS * 8, 0, (char *)w, 0))
			break;
	for (i = 0; i < o.count; i++) {
		__u64 more = w[i] - ((__u64 *)zeros)[i];

		sum += more;
		count(fate[i] == 1 ? more == 1 : fate[i] && more <= 1);
	}
	spell("once");
	printf(",\"executed\":%lu}\n", sum);
	return 1;
}

/* --- adding to one word that others add to, too */

static int fadd(void)
{
	struct pp_msg m = { .magic = PP_MAGIC, .op = PP_SINK };
	__u64 cookie = o.cookie, *old = pp_pages(o.count * 8), last = 0;
	unsigned long i;

	for (i = 0; i < o.count && !stopped; i++) {
		struct rds_atomic_args a = {
			.cookie = cookie, .local_addr = (long)&old[i], .fadd.add = 1,
			.flags = RDS_RDMA_NOTIFY_ME, .user_token = i,
		};

		while (i - pp_noted() >= o.depth)
			await_notes(pp_noted() + 1);
		pp_send(&o.to, &m, sizeof(m), RDS_CMSG_ATOMIC_FADD, &a, sizeof(a));
	}
	await_notes(o.count);
	/* ours come in order: the word only grows */
	for (i = 0; i < o.count; i++) {
		count(!i || old[i] > last);
		last = old[i];
	}
	spell("fadd");
	printf(",\"first\":%llu,\"last\":%llu}\n", old[0], last);
	return 1;
}

/* --- writes until something happens; every one must be told of */

static int flood(void)
{
	struct pp_msg m = { .magic = PP_MAGIC, .op = PP_SINK };
	char *mem = pp_pages(o.size);
	unsigned long posted = 0;
	__u64 cookie = make(1, o.size, 0, 1, 0);
	struct rds_iovec v = { (long)mem, o.size };

	memset(pp.notes, 0, sizeof(pp.notes));
	while (!stopped && posted < o.count && pp_noted() == pp.notes[RDS_RDMA_SUCCESS]) {
		struct rds_rdma_args a = rdma_args(cookie, 0, &v,
						   posted & 1 ? RDS_RDMA_READWRITE : 0, posted);

		if (posted - pp_noted() >= o.depth) {
			pp_wait(POLLIN);
			pp_drain();
			continue;
		}
		pp_send(&o.to, &m, sizeof(m), RDS_CMSG_RDMA_ARGS, &a, sizeof(a));
		posted++;
	}
	await_notes(posted);
	done_ok = pp_noted();
	done_bad = pp.bad;
	spell("flood");
	printf(",\"posted\":%lu}\n", posted);
	return 1;
}

/* --- speed */

static void rate(const char *what, double seconds)
{
	double each = o.count / seconds;

	printf("{\"what\":\"%s\",\"bad\":%lu,\"count\":%lu,\"size\":%lu", what, done_bad,
	       o.count, o.size);
	printf(",\"seconds\":%.3f,\"per_second\":%.1f,\"mib_per_second\":%.2f}\n", seconds, each,
	       each * o.size / PP_MIB);
}

/*
 * Messages that the server only counts; over when it says that it has them all.  With a depth of 1
 * it answers each, and that is waited for.
 */
static int messages(void)
{
	char *data = pp_pages(o.size < sizeof(struct pp_msg) ? 4096 : o.size);
	struct pp_msg m = { .magic = PP_MAGIC, .op = PP_SINK };
	__u64 had = ask((struct pp_msg){ .op = PP_PING }).len;
	size_t len = o.size < sizeof(m) ? sizeof(m) : o.size;
	unsigned long i;
	double start;

	memcpy(data, &m, sizeof(m));
	start = ts_now();
	for (i = 0; i < o.count; i++) {
		if (o.depth == 1)
			ask((struct pp_msg){ .op = PP_PING });
		else
			pp_send(&o.to, data, len, 0, NULL, 0);
	}
	count(ask((struct pp_msg){ .op = PP_PING }).len == had + (o.depth == 1 ? 0 : o.count));
	rate("messages", ts_now() - start);
	return 1;
}

static int writes(void)
{
	struct pp_msg m = { .magic = PP_MAGIC, .op = PP_SINK };
	char *mem = pp_pages(o.size);
	__u64 cookie = make(1, o.size, 0, 1, 0);
	struct rds_iovec v = { (long)mem, o.size };
	unsigned long i;
	double start = ts_now();

	memset(pp.notes, 0, sizeof(pp.notes));
	memcpy(mem, &m, sizeof(m));
	for (i = 0; i < o.count; i++) {
		struct rds_rdma_args a = rdma_args(cookie, 0, &v, RDS_RDMA_READWRITE | o.silent, i);

		while (i - pp_noted() >= o.depth)
			await_notes(pp_noted() + 1);
		if (o.silent)
			pp_send(&o.to, mem, o.size, 0, NULL, 0);
		pp_send(&o.to, &m, o.silent ? 0 : sizeof(m), RDS_CMSG_RDMA_ARGS, &a, sizeof(a));
	}
	await_notes(o.count);
	count(pp.notes[RDS_RDMA_SUCCESS] == o.count && (!o.silent || pp_acked()));
	rate("writes", ts_now() - start);
	return 1;
}

/* One write and one read, for people to look at. */
static int show(void)
{
	char *mem = pp_pages(o.size + 4096), *want = pp_pages(o.size);
	__u64 cookie = make(1, o.size, 0, 1, 0);
	double start = ts_now(), wrote;
	bool ok;

	ok = write_one(1, cookie, mem, o.size, 0, 42, 0);
	wrote = ts_now();
	count(ok);
	printf("RDMA write of %lu KiB, notified: %s; %s (%.0f ms)\n", o.size >> 10,
	       pp.notes[RDS_RDMA_SUCCESS] == 1 ? "success" : "ERROR",
	       ok ? "the peer has checked them" : "the peer has NOT got them",
	       (wrote - start) * 1000);
	pp_fill(want, o.size, 42);
	ok = read_one(cookie, mem + 2048, o.size, 0, want, RDS_RDMA_FENCE);
	count(ok);
	printf("RDMA read of them, notified: %s; %s (%.0f ms)\n",
	       pp.notes[RDS_RDMA_SUCCESS] == 2 ? "success" : "ERROR",
	       ok ? "identical" : "DIFFERENT", (ts_now() - wrote) * 1000);
	return 1;
}

/* A region that many clients share: its cookie is printed, its first word is 0. */
static int share(void)
{
	static char zero[4096];
	__u64 cookie = make(63, 4096, 0, 0, 0);
	struct rds_iovec v = { (long)zero, 4096 };
	struct rds_rdma_args a = rdma_args(cookie, 0, &v, RDS_RDMA_READWRITE, 0);

	ask_with((struct pp_msg){ .op = PP_PING }, RDS_CMSG_RDMA_ARGS, &a, sizeof(a));
	await_notes(1);
	count(pp.notes[RDS_RDMA_SUCCESS] == 1);
	printf("{\"bad\":%lu,\"cookie\":%llu}\n", done_bad, cookie);
	return 1;
}

static int bye(void)
{
	struct pp_msg m = { .magic = PP_MAGIC, .op = PP_BYE };

	pp_send(&o.to, &m, sizeof(m), 0, NULL, 0);
	return 0;
}

static const struct {
	const char *name;
	int (*work)(void);	/* 1: it has printed its report */
} works[] = {
	{ "serve", serve }, { "content", content }, { "errors", errors }, { "once", once },
	{ "share", share }, { "fadd", fadd }, { "flood", flood }, { "messages", messages },
	{ "writes", writes }, { "show", show }, { "bye", bye },
};

static noreturn void usage(void)
{
	unsigned int i;

	fputs("rdmapeer WHAT -b ADDR:PORT [-d ADDR:PORT] [-n COUNT] [-S SIZE] [-q DEPTH]\n"
	      "  [-t SECONDS] [-g (the server uses RDS_GET_MR)] [-f (fence all)] [-l (links may break)]\n"
	      "  [-s (writes: without a message, but behind one)]\n"
	      "  [-r FILE (made when bound)] [-c COOKIE (of share, for fadd)]\n  WHAT:", stderr);
	for (i = 0; i < sizeof(works) / sizeof(*works); i++)
		fprintf(stderr, " %s", works[i].name);
	fputc('\n', stderr);
	exit(2);
}

static void option(int c)
{
	switch (c) {
	case 'b':
		o.bind = ts_parse(optarg);
		break;
	case 'd':
		o.to = ts_parse(optarg);
		break;
	case 'n':
		o.count = strtoul(optarg, NULL, 0);
		break;
	case 'S':
		o.size = strtoul(optarg, NULL, 0);
		break;
	case 'q':
		o.depth = strtoul(optarg, NULL, 0);
		break;
	case 't':
		o.timeout = atof(optarg);
		break;
	case 'c':
		o.cookie = strtoull(optarg, NULL, 0);
		break;
	case 'g':
		o.get = true;
		break;
	case 'f':
		o.fence = true;
		break;
	case 'l':
		o.lossy = true;
		break;
	case 's':
		o.silent = RDS_RDMA_SILENT;
		break;
	case 'r':
		o.ready = optarg;
		break;
	default:
		usage();
	}
}

static void open_socket(void)
{
	FILE *f;

	pp.fd = socket(AF_RDS, SOCK_SEQPACKET, 0);
	if (pp.fd < 0)
		ts_die("socket(AF_RDS)");
	ts_buf(pp.fd, SO_SNDBUFFORCE, SO_SNDBUF, 8 << 20);
	ts_buf(pp.fd, SO_RCVBUFFORCE, SO_RCVBUF, 32 << 20);
	if (bind(pp.fd, (struct sockaddr *)&o.bind.ss, o.bind.len))
		ts_die("bind %s", ts_show(&o.bind));
	if (!o.ready)
		return;
	f = fopen(o.ready, "w");
	if (!f)
		ts_die("%s", o.ready);
	fprintf(f, "%d\n", getpid());
	fclose(f);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	unsigned int i;
	int c, told;

	if (argc < 2)
		usage();
	optind = 2;
	while ((c = getopt(argc, argv, "b:d:n:S:q:t:c:gflsr:")) != -1)
		option(c);
	for (i = 0; i < sizeof(works) / sizeof(*works) && strcmp(argv[1], works[i].name); i++)
		;
	if (i == sizeof(works) / sizeof(*works) || !o.bind.len || (i && !o.to.len) || !o.depth)
		usage();
	sigaction(SIGTERM, &sa, NULL);
	pp.end = ts_now() + o.timeout;
	open_socket();
	told = works[i].work();
	if (i && !told) {
		spell(argv[1]);
		puts("}");
	}
	return !!(done_bad + pp.bad);
}
