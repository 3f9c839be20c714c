// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init timeout=300 ref=0 lanes=uml */
/*
 * Operations that fail, are taken back, or whose link goes: who is told what, that a message
 * arrives exactly if its operation succeeded, and that every page is given back.
 */
#include "rdma.h"

#include <sys/resource.h>

/* An operation that the peer's device refuses, and what is left of the link. */
static void refused(struct __test_metadata *_metadata, int a, int b, __u64 cookie, __u64 raddr,
		    char *mem, unsigned long n, bool write)
{
	__s64 dropped = counter(a, "send_op_dropped");
	char m[8];
	__u64 t;

	ASSERT_EQ(3, send(a, "one", 3, 0));
	ASSERT_EQ(3, send_rdma(a, cookie, raddr, mem, n, (write ? W : 0) | N, 42, "bad", 3));
	ASSERT_EQ(3, send(a, "two", 3, 0));
	ASSERT_EQ(RDS_RDMA_REMOTE_ERROR, next_note(a, &t));
	EXPECT_EQ(42, t);
	/* what went before and after it arrives, once, and it does not */
	ASSERT_EQ(3, recv_wait(b, m, 8));
	EXPECT_EQ(0, memcmp(m, "one", 3));
	ASSERT_EQ(3, recv_wait(b, m, 8));
	EXPECT_EQ(0, memcmp(m, "two", 3));
	EXPECT_EQ(dropped + 1, counter(a, "send_op_dropped"));
	EXPECT_TRUE(all_acked(a));
	EXPECT_TRUE(quiet(b));
	EXPECT_TRUE(quiet(a));
}

#define REFUSED(...) refused(_metadata, self->a, self->b, __VA_ARGS__)

/* Keys that are not there, or not any more; ranges that are not the region's. */
TEST_F_TIMEOUT(rdma, refused__keys_and_bounds, 200)
{
	__u64 c, d;

	ASSERT_EQ(0, trace_drops());
	memset(self->dst, 1, MIB);
	ASSERT_EQ(0, get_mr(self->b, self->dst + 100, 10000, 0, &c));
	REFUSED(c ^ 0x1, 0, self->src, 100, true);
	REFUSED(c ^ 0x10000, 0, self->src, 100, false);
	REFUSED(0x12345678, 0, self->src, 100, true);
	REFUSED(0, 0, self->src, 100, true);
	/* one byte too far, at either end, also inside of the same page */
	REFUSED(c, 1, self->src, 10000, true);
	REFUSED(c, 10000, self->src, 1, false);
	REFUSED(c, -1, self->src, 1, true);
	REFUSED(c, -1, self->src, 50, false);
	REFUSED(c & 0xffffffff, 0, self->src, 200, true);
	REFUSED(c, 1ULL << 32, self->src, 100, true);
	REFUSED(c, -(1ULL << 40), self->src, 100, false);
	EXPECT_TRUE(traced_drops("OP", 11));
	/* exactly all of it is well */
	ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src, 10000, W | N, 0, "x", 1));
	EXPECT_EQ(0, next_note(self->a, NULL));
	EXPECT_EQ(1, recv_wait(self->b, &d, 1));
	EXPECT_TRUE(all(self->dst, 100, 1));
	EXPECT_TRUE(all(self->dst + 100, 10000, 0));
	EXPECT_TRUE(all(self->dst + 10100, 10000, 1));
}

/* A key is dead when FREE_MR with INVALIDATE returns, or the close of its socket. */
TEST_F_TIMEOUT(rdma, refused__dead_keys, 200)
{
	int other = rds_bound(B4, 5009), i;
	__u64 c, d;
	char m[4];

	ASSERT_FD(other);
	for (i = 0; i < 5; i++) {
		memset(self->dst, 1, 20000);
		ASSERT_EQ(0, get_mr(self->b, self->dst, 20000, 0, &c));
		ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src, 10000, W, 0, "x", 1));
		ASSERT_EQ(1, recv_wait(self->b, m, 4));
		ASSERT_EQ(0, free_mr(self->b, c, RDS_RDMA_INVALIDATE));
		REFUSED(c, 0, self->src, 20000, true);
		EXPECT_TRUE(all(self->dst + 10000, 10000, 1));
	}
	/* the same flag when it was registered */
	ASSERT_EQ(0, get_mr(self->b, self->dst, 100, RDS_RDMA_INVALIDATE, &c));
	ASSERT_EQ(0, free_mr(self->b, c, 0));
	REFUSED(c, 0, self->src, 100, true);
	/* freed without it, a flush makes sure */
	ASSERT_EQ(0, get_mr(self->b, self->dst, 100, 0, &c));
	ASSERT_EQ(0, get_mr(other, self->dst, 100, 0, &d));
	ASSERT_EQ(0, free_mr(self->b, c, 0));
	ASSERT_EQ(0, free_mr(self->b, 0, 0));
	REFUSED(c, 0, self->src, 100, false);
	/* the other socket's key is good until it is closed */
	ASSERT_EQ(1, send_rdma(self->a, d, 0, self->src, 100, W | N, 0, "x", 1));
	EXPECT_EQ(0, next_note(self->a, NULL));
	ASSERT_EQ(1, recv_wait(self->b, m, 4));
	close(other);
	REFUSED(d, 0, self->src, 100, true);
	/* used once */
	ASSERT_EQ(0, get_mr(self->b, self->dst, 100, RDS_RDMA_USE_ONCE, &c));
	ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src, 100, W, 0, "x", 1));
	ASSERT_EQ(1, recv_wait(self->b, m, 4));
	ASSERT_EQ(0, free_mr(self->b, 0, 0));
	REFUSED(c, 0, self->src, 100, true);
}

