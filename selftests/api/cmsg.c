// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp timeout=60 lanes=uml */
/* Control messages on send: groups, short lengths, unknown types, bad headers. */
#include "rds_util.h"

static __u64 page[512];
static struct rds_iovec lvec;

/* A bound socket connected to itself. */
static int self_socket(const char *addr)
{
	int fd = rds_bound(addr, 5000);

	if (fd >= 0 && rds_connect(fd, addr, 5000))
		return -1;
	return fd;
}

static int tx(int fd, struct ctl *c)
{
	return send_ctl(fd, NULL, 0, "x", 1, MSG_DONTWAIT, c->buf, c->len);
}

static void add(struct ctl *c, int type)
{
	struct rds_rdma_args a = {
		.remote_vec = { 0, 64 }, .local_vec_addr = (long)&lvec,
		.nr_local = 1,
	};
	struct rds_atomic_args at = { .local_addr = (long)page };
	struct rds_get_mr_args m = { .vec = { (long)page, 64 } };
	__u64 v = 1;

	lvec.addr = (long)page;
	lvec.bytes = 64;
	switch (type) {
	case RDS_CMSG_RDMA_ARGS:
		ctl_add(c, SOL_RDS, type, &a, sizeof(a));
		break;
	case RDS_CMSG_RDMA_DEST:
		ctl_add(c, SOL_RDS, type, &v, sizeof(v));
		break;
	case RDS_CMSG_RDMA_MAP:
		ctl_add(c, SOL_RDS, type, &m, sizeof(m));
		break;
	case RDS_CMSG_ATOMIC_FADD ... RDS_CMSG_MASKED_ATOMIC_CSWP:
		ctl_add(c, SOL_RDS, type, &at, sizeof(at));
		break;
	default:
		ctl_add(c, SOL_RDS, type, &v, 4);
	}
}

/* Types that cannot be sent, and types nobody knows. */
TEST(cmsg__unsendable_types)
{
	static const int type[] = {
		0, 4, 5, 10, 11, 13, 14, 15, 255, 0x10001, -1, INT32_MAX,
	};
	char data[128] = {};
	int fd, i;

	SETUP_LOCAL();
	fd = self_socket("10.9.0.1");
	ASSERT_FD(fd);
	for (i = 0; i < ARRAY_SIZE(type); i++) {
		struct ctl c = {};

		ctl_add(&c, SOL_RDS, type[i], data, sizeof(data));
		EXPECT_ERR(EINVAL, tx(fd, &c))
			TH_LOG("type %d", type[i]);
	}
}

/* Other levels are ignored, whatever they hold. */
TEST(cmsg__other_levels)
{
	static const int level[] = { 0, 41, 6, 17, 275, 277, -1 };
	char data[64] = {}, b[4];
	int fd, i, type;

	SETUP_LOCAL();
	fd = self_socket("127.0.0.1");
	for (i = 0; i < ARRAY_SIZE(level); i++) {
		for (type = 0; type < 14; type++) {
			struct ctl c = {};

			ctl_add(&c, level[i], type, data, type * 4);
			EXPECT_EQ(1, tx(fd, &c));
			EXPECT_EQ(1, recv_wait(fd, b, 4));
		}
	}
}

/* Groups A (RDMA, atomics) and B (DEST, MAP, ZCOPY) do not mix, in any order. */
TEST(cmsg__groups)
{
	static const int ga[] = { 1, 6, 7, 8, 9 }, gb[] = { 2, 3, 12 };
	int fd, i, j, order;

	SETUP_LOCAL();
	fd = self_socket("10.9.0.1");
	for (i = 0; i < ARRAY_SIZE(ga); i++) {
		for (j = 0; j < ARRAY_SIZE(gb); j++) {
			for (order = 0; order < 2; order++) {
				struct ctl c = {};

				add(&c, order ? ga[i] : gb[j]);
				add(&c, order ? gb[j] : ga[i]);
				EXPECT_ERR(EINVAL, tx(fd, &c))
					TH_LOG("%d with %d", ga[i], gb[j]);
			}
		}
	}
}

/* Inside group A one of each kind passes the scan; TCP refuses it later. */
TEST(cmsg__group_a_combined)
{
	struct ctl c = {};
	int fd;

	SETUP_LOCAL();
	fd = self_socket("10.9.0.1");
	add(&c, RDS_CMSG_RDMA_ARGS);
	add(&c, RDS_CMSG_ATOMIC_FADD);
	EXPECT_ERR(EOPNOTSUPP, tx(fd, &c));
	c.len = 0;
	add(&c, RDS_CMSG_ATOMIC_FADD);
	add(&c, RDS_CMSG_MASKED_ATOMIC_CSWP);
	EXPECT_ERR(EINVAL, tx(fd, &c));
}

