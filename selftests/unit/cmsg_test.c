// SPDX-License-Identifier: GPL-2.0
/* vm: nodes=0 */
/* Control messages of sendmsg(): every type, length, order and pair; local vectors. */
#include <limits.h>

#include "unit.h"
#include "model_cmsg.h"

#define RANDOM_RUNS	200000

/* A control buffer under construction. */
struct ctl {
	u8 buf[4096];
	size_t len;
};

/* Add a header that says @cmsg_len and @size bytes behind it, aligned. */
static void add_raw(struct ctl *c, int level, int type, size_t cmsg_len,
		    const void *data, size_t size)
{
	struct cmsghdr h = { .cmsg_len = cmsg_len, .cmsg_level = level, .cmsg_type = type };

	memcpy(c->buf + c->len, &h, sizeof(h));
	if (data)
		memcpy(c->buf + c->len + CMSG_LEN(0), data, size);
	else
		memset(c->buf + c->len + CMSG_LEN(0), 0x11, size);
	c->len += CMSG_SPACE(size);
}

static void add(struct ctl *c, int type, const void *data, size_t size)
{
	add_raw(c, SOL_RDS, type, CMSG_LEN(size), data, size);
}

static struct rds_rdma_args rdma_args(u64 bytes, u64 nr_local)
{
	return (struct rds_rdma_args){
		.cookie = 0x1111, .remote_vec = { 0x2222, bytes }, .local_vec_addr = 0x3333,
		.nr_local = nr_local, .flags = 0x21, .user_token = 0x4444,
	};
}

/* Add a good control message of a type; an RDMA one has one local vector. */
static void add_good(struct ctl *c, int type)
{
	struct rds_rdma_args args = rdma_args(100, 1);

	switch (type) {
	case RDS_CMSG_RDMA_ARGS:
		add(c, type, &args, sizeof(args));
		break;
	case RDS_CMSG_RDMA_DEST:
		add(c, type, NULL, 8);
		break;
	case RDS_CMSG_RDMA_MAP:
		add(c, type, NULL, 32);
		break;
	case RDS_CMSG_ZCOPY_COOKIE:
		add(c, type, NULL, 4);
		break;
	default:
		add(c, type, NULL, 72);
	}
}

/* Returns the first error of both passes. */
static int parse(const struct ctl *c, bool zerocopy, struct rds_request *req)
{
	int err = rds_cmsg_early(c->buf, c->len, req);

	return err ? err : rds_cmsg_scan(c->buf, c->len, zerocopy, req);
}

static void empty(void)
{
	struct rds_request req;
	struct ctl c = { .len = 0 };

	EXPECT_EQ(parse(&c, false, &req), 0);
	EXPECT_EQ(req.have, 0);
	EXPECT_EQ(parse(&c, true, &req), -EINVAL);	/* no cookie */
	EXPECT_EQ(rds_cmsg_early(NULL, 0, &req), 0);
	EXPECT_EQ(rds_cmsg_scan(NULL, 0, false, &req), 0);
}

static void every_type_alone(void)
{
	struct rds_request req;
	int type;

	for (type = -20; type < 300; type++) {
		struct ctl c = { .len = 0 };
		bool ok = (type >= 1 && type <= 3) || (type >= 6 && type <= 9) || type == 12;

		add_good(&c, type);
		EXPECT_EQ(parse(&c, false, &req), ok ? 0 : -EINVAL);
	}
}

/* Types whose table index would be right only after narrowing. */
static void type_is_not_narrowed(void)
{
	static const int wrong[] = {
		0x100 + 2, 0x10000 + 2, 0x1000000 + 2, INT_MIN + 2, -1, INT_MIN, INT_MAX,
	};
	struct rds_request req;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct ctl c = { .len = 0 };

		add_good(&c, wrong[i]);
		EXPECT_EQ(parse(&c, false, &req), -EINVAL);
	}
}