/* Objects of the adapter that are used again know their old keys no more. */
TEST_F_TIMEOUT(rdma, refused__reused_objects, 100)
{
	__u64 old, c;
	char m[4];
	int i;

	RUN("echo 2 >/sys/module/rds_rdma/parameters/reuse");
	ASSERT_EQ(0, get_mr(self->b, self->dst, 5000, 0, &old));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, free_mr(self->b, old, RDS_RDMA_INVALIDATE));
		ASSERT_EQ(0, get_mr(self->b, self->dst + MIB, 5000, 0, &c));
		REFUSED(old, 0, self->src, 5000, true);
		ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src, 5000, W | N, 0, "x", 1));
		EXPECT_EQ(0, next_note(self->a, NULL));
		ASSERT_EQ(1, recv_wait(self->b, m, 4));
		old = c;
	}
	RUN("echo 1 >/sys/module/rds_rdma/parameters/reuse");
}

/* Who is told: NOTIFY_ME everything, RECVERR failures, otherwise nobody. */
TEST_F_TIMEOUT(rdma, recverr__failures_only, 100)
{
	__u64 c, t;
	char m[4];

	ASSERT_EQ(0, get_mr(self->b, self->dst, 100, 0, &c));
	ASSERT_EQ(1, send_rdma(self->a, c ^ 1, 0, self->src, 100, W, 1, "b", 1));
	/* what is posted behind a request that fails may be dropped with it */
	sleep(1);
	ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src, 100, W, 2, "g", 1));
	ASSERT_EQ(1, recv_wait(self->b, m, 4));
	EXPECT_EQ('g', m[0]);
	EXPECT_TRUE(quiet(self->a));
	ASSERT_EQ(0, set_int(self->a, SOL_RDS, RDS_RECVERR, 1));
	ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src, 100, W, 3, "g", 1));
	ASSERT_EQ(1, send_rdma(self->a, c ^ 1, 0, self->src, 100, W, 4, "b", 1));
	ASSERT_EQ(RDS_RDMA_REMOTE_ERROR, next_note(self->a, &t));
	EXPECT_EQ(4, t);
	ASSERT_EQ(1, recv_wait(self->b, m, 4));
	EXPECT_EQ('g', m[0]);
	EXPECT_TRUE(all_acked(self->a));
	EXPECT_TRUE(quiet(self->a));
	EXPECT_TRUE(quiet(self->b));
}

/*
 * Peeking shows the oldest and takes none; who has no room for them is told that there are some,
 * once, and again when somebody with room has left some.
 */
TEST_F_TIMEOUT(rdma, note__peek_and_no_room, 60)
{
	struct rx rx;
	char b[64];
	__u64 c, t;
	int i;

	ASSERT_EQ(0, get_mr(self->b, self->dst, 100, 0, &c));
	for (i = 1; i <= 3; i++)
		ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src, 100, W | N, i, "x", 1));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, recv_wait(self->b, b, 8));
	EXPECT_TRUE(all_acked(self->a));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(1, poll_for(self->a, POLLIN, WAIT_MS));
		ASSERT_EQ(0, rx_msg_ctl(self->a, b, sizeof(b), MSG_PEEK, &rx, NOTE_SPACE));
		EXPECT_EQ(0, rx.m.msg_flags & MSG_CTRUNC);
		EXPECT_EQ(0, note_of(&rx, &t));
		EXPECT_EQ(1, t);
		ASSERT_EQ(0, rx_msg_ctl(self->a, b, sizeof(b), i ? 0 : MSG_PEEK, &rx, 0));
		EXPECT_EQ(MSG_CTRUNC, rx.m.msg_flags & MSG_CTRUNC);
	}
	EXPECT_EQ(0, poll_for(self->a, POLLIN, 100));
	EXPECT_ERR(EAGAIN, recv(self->a, b, sizeof(b), MSG_DONTWAIT));
	for (i = 1; i <= 3; i++) {
		EXPECT_EQ(0, next_note(self->a, &t));
		EXPECT_EQ(i, t);
		EXPECT_EQ(i < 3 ? POLLIN : 0, poll_for(self->a, POLLIN, 0));
	}
	EXPECT_TRUE(quiet(self->a));
}

