/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in, see ../../shim.h. */
#include "shim.h"

#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
