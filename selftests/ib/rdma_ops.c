// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init timeout=300 ref=0 */
/*
 * RDMA reads and writes: content at every alignment and size class, vectors, flags, the order of
 * operation, message and notification, keys that travel with messages.
 */
#define ALL_VARIANTS
#include "rdma.h"
#include "../api/rds_flip.h"

static const unsigned long sizes[] = {
	1, 2, 7, 8, 9, 511, 4095, 4096, 4097, 8192, 12288 + 5, 65536, MIB - 4096 + 1,
};

/* One transfer; the message behind it, or the notification, says that it is over. */
static bool transfer(int a, int b, bool write, __u64 cookie, __u64 raddr, char *mem,
		     unsigned long n)
{
	char c = 0;
	int status;
	__u64 t;

	if (send_rdma(a, cookie, raddr, mem, n, (write ? W : 0) | N, n, "m", 1) != 1)
		return false;
	if (write && (recv_wait(b, &c, 1) != 1 || c != 'm'))
		return false;
	status = next_note(a, &t);
	if (status != RDS_RDMA_SUCCESS || t != n) {
		printf("# status %d, errno %d, token %llu, not %lu\n", status, errno, t, n);
		return false;
	}
	return write || (recv_wait(b, &c, 1) == 1 && c == 'm');
}

static void shapes(struct __test_metadata *_metadata, int a, int b, char *src, char *dst,
		   bool write)
{
	static const unsigned long offs[] = { 0, 1, 8, 2049, 4095 };
	char *local = write ? src : dst, *remote = write ? dst : src;
	unsigned long i, j, k, n, lo, ro;
	__u64 c;

	ASSERT_EQ(0, get_mr(b, remote + 8, MIB + 4000, 0, &c));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (j = 0; j < ARRAY_SIZE(offs); j++) {
			/* small ones at each pair of offsets, large ones at some */
			for (k = 0; k < ARRAY_SIZE(offs); k++) {
				n = sizes[i];
				lo = offs[j];
				ro = offs[k];
				if (n > 20000 && j != (k + i) % ARRAY_SIZE(offs))
					continue;
				if (ro + n > MIB + 4000)
					continue;
				fill(src, MIB + 8192, i * 100 + j * 10 + k);
				memset(dst, 0x5a, MIB + 16384);
				ASSERT_TRUE(transfer(a, b, write, c, ro, local + lo, n));
				if (write) {
					EXPECT_EQ(0, memcmp(dst + 8 + ro, src + lo, n));
					EXPECT_TRUE(all(dst, 8 + ro, 0x5a));
					EXPECT_TRUE(all(dst + 8 + ro + n, 4096, 0x5a));
				} else {
					EXPECT_EQ(0, memcmp(dst + lo, src + 8 + ro, n));
					EXPECT_TRUE(all(dst, lo, 0x5a));
					EXPECT_TRUE(all(dst + lo + n, 4096, 0x5a));
				}
			}
		}
	}
	EXPECT_EQ(0, free_mr(b, c, RDS_RDMA_INVALIDATE));
}

TEST_F_TIMEOUT(rdma, write__shapes, 250)
{
	shapes(_metadata, self->a, self->b, self->src, self->dst, true);
}

TEST_F_TIMEOUT(rdma, read__shapes, 250)
{
	shapes(_metadata, self->a, self->b, self->src, self->dst, false);
}

/* A whole MiB from one page offset to another. */
TEST_F_TIMEOUT(rdma, both__one_mib, 100)
{
	__u64 c;

	fill(self->src, 2 * MIB, 1);
	ASSERT_EQ(0, get_mr(self->b, self->dst + 1234, MIB, 0, &c));
	ASSERT_TRUE(transfer(self->a, self->b, true, c, 0, self->src + 77, MIB));
	EXPECT_EQ(0, memcmp(self->dst + 1234, self->src + 77, MIB));
	memset(self->src, 0, 2 * MIB);
	ASSERT_TRUE(transfer(self->a, self->b, false, c, 0, self->src + 4095, MIB));
	EXPECT_EQ(0, memcmp(self->dst + 1234, self->src + 4095, MIB));
}

