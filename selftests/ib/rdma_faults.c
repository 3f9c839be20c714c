// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=1 modules=rds_rdma,rdma_rxe,veth netns=init timeout=300 ref=0 lanes=uml */
/* vm: expect=rxe_comp.c:827|rxe_completer */
/*
 * Memory that runs out, and user memory that faults, at every point of the calls that make
 * regions and operations, and in the kernel's workers: an error is told, nothing stays pinned,
 * charged or registered, and the same call succeeds the next time.  With RDS_SOAK every point.
 *
 * rxe itself is not made for this: without memory it warns of a status that it has not set, and
 * breaks queue pairs that are not ours.
 */
#include "rdma.h"

#include "../faults/fault.h"

static char b[16];

static bool sane(int err)
{
	return fault_errno(err);
}

TEST_F_TIMEOUT(rdma, get_mr__each_fault, 100)
{
	static const unsigned long sizes[] = { 100, 60000, MIB };
	int i, nth, faults, ret, err;
	bool was_hit;
	__u64 c;

	NEED_FAULTS();
	memset(self->src, 1, 2 * MIB);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (nth = 1, faults = 0; nth < NTH_MAX; nth++) {
			c = 0;
			arm(nth);
			ret = get_mr(self->a, self->src + 5, sizes[i], 0, &c);
			err = errno;
			was_hit = hit();
			if (ret) {
				ASSERT_TRUE(was_hit);
				EXPECT_TRUE(sane(err)) TH_LOG("nth %d: %s", nth, strerror(err));
				EXPECT_EQ(0, free_mr(self->a, 0, 0));
				EXPECT_EQ(self->pinned, pinned());
				faults++;
				continue;
			}
			ASSERT_EQ(0, free_mr(self->a, c, RDS_RDMA_INVALIDATE));
			if (!was_hit)
				break;
		}
		TH_LOG("%lu bytes: %d of %d faults told", sizes[i], faults, nth - 1);
		EXPECT_LT(3, faults);
		ASSERT_LT(nth, NTH_MAX);
	}
}

/* FREE_MR never fails for lack of memory. */
TEST_F_TIMEOUT(rdma, free_mr__each_fault, 100)
{
	int nth, faults;
	__u64 c;

	NEED_FAULTS();
	for (nth = 1, faults = 0; nth < NTH_MAX; nth++) {
		ASSERT_EQ(0, get_mr(self->a, self->dst, 60000, 0, &c));
		arm(nth);
		if (free_mr(self->a, c, RDS_RDMA_INVALIDATE)) {
			/* its argument could not be read */
			EXPECT_EQ(EFAULT, errno);
			faults++;
			hit();
			EXPECT_EQ(0, free_mr(self->a, c, RDS_RDMA_INVALIDATE));
			continue;
		}
		if (!hit())
			break;
	}
	EXPECT_EQ(1, faults);
	EXPECT_EQ(self->pinned, pinned());
}

/* A region for one peer: a fault that is told leaves none. */
TEST_F_TIMEOUT(rdma, get_mr_for_dest__each_fault, 100)
{
	struct rds_get_mr_for_dest_args d = {
		.vec = { (long)self->src + 5, 60000 }, .flags = RDS_RDMA_USE_ONCE,
	};
	int nth, faults, ret, err;
	bool was_hit = true;
	__u64 c;

	NEED_FAULTS();
	memset(self->src, 1, MIB);
	d.cookie_addr = (long)&c;
	mkaddr((void *)&d.dest_addr, variant->baddr, PORT_B);
	for (nth = 1, faults = 0; was_hit && nth < NTH_MAX; nth++) {
		arm(nth);
		ret = setsockopt(self->a, SOL_RDS, RDS_GET_MR_FOR_DEST, &d, sizeof(d));
		err = errno;
		was_hit = hit();
		if (ret) {
			ASSERT_TRUE(was_hit);
			EXPECT_TRUE(sane(err)) TH_LOG("nth %d: %s", nth, strerror(err));
			faults++;
		} else {
			ASSERT_EQ(0, free_mr(self->a, c, RDS_RDMA_INVALIDATE));
		}
		EXPECT_EQ(0, free_mr(self->a, 0, 0));
		EXPECT_EQ(self->pinned, pinned());
	}
	TH_LOG("%d of %d faults told", faults, nth - 1);
	EXPECT_LT(3, faults);
	EXPECT_FALSE(was_hit);
}

