// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=300 ref=0 expect="kmemleak:.*suspected" lanes=uml */
/*
 * What runs in softirq has no fail-nth: here allocations fail in the whole system.
 * First those that may not sleep, one at a time and then again and again, while
 * messages flow both ways between two namespaces; then, again and again, all
 * allocations and user copies of this program and of the kernel's workers.
 * Every accepted message arrives once and in order. With RDS_SOAK more of all.
 */
#include "flow.h"

#define SOCKS	4
#define SLOW_MS	30000

static struct flow flow[2 * SOCKS];

FIXTURE(softirq)
{
	int unused;
};

FIXTURE_VARIANT(softirq)
{
	const char *a, *b;
};

FIXTURE_VARIANT_ADD(softirq, ipv4)
{
	.a = "10.1.0.1", .b = "10.1.0.2",
};

FIXTURE_VARIANT_ADD(softirq, ipv6)
{
	.a = "fd00:1::2", .b = "fd00:1::1",
};

FIXTURE_SETUP(softirq)
{
	bool swap = !strcmp(variant->a, "fd00:1::2");
	int i, s, t;

	NEED_FAULTS();
	ASSERT_EQ(0, ns_pair());
	for (i = 0; i < SOCKS; i++) {
		s = rds_bound_in(swap, variant->a, 7000 + i);
		t = rds_bound_in(!swap, variant->b, 8000 + i);
		ASSERT_FD(s);
		ASSERT_FD(t);
		ASSERT_EQ(0, rds_connect(s, variant->b, 8000 + i));
		ASSERT_EQ(0, rds_connect(t, variant->a, 7000 + i));
		flow[2 * i] = (struct flow){ .tx = s, .rx = t };
		flow[2 * i + 1] = (struct flow){ .tx = t, .rx = s };
	}
	calm();
	fault_attr("failslab", "ignore-gfp-wait", "Y");
	fault_attr("fail_page_alloc", "ignore-gfp-wait", "Y");
	ASSERT_TRUE(flows_run(flow, 2 * SOCKS, 6, SLOW_MS));
}

/* Also when the test has failed: the next one would not get far. */
FIXTURE_TEARDOWN_PARENT(softirq)
{
	calm();
}

/*
 * One atomic allocation fails, later and later in a stream of the same messages,
 * until the stream needs no more than that: how many, or -1.
 */
static int one_by_one(const char *kind, long step)
{
	long space;
	int n = 0;
	bool used = true;

	for (space = 0; used; space += step) {
		storm(kind, 1, 1, space);
		if (!flows_run(flow, 2 * SOCKS, 3, SLOW_MS)) {
			fprintf(stderr, "# after %ld units of %s\n", space, kind);
			return -1;
		}
		used = !get_num(kind, "times");
		calm();
		n += used;
	}
	return n;
}

TEST_F_TIMEOUT(softirq, one_atomic_slab_object, 100)
{
	int n = one_by_one("failslab", soak_minutes() ? 500 : 2500);

	EXPECT_LT(10, n);
	TH_LOG("%d faults, %lld times no memory for a received message", n,
	       counter(flow[0].tx, "tcp_rx_nomem"));
}

/* Less and less that succeeds. */
static int again_and_again(const char *kind, int messages)
{
	static const int interval[] = { 101, 37, 13 };
	int i;

	for (i = 0; i < ARRAY_SIZE(interval); i++) {
		storm(kind, interval[i], -1, 0);
		if (!flows_run(flow, 2 * SOCKS, messages, 2 * SLOW_MS))
			return interval[i];
		calm();
		if (!flows_run(flow, 2 * SOCKS, 6, SLOW_MS))
			return interval[i];
	}
	return 0;
}

static void tell(int fd, const char *name)
{
	printf("# %s %lld\n", name, counter(fd, name));
}

TEST_F_TIMEOUT(softirq, atomic_slab_objects, 200)
{
	__s64 before = counter(flow[0].tx, "tcp_rx_nomem");

	EXPECT_EQ(0, again_and_again("failslab", soak_minutes() ? 200 : 40));
	/* It is our receive path that this is about. */
	EXPECT_LT(before, counter(flow[0].tx, "tcp_rx_nomem"));
	tell(flow[0].tx, "tcp_rx_nomem");
}

TEST_F_TIMEOUT(softirq, atomic_pages, 200)
{
	EXPECT_EQ(0, again_and_again("fail_page_alloc", soak_minutes() ? 200 : 40));
}

static int storms(const char *kind, int messages)
{
	static const int interval[] = { 101, 37, 13, 5 };
	int i, me, ret = 0;

	for (i = 0; i < ARRAY_SIZE(interval) && !ret; i++) {
		me = open("/proc/self/make-it-fail", O_RDWR | O_CLOEXEC);
		if (me < 0 || !storm_in_tasks(kind))
			return -1;
		nth_put(me, 1);
		storm(kind, interval[i], -1, 0);
		if (!flows_run(flow, 2 * SOCKS, messages, 2 * SLOW_MS))
			ret = interval[i];
		/* opening files takes memory, and calm() in parts is worse than none */
		nth_put(me, 0);
		close(me);
		calm();
		if (!ret && !flows_run(flow, 2 * SOCKS, 6, SLOW_MS))
			ret = interval[i];
	}
	return ret;
}

TEST_F_TIMEOUT(softirq, all_slab_objects, 200)
{
	EXPECT_EQ(0, storms("failslab", soak_minutes() ? 200 : 40));
	tell(flow[0].tx, "tcp_tx_nomem");
}

TEST_F_TIMEOUT(softirq, all_pages, 200)
{
	EXPECT_EQ(0, storms("fail_page_alloc", soak_minutes() ? 200 : 40));
	tell(flow[0].tx, "tcp_tx_nomem");
}

TEST_F_TIMEOUT(softirq, all_user_copies, 200)
{
	/* Each page is a copy of its own: a long message would never get through. */
	flow_max = 3000;
	EXPECT_EQ(0, storms("fail_usercopy", soak_minutes() ? 200 : 40));
}

#include "leaks.h"

TEST_HARNESS_MAIN