/* Local memory in pieces of all kinds, more than fit into a work request, up to the limit. */
TEST_F_TIMEOUT(rdma, vectors__many, 200)
{
	static const unsigned int counts[] = { 2, 7, 8, 9, 31, 128, 129, 500, 1024 };
	unsigned int i, j, n, round;
	struct rds_iovec v[1024];
	__u64 c, total, pos;
	char *flat = pages(2 * MIB);

	ASSERT_EQ(0, get_mr(self->b, self->dst, MIB, 0, &c));
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		for (round = 0; round < 2; round++) {
			n = counts[i];
			fill(self->src, 2 * MIB, n);
			memset(self->dst, 0, MIB);
			/* the second time each lies across a page boundary */
			for (j = total = pos = 0; j < n; j++) {
				v[j].bytes = 1 + j * 37 % (MIB / n);
				if (round) {
					v[j].bytes = 2 + j % 9;
					pos = (j + 1) % 500 * PG - 1;
				} else if (j && j % 5 == 0) {
					pos += 3;
				}
				v[j].addr = (long)self->src + pos;
				memcpy(flat + total, self->src + pos, v[j].bytes);
				total += v[j].bytes;
				pos += v[j].bytes;
			}
			ASSERT_EQ(1, send_rdma_v(self->a, c, 0, total, v, n, W | N, n, "v", 1));
			ASSERT_EQ(RDS_RDMA_SUCCESS, next_note(self->a, NULL));
			ASSERT_EQ(1, recv_wait(self->b, &flat[MIB], 1));
			EXPECT_EQ(0, memcmp(self->dst, flat, total));
			EXPECT_TRUE(all(self->dst + total, MIB - total, 0));
		}
	}
	munmap(flat, 2 * MIB);
}

/* The peer may be promised more than is transferred, not less. */
TEST_F(rdma, lengths__local_and_remote)
{
	struct rds_iovec v = { (long)self->src, 100 };
	__u64 c;

	ASSERT_EQ(0, get_mr(self->b, self->dst, 1000, 0, &c));
	memset(self->src, 3, 1000);
	EXPECT_EQ(1, send_rdma_v(self->a, c, 10, 900, &v, 1, W | N, 0, "x", 1));
	EXPECT_EQ(0, next_note(self->a, NULL));
	EXPECT_TRUE(all(self->dst + 10, 100, 3));
	EXPECT_TRUE(all(self->dst + 110, 800, 0));
	v.bytes = 901;
	EXPECT_ERR(EINVAL, send_rdma_v(self->a, c, 0, 900, &v, 1, W | N, 0, "x", 1));
	v.bytes = MIB + 1;
	EXPECT_ERR(EMSGSIZE, send_rdma_v(self->a, c, 0, MIB + 1, &v, 1, W | N, 0, "x", 1));
	EXPECT_ERR(EINVAL, send_rdma_v(self->a, c, 0, MIB, &v, 1, W | N, 0, "x", 1));
	v.bytes = 0;
	EXPECT_ERR(EINVAL, send_rdma_v(self->a, c, 0, 0, &v, 1, W | N, 0, "x", 1));
	v.bytes = 8;
	EXPECT_ERR(EINVAL, send_rdma_v(self->a, c, 0, 8, &v, 0, W | N, 0, "x", 1));
	EXPECT_ERR(EMSGSIZE, send_rdma_v(self->a, c, 0, 8, &v, 1025, W | N, 0, "x", 1));
	v.addr = PG;
	EXPECT_ERR(EFAULT, send_rdma_v(self->a, c, 0, 8, &v, 1, W | N, 0, "x", 1));
	EXPECT_ERR(EFAULT, send_rdma_v(self->a, c, 0, 8, BAD_PTR, 1, W | N, 0, "x", 1));
	v.addr = (long)guarded(4) + 0;
	EXPECT_ERR(EFAULT, send_rdma_v(self->a, c, 0, 8, &v, 1, W | N, 0, "x", 1));
	/* nothing of what was refused was queued or tells anything */
	usleep(50000);
	EXPECT_TRUE(quiet(self->a));
}

/*
 * Vectors that change between two looks at them (A2): each call is refused, or moves what was
 * looked at last and no byte more than the peer was promised.
 */
