// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp timeout=60 lanes=uml */
/* socket(), socketpair() and the state of a new socket. */
#include "rds_util.h"

/* SEQPACKET with every creation flag works, and the flags are honoured. */
TEST(socket__seqpacket_and_flags)
{
	int fd;

	fd = socket(AF_RDS, SOCK_SEQPACKET, 0);
	ASSERT_FD(fd);
	EXPECT_EQ(0, fcntl(fd, F_GETFD) & FD_CLOEXEC);
	EXPECT_EQ(0, fcntl(fd, F_GETFL) & O_NONBLOCK);
	close(fd);
	fd = socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	ASSERT_FD(fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD) & FD_CLOEXEC);
	EXPECT_EQ(O_NONBLOCK, fcntl(fd, F_GETFL) & O_NONBLOCK);
	close(fd);
}

/* Every other type is refused. */
TEST(socket__other_types)
{
	static const int type[] = {
		SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_RDM, SOCK_DCCP,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(type); i++)
		EXPECT_ERR(ESOCKTNOSUPPORT, socket(AF_RDS, type[i], 0));
	EXPECT_ERR(EINVAL, socket(AF_RDS, 11, 0));
}

/* Every protocol but 0 is refused, with the errno of a wrong type. */
TEST(socket__other_protocols)
{
	static const int proto[] = { 1, 6, 17, 21, 132, 262, 276, INT32_MAX, -1 };
	int i;

	for (i = 0; i < ARRAY_SIZE(proto); i++) {
		EXPECT_ERR(ESOCKTNOSUPPORT,
			   socket(AF_RDS, SOCK_SEQPACKET, proto[i]));
	}
	EXPECT_ERR(ESOCKTNOSUPPORT, socket(AF_RDS, SOCK_STREAM, 1));
}

/* socketpair() is not supported and leaves no descriptors behind. */
TEST(socketpair__unsupported)
{
	int sv[2] = { -7, -7 }, probe = dup(0);

	close(probe);
	EXPECT_ERR(EOPNOTSUPP, socketpair(AF_RDS, SOCK_SEQPACKET, 0, sv));
	EXPECT_EQ(probe, dup(0));
}

/* What SOL_SOCKET says about a new socket. */
TEST(socket__generic_state)
{
	struct timeval tv = { 9, 9 };
	socklen_t len = sizeof(tv);
	int fd = rds_socket();

	ASSERT_FD(fd);
	EXPECT_EQ(SOCK_SEQPACKET, get_int(fd, SOL_SOCKET, SO_TYPE));
	EXPECT_EQ(AF_RDS, get_int(fd, SOL_SOCKET, SO_DOMAIN));
	EXPECT_EQ(0, get_int(fd, SOL_SOCKET, SO_PROTOCOL));
	EXPECT_EQ(0, get_int(fd, SOL_SOCKET, SO_ACCEPTCONN));
	EXPECT_EQ(0, get_int(fd, SOL_SOCKET, SO_ERROR));
	EXPECT_EQ(0, getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, &len));
	EXPECT_EQ(0, tv.tv_sec + tv.tv_usec);
	tv.tv_sec = 9;
	EXPECT_EQ(0, getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, &len));
	EXPECT_EQ(0, tv.tv_sec + tv.tv_usec);
}

/* Buffers of a new socket are the defaults of net.core. */
TEST(socket__default_buffers)
{
	static const struct {
		const char *path;
		int opt;
	} row[] = {
		{ "/proc/sys/net/core/rmem_default", SO_RCVBUF },
		{ "/proc/sys/net/core/wmem_default", SO_SNDBUF },
	};
	int fd = rds_socket(), i, def;
	FILE *f;

	for (i = 0; i < 2; i++) {
		f = fopen(row[i].path, "r");
		ASSERT_NE(NULL, f);
		ASSERT_EQ(1, fscanf(f, "%d", &def));
		fclose(f);
		EXPECT_EQ(def, get_int(fd, SOL_SOCKET, row[i].opt));
	}
}

/* What SOL_RDS says about a new socket. */
TEST(socket__rds_state)
{
	unsigned char tos = 0xff;
	int fd = rds_socket();

	EXPECT_EQ(0, get_int(fd, SOL_RDS, RDS_RECVERR));
	EXPECT_EQ(RDS_TRANS_NONE, get_int(fd, SOL_RDS, SO_RDS_TRANSPORT));
	EXPECT_EQ(0, ioctl(fd, SIOCRDSGETTOS, &tos));
	EXPECT_EQ(0, tos);
}

/* The protocol has a line in /proc/net/protocols. */
TEST(socket__proc_net_protocols)
{
	FILE *f = fopen("/proc/self/net/protocols", "r");
	char line[256];
	int found = 0;

	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f))
		found += !strncmp(line, "RDS ", 4);
	fclose(f);
	EXPECT_EQ(1, found);
}

/* Any namespace can have sockets, which stay in it (G9). */
TEST(socket__in_new_namespace)
{
	int a, b;

	SETUP_PAIR();
	a = rds_socket();
	ASSERT_FD(a);
	ASSERT_EQ(0, ns_enter(rds_ns[1]));
	b = rds_socket();
	ASSERT_FD(b);
	/* each socket acts in the namespace it was made in */
	EXPECT_ERR(EADDRNOTAVAIL, rds_bind(a, "10.1.0.2", 0));
	EXPECT_ERR(EADDRNOTAVAIL, rds_bind(b, "10.1.0.1", 0));
	EXPECT_OK(rds_bind(a, "10.1.0.1", 0));
	EXPECT_OK(rds_bind(b, "10.1.0.2", 0));
}

/* Sockets that were never used, or only half used, go away quietly. */
TEST(socket__create_and_close_many)
{
	int i, fd;

	SETUP_LOCAL();
	for (i = 0; i < 1000; i++) {
		fd = rds_socket();
		ASSERT_FD(fd);
		if (i & 1)
			ASSERT_EQ(0, rds_bind(fd, "127.0.0.1", 0));
		if (i & 2)
			ASSERT_EQ(0, rds_connect(fd, "127.0.0.1", 77));
		ASSERT_EQ(0, close(fd));
	}
}

TEST_HARNESS_MAIN
