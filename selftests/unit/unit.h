/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The smallest harness that prints KTAP: no files from the kernel tree are
 * needed, so `make unit` works right after a clone.
 *
 * A program hands its list of cases to unit_main().  EXPECT() notes a failure
 * and goes on.  CHECK() comes from check.h and ends the program, which leaves
 * the plan unfulfilled: also a failure.
 */
#ifndef _RDS_UNIT_H
#define _RDS_UNIT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define UNIT_MAX_REPORT	5	/* failures of one case that are printed */

struct unit_test {
	const char *name;
	void (*run)(void);
};

#define CASE(function)	{ #function, function }

static int unit_failures;

static inline void unit_expect(bool ok, const char *file, int line, const char *what,
			       unsigned long long got, unsigned long long want)
{
	if (ok || unit_failures++ >= UNIT_MAX_REPORT)
		return;
	printf("# %s:%d: %s: got %lld (%#llx), want %lld (%#llx)\n",
	       file, line, what, got, got, want, want);
}

#define EXPECT_EQ(got, want) do {					\
	unsigned long long _got = (got), _want = (want);		\
	unit_expect(_got == _want, __FILE__, __LINE__, #got, _got, _want); \
} while (0)

#define EXPECT(cond)	unit_expect(cond, __FILE__, __LINE__, #cond, 0, 1)

static inline int unit_main(const struct unit_test *tests, int nr)
{
	int i, bad = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..%d\n", nr);
	for (i = 0; i < nr; i++) {
		unit_failures = 0;
		tests[i].run();
		if (unit_failures > UNIT_MAX_REPORT)
			printf("# %d failures in all\n", unit_failures);
		printf("%s %d %s\n", unit_failures ? "not ok" : "ok", i + 1, tests[i].name);
		bad += !!unit_failures;
	}
	return !!bad;
}

#endif /* _RDS_UNIT_H */
