// SPDX-License-Identifier: GPL-2.0
/* vm: modules=rds_rdma,rds_tcp,rdma_rxe,veth netns=init ref=0 uml=0 cmdline="movablecore=64M" */
/*
 * Memory that the administrator may want to unplug (ZONE_MOVABLE): what a device or a peer may hold
 * for as long as it likes is moved out of it first.
 */
#include "rdma.h"

#define LEN	(32 * PG)
#define NOBODY	"10.5.0.99"

/* The first page frame of the zone, which is the last one; 0 = there is none. */
static unsigned long movable_zone(void)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	unsigned long start = 0;
	bool zone = false;
	char line[128];

	while (f && !start && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "Node", 4))
			zone = strstr(line, "Movable");
		else if (zone)
			sscanf(line, " start_pfn: %lu", &start);
	}
	if (f)
		fclose(f);
	return start;
}

/* Of @n bytes at @p: pages in that zone. */
static int movable(const void *p, size_t n, unsigned long zone)
{
	int fd = open("/proc/self/pagemap", O_RDONLY), nr = 0;
	__u64 entry;
	size_t i;

	for (i = 0; i < n; i += PG)
		if (pread(fd, &entry, 8, ((unsigned long)p + i) / PG * 8) == 8 &&
		    entry >> 63 && (entry & ((1ULL << 55) - 1)) >= zone)
			nr++;
	close(fd);
	return nr;
}

/* Memory of which some is in the zone. */
static char *movable_pages(unsigned long zone)
{
	char *p = pages(LEN);

	fill(p, LEN, 1);
	printf("# %d of %d pages in the zone\n", movable(p, LEN, zone), (int)(LEN / PG));
	return p;
}

/* Of operations that wait for a peer who is not there. */
TEST_F(rdma, operation__to_nobody)
{
	unsigned long zone = movable_zone();
	int fd = rds_bound(A4, 0), i;
	char *p;

	ASSERT_NE(0, zone);
	ASSERT_FD(fd);
	ASSERT_EQ(0, rds_connect(fd, NOBODY, PORT_B));
	for (i = 0; i < 2; i++) {
		p = movable_pages(zone);
		ASSERT_LT(0, movable(p, LEN, zone));
		ASSERT_EQ(1, send_rdma(fd, 0x12345678, 0, p, LEN, i ? W : 0, 1, "x", 1));
		EXPECT_EQ(0, movable(p, LEN, zone));
		munmap(p, LEN);
	}
	close(fd);
}

/* Of regions. */
TEST_F(rdma, region)
{
	unsigned long zone = movable_zone();
	__u64 c;
	char *p;

	ASSERT_NE(0, zone);
	p = movable_pages(zone);
	ASSERT_LT(0, movable(p, LEN, zone));
	ASSERT_EQ(0, get_mr(self->b, p, LEN, 0, &c));
	EXPECT_EQ(0, movable(p, LEN, zone));
	EXPECT_EQ(0, free_mr(self->b, c, RDS_RDMA_INVALIDATE));
	munmap(p, LEN);
}

/* Of messages without a copy, over TCP. */
TEST_F(rdma, zerocopy__to_nobody)
{
	unsigned long zone = movable_zone();
	__u32 cookie = 1;
	int one = 1, fd;
	char *p;

	ASSERT_NE(0, zone);
	RUN("ip addr add 10.6.0.1/24 dev rdst1");
	fd = rds_socket();
	ASSERT_FD(fd);
	ASSERT_EQ(0, set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_TCP));
	ASSERT_EQ(0, rds_bind(fd, "10.6.0.1", 0));
	ASSERT_EQ(0, setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)));
	p = movable_pages(zone);
	ASSERT_LT(0, movable(p, LEN, zone));
	ASSERT_EQ(60000, send_cmsg(fd, "10.6.0.9", 9, p + 100, 60000, MSG_ZEROCOPY,
				   RDS_CMSG_ZCOPY_COOKIE, &cookie, sizeof(cookie)));
	EXPECT_EQ(0, movable(p, 15 * PG, zone));
	munmap(p, LEN);
	close(fd);
	RUN("ip addr del 10.6.0.1/24 dev rdst1");
}

TEST_HARNESS_MAIN
