// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=300 ref=0 lanes=uml expect="kmemleak:.*suspected" */
/*
 * Two hosts meet, and there is no memory for what the kernel has to say itself: the pings by which
 * a connection learns that the other end knows its paths, and that it has read what went by path 0
 * before others carry anything; and the answers to them.  In the second form there is none for
 * messages that arrive either, so that TCP has acknowledged what is not read yet.  Messages wait to
 * be sent all the while: each arrives once, those of a socket in order, and all paths come up.
 */
#include "flow.h"

#define SOCKS	8
#define SLOW_MS	30000
#define ROWS	3
#define WRONG	255

/*
 * The size of object that a struct rds_message has, and a struct rds_incoming with up to 64 bytes.
 * Messages of users may sleep for theirs.
 */
#define CONTROL	192
#define CACHES	"/sys/kernel/slab/kmalloc*-192"

static struct flow flow[2 * SOCKS];

/**
 * struct meeting - of two namespaces
 * @skip: so many allocations of these objects do not fail
 * @fail: and then so many do
 * @own: no message of the flows is so small that it is such an object
 */
struct meeting {
	int skip, fail;
	bool own;
};

/* There is always something to be sent until all paths are up, and then some more. */
static bool traffic(void)
{
	__s64 end = now_ms() + SLOW_MS;
	int a, b;

	do {
		if (!flows_run(flow, 2 * SOCKS, 12, SLOW_MS))
			return false;
		a = paths_up(flow[0].tx);
		b = paths_up(flow[1].tx);
	} while ((a < PATHS || b < PATHS) && now_ms() < end);
	if (a != PATHS || b != PATHS)
		fprintf(stderr, "# %d and %d of %d paths came up\n", a, b, PATHS);
	return a == PATHS && b == PATHS && flows_run(flow, 2 * SOCKS, 12, SLOW_MS);
}

/* How many pings had no memory, or in the other form how often a message that has come. */
static int meet(void *arg)
{
	const struct meeting *m = arg;
	__s64 pongs, msgs;
	int lost;
	bool ok;

	flow_max = m->own ? 3000 : 64;
	flow_min = m->own ? 1000 : 64;
	if (ns_pair() || flows_open(flow, SOCKS, "10.1.0.1", "10.1.0.2"))
		return WRONG;
	pongs = counter(flow[0].tx, "pong_nomem");
	msgs = counter(flow[0].tx, "tcp_rx_nomem");
	storm("failslab", 1, m->fail, m->skip * CONTROL);
	ok = traffic();
	lost = m->fail - get_num("failslab", "times");
	calm();
	if (!ok)
		return WRONG;
	pongs = counter(flow[0].tx, "pong_nomem") - pongs;
	msgs = counter(flow[0].tx, "tcp_rx_nomem") - msgs;
	return m->own ? lost - pongs : msgs;
}

FIXTURE(greeting)
{
	int unused;
};

FIXTURE_VARIANT(greeting)
{
	bool own;
	int skip, step;		/* up to, and by */
	int fail[ROWS];
};

/* A link asks each second, ten times, and then does without an answer. */
FIXTURE_VARIANT_ADD(greeting, alone)
{
	.own = true, .skip = 3, .step = 1, .fail = { 1, 2, 5 },
};

/* Also what comes behind the ping that was answered, and before other paths are up. */
FIXTURE_VARIANT_ADD(greeting, and_messages)
{
	.skip = 80, .step = 4, .fail = { 8 },
};

FIXTURE_SETUP(greeting)
{
	NEED_FAULTS();
	calm();
	ASSERT_EQ(0, run_cmd("for c in " CACHES "; do echo 1 >$c/failslab || exit 1; done"));
	fault_attr("failslab", "ignore-gfp-wait", "Y");
	fault_attr("failslab", "cache-filter", "Y");
}

/* Also when the test has failed. */
FIXTURE_TEARDOWN_PARENT(greeting)
{
	calm();
	fault_attr("failslab", "cache-filter", "N");
	run_cmd("for c in " CACHES "; do echo 0 >$c/failslab; done");
}

TEST_F_TIMEOUT(greeting, has_no_memory, 200)
{
	struct meeting m = { .own = variant->own };
	int i, ret, meetings = 0, n = 0;

	for (; m.skip < variant->skip; m.skip += variant->step) {
		for (i = 0; i < ROWS && variant->fail[i]; i++) {
			m.fail = variant->fail[i];
			ret = reap(spawn(meet, &m));
			ASSERT_TRUE(ret >= 0 && ret < WRONG)
				TH_LOG("%d fail after %d", m.fail, m.skip);
			meetings++;
			n += ret;
		}
	}
	printf("# %d meetings, %d without memory\n", meetings, n);
	EXPECT_LT(5, n);
}

#include "leaks.h"

TEST_HARNESS_MAIN
