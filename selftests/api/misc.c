// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp timeout=60 lanes=uml */
/* Calls RDS lacks, and the file interface: read, write, splice, fcntl. */
#include "rds_util.h"

#include <sys/sendfile.h>
#include <sys/stat.h>

static int pair_fds(int *a, int *b)
{
	int ret = ns_local();

	if (ret)
		return ret;
	*a = rds_bound("127.0.0.1", 0);
	*b = rds_bound("127.0.0.1", 0);
	if (*a < 0 || *b < 0 || rds_connect(*a, "127.0.0.1", port_of(*b)))
		return -errno;
	return 0;
}

/* There is nothing to accept or to shut down, bound or not. */
TEST(listen_accept_shutdown__unsupported)
{
	int fd[2], b, i, how;

	fd[0] = rds_socket();
	ASSERT_EQ(0, pair_fds(&fd[1], &b));
	for (i = 0; i < 2; i++) {
		EXPECT_ERR(EOPNOTSUPP, listen(fd[i], 1));
		EXPECT_ERR(EOPNOTSUPP, accept(fd[i], NULL, NULL));
		EXPECT_ERR(EOPNOTSUPP, accept4(fd[i], NULL, NULL, SOCK_NONBLOCK));
		for (how = 0; how < 3; how++)
			EXPECT_ERR(EOPNOTSUPP, shutdown(fd[i], how));
	}
	/* nothing was broken by that */
	EXPECT_EQ(1, send(fd[1], "x", 1, 0));
	EXPECT_TRUE(wait_data(b));
}

/* A socket cannot be mapped. */
TEST(mmap__unsupported)
{
	int fd = rds_socket();

	errno = 0;
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0));
	EXPECT_EQ(ENODEV, errno);
}

/* write(2) and writev(2) send one message each; in-tree refuses their MSG_EOR. */
TEST(write__sends_a_message)
{
	struct iovec iov[2] = { { "ab", 2 }, { "cde", 3 } };
	char buf[16];
	int a, b;

	ASSERT_EQ(0, pair_fds(&a, &b));
	if (is_ref()) {
		EXPECT_ERR(EOPNOTSUPP, write(a, "x", 1));
		EXPECT_ERR(EOPNOTSUPP, writev(a, iov, 2));
		return;
	}
	EXPECT_EQ(1, write(a, "x", 1));
	EXPECT_EQ(5, writev(a, iov, 2));
	EXPECT_EQ(1, recv_wait(b, buf, sizeof(buf)));
	EXPECT_EQ('x', buf[0]);
	EXPECT_EQ(5, recv_wait(b, buf, sizeof(buf)));
	EXPECT_EQ(0, memcmp(buf, "abcde", 5));
}

/* write(2) obeys the rules of sendmsg: no destination, not bound. */
TEST(write__not_connected)
{
	int fd;

	SKIP_REF("write(2) is not supported");
	SETUP_LOCAL();
	fd = rds_socket();
	EXPECT_ERR(ENOTCONN, write(fd, "x", 1));
	ASSERT_EQ(0, rds_bind(fd, "127.0.0.1", 0));
	EXPECT_ERR(ENOTCONN, write(fd, "x", 1));
}

/* read(2) and readv(2) take one message; the rest of a long one is gone. */
TEST(read__takes_one_message)
{
	char x[2], y[2], buf[16];
	struct iovec iov[2] = { { x, 2 }, { y, 2 } };
	int a, b;

	ASSERT_EQ(0, pair_fds(&a, &b));
	ASSERT_EQ(5, send(a, "hello", 5, 0));
	ASSERT_EQ(6, send(a, "world!", 6, 0));
	ASSERT_EQ(3, send(a, "end", 3, 0));
	ASSERT_TRUE(wait_data(b));
	EXPECT_EQ(2, read(b, buf, 2));
	EXPECT_EQ(0, memcmp(buf, "he", 2));
	EXPECT_EQ(4, readv(b, iov, 2));
	EXPECT_EQ(0, memcmp(x, "wo", 2));
	EXPECT_EQ(0, memcmp(y, "rl", 2));
	EXPECT_EQ(3, read(b, buf, sizeof(buf)));
	EXPECT_EQ(0, memcmp(buf, "end", 3));
}

/* A socket has no position. */
TEST(pread__no_offset)
{
	char c;
	int a, b;

	ASSERT_EQ(0, pair_fds(&a, &b));
	EXPECT_ERR(ESPIPE, pread(b, &c, 1, 0));
	EXPECT_ERR(ESPIPE, pwrite(a, "x", 1, 0));
	EXPECT_ERR(ESPIPE, lseek(a, 0, SEEK_SET));
}

/* Splice out of the socket copies a message into the pipe. */
TEST(splice__from_socket)
{
	char buf[16];
	int a, b, p[2];

	ASSERT_EQ(0, pair_fds(&a, &b));
	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(5, send(a, "hello", 5, 0));
	ASSERT_TRUE(wait_data(b));
	EXPECT_EQ(5, splice(b, NULL, p[1], NULL, 4096, 0));
	EXPECT_EQ(5, read(p[0], buf, sizeof(buf)));
	EXPECT_EQ(0, memcmp(buf, "hello", 5));
}

/* Splice and sendfile into the socket fail, and send nothing. */
TEST(splice__into_socket)
{
	FILE *f = tmpfile();
	off_t off = 0;
	char buf[16];
	int a, b, p[2];

	ASSERT_EQ(0, pair_fds(&a, &b));
	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(5, write(p[1], "hello", 5));
	EXPECT_GT(0, splice(p[0], NULL, a, NULL, 5, 0));
	if (f) {
		fputs("hello", f);
		fflush(f);
		EXPECT_GT(0, sendfile(a, fileno(f), &off, 5));
	}
	usleep(50000);
	EXPECT_ERR(EAGAIN, recv(b, buf, sizeof(buf), MSG_DONTWAIT));
}

/* O_NONBLOCK, set and cleared by fcntl, rules every call. */
TEST(fcntl__nonblock)
{
	char c;
	int a, b;

	ASSERT_EQ(0, pair_fds(&a, &b));
	ASSERT_EQ(0, fcntl(b, F_SETFL, O_NONBLOCK));
	EXPECT_ERR(EAGAIN, recv(b, &c, 1, 0));
	EXPECT_ERR(EAGAIN, read(b, &c, 1));
	ASSERT_EQ(0, fcntl(b, F_SETFL, 0));
	ASSERT_EQ(0, set_timeo(b, SO_RCVTIMEO, 30));
	/* blocks until the timeout, whose errno is not EAGAIN */
	EXPECT_ERR(ETIMEDOUT, read(b, &c, 1));
}

/* The socket's inode number is the one of the info record. */
TEST(fstat__is_a_socket)
{
	struct rds_info_socket *s;
	struct stat st;
	socklen_t len;
	void *buf;
	int a, b, i, n = 0;
	__u64 inum;

	ASSERT_EQ(0, pair_fds(&a, &b));
	ASSERT_EQ(0, fstat(a, &st));
	EXPECT_TRUE(S_ISSOCK(st.st_mode));
	ASSERT_EQ(sizeof(*s), info_get(a, RDS_INFO_SOCKETS, &buf, &len));
	s = buf;
	for (i = 0; i < len / sizeof(*s); i++) {
		memcpy(&inum, &s[i].inum, sizeof(inum));
		n += inum == st.st_ino;
	}
	EXPECT_EQ(1, n);
	free(buf);
}

TEST_HARNESS_MAIN
