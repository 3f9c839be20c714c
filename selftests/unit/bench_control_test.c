// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 timeout=60 */
/*
 * What client and server of rds-bench say to each other: what is written is read again as it was,
 * other versions are told, and nonsense is refused. The words for cells, which are part of it.
 */
#include <arpa/inet.h>
#include "unit.h"
#include "../../tools/bench/control.h"

static char line[CONTROL_LINE], why[200];

static bool same(const struct cell *a, const struct cell *b)
{
	return a->work == b->work && a->size == b->size && a->n == b->n;
}

static struct greeting hello(void)
{
	struct greeting g = { .version = CONTROL_VERSION, .order = "le", .about = {
		.tool = "5.0-g1", .host = "a.example", .kernel = "6.12.1", .module = {
			"5.0", "?", "-" } } };

	return g;
}

static void greetings(void)
{
	struct greeting mine = hello(), other;

	greeting_write(&mine, line, sizeof(line));
	EXPECT(!strcmp(line, "rds-bench 1 le 5.0-g1 a.example 6.12.1 5.0 ? -"));
	EXPECT(greeting_read(line, &other) && !memcmp(&mine, &other, sizeof(mine)));
	EXPECT(!greeting_agree(&mine, &other, why, sizeof(why)));
	/* another commit of the program can say the same */
	memcpy(other.about.tool, "5.1-g2", 7);
	EXPECT(!greeting_agree(&mine, &other, why, sizeof(why)));
	EXPECT(!greeting_read("HTTP/1.1 400 Bad Request", &other));
	EXPECT(!greeting_read("rds-bench", &other));
	EXPECT(!greeting_read("", &other));
	EXPECT(!greeting_read("rds-bench 1 le 5.0", &other));
}

/* Of another version nothing but its number is understood, and that is enough. */
static void versions(void)
{
	struct greeting mine = hello(), other;

	EXPECT(greeting_read("rds-bench 2 whatever comes later", &other));
	EXPECT(greeting_agree(&mine, &other, why, sizeof(why)));
	EXPECT(!strcmp(why, "version differs: it speaks protocol 2, we speak 1"));
	other = hello();
	memcpy(other.order, "be", 3);
	EXPECT(greeting_agree(&mine, &other, why, sizeof(why)));
	EXPECT(strstr(why, "byte order"));
}

static void errands(void)
{
	static const char * const bad[] = {
		"", "run", "run rds", "run rds stream/64 10.0.0.2", "run rds stream/64 10.0.0 1",
		"run rds stream/64 10.0.0.2 1 ", "run rds stream/64 10.0.0.2 1 2",
		"run rds stream/63 10.0.0.2 1", "run rds walk/64 10.0.0.2 1",
		"run rds fanin/64/1025 10.0.0.2 1", "run rds read/64/65 10.0.0.2 1",
		"run rds stream/64 fd00::1 1", "run rds stream/64 10.0.0.2 x",
	};
	struct errand e = { .proto = "rds", .cell = { FANIN, 65536, 16 }, .run = ~0ULL }, back;
	unsigned int i;

	inet_pton(AF_INET, "10.0.0.2", &e.rx);
	errand_write(&e, line, sizeof(line));
	EXPECT(!strcmp(line, "run rds fanin/64K/16 10.0.0.2 ffffffffffffffff"));
	EXPECT(!errand_read(line, &back, why, sizeof(why)));
	EXPECT(!strcmp(back.proto, "rds") && same(&back.cell, &e.cell) && back.run == e.run);
	EXPECT(back.rx.s_addr == e.rx.s_addr);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		why[0] = '\0';
		EXPECT(errand_read(bad[i], &back, why, sizeof(why)) && why[0]);
	}
}

/* The longest line there can be has room, and comes back as it was. */
static void all_counts(void)
{
	static struct counts c, back;
	unsigned int i;

	c.time = UINT64_MAX;
	c.ctxsw = UINT64_MAX;
	c.n = MAX_FLOWS;
	for (i = 0; i < MAX_FLOWS; i++) {
		c.flow[i].received = UINT64_MAX - i;
		c.flow[i].lost = UINT64_MAX / 2 + i;
	}
	counts_write(&c, line, sizeof(line));
	EXPECT(strlen(line) < sizeof(line) - 1);
	EXPECT(counts_read(line, &back) && !memcmp(&c, &back, sizeof(c)));
}

static void no_counts(void)
{
	static const char * const bad[] = {
		"", "counts", "counts 1 2", "counts 1 2 1", "counts 1 2 1 5", "counts 1 2 1 5 6 7",
		"counts 1 2 -1", "counts 1 2 1025", "counts 1 2 1 -5 6", "counts 1 2 1 5  6",
		"counts 1 2 1 99999999999999999999 6", "count 1 2 0", "counts 1 2 0 ",
	};
	static struct counts c;
	unsigned int i;

	EXPECT(counts_read("counts 1 2 0", &c) && c.time == 1 && c.ctxsw == 2 && !c.n);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT(!counts_read(bad[i], &c));
}

static void bytes(void)
{
	unsigned char b[16], back[16];
	unsigned int i;
	size_t len;

	for (i = 0; i < 16; i++)
		b[i] = i * 17;
	bytes_write("address", b, 16, line, sizeof(line));
	EXPECT(!strcmp(line, "address 00112233445566778899aabbccddeeff"));
	EXPECT(bytes_read("address", line, back, 16, &len) && len == 16 && !memcmp(b, back, 16));
	EXPECT(!bytes_read("address", line, back, 15, &len));
	EXPECT(!bytes_read("key", line, back, 16, &len));
	EXPECT(!bytes_read("address", "address", back, 16, &len));
	EXPECT(!bytes_read("address", "address ", back, 16, &len));
	EXPECT(!bytes_read("address", "address 0", back, 16, &len));
	EXPECT(!bytes_read("address", "address 0g", back, 16, &len));
	EXPECT(!bytes_read("address", "address 00 00", back, 16, &len));
}

static void words_of_cells(void)
{
	static const char * const good[] = {
		"stream/64", "pingpong/64K", "pingpong/64/3", "fanout/64/1", "fanin/1M/16",
		"sockets/1032/1024", "beside/1M", "read/64K", "write/64K/64",
	};
	static const char * const bad[] = {
		"stream", "stream/", "/64", "stream/64/2", "stream/31", "stream/33", "stream/2M",
		"fanin/64/0", "fanin/64/-1", "fanin/64/16/", "fanin/64/x", "read/64K/65",
		"write/64K/0", "stream/64k", "streams/64", "stream/4194304K", "",
	};
	struct cell c;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		EXPECT(!cell_parse(good[i], &c, why, sizeof(why)));
		cell_words(&c, line, sizeof(line));
		EXPECT(!strcmp(line, good[i]));
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		why[0] = '\0';
		EXPECT(cell_parse(bad[i], &c, why, sizeof(why)) && why[0]);
	}
}

static const struct unit_test tests[] = {
	CASE(greetings),
	CASE(versions),
	CASE(errands),
	CASE(all_counts),
	CASE(no_counts),
	CASE(bytes),
	CASE(words_of_cells),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
