// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_tcp,veth timeout=60 lanes=uml */
/*
 * Cases of the catalogue of hazards that fit nowhere else: arguments changed in mid-call
 * (A2), as many pieces as a call can have (C1, C11), questions meant for other families
 * (E16), the same thing undone twice (I12), files behind buffers (A3, J8).
 */
#include "rds_duo.h"
#include "rds_flip.h"

#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <sys/stat.h>

/* RDMA vectors that change between two looks at them (A2). */
TEST(catalogue__rdma_vectors_change)
{
	static char page[4 * 4096];
	struct rds_iovec v[4];
	struct rds_rdma_args a = {
		.remote_vec = { 0, sizeof(page) }, .local_vec_addr = (unsigned long)v,
		.nr_local = 4,
	};
	int fd, i, err, other = 0;
	pthread_t t;

	SETUP_PAIR();
	for (i = 0; i < 4; i++)
		v[i] = (struct rds_iovec){ (unsigned long)page + i * 4096, 4096 };
	fd = rds_bound("10.1.0.1", 5000);
	ASSERT_FD(fd);
	ASSERT_EQ(0, pthread_create(&t, NULL, flip_vectors, v));
	for (i = 0; i < 3000; i++) {
		err = ERR_OF(send_cmsg(fd, "10.1.0.2", 9, "x", 1, MSG_DONTWAIT,
				       RDS_CMSG_RDMA_ARGS, &a, sizeof(a)));
		other += err != EINVAL && err != EFAULT && err != EOPNOTSUPP && err != EMSGSIZE;
	}
	atomic_store(&flip_stop, 1);
	pthread_join(t, NULL);
	EXPECT_EQ(0, other);
	EXPECT_EQ(0, msgs_of_port(fd, RDS6_INFO_SEND_MESSAGES, 5000));
	close(fd);
}

#define PIECES 1024	/* UIO_MAXIOV */

/* A message of as many pieces as sendmsg() takes, each across two pages (C1, C11, D17). */
static int send_pieces(int fd, char *p, size_t size, int flags, void *ctl, size_t ctllen)
{
	static struct iovec iov[PIECES];
	struct msghdr m = {
		.msg_iov = iov, .msg_iovlen = PIECES,
		.msg_control = ctl, .msg_controllen = ctllen,
	};
	int i;

	for (i = 0; i < PIECES; i++)
		iov[i] = (struct iovec){ p + i * 4096 + 4096 - size / 2, size };
	return sendmsg(fd, &m, flags);
}