/* A message that names a key comes with it, or does not come. */
TEST_F_TIMEOUT(rdma, send_dest__each_fault, 100)
{
	int nth, faults, err;
	bool was_hit = true;
	struct rx rx;
	__u64 c;

	NEED_FAULTS();
	ASSERT_EQ(0, get_mr(self->a, self->src + 5, 60000, 0, &c));
	for (nth = 1, faults = 0; was_hit && nth < NTH_MAX; nth++) {
		arm(nth);
		err = ERR_OF(send_cmsg(self->a, NULL, 0, "dest", 4, 0, RDS_CMSG_RDMA_DEST, &c,
				       sizeof(c)));
		was_hit = hit();
		if (err) {
			ASSERT_TRUE(was_hit);
			EXPECT_TRUE(sane(err)) TH_LOG("nth %d: %s", nth, strerror(err));
			EXPECT_TRUE(quiet(self->b));
			faults++;
			continue;
		}
		ASSERT_TRUE(poll_for(self->b, POLLIN, WAIT_MS) & POLLIN);
		ASSERT_EQ(4, rx_msg(self->b, b, sizeof(b), 0, &rx));
		EXPECT_EQ(c, rx_cookie(&rx));
	}
	TH_LOG("%d of %d faults told", faults, nth - 1);
	EXPECT_LT(2, faults);
	EXPECT_FALSE(was_hit);
	EXPECT_TRUE(all_acked(self->a));
	EXPECT_TRUE(quiet(self->b));
	EXPECT_EQ(0, free_mr(self->a, c, RDS_RDMA_INVALIDATE));
}

/* A notification that could not be stored is told the next time; each once. */
TEST_F_TIMEOUT(rdma, note__each_fault, 100)
{
	int nth, faults, tries;
	bool was_hit = true;
	__u64 c, token;
	struct rx rx;

	NEED_FAULTS();
	memset(self->src, 1, PG);
	ASSERT_EQ(0, get_mr(self->b, self->dst, MIB, 0, &c));
	for (nth = 1, faults = 0; was_hit && nth < NTH_MAX; nth++) {
		ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src, 100, W | N, nth, "n", 1));
		for (tries = 0; tries < 100; tries++) {
			poll_for(self->a, POLLIN, WAIT_MS / 100);
			arm(nth);
			rx_msg_ctl(self->a, b, sizeof(b), MSG_DONTWAIT, &rx, NOTE_SPACE);
			was_hit = hit();
			if (was_hit || rx.ret >= 0 || rx.err != EAGAIN)
				break;
		}
		token = 0;
		if (rx.ret < 0) {
			ASSERT_TRUE(was_hit);
			EXPECT_TRUE(sane(rx.err)) TH_LOG("nth %d: %s", nth, strerror(rx.err));
			faults++;
			EXPECT_EQ(0, next_note(self->a, &token));
		} else {
			EXPECT_EQ(0, note_of(&rx, &token));
		}
		EXPECT_EQ(nth, token);
		EXPECT_TRUE(quiet(self->a));
		EXPECT_EQ(1, recv_wait(self->b, b, 8));
	}
	TH_LOG("%d of %d faults told", faults, nth - 1);
	EXPECT_LT(0, faults);
	EXPECT_FALSE(was_hit);
	EXPECT_EQ(0, free_mr(self->b, c, RDS_RDMA_INVALIDATE));
}

enum { WRITE, READ, ATOMIC, MAP };

/* What is sent again and again. */
struct call {
	int what;
	struct rds_iovec v[40];
	struct rds_atomic_args at;
	struct rds_get_mr_args g;
	__u64 cookie;	/* of the peer's region */
	__u64 mine;	/* of a region registered with the message */
};

static void call_init(struct call *k, int what, char *src, __u64 cookie)
{
	int i;

	*k = (struct call){ .what = what, .cookie = cookie };
	for (i = 0; i < 40; i++)
		k->v[i] = (struct rds_iovec){ (long)src + i * 5000, 3000 };
	k->at = (struct rds_atomic_args){
		.cookie = cookie, .local_addr = (long)src, .fadd.add = 1, .flags = N,
	};
	k->g = (struct rds_get_mr_args){
		.vec = { (long)src, 70000 }, .cookie_addr = (long)&k->mine,
	};
}

static ssize_t call(struct call *k, int fd)
{
	switch (k->what) {
	case WRITE:
	case READ:
		return send_rdma_v(fd, k->cookie, 8, 120000, k->v, 40, k->what == WRITE ? W | N : N,
				   0, "x", 1);
	case ATOMIC:
		return send_cmsg(fd, NULL, 0, "x", 1, 0, RDS_CMSG_ATOMIC_FADD, &k->at,
				 sizeof(k->at));
	default:
		return send_cmsg(fd, NULL, 0, "x", 1, 0, RDS_CMSG_RDMA_MAP, &k->g, sizeof(k->g));
	}
}

/* Refused at each point, or executed once and told once. */
static void each_send(struct __test_metadata *_metadata, int a, int bfd, char *src, char *dst,
		      int what)
{
	int nth, faults, err, told = 0, sent = 0;
	bool was_hit = true;
	struct call k;
	__u64 c;

	memset(src, 1, MIB);
	memset(dst, 1, MIB);
	*(__u64 *)dst = 0;
	ASSERT_EQ(0, get_mr(bfd, dst, MIB, 0, &c));
	call_init(&k, what, src, c);
	for (nth = 1, faults = 0; was_hit && nth < NTH_MAX; nth++) {
		arm(nth);
		err = ERR_OF(call(&k, a));
		was_hit = hit();
		if (err) {
			ASSERT_TRUE(was_hit);
			EXPECT_TRUE(sane(err)) TH_LOG("nth %d: %s", nth, strerror(err));
			/* what was registered for it is gone */
			EXPECT_EQ(0, free_mr(a, 0, 0));
			faults++;
			continue;
		}
		sent++;
		if (what == MAP)
			told += !free_mr(a, k.mine, RDS_RDMA_INVALIDATE);
		else
			told += !next_note(a, NULL);
	}
	TH_LOG("%d faults told, %d sent", faults, sent);
	EXPECT_LT(3, faults);
	EXPECT_EQ(sent, told);
	if (what == ATOMIC)
		EXPECT_EQ(sent, *(__u64 *)dst);
	while (sent--)
		EXPECT_EQ(1, recv_wait(bfd, b, 8));
	EXPECT_TRUE(all_acked(a));
	EXPECT_TRUE(quiet(bfd));
}

