// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,veth,brd,ext4 netns=init timeout=120 ref=0 uml=0 */
/*
 * RDMA into a mapping of a file on a disk (hazard J5): the device writes to the page behind the
 * kernel's back, so whoever unpins it must say that it is dirty.
 */
#include "rdma.h"

#include <sys/mount.h>

#define FILE_LEN	65536UL
#define TRIES		5
#define AHEAD		24	/* writes of 1 MiB before the read: time for fsync() */

/* A file system that keeps track of dirty pages, on a RAM disk. */
static bool disk(char *dir)
{
	return mkdtemp(dir) && !system("mkfs.ext4 -q -F -O ^has_journal /dev/ram0") &&
	       !mount("/dev/ram0", dir, "ext4", 0, NULL);
}

static void forget_clean_pages(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);

	sync();
	if (fd >= 0 && write(fd, "1", 1) != 1)
		perror("# drop_caches");
	close(fd);
}

static char *file_map(int fd)
{
	char old[FILE_LEN];

	memset(old, 0x11, sizeof(old));
	if (pwrite(fd, old, sizeof(old), 0) != sizeof(old) || fsync(fd))
		return MAP_FAILED;
	return mmap(NULL, FILE_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

/* The read, with the file's pages clean between its sendmsg() and its data: 1, 0 = too late. */
static int read_into(int a, __u64 busy, __u64 cookie, char *src, char *map, int fd)
{
	__u64 token;
	int i;

	for (i = 0; i < AHEAD; i++)
		if (send_rdma(a, busy, 0, src, MIB, W, 0, "w", 1) != 1)
			return -1;
	if (send_rdma(a, cookie, 0, map, FILE_LEN, N, 7, "r", 1) != 1 || fsync(fd))
		return -1;
	if (!quiet(a))
		return 0;
	return next_note(a, &token) == RDS_RDMA_SUCCESS && token == 7 ? 1 : -1;
}

TEST_F_TIMEOUT(rdma, read__into_a_file, 100)
{
	char dir[] = "/tmp/rdsfileXXXXXX", name[64], back[FILE_LEN], c;
	__u64 busy, cookie, none;
	long before;
	int fd, i, n, got;
	char *map;

	if (!disk(dir))
		SKIP(return, "no ext4 on a RAM disk in this kernel");
	snprintf(name, sizeof(name), "%s/file", dir);
	fd = open(name, O_RDWR | O_CREAT, 0600);
	ASSERT_FD(fd);
	fill(self->src, MIB, 3);
	ASSERT_EQ(0, get_mr(self->b, self->dst, MIB, 0, &busy));
	ASSERT_EQ(0, get_mr(self->b, self->src, FILE_LEN, 0, &cookie));
	before = pinned();
	for (i = 0, got = 0; i < TRIES && !got; i++) {
		map = file_map(fd);
		ASSERT_NE(MAP_FAILED, map);
		got = read_into(self->a, busy, cookie, self->src, map, fd);
		for (n = 0; n < AHEAD + 1; n++)
			ASSERT_EQ(1, recv_wait(self->b, &c, 1));
		if (!got)
			EXPECT_EQ(RDS_RDMA_SUCCESS, next_note(self->a, NULL));
		EXPECT_EQ(0, memcmp(map, self->src, FILE_LEN));
		/* a region stays pinned too long for a file system */
		EXPECT_EQ(-1, get_mr(self->b, map, FILE_LEN, 0, &none));
		munmap(map, FILE_LEN);
	}
	ASSERT_EQ(1, got);
	EXPECT_TRUE(WAIT_UNTIL(pinned() == before));
	EXPECT_EQ(0, free_mr(self->b, busy, RDS_RDMA_INVALIDATE));
	forget_clean_pages();
	ASSERT_EQ(FILE_LEN, pread(fd, back, FILE_LEN, 0));
	EXPECT_EQ(0, memcmp(back, self->src, FILE_LEN));
	close(fd);
	EXPECT_EQ(0, umount(dir));
	rmdir(dir);
}

TEST_HARNESS_MAIN
