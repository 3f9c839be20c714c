// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp timeout=60 lanes=uml */
/* setsockopt/getsockopt: every option, every length, bad pointers (A4, A6, A7). */
#include "rds_util.h"

#define MAXLEN (160 + 8)

/* What setting zeros of this length gives on a fresh socket. */
static int want_set(int opt, int len)
{
	int err = ENOPROTOOPT;

	switch (opt) {
	case RDS_CANCEL_SENT_TO:
		err = ENOTCONN;
		break;
	case RDS_GET_MR:
		err = len == 32 ? ENOTCONN : EINVAL;
		break;
	case RDS_FREE_MR:
		err = EINVAL;
		break;
	case RDS_GET_MR_FOR_DEST:
		err = len == 160 ? ENOTCONN : EINVAL;
		break;
	case RDS_RECVERR:
	case RDS_CONG_MONITOR:
		err = len < 4 ? EINVAL : 0;
		break;
	case SO_RDS_TRANSPORT:
		err = len == 4 ? EPROTOTYPE : EINVAL;
		break;
	case SO_RDS_MSG_RXPATH_LATENCY:
	case 29:
	case 63:
		err = len == 4 ? 0 : EFAULT;
		break;
	}
	return err;
}

static const int rds_opt[] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 28, 29, 30, 35, 63, 64, 65,
	9999, 10000, 10001, 10017, 10018, -1, INT32_MAX, INT32_MIN,
};

/* Set: every option at every length, the buffer ending at a page's end. */
TEST(setsockopt__every_option_every_length)
{
	int fd, i, len;

	SETUP_LOCAL();
	for (i = 0; i < ARRAY_SIZE(rds_opt); i++) {
		for (len = 0; len <= MAXLEN; len++) {
			char *p = guarded(len + !len);

			memset(p, 0, len);
			fd = rds_socket();
			EXPECT_EQ(want_set(rds_opt[i], len),
				  ERR_OF(setsockopt(fd, SOL_RDS, rds_opt[i], p, len)))
				TH_LOG("option %d length %d", rds_opt[i], len);
			close(fd);
			munmap((void *)((long)p & ~4095L), 4096);
		}
	}
}

/* Set: a negative length is refused before anything else. */
TEST(setsockopt__negative_length)
{
	int fd = rds_socket(), i, v = 0;

	for (i = 0; i < ARRAY_SIZE(rds_opt); i++) {
		EXPECT_ERR(EINVAL, setsockopt(fd, SOL_RDS, rds_opt[i], &v, -1));
		EXPECT_ERR(EINVAL, setsockopt(fd, SOL_RDS, rds_opt[i], &v,
					      INT32_MIN));
	}
}

/* Set: unreadable memory of the right length. */
TEST(setsockopt__bad_pointer)
{
	static const struct {
		int opt, len, err;
	} row[] = {
		{ RDS_CANCEL_SENT_TO, 16, EFAULT },
		{ RDS_CANCEL_SENT_TO, 28, EFAULT },
		{ RDS_CANCEL_SENT_TO, 15, EINVAL },
		{ RDS_GET_MR, 32, EFAULT },
		{ RDS_GET_MR, 31, EINVAL },
		{ RDS_FREE_MR, 16, EFAULT },
		{ RDS_FREE_MR, 17, EINVAL },
		{ RDS_GET_MR_FOR_DEST, 160, EFAULT },
		{ RDS_GET_MR_FOR_DEST, 161, EINVAL },
		{ RDS_RECVERR, 4, EFAULT },
		{ RDS_RECVERR, 3, EINVAL },
		{ RDS_RECVERR, INT32_MAX, EFAULT },
		{ RDS_CONG_MONITOR, 4, EFAULT },
		{ SO_RDS_MSG_RXPATH_LATENCY, 4, EFAULT },
		{ 29, 4, EFAULT },
		{ 63, 4, EFAULT },
		{ 10000, 4, ENOPROTOOPT },
	};
	int fd, i;

	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 0);
	for (i = 0; i < ARRAY_SIZE(row); i++) {
		EXPECT_ERR(row[i].err, setsockopt(fd, SOL_RDS, row[i].opt,
						  BAD_PTR, row[i].len))
			TH_LOG("option %d length %d", row[i].opt, row[i].len);
	}
	fd = rds_socket();
	EXPECT_ERR(EFAULT, setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, BAD_PTR, 4));
	EXPECT_ERR(EINVAL, setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, BAD_PTR, 3));
}