TEST_F_TIMEOUT(rdma, vectors__change, 100)
{
	struct rds_iovec v[4];
	int i, ret, moved = 0;
	pthread_t t;
	__u64 c;

	ASSERT_EQ(0, get_mr(self->b, self->dst, 8 * PG, 0, &c));
	memset(self->src, 7, 4 * PG);
	for (i = 0; i < 4; i++)
		v[i] = (struct rds_iovec){ (long)self->src + i * PG, PG };
	ASSERT_EQ(0, pthread_create(&t, NULL, flip_vectors, v));
	/* the other thread may have to wait for a processor */
	for (i = 0; i < 2000 && (moved < 100 || moved == i); i++) {
		ret = send_rdma_v(self->a, c, 0, 4 * PG, v, 4, W | N, i, NULL, 0);
		if (ret < 0) {
			EXPECT_TRUE(errno == EINVAL || errno == EFAULT || errno == EMSGSIZE)
				TH_LOG("errno %d", errno);
			continue;
		}
		moved++;
		ASSERT_EQ(RDS_RDMA_SUCCESS, next_note(self->a, NULL));
		EXPECT_TRUE(all(self->dst + 4 * PG, 4 * PG, 0));
	}
	atomic_store(&flip_stop, 1);
	pthread_join(t, NULL);
	TH_LOG("%d of %d calls moved something", moved, i);
	EXPECT_LT(moved, i);
	while (recv(self->b, &c, sizeof(c), MSG_DONTWAIT) >= 0)
		;
	ASSERT_EQ(0, get_mr(self->b, self->dst, PG, 0, &c));
	EXPECT_EQ(1, send_rdma(self->a, c, 0, self->src, PG, W | N, 1, "x", 1));
	EXPECT_EQ(RDS_RDMA_SUCCESS, next_note(self->a, NULL));
}

/* What cannot be written can be the source of a write, not the target of a read. */
TEST_F(rdma, memory__read_only)
{
	char *ro = pages(PG);
	__u64 c;

	memset(ro, 9, PG);
	ASSERT_EQ(0, mprotect(ro, PG, PROT_READ));
	ASSERT_EQ(0, get_mr(self->b, self->dst, PG, 0, &c));
	EXPECT_EQ(1, send_rdma(self->a, c, 0, ro, PG, W | N, 0, "x", 1));
	EXPECT_EQ(0, next_note(self->a, NULL));
	EXPECT_TRUE(all(self->dst, PG, 9));
	EXPECT_ERR(EFAULT, send_rdma(self->a, c, 0, ro, PG, N, 0, "x", 1));
	munmap(ro, PG);
}

/* The message comes when the data are there: each time, without a notification. */
TEST_F_TIMEOUT(rdma, write__before_message, 100)
{
	volatile __u64 *seen = (void *)self->dst;
	__u64 c, i, got;

	ASSERT_EQ(0, get_mr(self->b, self->dst, 65536, 0, &c));
	for (i = 1; i <= 300; i++) {
		__u64 *words = (__u64 *)(self->src + i % 16 * 65536);

		words[0] = i;
		words[8191] = i;
		ASSERT_EQ(8, send_rdma(self->a, c, 0, words, 65536, W, 0, &i, 8));
		if (i % 16)
			continue;
		while (seen[0] < i - 10)
			;
	}
	/* what is in memory is never older than the newest message */
	for (i = 1; i <= 300; i++) {
		ASSERT_EQ(8, recv_wait(self->b, &got, 8));
		EXPECT_EQ(i, got);
		EXPECT_LE(i, seen[0]);
		EXPECT_LE(i, seen[8191]);
	}
	EXPECT_TRUE(quiet(self->a));
}

/* With the fence a read is over when the message arrives. */
TEST_F_TIMEOUT(rdma, read__fence, 100)
{
	__u64 c, i, got;

	ASSERT_EQ(0, get_mr(self->b, self->dst, 65536, 0, &c));
	for (i = 1; i <= 100; i++) {
		memset(self->dst, i, 65536);
		memset(self->src, 0, 65536);
		ASSERT_EQ(8, send_rdma(self->a, c, 0, self->src, 65536, RDS_RDMA_FENCE, 0, &i, 8));
		ASSERT_EQ(8, recv_wait(self->b, &got, 8));
		EXPECT_EQ(i, got);
		ASSERT_TRUE(all(self->src, 65536, i));
	}
}