static void contents_are_copied(void)
{
	struct rds_rdma_args args = rdma_args(4096, 3);
	struct rds_atomic_args atomic = {
		.cookie = 1, .local_addr = 2, .remote_addr = 3,
		.m_cswp = { 4, 5, 6, 7 }, .flags = 8, .user_token = 9,
	};
	struct rds_get_mr_args map = { .vec = { 1, 2 }, .cookie_addr = 3, .flags = 4 };
	u64 dest = 0x123456789abcdef0ULL;
	u32 cookie = 0xfeedf00d;
	struct rds_request req;
	struct ctl c = { .len = 0 };

	add(&c, RDS_CMSG_MASKED_ATOMIC_CSWP, &atomic, sizeof(atomic));
	add(&c, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
	EXPECT_EQ(parse(&c, false, &req), 0);
	memset(c.buf, 0, sizeof(c.buf));
	EXPECT_EQ(req.have, RDS_REQ_RDMA_ARGS | RDS_REQ_ATOMIC);
	EXPECT_EQ(memcmp(&req.rdma, &args, sizeof(args)), 0);
	EXPECT_EQ(memcmp(&req.atomic, &atomic, sizeof(atomic)), 0);
	EXPECT_EQ(req.atomic_type, RDS_CMSG_MASKED_ATOMIC_CSWP);
	EXPECT(req.atomic_first);
	EXPECT_EQ(req.rdma_bytes, 4096);

	c.len = 0;
	add(&c, RDS_CMSG_ZCOPY_COOKIE, &cookie, sizeof(cookie));
	add(&c, RDS_CMSG_RDMA_DEST, &dest, sizeof(dest));
	EXPECT_EQ(parse(&c, true, &req), 0);
	EXPECT_EQ(req.have, RDS_REQ_ZCOOKIE | RDS_REQ_DEST);
	EXPECT_EQ(req.zcookie, cookie);
	EXPECT_EQ(req.dest_cookie, dest);
	EXPECT(!req.dup_a && !req.dup_b);

	c.len = 0;
	add(&c, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	EXPECT_EQ(parse(&c, false, &req), 0);
	EXPECT_EQ(req.have, RDS_REQ_MAP);
	EXPECT_EQ(memcmp(&req.map, &map, sizeof(map)), 0);
}

/* E8: each type with each length from a bare header up, buffer ending with it. */
static void every_type_with_every_length(void)
{
	static const u8 need[] = { 0, 56, 8, 32, 0, 0, 72, 72, 72, 72, 0, 0, 4, 0 };
	struct rds_rdma_args args = rdma_args(1, 1);
	int type;
	size_t size;

	for (type = 1; type < 14; type++) {
		for (size = 0; size < 200; size++) {
			struct rds_request req;
			struct ctl c = { .len = 0 };
			bool short_one = size < need[type];
			u8 data[200] = { 0 };
			int err;

			memcpy(data, &args, sizeof(args));
			add(&c, type, data, size);
			err = parse(&c, false, &req);
			if (!need[type] || (short_one && type == RDS_CMSG_RDMA_ARGS))
				EXPECT_EQ(err, -EINVAL);
			else
				EXPECT_EQ(err, 0);
			if (!err) {
				EXPECT_EQ(!req.have, short_one);
				EXPECT_EQ(req.dup_a || req.dup_b, short_one);
			}
			model_cmsg_run(c.buf, CMSG_LEN(size), false);
			model_cmsg_run(c.buf, c.len, true);
		}
	}
}

/* cmsg_len below its own header, beyond the buffer, and huge. */
static void malformed_length(void)
{
	static const int levels[] = { SOL_RDS, SOL_SOCKET, -1 };
	static const size_t bases[] = { 0, (size_t)1 << 63, ~(size_t)0 - 64 };
	struct rds_request req;
	size_t i, k, len;

	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		for (k = 0; k < ARRAY_SIZE(bases); k++) {
			for (len = bases[k]; len < bases[k] + 64; len++) {
				struct ctl c = { .len = 0 };
				bool ok = len >= 16 && len <= 24;

				add_raw(&c, levels[i], RDS_CMSG_RDMA_DEST, len, NULL, 8);
				EXPECT_EQ(parse(&c, false, &req), ok ? 0 : -EINVAL);
			}
		}
	}
}

static void malformed_second(void)
{
	struct rds_request req;
	struct ctl c = { .len = 0 };

	add_good(&c, RDS_CMSG_RDMA_DEST);
	add_raw(&c, SOL_SOCKET, 1, 0, NULL, 0);
	EXPECT_EQ(rds_cmsg_early(c.buf, c.len, &req), -EINVAL);
	EXPECT_EQ(rds_cmsg_scan(c.buf, c.len, false, &req), -EINVAL);
}

/* Up to 15 bytes behind the last one are no header. */
static void short_tail_is_padding(void)
{
	struct rds_request req;
	size_t tail;

	for (tail = 0; tail < 16; tail++) {
		struct ctl c = { .len = 0 };

		add_good(&c, RDS_CMSG_RDMA_DEST);
		memset(c.buf + c.len, 0xff, tail);
		c.len += tail;
		EXPECT_EQ(parse(&c, false, &req), 0);
		EXPECT_EQ(req.have, RDS_REQ_DEST);
		model_cmsg_run(c.buf, c.len, false);
	}
}

static void other_levels_are_ignored(void)
{
	static const int levels[] = { SOL_SOCKET, 0, -1, 6, 275, 277, 276 + 0x10000 };
	struct rds_request req;
	size_t i;
	int type;

	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		for (type = 0; type < 20; type++) {
			struct ctl c = { .len = 0 };

			add_raw(&c, levels[i], type, CMSG_LEN(3), NULL, 3);
			add_good(&c, RDS_CMSG_ZCOPY_COOKIE);
			add_raw(&c, levels[i], type, CMSG_LEN(0), NULL, 0);
			EXPECT_EQ(parse(&c, true, &req), 0);
			EXPECT_EQ(req.have, RDS_REQ_ZCOOKIE);
		}
	}
}

