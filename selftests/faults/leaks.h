/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included at the end of a test: fixtures run in the order they are written, so
 * this is the last one. LEAKS_KNOWN: text of leaks that are not ours.
 */
#ifndef LEAKS_KNOWN
#define LEAKS_KNOWN NULL
#endif

FIXTURE(end)
{
	int unused;
};

FIXTURE_SETUP(end) {}

FIXTURE_TEARDOWN(end) {}

TEST_F_TIMEOUT(end, no_leaks, 60)
{
	NEED_FAULTS();
	if (access(KMEMLEAK, F_OK))
		SKIP(return, "kernel without kmemleak");
	EXPECT_EQ(0, leaks_found(LEAKS_KNOWN));
}
