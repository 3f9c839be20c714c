// SPDX-License-Identifier: GPL-2.0
/* From the bytes of a call to what a system call takes. Byte 0 is the ordinary. */
#include "kfuzz.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static const char * const addrs[] = {
	"10.1.0.2", "10.1.0.1", "127.0.0.1", "fd00:1::2", "fd00:1::1", "fe80::2", "fe80::1",
	"::ffff:10.1.0.2", "::ffff:10.1.0.1", "::1", "10.9.0.1", "10.9.0.2", "fd09::1",
	"10.1.0.77", "0.0.0.0", "255.255.255.255", "224.0.0.1", "::", "ff02::1",
	"::ffff:0.0.0.0", "127.9.9.9", "fe80::9", "fd00:1::77",
};

/* The ports of the slots, and some odd ones. */
static const u16 ports[] = {
	5003, 5002, 5001, 5006, 5005, 5000, 5004, 5007, 0, 1, 2, 65535, 16385, 5010, 5011, 5012,
};

static const u32 sizes[] = {
	1, 8, 0, 100, 1000, 4095, 4096, 4097, 8192, 16384, 40000, 65536, 106496, 106497,
	1 << 20, (1 << 20) + 1,
};

u64 cookies[8];

u64 mix(u64 x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

u32 arg_u32(const u8 *b)
{
	u32 x;

	memcpy(&x, b, 4);
	return x;
}

/* Mostly small: large messages are slow. */
size_t arg_size(u8 b)
{
	if (b < 64)
		return sizes[b % 4];
	if (b < 128)
		return sizes[b % ARRAY_SIZE(sizes)];
	return b;
}

/* Uses b[0..2]: address, port, what is odd about it. Returns the length. */
socklen_t arg_addr(struct thread *t, const u8 *b, struct sockaddr_storage *ss)
{
	const char *text = addrs[b[0] % ARRAY_SIZE(addrs)];
	u16 port = htons(ports[b[1] % ARRAY_SIZE(ports)]);
	struct sockaddr_in6 *sin6 = (void *)ss;
	struct sockaddr_in *sin = (void *)ss;
	socklen_t len = sizeof(*sin);

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, text, &sin->sin_addr) == 1) {
		sin->sin_family = AF_INET;
		sin->sin_port = port;
	} else {
		sin6->sin6_family = AF_INET6;
		sin6->sin6_port = port;
		inet_pton(AF_INET6, text, &sin6->sin6_addr);
		if (!strncmp(text, "fe80", 4))
			sin6->sin6_scope_id = t->scope;
		len = sizeof(*sin6);
	}
	switch (b[2]) {
	case 0xf0:
		return len - 1;
	case 0xf1:
		return 0;
	case 0xf2:
		return sizeof(*ss);
	case 0xf3:
		ss->ss_family = AF_UNSPEC;
		break;
	case 0xf4:
		ss->ss_family = b[0] << 8 | b[1];
		break;
	case 0xf5:
		sin6->sin6_scope_id = b[1];
		return sizeof(*sin6);
	case 0xf6:
		return b[1];
	case 0xf7:
		return -1;
	case 0xf8:
		sin6->sin6_flowinfo = -1;
		break;
	}
	return len;
}

/* Uses b[0]: up to three pieces, of which one may be bad. */
int arg_iov(const u8 *b, char *base, size_t len, struct iovec *iov)
{
	size_t first = len / 3, second = len / 2;

	iov[0] = (struct iovec){ base + (b[0] & 0x10 ? 1 : 0), len };
	switch (b[0] & 15) {
	case 1:
		iov[0].iov_len = first;
		iov[1] = (struct iovec){ base + 5000, len - first };
		return 2;
	case 2:
		iov[0].iov_len = first;
		iov[1] = (struct iovec){ base + first, second - first };
		iov[2] = (struct iovec){ base + 9000, len - second };
		return 3;
	case 3:
		if (b[0] & 0x20)
			iov[0].iov_base = BAD_PTR;
		return 1;
	case 4:
		if (!(b[0] & 0x20))
			return 1;
		iov[0].iov_len = first;
		iov[1] = (struct iovec){ BAD_PTR, len - first };
		return 2;
	}
	return 1;
}