/* A good message with one bad cmsg behind it is not sent. */
TEST(cmsg__bad_after_ignored)
{
	__u64 v = 0;
	struct ctl c = {};
	char b[4];
	int fd;

	SETUP_LOCAL();
	fd = self_socket("127.0.0.1");
	ctl_add(&c, 0, 1, &v, 8);
	ctl_add(&c, SOL_RDS, 99, &v, 8);
	EXPECT_ERR(EINVAL, tx(fd, &c));
	EXPECT_ERR(EAGAIN, recv(fd, b, 4, MSG_DONTWAIT));
}

/* Every sendable type at every length below its own, from 0 up (E8, R16). */
TEST(cmsg__short_lengths)
{
	static const struct {
		int type, len;
	} row[] = {
		{ 1, 56 }, { 2, 8 }, { 3, 32 }, { 6, 72 }, { 7, 72 },
		{ 8, 72 }, { 9, 72 },
	};
	char data[128] = {};
	int fd, i, l;

	SETUP_LOCAL();
	fd = self_socket("10.9.0.1");
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		for (l = 0; l < row[i].len; l++) {
			struct ctl c = {};

			ctl_add(&c, SOL_RDS, row[i].type, data, l);
			EXPECT_ERR(EINVAL, tx(fd, &c))
				TH_LOG("type %d length %d", row[i].type, l);
		}
	}
}

/* Headers whose length lies. */
TEST(cmsg__malformed_headers)
{
	static const size_t bad[] = {
		0, 1, 8, 15, 17 + 4096, 1 << 20, INT32_MAX, UINT32_MAX,
		SIZE_MAX - 16, SIZE_MAX,
	};
	struct cmsghdr h = { .cmsg_level = SOL_RDS, .cmsg_type = 12 };
	__u64 buf[8] = {};
	int fd, i, level;

	SETUP_LOCAL();
	fd = self_socket("10.9.0.1");
	for (level = 0; level < 2; level++) {
		for (i = 0; i < ARRAY_SIZE(bad); i++) {
			h.cmsg_level = level ? SOL_RDS : 0;
			h.cmsg_len = bad[i];
			memcpy(buf, &h, sizeof(h));
			EXPECT_ERR(EINVAL, send_ctl(fd, NULL, 0, "x", 1,
						    MSG_DONTWAIT, buf, 40))
				TH_LOG("cmsg_len %zx", bad[i]);
		}
	}
}

/* A control buffer too short for one header holds no cmsg at all. */
TEST(cmsg__buffer_without_header)
{
	__u64 buf[8];
	char b[4];
	int fd, l;

	SETUP_LOCAL();
	fd = self_socket("127.0.0.1");
	memset(buf, 0xff, sizeof(buf));
	for (l = 0; l < sizeof(struct cmsghdr); l++) {
		EXPECT_EQ(1, send_ctl(fd, NULL, 0, "x", 1, 0, buf, l));
		EXPECT_EQ(1, recv_wait(fd, b, 4));
	}
	EXPECT_ERR(EFAULT, send_ctl(fd, NULL, 0, "x", 1, 0, BAD_PTR, 32));
}

/* ZCOPY_COOKIE: only with MSG_ZEROCOPY; and the other way round. */
TEST(cmsg__zcopy_cookie_rules)
{
	__u32 v = 7;
	struct ctl c = {};
	int fd, zc;

	SETUP_LOCAL();
	fd = self_socket("10.9.0.1");
	ctl_add(&c, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &v, 4);
	for (zc = 0; zc < 2; zc++) {
		ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, zc));
		EXPECT_ERR(EINVAL, send_ctl(fd, NULL, 0, "x", 1, 0, c.buf, c.len));
		EXPECT_ERR(EINVAL, send_ctl(fd, NULL, 0, "x", 1, MSG_ZEROCOPY,
					    NULL, 0));
	}
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 0));
	EXPECT_ERR(EINVAL, send_ctl(fd, NULL, 0, "x", 1, MSG_ZEROCOPY, c.buf, c.len));
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	EXPECT_ERR(EINVAL, send_ctl(fd, NULL, 0, NULL, 0, MSG_ZEROCOPY, c.buf, c.len));
	c.len = 0;
	ctl_add_len(&c, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &v, 4, 3);
	EXPECT_ERR(EINVAL, send_ctl(fd, NULL, 0, "x", 1, MSG_ZEROCOPY, c.buf, c.len));
}

TEST_HARNESS_MAIN