/* Every ordered pair of the types: groups, seconds of a kind. */
static void every_pair(void)
{
	static const int types[] = { 1, 2, 3, 6, 7, 8, 9, 12 };
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		for (k = 0; k < ARRAY_SIZE(types); k++) {
			int a = types[i], b = types[k];
			bool mixed = model_is_a(a) != model_is_a(b);
			bool atomics = a >= 6 && a <= 9 && b >= 6 && b <= 9;
			bool cookies = a != 12 && b != 12;
			struct ctl c = { .len = 0 };
			struct rds_request req;

			add_good(&c, a);
			add_good(&c, b);
			EXPECT_EQ(parse(&c, false, &req), mixed ? -EINVAL : 0);
			if (!mixed) {
				EXPECT_EQ(req.dup_a, model_is_a(a) && (a == b || atomics));
				EXPECT_EQ(req.dup_b, model_is_b(a) && cookies);
			}
			model_cmsg_run(c.buf, c.len, false);
			model_cmsg_run(c.buf, c.len, true);
		}
	}
}

static void first_of_a_kind_counts(void)
{
	u64 one = 1, two = 2;
	struct rds_request req;
	struct ctl c = { .len = 0 };

	add(&c, RDS_CMSG_RDMA_DEST, &one, 8);
	add(&c, RDS_CMSG_RDMA_DEST, &two, 8);
	EXPECT_EQ(parse(&c, false, &req), 0);
	EXPECT_EQ(req.dest_cookie, 1);
	EXPECT(req.dup_b);
}

/* A program may give a default and then its own. */
static void last_zcopy_cookie_counts(void)
{
	u32 cookies[] = { 7, 0, 0xffffffff };
	struct rds_request req;
	struct ctl c = { .len = 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cookies); i++) {
		add(&c, RDS_CMSG_ZCOPY_COOKIE, &cookies[i], 4);
		EXPECT_EQ(parse(&c, true, &req), 0);
		EXPECT_EQ(req.zcookie, cookies[i]);
		EXPECT(!req.dup_b);
		model_cmsg_run(c.buf, c.len, true);
	}
	/* one that is too short is refused wherever it stands, and none after it counts */
	add(&c, RDS_CMSG_ZCOPY_COOKIE, &cookies[0], 3);
	add(&c, RDS_CMSG_ZCOPY_COOKIE, &cookies[0], 4);
	EXPECT_EQ(parse(&c, true, &req), 0);
	EXPECT_EQ(req.zcookie, cookies[2]);
	EXPECT(req.dup_b);
}

