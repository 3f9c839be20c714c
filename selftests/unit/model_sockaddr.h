/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the calls make of a sockaddr, written from the socket API specification
 * (sections 2, 3.2, 3.3, 3.6, 5.1) on the bytes, with the errno of each call.
 */
#ifndef _RDS_UNIT_MODEL_SOCKADDR_H
#define _RDS_UNIT_MODEL_SOCKADDR_H

#include <errno.h>
#include <string.h>

#include "check.h"
#include "sockaddr.h"

struct model_sa {
	int connect;		/* errno of connect() */
	int other;		/* errno of bind() and sendmsg() */
	u8 ip[16];
	unsigned int port, scope;
};

static inline int model_sa_v4_class(const u8 *b)
{
	u32 a = shim_get_be(b, 4);

	if (!a)
		return -EDESTADDRREQ;
	return a == 0xffffffff || (a >= 0xe0000000 && a <= 0xefffffff) ? -EINVAL : 0;
}

static inline void model_sa_v6(struct model_sa *m, const u8 *p)
{
	u64 high = shim_get_be(p + 8, 8), low = shim_get_be(p + 16, 8);
	bool local = high >> 54 == 0xfe80 >> 6;
	u32 scope;

	memcpy(&scope, p + 24, 4);
	memcpy(m->ip, p + 8, 16);
	if (!high && low >> 32 == 0xffff)
		m->connect = model_sa_v4_class(p + 20) ? -EPROTOTYPE : 0;
	else if ((!high && !low) || high >> 56 == 0xff)
		m->connect = -EPROTOTYPE;
	else if (local && !scope)
		m->connect = -EINVAL;
	m->other = m->connect ? -EINVAL : 0;
	m->scope = local ? scope : 0;
}

static inline void model_sa_run(struct model_sa *m, const u8 *p, size_t n)
{
	u16 family;

	memset(m, 0, sizeof(*m));
	m->connect = -EINVAL;
	m->other = -EINVAL;
	if (n < 2)
		return;
	memcpy(&family, p, 2);
	if (family != 2 && family != 10)
		m->connect = -EAFNOSUPPORT;
	if ((family != 2 || n < 16) && (family != 10 || n < 28))
		return;
	m->port = p[2] * 256 + p[3];
	m->connect = 0;
	if (family == 10) {
		model_sa_v6(m, p);
		return;
	}
	m->ip[10] = 0xff;
	m->ip[11] = 0xff;
	memcpy(m->ip + 12, p + 4, 4);
	m->connect = model_sa_v4_class(p + 4);
	m->other = m->connect ? -EINVAL : 0;
}

/* The errno that socket.c gives a verdict in connect(). */
static inline int model_sa_errno(enum rds_sa_verdict v)
{
	switch (v) {
	case RDS_SA_OK:
		return 0;
	case RDS_SA_FAMILY:
		return -EAFNOSUPPORT;
	case RDS_SA_V4_ANY:
		return -EDESTADDRREQ;
	case RDS_SA_V6_BAD:
		return -EPROTOTYPE;
	default:
		return -EINVAL;
	}
}

static inline void model_sa_same(const struct model_sa *m, const struct rds_addr *a)
{
	CHECK(!memcmp(&a->ip, m->ip, 16));
	CHECK(a->port == m->port);
	CHECK(a->scope == m->scope);
}

/* What is written back is read as the same, and no byte of it stays as it was. */
static inline void model_sa_back(const struct rds_addr *a)
{
	static const u8 zero[8];
	struct rds_addr again;
	u8 one[40], two[40];
	int len;

	memset(one, 0, sizeof(one));
	memset(two, 0xff, sizeof(two));
	len = rds_sockaddr_fill(one, a);
	CHECK(rds_sockaddr_fill(two, a) == len);
	CHECK(!memcmp(one, two, len));
	CHECK(two[len] == 0xff);
	CHECK(len == 16 ? !memcmp(one + 8, zero, 8) : !memcmp(one + 4, zero, 4));
	CHECK(!rds_sockaddr_parse(one, len, &again));
	CHECK(!memcmp(&again.ip, &a->ip, 16) && again.port == a->port &&
	      again.scope == a->scope);
}

/* RDS_CANCEL_SENT_TO: the family decides if it is one, else the length. */
static inline void model_sa_cancel(const u8 *p, size_t n, u32 own)
{
	struct rds_addr got;
	bool v6 = n >= 28;
	u32 scope = 0;
	u16 family;
	u8 ip[16] = { [10] = 0xff, [11] = 0xff };
	int err;

	memcpy(&family, p, 2);
	memset(&got, 0xa5, sizeof(got));
	err = rds_sockaddr_cancel(p, n, own, &got);
	if (family == 10 && n < 28) {
		CHECK(err == -EINVAL);
		return;
	}
	CHECK(!err);
	if (family == 2 || !v6) {
		memcpy(ip + 12, p + 4, 4);
	} else {
		memcpy(ip, p + 8, 16);
		memcpy(&scope, p + 24, 4);
		if (!scope)
			scope = own;
		if (ip[0] != 0xfe || ip[1] >> 6 != 2)
			scope = 0;
	}
	CHECK(!memcmp(&got.ip, ip, 16));
	CHECK(got.port == p[2] * 256 + p[3]);
	CHECK(got.scope == scope);
}

/* All of it for one sockaddr. */
static inline void model_sa_check(const u8 *p, size_t n, u32 own)
{
	enum rds_sa_verdict v;
	struct model_sa m;
	struct rds_addr a;
	int err;

	model_sa_run(&m, p, n);
	memset(&a, 0xa5, sizeof(a));
	v = rds_sockaddr_classify(p, n, &a);
	CHECK(v < RDS_SA_NR);
	CHECK(model_sa_errno(v) == m.connect);
	if (!m.connect) {
		model_sa_same(&m, &a);
		model_sa_back(&a);
	}
	memset(&a, 0xa5, sizeof(a));
	err = rds_sockaddr_parse(p, n, &a);
	CHECK(err == m.other);
	if (!err)
		model_sa_same(&m, &a);
	if (n >= 16)
		model_sa_cancel(p, n, own);
}

#endif /* _RDS_UNIT_MODEL_SOCKADDR_H */
