// SPDX-License-Identifier: GPL-2.0
/*
 * Socket addresses: the first byte chooses a repair, which makes most inputs a family and
 * an address of some interest; the rest is the sockaddr, at its exact length.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "model_sockaddr.h"

static void repair(u8 *p, size_t n, u8 how)
{
	u16 family = how & 1 ? 2 : 10;

	if (n >= 2)
		memcpy(p, &family, 2);
	if (family != 10 || n < 24)
		return;
	switch (how >> 1 & 3) {
	case 1:		/* v4-mapped */
		memset(p + 8, 0, 10);
		memset(p + 18, 0xff, 2);
		break;
	case 2:		/* link-local */
		p[8] = 0xfe;
		p[9] = 0x80 | (p[9] & 0x7f);
		break;
	case 3:		/* near :: */
		memset(p + 8, 0, 15);
		break;
	}
}

int fuzz_one(const u8 *data, size_t size)
{
	size_t n = size - 1;
	u8 *p;

	if (!size || n > 256)
		return 0;
	/* exactly as long as it says, for ASan */
	p = malloc(n ? n : 1);
	memcpy(p, data + 1, n);
	if (data[0] & 0x80)
		repair(p, n, data[0]);
	model_sa_check(p, n, data[0] & 0x40 ? 7 : 0);
	free(p);
	return 0;
}
