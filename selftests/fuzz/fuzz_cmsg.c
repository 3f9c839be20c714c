// SPDX-License-Identifier: GPL-2.0
/*
 * Control messages: the first byte chooses MSG_ZEROCOPY and whether lengths
 * and levels are repaired; the rest is the control buffer.  Verdict and
 * contents equal the model's.  Then the same bytes as local vectors.
 */
#include "fuzz.h"
#include "model_cmsg.h"

#define MAX_CONTROL	4096

/* Give most headers a level and a length that make sense, or nothing is reached. */
static void repair(u8 *p, size_t n)
{
	while (n >= sizeof(struct cmsghdr)) {
		struct cmsghdr h;
		size_t step;

		memcpy(&h, p, sizeof(h));
		if ((h.cmsg_level & 7) != 7)
			h.cmsg_level = SOL_RDS;
		if (h.cmsg_type & ~0xff)
			h.cmsg_type &= 15;
		h.cmsg_len = CMSG_LEN(h.cmsg_len & 0x7f);
		memcpy(p, &h, sizeof(h));
		step = CMSG_ALIGN(h.cmsg_len);
		if (step > n)
			return;
		p += step;
		n -= step;
	}
}

static void check_iov(const u8 *data, size_t size)
{
	size_t n = size / sizeof(struct rds_iovec), i;
	struct rds_iovec *iov = malloc(n * sizeof(*iov) + 1);
	u64 sum = 0, pages = 0, got = 0;
	bool bad = false;

	memcpy(iov, data, n * sizeof(*iov));
	for (i = 0; i < n; i++) {
		/* 128-bit arithmetic cannot wrap */
		unsigned __int128 end = (unsigned __int128)iov[i].addr + iov[i].bytes;

		if (data[0] & 0x10)
			iov[i].bytes &= 0xffffffff;
		end = (unsigned __int128)iov[i].addr + iov[i].bytes;
		bad |= !iov[i].bytes || iov[i].bytes > 0xffffffff ||
		       (end + 0xffff) >> 64;
		sum += iov[i].bytes;
		pages += (iov[i].addr + iov[i].bytes + 4095) / 4096 - iov[i].addr / 4096;
	}
	CHECK(rds_iov_check(iov, n, &got) == (bad ? -EINVAL : 0));
	CHECK(got == (bad ? 0 : sum));
	if (!bad)
		CHECK(pages <= n * ((1ULL << 20) + 1) && pages >= n);
	free(iov);
}

int fuzz_one(const u8 *data, size_t size)
{
	static u8 buf[MAX_CONTROL];
	size_t n = size - 1;

	if (!size || n > sizeof(buf))
		return 0;
	memcpy(buf, data + 1, n);
	if (data[0] & 2)
		repair(buf, n);
	model_cmsg_run(buf, n, data[0] & 1);
	check_iov(data, size);
	return 0;
}
