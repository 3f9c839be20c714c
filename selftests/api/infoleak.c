// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=90 cmdline="init_on_alloc=0 init_on_free=0" lanes=uml */
/*
 * What leaves the kernel: buffers filled with a pattern beforehand, and the
 * kernel stack with another one, so that a byte nobody wrote shows (B1 to B8). Debian's
 * kernel zeroes what it allocates unless told not to.
 */
#include "rds_duo.h"

#include <stddef.h>

#define FILL 0xa5	/* what buffers hold before a call */
#define DIRT 0x5a	/* what the kernel stack is made to hold */

/* Leaves DIRT on the kernel stack, at the depths that calls of RDS use. */
static void dirty_stack(int fd)
{
	struct pollfd p[30];
	unsigned char b[128];

	memset(p, DIRT, sizeof(p));
	for (size_t i = 0; i < ARRAY_SIZE(p); i++)
		p[i].fd = -1;
	poll(p, ARRAY_SIZE(p), 0);
	memset(b, DIRT, sizeof(b));
	bind(fd, (void *)b, sizeof(b));
	connect(fd, (void *)b, sizeof(b));
	setsockopt(fd, SOL_RDS, RDS_GET_MR_FOR_DEST, b, sizeof(b));
	setsockopt(fd, SOL_RDS, RDS_RECVERR + 100, b, sizeof(b));
	sendto(fd, b, 0, MSG_DONTWAIT, (void *)b, sizeof(b));
}

struct wide {
	struct msghdr m;
	struct iovec iov;
	unsigned char name[256], ctl[256], data[256];
};

static void wide_init(struct wide *w)
{
	memset(w, FILL, sizeof(*w));
	w->iov = (struct iovec){ w->data, 100 };
	w->m = (struct msghdr){
		.msg_name = w->name, .msg_namelen = sizeof(struct sockaddr_storage),
		.msg_iov = &w->iov, .msg_iovlen = 1,
		.msg_control = w->ctl, .msg_controllen = sizeof(w->ctl),
	};
}

/* Bytes of @b from @from on that are not FILL. */
static int touched(const unsigned char *b, size_t size, size_t from)
{
	int n = 0;

	for (; from < size; from++)
		n += b[from] != FILL;
	return n;
}

static int wide_recv(int fd, struct wide *w, int flags)
{
	wide_init(w);
	dirty_stack(fd);
	return recvmsg(fd, &w->m, flags);
}

/* Nothing but what the header's lengths cover was written. */
static bool covered(const struct wide *w, size_t bytes)
{
	return !touched(w->data, sizeof(w->data), bytes) &&
	       !touched(w->name, sizeof(w->name), w->m.msg_namelen) &&
	       !touched(w->ctl, sizeof(w->ctl), w->m.msg_controllen);
}

/* A message: its name to the last byte, nothing behind it; peeked too (B1, B2, B7). */
TEST_F(duo, infoleak__name_of_a_message)
{
	struct sockaddr_storage want;
	socklen_t full = mkaddr(&want, variant->aaddr, DUO_A);
	struct wide w;
	int i;

	ASSERT_EQ(5, send(self->a, "hello", 5, 0));
	ASSERT_TRUE(wait_data(self->b));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(5, wide_recv(self->b, &w, MSG_DONTWAIT | (i ? 0 : MSG_PEEK)));
		EXPECT_EQ(full, w.m.msg_namelen);
		EXPECT_EQ(0, memcmp(w.name, &want, full));
		EXPECT_EQ(0, w.m.msg_controllen);
		EXPECT_TRUE(covered(&w, 5));
	}
}

/* Every return without a message says that there is no name (B2). */
TEST_F(duo, infoleak__no_name_without_a_message)
{
	struct wide w;

	EXPECT_EQ(0, wide_recv(self->b, &w, MSG_OOB));
	EXPECT_EQ(0, w.m.msg_namelen);
	EXPECT_TRUE(covered(&w, 0));
	EXPECT_EQ(-1, wide_recv(self->b, &w, MSG_DONTWAIT));
	EXPECT_EQ(0, touched(w.name, sizeof(w.name), 0));
	EXPECT_EQ(0, touched(w.ctl, sizeof(w.ctl), 0));
	EXPECT_EQ(-1, wide_recv(self->b, &w, MSG_ERRQUEUE));
	EXPECT_EQ(0, touched(w.name, sizeof(w.name), 0));
	EXPECT_EQ(0, touched(w.ctl, sizeof(w.ctl), 0));
}

