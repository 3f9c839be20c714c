// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 timeout=60 */
/*
 * What rds-bench prints: ratios of the round they stand in, what several rounds come to, a figure
 * that there is not, words that JSON does not take as they are.
 */
#include <unistd.h>
#include "unit.h"
#include "../../tools/bench/about.h"
#include "../../tools/bench/bench.h"

struct options opt = { .seconds = 0.5, .repeat = 1 };
const struct proto protos[] = { { .name = "udp" }, { .name = "tcp" }, { .name = "rds" } };
const unsigned int nr_protos = 3;

const char * const module_names[NR_MODULES] = { "rds", "rds_tcp", "rds_rdma" };

static const struct about here = { .tool = "5.0-g1", .host = "a\"b", .kernel = "6.12.1",
				   .module = { "5.0", "?", "-" } };
static const struct about there = { .tool = "5.0-g2", .host = "b", .kernel = "6.12.2",
				    .module = { "-", "-", "-" } };
static struct document document = { .date = 1795734305, .here = &here };
static char text[16384];

const char *via_name(int via)
{
	return via == 2 ? "tcp" : "?";
}

static void print_json(const struct result *r, unsigned int n)
{
	report_json(&document, r, n);
}

/* Fills text with what @print makes of the @count results at @r. */
static void printed_all(void (*print)(const struct result *r, unsigned int n),
			const struct result *r, unsigned int count)
{
	FILE *file = tmpfile();
	int saved = dup(1);
	size_t n;

	fflush(stdout);
	CHECK(file && saved >= 0 && dup2(fileno(file), 1) == 1);
	print(r, count);
	fflush(stdout);
	CHECK(dup2(saved, 1) == 1);
	close(saved);
	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = 0;
	fclose(file);
}

static void printed(void (*print)(const struct result *r, unsigned int n), const struct result *r)
{
	printed_all(print, r, 1);
}

/* A stream's rate in a round; 0: failed. */
static struct result stream(const struct proto *p, unsigned int round, double rate)
{
	struct result r = { .proto = p, .cell = { STREAM, 64, 1 }, .round = round, .rate = rate,
			    .failed = !rate, .messages = rate, .seconds = 1, .ctxsw = -1,
			    .wakeups = -1, .median = -1, .p99 = -1, .via = -1 };

	return r;
}

#define UDP	(&protos[0])
#define TCP	(&protos[1])
#define RDS	(&protos[2])

/* Each is compared with TCP's of its own round, whichever came first. */
static void ratios(void)
{
	const struct result all[] = {
		stream(RDS, 1, 300), stream(TCP, 1, 100), stream(TCP, 2, 200), stream(RDS, 2, 100),
		stream(RDS, 3, 100), stream(TCP, 3, 0), stream(RDS, 4, 0), stream(TCP, 4, 100),
	};
	const unsigned int n = ARRAY_SIZE(all);

	EXPECT(ratio_to_tcp(all, n, &all[0]) == 3);
	EXPECT(ratio_to_tcp(all, n, &all[1]) == 1);
	EXPECT(ratio_to_tcp(all, n, &all[3]) == 0.5);
	EXPECT(ratio_to_tcp(all, n, &all[4]) < 0);
	EXPECT(ratio_to_tcp(all, n, &all[6]) < 0);
}

/* The lines that contradicted each other: 51209 above 39159 was 0.81. */
static void rounds_in_table(void)
{
	const struct result all[] = {
		stream(RDS, 1, 51209), stream(TCP, 1, 39159), stream(RDS, 2, 21429),
		stream(TCP, 2, 51074),
	};

	opt.repeat = 2;
	printed_all(report_table, all, 4);
	EXPECT(strstr(text, "\n    1 rds   stream/64           51209.0"));
	EXPECT(strstr(text, "  1.31 x tcp\n    1 tcp "));
	EXPECT(strstr(text, "\n    2 rds   stream/64           21429.0"));
	EXPECT(strstr(text, "  0.42 x tcp\n    2 tcp "));
	EXPECT(strstr(text, "\n2 rounds: median"));
	EXPECT(strstr(text, "rds   stream/64       36319.0 (21429.0 - 51209.0) /s  0.86 (0.42 - "));
	printed_all(print_json, all, 4);
	EXPECT(strstr(text, "\"stream/64\", \"round\": 2, \"ok\": true, \"rate\": 21429.0"));
	EXPECT(strstr(text, "\"x_tcp\": 1.3077}"));
	EXPECT(strstr(text, "{\"median\": 36319.0, \"least\": 21429.0, \"most\": 51209.0}"));
	opt.repeat = 1;
}

