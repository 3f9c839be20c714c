/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Goes in front of arch/um/kernel/stacktrace.c.  Its loop asks of each word of a stack whether it
 * is an address of code, which looks through the modules, and then keeps only return addresses in
 * the chain of frame pointers.  KASAN and kmemleak save a trace with each allocation: that was half
 * of all that a guest computed.  So whoever saves is told of the chain alone; who prints, of all.
 */
#ifndef RDS_UML_STACKTRACE_H
#define RDS_UML_STACKTRACE_H

#include <linux/compiler_attributes.h>
#include <linux/kernel.h>

static void save_addr(void *data, unsigned long address, int reliable) __maybe_unused;

#define __kernel_text_address(addr) \
	((ops->address != save_addr || (unsigned long)sp == bp + sizeof(long)) && \
	 (__kernel_text_address)(addr))

#endif
