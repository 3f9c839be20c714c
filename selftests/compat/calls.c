// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=60 uml=0 */
/*
 * A 32-bit program on a 64-bit kernel: control messages, time stamps, pointers in ioctls
 * and structures have other sizes there. User-mode Linux runs no such program.
 */
#include "rds_duo.h"

#include <linux/sockios.h>

#define NEED_32() do { \
	if (sizeof(long) != 4) \
		SKIP(_exit(KSFT_SKIP), "no 32-bit compiler when this was built"); \
} while (0)

static unsigned char page[8192] __attribute__((aligned(4096)));

/* Names and payload. */
TEST_F(duo, compat__send_and_receive)
{
	struct rx rx;
	char b[64];

	NEED_32();
	ASSERT_EQ(0, set_timeo(self->b, SO_RCVTIMEO, WAIT_MS));
	ASSERT_EQ(5, send(self->a, "hello", 5, 0));
	ASSERT_EQ(5, rx_msg(self->b, b, sizeof(b), 0, &rx));
	EXPECT_TRUE(rx_from(&rx, variant->aaddr, DUO_A));
	EXPECT_EQ(0, rx.m.msg_controllen);
	EXPECT_EQ(0, rx.m.msg_flags);
	EXPECT_ERR(EAGAIN, recv(self->b, b, 1, MSG_DONTWAIT));
}

/* Time stamps: two numbers of 32 bits, or of 64 when asked for. */
TEST_F(duo, compat__timestamp)
{
	struct timeval now;
	struct cmsghdr *c;
	struct rx rx;
	__s64 tv[2];
	__s32 old[2];
	char b[8];

	NEED_32();
	ASSERT_EQ(0, set_timeo(self->b, SO_RCVTIMEO, WAIT_MS));
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, 29 /* SO_TIMESTAMP_OLD */, 1));
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_EQ(1, rx_msg(self->b, b, 8, 0, &rx));
	gettimeofday(&now, NULL);
	c = rx_cmsg(&rx, SOL_SOCKET, 29);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(CMSG_LEN(8), c->cmsg_len);
	memcpy(old, CMSG_DATA(c), 8);
	EXPECT_GE(10, now.tv_sec - old[0]);
	EXPECT_LE(0, now.tv_sec - old[0]);
	EXPECT_GT(1000000, old[1]);

	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, 63 /* SO_TIMESTAMP_NEW */, 1));
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_EQ(1, rx_msg(self->b, b, 8, 0, &rx));
	c = rx_cmsg(&rx, SOL_SOCKET, 63);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(CMSG_LEN(16), c->cmsg_len);
	memcpy(tv, CMSG_DATA(c), 16);
	EXPECT_GE(10, now.tv_sec - tv[0] + 1);
	EXPECT_GT(1000000, tv[1]);
}

/* Control messages of sendmsg(): known, unknown, short, in a group. */
TEST_F(duo, compat__control_messages)
{
	struct rds_rdma_args a = {
		.remote_vec = { 0, 4096 }, .local_vec_addr = (unsigned long)page,
		.nr_local = 0,
	};
	struct rds_iovec v = { (unsigned long)page, 4096 };
	__u64 dest = 1;
	__u32 cookie = 1;
	struct ctl c = {};

	NEED_32();
	/* none can be meant for a transport without RDMA, but each is understood */
	EXPECT_ERR(EINVAL, send_cmsg(self->a, NULL, 0, "x", 1, 0, RDS_CMSG_RDMA_ARGS, &a,
				     sizeof(a)));
	a.nr_local = 1025;
	EXPECT_ERR(EMSGSIZE, send_cmsg(self->a, NULL, 0, "x", 1, 0, RDS_CMSG_RDMA_ARGS, &a,
				       sizeof(a)));
	a.nr_local = 1;
	a.local_vec_addr = (unsigned long)&v;
	EXPECT_ERR(EOPNOTSUPP, send_cmsg(self->a, NULL, 0, "x", 1, 0, RDS_CMSG_RDMA_ARGS, &a,
					 sizeof(a)));
	/* short by the four bytes by which the header is shorter than the native one */
	EXPECT_ERR(EINVAL, send_cmsg(self->a, NULL, 0, "x", 1, 0, RDS_CMSG_RDMA_ARGS, &a,
				     sizeof(a) - 4));
	EXPECT_ERR(EINVAL, send_cmsg(self->a, NULL, 0, "x", 1, 0, RDS_CMSG_RDMA_DEST, &dest,
				     sizeof(dest)));
	EXPECT_ERR(EINVAL, send_cmsg(self->a, NULL, 0, "x", 1, 0, 77, &dest, sizeof(dest)));
	EXPECT_ERR(EINVAL, send_cmsg(self->a, NULL, 0, "x", 1, 0, RDS_CMSG_ZCOPY_COOKIE,
				     &cookie, 4));
	ctl_add(&c, SOL_SOCKET, 99, &cookie, 4);
	EXPECT_EQ(1, send_ctl(self->a, NULL, 0, "x", 1, 0, c.buf, c.len));
}