/* C2, C3, C4: counts that a multiplication or an allocation would choke on. */
static void nr_local(void)
{
	static const u64 nr[] = {
		0, 1, 2, 1023, 1024, 1025, 1000000, 1ULL << 28 | 1, 0xffffffff, 1ULL << 32,
		(1ULL << 32) + 1, 1ULL << 60, 1ULL << 63, ~0ULL
	};
	struct rds_request req;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(nr); i++) {
		struct rds_rdma_args args = rdma_args(1, nr[i]);
		struct ctl c = { .len = 0 };
		int want = !nr[i] ? -EINVAL : nr[i] > 1024 ? -EMSGSIZE : 0;

		add(&c, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
		EXPECT_EQ(parse(&c, false, &req), want);
		/* also in a second one, which is an error only later */
		c.len = 0;
		add_good(&c, RDS_CMSG_RDMA_ARGS);
		add(&c, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
		EXPECT_EQ(parse(&c, false, &req), want);
	}
}

/* The pre-scan reports what it meets first. */
static void order_of_errors(void)
{
	struct rds_rdma_args big = rdma_args(1, 1025);
	struct rds_request req;
	struct ctl c = { .len = 0 };

	add(&c, RDS_CMSG_RDMA_ARGS, &big, sizeof(big));
	add(&c, 99, NULL, 8);
	EXPECT_EQ(parse(&c, false, &req), -EMSGSIZE);
	c.len = 0;
	add(&c, 99, NULL, 8);
	add(&c, RDS_CMSG_RDMA_ARGS, &big, sizeof(big));
	EXPECT_EQ(parse(&c, false, &req), -EINVAL);
	/* a short RDMA_ARGS is an error of the early pass, wherever it stands */
	c.len = 0;
	add(&c, 99, NULL, 8);
	EXPECT_EQ(rds_cmsg_early(c.buf, c.len, &req), 0);
	add(&c, RDS_CMSG_RDMA_ARGS, NULL, 55);
	EXPECT_EQ(rds_cmsg_early(c.buf, c.len, &req), -EINVAL);
}

static void rdma_bytes_saturate(void)
{
	struct rds_rdma_args half = rdma_args(1ULL << 63, 1), one = rdma_args(1, 1);
	struct rds_request req;
	struct ctl c = { .len = 0 };

	add(&c, RDS_CMSG_RDMA_ARGS, &one, sizeof(one));
	add(&c, RDS_CMSG_RDMA_ARGS, &half, sizeof(half));
	EXPECT_EQ(rds_cmsg_early(c.buf, c.len, &req), 0);
	EXPECT_EQ(req.rdma_bytes, (1ULL << 63) + 1);
	add(&c, RDS_CMSG_RDMA_ARGS, &half, sizeof(half));
	EXPECT_EQ(rds_cmsg_early(c.buf, c.len, &req), 0);
	EXPECT_EQ(req.rdma_bytes, ~0ULL);
	add(&c, RDS_CMSG_RDMA_ARGS, &one, sizeof(one));
	EXPECT_EQ(rds_cmsg_early(c.buf, c.len, &req), 0);
	EXPECT_EQ(req.rdma_bytes, ~0ULL);
	EXPECT_EQ(rds_cmsg_scan(c.buf, c.len, false, &req), 0);
	EXPECT_EQ(req.rdma_bytes, ~0ULL);
}

static void zerocopy_wants_a_cookie(void)
{
	static const int types[] = { 1, 2, 3, 6, 12 };
	struct rds_request req;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct ctl c = { .len = 0 };

		add_good(&c, types[i]);
		EXPECT_EQ(parse(&c, true, &req), types[i] == 12 ? 0 : -EINVAL);
	}
}

/* Buffers at every alignment; kernel copies are aligned, the parser need not care. */
static void unaligned_buffer(void)
{
	struct rds_request req, want;
	struct ctl c = { .len = 0 };
	u8 moved[1024];
	int at;

	add_good(&c, RDS_CMSG_RDMA_ARGS);
	add_good(&c, RDS_CMSG_ATOMIC_FADD);
	EXPECT_EQ(parse(&c, false, &want), 0);
	for (at = 1; at < 16; at++) {
		memcpy(moved + at, c.buf, c.len);
		EXPECT_EQ(rds_cmsg_early(moved + at, c.len, &req), 0);
		EXPECT_EQ(rds_cmsg_scan(moved + at, c.len, false, &req), 0);
		EXPECT_EQ(memcmp(&req, &want, sizeof(req)), 0);
	}
}

