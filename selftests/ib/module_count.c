// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init timeout=180 ref=0 */
/*
 * As net/module_count has it of the other modules: rds_rdma can go as soon as the last socket over
 * verbs is closed.  Neither a link that stands, nor messages that were not read or that nobody
 * takes, nor a region that was used hold it.
 */
#include "rdma.h"

#include <sys/syscall.h>

#define ROUNDS	4
#define MSGS	20

static char buf[65536];

static int unload(void)
{
	return syscall(SYS_delete_module, "rds_rdma", O_NONBLOCK) ? errno : 0;
}

/* Two sockets over verbs, each connected to the other. */
static int pair(int *a, int *b)
{
	/* a device that is there is known at once, its addresses a little later */
	bool ok = WAIT_UNTIL((*a = rds_bound(A4, PORT_A)) >= 0);

	*b = rds_bound(B4, PORT_B);
	if (!ok || *b < 0 || get_int(*a, SOL_RDS, SO_RDS_TRANSPORT) != RDS_TRANS_IB)
		return -1;
	return rds_connect(*a, B4, PORT_B) || rds_connect(*b, A4, PORT_A) ? -1 : 0;
}

/* To and fro, and read: the link stands. */
static int traffic(int a, int b)
{
	int i, len;

	for (i = 0; i < MSGS; i++) {
		len = 1 + 3000 * i;
		if (send(a, buf, len, 0) != len || recv_wait(b, buf, sizeof(buf)) != len ||
		    send(b, buf, 100, 0) != 100 || recv_wait(a, buf, sizeof(buf)) != 100)
			return -1;
	}
	return 0;
}

/* What is received holds the module until it is read, or the socket is closed. */
static int unread(int a, int b)
{
	int i;

	for (i = 0; i < MSGS; i++)
		if (send(a, buf, 3000, 0) != 3000)
			return -1;
	return WAIT_UNTIL(msgs_of_port(b, RDS6_INFO_RECV_MESSAGES, PORT_B) == MSGS) ? 0 : -1;
}

/* To a host that is not there: it is dialled, and the socket still sends when it is closed. */
static int nobody(int a, int b)
{
	return send_to(a, "10.5.0.77", 9, buf, 3000, MSG_DONTWAIT) == 3000 ? 0 : -1;
}

/* A region that a peer has written to, and that nobody gives back. */
static int region(int a, int b)
{
	char *mem = pages(2 * PG);
	__u64 cookie;

	if (get_mr(b, mem + PG, PG, 0, &cookie) ||
	    send_rdma(a, cookie, 0, mem, PG, W | N, 1, "m", 1) != 1 ||
	    recv_wait(b, buf, sizeof(buf)) != 1)
		return -1;
	return next_note(a, NULL) == RDS_RDMA_SUCCESS ? 0 : -1;
}

FIXTURE(module)
{
	int unused;
};

FIXTURE_VARIANT(module)
{
	int (*use)(int a, int b);
};

FIXTURE_VARIANT_ADD(module, traffic)
{
	.use = traffic,
};

FIXTURE_VARIANT_ADD(module, unread)
{
	.use = unread,
};

FIXTURE_VARIANT_ADD(module, nobody)
{
	.use = nobody,
};

FIXTURE_VARIANT_ADD(module, region)
{
	.use = region,
};

FIXTURE_SETUP(module)
{
}

FIXTURE_TEARDOWN(module)
{
	EXPECT_EQ(0, run_cmd("modprobe rds_rdma"));
}

/* By close(), or by the end of the program. */
static int use_and_end(int (*use)(int a, int b), bool by_exit)
{
	int a = -1, b = -1, ret;
	pid_t pid = by_exit ? fork() : 0;

	if (pid)
		return reap(pid);
	ret = pair(&a, &b) ?: use(a, b);
	if (by_exit)
		_exit(!!ret);
	close(a);
	close(b);
	return ret;
}

TEST_F_TIMEOUT(module, goes_at_once, 90)
{
	int i, err;

	for (i = 0; i < ROUNDS; i++) {
		RUN("modprobe rds_rdma");
		ASSERT_EQ(0, use_and_end(variant->use, i & 1))
			TH_LOG("round %d", i);
		err = unload();
		EXPECT_EQ(0, err)
			TH_LOG("round %d: %s", i, strerror(err));
	}
}

/* An open socket holds it, and who tried to unload it has harmed nobody. */
TEST(an_open_socket_holds_it)
{
	int a = -1, b = -1;

	RUN("modprobe rds_rdma");
	ASSERT_EQ(0, pair(&a, &b));
	EXPECT_EQ(0, traffic(a, b));
	EXPECT_EQ(EAGAIN, unload());
	EXPECT_EQ(0, traffic(a, b));
	close(a);
	EXPECT_EQ(EAGAIN, unload());
	close(b);
	EXPECT_EQ(0, unload());
	RUN("modprobe rds_rdma");
}

TEST_HARNESS_MAIN
