// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,rdma_ucm,veth netns=init timeout=200 ref=0 lanes=debian */
/*
 * What counts against the bounds of ib/bounds is what the machine loses: each is filled, and what
 * is counted is compared with the memory that is free.  Within half of it, both ways.
 */
#include "flood.h"
#include "../meminfo.h"

#include <linux/sock_diag.h>

FIXTURE(counted)
{
	struct peer *p;
	int fd, stuck;
	struct limits was;
};

/*
 * Each processor keeps at most a part of the memory back when it is freed.  By itself ("0") it may
 * be tens of MB, which are not free and not in use.
 */
static void keep_pages(const char *fraction)
{
	int fd = open("/proc/sys/vm/percpu_pagelist_high_fraction", O_WRONLY | O_CLOEXEC);

	if (write(fd, fraction, strlen(fraction)) < 0)
		perror("# percpu_pagelist_high_fraction");
	close(fd);
}

FIXTURE_SETUP(counted)
{
	keep_pages("100000");
	self->was = limits_now();
	self->p = calloc(1, sizeof(*self->p));
	self->fd = rds_bound(B4, PORT);
	ASSERT_FD(self->fd);
	self->stuck = rds_bound(B4, STUCK);
	ASSERT_FD(self->stuck);
	load_anew(_metadata, &self->fd, &self->stuck);
}

FIXTURE_TEARDOWN(counted)
{
	limits_restore(&self->was);
	peer_close(self->p);
	free(self->p);
	close(self->fd);
	close(self->stuck);
	keep_pages("0");
}

/* What is on its way through the device, or waits for RCU, is free in a moment. */
static long mem_available(void)
{
	long most = 0, now;
	int i;

	for (i = 0; i < 10; i++) {
		now = mem_available_now();
		most = now > most ? now : most;
		usleep(200000);
	}
	return most;
}

/* Is what counts what the machine has less, within one and a half both ways? */
static bool near(long counted, long lost)
{
	printf("# counted %ld kB, the machine has %ld kB less\n", counted, lost);
	return counted * 2 <= lost * 3 && lost * 2 <= counted * 3;
}

/* What he has is charged to his socket as what the machine loses. */
TEST_F_TIMEOUT(counted, what_a_reader_has, 100)
{
	uint32_t info[16] = {};
	socklen_t len = sizeof(info);
	struct flood *f;
	long lost, kb;

	ASSERT_EQ(0, set_int(self->stuck, SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20));
	ASSERT_EQ(0, peer_connect(self->p, B4));
	f = flood_new(self->p);
	ASSERT_NE(NULL, f);
	/* the ring is as large as it gets */
	EXPECT_TRUE(flood(self->p, f, 1000, PORT + 2, 10000));
	kb = mem_available();
	EXPECT_TRUE(flood(self->p, f, FRAMES - 1000, STUCK, 10000));
	lost = kb - mem_available();
	ASSERT_EQ(0, getsockopt(self->stuck, SOL_SOCKET, SO_MEMINFO, info, &len));
	kb = info[SK_MEMINFO_RMEM_ALLOC] >> 10;
	EXPECT_LE((FRAMES - 1000) * 4, kb);
	EXPECT_TRUE(near(kb, lost));
	flood_free(f);
}

/* The pages that all links have, up to the bound, are what the machine loses. */
TEST_F_TIMEOUT(counted, pages_of_links, 100)
{
	const long pages = 4000;
	struct flood *f;
	long lost, kb;
	__s64 limit;

	ASSERT_EQ(0, set_int(self->stuck, SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20));
	ASSERT_EQ(0, set_sysctl("ib/max_recv_allocation", pages));
	ASSERT_EQ(0, peer_connect(self->p, B4));
	f = flood_new(self->p);
	ASSERT_NE(NULL, f);
	EXPECT_TRUE(flood(self->p, f, 10, PORT + 2, 10000));
	limit = counter(self->fd, "ib_rx_alloc_limit");
	kb = mem_available();
	while (counter(self->fd, "ib_rx_alloc_limit") == limit)
		ASSERT_TRUE(flood(self->p, f, 32, STUCK, 10000));
	lost = kb - mem_available();
	TH_LOG("%d messages", f->posted);
	EXPECT_TRUE(near(pages * 4, lost));
	flood_free(f);
}

