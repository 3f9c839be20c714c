// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=300 ref=0 soak=4 lanes=uml */
/* vm: expect="kmemleak:.*suspected" */
/*
 * Connections are made, accepted and taken down by the kernel's workers: the
 * n-th fault point of each of them fails while two namespaces meet for the first
 * time, or again. Every accepted message arrives once and in order, both ways,
 * within a bounded time, and all paths of the connection come up.
 */
#include "../api/rds_util.h"
#include "flow.h"

#define SOCKS	12	/* enough for some on every path */
#define SLOW_MS	25000	/* a handshake lost to memory takes seconds */

static struct flow flow[2 * SOCKS];

/* Nothing hangs: every socket can send to its peer, by whatever path. */
static bool recovers(void)
{
	__s64 end = now_ms() + SLOW_MS;
	int a = 0, b = 0;

	flow_max = 3000;	/* this part is not about sizes */
	if (!flows_run(flow, 2 * SOCKS, 3, SLOW_MS)) {
		fprintf(stderr, "# stuck after the fault\n");
		return false;
	}
	do {
		a = paths_up(flow[0].tx);
		b = paths_up(flow[1].tx);
		if (a == PATHS && b == PATHS)
			return true;
		usleep(5000);
	} while (now_ms() < end);
	fprintf(stderr, "# %d and %d of %d paths came up\n", a, b, PATHS);
	return false;
}

/* One meeting of two namespaces, with a fault at the n-th point of each worker. */
struct meeting {
	const char *a, *b;
	int (*first)(int nth);		/* the part with faults; < 0: failed */
	int nth;
};

static struct meeting meeting;

/* Allocations that fail in a storm; a dial meets one or two, and then pauses. */
#define STORM 15

static bool storming;

/* The n-th allocation of each worker fails; or every n-th of all workers, for a while. */
static void trouble(int nth)
{
	if (!storming)
		arm_workers(nth);
	else if (storm_in_tasks("failslab"))
		storm("failslab", nth, STORM, 0);
}

static bool trouble_met(void)
{
	bool used;

	if (!storming)
		return workers_hit();
	used = get_num("failslab", "times") < STORM;
	calm();
	return used;
}

/* The smaller address speaks first and dials. */
static int first_small(int nth)
{
	trouble(nth);
	return flows_run(flow, 1, 4, SLOW_MS) ? 0 : -1;
}

/* The larger one speaks first: it can only knock. */
static int first_large(int nth)
{
	trouble(nth);
	return flows_run(flow + 1, 1, 4, SLOW_MS) ? 0 : -1;
}

static int first_both(int nth)
{
	trouble(nth);
	return flows_run(flow, 2 * SOCKS, 2, SLOW_MS) ? 0 : -1;
}

/* They know each other, then all links are reset in mid-traffic. */
static int again(int nth)
{
	if (!recovers())
		return -1;
	trouble(nth);
	if (!put_text("/proc/sys/net/rds/tcp/rds_tcp_sndbuf", "200000"))
		return -1;
	return flows_run(flow, 2 * SOCKS, 2, SLOW_MS) ? 0 : -1;
}

/*
 * The larger side's namespace is made anew: a stranger there, but its peer still
 * knows it and sends at once, by a link that is being accepted.
 */
static int reborn(int nth)
{
	int i, t;

	if (!recovers())
		return -1;
	/* What the old one has and has not acknowledged would be sent to the new one. */
	for (i = 0; i < SOCKS; i++)
		if (!all_acked(flow[2 * i].tx))
			return -1;
	for (i = 0; i < SOCKS; i++)
		close(flow[2 * i].rx);
	close(rds_ns[1]);
	/* The interfaces of a pair go together. */
	if (!WAIT_UNTIL(!if_nametoindex("eth0")))
		return -1;
	rds_ns[1] = ns_fresh();
	if (rds_ns[1] < 0 || ns_enter(rds_ns[0]) || nl_veth(rds_ns[1]) ||
	    ns_eth("10.1.0.1", "fd00:1::1", "fe80::1") || ns_enter(rds_ns[1]) ||
	    ns_eth("10.1.0.2", "fd00:1::2", "fe80::2") || ns_enter(rds_ns[0]) ||
	    nl_link_flags("eth0", 0))
		return -1;
	for (i = 0; i < SOCKS; i++) {
		t = rds_bound_in(1, meeting.b, 8000 + i);
		if (t < 0 || rds_connect(t, meeting.a, 7000 + i))
			return -1;
		flow[2 * i] = (struct flow){ .tx = flow[2 * i].tx, .rx = t };
		flow[2 * i + 1] = (struct flow){ .tx = t, .rx = flow[2 * i].tx };
	}
	/* Everything waits for the link. */
	for (i = 0; i < 2 * SOCKS; i += 2) {
		flow[i].total = 2;
		flow_send(&flow[i]);
		flow_send(&flow[i]);
	}
	trouble(nth);
	if (nl_link_flags("eth0", 1))
		return -1;
	return flows_run(flow, 2 * SOCKS, 0, SLOW_MS) ? 0 : -1;
}

