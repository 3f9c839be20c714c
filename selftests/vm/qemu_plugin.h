/* SPDX-License-Identifier: GPL-2.0 */
/*
 * QEMU's interface for plugins, version 1. Debian has no package with the header,
 * so the few declarations that are needed stand here.
 */
#ifndef RDS_QEMU_PLUGIN_H
#define RDS_QEMU_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;

#define INLINE_ADD_U64	0	/* enum qemu_plugin_op */
#define CB_NO_REGS	0	/* enum qemu_plugin_cb_flags */

typedef void (*tb_trans_fn)(uint64_t id, struct qemu_plugin_tb *tb);
typedef void (*vcpu_udata_fn)(unsigned int vcpu, void *arg);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, tb_trans_fn fn);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op, void *ptr,
					      uint64_t imm);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, vcpu_udata_fn fn,
					    int flags, void *arg);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv);

extern int qemu_plugin_version;

#endif