/* Room for exactly one congestion notification is enough for it. */
TEST_F(duo, compat__congestion_update)
{
	static unsigned char big[20000];
	struct cmsghdr *c;
	struct rx rx;
	__u64 mask;
	int room;
	char b[8];

	NEED_32();
	ASSERT_EQ(0, set_int(self->a, SOL_RDS, RDS_CONG_MONITOR, 1));
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, SO_RCVBUF, 10000));
	for (room = CMSG_LEN(8) - 1; room <= CMSG_SPACE(8); room++) {
		ASSERT_TRUE(congest_and_clear(self->a, self->b, big, sizeof(big)));
		ASSERT_EQ(0, rx_msg_ctl(self->a, b, 8, MSG_DONTWAIT, &rx, room));
		c = rx_cmsg(&rx, SOL_RDS, RDS_CMSG_CONG_UPDATE);
		if (room < CMSG_LEN(8)) {
			EXPECT_EQ(NULL, c);
			EXPECT_EQ(MSG_CTRUNC, rx.m.msg_flags);
			/* it is still there */
			ASSERT_EQ(0, rx_msg(self->a, b, 8, MSG_DONTWAIT, &rx));
			c = rx_cmsg(&rx, SOL_RDS, RDS_CMSG_CONG_UPDATE);
		}
		ASSERT_NE(NULL, c)
			TH_LOG("room for %d bytes", room);
		EXPECT_EQ(CMSG_LEN(8), c->cmsg_len);
		memcpy(&mask, CMSG_DATA(c), 8);
		EXPECT_EQ(1ULL << DUO_B % 64, mask);
	}
}

