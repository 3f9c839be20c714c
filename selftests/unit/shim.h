/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the pure files of net/rds take from the kernel, for user space: short
 * type names, limits and unaligned accessors.  Written byte by byte, so that a
 * test does not depend on the host it runs on.
 */
#ifndef _RDS_UNIT_SHIM_H
#define _RDS_UNIT_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Only the value counts here, not what a processor does ahead of time. */
#define array_index_nospec(index, size)	((void)(size), (index))

/* Kernels with everything. */
#define IS_ENABLED(CONFIG_ANY)	(sizeof(#CONFIG_ANY) > 1)

#define U32_MAX	UINT32_MAX
#define U64_MAX	UINT64_MAX

static inline u64 shim_get_be(const void *p, size_t n)
{
	const u8 *b = p;
	u64 v = 0;

	while (n--)
		v = v << 8 | *b++;
	return v;
}

static inline void shim_put_be(u64 v, void *p, size_t n)
{
	u8 *b = p;

	while (n--) {
		b[n] = v;
		v >>= 8;
	}
}

static inline u16 get_unaligned_be16(const void *p)
{
	return shim_get_be(p, 2);
}

static inline u32 get_unaligned_be32(const void *p)
{
	return shim_get_be(p, 4);
}

static inline u64 get_unaligned_be64(const void *p)
{
	return shim_get_be(p, 8);
}

static inline u64 get_unaligned_le64(const void *p)
{
	const u8 *b = p;
	u64 v = 0;
	int i;

	for (i = 7; i >= 0; i--)
		v = v << 8 | b[i];
	return v;
}

static inline void put_unaligned_le64(u64 v, void *p)
{
	u8 *b = p;
	int i;

	for (i = 0; i < 8; i++)
		b[i] = v >> (8 * i);
}

static inline void put_unaligned_be16(u16 v, void *p)
{
	shim_put_be(v, p, 2);
}

static inline void put_unaligned_be32(u32 v, void *p)
{
	shim_put_be(v, p, 4);
}

static inline void put_unaligned_be64(u64 v, void *p)
{
	shim_put_be(v, p, 8);
}

#endif /* _RDS_UNIT_SHIM_H */