/* A pointer that is mostly good. */
static u64 pointer(struct thread *t, u64 seed)
{
	switch (seed % 8) {
	case 0:
		return seed;
	case 1:
		return 0;
	case 2:
		return -(seed >> 8 & 0xffff);
	default:
		return (unsigned long)t->in + (seed >> 8 & 0xffff);
	}
}

static u64 amount(u64 seed)
{
	switch (seed % 8) {
	case 0:
		return seed;
	case 1:
		return 1 << 20;
	case 2:
		return ~0ULL >> (seed >> 8 & 63);
	default:
		return seed >> 8 & 0x3fff;
	}
}

/* A key of a region that was made, mostly; with TCP there are none. */
static u64 known(u64 seed)
{
	return verbs && seed % 8 ? cookies[seed >> 8 & 7] ^ !(seed >> 16 & 31) : seed;
}

/* All eight, or of the usual ones some. */
static u64 flags_of(u64 s)
{
	return s >> 16 & (verbs && s & 14 ? RDS_RDMA_READWRITE | RDS_RDMA_USE_ONCE |
					    RDS_RDMA_INVALIDATE | RDS_RDMA_NOTIFY_ME : 0xff);
}

static u64 cookie_place(struct thread *t, u64 s)
{
	return verbs && s & 7 ? (unsigned long)&cookies[s >> 8 & 7] : pointer(t, mix(s + 3));
}

static void fill_rdma(struct thread *t, struct rds_rdma_args *a, u64 s)
{
	static __thread struct rds_iovec local[8];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(local); i++)
		local[i] = (struct rds_iovec){ pointer(t, mix(s + i)), amount(mix(s ^ i)) };
	*a = (struct rds_rdma_args){
		.cookie = known(mix(s)),
		.remote_vec = { pointer(t, mix(s + 20)), amount(mix(s + 21)) },
		.local_vec_addr = s & 1 ? (unsigned long)local : pointer(t, mix(s + 22)),
		.nr_local = s & 2 ? 1 + (s >> 8) % 8 : amount(mix(s + 23)),
		.flags = flags_of(s),
		.user_token = s,
	};
	/* one that the device can do */
	if (verbs && s & 12) {
		local[0].addr = (unsigned long)t->in + (s >> 24 & 0xffff);
		local[0].bytes = 1 + (s >> 40) % 20000;
		a->remote_vec = (struct rds_iovec){ s >> 56 & 63, local[0].bytes };
		a->local_vec_addr = (unsigned long)local;
		a->nr_local = 1;
	}
}

/* The payload of one control message. */
static size_t cmsg_data(struct thread *t, int type, u64 s, char *buf)
{
	struct rds_get_mr_args map = {
		.vec = { pointer(t, mix(s + 1)), amount(mix(s + 2)) },
		.cookie_addr = cookie_place(t, s), .flags = flags_of(s),
	};
	struct rds_atomic_args at = {
		.cookie = known(mix(s)),
		.local_addr = pointer(t, mix(s + 4)) & (s & 1 ? ~7ULL : ~0ULL),
		.remote_addr = verbs && s & 6 ? s >> 8 & 0xf8 : s, .flags = flags_of(s),
	};
	struct rds_rdma_args rdma;

	switch (type) {
	case RDS_CMSG_RDMA_ARGS:
		fill_rdma(t, &rdma, s);
		memcpy(buf, &rdma, sizeof(rdma));
		return sizeof(rdma);
	case RDS_CMSG_RDMA_MAP:
		memcpy(buf, &map, sizeof(map));
		return sizeof(map);
	case RDS_CMSG_ATOMIC_FADD:
	case RDS_CMSG_ATOMIC_CSWP:
	case RDS_CMSG_MASKED_ATOMIC_FADD:
	case RDS_CMSG_MASKED_ATOMIC_CSWP:
		memcpy(buf, &at, sizeof(at));
		return sizeof(at);
	case RDS_CMSG_ZCOPY_COOKIE:
		memcpy(buf, &s, 4);
		return 4;
	}
	if (type == RDS_CMSG_RDMA_DEST)
		s = known(s);
	memcpy(buf, &s, 8);
	return 8;
}