/* Set and get: levels RDS does not know. */
TEST(sockopt__other_levels)
{
	static const int level[] = { 0, 6, 17, 41, 132, 263, 275, 277, -1 };
	int fd = rds_socket(), i, opt, v = 0;
	socklen_t len;

	for (i = 0; i < ARRAY_SIZE(level); i++) {
		for (opt = 0; opt < 12; opt++) {
			len = sizeof(v);
			EXPECT_ERR(ENOPROTOOPT, setsockopt(fd, level[i], opt, &v, 4));
			EXPECT_ERR(ENOPROTOOPT, getsockopt(fd, level[i], opt, &v, &len));
		}
		/* the level is looked at before the length */
		EXPECT_ERR(ENOPROTOOPT, getsockopt(fd, level[i], 5, &v, BAD_PTR));
	}
}

/* Get: every option at every length; only two give a value. */
TEST(getsockopt__every_option_every_length)
{
	int fd, i, l, v;
	socklen_t len;

	SETUP_LOCAL();
	fd = rds_bound("10.9.0.1", 0);
	ASSERT_EQ(0, set_int(fd, SOL_RDS, RDS_RECVERR, 77));
	for (i = 0; i < ARRAY_SIZE(rds_opt); i++) {
		int o = rds_opt[i], has = o == RDS_RECVERR || o == SO_RDS_TRANSPORT;

		if (o >= 10000 && o <= 10018)
			continue;
		for (l = 0; l <= 12; l++) {
			char *p = guarded(l + !l);

			len = l;
			EXPECT_EQ(has ? l < 4 ? EINVAL : 0 : ENOPROTOOPT,
				  ERR_OF(getsockopt(fd, SOL_RDS, o, p, &len)))
				TH_LOG("option %d length %d", o, l);
			if (has && l >= 4) {
				memcpy(&v, p, 4);
				EXPECT_EQ(4, len);
				EXPECT_EQ(o == RDS_RECVERR ? 1 : 2, v);
			}
			munmap((void *)((long)p & ~4095L), 4096);
		}
	}
}

/* Get: bad pointers and a negative length. */
TEST(getsockopt__bad_arguments)
{
	static const int opt[] = { RDS_RECVERR, SO_RDS_TRANSPORT };
	int fd = rds_socket(), i, v;
	socklen_t len;

	for (i = 0; i < 2; i++) {
		EXPECT_ERR(EFAULT, getsockopt(fd, SOL_RDS, opt[i], &v, BAD_PTR));
		len = 4;
		EXPECT_ERR(EFAULT, getsockopt(fd, SOL_RDS, opt[i], BAD_PTR, &len));
		/* in-tree compares the length as unsigned */
		len = -1;
		EXPECT_EQ(is_ref() ? 0 : EINVAL,
			  ERR_OF(getsockopt(fd, SOL_RDS, opt[i], &v, &len)));
		len = INT32_MIN;
		EXPECT_EQ(is_ref() ? 0 : EINVAL,
			  ERR_OF(getsockopt(fd, SOL_RDS, opt[i], &v, &len)));
	}
	/* the length is read before the name is looked at */
	EXPECT_ERR(EFAULT, getsockopt(fd, SOL_RDS, 9, &v, BAD_PTR));
}

/* RECVERR: any non-zero is on, extra bytes are ignored. */
TEST(sockopt__recverr)
{
	int fd = rds_socket(), v[4] = { -5, 0, 0, 0 };

	EXPECT_OK(setsockopt(fd, SOL_RDS, RDS_RECVERR, v, sizeof(v)));
	EXPECT_EQ(1, get_int(fd, SOL_RDS, RDS_RECVERR));
	EXPECT_OK(set_int(fd, SOL_RDS, RDS_RECVERR, 0));
	EXPECT_EQ(0, get_int(fd, SOL_RDS, RDS_RECVERR));
	EXPECT_OK(set_int(fd, SOL_RDS, RDS_RECVERR, 0x100));
	EXPECT_EQ(1, get_int(fd, SOL_RDS, RDS_RECVERR));
}

