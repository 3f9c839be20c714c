// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 lanes=uml */
/* Receive timestamps: SO_TIMESTAMP old and new at both levels. */
#include "rds_duo.h"

#define TS_OLD 29
#define TSNS_OLD 35
#define TS_NEW 63
#define TSNS_NEW 64

static char buf[64];

static __s64 real_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec * 1000000LL + ts.tv_nsec / 1000;
}

/*
 * Sends one message a -> b and takes it: the type of the timestamp cmsg, 0 if
 * there is none, or -1 if it is wrong in any way.
 */
static int stamp_type(int a, int b)
{
	__s64 before = real_us(), v[2], us;
	struct cmsghdr *c;
	struct rx rx;

	if (send(a, "x", 1, 0) != 1 || !wait_data(b) ||
	    rx_msg(b, buf, sizeof(buf), 0, &rx) != 1)
		return -1;
	if (!rx.m.msg_controllen)
		return 0;
	c = CMSG_FIRSTHDR(&rx.m);
	if (c->cmsg_level != SOL_SOCKET || c->cmsg_len != CMSG_LEN(16) ||
	    rx.m.msg_controllen != CMSG_SPACE(16))
		return -1;
	memcpy(v, CMSG_DATA(c), 16);
	us = v[0] * 1000000 + v[1];
	if (v[1] < 0 || v[1] > 999999 || us < before - 1 || us > real_us())
		return -1;
	return c->cmsg_type;
}

/* Off by default. */
TEST_F(duo, timestamp__off)
{
	EXPECT_EQ(0, stamp_type(self->a, self->b));
	/* the sender's options do not matter */
	ASSERT_EQ(0, set_int(self->a, SOL_SOCKET, TS_OLD, 1));
	EXPECT_EQ(0, stamp_type(self->a, self->b));
}

/* At SOL_SOCKET: microseconds always, format by the NEW bit. */
TEST_F(duo, timestamp__sol_socket)
{
	static const struct {
		int opt, type;
	} row[] = {
		{ TS_OLD, TS_OLD }, { TS_NEW, TS_NEW },
		{ TSNS_OLD, TS_OLD }, { TSNS_NEW, TS_NEW },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, row[i].opt, 1));
		EXPECT_EQ(row[i].type, stamp_type(self->a, self->b))
			TH_LOG("option %d", row[i].opt);
		ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, row[i].opt, 0));
		EXPECT_EQ(0, stamp_type(self->a, self->b));
	}
}

/* At SOL_RDS: NEW also sets the format, and OLD does not set it back. */
TEST_F(duo, timestamp__sol_rds)
{
	ASSERT_EQ(0, set_int(self->b, SOL_RDS, TS_OLD, 1));
	EXPECT_EQ(TS_OLD, stamp_type(self->a, self->b));
	ASSERT_EQ(0, set_int(self->b, SOL_RDS, TS_NEW, 1));
	EXPECT_EQ(TS_NEW, stamp_type(self->a, self->b));
	ASSERT_EQ(0, set_int(self->b, SOL_RDS, TS_OLD, 1));
	EXPECT_EQ(TS_NEW, stamp_type(self->a, self->b));
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, TS_OLD, 1));
	EXPECT_EQ(TS_OLD, stamp_type(self->a, self->b));
	ASSERT_EQ(0, set_int(self->b, SOL_RDS, TS_OLD, 0));
	EXPECT_EQ(0, stamp_type(self->a, self->b));
	ASSERT_EQ(0, set_int(self->b, SOL_RDS, TS_OLD, -3));
	EXPECT_EQ(TS_OLD, stamp_type(self->a, self->b));
}

/* The option must be on at arrival and at recvmsg. */
TEST_F(duo, timestamp__on_at_both_ends)
{
	struct rx rx;

	/* off at arrival */
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_TRUE(wait_data(self->b));
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, TS_OLD, 1));
	ASSERT_EQ(1, rx_msg(self->b, buf, 1, 0, &rx));
	EXPECT_EQ(0, rx.m.msg_controllen);
	/* off at recvmsg */
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_TRUE(wait_data(self->b));
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, TS_OLD, 0));
	ASSERT_EQ(1, rx_msg(self->b, buf, 1, 0, &rx));
	EXPECT_EQ(0, rx.m.msg_controllen);
}

/* The time is that of arrival, not of reading. */
TEST_F(duo, timestamp__arrival_time)
{
	__s64 v[2], arrived;
	struct cmsghdr *c;
	struct rx rx;

	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, TS_OLD, 1));
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_TRUE(wait_data(self->b));
	arrived = real_us();
	usleep(50000);
	/* PEEK shows it as well */
	ASSERT_EQ(1, rx_msg(self->b, buf, 1, MSG_PEEK, &rx));
	EXPECT_NE(NULL, rx_cmsg(&rx, SOL_SOCKET, TS_OLD));
	ASSERT_EQ(1, rx_msg(self->b, buf, 1, 0, &rx));
	c = rx_cmsg(&rx, SOL_SOCKET, TS_OLD);
	ASSERT_NE(NULL, c);
	memcpy(v, CMSG_DATA(c), 16);
	EXPECT_LE(v[0] * 1000000 + v[1], arrived);
}

/* SO_TIMESTAMPING has no effect. */
TEST_F(duo, timestamp__timestamping)
{
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, 37, 0x18));
	EXPECT_EQ(0, stamp_type(self->a, self->b));
}

/* On a socket without a name yet. */
TEST(timestamp__set_before_bind)
{
	int fd;

	SETUP_LOCAL();
	fd = rds_socket();
	ASSERT_EQ(0, set_int(fd, SOL_RDS, TS_OLD, 1));
	ASSERT_EQ(0, rds_bind(fd, "127.0.0.1", 5000));
	ASSERT_EQ(0, rds_connect(fd, "127.0.0.1", 5000));
	EXPECT_EQ(TS_OLD, stamp_type(fd, fd));
}

TEST_HARNESS_MAIN