TEST_F(duo, catalogue__1024_pieces)
{
	static const int size[] = { 2, 8, 90 };
	static char out[PIECES * 90];
	__u32 cookie = 7;
	struct ctl c = {};
	size_t i, k;
	int zc, n;
	char *p;

	p = mmap(NULL, (PIECES + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	for (i = 0; i < (PIECES + 1) * 4096; i++)
		p[i] = i * 13 + i / 4096;
	set_int(self->a, SOL_SOCKET, SO_ZEROCOPY, 1);
	ASSERT_EQ(0, set_timeo(self->b, SO_RCVTIMEO, WAIT_MS));
	for (k = 0; k < ARRAY_SIZE(size); k++) {
		for (zc = 0; zc < 2; zc++) {
			if (zc && !strcmp(variant->aaddr, "127.0.0.1"))
				continue;
			c.len = 0;
			ctl_add(&c, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie, 4);
			n = send_pieces(self->a, p, size[k], zc ? MSG_ZEROCOPY : 0, c.buf,
					zc ? c.len : 0);
			ASSERT_EQ(PIECES * size[k], n)
				TH_LOG("errno %d, zero copy %d", errno, zc);
			memset(out, 0, sizeof(out));
			ASSERT_EQ(n, recv(self->b, out, sizeof(out), 0));
			for (i = 0; i < PIECES; i++)
				ASSERT_EQ(0, memcmp(out + i * size[k],
						    p + i * 4096 + 4096 - size[k] / 2, size[k]));
		}
	}
}

static int diag(int family)
{
	struct {
		struct nlmsghdr n;
		struct inet_diag_req_v2 r;
	} q = {
		.n = { .nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP | NLM_F_ACK },
		.r = { .sdiag_family = family, .sdiag_protocol = IPPROTO_TCP,
		       .idiag_states = -1U },
	};
	static char ans[65536];
	struct nlmsghdr *h = (void *)ans;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), n, ret = 0;

	if (fd < 0 || send(fd, &q, sizeof(q), 0) < 0)
		return -errno;
	n = recv(fd, ans, sizeof(ans), 0);
	if (n >= (int)sizeof(*h) && h->nlmsg_type == NLMSG_ERROR)
		ret = ((struct nlmsgerr *)NLMSG_DATA(h))->error;
	close(fd);
	return ret;
}

/* Options, ioctls and diagnosis of other families on an RDS socket (E16). */
TEST(catalogue__other_families_questions)
{
	static const int level[] = {
		IPPROTO_IP, IPPROTO_IPV6, IPPROTO_TCP, IPPROTO_UDP, 132, 280, 282, 283, 284, 286,
	};
	/* SIOCATMARK, SIOCADDRT, SIOCDARP, RAW's, TCP's and KCM's own */
	static const int cmd[] = {
		0x8905, 0x890b, 0x890c, 0x8953, 0x8955, 0x5422, 0x894b, 0x89e2, 0x89e3, 0x89e4,
		0x89e5, 0x89ef, 0x89f0, 0x8980,
	};
	unsigned char b[256] = {};
	int fd[3], i, l, opt;
	socklen_t len;

	SETUP_PAIR();
	fd[0] = rds_socket();
	fd[1] = rds_bound("127.0.0.1", 5000);
	fd[2] = rds_bound("10.1.0.1", 5000);
	for (i = 0; i < 3; i++) {
		for (l = 0; l < ARRAY_SIZE(level); l++) {
			for (opt = 0; opt < 80; opt++) {
				len = sizeof(b);
				EXPECT_ERR(ENOPROTOOPT,
					   getsockopt(fd[i], level[l], opt, b, &len));
				EXPECT_ERR(ENOPROTOOPT,
					   setsockopt(fd[i], level[l], opt, b, sizeof(b)));
			}
		}
		for (l = 0; l < ARRAY_SIZE(cmd); l++) {
			memset(b, 0, sizeof(b));
			EXPECT_GT(0, ioctl(fd[i], cmd[l], b))
				TH_LOG("ioctl %#x", cmd[l]);
		}
	}
	EXPECT_GE(0, diag(AF_RDS));
	EXPECT_EQ(0, diag(AF_INET));
	EXPECT_EQ(1, send_to(fd[1], "127.0.0.1", 5000, "x", 1, 0));
	EXPECT_TRUE(wait_data(fd[1]));
}

/* Cancelled twice, in each state a message can be in (I12). */
TEST_F(duo, catalogue__cancel_twice)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, variant->baddr, DUO_B);
	char c[8];
	int i;

	for (i = 0; i < 2; i++)
		EXPECT_OK(setsockopt(self->a, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
	ASSERT_EQ(5, send(self->a, "hello", 5, 0));
	for (i = 0; i < 2; i++)
		EXPECT_OK(setsockopt(self->a, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
	/* taken back in time or delivered, never both, and the next one arrives */
	ASSERT_EQ(3, send(self->a, "end", 3, 0));
	i = recv_wait(self->b, c, 8);
	if (i == 5)
		i = recv_wait(self->b, c, 8);
	EXPECT_EQ(3, i);
	EXPECT_TRUE(all_acked(self->a));
	EXPECT_OK(setsockopt(self->a, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
	i = -1;
	ASSERT_EQ(0, ioctl(self->a, 0x5411 /* SIOCOUTQ */, &i));
	EXPECT_EQ(0, is_ref() ? 0 : i);
}

/* Answers written into a mapped file are in the file (A3). */
TEST(catalogue__answer_in_a_file)
{
	char path[] = "/tmp/rds-answer-XXXXXX", *p, *q;
	int fd = mkstemp(path), rds = rds_socket();
	socklen_t len = 8192;

	ASSERT_FD(fd);
	unlink(path);
	ASSERT_EQ(0, ftruncate(fd, 8192));
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ(40, getsockopt(rds, SOL_RDS, RDS_INFO_COUNTERS, p, &len));
	ASSERT_LT(0, len);
	q = malloc(8192);
	memcpy(q, p, 8192);
	EXPECT_EQ(0, munmap(p, 8192));
	EXPECT_EQ(0, fsync(fd));
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	p = calloc(1, 8192);
	ASSERT_EQ(8192, pread(fd, p, 8192, 0));
	EXPECT_EQ(0, memcmp(p, q, 8192));
}

TEST_HARNESS_MAIN