/* One notification for each operation that wants one, in their order, all with status 0. */
TEST_F_TIMEOUT(rdma, notify__once_in_order, 100)
{
	__u64 c, i, t, b;

	ASSERT_EQ(0, get_mr(self->b, self->dst, 65536, 0, &c));
	b = counter(self->a, "send_rdma_bytes");
	for (i = 0; i < 200; i++)
		ASSERT_EQ(8, send_rdma(self->a, c, i * 8, self->src, 1 + i * 9, i % 3 ? W | N : W,
				       1000 + i, &i, 8));
	for (i = 0; i < 200; i++) {
		if (!(i % 3))
			continue;
		ASSERT_EQ(0, next_note(self->a, &t));
		EXPECT_EQ(1000 + i, t);
	}
	for (i = 0; i < 200; i++)
		ASSERT_EQ(8, recv_wait(self->b, &t, 8));
	EXPECT_TRUE(quiet(self->a));
	EXPECT_TRUE(quiet(self->b));
	EXPECT_EQ(200 + 9 * 199 * 100, counter(self->a, "send_rdma_bytes") - b);
}

/* Silent: the peer gets no message, unless there is a payload. */
TEST_F(rdma, silent__no_message)
{
	char m[4] = {};
	__u64 c, t;
	int i;

	ASSERT_EQ(0, get_mr(self->b, self->dst, 65536, RDS_RDMA_USE_ONCE, &c));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, send_rdma(self->a, c, i, "q", 1, W | N | RDS_RDMA_SILENT, i, NULL, 0));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, next_note(self->a, &t));
		EXPECT_EQ(i, t);
	}
	EXPECT_TRUE(all(self->dst, 100, 'q'));
	/* the last ones, too, have left the sender without any answer */
	EXPECT_TRUE(all_acked(self->a));
	EXPECT_TRUE(quiet(self->b));
	/* nobody was told, so the key is still good */
	EXPECT_EQ(2, send_rdma(self->a, c, 200, "r", 1, W | RDS_RDMA_SILENT, 0, "ab", 2));
	EXPECT_EQ(2, recv_wait(self->b, m, 4));
	EXPECT_EQ('r', self->dst[200]);
	EXPECT_ERR(EINVAL, free_mr(self->b, c, 0));
	/* one that is not silent is told to the peer, though it is empty */
	ASSERT_EQ(0, get_mr(self->b, self->dst, 65536, 0, &c));
	EXPECT_EQ(0, send_rdma(self->a, c, 300, "s", 1, W, 0, NULL, 0));
	EXPECT_EQ(0, recv_wait(self->b, m, 4));
	EXPECT_EQ('s', self->dst[300]);
}

/* Silent ones and others, mixed: order and number are kept. */
TEST_F_TIMEOUT(rdma, silent__among_others, 60)
{
	__u64 *n = (__u64 *)self->src, c, i, got;

	ASSERT_EQ(0, get_mr(self->b, self->dst, 65536, 0, &c));
	for (i = 0; i < 300; i++) {
		n[i] = i;
		if (i % 3 == 1)
			got = send_rdma(self->a, c, 0, &n[i], 8, W | RDS_RDMA_SILENT, 0, NULL, 0);
		else if (i % 3 == 2)
			got = send_rdma(self->a, c, 8, &n[i], 8, W, 0, &i, 8);
		else
			got = send(self->a, &i, 8, 0);
		ASSERT_EQ(i % 3 == 1 ? 0 : 8, got);
	}
	for (i = 0; i < 300; i++) {
		if (i % 3 == 1)
			continue;
		ASSERT_EQ(8, recv_wait(self->b, &got, 8));
		EXPECT_EQ(i, got);
	}
	EXPECT_TRUE(quiet(self->b));
	EXPECT_TRUE(all_acked(self->a));
	EXPECT_EQ(298, *(__u64 *)self->dst);
}

/* A region used once ends with the message that used it. */
TEST_F(rdma, use_once__freed_by_message)
{
	char m[4];
	__u64 c;
	int i;

	for (i = 0; i < 40; i++) {
		ASSERT_EQ(0, get_mr(self->b, self->dst, 5000, RDS_RDMA_USE_ONCE, &c));
		ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src, 5000, i % 2 ? W : 0, 0, "x", 1));
		ASSERT_EQ(1, recv_wait(self->b, m, 4));
		ASSERT_EQ(EINVAL, ERR_OF(free_mr(self->b, c, 0)));
	}
	EXPECT_EQ(0, free_mr(self->b, 0, 0));
	/* one that was not used is not freed */
	ASSERT_EQ(0, get_mr(self->b, self->dst, 5000, RDS_RDMA_USE_ONCE, &c));
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_EQ(1, recv_wait(self->b, m, 4));
	EXPECT_EQ(0, free_mr(self->b, c, 0));
}