static void random_against_model(void)
{
	static const u8 sizes[] = { 0, 4, 7, 8, 31, 32, 55, 56, 71, 72, 73 };
	struct choices r = { .state = 9 };
	int run, k;

	for (run = 0; run < RANDOM_RUNS; run++) {
		struct ctl c = { .len = 0 };

		for (k = pick(&r, 4); k >= 0; k--) {
			struct rds_rdma_args args = rdma_args(pick_u64(&r), pick(&r, 3));
			size_t size = sizes[pick(&r, sizeof(sizes))], len = CMSG_LEN(size);
			u8 data[80];

			memset(data, run, sizeof(data));
			memcpy(data, &args, sizeof(args));
			if (!pick(&r, 12))
				len += pick(&r, 40) - 20;
			add_raw(&c, pick(&r, 8) ? SOL_RDS : 1, pick(&r, 15), len, data, size);
		}
		c.len -= pick(&r, 4) ? 0 : pick(&r, 20);
		model_cmsg_run(c.buf, c.len > sizeof(c.buf) ? 0 : c.len, pick(&r, 2));
	}
}

/* C1, C2 */
static void iov_check__entries(void)
{
	static const struct {
		u64 addr, bytes;
		int want;
	} t[] = {
		{ 0x1000, 0, -EINVAL },
		{ 0x1000, 1, 0 },
		{ 0, 0xffffffff, 0 },
		{ 0, 0x100000000, -EINVAL },
		{ 0x1000, 0x100000001, -EINVAL },
		{ 0x1000, ~0ULL, -EINVAL },
		{ ~0ULL, 1, -EINVAL },
		{ ~0ULL - 4095, 4096, -EINVAL },
		{ ~0ULL - 0xffffffffULL, 0xffffffff, -EINVAL },
		/* does not wrap itself but does once rounded up to a page of 64 KiB */
		{ ~0ULL - 0x10000, 2, -EINVAL },
		{ ~0ULL - 0x10000, 1, 0 },
		{ 0xffffffff80000000ULL, 0x7ffeffff, 0 },
		{ 0xffffffff80000000ULL, 0x7fff0001, -EINVAL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct rds_iovec iov[3] = { { 1, 1 }, { t[i].addr, t[i].bytes }, { 2, 2 } };
		u64 sum = 77;

		EXPECT_EQ(rds_iov_check(iov, 3, &sum), t[i].want);
		EXPECT_EQ(sum, t[i].want ? 77 : 3 + t[i].bytes);
		EXPECT_EQ(rds_iov_check(iov, 1, &sum), 0);
		EXPECT_EQ(sum, 1);
	}
}

/* Vectors near 2^32 that sum far past 32 bits; what is accepted rounds without a wrap. */
static void iov_check__sums(void)
{
	struct rds_iovec *iov = calloc(RDS_MAX_IOV, sizeof(*iov));
	u64 sum;
	int i;

	for (i = 0; i < RDS_MAX_IOV; i++)
		iov[i] = (struct rds_iovec){ 0xfff, 0xffffffff };
	EXPECT_EQ(rds_iov_check(iov, RDS_MAX_IOV, &sum), 0);
	EXPECT_EQ(sum, 1024 * 0xffffffffULL);
	iov[RDS_MAX_IOV - 1].bytes = 0;
	EXPECT_EQ(rds_iov_check(iov, RDS_MAX_IOV, &sum), -EINVAL);
	EXPECT_EQ(rds_iov_check(iov, 0, &sum), 0);
	EXPECT_EQ(sum, 0);
	/* refused before the first entry that is not there is looked at */
	EXPECT_EQ(rds_iov_check(iov, RDS_MAX_IOV + 1, &sum), -EINVAL);
	EXPECT_EQ(rds_iov_check(NULL, RDS_MAX_IOV + 1, &sum), -EINVAL);
	EXPECT_EQ(rds_iov_check(NULL, ~(size_t)0, &sum), -EINVAL);
	free(iov);
}

static const struct unit_test tests[] = {
	CASE(empty),
	CASE(every_type_alone),
	CASE(type_is_not_narrowed),
	CASE(contents_are_copied),
	CASE(every_type_with_every_length),
	CASE(malformed_length),
	CASE(malformed_second),
	CASE(short_tail_is_padding),
	CASE(other_levels_are_ignored),
	CASE(every_pair),
	CASE(first_of_a_kind_counts),
	CASE(last_zcopy_cookie_counts),
	CASE(nr_local),
	CASE(order_of_errors),
	CASE(rdma_bytes_saturate),
	CASE(zerocopy_wants_a_cookie),
	CASE(unaligned_buffer),
	CASE(random_against_model),
	CASE(iov_check__entries),
	CASE(iov_check__sums),
};

int main(void)
{
	return unit_main(tests, ARRAY_SIZE(tests));
}
