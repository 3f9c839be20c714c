// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=300 ref=0 expect="kmemleak:.*suspected" lanes=uml */
/*
 * A namespace is made: every fault point of it, ours and all others. What could
 * not be made is undone, also when another subsystem failed after us; what was
 * made is whole: both families can be reached. With RDS_SOAK every point.
 */
#include "fault.h"
#include "../patience.h"

#include <time.h>

static bool exists(const char *path)
{
	return !access(path, F_OK);
}

/* The namespace has all that RDS gives it. */
static bool whole(void)
{
	int fd;

	if (nl_link_flags("lo", 1)) {
		fprintf(stderr, "# lo does not come up\n");
		return false;
	}
	if (!listens("127.0.0.1") || !listens("::1")) {
		fprintf(stderr, "# nobody listens: %m\n");
		return false;
	}
	if (!exists("/proc/sys/net/rds/max_conns") ||
	    !exists("/proc/sys/net/rds/tcp/rds_tcp_sndbuf")) {
		fprintf(stderr, "# no sysctls\n");
		return false;
	}
	fd = rds_bound("127.0.0.1", 5000);
	if (fd < 0 || send_to(fd, "127.0.0.1", 5000, "x", 1, 0) != 1 || !wait_data(fd)) {
		fprintf(stderr, "# RDS does not work: %m\n");
		return false;
	}
	close(fd);
	return true;
}

static int home = -1;
static char some_page[5000];
static int failed, survived;

/* One namespace, with a fault at the n-th point: 0, 2 if it was not met, 1 failed. */
static int one(int nth)
{
	int ret, err;
	bool used;

	arm(nth);
	ret = unshare(CLONE_NEWNET);
	err = errno;
	used = hit();
	if (ret) {
		failed++;
		/* Other subsystems have all kinds of errno for it. */
		if (!used) {
			fprintf(stderr, "# fault %d: %s\n", nth, strerror(err));
			return 1;
		}
		return 0;
	}
	survived++;
	if (!whole()) {
		fprintf(stderr, "# fault %d was survived, but\n", nth);
		return 1;
	}
	if (setns(home, CLONE_NEWNET))
		return 1;
	return used ? 0 : 2;
}

FIXTURE(netns) { int unused; };

FIXTURE_SETUP(netns) {}

FIXTURE_TEARDOWN(netns) {}

TEST_F_TIMEOUT(netns, unshare__fail_nth, 280)
{
	__s64 begin = now_ms();
	int nth, total, ret = 0;

	NEED_FAULTS();
	home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, home);
	arm(NTH_FAR);
	ret = unshare(CLONE_NEWNET);
	total = points_passed();
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, setns(home, CLONE_NEWNET));
	/* Ours are the last. */
	for (nth = nth_after(0, total, 80); !ret && nth < NTH_MAX; nth = nth_after(nth, total, 80))
		ret = one(nth);
	ASSERT_EQ(2, ret);
	TH_LOG("%d of %d fault points exercised, %d refused, %d survived, %lld ms",
	       failed + survived - 1, total, failed, survived - 1, now_ms() - begin);
	EXPECT_LT(20, failed);
}

/* Namespaces the kernel has, whatever holds them. */
static long namespaces(void)
{
	char s[32] = {};
	int fd;

	put_text("/sys/kernel/slab/net_namespace/shrink", "1");
	fd = open("/sys/kernel/slab/net_namespace/objects", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, s, sizeof(s) - 1) <= 0)
		return -1;
	close(fd);
	return atol(s);
}

/* Two namespaces with messages under way both ways, left to the kernel's workers. */
static int leave(int nth)
{
	int i, a, b;

	if (ns_pair())
		return -1;
	a = rds_bound("10.1.0.1", 5001);
	b = rds_bound_in(1, "10.1.0.2", 5002);
	if (a < 0 || b < 0 || send_to(a, "10.1.0.2", 5002, "x", 1, 0) != 1 || !wait_data(b))
		return -1;
	for (i = 0; i < 20; i++)
		if (send_to(a, "10.1.0.2", 5002, some_page, sizeof(some_page), MSG_DONTWAIT) < 0 ||
		    send_to(b, "10.1.0.1", 5001, some_page, sizeof(some_page), MSG_DONTWAIT) < 0)
			return -1;
	arm_workers(nth);
	close(a);
	close(b);
	if (setns(home, CLONE_NEWNET))
		return -1;
	close(rds_ns[0]);
	close(rds_ns[1]);
	return 0;
}

/* The clean-up of a namespace is a worker's, too. */
TEST_F_TIMEOUT(netns, delete__fail_nth, 280)
{
	int nth, used = 0, missed = 0, n = 0;
	long before;

	NEED_FAULTS();
	home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	before = namespaces();
	ASSERT_LT(0, before);
	for (nth = 1; missed < 3 && nth < NTH_MAX; nth += soak_minutes() ? 1 : 13) {
		ASSERT_EQ(0, leave(nth));
		/* The last one that died is freed when the next one dies. */
		ASSERT_TRUE(WAIT_UNTIL(namespaces() <= before + 1));
		used = workers_hit();
		missed = used ? 0 : missed + 1;
		n += !!used;
	}
	/* KCSAN's kernel has fewer steps to fail at in the time there is. */
	EXPECT_LT(slow() > 1 ? 0 : 2, n);
	TH_LOG("%d faults while namespaces were deleted", n);
}

#include "leaks.h"

TEST_HARNESS_MAIN
