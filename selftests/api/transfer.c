// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=120 lanes=uml */
/* What goes in comes out: sizes, order, pings, over every kind of connection. */
#include "rds_duo.h"

static unsigned char in[1 << 20], out[(1 << 20) + 16];

static void fill(unsigned char *p, size_t n, unsigned int seed)
{
	size_t i;

	for (i = 0; i < n; i++) {
		seed = seed * 1103515245 + 12345;
		p[i] = seed >> 16;
	}
}

/* Every interesting size, both ways, byte for byte, with the right sender. */
TEST_F_TIMEOUT(duo, send_recv__sizes, 60)
{
	static const int size[] = {
		0, 1, 2, 48, 63, 64, 1500, 4047, 4048, 4095, 4096, 4097, 8192,
		65535, 65536, 65537, 106495, DEF_BUF,
	};
	struct rx rx;
	int i, dir;

	for (i = 0; i < ARRAY_SIZE(size); i++) {
		for (dir = 0; dir < 2; dir++) {
			int s = dir ? self->b : self->a, d = dir ? self->a : self->b;

			fill(in, size[i], i + dir);
			memset(out, 0x5a, size[i] + 16);
			ASSERT_EQ(size[i], send(s, in, size[i], 0));
			ASSERT_EQ(0, set_timeo(d, SO_RCVTIMEO, WAIT_MS));
			ASSERT_EQ(size[i], rx_msg(d, out, size[i] + 16, 0, &rx));
			EXPECT_EQ(0, memcmp(in, out, size[i]));
			EXPECT_EQ(0x5a, out[size[i]]);
			EXPECT_EQ(0, rx.m.msg_flags);
			EXPECT_EQ(0, rx.m.msg_controllen);
			EXPECT_TRUE(rx_from(&rx, dir ? variant->baddr : variant->aaddr,
					    dir ? DUO_B : DUO_A));
		}
	}
}

/* The largest message. */
TEST_F_TIMEOUT(duo, send_recv__1_mib, 60)
{
	const int n = 1 << 20;

	ASSERT_EQ(0, set_int(self->a, SOL_SOCKET, SO_SNDBUFFORCE, n));
	ASSERT_EQ(0, set_timeo(self->b, SO_RCVTIMEO, 2 * WAIT_MS));
	fill(in, n, 99);
	ASSERT_EQ(n, send(self->a, in, n, 0));
	ASSERT_EQ(n, recv(self->b, out, sizeof(out), 0));
	EXPECT_EQ(0, memcmp(in, out, n));
}

/* A message gathered from many pieces, some empty, scattered into others. */
TEST_F(duo, send_recv__iovecs)
{
	struct iovec si[64], ri[100];
	struct msghdr sm = { .msg_iov = si, .msg_iovlen = 64 };
	struct msghdr rm = { .msg_iov = ri, .msg_iovlen = 100 };
	int i, off = 0, roff = 0;

	fill(in, 64 * 64, 5);
	for (i = 0; i < 64; i++) {
		si[i].iov_base = in + off;
		si[i].iov_len = i % 3 ? i * 2 : 0;
		off += si[i].iov_len;
	}
	for (i = 0; i < 100; i++) {
		ri[i].iov_base = out + roff;
		ri[i].iov_len = i % 2 ? 77 : 0;
		roff += ri[i].iov_len;
	}
	ASSERT_LE(off, roff);
	ASSERT_EQ(0, set_timeo(self->b, SO_RCVTIMEO, WAIT_MS));
	ASSERT_EQ(off, sendmsg(self->a, &sm, 0));
	ASSERT_EQ(off, recvmsg(self->b, &rm, 0));
	EXPECT_EQ(0, memcmp(in, out, off));
}

