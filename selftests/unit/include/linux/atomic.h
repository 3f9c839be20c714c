/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in, see ../../shim.h. */
#include "shim.h"

/* Nobody runs at the same time here. */
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
