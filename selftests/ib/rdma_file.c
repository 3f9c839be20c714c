// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,veth,brd,ext4 netns=init timeout=60 ref=0 uml=0 */
/*
 * RDMA and mappings of files (hazard J5).  What a device writes to a page of a file the file
 * system has to know of before, and it cannot: by the time of the write it may have written the
 * page to the disk, or have given its place to a clone of the file.  So such memory is refused, as
 * for regions, unless nobody has to know (tmpfs).  To read from a file harms nobody.
 */
#include "rdma.h"

#include <sys/mount.h>

#define FILE_LEN	65536UL

static char *file_map(const char *dir, int *fd)
{
	char name[64], old[FILE_LEN];

	snprintf(name, sizeof(name), "%s/file", dir);
	*fd = open(name, O_RDWR | O_CREAT, 0600);
	memset(old, 0x11, sizeof(old));
	if (*fd < 0 || pwrite(*fd, old, sizeof(old), 0) != sizeof(old) || fsync(*fd))
		return MAP_FAILED;
	return mmap(NULL, FILE_LEN, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
}

/* A read into @map that works, and is in the file. */
static bool reads(int a, __u64 cookie, const char *src, char *map, int fd)
{
	char back[FILE_LEN];

	return send_rdma(a, cookie, 0, map, FILE_LEN, N, 7, "r", 1) == 1 &&
	       next_note(a, NULL) == RDS_RDMA_SUCCESS && !memcmp(map, src, FILE_LEN) &&
	       pread(fd, back, FILE_LEN, 0) == FILE_LEN && !memcmp(back, src, FILE_LEN);
}

/* A file system that keeps track of dirty pages, on a RAM disk. */
TEST_F(rdma, file__on_a_disk)
{
	char dir[] = "/tmp/rdsfileXXXXXX", c;
	struct rds_atomic_args add;
	__u64 cookie, none;
	long before;
	char *map;
	int fd;

	if (!mkdtemp(dir) || system("mkfs.ext4 -q -F /dev/ram0") ||
	    mount("/dev/ram0", dir, "ext4", 0, NULL))
		SKIP(return, "no ext4 on a RAM disk in this kernel");
	map = file_map(dir, &fd);
	ASSERT_NE(MAP_FAILED, map);
	fill(self->src, FILE_LEN, 3);
	ASSERT_EQ(0, get_mr(self->b, self->dst, FILE_LEN, 0, &cookie));
	before = pinned();
	EXPECT_ERR(EFAULT, send_rdma(self->a, cookie, 0, map, FILE_LEN, N, 7, "r", 1));
	add = (struct rds_atomic_args){ .cookie = cookie, .local_addr = (long)map, .flags = N };
	EXPECT_ERR(EFAULT, send_cmsg(self->a, NULL, 0, "a", 1, 0, RDS_CMSG_ATOMIC_FADD, &add,
				     sizeof(add)));
	EXPECT_ERR(EFAULT, get_mr(self->b, map, FILE_LEN, 0, &none));
	EXPECT_TRUE(quiet(self->a));
	EXPECT_TRUE(quiet(self->b));
	EXPECT_EQ(before, pinned());
	EXPECT_TRUE(all(map, FILE_LEN, 0x11));
	/* the other way */
	ASSERT_EQ(1, send_rdma(self->a, cookie, 0, map, FILE_LEN, W | N, 7, "w", 1));
	EXPECT_EQ(RDS_RDMA_SUCCESS, next_note(self->a, NULL));
	EXPECT_EQ(1, recv_wait(self->b, &c, 1));
	EXPECT_TRUE(all(self->dst, FILE_LEN, 0x11));
	EXPECT_TRUE(WAIT_UNTIL(pinned() == before));
	EXPECT_EQ(0, free_mr(self->b, cookie, RDS_RDMA_INVALIDATE));
	munmap(map, FILE_LEN);
	close(fd);
	EXPECT_EQ(0, umount(dir));
	rmdir(dir);
}

/* Nobody writes its pages to anywhere, or has to be asked. */
TEST_F(rdma, file__in_memory)
{
	char dir[] = "/tmp/rdsfileXXXXXX", c;
	__u64 cookie;
	char *map;
	int fd;

	ASSERT_NE(NULL, mkdtemp(dir));
	ASSERT_EQ(0, mount("tmpfs", dir, "tmpfs", 0, NULL));
	map = file_map(dir, &fd);
	ASSERT_NE(MAP_FAILED, map);
	fill(self->src, FILE_LEN, 3);
	ASSERT_EQ(0, get_mr(self->b, self->src, FILE_LEN, 0, &cookie));
	EXPECT_TRUE(reads(self->a, cookie, self->src, map, fd));
	EXPECT_EQ(1, recv_wait(self->b, &c, 1));
	EXPECT_EQ(0, free_mr(self->b, cookie, RDS_RDMA_INVALIDATE));
	munmap(map, FILE_LEN);
	close(fd);
	EXPECT_TRUE(WAIT_UNTIL(!umount(dir)));
	rmdir(dir);
}

TEST_HARNESS_MAIN