/* SO_RDS_TRANSPORT: the order of its checks. */
TEST(sockopt__transport)
{
	static const int bad[] = { -1, -2, 3, 4, 100, INT32_MAX, INT32_MIN };
	int fd, i, v = 2;

	SETUP_LOCAL();
	fd = rds_socket();
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_ERR(EINVAL, set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, bad[i]));
	/* not the initial namespace: TCP only (G5) */
	EXPECT_ERR(EPROTOTYPE, set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, 0));
	EXPECT_ERR(EPROTOTYPE, set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, 1));
	EXPECT_EQ(-1, get_int(fd, SOL_RDS, SO_RDS_TRANSPORT));
	EXPECT_OK(set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, 2));
	EXPECT_EQ(2, get_int(fd, SOL_RDS, SO_RDS_TRANSPORT));
	/* once only, and this is checked first */
	EXPECT_ERR(EOPNOTSUPP, set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, 2));
	EXPECT_ERR(EOPNOTSUPP, setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, &v, 3));
	EXPECT_ERR(EOPNOTSUPP, setsockopt(fd, SOL_RDS, SO_RDS_TRANSPORT, BAD_PTR, 4));
	fd = rds_bound("127.0.0.1", 0);
	EXPECT_ERR(EOPNOTSUPP, set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, 2));
}

/* SO_RDS_TRANSPORT in the initial namespace: one that does not exist. */
TEST(sockopt__transport_missing)
{
	int fd;

	ASSERT_EQ(0, ns_initial());
	fd = rds_socket();
	EXPECT_ERR(ENOPROTOOPT, set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, 1));
	EXPECT_EQ(-1, get_int(fd, SOL_RDS, SO_RDS_TRANSPORT));
	EXPECT_OK(set_int(fd, SOL_RDS, SO_RDS_TRANSPORT, 2));
}

/* Buffer sizes: doubled on get, clamped, and shown halved by the info record. */
TEST(sockopt__buffer_sizes)
{
	struct rds_info_socket *s;
	socklen_t len;
	void *p;
	int fd;

	SETUP_LOCAL();
	fd = rds_bound("127.0.0.1", 5000);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUF, 10000));
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_RCVBUF, 9000));
	EXPECT_EQ(20000, get_int(fd, SOL_SOCKET, SO_SNDBUF));
	EXPECT_EQ(18000, get_int(fd, SOL_SOCKET, SO_RCVBUF));
	ASSERT_EQ(sizeof(*s), info_get(fd, RDS_INFO_SOCKETS, &p, &len));
	ASSERT_EQ(sizeof(*s), len);
	s = p;
	EXPECT_EQ(10000, s->sndbuf);
	EXPECT_EQ(9000, s->rcvbuf);
	free(p);
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, 8 << 20));
	EXPECT_EQ(16 << 20, get_int(fd, SOL_SOCKET, SO_SNDBUF));
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_SNDBUF, 0));
	EXPECT_EQ(4608, get_int(fd, SOL_SOCKET, SO_SNDBUF));
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_RCVBUF, 0));
	EXPECT_EQ(2304, get_int(fd, SOL_SOCKET, SO_RCVBUF));
}

/* Generic options that are accepted, and the two with rules of their own. */
TEST(sockopt__generic)
{
	static const int ok[] = {
		SO_REUSEADDR, SO_KEEPALIVE, SO_BROADCAST,
		SO_PRIORITY, SO_MARK, SO_RCVLOWAT, SO_OOBINLINE, SO_DONTROUTE,
	};
	int fd, i;

	SETUP_LOCAL();
	fd = rds_socket();
	for (i = 0; i < ARRAY_SIZE(ok); i++) {
		EXPECT_EQ(0, set_int(fd, SOL_SOCKET, ok[i], 1))
			TH_LOG("option %d", ok[i]);
	}
	EXPECT_ERR(EOPNOTSUPP, set_int(fd, SOL_SOCKET, SO_PEEK_OFF, 0));
	EXPECT_OK(set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	EXPECT_EQ(1, get_int(fd, SOL_SOCKET, SO_ZEROCOPY));
	EXPECT_OK(set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 0));
	EXPECT_ERR(EINVAL, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, 2));
	EXPECT_ERR(EINVAL, set_int(fd, SOL_SOCKET, SO_ZEROCOPY, -1));
	/* and it still works as a socket: a high-water mark has no effect */
	ASSERT_EQ(0, set_int(fd, SOL_SOCKET, SO_RCVLOWAT, 100));
	ASSERT_EQ(0, rds_bind(fd, "127.0.0.1", 5000));
	EXPECT_EQ(1, send_to(fd, "127.0.0.1", 5000, "x", 1, 0));
	EXPECT_TRUE(wait_data(fd));
	EXPECT_EQ(POLLIN, poll_for(fd, POLLIN, 0));
}

TEST_HARNESS_MAIN