/* A congestion notification alone: 8 bytes of control data, no name (B2). */
TEST_F(duo, infoleak__congestion_update)
{
	static unsigned char big[20000];
	struct wide w;
	__u64 mask;

	ASSERT_EQ(0, set_int(self->a, SOL_RDS, RDS_CONG_MONITOR, 1));
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, SO_RCVBUF, 10000));
	ASSERT_TRUE(congest_and_clear(self->a, self->b, big, sizeof(big)));
	ASSERT_EQ(0, wide_recv(self->a, &w, MSG_DONTWAIT));
	EXPECT_EQ(0, w.m.msg_namelen);
	EXPECT_EQ(CMSG_SPACE(8), w.m.msg_controllen);
	memcpy(&mask, CMSG_DATA((struct cmsghdr *)w.ctl), 8);
	EXPECT_EQ(1ULL << DUO_B % 64, mask);
	EXPECT_TRUE(covered(&w, 0));
}

/* A zero-copy completion alone: what no cookie uses is zero (B5's sister). */
TEST_F(duo, infoleak__completion)
{
	static unsigned char page[4096] __attribute__((aligned(4096)));
	struct rds_zcopy_cookies z;
	__u32 cookie = 0x01020304;
	struct wide w;
	int i;

	if (!strcmp(variant->aaddr, "127.0.0.1"))
		SKIP(_exit(KSFT_SKIP), "no zero copy on loopback-bound sockets");
	ASSERT_EQ(0, set_int(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(sizeof(page), send_cmsg(self->a, NULL, 0, page, sizeof(page), MSG_ZEROCOPY,
					  RDS_CMSG_ZCOPY_COOKIE, &cookie, 4));
	ASSERT_TRUE(wait_data(self->b));
	ASSERT_EQ(100, recv(self->b, w.data, 100, 0));
	ASSERT_EQ(POLLIN, POLLIN & poll_for(self->a, POLLIN, WAIT_MS));
	ASSERT_EQ(0, wide_recv(self->a, &w, MSG_DONTWAIT));
	EXPECT_EQ(0, w.m.msg_namelen);
	EXPECT_EQ(CMSG_SPACE(sizeof(z)), w.m.msg_controllen);
	memcpy(&z, CMSG_DATA((struct cmsghdr *)w.ctl), sizeof(z));
	EXPECT_EQ(1, z.num);
	EXPECT_EQ(cookie, z.cookies[0]);
	for (i = 1; i < ARRAY_SIZE(z.cookies); i++)
		EXPECT_EQ(0, z.cookies[i]);
	EXPECT_TRUE(covered(&w, 0));
}

/* Time stamp and receive trace: each byte is said (B5's sister, B8). */
TEST_F(duo, infoleak__trace_and_stamp)
{
	struct rds_rx_trace_so so = { .rx_traces = 1, .rx_trace_pos = { 2 } };
	struct rds_cmsg_rx_trace t;
	struct cmsghdr *c;
	struct wide w;

	ASSERT_EQ(0, setsockopt(self->b, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, &so, sizeof(so)));
	ASSERT_EQ(0, set_int(self->b, SOL_SOCKET, SO_TIMESTAMP, 1));
	ASSERT_EQ(5, send(self->a, "hello", 5, 0));
	ASSERT_TRUE(wait_data(self->b));
	ASSERT_EQ(5, wide_recv(self->b, &w, MSG_DONTWAIT));
	c = CMSG_FIRSTHDR(&w.m);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(SO_TIMESTAMP, c->cmsg_type);
	c = CMSG_NXTHDR(&w.m, c);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(RDS_CMSG_RXPATH_LATENCY, c->cmsg_type);
	memcpy(&t, CMSG_DATA(c), sizeof(t));
	EXPECT_EQ(1, t.rx_traces);
	EXPECT_EQ(2, t.rx_trace_pos[0]);
	EXPECT_EQ(0, t.rx_trace_pos[1] | t.rx_trace_pos[2]);
	EXPECT_EQ(0, t.rx_trace[1] | t.rx_trace[2]);
	/* between the positions and the times there is a hole */
	EXPECT_EQ(0, memcmp((char *)CMSG_DATA(c) + 4, "\0\0\0", 4));
	EXPECT_TRUE(covered(&w, 5));
}

/* The names of a socket, in each state (B1, B7). */
TEST(infoleak__socket_names)
{
	static const char * const addr[] = { "10.9.0.1", "fd09::1" };
	struct sockaddr_storage want;
	unsigned char b[256];
	socklen_t len, full;
	int fd, i, state;

	SETUP_LOCAL();
	for (i = 0; i < 2; i++) {
		fd = rds_socket();
		for (state = 0; state < 3; state++) {
			if (state == 1)
				ASSERT_EQ(0, rds_connect(fd, addr[i], 4000));
			if (state == 2)
				ASSERT_EQ(0, rds_bind(fd, addr[i], 4000));
			full = mkaddr(&want, addr[i], 4000);
			if (state == 0)
				full = mkaddr(&want, NULL, 0);
			if (state == 1)
				memset((char *)&want + 2, 0, sizeof(want) - 2);
			memset(b, FILL, sizeof(b));
			len = sizeof(want);
			dirty_stack(rds_socket());
			ASSERT_EQ(0, getsockname(fd, (void *)b, &len));
			EXPECT_EQ(full, len);
			EXPECT_EQ(0, memcmp(b, &want, full))
				TH_LOG("%s, state %d", addr[i], state);
			EXPECT_EQ(0, touched(b, sizeof(b), full));
		}
	}
}

static int tail_clean(const unsigned char *s, size_t n)
{
	size_t i = strnlen((const char *)s, n);

	if (i == n)
		return 0;
	for (; i < n; i++)
		if (s[i])
			return 0;
	return 1;
}

/* Counts DIRT bytes in runs of four or more: no record holds such a value. */
static int dirt(const unsigned char *b, size_t n)
{
	int run = 0, found = 0;

	while (n--) {
		run = *b++ == DIRT ? run + 1 : 0;
		found += run >= 4;
	}
	return found;
}

/*
 * Every info record, v4 and v6, with connections of both kinds (B3, B4, B6, B8): no byte of
 * the stack in it, nothing behind the length; names are zero to their end.
 */
TEST_F(duo, infoleak__info_records)
{
	static unsigned char buf[65536];
	struct rds_info_connection *c;
	struct rds_info_path *p;
	int opt, fd6, ret;
	socklen_t len, i;

	fd6 = rds_bound(strchr(variant->aaddr, ':') ? "127.0.0.1" : "::1", DUO_A);
	ASSERT_FD(fd6);
	send_to(fd6, strchr(variant->aaddr, ':') ? "127.0.0.1" : "::1", DUO_A, "x", 1, 0);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(5, send(self->a, "hello", 5, 0));
	ASSERT_TRUE(wait_data(self->b));
	ASSERT_EQ(0, ns_enter(rds_ns[variant->ns]));
	send_to(self->b, strchr(variant->aaddr, ':') ? "fd00:1::77" : "10.1.0.77", 9, "x", 1,
		MSG_DONTWAIT);
	ASSERT_EQ(0, ns_enter(rds_ns[0]));
	for (opt = RDS_INFO_FIRST; opt <= RDS_INFO_PATHS; opt++) {
		int fd = opt & 1 ? self->a : self->b;

		memset(buf, FILL, sizeof(buf));
		len = sizeof(buf) - 100;
		dirty_stack(fd6);
		ret = getsockopt(fd, SOL_RDS, opt, buf, &len);
		if (ret < 0) {
			EXPECT_EQ(ENOPROTOOPT, errno);
			continue;
		}
		EXPECT_EQ(0, touched(buf, sizeof(buf), len));
		EXPECT_EQ(0, dirt(buf, len))
			TH_LOG("option %d", opt);
		for (i = 0; opt == RDS_INFO_CONNECTIONS && i < len; i += ret) {
			c = (void *)(buf + i);
			EXPECT_TRUE(tail_clean(c->transport, sizeof(c->transport)));
		}
		for (i = 0; opt == RDS_INFO_PATHS && i < len; i += ret) {
			p = (void *)(buf + i);
			EXPECT_TRUE(tail_clean(p->transport, sizeof(p->transport)));
			EXPECT_TRUE(tail_clean(p->state, sizeof(p->state)));
		}
	}
}

TEST_HARNESS_MAIN