/* To a peer that does not answer: cancel says so and gives the memory back, close is silent. */
TEST_F_TIMEOUT(rdma, cancel__not_begun, 60)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, "10.5.0.77", 9);
	long before = pinned();
	__u64 t;
	int i;

	/* the page of zeroes is not counted as pinned */
	memset(self->src, 1, 4 * PG);
	ASSERT_EQ(0, rds_connect(self->a, "10.5.0.77", 9));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(1, send_rdma(self->a, 77, 0, self->src, 4 * PG, i % 2 ? W | N : W, i,
				       "x", 1));
	EXPECT_EQ(before + 80, pinned());
	ASSERT_EQ(0, setsockopt(self->a, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
	for (i = 1; i < 20; i += 2) {
		ASSERT_EQ(RDS_RDMA_CANCELED, next_note(self->a, &t));
		EXPECT_EQ(i, t);
	}
	EXPECT_TRUE(quiet(self->a));
	EXPECT_TRUE(WAIT_UNTIL(pinned() == before));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(1, send_rdma(self->a, 77, 0, self->src, 4 * PG, N, i, "x", 1));
	close(self->a);
	self->a = -1;
	EXPECT_TRUE(WAIT_UNTIL(pinned() == before));
}

/* When cancel has returned, the memory is the application's: no byte changes any more. */
TEST_F_TIMEOUT(rdma, cancel__under_way, 200)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, B4, PORT_B);
	int i, j, told, ok = 0, cancelled = 0;
	__u64 c, t;

	ASSERT_EQ(0, get_mr(self->b, self->dst, MIB, 0, &c));
	memset(self->dst, 7, MIB);
	for (i = 0; i < 10; i++) {
		memset(self->src, 0, MIB);
		for (j = 0; j < 4; j++)
			ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src + j * MIB / 4, MIB / 4, N,
					       j, "x", 1));
		usleep(i * 3000);
		ASSERT_EQ(0, setsockopt(self->a, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
		memset(self->src, 1, MIB);
		for (j = 0; j < 4; j++) {
			told = next_note(self->a, &t);
			ok += told == RDS_RDMA_SUCCESS;
			cancelled += told == RDS_RDMA_CANCELED;
		}
		usleep(30000);
		EXPECT_TRUE(all(self->src, MIB, 1));
		EXPECT_TRUE(quiet(self->a));
	}
	TH_LOG("%d done, %d cancelled", ok, cancelled);
	EXPECT_EQ(40, ok + cancelled);
	EXPECT_LT(0, cancelled);
}

/* An operation that is done at the moment of its cancel is told as done, or as cancelled. */
TEST_F_TIMEOUT(rdma, cancel__every_outcome_is_told, 200)
{
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, B4, PORT_B);
	int i, j, told, ok = 0, cancelled = 0;
	char in[8];
	__u64 c;

	ASSERT_EQ(0, get_mr(self->b, self->dst, PG, 0, &c));
	for (i = 0; i < 100; i++) {
		for (j = 0; j < 8; j++)
			ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src, 64, W | N, j, "x", 1));
		/* the longer the queue, the longer it takes to look for them */
		for (j = 0; j < 200 && send(self->a, "y", 1, MSG_DONTWAIT) == 1; j++)
			;
		usleep(i % 16 * 50);
		ASSERT_EQ(0, setsockopt(self->a, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len));
		for (j = 0; j < 8; j++) {
			told = next_note(self->a, NULL);
			ok += told == RDS_RDMA_SUCCESS;
			cancelled += told == RDS_RDMA_CANCELED;
		}
		ASSERT_EQ(8 * (i + 1), ok + cancelled);
		while (recv(self->b, in, sizeof(in), MSG_DONTWAIT) == 1)
			;
	}
	TH_LOG("%d done, %d cancelled", ok, cancelled);
}