#define HOARDERS	24
#define HOARD		(16L << 20)

/*
 * Messages that never end, up to the bound: what counts is what the machine loses.  Their links
 * have all the buffers before that they ever will.
 */
TEST_F_TIMEOUT(counted, partial, 100)
{
	struct peer *p = calloc(HOARDERS, sizeof(*p));
	struct flood *f[HOARDERS];
	__s64 waits;
	long kb;
	int i;

	ASSERT_EQ(0, set_sysctl("max_peer_bytes", HOARD));
	ASSERT_EQ(0, set_sysctl("ib/max_recv_wr", 64));
	for (i = 0; i < HOARDERS; i++) {
		ASSERT_EQ(0, peer_connect(&p[i], B4));
		f[i] = flood_new(&p[i]);
		ASSERT_NE(NULL, f[i]);
		ASSERT_TRUE(flood(&p[i], f[i], 70, PORT + 2, 10000));
	}
	waits = counter(self->fd, "recv_partial_limit");
	kb = mem_available();
	for (i = 0; i < HOARDERS && counter(self->fd, "recv_partial_limit") == waits; i++)
		fragments(&p[i], f[i], 255, 1000);
	TH_LOG("%d peers", i);
	EXPECT_LT(waits, counter(self->fd, "recv_partial_limit"));
	EXPECT_TRUE(near(HOARD >> 10, kb - mem_available()));
	for (i = 0; i < HOARDERS; i++) {
		flood_free(f[i]);
		peer_close(&p[i]);
	}
	free(p);
}

#define CALLERS		40
#define LINKS		8192L	/* 32 MiB */

/*
 * Links of peers, up to the bound, each with no more buffers than those that count with it: the
 * bound is what the machine loses.  What the peers need themselves they have before that.
 */
TEST_F_TIMEOUT(counted, links__of_peers, 100)
{
	struct peer *p = calloc(CALLERS, sizeof(*p));
	struct priv4 d;
	__s64 limit;
	int i, n;
	long kb;

	if (has_kasan())
		SKIP(return, "KASAN has more behind each object");
	ASSERT_EQ(0, set_sysctl("ib/max_link_allocation", LINKS));
	ASSERT_EQ(0, set_sysctl("ib/max_recv_allocation", 1));
	for (i = 0; i < CALLERS; i++)
		ASSERT_EQ(0, peer_open(&p[i], B4));
	limit = counter(self->fd, "ib_link_limit");
	kb = mem_available();
	for (n = 0; n < CALLERS; n++) {
		d = peer_priv(&p[n], B4);
		if (peer_request(&p[n], &d, sizeof(d)) != RDMA_CM_EVENT_ESTABLISHED)
			break;
	}
	TH_LOG("%d links", n);
	EXPECT_GT(CALLERS, n);
	EXPECT_LT(limit, counter(self->fd, "ib_link_limit"));
	EXPECT_TRUE(near(LINKS * 4, kb - mem_available()));
	for (i = 0; i < CALLERS; i++)
		peer_close(&p[i]);
	free(p);
}

/*
 * Links that we dial, each to an address of this very machine, where it counts as of a peer: two
 * bounds are full then.
 */
TEST_F_TIMEOUT(counted, links__that_we_dial, 100)
{
	char to[32];
	__s64 limit;
	long kb;
	int i;

	if (has_kasan())
		SKIP(return, "KASAN has more behind each object");
	for (i = 0; i < CALLERS; i++)
		RUN("ip addr replace 10.5.0.%d/24 dev rdst0", 101 + i);
	ASSERT_EQ(0, set_sysctl("ib/max_link_allocation", LINKS));
	ASSERT_EQ(0, set_sysctl("ib/max_recv_allocation", 1));
	limit = counter(self->fd, "ib_link_limit");
	kb = mem_available();
	for (i = 0; i < CALLERS; i++) {
		snprintf(to, sizeof(to), "10.5.0.%d", 101 + i);
		ASSERT_EQ(1, send_to(self->fd, to, 9, "x", 1, MSG_DONTWAIT));
	}
	EXPECT_TRUE(WAIT_UNTIL(limit < counter(self->fd, "ib_link_limit")));
	EXPECT_TRUE(near(LINKS * 4 * 2, kb - mem_available()));
}

TEST_HARNESS_MAIN
