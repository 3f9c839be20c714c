/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: addresses as the C library has them. */
#include <netinet/in.h>