/* A region registered with a message, its cookie given to the peer, used by it, and back. */
TEST_F_TIMEOUT(rdma, map__round_trip, 60)
{
	struct rds_get_mr_args g = { .vec = { (long)self->dst + 100, 70000 } };
	__u64 c, mine = 0;
	struct rx rx;
	char m[8];
	int i;

	g.cookie_addr = (long)&mine;
	for (i = 0; i < 20; i++) {
		g.flags = i % 2 ? RDS_RDMA_USE_ONCE : 0;
		memset(self->dst, 0, 80000);
		memset(self->src, i + 1, 80000);
		ASSERT_EQ(3, send_cmsg(self->b, NULL, 0, "map", 3, 0, RDS_CMSG_RDMA_MAP, &g,
				       sizeof(g)));
		ASSERT_EQ(1, poll_for(self->a, POLLIN, WAIT_MS) > 0);
		ASSERT_EQ(3, rx_msg_ctl(self->a, m, 8, 0, &rx, sizeof(rx.ctl)));
		c = rx_cookie(&rx);
		EXPECT_EQ(mine, c);
		EXPECT_EQ(100, c >> 32);
		ASSERT_EQ(4, send_rdma(self->a, c, 0, self->src, 70000, W, 0, "done", 4));
		ASSERT_EQ(4, recv_wait(self->b, m, 8));
		EXPECT_TRUE(all(self->dst + 100, 70000, i + 1));
		EXPECT_TRUE(all(self->dst, 100, 0));
		EXPECT_TRUE(all(self->dst + 70100, 1000, 0));
		EXPECT_ERR(i % 2 ? EINVAL : 0, free_mr(self->b, c, RDS_RDMA_INVALIDATE));
	}
}

/* RDMA_DEST hands on the cookie of a region that exists, of this socket only. */
TEST_F(rdma, dest__cookies)
{
	struct rx rx;
	__u64 c, bad;
	char m[8];

	ASSERT_EQ(0, get_mr(self->b, self->dst + 44, 1000, 0, &c));
	ASSERT_EQ(1, send_cmsg(self->b, NULL, 0, "d", 1, 0, RDS_CMSG_RDMA_DEST, &c, 8));
	ASSERT_EQ(1, poll_for(self->a, POLLIN, WAIT_MS) > 0);
	ASSERT_EQ(1, rx_msg_ctl(self->a, m, 8, 0, &rx, sizeof(rx.ctl)));
	EXPECT_EQ(c, rx_cookie(&rx));
	EXPECT_ERR(EINVAL, send_cmsg(self->a, NULL, 0, "d", 1, 0, RDS_CMSG_RDMA_DEST, &c, 8));
	EXPECT_ERR(EINVAL, send_cmsg(self->b, NULL, 0, "d", 1, 0, RDS_CMSG_RDMA_DEST, &c, 7));
	bad = c ^ 0x100;
	EXPECT_ERR(EINVAL, send_cmsg(self->b, NULL, 0, "d", 1, 0, RDS_CMSG_RDMA_DEST, &bad, 8));
	EXPECT_EQ(0, free_mr(self->b, c, 0));
	EXPECT_ERR(EINVAL, send_cmsg(self->b, NULL, 0, "d", 1, 0, RDS_CMSG_RDMA_DEST, &c, 8));
}

/* MSG_ZEROCOPY is TCP's: refused, with nothing pinned and nothing sent. */
TEST_F(rdma, zerocopy__refused)
{
	long before = pinned();
	__u32 cookie = 1;
	int on;

	for (on = 0; on < 2; on++) {
		ASSERT_EQ(0, set_int(self->a, SOL_SOCKET, SO_ZEROCOPY, on));
		EXPECT_ERR(on ? EOPNOTSUPP : EINVAL,
			   send_cmsg(self->a, NULL, 0, self->src, 10000, MSG_ZEROCOPY,
				     RDS_CMSG_ZCOPY_COOKIE, &cookie, sizeof(cookie)));
	}
	EXPECT_EQ(before, pinned());
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_EQ(1, recv_wait(self->b, &on, 4));
	EXPECT_TRUE(quiet(self->a));
	EXPECT_TRUE(quiet(self->b));
}