/* Many messages of one socket arrive in the order they were sent. */
TEST_F_TIMEOUT(duo, send_recv__order, 60)
{
	const int total = 2000;
	int tx = 0, rx = 0;
	__u32 w[64];
	ssize_t n;

	while (rx < total) {
		while (tx < total && tx - rx < 200) {
			memset(w, tx, sizeof(w));
			w[0] = tx;
			n = send(self->a, w, 4 + tx % 252, MSG_DONTWAIT);
			if (n < 0) {
				ASSERT_TRUE(errno == EAGAIN || errno == ENOBUFS);
				break;
			}
			tx++;
		}
		n = recv_wait(self->b, w, sizeof(w));
		ASSERT_EQ(4 + rx % 252, n);
		ASSERT_EQ(rx, w[0]);
		rx++;
	}
	EXPECT_EQ(-1, recv(self->b, w, sizeof(w), MSG_DONTWAIT));
}

/* Messages of both directions at once do not disturb each other. */
TEST_F_TIMEOUT(duo, send_recv__crossing, 60)
{
	int i, v;

	for (i = 0; i < 200; i++) {
		v = i;
		ASSERT_EQ(4, send(self->a, &v, 4, 0));
		v = ~i;
		ASSERT_EQ(4, send(self->b, &v, 4, 0));
		if (i % 10 != 9)
			continue;
		for (int j = i - 9; j <= i; j++) {
			ASSERT_EQ(4, recv_wait(self->a, &v, 4));
			EXPECT_EQ(~j, v);
			ASSERT_EQ(4, recv_wait(self->b, &v, 4));
			EXPECT_EQ(j, v);
		}
	}
}

/* Port 0 answers with an empty message from port 0. */
TEST_F(duo, send__ping_port_0)
{
	char b[8];
	struct rx rx;
	int i;

	if (!variant->ns && strcmp(variant->aaddr, variant->baddr))
		SKIP_REF("sends the answer to the wrong local address");
	ASSERT_EQ(0, set_timeo(self->a, SO_RCVTIMEO, WAIT_MS));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, send_to(self->a, variant->baddr, 0, NULL, 0, 0));
		ASSERT_EQ(0, rx_msg(self->a, b, sizeof(b), 0, &rx));
		EXPECT_TRUE(rx_from(&rx, variant->baddr, 0));
		EXPECT_EQ(0, rx.m.msg_flags);
	}
	/* the peer's socket hears nothing of it */
	EXPECT_EQ(-1, recv(self->b, b, sizeof(b), MSG_DONTWAIT));
}

/* A port without a socket swallows messages, and a counter says so. */
TEST_F(duo, send__no_such_port)
{
	__s64 before = counter(self->b, "recv_drop_no_sock");

	ASSERT_LE(0, before);
	EXPECT_EQ(5, send_to(self->a, variant->baddr, 4999, "hello", 5, 0));
	EXPECT_EQ(1, send(self->a, "x", 1, 0));
	EXPECT_EQ(1, recv_wait(self->b, out, 8));
	EXPECT_EQ('x', out[0]);
	EXPECT_TRUE(WAIT_UNTIL(counter(self->b, "recv_drop_no_sock") > before));
	EXPECT_TRUE(all_acked(self->a));
}

/* Empty messages are messages: none merged, none lost. */
TEST_F(duo, send_recv__empty_messages)
{
	struct rx rx;
	int i;

	ASSERT_EQ(0, set_timeo(self->b, SO_RCVTIMEO, WAIT_MS));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, send(self->a, NULL, 0, 0));
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, rx_msg(self->b, out, 8, 0, &rx));
		EXPECT_TRUE(rx_from(&rx, variant->aaddr, DUO_A));
	}
	EXPECT_EQ(1, recv_wait(self->b, out, 8));
}

/* Everything sent is acknowledged in the end, and the space comes back. */
TEST_F(duo, send__acknowledged)
{
	int i;

	ASSERT_EQ(0, set_int(self->a, SOL_SOCKET, SO_SNDBUF, 6000));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(POLLOUT, poll_for(self->a, POLLOUT, WAIT_MS));
		ASSERT_EQ(6000, send(self->a, in, 6000, MSG_DONTWAIT));
		ASSERT_EQ(6000, recv_wait(self->b, out, 6000));
	}
	EXPECT_TRUE(all_acked(self->a));
	EXPECT_EQ(POLLOUT, poll_for(self->a, POLLOUT, WAIT_MS));
}

TEST_HARNESS_MAIN
