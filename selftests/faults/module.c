// SPDX-License-Identifier: GPL-2.0
/* vm: modules=rdma_rxe,rdma_cm,veth netns=init timeout=300 ref=0 fresh=1 lanes=uml */
/* vm: expect=trace_ev|event_define_fields|event_file_put|suspect */
/*
 * The modules are loaded: every fault point of it, while there are several
 * namespaces. A module that could not be loaded leaves nothing behind; one that
 * was loaded is whole in every namespace, and can be unloaded; rds_rdma finds a device. The
 * kernel's own tracing warns when it cannot describe an event of the module, and once more
 * when that goes. With RDS_SOAK every point, else all of the last ones.
 */
#include "fault.h"

#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

static int spare_ns = -1;	/* a second namespace */

/*
 * The module's file, in memory: the guest's root file system does not get over a fault, and
 * finds no program any more (EINVAL; seen with overlayfs over 9p).
 */
static int module_file(const char *name)
{
	int from, to = memfd_create(name, MFD_CLOEXEC), fd = -1;
	char path[256];
	struct utsname u;

	uname(&u);
	snprintf(path, sizeof(path), "/lib/modules/%s/updates/%s.ko", u.release, name);
	from = open(path, O_RDONLY | O_CLOEXEC);
	if (from >= 0 && to >= 0)
		while (sendfile(to, from, NULL, 1 << 20) > 0)
			;
	/* as nobody writes to a module's file, nobody may be able to */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", to);
	if (to >= 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	close(from);
	close(to);
	return fd;
}

static int load(int file)
{
	return syscall(__NR_finit_module, file, "", 0);
}

static int unload(const char *name)
{
	return syscall(__NR_delete_module, name, O_NONBLOCK);
}

static bool loaded(const char *name)
{
	char line[512], word[64];
	FILE *f = fopen("/proc/modules", "re");
	bool found = false;

	while (f && fgets(line, sizeof(line), f))
		found |= sscanf(line, "%63s", word) == 1 && !strcmp(word, name);
	if (f)
		fclose(f);
	return found;
}

/* A line of /proc/net/protocols: no socket() here, it would load the module. */
static bool has_proto(void)
{
	char line[512];
	FILE *f = fopen("/proc/net/protocols", "re");
	bool found = false;

	while (f && fgets(line, sizeof(line), f))
		found |= !strncmp(line, "RDS ", 4);
	if (f)
		fclose(f);
	return found;
}

static bool rds_there(void)
{
	return has_proto() && !access("/proc/sys/net/rds/max_conns", F_OK) &&
	       !access("/sys/kernel/slab/RDS", F_OK);
}

static bool rds_gone(void)
{
	return !has_proto() && access("/proc/sys/net/rds", F_OK) &&
	       access("/sys/kernel/slab/RDS", F_OK);
}

static bool tcp_there(void)
{
	return listens("127.0.0.1") && listens("::1") &&
	       !access("/proc/sys/net/rds/tcp/rds_tcp_sndbuf", F_OK);
}

static bool tcp_gone(void)
{
	return !listens("127.0.0.1") && !listens("::1") &&
	       access("/proc/sys/net/rds/tcp", F_OK);
}

/* In both namespaces. */
static bool everywhere(bool (*fn)(void))
{
	int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	bool ok = fn();

	if (setns(spare_ns, CLONE_NEWNET))
		return false;
	ok = fn() && ok;
	if (setns(home, CLONE_NEWNET))
		return false;
	close(home);
	return ok;
}

/* It knows the initial namespace only. */
static bool rdma_there(void)
{
	return loaded("rds_rdma") && !access("/proc/sys/net/rds/ib", F_OK);
}

static bool rdma_gone(void)
{
	return !loaded("rds_rdma") && access("/proc/sys/net/rds/ib", F_OK);
}

struct subject {
	const char *name;
	bool (*there)(void);
	bool (*gone)(void);
	bool initial;	/* in the initial namespace, which is this one */
};

static bool is(const struct subject *s, bool (*fn)(void))
{
	return s->initial ? fn() : everywhere(fn);
}

static int refused, survived;

/* One attempt: 0, 2 if the fault was not met, 1 failed. */
static int one(const struct subject *s, int file, int nth)
{
	int ret, err;
	bool used;

	arm(nth);
	ret = load(file);
	err = errno;
	used = hit();
	if (ret) {
		refused++;
		if (!used || loaded(s->name) || !is(s, s->gone)) {
			fprintf(stderr, "# %s, fault %d: %s; loaded %d\n", s->name, nth,
				strerror(err), loaded(s->name));
			return 1;
		}
		return 0;
	}
	survived++;
	/* rds_tcp tries again to get a listener in a namespace other than the initial one */
	if (used ? !WAIT_UNTIL(is(s, s->there)) : !is(s, s->there)) {
		fprintf(stderr, "# %s, fault %d: loaded, but not whole\n", s->name, nth);
		return 1;
	}
	if (used && unload(s->name)) {
		fprintf(stderr, "# %s, fault %d: cannot be unloaded: %m\n", s->name, nth);
		return 1;
	}
	return used ? 0 : 2;
}

static int all_points(const struct subject *s)
{
	int nth, total, ret = 0, file = module_file(s->name);
	__s64 begin = now_ms();

	refused = 0;
	survived = 0;
	arm(NTH_FAR);
	ret = load(file);
	total = points_passed();
	if (ret || !is(s, s->there) || unload(s->name) || !is(s, s->gone))
		return -1;
	/* The module's own part comes last. */
	for (nth = nth_after(0, total, 120); !ret && nth < NTH_MAX;
	     nth = nth_after(nth, total, 120))
		ret = one(s, file, nth);
	close(file);
	if (ret != 2)
		return -1;
	printf("# %s: %d of %d fault points, %d refused, %d survived, %lld ms\n", s->name,
	       refused + survived - 1, total, refused, survived - 1, now_ms() - begin);
	return refused;
}

#define NETDEV	"rdsm0"

/* A device for rds_rdma to find. */
static int rxe_add(void)
{
	return system("ip link add " NETDEV " type veth peer name rdsm1") ||
	       system("ip addr add 10.6.0.1/24 dev " NETDEV) ||
	       system("ip addr add fd06::1/64 dev " NETDEV " nodad") ||
	       system("ip link set " NETDEV " up && ip link set rdsm1 up") ||
	       system("rdma link add rxe_m type rxe netdev " NETDEV);
}

static int rxe_del(void)
{
	return system("rdma link del rxe_m && ip link del " NETDEV);
}

FIXTURE(module) { int unused; };

FIXTURE_SETUP(module)
{
	int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	nl_link_flags("lo", 1);
	spare_ns = ns_fresh();
	ASSERT_LE(0, spare_ns);
	ASSERT_EQ(0, setns(home, CLONE_NEWNET));
}

FIXTURE_TEARDOWN(module) {}

TEST_F_TIMEOUT(module, init__fail_nth, 280)
{
	static const struct subject rds = { "rds", rds_there, rds_gone };
	static const struct subject tcp = { "rds_tcp", tcp_there, tcp_gone };
	static const struct subject rdma = { "rds_rdma", rdma_there, rdma_gone, true };

	NEED_FAULTS();
	if (loaded("rds_rdma"))
		ASSERT_EQ(0, unload("rds_rdma"));
	if (loaded("rds_tcp"))
		ASSERT_EQ(0, unload("rds_tcp"));
	if (loaded("rds"))
		ASSERT_EQ(0, unload("rds"));
	ASSERT_TRUE(everywhere(rds_gone));
	EXPECT_LT(20, all_points(&rds));
	ASSERT_TRUE(loaded("rds"));
	EXPECT_LT(10, all_points(&tcp));
	ASSERT_TRUE(loaded("rds_tcp"));
	EXPECT_EQ(0, unload("rds_tcp"));
	ASSERT_EQ(0, rxe_add());
	EXPECT_LT(10, all_points(&rdma));
	EXPECT_TRUE(loaded("rds_rdma"));
	EXPECT_EQ(0, unload("rds_rdma"));
	EXPECT_EQ(0, rxe_del());
	EXPECT_EQ(0, unload("rds"));
	EXPECT_TRUE(everywhere(rds_gone));
}

/* The name of a slab cache whose sysfs entry could not be made: sysfs_slab_add() loses it. */
#define LEAKS_KNOWN "52 44 53 00"
#include "leaks.h"

TEST_HARNESS_MAIN