/* A program that wants to be told and never reads is stopped before there is too much to tell. */
TEST_F_TIMEOUT(rdma, notes__are_bounded, 200)
{
	int n = 0;
	__u64 c;

	ASSERT_EQ(0, get_mr(self->b, self->dst, PG, 0, &c));
	while (n < 100000 && !send_rdma(self->a, c, 0, self->src, 8, W | N | RDS_RDMA_SILENT, n,
					NULL, 0))
		n++;
	EXPECT_EQ(ENOBUFS, errno);
	TH_LOG("%d operations", n);
	EXPECT_LE(8192, n);
	EXPECT_GT(20000, n);
	while (n--)
		ASSERT_EQ(RDS_RDMA_SUCCESS, next_note(self->a, NULL));
	EXPECT_TRUE(quiet(self->a));
	EXPECT_EQ(0, send_rdma(self->a, c, 0, self->src, 8, W | N | RDS_RDMA_SILENT, n, NULL, 0));
	EXPECT_EQ(RDS_RDMA_SUCCESS, next_note(self->a, NULL));
}

/* Closing in the middle of operations, many times: nothing stays pinned. */
TEST_F_TIMEOUT(rdma, close__under_way, 100)
{
	int fd, i, j;
	__u64 c;

	ASSERT_EQ(0, get_mr(self->b, self->dst, MIB, 0, &c));
	for (i = 0; i < 20; i++) {
		fd = rds_bound(A4, 5005);
		ASSERT_FD(fd);
		ASSERT_EQ(0, rds_connect(fd, B4, PORT_B));
		for (j = 0; j < 5; j++)
			ASSERT_EQ(1, send_rdma(fd, c, 0, self->src, MIB / 4, j % 2 ? W | N : N, j,
					       "x", 1));
		usleep(i * 1000);
		close(fd);
	}
	ASSERT_EQ(0, free_mr(self->b, c, RDS_RDMA_INVALIDATE));
}

/* The owner of a region goes while peers use it, again and again. */
TEST_F_TIMEOUT(rdma, close__region_in_use, 100)
{
	int fd, i, j, told, good = 0;
	__u64 c;

	for (i = 0; i < 15; i++) {
		fd = rds_bound(B4, 5006);
		ASSERT_FD(fd);
		ASSERT_EQ(0, get_mr(fd, self->dst, MIB, 0, &c));
		for (j = 0; j < 4; j++)
			ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src, MIB / 4, j % 2 ? W | N : N,
					       j, "x", 1));
		usleep(i * 1500);
		close(fd);
		memset(self->dst, 9, MIB);
		for (j = 0; j < 4; j++) {
			told = next_note(self->a, NULL);
			ASSERT_LE(0, told);
			good += told == RDS_RDMA_SUCCESS;
		}
		EXPECT_TRUE(all(self->dst, MIB, 9));
	}
	TH_LOG("%d of 60 before the close", good);
}

/*
 * The device goes in mid-traffic and comes back, several times.  Each operation is told once;
 * messages arrive once and in order, exactly if the operation succeeded.  Of one that was under
 * way nobody knows whether it was executed (RDS_RDMA_DROPPED): its message may have arrived.
 */
TEST_F_TIMEOUT(rdma, device__delivered_iff_done, 250)
{
	int told[400] = {}, status[5] = {}, sent = 0, notes = 0, late = 0, round, s;
	bool got[400] = {}, unknown[400] = {};
	__u64 c, t;
	__s64 last = -1;

	for (round = 0; round < 4; round++) {
		ASSERT_EQ(0, get_mr(self->b, self->dst, 65536, 0, &c))
			TH_LOG("round %d: %s", round, strerror(errno));
		for (t = 0; t < 100; t++, sent++) {
			__u64 tag = sent;

			ASSERT_EQ(8, send_rdma(self->a, c, 0, self->src, 20000,
					       sent % 2 ? W | N : N, sent, &tag, 8));
			if (t == 20 + round * 20)
				ASSERT_EQ(0, rxe_link_del());
		}
		ASSERT_EQ(0, rxe_link_add());
		for (; notes < sent; notes++) {
			s = next_note(self->a, &t);
			ASSERT_LE(0, s);
			ASSERT_GT(sent, t);
			EXPECT_EQ(0, told[t]++);
			status[s]++;
			got[t] = s == RDS_RDMA_SUCCESS;
			unknown[t] = s == RDS_RDMA_DROPPED;
		}
		EXPECT_TRUE(all_acked(self->a));
		while (recv(self->b, &t, 8, MSG_DONTWAIT) == 8) {
			ASSERT_GT(sent, t);
			EXPECT_TRUE(got[t] || unknown[t]);
			late += unknown[t];
			EXPECT_LT(last, (__s64)t);
			last = t;
			got[t] = false;
		}
		free_mr(self->b, c, 0);
	}
	for (s = 0; s < sent; s++)
		EXPECT_FALSE(got[s]);
	TH_LOG("%d done, %d remote error, %d dropped (%d arrived), %d other", status[0], status[1],
	       status[3], late, status[4]);
	EXPECT_LT(0, status[0]);
	EXPECT_LT(0, status[3] + status[4] + status[1]);
	EXPECT_GT(40, late);
}