/*
 * A cookie on its way is a number: the region is freed at once, and who gets the cookie is refused.
 * The message waits for a link of its own, which cannot be made without a carrier.
 */
TEST_F(rdma, dest__region_freed_under_way)
{
	int fd = rds_bound(variant->baddr, PORT_B + 10);
	long before = pinned();
	__u8 tos = 77;
	struct rx rx;
	__u64 c;
	char m[8];

	ASSERT_FD(fd);
	ASSERT_EQ(0, ioctl(fd, SIOCRDSSETTOS, &tos));
	RUN("ip link set rdst1 down");
	ASSERT_EQ(0, get_mr(fd, self->dst + 44, 1000, 0, &c));
	EXPECT_EQ(1, send_cmsg(fd, variant->aaddr, PORT_A, "d", 1, 0, RDS_CMSG_RDMA_DEST, &c, 8));
	ASSERT_EQ(0, free_mr(fd, c, RDS_RDMA_INVALIDATE));
	EXPECT_EQ(before, pinned());
	EXPECT_TRUE(quiet(self->a));
	RUN("ip link set rdst1 up");
	ASSERT_EQ(1, poll_for(self->a, POLLIN, WAIT_MS) > 0);
	ASSERT_EQ(1, rx_msg_ctl(self->a, m, 8, 0, &rx, sizeof(rx.ctl)));
	EXPECT_EQ(c, rx_cookie(&rx));
	ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src, 100, W | N, 0, "x", 1));
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR, next_note(self->a, NULL));
	close(fd);
}

static ssize_t map(int fd, const struct rds_get_mr_args *g)
{
	return send_cmsg(fd, NULL, 0, "x", 1, 0, RDS_CMSG_RDMA_MAP, g, sizeof(*g));
}

/* A message that is refused takes its new region with it. */
TEST_F(rdma, map__refused_message)
{
	struct rds_get_mr_args g = { .vec = { (long)self->dst, 70000 } };
	struct ctl two = {};
	__u64 c = 0;
	long before;

	g.cookie_addr = (long)&c;
	before = pinned();
	ctl_add(&two, SOL_RDS, RDS_CMSG_RDMA_MAP, &g, sizeof(g));
	ctl_add(&two, SOL_RDS, RDS_CMSG_RDMA_MAP, &g, sizeof(g));
	EXPECT_ERR(EINVAL, send_ctl(self->b, NULL, 0, "x", 1, 0, two.buf, two.len));
	EXPECT_NE(0, c);
	EXPECT_ERR(EINVAL, free_mr(self->b, c, 0));
	EXPECT_EQ(0, free_mr(self->b, 0, 0));
	EXPECT_EQ(before, pinned());
	g.vec.bytes = 0;
	EXPECT_ERR(EINVAL, map(self->b, &g));
	g.vec.bytes = 2 * MIB;
	EXPECT_ERR(EMSGSIZE, map(self->b, &g));
	g.vec.bytes = 100;
	g.cookie_addr = 8;
	EXPECT_ERR(EFAULT, map(self->b, &g));
	EXPECT_TRUE(quiet(self->a));
}

/* The smallest send ring does not limit operations. */
TEST_F_TIMEOUT(rdma, ring__of_one, 100)
{
	unsigned int i;
	__u64 c;

	RUN("sysctl -qw net.rds.ib.max_send_wr=1");
	RUN("rdma link del rxe_t");
	ASSERT_EQ(0, rxe_link_add());
	fill(self->src, MIB, 5);
	ASSERT_EQ(0, get_mr(self->b, self->dst, MIB, 0, &c));
	for (i = 0; i < 5; i++) {
		memset(self->dst, 0, MIB);
		EXPECT_TRUE(transfer(self->a, self->b, true, c, 0, self->src, MIB));
		EXPECT_EQ(0, memcmp(self->dst, self->src, MIB));
	}
	RUN("sysctl -qw net.rds.ib.max_send_wr=256");
}

TEST_HARNESS_MAIN
