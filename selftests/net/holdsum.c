// SPDX-License-Identifier: GPL-2.0
/*
 * holdsum TABLE - reads what the function tracer has seen of spin_lock_bh() and its like on the
 * first processor, and prints for each function that began a hold: how many, the longest in
 * microseconds, its name.
 *
 * From the first lock to the last unlock of a task, or of a softirq, is one hold, but for the
 * interrupts in between.  TABLE is from holdtrace.py, which judges: lines of an address, what
 * begins there, and its name.  The trace is read raw, since to print a line the kernel looks up
 * two symbols, and that took longer than all that is measured.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRACE		"/sys/kernel/tracing/per_cpu/cpu0/trace_pipe_raw"
#define MAX_SYMBOLS	131072
#define MAX_HELD	65536
#define NAME		64

/* L locks, U unlocks, I and O: an interrupt begins, is over; f: a function that may begin a hold */
static struct symbol {
	uint64_t addr;
	char kind;
	char name[NAME];
	unsigned long count;
	uint64_t longest;
} symbols[MAX_SYMBOLS];
static unsigned int nr_symbols;

/* Locks that a task, or a softirq in its way, holds. */
static struct held {
	int pid;
	char softirq;
	unsigned int depth;
	uint64_t since;
	struct symbol *who;
} held[MAX_HELD];
static unsigned int nr_held;

/* A call of a function. */
struct call {
	int pid;
	char softirq;
	uint64_t at;			/* ns */
	struct symbol *function, *caller;
};

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct symbol *)a)->addr, y = ((const struct symbol *)b)->addr;

	return x < y ? -1 : x > y;
}

static void read_table(const char *path)
{
	FILE *f = fopen(path, "r");
	struct symbol *s;

	if (!f)
		err(1, "%s", path);
	for (s = symbols; s < symbols + MAX_SYMBOLS; s++)
		if (fscanf(f, "%lx %c %63s", &s->addr, &s->kind, s->name) != 3)
			break;
	fclose(f);
	nr_symbols = s - symbols;
	if (!nr_symbols || nr_symbols == MAX_SYMBOLS)
		errx(1, "%u symbols", nr_symbols);
	qsort(symbols, nr_symbols, sizeof(*symbols), by_address);
}

/* The function that @addr is in; the first is below all that can be. */
static struct symbol *function_at(uint64_t addr)
{
	unsigned int low = 0, high = nr_symbols, mid;

	while (high - low > 1) {
		mid = (low + high) / 2;
		if (symbols[mid].addr <= addr)
			low = mid;
		else
			high = mid;
	}
	return &symbols[low];
}

static struct held *find(int pid, char softirq)
{
	unsigned int i;

	/* whoever came last is the likeliest */
	for (i = nr_held; i--;)
		if (held[i].pid == pid && held[i].softirq == softirq)
			return &held[i];
	return NULL;
}

static void lock(const struct call *c)
{
	struct held *h = find(c->pid, c->softirq);

	if (h) {
		h->depth++;
		return;
	}
	if (nr_held == MAX_HELD)
		errx(1, "too many hold locks");
	held[nr_held++] = (struct held){ .pid = c->pid, .softirq = c->softirq, .depth = 1,
					 .since = c->at, .who = c->caller };
}

static void unlock(const struct call *c)
{
	struct held *h = find(c->pid, c->softirq);

	if (!h || --h->depth)
		return;
	h->who->count++;
	if (c->at - h->since > h->who->longest)
		h->who->longest = c->at - h->since;
	*h = held[--nr_held];
}

static void interrupted(uint64_t ns)
{
	unsigned int i;

	for (i = 0; i < nr_held; i++)
		held[i].since += ns;
}

/* What the task has called has not taken the lock yet if a softirq came first. */
static void softirq(const struct call *c)
{
	struct held *h = find(c->pid, 0);

	if (h)
		h->since = c->at;
}

static void take(const struct call *c)
{
	static uint64_t entered;

	switch (c->function->kind) {
	case 'I':
		entered = c->at;
		break;
	case 'O':
		interrupted(c->at - entered);
		break;
	case 'L':
	case 'U':
		if (c->softirq)
			softirq(c);
		if (c->function->kind == 'L')
			lock(c);
		else
			unlock(c);
	}
}

/*
 * The ring buffer's pages, as events/header_page and events/header_event describe them, and
 * events/ftrace/function/format.
 */
struct page {
	uint64_t time, commit;
	unsigned char data[1 << 16];
};

#define DATA_BYTES	0xfffff		/* of commit; above are flags */
#define TIME_BITS	27

enum { LONG = 0, PADDING = 29, TIME_EXTEND, TIME_STAMP };

struct entry {
	uint16_t type;
	uint8_t flags, preempt_count;
	int32_t pid;
	uint64_t ip, parent_ip;
};

#define TYPE_FUNCTION	1
#define IN_HARDIRQ	0x08
#define IN_SOFTIRQ	0x10

static void take_entry(const void *data, unsigned int size, uint64_t at)
{
	struct call c = { .at = at };
	struct entry e;

	if (size < sizeof(e))
		return;
	memcpy(&e, data, sizeof(e));
	if (e.type != TYPE_FUNCTION)
		return;
	c.pid = e.pid;
	c.softirq = (e.flags & (IN_SOFTIRQ | IN_HARDIRQ)) == IN_SOFTIRQ;
	c.function = function_at(e.ip);
	c.caller = function_at(e.parent_ip);
	take(&c);
}

static void take_page(const struct page *p)
{
	const unsigned char *s = p->data, *end = s + (p->commit & DATA_BYTES);
	uint64_t at = p->time, delta;
	uint32_t head, word;

	while (end - s >= 8) {
		memcpy(&head, s, 4);
		memcpy(&word, s + 4, 4);
		s += 4;
		delta = head >> 5;
		switch (head & 31) {
		case PADDING:
			if (!delta)
				return;
			at += delta;
			s += word;
			break;
		case TIME_EXTEND:
			at += ((uint64_t)word << TIME_BITS) + delta;
			s += 4;
			break;
		case TIME_STAMP:
			at = ((uint64_t)word << TIME_BITS) + delta;
			s += 4;
			break;
		case LONG:
			at += delta;
			take_entry(s + 4, word - 4, at);
			s += word;
			break;
		default:
			at += delta;
			take_entry(s, 4 * (head & 31), at);
			s += 4 * (head & 31);
		}
	}
}

int main(int argc, char **argv)
{
	static struct page page;
	unsigned int i;
	int fd;

	if (argc != 2)
		errx(2, "usage: holdsum TABLE");
	read_table(argv[1]);
	fd = open(TRACE, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		err(1, "%s", TRACE);
	/* at most a page at a time */
	while (read(fd, &page, sysconf(_SC_PAGESIZE)) > 0)
		take_page(&page);
	for (i = 0; i < nr_symbols; i++)
		if (symbols[i].count)
			printf("%lu %.0f %s\n", symbols[i].count, symbols[i].longest / 1e3,
			       symbols[i].name);
	return 0;
}
