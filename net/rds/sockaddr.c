// SPDX-License-Identifier: GPL-2.0
/*
 * Reading and writing sockaddrs.  Pure: bytes to an address and back.
 *
 * The rules for IPv6 are those of ipv6_addr_type(): whatever is not ::, multicast or
 * v4-mapped is unicast.
 */
#include <linux/errno.h>
#include <linux/in.h>
#include <linux/string.h>

#include "sockaddr.h"

/* Both structures: the port lies behind the family, in network order. */
static u16 port_of(const void *sin)
{
	const u8 *b = sin;

	return b[2] << 8 | b[3];
}

static void put_port(void *sin, u16 port)
{
	u8 *b = sin;

	b[2] = port >> 8;
	b[3] = port;
}

static void set_mapped(struct in6_addr *ip, const void *v4)
{
	*ip = (struct in6_addr){ .s6_addr[10] = 0xff, .s6_addr[11] = 0xff };
	memcpy(ip->s6_addr + 12, v4, 4);
}

static bool is_mapped(const struct in6_addr *ip)
{
	static const u8 prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(ip->s6_addr, prefix, sizeof(prefix));
}

static bool is_linklocal(const struct in6_addr *ip)
{
	return ip->s6_addr[0] == 0xfe && (ip->s6_addr[1] & 0xc0) == 0x80;
}

static enum rds_sa_verdict v4_verdict(const u8 *a)
{
	static const u8 any[4], broadcast[4] = { 0xff, 0xff, 0xff, 0xff };

	if (!memcmp(a, any, 4))
		return RDS_SA_V4_ANY;
	if (!memcmp(a, broadcast, 4) || (a[0] & 0xf0) == 0xe0)
		return RDS_SA_V4_BAD;
	return RDS_SA_OK;
}

static enum rds_sa_verdict v6_verdict(const struct in6_addr *ip, u32 scope)
{
	static const u8 any[16];

	if (is_mapped(ip))
		return v4_verdict(ip->s6_addr + 12) == RDS_SA_OK ? RDS_SA_OK : RDS_SA_V6_BAD;
	if (!memcmp(ip->s6_addr, any, sizeof(any)) || ip->s6_addr[0] == 0xff)
		return RDS_SA_V6_BAD;
	if (is_linklocal(ip) && !scope)
		return RDS_SA_V6_SCOPE;
	return RDS_SA_OK;
}

/**
 * rds_sockaddr_classify() - read an address and judge it
 * @name: sockaddr, may be unaligned
 * @len: its length
 * @out: the address; meaningful if the verdict is RDS_SA_OK
 *
 * Return: the verdict.
 */
enum rds_sa_verdict rds_sockaddr_classify(const void *name, int len, struct rds_addr *out)
{
	enum rds_sa_verdict v = RDS_SA_FAMILY;
	struct sockaddr_in6 sin6;
	struct sockaddr_in sin;
	u16 family;

	if (len < (int)sizeof(family))
		return RDS_SA_SHORT;
	memcpy(&family, name, sizeof(family));
	*out = (struct rds_addr){};

	if (family == AF_INET) {
		if (len < (int)sizeof(sin))
			return RDS_SA_SHORT;
		memcpy(&sin, name, sizeof(sin));
		set_mapped(&out->ip, &sin.sin_addr);
		out->port = port_of(&sin);
		v = v4_verdict(out->ip.s6_addr + 12);
	} else if (family == AF_INET6 && IS_ENABLED(CONFIG_IPV6)) {
		if (len < (int)sizeof(sin6))
			return RDS_SA_SHORT;
		memcpy(&sin6, name, sizeof(sin6));
		out->ip = sin6.sin6_addr;
		out->port = port_of(&sin6);
		if (is_linklocal(&out->ip))
			out->scope = sin6.sin6_scope_id;
		v = v6_verdict(&out->ip, sin6.sin6_scope_id);
	}
	return v;
}

/**
 * rds_sockaddr_parse() - read the address of a destination
 * @name: sockaddr in kernel memory
 * @len: its length
 * @out: the address
 *
 * Return: 0 or -EINVAL.
 */
int rds_sockaddr_parse(const void *name, int len, struct rds_addr *out)
{
	if (len < (int)sizeof(struct sockaddr_in) ||
	    rds_sockaddr_classify(name, len, out) != RDS_SA_OK)
		return -EINVAL;
	return 0;
}

/**
 * rds_sockaddr_cancel() - read the argument of RDS_CANCEL_SENT_TO
 * @name: sockaddr
 * @len: its length, at least that of a sockaddr_in
 * @scope: interface of a link-local address that names none
 * @out: the address
 *
 * The family decides, if it can; a program that never set it is understood by the length,
 * as it always was.  An address that cannot be a destination matches nothing.
 *
 * Return: 0 or -EINVAL.
 */
int rds_sockaddr_cancel(const void *name, size_t len, u32 scope, struct rds_addr *out)
{
	bool v6 = len >= sizeof(struct sockaddr_in6);
	struct sockaddr_in6 sin6;
	struct sockaddr_in sin;
	u16 family;

	memcpy(&family, name, sizeof(family));
	if (family == AF_INET)
		v6 = false;
	if (family == AF_INET6 && !v6)
		return -EINVAL;

	*out = (struct rds_addr){};
	if (v6) {
		memcpy(&sin6, name, sizeof(sin6));
		out->ip = sin6.sin6_addr;
		out->port = port_of(&sin6);
		if (is_linklocal(&out->ip))
			out->scope = sin6.sin6_scope_id ?: scope;
	} else {
		memcpy(&sin, name, sizeof(sin));
		set_mapped(&out->ip, &sin.sin_addr);
		out->port = port_of(&sin);
	}
	return 0;
}

/**
 * rds_sockaddr_fill() - write an address for user space
 * @name: room for a sockaddr_in6; the part that the length covers is written completely
 * @a: address; its scope goes out as it is
 *
 * Return: the length.
 */
int rds_sockaddr_fill(void *name, const struct rds_addr *a)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in sin = { .sin_family = AF_INET };

	if (is_mapped(&a->ip)) {
		memcpy(&sin.sin_addr, a->ip.s6_addr + 12, 4);
		put_port(&sin, a->port);
		memcpy(name, &sin, sizeof(sin));
		return sizeof(sin);
	}
	sin6.sin6_addr = a->ip;
	sin6.sin6_scope_id = a->scope;
	put_port(&sin6, a->port);
	memcpy(name, &sin6, sizeof(sin6));
	return sizeof(sin6);
}
