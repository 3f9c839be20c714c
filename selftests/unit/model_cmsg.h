/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What sendmsg() has to make of a control buffer, written from the socket API
 * specification in several plain passes: split, size sum, verdict, contents.
 */
#ifndef _RDS_UNIT_MODEL_CMSG_H
#define _RDS_UNIT_MODEL_CMSG_H

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/rds.h>

#include "check.h"
#include "cmsg.h"

#define MODEL_MAX_CMSG	512

struct model_item {
	int type;
	size_t size;
	const u8 *data;
};

struct model_cmsg {
	int nr;				/* SOL_RDS ones, in order */
	bool malformed;			/* after the last of them */
	struct model_item item[MODEL_MAX_CMSG];
	int early;
	int scan;
	u64 rdma_bytes;
};

static inline void model_split(struct model_cmsg *m, const u8 *p, size_t n)
{
	const size_t head = sizeof(struct cmsghdr);

	m->nr = 0;
	m->malformed = false;
	while (n >= head) {
		size_t len, align = sizeof(size_t), padded;
		int level, type;

		memcpy(&len, p + offsetof(struct cmsghdr, cmsg_len), sizeof(len));
		memcpy(&level, p + offsetof(struct cmsghdr, cmsg_level), sizeof(level));
		memcpy(&type, p + offsetof(struct cmsghdr, cmsg_type), sizeof(type));
		if (len < head || len > n) {
			m->malformed = true;
			return;
		}
		if (level == 276) {
			CHECK(m->nr < MODEL_MAX_CMSG);
			m->item[m->nr++] = (struct model_item){ type, len - head, p + head };
		}
		padded = len % align ? len + align - len % align : len;
		if (padded >= n)
			return;
		p += padded;
		n -= padded;
	}
}

static inline u64 model_u64(const u8 *p)
{
	u64 v;

	memcpy(&v, p, 8);
	return v;
}

static inline bool model_is_a(int type)
{
	return type == 1 || (type >= 6 && type <= 9);
}

static inline bool model_is_b(int type)
{
	return type == 2 || type == 3 || type == 12;
}

/* Byte 16 of the arguments is remote_vec.bytes, byte 32 is nr_local. */
static inline int model_early(struct model_cmsg *m)
{
	int i;

	m->rdma_bytes = 0;
	for (i = 0; i < m->nr; i++) {
		u64 bytes;

		if (m->item[i].type != 1)
			continue;
		if (m->item[i].size < 56)
			return -EINVAL;
		bytes = model_u64(m->item[i].data + 16);
		m->rdma_bytes = m->rdma_bytes + bytes < bytes ? ~0ULL : m->rdma_bytes + bytes;
	}
	return m->malformed ? -EINVAL : 0;
}

static inline int model_scan(const struct model_cmsg *m, bool zerocopy)
{
	bool a = false, b = false, cookie = false;
	int i;

	for (i = 0; i < m->nr; i++) {
		const struct model_item *it = &m->item[i];

		if (!model_is_a(it->type) && !model_is_b(it->type))
			return -EINVAL;
		if (it->type == 1) {
			u64 nr;

			if (it->size < 56)
				return -EINVAL;
			nr = model_u64(it->data + 32);
			if (nr == 0)
				return -EINVAL;
			if (nr > 1024)
				return -EMSGSIZE;
		}
		a |= model_is_a(it->type);
		b |= model_is_b(it->type);
		cookie |= it->type == 12;
	}
	if (m->malformed || (a && b) || (zerocopy && !cookie))
		return -EINVAL;
	return 0;
}

static inline void model_cmsg(struct model_cmsg *m, const u8 *p, size_t n, bool zerocopy)
{
	model_split(m, p, n);
	m->early = model_early(m);
	m->scan = model_scan(m, zerocopy);
}

/* Compare the contents of an accepted request with the items. */
static inline void model_contents(const struct model_cmsg *m, const struct rds_request *r)
{
	static const u8 sizes[] = { 0, 56, 8, 32, 0, 0, 72, 72, 72, 72, 0, 0, 4 };
	u32 have = 0, atomic = 0;
	bool bad_a = false, bad_b = false, first = false;
	const u8 *zcookie = NULL;
	int i;

	for (i = 0; i < m->nr; i++) {
		const struct model_item *it = &m->item[i];
		bool *bad = model_is_a(it->type) ? &bad_a : &bad_b;
		u32 bit = it->type == 1 ? 1 : it->type == 2 ? 4 : it->type == 3 ? 8 :
			  it->type == 12 ? 16 : 2;
		const void *got = it->type == 1 ? (const void *)&r->rdma :
				  it->type == 2 ? (const void *)&r->dest_cookie :
				  it->type == 3 ? (const void *)&r->map :
				  (const void *)&r->atomic;

		if (it->size < sizes[it->type] || (bit != 16 && have & (bit & 12 ? 12 : bit)))
			*bad = true;
		if (*bad)
			continue;
		if (bit == 16)
			zcookie = it->data;
		else
			CHECK(!memcmp(got, it->data, sizes[it->type]));
		if (bit == 2) {
			atomic = it->type;
			first = !(have & 1);
		}
		have |= bit;
	}
	/* of several the last one */
	CHECK(!zcookie || !memcmp(&r->zcookie, zcookie, 4));
	CHECK(r->have == have);
	CHECK(r->dup_a == bad_a && r->dup_b == bad_b);
	CHECK(r->atomic_type == atomic);
	CHECK(r->atomic_first == first);
	CHECK(r->rdma_bytes == m->rdma_bytes);
}

/*
 * Run the parser over a buffer and compare everything.  The bytes are copied
 * into a heap object of exactly that size, so that ASan sees one byte too many.
 */
static inline void model_cmsg_run(const u8 *bytes, size_t n, bool zerocopy)
{
	static struct model_cmsg m;
	struct rds_request req, again;
	u8 *buf = malloc(n ? n : 1);
	int early, scan;

	if (n)
		memcpy(buf, bytes, n);
	model_cmsg(&m, buf, n, zerocopy);

	memset(&req, 0xff, sizeof(req));
	early = rds_cmsg_early(n ? buf : NULL, n, &req);
	CHECK(early == m.early);
	if (early)
		goto out;
	CHECK(req.rdma_bytes == m.rdma_bytes);

	scan = rds_cmsg_scan(n ? buf : NULL, n, zerocopy, &req);
	CHECK(scan == m.scan);
	again = req;
	CHECK(rds_cmsg_scan(n ? buf : NULL, n, zerocopy, &again) == scan);
	CHECK(!memcmp(&req, &again, sizeof(req)));
	if (!scan)
		model_contents(&m, &req);
out:
	free(buf);
}

#endif /* _RDS_UNIT_MODEL_CMSG_H */
