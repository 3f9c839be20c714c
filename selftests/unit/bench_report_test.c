// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 timeout=60 */
/* What rds-bench prints: a figure that there is not, words that JSON does not take as they are. */
#include <unistd.h>
#include "unit.h"
#include "../../tools/bench/bench.h"

struct options opt = { .seconds = 0.5 };
const struct proto protos[] = { { .name = "udp" } };
const unsigned int nr_protos = 1;

static char text[8192];

/* Fills text with what @print makes of @r. */
static void printed(void (*print)(const struct result *r, unsigned int n), const struct result *r)
{
	FILE *file = tmpfile();
	int saved = dup(1);
	size_t n;

	fflush(stdout);
	CHECK(file && saved >= 0 && dup2(fileno(file), 1) == 1);
	print(r, 1);
	fflush(stdout);
	CHECK(dup2(saved, 1) == 1);
	close(saved);
	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = 0;
	fclose(file);
}

static struct result pingpong(void)
{
	struct result r = { .proto = protos, .cell = { PINGPONG, 64, 1 }, .messages = 7, .rate = 14,
			    .ns = 1e9 / 14, .seconds = 0.5, .ctxsw = -1, .wakeups = -1,
			    .median = 12.5, .p99 = 4300000.25 };

	return r;
}

static void times(void)
{
	struct result r = pingpong();

	printed(report_table, &r);
	EXPECT(strstr(text, "median 12.5 us, p99 4300000.2 us"));
	printed(report_json, &r);
	EXPECT(strstr(text, "\"median_us\": 12.500, \"p99_us\": 4300000.250"));
}

static void no_times(void)
{
	struct result r = pingpong();

	r.median = -1;
	r.p99 = -1;
	printed(report_table, &r);
	EXPECT(strstr(text, "median - us, p99 - us"));
	printed(report_json, &r);
	EXPECT(strstr(text, "\"median_us\": null, \"p99_us\": null"));
}

static void words(void)
{
	struct result r = pingpong();

	r.failed = true;
	snprintf(r.why, sizeof(r.why), "no \"a\\b\"\n");
	printed(report_json, &r);
	EXPECT(strstr(text, "\"why\": \"no \\\"a\\\\b\\\"\\u000a\"}"));
}

static const struct unit_test tests[] = {
	CASE(times),
	CASE(no_times),
	CASE(words),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
