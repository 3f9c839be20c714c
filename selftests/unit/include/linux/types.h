/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: the uapi types plus the kernel's short names, see ../../shim.h. */
#include_next <linux/types.h>
#include "shim.h"