#define EACH(what) do { \
	NEED_FAULTS(); \
	ASSERT_EQ(1, send(self->a, "w", 1, 0)); \
	ASSERT_EQ(1, recv_wait(self->b, b, 8)); \
	each_send(_metadata, self->a, self->b, self->src, self->dst, what); \
} while (0)

TEST_F_TIMEOUT(rdma, send_write__each_fault, 100)
{
	EACH(WRITE);
}

TEST_F_TIMEOUT(rdma, send_read__each_fault, 100)
{
	EACH(READ);
}

TEST_F_TIMEOUT(rdma, send_atomic__each_fault, 100)
{
	EACH(ATOMIC);
}

TEST_F_TIMEOUT(rdma, send_map__each_fault, 100)
{
	EACH(MAP);
}

/* The queue pair that registers is made by the first registration of a device. */
TEST_F_TIMEOUT(rdma, device__each_fault, 200)
{
	int nth, faults, ret, err, step = soak_minutes() ? 1 : 5;
	bool was_hit;
	__u64 c;

	NEED_FAULTS();
	memset(self->src, 1, PG);
	for (nth = 1, faults = 0; nth < NTH_MAX; nth += step) {
		ASSERT_EQ(0, rxe_link_del());
		ASSERT_EQ(0, rxe_link_add());
		arm(nth);
		ret = get_mr(self->a, self->src, 100, 0, &c);
		err = errno;
		was_hit = hit();
		if (ret) {
			faults++;
			EXPECT_TRUE(sane(err)) TH_LOG("nth %d: %s", nth, strerror(err));
			EXPECT_EQ(0, get_mr(self->a, self->src, 100, 0, &c));
		}
		EXPECT_EQ(0, free_mr(self->a, c, RDS_RDMA_INVALIDATE));
		EXPECT_EQ(self->pinned, pinned());
		if (!was_hit)
			break;
	}
	TH_LOG("%d faults told, %d points", faults, nth);
	EXPECT_LT(1, faults);
}

/*
 * rxe without memory for a packet puts the queue pair in error, and if that is the one by which
 * connections are made, nothing is connected any more: then a new device has to help.
 */
static int note_or_revive(int fd, int *hits, int *revived)
{
	int s = next_note(fd, NULL);

	if (s >= 0)
		return s;
	*hits += workers_hit();
	if (rxe_link_del() || rxe_link_add())
		return s;
	(*revived)++;
	return next_note(fd, NULL);
}

/* Faults in the workers that post, poll, reap and reconnect: all of it comes to its end. */
TEST_F_TIMEOUT(rdma, workers__faults, 200)
{
	int nth, i, s, hits = 0, revived = 0, status[5] = {};
	__u64 c;

	NEED_FAULTS();
	memset(self->src, 1, MIB);
	for (nth = 1; nth < (soak_minutes() ? 200 : 13); nth++) {
		ASSERT_EQ(0, get_mr(self->b, self->dst, MIB, 0, &c));
		arm_workers(nth);
		/* a key that is not there: the link is made anew by the workers */
		if (nth % 4 == 0)
			ASSERT_EQ(1, send_rdma(self->a, c ^ 1, 0, self->src, 100, W, 0, "b", 1));
		for (i = 0; i < 4; i++)
			ASSERT_EQ(1, send_rdma(self->a, c, 0, self->src, 100000, i % 2 ? W | N : N,
					       i, "g", 1));
		for (i = 0; i < 4; i++) {
			s = note_or_revive(self->a, &hits, &revived);
			ASSERT_LE(0, s);
			ASSERT_GE(4, s);
			status[s]++;
		}
		EXPECT_EQ(0, free_mr(self->b, c, RDS_RDMA_INVALIDATE));
		hits += workers_hit();
		if (!all_acked(self->a)) {
			RUN("rdma link del rxe_t");
			ASSERT_EQ(0, rxe_link_add());
			revived++;
			EXPECT_TRUE(all_acked(self->a));
		}
		while (recv(self->b, b, 8, MSG_DONTWAIT) == 1)
			;
	}
	TH_LOG("%d faults, %d done, %d dropped, %d other; %d devices lost", hits, status[0],
	       status[3], status[4], revived);
	EXPECT_LT(0, hits);
	EXPECT_LT(0, status[0]);
}

TEST_HARNESS_MAIN
