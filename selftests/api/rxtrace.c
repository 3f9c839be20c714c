// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 lanes=uml */
/* SO_RDS_MSG_RXPATH_LATENCY: which traces are taken, and what they say. */
#include "rds_duo.h"

static int set_trace(int fd, int n, int p0, int p1, int p2)
{
	struct rds_rx_trace_so so = { .rx_traces = n };

	so.rx_trace_pos[0] = p0;
	so.rx_trace_pos[1] = p1;
	so.rx_trace_pos[2] = p2;
	return setsockopt(fd, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so));
}

/* Takes one message a -> b: 1 with a trace, 0 without, -1 wrong. */
static int get_trace(int a, int b, struct rds_cmsg_rx_trace *t)
{
	struct cmsghdr *c;
	struct rx rx;
	char x[8];

	if (send(a, "x", 1, 0) != 1 || !wait_data(b) ||
	    rx_msg(b, x, sizeof(x), 0, &rx) != 1)
		return -1;
	if (!rx.m.msg_controllen)
		return 0;
	c = rx_cmsg(&rx, SOL_RDS, RDS_CMSG_RXPATH_LATENCY);
	if (!c || c->cmsg_len != CMSG_LEN(32) ||
	    rx.m.msg_controllen != CMSG_SPACE(32) || sizeof(*t) != 32)
		return -1;
	memcpy(t, CMSG_DATA(c), sizeof(*t));
	return 1;
}

/* Every count and every position (E7). */
TEST(rxtrace__every_argument)
{
	int fd = rds_socket(), n, p;

	for (n = 0; n < 256; n++)
		EXPECT_EQ(n > 3 ? EFAULT : 0, ERR_OF(set_trace(fd, n, 0, 1, 2)));
	for (p = 0; p < 256; p++) {
		EXPECT_EQ(p > 2 ? EFAULT : 0, ERR_OF(set_trace(fd, 1, p, 0, 0)));
		EXPECT_EQ(p > 2 ? EFAULT : 0, ERR_OF(set_trace(fd, 2, 0, p, 0)));
		EXPECT_EQ(p > 2 ? EFAULT : 0, ERR_OF(set_trace(fd, 3, 0, 0, p)));
		/* only the first n positions count */
		EXPECT_EQ(0, set_trace(fd, 1, 0, p, p));
		EXPECT_EQ(0, set_trace(fd, 0, p, p, p));
	}
}

/* Every length but 4 is EFAULT. */
TEST(rxtrace__length)
{
	char so[8] = { 1 };
	int fd = rds_socket(), len;

	for (len = 0; len <= 8; len++) {
		EXPECT_EQ(len == 4 ? 0 : EFAULT,
			  ERR_OF(setsockopt(fd, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY,
					    so, len)));
	}
}

/* All three points, each a latency and not a clock (weakness 43). */
TEST_F(duo, rxtrace__all_points)
{
	struct rds_cmsg_rx_trace t;
	__s64 start, limit;
	unsigned char *raw = (void *)&t;
	int i;

	if (!variant->ns)
		SKIP_REF("point 1 is a clock reading on loopback connections");
	ASSERT_EQ(0, set_trace(self->b, 3, 0, 1, 2));
	start = now_ms();
	ASSERT_EQ(1, get_trace(self->a, self->b, &t));
	/* no latency is longer than what the whole took */
	limit = (now_ms() - start + 20) * 1000000;
	EXPECT_EQ(3, t.rx_traces);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(i, t.rx_trace_pos[i]);
		EXPECT_GT(limit, t.rx_trace[i]);
	}
	/* no byte of the padding leaves uncleared (B5) */
	for (i = 4; i < 8; i++)
		EXPECT_EQ(0, raw[i]);
}

/* The wait of the message on the socket is in the third point. */
TEST_F(duo, rxtrace__delivered_includes_the_wait)
{
	struct rds_cmsg_rx_trace t;
	__s64 start = now_ms();
	struct cmsghdr *c;
	struct rx rx;
	char x;

	ASSERT_EQ(0, set_trace(self->b, 1, RDS_MSG_RX_DGRAM_DELIVERED, 0, 0));
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_TRUE(wait_data(self->b));
	usleep(50000);
	ASSERT_EQ(1, rx_msg(self->b, &x, 1, 0, &rx));
	c = rx_cmsg(&rx, SOL_RDS, RDS_CMSG_RXPATH_LATENCY);
	ASSERT_NE(NULL, c);
	memcpy(&t, CMSG_DATA(c), sizeof(t));
	EXPECT_EQ(1, t.rx_traces);
	EXPECT_LE(50000000, t.rx_trace[0]);
	EXPECT_GE((now_ms() - start + 20) * 1000000, t.rx_trace[0]);
}

/* Positions in any order, also twice. */
TEST_F(duo, rxtrace__order_and_repeat)
{
	struct rds_cmsg_rx_trace t;

	ASSERT_EQ(0, set_trace(self->b, 3, 2, 2, 2));
	ASSERT_EQ(1, get_trace(self->a, self->b, &t));
	EXPECT_EQ(3, t.rx_traces);
	EXPECT_EQ(2, t.rx_trace_pos[0]);
	EXPECT_EQ(2, t.rx_trace_pos[2]);
	EXPECT_EQ(t.rx_trace[0], t.rx_trace[1]);
	EXPECT_EQ(t.rx_trace[0], t.rx_trace[2]);
	ASSERT_EQ(0, set_trace(self->b, 2, 2, 0, 0));
	ASSERT_EQ(1, get_trace(self->a, self->b, &t));
	EXPECT_EQ(2, t.rx_traces);
	EXPECT_EQ(2, t.rx_trace_pos[0]);
	EXPECT_EQ(0, t.rx_trace_pos[1]);
	EXPECT_EQ(0, t.rx_trace[2]);
}

/* 0 traces and a bad position turn it off. */
TEST_F(duo, rxtrace__off)
{
	struct rds_cmsg_rx_trace t;

	EXPECT_EQ(0, get_trace(self->a, self->b, &t));
	ASSERT_EQ(0, set_trace(self->b, 1, 2, 0, 0));
	EXPECT_EQ(1, get_trace(self->a, self->b, &t));
	ASSERT_EQ(0, set_trace(self->b, 0, 0, 0, 0));
	EXPECT_EQ(0, get_trace(self->a, self->b, &t));
	ASSERT_EQ(0, set_trace(self->b, 1, 2, 0, 0));
	EXPECT_ERR(EFAULT, set_trace(self->b, 1, 3, 0, 0));
	EXPECT_EQ(0, get_trace(self->a, self->b, &t));
}

/* Together with a timestamp: that one comes first. */
TEST_F(duo, rxtrace__after_timestamp)
{
	struct cmsghdr *c;
	struct rx rx;
	char x;

	ASSERT_EQ(0, set_trace(self->b, 1, 2, 0, 0));
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, SO_TIMESTAMP, 1));
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_TRUE(wait_data(self->b));
	ASSERT_EQ(1, rx_msg(self->b, &x, 1, 0, &rx));
	EXPECT_EQ(0, rx.m.msg_flags);
	c = CMSG_FIRSTHDR(&rx.m);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(SO_TIMESTAMP, c->cmsg_type);
	c = CMSG_NXTHDR(&rx.m, c);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(RDS_CMSG_RXPATH_LATENCY, c->cmsg_type);
	EXPECT_EQ(NULL, CMSG_NXTHDR(&rx.m, c));
}

TEST_HARNESS_MAIN