/* 0 the fault was met and survived, 2 it was not met, 1 failed. */
static int meet(void *arg)
{
	struct meeting *m = arg;
	bool used;
	int ret;

	if (ns_pair() || flows_open(flow, SOCKS, m->a, m->b))
		return 1;
	ret = m->first(m->nth);
	used = trouble_met();
	if (ret < 0 || !recovers())
		return 1;
	return used ? 0 : 2;
}

#define STRIDE	9
#define KINDS	5	/* of meetings, which share the minutes of a soak */

/* Every STRIDE-th fault point from the @nth on: how many were met, or -1. */
static int some_meetings(int nth, int *last, __s64 *worst)
{
	int ret, missed = 0, n = 0;
	__s64 begin;

	/* Which worker does what differs: one miss is not yet the end. */
	for (; nth < NTH_MAX && missed < 3; nth += STRIDE) {
		meeting.nth = nth;
		begin = now_ms();
		ret = reap(spawn(meet, &meeting));
		if (now_ms() - begin > *worst)
			*worst = now_ms() - begin;
		missed = ret == 2 ? missed + 1 : 0;
		n += !ret;
		if (ret == 1 || ret == -1) {
			fprintf(stderr, "# fault %d\n", nth);
			return -1;
		}
	}
	if (nth > *last)
		*last = nth;
	return nth >= NTH_MAX ? -1 : n;
}

/*
 * The fault points of one kind of meeting: how many were met, or -1.  The short form tries every
 * ninth, others each time; with RDS_SOAK it goes on with those between, while it has time, until
 * it has tried every one.
 */
static int all_meetings(void)
{
	__s64 begin = now_ms(), worst = 0;
	int first = begin % STRIDE, pass, ret, last = 0, n = 0;
	__s64 end = begin + soak_minutes() * 60000LL / KINDS, took = 0;

	for (pass = 0; pass < STRIDE && (!pass || now_ms() + took <= end); pass++) {
		took = now_ms();
		ret = some_meetings(1 + (first + pass) % STRIDE, &last, &worst);
		took = now_ms() - took;
		if (ret < 0)
			return -1;
		n += ret;
	}
	printf("# %d of %d fault points of each worker, %d of %d passes, longest %lld ms\n", n,
	       last - 1, pass, STRIDE, worst);
	return n;
}

/* Every second allocation, every third ...: how many kinds of weather, or -1. */
static int all_storms(void)
{
	static const int interval[] = { 2, 3, 5, 8 };
	int i, round, n = 0;

	storming = true;
	for (round = 0; round < (soak_minutes() ? 3 : 1); round++)
		for (i = 0; i < ARRAY_SIZE(interval); i++, n++) {
			meeting.nth = interval[i];
			if (reap(spawn(meet, &meeting))) {
				fprintf(stderr, "# every %d. allocation fails\n", interval[i]);
				calm();
				return -1;
			}
		}
	return n;
}

FIXTURE(meeting)
{
	int unused;
};

FIXTURE_VARIANT(meeting)
{
	const char *a, *b;
	int (*first)(int nth);
};

FIXTURE_VARIANT_ADD(meeting, smaller_first)
{
	.a = "10.1.0.1", .b = "10.1.0.2", .first = first_small,
};

FIXTURE_VARIANT_ADD(meeting, larger_first)
{
	.a = "10.1.0.1", .b = "10.1.0.2", .first = first_large,
};

FIXTURE_VARIANT_ADD(meeting, both_first)
{
	.a = "fd00:1::1", .b = "fd00:1::2", .first = first_both,
};

FIXTURE_VARIANT_ADD(meeting, once_more)
{
	.a = "10.1.0.1", .b = "10.1.0.2", .first = again,
};

FIXTURE_VARIANT_ADD(meeting, peer_reborn)
{
	.a = "10.1.0.1", .b = "10.1.0.2", .first = reborn,
};

FIXTURE_SETUP(meeting)
{
	NEED_FAULTS();
	meeting = (struct meeting){ variant->a, variant->b, variant->first };
}

FIXTURE_TEARDOWN(meeting) {}

TEST_F_TIMEOUT(meeting, workers__fail_nth, 3600)
{
	EXPECT_LT(2, all_meetings());
}

TEST_F_TIMEOUT(meeting, workers__storm, 3600)
{
	EXPECT_LT(3, all_storms());
}

#include "leaks.h"

TEST_HARNESS_MAIN
