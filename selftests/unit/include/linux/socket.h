/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in: struct cmsghdr and the CMSG macros come from the C library. */
#include_next <linux/socket.h>
#include <sys/socket.h>