/* Local memory of operations counts against RLIMIT_MEMLOCK until they are done. */
static int limited(void *arg)
{
	struct rlimit rl = { 32 * PG, 32 * PG };
	struct sockaddr_storage ss;
	socklen_t len = mkaddr(&ss, "10.5.0.77", 9);
	char *mem = arg;
	int fd, i;

	if (setrlimit(RLIMIT_MEMLOCK, &rl) || setgid(65534) || setuid(65534))
		return 1;
	fd = rds_bound(A4, 5007);
	if (fd < 0 || rds_connect(fd, "10.5.0.77", 9))
		return 2;
	for (i = 0; i < 4; i++)
		if (send_rdma(fd, 1, 0, mem, 8 * PG, W | N, i, "x", 1) != 1)
			return 3;
	if (ERR_OF(send_rdma(fd, 1, 0, mem, PG, W | N, i, "x", 1)) != ENOMEM)
		return 4;
	if (setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len))
		return 5;
	if (!WAIT_UNTIL(send_rdma(fd, 1, 0, mem, 32 * PG, W | N, i, "x", 1) == 1))
		return 6;
	/* a page counts as one */
	if (setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, &ss, len))
		return 7;
	if (!WAIT_UNTIL(send_rdma(fd, 1, 0, mem, 31 * PG, W | N, i, "x", 1) == 1))
		return 8;
	if (send_rdma(fd, 1, 0, mem + 50, 10, W | N, i, "x", 1) != 1)
		return 9;
	if (ERR_OF(send_rdma(fd, 1, 0, mem, 1, W | N, i, "x", 1)) != ENOMEM)
		return 10;
	return 0;
}

/* Records share nothing: that of a link that is down has the addresses only (B6). */
TEST_F(rdma, records__of_a_link_that_is_down)
{
	static const unsigned char none[sizeof(struct rds6_info_rdma_connection)];
	struct rds6_info_rdma_connection *r6;
	struct rds_info_rdma_connection *r4;
	__be32 down4 = inet_addr("10.5.0.77");
	int i, n, up = 0, down = 0, seen, fd;
	socklen_t len;
	void *p;

	fd = rds_bound(A4, 0);
	ASSERT_FD(fd);
	ASSERT_EQ(1, send_to(fd, "10.5.0.77", 9, "x", 1, MSG_DONTWAIT));
	ASSERT_EQ(1, send(self->a, "x", 1, 0));
	ASSERT_EQ(1, send(self->b, "x", 1, 0));
	ASSERT_TRUE(WAIT_UNTIL(poll_for(self->a, POLLIN, 100) && poll_for(self->b, POLLIN, 100)));
	ASSERT_EQ(sizeof(*r4), info_get(fd, RDS_INFO_IB_CONNECTIONS, &p, &len));
	for (r4 = p, n = len / sizeof(*r4), i = 0; i < n; i++) {
		/* there may be others of tests before */
		up += r4[i].dst_addr == inet_addr(B4) && r4[i].src_addr == inet_addr(A4) &&
		      !r4[i].tos && r4[i].max_send_wr && r4[i].dst_gid[15];
		if (r4[i].dst_addr != down4)
			continue;
		down++;
		EXPECT_EQ(0, memcmp(none, r4[i].src_gid, sizeof(*r4) - 8));
	}
	free(p);
	EXPECT_EQ(1, up);
	/* one from here, and one from elsewhere of a test before */
	EXPECT_LE(1, down);
	seen = down;
	ASSERT_EQ(sizeof(*r6), info_get(fd, RDS6_INFO_IB_CONNECTIONS, &p, &len));
	for (r6 = p, n = len / sizeof(*r6), i = 0; i < n; i++) {
		if (memcmp((char *)&r6[i].dst_addr + 12, &down4, 4))
			continue;
		down++;
		EXPECT_EQ(0, memcmp(none, r6[i].src_gid, sizeof(*r6) - 32));
	}
	free(p);
	EXPECT_EQ(2 * seen, down);
	close(fd);
}

TEST_F(rdma, memlock__operations)
{
	EXPECT_EQ(0, reap(spawn(limited, self->src)));
}

TEST_HARNESS_MAIN
