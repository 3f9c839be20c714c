// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,veth,dummy netns=init timeout=120 ref=0 lanes=uml */
/*
 * Destinations that are not behind the device of a socket's address.  A loopback address is reached
 * by the loopback transport, from any socket; the others are not, and that harms nobody: rdma_rxe
 * loses the CM's queue pair if it is to send to ::1, and then nobody on the device connects.
 */
#include "rxe.h"

#include <net/if.h>

static bool cm_works(void)
{
	return run_cmd("rdma res show qp | grep -q 'type GSI state RTS'") == 0;
}

/* A word there and one back; nothing else came. */
static void talk(struct __test_metadata *_metadata, const char *aaddr, const char *baddr)
{
	int a = rds_bound(aaddr, 4000), b = rds_bound(baddr, 4001);
	struct rx rx;
	char buf[8];

	ASSERT_FD(a);
	ASSERT_FD(b);
	ASSERT_EQ(5, send_to(a, baddr, 4001, "there", 5, 0));
	ASSERT_TRUE(wait_data(b));
	ASSERT_EQ(5, rx_msg(b, buf, 8, MSG_DONTWAIT, &rx));
	EXPECT_EQ(0, memcmp(buf, "there", 5));
	EXPECT_TRUE(rx_from(&rx, aaddr, 4000));
	ASSERT_EQ(4, send_to(b, aaddr, 4000, "back", 4, 0));
	ASSERT_TRUE(wait_data(a));
	ASSERT_EQ(4, rx_msg(a, buf, 8, MSG_DONTWAIT, &rx));
	EXPECT_EQ(0, memcmp(buf, "back", 4));
	EXPECT_TRUE(rx_from(&rx, baddr, 4001));
	EXPECT_TRUE(all_acked(a));
	EXPECT_ERR(EAGAIN, recv(b, buf, 8, MSG_DONTWAIT));
	close(a);
	close(b);
}

TEST(loopback__is_reached)
{
	talk(_metadata, A4, "127.0.0.1");
	talk(_metadata, A4, "127.9.9.9");
	talk(_metadata, A6, "::1");
	EXPECT_TRUE(cm_works());
	/* and by the device what is behind it, as before */
	talk(_metadata, A4, B4);
	talk(_metadata, A6, B6);
}

TEST(loopback__nobody_there)
{
	int fd = rds_bound(A6, 4000);

	ASSERT_FD(fd);
	ASSERT_EQ(1, send_to(fd, "::1", 4002, "x", 1, 0));
	EXPECT_TRUE(all_acked(fd));
	EXPECT_TRUE(cm_works());
	close(fd);
}

/* Nobody's device takes part: as on a socket over TCP. */
TEST(loopback__no_operations)
{
	struct rds_iovec v = { (long)&v, sizeof(v) };
	struct rds_rdma_args a = {
		.cookie = 1, .remote_vec = { 0, sizeof(v) },
		.local_vec_addr = (long)&v, .nr_local = 1, .flags = RDS_RDMA_READWRITE,
	};
	int fd = rds_bound(A4, 4000);

	ASSERT_FD(fd);
	EXPECT_ERR(EOPNOTSUPP, send_cmsg(fd, "127.0.0.1", 4001, "x", 1, 0, RDS_CMSG_RDMA_ARGS, &a,
					 sizeof(a)));
	EXPECT_TRUE(all_acked(fd));
	close(fd);
}

struct place {
	const char *addr, *dev;
};

/* One of ours elsewhere, one of its network, nobody's here, nobody's anywhere, link-local. */
static const struct place v4[] = {
	{ "127.0.0.1" }, { "10.7.0.1" }, { "10.7.0.2" }, { "10.5.0.77" }, { "10.5.0.255" },
	{ "192.168.1.1" }, { "10.5.5.1" }, { "10.5.5.7" },
}, v6[] = {
	{ "::1" }, { "fd07::1" }, { "fd07::2" }, { "fd05::77" }, { "2001::1" }, { "fd55::1" },
	{ "fd55::7" }, { "fe80::77", "rdst0" }, { "fe80::7", "dum0" }, { "fe80::8", "dum0" },
};

static void ask(struct __test_metadata *_metadata, const char *from, const struct place *to)
{
	int fd = rds_bound(from, 0);
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, to->addr, 4001);

	ASSERT_FD(fd);
	if (to->dev)
		((struct sockaddr_in6 *)&ss)->sin6_scope_id = if_nametoindex(to->dev);
	EXPECT_EQ(1, sendto(fd, "x", 1, MSG_DONTWAIT, (void *)&ss, len));
	/* it is dialled at once, and then again */
	usleep(700000);
	EXPECT_TRUE(cm_works()) {
		TH_LOG("%s has asked for %s %s", from, to->addr, to->dev ?: "");
	}
	EXPECT_EQ(0, setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
	close(fd);
}

/*
 * Another device.  It stays until the end: what we have asked for is dialled again and again, and a
 * route that goes under a CM message costs rdma_rxe its queue pair, too.
 */
#define DUM0	"ip link show dum0 >/dev/null 2>&1 || ip link add dum0 type dummy && ip link set dum0 up"

__attribute__((destructor))
static void dum0_cleanup(void)
{
	if (getpid() == rxe_owner)
		run_cmd("ip link del dum0 2>/dev/null");
}

/* The address of a connection that was not there before. */
#define NEW_ADDR(addr)	RUN("ip addr add " addr " && sleep 1")

TEST(elsewhere__v4)
{
	unsigned int i;

	RUN(DUM0);
	RUN("ip addr add 10.7.0.1/24 dev dum0 && ip addr add 10.5.5.1/24 dev rdst1");
	for (i = 0; i < sizeof(v4) / sizeof(*v4); i++)
		ask(_metadata, A4, &v4[i]);
	NEW_ADDR("10.5.0.3/24 dev rdst0");
	talk(_metadata, "10.5.0.3", B4);
}

TEST(elsewhere__v6)
{
	unsigned int i;

	RUN(DUM0);
	RUN("ip addr add fd07::1/64 dev dum0 nodad && ip addr add fe80::7/64 dev dum0 nodad");
	RUN("ip addr add fd55::1/64 dev rdst1 nodad");
	for (i = 0; i < sizeof(v6) / sizeof(*v6); i++)
		ask(_metadata, A6, &v6[i]);
	NEW_ADDR("fd05::3/64 dev rdst0 nodad");
	talk(_metadata, A6, "fd05::3");
}

TEST_HARNESS_MAIN
