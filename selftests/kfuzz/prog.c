// SPDX-License-Identifier: GPL-2.0
/* Programs: made at random, changed at random, as text and back. */
#include "kfuzz.h"

bool prog_faults;

const char * const op_names[NR_OPS] = {
	"socket", "bind", "connect", "send", "sendmmsg", "recv", "recvmmsg", "set_rds",
	"set_sock", "get", "info", "ioctl", "poll", "epoll", "name", "close", "dup", "file",
	"misc", "mem", "fork", "uring", "pause",
};

/* How often each call is chosen. */
static const u8 weight[NR_OPS] = {
	[OP_SOCKET] = 4, [OP_BIND] = 6, [OP_CONNECT] = 5, [OP_SEND] = 28, [OP_SENDMMSG] = 3,
	[OP_RECV] = 18, [OP_RECVMMSG] = 2, [OP_SET_RDS] = 10, [OP_SET_SOCK] = 10, [OP_GET] = 3,
	[OP_INFO] = 5, [OP_IOCTL] = 3, [OP_POLL] = 3, [OP_EPOLL] = 2, [OP_NAME] = 2,
	[OP_CLOSE] = 4, [OP_DUP] = 2, [OP_FILE] = 2, [OP_MISC] = 2, [OP_MEM] = 2, [OP_FORK] = 1,
	[OP_URING] = 4, [OP_PAUSE] = 3,
};

static u64 state;

void rng_seed(u64 seed)
{
	state = seed * 0x9e3779b97f4a7c15ULL + 1;
}

u64 rng(void)
{
	return mix(state += 0x9e3779b97f4a7c15ULL);
}

static u32 below(u32 n)
{
	return rng() % n;
}

static u8 some_op(void)
{
	u32 i, sum = 0, x;

	for (i = 0; i < NR_OPS; i++)
		sum += weight[i];
	x = below(sum);
	for (i = 0; x >= weight[i]; i++)
		x -= weight[i];
	return i;
}

static void call_make(struct call *c)
{
	static const u8 fine[] = { 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 5, 6, 7 };
	u32 i;

	c->op = some_op();
	c->thread = below(2);
	c->slot = fine[below(ARRAY_SIZE(fine))];
	c->fail = prog_faults && !below(4) ? 1 + below(40) : 0;
	/* small numbers mean the ordinary, so half of the bytes are small */
	for (i = 0; i < sizeof(c->b); i++)
		c->b[i] = below(2) ? below(256) : below(4);
}

void prog_make(struct prog *p)
{
	u32 i;

	memset(p, 0, sizeof(*p));
	p->n = 3 + below(MAX_CALLS - 3);
	for (i = 0; i < p->n; i++)
		call_make(&p->c[i]);
}

static void insert(struct prog *p, const struct call *c)
{
	u32 at = below(p->n + 1);

	if (p->n == MAX_CALLS)
		return;
	memmove(&p->c[at + 1], &p->c[at], (p->n - at) * sizeof(*c));
	p->c[at] = *c;
	p->n++;
}

static void delete_one(struct prog *p)
{
	u32 at = below(p->n);

	if (p->n < 2)
		return;
	memmove(&p->c[at], &p->c[at + 1], (p->n - at - 1) * sizeof(p->c[0]));
	p->n--;
}

/* A head of this one, then a tail of the other. */
static void splice_progs(struct prog *p, const struct prog *other)
{
	u32 keep = below(p->n) + 1, from = below(other->n);

	while (keep < MAX_CALLS && from < other->n)
		p->c[keep++] = other->c[from++];
	p->n = keep;
}

static void change_call(struct call *c)
{
	u32 i = below(sizeof(c->b));

	switch (below(6)) {
	case 0:
		c->b[i] ^= 1 << below(8);
		break;
	case 1:
		c->b[i] = below(256);
		break;
	case 2:
		c->b[i] = below(4);
		break;
	case 3:
		c->slot = below(NR_SLOTS);
		break;
	case 4:
		c->thread ^= 1;
		break;
	default:
		c->fail = prog_faults ? below(40) : 0;
		c->b[i] += below(2) ? 1 : -1;
	}
}

void prog_change(struct prog *p, const struct prog *other)
{
	u32 n = 1 + below(4);
	struct call c;

	while (n--) {
		switch (below(10)) {
		case 0:
			splice_progs(p, other);
			break;
		case 1:
			delete_one(p);
			break;
		case 2:
		case 3:
			call_make(&c);
			insert(p, &c);
			break;
		case 4:
			c = p->c[below(p->n)];
			insert(p, &c);
			break;
		default:
			change_call(&p->c[below(p->n)]);
		}
	}
}

int prog_hex(const struct prog *p, char *out, size_t len)
{
	const u8 *b = (const u8 *)p->c;
	size_t i, n = p->n * sizeof(p->c[0]);

	if (len < 2 * n + 1)
		return -1;
	for (i = 0; i < n; i++)
		sprintf(out + 2 * i, "%02x", b[i]);
	out[2 * n] = 0;
	return 2 * n;
}

int prog_parse(struct prog *p, const char *hex)
{
	size_t n = strspn(hex, "0123456789abcdef") / 2, i;
	u8 *b = (u8 *)p->c;
	unsigned int x;

	memset(p, 0, sizeof(*p));
	if (!n || n % sizeof(p->c[0]) || n > sizeof(p->c))
		return -1;
	for (i = 0; i < n; i++) {
		if (sscanf(hex + 2 * i, "%2x", &x) != 1)
			return -1;
		b[i] = x;
	}
	p->n = n / sizeof(p->c[0]);
	return 0;
}

void prog_print(const struct prog *p)
{
	char hex[2 * sizeof(p->c) + 1];
	u32 i, k;

	prog_hex(p, hex, sizeof(hex));
	printf("# program %s\n", hex);
	for (i = 0; i < p->n; i++) {
		const struct call *c = &p->c[i];

		printf("#   t%u %s s%u", c->thread & 1, op_names[c->op % NR_OPS],
		       c->slot % NR_SLOTS);
		if (c->fail)
			printf(" fail=%u", c->fail);
		printf(" :");
		for (k = 0; k < sizeof(c->b); k++)
			printf(" %u", c->b[k]);
		printf("\n");
	}
	fflush(stdout);
}