/* Room for exactly one completion record is enough for it. */
TEST_F(duo, compat__zerocopy)
{
	struct rds_zcopy_cookies z;
	__u32 cookie = 0x11223344;
	struct cmsghdr *c;
	struct rx rx;
	char b[8];

	NEED_32();
	if (!strcmp(variant->aaddr, "127.0.0.1"))
		SKIP(_exit(KSFT_SKIP), "no zero copy on loopback-bound sockets");
	ASSERT_EQ(0, set_int(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(4096, send_cmsg(self->a, NULL, 0, page, 4096, MSG_ZEROCOPY,
				  RDS_CMSG_ZCOPY_COOKIE, &cookie, 4));
	ASSERT_TRUE(wait_data(self->b));
	ASSERT_EQ(8, recv(self->b, b, 8, 0));
	ASSERT_EQ(POLLIN, POLLIN & poll_for(self->a, POLLIN, WAIT_MS));
	ASSERT_EQ(0, rx_msg_ctl(self->a, b, 8, MSG_DONTWAIT, &rx, CMSG_SPACE(sizeof(z))));
	c = rx_cmsg(&rx, SOL_RDS, RDS_CMSG_ZCOPY_COMPLETION);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(CMSG_LEN(sizeof(z)), c->cmsg_len);
	memcpy(&z, CMSG_DATA(c), sizeof(z));
	EXPECT_EQ(1, z.num);
	EXPECT_EQ(cookie, z.cookies[0]);
}

/* The receive trace has the layout of a 64-bit program: that is the ABI. */
TEST_F(duo, compat__receive_trace)
{
	struct rds_rx_trace_so so = { .rx_traces = 2, .rx_trace_pos = { 0, 1 } };
	struct cmsghdr *c;
	unsigned char t[32];
	struct rx rx;
	char b[8];

	NEED_32();
	ASSERT_EQ(0, set_timeo(self->b, SO_RCVTIMEO, WAIT_MS));
	ASSERT_EQ(0, setsockopt(self->b, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so)));
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_EQ(1, rx_msg(self->b, b, 8, 0, &rx));
	c = rx_cmsg(&rx, SOL_RDS, RDS_CMSG_RXPATH_LATENCY);
	ASSERT_NE(NULL, c);
	ASSERT_EQ(CMSG_LEN(32), c->cmsg_len);
	memcpy(t, CMSG_DATA(c), 32);
	EXPECT_EQ(2, t[0]);
	EXPECT_EQ(0, t[1]);
	EXPECT_EQ(1, t[2]);
	EXPECT_EQ(0, t[4] | t[5] | t[6] | t[7]);
}

/* ioctls take a pointer of 32 bits. */
TEST_F(duo, compat__ioctl)
{
	unsigned char tos = 0xa5;
	int v = -1;

	NEED_32();
	EXPECT_EQ(0, ioctl(self->a, SIOCRDSGETTOS, &tos));
	EXPECT_EQ(0, tos);
	ASSERT_EQ(5, send(self->a, "hello", 5, 0));
	ASSERT_TRUE(wait_data(self->b));
	EXPECT_EQ(0, ioctl(self->b, SIOCINQ, &v));
	EXPECT_EQ(is_ref() ? v : 5, v);
	EXPECT_ERR(EFAULT, ioctl(self->b, SIOCRDSGETTOS, BAD_PTR));
}

/* Options and info records: the packed structures are the same for both. */
TEST_F(duo, compat__options_and_info)
{
	struct rds_get_mr_args mr = { { (unsigned long)page, 4096 }, (unsigned long)&mr, 0 };
	socklen_t len;
	void *p;
	int i;
	static const struct {
		int opt, size;
	} record[] = {
		{ RDS_INFO_COUNTERS, 40 }, { RDS_INFO_CONNECTIONS, 42 },
		{ RDS6_INFO_CONNECTIONS, 65 }, { RDS_INFO_RECV_MESSAGES, 26 },
		{ RDS6_INFO_SOCKETS, 52 }, { RDS6_INFO_TCP_SOCKETS, 64 },
	};

	NEED_32();
	EXPECT_EQ(24 + 8, sizeof(mr));
	EXPECT_ERR(EOPNOTSUPP, setsockopt(self->a, SOL_RDS, RDS_GET_MR, &mr, sizeof(mr)));
	EXPECT_ERR(EINVAL, setsockopt(self->a, SOL_RDS, RDS_GET_MR, &mr, sizeof(mr) - 4));
	for (i = 0; i < ARRAY_SIZE(record); i++) {
		EXPECT_EQ(record[i].size, info_get(self->a, record[i].opt, &p, &len));
		free(p);
	}
	ASSERT_EQ(0, set_timeo(self->a, SO_RCVTIMEO, 100));
	EXPECT_ERR(ETIMEDOUT, recv(self->a, page, 1, 0));
}

/* sendmmsg() and recvmmsg() have vectors of another size. */
TEST_F(duo, compat__mmsg)
{
	struct iovec iov[3] = { { "one", 3 }, { "three", 5 }, { "fifteen", 7 } };
	struct mmsghdr m[3] = {};
	char b[3][16];
	int i, got = 0, n;

	NEED_32();
	for (i = 0; i < 3; i++)
		m[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i], .msg_iovlen = 1 };
	ASSERT_EQ(3, sendmmsg(self->a, m, 3, 0));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(iov[i].iov_len, m[i].msg_len);
		iov[i] = (struct iovec){ b[i], sizeof(b[i]) };
	}
	while (got < 3 && wait_data(self->b)) {
		n = recvmmsg(self->b, m + got, 3 - got, MSG_DONTWAIT, NULL);
		ASSERT_LT(0, n);
		got += n;
	}
	ASSERT_EQ(3, got);
	EXPECT_EQ(0, memcmp(b[1], "three", 5));
	EXPECT_EQ(7, m[2].msg_len);
}

TEST_HARNESS_MAIN
