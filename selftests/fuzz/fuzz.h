/* SPDX-License-Identifier: GPL-2.0 */
/* The entry point of a target, under the name libFuzzer looks for. */
#ifndef _RDS_FUZZ_H
#define _RDS_FUZZ_H

#include "shim.h"

int fuzz_one(const u8 *data, size_t size) __asm__("LLVMFuzzerTestOneInput");

#endif /* _RDS_FUZZ_H */
