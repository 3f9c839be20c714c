// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin for QEMU that counts how often each piece of the guest's kernel runs,
 * between two marks that rds-bench --mark leaves: exact, and without a sample,
 * a timer or a byte in the guest.
 *
 * -plugin profile.so,out=FILE writes FILE.1, FILE.2, ..., one for each pair of
 * marks: lines of ADDRESS INSTRUCTIONS TIMES, and a line "user INSTRUCTIONS".
 * For one processor under -icount; bench.py puts names to the addresses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qemu_plugin.h"

int qemu_plugin_version = 1;

#define BUCKETS		(1U << 16)
#define MARK_SIZE	8

/* A straight piece of code, as QEMU translated it. */
struct block {
	struct block *next;
	uint64_t addr, insns;
	uint64_t count, before;
};

static struct block *blocks[BUCKETS];
static uint64_t user, user_before;
static unsigned int files;
static char out[512];

static const unsigned char marks[2][MARK_SIZE] = {
	{ 0x0f, 0x1f, 0x84, 0x00, 0x01, 0x53, 0x44, 0x52 },
	{ 0x0f, 0x1f, 0x84, 0x00, 0x02, 0x53, 0x44, 0x52 },
};

static struct block *find_block(uint64_t addr, uint64_t insns)
{
	struct block **head = &blocks[(addr ^ addr >> 16) % BUCKETS], *b;

	for (b = *head; b; b = b->next)
		if (b->addr == addr && b->insns == insns)
			return b;
	b = calloc(1, sizeof(*b));
	if (!b)
		abort();
	b->addr = addr;
	b->insns = insns;
	b->next = *head;
	*head = b;
	return b;
}

static void on_begin(unsigned int vcpu, void *arg)
{
	unsigned int i;
	struct block *b;

	user_before = user;
	for (i = 0; i < BUCKETS; i++)
		for (b = blocks[i]; b; b = b->next)
			b->before = b->count;
}

static void on_end(unsigned int vcpu, void *arg)
{
	char path[600], tmp[620];
	unsigned int i;
	struct block *b;
	FILE *f;

	snprintf(path, sizeof(path), "%s.%u", out, ++files);
	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	f = fopen(tmp, "w");
	if (!f)
		return;
	fprintf(f, "user %llu\n", (unsigned long long)(user - user_before));
	for (i = 0; i < BUCKETS; i++)
		for (b = blocks[i]; b; b = b->next)
			if (b->count != b->before)
				fprintf(f, "%llx %llu %llu\n", (unsigned long long)b->addr,
					(unsigned long long)b->insns,
					(unsigned long long)(b->count - b->before));
	if (!fclose(f))
		rename(tmp, path);
}

static void find_marks(struct qemu_plugin_tb *tb, size_t insns)
{
	struct qemu_plugin_insn *insn;
	const void *code;
	size_t i;

	for (i = 0; i < insns; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		if (qemu_plugin_insn_size(insn) != MARK_SIZE)
			continue;
		code = qemu_plugin_insn_data(insn);
		if (!memcmp(code, marks[0], MARK_SIZE))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_begin, CB_NO_REGS, NULL);
		else if (!memcmp(code, marks[1], MARK_SIZE))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_end, CB_NO_REGS, NULL);
	}
}

static void on_translate(uint64_t id, struct qemu_plugin_tb *tb)
{
	uint64_t addr = qemu_plugin_tb_vaddr(tb);
	size_t insns = qemu_plugin_tb_n_insns(tb);

	if (addr >> 63) {
		qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64,
							 &find_block(addr, insns)->count, 1);
		return;
	}
	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &user, insns);
	find_marks(tb, insns);
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			snprintf(out, sizeof(out), "%s", argv[i] + 4);
	if (!*out) {
		fprintf(stderr, "profile.so: out=FILE is missing\n");
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	return 0;
}