/* With one round there is nothing to number, and the table is the summary. */
static void one_round(void)
{
	struct result r = stream(RDS, 1, 100);

	printed(report_table, &r);
	EXPECT(!strstr(text, "round"));
	printed(print_json, &r);
	EXPECT(strstr(text, "\"rounds\": 1, \"failed\": 0, \"rate\": {\"median\": 100.0"));
}

static void summaries(void)
{
	const struct result all[] = {
		stream(RDS, 1, 5), stream(UDP, 1, 0), stream(RDS, 2, 0), stream(UDP, 2, 0),
		stream(RDS, 3, 1), stream(RDS, 4, 2),
	};
	const unsigned int n = ARRAY_SIZE(all);
	struct summary s;
	unsigned int i;

	i = next_summary(all, n, 0, &s);
	EXPECT(i && s.proto == RDS && s.rounds == 4 && s.failed == 1);
	EXPECT(s.rate.n == 3 && s.rate.median == 2 && s.rate.least == 1 && s.rate.most == 5);
	EXPECT(!s.x_tcp.n && !s.median.n);
	i = next_summary(all, n, i, &s);
	EXPECT(i && s.proto == UDP && s.rounds == 2 && s.failed == 2 && !s.rate.n);
	EXPECT(!next_summary(all, n, i, &s));
	opt.repeat = 4;
	printed_all(report_table, all, n);
	EXPECT(strstr(text, "rds   stream/64       2.0 (1.0 - 5.0) /s  1 FAILED\n"));
	EXPECT(strstr(text, "udp   stream/64       2 FAILED\n"));
	opt.repeat = 1;
	printed_all(print_json, all, n);
	EXPECT(strstr(text, "\"rounds\": 2, \"failed\": 2, \"rate\": null, \"median_us\": null"));
}

static struct result pingpong(void)
{
	struct result r = { .proto = protos, .cell = { PINGPONG, 64, 1 }, .messages = 7, .rate = 14,
			    .ns = 1e9 / 14, .seconds = 0.5, .ctxsw = -1, .wakeups = -1,
			    .median = 12.5, .p99 = 4300000.25, .via = -1 };

	return r;
}

static void times(void)
{
	struct result r = pingpong();

	printed(report_table, &r);
	EXPECT(strstr(text, "median 12.5 us, p99 4300000.2 us"));
	printed(print_json, &r);
	EXPECT(strstr(text, "\"median_us\": 12.500, \"p99_us\": 4300000.250"));
}

static void no_times(void)
{
	struct result r = pingpong();

	r.median = -1;
	r.p99 = -1;
	printed(report_table, &r);
	EXPECT(strstr(text, "median - us, p99 - us"));
	printed(print_json, &r);
	EXPECT(strstr(text, "\"median_us\": null, \"p99_us\": null"));
}

static void words(void)
{
	struct result r = pingpong();

	r.failed = true;
	snprintf(r.why, sizeof(r.why), "no \"a\\b\"\n");
	printed(print_json, &r);
	EXPECT(strstr(text, "\"why\": \"no \\\"a\\\\b\\\"\\u000a\"}"));
}

/* Where, with what, and when. */
static void circumstances(void)
{
	struct result r = pingpong();

	r.via = 2;
	printed(print_json, &r);
	EXPECT(strstr(text, "\"date\": \"2026-11-26T"));
	EXPECT(strstr(text, "{\"host\": \"a\\\"b\", \"kernel\": \"6.12.1\", "));
	EXPECT(strstr(text, "\"rds_bench\": \"5.0-g1\", \"modules\": {\"rds\": \"5.0\", "));
	EXPECT(strstr(text, "\"rds_tcp\": \"?\", \"rds_rdma\": null}}"));
	EXPECT(strstr(text, "\n  \"server\": null,\n"));
	EXPECT(strstr(text, "\"ok\": true, \"via\": \"tcp\", \"rate\""));
	document.there = &there;
	printed(print_json, &r);
	EXPECT(strstr(text, "\n  \"server\": {\"host\": \"b\", \"kernel\": \"6.12.2\""));
	document.there = NULL;
}

static const struct unit_test tests[] = {
	CASE(circumstances),
	CASE(ratios),
	CASE(rounds_in_table),
	CASE(one_round),
	CASE(summaries),
	CASE(times),
	CASE(no_times),
	CASE(words),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