/*
 * Uses b[0..3]: how many, kinds, what is odd, seed. Returns the length of the
 * control buffer.
 */
size_t arg_control(struct thread *t, const u8 *b, char *buf, size_t room)
{
	static const u8 types[16] = {
		12, 12, 1, 2, 3, 6, 7, 8, 9, 4, 5, 11, 13, 10, 0, 77,
	};
	static const u8 verbs_types[16] = {
		1, 1, 3, 2, 6, 7, 1, 8, 9, 4, 5, 11, 13, 10, 12, 77,
	};
	u32 i, nr = b[0] < 192 ? b[0] % 2 : b[0] % 4;
	size_t len = 0, n;

	memset(buf, 0, room);
	for (i = 0; i < nr && len + 200 < room; i++) {
		struct cmsghdr *h = (void *)(buf + len);
		u64 seed = mix(b[3] + i * 256 + b[2] * 65536);

		h->cmsg_type = (verbs ? verbs_types : types)[(b[1] >> (i ? 4 : 0)) & 15];
		n = cmsg_data(t, h->cmsg_type, seed, (char *)CMSG_DATA(h));
		h->cmsg_level = (b[2] & 0x1f) == 0x1f ? SOL_SOCKET : SOL_RDS;
		h->cmsg_len = CMSG_LEN(n);
		switch (b[2] >> 4) {
		case 13:
			h->cmsg_len -= 1 + seed % 8;
			break;
		case 14:
			h->cmsg_len += seed % 64;
			break;
		case 15:
			h->cmsg_len = seed;
			break;
		}
		len += CMSG_SPACE(n);
	}
	return b[2] == 0xdd ? len - 3 : len;
}

/* Uses b[0..5]: the value of a SOL_RDS option. Returns its length. */
size_t arg_rds_value(struct thread *t, int name, const u8 *b, char *buf)
{
	struct rds_get_mr_for_dest_args dest = {};
	struct rds_free_mr_args fr = {
		.cookie = verbs && b[2] < 200 ? cookies[b[0] & 7] : b[0], .flags = b[1],
	};
	struct rds_rx_trace_so tr = { b[0] % 5, { b[1] % 4, b[2] % 4, b[3] % 4 } };
	struct sockaddr_storage ss;
	u32 x = b[0] % 4 ? b[0] : arg_u32(b);

	switch (name) {
	case RDS_CANCEL_SENT_TO: {
		socklen_t len = arg_addr(t, b, &ss);

		memcpy(buf, &ss, sizeof(ss));
		return len > sizeof(ss) ? 300 : len;
	}
	case RDS_GET_MR:
		return cmsg_data(t, RDS_CMSG_RDMA_MAP, mix(x), buf);
	case RDS_GET_MR_FOR_DEST:
		arg_addr(t, b, &ss);
		memcpy(&dest.dest_addr, &ss, sizeof(ss));
		cmsg_data(t, RDS_CMSG_RDMA_MAP, mix(x), (char *)&dest.vec);
		memcpy(buf, &dest, sizeof(dest));
		return sizeof(dest);
	case RDS_FREE_MR:
		memcpy(buf, &fr, sizeof(fr));
		return sizeof(fr);
	case SO_RDS_MSG_RXPATH_LATENCY:
		memcpy(buf, &tr, sizeof(tr));
		return sizeof(tr);
	}
	if (name == SO_RDS_TRANSPORT)
		x = b[0] % 4 ? 2 : b[1] % 6;
	memcpy(buf, &x, 4);
	return 4;
}
